//! Why the store did not do what it was asked.

use crate::limits::QUEUE_MAX;
use thiserror::Error;

/// Why the store did not do what it was asked. Nothing was written, except perhaps for [`StoreError::Uncertain`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A record is not at the version that the change expects.
    #[error(
        "{kind} `{id}` is at version {version}, not at the one that was expected; read it again and decide anew"
    )]
    Conflict {
        /// Of the record.
        kind: String,
        /// Of the record.
        id: String,
        /// What the store has; 0 if there is no such record.
        version: u64,
    },
    /// The queue is full.
    #[error("{QUEUE_MAX} changes wait already; try again in a moment")]
    Busy,
    /// The store was closed, or its writer has ended.
    #[error("the store is closed; open it again")]
    Closed,
    /// Something is beyond a named limit.
    #[error("{what} is too long: {length}, and at most {max} are taken")]
    TooLong {
        /// What it is.
        what: &'static str,
        /// How long it is.
        length: usize,
        /// How long it may be.
        max: usize,
    },
    /// A change that no store takes, whatever is in it.
    #[error("the change is refused: {0}")]
    Refused(String),
    /// An index or a size beyond the end of the ledger.
    #[error("{asked} is beyond the ledger, which has {size} entries")]
    Beyond {
        /// What was asked for.
        asked: u64,
        /// How many entries there are.
        size: u64,
    },
    /// What is stored contradicts itself, or is no store.
    #[error("{0}")]
    Corrupt(String),
    /// Written by a newer program.
    #[error(
        "{place} has version {found} of the tables and this program knows version {known}; use a newer `ordain`"
    )]
    Newer {
        /// Where.
        place: String,
        /// Its version.
        found: u64,
        /// The newest version that we know.
        known: u64,
    },
    /// Written by a program whose stores are not read any more.
    #[error(
        "{0} was written by ordain 0.1; this version cannot read it. Keep it with the old program, and start a new gate"
    )]
    Older(String),
    /// There is no room left.
    #[error("{0}: no room is left; nothing was written; make room and try again")]
    Full(String),
    /// It cannot be written to.
    #[error("{0}: it cannot be written to; change its permissions, or name another place")]
    ReadOnly(String),
    /// It cannot be reached or does not work.
    #[error("{0}")]
    Unavailable(String),
    /// The connection was lost before the answer to a commit came, or the disk failed or the file was moved away in the middle of
    /// it.
    #[error("{0}; the change may have been written: read the records before you try again")]
    Uncertain(String),
}
