//! Signed notes: a text, a blank line, and a line for each signature.

use crate::key::{KeyId, NoteSigner, NoteVerifier, is_name};
use crate::limits::{NOTE_BYTES_MAX, NOTE_SIGNATURES_MAX};
use base64ct::{Base64, Encoding};
use std::fmt;

/// The start of a line with a signature: an em dash and a space.
const SIGNATURE_START: &str = "— ";

/// A text and its signatures. Nothing in it counts before [`SignedNote::verify`] said so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignedNote {
    /// The signed text; its last character is a line feed.
    pub text: String,
    /// INVARIANT: not empty.
    signatures: Vec<NoteSignature>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct NoteSignature {
    name: String,
    id: KeyId,
    bytes: Vec<u8>,
}

/// Why a text is not a signed note, or why nobody known signed it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// Longer than any note.
    #[error("the note has {0} bytes, which is more than {NOTE_BYTES_MAX}")]
    TooLong(usize),
    /// A character that a terminal could act on.
    #[error("line {line} of the note has a control character")]
    Control {
        /// Which line, from 1.
        line: usize,
    },
    /// The text of a note is whole lines.
    #[error("the text of a note must end with a line feed")]
    Unfinished,
    /// Signatures are missing, or the last line is cut.
    #[error(
        "the note has no signatures: a blank line, lines that start with `— ` and a line feed were expected"
    )]
    NoSignature,
    /// A line among the signatures is something else.
    #[error("line {line} of the note is not a signature: `— <name> <base64>` was expected")]
    Signature {
        /// Which line, from 1.
        line: usize,
    },
    /// More signatures than anybody needs.
    #[error("the note has more than {NOTE_SIGNATURES_MAX} signatures")]
    TooMany,
    /// It cannot be told whose signature it is.
    #[error("two keys are named `{name}` and have the hash {id}")]
    Ambiguous {
        /// Name of both keys.
        name: String,
        /// Hash of both keys.
        id: KeyId,
    },
    /// Somebody changed the text or the signature.
    #[error("the signature by `{name}` ({id}) does not fit the text of the note")]
    Forged {
        /// Name of the key.
        name: String,
        /// Hash of the key.
        id: KeyId,
    },
    /// Nobody known signed it.
    #[error("the note is signed by no key that is known here")]
    Unknown,
}

impl SignedNote {
    /// Signs a text of whole lines, once with each key.
    pub fn sign(text: &str, signers: &[&NoteSigner]) -> Result<SignedNote, NoteError> {
        if !text.ends_with('\n') {
            return Err(NoteError::Unfinished);
        }
        check_characters(text)?;
        distinct(signers.iter().map(|signer| signer.verifier()))?;
        let signature = |signer: &&NoteSigner| NoteSignature {
            name: signer.verifier().name().to_owned(),
            id: signer.verifier().id(),
            bytes: signer.sign(text).to_vec(),
        };
        let note = SignedNote { text: text.to_owned(), signatures: signers.iter().map(signature).collect() };
        match note.to_string().len() {
            _ if signers.is_empty() => Err(NoteError::NoSignature),
            _ if signers.len() > NOTE_SIGNATURES_MAX => Err(NoteError::TooMany),
            length if length > NOTE_BYTES_MAX => Err(NoteError::TooLong(length)),
            _ => Ok(note),
        }
    }

    /// Takes a note apart. It says nothing about who signed it.
    pub fn parse(note: &str) -> Result<SignedNote, NoteError> {
        if note.len() > NOTE_BYTES_MAX {
            return Err(NoteError::TooLong(note.len()));
        }
        check_characters(note)?;
        // The text may have blank lines of its own: the last one counts.
        let (text, lines) = note.rsplit_once("\n\n").ok_or(NoteError::NoSignature)?;
        let lines = lines.strip_suffix('\n').ok_or(NoteError::NoSignature)?;
        let text = format!("{text}\n");
        let before = text.matches('\n').count() + 1;
        let mut signatures = Vec::new();
        for (position, line) in lines.split('\n').enumerate() {
            if position == NOTE_SIGNATURES_MAX {
                return Err(NoteError::TooMany);
            }
            let wrong = NoteError::Signature { line: before + position + 1 };
            signatures.push(NoteSignature::parse(line).ok_or(wrong)?);
        }
        Ok(SignedNote { text, signatures })
    }

    /// The known keys that signed the text, in the order of their signatures.
    ///
    /// Signatures by others are ignored. One that names a known key and does not fit refuses the whole note.
    pub fn verify<'k>(&self, known: &'k [NoteVerifier]) -> Result<Vec<&'k NoteVerifier>, NoteError> {
        let mut signed: Vec<&NoteVerifier> = Vec::new();
        for NoteSignature { name, id, bytes } in &self.signatures {
            let mut matching = known.iter().filter(|key| key.name() == name && key.id() == *id);
            let Some(key) = matching.next() else { continue };
            if matching.any(|other| other != key) {
                return Err(NoteError::Ambiguous { name: name.clone(), id: *id });
            }
            if !key.signed(&self.text, bytes) {
                return Err(NoteError::Forged { name: name.clone(), id: *id });
            }
            if !signed.contains(&key) {
                signed.push(key);
            }
        }
        if signed.is_empty() { Err(NoteError::Unknown) } else { Ok(signed) }
    }
}

impl NoteSignature {
    fn parse(line: &str) -> Option<NoteSignature> {
        let (name, encoded) = line.strip_prefix(SIGNATURE_START)?.split_once(' ')?;
        let decoded = Base64::decode_vec(encoded).ok()?;
        let (id, bytes) = decoded.split_first_chunk::<4>()?;
        let whole = is_name(name) && !bytes.is_empty();
        whole.then(|| NoteSignature {
            name: name.to_owned(),
            id: KeyId::from_bytes(*id),
            bytes: bytes.to_vec(),
        })
    }
}

/// A key that signs twice, or two keys that look like one.
fn distinct<'k>(keys: impl Iterator<Item = &'k NoteVerifier>) -> Result<(), NoteError> {
    let mut seen = std::collections::BTreeSet::new();
    for key in keys {
        if !seen.insert((key.name(), key.id())) {
            return Err(NoteError::Ambiguous { name: key.name().to_owned(), id: key.id() });
        }
    }
    Ok(())
}

fn check_characters(text: &str) -> Result<(), NoteError> {
    let control = |line: &str| line.bytes().any(|byte| byte < b' ');
    match text.split('\n').position(control) {
        Some(position) => Err(NoteError::Control { line: position + 1 }),
        None => Ok(()),
    }
}

impl fmt::Display for SignedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        for NoteSignature { name, id, bytes } in &self.signatures {
            let bytes = [id.to_bytes().as_slice(), bytes].concat();
            writeln!(f, "{SIGNATURE_START}{name} {}", Base64::encode_string(&bytes))?;
        }
        Ok(())
    }
}
