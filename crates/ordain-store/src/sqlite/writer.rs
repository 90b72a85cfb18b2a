//! Writing: a thread drains the queue into a transaction, commits, answers. A caller that is alone writes in
//! its own thread.

use super::error::of_sqlite;
use super::file::File;
use super::read::Rows;
use super::{IN_MEMORY, Shared};
use crate::batch::{Batch, Tip, fail_all};
use crate::limits::CATCH_UP_MAX;
use crate::queue::{Answer, Counts, Inbox, Job};
use crate::tree::{check_grown, edge_of, edge_tiles, same_root, tiles_before, to_bytes, to_signed};
use crate::{Change, Head, StoreError};
use ordain_ledger::Edge;
use rusqlite::{CachedStatement, Connection, ErrorCode, Params};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;

/// The writer, which the thread and a caller that is alone use in turn. None: the store is closed.
pub(super) type SharedWriter = Arc<Mutex<Option<Writer>>>;

pub(super) struct Writer {
    /// None: in memory.
    file: Option<File>,
    /// None: it failed, and is opened again for the next batch.
    connection: Option<Shared>,
    /// None: read it from the tables.
    tip: Option<Tip>,
    /// The ledger's head after the last change; stays when something fails.
    known: Option<Head>,
}

impl Writer {
    pub(super) fn new(file: Option<File>, connection: Option<Shared>) -> Self {
        Self { file, connection, tip: None, known: None }
    }

    /// Writes one change at once, in the caller's thread.
    pub(super) fn write_alone(&mut self, change: Change, counts: &Counts) -> Answer {
        let (answer, mut answered) = oneshot::channel();
        self.batch(&mut VecDeque::from([Job { change, answer }]), counts);
        answered.try_recv().unwrap_or(Err(StoreError::Closed))
    }

    /// One transaction with as many of the changes as it takes; gives the number of those who were answered.
    fn batch(&mut self, jobs: &mut VecDeque<Job>, counts: &Counts) -> usize {
        let connection = match self.connection() {
            Ok(connection) => connection,
            Err(error) => {
                fail_all(jobs.drain(..), &error, counts);
                return 0;
            }
        };
        // Held to the end: in memory a reader would see what is not committed.
        let locked = connection.lock().unwrap_or_else(PoisonError::into_inner);
        let place = self.file.as_ref().map_or(IN_MEMORY, |file| &file.place);
        let rows = Rows { connection: &locked, place };
        let mut batch = match self.check_file().and_then(|()| begin(rows, self.tip.take(), self.known)) {
            Ok(tip) => Batch::new(tip),
            Err(error) => {
                give_up(&locked);
                self.connection = self.connection_after_failure();
                fail_all(jobs.drain(..), &error, counts);
                return 0;
            }
        };
        let written = plan(rows, &mut batch, jobs).and_then(|()| write(rows, &mut batch));
        let answered = batch.changes();
        // Rows in a file that somebody moves away meanwhile are there again if they move it back.
        let lost = |error: StoreError| match batch.has_rows() {
            true => StoreError::Uncertain(error.to_string()),
            false => error,
        };
        match written.and_then(|()| self.check_file().map_err(lost)) {
            Ok(()) => {
                drop(locked);
                let tip = batch.succeed(counts);
                self.known = Some(tip.head);
                self.tip = Some(tip);
                answered
            }
            Err(error) => {
                give_up(&locked);
                self.connection = self.connection_after_failure();
                batch.fail(&error, counts);
                0
            }
        }
    }

    fn connection(&mut self) -> Result<Shared, StoreError> {
        if let Some(connection) = &self.connection {
            return Ok(Arc::clone(connection));
        }
        let Some(file) = &self.file else { return Err(StoreError::Closed) };
        let connection = Arc::new(Mutex::new(file.connect()?));
        self.connection = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// A file is opened again, because nobody knows what SQLite remembers of it. Memory has only this connection.
    fn connection_after_failure(&self) -> Option<Shared> {
        if self.file.is_some() { None } else { self.connection.clone() }
    }

    fn check_file(&self) -> Result<(), StoreError> {
        self.file.as_ref().map_or(Ok(()), File::check)
    }
}

/// Writes what comes through the queue, until it is closed.
pub(super) fn write_queued(writer: &SharedWriter, mut inbox: Inbox) {
    let mut jobs = VecDeque::new();
    while let Some(job) = inbox.blocking_next() {
        jobs.push_back(job);
        inbox.counts.taken(true);
        // Kept until nobody waits: callers that come meanwhile share the next transaction.
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = writer.as_mut() else { break };
        while !jobs.is_empty() {
            inbox.drain_into(&mut jobs);
            let start = Instant::now();
            let answered = writer.batch(&mut jobs, &inbox.counts);
            if writer.file.is_some() {
                inbox.gather_into(&mut jobs, answered, start.elapsed());
            }
        }
        inbox.counts.taken(false);
    }
    // The file is closed before anybody hears that the store is.
    drop(writer.lock().unwrap_or_else(PoisonError::into_inner).take());
    inbox.end();
}

/// Begins a transaction at the end of the ledger: other processes may have appended.
fn begin(rows: Rows<'_>, tip: Option<Tip>, known_head: Option<Head>) -> Result<Tip, StoreError> {
    run(rows, "BEGIN IMMEDIATE", [])?;
    let head = rows.head()?;
    // Nobody has written meanwhile: the head is the one that was computed then.
    let tip = match tip {
        Some(tip) if tip.head == head => return Ok(tip),
        tip => tip,
    };
    let last = match head.size.checked_sub(1) {
        Some(last) => rows.last_entry(last)?,
        None => None,
    };
    Ok(Tip { edge: edge_at(rows, tip.map(|tip| tip.edge), head, known_head)?, last, head })
}

fn edge_at(rows: Rows<'_>, edge: Option<Edge>, head: Head, known: Option<Head>) -> Result<Edge, StoreError> {
    let Head { size, root } = head;
    let Some(mut edge) = edge.filter(|edge| edge.size() <= size && size - edge.size() <= CATCH_UP_MAX) else {
        if let Some(known) = known {
            check_grown(known, head, rows.tiles(&tiles_before(known, head)?, known.size)?)?;
        }
        return edge_of(size, root, rows.tiles(&edge_tiles(size), size)?);
    };
    if edge.size() < size {
        for leaf in rows.leaf_hashes(edge.size()..size)? {
            edge.append(leaf, |_, _| ());
        }
    }
    same_root(&edge, root)?;
    Ok(edge)
}

fn plan(rows: Rows<'_>, batch: &mut Batch, jobs: &mut VecDeque<Job>) -> Result<(), StoreError> {
    while let Some(job) = jobs.pop_front() {
        let versions = batch.unknown(&job.change.guards).into_iter().map(|key| {
            let version = rows.version(&key.0, &key.1)?;
            Ok((key, version))
        });
        match versions.collect::<Result<Vec<_>, StoreError>>() {
            Ok(versions) => versions.into_iter().for_each(|(key, version)| batch.learn(key, version)),
            Err(error) => {
                batch.refuse(job, error.clone());
                return Err(error);
            }
        }
        batch.take(job);
        if batch.is_full() {
            break;
        }
    }
    Ok(())
}

fn write(rows: Rows<'_>, batch: &mut Batch) -> Result<(), StoreError> {
    if !batch.has_rows() {
        return run(rows, "ROLLBACK", []);
    }
    batch.seal();
    let sql = "INSERT INTO entries (position, bytes, leaf_hash, attached, mark) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut put = Put::new(rows, sql)?;
    for entry in &batch.entries {
        let (index, mark) = (to_signed(entry.index)?, entry.mark.map(to_signed).transpose()?);
        put.row((index, &entry.bytes, entry.leaf_hash.as_bytes(), &entry.attached, mark))?;
    }
    let sql = "INSERT INTO tiles (level, position, hashes) VALUES (?1, ?2, ?3) \
               ON CONFLICT (level, position) DO UPDATE SET hashes = excluded.hashes";
    let mut put = Put::new(rows, sql)?;
    for (tile, row) in &batch.tiles {
        put.row((tile.level, to_signed(tile.index)?, to_bytes(row)))?;
    }
    let sql = "INSERT INTO documents (hash, bytes) VALUES (?1, ?2) ON CONFLICT (hash) DO NOTHING";
    let mut put = Put::new(rows, sql)?;
    for (hash, bytes) in &batch.documents {
        put.row((hash.as_bytes().as_slice(), bytes))?;
    }
    let sql = "INSERT INTO records (kind, id, version, state, body, changed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
               ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, state = excluded.state, \
               body = excluded.body, changed_at = excluded.changed_at";
    let mut put = Put::new(rows, sql)?;
    for record in batch.records.values() {
        let (version, changed_at) = (to_signed(record.version)?, to_signed(record.changed_at)?);
        put.row((&record.kind, &record.id, version, &record.state, &record.body, changed_at))?;
    }
    if !batch.entries.is_empty() {
        let Head { size, root } = batch.head();
        run(rows, "UPDATE head SET size = ?1, root = ?2", (to_signed(size)?, root.as_bytes()))?;
    }
    commit(rows)
}

/// Commits. When the disk fails just then, what was written may be found again later.
fn commit(rows: Rows<'_>) -> Result<(), StoreError> {
    let commit = rows.connection.prepare_cached("COMMIT");
    let done = commit.and_then(|mut commit| commit.execute([]));
    done.map(drop).map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::SystemIoFailure) => {
            StoreError::Uncertain(format!("{}: the disk failed at the end of a change: {error}", rows.place))
        }
        _ => of_sqlite(rows.place, &error),
    })
}

/// Takes back what was begun. If that fails there is nothing more to do: an open transaction is never committed.
fn give_up(connection: &Connection) {
    if !connection.is_autocommit() {
        let _failed = connection.execute_batch("ROLLBACK");
    }
}

fn run(rows: Rows<'_>, sql: &str, parameters: impl Params) -> Result<(), StoreError> {
    Put::new(rows, sql)?.row(parameters)
}

/// One statement for many rows.
struct Put<'a> {
    statement: CachedStatement<'a>,
    place: &'a str,
}

impl<'a> Put<'a> {
    fn new(rows: Rows<'a>, sql: &str) -> Result<Self, StoreError> {
        let statement = rows.connection.prepare_cached(sql);
        let statement = statement.map_err(|error| of_sqlite(rows.place, &error))?;
        Ok(Self { statement, place: rows.place })
    }

    fn row(&mut self, parameters: impl Params) -> Result<(), StoreError> {
        let done = self.statement.execute(parameters);
        done.map(|_| ()).map_err(|error| of_sqlite(self.place, &error))
    }
}
