//! The Cedar schema: the product's part, and the types that a policy folder adds.

use super::problem::{Problem, Problems};
use crate::limits::TYPE_PARTS_MAX;
use cedar_policy::{Schema, SchemaFragment};
use ordain_spec::action::ActionType;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The file that extends the schema.
pub(crate) const FILE: &str = "schema.cedarschema";

/// The part that does not depend on the folder.
const ENTITIES: &str = r#"entity Group in [Group];
entity Actor in [Group] = { person?: String, agent_of?: String, os_user?: String, roles?: Set<String>, attributes?: ActorAttributes };
entity Domain in [Domain] = { attributes?: DomainAttributes };
entity ResourceType;
entity Resource in [Domain, ResourceType] = { id: String, type: String, domain: String, path?: String, folded?: String };

type Envelope = {
  allowed_side_effects: Set<String>,
  forbidden_effects: Set<String>,
  max_affected_records: Long,
  reversible_required: Bool,
};
type ShellEffect = { effect: String, program: String, args: Set<String>, known: Bool };
type Window = { valid_from_ms: Long, valid_until_ms: Long, max_duration_ms: Long };
type Evidence = {
  packets: Long,
  types: Set<String>,
  sensors: Set<String>,
  preconditions: Long,
  preconditions_hold: Bool,
  signed: Bool,
};

action any;
action observe, effect in [any];
action modify, external in [effect];
"#;

/// Every action and the group it is in.
pub(crate) const ACTIONS: [(ActionType, &str, &str); 10] = [
    (ActionType::Navigate, "navigate", "observe"),
    (ActionType::Read, "read", "observe"),
    (ActionType::Write, "write", "modify"),
    (ActionType::Create, "create", "modify"),
    (ActionType::Delete, "delete", "modify"),
    (ActionType::Execute, "execute", "effect"),
    (ActionType::Communicate, "communicate", "external"),
    (ActionType::Transact, "transact", "external"),
    (ActionType::Approve, "approve", "effect"),
    (ActionType::Custom, "custom", "effect"),
];

/// The action groups that each action is in, nearest first.
pub(crate) fn groups_of(action: ActionType) -> &'static [&'static str] {
    match ACTIONS.iter().find(|(known, ..)| *known == action).map(|(_, _, group)| *group) {
        Some("observe") => &["observe", "any"],
        Some("modify") => &["modify", "effect", "any"],
        Some("external") => &["external", "effect", "any"],
        _ => &["effect", "any"],
    }
}

/// As documents and policies write it.
pub(crate) fn action_name(action: ActionType) -> &'static str {
    ACTIONS.iter().find(|(known, ..)| *known == action).map_or("custom", |(_, name, _)| name)
}

/// Such as `WriteParameters`.
pub(crate) fn parameters_type(action: &str) -> String {
    let mut characters = action.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    format!("{}{}Parameters", first.unwrap_or_default(), characters.as_str())
}

/// Types that a folder may declare, and what they are when it does not.
fn extensible() -> Vec<(String, String)> {
    let mut types: Vec<(String, String)> =
        ["Parameters", "Constraints", "ActorAttributes", "DomainAttributes"]
            .map(|name| (name.to_owned(), "{}".to_owned()))
            .into();
    types.extend(ACTIONS.iter().map(|(_, name, _)| (parameters_type(name), "Parameters".to_owned())));
    types
}

/// The product's schema, as if a folder declared the types named in `declared`.
fn product_schema(declared: &dyn Fn(&str) -> bool) -> String {
    let mut text = ENTITIES.to_owned();
    for (action, name, group) in ACTIONS {
        let parameters = parameters_type(name);
        let shell = if action == ActionType::Execute { "    shell?: ShellEffect,\n" } else { "" };
        let _infallible = write!(
            text,
            "action {name} in [{group}] appliesTo {{\n  principal: [Actor],\n  resource: [Resource],\n  context: {{\n    \
             parameters: {parameters},\n    constraints: Constraints,\n    envelope?: Envelope,\n    window?: Window,\n    rollback: String,\n    \
             evidence: Evidence,\n    approvals: Long,\n    approval_class: String,\n    now: datetime,\n{shell}  }},\n}};\n"
        );
    }
    let missing = extensible().into_iter().filter(|(name, _)| !declared(name));
    let mut first = true;
    for (name, content) in missing {
        text.push_str(if std::mem::take(&mut first) {
            "\n// What a policy folder's schema.cedarschema may declare instead.\n"
        } else {
            ""
        });
        let _infallible = writeln!(text, "type {name} = {content};");
    }
    text
}

/// The product's schema for people to read.
pub fn schema_text() -> String {
    product_schema(&|_| false)
}

/// A schema that is ready, and the types that the folder declares, in Cedar's JSON form.
pub(crate) struct Built {
    pub(crate) schema: Schema,
    pub(crate) types: Map<String, Json>,
}

/// Puts the product's part and the folder's together.
pub(crate) fn build(folder: Option<&str>, problems: &mut Problems) -> Option<Built> {
    let mut types = Map::new();
    let mut fragments = Vec::new();
    if let Some(text) = folder {
        if let Err(problem) = super::size::check(FILE, text) {
            problems.push(problem);
            return None;
        }
        match SchemaFragment::from_cedarschema_str(text) {
            Err(error) => {
                problems.push(Problem::of_diagnostic(FILE, text, &error));
                return None;
            }
            Ok((fragment, _)) => {
                fragments.push(fragment.clone());
                types = declared_types(fragment, problems)?;
            }
        }
    }
    let product = product_schema(&|name| types.contains_key(name));
    let known = SchemaFragment::from_cedarschema_str(&product);
    match known.map_err(|error| error.to_string()) {
        Ok((fragment, _)) => fragments.push(fragment),
        Err(message) => {
            problems.push(Problem::error(FILE, message));
            return None;
        }
    }
    match Schema::from_schema_fragments(fragments) {
        Ok(schema) => Some(Built { schema, types }),
        Err(error) => {
            problems.push(Problem::error(FILE, error.to_string()));
            None
        }
    }
}

/// A folder adds types; what entities and actions there are, the product says.
fn declared_types(fragment: SchemaFragment, problems: &mut Problems) -> Option<Map<String, Json>> {
    let json = match fragment.to_json_value() {
        Ok(json) => json,
        Err(error) => {
            problems.push(Problem::error(FILE, error.to_string()));
            return None;
        }
    };
    let before = problems.len();
    let mut types = Map::new();
    for (namespace, content) in json.as_object().into_iter().flatten() {
        if !namespace.is_empty() {
            problems.push(Problem::error(
                FILE,
                format!("the namespace `{namespace}` is not known; declare types without one"),
            ));
        }
        for (section, what) in [("entityTypes", "entity"), ("actions", "action")] {
            for name in
                content.get(section).and_then(Json::as_object).into_iter().flatten().map(|(name, _)| name)
            {
                problems.push(Problem::error(
                    FILE,
                    format!("declares the {what} `{name}`; only types can be added here (see `ordain schema policy`)"),
                ));
            }
        }
        if let Some(common) = content.get("commonTypes").and_then(Json::as_object) {
            types.extend(common.clone());
        }
    }
    for reserved in ["Envelope", "Evidence", "ShellEffect", "Window"] {
        if types.contains_key(reserved) {
            problems.push(Problem::error(
                FILE,
                format!("the type `{reserved}` is the product's own; take another name"),
            ));
        }
    }
    // Types that are made of types can become very large when they are written out.
    let mut known = BTreeMap::new();
    let parts =
        types.keys().fold(0_usize, |sum, name| sum.saturating_add(parts_of(name, &types, &mut known)));
    if parts > TYPE_PARTS_MAX {
        let message = format!("its types have more than {TYPE_PARTS_MAX} parts when they are written out");
        problems.push(Problem::error(FILE, message));
    }
    (problems.len() == before).then_some(types)
}

/// How many parts a type has with all that it is made of.
fn parts_of(name: &str, types: &Map<String, Json>, known: &mut BTreeMap<String, usize>) -> usize {
    if let Some(parts) = known.get(name) {
        return *parts;
    }
    // A type that contains itself is refused by Cedar; here it must only end.
    known.insert(name.to_owned(), 1);
    let mut names = Vec::new();
    type_names(types.get(name).unwrap_or(&Json::Null), &mut names);
    let parts = names.iter().fold(1_usize, |sum, inner| match types.contains_key(inner.as_str()) {
        true => sum.saturating_add(parts_of(inner, types, known)),
        false => sum.saturating_add(1),
    });
    known.insert(name.to_owned(), parts);
    parts
}

fn type_names(json: &Json, names: &mut Vec<String>) {
    match json {
        Json::Array(elements) => elements.iter().for_each(|element| type_names(element, names)),
        Json::Object(members) => {
            for (key, member) in members {
                match (key.as_str(), member) {
                    ("name" | "type", Json::String(name)) => names.push(name.clone()),
                    _ => type_names(member, names),
                }
            }
        }
        _ => {}
    }
}
