//! Limits that callers must know.

/// Characters of a name on record.
pub const NAME_CHARACTERS_MAX: usize = ordain_spec::name::CHARACTERS_MAX;
/// The pattern of a name on record.
pub const NAME_PATTERN: &str = ordain_spec::name::PATTERN;
/// Characters of the reason of an approval, a rejection, a halt or an outcome.
pub const REASON_CHARACTERS_MAX: usize = 4_000;
/// The largest number that every JSON can hold.
pub const WHOLE_MAX: u64 = (1 << 53) - 1;
/// Evidence packets of one proposal.
pub const EVIDENCE_MAX: usize = 64;
/// Names that one token may propose under.
pub const NAMES_MAX: usize = 64;
/// Bytes of a request's body that holds a document.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// Bytes of the body of `act`: a call, and the texts that are too long for its parameters.
pub const ACT_BODY_BYTES_MAX: usize = 6 << 20;
/// Bytes of a request's body that holds no document: a verdict, a reason, an outcome, a new token.
pub const SMALL_BODY_BYTES_MAX: usize = 256 << 10;
/// Bytes of a request's body that holds a policy folder.
pub const POLICY_BODY_BYTES_MAX: usize = 8 << 20;
/// Seconds that `wait` may ask for.
pub const POLL_SECONDS_MAX: u64 = 60;
/// Seconds that a stream of events lives.
pub const STREAM_SECONDS_MAX: u64 = 3_600;
/// Seconds that a check of the ledger and its records may take.
pub const FSCK_SECONDS_MAX: u64 = 600;
/// Characters of a prompt or a refined text, at least.
pub const NOTE_TEXT_CHARACTERS_MIN: usize = 8;
/// Context references of a request for a draft.
pub const CONTEXT_REFS_MAX: usize = 8;
/// Characters of one of them.
pub const CONTEXT_REF_CHARACTERS_MAX: usize = 512;
/// Elements of one page of a list.
pub const PAGE_MAX: usize = 500;
/// How much later than its deadline an outcome may still arrive before it counts as unknown.
pub const GRACE_MS: u64 = 5_000;
