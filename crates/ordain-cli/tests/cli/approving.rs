//! Held actions are approved in one go or one by one, rejections can be signed, and an owner takes back what
//! their agent changed.

use crate::harness::{Guarded, Kind, Project, Ran, count, os_user, proposal, ran};
use crate::presence::{ASKED, PASSPHRASE, detached, on_terminal};
use ordain_canon::ContentHash;
use ordain_hooks::Agent;
use serde_json::{Value as Json, json};

/// A project for one person and one agent, which that person owns.
pub(crate) fn owned_solo() -> Project {
    let project = Project::empty();
    let steps = [("New passphrase: ", PASSPHRASE), ("The same again: ", PASSPHRASE)];
    on_terminal(&project, &steps, &["init", "--solo"]).ended(0).says_all(&["owns this gate"]);
    project
}

/// A proposal of the agent about a file of the workspace.
pub(crate) fn about_file(id: &str, action: &str, path: &str) -> String {
    let mut proposal = proposal(id, "workspace", 1);
    proposal["action_type"] = json!(action);
    proposal["target"]["resource_type"] = json!("file");
    proposal["target"]["resource_id"] = json!(path);
    proposal["parameters"] = json!({});
    proposal.to_string()
}

fn submit(project: &Project, id: &str, document: &str, code: i32) -> Ran {
    project.write(&format!("{id}.json"), document);
    project.run(&["submit", &format!("{id}.json")]).ended(code)
}

fn state(project: &Project, id: &str) -> String {
    let status = project.run(&["status", id, "--json"]).json();
    status["state"].as_str().unwrap().to_owned()
}

#[test]
fn one_passphrase_approves_what_is_chosen() {
    let project = owned_solo();
    project.run(&["approve"]).ended(0).says("nothing waits");
    for id in ["d1", "d2", "d3", "d4"] {
        submit(&project, id, &about_file(id, "delete", &format!("src/{id}.rs")), 20);
    }
    // Without a terminal nobody is asked, and nothing is approved.
    let listed = detached(&project, &["approve", "--json"]).ended(20).json();
    let ids: Vec<&str> =
        listed["held"].as_array().unwrap().iter().map(|it| it["action_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["d1", "d2", "d3", "d4"]);
    assert_eq!(listed["held"][0]["assurance"], "presence");
    detached(&project, &["approve"]).ended(20).says_all(&[
        "d1",
        "run `ordain approve` on a terminal",
        "ordain status d1",
    ]);
    // One of the chosen is rejected while the person reads: the others are approved all the same.
    let reject = format!(
        "!XDG_STATE_HOME='{}' {} reject d3 --reason late",
        project.state_home().display(),
        env!("CARGO_BIN_EXE_ordain")
    );
    let steps = [
        (ASKED, "a"),
        (ASKED, "a"),
        (ASKED, reject.as_str()),
        ("", "a"),
        (ASKED, "s"),
        ("Passphrase: ", PASSPHRASE),
    ];
    let said = on_terminal(&project, &steps, &["approve"]);
    assert_eq!(said.code, 1, "{}", said.all());
    said.says_all(&["4 of 4: agent-1 wants to delete the file src/d4.rs", "high: removes something"])
        .says_all(&["To be signed", "approve d2: agent-1", "`d3` changed since it was shown"]);
    let states: Vec<String> = ["d1", "d2", "d3", "d4"].map(|id| state(&project, id)).to_vec();
    assert_eq!(states, ["allowed", "allowed", "denied", "held"]);
    // Each has a statement of its own.
    let approved: Vec<Json> =
        project.entries().into_iter().filter(|it| it["entry"]["event"]["kind"] == "approved").collect();
    let statements: Vec<&Json> = approved.iter().map(|it| &it["entry"]["signed"][0]["statement"]).collect();
    assert_eq!(statements.len(), 2);
    assert_ne!(statements[0], statements[1]);
    project.sound();
}

/// Policies about three domains of records: `sales` takes a recent signature, `vault` the passphrase, `pair`
/// two people.
fn watched() -> Project {
    let project = Project::with_gate(Kind::File);
    let mut entities: Vec<Json> = serde_json::from_str(&project.read("policy/entities.json")).unwrap();
    for entity in entities.iter_mut().filter(|entity| entity["uid"]["id"] == "olga") {
        entity["parents"] = json!([{"type": "Group", "id": "people"}]);
    }
    project.write("policy/entities.json", &json!(entities).to_string());
    let permit = |id: &str, approval: &str, assurance: &str| {
        format!(
            "@id(\"{id}\") @approval(\"{approval}\") @approvers(\"people\") @assurance(\"{assurance}\")\n\
             permit (principal in Group::\"agents\", action == Action::\"write\", resource in Domain::\"{id}\");\n"
        )
    };
    let all = [
        permit("sales", "single", "recent"),
        permit("vault", "single", "presence"),
        permit("pair", "dual", "recent"),
    ];
    project.write("policy/crm.cedar", &all.concat());
    project.push();
    let steps = [("New passphrase: ", PASSPHRASE), ("The same again: ", PASSPHRASE), ("[y/N] ", "y")];
    on_terminal(&project, &steps, &["init", "--claim"]).ended(0);
    project
}

/// A hook repeats a call without a new approval as long as its approver signed. Everything else is held.
#[test]
fn one_signature_approves_exact_repetitions_until_it_is_taken_back() {
    let guarded = Guarded::of(owned_solo());
    let project = &guarded.project;
    let pins = guarded.pins(Agent::Claude, 0);
    project.write("notes.txt", "a\n");
    let bash = |command: &str| guarded.event("Bash", json!({"command": command}));
    let runs = |command: &str| {
        let before = bash(command);
        guarded.ask(&pins, &before).ended(0);
        let mut after: Json = serde_json::from_str(&before).unwrap();
        after["hook_event_name"] = json!("PostToolUse");
        after["tool_response"] = json!({"stdout": "", "interrupted": false});
        guarded.ask(&pins, &after.to_string()).ended(0);
    };
    let is_held =
        |command: &str| guarded.ask(&pins, &bash(command)).ended(2).says("held; repeat the identical call");
    is_held("rm notes.txt");
    let steps = [(ASKED, "g"), ("Passphrase: ", PASSPHRASE)];
    let said = on_terminal(project, &steps, &["approve"]).ended(0);
    said.says_all(&[
        "at most 20 times",
        "[g]rant",
        "without asking you",
        "`ordain grant revoke` takes it back",
    ]);
    // The approval of the first call, and then the grant.
    runs("rm notes.txt");
    runs("rm notes.txt");
    runs("rm notes.txt");
    is_held("rm  notes.txt");
    is_held("rm notes.txt ./notes.txt");
    let listed = project.run(&["grant", "list"]).ended(0).says_all(&["2 of 20", "rm notes.txt"]);
    let id = listed.stdout.split_whitespace().find(|word| word.starts_with("grant_")).unwrap();
    let states = project.run(&["status", "--json"]).lines();
    let by_grant = |status: &&Json| status["decision"].to_string().contains(&format!("by the grant `{id}`"));
    assert_eq!(states.iter().filter(by_grant).count(), 2, "{states:?}");
    project.run(&["grant", "revoke", id]).ended(0).says("2 of 20 uses were taken");
    project.run(&["grant", "list"]).ended(0).says("no call may be repeated");
    project.run(&["grant", "list", "--all"]).ended(0).says("taken back by");
    is_held("rm notes.txt");
    project.run(&["grant", "revoke", "grant_0"]).ended(1).says("no grant `grant_0`");
    project.sound();
}

#[test]
fn a_key_that_stays_unlocked_approves_what_needs_no_passphrase() {
    let project = watched();
    for (id, domain) in [("p1", "vault"), ("p2", "pair"), ("p3", "sales"), ("p4", "sales")] {
        submit(&project, id, &proposal(id, domain, 1).to_string(), 20);
    }
    project.write("p5.json", &proposal("p5", "sales", 5).to_string());
    let submit_one_more = format!(
        "!XDG_STATE_HOME='{}' {} submit p5.json",
        project.state_home().display(),
        env!("CARGO_BIN_EXE_ordain")
    );
    // Where `recent` does not do, the passphrase is asked for in place; an action that comes meanwhile is listed by
    // itself.
    let steps = [
        ("Passphrase: ", PASSPHRASE),
        ("`q` ends.", "1"),
        (ASKED, "a"),
        ("Passphrase: ", PASSPHRASE),
        ("p1: allowed", "1"),
        (ASKED, "a"),
        ("Passphrase: ", PASSPHRASE),
        ("p2: held", "1"),
        (ASKED, "a"),
        ("to leave it: ", "abc"),
        ("p3 is still held", "1"),
        (ASKED, "a"),
        ("to leave it: ", "{letters}"),
        ("p3: allowed", submit_one_more.as_str()),
        ("contact-5", "2"),
        (ASKED, "r"),
        ("reads it: ", "not this one"),
        ("p5: denied", "q"),
    ];
    let said = on_terminal(&project, &steps, &["watch"]).ended(0);
    said.says_all(&[
        "0 of 2 given; 1 more besides yours",
        "three letters approve",
        "and 19 signatures",
        "locked again",
    ])
    .says("\u{7}");
    let states: Vec<String> = ["p1", "p2", "p3", "p4", "p5"].map(|id| state(&project, id)).to_vec();
    assert_eq!(states, ["allowed", "held", "allowed", "held", "denied"]);
    let entries = project.entries();
    let approved = entries.iter().filter(|it| it["entry"]["event"]["kind"] == "approved");
    let assured: Vec<bool> = approved
        .map(|it| it["entry"]["signed"][0]["statement"].as_str().unwrap().contains("\nrecent\n"))
        .collect();
    assert_eq!(assured, [false, false, true]);
    project.sound();
    // Any process of the same user can type into a multiplexer's terminal.
    for (name, value) in [("TMUX", "/tmp/tmux-1/default,1,0"), ("STY", "1.pts"), ("TERM", "screen-256color")]
    {
        let refused = ran(project.command(&["watch"]).env(name, value));
        refused.ended(64).says("multiplexer");
    }
    detached(&project, &["watch"]).ended(64).says("no terminal");
}

fn patch(path: &str, content: &str) -> String {
    json!({"patch_schema_version": "1.0.0", "source_proposal_id": "prop_2c4250a41ca4e4fa",
        "source_proposal_hash": format!("sha256:{}", "1".repeat(64)), "total_bytes": content.len(),
        "operations": [{"op": "create", "path": path, "content": content,
            "expected_hash": ContentHash::of(content.as_bytes()).to_string(), "size_bytes": content.len()}]})
    .to_string()
}

/// An owner takes back what their agent changed, with a signature and one decision. Their agent, which has
/// their shell, does not.
#[test]
fn an_owner_undoes_and_signs_rejections() {
    let project = owned_solo();
    project.write("patch.json", &patch("docs/a.md", "a\n"));
    project.run(&["apply", "patch.json"]).ended(0);
    let user = os_user();
    // As the agent: deleting a file is held. As the person, without their key: no policy permits it.
    detached(&project, &["undo"]).ended(20).says("delete");
    detached(&project, &["undo", "--actor", &user]).ended(21);
    let applied = project.entries().iter().rev().find_map(|it| {
        let event = &it["entry"]["event"];
        (event["kind"] == "applied").then(|| event.clone())
    });
    let applied = applied.unwrap();
    // A proposal that says of itself that it undoes something.
    let mut forged: Json = serde_json::from_str(&about_file("forged", "write", "docs/b.md")).unwrap();
    forged["actor"] = json!(user);
    forged["parameters"] =
        json!({"undo": true, "undoes": applied["action_id"], "patch_hash": applied["patch_hash"]});
    submit(&project, "forged", &forged.to_string(), 21);
    assert!(project.path("docs/a.md").exists());

    let before = project.entries().len();
    on_terminal(&project, &[("Passphrase: ", PASSPHRASE)], &["undo"])
        .ended(0)
        .says_all(&["undone", "ordain/act/v1"]);
    assert!(!project.path("docs/a.md").exists());
    let entries = project.entries();
    let after = &entries[before..];
    assert_eq!(count(after, "decided"), 1);
    assert_eq!(count(after, "undone"), 1);
    let submitted = after.iter().find(|it| it["entry"]["event"]["kind"] == "submitted").unwrap();
    assert_eq!(submitted["entry"]["event"]["undoes"], applied["action_id"]);
    assert_eq!(submitted["entry"]["how"], "signed");
    project.sound();
    project.run(&["replay"]).ended(0);

    // From `init` to an approved action in three commands and without a file of one's own.
    project
        .run(&["submit", "policy/tests/proposals/push.json"])
        .ended(20)
        .says("ordain approve example-push");
    let steps = [(ASKED, "a"), ("Passphrase: ", PASSPHRASE)];
    on_terminal(&project, &steps, &["approve", "example-push"])
        .ended(0)
        .says("agent-1 wants to run: git push origin main");
    assert_eq!(state(&project, "example-push"), "allowed");

    submit(&project, "d1", &about_file("d1", "delete", "src/d1.rs"), 20);
    detached(&project, &["reject", "d1", "--reason", "no", "--sign"]).ended(64).says("nothing was rejected");
    let reject = ["reject", "d1", "--reason", "no", "--sign"];
    on_terminal(&project, &[("Passphrase: ", PASSPHRASE)], &reject).ended(21);
    let entries = project.entries();
    let rejected = entries.iter().find(|it| it["entry"]["event"]["kind"] == "rejected").unwrap();
    assert_eq!(rejected["entry"]["how"], "signed");
    project.sound();
}
