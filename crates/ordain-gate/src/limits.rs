//! Everything from outside has a limit, and the limit has a name.

/// How long a held proposal waits at most.
pub const HOLD_MS_MAX: u64 = 24 * 3_600_000;
/// How long a worker has to report, where its permit says nothing.
pub const DURATION_MS_DEFAULT: u64 = 5 * 60_000;
/// How long a worker has to report at most, whatever its permit says: a use that is open must become unknown some day.
pub const DURATION_MS_MAX: u64 = 24 * 3_600_000;
/// How often a step is tried again when others changed the same records in between.
pub const TRIES_MAX: usize = 64;
/// Uses of one permit that may be under way at once.
pub const USES_OPEN_MAX: usize = 256;
/// Effects of one command that must not happen twice by accident. Each has a record that its use writes.
pub const EFFECT_KEYS_MAX: usize = 64;
/// Settled uses of a permit that its record shows; all of them are on the ledger.
pub const USES_SHOWN_MAX: usize = 64;
/// Bytes of all evidence packets of one proposal.
pub const EVIDENCE_BYTES_MAX: usize = 4 << 20;
/// Bytes after which a page of a list ends.
pub const PAGE_BYTES_MAX: usize = 4 << 20;
/// Tokens that can exist.
pub const TOKENS_MAX: usize = 10_000;
/// Keys of approvers that were ever enrolled.
pub const APPROVER_KEYS_MAX: usize = 1_000;
/// MCP servers of one gate.
pub const SERVERS_MAX: usize = 256;
/// Lists of one server that go on record at once after an approval; later ones do only so often.
pub const LISTINGS_AT_ONCE: u32 = 16;
/// How often.
pub const LISTINGS_APART_MS: u64 = 60_000;
/// How long the terms of an owner act hold.
pub const ACT_TERMS_MS: u64 = 10 * 60_000;
/// How long the calls of one hook can be observed.
pub const OBSERVE_MS_MAX: u64 = 14 * 86_400_000;
/// How long all hooks can be paused.
pub const PAUSE_MS_MAX: u64 = 86_400_000;
/// How far the clocks of the nodes of one store may be apart.
pub const CLOCKS_APART_MS_MAX: u64 = 60_000;
/// How long a call of `act` waits for approvals, and its permit for the call to be repeated.
pub const ACT_HOLD_MS: u64 = 8 * 3_600_000;
/// The same for a call that names something whose content is not known.
pub const UNRESOLVED_HOLD_MS: u64 = 10 * 60_000;
/// Bytes of what a host says about a call.
pub const SOURCES_BYTES_MAX: usize = 5 << 20;
/// Differences between records and ledger that a check lists; the first of them say enough.
pub const RECORD_DAMAGE_MAX: usize = 1_000;
