//! Why there is no proposal.

use crate::draft::Steps;
use ordain_model::ModelError;
use ordain_vault::{Finding, VaultError};
use std::fmt;
use std::time::Duration;

/// Why there is no proposal. Nothing in it has a key or a provider's words unredacted.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The kind of failure.
    pub code: Code,
    /// The failure, in words.
    pub message: String,
    /// Everything that is wrong with the request, or with the model's last answer.
    pub errors: Vec<Finding>,
    /// The corrections that the model was asked for, if any.
    pub repair_guidance: Option<String>,
    /// How long to wait before another try.
    pub retry_after: Option<Duration>,
    /// The model's last answer, redacted and not longer than anybody reads.
    pub payload: Option<String>,
    /// How far it came.
    pub steps: Steps,
}

/// The kind of failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// The request is wrong.
    InputInvalid,
    /// The model's answer stayed wrong after the repair.
    AnswerInvalid,
    /// The repair changed what no error named.
    RepairDrift,
    /// It was never a JSON object, or the provider did not keep to its API.
    Malformed,
    /// The answer was cut off.
    Truncated,
    /// The provider wants fewer requests.
    Busy,
    /// There was no answer in time.
    Timeout,
    /// The provider has a problem of its own.
    Unavailable,
    /// The provider or its model does not take this.
    Refused,
    /// Recorded answers are replayed, and none fits.
    NotRecorded,
    /// The vault or the model's settings cannot be used.
    Setup,
}

impl Code {
    /// As documents and logs write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InputInvalid | Self::AnswerInvalid => "SCHEMA_INVALID",
            Self::RepairDrift => "REPAIR_DRIFT",
            Self::Malformed => "LLM_MALFORMED",
            Self::Truncated => "LLM_TRUNCATED",
            Self::Busy => "LLM_429",
            Self::Timeout => "LLM_TIMEOUT",
            Self::Unavailable => "LLM_UNAVAILABLE",
            Self::Refused => "LLM_REFUSED",
            Self::NotRecorded => "LLM_NOT_RECORDED",
            Self::Setup => "SETUP_INVALID",
        }
    }

    /// The party at fault, for the metrics.
    pub fn blames(self) -> &'static str {
        match self {
            Self::InputInvalid => "caller",
            Self::AnswerInvalid | Self::RepairDrift | Self::Malformed | Self::Truncated | Self::Refused => {
                "model"
            }
            Self::Busy | Self::Timeout | Self::Unavailable => "provider",
            Self::NotRecorded | Self::Setup => "setup",
        }
    }

    /// The HTTP status.
    pub fn status(self) -> u16 {
        match self {
            Self::InputInvalid => 400,
            Self::AnswerInvalid | Self::RepairDrift | Self::NotRecorded => 422,
            Self::Malformed | Self::Truncated | Self::Refused => 502,
            Self::Busy | Self::Unavailable => 503,
            Self::Timeout => 504,
            Self::Setup => 500,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            errors: Vec::new(),
            repair_guidance: None,
            retry_after: None,
            payload: None,
            steps: Steps::default(),
        }
    }

    /// The request names something that is not there, or is not a request.
    pub fn of_input(errors: Vec<Finding>) -> Self {
        let message = match errors.as_slice() {
            [only] => only.message.clone(),
            _ => format!("the request has {} faults", errors.len()),
        };
        Self { errors, ..Self::new(Code::InputInvalid, message) }
    }

    pub(crate) fn of_vault(error: &VaultError) -> Self {
        Self::new(Code::Setup, error.to_string())
    }

    pub(crate) fn of_model(error: &ModelError) -> Self {
        let (code, retry_after) = match error {
            ModelError::Timeout { .. } => (Code::Timeout, None),
            ModelError::Busy { retry_after, .. } => (Code::Busy, *retry_after),
            ModelError::Unavailable { retry_after, .. } => (Code::Unavailable, *retry_after),
            ModelError::Refused { .. } | ModelError::Filtered { .. } => (Code::Refused, None),
            ModelError::Malformed { .. } => (Code::Malformed, None),
            ModelError::Truncated { .. } => (Code::Truncated, None),
            ModelError::NotRecorded { .. } => (Code::NotRecorded, None),
            _ => (Code::Setup, None),
        };
        Self { retry_after, ..Self::new(code, error.to_string()) }
    }
}
