//! Values that the store gives back.

use ordain_ledger::Hash;

/// The end of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Number of entries.
    pub size: u64,
    /// The root of the tree over all of them.
    pub root: Hash,
}

/// Something with a state that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The kind of record.
    pub kind: String,
    /// Unique in its kind.
    pub id: String,
    /// 1 when it is new, and one more with each change.
    pub version: u64,
    /// By which it can be listed.
    pub state: String,
    /// JSON.
    pub body: String,
    /// The ledger's size after the last change of this record.
    pub changed_at: u64,
}

/// Which records to list. They come in the order of their last change, and those of one change by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// The id within this kind.
    pub kind: String,
    /// Only in this state.
    pub state: Option<String>,
    /// Only what comes after this `changed_at` and id, in the order of the listing: the last record of the
    /// page before.
    pub after: Option<(u64, String)>,
    /// The last change first.
    pub newest_first: bool,
    /// At most so many.
    pub limit: usize,
}

/// A leaf of the ledger, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRow {
    /// Which leaf it is, from 0.
    pub index: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its hash as stored beside it. A verifier computes it again.
    pub leaf_hash: Hash,
    /// The documents that are kept with it; none if they were altered and cannot be unpacked.
    pub attached: Vec<Vec<u8>>,
    /// The number by which it is found without a search, if it has one.
    pub mark: Option<u64>,
}

/// A record, the last entry, and the entries with a mark after one that is known: all of the same moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MarkedView {
    /// None: there is no such record.
    pub record: Option<Record>,
    /// The last entry of the ledger, without its documents; none on an empty one.
    pub last: Option<EntryRow>,
    /// Entries with a mark, in its order, without their documents.
    pub marked: Vec<EntryRow>,
}

/// The work of this handle's writer since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Transactions that were committed.
    pub batches: u64,
    /// Changes in them.
    pub changes: u64,
    /// Entries in them.
    pub entries: u64,
    /// Changes that were refused, most often because a guard did not hold.
    pub refused: u64,
    /// Changes that failed with their whole batch.
    pub failed: u64,
    /// Reads, each of which is one look at the database.
    pub reads: u64,
    /// Entries and records that lists gave.
    pub rows: u64,
}

/// The end of the texts that begin with this one. Only a text that goes on with the last character of all is beyond it,
/// which Unicode assigns to nobody.
pub(crate) fn end_of(prefix: &str) -> String {
    format!("{prefix}\u{10FFFF}")
}
