//! The shape of a document. The Rust types give a JSON Schema; this walks a value along that same schema and finds
//! unknown fields, missing ones and wrong types, each under the rule that owns the field (`x-rule`).

use crate::node::Node;
use crate::path::shorten;
use crate::rule::{Findings, RuleId};
use ordain_canon::{Value, is_lower_hex, is_sha256, with_number_text};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// The annotation that names the rule which owns a field.
pub(crate) const RULE_KEYWORD: &str = "x-rule";

/// The annotation that the rule owns the field alone, not what is inside.
const SHALLOW_KEYWORD: &str = "x-rule-shallow";

/// A schema made ready for walking. Shapes refer to each other by position, since nodes contain nodes.
pub(crate) struct Shape {
    parts: Vec<Part>,
    /// The rule for unknown fields and for what no other rule owns.
    rest: RuleId,
}

#[derive(Default, Clone)]
struct Part {
    kinds: Vec<TypeName>,
    fields: Option<Vec<Field>>,
    /// The shape of members without a field of their own; `None`: there may be none.
    others: Option<Option<usize>>,
    elements: Option<usize>,
    names: Vec<String>,
    text: Option<&'static TextForm>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    length_min: usize,
    count_min: usize,
    count_max: Option<usize>,
}

#[derive(Clone)]
struct Field {
    name: String,
    required: bool,
    owner: Option<RuleId>,
    /// Whether what is inside has the same owner.
    deep: bool,
    part: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TypeName {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl TypeName {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    fn fits(self, value: &Value<'_>) -> bool {
        match self {
            Self::Null => matches!(value, Value::Null),
            Self::Boolean => matches!(value, Value::Bool(_)),
            Self::Integer => value.as_integer().is_some(),
            Self::Number => matches!(value, Value::Number(_)),
            Self::String => matches!(value, Value::String(_)),
            Self::Array => matches!(value, Value::Array(_)),
            Self::Object => matches!(value, Value::Object(_)),
        }
    }

    fn described(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "true or false",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// A pattern of the published schemas and the function that decides it here.
struct TextForm {
    pattern: &'static str,
    described: &'static str,
    fits: fn(&str) -> bool,
}

pub(crate) const SHA256_PATTERN: &str = "^sha256:[a-f0-9]{64}$";
pub(crate) const HEX64_PATTERN: &str = "^[a-f0-9]{64}$";

static TEXT_FORMS: &[TextForm] = &[
    TextForm {
        pattern: SHA256_PATTERN,
        described: "`sha256:` and 64 lower-case hexadecimal digits",
        fits: is_sha256,
    },
    TextForm {
        pattern: HEX64_PATTERN,
        described: "64 lower-case hexadecimal digits",
        fits: |text| is_lower_hex(text, 64),
    },
];

impl Shape {
    /// Makes a schema ready. It comes from our own types; a keyword that is not understood here is a mistake of ours.
    pub(crate) fn compile(
        schema: &Json,
        rest: RuleId,
        rules: &[RuleId],
        foreign: &[RuleId],
    ) -> Result<Self, String> {
        let mut compiler = Compiler { schema, rules, foreign, parts: Vec::new(), named: BTreeMap::new() };
        // The first part is the document itself: walking starts there.
        compiler.part(schema)?;
        Ok(Self { parts: compiler.parts, rest })
    }

    /// Finds what does not fit.
    pub(crate) fn check(&self, document: Node<'_, '_>, found: &mut Findings) {
        self.walk(0, document, self.rest, true, found);
    }

    fn walk(&self, part: usize, node: Node<'_, '_>, owner: RuleId, deep: bool, found: &mut Findings) {
        let (Some(part), Some(value)) = (self.parts.get(part), node.value()) else { return };
        found.set_rule(owner);
        let inside = if deep { owner } else { self.rest };
        if !part.kinds.is_empty() && !part.kinds.iter().any(|kind| kind.fits(value)) {
            found.at(node, format!("expected {}, found {}", part.described(), described_value(value)));
            return;
        }
        match value {
            Value::String(text) => part.check_text(text, node, found),
            Value::Number(number) => part.check_number(*number, node, found),
            Value::Array(elements) => {
                if elements.len() < part.count_min || part.count_max.is_some_and(|max| elements.len() > max) {
                    found.at(node, part.count_message(elements.len()));
                }
                if let Some(inner) = part.elements {
                    node.elements().for_each(|element| self.walk(inner, element, inside, true, found));
                }
            }
            Value::Object(_) => self.walk_object(part, node, inside, found),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn walk_object(&self, part: &Part, node: Node<'_, '_>, owner: RuleId, found: &mut Findings) {
        let Some(fields) = &part.fields else {
            if let Some(Some(inner)) = part.others {
                node.members().for_each(|(_, member)| self.walk(inner, member, owner, true, found));
            }
            return;
        };
        let mut there = 0;
        for (key, member) in node.members() {
            match fields.iter().find(|field| field.name == key) {
                Some(field) => {
                    there += usize::from(field.required);
                    self.walk(field.part, member, field.owner.unwrap_or(owner), field.deep, found);
                }
                None => match part.others {
                    Some(Some(inner)) => self.walk(inner, member, owner, true, found),
                    Some(None) => {}
                    None => {
                        found.set_rule(self.rest);
                        found.at(member, unknown_field(key, fields));
                    }
                },
            }
        }
        if there == fields.iter().filter(|field| field.required).count() {
            return;
        }
        for field in fields.iter().filter(|field| field.required) {
            // The name lives as long as the shape, the node as long as the document: look by iteration.
            if node.members().all(|(key, _)| key != field.name) {
                found.set_rule(field.owner.unwrap_or(owner));
                found.missing(node, &field.name);
            }
        }
    }
}

fn unknown_field(key: &str, fields: &[Field]) -> String {
    let lower = key.to_ascii_lowercase().replace('-', "_");
    let close = fields.iter().find(|field| field.name == lower || distance_is_one(&field.name, &lower));
    match close {
        Some(field) => format!("unknown field `{}`; did you mean `{}`?", shorten(key), field.name),
        None => format!("unknown field `{}`", shorten(key)),
    }
}

/// Whether one letter more, less or other makes the two alike.
fn distance_is_one(left: &str, right: &str) -> bool {
    let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    let common = short.bytes().zip(long.bytes()).take_while(|(a, b)| a == b).count();
    let rest = |text: &str, skip: usize| text.as_bytes().get(common + skip..).unwrap_or_default().to_vec();
    match long.len() - short.len() {
        0 => rest(short, 1) == rest(long, 1),
        1 => rest(short, 0) == rest(long, 1),
        _ => false,
    }
}

impl Part {
    fn described(&self) -> String {
        let kinds: Vec<_> = self.kinds.iter().map(|kind| kind.described()).collect();
        kinds.join(" or ")
    }

    fn check_text(&self, text: &str, node: Node<'_, '_>, found: &mut Findings) {
        if !self.names.is_empty() && !self.names.iter().any(|name| name == text) {
            let names: Vec<_> = self.names.iter().map(|name| format!("`{name}`")).collect();
            found.at(node, format!("expected one of {}, found `{}`", names.join(", "), shorten(text)));
        } else if let Some(form) = self.text
            && !(form.fits)(text)
        {
            found.at(node, format!("expected {}, found `{}`", form.described, shorten(text)));
        } else if self.length_min > 0 && text.chars().take(self.length_min).count() < self.length_min {
            let message = match self.length_min {
                1 => "must not be empty".to_owned(),
                min => format!("must have at least {min} characters"),
            };
            found.at(node, message);
        }
    }

    fn check_number(&self, number: f64, node: Node<'_, '_>, found: &mut Findings) {
        let low = self.minimum.is_some_and(|minimum| number < minimum);
        if low || self.maximum.is_some_and(|maximum| number > maximum) {
            let bounds = match (self.minimum, self.maximum) {
                (Some(minimum), Some(maximum)) if minimum == maximum => format!("{minimum}"),
                (Some(minimum), Some(maximum)) => format!("{} from {minimum} to {maximum}", self.described()),
                (Some(minimum), None) => format!("{} of at least {minimum}", self.described()),
                (None, maximum) => format!("{} of at most {}", self.described(), maximum.unwrap_or_default()),
            };
            found.at(node, format!("expected {bounds}, found {}", with_number_text(number, str::to_owned)));
        }
    }

    fn count_message(&self, count: usize) -> String {
        match self.count_max {
            Some(max) if count > max => format!("has {count} elements; at most {max} are allowed"),
            _ => format!("has {count} elements; at least {} must be there", self.count_min),
        }
    }
}

fn described_value(value: &Value<'_>) -> String {
    match value {
        Value::Number(number) => with_number_text(*number, str::to_owned),
        Value::Bool(value) => format!("{value}"),
        other => other.kind().to_owned(),
    }
}

struct Compiler<'s> {
    schema: &'s Json,
    rules: &'s [RuleId],
    foreign: &'s [RuleId],
    parts: Vec<Part>,
    named: BTreeMap<String, usize>,
}

impl Compiler<'_> {
    fn part(&mut self, schema: &Json) -> Result<usize, String> {
        if let Some(name) = schema.get("$ref").and_then(Json::as_str) {
            return self.named_part(name);
        }
        let position = self.parts.len();
        self.parts.push(Part::default());
        let part = self.build(schema)?;
        if let Some(slot) = self.parts.get_mut(position) {
            *slot = part;
        }
        Ok(position)
    }

    fn named_part(&mut self, reference: &str) -> Result<usize, String> {
        if let Some(position) = self.named.get(reference) {
            return Ok(*position);
        }
        let target = reference.strip_prefix('#').and_then(|pointer| self.schema.pointer(pointer));
        let target = target.cloned().ok_or_else(|| format!("nothing at {reference}"))?;
        let position = self.parts.len();
        self.parts.push(Part::default());
        self.named.insert(reference.to_owned(), position);
        let part = self.build(&target)?;
        if let Some(slot) = self.parts.get_mut(position) {
            *slot = part;
        }
        Ok(position)
    }

    fn build(&mut self, schema: &Json) -> Result<Part, String> {
        let keywords = match schema {
            Json::Bool(true) => return Ok(Part::default()),
            Json::Object(keywords) => keywords,
            other => return Err(format!("unexpected schema {other}")),
        };
        if let Some(choices) = keywords.get("anyOf").and_then(Json::as_array) {
            return self.nullable(choices);
        }
        let mut part = Part { kinds: kinds(keywords)?, ..Part::default() };
        part.names = names(keywords)?;
        if let Some(constant) = keywords.get("const").and_then(Json::as_f64) {
            (part.minimum, part.maximum) = (Some(constant), Some(constant));
            part.kinds = vec![TypeName::Integer];
        }
        if let Some(pattern) = keywords.get("pattern").and_then(Json::as_str) {
            let form = TEXT_FORMS.iter().find(|form| form.pattern == pattern);
            part.text = Some(form.ok_or_else(|| format!("unknown pattern {pattern}"))?);
        }
        let count = |name: &str| keywords.get(name).and_then(Json::as_u64).map(|count| count as usize);
        part.minimum = part.minimum.or_else(|| keywords.get("minimum").and_then(Json::as_f64));
        part.maximum = part.maximum.or_else(|| keywords.get("maximum").and_then(Json::as_f64));
        part.length_min = count("minLength").unwrap_or_default();
        part.count_min = count("minItems").unwrap_or_default();
        part.count_max = count("maxItems");
        if let Some(items) = keywords.get("items") {
            part.elements = Some(self.part(items)?);
        }
        part.others = match keywords.get("additionalProperties") {
            Some(Json::Bool(false)) => None,
            Some(Json::Bool(true)) | None => Some(None),
            Some(schema) => Some(Some(self.part(schema)?)),
        };
        if let Some(properties) = keywords.get("properties").and_then(Json::as_object) {
            part.fields = Some(self.fields(properties, keywords.get("required"))?);
        }
        Ok(part)
    }

    fn fields(
        &mut self,
        properties: &Map<String, Json>,
        required: Option<&Json>,
    ) -> Result<Vec<Field>, String> {
        let required = |name: &str| {
            let list = required.and_then(Json::as_array);
            list.is_some_and(|list| list.iter().any(|entry| entry.as_str() == Some(name)))
        };
        let mut fields = Vec::new();
        for (name, schema) in properties {
            let owner = match schema.get(RULE_KEYWORD).and_then(Json::as_str) {
                // A document inside another one, such as the profile of a run: its rules are the outer one's matter.
                Some(rule) if self.foreign.iter().any(|id| id.name() == rule) => None,
                Some(rule) => {
                    let known = self.rules.iter().find(|id| id.name() == rule);
                    Some(*known.ok_or_else(|| format!("`{name}` belongs to {rule}, which is not a rule"))?)
                }
                None => None,
            };
            fields.push(Field {
                name: name.clone(),
                required: required(name),
                owner,
                deep: schema.get(SHALLOW_KEYWORD).is_none(),
                part: self.part(schema)?,
            });
        }
        Ok(fields)
    }

    /// `anyOf` is only used for what may be null.
    fn nullable(&mut self, choices: &[Json]) -> Result<Part, String> {
        let is_null = |choice: &&Json| choice.get("type").and_then(Json::as_str) == Some("null");
        let inner = choices.iter().find(|choice| !is_null(choice)).ok_or("anyOf without a choice")?;
        if choices.len() != 2 || !choices.iter().any(|choice| is_null(&choice)) {
            return Err("anyOf is only understood with null".to_owned());
        }
        let position = self.part(inner)?;
        let mut part = self.parts.get(position).cloned().unwrap_or_default();
        part.kinds.push(TypeName::Null);
        Ok(part)
    }
}

fn kinds(keywords: &Map<String, Json>) -> Result<Vec<TypeName>, String> {
    let parse =
        |name: &Json| name.as_str().and_then(TypeName::parse).ok_or_else(|| format!("unknown type {name}"));
    match keywords.get("type") {
        Some(Json::Array(names)) => names.iter().map(parse).collect(),
        Some(name) => Ok(vec![parse(name)?]),
        None if keywords.contains_key("oneOf") => Ok(vec![TypeName::String]),
        None => Ok(Vec::new()),
    }
}

/// The names of an enum: `enum`, or `oneOf` constants where they have descriptions.
fn names(keywords: &Map<String, Json>) -> Result<Vec<String>, String> {
    let text =
        |value: &Json| value.as_str().map(str::to_owned).ok_or_else(|| format!("{value} is not a name"));
    if let Some(list) = keywords.get("enum").and_then(Json::as_array) {
        return list.iter().map(text).collect();
    }
    let Some(choices) = keywords.get("oneOf").and_then(Json::as_array) else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for choice in choices {
        match (choice.get("const"), choice.get("enum").and_then(Json::as_array)) {
            (Some(constant), _) => names.push(text(constant)?),
            (None, Some(list)) => {
                for entry in list {
                    names.push(text(entry)?);
                }
            }
            (None, None) => return Err("oneOf is only understood with names".to_owned()),
        }
    }
    Ok(names)
}
