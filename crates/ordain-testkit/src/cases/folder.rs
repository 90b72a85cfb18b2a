//! The policy folder of a case, and what the rest of the case needs to know of it.

use super::policies;
use super::rng::Rng;
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::SigningKey;
use ordain_spec::action::ToolMapping;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Groups, each with the group it may be in.
pub(super) const GROUPS: [(&str, &str); 5] =
    [("agents", ""), ("support", "agents"), ("managers", ""), ("heads", "managers"), ("auditors", "")];
/// Actors, each with its usual group and the person behind it.
pub(super) const ACTORS: [(&str, &str, &str); 9] = [
    ("agent-1", "agents", ""),
    ("agent-2", "support", "kim"),
    ("bot-3", "", ""),
    ("dana", "managers", ""),
    ("dana-phone", "heads", "dana"),
    ("kim", "heads", ""),
    ("sam", "managers", "agent-1"),
    ("robin", "heads", "Robin Roe"),
    ("lee", "auditors", ""),
];
/// Domains, each with the domain it may be in.
pub(super) const DOMAINS: [(&str, &str); 5] = [
    ("internal", ""),
    ("example.com", "internal"),
    ("crm.example.com", "example.com"),
    ("bank/eu~1", ""),
    ("workspace", "internal"),
];
pub(super) const RESOURCE_TYPES: [&str; 6] =
    ["ticket", "crm_record", "payment", "file", "patch_set", "a/b~c"];
pub(super) const ACTIONS: [&str; 10] = [
    "navigate",
    "read",
    "write",
    "create",
    "delete",
    "execute",
    "communicate",
    "transact",
    "approve",
    "custom",
];
pub(super) const EFFECTS: [&str; 3] = ["audit_log", "mail", "webhook"];

/// A declared attribute: its name, its type, and whether it must be there.
pub(super) type Attribute = (&'static str, &'static str, bool);

/// A folder and what is known of it.
pub(super) struct World {
    pub(super) files: BTreeMap<String, String>,
    pub(super) tools: BTreeMap<String, ToolMapping>,
    /// The attributes of `Parameters`, and the actions that have their own type with the same.
    pub(super) parameters: Vec<Attribute>,
    pub(super) parameters_of: Vec<&'static str>,
    pub(super) constraints: Vec<Attribute>,
    /// Actors in groups: id, groups, person.
    pub(super) actors: Vec<(&'static str, Vec<&'static str>, &'static str)>,
    /// The subject of a permit.
    pub(super) aims: Vec<Aim>,
}

/// An actor, actions and targets that the scope of a permit fits.
#[derive(Clone)]
pub(super) struct Aim {
    pub(super) actors: Vec<&'static str>,
    pub(super) actions: Vec<&'static str>,
    pub(super) types: Vec<&'static str>,
    pub(super) domains: Vec<&'static str>,
}

pub(super) fn world(number: u64) -> World {
    let mut rng = Rng::new(number, 2);
    let mut world = World {
        files: BTreeMap::new(),
        tools: BTreeMap::new(),
        parameters: Vec::new(),
        parameters_of: Vec::new(),
        constraints: Vec::new(),
        actors: Vec::new(),
        aims: Vec::new(),
    };
    schema(&mut rng, &mut world);
    entities(&mut rng, &mut world);
    effects(&mut rng, &mut world);
    sensors(&mut rng, &mut world);
    tools(&mut rng, &mut world);
    if rng.chance(20) {
        world.files.insert("redact.toml".into(), "fields = [\"label\"]\n".into());
    }
    policies::write(&mut rng, &mut world);
    if rng.chance(4) {
        spoil(&mut rng, &mut world.files);
    }
    world
}

/// Everything that parameters can be.
pub(super) const PARAMETERS: [(&str, &str); 9] = [
    ("amount", "Long"),
    ("price", "decimal"),
    ("label", "String"),
    ("tags", "Set<String>"),
    ("origin", "Origin"),
    ("due", "datetime"),
    ("wait", "duration"),
    ("source", "ipaddr"),
    ("urgent", "Bool"),
];

fn schema(rng: &mut Rng, world: &mut World) {
    for (name, kind) in rng.some(&PARAMETERS, 45) {
        world.parameters.push((name, kind, rng.chance(15)));
    }
    for (name, kind) in rng.some(&[("region", "String"), ("limit", "Long"), ("fields", "Set<String>")], 30) {
        world.constraints.push((name, kind, rng.chance(8)));
    }
    let record = |attributes: &[Attribute]| {
        let mark = |must: bool| if must { "" } else { "?" };
        let list: Vec<String> =
            attributes.iter().map(|(name, kind, must)| format!("{name}{}: {kind}", mark(*must))).collect();
        format!("{{ {} }}", list.join(", "))
    };
    let mut text = String::from(
        "type Origin = { country: String, code?: Long };\n\
         type ActorAttributes = { team?: String, level?: Long };\n\
         type DomainAttributes = { tier?: String };\n",
    );
    if rng.chance(70) {
        let _ = writeln!(text, "type Parameters = {};", record(&world.parameters));
        world.parameters_of = ACTIONS.to_vec();
    } else {
        for (action, name) in [("write", "Write"), ("create", "Create"), ("transact", "Transact")] {
            let _ = writeln!(text, "type {name}Parameters = {};", record(&world.parameters));
            world.parameters_of.push(action);
        }
    }
    if !world.constraints.is_empty() {
        let _ = writeln!(text, "type Constraints = {};", record(&world.constraints));
    }
    world.files.insert("schema.cedarschema".into(), text);
}

fn entities(rng: &mut Rng, world: &mut World) {
    let uid = |kind: &str, id: &str| json!({"type": kind, "id": id});
    let mut all: Vec<Json> = Vec::new();
    for (name, above) in GROUPS {
        let parents: Vec<Json> = if above.is_empty() { vec![] } else { vec![uid("Group", above)] };
        all.push(json!({"uid": uid("Group", name), "attrs": {}, "parents": parents}));
    }
    for (name, above) in DOMAINS {
        let parents: Vec<Json> =
            if above.is_empty() || rng.chance(15) { vec![] } else { vec![uid("Domain", above)] };
        let attributes = match rng.chance(40) {
            true => json!({"attributes": {"tier": rng.pick(&["gold", "free"])}}),
            false => json!({}),
        };
        all.push(json!({"uid": uid("Domain", name), "attrs": attributes, "parents": parents}));
    }
    for (name, group, person) in ACTORS {
        let mut groups: BTreeSet<&'static str> = BTreeSet::new();
        if !group.is_empty() && !rng.chance(10) {
            groups.insert(group);
        }
        if rng.chance(15) {
            groups.insert(rng.pick(&GROUPS).0);
        }
        let mut attributes = json!({});
        if let Some(members) = attributes.as_object_mut() {
            if !person.is_empty() {
                members.insert("person".into(), json!(person));
            }
            // Agents of somebody, and names of names.
            if rng.chance(12) {
                members.insert(
                    "agent_of".into(),
                    json!(rng.pick(&["kim", "dana", "dana-phone", "agent-1", "Robin Roe"])),
                );
            }
            if rng.chance(4) {
                members.insert("person".into(), json!(rng.pick(&ACTORS).0));
            }
            if rng.chance(60) {
                let inner = json!({"team": rng.pick(&["sales", "ops"]), "level": rng.below(5)});
                members.insert("attributes".into(), inner);
            }
        }
        let parents: Vec<Json> = groups.iter().map(|group| uid("Group", group)).collect();
        all.push(json!({"uid": uid("Actor", name), "attrs": attributes, "parents": parents}));
        let above =
            |group: &&'static str| GROUPS.iter().find(|(name, _)| name == group).map(|(_, above)| *above);
        let nested: Vec<&str> = groups.iter().filter_map(above).filter(|it| !it.is_empty()).collect();
        groups.extend(nested);
        let person = if person.is_empty() { name } else { person };
        world.actors.push((name, groups.into_iter().collect(), person));
    }
    world.files.insert("entities.json".into(), Json::Array(all).to_string());
}

fn effects(rng: &mut Rng, world: &mut World) {
    let mut text = String::new();
    for entry in rng.some(
        &[
            "write.ticket",
            "write.\"*\"",
            "create.file",
            "write.patch_set",
            "transact.payment",
            "delete.\"*\"",
        ],
        30,
    ) {
        let _ = writeln!(text, "[{entry}]");
        if rng.chance(80) {
            let _ = writeln!(text, "effects = [\"{}\"]", rng.pick(&EFFECTS));
        }
        if rng.chance(60) {
            let strategies = ["manual", "inverse_patch", "compensating_action", "none"];
            let _ = writeln!(text, "rollback = \"{}\"", rng.pick(&strategies));
        }
    }
    if rng.chance(85) {
        world.files.insert("effects.toml".into(), text);
    }
}

/// The key of the sensors that sign.
pub(super) fn sensor_key(sensor: &str) -> SigningKey {
    SigningKey::from_bytes(&if sensor == "lab" { [7; 32] } else { [9; 32] })
}

fn sensors(rng: &mut Rng, world: &mut World) {
    let key = |sensor: &str| Base64UrlUnpadded::encode_string(sensor_key(sensor).verifying_key().as_bytes());
    let mut text = String::new();
    if rng.chance(30) {
        let _ = writeln!(text, "freshness_ms = {}", rng.pick(&[60_000, 600_000, 86_400_000]));
    }
    let _ = writeln!(text, "[sensors.crm]");
    if rng.chance(30) {
        let _ = writeln!(text, "freshness_ms = {}", rng.pick(&[30_000, 600_000, 90_000_000]));
    }
    let _ = writeln!(text, "[sensors.lab]\npublic_key = \"{}\"\nsignature_required = true", key("lab"));
    let _ = writeln!(text, "[sensors.door]\npublic_key = \"{}\"", key("door"));
    if rng.chance(97) {
        world.files.insert("sensors.toml".into(), text);
    }
}

const TOOLS: &str = r#"
["crm.update"]
action_type = "write"
resource_type = "crm_record"
resource_id = "contact-{contact}"
domain = "crm.example.com"
constraints = { region = "eu" }

["pay"]
action_type = "transact"
resource_type = "payment"
resource_id = "{account}/{number}"
domain = "{bank}"

["look"]
action_type = "read"
resource_type = "ticket"
resource_id = "ticket-{contact}"
domain = "example.com"
"#;

fn tools(rng: &mut Rng, world: &mut World) {
    if rng.chance(85) {
        world.files.insert("tools.toml".into(), TOOLS.into());
        world.tools = toml::from_str(TOOLS).unwrap_or_default();
    }
}

/// One thing that makes a folder invalid.
fn spoil(rng: &mut Rng, files: &mut BTreeMap<String, String>) {
    let scope = "(principal, action, resource)";
    let policy = match rng.below(15) {
        0 => format!("permit {scope};"),
        1 => format!("@id(\"same\") permit {scope};\n@id(\"same\") forbid {scope};"),
        2 => format!("@id(\"a b\") permit {scope};"),
        3 => format!("@id(\"x\") @colour(\"red\") permit {scope};"),
        4 => format!("@id(\"x\") @approval(\"single\") permit {scope};"),
        5 => format!("@id(\"x\") @approval(\"threshold:0\") @approvers(\"dana\") permit {scope};"),
        6 => format!("@id(\"x\") @approval(\"dual\") @approvers(\"dana,dana-phone\") permit {scope};"),
        7 => format!("@id(\"x\") @approval(\"single\") @approvers(\"nobody\") permit {scope};"),
        8 => format!("@id(\"x\") @effects(\"mail\") forbid {scope};"),
        9 => format!("@id(\"x\") permit {scope} when {{ context.weather == \"fine\" }};"),
        11 => format!("@id(\"x\") @effects(\" , \") permit {scope};"),
        10 => "@id(\"x\") permit (principal == ?principal, action, resource);".to_owned(),
        12 => format!("@id(\"x\") @assurance(\"recent\") permit {scope};"),
        13 => format!(
            "@id(\"x\") @approval(\"single\") @approvers(\"dana\") @assurance(\"sure\") permit {scope};"
        ),
        _ => format!("@id(\"x\") @max_executions(\"0\") permit {scope};"),
    };
    if rng.chance(70) {
        files.insert("spoilt.cedar".into(), policy);
    } else {
        let (name, text) = *rng.pick(&[
            ("spoilt.cedar", "permit (principal"),
            ("schema.cedarschema", "entity Robot;"),
            ("effects.toml", "[fly.ticket]\neffects = []\n"),
            ("effects.toml", "[write.ticket]\nrollback = \"never\"\n"),
            ("sensors.toml", "[sensors.crm]\ncolour = \"red\"\n"),
            (
                "entities.json",
                "[{\"uid\": {\"type\": \"Robot\", \"id\": \"r\"}, \"attrs\": {}, \"parents\": []}]",
            ),
            ("tools.toml", "[\"pay\"]\naction_type = \"pay\"\n"),
        ]);
        files.insert(name.into(), text.into());
    }
}
