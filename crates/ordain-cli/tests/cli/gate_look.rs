//! Looking at a store changes nothing in it, and no command but a push changes the policies in force.

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
    // The folder's present content is not in force, and looking does not put it in force.
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
    // Nor does what decides: it says that the folder differs.
    room.write("more.json", &proposal("p2", "crm", 2).to_string());
    room.run(&["submit", "more.json"]).ended(0).says("policy differs from the policies in force");
    assert_eq!(policy_hash(&room), hash);
    // Only a push does, and an unchanged folder makes no difference.
    room.push();
    assert_ne!(policy_hash(&room), hash);
    let again = room.run(&["submit", "more.json"]).ended(0);
    assert_eq!(again.stderr, "");
    room.sound();
}
