//! Why there is no answer.

use crate::redact::quoted;
use std::fmt;
use std::time::Duration;

/// Why there is no answer. No text in it has a key, and what a provider said is redacted and short.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A call, or all of them, took too long.
    #[error("{provider} did not answer in time")]
    Timeout {
        /// The provider.
        provider: String,
    },
    /// The provider wants fewer requests: 429.
    #[error("{provider} is asked too often and answered 429{}{}", Wait(*retry_after), Said(message))]
    Busy {
        /// The provider.
        provider: String,
        /// How long to wait, if the provider says so.
        retry_after: Option<Duration>,
        /// Its message.
        message: String,
    },
    /// The provider has a problem of its own, or nobody is there.
    #[error("{provider} {}{}{}{}", Status(*status), Wait(*retry_after), Said(message), Hint(*status))]
    Unavailable {
        /// The provider.
        provider: String,
        /// 500 and above; none if there was no connection.
        status: Option<u16>,
        /// How long to wait, if the provider says so.
        retry_after: Option<Duration>,
        /// Its message, or why there is no connection.
        message: String,
    },
    /// The provider does not take the request: the key, the model's name, the address or a field is wrong.
    #[error("{provider} refused the request with {status}{}", Said(message))]
    Refused {
        /// The provider.
        provider: String,
        /// Below 500, and not 429.
        status: u16,
        /// Its message.
        message: String,
    },
    /// The answer is not one that the provider's API describes: cut off, too long, no JSON, fields missing.
    #[error("the answer of {provider} {problem}")]
    Malformed {
        /// The provider.
        provider: String,
        /// The problem with it.
        problem: String,
    },
    /// The model wanted to write more than it may.
    #[error("the answer of {provider} was cut off at {tokens} tokens, the limit `max_tokens`")]
    Truncated {
        /// The provider.
        provider: String,
        /// How many tokens there are of it.
        tokens: u64,
    },
    /// The model, or a filter behind it, does not want to answer.
    #[error("{provider} does not answer this{}", Said(message))]
    Filtered {
        /// The provider.
        provider: String,
        /// Its message.
        message: String,
    },
    /// Only recorded answers are available, and none fits.
    #[error("no answer is recorded for this prompt; {}", Known(known))]
    NotRecorded {
        /// The prompts that are recorded, in order.
        known: Vec<String>,
    },
    /// The settings do not make a provider.
    #[error("{0}")]
    Setup(String),
}

struct Wait(Option<Duration>);

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            // A client that waits a shorter time than was asked for is refused again.
            Some(wait) => write!(f, ", retry after {} s", wait.as_millis().div_ceil(1000)),
        }
    }
}

struct Said<'a>(&'a str);

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": {}", self.0) }
    }
}

struct Hint(Option<u16>);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_some() { Ok(()) } else { f.write_str("; is it running, and is `base_url` right?") }
    }
}

struct Status(Option<u16>);

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(status) => write!(f, "has a problem and answered {status}"),
            None => f.write_str("cannot be reached"),
        }
    }
}

/// More prompts than fit on a screen help nobody.
const KNOWN_SHOWN_MAX: usize = 20;

struct Known<'a>(&'a [String]);

impl fmt::Display for Known<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing is recorded");
        }
        f.write_str("recorded are ")?;
        for (position, prompt) in self.0.iter().take(KNOWN_SHOWN_MAX).enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}`{}`", quoted(prompt))?;
        }
        match self.0.len().saturating_sub(KNOWN_SHOWN_MAX) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_who_and_what() {
        let provider = || "openai at 127.0.0.1".to_owned();
        let check = |error: ModelError, expected: &str| assert_eq!(error.to_string(), expected);
        check(ModelError::Timeout { provider: provider() }, "openai at 127.0.0.1 did not answer in time");
        check(
            ModelError::Busy {
                provider: provider(),
                retry_after: Some(Duration::from_millis(1200)),
                message: "slow down".to_owned(),
            },
            "openai at 127.0.0.1 is asked too often and answered 429, retry after 2 s: slow down",
        );
        check(
            ModelError::Unavailable {
                provider: provider(),
                status: Some(503),
                retry_after: None,
                message: String::new(),
            },
            "openai at 127.0.0.1 has a problem and answered 503",
        );
        check(
            ModelError::Unavailable {
                provider: provider(),
                status: None,
                retry_after: None,
                message: "connection refused".to_owned(),
            },
            "openai at 127.0.0.1 cannot be reached: connection refused; is it running, and is `base_url` right?",
        );
    }

    #[test]
    fn recorded_prompts_are_listed_up_to_a_screen() {
        let known = |count: usize| ModelError::NotRecorded { known: vec!["x".to_owned(); count] }.to_string();
        assert_eq!(known(0), "no answer is recorded for this prompt; nothing is recorded");
        assert_eq!(known(2), "no answer is recorded for this prompt; recorded are `x`, `x`");
        assert!(known(25).ends_with("`x` and 5 more"), "{}", known(25));
    }
}
