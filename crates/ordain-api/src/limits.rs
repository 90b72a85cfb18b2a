//! Limits that callers must know.

/// Characters of a proposal's id, an evidence id, the name of an actor, a person, a sensor or a worker.
pub const NAME_CHARACTERS_MAX: usize = 256;
/// What a name looks like: not only white space, and no control characters.
pub const NAME_PATTERN: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";
/// Characters of the reason of an approval, a rejection, a halt or an outcome.
pub const REASON_CHARACTERS_MAX: usize = 4_000;
/// The largest number that every JSON can hold.
pub const WHOLE_MAX: u64 = (1 << 53) - 1;
/// Evidence packets of one proposal.
pub const EVIDENCE_MAX: usize = 64;
/// Names that one token may propose under.
pub const NAMES_MAX: usize = 64;
/// Elements of one page of a list.
pub const PAGE_MAX: usize = 500;
/// How much later than its deadline an outcome may still arrive before it counts as unknown.
pub const GRACE_MS: u64 = 5_000;
