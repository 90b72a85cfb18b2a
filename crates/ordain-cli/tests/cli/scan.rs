//! `ordain scan`: old sessions through the policies, without a gate.

use crate::harness::{Project, folder, ran};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::Path;

fn claude(id: usize, tool: &str, input: Json) -> Json {
    json!({"type": "assistant", "sessionId": "s", "cwd": "/srv/shop", "message": {"role": "assistant", "content": [
        {"type": "tool_use", "id": format!("t{id}"), "name": tool, "input": input}]}})
}

fn lines(lines: &[Json]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn write(home: &Path, path: &str, text: &str) {
    let path = home.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn sessions_are_judged_by_the_starter_without_a_gate() {
    let (home, room) = (folder(), Project::empty());
    let calls = [
        ("Read", json!({"file_path": "/srv/shop/src/a.rs"})),
        ("Edit", json!({"file_path": "src/a.rs", "old_string": "a", "new_string": "b"})),
        ("Bash", json!({"command": "cargo test --workspace"})),
        ("Bash", json!({"command": "git push"})),
        ("Bash", json!({"command": "git push"})),
        ("Read", json!({"file_path": "/srv/shop/.env"})),
        ("mcp__bank__wire_money", json!({"to": "bob"})),
        ("TodoWrite", json!({"todos": []})),
    ];
    let calls: Vec<Json> =
        calls.into_iter().enumerate().map(|(id, (tool, input))| claude(id, tool, input)).collect();
    let text = format!("{}{{broken\n", lines(&calls));
    write(home.path(), ".claude/projects/-work-shop/s.jsonl", &text);
    let codex = [
        json!({"type": "session_meta", "payload": {"id": "x", "cwd": "/srv/shop"}}),
        json!({"type": "response_item", "payload": {"type": "function_call", "call_id": "c1", "name": "exec_command",
            "arguments": json!({"cmd": "rm -rf src"}).to_string()}}),
        json!({"type": "response_item", "payload": {"type": "function_call", "call_id": "c2", "name": "write_stdin",
            "arguments": "{}"}}),
    ];
    write(home.path(), ".codex/sessions/2026/01/01/rollout-x.jsonl", &lines(&codex));
    let scan = |arguments: &[&str]| ran(room.command(arguments).env("HOME", home.path()));
    let report = scan(&["scan", "--json"]).ended(0).json();
    assert_eq!((report["policies"].as_str(), report["transcripts"].as_u64()), (Some("starter"), Some(2)));
    assert_eq!((report["calls"].as_u64(), report["unreadable"].as_u64()), (Some(9), Some(1)), "{report:#}");
    assert_eq!(report["unseen"], json!({"write_stdin": 1}));
    assert_eq!(report["kinds"]["shell"], json!({"allowed": 1, "held": 3, "denied": 0}), "{report:#}");
    assert_eq!(report["kinds"]["edit"], json!({"allowed": 1, "held": 0, "denied": 0}), "{report:#}");
    assert_eq!(report["kinds"]["read"], json!({"allowed": 1, "held": 0, "denied": 1}), "{report:#}");
    assert_eq!(report["kinds"]["meta"]["allowed"], 1, "{report:#}");
    assert_eq!(report["kinds"]["mcp"]["held"], 1, "{report:#}");
    // The same call twice asks once.
    assert_eq!((report["held"].as_u64(), report["prompts"].as_u64()), (Some(4), Some(3)), "{report:#}");
    assert_eq!(report["reasons"]["command-push"], 2);
    let first = &report["listed"][0];
    assert_eq!((&first["call"], &first["times"]), (&json!("Bash git push"), &json!(2)));
    scan(&["scan", "codex"]).ended(0).says_all(&[
        "1 calls in 1 transcripts",
        "write_stdin: 1",
        "Bash rm -rf src",
    ]);
    // A file by its content, other policies, and what is not a transcript.
    let copy = room.path("session.jsonl");
    fs::copy(home.path().join(".codex/sessions/2026/01/01/rollout-x.jsonl"), &copy).unwrap();
    assert_eq!(scan(&["scan", "session.jsonl", "--json"]).ended(0).json()["held"], 1);
    room.write("notes.txt", "hello\n");
    scan(&["scan", "notes.txt"]).ended(1).says("is not a transcript");
    scan(&["scan", "gemini"]).ended(64).says("are not known");
    // Nothing was made.
    assert!(!room.path(".ordain").exists() && !home.path().join(".local").exists());
}

/// A day of work under the starter: the scripts of the five packages with the most lines in the corpus of commands.
/// Nobody here wrote them. Before each script the agent searches the folder, reads the files that the script names, and
/// edits one of them.
#[test]
fn a_day_of_work_asks_less_than_ten_times() {
    let corpus = include_str!("../../../ordain-shell/tests/data/ordinary.tsv");
    let mut scripts: std::collections::BTreeMap<&str, Vec<String>> = Default::default();
    for line in corpus.lines().filter(|line| !line.starts_with('#')) {
        if let [package, _, command] = line.splitn(3, '\t').collect::<Vec<_>>().as_slice()
            && package.contains('@')
        {
            scripts.entry(package).or_default().push(command.replace('␊', "\n"));
        }
    }
    let mut packages: Vec<(&str, Vec<String>)> = scripts.into_iter().collect();
    packages.sort_by_key(|(package, lines)| (std::cmp::Reverse(lines.len()), *package));
    let (home, room) = (folder(), Project::empty());
    let mut calls = Vec::new();
    for command in packages.into_iter().take(5).flat_map(|(_, lines)| lines) {
        let is_file = |word: &&str| {
            !word.contains("..")
                && word.contains('/')
                && word.chars().all(|it| it.is_alphanumeric() || "/._-".contains(it))
        };
        let named: Vec<String> =
            command.split_whitespace().filter(is_file).map(str::to_owned).take(2).collect();
        let files =
            if named.is_empty() { vec!["package.json".to_owned(), "lib/index.js".to_owned()] } else { named };
        calls.push(("Grep", json!({"pattern": "TODO"})));
        calls.extend(files.iter().map(|file| ("Read", json!({"file_path": file}))));
        calls.push(("Edit", json!({"file_path": files[0], "old_string": "a", "new_string": "b"})));
        calls.push(("Bash", json!({"command": command})));
    }
    let calls: Vec<Json> =
        calls.into_iter().enumerate().map(|(id, (tool, input))| claude(id, tool, input)).collect();
    write(home.path(), "day.jsonl", &lines(&calls));
    let day = home.path().join("day.jsonl");
    let report = ran(room.command(&["scan", "--json"]).arg(&day)).ended(0).json();
    assert!((300..=500).contains(&report["calls"].as_u64().unwrap()), "{report:#}");
    assert_eq!((report["denied"].as_u64(), report["unreadable"].as_u64()), (Some(0), Some(0)), "{report:#}");
    // Some of it waits, or nothing was judged.
    assert!((1..10).contains(&report["prompts"].as_u64().unwrap()), "{report:#}");
}
