//! A decision from a proposal's bytes to the signed permit, beside the least that this can cost, beside Cedar's plain
//! `Authorizer` over the whole set, and beside Rego. One thread, all in one run.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark may fail loudly"
)]

use cedar_policy::{
    Authorizer, Context, Entities, Entity, EntityId, EntityUid, PolicySet as CedarSet, Request,
    RestrictedExpression as Expression,
};
use ed25519_dalek::{Signer, SigningKey};
use ordain_canon::{
    ActionHash, Canonicalizer, DecisionHash, EvidenceSetHash, PacketHash, ParametersHash, PayloadHash,
    TargetHash, Value,
};
use ordain_decision::{Case, Minting, PolicyFiles, PolicySet, decide, mint};
use serde_json::{Value as Json, json};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

const NOW_MS: u64 = 1_705_171_260_000;
/// Rounds of all contestants in turn; the median round of each counts.
const ROUNDS: usize = 41;
const TIMES: u32 = 400;

fn medians(contestants: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut rounds = vec![Vec::new(); contestants.len()];
    for _ in 0..ROUNDS {
        for (rounds, run) in rounds.iter_mut().zip(contestants.iter_mut()) {
            let start = Instant::now();
            (0..TIMES).for_each(|_| run());
            rounds.push(start.elapsed().as_secs_f64() / f64::from(TIMES) * 1e6);
        }
    }
    for rounds in &mut rounds {
        rounds.sort_by(f64::total_cmp);
    }
    rounds.iter().map(|rounds| rounds[ROUNDS / 2]).collect()
}

fn proposal() -> Vec<u8> {
    let proposal = json!({
        "proposal_id": "550e8400-e29b-41d4-a716-446655440000", "ts_ms": 1_705_171_200_000_u64, "actor": "agent-7",
        "action_type": "write",
        "target": {"resource_type": "crm_record", "resource_id": "contact-12345", "domain": "d7.example.com",
            "constraints": {"allowed_fields": ["email", "phone", "notes"], "forbidden_fields": ["ssn", "credit_card"]}},
        "parameters": {"updates": {"email": "new@example.com", "notes": "Updated via automation"}},
        "preconditions": [{"field": "record_exists", "operator": "eq", "value": true, "evidence_ref": "evidence-001"}],
        "risk_envelope": {"allowed_side_effects": ["audit_log_entry"],
            "forbidden_effects": ["email_notification", "workflow_trigger"], "max_affected_records": 1,
            "reversible_required": true},
        "rollback_semantics": {"strategy": "manual"},
        "time_window": {"valid_from_ms": 1_705_171_200_000_u64, "valid_until_ms": 1_705_171_500_000_u64,
            "max_duration_ms": 30_000},
        "approval_class": "none"
    });
    Canonicalizer::new().value(&proposal).unwrap().to_vec()
}

fn packet() -> Vec<u8> {
    let payload = json!({"record_exists": true});
    let hash = PayloadHash::of(&mut Canonicalizer::new(), &payload).unwrap().to_string();
    let packet = json!({"evidence_id": "evidence-001", "packet_type": "api_response", "sensor_id": "crm",
        "sensor_type": "api", "observed_at_ms": 1_705_171_210_000_u64, "received_at_ms": 1_705_171_210_100_u64,
        "payload": payload, "payload_hash": hash});
    Canonicalizer::new().value(&packet).unwrap().to_vec()
}

fn policy_text(count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let _infallible = writeln!(
            text,
            "@id(\"p{number}\") permit(principal in Group::\"g{number}\", action == Action::\"write\", \
             resource in Domain::\"d{number}.example.com\") when {{ context.evidence.preconditions_hold && \
             context has envelope && context.envelope.max_affected_records <= 10 }};"
        );
    }
    text
}

fn entities_json(count: usize) -> Json {
    let mut entities = Vec::new();
    for number in 0..count {
        let parents = json!([{"type": "Group", "id": format!("g{number}")}]);
        entities.push(json!({"uid": {"type": "Actor", "id": format!("agent-{number}")}, "attrs": {}, "parents": parents}));
        entities.push(json!({"uid": {"type": "Domain", "id": format!("d{number}.example.com")}, "attrs": {}, "parents": []}));
    }
    Json::Array(entities)
}

fn uid(kind: &str, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.parse().unwrap(), EntityId::new(id))
}

/// Cedar alone: a typed request, static entities, the whole set.
fn cedar(count: usize) -> impl FnMut() {
    let set: CedarSet = policy_text(count).parse().unwrap();
    let resource = Entity::new_no_attrs(
        uid("Resource", "d7.example.com/crm_record/contact-12345"),
        HashSet::from([uid("Domain", "d7.example.com")]),
    );
    let entities = Entities::from_json_value(entities_json(count), None).unwrap();
    let entities = entities.add_entities([resource], None).unwrap();
    let record = |members: [(&str, Expression); 1]| {
        Expression::new_record(members.map(|(name, it)| (name.to_owned(), it))).unwrap()
    };
    let authorizer = Authorizer::new();
    move || {
        let evidence = record([("preconditions_hold", Expression::new_bool(true))]);
        let envelope = record([("max_affected_records", Expression::new_long(1))]);
        let context = Context::from_pairs(HashMap::from([
            ("evidence".to_owned(), evidence),
            ("envelope".to_owned(), envelope),
        ]))
        .unwrap();
        let resource = uid("Resource", "d7.example.com/crm_record/contact-12345");
        let request =
            Request::new(uid("Actor", "agent-7"), uid("Action", "write"), resource, context, None).unwrap();
        let response = authorizer.is_authorized(&request, &set, &entities);
        assert_eq!(response.decision(), cedar_policy::Decision::Allow);
    }
}

/// The same policies in Rego.
fn rego(count: usize) -> impl FnMut() {
    let mut text = "package gate\ndefault allow := false\n".to_owned();
    for number in 0..count {
        let _infallible = writeln!(
            text,
            "allow if {{ \"g{number}\" in data.groups[input.actor]; input.action_type == \"write\"; \
             input.target.domain == \"d{number}.example.com\"; input.preconditions_hold; \
             input.risk_envelope.max_affected_records <= 10 }}"
        );
    }
    let mut engine = regorus::Engine::new();
    engine.add_policy("gate.rego".to_owned(), text).unwrap();
    let groups: serde_json::Map<String, Json> =
        (0..count).map(|number| (format!("agent-{number}"), json!([format!("g{number}")]))).collect();
    engine.add_data_json(&json!({"groups": groups}).to_string()).unwrap();
    let mut input: Json = serde_json::from_slice(&proposal()).unwrap();
    input["preconditions_hold"] = true.into();
    let input = input.to_string();
    move || {
        engine.set_input_json(&input).unwrap();
        let allowed = engine.eval_rule("data.gate.allow".to_owned()).unwrap();
        assert_eq!(allowed, regorus::Value::from(true));
    }
}

fn main() {
    let (proposal, packet) = (proposal(), packet());
    let key = SigningKey::from_bytes(&[7; 32]);
    let files = |count: usize| -> PolicyFiles {
        [
            ("p.cedar", policy_text(count)),
            ("entities.json", entities_json(count).to_string()),
            ("effects.toml", "[write.crm_record]\neffects = [\"audit_log_entry\"]\n".to_owned()),
            ("sensors.toml", "[sensors.crm]\n".to_owned()),
        ]
        .map(|(name, text)| (name.to_owned(), text))
        .into()
    };
    let load = |count| PolicySet::load(&files(count)).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let (few, many) = (load(10), load(1_000));
    let minting = Minting { audience: "crm-worker", nonce: "0123456789abcdef" };
    let judge = |policies: &PolicySet| {
        let evidence = [Value::read(&packet).unwrap()];
        let case = Case {
            document: &Value::read(&proposal).unwrap(),
            policies,
            evidence: &evidence,
            approvals: &[],
            approver_keys: &ordain_spec::statement::NO_KEYS,
            now_ms: NOW_MS,
            halted: false,
            workspace: None,
        };
        decide(&case)
    };
    let evaluated = (judge(&few).evaluated, judge(&many).evaluated);
    let decision = judge(&few).decision;
    let token = mint(judge(&few).grant.as_ref().unwrap(), &key, minting).unwrap();
    let (signed, _) = token.rsplit_once('.').unwrap();
    let mut floor = || {
        let canon = &mut Canonicalizer::new();
        let document = Value::read(black_box(&proposal)).unwrap();
        let packet = Value::read(black_box(&packet)).unwrap();
        black_box(ActionHash::of(canon, &document).unwrap());
        black_box(TargetHash::of(canon, document.get("target").unwrap()).unwrap());
        black_box(ParametersHash::of(canon, document.get("parameters").unwrap()).unwrap());
        black_box(PayloadHash::of(canon, packet.get("payload").unwrap()).unwrap());
        let packet = PacketHash::of(canon, &packet).unwrap();
        black_box(EvidenceSetHash::of(canon, &[packet]).unwrap());
        black_box(DecisionHash::of(canon, &decision).unwrap());
        black_box(key.sign(black_box(signed.as_bytes())));
    };
    let mut signature = || {
        black_box(key.sign(black_box(signed.as_bytes())));
    };
    let whole = |policies: &PolicySet| {
        let judgement = judge(policies);
        black_box(DecisionHash::of(&mut Canonicalizer::new(), &judgement.decision).unwrap());
        black_box(mint(judgement.grant.as_ref().unwrap(), &key, minting).unwrap());
    };
    let mut only_decide = || drop(black_box(judge(&few)));
    let (mut cedar_few, mut cedar_many) = (cedar(10), cedar(1_000));
    let (mut rego_few, mut rego_many) = (rego(10), rego(1_000));
    let (mut ours_few, mut ours_many) = (|| whole(&few), || whole(&many));
    let times = medians(&mut [
        &mut floor,
        &mut ours_few,
        &mut ours_many,
        &mut cedar_few,
        &mut cedar_many,
        &mut rego_few,
        &mut rego_many,
        &mut signature,
        &mut only_decide,
    ]);
    println!(
        "A proposal of {} bytes with one evidence packet, µs, median of {ROUNDS} rounds:\n",
        proposal.len()
    );
    println!("| | 10 policies | 1,000 policies | times the floor |");
    println!("|---|---|---|---|");
    println!("| floor: parse, hashes, one signature | {:.1} | | 1 |", times[0]);
    println!(
        "| decide, from bytes to the signed permit | {:.1} | {:.1} | {:.2}, {:.2} |",
        times[1],
        times[2],
        times[1] / times[0],
        times[2] / times[0]
    );
    println!("| policies evaluated | {} | {} | |", evaluated.0, evaluated.1);
    println!("| Cedar's `Authorizer` alone, whole set | {:.1} | {:.1} | |", times[3], times[4]);
    println!("| Rego (`regorus`) alone, from JSON | {:.1} | {:.1} | |", times[5], times[6]);
    println!("| one signature | {:.1} | | |", times[7]);
    println!("| decide without the permit | {:.1} | | |", times[8]);
}
