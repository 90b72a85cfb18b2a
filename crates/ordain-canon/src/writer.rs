//! The canonical writer (RFC 8785): text and values go into one reused buffer. Objects whose members come out
//! of order are noted as spans, and the bytes are sorted once, when they are taken out.

use crate::check::{compare_keys, is_canonical, is_canonical_with};
use crate::error::{ReadError, WriteError};
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::number::{Refused, parse_number, with_number_text};
use crate::order::utf16_prefix;
use crate::reader::{Builder, RawString, decode, decode_with, read};
use crate::scan::plain_run_end;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::cmp::Ordering;

/// Makes canonical bytes and their SHA-256. Keep one and use it again: its buffers stay.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut canon = ordain_canon::Canonicalizer::new();
/// assert_eq!(canon.text(br#"{ "b": 1.0, "a": "\u0041" }"#)?, br#"{"a":"A","b":1}"#);
/// assert_eq!(canon.value(&("x", 1e21))?, br#"["x",1e+21]"#);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Canonicalizer {
    pub(crate) draft: Draft,
    ordered: Vec<u8>,
}

impl Canonicalizer {
    /// With empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// The canonical bytes of a document's text, which is read strictly. Text that is canonical already is
    /// returned as it is.
    pub fn text<'a>(&'a mut self, text: &'a [u8]) -> Result<&'a [u8], ReadError> {
        if is_canonical(text) {
            return Ok(text);
        }
        self.draft_text(text)?;
        Ok(self.ordered())
    }

    /// The canonical bytes of a value.
    pub fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<&[u8], WriteError> {
        self.draft.value(value)?;
        Ok(self.ordered())
    }

    /// The SHA-256 of the canonical bytes of a text, followed by `suffix`.
    pub(crate) fn digest_text(&mut self, text: &[u8], suffix: &[u8]) -> Result<[u8; 32], ReadError> {
        let mut hasher = Sha256::new();
        if is_canonical_with(text, |stretch| hasher.update(stretch)) {
            hasher.update(suffix);
            return Ok(hasher.finalize().into());
        }
        self.draft_text(text)?;
        Ok(self.digest(suffix))
    }

    /// The SHA-256 of the canonical bytes of a value, followed by `suffix`.
    pub(crate) fn digest_value<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        suffix: &[u8],
    ) -> Result<[u8; 32], WriteError> {
        self.draft.value(value)?;
        Ok(self.digest(suffix))
    }

    fn draft_text(&mut self, text: &[u8]) -> Result<(), ReadError> {
        self.draft.clear();
        self.draft.bytes.reserve(text.len());
        read(text, None, &mut self.draft)?;
        // Short numbers may grow: `1e15` becomes sixteen digits.
        if self.draft.bytes.len() > DOCUMENT_BYTES_MAX { Err(ReadError::too_long(text)) } else { Ok(()) }
    }

    fn ordered(&mut self) -> &[u8] {
        if self.draft.unsorted.is_empty() {
            return &self.draft.bytes;
        }
        let ordered = &mut self.ordered;
        ordered.clear();
        ordered.reserve(self.draft.bytes.len());
        self.draft.emit(&mut |bytes| ordered.extend_from_slice(bytes));
        ordered
    }

    fn digest(&mut self, suffix: &[u8]) -> [u8; 32] {
        let mut hasher = Sha256::new();
        if self.draft.unsorted.is_empty() {
            hasher.update(&self.draft.bytes);
        } else {
            let gathered = &mut self.ordered;
            gathered.clear();
            gathered.reserve(self.draft.bytes.len().min(GATHERED_BYTES_MAX));
            self.draft.emit(&mut |bytes| {
                // A hasher is slow on small pieces; large ones are not worth a copy.
                if gathered.len() + bytes.len() > GATHERED_BYTES_MAX {
                    hasher.update(&gathered);
                    gathered.clear();
                }
                if bytes.len() > GATHERED_BYTES_MAX / 4 {
                    hasher.update(&gathered);
                    gathered.clear();
                    hasher.update(bytes);
                } else {
                    gathered.extend_from_slice(bytes);
                }
            });
            hasher.update(&gathered);
        }
        hasher.update(suffix);
        hasher.finalize().into()
    }
}

const GATHERED_BYTES_MAX: usize = 16 * 1024;

/// Canonical but for the order of members, which `unsorted` knows.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) bytes: Vec<u8>,
    /// The members of the open objects, innermost last.
    open: Vec<MemberSpan>,
    /// The objects whose members are out of order, in the order in which they ended: what is inside one comes
    /// before it.
    unsorted: Vec<UnsortedObject>,
    /// Their members in the right order.
    sorted: Vec<MemberSpan>,
    /// Work space of [`Draft::emit`].
    pending: Vec<u32>,
}

/// A member in the draft: `"key":value` without the comma.
#[derive(Clone, Copy)]
struct MemberSpan {
    start: u32,
    end: u32,
    /// Where the key's closing quote is.
    key_end: u32,
    escaped: bool,
    /// The first bytes of a key without escapes; where two differ, they decide.
    prefix: u64,
    /// The place of the key in the text that is being read.
    source: u32,
    /// The unsorted objects inside it.
    unsorted: Inside,
}

/// A stretch of [`Draft::unsorted`].
#[derive(Clone, Copy)]
struct Inside {
    first: u32,
    end: u32,
}

struct UnsortedObject {
    start: u32,
    end: u32,
    /// Its members, a stretch of [`Draft::sorted`].
    first: u32,
    count: u32,
    /// The first of the unsorted objects inside it; they end just before it.
    first_inside: u32,
}

/// An object being written.
pub(crate) struct OpenObject {
    start: u32,
    first: usize,
    first_inside: u32,
    ascending: bool,
}

/// A text grows less than fourfold (`1e15` becomes sixteen digits), so offsets fit; a value that is longer is
/// refused once it is written.
#[inline(always)]
fn offset32(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

const _: () = assert!(DOCUMENT_BYTES_MAX <= u32::MAX as usize / 4);

impl Draft {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.open.clear();
        self.unsorted.clear();
        self.sorted.clear();
    }

    /// Gives new buffers room for a common document at once, instead of letting them grow to it step by step.
    pub(crate) fn reserve(&mut self) {
        const BYTES: usize = 1_000;
        const MEMBERS: usize = 16;
        self.bytes.reserve(BYTES);
        self.open.reserve(MEMBERS);
    }

    pub(crate) fn open_object(&mut self) -> OpenObject {
        let open = OpenObject {
            start: offset32(self.bytes.len()),
            first: self.open.len(),
            first_inside: offset32(self.unsorted.len()),
            ascending: true,
        };
        self.bytes.push(b'{');
        open
    }

    /// Writes the comma and makes room for the next member; the key follows.
    #[inline]
    pub(crate) fn begin_key(&mut self, object: &OpenObject) -> u32 {
        if self.open.len() > object.first {
            self.bytes.push(b',');
        }
        offset32(self.bytes.len())
    }

    /// The key from `start` is written, quotes and all.
    #[inline]
    pub(crate) fn end_key(&mut self, object: &mut OpenObject, start: u32, escaped: bool, source: usize) {
        let key_end = self.bytes.len() - 1;
        let key = self.bytes.get(start as usize + 1..key_end).unwrap_or_default();
        let member = MemberSpan {
            start,
            end: 0,
            key_end: offset32(key_end),
            escaped,
            prefix: utf16_prefix(key),
            source: offset32(source),
            unsorted: Inside { first: offset32(self.unsorted.len()), end: 0 },
        };
        self.bytes.push(b':');
        if object.ascending
            && self.open.len() > object.first
            && let Some(last) = self.open.last()
        {
            object.ascending = compare_members(&self.bytes, last, &member) == Ordering::Less;
        }
        self.open.push(member);
    }

    #[inline]
    pub(crate) fn end_value(&mut self) {
        let (end, unsorted_end) = (offset32(self.bytes.len()), offset32(self.unsorted.len()));
        if let Some(member) = self.open.last_mut() {
            member.end = end;
            member.unsorted.end = unsorted_end;
        }
    }

    /// Fails with the source offset and the text of the second of two equal keys.
    pub(crate) fn close_object(&mut self, object: OpenObject) -> Result<(), (usize, String)> {
        self.bytes.push(b'}');
        if !object.ascending {
            let bytes = &self.bytes;
            let members = self.open.get_mut(object.first..).unwrap_or_default();
            members.sort_by(|left, right| compare_members(bytes, left, right));
            let twice = members.windows(2).filter_map(|pair| match pair {
                [left, right] if compare_members(bytes, left, right) == Ordering::Equal => Some(right),
                _ => None,
            });
            if let Some(second) = twice.min_by_key(|member| member.source) {
                return Err((second.source as usize, decode(key_bytes(bytes, second))));
            }
            self.unsorted.push(UnsortedObject {
                start: object.start,
                end: offset32(bytes.len()),
                first: offset32(self.sorted.len()),
                count: offset32(members.len()),
                first_inside: object.first_inside,
            });
            self.sorted.extend_from_slice(members);
        }
        self.open.truncate(object.first);
        Ok(())
    }

    /// Writes a string with its quotes and the escapes of RFC 8785; says whether there were any.
    pub(crate) fn string(&mut self, text: &[u8]) -> bool {
        self.bytes.push(b'"');
        let escaped = self.string_content(text);
        self.bytes.push(b'"');
        escaped
    }

    fn string_content(&mut self, text: &[u8]) -> bool {
        let mut at = 0;
        loop {
            let end = plain_run_end(text, at);
            self.bytes.extend_from_slice(text.get(at..end).unwrap_or_default());
            let Some(&byte) = text.get(end) else { return at > 0 };
            self.escape(byte);
            at = end + 1;
        }
    }

    fn escape(&mut self, byte: u8) {
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            0x08 => b'b',
            0x09 => b't',
            0x0a => b'n',
            0x0c => b'f',
            0x0d => b'r',
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
                self.bytes.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
                return;
            }
        };
        self.bytes.extend_from_slice(&[b'\\', short]);
    }

    /// Writes a string token of a text; says whether the result has escapes.
    #[inline]
    fn raw_string(&mut self, raw: RawString<'_>) -> bool {
        self.bytes.push(b'"');
        if raw.canonical {
            self.bytes.extend_from_slice(raw.bytes);
            self.bytes.push(b'"');
            return raw.escaped;
        }
        let start = self.bytes.len();
        decode_with(
            raw.bytes,
            self,
            |draft, run| draft.bytes.extend_from_slice(run),
            |draft, character| {
                let mut utf8 = [0; 4];
                draft.string_content(character.encode_utf8(&mut utf8).as_bytes());
            },
        );
        let escaped = self.bytes.get(start..).unwrap_or_default().contains(&b'\\');
        self.bytes.push(b'"');
        escaped
    }

    /// Hands out the bytes in canonical order.
    fn emit(&mut self, sink: &mut impl FnMut(&[u8])) {
        let mut pending = std::mem::take(&mut self.pending);
        let all = Inside { first: 0, end: offset32(self.unsorted.len()) };
        self.emit_range(0, offset32(self.bytes.len()), all, &mut pending, sink);
        self.pending = pending;
    }

    fn emit_range(
        &self,
        start: u32,
        end: u32,
        inside: Inside,
        pending: &mut Vec<u32>,
        sink: &mut impl FnMut(&[u8]),
    ) {
        // The outermost unsorted objects of the range, found from its end backwards.
        let base = pending.len();
        let mut next = inside.end;
        while next > inside.first {
            pending.push(next - 1);
            next = self.unsorted.get(next as usize - 1).map_or(inside.first, |object| object.first_inside);
        }
        let mut at = start;
        while pending.len() > base {
            let Some(object) = pending.pop().and_then(|index| self.unsorted.get(index as usize)) else {
                break;
            };
            sink(self.slice(at, object.start + 1));
            let members = self.sorted.get(object.first as usize..(object.first + object.count) as usize);
            for (position, member) in members.unwrap_or_default().iter().enumerate() {
                if position > 0 {
                    sink(b",");
                }
                if member.unsorted.first == member.unsorted.end {
                    sink(self.slice(member.start, member.end));
                } else {
                    self.emit_range(member.start, member.end, member.unsorted, pending, sink);
                }
            }
            at = object.end - 1;
        }
        sink(self.slice(at, end));
    }

    fn slice(&self, start: u32, end: u32) -> &[u8] {
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }
}

#[inline]
fn key_bytes<'a>(bytes: &'a [u8], member: &MemberSpan) -> &'a [u8] {
    bytes.get(member.start as usize + 1..member.key_end as usize).unwrap_or_default()
}

#[inline]
fn compare_members(bytes: &[u8], left: &MemberSpan, right: &MemberSpan) -> Ordering {
    if left.prefix != right.prefix && !left.escaped && !right.escaped {
        return left.prefix.cmp(&right.prefix);
    }
    compare_keys(key_bytes(bytes, left), left.escaped, key_bytes(bytes, right), right.escaped)
}

/// From text: strings and numbers that are canonical are copied as they are.
impl<'a> Builder<'a> for Draft {
    type Value = ();
    /// Whether an element was written.
    type Array = bool;
    type Object = OpenObject;

    fn null(&mut self) {
        self.bytes.extend_from_slice(b"null");
    }

    fn bool(&mut self, value: bool) {
        self.bytes.extend_from_slice(if value { b"true" } else { b"false" });
    }

    fn number(&mut self, token: &'a [u8], plain: bool) -> Result<(), Refused> {
        if plain {
            self.bytes.extend_from_slice(token);
            return Ok(());
        }
        let number = parse_number(token)?;
        with_number_text(number, |text| self.bytes.extend_from_slice(text.as_bytes()));
        Ok(())
    }

    fn string(&mut self, raw: RawString<'a>) {
        self.raw_string(raw);
    }

    fn begin_array(&mut self) -> bool {
        self.bytes.push(b'[');
        false
    }

    fn begin_element(&mut self, array: &mut bool) {
        if *array {
            self.bytes.push(b',');
        }
        *array = true;
    }

    fn end_element(&mut self, _: &mut bool, (): ()) {}

    fn end_array(&mut self, _: bool) {
        self.bytes.push(b']');
    }

    fn begin_object(&mut self) -> OpenObject {
        self.open_object()
    }

    #[inline]
    fn key(&mut self, object: &mut OpenObject, raw: RawString<'a>, offset: usize) {
        let start = self.begin_key(object);
        let escaped = self.raw_string(raw);
        self.end_key(object, start, escaped, offset);
    }

    fn end_member(&mut self, _: &mut OpenObject, (): ()) {
        self.end_value();
    }

    fn end_object(&mut self, object: OpenObject) -> Result<(), (usize, String)> {
        self.close_object(object)
    }
}
