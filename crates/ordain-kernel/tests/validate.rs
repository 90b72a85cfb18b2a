//! The worth of evidence, case by case.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod support;

use ordain_kernel::validate;
use serde_json::{Value as Json, json};
use support::{action, canonical, content_hash, evidence, plan, test, verified};

/// Actions by order: 0 creates a.txt, 1 deletes b.txt, 2 runs a command, 3 creates the optional c.txt, 4 runs an
/// optional command, 5 runs the acceptance test `t1`. Tests: the hash of a.txt, the content of c.txt (optional), that
/// a.txt exists, a command (optional).
fn the_plan() -> Json {
    plan(
        vec![
            action("create_file", "a.txt", Some("a"), 0, true),
            action("delete_file", "b.txt", None, 1, true),
            action("execute_command", "make all", None, 2, true),
            action("create_file", "c.txt", Some("c"), 3, false),
            action("validate", "make check", None, 4, false),
            action("test", "t1", None, 5, true),
        ],
        vec![
            test("t1", "hash_match", "a.txt", &content_hash("a"), true),
            test("t2", "content_match", "c.txt", "c", false),
            test("t3", "file_exists", "a.txt", "true", true),
            test("t4", "command_success", "make test", "0", false),
        ],
    )
}

/// The evidence of the plan, changed; what is recommended, and the reasons as rule and path.
#[track_caller]
fn check(change: impl Fn(&mut Json), expected: &str, reasons: &[&str]) {
    let plan = the_plan();
    let mut evidence = evidence(&plan);
    change(&mut evidence);
    let validation = validate(&verified(&evidence), &verified(&plan));
    let found: Vec<String> =
        validation.reasons.iter().map(|it| format!("{} {}", it.criterion.name(), it.path)).collect();
    let text = canonical(&validation);
    assert_eq!(
        (validation.recommendation.name(), found),
        (expected, reasons.iter().map(|it| (*it).to_owned()).collect()),
        "{text}"
    );
}

fn hash(content: &str) -> Json {
    content_hash(content).into()
}

#[test]
fn what_went_well_is_accepted() {
    check(|_| {}, "accept", &[]);
    check(|it| it["observed"] = json!({"sandbox": "none"}), "accept", &[]);
    // The order of results means nothing.
    check(|it| it["action_results"].as_array_mut().unwrap().reverse(), "accept", &[]);
    check(|it| it["test_results"].as_array_mut().unwrap().reverse(), "accept", &[]);
    check(|it| it["test_results"][0]["actual"] = hash("a"), "accept", &[]);
    check(|it| it["test_results"][1]["actual"] = "c".into(), "accept", &[]);
    check(|it| it["test_results"][1]["actual"] = hash("c"), "accept", &[]);
    // Commands may leave anything behind, also a file that they did not change.
    let left =
        json!([{"path": "a.txt", "sha256": content_hash("a")}, {"path": "out", "sha256": content_hash("x")}]);
    check(|it| it["action_results"][2]["produced"] = left.clone(), "accept", &[]);
    // A test action that names an acceptance test may have had no process.
    check(|it| drop(it["action_results"][5].as_object_mut().unwrap().remove("exit_code")), "accept", &[]);
}

#[test]
fn another_plan() {
    check(|it| it["proposal_id"] = "prop_0000000000000000".into(), "reject", &["VA1 /proposal_id"]);
    check(|it| it["proposal_hash"] = hash(""), "reject", &["VA1 /proposal_hash"]);
    let both = |it: &mut Json| {
        it["proposal_id"] = "x".into();
        it["proposal_hash"] = hash("");
        it["test_results"] = json!([]);
    };
    check(both, "reject", &["VA1 /proposal_hash", "VA1 /proposal_id"]);
}

#[test]
fn results_that_are_missing_or_unknown() {
    let without = |list: &'static str, position: usize| {
        move |it: &mut Json| drop(it[list].as_array_mut().unwrap().remove(position))
    };
    for position in 0..6 {
        // Also of what is optional.
        check(without("action_results", position), "reject", &["VA2 /action_results"]);
    }
    for position in 0..4 {
        check(without("test_results", position), "reject", &["VA3 /test_results"]);
    }
    let unknown = json!({"action_id": "act_0000000000000000", "status": "success", "produced": []});
    check(
        |it| it["action_results"].as_array_mut().unwrap().push(unknown.clone()),
        "reject",
        &["VA2 /action_results/6/action_id"],
    );
    check(
        |it| it["test_results"].as_array_mut().unwrap().push(json!({"test_id": "t5", "passed": true})),
        "reject",
        &["VA3 /test_results/4/test_id"],
    );
    check(|it| it["action_results"] = json!([]), "reject", &["VA2 /action_results"; 6]);
}

#[test]
fn actions_that_did_not_succeed() {
    for status in ["failure", "skipped", "timeout"] {
        for (position, expected) in
            [(0, "reject"), (1, "reject"), (2, "reject"), (3, "review"), (4, "review"), (5, "reject")]
        {
            let end = |it: &mut Json| {
                it["status"] = "partial".into();
                let result = &mut it["action_results"][position];
                let id = result["action_id"].clone();
                *result = json!({"action_id": id, "status": status, "produced": []});
            };
            check(end, expected, &[&format!("VA4 /action_results/{position}/status")]);
        }
    }
    for position in [2, 4] {
        let without_code = |it: &mut Json| {
            it["action_results"][position].as_object_mut().unwrap().remove("exit_code");
        };
        check(without_code, "reject", &[&format!("VA4 /action_results/{position}")]);
    }
}

#[test]
fn tests_that_did_not_pass() {
    for (position, expected) in [(0, "reject"), (1, "review"), (2, "reject"), (3, "review")] {
        let fail = |it: &mut Json| it["test_results"][position]["passed"] = false.into();
        check(fail, expected, &[&format!("VA5 /test_results/{position}/passed")]);
    }
}

#[test]
fn files_that_are_not_the_planned_ones() {
    let produced = |position: usize, list: Json| {
        move |it: &mut Json| it["action_results"][position]["produced"] = list.clone()
    };
    let file = |path: &str, content: &str| json!({"path": path, "sha256": content_hash(content)});
    // The test on a.txt says that it is right, so the evidence contradicts itself too.
    check(
        produced(0, json!([file("a.txt", "b")])),
        "reject",
        &["VA6 /action_results/0/produced/0/sha256", "VA7 /test_results/0/passed"],
    );
    check(produced(0, json!([])), "reject", &["VA6 /action_results/0/produced"]);
    check(
        produced(0, json!([file("a.md", "a")])),
        "reject",
        &["VA6 /action_results/0/produced", "VA6 /action_results/0/produced/0/path"],
    );
    check(
        produced(0, json!([file("a.md", "a"), file("a.txt", "a")])),
        "reject",
        &["VA6 /action_results/0/produced/0/path"],
    );
    check(produced(1, json!([file("b.txt", "")])), "reject", &["VA6 /action_results/1/produced/0"]);
    let skipped = |it: &mut Json| {
        it["status"] = "partial".into();
        it["action_results"][4]["status"] = "skipped".into();
        it["action_results"][4].as_object_mut().unwrap().remove("exit_code");
        it["action_results"][4]["produced"] = json!([file("out", "x")]);
    };
    check(skipped, "reject", &["VA4 /action_results/4/status", "VA6 /action_results/4/produced"]);
    // Optional, but what it left is not what the plan says.
    let half = |it: &mut Json| {
        it["status"] = "partial".into();
        it["action_results"][3] = json!({"action_id": it["action_results"][3]["action_id"], "status": "failure", "produced": [file("c.txt", "")]});
        it["test_results"][1]["passed"] = false.into();
    };
    let reasons = [
        "VA4 /action_results/3/status",
        "VA5 /test_results/1/passed",
        "VA6 /action_results/3/produced/0/sha256",
    ];
    check(half, "reject", &reasons);
}

#[test]
fn tests_that_contradict_the_evidence() {
    let actual = |position: usize, passed: bool, actual: &'static str| {
        move |it: &mut Json| {
            it["test_results"][position]["passed"] = passed.into();
            it["test_results"][position]["actual"] = actual.into();
        }
    };
    check(actual(0, true, "sha256:x"), "reject", &["VA7 /test_results/0/actual"]);
    check(actual(1, true, "d"), "reject", &["VA7 /test_results/1/actual"]);
    check(actual(2, true, "false"), "reject", &["VA7 /test_results/2/actual"]);
    check(actual(3, true, "1"), "reject", &["VA7 /test_results/3/actual"]);
    check(actual(3, false, "0"), "reject", &["VA5 /test_results/3/passed", "VA7 /test_results/3/actual"]);
    check(actual(3, false, "1"), "review", &["VA5 /test_results/3/passed"]);
    // A later command changed the file: what it left counts.
    let changed = |path: &'static str| {
        move |it: &mut Json| {
            it["action_results"][4]["produced"] = json!([{"path": path, "sha256": content_hash("z")}]);
        }
    };
    check(changed("a.txt"), "reject", &["VA7 /test_results/0/passed"]);
    check(changed("c.txt"), "reject", &["VA7 /test_results/1/passed"]);
    check(changed("d.txt"), "accept", &[]);
}

#[test]
fn a_file_that_was_deleted_is_not_there() {
    let plan = plan(
        vec![action("delete_file", "b.txt", None, 0, true)],
        vec![test("t1", "file_exists", "b.txt", "true", true)],
    );
    let validation = validate(&verified(&evidence(&plan)), &verified(&plan));
    insta::assert_snapshot!(canonical(&validation), @r#"{"reasons":[{"message":"passed, although an action deleted `b.txt`","path":"/test_results/0/passed","recommendation":"reject","rule_id":"VA7"}],"recommendation":"reject"}"#);
}

#[test]
fn the_status_follows_from_the_results() {
    check(|it| it["status"] = "partial".into(), "reject", &["VA8 /status"]);
    check(|it| it["status"] = "failed".into(), "reject", &["VA8 /status"]);
    let optional = |it: &mut Json| {
        it["status"] = "failed".into();
        it["action_results"][4]["status"] = "failure".into();
        it["action_results"][4]["exit_code"] = 2.into();
    };
    check(optional, "reject", &["VA4 /action_results/4/status", "VA8 /status"]);
}

/// Whatever is damaged in evidence that is still valid, doubt never becomes `accept` unless nothing about the run was
/// changed.
#[test]
fn damage_is_noticed() {
    let plan = the_plan();
    let good = evidence(&plan);
    let plan = verified(&plan);
    for (list, count) in [("action_results", 6), ("test_results", 4)] {
        for position in 0..count {
            let fields: Vec<String> = good[list][position].as_object().unwrap().keys().cloned().collect();
            for field in fields {
                for value in [json!("act_0000000000000000"), json!("failure"), json!(false), json!([])] {
                    let mut changed = good.clone();
                    changed[list][position][&field] = value;
                    let text = changed.to_string();
                    let value = ordain_canon::Value::read(text.as_bytes()).unwrap();
                    let Ok(evidence) = ordain_spec::verify_as(&ordain_spec::Facts::default(), &value) else {
                        continue;
                    };
                    let accepted = validate(&evidence, &plan).reasons.is_empty();
                    assert_eq!(accepted, changed == good, "{list}/{position}/{field}");
                }
            }
        }
    }
}
