//! The product's schema, what a folder adds to it, and the values that a declared type lets through (G8).

use cedar_policy::{Context, SchemaFragment};
use ordain_canon::{Value, push_pointer_token, with_number_text};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

const ACTIONS: [(&str, &str); 10] = [
    ("navigate", "observe"),
    ("read", "observe"),
    ("write", "modify"),
    ("create", "modify"),
    ("delete", "modify"),
    ("communicate", "external"),
    ("transact", "external"),
    ("execute", "effect"),
    ("approve", "effect"),
    ("custom", "effect"),
];

const ENTITIES: &str = r#"
entity Group in [Group];
entity Actor in [Group] {
    person?: String, agent_of?: String, os_user?: String, roles?: Set<String>,
    attributes?: ActorAttributes };
entity Domain in [Domain] { attributes?: DomainAttributes };
entity ResourceType;
entity Resource in [Domain, ResourceType] { id: String, "type": String, domain: String, path?: String,
    folded?: String };
action any;
action observe, effect in [any];
action modify, external in [effect];
"#;

const CONTEXT: &str = r"
    constraints: Constraints,
    envelope?: {
        allowed_side_effects: Set<String>, forbidden_effects: Set<String>,
        max_affected_records: Long, reversible_required: Bool,
    },
    window?: { valid_from_ms: Long, valid_until_ms: Long, max_duration_ms: Long },
    rollback: String,
    evidence: {
        packets: Long, types: Set<String>, sensors: Set<String>,
        preconditions: Long, preconditions_hold: Bool, signed: Bool,
    },
    approvals: Long,
    approval_class: String,
    now: datetime,
";

/// The types that a folder declares, in the JSON form of Cedar's schemas.
pub(super) struct Declared(Map<String, Json>);

impl Declared {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let (fragment, _) =
            SchemaFragment::from_cedarschema_str(text).map_err(|error| format!("schema: {error:?}"))?;
        let Json::Object(namespaces) = fragment.to_json_value().map_err(|error| error.to_string())? else {
            return Err("schema: not an object".to_owned());
        };
        let mut types = Map::new();
        for (namespace, content) in namespaces {
            let empty = |key: &str| content.get(key).and_then(Json::as_object).is_none_or(Map::is_empty);
            if !namespace.is_empty() || !empty("entityTypes") || !empty("actions") {
                return Err("schema: something that is not a type".to_owned());
            }
            if let Some(Json::Object(common)) = content.get("commonTypes") {
                types.extend(common.clone());
            }
        }
        Ok(Self(types))
    }

    /// The product's schema and the folder's text.
    pub(super) fn whole_schema(&self, text: &str) -> String {
        let mut whole = format!("{text}\n{ENTITIES}");
        for name in ["Constraints", "ActorAttributes", "DomainAttributes"] {
            if !self.0.contains_key(name) {
                let _ = writeln!(whole, "type {name} = {{}};");
            }
        }
        for (action, group) in ACTIONS {
            let parameters = self.parameters_name(action).unwrap_or_else(|| "{}".to_owned());
            let _ = writeln!(
                whole,
                "action {action} in [{group}] appliesTo {{ principal: [Actor], resource: [Resource], \
                 context: {{ parameters: {parameters}, {CONTEXT} }} }};"
            );
        }
        whole
    }

    /// The type of an action's parameters: its own, or that of all actions.
    fn parameters_name(&self, action: &str) -> Option<String> {
        let mut own = action.to_owned();
        if let Some(first) = own.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        own.push_str("Parameters");
        [own, "Parameters".to_owned()].into_iter().find(|name| self.0.contains_key(name))
    }

    /// The part of an action's parameters that reaches the policies; faults are the pointers of what does not
    /// have its type.
    pub(super) fn parameters(&self, action: &str, value: &Value<'_>, faults: &mut Vec<String>) -> Json {
        match self.parameters_name(action).and_then(|name| self.0.get(&name)) {
            Some(kind) => self.convert(kind, value, "/parameters", faults),
            None => json!({}),
        }
    }

    /// The same for a target's constraints.
    pub(super) fn constraints(&self, value: &Value<'_>, faults: &mut Vec<String>) -> Json {
        match self.0.get("Constraints") {
            Some(kind) => self.convert(kind, value, "/target/constraints", faults),
            None => json!({}),
        }
    }

    fn convert(&self, kind: &Json, value: &Value<'_>, path: &str, faults: &mut Vec<String>) -> Json {
        let word = |key: &str| kind.get(key).and_then(Json::as_str).unwrap_or_default();
        let converted = match (word("type"), value) {
            ("Record", Value::Object(_)) => return self.convert_record(kind, value, path, faults),
            ("Set", Value::Array(elements)) => {
                let inner = kind.get("element").unwrap_or(&Json::Null);
                let converted = elements
                    .iter()
                    .enumerate()
                    .map(|(index, element)| self.convert(inner, element, &format!("{path}/{index}"), faults));
                return Json::Array(converted.collect());
            }
            ("Record" | "Set", _) => None,
            ("EntityOrCommon", _) => match self.0.get(word("name")) {
                Some(common) => return self.convert(common, value, path, faults),
                None => scalar(word("name"), value),
            },
            (other, _) => match self.0.get(other) {
                Some(common) => return self.convert(common, value, path, faults),
                None => scalar(if other == "Extension" { word("name") } else { other }, value),
            },
        };
        converted.unwrap_or_else(|| {
            faults.push(path.to_owned());
            Json::Null
        })
    }

    fn convert_record(&self, kind: &Json, value: &Value<'_>, path: &str, faults: &mut Vec<String>) -> Json {
        let mut record = Map::new();
        for (name, attribute) in kind.get("attributes").and_then(Json::as_object).into_iter().flatten() {
            let mut place = path.to_owned();
            push_pointer_token(&mut place, name);
            let required = attribute.get("required").and_then(Json::as_bool).unwrap_or(true);
            match value.get(name) {
                Some(member) => {
                    record.insert(name.clone(), self.convert(attribute, member, &place, faults));
                }
                None if required => faults.push(place),
                None => {}
            }
        }
        Json::Object(record)
    }
}

fn scalar(kind: &str, value: &Value<'_>) -> Option<Json> {
    let extension = |function: &str, text: &str| {
        let value = json!({"__extn": {"fn": function, "arg": text}});
        Context::from_json_value(json!({"value": value}), None).is_ok().then_some(value)
    };
    match (kind, value) {
        ("Bool" | "Boolean", Value::Bool(truth)) => Some(json!(truth)),
        ("String", Value::String(text)) => Some(json!(text)),
        ("Long", Value::Number(_)) => value.as_integer().map(|number| json!(number)),
        ("decimal", Value::Number(number)) => with_number_text(*number, |text| {
            let text = if text.contains(['.', 'e']) { text.to_owned() } else { format!("{text}.0") };
            extension("decimal", &text)
        }),
        ("datetime", Value::String(text)) => extension("datetime", text),
        ("duration", Value::String(text)) => extension("duration", text),
        ("ipaddr", Value::String(text)) => extension("ip", text),
        _ => None,
    }
}
