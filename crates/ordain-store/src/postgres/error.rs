//! PostgreSQL's errors in our words.

use crate::StoreError;
use std::error::Error as _;
use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};

pub(super) fn of_postgres(place: &str, error: &Error) -> StoreError {
    let Some(answer) = error.as_db_error() else {
        return StoreError::Unavailable(format!("{place}: {}", chain(error)));
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
        return StoreError::Corrupt(format!("{place} is damaged: {message}"));
    }
    // A batch divides by the number of heads that are as it was built on.
    if code == &SqlState::DIVISION_BY_ZERO {
        return StoreError::Unavailable(format!(
            "{place}: somebody else wrote while it was our turn, as happens behind a pooler that gives one session to \
             several clients"
        ));
    }
    if message.contains("no encryption") || message.contains("SSL off") {
        return StoreError::Unavailable(format!(
            "{place}: the server requires TLS, and the URL lacks `?sslmode=require` ({message})"
        ));
    }
    StoreError::Unavailable(format!("{place}: {message} ({})", code.code()))
}

/// Why a batch failed: the server said no, or nobody knows.
pub(super) fn of_commit(place: &str, error: &Error) -> StoreError {
    let refused = error.as_db_error().and_then(tokio_postgres::error::DbError::parsed_severity);
    match refused {
        Some(Severity::Error) => of_postgres(place, error),
        // It ended the session because it had heard nothing.
        _ if error.code() == Some(&SqlState::IDLE_SESSION_TIMEOUT) => of_postgres(place, error),
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
    if text.contains("not support TLS") {
        text.push_str("; on a trusted network the URL may say `?sslmode=disable`");
    } else if text.contains("UnknownIssuer") {
        text.push_str("; the URL lacks `?sslrootcert=FILE`, the certificate of its authority");
    }
    text
}
