//! Canonical bytes from any `Serialize`, without a tree in between.

use crate::error::WriteError;
use crate::limits::{DEPTH_MAX, DOCUMENT_BYTES_MAX, INTEGER_REFUSED_START};
use crate::number::with_number_text;
use crate::writer::{Draft, OpenObject};
use serde::ser::{self, Serialize};

type Result<T = (), E = WriteError> = std::result::Result<T, E>;

impl Draft {
    pub(crate) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.clear();
        self.reserve();
        value.serialize(ValueWriter { draft: self, depth: 0, written: false })?;
        if self.bytes.len() > DOCUMENT_BYTES_MAX { Err(WriteError::TooLong) } else { Ok(()) }
    }

    fn integer(&mut self, integer: i128) -> Result {
        #[expect(clippy::cast_possible_truncation, reason = "the bound is an integer")]
        const BOUND: i128 = INTEGER_REFUSED_START as i128;
        if !(-BOUND < integer && integer < BOUND) {
            return Err(WriteError::InexactInteger(integer));
        }
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut rest = integer.unsigned_abs() as u64;
        loop {
            at -= 1;
            if let Some(digit) = digits.get_mut(at) {
                *digit = b'0' + (rest % 10) as u8;
            }
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if integer < 0 {
            self.bytes.push(b'-');
        }
        self.bytes.extend_from_slice(digits.get(at..).unwrap_or_default());
        Ok(())
    }
}

/// A value whose canonical text is there already: a [`Canonicalizer`](crate::Canonicalizer) copies the text, and any other
/// serializer gets the value. The text must be canonical, and the value's.
pub struct Written<'a, T> {
    /// Canonical JSON.
    pub text: &'a str,
    /// The same.
    pub value: T,
}

/// The name by which the two meet.
const WRITTEN: &str = "$ordain_canon::Written";

impl<T: Serialize> Serialize for Written<'_, T> {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(WRITTEN, &TextOrValue(self))
    }
}

struct TextOrValue<'w, 'a, T>(&'w Written<'a, T>);

impl<T: Serialize> Serialize for TextOrValue<'_, '_, T> {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.0.value.serialize(serializer)
        } else {
            serializer.serialize_str(self.0.text)
        }
    }
}

struct ValueWriter<'d> {
    draft: &'d mut Draft,
    depth: usize,
    /// The next string is canonical JSON.
    written: bool,
}

impl<'d> ValueWriter<'d> {
    fn enter(self) -> Result<Self> {
        if self.depth == DEPTH_MAX {
            return Err(WriteError::TooDeep);
        }
        Ok(Self { draft: self.draft, depth: self.depth + 1, written: false })
    }

    fn array(self) -> Result<ArrayWriter<'d>> {
        let Self { draft, depth, .. } = self.enter()?;
        draft.bytes.push(b'[');
        Ok(ArrayWriter { draft, depth, any: false, in_member: None })
    }

    fn object(self) -> Result<ObjectWriter<'d>> {
        let Self { draft, depth, .. } = self.enter()?;
        let object = draft.open_object();
        Ok(ObjectWriter { draft, depth, object, in_member: None })
    }

    /// `{"variant": …`: the object around the content of an enum's variant.
    fn variant(self, variant: &'static str) -> Result<(Self, OpenObject)> {
        let Self { draft, depth, .. } = self.enter()?;
        let mut object = draft.open_object();
        write_key(draft, &mut object, variant);
        Ok((Self { draft, depth, written: false }, object))
    }
}

#[inline]
fn write_key(draft: &mut Draft, object: &mut OpenObject, key: &str) {
    let start = draft.begin_key(object);
    let escaped = draft.string(key.as_bytes());
    draft.end_key(object, start, escaped, 0);
}

fn close(draft: &mut Draft, object: OpenObject) -> Result {
    draft.close_object(object).map_err(|(_, key)| WriteError::DuplicateKey(key))
}

impl<'d> ser::Serializer for ValueWriter<'d> {
    type Ok = ();
    type Error = WriteError;
    type SerializeSeq = ArrayWriter<'d>;
    type SerializeTuple = ArrayWriter<'d>;
    type SerializeTupleStruct = ArrayWriter<'d>;
    type SerializeTupleVariant = ArrayWriter<'d>;
    type SerializeMap = ObjectWriter<'d>;
    type SerializeStruct = ObjectWriter<'d>;
    type SerializeStructVariant = ObjectWriter<'d>;

    fn serialize_bool(self, value: bool) -> Result {
        self.draft.bytes.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result {
        self.draft.integer(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result {
        self.draft.integer(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result {
        self.draft.integer(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result {
        self.draft.integer(value.into())
    }

    fn serialize_i128(self, value: i128) -> Result {
        self.draft.integer(value)
    }

    fn serialize_u8(self, value: u8) -> Result {
        self.draft.integer(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result {
        self.draft.integer(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result {
        self.draft.integer(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result {
        self.draft.integer(value.into())
    }

    fn serialize_u128(self, value: u128) -> Result {
        self.draft.integer(i128::try_from(value).unwrap_or(i128::MAX))
    }

    fn serialize_f32(self, value: f32) -> Result {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result {
        if !value.is_finite() {
            return Err(WriteError::NotFinite);
        }
        // Every finite double is written, also those that the strict reader refuses: RFC 8785 defines them all.
        if value.fract() == 0.0 && value.abs() < INTEGER_REFUSED_START {
            #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^53 fits")]
            return self.draft.integer(value as i128);
        }
        with_number_text(value, |text| self.draft.bytes.extend_from_slice(text.as_bytes()));
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result {
        if self.written {
            debug_assert!(crate::is_canonical(value.as_bytes()), "it is said to be canonical");
            self.draft.bytes.extend_from_slice(value.as_bytes());
        } else {
            self.draft.string(value.as_bytes());
        }
        Ok(())
    }

    fn is_human_readable(&self) -> bool {
        !self.written
    }

    fn serialize_bytes(self, _: &[u8]) -> Result {
        Err(WriteError::Bytes)
    }

    fn serialize_none(self) -> Result {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result {
        self.draft.bytes.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result {
        value.serialize(Self { written: name == WRITTEN, ..self })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result {
        let (writer, object) = self.variant(variant)?;
        value.serialize(ValueWriter { draft: &mut *writer.draft, depth: writer.depth, written: false })?;
        writer.draft.end_value();
        close(writer.draft, object)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ArrayWriter<'d>> {
        self.array()
    }

    fn serialize_tuple(self, _: usize) -> Result<ArrayWriter<'d>> {
        self.array()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<ArrayWriter<'d>> {
        self.array()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<ArrayWriter<'d>> {
        let (writer, object) = self.variant(variant)?;
        Ok(ArrayWriter { in_member: Some(object), ..writer.array()? })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<ObjectWriter<'d>> {
        self.object()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<ObjectWriter<'d>> {
        self.object()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<ObjectWriter<'d>> {
        let (writer, object) = self.variant(variant)?;
        Ok(ObjectWriter { in_member: Some(object), ..writer.object()? })
    }
}

struct ArrayWriter<'d> {
    draft: &'d mut Draft,
    depth: usize,
    any: bool,
    /// The object around an enum variant's array.
    in_member: Option<OpenObject>,
}

impl ArrayWriter<'_> {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        if self.any {
            self.draft.bytes.push(b',');
        }
        self.any = true;
        value.serialize(ValueWriter { draft: &mut *self.draft, depth: self.depth, written: false })
    }

    fn finish(self) -> Result {
        self.draft.bytes.push(b']');
        finish_variant(self.draft, self.in_member)
    }
}

fn finish_variant(draft: &mut Draft, object: Option<OpenObject>) -> Result {
    let Some(object) = object else { return Ok(()) };
    draft.end_value();
    close(draft, object)
}

struct ObjectWriter<'d> {
    draft: &'d mut Draft,
    depth: usize,
    object: OpenObject,
    /// The object around an enum variant's object.
    in_member: Option<OpenObject>,
}

impl ObjectWriter<'_> {
    #[inline]
    fn member_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        value.serialize(ValueWriter { draft: &mut *self.draft, depth: self.depth, written: false })?;
        self.draft.end_value();
        Ok(())
    }

    fn finish(self) -> Result {
        close(self.draft, self.object)?;
        finish_variant(self.draft, self.in_member)
    }
}

macro_rules! array_writer {
    ($($trait:ident :: $method:ident),*) => {$(
        impl ser::$trait for ArrayWriter<'_> {
            type Ok = ();
            type Error = WriteError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
                self.element(value)
            }

            fn end(self) -> Result {
                self.finish()
            }
        }
    )*};
}
array_writer!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! struct_writer {
    ($($trait:ident),*) => {$(
        impl ser::$trait for ObjectWriter<'_> {
            type Ok = ();
            type Error = WriteError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
                write_key(self.draft, &mut self.object, key);
                self.member_value(value)
            }

            fn end(self) -> Result {
                self.finish()
            }
        }
    )*};
}
struct_writer!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for ObjectWriter<'_> {
    type Ok = ();
    type Error = WriteError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        let start = self.draft.begin_key(&self.object);
        let at = self.draft.bytes.len();
        key.serialize(ValueWriter { draft: &mut *self.draft, depth: self.depth, written: false })?;
        let written = self.draft.bytes.get(at..).unwrap_or_default();
        if written.first() != Some(&b'"') {
            return Err(WriteError::KeyNotString);
        }
        let escaped = written.contains(&b'\\');
        self.draft.end_key(&mut self.object, start, escaped, 0);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.member_value(value)
    }

    fn end(self) -> Result {
        self.finish()
    }
}
