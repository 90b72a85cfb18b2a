//! The things that people meet at a terminal: prompts, hints whose commands can be copied, and mistakes that are
//! told early.

use crate::approving::{about_file, owned_solo};
use crate::harness::{Kind, Project, Ran, os_user, ran};
use crate::presence::{ASKED, PASSPHRASE, detached, on_terminal};
use std::path::Path;

const NEW_KEY: [(&str, &str); 2] = [("New passphrase: ", PASSPHRASE), ("The same again: ", PASSPHRASE)];
const WRONG: &str = "correct horse battery stable";
const CTRL_C: &str = "\u{3}";

/// The lines of a terminal, without colours.
fn lines(ran: &Ran) -> Vec<String> {
    let plain = anstream::adapter::strip_str(&ran.stdout).to_string();
    plain.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

/// A line of its own has this command and nothing else.
#[track_caller]
fn has_command(ran: &Ran, command: &str) {
    assert!(lines(ran).iter().any(|line| line.trim_start() == command), "`{command}` in\n{}", ran.stdout);
}

/// An open gate for one person, with the example of the starter held.
fn open_solo() -> Project {
    let project = Project::empty();
    detached(&project, &["init", "--solo"]).ended(0);
    detached(&project, &["submit", "policy/tests/proposals/push.json"]).ended(20);
    project
}

#[test]
fn leaving_at_the_passphrase_of_init_leaves_nothing_behind() {
    let project = Project::empty();
    for steps in [
        &[("New passphrase: ", CTRL_C)][..],
        &[("New passphrase: ", PASSPHRASE), ("The same again: ", CTRL_C)],
    ] {
        on_terminal(&project, steps, &["init", "--solo"]).ended(64).says("nothing was typed");
        assert_eq!(std::fs::read_dir(&project.root).unwrap().count(), 0);
    }
    project.run(&["gate", "list"]).ended(0).says("no gates of this user");
    on_terminal(&project, &NEW_KEY, &["init", "--solo"]).ended(0).says("owns this gate");
}

#[test]
fn an_open_gate_is_claimed_and_not_made_again() {
    let project = open_solo();
    for arguments in [&["init"][..], &["init", "--solo"], &["init", "--keep"]] {
        let said = detached(&project, arguments).ended(1);
        said.says_all(&["is open: nobody owns it", "run `ordain init --claim` on a terminal"]);
    }
    let said = on_terminal(&project, &[], &["init", "--keep"]).ended(1);
    has_command(&said, "ordain init --claim");
    let elsewhere = Project::empty();
    detached(&elsewhere, &["init", "--solo", "shop dir"])
        .ended(0)
        .says("run `ordain init 'shop dir' --claim`");
    let steps = [NEW_KEY[0], NEW_KEY[1], ("[y/N] ", "y")];
    on_terminal(&project, &steps, &["init", "--claim"]).ended(0).says("owns this gate");
    detached(&project, &["init", "--keep"]).ended(1).says_all(&["belongs to `", "ordain doctor"]);
}

/// Nobody can sign at an open gate, so that nobody is asked to.
#[test]
fn an_open_gate_offers_no_approval() {
    let project = open_solo();
    for arguments in [&["approve", "example-push"][..], &["approve"]] {
        let steps = [("[q]uit: ", "a"), ("[q]uit: ", "q")];
        let said = on_terminal(&project, &steps, arguments).ended(20);
        has_command(&said, "ordain init --claim");
        let said = said
            .says_all(&["it takes a signature, and nobody owns this gate", "so nobody can sign an approval"])
            .all();
        for lie in ["[a]pprove", "yours is enough", "\\u{a}"] {
            assert!(!said.contains(lie), "{lie} in\n{said}");
        }
    }
    let status = project.run(&["status", "example-push", "--json"]).json();
    assert_eq!(status["needs_owner"], true);
    let view = status["view_digest"].as_str().unwrap();
    let said = detached(&project, &["approve", "example-push", "--view", view]).ended(1);
    said.says_all(&["does not count", "run `ordain init --claim` on a terminal"]);
    // Where no signature is asked for, an open gate takes an approval as before.
    let plain = Project::with_gate(Kind::File);
    plain.write("p.json", &crate::harness::proposal("p1", "sales", 1).to_string());
    plain.run(&["submit", "p.json"]).ended(20);
    assert!(plain.run(&["status", "p1", "--json"]).json().get("needs_owner").is_none());
}

#[test]
fn reasons_of_a_refusal_have_lines_of_their_own() {
    let project = owned_solo();
    for id in ["d1", "d2"] {
        project.write("p.json", &about_file(id, "delete", &format!("src/{id}.rs")));
        project.run(&["submit", "p.json"]).ended(20);
    }
    let halt = format!(
        "!XDG_STATE_HOME='{}' {} halt --reason now",
        project.state_home().display(),
        env!("CARGO_BIN_EXE_ordain")
    );
    let steps = [(ASKED, "a"), (ASKED, "a"), ("Passphrase: ", halt.as_str()), ("Passphrase: ", PASSPHRASE)];
    let said = on_terminal(&project, &steps, &["approve"]).ended(1).says("it would be denied").all();
    assert!(!said.contains("\\u{a}"), "{said}");
}

#[test]
fn a_pause_that_is_too_long_is_refused_before_anybody_is_asked() {
    let project = owned_solo();
    let said = on_terminal(&project, &[], &["pause", "--for", "3d"]).ended(64);
    said.says_all(&["--for", "at most a day"]);
    let said = on_terminal(&project, &[], &["setup", "claude", "--observe", "15d"]).ended(64);
    said.says_all(&["--observe", "at most 14 days"]);
}

#[test]
fn commands_to_run_can_be_copied() {
    let project = open_solo();
    let said = on_terminal(&project, &[], &["status"]).ended(0);
    has_command(&said, "ordain init --claim");
    // In a pipe an advice stays on its line.
    let said = project.run(&["status"]).ended(0);
    assert!(said.stderr.contains("hint: run `ordain init --claim` on a terminal\n"), "{}", said.stderr);
    // A long id is shortened as far as it stays the only one, and the commands take it.
    let id = |last: &str| format!("toolu-{}-{last}", "0123456789".repeat(6));
    for last in ["one", "two"] {
        project.write("p.json", &about_file(&id(last), "delete", &format!("src/{last}.rs")));
        project.run(&["submit", "p.json"]).ended(20);
    }
    let said = on_terminal(&project, &[], &["status", &id("one")]).ended(20);
    has_command(&said, &format!("ordain approve {}", id("one")));
    project.write("p.json", &about_file(&format!("call-{}", "9876543210".repeat(6)), "delete", "src/a.rs"));
    let said = on_terminal(&project, &[], &["submit", "p.json"]).ended(20);
    has_command(&said, "ordain approve call-987");
    has_command(&said, "ordain status call-987 --wait");
    project.run(&["status", "call-987"]).ended(20);
    // Each is run as it was printed.
    project.write("ok.json", &about_file("r1", "read", "src/a.rs"));
    let said = on_terminal(&project, &[], &["submit", "ok.json"]).ended(0);
    has_command(&said, "ordain permit use r1 --for ok.json");
    project.run(&["permit", "use", "r1", "--for", "ok.json"]).ended(0);
}

#[test]
fn what_is_signed_is_said_in_words() {
    let project = owned_solo();
    let token = ["token", "create", "bob", "--role", "auditor", "--role", "actor", "--name", "bot-7"];
    on_terminal(&project, &[("Passphrase: ", PASSPHRASE)], &token).ended(0).says_all(&[
        "make a token of bob",
        "roles: actor, auditor",
        "also proposes or observes as: bot-7",
        "without an end",
    ]);
    project
        .write("policy/more.cedar", "@id(\"more\")\nforbid(principal, action, resource) when { false };\n");
    let said = on_terminal(&project, &[("Passphrase: ", PASSPHRASE)], &["policy", "push"]).ended(0);
    let said = said
        .says_all(&["put policies in force; changed: 1 file", "+ more.cedar  +2 -0", "+@id(\"more\")"])
        .all();
    let place = |words: &str| said.find(words).unwrap_or_else(|| panic!("no `{words}` in {said}"));
    assert!(place("+@id(\"more\")") < place("To be signed") && place("+ more.cedar") < place("Passphrase: "));
    assert!(place("To be signed") < place("+ more.cedar"), "{said}");
}

/// Policies that nobody had signed lose their force when somebody owns the gate.
#[test]
fn the_same_policies_are_not_said_to_replace_themselves() {
    let project = open_solo();
    let steps = [NEW_KEY[0], NEW_KEY[1], ("[y/N] ", "n")];
    let said = on_terminal(&project, &steps, &["init", "--claim"]).ended(0);
    has_command(&said, "ordain policy push");
    let said = on_terminal(&project, &[("Passphrase: ", PASSPHRASE)], &["policy", "push"]).ended(0);
    assert!(!said.says("the same policies, pushed again").all().contains("in place of"));
}

#[test]
fn a_passphrase_may_be_mistyped_twice() {
    let project = Project::empty();
    detached(&project, &["init", "--solo"]).ended(0);
    // A new one that is too short, and one that is not repeated.
    let steps = [
        ("New passphrase: ", "short"),
        ("New passphrase: ", PASSPHRASE),
        ("The same again: ", WRONG),
        NEW_KEY[0],
        NEW_KEY[1],
        ("[y/N] ", "y"),
    ];
    on_terminal(&project, &steps, &["init", "--claim"]).ended(0).says_all(&["fewer than 12", "differ"]);
    detached(&project, &["submit", "policy/tests/proposals/push.json"]).ended(20);
    let tries = |last: &'static str| {
        [(ASKED, "a"), ("Passphrase: ", WRONG), ("Passphrase: ", ""), ("Passphrase: ", last)]
    };
    on_terminal(&project, &tries(WRONG), &["approve", "example-push"]).ended(1).says("does not open");
    on_terminal(&project, &tries(PASSPHRASE), &["approve", "example-push"]).ended(0).says("Try again");
}

#[test]
fn a_report_is_not_written_to_a_terminal() {
    let project = open_solo();
    let said = on_terminal(&project, &[], &["report", "example-push"]).ended(64);
    has_command(&said, "ordain report example-push -o example-push.html");
    assert!(!said.all().contains("<html"), "{}", said.all());
    project.run(&["report", "example-push", "-o", "example-push.html"]).ended(0);
    assert!(project.read("example-push.html").contains("<html"));
    assert!(project.run(&["report", "example-push"]).ended(0).stdout.contains("<html"));
    project.run(&["report"]).ended(64).says_all(&[
        "an action",
        "--from",
        "ordain report --from 7d -o week.html",
    ]);
}

#[test]
fn mistakes_are_told_with_a_way_out() {
    let project = open_solo();
    let said = project.run(&["aprove"]).ended(64).all();
    assert!(said.find("'approve'").unwrap() < said.find("'approver'").unwrap(), "{said}");
    project.run(&["mcp", "entry"]).ended(64).says_all(&["<NAME>", "ordain mcp entry github"]);
    let said = on_terminal(&project, &[], &["mcp", "pins"]).ended(0);
    has_command(&said, "ordain mcp wrap --help");
    project.run(&["submit", "nope.json"]).ended(1).says_all(&["nope.json", "hint: name a file"]);
    let elsewhere = Project::empty();
    let said = elsewhere.run(&["mcp", "serve"]).ended(1).says("hint: run `ordain init`").all();
    assert!(!said.contains("--server"), "{said}");
    let said = on_terminal(&elsewhere, &[], &["init", "--claim"]).ended(1).all();
    assert!(said.contains("ordain init") && !said.contains("--server"), "{said}");
}

#[test]
fn a_key_is_told_by_whose_it_is() {
    let top = Project::empty();
    on_terminal(&top, &NEW_KEY, &["init", "a", "--solo"]).ended(0).says("owns this gate");
    let said = on_terminal(&top, &[("Passphrase: ", PASSPHRASE)], &["init", "b", "--solo", "--me", "anna"]);
    let whose = format!("`{}` at the gate of", os_user());
    said.ended(0).says_all(&["You have a key already", "approver.key", &whose, "anna owns this gate"]);
    let doctor = |folder: &str| top.run_in(Path::new(folder), &["doctor"], "").ended(0);
    doctor("a").says("an owner's of this gate");
    // Another key in the place of the owner's.
    let key = top.state_home().join("config/ordain/approver.key");
    std::fs::rename(&key, key.with_extension("first")).unwrap();
    on_terminal(&top, &NEW_KEY, &["init", "c", "--solo"]).ended(0);
    doctor("a").says_all(&["not enrolled at this gate", "foreign_key"]);
    let found = top.run_in(Path::new("c"), &["doctor", "--json"], "").ended(0).json();
    assert_eq!(found["key_is"], "owner");
    // The gate's id, its ledger's name, and where both are.
    let state = top.state_home().join("ordain").join(found["gate_id"].as_str().unwrap());
    assert!(state.is_dir());
    let shown =
        doctor("c").says_all(&[found["gate_id"].as_str().unwrap(), found["origin"].as_str().unwrap()]);
    assert!(shown.stdout.contains("ledger"));
    let first = top.run_in(Path::new("c"), &["ledger", "checkpoint"], "").ended(0).stdout;
    assert!(first.starts_with(found["origin"].as_str().unwrap()), "{first}");
}

#[test]
fn the_help_of_init_says_what_the_starter_does() {
    let project = Project::empty();
    let said = project.run(&["help", "init"]).ended(0).all();
    assert!(!said.contains("everything else takes your signature") && !said.contains("all else"), "{said}");
    project.run(&["init", "--solo"]).ended(0);
    project.run(&["policy", "test"]).ended(0);
}

#[test]
fn messages_and_tables_fit_the_terminal() {
    let project = open_solo();
    for columns in ["60", "80"] {
        let said = ran(project.command(&["rules"]).env("COLUMNS", columns)).ended(0).stdout;
        let limit: usize = columns.parse().unwrap();
        let long = said.lines().find(|line| line.chars().count() > limit);
        assert_eq!(long, None, "at {columns}");
    }
    // The terminal of a test has 80 columns.
    let said = on_terminal(&project, &[], &["status"]).ended(0);
    assert!(lines(&said).iter().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    assert!(said.stdout.contains("needs a signature"), "{}", said.stdout);
}

/// A reader of the server's log as JSON lines reads there why it did not start.
#[test]
fn a_wrong_command_line_of_a_server_is_a_line_of_its_log() {
    let project = open_solo();
    let said = project.run(&["serve", "--json", "--listen", "256.0.0.1:1"]).ended(64);
    let line: serde_json::Value = serde_json::from_str(said.stderr.trim()).unwrap();
    assert_eq!(line["level"], "ERROR");
    assert!(line["fields"]["message"].as_str().unwrap().contains("--listen"), "{line}");
    project.run(&["serve", "--listen", "256.0.0.1:1"]).ended(64).says("error: invalid value");
}
