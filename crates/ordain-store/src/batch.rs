//! The changes of one transaction: checked in order, each seeing the ones before, and put together as rows.

use crate::limits::BATCH_BYTES_MAX;
use crate::queue::{Answer, Counts, Job};
use crate::{Change, Committed, End, Guard, Head, Record, StoreError, checks};
use ordain_canon::ContentHash;
use ordain_ledger::{Edge, Hash, Tiles};
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// Kind and id of a record.
pub(crate) type Key = (String, String);

/// Where a ledger ends.
pub(crate) struct Tip {
    pub(crate) edge: Edge,
    /// The last entry; none on an empty ledger.
    pub(crate) last: Option<Vec<u8>>,
    /// The size and the root of the edge.
    pub(crate) head: Head,
}

/// An entry as it is written.
pub(crate) struct NewEntry {
    pub(crate) index: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) leaf_hash: Hash,
    /// The documents that are kept with it, packed.
    pub(crate) attached: Option<Vec<u8>>,
    pub(crate) mark: Option<u64>,
}

/// The changes of one transaction, and the rows that they come to.
pub(crate) struct Batch {
    edge: Edge,
    /// The last entry that was there before.
    last: Option<Vec<u8>>,
    /// Before the changes; after [`Batch::seal`] with them.
    head: Head,
    /// Versions of records by kind and id, so that a lookup needs no key of its own.
    versions: BTreeMap<String, BTreeMap<String, u64>>,
    answers: Vec<(oneshot::Sender<Answer>, Answer)>,
    bytes: usize,
    /// The highest level of a tile that became full.
    full_level: Option<u8>,
    pub(crate) entries: Vec<NewEntry>,
    pub(crate) tiles: Tiles,
    pub(crate) documents: BTreeMap<ContentHash, Vec<u8>>,
    /// A record that several changes wrote is here once, as the last one left it.
    pub(crate) records: BTreeMap<Key, Record>,
}

impl Batch {
    pub(crate) fn new(Tip { edge, last, head }: Tip) -> Self {
        Self {
            edge,
            last,
            head,
            versions: BTreeMap::new(),
            answers: Vec::new(),
            bytes: 0,
            full_level: None,
            entries: Vec::new(),
            tiles: Tiles::new(),
            documents: BTreeMap::new(),
            records: BTreeMap::new(),
        }
    }

    /// The guarded records whose version must still be read.
    pub(crate) fn unknown(&self, guards: &[Guard]) -> Vec<Key> {
        let unknown = guards.iter().filter(|guard| self.version(&guard.kind, &guard.id).is_none());
        unknown.map(|guard| (guard.kind.clone(), guard.id.clone())).collect()
    }

    fn version(&self, kind: &str, id: &str) -> Option<u64> {
        self.versions.get(kind)?.get(id).copied()
    }

    /// A record's version in the database; 0 if it is not there.
    pub(crate) fn learn(&mut self, (kind, id): Key, version: u64) {
        self.versions.entry(kind).or_default().insert(id, version);
    }

    /// Whether the transaction takes no further change.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES_MAX
    }

    pub(crate) fn has_rows(&self) -> bool {
        !(self.entries.is_empty() && self.documents.is_empty() && self.records.is_empty())
    }

    /// How many it has, those that it refuses among them.
    pub(crate) fn changes(&self) -> usize {
        self.answers.len()
    }

    /// The end of the ledger, once the batch is sealed.
    pub(crate) fn head(&self) -> Head {
        self.head
    }

    /// Adds a change, or keeps why it is refused. The versions of its guards are known.
    pub(crate) fn take(&mut self, job: Job) {
        let answer = self.apply(job.change);
        self.answers.push((job.answer, answer));
    }

    /// Keeps a change whose guards could not be read.
    pub(crate) fn refuse(&mut self, job: Job, error: StoreError) {
        self.answers.push((job.answer, Err(error)));
    }

    fn apply(&mut self, change: Change) -> Answer {
        for Guard { kind, id, version } in &change.guards {
            let found = self.version(kind, id).unwrap_or_default();
            if found != *version {
                return Err(StoreError::Conflict { kind: kind.clone(), id: id.clone(), version: found });
            }
        }
        let first_index = self.edge.size();
        let last = self.entries.last().map(|entry| &entry.bytes).or(self.last.as_ref());
        let writes = (change.build)(End { index: first_index, last: last.map(Vec::as_slice) });
        self.bytes += checks::writes(&change.guards, change.attached.as_ref(), &writes)?;
        let mut attached = change.attached.map(|packed| packed.bytes);
        for (at, bytes) in writes.entries.into_iter().enumerate() {
            let index = self.edge.size();
            let mark = writes.marks.iter().find(|(marked, _)| *marked == at).map(|(_, mark)| *mark);
            let leaf_hash = Hash::of_leaf(&bytes);
            self.edge.append(leaf_hash, |tile, row| {
                self.tiles.insert(tile, row.to_vec());
                self.full_level = self.full_level.max(Some(tile.level));
            });
            self.entries.push(NewEntry { index, bytes, leaf_hash, attached: attached.take(), mark });
        }
        self.documents.extend(writes.documents.into_iter().map(|bytes| (ContentHash::of(&bytes), bytes)));
        let size = self.edge.size();
        for new in writes.records {
            let crate::NewRecord { kind, id, state, body } = new;
            let version = self.version(&kind, &id).unwrap_or_default() + 1;
            // The next change of the batch sees it: of two that want the same version one gets it.
            match self.versions.get_mut(&kind).and_then(|ids| ids.get_mut(&id)) {
                Some(known) => *known = version,
                None => self.learn((kind.clone(), id.clone()), version),
            }
            let key = (kind.clone(), id.clone());
            self.records.insert(key, Record { kind, id, version, state, body, changed_at: size });
        }
        Ok(Committed { first_index, size })
    }

    /// After the last change: adds the tiles above level 0 that grew and are not full. Level 0 is read from entries.
    pub(crate) fn seal(&mut self) {
        if !self.entries.is_empty() {
            self.head = Head { size: self.edge.size(), root: self.edge.root() };
        }
        let Some(full_level) = self.full_level else { return };
        for (tile, row) in self.edge.partial_tiles() {
            if tile.level > 0 && tile.level <= full_level + 1 {
                self.tiles.insert(tile, row.to_vec());
            }
        }
    }

    /// The transaction is durable, or there was nothing to write.
    pub(crate) fn succeed(mut self, counts: &Counts) -> Tip {
        let refused = self.answers.iter().filter(|(_, answer)| answer.is_err()).count() as u64;
        counts.refused(refused);
        if self.has_rows() {
            counts.committed(self.answers.len() as u64 - refused, self.entries.len() as u64);
        }
        for (caller, answer) in self.answers {
            // A caller that no longer waits need not know.
            let _gone = caller.send(answer);
        }
        let last = self.entries.pop().map(|entry| entry.bytes).or(self.last);
        Tip { edge: self.edge, last, head: self.head }
    }

    /// Nothing was written, or nobody knows. A conflict is not an answer either: it may be with a change that
    /// failed.
    pub(crate) fn fail(self, error: &StoreError, counts: &Counts) {
        let error = unwritten(error);
        counts.failed(self.answers.len() as u64);
        for (caller, _) in self.answers {
            let _gone = caller.send(Err(error.clone()));
        }
    }
}

/// The error for a caller that writes: it adds that nothing was written, unless nobody knows.
fn unwritten(error: &StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(problem) => {
            StoreError::Unavailable(format!("{problem}; nothing was written"))
        }
        other => other.clone(),
    }
}

/// Fails changes that no transaction took.
pub(crate) fn fail_all(jobs: impl Iterator<Item = Job>, error: &StoreError, counts: &Counts) {
    let error = unwritten(error);
    for job in jobs {
        counts.failed(1);
        let _gone = job.answer.send(Err(error.clone()));
    }
}
