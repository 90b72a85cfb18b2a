//! The tables, and how they become the newest version.

use super::error::of_postgres;
use crate::StoreError;
use crate::checks::check_version;
use crate::tree::{to_signed, to_unsigned};
use ordain_ledger::Hash;
use tokio_postgres::{Client, Error, Transaction};

/// Two nodes that start at once migrate one after the other. Any number that others hardly use.
const LOCK: i64 = 0x6f72_6461_696e;

/// The version of the tables that the first migration makes; see the one of SQLite.
const FIRST_VERSION: u64 = 3;

/// Each leads from one version to the next; the first makes the tables. Names sort by bytes, as in SQLite, whatever the
/// database's language is.
static MIGRATIONS: &[&str] = &[r#"
CREATE SCHEMA IF NOT EXISTS ordain;
CREATE TABLE ordain.meta ("only" smallint PRIMARY KEY CHECK ("only" = 0), version bigint NOT NULL);
CREATE TABLE ordain.head (
    "only" smallint PRIMARY KEY CHECK ("only" = 0), size bigint NOT NULL, root bytea NOT NULL
) WITH (fillfactor = 10);
CREATE TABLE ordain.entries (
    position bigint PRIMARY KEY, bytes bytea NOT NULL, leaf_hash bytea NOT NULL, attached bytea, mark bigint
);
CREATE UNIQUE INDEX entries_by_mark ON ordain.entries (mark) WHERE mark IS NOT NULL;
CREATE TABLE ordain.tiles (
    level smallint NOT NULL, position bigint NOT NULL, hashes bytea NOT NULL, PRIMARY KEY (level, position)
);
CREATE TABLE ordain.documents (hash bytea PRIMARY KEY, bytes bytea NOT NULL);
CREATE TABLE ordain.records (
    kind text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, version bigint NOT NULL,
    state text COLLATE "C" NOT NULL, body text NOT NULL, changed_at bigint NOT NULL, PRIMARY KEY (kind, id)
);
CREATE INDEX records_by_change ON ordain.records (kind, changed_at, id);
CREATE INDEX records_by_state ON ordain.records (kind, state, changed_at, id);
INSERT INTO ordain.meta ("only", version) VALUES (0, 0);
"#];

/// Makes or updates the tables in one transaction. A store of a newer program is refused, and so is a server that could
/// not keep what we promise.
pub(super) async fn migrate(client: &mut Client, place: &str) -> Result<(), StoreError> {
    let failed = |error: Error| of_postgres(place, &error);
    check_server(client, place).await?;
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await.map_err(failed)?;
    let found = version(&transaction, place).await?;
    if is_known(found, place)? {
        return Ok(());
    }
    let known = newest();
    let done = (found + 1).saturating_sub(FIRST_VERSION);
    for migration in MIGRATIONS.iter().skip(usize::try_from(done).unwrap_or(usize::MAX)) {
        transaction.batch_execute(migration).await.map_err(failed)?;
    }
    if found == 0 {
        let root = Hash::EMPTY.as_bytes().as_slice();
        let sql = r#"INSERT INTO ordain.head ("only", size, root) VALUES (0, 0, $1)"#;
        transaction.execute(sql, &[&root]).await.map_err(failed)?;
    }
    let sql = "UPDATE ordain.meta SET version = $1";
    transaction.execute(sql, &[&to_signed(known)?]).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// That the tables are those of this program, without changing any.
pub(super) async fn check(client: &mut Client, place: &str) -> Result<(), StoreError> {
    let transaction = client.transaction().await.map_err(|error| of_postgres(place, &error))?;
    let found = version(&transaction, place).await?;
    if found == 0 {
        return Err(StoreError::Corrupt(format!(
            "{place} has no tables of a store: there is no ledger in it"
        )));
    }
    if is_known(found, place)? {
        return Ok(());
    }
    Err(StoreError::Unavailable(format!(
        "{place} has version {found} of the tables; any command that writes to it brings them to version {}",
        newest()
    )))
}

fn newest() -> u64 {
    FIRST_VERSION + MIGRATIONS.len() as u64 - 1
}

/// Whether the tables are the newest; tables that no migration starts from are refused.
fn is_known(found: u64, place: &str) -> Result<bool, StoreError> {
    check_version(found, FIRST_VERSION, newest(), place)
}

/// 0: there are no tables of ours.
async fn version(transaction: &Transaction<'_>, place: &str) -> Result<u64, StoreError> {
    let failed = |error: Error| of_postgres(place, &error);
    let there = transaction.query_one("SELECT to_regclass('ordain.meta') IS NOT NULL", &[]).await;
    if !there.and_then(|row| row.try_get::<_, bool>(0)).map_err(failed)? {
        return Ok(0);
    }
    let row = transaction.query_one("SELECT version FROM ordain.meta", &[]).await;
    to_unsigned(row.and_then(|row| row.try_get(0)).map_err(failed)?)
}

async fn check_server(client: &Client, place: &str) -> Result<(), StoreError> {
    let failed = |error: Error| of_postgres(place, &error);
    let sql = "SELECT current_setting('server_encoding'), coalesce(current_setting('fsync', true), 'on'),
        current_setting('server_version'), current_setting('idle_session_timeout', true) IS NOT NULL";
    let row = client.query_one(sql, &[]).await.map_err(failed)?;
    let (encoding, fsync): (String, String) =
        (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
    let (version, new): (String, bool) = (row.try_get(2).map_err(failed)?, row.try_get(3).map_err(failed)?);
    if !new {
        return Err(StoreError::Unavailable(format!(
            "{place} has version {version} of the server; the store needs PostgreSQL 14 or newer"
        )));
    }
    if encoding != "UTF8" {
        return Err(StoreError::Unavailable(format!(
            "{place} has the encoding {encoding}, and the store needs UTF8"
        )));
    }
    if fsync != "on" {
        return Err(StoreError::Unavailable(format!(
            "{place}: the server runs with `fsync = {fsync}` and would lose confirmed writes; it needs `fsync = on`"
        )));
    }
    Ok(())
}
