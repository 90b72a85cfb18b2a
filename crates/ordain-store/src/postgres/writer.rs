//! The one task that writes. It takes turns with those of other nodes, and writes as many transactions in its
//! turn as it has time for.

use super::error::{of_commit, of_postgres};
use super::session::{Server, Session};
use crate::batch::{Batch, Key, Tip, fail_all};
use crate::limits::{CATCH_UP_MAX, SILENCE_WAIT, TRANSACTION_WAIT, TURN};
use crate::queue::{Inbox, Job};
use crate::tree::{
    check_grown, edge_of, edge_tiles, missing_entry, same_root, tiles_before, to_bytes, to_signed,
};
use crate::{Head, StoreError};
use ordain_ledger::Hash;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

pub(super) struct Writer {
    server: Arc<Server>,
    /// None: it failed or never was, and the next batch connects.
    session: Option<Session>,
    /// When our turn began; none while it is not ours.
    turn: Option<Instant>,
    /// None: read it from the tables.
    end: Option<End>,
    /// The ledger's head after the last change; stays when something fails.
    known: Option<Head>,
}

/// Where the ledger ends.
struct End {
    tip: Tip,
    /// As the server tells this head from every other.
    mark: String,
}

impl Writer {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Self { server, session: None, turn: None, end: None, known: None }
    }

    pub(super) async fn run(mut self, mut inbox: Inbox) {
        let mut jobs = VecDeque::new();
        while let Some(job) = inbox.next().await {
            jobs.push_back(job);
            while !jobs.is_empty() {
                inbox.drain_into(&mut jobs);
                let (answered, took) = self.batch(&mut jobs, &mut inbox).await;
                inbox.gather_into(&mut jobs, answered, took);
            }
            self.end_turn().await;
        }
        drop(self);
        inbox.end();
    }

    /// One transaction with as many of the changes as it takes; gives the number of those who were answered,
    /// and how long it took. Whatever fails, the session is given up, and with it our turn.
    async fn batch(&mut self, jobs: &mut VecDeque<Job>, inbox: &mut Inbox) -> (usize, Duration) {
        let (session, mut batch, mark) = match self.begin(jobs, inbox).await {
            Ok(begun) => begun,
            Err(error) => {
                self.turn = None;
                fail_all(jobs.drain(..), &error, &inbox.counts);
                return Default::default();
            }
        };
        let start = Instant::now();
        while let Some(job) = jobs.pop_front() {
            batch.take(job);
            if batch.is_full() {
                break;
            }
        }
        batch.seal();
        let answered = batch.changes();
        let written = match start.elapsed() {
            // The server has ended the session.
            silence if silence >= SILENCE_WAIT => Err(StoreError::Unavailable(format!(
                "it took {} s to put the changes together, and our turn to write is over",
                silence.as_secs()
            ))),
            _ => timeout(TRANSACTION_WAIT, write(&session, &batch, mark)).await.unwrap_or_else(|_| {
                Err(StoreError::Uncertain(format!(
                    "{} has not answered for {} s",
                    self.server.place,
                    TRANSACTION_WAIT.as_secs()
                )))
            }),
        };
        match written {
            Ok(mark) => {
                self.session = Some(session);
                let tip = batch.succeed(&inbox.counts);
                self.known = Some(tip.head);
                self.end = Some(End { tip, mark });
                if self.turn.is_some_and(|began| began.elapsed() >= TURN) {
                    self.end_turn().await;
                }
                (answered, start.elapsed())
            }
            Err(error) => {
                self.turn = None;
                batch.fail(&error, &inbox.counts);
                Default::default()
            }
        }
    }

    /// A batch at the end of the ledger, in our turn, that knows the versions of all guarded records, and the
    /// mark of the head that it is built on.
    async fn begin(
        &mut self,
        jobs: &mut VecDeque<Job>,
        inbox: &mut Inbox,
    ) -> Result<(Session, Batch, String), StoreError> {
        let session = match self.session.take().filter(|session| !session.client.is_closed()) {
            Some(session) => session,
            None => {
                self.turn = None;
                self.server.check_writable()?;
                Session::open(&self.server).await?
            }
        };
        let guards = guards_of(jobs.iter());
        let (End { tip, mark }, versions) = match (self.turn, self.end.take()) {
            (Some(_), Some(end)) => (end, session.versions(&guards).await?),
            (_, end) => {
                let begun = timeout(TRANSACTION_WAIT, begin_turn(&session, end, self.known, &guards)).await;
                let begun = begun.map_err(|_| {
                    StoreError::Unavailable(format!(
                        "{} has not let us write for {} s",
                        self.server.place,
                        TRANSACTION_WAIT.as_secs()
                    ))
                })??;
                self.turn = Some(Instant::now());
                begun
            }
        };
        let mut batch = Batch::new(tip);
        versions.into_iter().for_each(|(key, version)| batch.learn(key, version));
        take_late(&session, &mut batch, jobs, inbox).await?;
        Ok((session, batch, mark))
    }

    /// Lets other nodes write.
    async fn end_turn(&mut self) {
        if self.turn.take().is_none() {
            return;
        }
        let Some(session) = self.session.take() else { return };
        if session.end_turn().await {
            self.session = Some(session);
        }
    }
}

/// Other nodes may have had long turns: whoever came meanwhile joins, if that is worth one more round trip.
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
    session.versions(&guards).await?.into_iter().for_each(|(key, version)| batch.learn(key, version));
    Ok(())
}

fn guards_of<'a>(jobs: impl Iterator<Item = &'a Job>) -> BTreeSet<Key> {
    let guards = jobs.flat_map(|job| &job.change.guards);
    guards.map(|guard| (guard.kind.clone(), guard.id.clone())).collect()
}

/// One round trip: our turn, what other nodes appended since, all guards. One more if that was much.
async fn begin_turn(
    session: &Session,
    end: Option<End>,
    known: Option<Head>,
    guards: &BTreeSet<Key>,
) -> Result<(End, Vec<(Key, u64)>), StoreError> {
    let failed = |error: Error| of_postgres(&session.place, &error);
    let (client, sql) = (&session.client, &session.sql);
    let (from, to) = match &end {
        Some(End { tip, .. }) => {
            (to_signed(tip.edge.size())?, to_signed(tip.edge.size().saturating_add(CATCH_UP_MAX))?)
        }
        None => (0, 0),
    };
    let (begun, head, newer, versions) = tokio::join!(
        biased;
        session.begin_turn(),
        client.query(&sql.head, &[]),
        async { client.query_one(&sql.newer, &[&from, &to]).await },
        session.versions(guards),
    );
    begun?;
    let rows = head.map_err(failed)?;
    let head = session.head_of(&rows)?;
    let Head { size, root } = head;
    let row = rows.first().ok_or_else(|| session.no_head())?;
    if session.column(row, 3)? {
        return Err(StoreError::ReadOnly(session.place.clone()));
    }
    let mark = session.column(row, 2)?;
    let (newer, versions) = (newer.map_err(failed)?, versions?);
    let leaves: Vec<u8> = session.column::<Option<_>>(&newer, 0)?.unwrap_or_default();
    let (leaves, _) = leaves.as_chunks::<32>();
    let tip = end.map(|end| end.tip).filter(|tip| tip.edge.size() + leaves.len() as u64 == size);
    let last: Option<Vec<u8>> = session.column(&newer, 1)?;
    if last.is_none() && size > 0 {
        return Err(missing_entry(size - 1));
    }
    let edge = match tip {
        Some(Tip { mut edge, .. }) => {
            leaves.iter().for_each(|leaf| edge.append(Hash::from_bytes(*leaf), |_, _| ()));
            same_root(&edge, root)?;
            edge
        }
        None => {
            if let Some(known) = known {
                let tiles = session.tiles(&tiles_before(known, head)?, known.size).await?;
                check_grown(known, head, tiles)?;
            }
            edge_of(size, root, session.tiles(&edge_tiles(size), size).await?)?
        }
    };
    Ok((End { tip: Tip { edge, last, head }, mark }, versions))
}

/// One statement, which is a transaction of its own; gives the new mark of the head. The server refuses it if
/// the head is not the one that the batch was built on, so that two nodes that believe to have the turn do no
/// harm.
async fn write(session: &Session, batch: &Batch, mark: String) -> Result<String, StoreError> {
    if !batch.has_rows() {
        return Ok(mark);
    }
    let rows = Rows::of(batch)?;
    let Head { size, root } = batch.head();
    let (size, root) = (to_signed(size)?, root.as_bytes().as_slice());
    let Entries { positions, bytes, leaf_hashes, attached, marks } = &rows.entries;
    let (levels, tile_positions, hashes) = &rows.tiles;
    let (names, documents) = &rows.documents;
    let Records { kinds, ids, versions, states, bodies, changed_at } = &rows.records;
    let parameters: [&(dyn ToSql + Sync); 19] = [
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
        &mark,
        attached,
        marks,
    ];
    let written = session.client.query_one(&session.sql.write, &parameters).await;
    // The connection may have broken after the server had read the statement.
    let row = written.map_err(|error| of_commit(&session.place, &error))?;
    session.column(&row, 0)
}

/// A batch by columns.
struct Rows<'a> {
    entries: Entries<'a>,
    tiles: (Vec<i16>, Vec<i64>, Vec<Vec<u8>>),
    documents: (Vec<&'a [u8]>, Vec<&'a [u8]>),
    records: Records<'a>,
}

#[derive(Default)]
struct Entries<'a> {
    positions: Vec<i64>,
    bytes: Vec<&'a [u8]>,
    leaf_hashes: Vec<&'a [u8]>,
    attached: Vec<Option<&'a [u8]>>,
    marks: Vec<Option<i64>>,
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
            entries: Entries::default(),
            tiles: Default::default(),
            documents: Default::default(),
            records: Records::default(),
        };
        for entry in &batch.entries {
            rows.entries.positions.push(to_signed(entry.index)?);
            rows.entries.bytes.push(&entry.bytes);
            rows.entries.leaf_hashes.push(entry.leaf_hash.as_bytes());
            rows.entries.attached.push(entry.attached.as_deref());
            rows.entries.marks.push(entry.mark.map(to_signed).transpose()?);
        }
        for (tile, row) in &batch.tiles {
            rows.tiles.0.push(i16::from(tile.level));
            rows.tiles.1.push(to_signed(tile.index)?);
            rows.tiles.2.push(to_bytes(row));
        }
        for (hash, bytes) in &batch.documents {
            rows.documents.0.push(hash.as_bytes());
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
