//! A question to a model, and its answer.

use serde::Serialize;
use std::time::Duration;

/// One completion that is wanted.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The request of a person. Lists of recorded prompts show it; it is not sent.
    pub prompt: String,
    /// The instructions.
    pub system: String,
    /// The conversation so far; the last turn is the user's.
    pub turns: Vec<Turn>,
    /// The form of the answer; without it the model writes what it likes.
    pub schema: Option<Schema>,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Turn {
    /// The speaker.
    pub role: Role,
    /// The text.
    pub text: String,
}

/// The speaker of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// A JSON Schema with a name, which some providers want.
#[derive(Debug, Clone, Serialize)]
pub struct Schema {
    /// Letters, digits, `_` and `-`; at most 64.
    pub name: String,
    /// The schema. Each provider gets the part of it that it understands, so an answer must be checked
    /// against the whole.
    pub value: serde_json::Value,
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The complete text, as it came.
    pub text: String,
}

/// The cost of all calls of a request together. It counts on, whatever becomes of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Calls of the provider.
    pub attempts: u32,
    /// Those of them that tried again what had failed.
    pub retries: u32,
    /// Tokens that were read, as the provider counts.
    pub tokens_in: u64,
    /// Tokens that were written, as the provider counts.
    pub tokens_out: u64,
    /// How long the calls took, without the waits between them.
    pub latency: Duration,
    /// The status of the last answer.
    pub provider_code: Option<u16>,
}

impl Usage {
    /// The numbers are a provider's, which may say anything.
    pub(crate) fn count(&mut self, tokens_in: u64, tokens_out: u64) {
        self.tokens_in = self.tokens_in.saturating_add(tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(tokens_out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_numbers_do_not_overflow() {
        let mut usage = Usage::default();
        usage.count(u64::MAX, 1);
        usage.count(u64::MAX, u64::MAX);
        assert_eq!((usage.tokens_in, usage.tokens_out), (u64::MAX, u64::MAX));
    }
}
