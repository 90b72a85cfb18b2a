//! PostgreSQL's errors in our words.

use crate::StoreError;
use std::error::Error as _;
use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};

pub(super) fn of_postgres(place: &str, error: &Error) -> StoreError {
    let Some(answer) = error.as_db_error() else {
        return StoreError::Unavailable(format!("{place}: {}; nothing was written", chain(error)));
    };
    let message = answer.message();
    let code = answer.code();
    if code == &SqlState::DISK_FULL {
        return StoreError::Full(place.to_owned());
    }
    if [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::INSUFFICIENT_PRIVILEGE].contains(code) {
        return StoreError::ReadOnly(format!("{place} ({message})"));
    }
    if [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED, SqlState::UNDEFINED_TABLE].contains(code) {
        return StoreError::Corrupt(format!("{place} is damaged: {message}; restore it from a backup"));
    }
    if message.contains("no encryption") || message.contains("SSL off") {
        return StoreError::Unavailable(format!(
            "{place}: the server demands TLS, which this program does not speak yet; allow plain connections from \
             this machine, or reach it through a local socket or tunnel ({message})"
        ));
    }
    StoreError::Unavailable(format!("{place}: {message} ({}); nothing was written", code.code()))
}

/// Why a commit failed: the server said no, or nobody knows.
pub(super) fn of_commit(place: &str, error: &Error) -> StoreError {
    let refused = error.as_db_error().and_then(tokio_postgres::error::DbError::parsed_severity);
    match refused {
        Some(Severity::Error) => of_postgres(place, error),
        _ => StoreError::Uncertain(format!("{place}: {}", chain(error))),
    }
}

/// With its causes: the outermost says only that there was an error.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    if text.contains("TLS") {
        text.push_str(
            ", which this program does not speak yet; use `sslmode=disable` on a network you trust",
        );
    }
    text
}
