//! JSON Schemas (2020-12) from the types.

use crate::shape::{HEX64_PATTERN, SHA256_PATTERN};
use ordain_canon::{
    ActionHash, BundleHash, ContentHash, EvidenceHash, EvidenceSetHash, IntentHash, PatchHash, PayloadHash,
    PlanHash, PolicyHash, RunFileHash,
};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::borrow::Cow;

/// The schema of a type. Fields that may be absent may not be null: the contracts know one way to leave a field out.
pub(crate) fn schema_of<T: JsonSchema>() -> Json {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    tidy_schema(&mut schema);
    // Another crate of a program may have turned on serde_json's `preserve_order`.
    schema.sort_all_objects();
    schema
}

/// Takes out of a schema what the contracts do not say: how Rust keeps numbers, and null for what is left out.
pub fn tidy_schema(schema: &mut Json) {
    match schema {
        Json::Array(list) => list.iter_mut().for_each(tidy_schema),
        Json::Object(keywords) => {
            // Names such as `uint64` say how Rust keeps a number, not what the contract demands.
            if keywords.get("format").and_then(Json::as_str).is_some_and(|format| format.contains("int")) {
                keywords.remove("format");
            }
            let required: Vec<Json> =
                keywords.get("required").and_then(Json::as_array).cloned().unwrap_or_default();
            if let Some(Json::Object(properties)) = keywords.get_mut("properties") {
                for (name, property) in properties {
                    if !required.iter().any(|entry| entry == name) {
                        never_null(property);
                    }
                }
            }
            keywords.values_mut().for_each(tidy_schema);
        }
        _ => {}
    }
}

fn never_null(property: &mut Json) {
    let Json::Object(keywords) = property else { return };
    keywords.remove("default");
    if let Some(Json::Array(kinds)) = keywords.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            keywords.insert("type".to_owned(), kind);
        }
    }
    if let Some(Json::Array(choices)) = keywords.get("anyOf") {
        let inner =
            choices.iter().find(|choice| choice.get("type").is_none_or(|kind| kind != "null")).cloned();
        if let Some(Json::Object(inner)) = inner {
            keywords.remove("anyOf");
            keywords.extend(inner);
        }
    }
}

macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident, $pattern:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "pattern": $pattern})
            }
        }
    };
}

/// A field that is always there and may be null.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nullable<T>(pub Option<T>);

impl<T: JsonSchema> JsonSchema for Nullable<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Nullable{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [generator.subschema_for::<T>(), {"type": "null"}]})
    }
}

text_type! {
    /// `sha256:` and 64 hexadecimal digits.
    Sha256, SHA256_PATTERN
}
text_type! {
    /// 64 hexadecimal digits.
    Hex64, HEX64_PATTERN
}

macro_rules! named_by {
    ($field:ident: $($hash:ident),*) => {$(
        impl From<$hash> for $field {
            fn from(hash: $hash) -> Self {
                Self(hash.to_string())
            }
        }
    )*};
}
named_by!(Sha256: ActionHash, ContentHash, EvidenceHash, EvidenceSetHash, PatchHash, PayloadHash, PlanHash, PolicyHash, RunFileHash);
named_by!(Hex64: IntentHash);

/// As a plan proposal's `source_bundle_hash` names it.
impl From<BundleHash> for Sha256 {
    fn from(hash: BundleHash) -> Self {
        Self(hash.prefixed())
    }
}

/// Text that is not empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NonEmpty(String);

impl JsonSchema for NonEmpty {
    fn schema_name() -> Cow<'static, str> {
        "NonEmpty".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "minLength": 1})
    }
}

impl NonEmpty {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// For text whose document was verified or will be.
    pub fn of(text: String) -> Self {
        Self(text)
    }
}
