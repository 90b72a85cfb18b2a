//! Everything from outside has a limit, and the limit has a name.

pub use ordain_api::limits::{
    CONTEXT_REF_CHARACTERS_MAX as REF_CHARS_MAX, CONTEXT_REFS_MAX as REFS_MAX,
    NOTE_TEXT_CHARACTERS_MIN as TEXT_CHARS_MIN,
};

/// Characters of a prompt or a refined text; what is longer is cut.
pub const TEXT_CHARS_MAX: usize = 20_000;
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
