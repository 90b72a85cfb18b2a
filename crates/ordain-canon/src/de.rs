//! Typed values from a [`Value`] that was verified.

use crate::value::{Member, Value};
use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{self, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;

/// A value does not have the type that it should.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct TypeError(String);

impl de::Error for TypeError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl<'a> Value<'a> {
    /// The value as a type.
    pub fn to_typed<T: de::DeserializeOwned>(&self) -> Result<T, TypeError> {
        T::deserialize(self)
    }
}

impl<'de, 'v: 'de> IntoDeserializer<'de, TypeError> for &'v Value<'v> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn member<'v>((key, value): &'v Member<'v>) -> (Cow<'v, str>, &'v Value<'v>) {
    (Cow::Borrowed(key), value)
}

impl<'de, 'v: 'de> de::Deserializer<'de> for &'v Value<'v> {
    type Error = TypeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match self.as_integer() {
                Some(integer) => match u64::try_from(integer) {
                    Ok(integer) => visitor.visit_u64(integer),
                    Err(_) => visitor.visit_i64(integer),
                },
                None => visitor.visit_f64(*number),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(elements) => visitor.visit_seq(SeqDeserializer::new(elements.iter())),
            Value::Object(members) => visitor.visit_map(MapDeserializer::new(members.iter().map(member))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        match self {
            // The contracts' enums are names without content.
            Value::String(text) => visitor.visit_enum(StrDeserializer::new(text)),
            _ => Err(de::Error::custom(format!("expected a name, found {}", self.kind()))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}
