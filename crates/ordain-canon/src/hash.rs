//! The hashes of docs/contracts/canonical.md. Each has a name and a type of its own, because their inputs
//! differ: with or without a final line feed, with or without a field, canonical or raw.

use crate::error::{ReadError, WriteError};
use crate::value::{Member, Value};
use crate::writer::Canonicalizer;
use serde::ser::{Serialize, SerializeMap, Serializer};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fmt;

/// The prefix before the hex digits of most hashes.
pub const SHA256_PREFIX: &str = "sha256:";

const HEX: &[u8; 16] = b"0123456789abcdef";

fn hex(bytes: &[u8; 32]) -> [u8; 64] {
    let mut text = [0; 64];
    let (pairs, _) = text.as_chunks_mut::<2>();
    let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
    for (pair, byte) in pairs.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    text
}

/// Whether a text is `digits` lower-case hexadecimal digits.
pub fn is_lower_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a text is `sha256:` and 64 lower-case hexadecimal digits.
pub fn is_sha256(text: &str) -> bool {
    text.strip_prefix(SHA256_PREFIX).is_some_and(|digits| is_lower_hex(digits, 64))
}

macro_rules! hash_type {
    ($(#[$doc:meta])* $name:ident, $prefix:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; 32]);

        impl $name {
            /// Whether a document's field names this hash.
            pub fn is(&self, text: &str) -> bool {
                text.strip_prefix($prefix).is_some_and(|digits| digits.as_bytes() == hex(&self.0))
            }
        }

        impl $name {
            /// The prefix and the digits.
            fn text(&self) -> [u8; $prefix.len() + 64] {
                let mut text = [0; $prefix.len() + 64];
                let (prefix, digits) = text.split_at_mut($prefix.len());
                prefix.copy_from_slice($prefix.as_bytes());
                digits.copy_from_slice(&hex(&self.0));
                text
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(std::str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let text = self.text();
                serializer.serialize_str(std::str::from_utf8(&text).map_err(serde::ser::Error::custom)?)
            }
        }
    };
}

/// A hash of the canonical form of a whole document.
macro_rules! document_hash {
    ($(#[$doc:meta])* $name:ident, $prefix:expr, $suffix:expr) => {
        hash_type!($(#[$doc])* $name, $prefix);

        impl $name {
            /// Hashes the text of a document, which is read strictly.
            pub fn of_text(canon: &mut Canonicalizer, text: &[u8]) -> Result<Self, ReadError> {
                canon.digest_text(text, $suffix).map(Self)
            }

            /// Hashes a value.
            pub fn of<T: Serialize + ?Sized>(canon: &mut Canonicalizer, value: &T) -> Result<Self, WriteError> {
                canon.digest_value(value, $suffix).map(Self)
            }

            /// Hashes a value and returns its canonical bytes too.
            pub fn with_bytes<'c, T: Serialize + ?Sized>(
                canon: &'c mut Canonicalizer,
                value: &T,
            ) -> Result<(Self, &'c [u8]), WriteError> {
                let bytes = canon.value(value)?;
                Ok((Self(Sha256::new_with_prefix(bytes).chain_update($suffix).finalize().into()), bytes))
            }
        }
    };
}

/// A hash of the canonical form of an object without one of its members.
macro_rules! hash_without {
    ($(#[$doc:meta])* $name:ident, $prefix:expr, $except:literal) => {
        hash_type!($(#[$doc])* $name, $prefix);

        impl $name {
            #[doc = concat!("Hashes a document's text, which is read strictly; `", $except, "` does not count.")]
            pub fn of_text(canon: &mut Canonicalizer, text: &[u8]) -> Result<Self, ReadError> {
                let value = Value::read(text)?;
                // A text that was read can be written, unless short numbers expand until the text is too
                // long.
                Self::of(canon, &value).map_err(|_| ReadError::too_long(text))
            }

            #[doc = concat!("Hashes a value; its member `", $except, "` does not count.")]
            pub fn of(canon: &mut Canonicalizer, value: &Value<'_>) -> Result<Self, WriteError> {
                canon.digest_value(&Without { value, except: $except }, b"").map(Self)
            }
        }
    };
}

document_hash! {
    /// The hash of a bundle: canonical JSON and one line feed.
    BundleHash, "", b"\n"
}
document_hash! {
    /// `source_intent_hash`: the *normalized* intent's canonical JSON and one line feed. Normalize first.
    IntentHash, "", b"\n"
}
document_hash! {
    /// The hash of a plan proposal.
    PlanHash, SHA256_PREFIX, b""
}
document_hash! {
    /// The hash of a patch set.
    PatchHash, SHA256_PREFIX, b""
}
document_hash! {
    /// The hash of an action proposal.
    ActionHash, SHA256_PREFIX, b""
}
document_hash! {
    /// The hash of an action proposal's target.
    TargetHash, SHA256_PREFIX, b""
}
document_hash! {
    /// The hash of an action proposal's parameters.
    ParametersHash, SHA256_PREFIX, b""
}
document_hash! {
    /// The hash of an evidence packet.
    PacketHash, SHA256_PREFIX, b""
}
document_hash! {
    /// `payload_hash` of an evidence packet: its canonical payload.
    PayloadHash, SHA256_PREFIX, b""
}
document_hash! {
    /// `sha256` of a file in a run's folder.
    RunFileHash, SHA256_PREFIX, b""
}
document_hash! {
    /// The hash of a policy set: policies, schema and entities.
    PolicyHash, SHA256_PREFIX, b""
}
document_hash! {
    /// The hash of a decision.
    DecisionHash, SHA256_PREFIX, b""
}
document_hash! {
    /// The hash of the view that an approver was shown.
    ViewDigest, SHA256_PREFIX, b""
}
hash_without! {
    /// The hash of execution evidence. Observations vary between runs and do not count.
    EvidenceHash, SHA256_PREFIX, "observed"
}
hash_without! {
    /// The hash of a note proposal: everything but the hash itself.
    NoteHash, "", "hash"
}
hash_type! {
    /// The hash of a set of evidence packets: the canonical array of their hashes, sorted.
    EvidenceSetHash, SHA256_PREFIX
}
hash_type! {
    /// `content_hash` and `expected_hash` of file content: the raw bytes, so that `sha256sum FILE` agrees.
    ContentHash, SHA256_PREFIX
}

impl BundleHash {
    /// As a plan proposal's `source_bundle_hash` names it.
    pub fn prefixed(&self) -> String {
        format!("{SHA256_PREFIX}{self}")
    }
}

impl EvidenceSetHash {
    /// Hashes packets in any order; a packet that is there twice counts once.
    pub fn of(canon: &mut Canonicalizer, packets: &[PacketHash]) -> Result<Self, WriteError> {
        let sorted: BTreeSet<&PacketHash> = packets.iter().collect();
        canon.digest_value(&sorted, b"").map(Self)
    }
}

impl ContentHash {
    /// Hashes content.
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// From its text.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(SHA256_PREFIX).filter(|digits| is_lower_hex(digits, 64))?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// Its 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl<'de> serde::Deserialize<'de> for ContentHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("expected `sha256:` and 64 hexadecimal digits"))
    }
}

/// An object without one of its members.
pub(crate) struct Without<'v, 'a> {
    pub(crate) value: &'v Value<'a>,
    pub(crate) except: &'static str,
}

impl Serialize for Without<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value.as_object() {
            Some(members) => {
                serialize_members(members.iter().filter(|(key, _)| key != self.except), serializer)
            }
            None => self.value.serialize(serializer),
        }
    }
}

pub(crate) fn serialize_members<'v, 'a: 'v, S: Serializer>(
    members: impl Iterator<Item = &'v Member<'a>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (key, value) in members {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha256(text: &str) -> String {
        ContentHash::of(text.as_bytes()).to_string().replace(SHA256_PREFIX, "")
    }

    #[test]
    fn a_content_hash_is_read_as_it_is_written() {
        let hash = ContentHash::of(b"x");
        assert_eq!(ContentHash::parse(&hash.to_string()), Some(hash));
        for wrong in ["", "sha256:", &hash.to_string().to_uppercase(), &format!("{hash}0")] {
            assert_eq!(ContentHash::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn each_hash_has_its_own_input_and_form() {
        let canon = &mut Canonicalizer::new();
        let text = br#"{"observed": 1, "hash": "x", "a": 2}"#;
        let plain = sha256(r#"{"a":2,"hash":"x","observed":1}"#);
        let with_line_feed = sha256("{\"a\":2,\"hash\":\"x\",\"observed\":1}\n");
        assert_eq!(BundleHash::of_text(canon, text).unwrap().to_string(), with_line_feed);
        assert_eq!(BundleHash::of_text(canon, text).unwrap().prefixed(), format!("sha256:{with_line_feed}"));
        assert_eq!(IntentHash::of_text(canon, text).unwrap().to_string(), with_line_feed);
        assert_eq!(PatchHash::of_text(canon, text).unwrap().to_string(), format!("sha256:{plain}"));
        assert_eq!(NoteHash::of_text(canon, text).unwrap().to_string(), sha256(r#"{"a":2,"observed":1}"#));
        let evidence = sha256(r#"{"a":2,"hash":"x"}"#);
        assert_eq!(EvidenceHash::of_text(canon, text).unwrap().to_string(), format!("sha256:{evidence}"));
    }

    #[test]
    fn a_set_has_no_order() {
        let canon = &mut Canonicalizer::new();
        let one = PacketHash::of(canon, "one").unwrap();
        let two = PacketHash::of(canon, "two").unwrap();
        let mut names = [one.to_string(), two.to_string()];
        names.sort();
        let expected = sha256(&format!("[\"{}\",\"{}\"]", names[0], names[1]));
        for packets in [vec![one, two], vec![two, one], vec![two, one, two]] {
            let hash = EvidenceSetHash::of(canon, &packets).unwrap();
            assert!(hash.is(&format!("sha256:{expected}")), "{hash}");
        }
    }
}
