//! The main screens at 60, 80 and 120 columns, with and without colour. `approve` and `watch` are shown on a terminal;
//! their screens have snapshots beside their code.

use crate::harness::{Project, Ran, ran};
use std::fmt::Write;

/// Compares a text with the snapshot of this name.
fn kept(name: &str, text: String) {
    let mut settings = insta::Settings::clone_current();
    // Files in tests/cli are modules.
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

const COLUMNS: [&str; 3] = ["60", "80", "120"];

/// A text without what differs from run to run; nothing changes its length, which the layout depends on.
fn steady(project: &Project, text: &str) -> String {
    let folder = project.root.canonicalize().unwrap();
    let state = project.state();
    let id = state.file_name().unwrap().to_str().unwrap().to_owned();
    let blank = |path: &str| "p".repeat(path.len());
    let text = text.replace(folder.to_str().unwrap(), &blank(folder.to_str().unwrap()));
    let text = text.replace(&id, &"0".repeat(id.len()));
    let user = crate::harness::os_user();
    let text = text.replace(&user, "root");
    let mut shown = String::new();
    for word in text.split_inclusive(|it: char| !it.is_ascii_alphanumeric()) {
        let core = word.trim_end_matches(|it: char| !it.is_ascii_alphanumeric());
        let is_hash = core.len() >= 12 && core.chars().all(|it| it.is_ascii_hexdigit());
        let is_date =
            core.len() >= 2 && core.starts_with(|it: char| it.is_ascii_digit()) && core.contains('T');
        let is_zone = core.ends_with('Z') && core.starts_with(|it: char| it.is_ascii_digit());
        let clean = |it: char| if it.is_ascii_hexdigit() { '0' } else { it };
        match is_hash || is_date || is_zone {
            true => shown.extend(word.chars().map(clean)),
            false => shown.push_str(word),
        }
    }
    // Years, months, hours and minutes around them.
    ends_of_hashes(&dates(&shown))
}

/// A hash that does not fit a line goes on in the next.
fn ends_of_hashes(text: &str) -> String {
    let is_end = |line: &str| {
        let word = line.trim();
        !word.is_empty() && word.len() < 12 && word.chars().all(|it| it.is_ascii_hexdigit())
    };
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        let clean = |it: char| if it.is_ascii_hexdigit() { '0' } else { it };
        match is_end(line) {
            true => shown.extend(line.chars().map(clean)),
            false => shown.push_str(line),
        }
    }
    shown
}

/// Digits of `2026-11-18T…`.
fn dates(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|it: char| it.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        shown.push_str(before);
        let form = |text: &str| {
            let bytes = text.as_bytes();
            bytes.len() >= 20
                && bytes[4] == b'-'
                && bytes[7] == b'-'
                && bytes[10] == b'T'
                && bytes[19] == b'Z'
        };
        let length = if from.is_char_boundary(20) && form(from) {
            20
        } else {
            from.find(|it: char| !it.is_ascii_digit()).unwrap_or(from.len())
        };
        let (number, after) = from.split_at(length);
        if length == 20 {
            shown.extend(number.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }));
        } else {
            shown.push_str(number);
        }
        rest = after;
    }
    shown + rest
}

fn run(project: &Project, columns: &str, color: &str, arguments: &[&str]) -> Ran {
    let all = [arguments, &["--absolute", "--color", color]].concat();
    ran(project.command(&all).env("COLUMNS", columns))
}

/// A command at every width, and at 80 columns in colour.
fn screens(project: &Project, arguments: &[&str]) -> String {
    let mut shown = String::new();
    for color in ["never", "always"] {
        for columns in COLUMNS {
            let said = run(project, columns, color, arguments).calm();
            let text = steady(project, &said.stdout).replace('\u{1b}', "␛");
            let limit: usize = columns.parse().unwrap();
            if color == "never" {
                let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > limit).collect();
                assert!(long.is_empty(), "{arguments:?} at {columns}: {long:#?}");
            }
            writeln!(shown, "== {columns} columns, colour {color}\n{text}").unwrap();
        }
    }
    shown
}

fn office() -> Project {
    let project = Project::empty();
    project.run(&["init", "--team"]).ended(0);
    project.run(&["submit", "policy/tests/proposals/read.json"]).ended(0);
    project.run(&["submit", "policy/tests/proposals/delete.json"]).ended(20);
    project.run(&["submit", "policy/tests/proposals/pay.json"]).calm();
    project
}

#[test]
fn of_the_gate() {
    let project = office();
    kept("status_list", screens(&project, &["status"]));
    kept("status_of_one", screens(&project, &["status", "example-delete"]));
    kept("ledger_show", screens(&project, &["ledger", "show"]));
}

#[test]
fn of_policies() {
    let project = office();
    let explain = ["policy", "explain", "policy/tests/proposals/delete.json"];
    let shown = screens(&project, &explain);
    // The time of the decision is that of the run.
    let shown: Vec<&str> = shown.lines().filter(|line| !line.starts_with("decided")).collect();
    kept("policy_explain", shown.join("\n"));
}

#[test]
fn of_the_machine() {
    let project = office();
    // Open points of the machine differ from one to the other; those of the gate do not.
    let shown = screens(&project, &["doctor"]);
    let mut lines = Vec::new();
    let mut skipping = false;
    let mut in_agents = false;
    for line in shown.lines() {
        // So do the coding agents that are installed.
        if in_agents || line.contains("Coding agents") {
            in_agents = !line.is_empty();
            continue;
        }
        if line.starts_with("  ·") || !line.starts_with("    ") {
            skipping = ["ptrace_scope", "legacy_tiocsti", "writable_binary", "key:"]
                .iter()
                .any(|it| line.contains(it));
        }
        if !skipping {
            lines.push(line);
        }
    }
    kept("doctor", lines.join("\n"));
}

/// The demo's own lines: each step, and the command that it runs.
#[test]
fn of_the_demo() {
    let project = Project::empty();
    let mut shown = String::new();
    for color in ["never", "always"] {
        // In colour at one width: a run takes seconds.
        for columns in COLUMNS.into_iter().filter(|columns| color == "never" || *columns == "80") {
            let said =
                ran(project.command(&["demo", "--color", color]).env("COLUMNS", columns)).ended(0).stdout;
            let own = |line: &&str| {
                let plain = line.replace('\u{1b}', "␛");
                ["# ", "$ ", "␛[1m# ", "␛[1m␛[32m$ "].iter().any(|start| plain.starts_with(start))
            };
            writeln!(shown, "== {columns} columns, colour {color}").unwrap();
            for line in said.lines().filter(own) {
                let words: Vec<&str> = line.split(' ').collect();
                let steady: Vec<&str> = words
                    .iter()
                    .map(|word| match word {
                        _ if word.starts_with("permit_") => "permit_…",
                        _ if word.contains('+') => "VERIFIER",
                        word => word,
                    })
                    .collect();
                writeln!(shown, "{}", steady.join(" ").replace('\u{1b}', "␛")).unwrap();
            }
        }
    }
    kept("demo", shown);
}

/// Documents, and the pages around an intent, from the intent to an order of work.
#[test]
fn of_intents() {
    let project = Project::empty();
    project.run(&["init", "--solo"]).ended(0);
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let golden = format!("{examples}/golden/contradictory.bundle.json");
    kept("show_bundle", screens(&project, &["show", &golden]));
    project.write("broken.json", r#"{"goal": "Add a log to `a.rs`", "constraints": null, "contexts": {}}"#);
    let verify = ["verify", "--kind", "intent", "broken.json"];
    let mut shown = String::new();
    for color in ["never", "always"] {
        for columns in COLUMNS {
            let said = run(&project, columns, color, &verify).ended(3).stdout.replace('\u{1b}', "␛");
            let limit: usize = columns.parse().unwrap();
            let long = said.lines().find(|line| color == "never" && line.chars().count() > limit);
            assert_eq!(long, None, "at {columns}");
            writeln!(shown, "== {columns} columns, colour {color}\n{said}").unwrap();
        }
    }
    kept("verify", shown);
}
