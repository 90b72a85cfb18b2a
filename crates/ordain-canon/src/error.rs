//! Errors of a text that is not strict JSON, with their positions.

use crate::limits::{DEPTH_MAX, DOCUMENT_BYTES_MAX, KEY_BYTES_MAX};
use crate::place::{Place, place_of, pointer_to};
use std::fmt;

/// Why a text is not accepted as a document.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The text ended inside a value, or before one.
    UnexpectedEnd,
    /// A byte that the grammar does not allow here; `expected` says what it allows.
    Unexpected {
        /// The byte found.
        byte: u8,
        /// The expected token.
        expected: &'static str,
    },
    /// The text starts with a byte order mark.
    ByteOrderMark,
    /// Something other than whitespace follows the document.
    TrailingData,
    /// A string holds bytes that are not UTF-8.
    InvalidUtf8,
    /// An unescaped control character in a string.
    ControlCharacter(u8),
    /// A backslash followed by something that is not an escape.
    InvalidEscape,
    /// A `\u` escape for half of a surrogate pair.
    LoneSurrogate,
    /// An object has the same key twice.
    DuplicateKey(String),
    /// An object key is too long.
    KeyTooLong,
    /// Containers are nested too deep.
    TooDeep,
    /// The number is larger than every double.
    InfiniteNumber,
    /// An integer that not every reader keeps exactly.
    InexactInteger,
    /// The text is too long.
    TooLong,
}

impl fmt::Display for ReadErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnexpectedEnd => write!(f, "the text ends before the document is complete"),
            Self::Unexpected { byte, expected } if byte.is_ascii_graphic() => {
                write!(f, "expected {expected}, found `{}`", char::from(*byte))
            }
            Self::Unexpected { byte, expected } => write!(f, "expected {expected}, found byte 0x{byte:02x}"),
            Self::ByteOrderMark => write!(f, "the text starts with a byte order mark; save it without one"),
            Self::TrailingData => write!(f, "there is more text after the document"),
            Self::InvalidUtf8 => write!(f, "the string is not valid UTF-8"),
            Self::ControlCharacter(byte) => {
                write!(f, "control character 0x{byte:02x} in a string, which must be escaped")
            }
            Self::InvalidEscape => write!(f, "this is not a JSON escape"),
            Self::LoneSurrogate => write!(f, "the escape is half of a surrogate pair"),
            Self::DuplicateKey(key) => write!(f, "the object has the key `{key}` twice"),
            Self::KeyTooLong => write!(f, "the key is longer than {KEY_BYTES_MAX} bytes"),
            Self::TooDeep => write!(f, "values are nested deeper than {DEPTH_MAX} levels"),
            Self::InfiniteNumber => write!(f, "the number does not fit a double"),
            Self::InexactInteger => write!(
                f,
                "an integer from 2^53 to 10^21 is not kept exactly by every reader and must be a string"
            ),
            Self::TooLong => write!(f, "the document is longer than {DOCUMENT_BYTES_MAX} bytes"),
        }
    }
}

/// A text is not a document: what is wrong and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{kind} at line {line}, column {column} (byte {offset})", line = place.line, column = place.column, offset = place.offset)]
pub struct ReadError {
    /// The kind of error.
    pub kind: ReadErrorKind,
    /// Where it is wrong in the text.
    pub place: Place,
    /// Where it is wrong in the document: the JSON Pointer of the value being read.
    pub pointer: String,
}

impl ReadError {
    /// The canonical form is longer than a document may be.
    pub(crate) fn too_long(text: &[u8]) -> Self {
        Self::new(text, Fault { offset: 0, kind: ReadErrorKind::TooLong })
    }

    /// Finds the line and the pointer only now: readers that succeed never pay for them.
    pub(crate) fn new(text: &[u8], fault: Fault) -> Self {
        let in_member = matches!(fault.kind, ReadErrorKind::DuplicateKey(_));
        Self {
            place: place_of(text, fault.offset),
            pointer: pointer_to(text, fault.offset, in_member),
            kind: fault.kind,
        }
    }
}

/// A [`ReadError`] before its place is known.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) kind: ReadErrorKind,
}

/// A value has no canonical form.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// NaN or an infinity.
    #[error("the number is not finite")]
    NotFinite,
    /// An integer that no strict reader would take back.
    #[error("the integer {0} is not kept exactly by every reader and must be a string")]
    InexactInteger(i128),
    /// Two members of one object have the same key.
    #[error("the object has the key `{0}` twice")]
    DuplicateKey(String),
    /// A map key that is not a string.
    #[error("an object key must be a string")]
    KeyNotString,
    /// The value is nested too deep.
    #[error("values are nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// The value is too large.
    #[error("the document is longer than {DOCUMENT_BYTES_MAX} bytes")]
    TooLong,
    /// Bytes have no JSON form.
    #[error("bytes have no canonical form; encode them as a string")]
    Bytes,
    /// The value's own `Serialize` failed.
    #[error("{0}")]
    Custom(String),
}

impl serde::ser::Error for WriteError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Custom(message.to_string())
    }
}
