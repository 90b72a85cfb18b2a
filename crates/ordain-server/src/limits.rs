//! Everything from outside has a limit, and the limit has a name.

use ordain_api::limits::{FSCK_SECONDS_MAX, STREAM_SECONDS_MAX};
use std::time::Duration;

/// How long a client may take for the handshake of TLS.
pub const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);
/// Handshakes under way at one address; the oldest gives its place to a new one.
pub const HANDSHAKES_MAX: usize = 256;
/// How often the files of the certificate are looked at.
pub const CERTIFICATE_LOOK_EVERY: Duration = Duration::from_secs(1);
/// Bytes of a certificate with those of its authorities.
pub const CERTIFICATE_BYTES_MAX: u64 = 256 << 10;
/// Bytes of the key of a certificate.
pub const KEY_BYTES_MAX: u64 = 64 << 10;
/// Bytes of a request's line and headers.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
/// How long a client may take to send them.
pub const HEAD_WAIT: Duration = Duration::from_secs(10);
/// How long a client may take to send the body.
pub const BODY_WAIT: Duration = Duration::from_secs(15);
/// How long a client may read nothing of what is sent to it.
pub const READ_WAIT: Duration = Duration::from_secs(20);
/// How long an answer may take.
pub const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// How long a stream of events lives.
pub const STREAM_WAIT: Duration = Duration::from_secs(STREAM_SECONDS_MAX);
/// How long a check of the ledger and its records may take.
pub const FSCK_WAIT: Duration = Duration::from_secs(FSCK_SECONDS_MAX);
/// How often a waiting request looks whether another node changed something.
pub const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Connections at once.
pub const CONNECTIONS_MAX: usize = 2_048;
/// Requests that are worked on at once.
pub const REQUESTS_MAX: usize = 512;
/// The number of these that one principal may have.
pub const REQUESTS_OF_ONE_MAX: usize = 256;
/// Requests without a token that ask the store at once; the others wait for their turn.
pub const OPEN_REQUESTS_MAX: usize = 4;
/// Notes that are drafted at once. A model may take long, and nobody waits for a place.
pub const DRAFTS_MAX: usize = 64;
/// Note proposals that are held against the vault at once; the others wait for their turn.
pub const VALIDATIONS_MAX: usize = 4;
/// Failed drafts whose requester has not read them yet; the oldest go first.
pub const FAILURES_MAX: usize = 64;
/// How long a failed draft can be read.
pub const FAILURE_KEPT: Duration = Duration::from_secs(900);
/// Requests that wait for something to happen.
pub const WAITING_MAX: usize = 1_024;
/// How long requests may take to end when the server stops.
pub const STOP_WAIT: Duration = Duration::from_secs(30);
/// How often is looked what time has done.
pub const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// How often the ledger's head is signed, if it has grown.
pub const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
/// Intents that are transformed and documents that are verified at once; the others wait for their turn. Such
/// work fills a processor, and decisions need one too.
pub const DOCUMENTS_MAX: usize = 1;
/// Bytes of proposals, calls and evidence that one principal may send in a day, to one node.
pub const BYTES_PER_DAY_DEFAULT: u64 = 1 << 30;
/// How often a request by a stranger is logged: one that was refused, and one that was answered.
pub const STRANGERS_LOGGED_EVERY: Duration = Duration::from_secs(1);
/// Looking takes at most one part in so many of the time.
pub const SWEEP_SHARE: u32 = 20;
