//! Typed values from a [`Value`] that was verified.

use crate::value::{Member, Value};
use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{self, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;

/// A value does not have the type that it should.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct TypeError {
    message: String,
    without_values: Option<String>,
}

impl TypeError {
    /// The message without the value: what is in the wrong place may be a secret.
    pub fn without_values(&self) -> &str {
        self.without_values.as_deref().unwrap_or(&self.message)
    }
}

impl de::Error for TypeError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), without_values: None }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let without_values = format!("{} was found where {expected} was expected", kind(&found));
        let message = format!("invalid type: {found}, expected {expected}");
        Self { message, without_values: Some(without_values) }
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let without_values = format!("{} was found that is not {expected}", kind(&found));
        let message = format!("invalid value: {found}, expected {expected}");
        Self { message, without_values: Some(without_values) }
    }

    fn unknown_variant(found: &str, expected: &'static [&'static str]) -> Self {
        let names: Vec<String> = expected.iter().map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        Self {
            message: format!("unknown variant `{found}`, expected one of {names}"),
            without_values: Some(format!("a name was found that is none of {names}")),
        }
    }
}

fn kind(found: &Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "true or false",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
        Unexpected::Char(_) | Unexpected::Str(_) | Unexpected::Bytes(_) => "a string",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "an array",
        Unexpected::Map => "an object",
        _ => "something else",
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
