//! The limits of the store. Everything above is refused with an error that names the limit.

use std::time::Duration;

/// Changes that wait for the writer. One more is refused as busy.
pub const QUEUE_MAX: usize = 1_024;
/// Changes that share one transaction.
pub const BATCH_CHANGES_MAX: usize = 256;
/// Bytes after which a transaction takes no further change.
pub const BATCH_BYTES_MAX: usize = 8 << 20;
/// Bytes of everything that one change writes.
pub const CHANGE_BYTES_MAX: usize = 64 << 20;
/// Records that one change reads or writes.
pub const GUARDS_MAX: usize = 1_024;

/// Bytes of a record's kind, and of its state.
pub const KIND_BYTES_MAX: usize = 64;
/// Bytes of a record's id.
pub const ID_BYTES_MAX: usize = 1_024;
/// Bytes of a record's body.
pub const BODY_BYTES_MAX: usize = 4 << 20;
/// Bytes of one document.
pub const DOCUMENT_BYTES_MAX: usize = 32 << 20;

/// Records that one listing gives.
pub const LIST_MAX: usize = 10_000;
/// Documents that are asked for at once.
pub const DOCUMENTS_MAX: usize = 1_000;
/// Bytes of entries that one call gives, unless the first alone is longer.
pub const ENTRIES_BYTES_MAX: usize = 4 << 20;
/// Entries with a mark that one call gives.
pub const MARKED_MAX: usize = 1_000;
/// Tiles that are asked for at once; a proof needs far fewer.
pub const TILES_MAX: usize = 1_024;

/// Connections that read at the same time.
pub const READERS: usize = 4;
/// Entries of other processes that the writer appends to its edge of the tree; after more it reads the edge again.
pub(crate) const CATCH_UP_MAX: u64 = 1_024;

/// How long the writer waits for another process that writes to the same file.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(15);
/// Between two attempts to get the lock.
pub(crate) const LOCK_RETRY: Duration = Duration::from_millis(1);
/// How long a connection to a server may take, whatever addresses it has …
pub(crate) const CONNECT_WAIT: Duration = Duration::from_secs(15);
/// … and how long one of them may be silent before the next is tried.
pub(crate) const ADDRESS_WAIT: Duration = Duration::from_secs(3);
/// How long a server may take for one statement.
pub(crate) const STATEMENT_WAIT: Duration = Duration::from_secs(30);
/// How long a server lets a node have its turn without a word.
pub(crate) const SILENCE_WAIT: Duration = Duration::from_secs(15);
/// How long it may take to get a turn, and then how long a batch.
pub(crate) const TRANSACTION_WAIT: Duration = Duration::from_secs(60);
/// How long a node writes before the others get their turn.
pub(crate) const TURN: Duration = Duration::from_millis(2);
/// How long the writer looks out for those whom it has just answered: so much of the time that the batch took …
pub(crate) const GATHER_SHARE: u32 = 8;
/// … and at most this.
pub(crate) const GATHER_WAIT_MAX: Duration = Duration::from_micros(200);
/// Between two looks.
pub(crate) const GATHER_STEP: Duration = Duration::from_micros(50);
