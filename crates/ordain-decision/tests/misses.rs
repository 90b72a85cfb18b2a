//! A default deny says what would have to change. Changing just that turns the decision.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

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
@id("strict") @approvers("leads") permit(principal, action == Action::"delete", resource) when { context.approval_class != "none" && context has envelope && context.envelope.reversible_required };
"#;

const SCHEMA: &str = "type Parameters = { region?: String, amount?: Long };";

struct World {
    proposal: Json,
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
        decide(&Case {
            proposal: &proposal,
            policies,
            evidence: &[],
            approvals: &[],
            now_ms: 1_000,
            halted: false,
        })
    }

    fn policies(&self) -> PolicySet {
        let mut entities = vec![];
        for group in ["sales", "agents", "leads"] {
            entities.push(json!({"uid": {"type": "Group", "id": group}, "attrs": {}, "parents": []}));
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
            ("p.cedar".to_owned(), POLICIES.to_owned()),
            ("schema.cedarschema".to_owned(), SCHEMA.to_owned()),
            ("entities.json".to_owned(), Json::Array(entities).to_string()),
        ]);
        PolicySet::load(&files).unwrap_or_else(|problems| panic!("{problems:#?}"))
    }

    /// Makes one condition true.
    fn follow(&mut self, condition: &str) {
        let quoted = || condition.split('"').nth(1).unwrap_or_default().to_owned();
        let envelope = |proposal: &mut Json| {
            if proposal.get("risk_envelope").is_none() {
                proposal["risk_envelope"] = json!({"allowed_side_effects": [], "forbidden_effects": [],
                    "max_affected_records": 1, "reversible_required": false});
            }
        };
        match condition {
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
        for action in ["write", "create", "delete", "execute", "transact", "approve"] {
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
                            let world = World { proposal, members };
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
        let mut world = World { proposal: world.proposal.clone(), members: world.members.clone() };
        for condition in conditions(&miss.message) {
            world.follow(&condition);
        }
        let after = world.decide(sets).decision;
        let by: Vec<&str> =
            after.reasons.iter().flat_map(|it| it.policies.iter().map(String::as_str)).collect();
        assert!(by.contains(&miss.policies[0].as_str()), "{miss:#?}\n{after:#?}");
        assert_ne!(after.outcome.name(), "DENY", "{miss:#?}\n{after:#?}");
    }
    (misses.len(), 1)
}
