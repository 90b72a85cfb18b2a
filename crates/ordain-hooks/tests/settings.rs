//! Twenty kinds of settings: the hook goes in, everything else stays, and the hook goes out again.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use ordain_hooks::{Agent, Edit, Installed, Pins, codex_trust, find_hook, install, remove};
use serde_json::Value as Json;
use std::path::Path;

fn pins(agent: Agent) -> Pins {
    let line = format!(
        "{agent} --gate 0123456789abcdef --state /home/dev/.local/state/ordain --key 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo \
         --actor agent-1 --wait 590"
    );
    Pins::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).unwrap()
}

const PROGRAM: &str = "/usr/local/bin/ordain";
const FILE: &str = "/home/dev/settings.json";
const REQUIREMENTS: &str = "/etc/codex/requirements.toml";

const OTHER: &str = r#"{"matcher": "Bash", "hooks": [{"type": "command", "command": "/opt/other check"}]}"#;

/// Settings that are somebody's own.
fn kinds() -> Vec<String> {
    let mut kinds: Vec<String> = [
        "{}",
        "{}\n",
        "{ }",
        "{\n}\n",
        "{\"model\": \"x\"}",
        "{\n  \"model\": \"x\"\n}\n",
        "{\n\t\"model\": \"x\",\n\t\"env\": {\"A\": \"}\"}\n}\n",
        "{\r\n  \"model\": \"x\"\r\n}\r\n",
        "{\"hooks\": {}}",
        "{\n  \"hooks\": {\n  }\n}\n",
        "{\"hooks\": {\"PreToolUse\": []}}",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": []}\n    ]\n  },\n  \"z\": [1, 2]\n}\n",
        "{\"note\": \"ordain hook claude\", \"x\": \"\\\"{[\"}",
        "{\"é\": \"\\u00e9 \\\\\", \"n\": 1.50}",
        "  {\"a\": null}  ",
    ]
    .map(str::to_owned)
    .to_vec();
    kinds.push(format!("{{\"hooks\": {{\"PreToolUse\": [{OTHER}]}}}}"));
    kinds.push(format!("{{\n  \"hooks\": {{\n    \"PreToolUse\": [\n      {OTHER}\n    ]\n  }}\n}}\n"));
    kinds.push(format!("{{\"hooks\": {{\"PreToolUse\": [{OTHER}], \"PostToolUse\": [{OTHER}]}}, \"b\": 1}}"));
    kinds
}

/// Settings that a host would not read, or not as they are meant.
const MALFORMED: [&str; 8] = [
    "{",
    "[]",
    "{\"a\": 1,}",
    "{\"a\": 1} x",
    "// comment\n{}",
    "{\"a\": 1, \"a\": 2}",
    "{\"hooks\": []}",
    "{\"hooks\": {\"PreToolUse\": {}}}",
];

#[test]
fn a_hook_goes_in_and_out_and_nothing_else_changes() {
    let pins = pins(Agent::Claude);
    let installed = Installed { program: Path::new(PROGRAM), pins: &pins };
    for text in kinds() {
        let Edit::Added(with) = install(&installed, Path::new(FILE), Some(&text)).unwrap() else {
            panic!("{text}")
        };
        let found = find_hook(Agent::Claude, Path::new(FILE), &with).unwrap();
        let events: Vec<&str> = found.iter().map(|hook| hook.event.as_str()).collect();
        assert_eq!(events, ["PreToolUse", "PostToolUse", "PostToolUseFailure"], "{with}");
        assert!(found.iter().all(|hook| hook.exact && hook.pins.is_some()), "{with}");
        assert_eq!(found[0].timeout_s, Some(600));
        // Again changes nothing.
        assert_eq!(install(&installed, Path::new(FILE), Some(&with)).unwrap(), Edit::Same);
        // Whatever was there is there, in its order.
        let (before, after): (Json, Json) =
            (serde_json::from_str(&text).unwrap(), serde_json::from_str(&with).unwrap());
        for (key, value) in before.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks") {
            assert_eq!(&after[key], value, "{with}");
        }
        for (event, list) in before["hooks"].as_object().into_iter().flatten() {
            let kept = &after["hooks"][event].as_array().unwrap()[..list.as_array().unwrap().len()];
            assert_eq!(kept, list.as_array().unwrap(), "{with}");
        }
        // Taken out by text alone, the same values are left; lists that became empty may be gone.
        let without = remove(Agent::Claude, Path::new(FILE), &with).unwrap();
        assert_eq!(find_hook(Agent::Claude, Path::new(FILE), &without).unwrap(), []);
        let left: Json = serde_json::from_str(&without).unwrap();
        for (key, value) in before.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks") {
            assert_eq!(&left[key], value, "{without}");
        }
    }
}

#[test]
fn malformed_settings_are_left_alone() {
    let pins = pins(Agent::Claude);
    let installed = Installed { program: Path::new(PROGRAM), pins: &pins };
    for text in MALFORMED {
        assert!(install(&installed, Path::new(FILE), Some(text)).is_err(), "{text}");
    }
}

#[test]
fn another_pin_replaces_the_hook() {
    let old = pins(Agent::Codex);
    let Edit::Added(text) =
        install(&Installed { program: Path::new(PROGRAM), pins: &old }, Path::new(FILE), None).unwrap()
    else {
        panic!()
    };
    let new = Pins { actor: "agent-2".to_owned(), ..old };
    let installed = Installed { program: Path::new(PROGRAM), pins: &new };
    let Edit::Replaced(text) = install(&installed, Path::new(FILE), Some(&text)).unwrap() else { panic!() };
    assert_eq!(find_hook(Agent::Codex, Path::new(FILE), &text).unwrap().len(), 2);
    assert_eq!(install(&installed, Path::new(FILE), Some(&text)).unwrap(), Edit::Same);
    // One that was edited by hand is found, and replaced.
    let edited = text.replace("600", "5");
    assert!(find_hook(Agent::Codex, Path::new(FILE), &edited).unwrap().iter().any(|hook| !hook.exact));
    assert!(
        matches!(install(&installed, Path::new(FILE), Some(&edited)).unwrap(), Edit::Replaced(again) if again == text)
    );
}

#[test]
fn every_agent_has_its_own_form() {
    let mut shown = String::new();
    for agent in Agent::ALL {
        let pins = pins(agent);
        let installed = Installed { program: Path::new(PROGRAM), pins: &pins };
        let Edit::Added(text) = install(&installed, Path::new(FILE), None).unwrap() else { panic!() };
        assert_eq!(install(&installed, Path::new(FILE), Some(&text)).unwrap(), Edit::Same, "{agent}");
        assert!(find_hook(agent, Path::new(FILE), &text).unwrap().iter().all(|hook| hook.exact), "{agent}");
        // Whatever the order of members in this build.
        let text = match serde_json::from_str::<Json>(&text) {
            Ok(value) => {
                String::from_utf8(ordain_canon::Canonicalizer::new().value(&value).unwrap().to_vec()).unwrap()
            }
            Err(_) => text,
        };
        shown.push_str(&format!("# {agent}\n{text}\n"));
    }
    insta::assert_snapshot!("installed", shown);
}

#[test]
fn trust_is_added_or_replaced() {
    let table = |text: &str| -> toml::Table { toml::from_str(text).unwrap() };
    let first = codex_trust("model = \"x\"", "/a \"b\":0", "sha256:1").unwrap();
    assert_eq!(table(&first)["hooks"]["state"]["/a \"b\":0"]["trusted_hash"].as_str(), Some("sha256:1"));
    let second = codex_trust(&first, "/a \"b\":0", "sha256:2").unwrap();
    assert_eq!(table(&second)["hooks"]["state"]["/a \"b\":0"]["trusted_hash"].as_str(), Some("sha256:2"));
    assert_eq!(second.matches("trusted_hash").count(), 1);
    let third = codex_trust(&second, "other", "sha256:3").unwrap();
    assert_eq!(table(&third)["hooks"]["state"].as_table().unwrap().len(), 2);
}

/// Requirements of somebody's own.
const REQUIRED: [&str; 8] = [
    "",
    "allow_managed_hooks_only = true\n",
    "allowed_approval_policies = [\"on-request\"]",
    "# ours\r\n[features]\r\nhooks = true\r\n",
    "[hooks]\nmanaged_dir = \"/opt/hooks\"\n",
    "[hooks]\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"/opt/other\"\n\n# the last\n[rules]\n",
    "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"/opt/other check\"\n",
    "note = \"\"\"\n[[hooks.PreToolUse]]\n/usr/bin/ordain hook codex\n\"\"\"\n",
];

#[test]
fn the_settings_of_the_machine_of_codex_are_toml() {
    let pins = pins(Agent::Codex);
    let installed = Installed { program: Path::new(PROGRAM), pins: &pins };
    let path = Path::new(REQUIREMENTS);
    let table = |text: &str| -> toml::Table { toml::from_str(text).unwrap() };
    for text in REQUIRED {
        let Edit::Added(with) = install(&installed, path, Some(text)).unwrap() else { panic!("{text}") };
        let found = find_hook(Agent::Codex, path, &with).unwrap();
        let events: Vec<&str> = found.iter().map(|hook| hook.event.as_str()).collect();
        assert_eq!(events, ["PreToolUse", "PostToolUse"], "{with}");
        assert!(found.iter().all(|hook| hook.exact && hook.pins.is_some()), "{with}");
        assert_eq!(found[0].timeout_s, Some(600));
        assert!(with.starts_with(text), "{with}");
        assert_eq!(install(&installed, path, Some(&with)).unwrap(), Edit::Same);
        // Somebody wrote a table behind it.
        let more = format!("{with}\n# another\n[later]\nx = 1\n");
        let other = Pins { actor: "agent-2".to_owned(), ..pins.clone() };
        let other = Installed { program: Path::new(PROGRAM), pins: &other };
        let Edit::Replaced(replaced) = install(&other, path, Some(&more)).unwrap() else { panic!("{more}") };
        assert_eq!(find_hook(Agent::Codex, path, &replaced).unwrap().len(), 2, "{replaced}");
        let without = remove(Agent::Codex, path, &replaced).unwrap();
        assert_eq!(find_hook(Agent::Codex, path, &without).unwrap(), [], "{without}");
        let end = if text.is_empty() { "" } else { "\n" };
        let expected = format!("{}{end}\n# another\n[later]\nx = 1\n", text.trim_end_matches('\n'));
        assert_eq!(without, expected, "{replaced}");
        let mut left = table(&without);
        left.remove("later");
        assert_eq!(left, table(text), "{without}");
    }
    for text in
        ["[", "a = 1\na = 2\n", "hooks = 1\n", "[hooks]\nPreToolUse = []\n", "hooks = { Stop = [] }\n", "{}"]
    {
        assert!(install(&installed, path, Some(text)).is_err(), "{text}");
    }
    let Edit::Added(text) = install(&installed, path, None).unwrap() else { panic!() };
    insta::assert_snapshot!("requirements", text);
}
