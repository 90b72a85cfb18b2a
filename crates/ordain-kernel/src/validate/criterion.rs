//! The criteria for evidence, and the answer.

use ordain_canon::compare_utf16;
use ordain_spec::evidence::ActionStatus;
use serde::{Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;

/// The treatment of the result of an execution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recommendation {
    /// Everything was done and shown.
    Accept,
    /// Nothing required failed, but something optional did.
    Review,
    /// Something required failed, or the evidence is missing or contradicts itself.
    Reject,
}

impl Recommendation {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Review => "review",
            Self::Reject => "reject",
        }
    }
}

/// The criteria that evidence must meet to be accepted, each with the name that reasons carry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Criterion {
    /// VA1: the evidence is about this plan.
    Plan,
    /// VA2: every action of the plan has a result, and there is no other result.
    Actions,
    /// VA3: every acceptance test has a result, and there is no other result.
    Tests,
    /// VA4: every action succeeded.
    ActionsSucceed,
    /// VA5: every test passed.
    TestsPass,
    /// VA6: file actions left behind exactly what the plan says.
    Produced,
    /// VA7: results of tests agree with what they found and with the files left behind.
    TestsAgree,
    /// VA8: the status agrees with the results.
    Status,
}

impl Criterion {
    /// As reasons name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "VA1",
            Self::Actions => "VA2",
            Self::Tests => "VA3",
            Self::ActionsSucceed => "VA4",
            Self::TestsPass => "VA5",
            Self::Produced => "VA6",
            Self::TestsAgree => "VA7",
            Self::Status => "VA8",
        }
    }
}

impl Serialize for Criterion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Why evidence is not accepted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Reason {
    /// The criterion that does not hold.
    #[serde(rename = "rule_id")]
    pub criterion: Criterion,
    /// Where: a JSON Pointer into the evidence; to the list where something is missing.
    pub path: String,
    /// The problem, for people.
    pub message: String,
    /// The recommendation that this reason alone would call for.
    pub recommendation: Recommendation,
    /// How the action ended that did not succeed, where the reason is about one. Programs ask here instead of reading
    /// the message; the document does not have it.
    #[serde(skip)]
    pub ended: Option<ActionStatus>,
}

impl Reason {
    /// As reports order their findings: by name, path and message.
    fn order(&self, other: &Self) -> Ordering {
        let by_name = self.criterion.cmp(&other.criterion);
        by_name
            .then_with(|| compare_utf16(&self.path, &other.path))
            .then_with(|| compare_utf16(&self.message, &other.message))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at `{}`: {}", self.criterion.name(), self.path, self.message)
    }
}

/// The worth of the evidence of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Validation {
    /// The strongest that any reason calls for; `accept` without reasons.
    pub recommendation: Recommendation,
    /// All that is wrong, sorted by name, path and message.
    pub reasons: Vec<Reason>,
}

/// Where checks put what they find.
#[derive(Default)]
pub(super) struct Found(Vec<Reason>);

impl Found {
    pub(super) fn reject(&mut self, criterion: Criterion, path: &str, message: String) {
        self.add(criterion, path, message, Recommendation::Reject, None);
    }

    /// Something that may fail did.
    pub(super) fn review(&mut self, criterion: Criterion, path: &str, message: String) {
        self.add(criterion, path, message, Recommendation::Review, None);
    }

    /// An action did not succeed.
    pub(super) fn action_ended(&mut self, ended: ActionStatus, required: bool, path: &str, message: String) {
        let recommendation = if required { Recommendation::Reject } else { Recommendation::Review };
        self.add(Criterion::ActionsSucceed, path, message, recommendation, Some(ended));
    }

    fn add(
        &mut self,
        criterion: Criterion,
        path: &str,
        message: String,
        recommendation: Recommendation,
        ended: Option<ActionStatus>,
    ) {
        self.0.push(Reason { criterion, path: path.to_owned(), message, recommendation, ended });
    }

    pub(super) fn into_validation(self) -> Validation {
        let mut reasons = self.0;
        reasons.sort_by(Reason::order);
        let strongest = reasons.iter().map(|reason| reason.recommendation).max();
        Validation { recommendation: strongest.unwrap_or(Recommendation::Accept), reasons }
    }
}
