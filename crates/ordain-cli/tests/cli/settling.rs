//! Nobody knows whether something was done: an owner says so on their terminal, with a signature, and the lock on the
//! same effect goes or stays.

use crate::approving::{about_file, owned_solo};
use crate::harness::Project;
use crate::presence::{ASKED, PASSPHRASE, detached, on_terminal};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// Longer than the deadline of a use below, and its grace.
const SILENCE: Duration = Duration::from_millis(6_800);

/// A delete of one file, whose use ends in silence after a second.
fn delete(id: &str) -> String {
    let mut document: Json = serde_json::from_str(&about_file(id, "delete", "src/a.rs")).unwrap();
    let now_ms = document["ts_ms"].as_u64().unwrap();
    document["time_window"] = json!({"valid_from_ms": now_ms - 1_000, "valid_until_ms": now_ms + 600_000,
        "max_duration_ms": 1_000});
    document.to_string()
}

/// An action that was allowed and begun, and of which nobody has heard since.
fn interrupted(project: &Project, id: &str) {
    project.write(&format!("{id}.json"), &delete(id));
    project.run(&["submit", &format!("{id}.json")]).ended(20);
    on_terminal(project, &[(ASKED, "a"), ("Passphrase: ", PASSPHRASE)], &["approve", id]).ended(0);
    project.run(&["permit", "use", id, "--for", &format!("{id}.json")]).ended(0);
    std::thread::sleep(SILENCE);
}

fn state(project: &Project, id: &str) -> Json {
    project.run(&["status", id, "--json"]).json()["state"].clone()
}

/// How the entries about outcomes were signed, and what they say; without those that time has written.
fn settled(project: &Project) -> Vec<(Json, Json)> {
    let entries = project.entries();
    let settled = entries
        .iter()
        .map(|it| &it["entry"])
        .filter(|it| it["event"]["kind"] == "permit_settled" && it["by"] != "ordain");
    settled.map(|it| (it["how"].clone(), it["event"]["outcome"].clone())).collect()
}

#[test]
fn an_owner_says_whether_it_happened() {
    let project = owned_solo();
    interrupted(&project, "d1");
    project.write("d2.json", &delete("d2"));
    project.run(&["submit", "d2.json"]).ended(20);
    // The agent has its owner's shell, and not their passphrase.
    for outcome in ["failed", "succeeded"] {
        assert_ne!(detached(&project, &["permit", "outcome", "d1", outcome]).code, 0);
    }
    assert_eq!((state(&project, "d1"), settled(&project)), (json!("unknown"), vec![]));
    let listed = detached(&project, &["approve", "--json"]).ended(20).json();
    assert_eq!(
        (&listed["unknown"][0]["action_id"], &listed["unknown"][0]["locks"]),
        (&json!("d1"), &json!(true))
    );
    assert_eq!(listed["held"][0]["action_id"], "d2");

    // Nobody can tell: the lock stays, also for what is approved now.
    let steps = [(ASKED, "c"), ("Passphrase: ", PASSPHRASE), (ASKED, "a"), ("Passphrase: ", PASSPHRASE)];
    let said = on_terminal(&project, &steps, &["approve"]).ended(23);
    said.says_all(&[
        "Did it happen?",
        "no outcome was reported in time",
        "d1 use 1: nobody can tell; it stays unknown; its lock is kept",
        "agent-1 wants to delete",
    ]);
    assert_eq!(state(&project, "d2"), "allowed");
    project
        .run(&["permit", "use", "d2", "--for", "d2.json"])
        .ended(1)
        .says_all(&["is unknown", "ordain approve"]);

    // It did not: the lock is free.
    let steps = [(ASKED, "x"), (ASKED, "d"), ("Passphrase: ", PASSPHRASE)];
    on_terminal(&project, &steps, &["approve", "d1"]).ended(0).says_all(&[
        "Type one of the letters",
        "d1 use 1: did not happen; it counts as failed; its lock is freed",
        "ordain/act/v1",
    ]);
    assert_eq!(state(&project, "d1"), "failed");
    project.run(&["permit", "use", "d2", "--for", "d2.json"]).ended(0);
    let (unknown, failed) = ((json!("signed"), json!("unknown")), (json!("signed"), json!("failed")));
    assert_eq!(settled(&project), [unknown, failed]);
    project.sound();
}

#[test]
fn a_watching_owner_is_asked_too() {
    let project = owned_solo();
    interrupted(&project, "d1");
    let steps = [
        ("Passphrase: ", PASSPHRASE),
        ("`q` ends.", "1"),
        (ASKED, "s"),
        ("nobody said whether it happened", "1"),
        (ASKED, "h"),
        ("Passphrase: ", PASSPHRASE),
        ("its lock is freed", "q"),
    ];
    on_terminal(&project, &steps, &["watch"]).ended(0).says_all(&["Did it happen?", "nothing waits"]);
    assert_eq!(state(&project, "d1"), "succeeded");
    assert_eq!(settled(&project), [(json!("signed"), json!("succeeded"))]);
    // From the command line too, where the gate asks for the key.
    interrupted(&project, "d2");
    let outcome = ["permit", "outcome", "d2", "failed", "--reason", "the file is there"];
    on_terminal(&project, &[("Passphrase: ", PASSPHRASE)], &outcome).ended(0);
    assert_eq!(settled(&project).len(), 2);
    project.sound();
}
