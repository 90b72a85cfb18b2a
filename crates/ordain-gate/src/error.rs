//! Why the gate did not do what it was asked.

use ordain_api::FieldError;
use ordain_spec::decision::Reason;
use ordain_store::StoreError;

/// Why the gate did not do what it was asked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// What was sent cannot be used.
    #[error("{message}")]
    Invalid {
        /// In one sentence.
        message: String,
        /// One by one.
        faults: Vec<FieldError>,
    },
    /// Nobody known asks.
    #[error("{0}")]
    Unauthenticated(String),
    /// This caller may not.
    #[error("{0}")]
    Forbidden(String),
    /// There is no such thing.
    #[error("{0}")]
    Unknown(String),
    /// Things are not so that it could be done.
    #[error("{0}")]
    Conflict(String),
    /// The kernel, asked again, does not allow it.
    #[error("{message}")]
    Refused {
        /// In one sentence.
        message: String,
        /// The kernel's.
        reasons: Vec<Reason>,
    },
    /// It may work later.
    #[error("{0}")]
    Unavailable(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is on record contradicts itself.
    #[error("the record is damaged: {0}; `ordain ledger fsck` says more")]
    Damaged(String),
}

impl GateError {
    /// One fault.
    pub(super) fn invalid(path: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let fault = FieldError { path: path.to_owned(), message: message.clone(), rule_id: None };
        Self::Invalid { message, faults: vec![fault] }
    }
}

impl From<ordain_canon::ReadError> for GateError {
    fn from(error: ordain_canon::ReadError) -> Self {
        Self::invalid(&error.pointer, format!("is no JSON that can be used: {error}"))
    }
}

impl From<ordain_canon::WriteError> for GateError {
    fn from(error: ordain_canon::WriteError) -> Self {
        Self::invalid("", format!("cannot be written canonically: {error}"))
    }
}
