//! Whether a run is accepted, and why. Everything here follows from documents, so it can be worked out again.

use crate::trial::{is_file_action, named_test};
use ordain_harness::apply::Problem;
use ordain_kernel::{Recommendation, validate};
use ordain_spec::evidence::{ActionStatus, ExecutionEvidence};
use ordain_spec::plan::{AcceptanceTest, Proposal, ProposedAction, TestType};
use ordain_spec::run::{UNTESTED, Verdict};
use ordain_spec::{Report, Verified, Violation};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fmt;

/// Why a run is accepted or not. Its texts are the reasons in the result; programs match on this instead of
/// reading them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VerdictReason {
    /// Nothing speaks against it.
    AllPassed,
    /// Everything passed, and none of it shows anything: no command or test that somebody asked for was executed.
    Untested,
    /// Only a plan was asked for.
    OnlyPlanned,
    /// A file action cannot be carried out on the workspace as it is.
    Workspace(Problem),
    /// The kernel found something wrong with the evidence.
    Evidence(ordain_kernel::Reason),
    /// The sandbox observed a problem with an action.
    Observed(String),
    /// The patch set is more than the profile allows.
    BeyondProfile(Violation),
    /// This many questions are open.
    QuestionsOpen(usize),
    /// The kernel refused the intent: a code and a message.
    Refused(String),
}

impl fmt::Display for VerdictReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllPassed => formatter.write_str("every required action and test passed"),
            Self::Untested => formatter.write_str(UNTESTED),
            Self::OnlyPlanned => formatter.write_str("nothing was tried: only a plan was asked for"),
            Self::Workspace(problem) => problem.fmt(formatter),
            Self::Evidence(reason) => reason.fmt(formatter),
            Self::Observed(problem) => formatter.write_str(problem),
            Self::BeyondProfile(Violation { rule, path, message, .. }) => {
                write!(formatter, "{rule} at `{path}`: {message}")
            }
            Self::QuestionsOpen(1) => formatter.write_str("1 question is open"),
            Self::QuestionsOpen(count) => write!(formatter, "{count} questions are open"),
            Self::Refused(refusal) => write!(formatter, "the intent was refused: {refusal}"),
        }
    }
}

/// A verdict with its reasons, before it becomes a part of the result.
pub(crate) struct Judged {
    pub(crate) accepted: bool,
    pub(crate) reasons: Vec<VerdictReason>,
    pub(crate) validated_by_kernel: bool,
}

impl Judged {
    /// As the result has it: the reasons are texts.
    pub(crate) fn document(&self) -> Verdict {
        Verdict {
            accepted: self.accepted,
            reasons: self.reasons.iter().map(ToString::to_string).collect(),
            validated_by_kernel: self.validated_by_kernel,
        }
    }
}

/// The meaning of the evidence for the plan. Optional actions may fail, but for file actions: the patch set
/// has all of them, and one that cannot be carried out stops the whole of it.
pub(crate) fn verdict(plan: &Verified<Proposal>, evidence: &Verified<ExecutionEvidence>) -> Judged {
    let validation = validate(evidence, plan);
    let mut reasons: Vec<VerdictReason> =
        validation.reasons.into_iter().map(VerdictReason::Evidence).collect();
    reasons.extend(problems(evidence));
    let succeeded = evidence.action_results.iter().filter(|result| result.status == ActionStatus::Success);
    let succeeded: BTreeSet<&str> = succeeded.map(|result| result.action_id.as_str()).collect();
    let applicable =
        plan.actions.iter().all(|action| !is_file_action(action) || succeeded.contains(action.id.as_str()));
    let passed = validation.recommendation != Recommendation::Reject && applicable;
    let accepted = passed && tests_anything(plan, evidence);
    // An accepted run says first why it is; an optional failure comes after it.
    if accepted {
        reasons.insert(0, VerdictReason::AllPassed);
    } else if passed {
        reasons.insert(0, VerdictReason::Untested);
    }
    Judged { accepted, reasons, validated_by_kernel: true }
}

/// Whether a command ended well, or a test passed that is not about the plan's own files: that these are
/// there, as they were written, says nothing about whether they are any good.
fn tests_anything(plan: &Proposal, evidence: &ExecutionEvidence) -> bool {
    let written: BTreeSet<&str> = plan
        .actions
        .iter()
        .filter(|action| is_file_action(action))
        .map(|action| action.target.as_str())
        .collect();
    let succeeded = |id: &str| {
        let mut results = evidence.action_results.iter();
        results.any(|result| result.action_id == id && result.status == ActionStatus::Success)
    };
    let passed =
        |id: &str| evidence.test_results.iter().any(|result| result.test_id.as_str() == id && result.passed);
    let shows = |test: &AcceptanceTest| {
        passed(&test.id)
            && (test.test_type == TestType::CommandSuccess || !written.contains(test.target.as_str()))
    };
    let is_command = |action: &ProposedAction| !is_file_action(action) && named_test(plan, action).is_none();
    plan.actions.iter().any(|action| is_command(action) && succeeded(&action.id))
        || plan.acceptance_tests.iter().any(shows)
}

/// The observations of actions that did not go well, in words.
fn problems(evidence: &ExecutionEvidence) -> impl Iterator<Item = VerdictReason> {
    let observed = evidence.observed.as_ref().and_then(|observed| observed.get("problems"));
    let problems = observed.and_then(Json::as_array).into_iter().flatten();
    let words = |observed: &Json| observed.get("problem").and_then(Json::as_str).map(str::to_owned);
    // A problem that is not in words still counts as one.
    problems
        .map(move |observed| VerdictReason::Observed(words(observed).unwrap_or_else(|| observed.to_string())))
}

/// A run that tried nothing.
pub(crate) fn untried(reasons: Vec<VerdictReason>) -> Judged {
    Judged { accepted: false, reasons, validated_by_kernel: false }
}

/// The patch set is more than the profile allows.
pub(crate) fn beyond_profile(report: &Report) -> Judged {
    untried(report.violations().iter().cloned().map(VerdictReason::BeyondProfile).collect())
}

/// Only a plan was asked for; the obstacles to it follow.
pub(crate) fn only_planned(problems: &[Problem]) -> Judged {
    let problems = problems.iter().cloned().map(VerdictReason::Workspace);
    untried(std::iter::once(VerdictReason::OnlyPlanned).chain(problems).collect())
}

pub(crate) fn questions_open(count: usize) -> Judged {
    untried(vec![VerdictReason::QuestionsOpen(count)])
}

pub(crate) fn refused(refusal: String) -> Judged {
    untried(vec![VerdictReason::Refused(refusal)])
}
