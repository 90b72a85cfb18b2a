//! Why the gate did not do what it was asked.

use super::conflict::Conflict;
use ordain_api::FieldError;
use ordain_spec::decision::Reason;
use ordain_store::StoreError;

/// Why the gate did not do what it was asked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// The request cannot be used.
    #[error("{message}")]
    Invalid {
        /// In one sentence.
        message: String,
        /// One by one.
        errors: Vec<FieldError>,
    },
    /// The caller is unknown.
    #[error("{0}")]
    Unauthenticated(String),
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The act needs a statement signed by an enrolled key, and has none that counts.
    #[error("{0}")]
    Presence(String),
    /// There is no such thing.
    #[error("{0}")]
    Unknown(String),
    /// The request conflicts with the current state.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The kernel, asked again, does not allow it.
    #[error("{message}")]
    Refused {
        /// In one sentence.
        message: String,
        /// The kernel's.
        reasons: Vec<Reason>,
    },
    /// The store belongs to another key.
    #[error("the store was not opened with the key {key_id}, and is refused")]
    ForeignKey {
        /// The key that came with it.
        key_id: String,
    },
    /// It may work later.
    #[error("{0}")]
    Unavailable(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record contradicts itself.
    #[error("the record is damaged: {0}; `ordain ledger fsck` says more")]
    Damaged(String),
}

impl GateError {
    /// One field that is wrong.
    pub(crate) fn invalid(path: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let error = FieldError { path: path.to_owned(), message: message.clone(), rule_id: None };
        Self::Invalid { message, errors: vec![error] }
    }
}

impl From<ordain_canon::ReadError> for GateError {
    fn from(error: ordain_canon::ReadError) -> Self {
        Self::invalid(&error.pointer, format!("invalid JSON: {error}"))
    }
}

impl From<ordain_canon::WriteError> for GateError {
    fn from(error: ordain_canon::WriteError) -> Self {
        Self::invalid("", format!("cannot be written canonically: {error}"))
    }
}
