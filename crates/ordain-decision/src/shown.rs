//! How people see a proposal: a request as the proposal it stands for, and hashes in the place of secrets.

use crate::policy::PolicySet;
use ordain_canon::{Canonicalizer, ContentHash, Value};
use ordain_spec::action::{KernelRequest, Proposal, is_request, map_request_in};
use ordain_spec::is_invisible;
use serde::Serialize;
use serde_json::Value as Json;
use std::borrow::Cow;

impl PolicySet {
    /// The action proposal that a KernelRequest stands for; nothing for any other document.
    pub fn proposal_of(&self, document: &Value<'_>) -> Option<Proposal> {
        self.proposal_in(document, None)
    }

    /// The same in a workspace, whose paths are named as it does.
    pub fn proposal_in(&self, document: &Value<'_>, workspace: Option<&str>) -> Option<Proposal> {
        if !is_request(document) {
            return None;
        }
        let request = document.to_typed::<KernelRequest>().ok()?;
        map_request_in(&request, &self.tools, workspace).ok()
    }

    /// [`Self::proposal_of`] from text to JSON.
    pub fn as_proposal(&self, text: &[u8]) -> Option<Json> {
        let document = Value::read(text).ok()?;
        serde_json::to_value(self.proposal_of(&document)?).ok()
    }

    /// The document with every value under a redacted name replaced by a hash of it. The salt keeps short values from
    /// being guessed; the same salt gives the same text, so that two values can still be seen to be equal.
    pub fn redacted(&self, document: &Json, salt: &str) -> Json {
        match document {
            Json::Object(members) => {
                // A precondition has the value of a field beside its name.
                let field = members.get("field").and_then(Json::as_str).unwrap_or_default();
                let about_secret = self.names_secret(field);
                let member = |(name, value): (&String, &Json)| {
                    let is_secret = self.redact.contains(name) || (about_secret && name == "value");
                    let shown =
                        if is_secret { hidden(value, salt).into() } else { self.redacted(value, salt) };
                    (name.clone(), shown)
                };
                Json::Object(members.iter().map(member).collect())
            }
            Json::Array(elements) => {
                Json::Array(elements.iter().map(|element| self.redacted(element, salt)).collect())
            }
            plain => plain.clone(),
        }
    }

    /// [`Self::redacted`] of a document as it was read.
    pub fn redacted_value<'d>(&self, document: &'d Value<'_>, salt: &str) -> Value<'d> {
        match document {
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(*value),
            Value::Number(number) => Value::Number(*number),
            Value::String(text) => Value::String(Cow::Borrowed(text)),
            Value::Array(elements) => {
                Value::Array(elements.iter().map(|element| self.redacted_value(element, salt)).collect())
            }
            Value::Object(members) => {
                let about_secret = || {
                    let field = document.get("field").and_then(Value::as_str).unwrap_or_default();
                    self.names_secret(field)
                };
                let mut shown_members = Vec::with_capacity(members.len());
                for (name, value) in members {
                    let is_secret =
                        self.redact.contains(name.as_ref()) || (name == "value" && about_secret());
                    let shown = if is_secret {
                        Value::String(Cow::Owned(hidden(value, salt)))
                    } else {
                        self.redacted_value(value, salt)
                    };
                    shown_members.push((Cow::Borrowed(name.as_ref()), shown));
                }
                Value::Object(shown_members)
            }
        }
    }

    /// Whether a JSON Pointer or a dotted path leads to, or through, a redacted name.
    pub(crate) fn names_secret(&self, field: &str) -> bool {
        // A name may have a dot or a slash itself: doubt hides.
        let is_secret = |part: &str| {
            self.redact.contains(part)
                || part.contains('~') && self.redact.contains(&part.replace("~1", "/").replace("~0", "~"))
        };
        is_secret(field)
            || field.split('/').any(is_secret)
            || field.split('.').any(is_secret)
            || field.split(['/', '.']).any(is_secret)
    }
}

/// The first character of a text that nobody sees: which, and where.
pub(crate) fn unseen(text: &str) -> Option<String> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return None;
    }
    let (at, character) = text.chars().enumerate().find(|(_, it)| is_unseen(*it))?;
    let sort = if character.is_control() { "a control character" } else { "an invisible character" };
    Some(format!("{sort}, U+{:04X}, at position {}", u32::from(character), at + 1))
}

/// The text with the characters that nobody sees written out.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match is_unseen(character) {
            true => shown.extend(character.escape_unicode()),
            false => shown.push(character),
        }
    }
    shown
}

fn is_unseen(character: char) -> bool {
    character.is_control() || is_invisible(character)
}

/// Characters of a value that a message shows.
pub(crate) const CHARS_SHOWN: usize = 60;

/// The start of a text, for a message.
pub(crate) fn start_of(text: &str) -> String {
    let mut shown: String = text.chars().take(CHARS_SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn hidden(value: &impl Serialize, salt: &str) -> String {
    let mut canon = Canonicalizer::new();
    let hash = canon.value(value).map(|bytes| ContentHash::of(&[salt.as_bytes(), b"\n", bytes].concat()));
    hash.map_or_else(|_| "redacted".to_owned(), |hash| format!("redacted:{hash}"))
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test may fail loudly")]
mod tests {
    use super::{start_of, unseen, visible};
    use crate::{PolicyFiles, PolicySet};
    use ordain_canon::{Canonicalizer, Value};
    use serde_json::json;

    #[test]
    fn what_nobody_sees_is_written_out() {
        for (text, found, shown) in [
            ("agent\u{200b}-1", Some("an invisible character, U+200B, at position 6"), "agent\\u{200b}-1"),
            (
                "caf\u{e9}\u{202e}",
                Some("an invisible character, U+202E, at position 5"),
                "caf\u{e9}\\u{202e}",
            ),
            ("a\nb\u{feff}", Some("a control character, U+000A, at position 2"), "a\\u{a}b\\u{feff}"),
            ("\u{c1}gnes \u{6771}\u{4eac}", None, "\u{c1}gnes \u{6771}\u{4eac}"),
        ] {
            assert_eq!(unseen(text).as_deref(), found, "{text:?}");
            assert_eq!(visible(text), shown);
        }
        assert_eq!(start_of(&"x".repeat(60)), "x".repeat(60));
        assert_eq!(start_of(&"\u{e9}".repeat(61)), format!("{}…", "\u{e9}".repeat(60)));
    }

    #[test]
    fn named_fields_are_hidden_wherever_they_are() {
        let files = PolicyFiles::from([
            ("a.cedar".to_owned(), "@id(\"a\") permit(principal, action, resource);".to_owned()),
            ("redact.toml".to_owned(), "fields = [\"ssn\"]".to_owned()),
        ]);
        let set = PolicySet::load(&files).unwrap_or_else(|problems| panic!("{problems:?}"));
        let document =
            json!({"parameters": {"updates": [{"ssn": "078-05-1120", "name": "x"}], "ssn": {"a": 1}}});
        let shown = set.redacted(&document, "salt");
        let text = shown.to_string();
        assert!(!text.contains("078") && text.contains("\"name\":\"x\""), "{text}");
        assert!(shown.pointer("/parameters/ssn").is_some_and(|it| it.as_str().is_some()));
        let precondition = json!({"preconditions": [
            {"field": "/people/0/ssn", "operator": "eq", "value": "078-05-1120", "evidence_ref": "e1"},
            {"field": "record.ssn.number", "operator": "eq", "value": {"a": "078-05-1120"}},
            {"field": "/name", "operator": "eq", "value": "x"}]});
        let text = set.redacted(&precondition, "salt").to_string();
        assert!(!text.contains("078") && text.contains("\"value\":\"x\""), "{text}");
        for document in [&document, &precondition] {
            let text = document.to_string();
            let value = Value::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            let shown = Canonicalizer::new().value(&set.redacted_value(&value, "salt")).map(<[u8]>::to_vec);
            let expected = Canonicalizer::new().value(&set.redacted(document, "salt")).map(<[u8]>::to_vec);
            assert_eq!(shown.ok(), expected.ok());
        }
        assert_ne!(shown, set.redacted(&document, "another salt"));
        assert_eq!(shown, set.redacted(&document, "salt"));
    }
}
