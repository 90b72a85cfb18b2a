//! Why the store did not do what it was asked.

use crate::limits::QUEUE_MAX;
use thiserror::Error;

/// Why the store did not do what it was asked. Nothing was written, except perhaps for [`StoreError::Uncertain`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A record is not at the version that the change expects.
    #[error("{kind} `{id}` is at version {version}, not at the one that was expected")]
    Conflict {
        /// The kind of the record.
        kind: String,
        /// The id of the record.
        id: String,
        /// The version in the store; 0 if there is no such record.
        version: u64,
    },
    /// The queue is full.
    #[error("{QUEUE_MAX} changes wait already")]
    Busy,
    /// The store was closed, or its writer has ended.
    #[error("the store is closed")]
    Closed,
    /// Something is beyond a named limit.
    #[error("{what} is too long: {length}, and at most {max} are taken")]
    TooLong {
        /// The thing that is too long.
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
        /// The index or size that was asked for.
        asked: u64,
        /// How many entries there are.
        size: u64,
    },
    /// The stored data contradicts itself, or is not a store.
    #[error("{0}")]
    Corrupt(String),
    /// Written by a newer program.
    #[error("{place} has version {found} of the tables, and this program knows version {known}")]
    Newer {
        /// Where.
        place: String,
        /// Its version.
        found: u64,
        /// The newest version that we know.
        known: u64,
    },
    /// Written by a program whose stores are not read any more.
    #[error("{0} was written by ordain 0.1, and this version cannot read it")]
    Older(String),
    /// There is no room left.
    #[error("{0}: no room is left, and nothing was written")]
    Full(String),
    /// It cannot be written to.
    #[error("{0}: it cannot be written to")]
    ReadOnly(String),
    /// It cannot be reached or does not work.
    #[error("{0}")]
    Unavailable(String),
    /// The connection was lost before the answer to a commit came, or the disk failed or the file was moved
    /// away in the middle of it.
    #[error("{0}; the change may have been written")]
    Uncertain(String),
}

impl StoreError {
    /// The advice for this error, where there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Conflict { .. } => Some("read it again and decide anew"),
            Self::Busy => Some("try again in a moment"),
            Self::Corrupt(_) => Some("look at the damage with `ordain ledger fsck`, or restore a backup"),
            Self::Newer { .. } => Some("use a newer `ordain`"),
            Self::Older(_) => Some("keep it with the old program, and start a new gate"),
            Self::Full(_) => Some("make room and try again"),
            Self::ReadOnly(_) => Some("change its permissions, or name another place"),
            Self::Uncertain(_) => Some("read the current state before you try again"),
            Self::Closed
            | Self::TooLong { .. }
            | Self::Refused(_)
            | Self::Beyond { .. }
            | Self::Unavailable(_) => None,
        }
    }
}
