//! Hand-written cases: what the contracts say, one at a time.

use super::*;
use ordain_canon::{ActionHash, Canonicalizer, PayloadHash};
use serde_json::{Value as Json, json};

const NOW_MS: i64 = 1_705_171_260_000;

/// PROPOSAL_SPEC §6 with its evidence and policies that fit.
struct World {
    folder: BTreeMap<String, String>,
    proposal: Json,
    evidence: Vec<Json>,
    approvals: Vec<Json>,
    halted: bool,
}

fn example() -> World {
    let payload = json!({"record_exists": true, "note": "a"});
    let hash = PayloadHash::of(&mut Canonicalizer::new(), &payload).unwrap().to_string();
    let files = [
        ("crm.cedar", CRM),
        ("schema.cedarschema", "type Parameters = { amount?: Long, price?: decimal };"),
        ("entities.json", ENTITIES),
        ("effects.toml", "[write.crm_record]\neffects = [\"audit_log_entry\"]\nrollback = \"manual\"\n"),
        ("sensors.toml", "[sensors.crm]\n"),
        ("tools.toml", TOOLS),
    ];
    World {
        folder: files.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
        proposal: json!({
            "proposal_id": "550e8400-e29b-41d4-a716-446655440000", "ts_ms": 1_705_171_200_000_i64,
            "actor": "agent-sales-001", "action_type": "write",
            "target": {"resource_type": "crm_record", "resource_id": "contact-12345", "domain": "salesforce.com",
                "constraints": {"allowed_fields": ["email", "phone", "notes"],
                    "forbidden_fields": ["ssn", "credit_card"]}},
            "parameters": {"updates": {"email": "new@example.com", "notes": "Updated via automation"}},
            "preconditions": [{"field": "record_exists", "operator": "eq", "value": true,
                "evidence_ref": "evidence-001"}],
            "risk_envelope": {"allowed_side_effects": ["audit_log_entry"],
                "forbidden_effects": ["email_notification", "workflow_trigger"], "max_affected_records": 1,
                "reversible_required": true},
            "time_window": {"valid_from_ms": 1_705_171_200_000_i64, "valid_until_ms": 1_705_171_500_000_i64,
                "max_duration_ms": 30000},
            "approval_class": "none"}),
        evidence: vec![json!({
            "evidence_id": "evidence-001", "packet_type": "api_response", "sensor_id": "crm",
            "sensor_type": "crm_api", "observed_at_ms": 1_705_171_190_000_i64,
            "received_at_ms": 1_705_171_191_000_i64, "payload": payload, "payload_hash": hash})],
        approvals: Vec::new(),
        halted: false,
    }
}

const CRM: &str = r#"
@id("agents-edit")
permit (principal in Group::"agents", action == Action::"write", resource in Domain::"saas")
when { context.evidence.preconditions_hold };

@id("managers-approve") @approval("dual") @approvers("managers")
permit (principal in Group::"agents", action in Action::"external", resource);

@id("delete-by-two") @approvers("managers, agent-two")
permit (principal, action == Action::"delete", resource) when { context.approvals >= 1 };

@id("no-overflow")
forbid (principal, action in Action::"modify", resource)
when { context.parameters has amount && context.parameters.amount * 4611686018427387904 > 0 };
"#;

const ENTITIES: &str = r#"[
    {"uid": {"type": "Group", "id": "agents"}, "attrs": {}, "parents": []},
    {"uid": {"type": "Group", "id": "managers"}, "attrs": {}, "parents": []},
    {"uid": {"type": "Group", "id": "heads"}, "attrs": {}, "parents": [{"type": "Group", "id": "managers"}]},
    {"uid": {"type": "Domain", "id": "saas"}, "attrs": {}, "parents": []},
    {"uid": {"type": "Domain", "id": "salesforce.com"}, "attrs": {}, "parents": [{"type": "Domain", "id": "saas"}]},
    {"uid": {"type": "Actor", "id": "agent-sales-001"}, "attrs": {"person": "sam"},
        "parents": [{"type": "Group", "id": "agents"}]},
    {"uid": {"type": "Actor", "id": "agent-two"}, "attrs": {}, "parents": [{"type": "Group", "id": "agents"}]},
    {"uid": {"type": "Actor", "id": "sam"}, "attrs": {}, "parents": [{"type": "Group", "id": "managers"}]},
    {"uid": {"type": "Actor", "id": "dana"}, "attrs": {}, "parents": [{"type": "Group", "id": "managers"}]},
    {"uid": {"type": "Actor", "id": "dana-phone"}, "attrs": {"person": "dana"},
        "parents": [{"type": "Group", "id": "heads"}]},
    {"uid": {"type": "Actor", "id": "kim"}, "attrs": {}, "parents": [{"type": "Group", "id": "heads"}]}
]"#;

const TOOLS: &str = r#"
["crm.update"]
action_type = "write"
resource_type = "crm_record"
resource_id = "contact-{contact}"
domain = "salesforce.com"
"#;

impl World {
    fn set(&mut self, pointer: &str, value: Json) -> &mut Self {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = self.proposal.pointer_mut(parent).unwrap();
        parent.as_object_mut().unwrap().insert(key.to_owned(), value);
        self
    }

    fn hash(&self) -> String {
        ActionHash::of(&mut Canonicalizer::new(), &self.proposal).unwrap().to_string()
    }

    fn say(&mut self, approver: &str, verdict: &str) -> &mut Self {
        self.approvals.push(json!({
            "proposal_hash": self.hash(), "approver": approver, "verdict": verdict, "reason": "seen",
            "view_digest": format!("sha256:{}", "a".repeat(64)), "at_ms": NOW_MS - 1000}));
        self
    }

    fn decide(&self) -> ModelAnswer {
        let texts = |list: &[Json]| list.iter().map(Json::to_string).collect::<Vec<_>>();
        let (evidence, approvals) = (texts(&self.evidence), texts(&self.approvals));
        let read = |list: &'static [String]| {
            list.iter().map(|it| Value::read(it.as_bytes()).unwrap()).collect::<Vec<_>>()
        };
        decide(&ModelInput {
            folder: &self.folder,
            proposal: self.proposal.to_string().as_bytes(),
            evidence: &read(evidence.leak()),
            approvals: &read(approvals.leak()),
            approver_keys: &ordain_spec::statement::NO_KEYS,
            now_ms: NOW_MS,
            halted: self.halted,
        })
        .unwrap()
    }

    /// `OUTCOME class required [have]: rule path policies; …`
    fn answer(&self) -> String {
        let answer = self.decide();
        let reasons: Vec<String> = answer
            .reasons
            .iter()
            .map(|(rule, path, policies)| format!("{rule} {path} {}", policies.join(",")).replace("  ", " "))
            .map(|text| text.trim().to_owned())
            .collect();
        let class = serde_json::to_value(answer.class).unwrap();
        format!(
            "{} {} {} [{}]: {}",
            answer.outcome.name(),
            class.as_str().unwrap(),
            answer.required,
            answer.have.join(","),
            reasons.join("; ")
        )
    }
}

#[track_caller]
fn check(change: impl Fn(&mut World), expected: &str) {
    let mut world = example();
    change(&mut world);
    assert_eq!(world.answer(), expected);
}

#[test]
fn the_example_is_allowed_and_single_changes_deny() {
    check(|_| {}, "ALLOW none 0 []: G12 agents-edit");
    check(|it| it.halted = true, "DENY none 0 []: G1");
    check(|it| it.proposal = json!("text"), "DENY none 0 []: V-PROP-000");
    check(
        |it| {
            it.set("/ts_ms", json!("x"));
        },
        "DENY none 0 []: V-PROP-002 /ts_ms",
    );
    check(
        |it| {
            it.set("/actor", json!("Agent-Sales-001"));
        },
        "DENY none 0 []: G12; G3 /actor",
    );
    check(
        |it| {
            it.set("/target/domain", json!("sa\u{200b}as"));
        },
        "DENY none 0 []: G12; G3 /target/domain",
    );
    check(|it| it.evidence.clear(), "DENY none 0 []: G12; V-PROP-013 /preconditions/0/evidence_ref");
    check(
        |it| it.evidence[0]["observed_at_ms"] = json!(1_705_160_000_000_i64),
        "DENY none 0 []: G12; V-EVID-012 /preconditions/0/evidence_ref; V-PROP-013 /preconditions/0/evidence_ref",
    );
    check(
        |it| {
            it.set("/preconditions/0/value", json!(1)).set("/preconditions/0/operator", json!("ne"));
        },
        "DENY none 0 []: G12; G5 /preconditions/0",
    );
    check(
        |it| {
            it.set("/risk_envelope/allowed_side_effects", json!([]));
        },
        "DENY none 0 []: G6 /risk_envelope/allowed_side_effects",
    );
    check(
        |it| {
            it.set("/rollback_semantics", json!({"strategy": "none"}));
        },
        "DENY none 0 []: G7 /rollback_semantics",
    );
    check(
        |it| {
            it.set("/parameters/amount", json!(1.5));
        },
        "DENY none 0 []: G8 /parameters/amount",
    );
    check(
        |it| {
            it.set("/parameters/amount", json!(1));
        },
        "DENY none 0 []: G10 no-overflow",
    );
    check(
        |it| {
            it.set("/parameters/amount", json!(2));
        },
        "DENY none 0 []: G11 no-overflow",
    );
    check(
        |it| {
            it.set("/parameters/price", json!(0.0001));
        },
        "ALLOW none 0 []: G12 agents-edit",
    );
    check(
        |it| {
            it.set("/parameters/price", json!(0.00011));
        },
        "DENY none 0 []: G8 /parameters/price",
    );
}

#[test]
fn approvals_are_counted_by_person() {
    let transact = |it: &mut World| {
        it.set("/action_type", json!("transact")).set("/rollback_semantics", json!({"strategy": "manual"}));
    };
    let by = |names: &'static [(&str, &str)]| {
        move |it: &mut World| {
            transact(it);
            for (name, verdict) in names {
                it.say(name, verdict);
            }
        }
    };
    const YES: &str = "approve";
    check(by(&[]), "HOLD dual 2 []: G12 managers-approve; G14 /approval_class managers-approve");
    check(by(&[("dana", YES), ("kim", YES)]), "ALLOW dual 2 [dana,kim]: G12 managers-approve");
    check(
        by(&[("dana", YES), ("dana-phone", YES)]),
        "HOLD dual 2 [dana]: G12 managers-approve; G14 /approval_class managers-approve; G15",
    );
    check(
        by(&[("dana", YES), ("sam", YES)]),
        "HOLD dual 2 [dana]: G12 managers-approve; G14 /approval_class managers-approve; G15",
    );
    check(by(&[("dana", YES), ("kim", YES), ("dana-phone", "reject")]), "DENY dual 2 [dana,kim]: G13");
    check(
        by(&[("agent-two", "reject")]),
        "HOLD dual 2 []: G12 managers-approve; G14 /approval_class managers-approve; G15",
    );
}

#[test]
fn policies_can_ask_for_approvals() {
    let delete = |it: &mut World| {
        it.set("/action_type", json!("delete"));
    };
    check(
        |it| {
            delete(it);
            it.set("/rollback_semantics", json!({"strategy": "manual"}));
        },
        "HOLD none 1 []: G12 delete-by-two; G14 /approval_class delete-by-two",
    );
    check(
        |it| {
            delete(it);
            it.set("/rollback_semantics", json!({"strategy": "manual"}));
            it.say("agent-two", "approve");
        },
        "ALLOW none 0 [agent-two]: G12 delete-by-two",
    );
    check(delete, "DENY none 1 []: G14 /approval_class delete-by-two; G7 /rollback_semantics");
}

#[test]
fn what_no_approval_can_turn_is_not_held() {
    check(
        |it| {
            it.folder.insert("x.cedar".into(), ONLY_UNAPPROVED.into());
            it.set("/action_type", json!("custom")).set("/rollback_semantics", json!({"strategy": "manual"}));
        },
        "DENY single 1 []: G14 /approval_class only-unapproved; V-PROP-014 /approval_class",
    );
}

const ONLY_UNAPPROVED: &str = r#"
@id("only-unapproved") @approval("single") @approvers("kim")
permit (principal, action == Action::"custom", resource) when { context.approvals == 0 };
"#;

#[test]
fn a_pattern_matches_the_whole_field() {
    let matches = |pattern: &'static str| {
        move |it: &mut World| {
            it.set("/preconditions/0/field", json!("note"))
                .set("/preconditions/0/operator", json!("matches"));
            it.set("/preconditions/0/value", json!(pattern));
        }
    };
    for pattern in ["a", "a|b", "(?i)A", "(?x) a # the whole note"] {
        check(matches(pattern), "ALLOW none 0 []: G12 agents-edit");
    }
    for pattern in ["", "b|c", "a)|(b", "aa", "("] {
        check(matches(pattern), "DENY none 0 []: G12; G5 /preconditions/0");
    }
}

#[test]
fn a_request_is_mapped_and_a_patch_set_is_its_operations() {
    let request = |name: &'static str| {
        move |it: &mut World| {
            it.proposal = json!({"request_id": "r", "ts_ms": 1, "actor": "agent-two", "intent": "",
                "tool_call": {"name": name, "params": {"contact": 7}}});
        }
    };
    check(request("crm.delete"), "DENY none 0 []: G2 /tool_call");
    check(request("crm.update"), "DENY none 0 []: G12; G6 /risk_envelope");
    let patch = |operations: Json| {
        move |it: &mut World| {
            it.set(
                "/target",
                json!({"resource_type": "patch_set", "resource_id": "p", "domain": "workspace",
                "constraints": {}}),
            );
            it.set("/parameters", json!({"operations": operations}));
            it.set("/rollback_semantics", json!({"strategy": "inverse_patch"}));
            it.folder.insert("files.cedar".into(), FILES.into());
        }
    };
    let op = |op: &str, path: &str| json!({"op": op, "path": path});
    check(
        patch(json!([op("create", "src/a.rs"), op("modify", "src/b.rs")])),
        "ALLOW none 0 []: G12 /parameters/operations/0 source",
    );
    check(
        patch(json!([op("create", "src/a.rs"), op("create", "etc/b"), op("delete", "etc/c")])),
        "DENY none 0 []: G12 /parameters/operations/1; G12 /parameters/operations/2",
    );
    check(
        patch(json!([op("create", "etc/b"), op("create", "etc/b")])),
        "DENY none 0 []: G12 /parameters/operations/0",
    );
    check(patch(json!([op("create", "../a")])), "DENY none 0 []: G9 /parameters/operations/0");
    check(patch(json!([])), "DENY none 0 []: G9 /parameters/operations");
}

const FILES: &str = r#"
@id("source")
permit (principal, action in [Action::"create", Action::"write"], resource is Resource in ResourceType::"file")
when { resource has path && resource.path like "src/*" };
"#;

#[test]
fn invalid_folders_are_refused() {
    for (file, text) in [
        ("x.cedar", "permit (principal, action, resource);"),
        ("x.cedar", "@id(\"agents-edit\") permit (principal, action, resource);"),
        ("x.cedar", "@id(\"x\") @color(\"red\") permit (principal, action, resource);"),
        ("x.cedar", "@id(\"x\") @approval(\"single\") permit (principal, action, resource);"),
        (
            "x.cedar",
            "@id(\"x\") @approval(\"threshold:4\") @approvers(\"managers\") permit (principal, action, resource);",
        ),
        (
            "x.cedar",
            "@id(\"x\") permit (principal, action, resource) when { context.parameters.amount > 1 };",
        ),
        ("x.cedar", "@id(\"x\") permit (principal == ?principal, action, resource);"),
        ("schema.cedarschema", "entity Robot;"),
        (
            "entities.json",
            "[{\"uid\": {\"type\": \"Robot\", \"id\": \"r\"}, \"attrs\": {}, \"parents\": []}]",
        ),
        ("effects.toml", "[fly.crm_record]\neffects = []\n"),
    ] {
        let mut world = example();
        world.folder.insert(file.to_owned(), text.to_owned());
        assert!(ModelFolder::read(&world.folder).is_err(), "{text}");
    }
    let mut world = example();
    world.folder.insert("x.cedar".into(), "@id(\"x\") @approval(\"threshold:3\") @approvers(\"managers\") @x_a(\"b\") permit (principal, action, resource);".into());
    assert!(ModelFolder::read(&world.folder).is_ok());
}
