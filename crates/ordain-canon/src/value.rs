//! A document as a tree that borrows from its text.

use crate::error::ReadError;
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::number::{Refused, parse_number};
use crate::order::compare_utf16;
use crate::reader::{Builder, RawString, decode, read};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use std::borrow::Cow;

/// Any JSON value. Numbers are doubles, as RFC 8785 sees them: `50` and `50.0` are one value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string; borrowed unless it had escapes.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object; its members in the order of the text, no key twice.
    Object(Vec<Member<'a>>),
}

/// A key and its value.
pub type Member<'a> = (Cow<'a, str>, Value<'a>);

impl<'a> Value<'a> {
    /// Reads a document strictly.
    pub fn read(bytes: &'a [u8]) -> Result<Self, ReadError> {
        #[cfg(feature = "counting")]
        crate::counting::READS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        // One check of the whole text lets every string be a slice of it. A text that fails the check is read
        // all the same, to say where.
        let text = if bytes.len() > DOCUMENT_BYTES_MAX { None } else { std::str::from_utf8(bytes).ok() };
        read(bytes, text, &mut Tree::default())
    }

    /// The member of an object.
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.as_object()?.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The number as an integer, if it is one that every reader keeps exactly.
    pub fn as_integer(&self) -> Option<i64> {
        let number = self.as_f64()?;
        let exact = number.fract() == 0.0 && number.abs() < crate::limits::INTEGER_REFUSED_START;
        #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^53 fits")]
        exact.then_some(number as i64)
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The elements, if this is an array.
    pub fn as_array(&self) -> Option<&[Value<'a>]> {
        match self {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The members, if this is an object.
    pub fn as_object(&self) -> Option<&[Member<'a>]> {
        match self {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The kind of this value, as a person would say it.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }

    /// Whether two values have the same canonical form: the order of members does not count.
    pub fn same_as(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Number(left), Value::Number(right)) => left == right,
            (Value::String(left), Value::String(right)) => left == right,
            (Value::Array(left), Value::Array(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.same_as(right))
            }
            (Value::Object(left), Value::Object(right)) => {
                let (left, right) = (sorted_members(left), sorted_members(right));
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(&right)
                        .all(|(left, right)| left.0 == right.0 && left.1.same_as(&right.1))
            }
            _ => false,
        }
    }
}

fn sorted_members<'v, 'a>(members: &'v [Member<'a>]) -> Vec<&'v Member<'a>> {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by(|left, right| left.0.cmp(&right.0));
    sorted
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(number) => serializer.serialize_f64(*number),
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(elements) => {
                let mut sequence = serializer.serialize_seq(Some(elements.len()))?;
                for element in elements {
                    sequence.serialize_element(element)?;
                }
                sequence.end()
            }
            Value::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// Builds the tree.
#[derive(Default)]
struct Tree {
    /// The places of the keys of the open objects, innermost last.
    offsets: Vec<usize>,
}

pub(crate) struct OpenObject<'a> {
    members: Vec<Member<'a>>,
    first_offset: usize,
    ascending: bool,
}

fn text_of(raw: RawString<'_>) -> Cow<'_, str> {
    match (raw.escaped, raw.text) {
        (false, Some(text)) => Cow::Borrowed(text),
        _ => Cow::Owned(decode(raw.bytes)),
    }
}

impl<'a> Builder<'a> for Tree {
    type Value = Value<'a>;
    type Array = Vec<Value<'a>>;
    type Object = OpenObject<'a>;

    fn null(&mut self) -> Value<'a> {
        Value::Null
    }

    fn bool(&mut self, value: bool) -> Value<'a> {
        Value::Bool(value)
    }

    fn number(&mut self, token: &'a [u8], _plain: bool) -> Result<Value<'a>, Refused> {
        parse_number(token).map(Value::Number)
    }

    fn string(&mut self, raw: RawString<'a>) -> Value<'a> {
        Value::String(text_of(raw))
    }

    fn begin_array(&mut self) -> Vec<Value<'a>> {
        Vec::new()
    }

    fn begin_element(&mut self, _: &mut Vec<Value<'a>>) {}

    fn end_element(&mut self, array: &mut Vec<Value<'a>>, value: Value<'a>) {
        array.push(value);
    }

    fn end_array(&mut self, mut array: Vec<Value<'a>>) -> Value<'a> {
        array.shrink_to_fit();
        Value::Array(array)
    }

    fn begin_object(&mut self) -> OpenObject<'a> {
        OpenObject { members: Vec::new(), first_offset: self.offsets.len(), ascending: true }
    }

    fn key(&mut self, object: &mut OpenObject<'a>, raw: RawString<'a>, offset: usize) {
        let key = text_of(raw);
        if let Some((last, _)) = object.members.last() {
            object.ascending &= **last < *key;
        }
        self.offsets.push(offset);
        object.members.push((key, Value::Null));
    }

    fn end_member(&mut self, object: &mut OpenObject<'a>, value: Value<'a>) {
        if let Some((_, slot)) = object.members.last_mut() {
            *slot = value;
        }
    }

    fn end_object(&mut self, object: OpenObject<'a>) -> Result<Value<'a>, (usize, String)> {
        let OpenObject { mut members, first_offset, ascending } = object;
        // Keys that only ascend are distinct.
        if !ascending && let Some(second) = second_of_equal_keys(&members) {
            let offset = self.offsets.get(first_offset + second).copied().unwrap_or_default();
            let key = members.get(second).map(|(key, _)| key.to_string()).unwrap_or_default();
            return Err((offset, key));
        }
        self.offsets.truncate(first_offset);
        members.shrink_to_fit();
        Ok(Value::Object(members))
    }
}

/// The position of the first key that an earlier member has already.
fn second_of_equal_keys(members: &[Member<'_>]) -> Option<usize> {
    const FEW: usize = 8;
    if members.len() <= FEW {
        let seen =
            |position: usize, key: &str| members.iter().take(position).any(|(earlier, _)| earlier == key);
        return members.iter().enumerate().position(|(position, (key, _))| seen(position, key));
    }
    let mut positions: Vec<(&str, usize)> =
        members.iter().enumerate().map(|(position, (key, _))| (key.as_ref(), position)).collect();
    positions.sort_unstable();
    positions
        .windows(2)
        .filter_map(|pair| match pair {
            [(left, _), (right, position)] if left == right => Some(*position),
            _ => None,
        })
        .min()
}

/// Sorts strings as canonical JSON sorts keys.
pub fn sort_utf16<T: AsRef<str>>(strings: &mut [T]) {
    strings.sort_by(|left, right| compare_utf16(left.as_ref(), right.as_ref()));
}
