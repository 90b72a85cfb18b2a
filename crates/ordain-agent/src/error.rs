//! Why an agent stopped.

use ordain_canon::WriteError;
use ordain_client::ClientError;
use ordain_decision::PermitError;
use ordain_harness::apply::ApplyError;

/// Why an agent stopped. A denial is not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The gate refused, or could not be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The workspace cannot be changed.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The person who was asked to sign did not.
    #[error("nothing was signed")]
    NotSigned,
    /// A document has no canonical form.
    #[error("cannot write the proposal: {0}")]
    Write(#[from] WriteError),
    /// A part of the proposal cannot be written as JSON.
    #[error("cannot write the proposal: {0}")]
    Encode(#[from] serde_json::Error),
    /// The gate allowed the action and gave no permit, or not its text.
    #[error("the gate gave no permit for `{action_id}`")]
    NoPermit {
        /// The action.
        action_id: String,
    },
    /// The permit is not one of this gate.
    #[error("the permit of `{action_id}` {error}")]
    BadPermit {
        /// The action.
        action_id: String,
        /// The reason.
        error: PermitError,
    },
    /// The permit, or the receipt of its use, is about something else.
    #[error("the gate answered for `{found}` instead of `{expected}`")]
    Mismatch {
        /// The id that was asked for.
        expected: String,
        /// The id in the answer.
        found: String,
    },
    /// The gate knows nothing of an action that was proposed.
    #[error("no action `{action_id}`")]
    NoAction {
        /// The action.
        action_id: String,
    },
    /// An earlier attempt has no known outcome.
    #[error("nobody knows whether `{action_id}` was done")]
    Unsettled {
        /// The action.
        action_id: String,
        /// Its permit.
        permit_id: String,
    },
    /// The same change was proposed too often.
    #[error("this change was proposed {times} times already")]
    TooOften {
        /// How often.
        times: u64,
    },
}

impl AgentError {
    /// The advice for this error.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Client(error) => error.hint().map(str::to_owned),
            Self::NoPermit { .. } => Some("use the token of the actor or of a worker".to_owned()),
            Self::Unsettled { action_id, .. } => {
                Some(format!("look at the files, and say whether it happened: `ordain approve {action_id}`"))
            }
            Self::TooOften { .. } => Some("make another patch set".to_owned()),
            Self::Apply(_)
            | Self::NotSigned
            | Self::Write(_)
            | Self::Encode(_)
            | Self::BadPermit { .. }
            | Self::Mismatch { .. }
            | Self::NoAction { .. } => None,
        }
    }
}
