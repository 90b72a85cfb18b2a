//! A key that is not shown.

use hyper::header::HeaderValue;
use std::fmt;

/// A provider's key. It is sent in a header and printed nowhere.
#[derive(Clone)]
pub(crate) struct Secret(String);

/// The text that replaces a secret.
pub(crate) const HIDDEN: &str = "***";

/// Replacing a shorter text would spoil messages, and nobody issues such keys.
const SCRUBBED_LENGTH_MIN: usize = 4;

impl Secret {
    /// A key, if a header can carry it.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let can_be_sent = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        can_be_sent.then(|| Self(text.to_owned()))
    }

    /// The header's value, marked so that no log shows it.
    pub(crate) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// A text without the key.
    pub(crate) fn scrub(&self, text: &str) -> String {
        if self.0.len() < SCRUBBED_LENGTH_MIN { text.to_owned() } else { text.replace(&self.0, HIDDEN) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_prints_nothing_and_takes_itself_out() {
        let secret = Secret::new(" sk-planted\n").unwrap();
        assert_eq!(format!("{secret:?}"), "***");
        assert_eq!(format!("{:?}", secret.header("Bearer ").unwrap()), "Sensitive");
        assert_eq!(secret.scrub("no `sk-planted` here"), "no `***` here");
    }

    #[test]
    fn what_no_header_takes_is_no_key() {
        for text in ["", " ", "two words", "line\nfeed", "schlüssel"] {
            assert!(Secret::new(text).is_none(), "{text:?}");
        }
    }
}
