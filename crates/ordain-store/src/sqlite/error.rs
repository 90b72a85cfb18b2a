//! SQLite's errors in our words.

use crate::StoreError;
use crate::limits::LOCK_WAIT;
use rusqlite::ErrorCode;

pub(super) fn of_sqlite(place: &str, error: &rusqlite::Error) -> StoreError {
    let other_tables = || {
        StoreError::Corrupt(format!(
            "{place} does not have the tables of a store: {error}; restore it from a backup"
        ))
    };
    // A column that is missing or has another type.
    let Some(code) = error.sqlite_error_code() else { return other_tables() };
    match code {
        ErrorCode::Unknown if error.to_string().contains("no such ") => other_tables(),
        ErrorCode::DiskFull => StoreError::Full(place.to_owned()),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreError::ReadOnly(place.to_owned()),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            StoreError::Corrupt(format!("{place} is damaged or not an SQLite file: {error}"))
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Unavailable(format!(
            "{place}: another process has kept it locked for {} s",
            LOCK_WAIT.as_secs()
        )),
        ErrorCode::CannotOpen => StoreError::Unavailable(format!("{place} cannot be opened: {error}")),
        ErrorCode::SystemIoFailure => {
            StoreError::Unavailable(format!("{place}: the disk does not do what it should: {error}"))
        }
        _ => StoreError::Unavailable(format!("{place}: {error}")),
    }
}
