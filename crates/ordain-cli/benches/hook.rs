//! The time of one hook, from process start to exit, beside a process that does nothing and one raw `fdatasync`; and a
//! hundred hooks at once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement may fail loudly"
)]

use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 300;
const PARALLEL: usize = 100;

fn ordain(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
    command.args(arguments).current_dir(folder.join("shop")).env("XDG_STATE_HOME", folder.join("state"));
    command.env("XDG_CONFIG_HOME", folder.join("config")).env("HOME", folder).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// One call that passes, as the host would send it.
fn hook(words: &[&str], folder: &Path, id: &str) -> Duration {
    let event = json!({"session_id": "s", "cwd": folder.join("shop"), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "cargo test", "description": "d"}, "tool_use_id": id});
    let started = Instant::now();
    let mut child = Command::new(words[0]);
    let mut child =
        child.args(&words[1..]).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let took = started.elapsed();
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"allow\""), "the call did not pass");
    took
}

fn nothing() -> Duration {
    let started = Instant::now();
    let mut child =
        Command::new("/bin/true").env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdin.take());
    child.wait_with_output().unwrap();
    started.elapsed()
}

fn synced(folder: &Path) -> Duration {
    let mut file = OpenOptions::new().append(true).create(true).open(folder.join("raw")).unwrap();
    let started = Instant::now();
    file.write_all(&[7; 4_096]).unwrap();
    file.sync_data().unwrap();
    started.elapsed()
}

fn spread(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort();
    let at = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1_000.0;
    (at(50), at(99))
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::create_dir_all(folder.join("shop")).unwrap();
    ordain(folder, &["init", "--solo"]);
    ordain(folder, &["setup", "claude", "--project", "--wait", "30"]);
    let settings = std::fs::read_to_string(folder.join("shop/.claude/settings.local.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    let words: Vec<&str> = command.split(" || ").next().unwrap().split(' ').collect();
    let (mut hooks, mut nothings, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        hooks.push(hook(&words, folder, &format!("round-{round}")));
        nothings.push(nothing());
        syncs.push(synced(folder));
    }
    let (hook_ms, hook_worst_ms) = spread(hooks);
    let ((true_ms, _), (sync_ms, _)) = (spread(nothings), spread(syncs));
    println!("hook, p50 and p99       {hook_ms:.2} ms, {hook_worst_ms:.2} ms");
    println!("true, fdatasync, p50    {true_ms:.2} ms, {sync_ms:.2} ms");
    println!("hook / (true + fdatasync), wanted at most 4: {:.2}", hook_ms / (true_ms + sync_ms));
    let started = Instant::now();
    std::thread::scope(|scope| {
        let (words, folder) = (&words, folder);
        let run = |at: usize| scope.spawn(move || hook(words, folder, &format!("parallel-{at}")));
        for hook in (0..PARALLEL).map(run).collect::<Vec<_>>() {
            hook.join().unwrap();
        }
    });
    let took = started.elapsed();
    let entries = ordain(folder, &["ledger", "show", "--json", "--limit", "100000"]);
    let spent = entries.matches("\"kind\":\"permit_spent\"").count();
    // One more is the call by which `setup` proved the hook.
    assert_eq!(spent, ROUNDS + PARALLEL + 1, "a call is not on record");
    println!("{PARALLEL} hooks at once       {took:.2?}, none lost");
    ordain(folder, &["ledger", "fsck"]);
    stop_gate(folder);
}

/// Ends the gate that the first hook started.
fn stop_gate(folder: &Path) {
    let state = folder.join("state").display().to_string();
    for process in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        if words.contains("\0serve\0") && words.contains(&state) {
            let _ = Command::new("kill").arg(process.file_name()).status();
        }
    }
}
