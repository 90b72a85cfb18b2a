//! Notes by the real binary: validated, shown, applied through the gate, and taken back.

#![cfg(target_os = "linux")]

use crate::harness::Project;
use crate::harness::notes::{events, proposal};
use serde_json::{Value as Json, json};

const ROUTING: &str = "\
routes:
  - {id: design, pattern: 'design/*.md', template: article, required_sections: [Summary]}
  - {id: inbox, pattern: 'inbox/**/*.md'}
  - {id: left, pattern: 'tie/a*.md'}
  - {id: right, pattern: 'tie/a?.md'}
  - {id: right2, pattern: 'tie/a[a-z].md'}
  - {id: lost, pattern: 'lost/*.md', template: gone}
frontmatter: {statuses: [draft, review]}
templates:
  article: {required_sections: [References]}
";

fn routed() -> Project {
    let project = Project::empty();
    project.write("vault/km/routing.yaml", ROUTING);
    project.write(
        "vault/inbox/old.md",
        "---\ntitle: Old note\naliases: [ancient]\ncreated: 2024-01-05\n---\n\nold\n",
    );
    project
}

/// Validates a proposal and gives code and place of each finding.
fn codes(project: &Project, change: Json, code: i32) -> Vec<String> {
    project.write("note.json", &proposal(change).to_string());
    let ran = project.run(&["note", "validate", "note.json", "--vault", "vault", "--json"]).ended(code);
    let found = ran.json();
    assert_eq!(found["ok"], json!(code == 0));
    let show = |it: &Json| format!("{} {}", it["code"].as_str().unwrap(), it["path"].as_str().unwrap());
    found["findings"].as_array().unwrap().iter().map(show).collect()
}

#[test]
fn every_code_once() {
    let project = routed();
    let inbox = |change: Json| {
        let mut all = json!({"path": "inbox/new.md", "route": "inbox"});
        all.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        all
    };
    assert_eq!(codes(&project, inbox(json!({})), 0), [""; 0]);
    assert_eq!(codes(&project, inbox(json!({"title": "x"})), 3), ["SCHEMA_INVALID /frontmatter/title"]);
    assert_eq!(
        codes(&project, inbox(json!({"status": "archived"})), 3),
        ["SCHEMA_INVALID /frontmatter/status"]
    );
    assert_eq!(codes(&project, inbox(json!({"route": "design"})), 3), ["ROUTING_MISMATCH /target/route_id"]);
    assert_eq!(
        codes(&project, json!({"path": "tie/ab.md", "route": "left"}), 3),
        ["ROUTING_PATTERN_CONFLICT /target/path"]
    );
    assert_eq!(
        codes(&project, json!({"path": "lost/a.md", "route": "lost"}), 3),
        ["ROUTING_TEMPLATE_UNKNOWN /target/route_id"]
    );
    assert_eq!(
        codes(&project, json!({"path": "design/a.md", "route": "design", "body": "# T\n"}), 3),
        ["ROUTING_REQUIRED_SECTIONS_MISSING /body/content_md"]
    );
    assert_eq!(codes(&project, inbox(json!({"path": "inbox/old.md"})), 3), ["PATH_COLLISION /target/path"]);
    let better =
        json!({"path": "inbox/old.md", "origin": "enhancement", "title": "New", "aliases": ["ancient"]});
    assert_eq!(codes(&project, inbox(better), 3), ["FM_UNCHANGED /frontmatter/title"]);
    // For people: what, where, and what would do.
    project.write("note.json", &proposal(inbox(json!({"path": "inbox/old.md"}))).to_string());
    project.run(&["note", "validate", "note.json", "--vault", "vault"]).ended(3).says_all(&[
        "invalid",
        "PATH_COLLISION",
        "/target/path",
        "instead: inbox/old-2.md, inbox/old-3.md, inbox/old-4.md",
    ]);
    let warned = json!({"title": "old NOTE", "body": "see [[nothing]]\n"});
    project.write("note.json", &proposal(inbox(warned)).to_string());
    project.run(&["note", "validate", "note.json", "--vault", "vault"]).ended(0).says_all(&[
        "valid",
        "NAME_TAKEN",
        "inbox/old.md",
        "LINK_UNKNOWN",
        "[[nothing]]",
    ]);
}

#[test]
fn what_cannot_be_validated() {
    let project = routed();
    let validate = ["note", "validate", "note.json", "--vault", "vault"];
    project.run(&validate).ended(1).says_all(&["note.json"]);
    project.write("note.json", "{");
    project.run(&validate).ended(2).says_all(&["PARSE"]);
    project.write("note.json", r#"{"goal": "x"}"#);
    project.run(&validate).ended(2).says_all(&["expected a note proposal, found an intent"]);
    project.write(
        "note.json",
        &proposal(json!({})).to_string().replace("\"version\":1", "\"version\":1,\"more\":1"),
    );
    project.run(&validate).ended(3).says_all(&["SCHEMA_INVALID", "/more", "NP13"]);
    project.write("note.json", &proposal(json!({})).to_string());
    project
        .run(&["note", "validate", "note.json", "--vault", "none"])
        .ended(1)
        .says_all(&["the vault `none`"]);
    project.write("vault/km/routing.yaml", "routes:\n  - {id: a, pattern: /a.md}\n");
    project.run(&validate).ended(1).says_all(&["km/routing.yaml", "RT3", "/routes/0/pattern", "line 2"]);
    project.run(&["note", "validate"]).ended(64);
}

#[test]
fn what_is_shown_is_what_is_written_and_undone() {
    let project = Project::empty();
    project
        .write("note.json", &proposal(json!({"path": "a/b.md", "body": "# T\n\nx <b>y</b>\n"})).to_string());
    let shown = project.run(&["note", "show", "note.json"]).ended(0).says_all(&[
        "+++ b/a/b.md",
        "--- /dev/null",
        "+# T",
    ]);
    assert!(!project.path("a").exists());
    let json = project.run(&["note", "show", "note.json", "--json"]).ended(0).json();
    project.run(&["note", "apply", "note.json"]).ended(0).says_all(&[
        "applied",
        "HTML_ESCAPED",
        "no policy was asked",
    ]);
    let written = project.read("a/b.md");
    assert_eq!(json["text"], json!(written));
    assert!(written.ends_with("# T\n\nx &lt;b>y&lt;/b>\n"), "{written}");
    for line in written.lines() {
        assert!(shown.stdout.contains(&format!("+{line}\n")), "{line}");
    }
    // It is there now.
    project.run(&["note", "apply", "note.json"]).ended(1).says_all(&[
        "refused",
        "PATH_COLLISION",
        "a/b-2.md",
    ]);
    project.run(&["note", "show", "note.json"]).ended(1).says_all(&["PATH_COLLISION"]);
    let better =
        json!({"path": "a/b.md", "origin": "enhancement", "status": "review", "body": "# T\n\nbetter\n"});
    project.write("better.json", &proposal(better).to_string());
    project.run(&["note", "show", "better.json"]).ended(0).says_all(&[
        "-status: draft",
        "+status: review",
        " tags:",
    ]);
    project.run(&["note", "apply", "better.json"]).ended(0);
    assert!(project.read("a/b.md").contains("status: review"));
    project.run(&["note", "apply", "better.json"]).ended(0).says_all(&["nothing to change"]);
    project.run(&["undo"]).ended(0);
    assert_eq!(project.read("a/b.md"), written);
    project.run(&["undo"]).ended(0);
    assert!(!project.path("a").exists());
}

/// The action that waits, with everything that an approver is shown.
fn held(project: &Project) -> Json {
    let listed = project.run(&["status", "--state", "held", "--json"]).ended(0);
    let first: Json = serde_json::from_str(listed.stdout.lines().next().unwrap()).unwrap();
    project.run(&["status", first["action_id"].as_str().unwrap(), "--json"]).ended(20).json()
}

fn approve(project: &Project, who: &str, code: i32) {
    let held = held(project);
    let (id, view) = (held["action_id"].as_str().unwrap(), held["view_digest"].as_str().unwrap());
    project.approve_as(who, id, view).ended(code);
}

#[test]
fn a_note_waits_for_the_gate() {
    let project = Project::started();
    let config = project.read("ordain.toml");
    project.write("ordain.toml", &format!("{config}\n[vault]\nroot = \"docs\"\n"));
    std::fs::create_dir_all(project.path("docs")).unwrap();
    project.write("note.json", &proposal(json!({"path": "a/b.md"})).to_string());
    let proposed: Json = serde_json::from_str(&project.read("note.json")).unwrap();
    project.run(&["note", "apply", "note.json"]).ended(20).says_all(&["held", "write-listed"]);
    assert!(!project.path("docs/a").exists());
    // The policy sees the path as the project has it.
    let operations = &held(&project)["view"]["proposal"]["parameters"]["operations"];
    assert_eq!(*operations, json!([{"op": "create", "path": "docs/a/b.md"}]));
    approve(&project, "alice", 0);
    project.run(&["note", "apply", "note.json"]).ended(0).says_all(&["applied", "docs/a/b.md"]);
    assert!(project.read("docs/a/b.md").starts_with("---\ntitle: Idempotent requests\n"));
    let on_ledger = events(&project);
    for event in ["permit_minted", "permit_spent", "permit_settled", "applied"] {
        assert!(on_ledger.iter().any(|it| it == event), "{event} is not in {on_ledger:?}");
    }
    let records = project.run(&["undo", "--list", "--json"]).ended(0).json();
    assert_eq!(records["applied"][0]["source_proposal_id"], proposed["id"]);
    // One that makes it better is a change, and taking that back is one, too.
    let better = json!({"path": "a/b.md", "origin": "enhancement", "body": "# Better\n"});
    project.write("better.json", &proposal(better).to_string());
    let before = project.read("docs/a/b.md");
    project.run(&["note", "apply", "better.json"]).ended(20);
    approve(&project, "bob", 0);
    project.run(&["note", "apply", "better.json"]).ended(0);
    assert!(project.read("docs/a/b.md").ends_with("# Better\n"));
    project.run(&["undo"]).ended(20);
    approve(&project, "bob", 0);
    project.run(&["undo"]).ended(0);
    assert_eq!(project.read("docs/a/b.md"), before);
    // Deleting it takes two.
    project.run(&["undo"]).ended(20);
    approve(&project, "alice", 20);
    approve(&project, "bob", 0);
    project.run(&["undo"]).ended(0);
    assert!(!project.path("docs/a").exists());
    assert!(events(&project).iter().any(|event| event == "undone"));
    // A vault below is in the same project, wherever the command is run.
    project.write("other.json", &proposal(json!({"path": "c.md"})).to_string());
    project
        .run_in("docs".as_ref(), &["note", "apply", "../other.json"], "")
        .ended(20)
        .says_all(&["write-listed"]);
    // Where the policy has no word for it, it is denied.
    project.write("free/.keep", "");
    project.run(&["note", "apply", "other.json", "--vault", "free"]).ended(21).says_all(&["DENY"]);
    assert!(!project.path("free/c.md").exists());
    project.run(&["ledger", "fsck"]).ended(0);
}

#[test]
fn what_changed_since_it_was_shown_is_not_overwritten() {
    let project = Project::empty();
    project.write("n.md", "---\ntitle: Idempotent requests\naliases: [idempotency]\n---\n\nold\n");
    project.write("better.json", &proposal(json!({"path": "n.md", "origin": "enhancement"})).to_string());
    project.run(&["note", "show", "better.json"]).ended(0);
    project.write("n.md", "---\ntitle: Mine\n---\n\nmine\n");
    project.run(&["note", "apply", "better.json"]).ended(1).says_all(&["FM_UNCHANGED", "`Mine`"]);
    assert!(project.read("n.md").ends_with("mine\n"));
    project.write("new.json", &proposal(json!({"path": "m.md"})).to_string());
    project.run(&["note", "show", "new.json"]).ended(0);
    project.write("M.md", "mine\n");
    project.run(&["note", "apply", "new.json"]).ended(1).says_all(&["PATH_COLLISION", "`M.md`"]);
    assert!(!project.path("m.md").exists());
}

/// A draft that the vault does not take ends with 1, and nobody is sent to apply it.
#[test]
fn a_draft_that_collides_does_not_fit() {
    let room = crate::harness::Project::empty();
    let prompt = "Write a note about idempotency keys in payment APIs.";
    room.run(&["note", "draft", prompt, "-o", "note.json"]).ended(0).says("ordain note apply note.json");
    room.run(&["note", "apply", "note.json"]).ended(0);
    let again = room
        .run(&["note", "draft", prompt, "-o", "again.json"])
        .ended(1)
        .says_all(&["PATH_COLLISION", "note show again.json"]);
    assert!(!again.all().contains("note apply again.json"), "{}", again.all());
}
