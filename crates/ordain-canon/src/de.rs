//! Typed values from a [`Value`] that was verified.

use crate::place::push_pointer_token;
use crate::value::{Member, Value};
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Expected, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use std::slice;

/// A value does not have the type that it should.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct TypeError {
    message: String,
    without_values: Option<String>,
    pointer: String,
}

impl TypeError {
    /// Where the value is, as a JSON Pointer.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The error as seen from what has the value at `token`.
    fn below(self, token: &str) -> Self {
        let mut pointer = String::new();
        push_pointer_token(&mut pointer, token);
        Self { pointer: pointer + &self.pointer, ..self }
    }

    /// The message without the value: what is in the wrong place may be a secret.
    pub fn without_values(&self) -> &str {
        self.without_values.as_deref().unwrap_or(&self.message)
    }
}

impl de::Error for TypeError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), without_values: None, pointer: String::new() }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let without_values = format!("{} was found where {expected} was expected", kind(&found));
        let message = format!("invalid type: {found}, expected {expected}");
        Self { message, without_values: Some(without_values), pointer: String::new() }
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let without_values = format!("{} was found that is not {expected}", kind(&found));
        let message = format!("invalid value: {found}, expected {expected}");
        Self { message, without_values: Some(without_values), pointer: String::new() }
    }

    fn unknown_variant(found: &str, expected: &'static [&'static str]) -> Self {
        let names: Vec<String> = expected.iter().map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        Self {
            message: format!("unknown variant `{found}`, expected one of {names}"),
            without_values: Some(format!("an unknown name was found, expected one of {names}")),
            pointer: String::new(),
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

/// The rest of an array.
struct Elements<'v> {
    rest: slice::Iter<'v, Value<'v>>,
    index: usize,
}

impl<'de, 'v: 'de> de::SeqAccess<'de> for Elements<'v> {
    type Error = TypeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, TypeError> {
        let Some(element) = self.rest.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(element).map(Some).map_err(|error| error.below(&index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The rest of an object.
struct Members<'v> {
    rest: slice::Iter<'v, Member<'v>>,
    /// The key whose value comes next.
    current: Option<&'v Member<'v>>,
}

impl<'de, 'v: 'de> de::MapAccess<'de> for Members<'v> {
    type Error = TypeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, TypeError> {
        self.current = self.rest.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        seed.deserialize(de::value::BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, TypeError> {
        let Some((key, value)) = self.current.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(value).map_err(|error| error.below(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
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
            Value::Array(elements) => visitor.visit_seq(Elements { rest: elements.iter(), index: 0 }),
            Value::Object(members) => visitor.visit_map(Members { rest: members.iter(), current: None }),
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

    /// A struct is an object. Without this, an array of its members in their order would be one, too.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        match self {
            Value::Object(_) => self.deserialize_any(visitor),
            _ => Err(de::Error::custom(format!("expected an object, found {}", self.kind()))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use crate::value::Value;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Outer {
        name: String,
        inner: Vec<Inner>,
        by_name: Option<BTreeMap<String, u8>>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Inner {
        kind: Kind,
        count: u64,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        One,
        Two,
    }

    #[test]
    fn an_error_names_its_place() {
        for (text, pointer) in [
            (r#"{"name": 7, "inner": []}"#, "/name"),
            (
                r#"{"name": "n", "inner": [{"kind": "one", "count": 1}, {"kind": "three", "count": 1}]}"#,
                "/inner/1/kind",
            ),
            (r#"{"name": "n", "inner": [{"kind": "two", "count": -1}]}"#, "/inner/0/count"),
            (r#"{"name": "n", "inner": [{"kind": "two"}]}"#, "/inner/0"),
            (r#"{"name": "n", "inner": [], "by_name": {"a/b~c": 256}}"#, "/by_name/a~1b~0c"),
            (r#"{"name": "n", "inner": [], "other": 1}"#, ""),
            ("[]", ""),
        ] {
            let error = Value::read(text.as_bytes()).unwrap().to_typed::<Outer>().err().unwrap();
            assert_eq!(error.pointer(), pointer, "{text}: {error}");
        }
    }
}
