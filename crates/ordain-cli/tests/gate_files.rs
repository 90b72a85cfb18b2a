//! Files go through the gate: where a project has an `ordain.toml`, `apply`, `undo` and `run --apply` ask, spend a permit and
//! leave their entries.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod project;

use ordain_canon::ContentHash;
use project::Project;
use serde_json::{Value as Json, json};

fn patch(operations: &[(&str, &str, &str)]) -> String {
    let operation = |(op, path, content): &(&str, &str, &str)| {
        let mut operation = json!({"op": op, "path": path});
        if *op != "delete" {
            operation["content"] = json!(content);
            operation["expected_hash"] = json!(ContentHash::of(content.as_bytes()).to_string());
            operation["size_bytes"] = json!(content.len());
        }
        operation
    };
    let total: usize = operations.iter().map(|(_, _, content)| content.len()).sum();
    json!({"patch_schema_version": "1.0.0", "source_proposal_id": "prop_2c4250a41ca4e4fa",
        "source_proposal_hash": format!("sha256:{}", "1".repeat(64)), "total_bytes": total,
        "operations": operations.iter().map(operation).collect::<Vec<_>>()})
    .to_string()
}

fn held(project: &Project) -> Json {
    let listed = project.run(&["status", "--state", "held", "--json"]).ended(0);
    serde_json::from_str(listed.stdout.lines().next().unwrap()).unwrap()
}

fn approve(project: &Project, who: &str) -> i32 {
    let held = held(project);
    let (id, view) = (held["action_id"].as_str().unwrap(), held["view_digest"].as_str().unwrap());
    project.run(&["approve", id, "--as", who, "--view", view]).code
}

fn events(project: &Project) -> Vec<String> {
    let shown = project.run(&["ledger", "show", "0", "--limit", "500", "--json"]).ended(0);
    let event = |line: &str| -> String {
        let entry: Json = serde_json::from_str(line).unwrap();
        entry["entry"]["event"]["kind"].as_str().unwrap().to_owned()
    };
    shown.stdout.lines().map(event).collect()
}

#[test]
fn a_patch_set_waits_for_its_approval_and_leaves_its_entries() {
    let project = Project::started("gate-files");
    project.write("patch.json", &patch(&[("create", "docs/a.md", "a\n"), ("create", "src/b.rs", "b\n")]));
    project.run(&["apply", "patch.json"]).ended(20).says(&["held", "write-listed", "agent-1"]);
    assert!(!project.path("docs/a.md").exists());
    // The same command again is the same proposal.
    project.run(&["apply", "patch.json"]).ended(20);
    assert_eq!(events(&project).iter().filter(|event| *event == "submitted").count(), 1);
    assert_eq!(approve(&project, "alice"), 0);
    project.run(&["apply", "patch.json"]).ended(0).says(&["applied", "2 files"]);
    assert_eq!(project.read("docs/a.md"), "a\n");
    // What cannot be done is not asked for.
    project.run(&["apply", "patch.json"]).ended(1).says(&["it is there already"]);
    // Taking it back deletes files, which takes two.
    project.run(&["undo"]).ended(20).says(&["delete-listed"]);
    assert_eq!(approve(&project, "alice"), 20);
    assert_eq!(approve(&project, "bob"), 0);
    project.run(&["undo"]).ended(0).says(&["undone"]);
    assert!(!project.path("docs/a.md").exists());
    // And again: a new proposal, because the first one is done.
    project.run(&["apply", "patch.json"]).ended(20);
    let events = events(&project);
    for event in ["permit_minted", "permit_spent", "permit_settled", "applied", "undone"] {
        assert!(events.iter().any(|it| it == event), "{event} is not in {events:?}");
    }
    project.run(&["ledger", "fsck"]).ended(0).says(&["verified"]);
    project.run(&["replay"]).ended(0);
}

#[test]
fn what_the_policy_denies_is_not_applied() {
    let project = Project::started("gate-files-denied");
    project.write("patch.json", &patch(&[("create", ".env", "x"), ("create", "docs/a.md", "a\n")]));
    project.run(&["apply", "patch.json"]).ended(21).says(&["DENY", ".env"]);
    assert!(!project.path("docs/a.md").exists());
    project.run(&["halt", "--reason", "stop"]).ended(0);
    project.write("other.json", &patch(&[("create", "docs/a.md", "a\n")]));
    project.run(&["apply", "other.json"]).ended(21).says(&["halted"]);
    project.run(&["resume", "--reason", "go"]).ended(0);
    // Somebody else than the agent of the project.
    project.run(&["apply", "other.json", "--actor", "mallory"]).ended(21);
}

#[test]
fn the_evidence_of_a_run_is_bound_to_the_permit() {
    let project = Project::started("gate-files-run");
    project.write("patch.json", &patch(&[("create", "docs/a.md", "a\n")]));
    project.run(&["run", "--patch", "patch.json", "--apply"]).ended(20);
    let held = held(&project);
    let evidence = &held["view"]["evidence"][0];
    assert_eq!(
        (&evidence["sensor_id"], &evidence["payload"]["accepted"]),
        (&json!("ordain-sandbox"), &json!(true))
    );
    assert_eq!(evidence["payload"]["patch_hash"], held["view"]["proposal"]["parameters"]["patch_hash"]);
    assert_ne!(
        held["decision"]["evidence_set_hash"],
        json!(format!("sha256:{}", "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"))
    );
    assert_eq!(approve(&project, "carol"), 0);
    let run = std::fs::read_dir(project.path(".ordain/runs")).unwrap().next().unwrap().unwrap();
    project.run(&["apply", run.path().to_str().unwrap()]).ended(0).says(&["applied"]);
    assert!(events(&project).contains(&"evidence_received".to_owned()));
}

#[test]
fn without_a_gate_it_says_so() {
    let project = Project::empty("gate-files-none");
    project.write("patch.json", &patch(&[("create", "a.md", "a\n")]));
    project.run(&["apply", "patch.json"]).ended(0).says(&["no policy was asked", "applied"]);
    project.run(&["undo"]).ended(0).says(&["no policy was asked", "undone"]);
    project.run(&["submit", "patch.json"]).ended(1).says(&["there is no ordain.toml"]);
}
