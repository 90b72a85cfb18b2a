//! Acting at once: decide, mint and use in one step; held calls are joined by deed, and by nothing else.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod scene;

use ordain_api::{ActAnswer, ActionState, UseOutcome};
use ordain_gate::{Act, Caller, GateError, audit, check_records, replay};
use ordain_spec::approval::Verdict;
use ordain_spec::decision::Outcome;
use scene::{NOW, Scene, proposal};
use serde_json::{Value as Json, json};

struct Acting {
    scene: Scene,
    agent: Caller,
}

impl Acting {
    async fn new() -> Self {
        Self { scene: Scene::new().await, agent: Caller::local("agent") }
    }

    async fn act(&self, call: &Json) -> Result<ActAnswer, GateError> {
        self.call(call, None, None).await
    }

    async fn call(
        &self,
        call: &Json,
        supersedes: Option<&str>,
        waited_for: Option<&str>,
    ) -> Result<ActAnswer, GateError> {
        let text = call.to_string();
        self.scene
            .gate
            .act(&self.agent, &Act { text: text.as_bytes(), supersedes, waited_for, hook: None })
            .await
    }

    /// Holds a call, and has it approved by both leads.
    async fn approved(&self, call: &Json) -> ActAnswer {
        let held = self.act(call).await.unwrap();
        assert_eq!((held.outcome, held.joined), (Outcome::Hold, false), "{:?}", held.action.decision.reasons);
        let status = self.scene.gate.status(&self.scene.operator, &held.action.action_id).await.unwrap();
        self.scene.say("ann", &status, Verdict::Approve).await.unwrap();
        let allowed = self.scene.say("bob", &status, Verdict::Approve).await.unwrap();
        assert_eq!(allowed.state, ActionState::Allowed);
        held
    }

    async fn check(&self) {
        let store = self.scene.gate.store();
        assert_eq!(audit(store, &[], &[], |_, _| {}).await.unwrap().damage, []);
        assert_eq!(check_records(store).await.unwrap(), []);
        let replayed = replay(&self.scene.gate, None, |_, _| {}).await.unwrap();
        assert_eq!((replayed.same, replayed.not_replayed), (replayed.decisions, vec![]));
    }
}

/// The same call again has another id and another time.
fn again(call: &Json, id: &str) -> Json {
    let mut call = call.clone();
    call["proposal_id"] = json!(id);
    call["ts_ms"] = json!(NOW + 1);
    call
}

#[tokio::test]
async fn an_allowed_call_is_used_in_the_same_step() {
    let acting = Acting::new().await;
    let size = acting.scene.gate.size().await.unwrap();
    let answer = acting.act(&proposal("c1", "read")).await.unwrap();
    assert_eq!(
        (answer.outcome, answer.joined, answer.action.state),
        (Outcome::Allow, false, ActionState::Running)
    );
    let used = answer.used.unwrap();
    assert_eq!((used.number, used.uses_left), (1, 1));
    let entries = acting.scene.gate.ledger_entries(size, 10).await.unwrap();
    let names: Vec<&str> = entries.iter().map(|entry| entry.entry.event.name()).collect();
    assert_eq!(names, ["submitted", "decided", "permit_minted", "permit_spent"]);
    let status = acting.scene.gate.status(&acting.scene.operator, "c1").await.unwrap();
    assert_eq!(status.state, ActionState::Running);
    let shown = (answer.action.view.text(), answer.action.view_digest.as_str());
    assert_eq!(shown, ("{}", ""), "nobody decides about it");
    // The same id again does not run again; the same call under another id is another call.
    assert!(matches!(acting.act(&proposal("c1", "read")).await, Err(GateError::Conflict(_))));
    let second = acting.act(&again(&proposal("c1", "read"), "c2")).await.unwrap();
    assert_eq!((second.outcome, second.joined, second.deed), (Outcome::Allow, false, answer.deed));
    acting.scene.gate.settle(&acting.agent, &used.permit_id, &report(&used)).await.unwrap();
    acting.check().await;
}

fn report(used: &ordain_api::UseReceipt) -> ordain_api::OutcomeReport {
    ordain_api::OutcomeReport {
        number: used.number,
        outcome: UseOutcome::Succeeded,
        affected_records: None,
        duration_ms: None,
        reason: String::new(),
        change: None,
    }
}

/// With a clock that is later at every look, records still follow from the entries.
#[tokio::test]
async fn time_passes_within_a_step() {
    let store = ordain_store::Store::open(&ordain_store::Location::Memory).await.unwrap();
    let ticks = std::sync::atomic::AtomicU64::new(NOW);
    let clock = ordain_gate::Clock::of(move || ticks.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let keyring = ordain_gate::Keyring::ephemeral().unwrap();
    let gate =
        ordain_gate::Gate::open(store, keyring, clock, ordain_gate::Settings::default()).await.unwrap();
    let operator = Caller::local("operator");
    gate.set_policy(&operator, &scene::policies("2")).await.unwrap();
    let agent = Caller::local("agent");
    let text = proposal("c1", "read").to_string();
    let used = gate
        .act(&agent, &Act { text: text.as_bytes(), supersedes: None, waited_for: None, hook: None })
        .await
        .unwrap()
        .used;
    let used = used.unwrap();
    gate.settle(&agent, &used.permit_id, &report(&used)).await.unwrap();
    let held = proposal("c2", "write").to_string();
    gate.act(&agent, &Act { text: held.as_bytes(), supersedes: None, waited_for: None, hook: None })
        .await
        .unwrap();
    let status = gate.status(&operator, "c2").await.unwrap();
    for lead in ["ann", "bob"] {
        let request = ordain_api::VerdictRequest {
            verdict: Verdict::Approve,
            reason: String::new(),
            view_digest: status.view_digest.clone(),
            signed: None,
            scope: None,
        };
        gate.give_verdict(&Caller::local(lead), "c2", &request).await.unwrap();
    }
    let repeated = again(&proposal("c2", "write"), "c3").to_string();
    let act = Act { text: repeated.as_bytes(), supersedes: None, waited_for: Some("c2"), hook: None };
    assert_eq!(gate.act(&agent, &act).await.unwrap().outcome, Outcome::Allow);
    gate.halt(&operator, "stop").await.unwrap();
    gate.rotate_key(&operator).await.unwrap();
    assert_eq!(check_records(gate.store()).await.unwrap(), []);
}

#[tokio::test]
async fn a_call_from_a_folder_of_no_project_is_about_no_workspace() {
    let mut acting = Acting::new().await;
    acting.agent = acting.agent.outside_projects();
    let mut call = proposal("c1", "read");
    call["target"]["domain"] = json!("workspace");
    let refused = acting.act(&call).await;
    assert!(matches!(&refused, Err(GateError::Forbidden(problem)) if problem.contains("workspace")));
    call["target"]["domain"] = json!("host");
    assert!(acting.act(&call).await.is_ok());
    acting.check().await;
}

#[tokio::test]
async fn a_denied_call_says_why() {
    let acting = Acting::new().await;
    let answer = acting.act(&proposal("c1", "delete")).await.unwrap();
    assert_eq!((answer.outcome, answer.used), (Outcome::Deny, None));
    assert!(!answer.action.decision.reasons.is_empty());
    let malformed = json!({"proposal_id": "c2", "actor": "agent"});
    let answer = acting.act(&malformed).await.unwrap();
    assert_eq!((answer.outcome, answer.deed), (Outcome::Deny, None));
    acting.check().await;
}

#[tokio::test]
async fn a_held_call_is_joined_and_runs_once_after_approval() {
    let acting = Acting::new().await;
    let call = proposal("c1", "write");
    let held = acting.act(&call).await.unwrap();
    let joined = acting.act(&again(&call, "c2")).await.unwrap();
    assert_eq!(
        (joined.outcome, joined.joined, &joined.action.action_id),
        (Outcome::Hold, true, &"c1".to_owned())
    );
    let status = acting.scene.gate.status(&acting.scene.operator, "c1").await.unwrap();
    acting.scene.say("ann", &status, Verdict::Approve).await.unwrap();
    assert_eq!(acting.act(&again(&call, "c3")).await.unwrap().outcome, Outcome::Hold);
    acting.scene.say("bob", &status, Verdict::Approve).await.unwrap();
    // Hours later the permit still holds, and two calls wanted it.
    acting.scene.pass(7 * 3_600_000);
    let ran = acting.call(&again(&call, "c4"), None, Some("c1")).await.unwrap();
    assert_eq!((ran.outcome, ran.joined, ran.action.state), (Outcome::Allow, true, ActionState::Running));
    assert_eq!(ran.deed, held.deed);
    let refused = acting.call(&again(&call, "c5"), None, Some("c1")).await.unwrap_err();
    assert!(refused.to_string().contains("another call already used the approval of `c1`"), "{refused}");
    // A call that waited for nothing is a new one.
    let new = acting.act(&again(&call, "c6")).await.unwrap();
    assert_eq!((new.outcome, new.joined, new.action.action_id.as_str()), (Outcome::Hold, false, "c6"));
    acting.check().await;
}

#[tokio::test]
async fn of_many_calls_that_wait_one_runs() {
    let acting = Acting::new().await;
    let call = proposal("c1", "write");
    acting.approved(&call).await;
    let calls: Vec<Json> = (0..16).map(|number| again(&call, &format!("w{number}"))).collect();
    let calls = calls.iter().map(|call| acting.call(call, None, Some("c1")));
    let answers = futures_util::future::join_all(calls).await;
    let ran =
        answers.iter().filter(|answer| matches!(answer, Ok(answer) if answer.outcome == Outcome::Allow));
    assert_eq!(ran.count(), 1);
    let told = answers.iter().filter(|answer| matches!(answer, Err(GateError::Conflict(_))));
    assert_eq!(told.count(), 15);
    acting.check().await;
}

#[tokio::test]
async fn a_rejection_answers_the_same_deed_until_its_window_ends() {
    let acting = Acting::new().await;
    let call = proposal("c1", "write");
    acting.act(&call).await.unwrap();
    let status = acting.scene.gate.status(&acting.scene.operator, "c1").await.unwrap();
    acting.scene.say("ann", &status, Verdict::Reject).await.unwrap();
    let answer = acting.act(&again(&call, "c2")).await.unwrap();
    assert_eq!((answer.outcome, answer.joined), (Outcome::Deny, true));
    assert_eq!(answer.action.approvals[0].reason, "because");
    acting.scene.pass(8 * 3_600_000);
    let answer = acting.act(&again(&call, "c3")).await.unwrap();
    assert_eq!((answer.outcome, answer.joined), (Outcome::Hold, false));
    acting.check().await;
}

#[tokio::test]
async fn a_call_that_supersedes_joins_nothing() {
    let acting = Acting::new().await;
    let call = proposal("c1", "write");
    acting.act(&call).await.unwrap();
    let answer = acting.call(&again(&call, "c2"), Some("c1"), None).await.unwrap();
    assert_eq!((answer.outcome, answer.joined), (Outcome::Hold, false));
    let old = acting.scene.gate.status(&acting.scene.operator, "c1").await.unwrap();
    assert_eq!(old.state, ActionState::Superseded);
    acting.check().await;
}

#[tokio::test]
async fn a_halt_stops_a_call_that_was_approved() {
    let acting = Acting::new().await;
    let call = proposal("c1", "write");
    acting.approved(&call).await;
    acting.scene.gate.halt(&acting.scene.operator, "stop").await.unwrap();
    let refused = acting.act(&again(&call, "c2")).await.unwrap_err();
    assert!(matches!(refused, GateError::Refused { .. }), "{refused}");
    acting.scene.gate.resume(&acting.scene.operator, "go").await.unwrap();
    assert_eq!(acting.act(&again(&call, "c3")).await.unwrap().outcome, Outcome::Allow);
    acting.check().await;
}

/// A call with everything that a proposal can have, so that every field is changed once.
fn full_call(id: &str) -> Json {
    json!({"proposal_id": id, "ts_ms": NOW, "actor": "agent", "action_type": "write",
        "target": {"resource_type": "crm_record", "resource_id": "cafe\u{301} 7", "domain": "crm",
            "constraints": {"tags": ["email", "name"], "depth": 3}},
        "parameters": {"updates": [{"email": "x@example.org"}, {"email": "y@example.org"}], "count": 2,
            "text": "two words", "flag": true, "none": null},
        "preconditions": [{"field": "a", "operator": "eq", "value": 1, "evidence_ref": "e1"}],
        "risk_envelope": {"allowed_side_effects": ["log", "mail"], "forbidden_effects": [], "max_affected_records": 1,
            "reversible_required": false},
        "rollback_semantics": {"strategy": "manual"},
        "time_window": {"valid_from_ms": NOW, "valid_until_ms": NOW + 3_600_000, "max_duration_ms": 30_000},
        "approval_class": "dual",
        "evidence_bindings": []})
}

/// Every way to change one value a little.
fn changed(value: &Json) -> Vec<Json> {
    match value {
        Json::String(text) => {
            let mut others =
                vec![json!(format!("{text} ")), json!(format!(" {text}")), json!(format!("{text}x"))];
            let composed = text.replace("e\u{301}", "\u{e9}");
            others.extend((composed != *text).then(|| json!(composed)));
            others.extend(text.contains(' ').then(|| json!(text.replace(' ', "  "))));
            others
        }
        Json::Number(number) => vec![json!(number.as_u64().unwrap() + 1), json!(number.to_string())],
        Json::Bool(flag) => vec![json!(!flag), json!(flag.to_string())],
        Json::Null => vec![json!(false), json!("")],
        Json::Array(elements) => {
            let mut longer = elements.clone();
            longer.push(json!("added"));
            let mut others = vec![Json::Array(longer)];
            if elements.len() > 1 {
                others.push(Json::Array(elements.iter().rev().cloned().collect()));
                others.push(Json::Array(elements[1..].to_vec()));
            }
            others
        }
        Json::Object(members) => {
            let mut more = members.clone();
            more.insert("added".to_owned(), json!(1));
            let mut others = vec![Json::Object(more)];
            for name in members.keys() {
                let mut fewer = members.clone();
                fewer.remove(name);
                others.push(Json::Object(fewer));
            }
            others
        }
    }
}

fn pointers(value: &Json, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Json::Object(members) => {
            members.iter().for_each(|(name, value)| pointers(value, &format!("{at}/{name}"), found))
        }
        Json::Array(elements) => {
            elements
                .iter()
                .enumerate()
                .for_each(|(number, value)| pointers(value, &format!("{at}/{number}"), found));
        }
        _ => {}
    }
}

/// An approved call that differs anywhere outside of the closed list joins nothing: the permit stays unspent.
#[tokio::test]
async fn any_other_call_does_not_join() {
    let acting = Acting::new().await;
    let mut files = scene::policies("1");
    let sensors = "[sensors.crm]\n";
    files.insert("sensors.toml".to_owned(), sensors.to_owned());
    acting.scene.gate.set_policy(&acting.scene.operator, &files).await.unwrap();
    let evidence = |value: u64| {
        let payload = json!({"a": value});
        let hash = ordain_canon::PayloadHash::of(&mut ordain_canon::Canonicalizer::new(), &payload).unwrap();
        json!({"evidence_id": "e1", "packet_type": "api_response", "sensor_id": "crm", "sensor_type": "api",
            "observed_at_ms": NOW, "received_at_ms": NOW, "payload": payload, "payload_hash": hash.to_string()})
    };
    acting.scene.gate.receive(&acting.scene.operator, evidence(1).to_string().as_bytes()).await.unwrap();
    let call = full_call("c1");
    let held = acting.approved(&call).await;
    let mut places = Vec::new();
    pointers(&call, "", &mut places);
    let mut tried = 0;
    for place in &places {
        for (number, other) in changed(call.pointer(place).unwrap()).into_iter().enumerate() {
            let mut changed_call = call.clone();
            *changed_call.pointer_mut(place).unwrap() = other;
            if changed_call.get("proposal_id").is_none_or(|id| !id.is_string()) {
                continue;
            }
            let is_exempt = ["/proposal_id", "/ts_ms"].contains(&place.as_str());
            if is_exempt || changed_call.get("ts_ms") != call.get("ts_ms") {
                continue;
            }
            changed_call["proposal_id"] = json!(format!("{place}#{number}"));
            // Calls that the gate refuses altogether change nothing either.
            if let Ok(answer) = acting.act(&changed_call).await {
                tried += 1;
                assert!(!answer.joined && answer.used.is_none(), "{place} #{number}: {answer:?}");
                assert_ne!(answer.deed, held.deed, "{place} #{number}");
                assert_ne!(answer.outcome, Outcome::Allow, "{place} #{number}");
            }
        }
    }
    assert!(tried > 60, "{tried} calls were judged");
    let status = acting.scene.gate.status(&acting.scene.operator, "c1").await.unwrap();
    assert_eq!(status.permit.unwrap().used, 0);
    // Another principal, the same call.
    let other = Caller::local("agent-2").with_agents(["agent"]);
    let text = again(&call, "other").to_string();
    let act = Act { text: text.as_bytes(), supersedes: None, waited_for: None, hook: None };
    let answer = acting.scene.gate.act(&other, &act).await.unwrap();
    assert!(!answer.joined && answer.deed != held.deed);
    // And the call itself, with the members of its objects in another order, joins.
    let mut reordered = serde_json::Map::new();
    for (name, value) in again(&call, "same").as_object().unwrap().iter().rev() {
        reordered.insert(name.clone(), value.clone());
    }
    let answer = acting.act(&Json::Object(reordered)).await.unwrap();
    assert_eq!((answer.outcome, answer.joined), (Outcome::Allow, true));
    acting.check().await;
}
