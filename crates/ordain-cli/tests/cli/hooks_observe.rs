//! A gentle start and a way out: an owner has calls pass for a time, it is shown everywhere, and no agent can do it.

use crate::approving::owned_solo;
use crate::harness::{Guarded, count, folder};
use crate::presence::{PASSPHRASE, command_on_terminal, detached, on_terminal};
use serde_json::{Value as Json, json};
use std::time::Duration;

const SETTINGS: &str = ".claude/settings.local.json";
const PUSH: &str = "git push origin main";

/// The command that Claude Code runs before a call.
fn installed(guarded: &Guarded) -> String {
    let settings: Json = serde_json::from_str(&guarded.project.read(SETTINGS)).unwrap();
    settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_owned()
}

fn claude_state(guarded: &Guarded) -> Json {
    let doctor = guarded.project.run(&["doctor", "--json"]).json();
    doctor["agents"].as_array().unwrap().iter().find(|it| it["agent"] == "claude").unwrap()["state"].clone()
}

#[test]
fn an_owner_has_one_hook_observed_and_no_agent_can() {
    let guarded = Guarded::of(owned_solo());
    let project = &guarded.project;
    // Without a terminal and without the passphrase nothing is written.
    detached(project, &["setup", "claude", "--project", "--observe", "1h"]).ended(64);
    assert!(!project.path(SETTINGS).exists());
    let wrong = [("Passphrase: ", "correct horse battery stable"); 3];
    assert_ne!(on_terminal(project, &wrong, &["setup", "claude", "--project", "--observe", "1h"]).code, 0);
    assert!(!project.path(SETTINGS).exists());
    assert_eq!(count(&project.entries(), "observation_started"), 0);

    let steps = [("Passphrase: ", PASSPHRASE)];
    on_terminal(project, &steps, &["setup", "claude", "--project", "--observe", "1h"]).ended(0).says_all(&[
        "start_observation",
        "passes everything until",
        "installed",
    ]);
    let command = installed(&guarded);
    let id = command.split("--observe ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let push = || guarded.ask_installed(&command, "Bash", json!({"command": PUSH}));
    assert_eq!(push().ended(0).all().matches("\"allow\"").count(), 1);
    // Damaged calls and a gate that is away are refused all the same.
    assert_eq!(guarded.ask_installed(&command, "Bash", json!({"command": 1})).code, 2);
    // One is the harmless call by which `setup` proves the hook.
    let entries = project.entries();
    assert_eq!((count(&entries, "observed"), count(&entries, "permit_minted")), (2, 0));
    // It is shown everywhere.
    assert_eq!(claude_state(&guarded), "observed");
    project.run(&["doctor"]).says_all(&["observed: the hook", &id]);
    project.run(&["status"]).ended(0).says_all(&["observed: the hook", &id]);
    project.run(&["ledger", "show"]).ended(0).says_all(&["observation_started", "observed"]);
    // The observation belongs to this hook: in another file its id is found.
    let copied = project.read(SETTINGS);
    project.write(".claude/settings.json", &copied);
    std::fs::remove_file(project.path(SETTINGS)).unwrap();
    assert_eq!(claude_state(&guarded), "broken");
    project.run(&["doctor"]).ended(1).says("it passes for another hook");
    std::fs::remove_file(project.path(".claude/settings.json")).unwrap();
    project.write(SETTINGS, &copied);
    // A hook without its id is judged as ever.
    let without = command.replace(&format!(" --observe {id}"), "").replace("--wait 590", "--wait 0");
    assert_eq!(guarded.ask_installed(&without, "Bash", json!({"command": PUSH})).code, 2);
    // Anybody ends it, and the installed hook asks as ever from then on.
    detached(project, &["pause", "--end", &id]).ended(0).says("enforcing");
    let command = command.replace("--wait 590", "--wait 0");
    guarded.ask_installed(&command, "Bash", json!({"command": PUSH})).ended(2).says("held");
    assert_eq!(claude_state(&guarded), "guarded");
    project.sound();
}

#[test]
fn a_pause_ends_by_itself() {
    let guarded = Guarded::of(owned_solo());
    let project = &guarded.project;
    project.run(&["setup", "claude", "--project", "--wait", "0"]).ended(0);
    let command = installed(&guarded);
    let push = || guarded.ask_installed(&command, "Bash", json!({"command": PUSH}));
    push().ended(2).says("held");
    for attempt in [&["pause", "--for", "30m"][..], &["pause", "--for", "2d"]] {
        assert_ne!(detached(project, attempt).code, 0);
    }
    let steps = [("Passphrase: ", PASSPHRASE)];
    assert_ne!(on_terminal(project, &steps, &["pause", "--for", "2d"]).code, 0);
    let reason = ["pause", "--for", "8s", "--reason", "the fire is elsewhere"];
    on_terminal(project, &steps, &reason).ended(0).says_all(&["paused", "the fire is elsewhere"]);
    push().ended(0);
    assert_eq!(claude_state(&guarded), "observed");
    project.run(&["status"]).ended(0).says_all(&["paused", "the fire is elsewhere"]);
    std::thread::sleep(Duration::from_secs(8));
    push().ended(2).says("held");
    assert_eq!(claude_state(&guarded), "guarded");
    let entries = project.entries();
    assert_eq!((count(&entries, "observation_started"), count(&entries, "observed")), (1, 1));
    project.sound();
}

/// An agent with a terminal, a gate and a key of its own does not put its gate in the place of the owner's.
#[test]
fn a_gate_of_the_agent_does_not_take_the_hook_over() {
    let guarded = Guarded::of(owned_solo());
    let project = &guarded.project;
    project.run(&["setup", "claude", "--project", "--wait", "0"]).ended(0);
    let before = project.read(SETTINGS);
    let own = folder();
    for arguments in
        [&["setup", "claude", "--project", "--observe", "1h"][..], &["setup", "claude", "--project"]]
    {
        let mut command = project.command(arguments);
        for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
            command.env(name, own.path().join(name));
        }
        let mine = "an agent has its own words";
        let steps =
            [("[y/N] ", "y"), ("New passphrase: ", mine), ("The same again: ", mine), ("Passphrase: ", mine)];
        let refused = command_on_terminal(project, &steps, &command);
        assert_ne!(refused.code, 0, "{}", refused.all());
        assert_eq!(project.read(SETTINGS), before, "{}", refused.all());
    }
    project.sound();
}

/// A gate that nobody owns lets nobody pass: every process could ask for it there.
#[test]
fn an_open_gate_is_not_paused() {
    let guarded = Guarded::new();
    for attempt in [&["pause", "--for", "30m"][..], &["setup", "claude", "--observe"]] {
        guarded.run(attempt).ended(64).says_all(&["nobody owns this gate", "ordain init --claim"]);
    }
    assert!(!guarded.project.path(SETTINGS).exists());
    assert_eq!(count(&guarded.project.entries(), "observation_started"), 0);
}
