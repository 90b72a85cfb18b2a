//! The proposal of a case, before anything is wrong with it.

use super::evidence::PacketDraft;
use super::folder::{ACTIONS, ACTORS, Aim, DOMAINS, EFFECTS, RESOURCE_TYPES, World};
use super::rng::Rng;
use serde_json::{Map, Value as Json, json};

/// A case in the making.
pub(super) struct Draft {
    pub(super) proposal: Json,
    pub(super) packets: Vec<PacketDraft>,
    pub(super) evidence: Vec<Json>,
    pub(super) now_ms: i64,
    pub(super) halted: bool,
    /// The text is not JSON.
    pub(super) torn: bool,
    /// How many things are wrong with the approvals.
    pub(super) approval_faults: usize,
}

impl Draft {
    pub(super) fn is_request(&self) -> bool {
        self.proposal.get("request_id").is_some()
    }

    /// Sets a member of the object at the pointer, if there is one.
    pub(super) fn set(&mut self, parent: &str, key: &str, value: Json) {
        if let Some(Json::Object(members)) = self.proposal.pointer_mut(parent) {
            members.insert(key.to_owned(), value);
        }
    }

    pub(super) fn remove(&mut self, parent: &str, key: &str) {
        if let Some(Json::Object(members)) = self.proposal.pointer_mut(parent) {
            members.remove(key);
        }
    }
}

pub(super) fn draft(rng: &mut Rng, world: &World, now_ms: i64) -> Draft {
    let proposal = match rng.below(100) {
        0..8 => request(rng, now_ms),
        8..22 => patch_set(rng, world, now_ms),
        _ => plain(rng, world, now_ms),
    };
    Draft {
        proposal,
        packets: Vec::new(),
        evidence: Vec::new(),
        now_ms,
        halted: false,
        torn: false,
        approval_faults: 0,
    }
}

fn plain(rng: &mut Rng, world: &World, now_ms: i64) -> Json {
    let anything = Aim {
        actors: ACTORS.map(|(id, ..)| id).to_vec(),
        actions: ACTIONS.to_vec(),
        types: RESOURCE_TYPES.to_vec(),
        domains: DOMAINS.map(|(name, _)| name).to_vec(),
    };
    let mut aim = if rng.chance(94) { rng.pick(&world.aims).clone() } else { anything.clone() };
    if aim.actors.is_empty() {
        aim.actors = anything.actors;
    }
    let (kind, domain) = (*rng.pick(&aim.types), *rng.pick(&aim.domains));
    let action = *rng.pick(&aim.actions);
    let id = match kind {
        "file" => rng
            .pick(&["src/main.rs", "SRC/Main.rs", "docs/a.md", "docs/\u{c9}.md", "key.pem", "../up"])
            .to_string(),
        "ticket" => rng.pick(&["ticket-1", "ticket-1", "ticket-9"]).to_string(),
        other => format!("{}-{}", other.split('/').next().unwrap_or_default(), rng.below(12)),
    };
    let mut constraints = values(rng, &world.constraints);
    if rng.chance(20) {
        constraints.insert("allowed_fields".into(), json!(["email", "notes"]));
        constraints.insert("forbidden_fields".into(), json!(["ssn"]));
    }
    let mut parameters = match world.parameters_of.contains(&action) || rng.chance(50) {
        true => values(rng, &world.parameters),
        false => Map::new(),
    };
    if rng.chance(20) {
        parameters.insert("updates".into(), json!({"email": "a@example.com"}));
    }
    if rng.chance(10) {
        parameters.insert("undeclared".into(), json!({"__entity": {"type": "Actor", "id": "dana"}}));
    }
    let actor = match rng.chance(4) {
        true => "stranger",
        false => rng.pick(&aim.actors),
    };
    let proposal = json!({
        "proposal_id": format!("proposal-{}", rng.below(1000)), "ts_ms": now_ms - 2000, "actor": actor,
        "action_type": action, "parameters": parameters,
        "target": {"resource_type": kind, "resource_id": id, "domain": domain, "constraints": constraints}});
    with_options(rng, proposal, now_ms)
}

fn patch_set(rng: &mut Rng, world: &World, now_ms: i64) -> Json {
    let paths =
        ["src/main.rs", "src/lib.rs", "docs/a.md", "docs/\u{c9}.md", "key.pem", "Key.PEM", "Cargo.toml"];
    let operation = |rng: &mut Rng, path: &str| json!({"op": rng.pick(&["create", "modify", "modify", "delete"]), "path": path});
    let mut parameters = values(rng, &world.parameters);
    // Sometimes more than are told one by one.
    let operations: Vec<Json> = match rng.chance(8) {
        true => (0..15 + rng.below(6)).map(|at| operation(rng, &format!("src/{at}.rs"))).collect(),
        false => {
            let chosen: Vec<&str> = (0..=rng.below(4)).map(|_| *rng.pick(&paths)).collect();
            chosen.into_iter().map(|path| operation(rng, path)).collect()
        }
    };
    parameters.insert("operations".into(), Json::Array(operations));
    let constraints = values(rng, &world.constraints);
    let proposal = json!({
        "proposal_id": "patch-1", "ts_ms": now_ms - 2000, "actor": rng.pick(&["agent-1", "agent-1", "agent-2", "bot-3"]),
        "action_type": "write", "parameters": parameters,
        "target": {"resource_type": "patch_set", "resource_id": "patch-1", "domain": "workspace",
            "constraints": constraints}});
    with_options(rng, proposal, now_ms)
}

fn with_options(rng: &mut Rng, mut proposal: Json, now_ms: i64) -> Json {
    let Some(members) = proposal.as_object_mut() else { return proposal };
    if rng.chance(92) {
        let mut allowed: Vec<&str> = EFFECTS.to_vec();
        let mut forbidden = vec!["payment"];
        if rng.chance(6) {
            forbidden.extend(allowed.pop());
        }
        let reversible = rng.chance(35);
        members.insert(
            "risk_envelope".into(),
            json!({"allowed_side_effects": allowed, "forbidden_effects": forbidden,
                "max_affected_records": rng.pick(&[1, 5, 11]), "reversible_required": reversible}),
        );
        if reversible && rng.chance(95) || rng.chance(30) {
            let rollback = match rng.below(5) {
                0 if !reversible => json!({"strategy": "none"}),
                1 => json!({"strategy": "compensating_action", "action": {"action_type": "write",
                    "target": {"resource_type": "ticket", "resource_id": "t", "domain": "d", "constraints": {}},
                    "parameters": {}}}),
                2 | 3 => json!({"strategy": "manual", "deadline_ms": 60_000}),
                _ => json!({"strategy": "inverse_patch"}),
            };
            members.insert("rollback_semantics".into(), rollback);
        }
    }
    if rng.chance(40) {
        let from_ms = now_ms + *rng.pick(&[-1000, 0, 60_000]);
        members.insert(
            "time_window".into(),
            json!({"valid_from_ms": from_ms, "valid_until_ms": now_ms + 300_000, "max_duration_ms": 1000}),
        );
    }
    let classes =
        ["", "", "", "", "", "none", "none", "none", "none", "none", "single", "single", "dual", "threshold"];
    match *rng.pick(&classes) {
        "" => {}
        class => drop(members.insert("approval_class".into(), json!(class))),
    }
    proposal
}

fn request(rng: &mut Rng, now_ms: i64) -> Json {
    let (tool, params) = match rng.below(3) {
        0 => ("crm.update", json!({"contact": rng.below(12)})),
        1 => {
            ("pay", json!({"account": "DE-1", "number": 4, "bank": rng.pick(&["bank/eu~1", "example.com"])}))
        }
        _ => ("look", json!({"contact": rng.pick(&["1", "9"])})),
    };
    let mut request = json!({
        "request_id": format!("request-{}", rng.below(100)), "ts_ms": now_ms - 10, "actor": rng.pick(&ACTORS).0,
        "intent": "do it", "tool_call": {"name": tool, "params": params}});
    if let (true, Some(members)) = (rng.chance(20), request.as_object_mut()) {
        if let Some(call) = members.get_mut("tool_call").and_then(Json::as_object_mut) {
            call.remove("params");
        }
        members.insert("params".into(), params);
    }
    request
}

/// Values of declared attributes; those that need not be there are not always.
pub(super) fn values(rng: &mut Rng, attributes: &[super::folder::Attribute]) -> Map<String, Json> {
    let mut values = Map::new();
    for (name, kind, must) in attributes {
        if *must || rng.chance(60) {
            values.insert((*name).to_owned(), value(rng, kind));
        }
    }
    values
}

fn value(rng: &mut Rng, kind: &str) -> Json {
    match kind {
        "Long" => {
            rng.pick(&[json!(0), json!(5), json!(7), json!(40), json!(950), json!(-3), json!(2.0)]).clone()
        }
        "decimal" => {
            rng.pick(&[json!(0.1), json!(12), json!(99.75), json!(1e3), json!(-0.0), json!(17.0625)]).clone()
        }
        "String" => json!(rng.pick(&["alpha", "beta", "gamma", ""])),
        "Set<String>" => rng.pick(&[json!(["red"]), json!(["red", "blue", "red"]), json!([])]).clone(),
        "Origin" => rng
            .pick(&[
                json!({"country": "DE"}),
                json!({"country": "DE", "code": 7, "undeclared": [1]}),
                json!({"country": "FR", "code": 2}),
            ])
            .clone(),
        "datetime" => {
            json!(rng.pick(&["2024-01-01", "2024-06-01T10:00:00Z", "2019-12-31T23:59:59.999+0100"]))
        }
        "duration" => json!(rng.pick(&["1h", "1d12h", "-5ms"])),
        "ipaddr" => json!(rng.pick(&["10.0.0.1", "192.168.1.0/24", "::1"])),
        _ => json!(rng.chance(30)),
    }
}
