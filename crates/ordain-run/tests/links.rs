//! A run's folder that was changed in one place is found out, wherever that is.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly"
)]

mod support;

use ordain_canon::Canonicalizer;
use ordain_run::{Mode, Origin, Run, is_run_folder, patch_link, verify_run_folder};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};
use support::{Workspace, command, create, plan, test};

/// The rules that a folder breaks, as `file RULE`.
fn broken(folder: &Path) -> Vec<String> {
    let files = verify_run_folder(folder).unwrap();
    let found = files
        .iter()
        .flat_map(|file| file.report.violations().iter().map(|it| format!("{} {}", file.file, it.rule)));
    found.collect()
}

fn documents(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|it| it.extension().is_some_and(|it| it == "json")).collect();
    files.sort();
    files
}

/// Pointers to all leaves of a document.
fn leaves(value: &Json, path: String, found: &mut Vec<String>) {
    match value {
        Json::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                leaves(value, format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Json::Array(elements) if !elements.is_empty() => {
            for (position, value) in elements.iter().enumerate() {
                leaves(value, format!("{path}/{position}"), found);
            }
        }
        _ => found.push(path),
    }
}

/// Another value of the same type, if it can be.
fn another(value: &Json) -> Json {
    match value {
        Json::String(text) => match text.strip_prefix("sha256:") {
            Some(digits) => {
                let first = if digits.starts_with('0') { '1' } else { '0' };
                json!(format!("sha256:{first}{}", &digits[1..]))
            }
            None => json!(format!("{text}x")),
        },
        Json::Number(number) => json!(number.as_u64().unwrap() + 1),
        Json::Bool(value) => json!(!value),
        Json::Null => json!(format!("sha256:{}", "0".repeat(64))),
        Json::Array(_) => json!(["x"]),
        Json::Object(_) => json!({"x": 1}),
    }
}

fn write(path: &Path, value: &Json) {
    fs::write(path, Canonicalizer::new().value(value).unwrap()).unwrap();
}

/// Facts that nothing in the folder can contradict: the name of the intent's file, what was observed and is
/// only said once, and where nothing was tried the policy and the kernel.
fn is_free(run: &Run, file: &str, pointer: &str) -> bool {
    let untried = run.result.execution.0.is_none();
    match file {
        "result.json" if untried && (pointer == "/kernel_version" || pointer.starts_with("/policy/")) => true,
        "result.json" => pointer == "/intent/path" || pointer == "/source/path",
        "evidence.json" => {
            let checked = [
                "problems",
                "outputs",
                "policy_sha256",
                "base_sha256",
                "kernel_version",
                "started_at",
                "completed_at",
            ];
            let name = pointer.strip_prefix("/observed/").and_then(|rest| rest.split('/').next());
            name.is_some_and(|name| !checked.contains(&name))
        }
        _ => false,
    }
}

fn check_every_leaf(workspace: &Workspace, run: &Run) {
    let folder = workspace.0.join(&run.folder);
    assert_eq!(broken(&folder), Vec::<String>::new());
    let mut tried = 0;
    for path in documents(&folder) {
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let whole: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let mut pointers = Vec::new();
        leaves(&whole, String::new(), &mut pointers);
        for pointer in pointers.iter().filter(|pointer| !is_free(run, &file, pointer)) {
            let mut changed = whole.clone();
            let leaf = changed.pointer_mut(pointer).unwrap();
            *leaf = another(leaf);
            write(&path, &changed);
            assert!(!broken(&folder).is_empty(), "{file}{pointer} was changed, and nobody noticed");
            tried += 1;
        }
        write(&path, &whole);
        assert_eq!(broken(&folder), Vec::<String>::new());
        fs::remove_file(&path).unwrap();
        match file == "result.json" {
            true => assert!(!is_run_folder(&folder)),
            false => assert!(!broken(&folder).is_empty(), "{file} was removed, and nobody noticed"),
        }
        fs::write(&path, serde_json::to_string_pretty(&whole).unwrap()).unwrap();
        assert!(broken(&folder).contains(&format!("{file} RL1")), "{file} is not canonical");
        fs::write(&path, "{").unwrap();
        if file != "result.json" {
            assert!(broken(&folder).contains(&format!("{file} PARSE")), "{file} is cut");
        }
        write(&path, &whole);
    }
    assert!(tried > 20, "{tried}");
}

fn intent() -> Json {
    json!({
        "goal": "Add the file `a.txt` with the text one",
        "constraints": ["Done when `true` exits with 0"],
        "context": {
            "files": [{"path": "a.txt", "content": "one"}, {"path": "b.txt", "content": "two"}],
            "commands": [{"argv": ["say", "hello"]}, {"argv": ["false"], "required": false}],
            "tests": [{"name": "t", "type": "command_success", "target": "true", "expected": "0"}],
        },
    })
}

#[test]
fn every_change_of_an_accepted_run_is_found() {
    let workspace = Workspace::new();
    let run = workspace.file("b.txt", "before").intent(&intent());
    assert!(run.result.decision.accepted);
    check_every_leaf(&workspace, &run);
    let output = workspace.0.join(&run.folder).join("output/1-stdout.txt");
    let folder = workspace.0.join(&run.folder);
    fs::write(&output, "hullo").unwrap();
    assert_eq!(broken(&folder), ["evidence.json RL10", "output/1-stdout.txt RL10"]);
    fs::remove_file(&output).unwrap();
    assert_eq!(broken(&folder), ["output/1-stdout.txt RL10"]);
    fs::write(&output, "hello").unwrap();
    fs::write(folder.join("output/2-stdout.txt"), "x").unwrap();
    assert!(broken(&folder).contains(&"output/2-stdout.txt RL10".to_owned()));
    fs::remove_file(folder.join("output/2-stdout.txt")).unwrap();
    fs::write(folder.join("notes.txt"), "x").unwrap();
    assert_eq!(broken(&folder), ["notes.txt RL1"]);
    fs::remove_file(folder.join("notes.txt")).unwrap();
    let renamed = folder.with_file_name("run_20261116T021500Z_ffffff");
    fs::rename(&folder, &renamed).unwrap();
    assert_eq!(broken(&renamed), ["result.json RL2"]);
}

#[test]
fn every_change_of_what_was_brought_is_found() {
    let workspace = Workspace::new();
    let brought = plan(
        vec![create("a", "1", 0), command("false", 1), create("c", "2", 2)],
        vec![test("t", "file_exists", "a", "true")],
    );
    let run = workspace.plan(brought);
    assert!(!run.result.decision.accepted);
    check_every_leaf(&workspace, &run);
    let set = run.planned.unwrap().patch;
    let origin = Origin::Patch { path: "patch.json".to_owned(), set: Box::new(set) };
    let run = workspace.run_with(origin, Mode::Try, "strict", [5, 5, 5]).unwrap();
    assert_eq!(run.result.decision.reasons, [ordain_spec::run::UNTESTED]);
    check_every_leaf(&workspace, &run);
}

#[test]
fn every_change_of_questions_and_refusals_is_found() {
    let workspace = Workspace::new();
    let run = workspace.intent(&json!({"goal": "Make it better"}));
    check_every_leaf(&workspace, &run);
    let workspace = Workspace::new();
    let run = workspace.intent(&json!({"goal": " ", "context": {"ticket": "A-1"}}));
    let folder = workspace.0.join(&run.folder);
    assert_eq!(broken(&folder), Vec::<String>::new());
    write(&folder.join("intent.json"), &json!({"goal": "Fix the typo in `README.md`, line 3"}));
    assert_eq!(broken(&folder), ["result.json RL3", "result.json RL9"]);
}

#[test]
fn a_blocked_target_is_not_in_the_base_and_that_is_fine() {
    let workspace = Workspace::new();
    std::os::unix::fs::symlink("nowhere", workspace.0.join("link")).unwrap();
    let run = workspace.plan(plan(vec![create("link", "1", 0), create("b", "1", 0)], Vec::new()));
    let folder = workspace.0.join(&run.folder);
    let base = fs::read_to_string(folder.join("base.json")).unwrap();
    assert_eq!(base, r#"{"files":{"b":null}}"#);
    assert_eq!(broken(&folder), Vec::<String>::new());
}

#[test]
fn a_patch_set_is_compared_with_its_plan() {
    let workspace = Workspace::new();
    let (one, two) =
        (plan(vec![create("a", "1", 0)], Vec::new()), plan(vec![create("a", "2", 0)], Vec::new()));
    let set = workspace.plan(one.clone()).planned.unwrap().patch;
    assert!(patch_link(&one, &set).ok());
    let report = patch_link(&two, &set);
    let paths: Vec<&str> = report.violations().iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["/operations/0", "/source_proposal_hash", "/source_proposal_id"]);
    let mut shorter = set.into_inner();
    shorter.operations.clear();
    assert_eq!(patch_link(&one, &shorter).violations()[0].path, "/operations");
}
