//! Schemas in the plain form that code generators read well. They accept the same documents, or more where no
//! generator can say it.

use serde_json::{Map, Value as Json, json};

/// Rewrites the components of an OpenAPI document.
pub(crate) fn simplify(components: &mut Map<String, Json>) {
    for (name, schema) in components {
        name_variants(name, schema);
        simplify_schema(schema);
    }
}

fn simplify_schema(schema: &mut Json) {
    // The schema `true` is the same as `{}`.
    if *schema == json!(true) {
        *schema = json!({});
    }
    let Some(members) = schema.as_object_mut() else { return };
    join_constants(members);
    // A generator makes a field with a default a required one.
    members.remove("default");
    for (keyword, value) in members.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "$defs" | "patternProperties", Json::Object(fields)) => {
                fields.values_mut().for_each(simplify_schema);
            }
            ("anyOf" | "allOf" | "oneOf", Json::Array(choices)) => {
                choices.iter_mut().for_each(simplify_schema)
            }
            ("items", schema) => simplify_schema(schema),
            ("additionalProperties", schema @ Json::Object(_)) => simplify_schema(schema),
            _ => {}
        }
    }
}

/// Constants to choose from become one `enum`; their descriptions go to the description of the whole.
fn join_constants(members: &mut Map<String, Json>) {
    let Some(choices) = members.get("oneOf").and_then(Json::as_array) else { return };
    let constants: Option<Vec<Json>> = choices.iter().map(|choice| choice.get("const").cloned()).collect();
    let Some(constants) = constants.filter(|constants| constants.iter().all(Json::is_string)) else { return };
    let line = |choice: &Json| {
        let name = choice.get("const")?.as_str()?;
        let description = choice.get("description")?.as_str()?;
        Some(format!("- `{name}`: {description}"))
    };
    let lines: Vec<String> = choices.iter().filter_map(line).collect();
    let description = members.get("description").and_then(Json::as_str).unwrap_or_default();
    let description = format!("{description}\n\n{}", lines.join("\n"));
    members.remove("oneOf");
    members.insert("type".to_owned(), json!("string"));
    members.insert("enum".to_owned(), Json::Array(constants));
    members.insert("description".to_owned(), json!(description.trim()));
}

/// A variant with a `kind` gets a title, by which generators name its type.
fn name_variants(component: &str, schema: &mut Json) {
    let Some(variants) = schema.get_mut("oneOf").and_then(Json::as_array_mut) else { return };
    for variant in variants {
        let kind = variant.pointer("/properties/kind/const").and_then(Json::as_str).map(pascal_case);
        if let (Some(kind), Some(members)) = (kind, variant.as_object_mut()) {
            members.insert("title".to_owned(), json!(format!("{kind}{component}")));
        }
    }
}

fn pascal_case(name: &str) -> String {
    let word = |word: &str| {
        let mut characters = word.chars();
        characters.next().map(|first| first.to_uppercase().chain(characters).collect::<String>())
    };
    name.split('_').filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_become_an_enum_and_variants_get_names() {
        let mut components = json!({
            "State": {"description": "How far.", "oneOf": [
                {"const": "held", "type": "string", "description": "Waits."},
                {"const": "done", "type": "string"},
            ]},
            "Event": {"oneOf": [{"properties": {"kind": {"const": "key_rotated"}, "x": true}}]},
            "List": {"properties": {"list": {"items": true, "default": []}}, "additionalProperties": false},
        });
        simplify(components.as_object_mut().unwrap());
        let expected = json!({
            "State": {"description": "How far.\n\n- `held`: Waits.", "type": "string", "enum": ["held", "done"]},
            "Event": {"oneOf": [
                {"title": "KeyRotatedEvent", "properties": {"kind": {"const": "key_rotated"}, "x": {}}},
            ]},
            "List": {"properties": {"list": {"items": {}}}, "additionalProperties": false},
        });
        assert_eq!(components, expected);
    }
}
