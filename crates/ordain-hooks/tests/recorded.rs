//! Recorded events of every agent: what each call becomes, and the exact bytes of every answer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use ordain_hooks::{
    Action, Agent, Answer, Call, Event, Place, Printed, Resolved, Shape, World, action_of, read_event,
    tools_of, tools_toml,
};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn samples() -> Vec<(String, Agent, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let sample = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let agent = Agent::parse(name.split('-').next().unwrap()).unwrap();
        (name, agent, fs::read(path).unwrap())
    };
    files.iter().map(sample).collect()
}

/// A machine on which `w.txt` is the only file of the workspace.
struct Shop;

impl World for Shop {
    fn place(&self, cwd: &Path, path: &str) -> Result<Place, String> {
        let real = if path == "." { cwd.to_owned() } else { cwd.join(path) };
        let inside = real.strip_prefix("/home/dev/shop").ok().map(|inside| inside.display().to_string());
        let exists = inside.as_deref() == Some("w.txt") || inside.as_deref() == Some("");
        Ok(Place { real, inside, exists })
    }

    fn content(&self, place: &Place) -> Result<String, String> {
        Ok(if place.exists { "sha256:of-w" } else { "absent" }.to_owned())
    }

    fn command(&self, _: &Place, _: &str) -> Resolved {
        Resolved::default()
    }
}

fn call_of(agent: Agent, bytes: &[u8]) -> Call {
    match read_event(agent, bytes).unwrap() {
        Event::Before(call) => call,
        Event::After(report) => panic!("{report:?}"),
    }
}

#[test]
fn every_recorded_call_becomes_an_action() {
    let mut shown = String::new();
    for (name, agent, bytes) in samples() {
        let call = call_of(agent, &bytes);
        let Action { tool, parameters, remark, long_texts } = action_of(&call, &Shop).unwrap();
        assert!(long_texts.is_empty());
        let mut canon = ordain_canon::Canonicalizer::new();
        let parameters = std::str::from_utf8(canon.value(&parameters).unwrap()).unwrap().to_owned();
        shown.push_str(&format!("{name}\n  {tool} {parameters} {remark:?}\n"));
    }
    insta::assert_snapshot!("actions", shown);
}

#[test]
fn every_answer_is_exact() {
    let mut shown = String::new();
    let deny = || Answer::Deny("ordain DENY [G12] no policy permits \"it\".\nDo not retry.".to_owned());
    for agent in Agent::ALL {
        let shapes: &[Shape] =
            if agent == Agent::Copilot { &[Shape::Own, Shape::ClaudeLike] } else { &[Shape::Own] };
        for shape in shapes {
            for (name, answer) in [("allow", Answer::Allow), ("deny", deny()), ("nothing", Answer::Nothing)] {
                let Printed { stdout, stderr, code } = answer.printed(agent, *shape);
                assert!(
                    stdout.is_empty() || (stdout.ends_with('\n') && stdout.lines().count() == 1),
                    "{stdout}"
                );
                shown.push_str(&format!("{agent} {shape:?} {name}: {code} {stdout:?} {stderr:?}\n"));
            }
        }
    }
    insta::assert_snapshot!("answers", shown);
    let empty = Answer::Deny(String::new()).printed(Agent::Codex, Shape::Own);
    assert!(empty.stdout.contains("ordain: not allowed"), "{}", empty.stdout);
}

/// No member of a tool's input is lost, whatever the tool.
#[test]
fn the_mapping_is_total() {
    for agent in Agent::ALL {
        let names = tools_of(agent).iter().map(|tool| tool.name).chain(["unknown_tool", "mcp__bank__pay"]);
        for name in names {
            let mut input = Map::new();
            for main in ["command", "file_path", "path", "url", "notebook_path", "filePath", "patchText"] {
                input.insert(main.to_owned(), json!(format!("value-{main}")));
            }
            for patch in ["command", "patchText"].iter().filter(|_| name.contains("patch")) {
                let text = "*** Begin Patch\n*** Add File: value-patch\n+x\n*** End Patch\n";
                input.insert((*patch).to_owned(), json!(text));
            }
            for (at, extra) in ["timeout", "sudo", "new_member", "description"].iter().enumerate() {
                input.insert((*extra).to_owned(), json!({"deep": [format!("extra-{at}")]}));
            }
            let call = Call {
                agent,
                shape: Shape::Own,
                key: String::new(),
                tool: name.to_owned(),
                server: None,
                input: input.clone(),
                cwd: "/home/dev/shop".into(),
                sources: Map::new(),
            };
            let action = match action_of(&call, &Shop) {
                Ok(action) => action,
                // Two members that could both name the file.
                Err(problem) if problem.contains("has both") => continue,
                Err(problem) => panic!("{agent} {name}: {problem}"),
            };
            let text = Json::Object(action.parameters).to_string();
            for (member, value) in &input {
                let kept = match value {
                    Json::String(value) => {
                        text.contains(value.trim_end()) || text.contains(&json!(value).to_string())
                    }
                    other => text.contains(&other.to_string()),
                };
                let is_remark = member == "description" && text.contains("\"command\"");
                assert!(kept || is_remark, "{agent} {name} loses `{member}`: {text}");
            }
        }
    }
}

#[test]
fn long_texts_go_beside_the_action() {
    let content = "x".repeat(5_000);
    let event = json!({"session_id": "s", "cwd": "/home/dev/shop", "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": {"file_path": "a.txt", "content": content}, "tool_use_id": "t"});
    let action = action_of(&call_of(Agent::Claude, event.to_string().as_bytes()), &Shop).unwrap();
    assert_eq!(action.tool, "claude.Write.create");
    let short = &action.parameters["input"]["content"];
    assert_eq!(short["bytes"], 5_000);
    assert_eq!(action.long_texts[short["sha256"].as_str().unwrap()], content);
}

#[test]
fn a_call_with_two_readings_is_refused() {
    let event = |tool: &str, input: Json| {
        let event = json!({"cwd": "/home/dev/shop", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
        action_of(&call_of(Agent::Qwen, event.to_string().as_bytes()), &Shop)
    };
    assert!(event("read_file", json!({"file_path": "a", "absolute_path": "/etc/passwd"})).is_err());
    assert!(event("run_shell_command", json!({"command": ["rm"]})).is_err());
    assert!(event("run_shell_command", json!({"description": "no command"})).is_err());
    assert!(event("write_file", json!({"file_path": "", "content": "x"})).is_err());
    let doubled =
        br#"{"cwd":"/","hook_event_name":"PreToolUse","tool_name":"a","tool_input":{},"tool_name":"b"}"#;
    assert!(read_event(Agent::Claude, doubled).is_err());
}

/// A server cannot give its tool the name of a built-in one.
#[test]
fn a_tool_of_a_server_is_never_a_built_in_one() {
    let event = json!({"cwd": "/home/dev/shop", "hook_event_name": "PreToolUse", "tool_name": "Read",
        "tool_input": {"file_path": "w.txt"}, "mcp_server": {"name": "evil"}});
    let action = action_of(&call_of(Agent::Claude, event.to_string().as_bytes()), &Shop).unwrap();
    assert_eq!(action.tool, "mcp:evil/Read");
}

#[test]
fn the_event_after_a_call_finds_the_call() {
    let event = |name: &str, extra: Json| {
        let mut event = json!({"session_id": "s", "cwd": "/", "hook_event_name": name, "tool_name": "Bash",
            "tool_input": {"command": "true"}, "tool_use_id": "t1"});
        event.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        read_event(Agent::Claude, event.to_string().as_bytes()).unwrap()
    };
    let Event::Before(call) = event("PreToolUse", json!({})) else { panic!() };
    for (name, extra, succeeded) in [
        ("PostToolUse", json!({"tool_response": {"stdout": ""}}), Some(true)),
        ("PostToolUse", json!({"tool_response": {"is_error": true}}), Some(false)),
        ("PostToolUseFailure", json!({"error": "exit 1"}), Some(false)),
        ("PostToolUseFailure", json!({"is_interrupt": true}), None),
    ] {
        let Event::After(report) = event(name, extra) else { panic!() };
        assert_eq!((report.key.as_str(), report.succeeded), (call.key.as_str(), succeeded));
    }
}

/// The rows that policies start with are those of the table, and can be read.
#[test]
fn every_tool_has_its_rows() {
    let rows: BTreeMap<String, toml::Table> = toml::from_str(&tools_toml(&Agent::ALL)).unwrap();
    for agent in Agent::ALL {
        for tool in tools_of(agent) {
            assert!(rows.contains_key(&format!("{agent}.{}", tool.name)), "{agent} {}", tool.name);
        }
    }
    assert_eq!(rows["claude.Bash"]["resource_type"].as_str(), Some("shell"));
}

/// An event that is cut off anywhere is refused.
#[test]
fn no_part_of_an_event_is_an_event() {
    for (name, agent, bytes) in samples() {
        let end = bytes.iter().rposition(|byte| *byte == b'}').unwrap();
        for length in 0..end {
            assert!(read_event(agent, &bytes[..length]).is_err(), "{name} {length}");
        }
        for other in Agent::ALL.into_iter().filter(|other| names_differ(*other, agent)) {
            assert!(read_event(other, &bytes).is_err(), "{name} as {other}");
        }
    }
}

fn names_differ(one: Agent, other: Agent) -> bool {
    let kind = |agent: Agent| match agent {
        Agent::Claude | Agent::Codex | Agent::Qwen | Agent::Copilot => 0,
        Agent::Gemini => 1,
        Agent::Opencode => 2,
    };
    kind(one) != kind(other)
}

proptest! {
    /// A damaged event is refused, or it still names every member that decides: nothing is made up.
    #[test]
    fn damage_makes_up_nothing(sample in 0_usize..29, at in 0_usize..600, byte in any::<u8>()) {
        let samples = samples();
        let (_, agent, bytes) = &samples[sample % samples.len()];
        let mut damaged = bytes.clone();
        let at = at % damaged.len();
        damaged[at] = byte;
        if let Ok(Event::Before(call)) = read_event(*agent, &damaged) {
            let value: Json = serde_json::from_slice(&damaged).unwrap();
            let tool = value.get("tool_name").or_else(|| value.get("toolName")).unwrap();
            prop_assert_eq!(tool.as_str(), Some(call.tool.as_str()));
            // It never panics either.
            let _ = action_of(&call, &Shop);
        }
    }
}
