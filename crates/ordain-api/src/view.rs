//! The view of an action: made as canonical text, and read as JSON by those who look into it.

use ordain_canon::{Canonicalizer, Written};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

/// A JSON document that is kept as its canonical text. Readers get it as JSON.
#[derive(Clone)]
pub struct ViewDocument {
    text: String,
    json: OnceLock<Json>,
}

impl ViewDocument {
    /// Makes one of canonical text.
    pub fn of_canonical(text: String) -> Self {
        Self { text, json: OnceLock::new() }
    }

    /// The empty document: nothing is shown.
    pub fn none() -> Self {
        Self::of_canonical("{}".to_owned())
    }

    /// The canonical text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Deref for ViewDocument {
    type Target = Json;

    fn deref(&self) -> &Json {
        self.json.get_or_init(|| serde_json::from_str(&self.text).unwrap_or_default())
    }
}

impl PartialEq for ViewDocument {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for ViewDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ViewDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ViewDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written { text: &self.text, value: AsJson(self) }.serialize(serializer)
    }
}

struct AsJson<'a>(&'a ViewDocument);

impl Serialize for AsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json: &Json = self.0;
        json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ViewDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        let mut canon = Canonicalizer::new();
        let bytes = canon.value(&json).map_err(serde::de::Error::custom)?;
        let text = String::from_utf8(bytes.to_vec()).map_err(serde::de::Error::custom)?;
        Ok(Self { text, json: OnceLock::from(json) })
    }
}

impl JsonSchema for ViewDocument {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Json::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Json::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_writer_writes_the_same_document() {
        let json = json!({"b": [1, "x\n"], "a": {"c": null}});
        let text = r#"{"a":{"c":null},"b":[1,"x\n"]}"#;
        let view = ViewDocument::of_canonical(text.to_owned());
        let around = json!({"view": json, "z": 1});
        #[derive(Serialize)]
        struct Around<'a> {
            z: u8,
            view: &'a ViewDocument,
        }
        let made = Around { z: 1, view: &view };
        assert_eq!(serde_json::to_value(&made).unwrap(), around);
        assert_eq!(serde_json::to_string(&made).unwrap(), format!(r#"{{"z":1,"view":{text}}}"#));
        let canonical = format!(r#"{{"view":{text},"z":1}}"#);
        assert_eq!(Canonicalizer::new().value(&made).unwrap(), canonical.as_bytes());
        let read: ViewDocument = serde_json::from_value(json.clone()).unwrap();
        assert_eq!((&read, read.text(), &*read, &*view), (&view, text, &json, &json));
    }
}
