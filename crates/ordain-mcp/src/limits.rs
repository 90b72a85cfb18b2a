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
/// An answer to a question that comes sooner is a program's.
pub(crate) const PERSON_TAKES: Duration = Duration::from_millis(700);
/// Questions of the gateway to one client that have no answer.
pub(crate) const QUESTIONS_MAX: usize = 512;
/// Tasks of one principal; those that are over make room.
pub(crate) const TASKS_MAX: usize = 64;
/// Connections of clients over HTTP.
pub(crate) const CONNECTIONS_MAX: usize = 512;
/// Tokens whose owners are remembered.
pub(crate) const GUESTS_MAX: usize = 256;
/// Sessions over HTTP.
pub(crate) const SESSIONS_MAX: usize = 1_024;
/// Servers that run for clients over HTTP, one for each session.
pub(crate) const PROCESSES_MAX: usize = 64;
/// A token that was checked is not checked again for so long, for messages that the gate does not judge.
pub(crate) const TOKEN_TRUST: Duration = Duration::from_secs(1);
/// How long a connection to a server by URL may take.
pub(crate) const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// How long a client may take to send a message.
pub(crate) const BODY_WAIT: Duration = Duration::from_secs(60);
