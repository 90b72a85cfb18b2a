//! How long, how often and how much.

use std::time::Duration;

/// Bytes of an answer's body, at most.
pub const ANSWER_BYTES_MAX: usize = 4 << 20;
/// Bytes that are read of a body that comes with an error.
pub const ERROR_BYTES_MAX: usize = 64 << 10;
/// How long such a body is waited for.
pub const ERROR_BODY_WAIT: Duration = Duration::from_secs(1);
/// Characters of a provider's message that an error quotes.
pub const MESSAGE_CHARS_MAX: usize = 200;
/// Bytes of a recorded completion: an answer, escaped as JSON.
pub const FIXTURE_BYTES_MAX: u64 = 8 << 20;
/// Files that a folder of recorded completions may have.
pub const FIXTURES_MAX: usize = 10_000;
/// Tokens of an answer, if nothing says otherwise.
pub const TOKENS_MAX: u32 = 4096;

/// The time that a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// All completions of a request together. The caller makes a deadline of it.
    pub request: Duration,
    /// One call of a provider.
    pub call: Duration,
    /// How often a completion is tried again.
    pub retries: u32,
    /// The wait before the first retry of a request; it doubles with each.
    pub backoff: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(20),
            call: Duration::from_secs(16),
            retries: 1,
            backoff: Duration::from_millis(250),
        }
    }
}
