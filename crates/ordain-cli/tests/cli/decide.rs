//! `ordain decide`: what it reads, what it prints, how it ends.

use crate::harness::Project;
use serde_json::{Value as Json, json};
use std::path::Path;

const WRITE: &str = "policy/tests/proposals/write.json";
const NOW: &str = "1767614400000";

fn approval(hash: &str, approver: &str) -> Json {
    json!({
        "proposal_hash": hash,
        "approver": approver,
        "verdict": "approve",
        "reason": "",
        "view_digest": format!("sha256:{}", "0".repeat(64)),
        "at_ms": 1_767_614_400_000_u64,
    })
}

fn hash_of(project: &Project, proposal: &str) -> String {
    let decision = project.run(&["decide", proposal, "--now", NOW, "--json"]).json();
    decision["proposal_hash"].as_str().unwrap().to_owned()
}

#[test]
fn exit_codes_follow_the_outcome() {
    let project = Project::started();
    for (proposal, more, code, outcome) in [
        ("read", &[][..], 0, "ALLOW"),
        ("write", &[], 20, "HOLD"),
        ("request", &[], 20, "HOLD"),
        ("patch-set", &[], 20, "HOLD"),
        ("read", &["--halted"], 21, "DENY"),
    ] {
        let file = format!("policy/tests/proposals/{proposal}.json");
        let mut args = vec!["decide", &file, "--now", NOW];
        args.extend(more);
        project.run(&args).ended(code).says_all(&[outcome, "Reasons", "Next"]);
        args.push("--json");
        let ran = project.run(&args).ended(code);
        assert_eq!(ran.json()["outcome"], outcome);
        assert_eq!(ran.stderr, "");
    }
}

#[test]
fn json_is_the_decision_and_nothing_else() {
    let project = Project::started();
    let ran = project.run(&["decide", WRITE, "--now", NOW, "--json"]).ended(20);
    assert_eq!(ran.stdout.matches('\n').count(), 1);
    project.write("decision.json", &ran.stdout);
    assert_eq!(project.run(&["canon", "decision.json"]).stdout, ran.stdout.trim_end());
    project.run(&["verify", "--kind", "decision", "decision.json"]).ended(0);
    // The same input gives the same bytes, from standard input too, and however the time is written.
    let text = project.read(WRITE);
    let again = project.run_with(&["decide", "-", "--now", "2026-01-05T13:00:00+01:00", "--json"], &text);
    assert_eq!(again.stdout, ran.stdout);
    assert_eq!(ran.json()["decided_at_ms"], 1_767_614_400_000_u64);
}

#[test]
fn approvals_come_from_files_arrays_and_folders() {
    let project = Project::started();
    let delete = "policy/tests/proposals/delete.json";
    let hash = hash_of(&project, delete);
    let decide = |more: &[&str]| {
        let mut args = vec!["decide", delete, "--now", NOW, "--json"];
        args.extend(more);
        project.run(&args)
    };
    project.write("a.json", &approval(&hash, "alice").to_string());
    project.write("both.json", &json!([approval(&hash, "alice"), approval(&hash, "bob")]).to_string());
    std::fs::create_dir(project.path("approvals")).unwrap();
    // Nobody has approved yet.
    decide(&["--approvals", "approvals"]).ended(20);
    project.write("approvals/alice.json", &approval(&hash, "alice").to_string());
    project.write("approvals/bob.yaml", &format!(
        "proposal_hash: {hash}\napprover: bob\nverdict: approve\nreason: ''\nview_digest: sha256:{}\nat_ms: {NOW}\n",
        "0".repeat(64)
    ));
    assert_eq!(decide(&["--approvals", "a.json"]).ended(20).json()["approvals"]["have"], json!(["alice"]));
    decide(&["--approvals", "both.json"]).ended(0);
    decide(&["--approvals", "a.json", "--approvals", "approvals/bob.yaml"]).ended(0);
    decide(&["--approvals", "approvals"]).ended(0);
    // A damaged approval is not an error: it does not count, and the decision says so.
    project.write("damaged.json", &json!({"approver": "alice", "verdict": "approve"}).to_string());
    let reasons = decide(&["--approvals", "damaged.json"]).ended(20).json()["reasons"].to_string();
    assert!(reasons.contains("G15"), "{reasons}");
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_place() {
    let project = Project::started();
    project.write("broken.json", "{\n  \"evidence_id\": \"a\",\n  oops\n}");
    project.write("broken.yaml", "a: [\n");
    project.write("packet.json", &json!({"evidence_id": "a", "payload_hash": "b"}).to_string());
    project.write("list.json", "[1]");
    for flag in ["--evidence", "--approvals"] {
        project.run(&["decide", WRITE, flag, "broken.json"]).ended(1).says_all(&["broken.json", "line 3"]);
        project.run(&["decide", WRITE, flag, "none.json"]).ended(1).says_all(&["none.json"]);
        project
            .run(&["decide", WRITE, flag, "list.json"])
            .ended(1)
            .says_all(&["list.json", "found a number"]);
    }
    project
        .run(&["decide", WRITE, "--approvals", "packet.json"])
        .ended(1)
        .says_all(&["packet.json: expected an approval or an array of them, found an evidence packet"]);
    project.run(&["decide", "none.json"]).ended(1).says_all(&["none.json"]);
    // An unreadable proposal is denied, as YAML and as JSON.
    project.write("half.json", "{\"a\": [\n");
    project.write("twice.yaml", "a: 1\nb: 2\na: 3\n");
    for (file, place) in [("broken.yaml", "line"), ("half.json", "line"), ("twice.yaml", "line 3")] {
        project.run(&["decide", file]).ended(21).says_all(&["DENY", "PARSE", place]);
        let decision = project.run(&["decide", file, "--now", NOW, "--json"]).ended(21).json();
        assert_eq!(
            (&decision["outcome"], &decision["proposal_hash"]),
            (&json!("DENY"), &Json::Null),
            "{file}"
        );
        project.run(&["policy", "explain", file]).ended(0).says_all(&["PARSE", "none was asked"]);
    }
    // A text that is not JSON is denied: an agent sent it.
    project.run(&["decide", "broken.json"]).ended(21).says_all(&["PARSE", "line 3"]);
    project.run(&["decide", "-", "--evidence", "-"]).ended(64).says_all(&["only once"]);
    for now in ["0", "-1", "yesterday", "2026-01-05T12:00:00"] {
        project.run(&["decide", WRITE, &format!("--now={now}")]).ended(64);
    }
}

#[test]
fn the_policy_folder_is_found() {
    let project = Project::started();
    let below = Path::new("policy/tests");
    project.run_in(below, &["decide", "proposals/read.json"], "").ended(0);
    // Another name, by the configuration.
    std::fs::rename(project.path("policy"), project.path("rules")).unwrap();
    project
        .run(&["decide", "rules/tests/proposals/read.json"])
        .ended(1)
        .says_all(&["policy", "No such file"]);
    project.write("ordain.toml", "policy = \"rules\"\n");
    project.run_in(Path::new("rules/tests"), &["decide", "proposals/read.json"], "").ended(0);
    // A key that nothing reads is a mistake.
    project.write("ordain.toml", "# mine\npolicies = \"rules\"\n");
    project.run(&["policy", "check"]).ended(1).says_all(&["ordain.toml: line 2", "policies"]);
    // Where the gate is, no file says.
    for (key, value) in [("store", "postgres://db/x"), ("state", "../other")] {
        project.write("ordain.toml", &format!("policy = \"rules\"\n{key} = \"{value}\"\n"));
        let told = [key, "is not a setting of a project", "hint: remove the line"];
        project.run(&["policy", "check"]).ended(1).says_all(&told);
    }
    // Without a configuration the usual folder, or a hint.
    std::fs::remove_file(project.path("ordain.toml")).unwrap();
    project.run(&["policy", "check"]).ended(1).says_all(&["policy: No such file"]);
    Project::empty().run(&["policy", "check"]).ended(1).says_all(&["ordain init"]);
    project.run(&["decide", "rules/tests/proposals/read.json", "--policy", "rules"]).ended(0);
    std::fs::rename(project.path("rules"), project.path("policy")).unwrap();
    project.run(&["decide", "policy/tests/proposals/read.json"]).ended(0);
}

#[test]
fn nothing_is_decided_by_a_broken_policy() {
    let project = Project::started();
    project.write("policy/zz.cedar", "permit(principal, action, resource);\n");
    project.run(&["decide", WRITE]).ended(1).says_all(&["policy/zz.cedar:1", "@id", "cannot be used"]);
    let ran = project.run(&["decide", WRITE, "--json"]).ended(1);
    assert_eq!(ran.json()["ok"], false);
    assert_eq!(ran.json()["problems"][0]["file"], "zz.cedar");
}

#[test]
fn a_hold_says_what_to_approve_and_a_deny_where_to_look() {
    let project = Project::started();
    let hash = hash_of(&project, WRITE);
    project.run(&["decide", WRITE, "--now", NOW]).ended(20).says_all(&[
        &hash,
        "`alice`, `bob`, `carol`",
        "--approvals",
    ]);
    project.write("mail.json", &project.read(WRITE).replace("\"write\"", "\"communicate\""));
    project
        .run(&["decide", "mail.json"])
        .ended(21)
        .says_all(&["ordain policy explain mail.json", "ordain rules G12"]);
}

#[test]
fn colours_are_for_terminals() {
    let project = Project::started();
    assert!(!project.run(&["decide", WRITE]).stdout.contains('\u{1b}'));
    assert!(project.run(&["decide", WRITE, "--color", "always"]).stdout.contains("\u{1b}[33mHOLD"));
}

#[test]
fn what_an_agent_sends_cannot_move_the_cursor() {
    let project = Project::started();
    project.write("evil.json", &project.read(WRITE).replace("example-write", "x\\u001b[2J\\u202e"));
    let ran = project.run(&["decide", "evil.json", "--color", "never"]);
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{202e}'), "{}", ran.stdout);
}

/// A path from the root that lies in the project is inside for a shell command, as it is for the gate.
#[test]
fn a_command_is_judged_with_the_folder_of_the_project() {
    let project = Project::empty();
    project.run(&["init", "--solo"]).ended(0);
    let inside = project
        .path("notes.txt")
        .canonicalize()
        .unwrap_or_else(|_| project.path("").canonicalize().unwrap().join("notes.txt"));
    let write = |name: &str, path: &Path| {
        let command = format!("echo done > {}", path.display());
        let proposal = json!({
            "proposal_id": name, "ts_ms": 1_767_614_400_000_u64, "actor": "agent-1", "action_type": "execute",
            "target": {"resource_type": "shell", "resource_id": ".", "domain": "workspace", "constraints": {}},
            "parameters": {"command": command, "cwd": "."},
        });
        project.write(&format!("{name}.json"), &proposal.to_string());
        let case = json!({"proposal": format!("../../{name}.json"), "now_ms": 1_767_614_400_000_u64,
            "workspace": project.path("").canonicalize().unwrap(), "expect": {"outcome": "ALLOW"}});
        project.write(&format!("policy/tests/{name}.json"), &case.to_string());
    };
    write("inside", &inside);
    project.run(&["decide", "inside.json", "--now", NOW]).ended(0).says("command-edit");
    project.run(&["policy", "explain", "inside.json", "--now", NOW]).ended(0).says("ALLOW");
    project.run(&["policy", "test"]).ended(0);
    project.run(&["submit", "inside.json"]).ended(0);
    write("outside", Path::new("/srv/notes.txt"));
    let outside = project.run(&["decide", "outside.json", "--now", NOW, "--json"]);
    assert_ne!(outside.json()["outcome"], "ALLOW", "{}", outside.all());
    project.run(&["policy", "test"]).ended(1).says("outside");
}
