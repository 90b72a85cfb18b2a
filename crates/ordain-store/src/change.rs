//! A change that a caller asks the store to write.

use crate::{Packed, StoreError};

/// The change of one step: all of it or nothing.
pub struct Change {
    /// Each record that is read or written, and the version it must have. A step that writes a record guards
    /// it here.
    pub guards: Vec<Guard>,
    /// Documents that belong to this change alone, kept with its first entry.
    pub attached: Option<Packed>,
    /// Called inside the transaction, after all guards held, with the end of the ledger. It must be quick and
    /// touch nothing else: everybody waits for it, and what it gives may still fail to be written.
    pub build: Box<dyn FnOnce(End<'_>) -> Writes + Send>,
}

/// The end of the ledger, as a change finds it: nobody appends in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End<'a> {
    /// The index that the first new entry gets.
    pub index: u64,
    /// The last entry before it, of whatever node; none on an empty ledger.
    pub last: Option<&'a [u8]>,
}

impl Change {
    /// Makes a change of guards and of what to write if they hold, by the index that the first new entry
    /// gets.
    pub fn new(guards: Vec<Guard>, build: impl FnOnce(u64) -> Writes + Send + 'static) -> Self {
        Self { guards, attached: None, build: Box::new(|end| build(end.index)) }
    }

    /// The same with documents that are kept with its first entry.
    pub fn attach(self, documents: &[Vec<u8>]) -> Result<Self, StoreError> {
        Ok(Self { attached: Some(Packed::of(documents)?), ..self })
    }
}

/// The version that a record must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The kind of the record.
    pub kind: String,
    /// The id of the record.
    pub id: String,
    /// 0: there must be no such record.
    pub version: u64,
}

impl Guard {
    /// A record must have this version.
    pub fn new(kind: impl Into<String>, id: impl Into<String>, version: u64) -> Self {
        Self { kind: kind.into(), id: id.into(), version }
    }

    /// There must be no such record.
    pub fn absent(kind: impl Into<String>, id: impl Into<String>) -> Self {
        Self::new(kind, id, 0)
    }
}

/// The writes of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writes {
    /// Kept under the hash of their bytes, for documents that several changes name; a document that is stored
    /// already stays.
    pub documents: Vec<Vec<u8>>,
    /// Each at most once, and only with a guard. The new version is the guarded one plus one.
    pub records: Vec<NewRecord>,
    /// Leaves of the ledger, in this order.
    pub entries: Vec<Vec<u8>>,
    /// Which of them get a mark by which they are found without a search, and that mark: one more than the
    /// last on the ledger.
    pub marks: Vec<(usize, u64)>,
}

/// A record as it shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRecord {
    /// The kind of record.
    pub kind: String,
    /// Unique in its kind.
    pub id: String,
    /// By which it can be listed.
    pub state: String,
    /// JSON. The store does not look into it.
    pub body: String,
}

impl NewRecord {
    /// A record as it shall be.
    pub fn new(
        kind: impl Into<String>,
        id: impl Into<String>,
        state: impl Into<String>,
        body: impl Into<String>,
    ) -> Self {
        Self { kind: kind.into(), id: id.into(), state: state.into(), body: body.into() }
    }
}

/// The result of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The index of its first entry; without entries the ledger's size.
    pub first_index: u64,
    /// The head of the ledger after this change.
    pub size: u64,
}
