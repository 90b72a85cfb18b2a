//! A default deny says what would have to change. Changing just that turns the decision.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

use ordain_canon::{Canonicalizer, ContentHash, Value};
use ordain_decision::{Case, Judgement, PolicyFiles, PolicySet, decide};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

const POLICIES: &str = r#"
@id("sales") permit(principal in Group::"sales", action == Action::"write", resource in Domain::"salesforce.com");
@id("small") @approval("single") @approvers("leads")
permit(principal in Group::"agents", action in Action::"modify", resource in ResourceType::"record")
when { context has envelope && context.envelope.max_affected_records <= 10 && context.parameters has region }
when { context.parameters.region == "eu" };
@id("one") permit(principal == Actor::"deployer", action == Action::"execute", resource == Resource::"ci/job/deploy")
unless { context.rollback == "none" };
@id("docs") permit(principal, action == Action::"create", resource) when { resource has path && resource.path like "docs/*" };
@id("cheap") permit(principal, action == Action::"transact", resource)
when { context.parameters has amount && context.parameters.amount < 100 && context.parameters has region && context.parameters.region != "us" };
@id("either") permit(principal, action == Action::"communicate", resource)
when { context.approval_class == "dual" || context.parameters has region };
@id("brief") permit(principal, action == Action::"navigate", resource)
when { if context has window then context.window.max_duration_ms <= 1000 else false };
@id("seen") permit(principal, action == Action::"read", resource)
when { context.evidence.preconditions_hold && context.evidence.sensors.contains("crm") };
@id("staff") permit(principal in Group::"staff", action == Action::"custom", resource);
@id("strict") @approvers("leads") permit(principal, action == Action::"delete", resource) when { context.approval_class != "none" && context has envelope && context.envelope.reversible_required };
"#;

const SCHEMA: &str = "type Parameters = { region?: String, amount?: Long };";

/// In a patch set, each operation has its own misses.
const PATCH_POLICIES: &str = r#"
@id("docs") permit(principal, action in [Action::"create", Action::"write"], resource in Domain::"workspace")
when { resource has path && resource.path like "docs/*" };
@id("drafts") permit(principal in Group::"agents", action == Action::"delete", resource)
when { resource has path && resource.path like "drafts/*" };
"#;

#[derive(Clone)]
struct World {
    texts: &'static str,
    proposal: Json,
    evidence: Vec<Json>,
    /// The groups that actors are in.
    members: Vec<(String, String)>,
}

/// Policy sets by the members of their groups: making one takes far longer than asking it.
type Sets = BTreeMap<Vec<(String, String)>, PolicySet>;

impl World {
    fn decide(&self, sets: &mut Sets) -> Judgement {
        let mut members = self.members.clone();
        members.sort();
        members.dedup();
        let policies = sets.entry(members).or_insert_with(|| self.policies());
        let proposal = serde_json::to_vec(&self.proposal).unwrap();
        let evidence: Vec<String> = self.evidence.iter().map(Json::to_string).collect();
        let evidence: Vec<Value<'_>> =
            evidence.iter().map(|it| Value::read(it.as_bytes()).unwrap()).collect();
        decide(&Case {
            document: &Value::read(&proposal).unwrap(),
            policies,
            evidence: &evidence,
            approvals: &[],
            approver_keys: &ordain_spec::statement::NO_KEYS,
            now_ms: 1_000,
            halted: false,
            workspace: None,
        })
    }

    fn policies(&self) -> PolicySet {
        let mut entities = vec![];
        for group in ["sales", "agents", "leads", "staff"] {
            entities.push(json!({"uid": {"type": "Group", "id": group}, "attrs": {}, "parents": []}));
        }
        for (group, parent) in [("office", "staff"), ("desk", "office")] {
            let parents = json!([{"type": "Group", "id": parent}]);
            entities.push(json!({"uid": {"type": "Group", "id": group}, "attrs": {}, "parents": parents}));
        }
        let mut actors: Vec<&String> = self.members.iter().map(|(actor, _)| actor).collect();
        actors.sort();
        actors.dedup();
        for actor in actors {
            let groups: Vec<Json> = self
                .members
                .iter()
                .filter(|(member, _)| member == actor)
                .map(|(_, group)| json!({"type": "Group", "id": group}))
                .collect();
            entities.push(json!({"uid": {"type": "Actor", "id": actor}, "attrs": {}, "parents": groups}));
        }
        let files = PolicyFiles::from([
            ("p.cedar".to_owned(), self.texts.to_owned()),
            ("sensors.toml".to_owned(), "[sensors.crm]\n".to_owned()),
            ("schema.cedarschema".to_owned(), SCHEMA.to_owned()),
            ("entities.json".to_owned(), Json::Array(entities).to_string()),
        ]);
        PolicySet::load(&files).unwrap_or_else(|problems| panic!("{problems:#?}"))
    }

    /// Makes one condition true of what stands at a place: the proposal, or an operation of a patch set.
    fn follow(&mut self, path: &str, condition: &str) {
        let quoted = || condition.split('"').nth(1).unwrap_or_default().to_owned();
        let envelope = |proposal: &mut Json| {
            if proposal.get("risk_envelope").is_none() {
                proposal["risk_envelope"] = json!({"allowed_side_effects": [], "forbidden_effects": [],
                    "max_affected_records": 1, "reversible_required": false});
            }
        };
        match condition {
            // A group further down will do.
            _ if condition == "principal in Group::\"staff\"" => {
                let actor = self.proposal["actor"].as_str().unwrap().to_owned();
                self.members.push((actor, "desk".to_owned()));
            }
            _ if condition.starts_with("principal in Group") => {
                let actor = self.proposal["actor"].as_str().unwrap().to_owned();
                self.members.push((actor, quoted()));
            }
            _ if condition.starts_with("principal == ") => self.proposal["actor"] = quoted().into(),
            _ if condition.starts_with("resource in Domain") => {
                self.proposal["target"]["domain"] = quoted().into()
            }
            _ if condition.starts_with("resource in ResourceType") => {
                self.proposal["target"]["resource_type"] = quoted().into();
            }
            _ if condition.starts_with("resource == ") => {
                let id = quoted();
                let mut parts = id.splitn(3, '/');
                for name in ["domain", "resource_type", "resource_id"] {
                    self.proposal["target"][name] = parts.next().unwrap().into();
                }
            }
            "resource has path" => self.proposal["target"]["resource_id"] = "docs/a.md".into(),
            _ if condition.starts_with("resource.path like") && !path.is_empty() => {
                self.proposal.pointer_mut(path).unwrap()["path"] = quoted().replace('*', "a.md").into();
            }
            _ if condition.starts_with("resource.path like") => {
                self.proposal["target"]["resource_id"] = quoted().replace('*', "a.md").into();
            }
            "context has envelope" | "context.envelope.max_affected_records <= 10" => {
                envelope(&mut self.proposal);
                self.proposal["risk_envelope"]["max_affected_records"] = 10.into();
            }
            "context.envelope.reversible_required" => {
                envelope(&mut self.proposal);
                self.proposal["risk_envelope"]["reversible_required"] = true.into();
                self.proposal["rollback_semantics"] = json!({"strategy": "manual"});
            }
            "!(context.rollback == \"none\")" => {
                self.proposal["rollback_semantics"] = json!({"strategy": "manual"})
            }
            "context.parameters has region" | "context.parameters.region == \"eu\"" => {
                self.proposal["parameters"]["region"] = "eu".into();
            }
            "context.parameters.region != \"us\"" => self.proposal["parameters"]["region"] = "eu".into(),
            "context.parameters has amount" | "context.parameters.amount < 100" => {
                self.proposal["parameters"]["amount"] = 99.into();
            }
            _ if condition.contains("||") => {
                assert!(condition.contains("context.parameters has region"), "{condition}");
                self.proposal["parameters"]["region"] = "eu".into();
            }
            _ if condition.starts_with("if ") => {
                assert!(condition.contains("context.window.max_duration_ms <= 1000"), "{condition}");
                self.proposal["time_window"] =
                    json!({"valid_from_ms": 1, "valid_until_ms": 2_000, "max_duration_ms": 1_000});
            }
            "context.evidence.preconditions_hold" | "context.evidence.sensors.contains(\"crm\")" => {
                let payload = json!({"open": true});
                let hash = ContentHash::of(Canonicalizer::new().value(&payload).unwrap()).to_string();
                self.proposal["preconditions"] =
                    json!([{"field": "open", "operator": "eq", "value": true, "evidence_ref": "e"}]);
                self.evidence = vec![
                    json!({"evidence_id": "e", "packet_type": "api_response", "sensor_id": "crm",
                    "sensor_type": "api", "observed_at_ms": 1_000, "received_at_ms": 1_000, "payload": payload,
                    "payload_hash": hash}),
                ];
            }
            "context.approval_class != \"none\"" => self.proposal["approval_class"] = "dual".into(),
            other => panic!("the test does not know how to follow `{other}`"),
        }
    }
}

/// The conditions that a message names, those in backticks after the policy's own name.
fn conditions(message: &str) -> Vec<String> {
    let (_, rest) = message.split_once("` if ").unwrap();
    rest.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn following_the_nearest_miss_turns_the_decision() {
    let targets =
        [("salesforce.com", "record", "7"), ("ci", "job", "deploy"), ("workspace", "file", "src/a.rs")];
    let parameters = [json!({}), json!({"region": "us"}), json!({"region": "eu", "amount": 100})];
    let envelope = json!({"allowed_side_effects": [], "forbidden_effects": [], "max_affected_records": 11,
        "reversible_required": false});
    let (mut followed, mut denied, mut sets) = (0, 0, Sets::new());
    for actor in ["agent", "deployer"] {
        for action in [
            "write",
            "create",
            "delete",
            "execute",
            "transact",
            "approve",
            "communicate",
            "navigate",
            "read",
            "custom",
        ] {
            for (domain, kind, id) in targets {
                for parameters in &parameters {
                    for with_envelope in [false, true] {
                        for member in [vec![], vec![("agent", "agents")], vec![("agent", "sales")]] {
                            let mut proposal = json!({"proposal_id": "1", "ts_ms": 1, "actor": actor, "action_type": action,
                                "parameters": parameters, "target": {"resource_type": kind, "resource_id": id,
                                "domain": domain, "constraints": {}}});
                            if with_envelope {
                                proposal["risk_envelope"] = envelope.clone();
                            }
                            let mut members: Vec<(String, String)> = member
                                .iter()
                                .map(|(actor, group)| ((*actor).to_owned(), (*group).to_owned()))
                                .collect();
                            members.extend(["ann", "ben"].map(|lead| (lead.to_owned(), "leads".to_owned())));
                            let world = World { texts: POLICIES, proposal, evidence: vec![], members };
                            let (turned, was_denied) = follow_all(world, &mut sets);
                            followed += turned;
                            denied += was_denied;
                        }
                    }
                }
            }
        }
    }
    assert!(followed > 400 && denied > 400, "{followed} followed, {denied} denied");
}

fn follow_all(world: World, sets: &mut Sets) -> (usize, usize) {
    let decision = world.decide(sets).decision;
    if decision.outcome.name() != "DENY" {
        return (0, 0);
    }
    assert!(decision.reasons.iter().all(|reason| reason.rule_id == "G12"), "{decision:#?}");
    let misses: Vec<_> = decision.reasons.iter().filter(|reason| !reason.policies.is_empty()).collect();
    if misses.is_empty() {
        assert!(decision.reasons[0].message.contains("no permit for `approve` at all"), "{decision:#?}");
    }
    for miss in &misses {
        let mut world = world.clone();
        for condition in conditions(&miss.message) {
            world.follow(&miss.path, &condition);
        }
        let after = world.decide(sets).decision;
        let by: Vec<&str> =
            after.reasons.iter().flat_map(|it| it.policies.iter().map(String::as_str)).collect();
        assert!(by.contains(&miss.policies[0].as_str()), "{miss:#?}\n{after:#?}");
        assert_ne!(after.outcome.name(), "DENY", "{miss:#?}\n{after:#?}");
    }
    (misses.len(), 1)
}

/// All that is wrong is said at once: who follows all of it need not ask a third time.
#[test]
fn following_the_misses_of_a_patch_set_turns_the_decision_at_once() {
    let operation = |op: &str, path: &str| json!({"op": op, "path": path});
    let proposal = json!({"proposal_id": "1", "ts_ms": 1, "actor": "agent", "action_type": "write",
        "parameters": {"operations": [operation("modify", "src/a.rs"), operation("create", "docs/b.md"),
            operation("create", "src/c.rs"), operation("delete", "src/d.rs"), operation("delete", "drafts/e.md")]},
        "target": {"resource_type": "patch_set", "resource_id": "p", "domain": "workspace", "constraints": {}}});
    let mut world = World { texts: PATCH_POLICIES, proposal, evidence: vec![], members: vec![] };
    let mut sets = Sets::new();
    let decision = world.decide(&mut sets).decision;
    assert_eq!(decision.outcome.name(), "DENY");
    let misses: Vec<_> = decision.reasons.iter().filter(|reason| !reason.policies.is_empty()).collect();
    let at: Vec<&str> = misses.iter().map(|miss| miss.path.as_str()).collect();
    let refused = [0, 2, 3, 4].map(|at| format!("/parameters/operations/{at}"));
    assert_eq!(at, refused.each_ref().map(String::as_str), "{decision:#?}");
    for miss in misses {
        for condition in conditions(&miss.message) {
            world.follow(&miss.path, &condition);
        }
    }
    let after = world.decide(&mut sets).decision;
    assert_eq!(after.outcome.name(), "ALLOW", "{after:#?}");
}
