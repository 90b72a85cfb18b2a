//! Names that look like other names.

use crate::shown::{start_of, unseen, visible};
use ordain_spec::name::violation;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization as _;
use unicode_security::confusable_detection::skeleton;

/// Names that a policy knows, by what they look like.
#[derive(Default, Debug)]
pub(crate) struct Known {
    names: BTreeSet<String>,
    by_look: BTreeMap<String, String>,
}

impl Known {
    /// Adds a name; gives the other name that looks like it, if there is one.
    pub(crate) fn insert(&mut self, name: &str) -> Option<String> {
        self.names.insert(name.to_owned());
        let mut other = None;
        for look in looks(name) {
            let before = self.by_look.insert(look, name.to_owned());
            other = other.or(before.filter(|before| before != name));
        }
        other
    }

    /// The known name that this one could be taken for.
    pub(crate) fn like(&self, name: &str) -> Option<&str> {
        if self.names.is_empty() || self.names.contains(name) {
            return None;
        }
        looks(name).iter().find_map(|look| self.by_look.get(look)).map(String::as_str)
    }

    /// The same for the name of a host, which can be written in more ways.
    pub(crate) fn like_host(&self, name: &str) -> Option<&str> {
        // Most names are plain, and then the host is the name itself.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if name.bytes().all(plain) && !name.ends_with('.') {
            return self.like(name);
        }
        self.like(name).or_else(|| {
            let host = host_of(name);
            match self.names.get(&host) {
                Some(known) if host != name => Some(known),
                _ => self.like(&host),
            }
        })
    }
}

/// Two names look alike when one of these is equal. Case and look-alikes are folded in both orders: `I` is a
/// capital `i`, and it looks like an `l`.
fn looks(name: &str) -> [String; 2] {
    [look(&name.to_lowercase()), look(&look(name).to_lowercase())]
}

/// The form that look-alikes share.
fn look(text: &str) -> String {
    if !text.is_ascii() {
        return skeleton(text).collect();
    }
    let mut folded = String::with_capacity(text.len() + 8);
    folded.extend(text.bytes().filter_map(|byte| ASCII_LOOKS.get(usize::from(byte))).map(String::as_str));
    folded
}

/// The form of each ASCII character. A text of them is folded character by character.
static ASCII_LOOKS: LazyLock<Vec<String>> = LazyLock::new(|| {
    (0..128_u8).map(|byte| skeleton(char::from(byte).encode_utf8(&mut [0; 4])).collect()).collect()
});

/// The host that a text leads to: without scheme, user, port, path and final dot, in its compatible form.
fn host_of(name: &str) -> String {
    let plain: String =
        name.nfkc().map(|character| if character == '\u{3002}' { '.' } else { character }).collect();
    let plain = plain.replace("%2e", ".").replace("%2E", ".");
    let rest = plain.split_once("://").map_or(plain.as_str(), |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let host = rest.split(':').next().unwrap_or_default();
    host.trim().trim_end_matches('.').to_owned()
}

/// Why a name cannot be trusted by itself, in a sentence: it is not a name on record, or it is not what people see.
pub(crate) fn fault(name: &str) -> Option<String> {
    // An empty name is against the rules of the document.
    if name.is_empty() {
        return None;
    }
    let wrong = if let Some(unseen) = unseen(name) {
        format!("has {unseen}")
    } else if name.trim() != name {
        "starts or ends with a blank".to_owned()
    } else {
        violation(name)?.to_string()
    };
    Some(format!("the name `{}` {wrong}", start_of(&visible(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_is_folded_as_any_text() {
        let all: String = (1..128_u8).map(char::from).collect();
        let mixed = ["agent-001", "paypaI.com", "m.rn|l1I0O", "``\"'", "a b\tc", all.as_str()];
        for text in mixed.iter().flat_map(|text| (0..text.len()).map(move |start| &text[start..])) {
            assert_eq!(look(text), skeleton(text).collect::<String>(), "{text:?}");
        }
    }

    #[test]
    fn look_alikes_are_found_and_others_are_not() {
        let mut known = Known::default();
        assert_eq!(known.insert("agent-sales-001"), None);
        assert_eq!(known.like("agent-sales-001"), None);
        for name in
            ["Agent-Sales-001", "аgent-sales-001", "agent-saIes-001", "agent-sales-00l", "agent‐sales‐001"]
        {
            assert_eq!(known.like(name), Some("agent-sales-001"), "{name}");
        }
        for name in ["agent-sales-002", "agent-support-001", "sales"] {
            assert_eq!(known.like(name), None, "{name}");
        }
        let mut hosts = Known::default();
        assert_eq!(hosts.insert("prod2.example.com"), None);
        for name in [
            "prod2.example.com.",
            "prod2.example.com:443",
            "https://prod2.example.com/x",
            "u@prod2.example.com",
            "prod2%2eexample.com",
            "prod2。example.com",
            "prod2｡example.com",
            "prod².example.com",
            "ⓟrod2.example.com",
            "PROD2.example.com",
            "prod2.example.com/",
        ] {
            assert_eq!(hosts.like_host(name), Some("prod2.example.com"), "{name}");
        }
        for name in
            ["prod2.example.com", "prod3.example.com", "example.com", "localhost:8080", "github.com/org"]
        {
            assert_eq!(hosts.like_host(name), None, "{name}");
        }
        for (name, expected) in [
            ("agent\u{200b}", "the name `agent\\u{200b}` has an invisible character, U+200B, at position 6"),
            ("agent ", "the name `agent ` starts or ends with a blank"),
            ("agent\n1", "the name `agent\\u{a}1` has a control character, U+000A, at position 6"),
        ] {
            assert_eq!(fault(name).as_deref(), Some(expected));
        }
        assert_eq!(fault("Ágnes 東京"), None);
        assert_eq!(fault(&"x".repeat(256)), None);
        let shown = "x".repeat(60);
        let expected = format!("the name `{shown}…` has more than 256 characters");
        assert_eq!(fault(&"x".repeat(257)), Some(expected));
    }

    #[test]
    fn only_names_on_record_can_be_trusted() {
        for character in '\0'..='\u{ffff}' {
            let name = format!("agent{character}7");
            assert!(violation(&name).is_none() || fault(&name).is_some(), "{name:?}");
            if let Some(violation) = violation(&name) {
                assert!(fault(&name).is_some_and(|fault| fault.ends_with(&violation.to_string())));
            }
        }
        assert!(fault(" ").is_some());
    }
}
