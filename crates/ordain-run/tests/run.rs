//! Runs in a sandbox that is only pretended: what becomes of each action and test, and what follows from it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod support;

use ordain_canon::Value;
use ordain_run::{IntentText, Mode, Origin, Run, RunError};
use ordain_spec::evidence::{ActionStatus, ExecutionStatus};
use ordain_spec::run::{ResultKind, SourceKind, UNTESTED};
use serde_json::json;
use std::fs;
use support::{Workspace, action, command, create, plan, test};

use ActionStatus::{Failure, Skipped, Success, Timeout};

fn statuses(run: &Run) -> Vec<ActionStatus> {
    run.tried.as_ref().unwrap().evidence.action_results.iter().map(|it| it.status).collect()
}

fn passed(run: &Run) -> Vec<bool> {
    run.tried.as_ref().unwrap().evidence.test_results.iter().map(|it| it.passed).collect()
}

#[track_caller]
fn assert_refused(run: &Run, because: &str) {
    let decision = &run.result.decision;
    assert!(!decision.accepted, "{:?}", decision.reasons);
    assert!(decision.reasons.iter().any(|it| it.contains(because)), "{:?}", decision.reasons);
}

fn intent() -> serde_json::Value {
    json!({
        "goal": "Add the file `a.txt` with the text one",
        "constraints": ["Done when `true` exits with 0"],
        "context": {
            "files": [{"path": "a.txt", "content": "one"}],
            "commands": [{"argv": ["say", "hello"]}, {"argv": ["false"], "required": false}],
            "tests": [{"name": "t", "type": "command_success", "target": "true", "expected": "0"}],
        },
    })
}

#[test]
fn an_intent_goes_all_the_way_and_is_kept() {
    let workspace = Workspace::new();
    let run = workspace.intent(&intent());
    assert!(run.result.decision.accepted, "only something optional failed: {:?}", run.result.decision);
    assert_eq!(run.result.decision.reasons[0], "every required action and test passed");
    assert!(run.result.decision.reasons[1].contains("an optional action failed with exit code 1"));
    assert_eq!(run.result.run_id.as_str(), "run_20261116T021500Z_010203");
    let evidence = &run.tried.as_ref().unwrap().evidence;
    assert_eq!(evidence.status, ExecutionStatus::Partial);
    let folder = workspace.0.join(&run.folder);
    let names = |folder: &std::path::Path| {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let expected =
        "base.json briefs bundle.json evidence.json intent.json output patch.json plan.json result.json";
    assert_eq!(names(&folder).join(" "), expected);
    assert_eq!(names(&folder.join("output")), ["1-stdout.txt"]);
    assert_eq!(fs::read_to_string(folder.join("output/1-stdout.txt")).unwrap(), "hello");
    assert_eq!(names(&workspace.0), [".ordain"], "the workspace stays as it is");
}

#[test]
fn the_same_thing_has_the_same_evidence_hash_and_with_the_same_clock_the_same_bytes() {
    let (one, two) = (Workspace::new(), Workspace::new());
    let (first, second) = (one.intent(&intent()), two.intent(&intent()));
    for name in ["result.json", "evidence.json", "plan.json", "patch.json", "base.json"] {
        let bytes =
            |workspace: &Workspace, run: &Run| fs::read(workspace.0.join(&run.folder).join(name)).unwrap();
        assert_eq!(bytes(&one, &first), bytes(&two, &second), "{name}");
    }
    let text = intent().to_string();
    let value = Value::read(text.as_bytes()).unwrap();
    let text = IntentText::Read { value: &value, bytes: text.len() };
    let origin = Origin::Intent { path: "i.json".to_owned(), text };
    let again = one.run_with(origin, Mode::Try, "dev", [9, 9, 9]).unwrap();
    let hash = |run: &Run| run.result.execution.0.as_ref().unwrap().evidence_hash.clone();
    assert_eq!(hash(&first), hash(&again));
}

#[test]
fn a_required_failure_skips_the_rest() {
    for (line, status) in [("false", Failure), ("sleep", Timeout), ("nothing", Failure)] {
        let actions = vec![command("true", 0), command(line, 1), create("a", "1", 2), command("true", 3)];
        let tests = vec![test("t1", "command_success", "true", "0"), test("t2", "file_exists", "b", "true")];
        let workspace = Workspace::new();
        let run = workspace.file("b", "").plan(plan(actions, tests));
        assert_eq!(statuses(&run), [Success, status, Skipped, Skipped]);
        assert_eq!(passed(&run), [false, false], "nothing is tested after that");
        assert_eq!(run.tried.as_ref().unwrap().evidence.status, ExecutionStatus::Failed);
        assert_refused(&run, "a required action");
    }
}

#[test]
fn files_and_commands_keep_the_order_of_the_plan() {
    let actions = vec![command("put a 1", 0), create("a", "2", 1), command("rm b", 2), create("b", "3", 3)];
    let tests = vec![
        test("t1", "content_match", "a", "2"),
        test("t2", "content_match", "b", "3"),
        test("t3", "hash_match", "missing", &format!("sha256:{}", "0".repeat(64))),
    ];
    let run = Workspace::new().plan(plan(actions, tests));
    assert_eq!(statuses(&run), [Success; 4]);
    assert_eq!(passed(&run), [true, true, false]);
    assert_refused(&run, "found `no file`");
}

#[test]
fn what_commands_make_of_planned_files_counts() {
    for (line, because) in [
        ("put a other", "a command has changed `a`"),
        ("rm a", "a command has deleted `a`"),
        ("folder a", "a command has put something else than a file at `a`"),
    ] {
        let run = Workspace::new().plan(plan(vec![create("a", "1", 0), command(line, 1)], Vec::new()));
        assert_refused(&run, because);
    }
    let delete = action(json!({"type": "delete_file", "target": "a"}));
    let workspace = Workspace::new();
    let run = workspace.file("a", "1").plan(plan(vec![delete.clone(), command("put a 1", 1)], Vec::new()));
    assert_refused(&run, "was to be deleted");
    let workspace = Workspace::new();
    let run = workspace.file("a", "1").plan(plan(vec![delete, command("true", 1)], Vec::new()));
    assert!(run.result.decision.accepted, "{:?}", run.result.decision);
    // A folder that a command made is in the way of a later write.
    let run = Workspace::new().plan(plan(vec![command("folder a", 0), create("a", "1", 1)], Vec::new()));
    assert_eq!(statuses(&run), [Success, Failure]);
    assert_refused(&run, "`a` cannot be written: Is a directory");
}

#[test]
fn what_an_apply_would_refuse_is_found_before_anything_runs() {
    let modify = |path: &str| action(json!({"type": "modify_file", "target": path, "content": "1"}));
    let delete = |path: &str| action(json!({"type": "delete_file", "target": path}));
    for (file, because) in [
        (create("there", "1", 1), "`there` is there already"),
        (modify("gone"), "`gone` is to be modified and is not there"),
        (delete("gone"), "`gone` is to be deleted and is not there"),
        (create("link/x", "1", 1), "symbolic link"),
        (create("folder", "1", 1), "is a folder"),
        (create("x/.git/config", "1", 1), "Git's own"),
        (create(".ordain/runs/x", "1", 1), "ordain's own"),
    ] {
        let workspace = Workspace::new();
        workspace.file("there", "").file("folder/x", "");
        std::os::unix::fs::symlink("folder", workspace.0.join("link")).unwrap();
        let mut actions = vec![file.clone(), command("say hello", 0), command("true", 2)];
        let run = workspace.plan(plan(actions.clone(), Vec::new()));
        let mut found = statuses(&run);
        found.sort_by_key(|status| *status != Failure);
        assert_eq!(found, [Failure, Skipped, Skipped]);
        assert!(run.tried.as_ref().unwrap().report.is_none(), "nothing ran");
        assert_refused(&run, because);
        // An optional one stops nothing, but the patch set as a whole could not be applied.
        let mut optional = file;
        optional["required"] = json!(false);
        actions[0] = action(optional);
        let run = workspace.run_with(
            Origin::Plan { path: "p.json".to_owned(), plan: Box::new(plan(actions, Vec::new())) },
            Mode::Try,
            "dev",
            [7, 7, 7],
        );
        let run = run.unwrap();
        assert!(run.tried.as_ref().unwrap().report.is_some());
        assert_eq!(run.tried.as_ref().unwrap().evidence.status, ExecutionStatus::Partial);
        assert_refused(&run, because);
    }
}

#[test]
fn a_test_action_ends_as_the_test_that_it_names() {
    let named = |id: &str, order: u64| action(json!({"type": "test", "target": id, "order": order}));
    let tests = || {
        vec![
            test("t1", "command_success", "false", "0"),
            test("t2", "file_exists", "a", "true"),
            test("t3", "file_exists", "b", "true"),
        ]
    };
    let actions = vec![named("t1", 0), named("t2", 1), named("t3", 2), create("a", "1", 3)];
    let run = Workspace::new().plan(plan(actions, tests()));
    assert_eq!(statuses(&run), [Failure, Success, Failure, Success]);
    assert_eq!(run.tried.as_ref().unwrap().evidence.action_results[0].exit_code, Some(1));
    assert_refused(&run, "a required test failed: t1; expected `0`, found `1`");
    // A `test` that is a command of its own is an action like any other.
    let run = Workspace::new().plan(plan(vec![named("true", 0), create("a", "1", 1)], Vec::new()));
    assert_eq!(statuses(&run), [Success, Success]);
    assert!(run.result.decision.accepted);
}

#[test]
fn what_is_brought_is_named() {
    let workspace = Workspace::new();
    let brought = plan(vec![create("a", "1", 0)], Vec::new());
    let run = workspace.plan(brought);
    let source = run.result.source.as_ref().unwrap();
    assert_eq!((source.kind, source.path.as_str()), (SourceKind::Plan, "plan.json"));
    assert!(run.result.intent.0.is_none() && run.result.bundle.0.is_none());
    let set = run.planned.unwrap().patch;
    let origin = Origin::Patch { path: "patch.json".to_owned(), set: Box::new(set.clone()) };
    let run = workspace.run_with(origin, Mode::Try, "strict", [5, 5, 5]).unwrap();
    assert_eq!(run.result.decision.reasons, [UNTESTED]);
    assert_eq!(run.result.source.as_ref().unwrap().kind, SourceKind::Patch);
    assert!(run.result.bundle.0.is_some());
    assert_eq!(*run.planned.unwrap().patch, *set, "the patch set itself is kept");
}

#[test]
fn a_plan_alone_is_not_accepted() {
    let workspace = Workspace::new();
    let brought = plan(vec![create("a", "1", 0)], Vec::new());
    let origin = Origin::Plan { path: "plan.json".to_owned(), plan: Box::new(brought) };
    let run = workspace.run(origin, Mode::PlanOnly).unwrap();
    assert!(run.tried.is_none() && run.result.execution.0.is_none());
    assert_refused(&run, "only a plan was asked for");
}

#[test]
fn more_than_the_profile_allows_is_not_tried() {
    let workspace = Workspace::new();
    let brought = plan(vec![create("a", &"x".repeat(10_485_761), 0)], Vec::new());
    let origin = Origin::Plan { path: "plan.json".to_owned(), plan: Box::new(brought) };
    let run = workspace.run_with(origin, Mode::Try, "strict", [1, 1, 1]).unwrap();
    assert!(run.tried.is_none());
    assert_refused(&run, "PS7 at `/total_bytes`");
}

#[test]
fn questions_and_refusals_are_results() {
    let workspace = Workspace::new();
    let run = workspace.intent(&json!({"goal": "Make it better"}));
    assert_eq!(run.result.kernel_result_kind, ResultKind::Clarify);
    assert!(!run.result.clarify_questions.as_ref().unwrap().is_empty());
    let run = Workspace::new().intent(&json!({"goal": ""}));
    assert_eq!(run.result.kernel_result_kind, ResultKind::Refuse);
    assert_refused(&run, "EMPTY_GOAL");
    let text = IntentText::Unreadable { text: b"{", message: "it ends".to_owned() };
    let origin = Origin::Intent { path: "i.json".to_owned(), text };
    let run = workspace.run_with(origin, Mode::Try, "dev", [2, 2, 2]).unwrap();
    assert_refused(&run, "INVALID_INTENT: it ends");
    assert_eq!(fs::read(workspace.0.join(run.folder).join("intent.txt")).unwrap(), b"{");
}

#[test]
fn what_cannot_come_to_a_result_is_an_error() {
    let actions = vec![create("a", "1", 0), create("A", "1", 0)];
    let workspace = Workspace::new();
    let origin = Origin::Plan { path: "p.json".to_owned(), plan: Box::new(plan(actions, Vec::new())) };
    assert!(matches!(workspace.run(origin, Mode::Try), Err(RunError::Patch(_))));
    let workspace = Workspace::new();
    fs::write(workspace.0.join(".ordain"), "").unwrap();
    let brought = plan(vec![create("a", "1", 0)], Vec::new());
    let origin = Origin::Plan { path: "p.json".to_owned(), plan: Box::new(brought) };
    assert!(matches!(workspace.run(origin, Mode::Try), Err(RunError::Folder(_))));
}

/// That the plan's own files are there, as they were written, shows nothing.
#[test]
fn a5_a_run_in_which_nothing_was_tested_is_not_accepted() {
    let written = || create("a", "1", 0);
    let own = |kind: &str, expected: &str| vec![test("t", kind, "a", expected)];
    let hash = ordain_canon::ContentHash::of(b"1").to_string();
    for tests in [Vec::new(), own("file_exists", "true"), own("hash_match", &hash), own("content_match", "1")]
    {
        let run = Workspace::new().plan(plan(vec![written()], tests));
        assert_eq!((run.result.decision.accepted, &run.result.decision.reasons[0][..]), (false, UNTESTED));
    }
    // A command, a command as a test, or a test of a file that the plan does not write.
    let run = Workspace::new().plan(plan(vec![written(), command("true", 1)], Vec::new()));
    assert!(run.result.decision.accepted, "{:?}", run.result.decision);
    let run = Workspace::new().plan(plan(vec![written()], vec![test("t", "command_success", "true", "0")]));
    assert!(run.result.decision.accepted, "{:?}", run.result.decision);
    let workspace = Workspace::new();
    let other = vec![test("t", "file_exists", "b", "true")];
    let run = workspace.file("b", "2").plan(plan(vec![written()], other));
    assert!(run.result.decision.accepted, "{:?}", run.result.decision);
}

/// A criterion that the intent states as a command is run, and decides.
#[test]
fn a_stated_criterion_is_run() {
    let goal = "Fix `add` in `calc.py`, which subtracts instead of adding";
    let intent = |command: &str, context: serde_json::Value| json!({"goal": goal, "constraints": [format!("Done when `{command}` passes")], "context": context});
    let workspace = Workspace::new();
    let run = workspace.intent(&intent("false --all", json!({})));
    assert_refused(&run, "a required test failed: stated: `false --all` succeeds");
    let workspace = Workspace::new();
    let run = workspace.intent(&intent("true --all", json!({})));
    assert!(run.result.decision.accepted, "{:?}", run.result.decision);
    // The brief is for whoever does the work, and no part of the workspace.
    assert!(workspace.0.join(&run.folder).join("briefs/brief.md").is_file());
    assert!(workspace.0.join(&run.folder).join("briefs/acceptance.json").is_file());
    assert!(run.planned.as_ref().unwrap().patch.operations.is_empty());
    let workspace = Workspace::new();
    let run = workspace.intent(&intent("true --all", json!({"write_briefs": true})));
    let written: Vec<&str> =
        run.planned.as_ref().unwrap().patch.operations.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(written, ["context/acceptance.json", "context/brief.md"]);
}

/// Without a criterion that can be run, nothing was tried.
#[test]
fn a_goal_alone_is_untested() {
    for goal in ["Fix `add` in `calc.py`, which subtracts", "Rename `total` to `sum` in `orders.py`"] {
        let run = Workspace::new().intent(&json!({"goal": goal}));
        assert_eq!(run.result.decision.reasons, [UNTESTED]);
        assert!(!run.result.decision.accepted);
    }
    let run = Workspace::new().intent(&json!({"goal": "hello, how are you?"}));
    assert_eq!(run.result.kernel_result_kind, ResultKind::Clarify);
}

/// Files that the plan writes itself, and criteria in words, show nothing either. A command that fails decides.
#[test]
fn nothing_is_accepted_that_was_not_tried() {
    let file = json!([{"path": "a.txt", "content": "one"}]);
    let own = |kind: &str, expected: &str| json!([{"name": "t", "type": kind, "target": "a.txt", "expected": expected}]);
    let hash = ordain_canon::ContentHash::of(b"one").to_string();
    let add = "Add the file `a.txt` with the text one";
    for (goal, constraints, context, because) in [
        ("Add `--verbose` to `cli.py`", json!([]), json!({}), UNTESTED),
        (
            "Fix `add` in `calc.py`, which subtracts instead of adding",
            json!(["A test in `test_calc.py` must cover negative numbers"]),
            json!({}),
            UNTESTED,
        ),
        (
            "Add a total to `orders.html`",
            json!(["Done when `orders.html` shows the sum of all rows"]),
            json!({}),
            UNTESTED,
        ),
        ("1. Remove `old.py`\n2. Rename `a.py` to `b.py`", json!([]), json!({}), UNTESTED),
        ("Rename `total` to `sum` in `orders.py`", json!([]), json!({"write_briefs": true}), UNTESTED),
        (add, json!([]), json!({"files": file}), UNTESTED),
        (add, json!([]), json!({"files": file, "tests": own("file_exists", "true")}), UNTESTED),
        (add, json!([]), json!({"files": file, "tests": own("content_match", "one")}), UNTESTED),
        (add, json!([]), json!({"files": file, "tests": own("hash_match", &hash)}), UNTESTED),
        (
            add,
            json!(["Done when `false --unit` passes"]),
            json!({"files": file, "tests": own("file_exists", "true")}),
            "a required test failed: stated: `false --unit` succeeds",
        ),
    ] {
        let intent = json!({"goal": goal, "constraints": constraints, "context": context});
        let run = Workspace::new().intent(&intent);
        assert_eq!(run.result.kernel_result_kind, ResultKind::Bundle, "{intent}");
        assert_refused(&run, because);
    }
}
