//! `ordain init`: what it writes is valid, tested and laid out, and it overwrites nothing.

use crate::harness::Project;
use crate::presence::{PASSPHRASE, on_terminal};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::Path;

/// All files below a folder, with their texts.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => {
                    let name = path.strip_prefix(folder).unwrap().display().to_string();
                    found.push((name, std::fs::read_to_string(path).unwrap()));
                }
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_starter_is_valid_without_a_warning() {
    let project = Project::started();
    let checked = project.run(&["policy", "check", "--deny-warnings", "--json"]).ended(0).json();
    assert_eq!(checked["problems"], json!([]));
    assert_eq!((checked["permits"].as_u64(), checked["forbids"].as_u64()), (Some(13), Some(5)));
    project.run(&["policy", "fmt", "--check"]).ended(0);
}

#[test]
fn its_cases_hold_and_reach_every_policy() {
    let project = Project::started();
    let ran = project.run(&["policy", "test", "--json"]).ended(0);
    let cases: Vec<Json> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cases.len() >= 40, "{}", cases.len());
    let mut named = BTreeSet::new();
    for case in &cases {
        for reason in case["decision"]["reasons"].as_array().unwrap() {
            // A near miss reaches nothing.
            let decided = reason["rule_id"] != "G12" || case["decision"]["outcome"] != "DENY";
            named.extend(
                reason["policies"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|_| decided)
                    .map(|id| id.as_str().unwrap().to_owned()),
            );
        }
    }
    let mut written = BTreeSet::new();
    for (_, text) in files(&project.path("policy")).iter().filter(|(name, _)| name.ends_with(".cedar")) {
        written.extend(text.split("@id(\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()));
    }
    assert_eq!(named, written);
    let outcomes: BTreeSet<&str> =
        cases.iter().map(|case| case["decision"]["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, BTreeSet::from(["ALLOW", "DENY", "HOLD"]));
}

/// A case that would pass whatever the policy says shows nothing: without a policy at least one must fail.
#[test]
fn each_policy_matters_to_a_case() {
    each_policy_matters(&Project::started());
}

#[test]
fn each_policy_of_the_solo_starter_matters_to_a_case() {
    each_policy_matters(&solo());
}

fn solo() -> Project {
    let project = Project::empty();
    project.run(&["init", "--solo"]).ended(0).says_all(&["this gate is open", "ordain init --claim"]);
    project
}

#[test]
fn the_solo_starter_is_small_and_valid() {
    let project = solo();
    let checked = project.run(&["policy", "check", "--deny-warnings", "--json"]).ended(0).json();
    assert_eq!(checked["problems"], json!([]));
    project.run(&["policy", "fmt", "--check"]).ended(0);
    project.run(&["policy", "test"]).ended(0);
    assert!(files(&project.path("policy")).len() <= 16);
    assert!(project.read("policy/README.md").lines().count() <= 50);
    // An agent edits; to delete or to run it needs a signature, and the person is not the agent.
    let room = |name: &str, proposal: Json| project.write(name, &proposal.to_string());
    let mut proposal = crate::harness::proposal("w", "workspace", 1);
    proposal["target"]["resource_type"] = json!("file");
    proposal["target"]["resource_id"] = json!("src/main.rs");
    room("write.json", proposal.clone());
    project.run(&["submit", "write.json"]).ended(0);
    proposal["proposal_id"] = json!("d");
    proposal["action_type"] = json!("delete");
    room("delete.json", proposal);
    project.run(&["submit", "delete.json"]).ended(20).says_all(&["presence"]);
}

/// The effects that the solo starter lets wait, wherever they happen.
const HELD: [&str; 7] = ["delete", "install", "process", "opaque", "git_push", "publish", "privilege"];

/// Commands that delete only below folders whose content a build makes again.
const DISPOSABLE: [&str; 5] =
    ["shx rm -rf ./dist", "rm -rf dist && rollup -c", "rimraf dist", "rm -rf target", "cargo clean"];

/// Commands whose effects people wrote down, by the outcome under the solo starter.
fn decided_by_solo(corpus: &str) -> Vec<(Vec<&str>, String, String)> {
    let project = solo();
    let lines: Vec<Vec<&str>> = corpus
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.splitn(3, '\t').collect())
        .collect();
    let case = |(at, line): (usize, &Vec<&str>)| {
        json!({"name": format!("corpus {at}"), "now_ms": 1_767_614_400_000_u64, "expect": {"outcome": "HOLD"},
            "proposal": {"action_type": "execute",
                "target": {"resource_type": "shell", "resource_id": ".", "domain": "workspace"},
                "parameters": {"command": line[2].replace('␊', "\n"), "cwd": "."}}})
    };
    let cases: Vec<Json> = lines.iter().enumerate().map(case).collect();
    project.write("policy/tests/corpus.json", &json!(cases).to_string());
    let ran = project.run(&["policy", "test", "--json", "--filter", "corpus "]).ended(1);
    let decided: Vec<Json> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(decided.len(), lines.len());
    let together = lines.iter().zip(decided);
    together
        .map(|(line, decided)| {
            let kinds = line[1].split("; ").map(|effect| effect.split(' ').next().unwrap()).collect();
            let outcome = decided["decision"]["outcome"].as_str().unwrap().to_owned();
            (kinds, line[2].to_owned(), outcome)
        })
        .collect()
}

/// However a command is spelled: what should wait for a person does not pass.
#[test]
fn no_command_that_should_wait_passes_the_solo_starter() {
    let ordinary = include_str!("../../../ordain-shell/tests/data/ordinary.tsv");
    let evasions = include_str!("../../../ordain-shell/tests/data/evasions.tsv");
    let mut waits = 0;
    for (kinds, command, outcome) in decided_by_solo(ordinary).into_iter().chain(decided_by_solo(evasions)) {
        let disposable = DISPOSABLE.contains(&command.as_str());
        if kinds.iter().any(|kind| HELD.contains(kind)) && !disposable {
            assert_ne!(outcome, "ALLOW", "{command}");
            waits += 1;
        }
    }
    assert!(waits >= 150, "{waits}");
}

/// Looking, editing, committing, building and testing do not wait.
#[test]
fn ordinary_work_passes_the_solo_starter() {
    let ordinary = decided_by_solo(include_str!("../../../ordain-shell/tests/data/ordinary.tsv"));
    let everyday = ["harmless", "read", "write", "git_write", "runs_code"];
    let everyday: Vec<_> =
        ordinary.iter().filter(|(kinds, ..)| kinds.iter().all(|kind| everyday.contains(kind))).collect();
    let stopped: Vec<&str> =
        everyday.iter().filter(|it| it.2 != "ALLOW").map(|(_, command, _)| command.as_str()).collect();
    assert!(stopped.len() * 10 <= everyday.len(), "{} of {}: {stopped:#?}", stopped.len(), everyday.len());
}

/// Names have one place: changing them there is enough.
#[test]
fn people_and_agents_of_the_solo_starter_can_be_renamed() {
    let project = solo();
    let user = crate::harness::os_user();
    let mut entities: Vec<Json> = serde_json::from_str(&project.read("policy/entities.json")).unwrap();
    for entity in &mut entities {
        if entity["uid"]["id"] == json!(user) {
            entity["uid"]["id"] = json!("rosa");
        }
        if entity["uid"]["id"] == "agent-1" {
            (entity["uid"]["id"], entity["attrs"]["agent_of"]) = (json!("helper"), json!("rosa"));
        }
    }
    project.write("policy/entities.json", &json!(entities).to_string());
    project.run(&["policy", "test"]).ended(0);
    project.run(&["policy", "push"]).ended(0);
}

fn each_policy_matters(project: &Project) {
    for (name, text) in files(&project.path("policy")).iter().filter(|(name, _)| name.ends_with(".cedar")) {
        let file = format!("policy/{name}");
        let ids: Vec<&str> =
            text.split("@id(\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        for id in ids {
            let (before, rest) = text.split_once(&format!("@id(\"{id}\")")).unwrap();
            let after = rest.split_once("};").or_else(|| rest.split_once(");")).unwrap().1;
            project.write(&file, &format!("{before}{after}"));
            project.run(&["policy", "test"]).ended(1).says_all(&["failed"]);
        }
        project.write(&file, text);
    }
    project.run(&["policy", "test"]).ended(0);
}

#[test]
fn its_proposals_can_be_decided_at_once() {
    let project = Project::started();
    let proposals = files(&project.path("policy/tests/proposals"));
    assert_eq!(proposals.len(), 7);
    for (name, _) in proposals {
        let file = format!("policy/tests/proposals/{name}");
        let code = if name == "read.json" { 0 } else { 20 };
        project.run(&["decide", &file]).ended(code);
        project.run(&["verify", &file]).ended(0);
    }
}

#[test]
fn nothing_is_overwritten() {
    for there in ["ordain.toml", "policy", "policy/mine.cedar"] {
        let project = Project::empty();
        match there {
            "policy" => std::fs::create_dir(project.path(there)).unwrap(),
            _ => project.write(there, "mine"),
        }
        let before = files(&project.path(""));
        let named = there.split('/').next().unwrap();
        project.run(&["init"]).ended(1).says_all(&[named, "already; nothing was written"]);
        assert_eq!(files(&project.path("")), before);
    }
    // A link that leads nowhere is something too.
    let project = Project::empty();
    std::os::unix::fs::symlink("nowhere", project.path("ordain.toml")).unwrap();
    project.run(&["init"]).ended(1).says_all(&["ordain.toml"]);
    assert!(!project.path("policy").exists() && !project.path("nowhere").exists());
}

#[test]
fn a_folder_may_be_named_and_is_made() {
    let project = Project::empty();
    let listed = project.run(&["init", "a/b", "--json"]).ended(0).json();
    let mut listed: Vec<&str> =
        listed["files"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    listed.sort_unstable();
    let written = files(&project.path(""));
    let written: Vec<&str> = written.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(listed, written);
    project.run_in(Path::new("a/b"), &["policy", "test"], "").ended(0);
    project.run_in(Path::new("a/b"), &["policy", "diff"], "").ended(0);
    project.run(&["init", "a/b"]).ended(1).says_all(&[
        "error: a/b: is registered already, with the gate ",
        "which is open: nobody owns it; nothing was written",
        "hint: run `ordain init a/b --claim` on a terminal",
    ]);
}

/// A starter file that is not written would be lost, and one that is not there does not compile.
#[test]
fn every_file_of_the_starters_is_written() {
    let starters = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands/init");
    is_written(&Project::started(), files(&starters.join("starter")));
    let mut expected = files(&starters.join("solo"));
    for shared in ["policy/mcp.cedar", "policy/mcp.toml", "policy/protected.cedar", "policy/tests/mcp.json"] {
        let text = std::fs::read_to_string(starters.join("starter").join(shared)).unwrap();
        expected.push((shared.to_owned(), text));
    }
    expected.sort();
    is_written(&solo(), expected);
}

fn is_written(project: &Project, mut expected: Vec<(String, String)>) {
    for (name, content) in &mut expected {
        *content = content.replace("@OS_USER@", &crate::harness::os_user());
        if name == "policy/tools.toml" {
            content.push_str(&ordain_hooks::tools_toml(&ordain_hooks::Agent::ALL));
            content.push_str(include_str!("../../src/commands/init/mcp-tools.toml"));
        }
    }
    assert_eq!(files(&project.path("")), expected);
}

/// Whatever the names, everything that was written agrees with them.
#[test]
fn the_shipped_tests_hold_with_any_names() {
    let long = "n".repeat(256);
    for (me, agent) in [
        ("anna", "claude"),
        ("Ágnes 東京", "агент-7"),
        ("alice", "bob"),
        ("Carol", "EMIL"),
        ("Alice-Oncall", "a"),
        ("agent-1", "olga"),
        ("o'brien \"bo\" \\", "a,b:c/d"),
        (long.as_str(), "-"),
    ] {
        for starter in ["--solo", "--team"] {
            let project = Project::empty();
            let me_option = format!("--me={me}");
            let agent_option = format!("--agent={agent}");
            project.run(&["init", starter, &me_option, &agent_option]).ended(0);
            project.run(&["policy", "check", "--deny-warnings"]).ended(0);
            project.run(&["policy", "test"]).ended(0).says("all as expected");
            let entities: Vec<Json> = serde_json::from_str(&project.read("policy/entities.json")).unwrap();
            let of =
                |id: &str| entities.iter().find(|entity| entity["uid"]["id"] == id).unwrap()["attrs"].clone();
            assert_eq!(of(me)["os_user"], json!(crate::harness::os_user()));
            assert_eq!(of(agent)["agent_of"], json!(me));
            let example = if starter == "--solo" { "push" } else { "delete" };
            let file = format!("policy/tests/proposals/{example}.json");
            let held = project.run(&["submit", &file, "--json"]).ended(20).json();
            assert_eq!(held["actor"], json!(agent));
        }
    }
}

#[test]
fn names_that_cannot_be_are_refused() {
    let project = Project::empty();
    let long = format!("--me={}", "n".repeat(257));
    for (arguments, said) in [
        (&["--me", ""][..], "must not be empty"),
        (&["--me", "a\nb"], "control character"),
        (&["--agent", " a"], "space"),
        (&["--agent", "a\u{202e}b"], "invisible"),
        (&[long.as_str()], "more than 256"),
        (&["--me", "x", "--agent", "x"], "at once"),
        (&["--me", "agent-1"], "at once"),
    ] {
        let refused = project.run(&[&["init", "--solo"], arguments].concat()).ended(64).says(said);
        assert!(refused.stderr.contains("hint: "), "{}", refused.stderr);
    }
    for conflict in [&["--solo", "--team"][..], &["--keep", "--me", "x"], &["--claim", "--agent", "x"]] {
        project.run(&[&["init"], conflict].concat()).ended(64);
    }
    assert!(!project.path("policy").exists() && !project.path("ordain.toml").exists());
}

/// On a terminal `init` asks what its options did not say, and what to do next stands last.
#[test]
fn on_a_terminal_it_asks() {
    let project = Project::empty();
    let steps = [
        ("[solo/team] ", "both"),
        ("[solo/team] ", "solo"),
        ("Your name at the gate", "anna"),
        ("The name of your agent [agent-1]: ", "claude"),
        ("New passphrase: ", PASSPHRASE),
        ("The same again: ", PASSPHRASE),
    ];
    let said = on_terminal(&project, &steps, &["init"]).ended(0).says("anna owns this gate").all();
    let place = |words: &str| said.find(words).unwrap_or_else(|| panic!("no `{words}` in {said}"));
    assert!(place("owns this gate") < place("Next"), "{said}");
    assert!(place("Next") < place("ordain submit policy/tests/proposals/push.json"), "{said}");
    let entities = std::fs::read_to_string(project.root.join("policy/entities.json")).unwrap();
    assert!(entities.contains("\"anna\"") && entities.contains("\"claude\""), "{entities}");
    project.run(&["policy", "test"]).ended(0);
    project.run(&["submit", "policy/tests/proposals/push.json"]).ended(20).says("claude");
}
