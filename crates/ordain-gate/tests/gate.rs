//! The life of an action at the gate, on a store in memory and with a clock that the test moves.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod scene;

use ordain_api::{
    ActionState, ActionStatus, Event, FileChange, NewToken, OutcomeReport, Role, UseOutcome, UseReceipt,
    VerdictRequest,
};
use ordain_decision::PolicyFiles;
use ordain_gate::{
    Caller, Clock, Gate, GateError, Keyring, NamedNote, Settings, audit, check_records, replay,
};
use ordain_spec::approval::Verdict;
use ordain_spec::decision::Outcome;
use ordain_store::{Change, Guard, Location, NewRecord, Store, Writes};
use scene::{NOW, Scene, policies, proposal};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[tokio::test]
async fn an_allowed_action_is_spent_as_often_as_its_permit_says() {
    let scene = Scene::new().await;
    let read = proposal("p1", "read");
    let status = scene.submit(&read).await;
    assert_eq!((status.state, status.decision.outcome), (ActionState::Allowed, Outcome::Allow));
    let again = scene.gate.submit(&scene.operator, read.to_string().as_bytes(), None).await.unwrap();
    assert!(!again.new);
    assert_eq!(again.status, status);
    let other = proposal("p1", "write").to_string();
    let refused = scene.gate.submit(&scene.operator, other.as_bytes(), None).await;
    assert!(matches!(refused, Err(GateError::Conflict(_))));

    let first = scene.spend(&status, &read).await.unwrap();
    assert_eq!((first.number, first.uses_left), (1, 1));
    assert_eq!(scene.report(&first, UseOutcome::Succeeded).await.unwrap(), ActionState::Succeeded);
    let second = scene.spend(&status, &read).await.unwrap();
    assert_eq!((second.number, second.uses_left), (2, 0));
    let third = scene.spend(&status, &read).await.unwrap_err().to_string();
    assert!(third.contains("is used up (2 of 2, last by `worker`"), "{third}");

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
    assert_eq!(status.state, ActionState::Held);
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
    assert_eq!(first.state, ActionState::Held);
    let twice = scene.say("ann", &status, Verdict::Approve).await.unwrap();
    assert_eq!((twice.state, twice.approvals.len()), (ActionState::Held, 1));
    let allowed = scene.say("bob", &status, Verdict::Approve).await.unwrap();
    assert_eq!(allowed.state, ActionState::Allowed);
    let spent = scene.spend(&allowed, &write).await.unwrap();
    assert_eq!(scene.report(&spent, UseOutcome::Failed).await.unwrap(), ActionState::Failed);

    // The next approver is told how it went.
    scene.submit(&proposal("p2", "write")).await;
    let status = scene.gate.status(&scene.operator, "p2").await.unwrap();
    assert_eq!(status.view["earlier"]["settled"]["failed"], 1);
    let denied = scene.say("bob", &status, Verdict::Reject).await.unwrap();
    assert_eq!((denied.state, denied.approvals[0].reason.as_str()), (ActionState::Denied, "because"));
    // An edited proposal takes the place of the old one, and starts without approvals.
    scene.submit(&proposal("p3", "write")).await;
    let status = scene.gate.status(&scene.operator, "p3").await.unwrap();
    scene.say("ann", &status, Verdict::Approve).await.unwrap();
    let edited = proposal("p4", "write").to_string();
    let edited = scene.gate.submit(&scene.operator, edited.as_bytes(), Some("p3")).await.unwrap().status;
    assert_eq!((edited.state, edited.approvals.len()), (ActionState::Held, 0));
    let old = scene.gate.status(&scene.operator, "p3").await.unwrap();
    assert_eq!((old.state, old.superseded_by.as_deref()), (ActionState::Superseded, Some("p4")));
    assert!(scene.say("bob", &old, Verdict::Approve).await.is_err());
    // Nobody answers.
    scene.pass(24 * 3_600_000);
    assert_eq!(scene.gate.status(&scene.operator, "p4").await.unwrap().state, ActionState::Expired);
    assert!(scene.say("bob", &edited, Verdict::Approve).await.is_err());
    assert_eq!(scene.gate.sweep().await.unwrap().changed, 1);
    assert_eq!(scene.gate.sweep().await.unwrap().changed, 0);
}

#[tokio::test]
async fn an_approval_during_a_halt_is_not_a_denial() {
    let scene = Scene::new().await;
    let write = proposal("p1", "write");
    let status = scene.submit(&write).await;
    scene.gate.halt(&scene.operator, "stop").await.unwrap();
    let size = scene.gate.size().await.unwrap();
    let Err(GateError::Refused { message, reasons }) = scene.say("ann", &status, Verdict::Approve).await
    else {
        panic!()
    };
    assert!(message.contains("it stays held") && reasons[0].rule_id == "G1", "{message} {reasons:?}");
    // A halt makes nobody an approver.
    let refused = scene.say("eve", &status, Verdict::Reject).await.unwrap_err().to_string();
    assert!(refused.contains("does not count"), "{refused}");
    assert_eq!(scene.gate.size().await.unwrap(), size);
    scene.gate.resume(&scene.operator, "go").await.unwrap();
    scene.say("ann", &status, Verdict::Approve).await.unwrap();
    assert_eq!(scene.say("bob", &status, Verdict::Approve).await.unwrap().state, ActionState::Allowed);
    // Anybody who may reject may do so at any time.
    let status = scene.submit(&proposal("p2", "write")).await;
    scene.gate.halt(&scene.operator, "stop").await.unwrap();
    assert_eq!(scene.say("bob", &status, Verdict::Reject).await.unwrap().state, ActionState::Denied);
}

#[tokio::test]
async fn nobody_approves_under_another_name() {
    let scene = Scene::new().await;
    let ann = scene.token("ann", &[Role::Actor], &["agent"]).await;
    let approver = scene.token("ann", &[Role::Approver], &[]).await;
    let status =
        scene.gate.submit(&ann, proposal("p1", "write").to_string().as_bytes(), None).await.unwrap().status;
    let say = VerdictRequest {
        verdict: Verdict::Approve,
        reason: String::new(),
        view_digest: status.view_digest,
        signed: None,
        scope: None,
    };
    let refused = scene.gate.give_verdict(&approver, "p1", &say).await.unwrap_err().to_string();
    assert!(refused.contains("own proposal"), "{refused}");
    let mut foreign = proposal("p2", "write");
    foreign["actor"] = json!("bob");
    let refused =
        scene.gate.submit(&ann, foreign.to_string().as_bytes(), None).await.err().unwrap().to_string();
    assert!(refused.contains("may not propose as `bob`"), "{refused}");
}

/// A token makes its principal and its names one person, in both directions.
#[tokio::test]
async fn nobody_approves_what_a_token_of_theirs_could_have_proposed() {
    let scene = Scene::new().await;
    let mut write = proposal("p1", "write");
    write["actor"] = json!("bot");
    let service = scene.token("svc", &[Role::Actor], &["ann", "bot"]).await;
    let status = scene.gate.submit(&service, write.to_string().as_bytes(), None).await.unwrap().status;
    let refused = scene.say("ann", &status, Verdict::Approve).await.unwrap_err().to_string();
    assert!(refused.contains("own proposal"), "{refused}");
    scene.say("bob", &status, Verdict::Approve).await.unwrap();

    let scene = Scene::new().await;
    scene.token("bob", &[Role::Sensor], &["svc"]).await;
    let service = scene.token("svc", &[Role::Actor], &["bot"]).await;
    let status = scene.gate.submit(&service, write.to_string().as_bytes(), None).await.unwrap().status;
    let refused = scene.say("bob", &status, Verdict::Approve).await.unwrap_err().to_string();
    assert!(refused.contains("own proposal"), "{refused}");
    scene.say("ann", &status, Verdict::Approve).await.unwrap();
}

#[tokio::test]
async fn halt_window_policy_and_clock_are_asked_again_when_a_permit_is_spent() {
    let scene = Scene::new().await;
    let read = proposal("p1", "read");
    let status = scene.submit(&read).await;
    scene.gate.halt(&scene.operator, "stop").await.unwrap();
    let Err(GateError::Refused { reasons, .. }) = scene.spend(&status, &read).await else { panic!() };
    assert_eq!(reasons[0].rule_id, "G1");
    assert_eq!(scene.submit(&proposal("p2", "read")).await.state, ActionState::Denied);
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
    // Those before it are still in force.
    assert_eq!(scene.submit(&proposal("p3", "delete")).await.state, ActionState::Allowed);
    assert_eq!(scene.submit(&proposal("p4", "read")).await.state, ActionState::Denied);
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
    assert_eq!(scene.report(&spent, UseOutcome::Unknown).await.unwrap(), ActionState::Unknown);
    // Neither with the same permit nor with another one for the same thing.
    for id in ["p1", "p2"] {
        let status = scene.submit(&proposal(id, "read")).await;
        let refused = scene.spend(&status, &read).await.unwrap_err().to_string();
        assert!(refused.contains("is unknown"), "{refused}");
    }
    assert_eq!(scene.report(&spent, UseOutcome::Failed).await.unwrap(), ActionState::Failed);
    let status = scene.gate.status(&scene.operator, "p1").await.unwrap();
    // A worker that vanishes leaves the same.
    let silent = scene.spend(&status, &read).await.unwrap();
    assert_eq!(silent.number, 2);
    scene.pass(5 * 60_000 + 5_001);
    assert_eq!(scene.gate.status(&scene.operator, "p1").await.unwrap().state, ActionState::Unknown);
    assert_eq!(scene.gate.sweep().await.unwrap().changed, 1);
    let settled = OutcomeReport {
        number: 2,
        outcome: UseOutcome::Succeeded,
        affected_records: Some(1),
        duration_ms: None,
        reason: "looked".to_owned(),
        change: None,
    };
    let permit = scene.gate.settle(&scene.operator, &silent.permit_id, &settled).await.unwrap();
    assert_eq!(permit.uses[1].settled.as_ref().unwrap().outcome, UseOutcome::Succeeded);
    let otherwise = OutcomeReport { outcome: UseOutcome::Failed, ..settled };
    assert!(matches!(
        scene.gate.settle(&scene.operator, &silent.permit_id, &otherwise).await,
        Err(GateError::Conflict(_))
    ));
}

#[tokio::test]
async fn only_a_permit_of_a_patch_set_leaves_a_change_of_files() {
    let scene = Scene::new().await;
    let all = "@id(\"all\") permit(principal, action, resource);".to_owned();
    let all = PolicyFiles::from([("all.cedar".to_owned(), all)]);
    scene.gate.set_policy(&scene.operator, &all).await.unwrap();
    let hash = |digit: &str| format!("sha256:{}", digit.repeat(64));
    let report = |outcome: UseOutcome, patch_hash: String, record: &str| OutcomeReport {
        number: 1,
        outcome,
        affected_records: None,
        duration_ms: None,
        reason: String::new(),
        change: Some(FileChange { patch_hash, record: record.to_owned(), undone: false }),
    };
    let settle = async |spent: &UseReceipt, report: OutcomeReport| {
        scene
            .gate
            .settle(&Caller::local("worker").with_agents(scene::AGENTS), &spent.permit_id, &report)
            .await
    };
    let read = proposal("p1", "read");
    let status = scene.submit(&read).await;
    let spent = scene.spend(&status, &read).await.unwrap();
    let refused = settle(&spent, report(UseOutcome::Succeeded, hash("1"), "1-a")).await;
    assert!(refused.unwrap_err().to_string().contains("does not allow a change of files"));

    for (id, resource, parameters) in [
        ("p2", hash("1"), json!({"operations": [{"op": "create", "path": "a"}]})),
        (
            "p3",
            "1-a".to_owned(),
            json!({"operations": [{"op": "create", "path": "b"}], "patch_hash": hash("1")}),
        ),
    ] {
        let mut patch = proposal(id, "write");
        patch["target"] = json!({"resource_type": "patch_set", "resource_id": resource, "domain": "workspace",
            "constraints": {}});
        patch["parameters"] = parameters;
        let status = scene.submit(&patch).await;
        let spent = scene.spend(&status, &patch).await.unwrap();
        for (wrong, why) in [
            (report(UseOutcome::Failed, hash("1"), "1-a"), "the outcome `succeeded`"),
            (report(UseOutcome::Unknown, hash("1"), "1-a"), "the outcome `succeeded`"),
            (report(UseOutcome::Succeeded, hash("2"), "1-a"), "another patch set"),
            (report(UseOutcome::Succeeded, "1-a".to_owned(), "1-a"), "not the hash"),
            (report(UseOutcome::Succeeded, hash("1"), ""), "must not be empty"),
            (report(UseOutcome::Succeeded, hash("1"), "a\nb"), "a control character"),
        ] {
            let refused = settle(&spent, wrong).await.unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
        settle(&spent, report(UseOutcome::Succeeded, hash("1"), "1-a")).await.unwrap();
    }
    let entries = scene.gate.ledger_entries(0, 100).await.unwrap();
    assert_eq!(entries.iter().filter(|it| it.entry.event.name() == "applied").count(), 2);
}

#[tokio::test]
async fn time_passes_by_a_record_that_cannot_be_read() {
    let scene = Scene::new().await;
    for id in ["p1", "p2", "p3"] {
        scene.submit(&proposal(id, "write")).await;
    }
    let read = proposal("p4", "read");
    let status = scene.submit(&read).await;
    scene.spend(&status, &read).await.unwrap();
    let broken = NewRecord::new("action", "p2", "held", "{");
    let change = Change::new(vec![Guard::new("action", "p2", 1)], |_| Writes {
        records: vec![broken],
        ..Writes::default()
    });
    scene.gate.store().commit(change).await.unwrap();
    scene.pass(24 * 3_600_000);
    let swept = scene.gate.sweep().await.unwrap();
    assert_eq!((swept.changed, swept.problems.len()), (3, 1));
    assert!(swept.problems[0].contains("`p2`"), "{swept:?}");
}

#[tokio::test]
async fn no_use_is_open_for_ever() {
    let scene = Scene::new().await;
    let mut read = proposal("p1", "read");
    read["time_window"] = json!({"valid_from_ms": NOW, "valid_until_ms": NOW + 60_000,
        "max_duration_ms": 9_007_199_254_740_991_u64});
    let status = scene.submit(&read).await;
    let spent = scene.spend(&status, &read).await.unwrap();
    assert_eq!(spent.deadline_ms, NOW + 24 * 3_600_000);
    scene.pass(24 * 3_600_000 + 5_001);
    assert_eq!(scene.gate.sweep().await.unwrap().changed, 1);
    assert_eq!(scene.gate.status(&scene.operator, "p1").await.unwrap().state, ActionState::Unknown);
}

#[tokio::test]
async fn an_outcome_beyond_the_limits_has_failed() {
    let scene = Scene::new().await;
    let mut read = proposal("p1", "read");
    read["risk_envelope"] = json!({"allowed_side_effects": [], "forbidden_effects": [], "max_affected_records": 3,
        "reversible_required": false});
    let status = scene.submit(&read).await;
    let spent = scene.spend(&status, &read).await.unwrap();
    let report = OutcomeReport {
        number: 1,
        outcome: UseOutcome::Succeeded,
        affected_records: Some(4),
        duration_ms: Some(1),
        reason: String::new(),
        change: None,
    };
    let permit = scene
        .gate
        .settle(&Caller::local("worker").with_agents(scene::AGENTS), &spent.permit_id, &report)
        .await
        .unwrap();
    let settled = permit.uses[0].settled.clone().unwrap();
    assert_eq!(settled.outcome, UseOutcome::Failed);
    assert!(settled.reason.contains("allows 3"), "{}", settled.reason);
}

/// Else a report that is beyond the limits would open the way for doing it again blindly.
#[tokio::test]
async fn what_nobody_knows_stays_unknown_beyond_the_limits() {
    let scene = Scene::new().await;
    let mut read = proposal("p1", "read");
    read["risk_envelope"] = json!({"allowed_side_effects": [], "forbidden_effects": [], "max_affected_records": 3,
        "reversible_required": false});
    let status = scene.submit(&read).await;
    let spent = scene.spend(&status, &read).await.unwrap();
    let unknown = OutcomeReport {
        number: 1,
        outcome: UseOutcome::Unknown,
        affected_records: Some(4),
        duration_ms: None,
        reason: "the connection broke".to_owned(),
        change: None,
    };
    let worker = Caller::local("worker").with_agents(scene::AGENTS);
    let permit = scene.gate.settle(&worker, &spent.permit_id, &unknown).await.unwrap();
    let settled = permit.uses[0].settled.clone().unwrap();
    assert_eq!(settled.outcome, UseOutcome::Unknown);
    assert!(settled.reason.contains("allows 3; the connection broke"), "{}", settled.reason);
    let refused = scene.spend(&status, &read).await.unwrap_err().to_string();
    assert!(refused.contains("is unknown"), "{refused}");
    // Learning that it happened does not make it allowed.
    assert_eq!(scene.report(&spent, UseOutcome::Succeeded).await.unwrap(), ActionState::Failed);
    assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
}

/// A folder for keys, removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ordain-gate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn key(&self) -> String {
        std::fs::read_to_string(self.0.join("signing.key")).unwrap()
    }

    fn files(&self) -> usize {
        std::fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The ids of the keys that signed the permits, in order.
async fn signers(scene: &Scene) -> Vec<String> {
    let entries = scene.gate.ledger_entries(0, 500).await.unwrap();
    let key = |event: Event| match event {
        Event::PermitMinted { key_id, .. } => Some(key_id),
        _ => None,
    };
    entries.into_iter().filter_map(|it| key(it.entry.event)).collect()
}

#[tokio::test]
async fn a_retired_key_signs_nothing_in_a_process_that_does_not_know_yet() {
    let (folder, elsewhere) = (Folder::new("keys"), Folder::new("keys-elsewhere"));
    let keyring = Keyring::open(&folder.0).unwrap();
    std::fs::copy(folder.0.join("signing.key"), elsewhere.0.join("signing.key")).unwrap();
    let first = Scene::with(Store::open(&Location::Memory).await.unwrap(), keyring, NOW).await;
    let store = || first.gate.store().clone();
    let second = Scene::with(store(), Keyring::open(&folder.0).unwrap(), NOW).await;
    let third = Scene::with(store(), Keyring::open(&elsewhere.0).unwrap(), NOW).await;
    let old = first.gate.keyring().public().id();
    let new = first.gate.rotate_key(&first.operator).await.unwrap().key_id;
    second.submit(&proposal("p1", "read")).await;
    assert_eq!(signers(&second).await, std::slice::from_ref(&new));
    assert_ne!(new, old);
    second.gate.checkpoint().await.unwrap();
    // Its folder has only the retired key.
    let read = proposal("p2", "read").to_string();
    let refused = third.gate.submit(&third.operator, read.as_bytes(), None).await.err().unwrap();
    assert!(refused.to_string().contains("is retired"), "{refused}");
    let refused = third.gate.checkpoint().await.unwrap_err().to_string();
    assert!(refused.contains("is retired"), "{refused}");
    // Acts that need no signature go on, and a new key makes it whole.
    assert_eq!(third.submit(&proposal("p3", "write")).await.state, ActionState::Held);
    third.gate.rotate_key(&third.operator).await.unwrap();
    third.submit(&proposal("p4", "read")).await;
    assert_eq!((folder.files(), elsewhere.files()), (1, 1));
    assert_eq!(check_records(first.gate.store()).await.unwrap(), []);
}

#[tokio::test]
async fn a_rotation_that_is_broken_off_leaves_one_key() {
    let folder = Folder::new("broken-off");
    let path = folder.0.join("store.db");
    let open = async || Store::open(&Location::File(path.clone())).await.unwrap();
    let scene = Scene::with(open().await, Keyring::open(&folder.0).unwrap(), NOW).await;
    let before = folder.key();
    // The store fails: the old key is still the one.
    scene.gate.store().clone().close().await.unwrap();
    assert!(scene.gate.rotate_key(&scene.operator).await.is_err());
    assert_eq!((folder.key(), folder.files()), (before.clone(), 2));
    let scene = Scene::with(open().await, Keyring::open(&folder.0).unwrap(), NOW).await;
    scene.submit(&proposal("p1", "read")).await;
    assert_eq!(scene.gate.keys().await.unwrap().len(), 1);
    // The process ends when the new key is on record, and not in its place.
    let new = scene.gate.rotate_key(&scene.operator).await.unwrap().key_id;
    let draft = folder.0.join(format!("signing.key.{new}.new"));
    std::fs::rename(folder.0.join("signing.key"), &draft).unwrap();
    let options = std::fs::metadata(&draft).unwrap().permissions();
    std::fs::write(folder.0.join("signing.key"), before).unwrap();
    std::fs::set_permissions(folder.0.join("signing.key"), options).unwrap();
    let again = Scene::with(scene.gate.store().clone(), Keyring::open(&folder.0).unwrap(), NOW).await;
    again.submit(&proposal("p2", "read")).await;
    assert_eq!(signers(&again).await.last(), Some(&new));
    assert!(!draft.exists());
}

#[tokio::test]
async fn nodes_with_different_clocks_write_one_order_of_times() {
    let first = Scene::new().await;
    let second = Scene::at(first.gate.store().clone(), NOW - 59_000).await;
    // Neither has seen the other's last entry when it begins.
    for round in 0..5 {
        first.submit(&proposal(&format!("a{round}"), "read")).await;
        first.pass(59_000);
        second.submit(&proposal(&format!("b{round}"), "write")).await;
        second.pass(59_000);
        first.submit(&proposal(&format!("c{round}"), "write")).await;
    }
    let entries = first.gate.ledger_entries(0, 500).await.unwrap();
    assert!(entries.windows(2).all(|pair| pair[0].entry.at_ms <= pair[1].entry.at_ms));
    let found = audit(first.gate.store(), &[], &[], |_, _| {}).await.unwrap();
    assert_eq!(found.damage, []);
    assert_eq!(check_records(first.gate.store()).await.unwrap(), []);
}

#[tokio::test]
async fn a_node_whose_clock_is_far_behind_writes_nothing() {
    let first = Scene::new().await;
    let read = proposal("p1", "read");
    let status = first.submit(&read).await;
    let spent = first.spend(&status, &read).await.unwrap();
    let held = first.submit(&proposal("p2", "write")).await;
    let second = Scene::at(first.gate.store().clone(), NOW - 60_000).await;
    second.gate.check_head().await.unwrap();
    second.hands.store(NOW - 60_001, Ordering::Relaxed);
    let size = first.gate.size().await.unwrap();
    let packet = json!({"evidence_id": "e1", "packet_type": "attestation", "sensor_id": "s", "sensor_type": "s",
        "observed_at_ms": 1, "received_at_ms": 1, "payload": {},
        "payload_hash": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"});
    let new = NewToken {
        principal: "x".to_owned(),
        roles: [Role::Actor].into(),
        names: Default::default(),
        expires_at_ms: None,
        secret: None,
    };
    let p3 = proposal("p3", "read").to_string();
    let refusals = [
        second.gate.submit(&second.operator, p3.as_bytes(), None).await.err(),
        second.say("ann", &held, Verdict::Approve).await.err(),
        second.spend(&status, &read).await.err(),
        second.report(&spent, UseOutcome::Succeeded).await.err(),
        second.gate.receive(&second.operator, packet.to_string().as_bytes()).await.err(),
        second.gate.create_token(&second.operator, &new).await.err(),
        second.gate.halt(&second.operator, "stop").await.err(),
        second.gate.check_head().await.err(),
    ];
    for refusal in refusals {
        let refusal = refusal.unwrap();
        let told = refusal.to_string();
        assert!(matches!(refusal, GateError::Unavailable(_)), "{told}");
        assert!(told.contains("2027-01-15T07:58:59.999Z") && told.contains("2027-01-15T08:00:00Z"), "{told}");
    }
    assert_eq!(first.gate.size().await.unwrap(), size);
    // The others go on, and so does it when its clock is right.
    first.gate.halt(&first.operator, "stop").await.unwrap();
    second.pass(60_000);
    second.gate.resume(&second.operator, "go").await.unwrap();
}

/// A machine that sleeps for an hour, at any moment: what was decided before is not written after.
#[tokio::test]
async fn what_was_decided_long_ago_is_decided_again() {
    let store = Store::open(&Location::Memory).await.unwrap();
    // When it is looked at so often from now on, an hour passes.
    let looks = Arc::new(AtomicU64::new(u64::MAX));
    let (looked, hands) = (looks.clone(), AtomicU64::new(NOW));
    let clock = Clock::of(move || match looked.fetch_sub(1, Ordering::Relaxed) {
        0 => hands.fetch_add(3_600_000, Ordering::Relaxed) + 3_600_000,
        _ => hands.load(Ordering::Relaxed),
    });
    let keyring = Keyring::ephemeral().unwrap();
    let gate = Gate::open(store, keyring, clock, Settings::default()).await.unwrap();
    let operator = Caller::local("operator").with_agents(scene::AGENTS);
    gate.set_policy(&operator, &policies("2")).await.unwrap();
    for moment in 0..3 {
        looks.store(moment, Ordering::Relaxed);
        let proposal = proposal(&format!("p{moment}"), "read").to_string();
        gate.submit(&operator, proposal.as_bytes(), None).await.unwrap();
        assert!(looks.load(Ordering::Relaxed) > u64::MAX / 2, "an hour has passed");
    }
    for held in gate.ledger_entries(0, 500).await.unwrap() {
        let Event::Decided { decision_document, .. } = held.entry.event else { continue };
        let attached = gate.store().attached(held.index).await.unwrap();
        let is_decision = |bytes: &Vec<u8>| ordain_canon::ContentHash::of(bytes).is(&decision_document);
        let decision = attached.into_iter().find(is_decision).unwrap();
        let decision: Json = serde_json::from_slice(&decision).unwrap();
        assert!(held.entry.at_ms - decision["decided_at_ms"].as_u64().unwrap() <= 60_000, "{decision}");
    }
    assert_eq!(check_records(gate.store()).await.unwrap(), []);
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
    let found = audit(
        scene.gate.store(),
        &verifiers,
        &[NamedNote { name: "kept".to_owned(), note: checkpoint, own: true }],
        |_, _| {},
    )
    .await
    .unwrap();
    assert_eq!((found.damage, found.checkpoints), (vec![], 1));
    let proof = scene.gate.prove(3).await.unwrap();
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

/// The kept checkpoint is what shows that a store was set back, so nothing takes its place that does not
/// follow from it.
#[tokio::test]
async fn a_checkpoint_is_kept_only_of_a_ledger_that_grew() {
    let path = std::env::temp_dir().join(format!("ordain-gate-{}.checkpoint", std::process::id()));
    let (scene, other) = (Scene::new().await, Scene::new().await);
    scene.gate.keep_checkpoint(&path).await.unwrap();
    scene.submit(&proposal("p1", "read")).await;
    scene.gate.keep_checkpoint(&path).await.unwrap();
    let kept = std::fs::read_to_string(&path).unwrap();
    let refused = other.gate.keep_checkpoint(&path).await.unwrap_err();
    assert!(matches!(refused, GateError::Damaged(_)), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), kept);
    std::fs::remove_file(&path).unwrap();
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
    let again = OutcomeReport {
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
    assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
}

/// The policies, with what the tool `deploy` does, what deploying takes, and where nobody may deploy to.
fn tools(target: &str, takes: &str, forbidden: &str) -> PolicyFiles {
    let mut files = policies("2");
    let cedar = format!(
        r#"
@id("execute") @max_executions("2") {takes}
permit(principal, action == Action::"execute", resource);
@id("nowhere-else")
forbid(principal, action == Action::"execute", resource) when {{ resource.id == "{forbidden}" }};
"#
    );
    files.insert("deploy.cedar".to_owned(), cedar);
    let mapping = format!(
        "[deploy]\naction_type = \"execute\"\nresource_type = \"service\"\nresource_id = \"{target}\"\ndomain = \"cloud\"\n"
    );
    files.insert("tools.toml".to_owned(), mapping);
    files
}

fn request(id: &str, tool: &str) -> Json {
    json!({"request_id": id, "ts_ms": NOW, "actor": "agent", "intent": "bring it there",
        "tool_call": {"name": tool, "params": {"version": 7}}})
}

/// The text that replaces `request`.
fn deployed(target: &str) -> Json {
    json!({"action_type": "execute", "parameters": {"version": 7},
        "target": {"resource_type": "service", "resource_id": target, "domain": "cloud", "constraints": {}}})
}

#[tokio::test]
async fn a_request_is_decided_approved_and_spent_as_what_it_stands_for() {
    let scene = Scene::new().await;
    let single = r#"@approval("single") @approvers("leads")"#;
    scene.gate.set_policy(&scene.operator, &tools("prod", single, "staging")).await.unwrap();
    let status = scene.submit(&request("r1", "deploy")).await;
    assert_eq!((status.action_id.as_str(), status.state), ("r1", ActionState::Held));
    assert_eq!(status.view["proposal"]["target"], deployed("prod")["target"]);
    // The purpose is shown to people, and bound to their approval by the digest.
    assert_eq!(status.view["intent"], "bring it there");
    let allowed = scene.say("ann", &status, Verdict::Approve).await.unwrap();
    assert_eq!(allowed.state, ActionState::Allowed);
    let settled = scene.gate.status(&scene.operator, "r1").await.unwrap();
    assert_eq!(
        (&settled.view["intent"], &settled.view_digest),
        (&json!("bring it there"), &status.view_digest)
    );
    let spent = scene.spend(&allowed, &deployed("prod")).await.unwrap();
    assert_eq!(scene.report(&spent, UseOutcome::Succeeded).await.unwrap(), ActionState::Succeeded);
    let spent = scene.spend_request(&allowed, &request("r1", "deploy")).await.unwrap();
    assert_eq!(scene.report(&spent, UseOutcome::Succeeded).await.unwrap(), ActionState::Succeeded);
    let mut other = request("r1", "deploy");
    other["tool_call"]["params"]["version"] = json!(8);
    let refused = scene.spend_request(&allowed, &other).await.unwrap_err().to_string();
    assert!(refused.contains("another `parameters`"), "{refused}");
    let refused = scene.spend_request(&allowed, &request("r1", "rm")).await.unwrap_err().to_string();
    assert!(refused.contains("do not map"), "{refused}");

    // Policies that hide it from now on hide it here too.
    let mut hiding = tools("prod", single, "staging");
    hiding.insert("redact.toml".to_owned(), "fields = [\"intent\"]".to_owned());
    scene.gate.set_policy(&scene.operator, &hiding).await.unwrap();
    let hidden = scene.gate.status(&scene.operator, "r1").await.unwrap();
    assert!(hidden.view["intent"].as_str().unwrap().starts_with("redacted:"), "{}", hidden.view);
    assert_eq!(hidden.view_digest, "");

    let unmapped = scene.submit(&request("r2", "rm")).await;
    assert_eq!((unmapped.state, unmapped.decision.reasons[0].rule_id.as_str()), (ActionState::Denied, "G2"));
    let same = replay(&scene.gate, None, |_, _| {}).await.unwrap();
    assert_eq!((same.decisions, same.same), (5, 5));
    assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
}

#[tokio::test]
async fn a_request_that_stands_for_something_else_by_now_is_not_done() {
    let scene = Scene::new().await;
    let before = tools("prod", "", "staging");
    scene.gate.set_policy(&scene.operator, &before).await.unwrap();
    let allowed = scene.submit(&request("r1", "deploy")).await;
    assert_eq!(allowed.state, ActionState::Allowed);
    // Now nobody may deploy to `prod`, and the tool deploys elsewhere.
    scene.gate.set_policy(&scene.operator, &tools("staging", "", "prod")).await.unwrap();
    let refused = scene.spend(&allowed, &deployed("prod")).await.unwrap_err().to_string();
    assert!(refused.contains("would not be allowed now"), "{refused}");
    let refused = scene.spend(&allowed, &deployed("staging")).await.unwrap_err().to_string();
    assert!(refused.contains("another `target`"), "{refused}");
    let refused = scene.spend_request(&allowed, &request("r1", "deploy")).await.unwrap_err().to_string();
    assert!(refused.contains("another `target`"), "{refused}");
    scene.gate.set_policy(&scene.operator, &before).await.unwrap();
    scene.spend(&allowed, &deployed("prod")).await.unwrap();
}

#[tokio::test]
async fn a_token_that_another_node_revoked_writes_nothing() {
    let store = Store::open(&Location::Memory).await.unwrap();
    let (here, there) = (Scene::on(store.clone()).await, Scene::on(store).await);
    let new = NewToken {
        principal: "agent".to_owned(),
        roles: [Role::Actor].into(),
        names: Default::default(),
        expires_at_ms: None,
        secret: None,
    };
    let (token, secret) = here.gate.create_token(&here.operator, &new).await.unwrap();
    let secret = secret.unwrap();
    here.gate.authenticate(&secret).await.unwrap();
    let caller = here.gate.authenticate_to_write(&secret).await.unwrap();
    let submit = async |id: &str| {
        let text = proposal(id, "read").to_string();
        here.gate.submit(&caller, text.as_bytes(), None).await
    };
    submit("before").await.unwrap();
    there.gate.revoke_token(&there.operator, &token.token_id).await.unwrap();
    // This node still has the token in memory. The write finds out, and so does an answer for which nothing is written.
    let entries = here.gate.size().await.unwrap();
    for id in ["after", "before"] {
        let refused = submit(id).await.map(|_| ()).unwrap_err();
        assert!(matches!(refused, GateError::Unauthenticated(_)), "{id}: {refused:?}");
    }
    assert_eq!(here.gate.size().await.unwrap(), entries);
    assert!(here.gate.confirm(&caller).await.is_err());
    assert!(here.gate.authenticate_to_write(&secret).await.is_err(), "it is forgotten");
}

/// Later policies change nothing about what was decided, by which policies, and what approvers saw.
#[tokio::test]
async fn a_settled_action_shows_what_was_decided() {
    let scene = Scene::new().await;
    let rejected = scene.submit(&proposal("no", "write")).await;
    scene.say("ann", &rejected, Verdict::Reject).await.unwrap();
    // The approvers of the next one are told of the rejection.
    scene.submit(&proposal("yes", "write")).await;
    let held = scene.gate.status(&scene.operator, "yes").await.unwrap();
    assert!(held.view.get("earlier").is_some());
    scene.pass(1_000);
    let once = scene.say("ann", &held, Verdict::Approve).await.unwrap();
    assert_eq!(once.state, ActionState::Held);
    // Other policies between the two approvals: what is shown has another digest.
    scene.gate.set_policy(&scene.operator, &policies("3")).await.unwrap();
    let again = scene.gate.status(&scene.operator, "yes").await.unwrap();
    assert_ne!(again.view_digest, held.view_digest);
    let seen_by_ann = again.shown[0].view.clone().unwrap();
    assert_eq!(seen_by_ann, held.view);
    scene.pass(1_000);
    let allowed = scene.say("bob", &again, Verdict::Approve).await.unwrap();
    assert_eq!(allowed.state, ActionState::Allowed);
    // And others again, which hide more.
    let mut stricter = policies("4");
    stricter.insert("redact.toml".to_owned(), "fields = [\"password\", \"email\"]".to_owned());
    for (files, hides_more) in [(policies("5"), false), (stricter, true)] {
        scene.gate.set_policy(&scene.operator, &files).await.unwrap();
        let settled = scene.gate.status(&scene.operator, "yes").await.unwrap();
        assert_eq!(settled.decision.policy_hash, allowed.decision.policy_hash);
        assert_eq!(settled.view["policy_hash"], allowed.decision.policy_hash.as_str());
        let digests: Vec<&str> = settled.approvals.iter().map(|it| it.view_digest.as_str()).collect();
        assert_eq!(digests, [held.view_digest.as_str(), again.view_digest.as_str()]);
        let who: Vec<(&str, u64)> = settled.shown.iter().map(|it| (it.approver.as_str(), it.at_ms)).collect();
        assert_eq!(who, [("ann", NOW + 1_000), ("bob", NOW + 2_000)]);
        assert_eq!(settled.shown[0].policy_hash, held.view["policy_hash"].as_str().unwrap());
        if hides_more {
            let email = settled.view.pointer("/proposal/parameters/updates/email").unwrap();
            assert!(email.as_str().unwrap().starts_with("redacted:"), "{email}");
            assert_eq!(settled.view_digest, "", "it is no longer what the digest names");
        } else {
            assert_eq!(settled.view_digest, again.view_digest);
            assert_eq!(settled.view, again.view);
            assert_eq!(settled.shown[0].view.as_ref(), Some(&held.view));
            assert_eq!(settled.shown[1].view, None, "it is the view of the action");
        }
        let listed = scene.gate.actions(&scene.operator, None, None, 10).await.unwrap().0;
        let listed = listed.iter().find(|it| it.action_id == "yes").unwrap();
        assert_eq!(listed.view["policy_hash"], allowed.decision.policy_hash.as_str());
    }
    assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
}

#[tokio::test]
async fn a_permit_that_nobody_used_in_time_is_shown_as_expired() {
    let scene = Scene::new().await;
    let allowed = scene.submit(&proposal("unused", "read")).await;
    let until_ms = allowed.permit.as_ref().unwrap().valid_until_ms;
    assert_eq!(allowed.state, ActionState::Allowed);
    scene.pass(until_ms - NOW - 1);
    assert_eq!(scene.gate.status(&scene.operator, "unused").await.unwrap().state, ActionState::Allowed);
    scene.pass(1);
    assert_eq!(scene.gate.status(&scene.operator, "unused").await.unwrap().state, ActionState::Expired);
    let listed = scene.gate.actions(&scene.operator, None, None, 10).await.unwrap().0;
    assert_eq!(listed[0].state, ActionState::Expired);
}
