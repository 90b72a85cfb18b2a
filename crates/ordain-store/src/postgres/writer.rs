//! The one task that writes: locks the head, checks all guards, writes all rows, commits, answers.

use super::error::{of_commit, of_postgres};
use super::session::{Server, Session};
use crate::batch::{Batch, Key, Tip, fail_all};
use crate::limits::{CATCH_UP_MAX, TRANSACTION_WAIT};
use crate::queue::{Inbox, Job};
use crate::tree::{edge_of, edge_tiles, hash_of, same_root, to_bytes, to_signed};
use crate::{Head, StoreError};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use tokio::time::timeout;
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

/// Guards must be found as they are now and not as they were when the transaction began.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

pub(super) struct Writer {
    server: Arc<Server>,
    /// None: it failed or never was, and the next batch connects.
    session: Option<Session>,
    /// None: read it from the tables.
    tip: Option<Tip>,
}

impl Writer {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Self { server, session: None, tip: None }
    }

    pub(super) async fn run(mut self, mut inbox: Inbox) {
        let mut jobs = VecDeque::new();
        while let Some(job) = inbox.next().await {
            jobs.push_back(job);
            while !jobs.is_empty() {
                inbox.drain_into(&mut jobs);
                self.batch(&mut jobs, &mut inbox).await;
            }
        }
        drop(self);
        inbox.end();
    }

    /// One transaction with as many of the changes as it takes. Whatever fails, the session is given up: the server
    /// then takes the transaction back.
    async fn batch(&mut self, jobs: &mut VecDeque<Job>, inbox: &mut Inbox) {
        let (session, mut batch) = match self.begin(guards_of(jobs.iter())).await {
            Ok(begun) => begun,
            Err(error) => return fail_all(jobs.drain(..), &error, &inbox.counts),
        };
        if let Err(error) = take_late(&session, &mut batch, jobs, inbox).await {
            return fail_all(jobs.drain(..), &error, &inbox.counts);
        }
        while let Some(job) = jobs.pop_front() {
            batch.take(job);
            if batch.is_full() {
                break;
            }
        }
        batch.seal();
        let written = match timeout(TRANSACTION_WAIT, write(&session, &batch)).await {
            Ok(written) => written,
            Err(_) => Err(StoreError::Uncertain(format!(
                "{} has not answered for {} s",
                self.server.place,
                TRANSACTION_WAIT.as_secs()
            ))),
        };
        match written {
            Ok(()) => {
                self.session = Some(session);
                self.tip = Some(batch.succeed(&inbox.counts));
            }
            Err(error) => batch.fail(&error, &inbox.counts),
        }
    }

    /// A transaction with the head locked, and a batch that knows the versions of all guarded records.
    async fn begin(&mut self, guards: BTreeSet<Key>) -> Result<(Session, Batch), StoreError> {
        let session = match self.session.take().filter(|session| !session.client.is_closed()) {
            Some(session) => session,
            None => Session::open(&self.server).await?,
        };
        let (tip, versions) = match timeout(TRANSACTION_WAIT, begin(&session, self.tip.take(), &guards)).await
        {
            Ok(begun) => begun?,
            Err(_) => {
                return Err(StoreError::Unavailable(format!(
                    "{} has not let us write for {} s; nothing was written",
                    self.server.place,
                    TRANSACTION_WAIT.as_secs()
                )));
            }
        };
        let mut batch = Batch::new(tip);
        for (key, version) in versions {
            batch.learn(key, version);
        }
        Ok((session, batch))
    }
}

/// Other nodes may have kept the head for long: whoever came meanwhile joins, if that is worth one more round trip.
async fn take_late(
    session: &Session,
    batch: &mut Batch,
    jobs: &mut VecDeque<Job>,
    inbox: &mut Inbox,
) -> Result<(), StoreError> {
    let early = jobs.len();
    if inbox.waiting() * 2 < early {
        return Ok(());
    }
    inbox.drain_into(jobs);
    let guards = guards_of(jobs.iter().skip(early));
    if !guards.is_empty() {
        let (kinds, ids) = columns(&guards);
        let rows = session.query(&session.sql.versions, &[&kinds, &ids]).await?;
        session.versions_of(rows)?.into_iter().for_each(|(key, version)| batch.learn(key, version));
    }
    Ok(())
}

fn columns(keys: &BTreeSet<Key>) -> (Vec<&str>, Vec<&str>) {
    keys.iter().map(|(kind, id)| (kind.as_str(), id.as_str())).unzip()
}

fn guards_of<'a>(jobs: impl Iterator<Item = &'a Job>) -> BTreeSet<Key> {
    let guards = jobs.flat_map(|job| &job.change.guards);
    guards.map(|guard| (guard.kind.clone(), guard.id.clone())).collect()
}

/// One round trip: begin, lock the head, what other nodes appended since, all guards. One more if that was much.
async fn begin(
    session: &Session,
    tip: Option<Tip>,
    guards: &BTreeSet<Key>,
) -> Result<(Tip, Vec<(Key, u64)>), StoreError> {
    let failed = |error: Error| of_postgres(&session.place, &error);
    let (client, sql) = (&session.client, &session.sql);
    let (kinds, ids) = columns(guards);
    let (from, to) = match &tip {
        Some(Tip { edge, .. }) => {
            (to_signed(edge.size())?, to_signed(edge.size().saturating_add(CATCH_UP_MAX))?)
        }
        None => (0, 0),
    };
    let (begun, head, newer, versions) = tokio::join!(
        biased;
        client.batch_execute(BEGIN),
        client.query(&sql.lock_head, &[]),
        async { client.query(&sql.newer, &[&from, &to]).await },
        async {
            match kinds.is_empty() {
                true => Ok(Vec::new()),
                false => client.query(&sql.versions, &[&kinds, &ids]).await,
            }
        },
    );
    begun.map_err(failed)?;
    let Head { size, root } = session.head_of(&head.map_err(failed)?)?;
    let newer = newer.map_err(failed)?;
    let versions = session.versions_of(versions.map_err(failed)?)?;
    let Some(mut tip) = tip.filter(|tip| tip.edge.size() + newer.len() as u64 == size) else {
        let edge = edge_of(size, root, session.tiles(&edge_tiles(size), size).await?)?;
        let last = match size.checked_sub(1) {
            Some(last) => session.entries(last, 1).await?.pop().map(|entry| entry.bytes),
            None => None,
        };
        return Ok((Tip { edge, last }, versions));
    };
    if let Some(row) = newer.last() {
        tip.last = session.column(row, 2)?;
    }
    for (_, leaf) in session.positions_and_hashes(&newer)? {
        tip.edge.append(hash_of(&leaf)?, |_, _| ());
    }
    same_root(&tip.edge, root)?;
    Ok((tip, versions))
}

/// One round trip: all rows and the commit. If they cannot be written, the server turns the commit into a rollback.
async fn write(session: &Session, batch: &Batch) -> Result<(), StoreError> {
    let failed = |error: Error| of_postgres(&session.place, &error);
    let (client, sql) = (&session.client, &session.sql);
    if !batch.has_rows() {
        return client.batch_execute("ROLLBACK").await.map_err(failed);
    }
    let rows = Rows::of(batch)?;
    let root = batch.root();
    let (size, root) = (to_signed(batch.size())?, root.as_bytes().as_slice());
    let (positions, bytes, leaf_hashes) = &rows.entries;
    let (levels, tile_positions, hashes) = &rows.tiles;
    let (names, documents) = &rows.documents;
    let Records { kinds, ids, versions, states, bodies, changed_at } = &rows.records;
    let parameters: [&(dyn ToSql + Sync); 16] = [
        &size,
        &root,
        positions,
        bytes,
        leaf_hashes,
        levels,
        tile_positions,
        hashes,
        names,
        documents,
        kinds,
        ids,
        versions,
        states,
        bodies,
        changed_at,
    ];
    let (written, committed) = tokio::join!(
        biased;
        client.execute(&sql.write, &parameters),
        client.batch_execute("COMMIT"),
    );
    // The connection may have broken after the server had read the commit.
    written.map_err(|error| of_commit(&session.place, &error))?;
    committed.map_err(|error| of_commit(&session.place, &error))
}

/// A batch by columns.
struct Rows<'a> {
    entries: (Vec<i64>, Vec<&'a [u8]>, Vec<&'a [u8]>),
    tiles: (Vec<i16>, Vec<i64>, Vec<Vec<u8>>),
    documents: (Vec<String>, Vec<&'a [u8]>),
    records: Records<'a>,
}

#[derive(Default)]
struct Records<'a> {
    kinds: Vec<&'a str>,
    ids: Vec<&'a str>,
    versions: Vec<i64>,
    states: Vec<&'a str>,
    bodies: Vec<&'a str>,
    changed_at: Vec<i64>,
}

impl<'a> Rows<'a> {
    fn of(batch: &'a Batch) -> Result<Self, StoreError> {
        let mut rows = Self {
            entries: Default::default(),
            tiles: Default::default(),
            documents: Default::default(),
            records: Records::default(),
        };
        for entry in &batch.entries {
            rows.entries.0.push(to_signed(entry.index)?);
            rows.entries.1.push(&entry.bytes);
            rows.entries.2.push(entry.leaf_hash.as_bytes());
        }
        for (tile, row) in &batch.tiles {
            rows.tiles.0.push(i16::from(tile.level));
            rows.tiles.1.push(to_signed(tile.index)?);
            rows.tiles.2.push(to_bytes(row));
        }
        for (hash, bytes) in &batch.documents {
            rows.documents.0.push(hash.to_string());
            rows.documents.1.push(bytes);
        }
        for record in batch.records.values() {
            rows.records.kinds.push(&record.kind);
            rows.records.ids.push(&record.id);
            rows.records.versions.push(to_signed(record.version)?);
            rows.records.states.push(&record.state);
            rows.records.bodies.push(&record.body);
            rows.records.changed_at.push(to_signed(record.changed_at)?);
        }
        Ok(rows)
    }
}
