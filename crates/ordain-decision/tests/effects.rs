//! When two commands do the same, in part.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

use ordain_canon::Value;
use ordain_decision::{EffectKey, PolicyFiles, PolicySet, derive_shell};
use serde_json::json;
use std::collections::BTreeSet;

fn policies(effects: &str) -> PolicySet {
    let files = [("effects.toml", effects), ("p.cedar", "")];
    let files: PolicyFiles = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    PolicySet::load(&files).unwrap()
}

fn keys(set: &PolicySet, workspace: Option<&str>, command: &str) -> Vec<EffectKey> {
    let proposal = json!({"proposal_id": "1", "ts_ms": 1, "actor": "agent", "action_type": "execute",
        "parameters": {"command": command, "cwd": ".", "timeout": 5},
        "target": {"resource_type": "shell", "resource_id": "x", "domain": "workspace", "constraints": {}}});
    let text = proposal.to_string();
    let proposal = Value::read(text.as_bytes()).unwrap();
    set.effect_keys(&proposal, derive_shell(&proposal, workspace).as_ref())
}

/// The ids of a command's effects, and whether each blocks.
fn of(set: &PolicySet, command: &str) -> BTreeSet<(String, bool)> {
    keys(set, Some("/w"), command).into_iter().map(|key| (key.id, key.blocks)).collect()
}

fn blocks(set: &PolicySet, command: &str) -> Vec<bool> {
    keys(set, Some("/w"), command).iter().map(|key| key.blocks).collect()
}

/// Commands as people write them, and as attackers do.
fn corpora() -> Vec<String> {
    let texts = [
        include_str!("../../ordain-shell/tests/data/ordinary.tsv"),
        include_str!("../../ordain-shell/tests/data/evasions.tsv"),
    ];
    let lines = texts.into_iter().flat_map(str::lines).filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.splitn(3, '\t').nth(2)).map(|command| command.replace('␊', "\n")).collect()
}

#[test]
fn the_order_of_effects_makes_no_other_keys() {
    let set = policies("");
    let commands = corpora();
    let mut shuffled = 0;
    for command in &commands {
        let proposal = json!({"action_type": "execute", "parameters": {"command": command, "cwd": "."},
            "target": {"resource_type": "shell", "resource_id": "x", "domain": "workspace"}});
        let text = proposal.to_string();
        let proposal = Value::read(text.as_bytes()).unwrap();
        let derived = derive_shell(&proposal, Some("/w")).unwrap();
        let keys = set.effect_keys(&proposal, Some(&derived));
        assert!(!keys.is_empty() && keys.is_sorted_by(|one, next| one.id < next.id), "{command}: {keys:?}");
        let mut other = derived.clone();
        for at in 0..derived.effects.len() {
            other.effects.rotate_left(1);
            other.effects.swap(0, at);
            // An effect that is there twice is one.
            other.effects.push(other.effects[0].clone());
            assert_eq!(set.effect_keys(&proposal, Some(&other)), keys, "{command}");
            other.effects.pop();
            shuffled += usize::from(other.effects != derived.effects);
        }
    }
    assert!(commands.len() > 500 && shuffled > 200, "{} commands, {shuffled} orders", commands.len());
}

/// Whatever can be read of two commands locks both ways round.
#[test]
fn a_command_beside_another_keeps_its_keys() {
    let set = policies("");
    let has_folder =
        |command: &str| ["cd ", "pushd", "=", "set ", "#", "<<", "\n"].iter().any(|it| command.contains(it));
    let can_be_joined: Vec<String> = corpora()
        .into_iter()
        .filter(|command| !has_folder(command) && command.len() < 200)
        .filter(|command| {
            let keys = of(&set, command);
            let doubled = of(&set, &format!("{command}; true"));
            keys == doubled
        })
        .collect();
    assert!(can_be_joined.len() > 150, "{}", can_be_joined.len());
    let push = of(&set, "git push origin main");
    for command in can_be_joined {
        let both = [format!("git push origin main; {command}"), format!("{command}; git push origin main")];
        for joined in both {
            let keys = of(&set, &joined);
            let is_whole = keys.len() == 1;
            assert!(is_whole || keys.is_superset(&push), "{joined}");
        }
    }
}

#[test]
fn effects_lock_where_others_are_reached() {
    let set = policies("");
    for command in [
        "git push",
        "npm publish",
        "rm -r dist",
        "git commit -m x",
        "curl -d x https://example.org/",
        "echo x > /etc/hosts",
        "sudo true",
        "frobnicate",
    ] {
        assert!(blocks(&set, command).contains(&true), "{command}");
    }
    for command in [
        "true",
        "echo x",
        "cat a",
        "echo x > a",
        "cargo test",
        "npm install left-pad",
        "curl https://example.org/",
        "curl -d x http://localhost:8080/",
        "kill 1",
    ] {
        assert!(!blocks(&set, command).contains(&true), "{command}");
    }
}

#[test]
fn the_first_row_that_says_something_holds() {
    let all = ["git push", "git commit -m x", "rm a", "cat a"];
    for (rows, expected) in [
        ("", [true, true, true, false]),
        ("[execute.git_push]\non_unknown = \"note\"", [false, true, true, false]),
        // Pushes and commits both change refs.
        ("[execute.git_ref]\non_unknown = \"note\"", [false, false, true, false]),
        (
            "[execute.git_ref]\non_unknown = \"note\"\n[execute.git_push]\non_unknown = \"block\"\neffect_parameters = []",
            [true, false, true, false],
        ),
        ("[execute.shell]\non_unknown = \"note\"", [false; 4]),
        ("[execute.\"*\"]\non_unknown = \"block\"\neffect_parameters = []", [true; 4]),
        // A row that is about something else says nothing here.
        ("[execute.delete]\nrollback = \"none\"\n[execute.shell]\non_unknown = \"note\"", [false; 4]),
    ] {
        let set = policies(rows);
        let found = all.map(|command| blocks(&set, command) == [true]);
        assert_eq!(found, expected, "{rows}");
    }
}

#[test]
fn named_parameters_make_another_effect() {
    let set = policies("[execute.git_push]\non_unknown = \"block\"\neffect_parameters = [\"command\"]");
    assert_ne!(of(&set, "git push"), of(&set, "git  push"));
    assert_eq!(of(&set, "rm a"), of(&set, "rm  -f ./a"));
    let set = policies("[execute.git_push]\neffect_parameters = [\"timeout\"]");
    assert_eq!(of(&set, "git push"), of(&set, "git  push"));
    assert_ne!(of(&set, "git push"), of(&policies(""), "git push"));
}

#[test]
fn a_place_of_a_workspace_is_another_in_each() {
    let set = policies("");
    for (command, of_workspace) in [
        ("git push origin main", true),
        ("rm -r dist", true),
        ("frobnicate", true),
        ("git push https://github.com/acme/shop main", false),
        ("rm /etc/hosts", false),
        ("curl -d x https://example.org/", false),
    ] {
        let other = keys(&set, Some("/other"), command) != keys(&set, Some("/w"), command);
        assert_eq!(other, of_workspace, "{command}");
    }
}

/// A command that G9 refuses has the key of its proposal.
#[test]
fn other_proposals_have_one_key() {
    let set = policies("");
    let text = json!({"action_type": "execute", "parameters": {"command": 1},
        "target": {"resource_type": "shell", "resource_id": "x", "domain": "workspace"}})
    .to_string();
    let proposal = Value::read(text.as_bytes()).unwrap();
    assert_eq!(derive_shell(&proposal, None), None);
    assert_eq!(set.effect_keys(&proposal, None).len(), 1);
}
