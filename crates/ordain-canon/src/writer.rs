//! The canonical writer (RFC 8785): text and values go into one reused buffer; objects whose members come out of
//! order are noted as spans, and the bytes are put in order once, on their way out.

use crate::check::{compare_keys, is_canonical};
use crate::error::{ReadError, WriteError};
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::number::{Refused, parse_number, with_number_text};
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
        if is_canonical(text) {
            return Ok(digest([text, suffix]));
        }
        self.draft_text(text)?;
        Ok(self.draft.digest(suffix))
    }

    /// The SHA-256 of the canonical bytes of a value, followed by `suffix`.
    pub(crate) fn digest_value<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        suffix: &[u8],
    ) -> Result<[u8; 32], WriteError> {
        self.draft.value(value)?;
        Ok(self.draft.digest(suffix))
    }

    fn draft_text(&mut self, text: &[u8]) -> Result<(), ReadError> {
        self.draft.clear();
        self.draft.bytes.reserve(text.len());
        read(text, None, &mut self.draft)
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
}

fn digest<const N: usize>(parts: [&[u8]; N]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Canonical but for the order of members, which `unsorted` knows.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) bytes: Vec<u8>,
    /// The members of the open objects, innermost last.
    open: Vec<MemberSpan>,
    /// The objects whose members are out of order; sorted by `start` when emitting.
    unsorted: Vec<UnsortedObject>,
    /// Their members in the right order.
    sorted: Vec<MemberSpan>,
}

/// A member in the draft: `"key":value` without the comma.
#[derive(Clone, Copy)]
struct MemberSpan {
    start: u32,
    end: u32,
    /// Where the key's closing quote is.
    key_end: u32,
    escaped: bool,
    /// Where the key stands in the text that is being read.
    source: u32,
}

struct UnsortedObject {
    start: u32,
    end: u32,
    first: u32,
    count: u32,
}

/// An object being written.
pub(crate) struct OpenObject {
    start: u32,
    first: usize,
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

    pub(crate) fn open_object(&mut self) -> OpenObject {
        let open = OpenObject { start: offset32(self.bytes.len()), first: self.open.len(), ascending: true };
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
        let member = MemberSpan {
            start,
            end: 0,
            key_end: offset32(self.bytes.len() - 1),
            escaped,
            source: offset32(source),
        };
        self.bytes.push(b':');
        if object.ascending && self.open.len() > object.first && let Some(last) = self.open.last() {
            object.ascending = compare_members(&self.bytes, last, &member) == Ordering::Less;
        }
        self.open.push(member);
    }

    #[inline]
    pub(crate) fn end_value(&mut self) {
        let end = offset32(self.bytes.len());
        if let Some(member) = self.open.last_mut() {
            member.end = end;
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
        decode_with(raw.bytes, self, |draft, run| draft.bytes.extend_from_slice(run), |draft, character| {
            let mut utf8 = [0; 4];
            draft.string_content(character.encode_utf8(&mut utf8).as_bytes());
        });
        let escaped = self.bytes.get(start..).unwrap_or_default().contains(&b'\\');
        self.bytes.push(b'"');
        escaped
    }

    fn digest(&mut self, suffix: &[u8]) -> [u8; 32] {
        if self.unsorted.is_empty() {
            return digest([&self.bytes, suffix]);
        }
        let mut hasher = Sha256::new();
        self.emit(&mut |bytes| hasher.update(bytes));
        hasher.update(suffix);
        hasher.finalize().into()
    }

    /// Hands out the bytes in canonical order.
    fn emit(&mut self, sink: &mut impl FnMut(&[u8])) {
        self.unsorted.sort_unstable_by_key(|object| object.start);
        self.emit_range(0, offset32(self.bytes.len()), sink);
    }

    fn emit_range(&self, start: u32, end: u32, sink: &mut impl FnMut(&[u8])) {
        let mut at = start;
        let mut next = self.unsorted.partition_point(|object| object.start < start);
        while let Some(object) = self.unsorted.get(next).filter(|object| object.start < end) {
            sink(self.slice(at, object.start + 1));
            let members = self.sorted.get(object.first as usize..(object.first + object.count) as usize);
            for (position, member) in members.unwrap_or_default().iter().enumerate() {
                if position > 0 {
                    sink(b",");
                }
                self.emit_range(member.start, member.end, sink);
            }
            at = object.end - 1;
            next += self.unsorted.get(next..).unwrap_or_default().partition_point(|inner| inner.start < object.end);
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
