//! The tables, and how they become the newest version.

use super::error::of_sqlite;
use crate::StoreError;
use crate::tree::{to_signed, to_unsigned};
use ordain_ledger::Hash;
use rusqlite::{Connection, TransactionBehavior};

/// `ordn`: says whose file it is.
const APPLICATION_ID: i64 = 0x6f72_646e;

/// What leads from each version to the next; the first makes the tables. Never changed, only added to.
static MIGRATIONS: &[&str] = &["
CREATE TABLE meta (only INTEGER PRIMARY KEY CHECK (only = 0), version INTEGER NOT NULL) STRICT;
CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 0), size INTEGER NOT NULL, root BLOB NOT NULL) STRICT;
CREATE TABLE entries (position INTEGER PRIMARY KEY, bytes BLOB NOT NULL, leaf_hash BLOB NOT NULL) STRICT;
CREATE TABLE tiles (
    level INTEGER NOT NULL, position INTEGER NOT NULL, hashes BLOB NOT NULL, PRIMARY KEY (level, position)
) STRICT;
CREATE TABLE documents (hash TEXT NOT NULL PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE records (
    kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL,
    changed_at INTEGER NOT NULL, PRIMARY KEY (kind, id)
) STRICT;
CREATE INDEX records_by_change ON records (kind, changed_at, id);
CREATE INDEX records_by_state ON records (kind, state, changed_at, id);
INSERT INTO meta (only, version) VALUES (0, 0);
"];

/// Makes or updates the tables in one transaction. A store of a newer program and a file of another one are refused.
pub(super) fn migrate(connection: &mut Connection, place: &str) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| of_sqlite(place, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let found = version(&transaction, place)?;
    let known = MIGRATIONS.len() as u64;
    if found > known {
        return Err(StoreError::Newer { place: place.to_owned(), found, known });
    }
    if found == known {
        return Ok(());
    }
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
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

/// That the tables are those of this program, without changing any.
pub(super) fn check(connection: &Connection, place: &str) -> Result<(), StoreError> {
    let (found, known) = (version(connection, place)?, MIGRATIONS.len() as u64);
    match found {
        0 => Err(StoreError::Corrupt(format!("{place} is empty: there is no ledger in it"))),
        _ if found < known => Err(StoreError::Unavailable(format!(
            "{place} has version {found} of the tables; any command that writes to it brings them to version {known}"
        ))),
        _ if found > known => Err(StoreError::Newer { place: place.to_owned(), found, known }),
        _ => Ok(()),
    }
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
        return Err(StoreError::Corrupt(format!(
            "{place} is a database of another program; name another file for the store"
        )));
    }
    to_unsigned(number("SELECT version FROM meta")?)
}
