//! The schema that a model is asked for: a note proposal without what the service sets. Made from the schema
//! that proposals are verified by, so that the two cannot drift apart.

use ordain_spec::Kind;
use ordain_vault::Note;
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// The fields that the service sets.
pub(crate) const OURS: [&str; 3] = ["id", "origin", "hash"];

/// The schema of an answer, in one piece.
pub(crate) fn of_answer() -> Json {
    let whole = Kind::Note.schema();
    let mut schema = in_one_piece(&whole, &whole);
    if let Some(members) = schema.as_object_mut() {
        for name in ["$schema", "$id", "$defs", "title"] {
            members.remove(name);
        }
        if let Some(properties) = members.get_mut("properties").and_then(Json::as_object_mut) {
            OURS.iter().for_each(|name| drop(properties.remove(*name)));
        }
        if let Some(required) = members.get_mut("required").and_then(Json::as_array_mut) {
            required.retain(|name| !OURS.iter().any(|ours| name == ours));
        }
    }
    schema
}

/// The schema for a provider: that of an answer, narrowed so that answers are complete and fit. An answer is
/// never refused for these bounds: not every provider can keep to them.
pub(crate) fn narrowed(answer: &Json, max_tokens: u32, routes: &[&str], enhanced: Option<&Note>) -> Json {
    let mut schema = answer.clone();
    let room = if max_tokens >= ROOMY.tokens * 2 { &ROOMY } else { &TIGHT };
    let chars_max = max_tokens.saturating_sub(room.tokens).saturating_mul(CHARS_OF_TWO_TOKENS) / 2;
    let mut put = |field: &str, name: &str, value: Json| {
        let field = field.split('.').map(|it| format!("/properties/{it}")).collect::<String>();
        if let Some(field) = schema.pointer_mut(&field).and_then(Json::as_object_mut) {
            field.insert(name.to_owned(), value);
        }
    };
    put("body.content_md", "maxLength", json!(chars_max.max(BODY_CHARS_MIN)));
    put("governance.rationale", "maxLength", json!(room.rationale));
    put("governance.related_links", "maxItems", json!(room.links.0));
    put("governance.related_links", "items", json!({"type": "string", "maxLength": room.links.1}));
    put("frontmatter.tags", "maxItems", json!(room.tags.0));
    put("frontmatter.tags", "items", json!({"type": "string", "minLength": 1, "maxLength": room.tags.1}));
    put("frontmatter.aliases", "maxItems", json!(room.aliases.0));
    put(
        "frontmatter.aliases",
        "items",
        json!({"type": "string", "minLength": 1, "maxLength": room.aliases.1}),
    );
    match routes {
        [] => put("target.route_id", "maxLength", json!(60)),
        ids => put("target.route_id", "enum", json!(ids)),
    }
    let Some(note) = enhanced else {
        // Routes may want other paths, and say so themselves.
        match routes {
            [] => put("target.path", "pattern", json!(PATH_PATTERN)),
            _ => put("target.path", "maxLength", json!(PATH_CHARS_MAX)),
        }
        put("frontmatter.title", "maxLength", json!(room.title));
        return schema;
    };
    put("target.path", "enum", json!([note.path]));
    put("frontmatter.title", "enum", json!([note.title()]));
    put("frontmatter.aliases", "maxItems", json!(note.aliases.len()));
    if !note.aliases.is_empty() {
        put("frontmatter.aliases", "items", json!({"type": "string", "enum": note.aliases}));
    }
    let tags_max = room.tags.0.max(u32::try_from(note.tags.len()).unwrap_or(u32::MAX));
    put("frontmatter.tags", "maxItems", json!(tags_max));
    // The existing text must find room again. Where there are not enough tokens for it, the answer is seen to
    // be cut off.
    let body = u32::try_from(note.body().chars().count()).unwrap_or(u32::MAX);
    put("body.content_md", "maxLength", json!(chars_max.max(BODY_CHARS_MIN).max(body.saturating_mul(2))));
    schema
}

/// Whether so many tokens can hold the text of a note again.
pub(crate) fn has_room_for(note: &Note, max_tokens: u32) -> bool {
    const CHARS_OF_A_TOKEN: usize = 4;
    note.body().chars().count()
        <= usize::try_from(max_tokens).unwrap_or(usize::MAX).saturating_mul(CHARS_OF_A_TOKEN)
}

/// The room of all fields but the body: characters, or how many and the characters of each.
struct Room {
    /// That they fit into.
    tokens: u32,
    title: u32,
    rationale: u32,
    tags: (u32, u32),
    aliases: (u32, u32),
    links: (u32, u32),
}

const ROOMY: Room =
    Room { tokens: 1_000, title: 120, rationale: 300, tags: (8, 32), aliases: (4, 60), links: (5, 200) };
/// For answers that must be short.
const TIGHT: Room =
    Room { tokens: 450, title: 80, rationale: 200, tags: (4, 24), aliases: (2, 40), links: (3, 80) };
/// How many characters two tokens have at least.
const CHARS_OF_TWO_TOKENS: u32 = 5;
/// Characters of a body that there is always room for.
const BODY_CHARS_MIN: u32 = 200;
/// Characters of a path that routes speak about.
const PATH_CHARS_MAX: u32 = 200;
/// Up to three folders and a name, each of up to five words. Written so that a grammar can be made of it.
const PATH_PATTERN: &str =
    "^([a-z0-9]{1,20}(-[a-z0-9]{1,20}){0,4}/){0,3}[a-z0-9]{1,20}(-[a-z0-9]{1,20}){0,4}\\.md$";

/// With definitions where they are referred to, and without our marks.
fn in_one_piece(part: &Json, whole: &Json) -> Json {
    match part {
        Json::Object(members) => {
            let mut piece = Map::new();
            let definition = members
                .get("$ref")
                .and_then(Json::as_str)
                .and_then(|it| whole.pointer(it.strip_prefix('#')?));
            if let Some(Json::Object(definition)) = definition.map(|it| in_one_piece(it, whole)) {
                piece.extend(definition);
            }
            let own = members.iter().filter(|(name, _)| *name != "$ref" && *name != "$defs");
            piece.extend(
                own.filter(|(name, _)| *name != "x-rule")
                    .map(|(name, value)| (name.clone(), in_one_piece(value, whole))),
            );
            Json::Object(piece)
        }
        Json::Array(elements) => elements.iter().map(|it| in_one_piece(it, whole)).collect(),
        scalar => scalar.clone(),
    }
}

/// The fields in words, one on each line.
pub(crate) fn summary(schema: &Json) -> String {
    let mut text = String::new();
    describe(schema, "", &mut text);
    text
}

fn describe(schema: &Json, name: &str, text: &mut String) {
    let Some(properties) = schema.get("properties").and_then(Json::as_object) else { return };
    let required = schema.get("required").and_then(Json::as_array);
    for (field, part) in properties {
        let path = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
        if part.get("properties").is_some() {
            describe(part, &path, text);
            continue;
        }
        let is_required = required.is_some_and(|required| required.iter().any(|it| it == field));
        let about = part.get("description").and_then(Json::as_str).unwrap_or_default();
        let _ = writeln!(
            text,
            "- {path} ({}, {}): {about}",
            type_of(part),
            if is_required { "required" } else { "optional" }
        );
    }
}

fn type_of(part: &Json) -> String {
    if let Some(values) = part.get("enum").and_then(Json::as_array) {
        let values: Vec<&str> = values.iter().filter_map(Json::as_str).collect();
        return format!("one of {}", values.join(", "));
    }
    match part.get("type").and_then(Json::as_str) {
        Some("array") => format!("array of {}", part.get("items").map(type_of).unwrap_or_default()),
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    }
}

/// The rules that an answer has to obey, one on each line: those of note proposals but for what the service sets.
pub(crate) fn rules() -> String {
    let whole = Kind::Note.schema();
    let ours = OURS.iter().filter_map(|name| {
        let property = whole.pointer(&format!("/properties/{name}"))?;
        Some(property.get("x-rule")?.as_str()?.to_owned())
    });
    let ours: Vec<String> = ours.collect();
    let mut text = String::new();
    for rule in Kind::Note.rules() {
        let name = rule.id.to_string();
        if !ours.contains(&name) {
            let _ = writeln!(text, "- {}", rule.title);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_everything_but_what_the_service_sets() {
        let schema = of_answer();
        let text = schema.to_string();
        assert!(!text.contains("$ref") && !text.contains("x-rule") && !text.contains("$defs"), "{text}");
        let names: Vec<&String> = schema
            .pointer("/properties")
            .and_then(Json::as_object)
            .map(|it| it.keys().collect())
            .unwrap_or_default();
        assert_eq!(names, ["body", "frontmatter", "governance", "target", "version"]);
        assert_eq!(schema.pointer("/required").and_then(Json::as_array).map(Vec::len), Some(5));
        assert_eq!(schema.pointer("/additionalProperties"), Some(&Json::Bool(false)));
        assert_eq!(
            schema.pointer("/properties/frontmatter/properties/status/enum/1").and_then(Json::as_str),
            Some("in-progress")
        );
    }

    #[test]
    fn what_is_sent_has_bounds_and_names_what_must_be() {
        let answer = of_answer();
        let at = |schema: &Json, pointer: &str| {
            let pointer = pointer.split('.').map(|it| format!("/properties/{it}")).collect::<String>();
            schema.pointer(&pointer).cloned().unwrap_or_default()
        };
        let roomy = narrowed(&answer, 4_096, &[], None);
        assert_eq!(at(&roomy, "body.content_md").get("maxLength"), Some(&json!(7_740)));
        assert!(at(&roomy, "target.path").get("pattern").is_some());
        let tight = narrowed(&answer, 640, &["sea", "land"], None);
        assert_eq!(at(&tight, "body.content_md").get("maxLength"), Some(&json!(475)));
        assert_eq!(at(&tight, "target.route_id").get("enum"), Some(&json!(["sea", "land"])));
        assert_eq!(
            at(&narrowed(&answer, 1, &[], None), "body.content_md").get("maxLength"),
            Some(&json!(200))
        );
        let note = Note::read("sea/tides.md", b"---\ntitle: Tides\n---\n# Tides\n".to_vec());
        let kept = narrowed(&answer, 640, &[], note.as_ref().ok());
        assert_eq!(at(&kept, "target.path").get("enum"), Some(&json!(["sea/tides.md"])));
        assert_eq!(at(&kept, "frontmatter.title").get("enum"), Some(&json!(["Tides"])));
        assert_eq!(at(&kept, "frontmatter.aliases").get("maxItems"), Some(&json!(0)));
        let text = format!("---\ntitle: Tides\naliases: [a, b, c, d, e]\n---\n{}", "x".repeat(1_000));
        let long = Note::read("sea/tides.md", text.into_bytes()).ok();
        let kept = narrowed(&answer, 640, &[], long.as_ref());
        assert_eq!(at(&kept, "frontmatter.aliases").get("maxItems"), Some(&json!(5)));
        assert_eq!(at(&kept, "body.content_md").get("maxLength"), Some(&json!(2_000)));
        assert!(long.as_ref().is_some_and(|note| has_room_for(note, 640) && !has_room_for(note, 100)));
        assert!(at(&tight, "target.path").get("pattern").is_none(), "routes say what paths are");
    }

    #[test]
    fn every_field_and_every_rule_is_told() {
        let summary = summary(&of_answer());
        for field in [
            "body.content_md (string, required)",
            "frontmatter.status (one of draft, in-progress, review, published, archived, required)",
            "frontmatter.tags (array of string, optional)",
            "governance.related_links",
            "target.path",
            "version (integer, required)",
        ] {
            assert!(summary.contains(field), "{field} in {summary}");
        }
        let rules = rules();
        assert!(rules.contains("the path is safe and ends in .md"), "{rules}");
        assert!(!rules.contains("hash") && !rules.contains("the id") && !rules.contains("origin"), "{rules}");
    }
}
