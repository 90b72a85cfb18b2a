//! That a bundle says what its intent says: nothing lost, nothing stronger than it was meant, nothing clear
//! that is not.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and asks the environment how long to try"
)]

mod support;

use ordain_canon::Value;
use ordain_kernel::{Transformed, plan, stated_tests, transform};
use ordain_spec::bundle::Bundle;
use ordain_spec::intent::normalize;
use ordain_spec::{Facts, Kind, verify_value};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use support::{canonical, verified};

fn made(intent: &Json) -> (Bundle, bool) {
    let text = intent.to_string();
    match transform(&Value::read(text.as_bytes()).unwrap(), text.len()) {
        Transformed::Bundle(bundle) => (bundle, false),
        Transformed::Clarify(bundle) => (bundle, true),
        Transformed::Refuse(refusal) => panic!("{intent}: {refusal}"),
    }
}

fn of_goal(goal: &str) -> (Bundle, bool) {
    made(&json!({"goal": goal}))
}

fn rules_broken(intent: &Json, bundle: &Json) -> Vec<String> {
    let (intent, bundle) = (intent.to_string(), bundle.to_string());
    let intent = Value::read(intent.as_bytes()).unwrap();
    let normal = normalize(&intent).unwrap();
    let facts = Facts { intent: Some(&normal), ..Facts::default() };
    let report = verify_value(Kind::Bundle, &facts, &Value::read(bundle.as_bytes()).unwrap());
    report.violations().iter().map(|it| format!("{} {}", it.rule, it.message)).collect()
}

fn goals(bundle: &Bundle) -> Vec<&str> {
    bundle.terminal_nodes.iter().map(|it| it.goal.as_str()).collect()
}

/// The text of the brief, or of all of them.
fn briefs(bundle: &Bundle) -> String {
    bundle.outputs.iter().filter(|it| it.path.ends_with("brief.md")).map(|it| it.content.clone()).collect()
}

fn brief_section<'b>(brief: &'b str, title: &str) -> &'b str {
    brief.split("\n## ").find(|it| it.starts_with(title)).unwrap_or_default()
}

#[rustfmt::skip]
static VERBS: &[&str] = &[
    "Increase", "Decrease", "Lower", "Cap", "Restart", "Scale", "Revert", "Deduplicate", "Provision", "Terminate", "Grant", "Deny", "Save", "Load", "Redirect", "Purge",
    "Add", "Remove", "Rename", "Fix", "Update", "Write", "Delete", "Move", "Copy", "Split", "Merge", "Refactor", "Document", "Test", "Deploy", "Migrate", "Configure", "Enable",
    "Disable", "Replace", "Rewrite", "Validate", "Encrypt", "Compress", "Archive", "Backup", "Restore", "Rotate", "Revoke", "Publish", "Release", "Ship", "Build", "Compile",
    "Solder", "Paint", "Measure", "Calibrate", "Align", "Mount", "Unmount", "Attach", "Detach", "Bind", "Unbind", "Lock", "Unlock", "Pin", "Unpin", "Sign", "Verify", "Audit", "Review",
    "Approve", "Reject", "Assign", "Unassign", "Label", "Tag", "Sort", "Filter", "Group", "Aggregate", "Count", "Sum", "Average", "Normalize", "Denormalize", "Index", "Reindex",
    "Vacuum", "Analyze", "Profile", "Benchmark", "Trace", "Log", "Monitor", "Alert", "Notify", "Email", "Page", "Escalate", "Triage", "Reproduce", "Bisect", "Patch", "Backport",
    "Cherry-pick", "Rebase", "Squash", "Amend", "Stash", "Clone", "Fork", "Vendor", "Bundle", "Minify", "Transpile", "Lint", "Format", "Sanitize", "Escape", "Encode", "Decode", "Hash",
    "Salt", "Shard", "Partition", "Replicate", "Mirror", "Proxy", "Cache", "Invalidate", "Warm", "Evict", "Throttle", "Debounce", "Queue", "Drain", "Pause", "Resume", "Cancel", "Abort",
    "Retry", "Skip", "Ignore", "Suppress", "Silence", "Mute", "Hide", "Show", "Reveal", "Expand", "Collapse", "Flatten", "Nest", "Wrap", "Unwrap", "Inline", "Extract", "Generalize", "Frobnicate", "Defenestrate", "Liquidate", "Repaint", "Oil", "Irrigate", "Vulcanize",
];

#[test]
fn no_request_is_lost_whatever_its_verb() {
    assert!(VERBS.len() >= 160, "{}", VERBS.len());
    for verb in VERBS {
        let intent = json!({"goal": format!("{verb} the `alpha` module in `a.py`. Remove the file `b.txt`. Rename `c.txt` to `d.txt`.")});
        let (bundle, _) = made(&intent);
        let said = goals(&bundle).join("\n");
        assert!(said.contains(verb) && said.contains("b.txt") && said.contains("c.txt"), "{verb}: {said}");
        assert_eq!(rules_broken(&intent, &json!(bundle)), [""; 0]);
        let (bundle, _) = of_goal(&format!(
            "1. {verb} the memory limit\n2. Remove the file `b.txt`\n3. Rename `c.txt` to `d.txt`"
        ));
        assert_eq!(bundle.terminal_nodes.len(), 3, "{verb}: {:?}", goals(&bundle));
        let (bundle, _) =
            of_goal(&format!("Please {} the limits:\n- {verb} `x`\n- the second `y`", verb.to_lowercase()));
        assert_eq!(bundle.terminal_nodes.len(), 2, "{verb}: {:?}", goals(&bundle));
    }
}

#[test]
fn a_bundle_that_lost_something_is_refused() {
    let intent = json!({
        "goal": "1. Increase the memory limit of `api` to 1Gi\n2. Remove the file `b.txt`\n3. Rename `c.txt` to `d.txt`",
        "constraints": ["Costs stay below 200 USD per month"],
    });
    let (bundle, asks) = made(&intent);
    assert!(!asks);
    assert_eq!(bundle.terminal_nodes.len(), 3);
    let mut lost = json!(bundle);
    let goal = lost["root_node"]["children"][0]["goal"].clone();
    lost["root_node"]["children"].as_array_mut().unwrap().remove(0);
    let broken = rules_broken(&intent, &lost).join("\n");
    let words: String = goal.as_str().unwrap().to_lowercase().chars().take(12).collect();
    assert!(broken.contains("BS12") && broken.contains(&words), "{broken}");
    // The intent says more than the root.
    let mut more = intent.clone();
    more["goal"] = json!(format!("{}\n4. Restart `api`", intent["goal"].as_str().unwrap()));
    more["constraints"] = json!(["Costs stay below 200 USD per month", "Use Go"]);
    let broken = rules_broken(&more, &json!(bundle)).join("\n");
    assert!(broken.contains("restart `api") && broken.contains("lacks `Use Go`"), "{broken}");
    assert_eq!(rules_broken(&intent, &json!(bundle)), [""; 0]);
}

#[test]
fn what_holds_for_all_reaches_every_part() {
    let release = "Release 1.4\n\n- Add coupons to the checkout\n- Export invoices as CSV\n- Fix rounding in `price.rs`\n\nNot in scope\n- The admin pages\n\nAcceptance\n- All tests pass\n- `make check` passes";
    let (bundle, _) = of_goal(release);
    assert_eq!(bundle.terminal_nodes.len(), 3, "{:?}", goals(&bundle));
    for leaf in &bundle.terminal_nodes {
        let said = leaf.constraints.join("\n");
        assert!(said.contains("Not in scope: The admin pages") && said.contains("All tests pass"), "{said}");
        assert!(!leaf.goal.contains("admin") && !leaf.goal.contains("Acceptance"), "{}", leaf.goal);
    }
    let bike = json!({
        "goal": "Build the rental app:\n1. Show free bikes on a map\n2. Unlock a bike by its QR code\n3. Charge the ride to the card\n4. Send a receipt by mail\n5. Let staff mark a bike as broken\n\nCosts below 200 USD per month. Success criterion: 95 % of unlocks take less than 5 seconds.",
        "constraints": ["The total cost must stay below 200 USD per month"],
    });
    let (bundle, _) = made(&bike);
    assert_eq!(bundle.terminal_nodes.len(), 5, "{:?}", goals(&bundle));
    for leaf in &bundle.terminal_nodes {
        let said = leaf.constraints.join("\n");
        assert!(
            said.contains("Costs below 200 USD")
                && said.contains("Success criterion")
                && said.contains("The total cost"),
            "{said}"
        );
    }
    for everywhere in [
        "Budget: 500 EUR",
        "Deadline: 1 June",
        "Not in scope: the mobile app",
        "Out of scope: logging",
        "Done when `make test` passes",
        "Everything must be merged by 1 June",
        "All code must be in Go",
        "Non-goals: a new design",
        "The monthly costs must stay under 50 USD",
        "Acceptance: the nightly run is green",
    ] {
        let intent = json!({"goal": "Add a log to `a.rs`. Remove the metrics from `b.rs`.", "constraints": [everywhere]});
        let (bundle, _) = made(&intent);
        assert_eq!(bundle.terminal_nodes.len(), 2);
        assert!(bundle.terminal_nodes.iter().all(|it| it.constraints == [everywhere]), "{everywhere}");
    }
}

#[test]
fn splits_are_between_requests() {
    for (goal, parts) in [
        ("Migrate the `users` table to PostgreSQL 16; write downtime at most 5 minutes on Sunday", 1),
        ("Send the contract to Foo Inc. (processor) by mail", 1),
        ("Ask Dr. Smith for the figures in `report.md`", 1),
        ("Add a log to `a.rs`; remove the metrics from `b.rs`", 2),
        ("Add a log to `a.rs`. See also Fig. 3 in the manual. It rotates daily.", 1),
        ("Support these formats in `export.rs`:\n- CSV\n- JSON", 2),
        ("It crashes.\n\nSteps to reproduce\n1. Open `a.txt`\n2. Press F5\n\nFix it in `b.rs`.", 1),
        ("- Add a log to `a.rs`\n  - rotate it daily\n  - keep 3 files\n- Remove `b.rs`", 2),
        ("# Shop\n\nAdd coupons to `cart.rs`.\n\n# Mail\n\nSend receipts from `mail.rs`.", 2),
        ("Retry at most 3 times; response time below 200 ms", 1),
        ("* [ ] Add `a`\n* [x] Remove `b`\n* [ ] Rename `c` to `d`", 3),
    ] {
        let (bundle, _) = of_goal(goal);
        assert_eq!(bundle.terminal_nodes.len(), parts, "{goal}: {:?}", goals(&bundle));
    }
    let brief = briefs(&of_goal("Send the contract of `deal.md` to Foo Inc. (processor) by 1 June 2027").0);
    assert!(
        brief.starts_with("# Send the contract of `deal.md` to Foo Inc. (processor) by 1 June 2027"),
        "{brief}"
    );
}

#[test]
fn what_may_be_is_not_what_must_be() {
    for (constraint, modality) in [
        ("Optional: add a chart", "may"),
        ("The deployment may take the service down for up to 5 minutes", "may"),
        ("Nice to have: dark mode", "should"),
        ("Nice-to-have: a chart", "should"),
        ("Optionally log the id", "may"),
        ("(Optional) add a legend", "may"),
        ("Bonus: animate the chart", "may"),
        ("Stretch goal: offline mode", "may"),
        ("It would be nice to see the total", "should"),
        ("The export may run at night", "may"),
        ("Ideally the list is sorted", "should"),
        ("Only admins may export", "must"),
        ("The list must be sorted", "must"),
    ] {
        let (bundle, _) =
            made(&json!({"goal": "Add the report to `report.rs`", "constraints": [constraint]}));
        let facts = &bundle.outputs.iter().find(|it| it.path.ends_with("acceptance.json")).unwrap().content;
        let facts: Json = serde_json::from_str(facts).unwrap();
        let found =
            facts["requirements"].as_array().unwrap().iter().find(|it| it["text"] == constraint).unwrap();
        assert_eq!(found["modality"], modality, "{constraint}");
    }
    let (bundle, _) =
        of_goal("Train the classifier in `train.py`. The macro-F1 on `test.csv` must be at least 0.82.");
    let brief = briefs(&bundle);
    assert!(brief_section(&brief, "Done when").contains("0.82"), "{brief}");
    assert!(!brief.contains("left to the implementer"), "{brief}");
}

#[test]
fn goals_that_name_nothing_are_asked_about_once() {
    for goal in [
        "hello, how are you?",
        "asap!!! prod is down",
        "Users are complaining",
        "We should do something about tech debt",
        "Do what the ticket says",
        "优化一下系统",
        "Arregla el error por favor",
        "Mach die Anwendung schneller und schöner",
        "Исправь ошибку",
        "Améliore le site s'il te plaît",
        "システムを改善してください",
        "Rendi tutto più veloce per gli utenti",
        "Por favor, melhore o sistema para os clientes",
        "Zorg dat het niet meer stuk gaat voor de klanten",
        "The customers are unhappy",
        "Everything hurts",
        "Good morning everybody",
        "Set up monitoring",
    ] {
        let (bundle, asks) = of_goal(goal);
        assert!(asks, "{goal} is not asked about");
        assert_eq!(bundle.unresolved_questions.len(), 1, "{goal}: {:?}", bundle.unresolved_questions);
    }
    for goal in [
        "Add a logout button to the header",
        "Fix the crash in `login.py`",
        "Arregla el error en `login.py`",
        "Rename the column `total`",
    ] {
        assert!(!of_goal(goal).1, "{goal} is asked about");
    }
    let answered = |goal: &str| {
        let (first, _) = of_goal(goal);
        let answer = "Port 8080 of `web` answers 200 again";
        made(&json!({"goal": goal, "context": {"answers": {&first.unresolved_questions[0].id: answer}}})).1
    };
    assert!(!answered("asap!!! prod is down") && !answered("优化一下系统"));
}

#[test]
fn text_that_cannot_be_read_is_not_judged() {
    for goal in [
        "Arregla el error en `login.py` y no cambies los tests",
        "Füge in `export.rs` eine Spalte `summe` hinzu und ändere sonst nichts",
        "在 `login.py` 里把超时改成 30 秒",
        "Ajoute un test dans `tests/a.rs` pour le cas vide",
    ] {
        let (bundle, _) = of_goal(goal);
        assert!(briefs(&bundle).contains("not in English, and its clarity was not judged"), "{goal}");
        assert!(
            bundle
                .outputs
                .iter()
                .any(|it| it.path.ends_with("acceptance.json") && it.content.contains("not_judged"))
        );
    }
    assert!(!briefs(&of_goal("Add a column `sum` to `export.rs`").0).contains("not judged"));
}

#[test]
fn gaps_are_looked_for_in_prose() {
    for goal in [
        "Set the session timeout in `auth.rs` to [X] minutes",
        "Set the retention of `logs` to ... days",
        "Increase the price in `plans.json` by xx%",
        "Use the colour #?????? for links in `site.css`",
        "Add a limit of N requests per minute to `api.rs`",
        "Deploy `api` to __REGION__",
        "Set the port of `web` to ???",
        "Wait for [N] seconds in `poll.rs`",
        "Name the bucket in `main.tf` <bucket-name>",
        "Keep logs of `api` for XX days",
        "Set `max_retries` to TBD",
        "Send it to {{customer}} from `mail.rs`",
        "Cap uploads in `api.rs` at … MB",
        "Set the budget in `plan.md` to __BUDGET__",
        "Retry after yy ms in `client.rs`",
        "Ship at most X items from `cart.rs`",
    ] {
        let (bundle, asks) = of_goal(goal);
        assert!(
            asks && bundle.unresolved_questions[0].text.starts_with("What should stand"),
            "{goal}: {:?}",
            bundle.unresolved_questions
        );
    }
    for goal in [
        "Replace the <marquee> in index.html by <p>",
        "Put the caption of `a.html` in a <figcaption>",
        "Replace <img> by <picture> with srcset in `a.html`",
        "The template must contain Dear {firstName} in `mail.html`",
        "Use an f-string such as {name} in `a.py`",
        "Print __FILE__ and __LINE__ in `log.c`",
        "Keep the top N rows in `report.py`",
        "Split `a.csv` into groups of N lines, where N is an argument",
        "Document this line in `README.md`:\n$ deploy <env> --force",
        "Call `deploy` with <env>, where <env> is staging or production",
        "Move the <svg> of `logo.html` into a <symbol>",
        "Read <stdin> in `a.py`",
        "Return Vec<String> from `names()` in `a.rs`",
        "Mark `a.md` as done:\n- [x] one\n- [ ] two",
        "Substitute {user} and {host} in the variables of `ssh.tpl`",
    ] {
        let (bundle, _) = of_goal(goal);
        let gaps = bundle.unresolved_questions.iter().filter(|it| it.text.starts_with("What should stand"));
        assert_eq!(gaps.count(), 0, "{goal}: {:?}", bundle.unresolved_questions);
    }
}

#[test]
fn the_goal_is_compared_with_the_constraints() {
    for (goal, constraints) in [
        ("Rewrite the importer in Go", vec!["The importer must stay in Python"]),
        ("Make the button green", vec!["The button must be red"]),
        (
            "Set up autoscaling for the `worker` deployment",
            vec!["Minimum replicas: 10", "Maximum replicas: 5"],
        ),
        (
            "Store passwords in plain text so that support can read them",
            vec!["Passwords must never be stored in plain text"],
        ),
        ("Export `a.csv`", vec!["Only admins may export", "Every user may export"]),
        ("Move `api`", vec!["Downtime must be zero", "Downtime may be up to 10 minutes"]),
        ("Deploy `api`", vec!["Deploy to eu-west-1 only", "Deploy to at least two regions"]),
        ("Release `app`", vec!["Release on 1 March", "Do not release before 15 March"]),
    ] {
        let intent = json!({"goal": goal, "constraints": constraints});
        let (bundle, asks) = made(&intent);
        let question = &bundle.unresolved_questions[0];
        assert!(question.options.iter().flatten().any(|it| it == "keep all"), "{goal}: {question:?}");
        assert!(
            asks && question.text.starts_with("Which of these holds"),
            "{goal}: {:?}",
            bundle.unresolved_questions
        );
        // Either side can be chosen, and nothing is asked again.
        for option in question.options.as_ref().unwrap() {
            let answered = json!({"goal": goal, "constraints": constraints, "context": {"answers": {&question.id: option}}});
            let (bundle, _) = made(&answered);
            assert!(bundle.unresolved_questions.iter().all(|it| it.id != question.id), "{goal}: {option}");
            if option == "keep all" {
                assert!(!briefs(&bundle).contains("Dropped: "), "{}", briefs(&bundle));
                continue;
            }
            assert!(
                briefs(&bundle).contains("Dropped: ") || briefs(&bundle).contains("does not hold"),
                "{}",
                briefs(&bundle)
            );
        }
    }
}

#[test]
fn the_context_answers() {
    let without = |goal: &str, context: Json| {
        let (bundle, _) = made(&json!({"goal": goal, "context": context}));
        format!("{} {:?}", briefs(&bundle), bundle.unresolved_questions)
    };
    for (goal, context, word) in [
        ("Write a script that counts the words of `a.txt`", json!({"language": "Python"}), "language"),
        ("Export the report of `orders` every night", json!({"format": "CSV"}), "format"),
        ("Store the `orders` in a database", json!({"database": "PostgreSQL"}), "database"),
        ("Add authentication to `api`", json!({"auth": "JWT"}), "works as"),
    ] {
        assert!(without(goal, json!({})).contains(word), "{goal}: {}", without(goal, json!({})));
        assert!(!without(goal, context.clone()).replace(goal, "").contains(word), "{goal} {context}");
    }
    assert!(
        !made(&json!({"goal": "Do what the ticket says", "context": {"ticket": "ABC-12", "repo": "shop"}})).1
    );
    assert!(made(&json!({"goal": "Do what the ticket says", "context": {"ticket": "TBD"}})).1);
}

#[test]
fn files_of_the_goal_are_listed() {
    let brief =
        briefs(&of_goal("Fix `add` in `calc.py`, which subtracts, and cover it in tests/test_calc.py").0);
    let files = brief_section(&brief, "Files");
    assert!(files.contains("`calc.py`") && files.contains("`tests/test_calc.py`"), "{brief}");
}

#[test]
fn stated_criteria_are_tests_of_the_plan() {
    let intent = json!({
        "goal": "Fix `add` in `calc.py`, which subtracts instead of adding",
        "constraints": ["Done when `python3 -B -m unittest -q` passes", "A test in `test_calc.py` must cover negative numbers", "`npm run lint` should pass"],
    });
    let (bundle, _) = made(&intent);
    let names: Vec<_> = stated_tests(&bundle).into_iter().map(|it| (it.target, it.required)).collect();
    assert_eq!(
        names,
        [("python3 -B -m unittest -q".to_owned(), Some(true)), ("npm run lint".to_owned(), Some(false))]
    );
    let text = intent.to_string();
    let made = plan(&verified(&bundle), &Value::read(text.as_bytes()).unwrap(), &BTreeSet::new()).unwrap();
    let tests: Vec<_> = made.acceptance_tests.iter().map(|it| (it.stated, it.required)).collect();
    assert_eq!(tests.iter().filter(|it| it.0).count(), 2, "{}", canonical(&made));
    assert!(tests.contains(&(true, true)) && tests.contains(&(true, false)));
    // Briefs are for the run's folder.
    assert!(made.actions.is_empty(), "{}", canonical(&made));
    let mut asked = intent.clone();
    asked["context"] = json!({"write_briefs": true});
    let text = asked.to_string();
    let value = Value::read(text.as_bytes()).unwrap();
    let Transformed::Bundle(bundle) = transform(&value, text.len()) else { panic!() };
    let made = plan(&verified(&bundle), &value, &BTreeSet::new()).unwrap();
    assert_eq!(made.actions.len(), 2);
}

/// 200 cases every day; `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let cases =
        if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default().cases } else { 200 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A sentence with a word of its own, so that it can be found again.
fn sentence() -> impl Strategy<Value = String> {
    let verbs: Vec<&'static str> = VERBS.to_vec();
    let object = prop_oneof![
        Just("the module"),
        Just("`alpha` in `a.py`"),
        Just("all caches"),
        Just("it"),
        Just("users of Foo Inc. in Rome"),
        Just("3 replicas"),
        Just("them, if possible"),
        Just("downtime at most 5 minutes"),
    ];
    let form = prop_oneof![
        6 => Just("{v} {o} w{n}"), 1 => Just("The {o} must be w{n}"), 1 => Just("Users say that w{n} is slow"), 1 => Just("Please {v} {o} w{n}"), 1 => Just("Optional: {v} {o} w{n}"),
        1 => Just("Done when `make w{n}` passes"), 1 => Just("Costs below {n} USD for w{n}"), 1 => Just("Not in scope: w{n}"), 1 => Just("{v} w{n}; write w{n} to `b`"), 1 => Just("Do not touch w{n}"),
    ];
    (prop::sample::select(verbs), object, form, 0..100_000_u32).prop_map(|(verb, object, form, number)| {
        form.replace("{v}", verb).replace("{o}", object).replace("{n}", &number.to_string())
    })
}

fn block() -> impl Strategy<Value = String> {
    let list = |mark: fn(usize) -> String| {
        prop::collection::vec(sentence(), 1..6).prop_map(move |items| {
            items
                .iter()
                .enumerate()
                .map(|(at, it)| format!("{}{it}", mark(at)))
                .collect::<Vec<_>>()
                .join("\n")
        })
    };
    let title = prop_oneof![
        Just("Tasks"),
        Just("Not in scope"),
        Just("Acceptance criteria:"),
        Just("Notes"),
        Just("Constraints"),
        Just("# Shop"),
        Just("## Steps to reproduce"),
        Just("**Out of scope**"),
        Just("Change these:"),
        Just("### Mail"),
    ];
    prop_oneof![
        3 => prop::collection::vec(sentence(), 1..5).prop_map(|it| it.join(". ") + "."),
        2 => list(|_| "- ".to_owned()),
        2 => list(|at| format!("{}. ", at + 1)),
        1 => list(|at| format!("{}* ", if at % 2 == 1 { "  " } else { "" })),
        1 => list(|_| "- [ ] ".to_owned()),
        2 => title.prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(config())]

    /// Every sentence, item and constraint is in a leaf, and the verifier agrees.
    #[test]
    fn nothing_is_lost(blocks in prop::collection::vec((block(), any::<bool>()), 1..6), constraints in prop::collection::vec(sentence(), 0..4)) {
        let goal: String = blocks.iter().map(|(block, far)| format!("{block}{}", if *far { "\n\n" } else { "\n" })).collect();
        let intent = json!({"goal": goal, "constraints": constraints});
        let (bundle, _) = made(&intent);
        prop_assert_eq!(rules_broken(&intent, &json!(bundle)), [""; 0], "{}", goal);
        let said: String = bundle.terminal_nodes.iter().flat_map(|it| std::iter::once(&it.goal).chain(&it.constraints)).map(|it| format!("{it}\n")).collect();
        for word in goal.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| it.len() > 1 && it.starts_with('w') && it.bytes().skip(1).all(|it| it.is_ascii_digit())) {
            prop_assert!(said.contains(word), "{} is lost: {}", word, goal);
        }
    }
}
