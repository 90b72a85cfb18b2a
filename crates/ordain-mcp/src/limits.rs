//! Everything from outside has a limit, and the limit has a name.

use std::time::Duration;

/// Bytes of one message, unless the policies say less for the results of a server.
pub const MESSAGE_BYTES_MAX: usize = 8 << 20;
/// Bytes of an id or a method of a message that is too long to keep.
pub(crate) const FIELD_BYTES_MAX: usize = 1 << 10;
/// Requests of the client that the server has not answered.
pub(crate) const REQUESTS_MAX: usize = 4_096;
/// Calls under way, those that wait for approval included.
pub(crate) const CALLS_MAX: usize = 256;
/// Bytes of a value in the parameters of an action; a longer one is shown by its hash, size and head.
pub(crate) const VALUE_BYTES_MAX: usize = 4 << 10;
/// Characters of the head of a longer value.
pub(crate) const HEAD_CHARACTERS: usize = 256;
/// Bytes of the arguments of a call.
pub(crate) const ARGUMENTS_BYTES_MAX: usize = 4 << 20;
/// Characters of the name of a server or a tool.
pub(crate) const NAME_CHARACTERS_MAX: usize = 128;
/// Tools of one server.
pub(crate) const TOOLS_MAX: usize = 1_024;
/// Rounds of the server's own questions that are open at once.
pub(crate) const ROUNDS_MAX: usize = 256;
/// Bytes of a program that becomes part of the hash of a server; of a longer one the size does.
pub(crate) const ARTEFACT_BYTES_MAX: u64 = 32 << 20;
/// How often a client that waits hears about it.
pub(crate) const PROGRESS_EVERY: Duration = Duration::from_secs(10);
/// How long a server may still answer a call that the client has cancelled.
pub(crate) const CANCELLED_WAIT: Duration = Duration::from_secs(5);
/// How long a server may take to end when its input has ended, and again after it was asked to.
pub(crate) const END_WAIT: Duration = Duration::from_secs(2);
/// A use is reported this long before its deadline.
pub(crate) const DEADLINE_MARGIN_MS: u64 = 2_000;
