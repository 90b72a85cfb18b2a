//! The work of a step, counted instead of timed.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod scene;

use ordain_api::{NewToken, Role, UseOutcome};
use ordain_canon::counting::READS;
use ordain_gate::Act;
use scene::{Scene, proposal};
use std::sync::atomic::Ordering;

/// Documents parsed, and looks at the store.
fn work(scene: &Scene) -> (u64, u64) {
    (READS.load(Ordering::Relaxed), scene.gate.store().counters().reads)
}

/// One test in this file, because the parses of a process are counted together.
#[tokio::test]
async fn a_submission_is_parsed_once_and_reads_little() {
    let scene = Scene::new().await;
    let new = NewToken {
        principal: "agent".to_owned(),
        roles: [Role::Actor, Role::Worker].into(),
        names: Default::default(),
        expires_at_ms: None,
        secret: None,
    };
    let (_, secret) = scene.gate.create_token(&scene.operator, &new).await.unwrap();
    let secret = secret.unwrap();
    // The first submission of a process reads the control record and the key.
    scene.submit(&proposal("first", "read")).await;
    scene.gate.authenticate(&secret).await.unwrap();
    for (id, action) in [("allowed", "read"), ("held", "write"), ("denied", "delete")] {
        let (parses, reads) = work(&scene);
        let text = proposal(id, action).to_string();
        let caller = scene.gate.authenticate_to_write(&secret).await.unwrap();
        scene.gate.submit(&caller, text.as_bytes(), None).await.unwrap();
        let (parses_after, reads_after) = work(&scene);
        assert_eq!(parses_after - parses, 1, "{id}: a proposal is parsed once");
        assert_eq!(reads_after - reads, 0, "{id}: everything is known, and the write checks it");
    }
    // The same for a call that acts; its deed and its effect are looked up.
    let caller = scene.gate.authenticate_to_write(&secret).await.unwrap();
    let mut call = proposal("acted", "read");
    call["target"]["resource_id"] = "9".into();
    let (_, reads) = work(&scene);
    let text = call.to_string();
    let act = Act { text: text.as_bytes(), supersedes: None, waited_for: None, hook: None };
    let used = scene.gate.act(&caller, &act).await.unwrap().used.unwrap();
    let (_, reads_after) = work(&scene);
    assert!(reads_after - reads <= 2, "{} reads", reads_after - reads);
    // Nothing is read after the commit of a report: the entry, the action, its documents and the effect come before it.
    let reads = reads_after;
    let report = ordain_api::OutcomeReport {
        number: used.number,
        outcome: UseOutcome::Succeeded,
        affected_records: None,
        duration_ms: None,
        reason: String::new(),
        change: None,
    };
    scene.gate.settle(&caller, &used.permit_id, &report).await.unwrap();
    assert!(work(&scene).1 - reads <= 4);
}
