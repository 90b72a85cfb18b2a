//! From a bundle to a plan and on to a patch set: what is in it, that it verifies, and what is refused.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod support;

use ordain_canon::Value;
use ordain_kernel::{PlanError, patch, plan};
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;
use ordain_spec::{Facts, Kind, SourceBundle, split_command};
use ordain_testkit::vectors;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use support::{Made, action, bundle, canonical, content_hash, report_on, verified};

/// The plan for a bundle of these outputs; where there is one, no rule objects to it or to its patch set.
#[track_caller]
fn make(intent: &Json, made: &[Made<'_>], open: bool, existing: &[&str]) -> Result<Proposal, PlanError> {
    let bundle = bundle(intent, made, open);
    let text = intent.to_string();
    let existing = existing.iter().map(|path| (*path).to_owned()).collect::<BTreeSet<_>>();
    let proposal = plan(&verified(&bundle), &Value::read(text.as_bytes()).unwrap(), &existing)?;
    let source_text = bundle.to_string();
    let source = SourceBundle::of(&Value::read(source_text.as_bytes()).unwrap()).unwrap();
    let facts = Facts { bundle: Some(&source), ..Facts::default() };
    let report = report_on::<Proposal>(&facts, &proposal);
    assert!(report.ok(), "{}", canonical(&report));
    let set = patch(&verified(&proposal)).unwrap();
    let report = report_on::<PatchSet>(&Facts::default(), &set);
    assert!(report.ok(), "{}", canonical(&report));
    assert!(set.operations.iter().all(|operation| operation.order.is_none()));
    Ok(proposal)
}

fn intent() -> Json {
    json!({
        "goal": "Add a changelog.\n",
        "context": {
            "commands": [
                {"argv": ["make", "X=1", "it's"]},
                {"argv": ["true"], "required": false},
                {"argv": ["make", "X=1", "it's"]},
            ],
            "tests": [
                {"name": "It builds", "type": "command_success", "target": "make test", "expected": "0"},
                {"name": "It builds", "type": "command_success", "target": "make test", "expected": "0", "required": true},
                {"name": "It is there", "type": "file_exists", "target": "a.md", "expected": "true", "required": false},
            ],
        },
    })
}

#[test]
fn a_whole_plan() {
    let made = [("instruction", "b.md", "B\n", 81), ("file", "a.md", "A\n", 90)];
    let proposal = make(&intent(), &made, false, &["a.md", "other"]).unwrap();
    let mut shown = format!("{}\n", proposal.summary);
    for it in &proposal.actions {
        let kind = json!(it.action_type);
        shown +=
            &format!("{} {} {kind} {} {}: {}\n", it.id, it.order, it.target, it.required, it.description);
    }
    for it in &proposal.acceptance_tests {
        let kind = json!(it.test_type);
        shown += &format!("{} {kind} {} {} {}: {}\n", it.id, it.target, it.expected, it.required, it.name);
    }
    insta::assert_snapshot!(shown, @r#"
    Add a changelog: 1 file to create, 1 to change, 3 commands, 4 tests
    act_4b354dca514ee411 0 "modify_file" a.md true: Replace a.md (file, 2 bytes)
    act_898e5e7e1ecd62c6 0 "create_file" b.md true: Create b.md (instruction, 2 bytes)
    act_3b79ea04ee3b2bd6 1 "execute_command" make X=1 'it'\''s' true: Run make X=1 'it'\''s'
    act_e207a2812ffa14df 2 "execute_command" true false: Run true
    act_95c67f8a436f2334 3 "execute_command" make X=1 'it'\''s' true: Run make X=1 'it'\''s'
    test_409bb360379eeb1e "command_success" make test 0 true: It builds
    test_694a92fe68994afb "file_exists" a.md true false: It is there
    test_899a46b8b1c27742 "hash_match" b.md sha256:c0cde77fa8fef97d476c10aad3d2d54fcc2f336140d073651c2dcccf1e379fd6 true: b.md has the planned content
    test_9f0101e8c9d5f59c "hash_match" a.md sha256:06f961b802bc46ee168555f066d28f4f0e9afdf3f88174c1ee6f9de004fc30a0 true: a.md has the planned content
    "#);
}

#[test]
fn what_the_parts_say() {
    let plain = json!({"goal": "Add a changelog"});
    let a = ("file", "a", "x", 70);
    for (intent, made, open, existing, summary, requires_approval, confidence) in [
        (&plain, vec![a], false, vec![], "Add a changelog: 1 file to create, 1 test", false, 70),
        (&plain, vec![a], false, vec!["a"], "Add a changelog: 1 file to change, 1 test", false, 70),
        (
            &plain,
            vec![a, ("schema", "b", "", 71), ("config", "c", "", 71)],
            true,
            vec!["c"],
            "Add a changelog: 2 files to create, 1 to change, 3 tests",
            true,
            71,
        ),
        (
            &plain,
            vec![a, ("file", "b", "", 71)],
            false,
            vec![],
            "Add a changelog: 2 files to create, 2 tests",
            false,
            71,
        ),
        (&plain, vec![], true, vec![], "Add a changelog: nothing to do", true, 0),
        (&intent(), vec![], true, vec![], "Add a changelog: 3 commands, 2 tests", true, 0),
        (&json!({"goal": "\u{1}\u{2}"}), vec![a], false, vec![], "Plan: 1 file to create, 1 test", false, 70),
    ] {
        let proposal = make(intent, &made, open, &existing).unwrap();
        assert_eq!(
            (proposal.summary.as_str(), proposal.requires_approval, proposal.confidence),
            (summary, requires_approval, confidence)
        );
    }
}

#[test]
fn what_has_no_plan() {
    let plain = json!({"goal": "x"});
    let a = ("file", "a", "x", 70);
    let with_test = |target: &str| {
        let test = json!({"name": "n", "type": "command_success", "target": target, "expected": "0"});
        json!({"goal": "x", "context": {"tests": [test]}})
    };
    for (intent, made, expected) in [
        (&json!({"goal": "x", "more": 1}), vec![a], "the intent is not valid: SCHEMA at `/more`"),
        (&with_test("a | b"), vec![a], "the intent is not valid: IN7 at `/context/tests/0/target`"),
        // NFC makes a semicolon of the Greek question mark.
        (&with_test("a\u{37e} b"), vec![a], "the intent is not valid: IN7 at `/context/tests/0/target`: `;`"),
        (&plain, vec![("command", "a", "ls", 70)], "the output `a` is a command"),
        (&plain, vec![a, a], "path `a` is a target twice"),
        (&plain, vec![a, ("file", "A", "", 70)], "differs from `A` only by case"),
        (&plain, vec![a, ("file", "a/b", "", 70)], "path `a/b` lies inside `a`"),
        (&plain, vec![("file", "a", "\0", 70)], "the plan would not be valid: PR14 at `/actions/0/content`"),
    ] {
        let error = make(intent, &made, false, &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let other = json!({"goal": "another"}).to_string();
    let bundle = verified(&bundle(&plain, &[a], false));
    let error = plan(&bundle, &Value::read(other.as_bytes()).unwrap(), &BTreeSet::new()).unwrap_err();
    assert!(matches!(error, PlanError::AnotherIntent { .. }), "{error}");
}

/// Neither the order of keys nor what normalizing removes is part of the plan.
#[test]
fn spelling_does_not_matter() {
    let made = [("file", "a", "x", 70)];
    let texts = [
        r#"{"goal":"Add it","context":{"commands":[{"argv":["a"],"required":false}],"n":1}}"#,
        r#"{ "context": {"n": 1.0, "commands": [{"required": false, "argv": ["a"]}]}, "goal": " Add it\r\n", "constraints": [" "] }"#,
    ];
    let [first, second] = texts.map(|text| {
        let intent: Json = serde_json::from_str(text).unwrap();
        let bundle = verified(&bundle(&intent, &made, false));
        canonical(&plan(&bundle, &Value::read(text.as_bytes()).unwrap(), &BTreeSet::new()).unwrap())
    });
    assert_eq!(first, second);
}

#[test]
fn the_vectors_fit_together() {
    let read = |kind: Kind, rule: &str| {
        let vector = vectors().into_iter().find(|it| it.kind == kind && it.rule == rule).unwrap();
        serde_json::from_str::<Json>(&vector.file("accept.json").unwrap()).unwrap()
    };
    let (bundle, intent) = (read(Kind::Bundle, "BS3"), read(Kind::Intent, "IN6"));
    let text = intent.to_string();
    let proposal =
        plan(&verified(&bundle), &Value::read(text.as_bytes()).unwrap(), &BTreeSet::new()).unwrap();
    assert_eq!(proposal.source_bundle_id, bundle["id"]);
    assert_eq!(proposal.confidence, 85);
    let targets: Vec<&str> = proposal.actions.iter().map(|action| action.target.as_str()).collect();
    // The brief of the bundle is not a file of the workspace.
    assert_eq!(targets, ["config/rate_limit.toml", "python3 -m pytest tests/test_rate_limit.py"]);
}

#[test]
fn a_patch_set_has_the_files_of_a_plan() {
    let plan = support::plan(
        vec![
            action("modify_file", "\u{1f600}", Some("é"), 2, false),
            action("modify_file", "\u{fb33}", Some(""), 2, true),
            action("delete_file", "z", None, 0, true),
            action("execute_command", "true", None, 1, true),
            action("create_file", "a/b", Some("1\r\n"), 2, true),
        ],
        vec![],
    );
    let set = patch(&verified(&plan)).unwrap();
    assert!(report_on::<PatchSet>(&Facts::default(), &set).ok());
    assert_eq!(
        serde_json::to_value(&set.operations).unwrap(),
        json!([
            {"op": "delete", "path": "z", "order": 0},
            {"op": "create", "path": "a/b", "content": "1\r\n", "expected_hash": content_hash("1\r\n"), "size_bytes": 3, "order": 2},
            {"op": "modify", "path": "\u{1f600}", "content": "é", "expected_hash": content_hash("é"), "size_bytes": 2, "order": 2},
            {"op": "modify", "path": "\u{fb33}", "content": "", "expected_hash": content_hash(""), "size_bytes": 0, "order": 2},
        ])
    );
    assert_eq!((set.total_bytes, set.source_proposal_id.as_str()), (5, plan["id"].as_str().unwrap()));
    assert_eq!(set.source_proposal_hash.as_str(), content_hash(&canonical(&plan)));
}

/// One order needs no mention, and nothing to do is a patch set too.
#[test]
fn order_is_there_when_it_matters() {
    let one = support::plan(
        vec![action("create_file", "a", Some(""), 7, true), action("validate", "true", None, 9, true)],
        vec![],
    );
    let set = patch(&verified(&one)).unwrap();
    assert_eq!(set.operations.iter().map(|operation| operation.order).collect::<Vec<_>>(), [None]);
    let set = patch(&verified(&support::plan(vec![], vec![]))).unwrap();
    assert!(set.operations.is_empty() && report_on::<PatchSet>(&Facts::default(), &set).ok());
}

#[test]
fn targets_that_meet_have_no_patch_set() {
    for (first, second, expected) in [
        ("a", "a", "path `a` is a target twice"),
        ("a", "A", "only by case"),
        ("a", "a/b", "path `a/b` lies inside `a`"),
    ] {
        let plan = support::plan(
            vec![
                action("create_file", first, Some(""), 0, true),
                action("delete_file", second, None, 1, true),
            ],
            vec![],
        );
        let error = patch(&verified(&plan)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Mostly one that can run.
fn argv() -> impl Strategy<Value = Vec<String>> {
    let argument = || "\\PC{0,5}|[ -~\n]{0,5}";
    ("\\PC{1,5}|[ -~\n]{0,5}", prop::collection::vec(argument(), 0..3))
        .prop_map(|(first, rest)| std::iter::once(first).chain(rest).collect())
}

fn made() -> impl Strategy<Value = Vec<(String, String, String, u8)>> {
    let output = (
        prop::sample::select(vec!["file", "file", "file", "config", "instruction", "schema", "command"]),
        "[a-zA-Cé]{1,2}(/[a-c]{1,2}){0,2}",
        "[^\u{0}]{0,9}|\\PC{0,9}|[a-z\n\u{0}]{0,3}",
        0..=100_u8,
    );
    prop::collection::vec(
        output.prop_map(|(kind, path, text, score)| (kind.to_owned(), path, text, score)),
        1..5,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is asked for, there is a plan that verifies or a reason; and each command is the one that was
    /// asked for.
    #[test]
    fn plans_verify_or_are_refused(
        goal in "\\PC{1,100}|[ -~\n]{1,30}",
        argv in prop::collection::vec(argv(), 0..4),
        targets in prop::collection::vec("[a-c]{1,3}|[a-c./]{1,4}", 0..3),
        made in made(),
        open: bool,
        existing in prop::collection::vec("[a-c]{1,2}", 0..3),
    ) {
        let tests: Vec<Json> = targets
            .iter()
            .map(|it| json!({"name": it, "type": "file_exists", "target": it, "expected": "true"}))
            .collect();
        let commands: Vec<Json> = argv.iter().map(|argv| json!({"argv": argv})).collect();
        let intent = json!({"goal": goal, "context": {"commands": commands, "tests": tests}});
        let made: Vec<Made<'_>> =
            made.iter().map(|(kind, path, text, score)| (kind.as_str(), path.as_str(), text.as_str(), *score)).collect();
        let existing: Vec<&str> = existing.iter().map(String::as_str).collect();
        if let Ok(proposal) = make(&intent, &made, open, &existing) {
            let run: Vec<Vec<String>> = proposal
                .actions
                .iter()
                .filter(|action| action.order > 0)
                .map(|action| split_command(&action.target).unwrap())
                .collect();
            let text = intent.to_string();
            let value = Value::read(text.as_bytes()).unwrap();
            let normal = ordain_spec::intent::normalize(&value).unwrap();
            let asked: Vec<Json> = serde_json::from_str(&canonical(normal.get("context").unwrap().get("commands").unwrap())).unwrap();
            let asked: Vec<Json> = asked.into_iter().map(|mut command| command["argv"].take()).collect();
            prop_assert_eq!(serde_json::to_value(run).unwrap(), Json::Array(asked));
        }
    }
}

mod of_patch {
    use super::*;
    use ordain_kernel::plan_of_patch;
    use ordain_spec::bundle::BundleStatus;
    use ordain_spec::plan::ActionType;

    fn set(operations: Json, total_bytes: u64) -> Json {
        json!({
            "patch_schema_version": "1.0.0",
            "source_proposal_id": "TBD {name} or something fast",
            "source_proposal_hash": format!("sha256:{}", "0".repeat(64)),
            "operations": operations,
            "total_bytes": total_bytes,
        })
    }

    #[test]
    fn each_operation_becomes_an_action_and_each_content_a_test() {
        let set = set(
            json!([
                {"op": "delete", "path": "z", "order": 0},
                {"op": "create", "path": "a", "content": "one\n", "order": 1},
                {"op": "modify", "path": "b", "content": "", "order": 1},
            ]),
            4,
        );
        let set = verified::<PatchSet>(&set);
        let (bundle, plan) = plan_of_patch(&set).unwrap();
        assert_eq!(bundle.status, BundleStatus::Complete, "no word of the patch set raises a question");
        assert_eq!(plan.source_bundle_id, bundle.id);
        let mut actions: Vec<_> =
            plan.actions.iter().map(|it| (it.order, it.action_type, it.target.as_str())).collect();
        assert_eq!(actions[0], (0, ActionType::DeleteFile, "z"));
        actions.sort_by_key(|it| it.2);
        assert_eq!(actions[..2], [(1, ActionType::CreateFile, "a"), (1, ActionType::ModifyFile, "b")]);
        let mut tests: Vec<_> =
            plan.acceptance_tests.iter().map(|it| (it.target.as_str(), it.expected.clone())).collect();
        tests.sort();
        assert_eq!(tests, [("a", content_hash("one\n")), ("b", content_hash(""))]);
        assert!(plan.requires_approval, "it deletes");
        assert_eq!(
            plan.summary,
            "Apply a patch set: 1 file to create, 1 to change, 1 file to delete, 2 tests"
        );
        // The same operations come out again.
        let mut back = patch(&verified(&plan)).unwrap();
        for operation in &mut back.operations {
            (operation.expected_hash, operation.size_bytes) = (None, None);
        }
        assert_eq!(back.operations, set.operations);
    }

    #[test]
    fn another_patch_set_has_another_bundle() {
        let made = |content: &str| {
            let set = set(json!([{"op": "create", "path": "a", "content": content}]), content.len() as u64);
            plan_of_patch(&verified(&set)).unwrap()
        };
        let ((one, plan), (two, _)) = (made("1"), made("2"));
        assert_ne!(one.id, two.id);
        assert!(!plan.requires_approval);
        assert_eq!(canonical(&made("1").1), canonical(&plan));
    }

    #[test]
    fn an_empty_patch_set_has_a_plan_that_does_nothing() {
        let (_, plan) = plan_of_patch(&verified(&set(json!([]), 0))).unwrap();
        assert!(plan.actions.is_empty() && plan.acceptance_tests.is_empty());
    }
}
