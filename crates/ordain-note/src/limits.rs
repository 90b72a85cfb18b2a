//! Everything from outside has a limit, and the limit has a name.

/// Characters of a prompt or a refined text, at least.
pub const TEXT_CHARS_MIN: usize = 8;
/// Characters of a prompt or a refined text; what is longer is cut.
pub const TEXT_CHARS_MAX: usize = 20_000;
/// Context references of a request.
pub const REFS_MAX: usize = 8;
/// Characters of one of them.
pub const REF_CHARS_MAX: usize = 512;
/// Characters of a note that the model is given as context; what is longer is cut.
pub const CONTEXT_CHARS_MAX: usize = 8_000;
/// Characters of an answer that the model is shown again when it is asked to repair it.
pub const QUOTED_CHARS_MAX: usize = 20_000;
/// Faults that are told of a request or an answer; nobody reads more.
pub const FAULTS_MAX: usize = 100;
/// Faults that a repair lists.
pub const FAULTS_SHOWN_MAX: usize = 20;
/// Characters of a failed answer that its requester can read.
pub const PAYLOAD_CHARS_MAX: usize = 64_000;
