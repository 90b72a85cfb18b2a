//! Everything from outside has a limit, and the limit has a name.

/// Bytes of an event.
pub(crate) const EVENT_BYTES_MAX: usize = 5 << 20;
/// Bytes of a text that parameters hold as it is. A longer one goes on record beside the action.
pub(crate) const TEXT_BYTES_MAX: usize = 4 << 10;
/// Bytes of a command: the gate has to read all of it.
pub(crate) const COMMAND_BYTES_MAX: usize = 32 << 10;
/// Bytes of all texts beside an action.
pub(crate) const LONG_TEXTS_BYTES_MAX: usize = 4 << 20;
/// Bytes of a long text that parameters show.
pub(crate) const HEAD_BYTES: usize = 512;
/// Files that one patch changes.
pub(crate) const PATCH_FILES_MAX: usize = 256;
/// Bytes of what a model is told.
pub(crate) const REASON_BYTES_MAX: usize = 2_000;
/// Bytes of a file whose content is hashed.
pub(crate) const FILE_BYTES_MAX: u64 = 64 << 20;
/// Files of one command whose content is hashed.
pub(crate) const FILES_MAX: usize = 32;
