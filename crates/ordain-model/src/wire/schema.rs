//! The part of a JSON Schema that each provider understands. Keywords left out here are checked in the
//! answer.

use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;

/// The keywords that every provider here knows; the rest differs.
const COMMON: &[&str] = &[
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "format",
    "items",
    "properties",
    "required",
    "title",
    "type",
];
const FORMATS: &[&str] =
    &["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"];

/// For OpenAI in strict mode: no lengths of strings, nothing beside `$ref`, and every property is required. A property
/// that was optional is so no more, rather than nullable: `null` is not what the schema asked for.
pub(super) fn openai(schema: &Json) -> Json {
    const MORE: &[&str] = &[
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "multipleOf",
        "pattern",
    ];
    walk(schema, &|object| {
        if object.contains_key("$ref") {
            object.retain(|key, _| key == "$ref");
        }
        object.retain(|key, value| match key.as_str() {
            "pattern" => !looks_around(value),
            "format" => is_known_format(value),
            key => COMMON.contains(&key) || MORE.contains(&key),
        });
        if let Some(Json::Object(properties)) = object.get("properties") {
            // In one order, also in a program whose serde_json keeps the order of members.
            let names: BTreeSet<String> = properties.keys().cloned().collect();
            object.insert("required".to_owned(), names.into_iter().map(Json::String).collect());
        }
    })
}

/// For Anthropic: no bounds but `minItems` of 0 and 1.
pub(super) fn anthropic(schema: &Json) -> Json {
    walk(schema, &|object| {
        object.retain(|key, value| match key.as_str() {
            "minItems" => value.as_u64().is_some_and(|count| count <= 1),
            "format" => is_known_format(value),
            key => COMMON.contains(&key) || key == "allOf",
        });
    })
}

/// For servers that make a grammar of it, as llama.cpp does, and with it Ollama: all bounds count. A pattern that they
/// do not understand turns off the bounds beside it, or breaks the answer, so only plain ones are sent.
pub(super) fn grammar(schema: &Json) -> Json {
    walk(schema, &|object| {
        let is_bounded = object.contains_key("maxLength");
        object.retain(|key, value| match key.as_str() {
            "pattern" => value.as_str().is_some_and(|pattern| fits_a_grammar(pattern, is_bounded)),
            key => !matches!(key, "$schema" | "$id" | "default" | "examples") && !key.starts_with("x-"),
        });
    })
}

/// Whether a pattern describes the whole text with letters, classes, groups and bounded repetitions, and lets
/// in nothing that would have to be escaped in JSON. One without an end is sent only where no `maxLength`
/// would be lost to it.
fn fits_a_grammar(pattern: &str, is_bounded: bool) -> bool {
    let Some(inner) = pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix('$')) else { return false };
    let mut characters = inner.chars().peekable();
    let (mut in_class, mut before) = (false, None);
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        let is_alphanumeric = |end: Option<char>| end.is_some_and(|end| end.is_ascii_alphanumeric());
        let fits = match character {
            // `\.` is a character, `\d` a class with a name.
            '\\' => {
                characters.next().is_some_and(|it| it.is_ascii_punctuation() && !matches!(it, '\\' | '"'))
            }
            '"' => false,
            '[' if !in_class => {
                in_class = true;
                next != Some('^')
            }
            ']' if in_class => {
                in_class = false;
                true
            }
            // `[ -~]` has a quotation mark in it.
            '-' if in_class && before != Some('[') && next != Some(']') => {
                is_alphanumeric(before) && is_alphanumeric(next)
            }
            _ if in_class => true,
            '(' => next != Some('?'),
            '.' | '^' | '$' => false,
            '*' | '+' => !is_bounded,
            // `{3,}`
            ',' if next == Some('}') => !is_bounded,
            _ => true,
        };
        if !fits {
            return false;
        }
        before = Some(character);
    }
    !in_class
}

/// Applies a change to a schema and all schemas inside. No object has properties that it does not name, and one of
/// several becomes any of several, which is what models can be held to.
fn walk(schema: &Json, change: &dyn Fn(&mut Map<String, Json>)) -> Json {
    let Json::Object(members) = schema else { return schema.clone() };
    let mut object = Map::new();
    for (key, value) in members {
        let value = match (key.as_str(), value) {
            ("properties" | "$defs", Json::Object(named)) => {
                Json::Object(named.iter().map(|(name, inner)| (name.clone(), walk(inner, change))).collect())
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Json::Array(inner)) => {
                Json::Array(inner.iter().map(|inner| walk(inner, change)).collect())
            }
            ("items", inner) => walk(inner, change),
            (_, other) => other.clone(),
        };
        object.insert(if key == "oneOf" { "anyOf" } else { key }.to_owned(), value);
    }
    change(&mut object);
    if object.contains_key("properties") {
        object.insert("additionalProperties".to_owned(), Json::Bool(false));
    }
    Json::Object(object)
}

fn looks_around(pattern: &Json) -> bool {
    pattern.as_str().is_none_or(|pattern| pattern.contains("(?"))
}

fn is_known_format(format: &Json) -> bool {
    format.as_str().is_some_and(|format| FORMATS.contains(&format))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Json {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "x-rule": "N1",
            "properties": {
                "title": {"type": "string", "minLength": 3, "maxLength": 80, "description": "what it is about"},
                "path": {"type": "string", "pattern": "^[a-z/]{1,60}\\.md$"},
                "url": {"type": "string", "pattern": "^(?!x)", "format": "uri"},
                // The name of a property is not a keyword.
                "pattern": {"type": "array", "items": {"$ref": "#/$defs/tag", "title": "a tag"}, "minItems": 2, "maxItems": 5},
            },
            "required": ["title"],
            "$defs": {"tag": {"oneOf": [{"type": "string", "maxLength": 9}, {"const": 1}]}},
        })
    }

    #[test]
    fn openai_gets_no_lengths_and_everything_required() {
        assert_eq!(
            openai(&schema()),
            json!({
                "type": "object",
                "properties": {
                    "title": {"type": "string", "description": "what it is about"},
                    "path": {"type": "string", "pattern": "^[a-z/]{1,60}\\.md$"},
                    "url": {"type": "string"},
                    "pattern": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "minItems": 2, "maxItems": 5},
                },
                "required": ["path", "pattern", "title", "url"],
                "additionalProperties": false,
                "$defs": {"tag": {"anyOf": [{"type": "string"}, {"const": 1}]}},
            })
        );
    }

    #[test]
    fn anthropic_gets_no_bounds() {
        assert_eq!(
            anthropic(&schema()),
            json!({
                "type": "object",
                "properties": {
                    "title": {"type": "string", "description": "what it is about"},
                    "path": {"type": "string"},
                    "url": {"type": "string"},
                    "pattern": {"type": "array", "items": {"$ref": "#/$defs/tag", "title": "a tag"}},
                },
                "required": ["title"],
                "additionalProperties": false,
                "$defs": {"tag": {"anyOf": [{"type": "string"}, {"const": 1}]}},
            })
        );
    }

    #[test]
    fn a_grammar_takes_plain_patterns() {
        for (pattern, is_bounded, expected) in [
            ("^[a-z0-9]{1,9}(/[a-z-]{1,9}){0,3}\\.md$", true, true),
            ("^(draft|review)?$", true, true),
            ("^[.*+^$]{1,3}$", true, true),
            ("^[-a-z_-]{1,3}$", true, true),
            ("^[ -~]{1,3}$", false, false),
            ("^[a\"]{1,3}$", false, false),
            ("^\\\\{1,3}$", false, false),
            ("^[a-z$", false, false),
            ("^[a-z]+$", false, true),
            ("^[a-z]+$", true, false),
            ("^[a-z]*$", true, false),
            ("^[a-z]{3,}$", true, false),
            ("^[a-z]{3,}$", false, true),
            ("[a-z]{3}", false, false),
            ("^\\d{3}$", false, false),
            ("^\\S$", false, false),
            ("^.{1,3}$", false, false),
            ("^[^a]{1,3}$", false, false),
            ("^(?!x)[a-z]{1,3}$", false, false),
            ("^a\\", false, false),
            ("^", false, false),
            ("", false, false),
        ] {
            assert_eq!(fits_a_grammar(pattern, is_bounded), expected, "{pattern} {is_bounded}");
        }
    }

    #[test]
    fn a_grammar_keeps_all_bounds() {
        assert_eq!(
            grammar(&schema()),
            json!({
                "type": "object",
                "properties": {
                    "title": {"type": "string", "minLength": 3, "maxLength": 80, "description": "what it is about"},
                    "path": {"type": "string", "pattern": "^[a-z/]{1,60}\\.md$"},
                    "url": {"type": "string", "format": "uri"},
                    "pattern": {"type": "array", "items": {"$ref": "#/$defs/tag", "title": "a tag"}, "minItems": 2, "maxItems": 5},
                },
                "required": ["title"],
                "additionalProperties": false,
                "$defs": {"tag": {"anyOf": [{"type": "string", "maxLength": 9}, {"const": 1}]}},
            })
        );
    }
}
