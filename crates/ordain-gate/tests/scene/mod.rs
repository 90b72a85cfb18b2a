//! A gate on a store in memory, with a clock that the test moves.
#![allow(dead_code, reason = "every test uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

pub(crate) mod owner;
pub(crate) mod stored;

use ordain_api::{
    ActionState, ActionStatus, NewToken, OutcomeReport, Role, UseOutcome, UseReceipt, VerdictRequest,
};
use ordain_canon::Value;
use ordain_decision::PolicyFiles;
use ordain_gate::{Caller, Clock, Gate, GateError, IntendedAction, Keyring, Settings, Spend};
use ordain_spec::approval::Verdict;
use ordain_store::{Location, Store};
use serde_json::{Value as Json, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The agents whose proposals the operator hands in.
pub(crate) const AGENTS: [&str; 2] = ["agent", "agent-2"];

pub(crate) const NOW: u64 = 1_800_000_000_000;

pub(crate) struct Scene {
    pub(crate) gate: Gate,
    pub(crate) hands: Arc<AtomicU64>,
    pub(crate) operator: Caller,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let store = Store::open(&Location::Memory).await.unwrap();
        Self::on(store).await
    }

    pub(crate) async fn on(store: Store) -> Self {
        Self::at(store, NOW).await
    }

    /// Another node, by whose clock it is then.
    pub(crate) async fn at(store: Store, now_ms: u64) -> Self {
        // One key for all nodes of a test: a store is refused without the key that it was opened with.
        static KEYRING: OnceLock<Keyring> = OnceLock::new();
        Self::with(store, KEYRING.get_or_init(|| Keyring::ephemeral().unwrap()).clone(), now_ms).await
    }

    pub(crate) async fn with(store: Store, keyring: Keyring, now_ms: u64) -> Self {
        let hands = Arc::new(AtomicU64::new(now_ms));
        let shown = hands.clone();
        let clock = Clock::of(move || shown.load(Ordering::Relaxed));
        let gate = Gate::open(store, keyring, clock, Settings::default()).await.unwrap();
        let operator = Caller::local("operator").with_agents(AGENTS);
        gate.set_policy(&operator, &policies("2")).await.unwrap();
        Self { gate, hands, operator }
    }

    pub(crate) fn pass(&self, ms: u64) {
        self.hands.fetch_add(ms, Ordering::Relaxed);
    }

    pub(crate) async fn token(&self, principal: &str, roles: &[Role], names: &[&str]) -> Caller {
        let new = NewToken {
            principal: principal.to_owned(),
            roles: roles.iter().copied().collect(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            expires_at_ms: None,
            secret: None,
        };
        let (_, secret) = self.gate.create_token(&self.operator, &new).await.unwrap();
        self.gate.authenticate(&secret.unwrap()).await.unwrap()
    }

    pub(crate) async fn submit(&self, proposal: &Json) -> ActionStatus {
        self.gate.submit(&self.operator, proposal.to_string().as_bytes(), None).await.unwrap().status
    }

    pub(crate) async fn say(
        &self,
        who: &str,
        status: &ActionStatus,
        verdict: Verdict,
    ) -> Result<ActionStatus, GateError> {
        let say = VerdictRequest {
            verdict,
            reason: "because".to_owned(),
            view_digest: status.view_digest.clone(),
            signed: None,
            scope: None,
        };
        self.gate.give_verdict(&Caller::local(who), &status.action_id, &say).await
    }

    pub(crate) async fn spend(
        &self,
        status: &ActionStatus,
        proposal: &Json,
    ) -> Result<UseReceipt, GateError> {
        let permit = status.permit.as_ref().unwrap();
        let (target, parameters) = (proposal["target"].to_string(), proposal["parameters"].to_string());
        let action = IntendedAction::Action {
            action_type: proposal["action_type"].as_str().unwrap(),
            target: &Value::read(target.as_bytes()).unwrap(),
            parameters: &Value::read(parameters.as_bytes()).unwrap(),
        };
        let spend = Spend { permit: permit.token.as_deref().unwrap(), action };
        self.gate.spend(&Caller::local("worker").with_agents(AGENTS), &permit.permit_id, &spend).await
    }

    /// The same, by a KernelRequest.
    pub(crate) async fn spend_request(
        &self,
        status: &ActionStatus,
        request: &Json,
    ) -> Result<UseReceipt, GateError> {
        let permit = status.permit.as_ref().unwrap();
        let request = request.to_string();
        let action = IntendedAction::Request(&Value::read(request.as_bytes()).unwrap());
        let spend = Spend { permit: permit.token.as_deref().unwrap(), action };
        self.gate.spend(&Caller::local("worker").with_agents(AGENTS), &permit.permit_id, &spend).await
    }

    pub(crate) async fn report(
        &self,
        spent: &UseReceipt,
        outcome: UseOutcome,
    ) -> Result<ActionState, GateError> {
        let report = OutcomeReport {
            number: spent.number,
            outcome,
            affected_records: None,
            duration_ms: None,
            reason: String::new(),
            change: None,
        };
        self.gate.settle(&Caller::local("worker").with_agents(AGENTS), &spent.permit_id, &report).await?;
        Ok(self.gate.status(&self.operator, &spent.action_id).await?.state)
    }
}

/// Reading the same record twice while nobody knows how the first time went is refused here.
const EFFECTS: &str = r#"
[read.crm_record]
on_unknown = "block"
effect_parameters = ["updates", "password"]
[write.crm_record]
on_unknown = "note"
effect_parameters = ["updates"]
"#;

pub(crate) fn policies(executions: &str) -> PolicyFiles {
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
        ("effects.toml".to_owned(), EFFECTS.to_owned()),
    ])
}

pub(crate) fn proposal(id: &str, action: &str) -> Json {
    json!({"proposal_id": id, "ts_ms": NOW, "actor": "agent", "action_type": action,
        "target": {"resource_type": "crm_record", "resource_id": "7", "domain": "crm", "constraints": {}},
        "parameters": {"updates": {"email": "x@example.org"}, "password": "hunter2"}})
}
