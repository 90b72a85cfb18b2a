//! Faults of a case, one at a time.

use super::evidence::{self, PacketDraft, Seal, false_preconditions, true_preconditions};
use super::folder::World;
use super::proposal::Draft;
use super::rng::Rng;
use super::with;
use serde_json::{Value as Json, json};

pub(super) fn one(rng: &mut Rng, world: &World, draft: &mut Draft) {
    match rng.below(100) {
        0..20 => packet(rng, draft),
        20..30 => precondition(rng, draft),
        30..38 => name(rng, draft),
        38..46 => envelope(rng, draft),
        46..51 => window(rng, draft),
        51..60 => parameter(rng, world, draft),
        60..67 => structure(rng, draft),
        67..69 => draft.halted = true,
        69..71 => draft.torn = true,
        71..75 => operations(rng, draft),
        75..79 => request(rng, draft),
        _ => draft.approval_faults += 1,
    }
}

/// Bytes of the proposal.
pub(super) fn text(rng: &mut Rng, draft: &Draft) -> Vec<u8> {
    let text = draft.proposal.to_string();
    let torn = match rng.below(4) {
        0 => text.replacen("\"actor\":", "\"actor\":\"x\",\"actor\":", 1),
        1 => text.get(..text.len() / 2).unwrap_or_default().to_owned(),
        2 => format!("{text} x"),
        _ => "NaN".to_owned(),
    };
    if draft.torn { torn.into_bytes() } else { text.into_bytes() }
}

/// A proposal that refers to a packet.
fn refer(rng: &mut Rng, draft: &mut Draft) {
    if draft.packets.is_empty() {
        let packet = evidence::packet(rng, "evidence-0", draft.now_ms);
        draft.packets.push(packet);
    }
    let binding = json!({"evidence_id": "evidence-0", "binding_type": "context", "required": rng.chance(60),
        "freshness_ms": 60_000});
    if draft.is_request() {
        draft.set("", "evidence", json!([binding]));
    } else if rng.chance(50) {
        draft.set("", "evidence_bindings", json!([binding]));
    } else if draft.proposal.get("preconditions").is_none() {
        let (field, operator, value) = rng.pick(&true_preconditions()).clone();
        draft.set(
            "",
            "preconditions",
            json!([evidence::precondition(field, operator, &value, "evidence-0")]),
        );
    }
}

fn packet(rng: &mut Rng, draft: &mut Draft) {
    refer(rng, draft);
    let now_ms = draft.now_ms;
    let at = rng.below(draft.packets.len());
    let Some(PacketDraft { packet, seal }) = draft.packets.get_mut(at) else { return };
    let mut set = |key: &str, value: Json| {
        if let Some(members) = packet.as_object_mut() {
            members.insert(key.to_owned(), value);
        }
    };
    match rng.below(22) {
        0 => set("packet_type", json!("rumour")),
        1 => set("sensor_id", json!("")),
        2 => set("observed_at_ms", json!(0)),
        3 => set("received_at_ms", json!("now")),
        4 => set("payload", json!([1])),
        5 => *seal = Seal::WrongHash,
        6 => set("received_at_ms", json!(now_ms - 200_000_000)),
        7 => {
            set("observed_at_ms", json!(now_ms + 5_001));
            set("received_at_ms", json!(now_ms + 5_002));
        }
        8 => set("observed_at_ms", json!(now_ms - rng.pick(&[60_001, 600_001, 3_600_001, 90_000_001]))),
        9 => set("sensor_id", json!("Crm")),
        10 => {
            set("sensor_id", json!("lab"));
            *seal = Seal::Unsigned;
        }
        11 | 12 => {
            set("sensor_id", json!(rng.pick(&["lab", "door"])));
            *seal = *rng.pick(&[Seal::WrongSignature, Seal::NoSignature]);
        }
        13 => set("sensor_type", json!("")),
        14 => set("unknown_field", json!(1)),
        15 => drop(draft.packets.remove(at)),
        16 => {
            let other = draft.packets.get(at).cloned();
            let change = |PacketDraft { packet, seal }| PacketDraft {
                packet: with(packet, "sensor_type", json!("other")),
                seal,
            };
            draft.packets.extend(other.map(change));
        }
        17 => {
            // A repetition is not a fault.
            let same = draft.packets.get(at).cloned();
            draft.packets.extend(same);
        }
        18 | 19 => {
            let PacketDraft { packet, seal } = evidence::packet(rng, "evidence-other", now_ms);
            let payload = json!({"status": "closed", "count": 6, "exists": true});
            draft.packets.push(PacketDraft { packet: with(packet, "payload", payload), seal });
        }
        20 => draft.packets.push(PacketDraft { packet: json!("no packet"), seal: Seal::Right }),
        _ => set("evidence_id", json!("")),
    }
}

fn precondition(rng: &mut Rng, draft: &mut Draft) {
    if draft.is_request() {
        return;
    }
    if draft.packets.is_empty() {
        let packet = evidence::packet(rng, "evidence-0", draft.now_ms);
        draft.packets.push(packet);
    }
    let (field, operator, value) = rng.pick(&false_preconditions()).clone();
    let mut list = draft.proposal.get("preconditions").and_then(Json::as_array).cloned().unwrap_or_default();
    list.push(evidence::precondition(field, operator, &value, "evidence-0"));
    if rng.chance(8) {
        list.push(evidence::precondition("x", "equals", &json!(1), "evidence-0"));
    }
    if rng.chance(8) {
        list.push(evidence::precondition("count", "eq", &json!(5), "evidence-none"));
    }
    draft.set("", "preconditions", json!(list));
}

fn name(rng: &mut Rng, draft: &mut Draft) {
    let (parent, key) = match draft.is_request() {
        true => ("", "actor"),
        false => {
            *rng.pick(&[("", "actor"), ("", "actor"), ("/target", "domain"), ("/target", "resource_type")])
        }
    };
    let old =
        draft.proposal.pointer(&format!("{parent}/{key}")).and_then(Json::as_str).unwrap_or("x").to_owned();
    let new = match rng.below(9) {
        0 => old.to_uppercase(),
        1 => format!("{old}\u{200b}"),
        2 => format!(" {old}"),
        3 => format!("{old}\t"),
        4 => old.replacen('a', "\u{430}", 1),
        5 => old.replacen('e', "\u{435}", 1),
        6 => old.replacen('1', "l", 1),
        7 => format!("soft\u{ad}{old}"),
        // A new name that looks like no other.
        _ => format!("{old}-new"),
    };
    draft.set(parent, key, json!(new));
}

fn envelope(rng: &mut Rng, draft: &mut Draft) {
    if draft.is_request() {
        return;
    }
    let at = "/risk_envelope";
    if draft.proposal.get("risk_envelope").is_none() {
        draft.set(
            "",
            "risk_envelope",
            json!({"allowed_side_effects": [], "forbidden_effects": [],
            "max_affected_records": 1, "reversible_required": false}),
        );
    }
    match rng.below(9) {
        0 => draft.remove("", "risk_envelope"),
        1 => draft.set(at, "allowed_side_effects", json!(["webhook"])),
        2 => draft.set(at, "forbidden_effects", json!(["audit_log"])),
        3 => draft.set(at, "max_affected_records", json!(0)),
        4 => draft.set(at, "reversible_required", json!("yes")),
        5 | 6 => {
            draft.set(at, "reversible_required", json!(true));
            draft.remove("", "rollback_semantics");
        }
        7 => {
            draft.set(at, "reversible_required", json!(true));
            draft.set("", "rollback_semantics", json!({"strategy": "none"}));
        }
        _ => draft.set("", "rollback_semantics", json!({"strategy": "compensating_action"})),
    }
}

fn window(rng: &mut Rng, draft: &mut Draft) {
    if draft.is_request() {
        return;
    }
    let (from_ms, until_ms) = match rng.below(4) {
        0 => (draft.now_ms - 5000, draft.now_ms),
        1 => (draft.now_ms + 5000, draft.now_ms + 4000),
        2 => (draft.now_ms - 5000, draft.now_ms - 6000),
        // In time: one millisecond is left.
        _ => (draft.now_ms - 5000, draft.now_ms + 1),
    };
    let window = json!({"valid_from_ms": from_ms, "valid_until_ms": until_ms, "max_duration_ms": 1000});
    draft.set("", "time_window", window);
}

/// Values that no declared type takes, and some that a few take.
fn parameter(rng: &mut Rng, world: &World, draft: &mut Draft) {
    if draft.is_request() {
        return;
    }
    let values = [
        json!(null),
        json!("text"),
        json!(1.5),
        json!(0.00001),
        json!(1e22),
        json!(["a", 1]),
        json!({"country": 5}),
        json!({"country": "DE", "code": "x"}),
        json!({"__extn": {"fn": "decimal", "arg": "1.0"}}),
        json!(922_337_203_685_477.5_f64),
        json!(true),
    ];
    let value = rng.pick(&values).clone();
    match rng.below(8) {
        0 => draft.set("/target/constraints", "limit", value),
        1 => {
            draft.set("/target/constraints", "forbidden_fields", json!(["email"]));
            draft.set("/parameters", "updates", json!({"email": "a", "notes": "b"}));
        }
        2 => {
            draft.set("/target/constraints", "allowed_fields", json!("email"));
        }
        3 => {
            if let Some((name, ..)) = world.parameters.first() {
                draft.remove("/parameters", name);
            }
        }
        _ => {
            if !world.parameters.is_empty() {
                let (name, ..) = *rng.pick(&world.parameters);
                draft.set("/parameters", name, value);
            }
        }
    }
}

fn structure(rng: &mut Rng, draft: &mut Draft) {
    match rng.below(13) {
        0 => draft.set("", "ts_ms", json!(0)),
        1 => draft.set("", "ts_ms", json!("today")),
        2 => draft.set("", "unknown_field", json!(1)),
        3 => draft.set("", "actor", json!("")),
        4 => draft.remove("", "actor"),
        5 if !draft.is_request() => draft.set("", "action_type", json!("fly")),
        6 if !draft.is_request() => draft.set("", "approval_class", json!("many")),
        7 => draft.remove("/target", "resource_id"),
        8 => draft.set("/target", "domain", json!("")),
        9 => draft.remove("", "parameters"),
        10 if !draft.is_request() => draft.set("", "proposal_id", json!("")),
        11 => draft.proposal = json!([1]),
        _ => draft.set("/target", "unknown_field", json!(null)),
    }
}

fn operations(rng: &mut Rng, draft: &mut Draft) {
    let bad = [
        json!([]),
        json!(null),
        json!([{"op": "create", "path": "../up"}]),
        json!([{"op": "modify", "path": "src/a.rs"}, {"op": "rename", "path": "src/b.rs"}]),
        json!([{"op": "modify"}, "x", {"op": "delete", "path": "/etc"}]),
    ];
    if draft.proposal.pointer("/parameters/operations").is_some() {
        draft.set("/parameters", "operations", rng.pick(&bad).clone());
    }
}

fn request(rng: &mut Rng, draft: &mut Draft) {
    if !draft.is_request() {
        draft.proposal = json!({"request_id": "r", "ts_ms": 5, "actor": "agent-1", "intent": "",
            "tool_call": {"name": "look", "params": {"contact": 1}}});
    }
    match rng.below(7) {
        0 => draft.set("/tool_call", "name", json!("rm")),
        1 => draft.remove("", "tool_call"),
        2 => draft.set("", "params", json!({"contact": 99})),
        3 => draft.set("/tool_call", "params", json!({})),
        4 => draft.set("/tool_call", "params", json!({"contact": [1], "account": "", "bank": 1.5})),
        5 => draft.set("", "evidence", json!(["evidence-none", {"evidence_id": "x"}])),
        _ => draft.set("", "evidence", json!(["evidence-none"])),
    }
}
