//! Separation of duties: each test tries an attack and asserts that the gate refuses it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod scene;

use ordain_api::{ActionStatus, NewToken, OutcomeReport, Role, UseOutcome, VerdictRequest};
use ordain_canon::Value;
use ordain_gate::{Caller, Conflict, GateError, IntendedAction, Spend, check_records};
use ordain_spec::approval::Verdict;
use scene::{Scene, proposal};
use serde_json::{Value as Json, json};

const AGENT: &[Role] = &[Role::Actor, Role::Worker];

fn of(actor: &str, id: &str, action: &str) -> Json {
    let mut proposal = proposal(id, action);
    proposal["actor"] = actor.into();
    proposal
}

async fn submit(scene: &Scene, caller: &Caller, proposal: &Json) -> ActionStatus {
    scene.gate.submit(caller, proposal.to_string().as_bytes(), None).await.unwrap().status
}

async fn spend(
    scene: &Scene,
    caller: &Caller,
    status: &ActionStatus,
    proposal: &Json,
) -> Result<ordain_api::UseReceipt, GateError> {
    let permit = status.permit.as_ref().unwrap();
    let (target, parameters) = (proposal["target"].to_string(), proposal["parameters"].to_string());
    let action = IntendedAction::Action {
        action_type: proposal["action_type"].as_str().unwrap(),
        target: &Value::read(target.as_bytes()).unwrap(),
        parameters: &Value::read(parameters.as_bytes()).unwrap(),
    };
    let spend = Spend { permit: permit.token.as_deref().unwrap(), action };
    scene.gate.spend(caller, &permit.permit_id, &spend).await
}

fn report(number: u64, outcome: UseOutcome) -> OutcomeReport {
    OutcomeReport {
        number,
        outcome,
        affected_records: None,
        duration_ms: None,
        reason: String::new(),
        change: None,
    }
}

/// Two agents with the tokens that the guide recommends: neither sees, spends or settles the other's permits.
#[tokio::test]
async fn a3_agents_use_only_their_own_permits() {
    let scene = Scene::new().await;
    let one = scene.token("agent-1", AGENT, &["agent-1-helper"]).await;
    let two = scene.token("agent-2", AGENT, &[]).await;
    let worker = scene.token("executor", &[Role::Worker], &[]).await;
    let call = of("agent-1", "first", "read");
    let status = submit(&scene, &one, &call).await;
    let permit_id = status.permit.as_ref().unwrap().permit_id.clone();

    let listed = scene.gate.actions(&two, None, None, 10).await.unwrap().0;
    assert!(listed.is_empty(), "agent-2 lists {listed:?}");
    assert!(matches!(scene.gate.status(&two, "first").await, Err(GateError::Unknown(_))));
    assert!(matches!(scene.gate.permit_status(&two, &permit_id).await, Err(GateError::Unknown(_))));
    // Not even with the permit in hand.
    let stolen = spend(&scene, &two, &status, &call).await;
    assert!(
        matches!(&stolen, Err(GateError::Forbidden(text)) if text.contains("another actor")),
        "{stolen:?}"
    );
    let used = spend(&scene, &one, &status, &call).await.unwrap();
    let settled = scene.gate.settle(&two, &permit_id, &report(used.number, UseOutcome::Succeeded)).await;
    assert!(matches!(settled, Err(GateError::Unknown(_))), "{settled:?}");
    scene.gate.settle(&one, &permit_id, &report(used.number, UseOutcome::Succeeded)).await.unwrap();

    // Further names of the token are its own, and a worker that proposes nothing works for all.
    let helpers = of("agent-1-helper", "second", "read");
    let status = submit(&scene, &one, &helpers).await;
    spend(&scene, &one, &status, &helpers).await.unwrap();
    assert_eq!(scene.gate.actions(&worker, None, None, 10).await.unwrap().0.len(), 2);
    spend(&scene, &worker, &status, &helpers).await.unwrap();
}

/// A worker that also proposes could name any packet in a proposal of its own, and so is not shown its content.
#[tokio::test]
async fn a3_an_agent_is_not_shown_evidence_of_others() {
    let scene = Scene::new().await;
    let payload = json!({"secret": "of the sensor"});
    let hash = ordain_canon::ContentHash::of(payload.to_string().as_bytes());
    let packet = json!({"evidence_id": "seen", "packet_type": "api_response", "sensor_id": "crm",
        "sensor_type": "api", "observed_at_ms": scene::NOW, "received_at_ms": scene::NOW, "payload": payload,
        "payload_hash": hash.to_string()});
    scene.gate.receive(&scene.operator, packet.to_string().as_bytes()).await.unwrap();
    let agent = scene.token("agent-1", AGENT, &[]).await;
    let mut call = of("agent-1", "first", "read");
    call["evidence_bindings"] = json!([{"evidence_id": "seen", "binding_type": "context",
        "required": false, "freshness_ms": 1000}]);
    let status = submit(&scene, &agent, &call).await;
    assert!(!status.view.to_string().contains("of the sensor"), "{}", status.view);
    let status = scene.gate.status(&agent, "first").await.unwrap();
    assert!(!status.view.to_string().contains("of the sensor"), "{}", status.view);
}

/// A token that this caller makes for somebody.
async fn made_by(scene: &Scene, maker: &Caller, principal: &str, roles: &[Role]) -> Caller {
    let new = NewToken {
        principal: principal.to_owned(),
        roles: roles.iter().copied().collect(),
        names: Default::default(),
        expires_at_ms: None,
        secret: None,
    };
    let (_, secret) = scene.gate.create_token(maker, &new).await.unwrap();
    scene.gate.authenticate(&secret.unwrap()).await.unwrap()
}

async fn approve(scene: &Scene, caller: &Caller, status: &ActionStatus) -> Result<ActionStatus, GateError> {
    let view = scene.gate.status(&scene.operator, &status.action_id).await.unwrap();
    let say = VerdictRequest {
        verdict: Verdict::Approve,
        reason: String::new(),
        view_digest: view.view_digest,
        signed: None,
        scope: None,
    };
    scene.gate.give_verdict(caller, &status.action_id, &say).await
}

/// An operator who proposes makes tokens for two approvers and approves twice.
#[tokio::test]
async fn a10_an_operator_who_proposes_makes_itself_no_approvers() {
    let scene = Scene::new().await;
    let op = scene.token("op", &[Role::Operator, Role::Actor], &[]).await;
    let call = of("op", "wish", "write");
    let status = submit(&scene, &op, &call).await;
    let bob = made_by(&scene, &op, "bob", &[Role::Approver]).await;
    // Not through another operator of its own making either.
    let puppet = made_by(&scene, &op, "puppet", &[Role::Operator]).await;
    let ann = made_by(&scene, &puppet, "ann", &[Role::Approver]).await;
    for approver in [&bob, &ann] {
        let refused = approve(&scene, approver, &status).await;
        assert!(
            matches!(&refused, Err(GateError::Forbidden(text)) if text.contains("made the token")),
            "{refused:?}"
        );
    }
    // For others their approvals count, and tokens by another operator count for this proposal.
    let agent = scene.token("agent", AGENT, &[]).await;
    let other = submit(&scene, &agent, &of("agent", "other", "write")).await;
    approve(&scene, &bob, &other).await.unwrap();
    let honest = scene.token("bob", &[Role::Approver], &[]).await;
    approve(&scene, &honest, &status).await.unwrap();
}

#[tokio::test]
async fn a10_a_token_that_joins_two_approvers_is_refused() {
    let scene = Scene::new().await;
    let new = |principal: &str, names: &[&str]| NewToken {
        principal: principal.to_owned(),
        roles: [Role::Approver].into(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        expires_at_ms: None,
        secret: None,
    };
    for joined in [new("bob", &["ann"]), new("someone", &["ann", "bob"])] {
        let refused = scene.gate.create_token(&scene.operator, &joined).await.err();
        let text = refused.map(|error| format!("{error:?}")).unwrap_or_default();
        assert!(text.contains("two approvers"), "{text}");
    }
    scene.gate.create_token(&scene.operator, &new("bob", &["bobs-agent"])).await.unwrap();
}

/// The same deed with meaningless changes: another id, actor, constraint and parameter.
fn disguised(id: &str, action: &str) -> Json {
    let mut proposal = of("agent-2", id, action);
    proposal["parameters"]["noise"] = id.into();
    proposal["target"]["constraints"] = json!({"noise": id});
    proposal
}

#[tokio::test]
async fn a15_a_meaningless_parameter_does_not_pass_the_lock_on_unknown_outcomes() {
    let scene = Scene::new().await;
    let read = proposal("first", "read");
    let status = scene.submit(&read).await;
    let used = scene.spend(&status, &read).await.unwrap();
    scene.report(&used, UseOutcome::Unknown).await.unwrap();
    let again = disguised("second", "read");
    let status = scene.submit(&again).await;
    let refused = scene.spend(&status, &again).await;
    assert!(matches!(&refused, Err(GateError::Conflict(Conflict::Unsettled { .. }))), "{refused:?}");
    // Another effect is none of its business.
    let mut other = disguised("third", "read");
    other["parameters"]["updates"]["email"] = "y@example.org".into();
    let status_of_other = scene.submit(&other).await;
    scene.spend(&status_of_other, &other).await.unwrap();
    assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
    scene.report(&used, UseOutcome::Failed).await.unwrap();
    scene.spend(&status, &again).await.unwrap();
    assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
}

/// Where an unknown outcome only makes a note, the next one can be done, and its approvers are told.
#[tokio::test]
async fn a15_a_note_about_an_unknown_outcome_is_shown_and_blocks_nobody() {
    let scene = Scene::new().await;
    let write = proposal("first", "write");
    let mut status = scene.submit(&write).await;
    for who in ["ann", "bob"] {
        status = scene.say(who, &status, Verdict::Approve).await.unwrap();
    }
    let used = scene.spend(&status, &write).await.unwrap();
    // No outcome in time.
    scene.pass(5 * 60_000 + 6_000);
    scene.gate.sweep().await.unwrap();
    let mut again = disguised("second", "write");
    again["ts_ms"] = (scene::NOW + 5 * 60_000 + 6_000).into();
    scene.submit(&again).await;
    let mut status = scene.gate.status(&scene.operator, "second").await.unwrap();
    assert_eq!(status.view["earlier"]["unknown"], json!([{"permit_id": used.permit_id, "use": 1}]));
    for who in ["ann", "bob"] {
        status = scene.say(who, &status, Verdict::Approve).await.unwrap();
    }
    scene.spend(&status, &again).await.unwrap();
    assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
    // Settled, it is unknown no more.
    scene.report(&used, UseOutcome::Succeeded).await.unwrap();
    let third = disguised("third", "write");
    scene.submit(&third).await;
    let status = scene.gate.status(&scene.operator, "third").await.unwrap();
    assert_eq!(status.view["earlier"]["unknown"], json!([]));
    assert_eq!(status.view["earlier"]["settled"]["succeeded"], 1);
    assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
}

#[tokio::test]
async fn a13_an_approver_is_told_what_another_one_rejected() {
    let scene = Scene::new().await;
    let status = scene.submit(&proposal("first", "write")).await;
    scene.say("ann", &status, Verdict::Reject).await.unwrap();
    let again = disguised("second", "write");
    let agent = scene.token("agent-2", &[Role::Actor], &[]).await;
    let submitted = submit(&scene, &agent, &again).await;
    // An approver who has not seen the rejection cannot approve.
    let say = VerdictRequest {
        verdict: Verdict::Approve,
        reason: String::new(),
        view_digest: submitted.view_digest.clone(),
        signed: None,
        scope: None,
    };
    let blind = scene.gate.give_verdict(&Caller::local("bob"), "second", &say).await;
    assert!(matches!(&blind, Err(GateError::Conflict(Conflict::View { .. }))), "{blind:?}");
    let shown = scene.gate.status(&scene.operator, "second").await.unwrap();
    let rejected = &shown.view["earlier"]["rejected"];
    assert_eq!(
        *rejected,
        json!([{"action_id": "first", "by": "ann", "at_ms": scene::NOW, "reason": "because"}])
    );
    scene.say("bob", &shown, Verdict::Approve).await.unwrap();
    // The proposer is not told about the actions of others.
    let own = scene.gate.status(&agent, "second").await.unwrap();
    assert_eq!(own.view.get("earlier"), None, "{}", own.view);
    assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
}

/// Uses of the same effect that ended are counted, whether or not an unknown one would block.
#[tokio::test]
async fn an_approver_is_told_how_earlier_uses_went() {
    let scene = Scene::new().await;
    let mut last = json!(null);
    for (id, outcome, succeeded, failed) in [
        ("one", UseOutcome::Succeeded, 0, 0),
        ("two", UseOutcome::Failed, 1, 0),
        ("three", UseOutcome::Succeeded, 1, 1),
    ] {
        let call = disguised(id, "write");
        scene.submit(&call).await;
        let shown = scene.gate.status(&scene.operator, id).await.unwrap();
        let expected = if last.is_null() {
            json!(null)
        } else {
            json!({"rejected": [], "unknown": [],
                "settled": {"succeeded": succeeded, "failed": failed, "last": last}})
        };
        assert_eq!(shown.view.get("earlier").cloned().unwrap_or_default(), expected, "{id}");
        scene.say("ann", &shown, Verdict::Approve).await.unwrap();
        let allowed = scene.say("bob", &shown, Verdict::Approve).await.unwrap();
        let spent = scene.spend(&allowed, &call).await.unwrap();
        scene.pass(1_000);
        // Somebody who does not know says so first; that counts nothing.
        if id == "two" {
            scene.report(&spent, UseOutcome::Unknown).await.unwrap();
            assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
        }
        scene.gate.settle(&scene.operator, &spent.permit_id, &report(spent.number, outcome)).await.unwrap();
        let at_ms = scene::NOW + 1_000 * (succeeded + failed + 1);
        last = json!({"action_id": id, "succeeded": outcome == UseOutcome::Succeeded, "at_ms": at_ms});
        // The approvers of then were shown what was known then.
        let settled = scene.gate.status(&scene.operator, id).await.unwrap();
        assert_eq!(settled.view.get("earlier").cloned().unwrap_or_default(), expected, "{id}");
        assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
    }
}

#[tokio::test]
async fn a11_only_a_person_settles_after_the_deadline() {
    let scene = Scene::new().await;
    let agent = scene.token("agent", &[Role::Actor, Role::Worker, Role::Operator], &[]).await;
    let olga = scene.token("olga", &[Role::Operator], &[]).await;
    let call = proposal("late", "read");
    let status = submit(&scene, &agent, &call).await;
    let used = spend(&scene, &agent, &status, &call).await.unwrap();
    let permit_id = status.permit.unwrap().permit_id;
    scene.pass(5 * 60_000 + 6_000);
    let late = scene.gate.settle(&agent, &permit_id, &report(used.number, UseOutcome::Succeeded)).await;
    assert!(matches!(&late, Err(GateError::Forbidden(text)) if text.contains("only a person")), "{late:?}");
    scene.gate.settle(&olga, &permit_id, &report(used.number, UseOutcome::Succeeded)).await.unwrap();
}

/// The holder of the token that proposes makes up a run.
#[tokio::test]
async fn a11_an_unsigned_run_is_the_proposers_word() {
    let scene = Scene::new().await;
    let agent = scene.token("agent", &[Role::Actor, Role::Sensor], &["ordain-sandbox"]).await;
    let mut files = scene::policies("2");
    let run = "@id(\"tested\") permit(principal, action == Action::\"create\", resource) \
        when { context.evidence.sensors.contains(\"ordain-sandbox\") };";
    files.insert("run.cedar".to_owned(), run.to_owned());
    files.insert("sensors.toml".to_owned(), "[sensors.ordain-sandbox]".to_owned());
    scene.gate.set_policy(&scene.operator, &files).await.unwrap();
    let payload = json!({"accepted": true});
    let hash = ordain_canon::ContentHash::of(payload.to_string().as_bytes());
    let packet = json!({"evidence_id": "run-1", "packet_type": "api_response", "sensor_id": "ordain-sandbox",
        "sensor_type": "sandbox", "observed_at_ms": scene::NOW, "received_at_ms": scene::NOW, "payload": payload,
        "payload_hash": hash.to_string()});
    scene.gate.receive(&agent, packet.to_string().as_bytes()).await.unwrap();
    let mut call = proposal("made-up", "create");
    call["evidence_bindings"] = json!([{"evidence_id": "run-1", "binding_type": "context", "required": true, "freshness_ms": 60_000}]);
    let status = submit(&scene, &agent, &call).await;
    assert_eq!(status.decision.outcome, ordain_spec::decision::Outcome::Deny, "{:?}", status.decision);
    let shown = scene.gate.status(&scene.operator, "made-up").await.unwrap();
    assert_eq!(shown.view["labels"], json!({"run-1": "proposer's word"}));
}

#[tokio::test]
async fn a21_ids_of_others_tell_nothing_and_cannot_be_taken() {
    let scene = Scene::new().await;
    let (one, two) = (scene.token("agent-1", AGENT, &[]).await, scene.token("agent-2", AGENT, &[]).await);
    submit(&scene, &one, &of("agent-1", "same", "read")).await;
    let text = of("agent-2", "same", "read").to_string();
    let refused = scene.gate.submit(&two, text.as_bytes(), None).await.err().unwrap().to_string();
    assert_eq!(refused, "`same` cannot be used as an id");
    let act = ordain_gate::Act { text: text.as_bytes(), supersedes: None, waited_for: None, hook: None };
    let refused = scene.gate.act(&two, &act).await.err().unwrap().to_string();
    assert_eq!(refused, "`same` cannot be used as an id");
}

fn packet_of(sensor: &str, id: &str, value: u32) -> Json {
    let payload = json!({"value": value});
    let hash = ordain_canon::ContentHash::of(payload.to_string().as_bytes());
    json!({"evidence_id": id, "packet_type": "api_response", "sensor_id": sensor, "sensor_type": "api",
        "observed_at_ms": scene::NOW, "received_at_ms": scene::NOW, "payload": payload,
        "payload_hash": hash.to_string()})
}

#[tokio::test]
async fn a21_a_sensor_takes_no_ids_of_others_and_must_sign_at_the_door() {
    let scene = Scene::new().await;
    let mut files = scene::policies("2");
    let key = "ynVwMHI-v6LFT3YoC9SpmPbSCuYQh-St4_eWEFPlTVc";
    let sensors =
        format!("[sensors.crm]\n[sensors.door]\npublic_key = \"{key}\"\nsignature_required = true\n");
    files.insert("sensors.toml".to_owned(), sensors);
    scene.gate.set_policy(&scene.operator, &files).await.unwrap();
    let crm = scene.token("crm", &[Role::Sensor], &[]).await;
    let door = scene.token("door", &[Role::Sensor], &[]).await;
    let receive =
        async |caller: &Caller, packet: Json| scene.gate.receive(caller, packet.to_string().as_bytes()).await;
    let taken = receive(&crm, packet_of("crm", "door:1", 1)).await.err().map(|error| format!("{error:?}"));
    assert!(taken.as_deref().is_some_and(|text| text.contains("belongs to the sensor `door`")), "{taken:?}");
    receive(&crm, packet_of("crm", "crm:1", 1)).await.unwrap();
    // Unsigned, and wrongly signed.
    let mut forged = packet_of("door", "door:2", 2);
    forged["sensor_signature"] = "A".repeat(86).into();
    for packet in [packet_of("door", "door:1", 1), forged] {
        let refused = receive(&door, packet).await.err().map(|error| format!("{error:?}"));
        assert!(refused.as_deref().is_some_and(|text| text.contains("V-EVID-021")), "{refused:?}");
    }
    // Another sensor's id is not told apart from one that cannot be used.
    let lab = scene.token("lab", &[Role::Sensor], &[]).await;
    let refused = receive(&lab, packet_of("lab", "plain", 1)).await;
    refused.unwrap();
    let refused = receive(&crm, packet_of("crm", "plain", 2)).await.err().unwrap().to_string();
    assert_eq!(refused, "`plain` cannot be used as an id");
}

/// The policies of the scene with further people among the approvers.
async fn with_people(scene: &Scene, people: &[(&str, Json)]) {
    let mut files = scene::policies("2");
    let mut entities: Vec<Json> = serde_json::from_str(&files["entities.json"]).unwrap();
    for (name, attributes) in people {
        let parents = json!([{"type": "Group", "id": "leads"}]);
        let uid = json!({"type": "Actor", "id": name});
        entities.push(json!({"uid": uid, "attrs": attributes, "parents": parents}));
    }
    files.insert("entities.json".to_owned(), Json::from(entities).to_string());
    scene.gate.set_policy(&scene.operator, &files).await.unwrap();
}

/// Carol is Xavier, and Xavier is the agent.
#[tokio::test]
async fn a19_a_name_of_a_name_does_not_approve() {
    let scene = Scene::new().await;
    with_people(&scene, &[("carol", json!({"person": "xavier"})), ("xavier", json!({"person": "agent"}))])
        .await;
    let status = scene.submit(&proposal("wish", "write")).await;
    for name in ["carol", "xavier"] {
        let refused = scene.say(name, &status, Verdict::Approve).await;
        assert!(
            matches!(&refused, Err(GateError::Forbidden(text)) if text.contains("own proposal")),
            "{refused:?}"
        );
    }
    scene.say("ann", &status, Verdict::Approve).await.unwrap();
}

/// The owner of an agent has its shell, and so the agent has the owner's.
#[tokio::test]
async fn a19_an_owner_approves_nothing_of_their_agent_without_a_signature() {
    let scene = Scene::new().await;
    with_people(&scene, &[("bot", json!({"agent_of": "olaf"})), ("olaf", json!({}))]).await;
    let bot = scene.token("bot", &[Role::Actor], &[]).await;
    let wish = of("bot", "wish", "write").to_string();
    let status = scene.gate.submit(&bot, wish.as_bytes(), None).await.unwrap().status;
    // The approver sees the evidence, and so another view.
    let status = scene.gate.status(&scene.operator, &status.action_id).await.unwrap();
    let refused = scene.say("olaf", &status, Verdict::Approve).await;
    assert!(matches!(&refused, Err(GateError::Refused { .. })), "{refused:?}");
    scene.say("ann", &status, Verdict::Approve).await.unwrap();
    // Their no counts.
    let denied = scene.say("olaf", &status, Verdict::Reject).await.unwrap();
    assert_eq!(denied.decision.outcome, ordain_spec::decision::Outcome::Deny);
}
