//! The life of an action at the gate, on a store in memory and with a clock that the test moves.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

use ordain_canon::Value;
use ordain_decision::PolicyFiles;
use ordain_spec::approval::Verdict;
use ordain_spec::decision::Outcome;
use ordain_store::{Location, Store};
use ordain_workflow::gate::{
    ActionStatus, Caller, Clock, Gate, GateError, Keyring, NewToken, Report, Role, Say, Settings, Spend,
    Spent, State, UseOutcome, audit, replay,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const NOW: u64 = 1_800_000_000_000;

struct Scene {
    gate: Gate,
    hands: Arc<AtomicU64>,
    operator: Caller,
}

impl Scene {
    async fn new() -> Self {
        let store = Store::open(&Location::Memory).await.unwrap();
        Self::on(store).await
    }

    async fn on(store: Store) -> Self {
        let hands = Arc::new(AtomicU64::new(NOW));
        let shown = hands.clone();
        let clock = Clock::of(move || shown.load(Ordering::Relaxed));
        let gate =
            Gate::open(store, Keyring::ephemeral().unwrap(), clock, Settings::default()).await.unwrap();
        let operator = Caller::local("operator");
        gate.set_policy(&operator, &policies("2")).await.unwrap();
        Self { gate, hands, operator }
    }

    fn pass(&self, ms: u64) {
        self.hands.fetch_add(ms, Ordering::Relaxed);
    }

    async fn token(&self, principal: &str, roles: &[Role], names: &[&str]) -> Caller {
        let new = NewToken {
            principal: principal.to_owned(),
            roles: roles.iter().copied().collect(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            expires_at_ms: None,
        };
        let (_, secret) = self.gate.create_token(&self.operator, &new).await.unwrap();
        self.gate.authenticate(&secret).await.unwrap()
    }

    async fn submit(&self, proposal: &Json) -> ActionStatus {
        self.gate.submit(&self.operator, proposal.to_string().as_bytes(), None).await.unwrap().status
    }

    async fn say(
        &self,
        who: &str,
        status: &ActionStatus,
        verdict: Verdict,
    ) -> Result<ActionStatus, GateError> {
        let say = Say { verdict, reason: "because".to_owned(), view_digest: status.view_digest.clone() };
        self.gate.say(&Caller::local(who), &status.action_id, &say).await
    }

    async fn spend(&self, status: &ActionStatus, proposal: &Json) -> Result<Spent, GateError> {
        let permit = status.permit.as_ref().unwrap();
        let (target, parameters) = (proposal["target"].to_string(), proposal["parameters"].to_string());
        let spend = Spend {
            permit: permit.token.as_deref().unwrap(),
            action_type: proposal["action_type"].as_str().unwrap(),
            target: &Value::read(target.as_bytes()).unwrap(),
            parameters: &Value::read(parameters.as_bytes()).unwrap(),
        };
        self.gate.spend(&Caller::local("worker"), &permit.permit_id, &spend).await
    }

    async fn report(&self, spent: &Spent, outcome: UseOutcome) -> Result<State, GateError> {
        let report = Report {
            number: spent.number,
            outcome,
            affected_records: None,
            duration_ms: None,
            reason: String::new(),
            change: None,
        };
        self.gate.settle(&Caller::local("worker"), &spent.permit_id, &report).await?;
        Ok(self.gate.status(&self.operator, &spent.action_id).await?.state)
    }
}

fn policies(executions: &str) -> PolicyFiles {
    let cedar = format!(
        r#"
@id("read") @max_executions("{executions}")
permit(principal, action == Action::"read", resource);
@id("write") @approval("dual") @approvers("leads")
permit(principal, action == Action::"write", resource);
"#
    );
    let entities = r#"[
        {"uid": {"type": "Group", "id": "leads"}, "attrs": {}, "parents": []},
        {"uid": {"type": "Actor", "id": "ann"}, "attrs": {}, "parents": [{"type": "Group", "id": "leads"}]},
        {"uid": {"type": "Actor", "id": "bob"}, "attrs": {}, "parents": [{"type": "Group", "id": "leads"}]},
        {"uid": {"type": "Actor", "id": "agent"}, "attrs": {}, "parents": [{"type": "Group", "id": "leads"}]}
    ]"#;
    PolicyFiles::from([
        ("all.cedar".to_owned(), cedar),
        ("entities.json".to_owned(), entities.to_owned()),
        ("redact.toml".to_owned(), "fields = [\"password\"]".to_owned()),
    ])
}

fn proposal(id: &str, action: &str) -> Json {
    json!({"proposal_id": id, "ts_ms": NOW, "actor": "agent", "action_type": action,
        "target": {"resource_type": "crm_record", "resource_id": "7", "domain": "crm", "constraints": {}},
        "parameters": {"updates": {"email": "x@example.org"}, "password": "hunter2"}})
}

#[tokio::test]
async fn an_allowed_action_is_spent_as_often_as_its_permit_says() {
    let scene = Scene::new().await;
    let read = proposal("p1", "read");
    let status = scene.submit(&read).await;
    assert_eq!((status.state, status.decision.outcome), (State::Allowed, Outcome::Allow));
    let again = scene.gate.submit(&scene.operator, read.to_string().as_bytes(), None).await.unwrap();
    assert!(!again.new);
    assert_eq!(again.status, status);
    let other = proposal("p1", "write").to_string();
    let refused = scene.gate.submit(&scene.operator, other.as_bytes(), None).await;
    assert!(matches!(refused, Err(GateError::Conflict(_))));

    let first = scene.spend(&status, &read).await.unwrap();
    assert_eq!((first.number, first.uses_left), (1, 1));
    assert_eq!(scene.report(&first, UseOutcome::Succeeded).await.unwrap(), State::Succeeded);
    let second = scene.spend(&status, &read).await.unwrap();
    assert_eq!((second.number, second.uses_left), (2, 0));
    let third = scene.spend(&status, &read).await.unwrap_err().to_string();
    assert!(third.contains("could be used 2 times"), "{third}");

    let mut other = read.clone();
    other["parameters"]["updates"]["email"] = json!("y@example.org");
    let refused = scene.spend(&status, &other).await.unwrap_err().to_string();
    assert!(refused.contains("`parameters`"), "{refused}");
}

#[tokio::test]
async fn a_held_action_waits_for_two_others() {
    let scene = Scene::new().await;
    let write = proposal("p1", "write");
    let status = scene.submit(&write).await;
    assert_eq!(status.state, State::Held);
    assert!(!status.view.to_string().contains("hunter2"));
    assert!(status.view.to_string().contains("redacted:sha256:"));
    // Not the actor, not a stranger, not with another view.
    for (who, word) in [("agent", "own proposal"), ("eve", "does not count")] {
        let refused = scene.say(who, &status, Verdict::Approve).await.unwrap_err().to_string();
        assert!(refused.contains(word), "{refused}");
    }
    let other = ActionStatus { view_digest: format!("sha256:{}", "0".repeat(64)), ..status.clone() };
    assert!(matches!(scene.say("ann", &other, Verdict::Approve).await, Err(GateError::Conflict(_))));

    let first = scene.say("ann", &status, Verdict::Approve).await.unwrap();
    assert_eq!(first.state, State::Held);
    let twice = scene.say("ann", &status, Verdict::Approve).await.unwrap();
    assert_eq!((twice.state, twice.approvals.len()), (State::Held, 1));
    let allowed = scene.say("bob", &status, Verdict::Approve).await.unwrap();
    assert_eq!(allowed.state, State::Allowed);
    let spent = scene.spend(&allowed, &write).await.unwrap();
    assert_eq!(scene.report(&spent, UseOutcome::Failed).await.unwrap(), State::Failed);

    let status = scene.submit(&proposal("p2", "write")).await;
    let denied = scene.say("bob", &status, Verdict::Reject).await.unwrap();
    assert_eq!((denied.state, denied.approvals[0].reason.as_str()), (State::Denied, "because"));
    // An edited proposal takes the place of the old one, and starts without approvals.
    let status = scene.submit(&proposal("p3", "write")).await;
    scene.say("ann", &status, Verdict::Approve).await.unwrap();
    let edited = proposal("p4", "write").to_string();
    let edited = scene.gate.submit(&scene.operator, edited.as_bytes(), Some("p3")).await.unwrap().status;
    assert_eq!((edited.state, edited.approvals.len()), (State::Held, 0));
    let old = scene.gate.status(&scene.operator, "p3").await.unwrap();
    assert_eq!((old.state, old.superseded_by.as_deref()), (State::Superseded, Some("p4")));
    assert!(scene.say("bob", &old, Verdict::Approve).await.is_err());
    // Nobody answers.
    scene.pass(24 * 3_600_000);
    assert_eq!(scene.gate.status(&scene.operator, "p4").await.unwrap().state, State::Expired);
    assert!(scene.say("bob", &edited, Verdict::Approve).await.is_err());
    assert_eq!(scene.gate.sweep().await.unwrap(), 1);
    assert_eq!(scene.gate.sweep().await.unwrap(), 0);
}

#[tokio::test]
async fn nobody_approves_under_another_name() {
    let scene = Scene::new().await;
    let ann = scene.token("ann", &[Role::Actor], &["agent"]).await;
    let approver = scene.token("ann", &[Role::Approver], &[]).await;
    let status =
        scene.gate.submit(&ann, proposal("p1", "write").to_string().as_bytes(), None).await.unwrap().status;
    let say = Say { verdict: Verdict::Approve, reason: String::new(), view_digest: status.view_digest };
    let refused = scene.gate.say(&approver, "p1", &say).await.unwrap_err().to_string();
    assert!(refused.contains("own proposal"), "{refused}");
    let mut foreign = proposal("p2", "write");
    foreign["actor"] = json!("bob");
    let refused =
        scene.gate.submit(&ann, foreign.to_string().as_bytes(), None).await.err().unwrap().to_string();
    assert!(refused.contains("may not propose as `bob`"), "{refused}");
    assert!(matches!(scene.gate.halt(&ann, "x").await, Err(GateError::Forbidden(_))));
}

#[tokio::test]
async fn halt_window_policy_and_clock_are_asked_again_when_a_permit_is_spent() {
    let scene = Scene::new().await;
    let read = proposal("p1", "read");
    let status = scene.submit(&read).await;
    scene.gate.halt(&scene.operator, "stop").await.unwrap();
    let Err(GateError::Refused { reasons, .. }) = scene.spend(&status, &read).await else { panic!() };
    assert_eq!(reasons[0].rule_id, "G1");
    assert_eq!(scene.submit(&proposal("p2", "read")).await.state, State::Denied);
    scene.gate.resume(&scene.operator, "go").await.unwrap();
    // Other policies: no longer permitted.
    let none = PolicyFiles::from([(
        "none.cedar".to_owned(),
        "@id(\"none\") permit(principal, action == Action::\"delete\", resource);".to_owned(),
    )]);
    scene.gate.set_policy(&scene.operator, &none).await.unwrap();
    assert!(matches!(scene.spend(&status, &read).await, Err(GateError::Refused { .. })));
    let broken = PolicyFiles::from([("a.cedar".to_owned(), "permit(".to_owned())]);
    assert!(matches!(scene.gate.set_policy(&scene.operator, &broken).await, Err(GateError::Invalid { .. })));
    // What is refused changes nothing: the policies before it still decide.
    for (id, action, state) in [("p3", "read", State::Denied), ("p4", "delete", State::Allowed)] {
        assert_eq!(scene.submit(&proposal(id, action)).await.state, state, "{action}");
    }
    scene.gate.set_policy(&scene.operator, &policies("2")).await.unwrap();
    // The window is five minutes, and a clock that is set back does not open it again.
    scene.pass(300_000);
    let expired = scene.spend(&status, &read).await.unwrap_err().to_string();
    assert!(expired.contains("expired"), "{expired}");
    scene.hands.store(NOW, Ordering::Relaxed);
    assert!(scene.spend(&status, &read).await.is_err());
}

#[tokio::test]
async fn what_nobody_knows_is_not_done_again() {
    let scene = Scene::new().await;
    let read = proposal("p1", "read");
    let status = scene.submit(&read).await;
    let spent = scene.spend(&status, &read).await.unwrap();
    assert_eq!(scene.report(&spent, UseOutcome::Unknown).await.unwrap(), State::Unknown);
    // Neither with the same permit nor with another one for the same thing.
    for id in ["p1", "p2"] {
        let status = scene.submit(&proposal(id, "read")).await;
        let refused = scene.spend(&status, &read).await.unwrap_err().to_string();
        assert!(refused.contains("nobody knows"), "{refused}");
    }
    assert_eq!(scene.report(&spent, UseOutcome::Failed).await.unwrap(), State::Failed);
    let status = scene.gate.status(&scene.operator, "p1").await.unwrap();
    // A worker that vanishes leaves the same.
    let silent = scene.spend(&status, &read).await.unwrap();
    assert_eq!(silent.number, 2);
    scene.pass(5 * 60_000 + 5_001);
    assert_eq!(scene.gate.status(&scene.operator, "p1").await.unwrap().state, State::Unknown);
    assert_eq!(scene.gate.sweep().await.unwrap(), 1);
    let settled = Report {
        number: 2,
        outcome: UseOutcome::Succeeded,
        affected_records: Some(1),
        duration_ms: None,
        reason: "looked".to_owned(),
        change: None,
    };
    let permit = scene.gate.settle(&scene.operator, &silent.permit_id, &settled).await.unwrap();
    assert_eq!(permit.uses[1].settled.as_ref().unwrap().outcome, UseOutcome::Succeeded);
    let otherwise = Report { outcome: UseOutcome::Failed, ..settled };
    assert!(matches!(
        scene.gate.settle(&scene.operator, &silent.permit_id, &otherwise).await,
        Err(GateError::Conflict(_))
    ));
}

#[tokio::test]
async fn an_outcome_beyond_the_limits_has_failed() {
    let scene = Scene::new().await;
    let mut read = proposal("p1", "read");
    read["risk_envelope"] = json!({"allowed_side_effects": [], "forbidden_effects": [], "max_affected_records": 3,
        "reversible_required": false});
    let status = scene.submit(&read).await;
    let spent = scene.spend(&status, &read).await.unwrap();
    let report = Report {
        number: 1,
        outcome: UseOutcome::Succeeded,
        affected_records: Some(4),
        duration_ms: Some(1),
        reason: String::new(),
        change: None,
    };
    let permit = scene.gate.settle(&Caller::local("worker"), &spent.permit_id, &report).await.unwrap();
    let settled = permit.uses[0].settled.clone().unwrap();
    assert_eq!(settled.outcome, UseOutcome::Failed);
    assert!(settled.reason.contains("allows 3"), "{}", settled.reason);
}

#[tokio::test]
async fn the_ledger_verifies_and_replays() {
    let scene = Scene::new().await;
    let read = proposal("p1", "read");
    let status = scene.submit(&read).await;
    scene.spend(&status, &read).await.unwrap();
    let held = scene.submit(&proposal("p2", "write")).await;
    scene.say("ann", &held, Verdict::Approve).await.unwrap();
    scene.submit(&proposal("p3", "delete")).await;
    let verifiers = scene.gate.note_verifiers().await.unwrap();
    let checkpoint = scene.gate.checkpoint().await.unwrap();
    let found = audit(scene.gate.store(), &verifiers, &[checkpoint], |_, _| {}).await.unwrap();
    assert_eq!((found.damage, found.checkpoints), (vec![], 1));
    let proof = scene.gate.prove(&scene.operator, 3).await.unwrap();
    let origin = scene.gate.gate_status().await.unwrap().origin;
    proof.verify_entry(&verifiers, &origin).unwrap();

    let same = replay(&scene.gate, None, |_, _| {}).await.unwrap();
    assert_eq!((same.decisions, same.same, same.flips.len(), same.not_replayed.len()), (5, 5, 0, 0));
    let other = ordain_decision::PolicySet::load(&PolicyFiles::from([(
        "a.cedar".to_owned(),
        "@id(\"a\") permit(principal, action == Action::\"delete\", resource);".to_owned(),
    )]))
    .unwrap();
    let flips = replay(&scene.gate, Some(other), |_, _| {}).await.unwrap();
    let flips: Vec<_> = flips.flips.iter().map(|flip| (flip.action_id.as_str(), flip.would_be)).collect();
    let deny = Outcome::Deny;
    assert_eq!(flips, [("p1", deny), ("p1", deny), ("p2", deny), ("p2", deny), ("p3", Outcome::Allow)]);
}

#[tokio::test]
async fn a_permit_of_many_uses_keeps_a_short_record() {
    let scene = Scene::new().await;
    scene.gate.set_policy(&scene.operator, &policies("1000")).await.unwrap();
    let read = proposal("p1", "read");
    let status = scene.submit(&read).await;
    for number in 1..=100 {
        let spent = scene.spend(&status, &read).await.unwrap();
        assert_eq!((spent.number, spent.uses_left), (number, 1000 - number));
        scene.report(&spent, UseOutcome::Succeeded).await.unwrap();
    }
    let permit = scene.gate.status(&scene.operator, "p1").await.unwrap().permit.unwrap();
    assert_eq!((permit.used, permit.uses.len(), permit.uses[0].number), (100, 64, 37));
    let again = Report {
        number: 1,
        outcome: UseOutcome::Failed,
        affected_records: None,
        duration_ms: None,
        reason: String::new(),
        change: None,
    };
    let refused =
        scene.gate.settle(&scene.operator, &permit.permit_id, &again).await.unwrap_err().to_string();
    assert!(refused.contains("settled already"), "{refused}");
    assert_eq!(ordain_workflow::gate::check_records(scene.gate.store()).await.unwrap(), []);
}
