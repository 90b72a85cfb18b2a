//! The example of the action proposal's specification, and every single change that should deny it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use ordain_canon::{Canonicalizer, PayloadHash, Value};
use ordain_decision::{Case, Judgement, PolicyFiles, PolicySet, decide};
use serde_json::{Value as Json, json};

fn files() -> PolicyFiles {
    [
        (
            "crm.cedar",
            r#"@id("sales-writes-crm") @reason("sales agents keep contacts up to date")
permit(principal in Group::"sales", action == Action::"write", resource in Domain::"salesforce.com")
when { resource in ResourceType::"crm_record" && context.evidence.preconditions_hold }
when { context has envelope && context.envelope.max_affected_records <= 10 };"#,
        ),
        (
            "entities.json",
            r#"[{"uid": {"type": "Group", "id": "sales"}, "attrs": {}, "parents": []},
{"uid": {"type": "Actor", "id": "agent-sales-001"}, "attrs": {}, "parents": [{"type": "Group", "id": "sales"}]},
{"uid": {"type": "Domain", "id": "salesforce.com"}, "attrs": {}, "parents": []}]"#,
        ),
        ("effects.toml", "[write.crm_record]\neffects = [\"audit_log_entry\"]\nrollback = \"manual\"\n"),
        ("sensors.toml", "[sensors.crm]\n"),
    ]
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .into()
}

fn example() -> Json {
    json!({
        "proposal_id": "550e8400-e29b-41d4-a716-446655440000", "ts_ms": 1_705_171_200_000_u64, "actor": "agent-sales-001",
        "action_type": "write",
        "target": {"resource_type": "crm_record", "resource_id": "contact-12345", "domain": "salesforce.com",
            "constraints": {"allowed_fields": ["email", "phone", "notes"], "forbidden_fields": ["ssn", "credit_card"]}},
        "parameters": {"updates": {"email": "new@example.com", "notes": "Updated via automation"}},
        "preconditions": [{"field": "record_exists", "operator": "eq", "value": true, "evidence_ref": "evidence-001"}],
        "risk_envelope": {"allowed_side_effects": ["audit_log_entry"],
            "forbidden_effects": ["email_notification", "workflow_trigger"], "max_affected_records": 1,
            "reversible_required": true},
        "time_window": {"valid_from_ms": 1_705_171_200_000_u64, "valid_until_ms": 1_705_171_500_000_u64,
            "max_duration_ms": 30_000},
        "approval_class": "none"
    })
}

fn packet() -> Json {
    let payload = json!({"record_exists": true});
    let hash = PayloadHash::of(&mut Canonicalizer::new(), &payload).unwrap().to_string();
    json!({"evidence_id": "evidence-001", "packet_type": "api_response", "sensor_id": "crm", "sensor_type": "api",
        "observed_at_ms": 1_705_171_210_000_u64, "received_at_ms": 1_705_171_210_100_u64, "payload": payload,
        "payload_hash": hash})
}

fn judge(proposal: &Json, packet: &Json, files: &PolicyFiles) -> Judgement {
    let policies = PolicySet::load(files).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let proposal = serde_json::to_vec(proposal).unwrap();
    let packet = serde_json::to_vec(packet).unwrap();
    let evidence = [Value::read(&packet).unwrap()];
    decide(&Case {
        proposal: &proposal,
        policies: &policies,
        evidence: &evidence,
        approvals: &[],
        now_ms: 1_705_171_260_000,
        halted: false,
    })
}

#[test]
fn the_example_is_allowed() {
    let judgement = judge(&example(), &packet(), &files());
    println!("{:#?}", judgement);
    assert_eq!(judgement.decision.outcome.name(), "ALLOW");
    assert!(judgement.grant.is_some());
}
