//! The results for an intent.

use ordain_spec::bundle::Bundle;
use ordain_spec::run::ResultKind;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;

/// A bundle, a bundle with questions, or a reason why there is none.
#[derive(Clone, PartialEq, Debug)]
pub enum Transformed {
    /// Nothing is open.
    Bundle(Bundle),
    /// The bundle is incomplete: its questions come first.
    Clarify(Bundle),
    /// The intent cannot be worked on.
    Refuse(Refusal),
}

impl Transformed {
    /// Which of the three.
    pub fn kind(&self) -> ResultKind {
        match self {
            Self::Bundle(_) => ResultKind::Bundle,
            Self::Clarify(_) => ResultKind::Clarify,
            Self::Refuse(_) => ResultKind::Refuse,
        }
    }

    /// Writes the members of the result into a map that may have more.
    pub fn serialize_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("kernel_result_kind", &self.kind())?;
        map.serialize_entry("bundle", &self.bundle())?;
        if let Self::Refuse(refusal) = self {
            map.serialize_entry("refuse", refusal)?;
        }
        Ok(())
    }

    /// The bundle, complete or not.
    pub fn bundle(&self) -> Option<&Bundle> {
        match self {
            Self::Bundle(bundle) | Self::Clarify(bundle) => Some(bundle),
            Self::Refuse(_) => None,
        }
    }
}

/// `{kernel_result_kind, bundle, refuse?}`, where `bundle` is null for a refusal.
impl Serialize for Transformed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.serialize_members(&mut map)?;
        map.end()
    }
}

/// Why an intent is refused.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Refusal {
    /// For programs.
    pub code: RefusalCode,
    /// For people.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.code.name(), self.message)
    }
}

/// The codes of refusals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RefusalCode {
    /// The goal is blank.
    EmptyGoal,
    /// The goal is missing or no text.
    InvalidGoal,
    /// A path of `context.files` is not safe.
    InvalidPath,
    /// The document is not an intent.
    InvalidIntent,
    /// A constraint is not text.
    InvalidConstraint,
    /// The context has the wrong shape.
    InvalidContext,
    /// An answer fits no question, or is none.
    InvalidAnswer,
    /// The intent is over a limit.
    LimitExceeded,
}

impl RefusalCode {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::EmptyGoal => "EMPTY_GOAL",
            Self::InvalidGoal => "INVALID_GOAL",
            Self::InvalidPath => "INVALID_PATH",
            Self::InvalidIntent => "INVALID_INTENT",
            Self::InvalidConstraint => "INVALID_CONSTRAINT",
            Self::InvalidContext => "INVALID_CONTEXT",
            Self::InvalidAnswer => "INVALID_ANSWER",
            Self::LimitExceeded => "LIMIT_EXCEEDED",
        }
    }
}
