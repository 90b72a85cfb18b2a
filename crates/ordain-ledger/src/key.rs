//! The keys of signed notes: a name, and an Ed25519 key.

use crate::limits::KEY_NAME_BYTES_MAX;
use base64ct::{Base64, Encoding};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use std::fmt;

/// The type of signature that a key makes, in front of the key: Ed25519 over the text of the note.
const ED25519: u8 = 1;

/// A public key by name, written `name+hash+key` as Go's `sumdb/note` writes it.
#[derive(Clone, PartialEq, Eq)]
pub struct NoteVerifier {
    name: String,
    id: KeyId,
    key: VerifyingKey,
}

/// The first four bytes of the hash of a key and its name. It tells keys apart and proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; 4]);

/// A secret key by name.
#[derive(Clone)]
pub struct NoteSigner {
    verifier: NoteVerifier,
    key: SigningKey,
}

/// Why a text cannot be the key of a note.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The name could be mistaken for something else in a note.
    #[error(
        "a key needs a name of 1 to {KEY_NAME_BYTES_MAX} bytes without space, `+` or control characters, not `{0}`"
    )]
    Name(String),
    /// Not three parts.
    #[error("is not a public key of a note: `<name>+<8 hexadecimal digits>+<base64>` was expected")]
    Form,
    /// Not the kind of key that is used here.
    #[error("the public key of `{0}` is not an Ed25519 key")]
    Type(String),
    /// A signature of such a key fits more than one text.
    #[error("the public key of `{0}` is weak: its signatures prove nothing")]
    Weak(String),
    /// Name, hash and key do not belong together.
    #[error("the public key of `{name}` has the hash {expected}, not {found}")]
    Hash {
        /// Name of the key.
        name: String,
        /// The key id that follows from name and key.
        expected: KeyId,
        /// The key id that is written there.
        found: KeyId,
    },
}

impl NoteVerifier {
    /// Makes the verifier of a public key and its name.
    pub fn of(name: &str, key: &VerifyingKey) -> Result<NoteVerifier, KeyError> {
        if !is_name(name) {
            return Err(KeyError::Name(name.chars().take(80).collect()));
        }
        if key.is_weak() {
            return Err(KeyError::Weak(name.to_owned()));
        }
        let hash =
            Sha256::new().chain_update(name).chain_update([b'\n', ED25519]).chain_update(key.as_bytes());
        let [a, b, c, d, ..]: [u8; 32] = hash.finalize().into();
        Ok(NoteVerifier { name: name.to_owned(), id: KeyId([a, b, c, d]), key: *key })
    }

    /// From `name+hash+key`.
    pub fn parse(text: &str) -> Result<NoteVerifier, KeyError> {
        let (name, rest) = text.split_once('+').ok_or(KeyError::Form)?;
        let (hash, key) = rest.split_once('+').ok_or(KeyError::Form)?;
        let found = KeyId::parse(hash).ok_or(KeyError::Form)?;
        if !is_name(name) {
            return Err(KeyError::Name(name.chars().take(80).collect()));
        }
        let wrong = || KeyError::Type(name.to_owned());
        let mut bytes = [0; 33];
        let decoded = Base64::decode(key, &mut bytes).map_err(|_| wrong())?;
        let Some((&ED25519, key)) = decoded.split_first() else { return Err(wrong()) };
        let key: [u8; 32] = key.try_into().map_err(|_| wrong())?;
        let key = VerifyingKey::from_bytes(&key).map_err(|_| wrong())?;
        let verifier = NoteVerifier::of(name, &key)?;
        let expected = verifier.id;
        if expected == found {
            Ok(verifier)
        } else {
            Err(KeyError::Hash { name: name.to_owned(), expected, found })
        }
    }

    /// The owner of the key. The key of a ledger has the name of the ledger's origin.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id that tells it from other keys of that name.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Whether the key signed the text.
    pub(crate) fn signed(&self, text: &str, signature: &[u8]) -> bool {
        let signature = Signature::from_slice(signature);
        signature.is_ok_and(|signature| self.key.verify_strict(text.as_bytes(), &signature).is_ok())
    }
}

impl NoteSigner {
    /// A secret key and the name that its signatures bear.
    pub fn new(name: &str, key: SigningKey) -> Result<NoteSigner, KeyError> {
        Ok(NoteSigner { verifier: NoteVerifier::of(name, &key.verifying_key())?, key })
    }

    /// Its public key.
    pub fn verifier(&self) -> &NoteVerifier {
        &self.verifier
    }

    pub(crate) fn sign(&self, text: &str) -> [u8; 64] {
        self.key.sign(text.as_bytes()).to_bytes()
    }
}

impl KeyId {
    pub(crate) const fn from_bytes(bytes: [u8; 4]) -> KeyId {
        KeyId(bytes)
    }

    pub(crate) const fn to_bytes(self) -> [u8; 4] {
        self.0
    }

    fn parse(text: &str) -> Option<KeyId> {
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let number = u32::from_str_radix(text, 16).ok()?;
        (digits && text.len() == 8).then_some(KeyId(number.to_be_bytes()))
    }
}

/// Whether it can be the name of a key.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |character: char| !character.is_whitespace() && character != '+' && character >= ' ';
    (1..=KEY_NAME_BYTES_MAX).contains(&name.len()) && name.chars().all(fits)
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

impl fmt::Display for NoteVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = vec![ED25519];
        key.extend(self.key.as_bytes());
        write!(f, "{}+{}+{}", self.name, self.id, Base64::encode_string(&key))
    }
}

impl fmt::Debug for NoteVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NoteVerifier({self})")
    }
}

/// Shows the public key only.
impl fmt::Debug for NoteSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NoteSigner({})", self.verifier)
    }
}
