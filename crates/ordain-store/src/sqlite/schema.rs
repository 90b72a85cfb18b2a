//! The tables, and how they become the newest version.

use super::error::of_sqlite;
use crate::StoreError;
use crate::checks::check_version;
use crate::tree::{to_signed, to_unsigned};
use ordain_ledger::Hash;
use rusqlite::{Connection, TransactionBehavior};

/// `ordn`: says whose file it is.
const APPLICATION_ID: i64 = 0x6f72_646e;

/// The version of the tables that the first migration makes. Nobody reads the earlier ones any more.
const FIRST_VERSION: u64 = 3;

/// Each leads from one version to the next; the first makes the tables.
static MIGRATIONS: &[&str] = &["
CREATE TABLE meta (only INTEGER PRIMARY KEY CHECK (only = 0), version INTEGER NOT NULL) STRICT;
CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 0), size INTEGER NOT NULL, root BLOB NOT NULL) STRICT;
CREATE TABLE entries (
    position INTEGER PRIMARY KEY, bytes BLOB NOT NULL, leaf_hash BLOB NOT NULL, attached BLOB, mark INTEGER
) STRICT;
CREATE UNIQUE INDEX entries_by_mark ON entries (mark) WHERE mark IS NOT NULL;
CREATE TABLE tiles (
    level INTEGER NOT NULL, position INTEGER NOT NULL, hashes BLOB NOT NULL, PRIMARY KEY (level, position)
) STRICT;
CREATE TABLE documents (hash BLOB NOT NULL PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE records (
    kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL,
    changed_at INTEGER NOT NULL, PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX records_by_state ON records (kind, state, changed_at, id);
INSERT INTO meta (only, version) VALUES (0, 0);
"];

/// Makes or updates the tables in one transaction. A store of a newer program and a file of another one are refused.
pub(super) fn migrate(connection: &mut Connection, place: &str) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| of_sqlite(place, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let found = version(&transaction, place)?;
    if is_known(found, place)? {
        return Ok(());
    }
    let known = newest();
    let done = (found + 1).saturating_sub(FIRST_VERSION);
    for migration in MIGRATIONS.iter().skip(usize::try_from(done).unwrap_or(usize::MAX)) {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    if found == 0 {
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        let root = Hash::EMPTY.as_bytes().as_slice();
        transaction
            .execute("INSERT INTO head (only, size, root) VALUES (0, 0, ?1)", [root])
            .map_err(failed)?;
    }
    transaction.execute("UPDATE meta SET version = ?1", [to_signed(known)?]).map_err(failed)?;
    transaction.commit().map_err(failed)
}

fn newest() -> u64 {
    FIRST_VERSION + MIGRATIONS.len() as u64 - 1
}

/// Whether the tables are the newest; tables that no migration starts from are refused.
fn is_known(found: u64, place: &str) -> Result<bool, StoreError> {
    check_version(found, FIRST_VERSION, newest(), place)
}

/// Checks that the tables are those of this program, without changing any.
pub(super) fn check(connection: &Connection, place: &str) -> Result<(), StoreError> {
    let found = version(connection, place)?;
    if found == 0 {
        return Err(StoreError::Corrupt(format!("{place} is empty: there is no ledger in it")));
    }
    if is_known(found, place)? {
        return Ok(());
    }
    Err(StoreError::Unavailable(format!(
        "{place} has version {found} of the tables; any command that writes to it brings them to version {}",
        newest()
    )))
}

/// 0: the file is empty.
fn version(connection: &Connection, place: &str) -> Result<u64, StoreError> {
    let number = |sql: &str| -> Result<i64, StoreError> {
        connection.query_row(sql, [], |row| row.get(0)).map_err(|error| of_sqlite(place, &error))
    };
    let application = number("SELECT application_id FROM pragma_application_id")?;
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    if application == 0 && tables == 0 {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        return Err(StoreError::Corrupt(format!("{place} is a database of another program")));
    }
    to_unsigned(number("SELECT version FROM meta")?)
}
