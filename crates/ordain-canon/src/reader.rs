//! The strict reader (docs/contracts/canonical.md): one pass over the bytes that hands what it finds to a [`Builder`].

use crate::error::{Fault, ReadError, ReadErrorKind};
use crate::limits::{DEPTH_MAX, DOCUMENT_BYTES_MAX, KEY_BYTES_MAX};
use crate::number::{Refused, scan_number};
use crate::scan::{ascii_run_end, plain_run_end, spaces_end};

/// The product of reading: a tree, canonical bytes, or nothing at all.
pub(crate) trait Builder<'a> {
    type Value;
    type Array;
    type Object;

    fn null(&mut self) -> Self::Value;
    fn bool(&mut self, value: bool) -> Self::Value;
    /// `plain` says that the token is canonical as it stands.
    fn number(&mut self, token: &'a [u8], plain: bool) -> Result<Self::Value, Refused>;
    fn string(&mut self, raw: RawString<'a>) -> Self::Value;

    fn begin_array(&mut self) -> Self::Array;
    /// Called before each element is read.
    fn begin_element(&mut self, array: &mut Self::Array);
    fn end_element(&mut self, array: &mut Self::Array, value: Self::Value);
    fn end_array(&mut self, array: Self::Array) -> Self::Value;

    fn begin_object(&mut self) -> Self::Object;
    /// Called with each key; `offset` is where it stands, for the report of a duplicate.
    fn key(&mut self, object: &mut Self::Object, raw: RawString<'a>, offset: usize);
    fn end_member(&mut self, object: &mut Self::Object, value: Self::Value);
    /// Fails with the offset and the text of a key that is there twice.
    fn end_object(&mut self, object: Self::Object) -> Result<Self::Value, (usize, String)>;
}

/// The content of a string token, checked but not decoded.
#[derive(Clone, Copy)]
pub(crate) struct RawString<'a> {
    pub(crate) bytes: &'a [u8],
    /// The same bytes as text, where the whole document was checked beforehand.
    pub(crate) text: Option<&'a str>,
    pub(crate) escaped: bool,
    /// Every escape in it is the one that RFC 8785 writes.
    pub(crate) canonical: bool,
}

/// Reads one document and refuses everything that is not exactly that.
pub(crate) fn read<'a, B: Builder<'a>>(
    bytes: &'a [u8],
    text: Option<&'a str>,
    builder: &mut B,
) -> Result<B::Value, ReadError> {
    let mut reader = Reader { bytes, text, at: 0, depth: 0 };
    reader.document(builder).map_err(|fault| ReadError::new(bytes, fault))
}

struct Reader<'a> {
    bytes: &'a [u8],
    text: Option<&'a str>,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn document<B: Builder<'a>>(&mut self, builder: &mut B) -> Result<B::Value, Fault> {
        if self.bytes.len() > DOCUMENT_BYTES_MAX {
            // Its beginning is as good a place as any, and is found without reading it all.
            return Err(fault(0, ReadErrorKind::TooLong));
        }
        if self.bytes.starts_with(b"\xef\xbb\xbf") {
            return Err(fault(0, ReadErrorKind::ByteOrderMark));
        }
        self.skip_blanks();
        let value = self.value(builder)?;
        self.skip_blanks();
        if self.at < self.bytes.len() {
            return Err(fault(self.at, ReadErrorKind::TrailingData));
        }
        Ok(value)
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline(always)]
    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at = spaces_end(self.bytes, self.at + 1);
        }
    }

    #[cold]
    fn unexpected(&self, expected: &'static str) -> Fault {
        let kind = match self.peek() {
            Some(byte) => ReadErrorKind::Unexpected { byte, expected },
            None => ReadErrorKind::UnexpectedEnd,
        };
        fault(self.at, kind)
    }

    fn value<B: Builder<'a>>(&mut self, builder: &mut B) -> Result<B::Value, Fault> {
        match self.peek() {
            Some(b'"') => Ok(builder.string(self.string()?)),
            Some(b'{') => self.object(builder),
            Some(b'[') => self.array(builder),
            Some(b'-' | b'0'..=b'9') => self.number(builder),
            Some(b't') => self.literal(b"true").map(|()| builder.bool(true)),
            Some(b'f') => self.literal(b"false").map(|()| builder.bool(false)),
            Some(b'n') => self.literal(b"null").map(|()| builder.null()),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn literal(&mut self, word: &'static [u8]) -> Result<(), Fault> {
        for &byte in word {
            if self.peek() != Some(byte) {
                return Err(self.unexpected("`true`, `false` or `null`"));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number<B: Builder<'a>>(&mut self, builder: &mut B) -> Result<B::Value, Fault> {
        let start = self.at;
        let token = match scan_number(self.bytes, start) {
            Ok(token) => token,
            Err(at) => {
                self.at = at;
                return Err(self.unexpected("a number as JSON writes it"));
            }
        };
        self.at = token.end;
        let digits = self.bytes.get(start..token.end).unwrap_or_default();
        builder.number(digits, token.plain).map_err(|refused| {
            fault(
                start,
                match refused {
                    Refused::Infinite => ReadErrorKind::InfiniteNumber,
                    Refused::Inexact => ReadErrorKind::InexactInteger,
                },
            )
        })
    }

    fn enter(&mut self) -> Result<(), Fault> {
        if self.depth == DEPTH_MAX {
            return Err(fault(self.at, ReadErrorKind::TooDeep));
        }
        self.depth += 1;
        self.at += 1;
        self.skip_blanks();
        Ok(())
    }

    fn array<B: Builder<'a>>(&mut self, builder: &mut B) -> Result<B::Value, Fault> {
        self.enter()?;
        let mut array = builder.begin_array();
        if self.peek() != Some(b']') {
            loop {
                builder.begin_element(&mut array);
                let value = self.value(builder)?;
                builder.end_element(&mut array, value);
                self.skip_blanks();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b']') => break,
                    _ => return Err(self.unexpected("`,` or `]`")),
                }
                self.skip_blanks();
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(builder.end_array(array))
    }

    fn object<B: Builder<'a>>(&mut self, builder: &mut B) -> Result<B::Value, Fault> {
        self.enter()?;
        let mut object = builder.begin_object();
        if self.peek() != Some(b'}') {
            loop {
                if self.peek() != Some(b'"') {
                    return Err(self.unexpected("a key in quotes"));
                }
                let offset = self.at;
                let key = self.string()?;
                if key.bytes.len() > KEY_BYTES_MAX && decoded_len(key) > KEY_BYTES_MAX {
                    return Err(fault(offset, ReadErrorKind::KeyTooLong));
                }
                builder.key(&mut object, key, offset);
                self.skip_blanks();
                if self.peek() != Some(b':') {
                    return Err(self.unexpected("`:`"));
                }
                self.at += 1;
                self.skip_blanks();
                let value = self.value(builder)?;
                builder.end_member(&mut object, value);
                self.skip_blanks();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => break,
                    _ => return Err(self.unexpected("`,` or `}`")),
                }
                self.skip_blanks();
            }
        }
        self.at += 1;
        self.depth -= 1;
        builder.end_object(object).map_err(|(offset, key)| fault(offset, ReadErrorKind::DuplicateKey(key)))
    }

    /// Reads the string whose opening quote is next.
    #[inline]
    fn string(&mut self) -> Result<RawString<'a>, Fault> {
        let start = self.at + 1;
        let mut at = ascii_run_end(self.bytes, start);
        let (mut escaped, mut canonical, mut wide) = (false, true, false);
        loop {
            match self.bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let escape = read_escape(self.bytes, at)?;
                    escaped = true;
                    canonical &= escape.canonical;
                    at = escape.end;
                }
                Some(&byte @ 0..0x20) => return Err(fault(at, ReadErrorKind::ControlCharacter(byte))),
                Some(_) => wide = true,
                None => return Err(fault(at, ReadErrorKind::UnexpectedEnd)),
            }
            at = if wide { plain_run_end(self.bytes, at) } else { ascii_run_end(self.bytes, at) };
        }
        let bytes = self.bytes.get(start..at).unwrap_or_default();
        if wide
            && self.text.is_none()
            && let Err(error) = std::str::from_utf8(bytes)
        {
            return Err(fault(start + error.valid_up_to(), ReadErrorKind::InvalidUtf8));
        }
        self.at = at + 1;
        let text = self.text.and_then(|text| text.get(start..at));
        Ok(RawString { bytes, text, escaped, canonical })
    }
}

#[cold]
fn fault(offset: usize, kind: ReadErrorKind) -> Fault {
    Fault { offset, kind }
}

struct Escape {
    character: char,
    end: usize,
    canonical: bool,
}

/// Reads the escape whose backslash is at `at`.
#[inline]
fn read_escape(bytes: &[u8], at: usize) -> Result<Escape, Fault> {
    let (character, canonical) = match bytes.get(at + 1) {
        Some(b'n') => ('\n', true),
        Some(b'"') => ('"', true),
        Some(b'\\') => ('\\', true),
        Some(b't') => ('\t', true),
        Some(b'r') => ('\r', true),
        Some(b'b') => ('\u{8}', true),
        Some(b'f') => ('\u{c}', true),
        Some(b'/') => ('/', false),
        Some(b'u') => return read_unicode_escape(bytes, at),
        Some(_) => return Err(fault(at, ReadErrorKind::InvalidEscape)),
        None => return Err(fault(bytes.len(), ReadErrorKind::UnexpectedEnd)),
    };
    Ok(Escape { character, end: at + 2, canonical })
}

fn read_unicode_escape(bytes: &[u8], at: usize) -> Result<Escape, Fault> {
    let unit = hex4(bytes, at + 2)?;
    let lone = || fault(at, ReadErrorKind::LoneSurrogate);
    if (0xd800..0xdc00).contains(&unit) {
        if bytes.get(at + 6) != Some(&b'\\') || bytes.get(at + 7) != Some(&b'u') {
            return Err(lone());
        }
        let low = hex4(bytes, at + 8)?;
        if !(0xdc00..0xe000).contains(&low) {
            return Err(lone());
        }
        let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        let character = char::from_u32(code).ok_or_else(lone)?;
        return Ok(Escape { character, end: at + 12, canonical: false });
    }
    let character = char::from_u32(unit).ok_or_else(lone)?;
    let lower = bytes.get(at + 2..at + 6).unwrap_or_default().iter().all(|byte| !byte.is_ascii_uppercase());
    let canonical = lower && unit < 0x20 && !matches!(unit, 0x08 | 0x09 | 0x0a | 0x0c | 0x0d);
    Ok(Escape { character, end: at + 6, canonical })
}

fn hex4(bytes: &[u8], at: usize) -> Result<u32, Fault> {
    let mut unit = 0;
    for position in at..at + 4 {
        let Some(&byte) = bytes.get(position) else {
            return Err(fault(bytes.len(), ReadErrorKind::UnexpectedEnd));
        };
        let Some(digit) = char::from(byte).to_digit(16) else {
            return Err(fault(position, ReadErrorKind::InvalidEscape));
        };
        unit = unit * 16 + digit;
    }
    Ok(unit)
}

/// Calls `plain` with each run of bytes that stand for themselves and `decoded` with each escaped character.
/// The content was checked; should it be wrong all the same, decoding stops there.
pub(crate) fn decode_with<S>(
    bytes: &[u8],
    state: &mut S,
    plain: impl Fn(&mut S, &[u8]),
    decoded: impl Fn(&mut S, char),
) {
    let mut at = 0;
    while at < bytes.len() {
        let end = plain_run_end(bytes, at);
        plain(state, bytes.get(at..end).unwrap_or_default());
        if end >= bytes.len() {
            return;
        }
        let Ok(escape) = read_escape(bytes, end) else { return };
        decoded(state, escape.character);
        at = escape.end;
    }
}

/// The decoded text of a string; what cannot be decoded is replaced or left out, which a checked string never is.
pub(crate) fn decode(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    decode_with(
        bytes,
        &mut out,
        |out, run| out.extend_from_slice(run),
        |out, character| {
            let mut utf8 = [0; 4];
            out.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
        },
    );
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn decoded_len(raw: RawString<'_>) -> usize {
    if raw.escaped { decode(raw.bytes).len() } else { raw.bytes.len() }
}
