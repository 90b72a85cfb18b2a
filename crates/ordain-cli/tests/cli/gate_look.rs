//! Looking at a store changes nothing in it, and no project's policies come into force on another's store.

use crate::harness::{Kind, Project, proposal};

/// The store's content, byte for byte.
fn bytes(room: &Project) -> Vec<u8> {
    std::fs::read(room.file()).unwrap()
}

fn policy_hash(room: &Project) -> String {
    let entries = room.entries();
    let changed = entries.iter().rev().find(|entry| entry["entry"]["event"]["kind"] == "policy_changed");
    changed.unwrap()["entry"]["event"]["policy_hash"].as_str().unwrap().to_owned()
}

/// A store with an action and a permit.
fn used(room: &Project) -> String {
    room.write("proposal.json", &proposal("p1", "crm", 1).to_string());
    let status = room.run(&["submit", "proposal.json", "--json"]).ended(0).json();
    status["permit"]["permit_id"].as_str().unwrap().to_owned()
}

const OTHER_POLICY: &str = r#"
@id("anything")
permit (principal, action, resource);
"#;

#[test]
fn looking_writes_nothing() {
    let room = Project::with_gate(Kind::File);
    let permit = used(&room);
    // What is in the folder now is not in force, and looking does not put it in force.
    room.write("policy/other.cedar", OTHER_POLICY);
    let before = bytes(&room);
    let looks: [&[&str]; 9] = [
        &["status"],
        &["status", "p1"],
        &["permit", "show", &permit],
        &["token", "list"],
        &["keys", "list"],
        &["ledger", "show"],
        &["ledger", "verify"],
        &["ledger", "fsck"],
        &["replay"],
    ];
    for look in looks {
        let ran = room.run(look).ended(0);
        assert!(!ran.stderr.contains("in force"), "{look:?}: {}", ran.stderr);
        assert!(bytes(&room) == before, "{look:?} has changed the store");
    }
    // Neither does what writes and decides nothing.
    room.run(&["token", "create", "bob", "--role", "auditor"]).ended(0);
    room.run(&["halt", "--reason", "stop"]).ended(0);
    room.run(&["resume", "--reason", "go"]).ended(0);
    let hash = policy_hash(&room);
    // What decides does.
    room.write("more.json", &proposal("p2", "crm", 2).to_string());
    room.run(&["submit", "more.json"]).ended(0).says("in force from now on");
    assert_ne!(policy_hash(&room), hash);
    room.sound();
}

#[test]
fn another_store_keeps_its_policies_its_keys_and_its_size() {
    let (room, other) = (Project::with_gate(Kind::File), Project::with_gate(Kind::File));
    other.write("policy/other.cedar", OTHER_POLICY);
    let permit = used(&other);
    let (before, hash) = (bytes(&other), policy_hash(&other));
    let file = other.file();
    let store = file.to_str().unwrap();
    let looks: [&[&str]; 5] = [
        &["status", "--store", store],
        &["status", "p1", "--store", store],
        &["permit", "show", &permit, "--store", store],
        &["ledger", "show", "--store", store],
        &["token", "list", "--store", store],
    ];
    for look in looks {
        room.run(look).ended(0);
        assert!(bytes(&other) == before, "{look:?} has changed the store");
    }
    // What is decided there is decided by its policies: this one only they allow.
    let mut stranger = proposal("p2", "crm", 2);
    stranger["actor"] = "agent-9".into();
    room.write("stranger.json", &stranger.to_string());
    room.run(&["submit", "stranger.json", "--store", store]).calm();
    assert_eq!(policy_hash(&other), hash);
    // A new store has none yet, and gets those of the project.
    let new = room.path("new.db");
    room.run(&["submit", "proposal.json", "--store", new.to_str().unwrap()]).ended(1);
    room.write("proposal.json", &proposal("p1", "crm", 1).to_string());
    room.run(&["submit", "proposal.json", "--store", new.to_str().unwrap()])
        .ended(0)
        .says("in force from now on");
}

#[test]
fn what_is_not_there_is_not_made_by_looking() {
    let room = Project::with_gate(Kind::File);
    let looks = [(&["status"][..], 1), (&["ledger", "show"], 1), (&["token", "list"], 1), (&["replay"], 2)];
    for (look, code) in looks {
        room.run(look).ended(code).says("there is no store yet");
    }
    assert!(!room.state().exists());
    room.run(&["status", "--store", "memory"]).ended(0).says("no such actions");
}
