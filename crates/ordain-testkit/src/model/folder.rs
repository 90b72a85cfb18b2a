//! A policy folder, read from its texts.

use super::declared::Declared;
use cedar_policy::{
    Effect, Entities, EntityUid, EvalResult, Policy, PolicyId, PolicySet, Schema, ValidationMode, Validator,
};
use ordain_spec::Sensor;
use ordain_spec::action::{ActionType, ApprovalClass, RollbackStrategy, ToolMapping};
use ordain_spec::statement::Assurance;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

/// A folder that can be asked.
pub struct ModelFolder {
    pub(super) schema: Schema,
    pub(super) declared: Declared,
    pub(super) policies: Vec<ModelPolicy>,
    /// All of them.
    pub(super) whole: PolicySet,
    pub(super) entities: Entities,
    /// The actors of `entities.json`, each with the person behind it.
    pub(super) people: BTreeMap<String, String>,
    /// Each actor of `entities.json` that is somebody's agent, with that somebody's name.
    pub(super) agents: Vec<(String, String)>,
    /// Names that policies can know, by entity type.
    pub(super) known: BTreeMap<String, BTreeSet<String>>,
    pub(super) effects: BTreeMap<String, BTreeMap<String, EffectEntry>>,
    pub(super) sensors: BTreeMap<String, Sensor>,
    pub(super) freshness_ms: i64,
    pub(super) tools: BTreeMap<String, ToolMapping>,
}

/// A policy in the ways in which it is asked.
pub(super) struct ModelPolicy {
    pub(super) id: String,
    pub(super) permits: bool,
    /// It and no other.
    pub(super) alone: PolicySet,
    /// As a permit without its conditions.
    pub(super) scope: PolicySet,
    pub(super) class: ApprovalClass,
    pub(super) demand: u64,
    /// How sure each of the approvals must be.
    pub(super) assurance: Assurance,
    /// Ids of actors.
    pub(super) approvers: BTreeSet<String>,
    pub(super) effects: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EffectEntry {
    #[serde(default)]
    pub(super) effects: Vec<String>,
    pub(super) rollback: Option<RollbackStrategy>,
    effect_parameters: Option<Vec<String>>,
    on_unknown: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct SensorFile {
    freshness_ms: Option<i64>,
    #[serde(default)]
    sensors: BTreeMap<String, SensorEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SensorEntry {
    public_key: Option<String>,
    #[serde(default)]
    signature_required: bool,
    freshness_ms: Option<i64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RedactFile {
    #[serde(default)]
    #[expect(dead_code, reason = "the model has no messages")]
    fields: Vec<String>,
}

impl ModelFolder {
    /// Reads a folder, or says what is wrong with it.
    pub fn read(files: &BTreeMap<String, String>) -> Result<Self, String> {
        let text = |name: &str| files.get(name).map(String::as_str).unwrap_or_default();
        let declared = Declared::read(text("schema.cedarschema"))?;
        let (schema, _) = Schema::from_cedarschema_str(&declared.whole_schema(text("schema.cedarschema")))
            .map_err(|error| format!("schema: {error:?}"))?;
        let entities_text = files.get("entities.json").map_or("[]", String::as_str);
        let entities = Entities::from_json_str(entities_text, Some(&schema))
            .map_err(|error| format!("entities.json: {error:?}"))?;
        let people = people(&entities)?;
        let agents = agents(&entities);
        let known_names: BTreeSet<&String> = people.keys().chain(people.values()).collect();
        let stranger = |(_, owner): &&(String, String)| {
            !known_names.contains(owner) && !named_persons(&entities).contains(owner)
        };
        if let Some((agent, owner)) = agents.iter().find(stranger) {
            return Err(format!("{agent} is the agent of {owner}, who is not there"));
        }

        let mut policies: Vec<ModelPolicy> = Vec::new();
        let mut whole = PolicySet::new();
        let mut known = known_entities(&entities);
        for (_, text) in files.iter().filter(|(name, _)| name.ends_with(".cedar")) {
            let file = PolicySet::from_str(text).map_err(|error| format!("policies: {error:?}"))?;
            if file.templates().next().is_some() {
                return Err("a template".to_owned());
            }
            for policy in file.policies() {
                let id = policy.annotation("id").ok_or("a policy without an id")?;
                let policy = policy.new_id(PolicyId::new(id));
                whole.add(policy.clone()).map_err(|error| error.to_string())?;
                note_literals(&policy.to_json().map_err(|error| error.to_string())?, &mut known);
                policies.push(ModelPolicy::of(&policy, &entities, &people)?);
            }
        }
        let result = Validator::new(schema.clone()).validate(&whole, ValidationMode::Strict);
        if !result.validation_passed() {
            return Err(format!("validation: {:?}", result.validation_errors().collect::<Vec<_>>()));
        }

        let effects: BTreeMap<String, BTreeMap<String, EffectEntry>> = toml_file(text("effects.toml"))?;
        for row in effects.values().flat_map(BTreeMap::values) {
            match row.on_unknown.as_deref() {
                Some("block") if row.effect_parameters.is_none() => {
                    return Err("effects.toml: block".to_owned());
                }
                None | Some("block" | "note") => {}
                Some(other) => return Err(format!("effects.toml: on_unknown = {other:?}")),
            }
        }
        known.entry("Domain".to_owned()).or_default().insert("workspace".to_owned());
        let types = effects.values().flat_map(BTreeMap::keys).filter(|name| *name != "*").cloned();
        let types = types.chain(["file", "patch_set"].map(str::to_owned));
        known.entry("ResourceType".to_owned()).or_default().extend(types);
        for action in effects.keys() {
            serde_json::from_value::<ActionType>(json!(action)).map_err(|error| error.to_string())?;
        }
        let sensors: SensorFile = toml_file(text("sensors.toml"))?;
        let freshness_ms = sensors.freshness_ms.unwrap_or(3_600_000);
        if freshness_ms <= 0 {
            return Err("sensors.toml: freshness_ms is not positive".to_owned());
        }
        if sensors.sensors.values().any(|sensor| sensor.freshness_ms.is_some_and(|limit_ms| limit_ms <= 0)) {
            return Err("sensors.toml: freshness_ms of a sensor is not positive".to_owned());
        }
        let sensor = |(id, entry): (String, SensorEntry)| {
            let SensorEntry { public_key, signature_required, freshness_ms } = entry;
            (id, Sensor { public_key, signature_required, freshness_ms })
        };
        let _: RedactFile = toml_file(text("redact.toml"))?;
        Ok(Self {
            schema,
            declared,
            policies,
            whole,
            entities,
            people,
            agents,
            known,
            effects,
            sensors: sensors.sensors.into_iter().map(sensor).collect(),
            freshness_ms,
            tools: toml_file(text("tools.toml"))?,
        })
    }

    /// The person behind an id. An actor that the folder does not know is its own person.
    pub(super) fn person<'s>(&'s self, id: &'s str) -> &'s str {
        self.people.get(id).map_or(id, String::as_str)
    }

    /// Whether somebody owns an agent, or somebody who owns it. Both are people.
    pub(super) fn owns(&self, owner: &str, agent: &str) -> bool {
        let mut owned: BTreeSet<&str> = BTreeSet::from([owner]);
        for _ in 0..=self.agents.len() {
            for (agent, owner) in &self.agents {
                if owned.contains(self.person(owner)) {
                    owned.insert(self.person(agent));
                }
            }
        }
        owner != agent && owned.contains(agent)
    }

    /// The row of `effects.toml` for an action.
    pub(super) fn effect_entry(&self, action: &str, resource_type: &str) -> Option<&EffectEntry> {
        let types = self.effects.get(action)?;
        types.get(resource_type).or_else(|| types.get("*"))
    }
}

fn toml_file<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

fn people(entities: &Entities) -> Result<BTreeMap<String, String>, String> {
    let mut people = BTreeMap::new();
    for entity in entities.iter() {
        let uid = entity.uid();
        if uid.type_name().to_string() != "Actor" {
            continue;
        }
        let id = uid.id().unescaped().to_owned();
        let person = match entity.attr("person") {
            None => id.clone(),
            Some(Ok(EvalResult::String(person))) => person,
            Some(other) => return Err(format!("the person of {id} is {other:?}")),
        };
        people.insert(id, person);
    }
    // Names of names: after as many steps as there are names one is at the end, or in a circle, of which the
    // first name stands for all.
    let direct = people.clone();
    let step = |name: &String| direct.get(name).cloned().unwrap_or_else(|| name.clone());
    for (id, person) in &mut people {
        let mut at = id.clone();
        (0..=direct.len()).for_each(|_| at = step(&at));
        let mut circle = BTreeSet::new();
        for _ in 0..=direct.len() {
            circle.insert(at.clone());
            at = step(&at);
        }
        *person = circle.into_iter().next().unwrap_or_default();
    }
    Ok(people)
}

fn agents(entities: &Entities) -> Vec<(String, String)> {
    let owner = |entity: &cedar_policy::Entity| match entity.attr("agent_of") {
        Some(Ok(EvalResult::String(owner))) => Some((entity.uid().id().unescaped().to_owned(), owner)),
        _ => None,
    };
    entities.iter().filter_map(owner).collect()
}

fn named_persons(entities: &Entities) -> BTreeSet<String> {
    let person = |entity: &cedar_policy::Entity| match entity.attr("person") {
        Some(Ok(EvalResult::String(person))) => Some(person),
        _ => None,
    };
    entities.iter().filter_map(person).collect()
}

fn known_entities(entities: &Entities) -> BTreeMap<String, BTreeSet<String>> {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entity in entities.iter() {
        let uid = entity.uid();
        known.entry(uid.type_name().to_string()).or_default().insert(uid.id().unescaped().to_owned());
    }
    known
}

/// In a policy's JSON form an entity is an object with `type` and `id`, and nothing else is.
fn note_literals(policy: &Json, known: &mut BTreeMap<String, BTreeSet<String>>) {
    match policy {
        Json::Array(elements) => elements.iter().for_each(|element| note_literals(element, known)),
        Json::Object(members) => {
            if let (2, Some(Json::String(kind)), Some(Json::String(id))) =
                (members.len(), members.get("type"), members.get("id"))
            {
                known.entry(kind.clone()).or_default().insert(id.clone());
                // A resource's id has its domain and its type in it.
                if let ("Resource", [domain, resource_type, _]) =
                    (kind.as_str(), id.splitn(3, '/').collect::<Vec<_>>().as_slice())
                {
                    let name = |part: &str| part.replace("~1", "/").replace("~0", "~");
                    known.entry("Domain".to_owned()).or_default().insert(name(domain));
                    known.entry("ResourceType".to_owned()).or_default().insert(name(resource_type));
                }
            }
            members
                .iter()
                .filter(|(key, _)| *key != "annotations")
                .for_each(|(_, it)| note_literals(it, known));
        }
        _ => {}
    }
}

impl ModelPolicy {
    fn of(policy: &Policy, entities: &Entities, people: &BTreeMap<String, String>) -> Result<Self, String> {
        let id = policy.annotation("id").unwrap_or_default().to_owned();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if id.is_empty() || !id.chars().all(plain) {
            return Err(format!("the id {id:?}"));
        }
        let permits = policy.effect() == Effect::Permit;
        for (name, _) in policy.annotations() {
            let allowed = match name {
                "id" | "reason" => true,
                "approval" | "approvers" | "assurance" | "effects" | "max_executions" => permits,
                other => other.starts_with("x_"),
            };
            if !allowed {
                return Err(format!("{id}: the annotation @{name}"));
            }
        }
        let (class, demand) = demand(policy.annotation("approval").unwrap_or("none"))
            .ok_or_else(|| format!("{id}: @approval"))?;
        let assurance = match policy.annotation("assurance") {
            None => Assurance::Local,
            Some("local") if demand > 0 => Assurance::Local,
            Some("login") if demand > 0 => Assurance::Login,
            Some("recent") if demand > 0 => Assurance::Recent,
            Some("presence") if demand > 0 => Assurance::Presence,
            Some(_) => return Err(format!("{id}: @assurance")),
        };
        let mut approvers = BTreeSet::new();
        for name in listed(policy.annotation("approvers")) {
            let named = members(&name, entities)?.filter(|named| !named.is_empty());
            approvers.extend(named.ok_or_else(|| format!("{id}: nobody is {name:?}"))?);
        }
        let persons: BTreeSet<&String> = approvers.iter().filter_map(|id| people.get(id)).collect();
        if u64::try_from(persons.len()).unwrap_or_default() < demand {
            return Err(format!("{id}: too few approvers"));
        }
        let effects: BTreeSet<String> =
            listed(policy.annotation("effects")).into_iter().filter(|effect| !effect.is_empty()).collect();
        if policy.annotation("effects").is_some() && effects.is_empty() {
            return Err(format!("{id}: @effects"));
        }
        if let Some(text) = policy.annotation("max_executions") {
            let number = text.parse::<u64>().ok().filter(|number| (1..=1_000_000).contains(number));
            number.ok_or_else(|| format!("{id}: @max_executions"))?;
        }
        Ok(Self {
            permits,
            alone: PolicySet::from_policies([policy.clone()]).map_err(|error| error.to_string())?,
            scope: scope(policy)?,
            class,
            demand,
            assurance,
            approvers,
            effects,
            id,
        })
    }
}

fn listed(annotation: Option<&str>) -> Vec<String> {
    annotation.map(|list| list.split(',').map(|name| name.trim().to_owned()).collect()).unwrap_or_default()
}

fn demand(approval: &str) -> Option<(ApprovalClass, u64)> {
    match approval {
        "none" => Some((ApprovalClass::None, 0)),
        "single" => Some((ApprovalClass::Single, 1)),
        "dual" => Some((ApprovalClass::Dual, 2)),
        other => {
            let number: u64 = other.strip_prefix("threshold:")?.parse().ok()?;
            (1..=16).contains(&number).then_some((ApprovalClass::Threshold, number))
        }
    }
}

/// The actors that a name stands for: one of that id, and those in a group of that id.
fn members(name: &str, entities: &Entities) -> Result<Option<BTreeSet<String>>, String> {
    let mut found = BTreeSet::new();
    let mut exists = false;
    let group = EntityUid::from_str(&format!("Group::{}", json!(name))).map_err(|error| error.to_string())?;
    for entity in entities.iter() {
        let uid = entity.uid();
        let id = uid.id().unescaped();
        let kind = uid.type_name().to_string();
        exists |= id == name && (kind == "Group" || kind == "Actor");
        let below = entities.ancestors(&uid).is_some_and(|mut above| above.any(|parent| *parent == group));
        if kind == "Actor" && (id == name || below) {
            found.insert(id.to_owned());
        }
    }
    Ok(exists.then_some(found))
}

fn scope(policy: &Policy) -> Result<PolicySet, String> {
    let mut text = policy.to_json().map_err(|error| error.to_string())?;
    let members = text.as_object_mut().ok_or("a policy is an object")?;
    members.insert("conditions".to_owned(), json!([]));
    members.insert("effect".to_owned(), json!("permit"));
    let policy = Policy::from_json(Some(policy.id().clone()), text).map_err(|error| error.to_string())?;
    PolicySet::from_policies([policy]).map_err(|error| error.to_string())
}
