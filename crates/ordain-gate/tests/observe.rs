//! Observing: an owner has the calls of a hook, or of all hooks, recorded only. Nothing is minted, and it ends alone.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod scene;

use ed25519_dalek::SigningKey;
use ordain_api::{ActAnswer, ActionState, EndedObservation, NewObservation, OwnerAct};
use ordain_gate::{
    Act, Caller, GateError, OBSERVE_MS_MAX, PAUSE_MS_MAX, audit, audit_owner, check_records, replay,
};
use ordain_spec::decision::Outcome;
use ordain_store::{Change, Writes};
use scene::owner::{owned, public, signed};
use scene::{NOW, Scene, proposal};
use serde_json::{Value as Json, json};

const HOOK: &str = "00ff00ff00ff00ff";
const HOUR: u64 = 3_600_000;

fn observation(hook: Option<&str>, until_ms: u64) -> NewObservation {
    NewObservation { hook: hook.map(str::to_owned), reason: "a gentle start".to_owned(), until_ms }
}

async fn start(scene: &Scene, ann: &SigningKey, new: &NewObservation) -> Result<(), GateError> {
    let caller = signed(scene, "ann", ann, OwnerAct::StartObservation, &new.subject()).await;
    scene.gate.start_observation(&caller, new).await.map(drop)
}

async fn act(scene: &Scene, call: &Json, hook: Option<&str>) -> ActAnswer {
    let text = call.to_string();
    let act = Act { text: text.as_bytes(), supersedes: None, waited_for: None, hook };
    scene.gate.act(&Caller::local("agent"), &act).await.unwrap()
}

async fn is_sound(scene: &Scene, ann: &SigningKey) {
    let store = scene.gate.store();
    assert_eq!(audit(store, &[], &[], |_, _| {}).await.unwrap().damage, []);
    assert_eq!(check_records(store).await.unwrap(), []);
    assert_eq!(audit_owner(store, &public(ann)).await.unwrap(), []);
    let replayed = replay(&scene.gate, None, |_, _| {}).await.unwrap();
    assert_eq!((replayed.same, replayed.not_replayed), (replayed.decisions, vec![]));
}

/// A call that is held, one that is denied and one that is allowed.
const CALLS: [(&str, &str, Outcome); 3] = [
    ("held", "delete", Outcome::Hold),
    ("denied", "approve", Outcome::Deny),
    ("allowed", "read", Outcome::Allow),
];

#[tokio::test]
async fn calls_of_an_observed_hook_are_only_recorded() {
    let (scene, ann) = owned().await;
    let until_ms = NOW + HOUR;
    start(&scene, &ann, &observation(Some(HOOK), until_ms)).await.unwrap();
    let shown = scene.gate.gate_status().await.unwrap().observing;
    assert_eq!((shown.len(), shown[0].hook.as_deref(), shown[0].by.as_str()), (1, Some(HOOK), "ann"));
    for (id, action, outcome) in CALLS {
        let size = scene.gate.size().await.unwrap();
        let answer = act(&scene, &proposal(id, action), Some(HOOK)).await;
        assert_eq!(answer.outcome, outcome, "{id}: {:?}", answer.action.decision.reasons);
        assert_eq!(answer.observed.as_ref().unwrap().until_ms, until_ms);
        assert_eq!((answer.used, answer.action.permit), (None, None));
        let entries = scene.gate.ledger_entries(size, 10).await.unwrap();
        let names: Vec<&str> = entries.iter().map(|entry| entry.entry.event.name()).collect();
        assert_eq!(names, ["submitted", "decided", "observed"]);
        let status = scene.gate.status(&scene.operator, id).await.unwrap();
        assert_eq!((status.state, status.expires_at_ms), (ActionState::Observed, None));
        // It stays as it is: the same id is not decided again.
        assert_eq!(act(&scene, &proposal(id, action), Some(HOOK)).await.observed, None);
    }
    // Other hooks and callers are judged as ever; nothing joins an observed call.
    for hook in [None, Some("claude"), Some("00ff00ff00ff00fe")] {
        let id = format!("other-{}", hook.unwrap_or("none"));
        let answer = act(&scene, &proposal(&id, "delete"), hook).await;
        assert_eq!((answer.outcome, answer.observed), (Outcome::Hold, None), "{hook:?}");
    }
    // A halt goes before it.
    scene.gate.halt(&Caller::local("ann"), "stop").await.unwrap();
    let answer = act(&scene, &proposal("in-a-halt", "read"), Some(HOOK)).await;
    assert_eq!((answer.outcome, answer.observed), (Outcome::Deny, None));
    let lifted = ordain_spec::statement::reason_hash("go");
    let caller = signed(&scene, "ann", &ann, OwnerAct::Resume, &lifted).await;
    scene.gate.resume(&caller, "go").await.unwrap();
    // It ends by itself.
    scene.pass(HOUR - 1_000);
    assert!(act(&scene, &proposal("just-before", "delete"), Some(HOOK)).await.observed.is_some());
    scene.pass(1_000);
    let answer = act(&scene, &proposal("after", "delete"), Some(HOOK)).await;
    assert_eq!((answer.outcome, answer.observed), (Outcome::Hold, None));
    assert_eq!(scene.gate.gate_status().await.unwrap().observing, []);
    is_sound(&scene, &ann).await;
}

#[tokio::test]
async fn a_pause_counts_for_all_hooks_and_anybody_ends_it() {
    let (scene, ann) = owned().await;
    start(&scene, &ann, &observation(None, NOW + HOUR)).await.unwrap();
    assert!(act(&scene, &proposal("p1", "delete"), Some("codex")).await.observed.is_some());
    assert!(act(&scene, &proposal("p2", "delete"), Some(HOOK)).await.observed.is_some());
    // A gateway names none.
    assert_eq!(act(&scene, &proposal("p3", "delete"), None).await.observed, None);
    let end = |hook: Option<&str>| EndedObservation { hook: hook.map(str::to_owned) };
    let nobody = Caller::local("ann");
    // Another one goes on.
    assert_eq!(scene.gate.end_observation(&nobody, &end(Some(HOOK))).await.unwrap().observing.len(), 1);
    assert_eq!(scene.gate.end_observation(&nobody, &end(None)).await.unwrap().observing, []);
    let size = scene.gate.size().await.unwrap();
    scene.gate.end_observation(&nobody, &end(None)).await.unwrap();
    assert_eq!(scene.gate.size().await.unwrap(), size);
    assert_eq!(act(&scene, &proposal("p4", "delete"), Some("codex")).await.observed, None);
    is_sound(&scene, &ann).await;
}

#[tokio::test]
async fn only_an_owner_starts_an_observation_and_not_for_long() {
    let scene = Scene::new().await;
    let new = observation(Some(HOOK), NOW + HOUR);
    // On a gate that nobody owns every process could.
    let open = scene.gate.start_observation(&scene.operator, &new).await;
    assert!(matches!(open, Err(GateError::Presence(_))), "{open:?}");
    let (scene, ann) = owned().await;
    let unsigned = scene.gate.start_observation(&Caller::local("ann"), &new).await;
    assert!(matches!(unsigned, Err(GateError::Presence(_))), "{unsigned:?}");
    // A statement is about one hook, one end and one reason.
    let caller = signed(&scene, "ann", &ann, OwnerAct::StartObservation, &new.subject()).await;
    for other in [
        observation(None, new.until_ms),
        observation(Some("00ff00ff00ff00fe"), new.until_ms),
        observation(Some(HOOK), new.until_ms + 1),
        NewObservation { reason: "another".to_owned(), ..new.clone() },
    ] {
        let refused = scene.gate.start_observation(&caller, &other).await;
        assert!(matches!(refused, Err(GateError::Presence(_))), "{refused:?}");
    }
    for wrong in [
        observation(Some(HOOK), NOW + OBSERVE_MS_MAX + 1),
        observation(None, NOW + PAUSE_MS_MAX + 1),
        observation(None, NOW),
        NewObservation { reason: " ".to_owned(), ..new.clone() },
        observation(Some(""), NOW + 1),
    ] {
        let refused = start(&scene, &ann, &wrong).await;
        assert!(matches!(refused, Err(GateError::Invalid { .. })), "{wrong:?}: {refused:?}");
    }
    start(&scene, &ann, &observation(Some(HOOK), NOW + OBSERVE_MS_MAX)).await.unwrap();
    // The last word about a hook counts.
    start(&scene, &ann, &observation(Some(HOOK), NOW + 1_000)).await.unwrap();
    assert_eq!(scene.gate.gate_status().await.unwrap().observing.len(), 1);
    scene.pass(1_000);
    assert_eq!(act(&scene, &proposal("p1", "delete"), Some(HOOK)).await.observed, None);
    is_sound(&scene, &ann).await;
}

/// Somebody who can write the store says that a call was observed which nobody wanted observed.
#[tokio::test]
async fn an_observed_call_without_an_observation_is_found() {
    let (scene, _ann) = owned().await;
    let held = act(&scene, &proposal("p1", "delete"), None).await;
    let (gate, store) = (&scene.gate, scene.gate.store());
    let last = gate.ledger_entries(gate.size().await.unwrap() - 1, 1).await.unwrap().remove(0);
    let mut entry = serde_json::to_value(&last.entry).unwrap();
    let document = entry["event"]["decision_document"].clone();
    entry["event"] = json!({"kind": "observed", "action_id": held.action.action_id,
        "decision_document": document, "hook": HOOK});
    let entries = vec![ordain_canon::Canonicalizer::new().value(&entry).unwrap().to_vec()];
    let writes = Writes { entries, ..Writes::default() };
    store.commit(Change::new(Vec::new(), |_| writes)).await.unwrap();
    let damage = check_records(store).await.unwrap();
    assert!(damage.iter().any(|it| it.problem.contains("nobody had the calls of")), "{damage:?}");
}
