//! The bundles of intents: hard triggers, answers, refusals, goldens.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use ordain_canon::{Canonicalizer, Value};
use ordain_clarity::CLARIFY_SCORE;
use ordain_kernel::{KEEP_ALL, Transformed, transform};
use ordain_spec::bundle::{AnswerType, Bundle, Question};
use ordain_spec::{Facts, Kind, verify_value};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

fn made(intent: &Json) -> Transformed {
    let text = intent.to_string();
    transform(&Value::read(text.as_bytes()).unwrap(), text.len())
}

fn bundle(intent: &Json) -> Bundle {
    match made(intent) {
        Transformed::Bundle(bundle) | Transformed::Clarify(bundle) => {
            check(intent, &bundle);
            bundle
        }
        Transformed::Refuse(refusal) => panic!("{intent}: {refusal}"),
    }
}

/// Properties of every bundle.
fn check(intent: &Json, bundle: &Bundle) {
    let text = Canonicalizer::new().value(bundle).unwrap().to_vec();
    let report = verify_value(Kind::Bundle, &Facts::default(), &Value::read(&text).unwrap());
    assert!(report.ok(), "{intent}: {:?}", report.violations());
    assert!(bundle.unresolved_questions.len() <= 6, "{intent}");
    assert!(!bundle.outputs.is_empty());
    let said = said(intent);
    for question in &bundle.unresolved_questions {
        let quotes: Vec<&str> =
            question.text.split('“').skip(1).filter_map(|it| it.split('”').next()).collect();
        assert!(!quotes.is_empty(), "{} quotes nothing", question.text);
        for quote in quotes {
            let words = quote.trim_matches('…').trim();
            assert!(said.contains(words), "{:?} is not in {intent}", words);
        }
    }
    let ids: BTreeSet<&str> = bundle.unresolved_questions.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids.len(), bundle.unresolved_questions.len());
}

/// The words of an intent, blanks made one.
fn said(intent: &Json) -> String {
    let mut texts = vec![intent["goal"].as_str().unwrap().to_owned()];
    texts.extend(
        intent["constraints"].as_array().into_iter().flatten().map(|it| it.as_str().unwrap().to_owned()),
    );
    texts.iter().map(|it| it.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("\n")
}

fn questions(goal: &str, constraints: &[&str]) -> Vec<String> {
    let intent = json!({"goal": goal, "constraints": constraints});
    bundle(&intent).unresolved_questions.into_iter().map(|it| it.text).collect()
}

#[test]
fn hard_triggers_always_ask() {
    let settled = [
        "Done when `make test` passes.",
        "Return 3 rows of `orders` in 200 ms.",
        "Write `src/main.rs` in Rust.",
    ];
    for (goal, constraint, asked) in [
        ("Make it better", "", "“Make it better”"),
        ("do it", "", "“do it”"),
        ("Rename `get_user` to <new_name>", "", "“<new_name>”"),
        ("Rename `get_user` in `src/user.rs`", "Call it {new_name}", "“{new_name}”"),
        ("Rename `get_user` in `src/user.rs`", "The limit is TBD", "“TBD” in “The limit is TBD”"),
        ("Rename `get_user` in `src/user.rs`", "The owner is ???", "“???”"),
    ] {
        let constraints: Vec<&str> = settled.iter().copied().chain([constraint]).collect();
        let asked_now = questions(goal, &constraints);
        assert!(asked_now.iter().any(|it| it.contains(asked)), "{goal} {constraint}: {asked_now:?}");
    }
    let ports = questions("Start the server in `src/main.rs`", &["port must be 8080", "port must be 9090"]);
    assert!(
        ports[0].contains("“port must be 8080”") && ports[0].contains("“port must be 9090”"),
        "{ports:?}"
    );
}

#[test]
fn what_is_clear_is_not_asked() {
    for (goal, constraints) in [
        ("Build a REST service in Go with PostgreSQL and JWT", vec![]),
        (
            "Read the bytes into a Vec<u8>, take argv[1] as the path, answer {\"id\":1} and reject unknown fields",
            vec![],
        ),
        ("Add `--dry-run` to `deploy.sh`", vec!["must not log secrets", "must validate input"]),
    ] {
        assert_eq!(questions(goal, &constraints), Vec::<String>::new(), "{goal}");
    }
    let intent = json!({"goal": "Build a REST service in Go with PostgreSQL and JWT"});
    let brief = &bundle(&intent)
        .outputs
        .iter()
        .find(|it| it.path == "context/brief.md")
        .unwrap()
        .content
        .to_lowercase();
    for word in ["language", "database", "method", "authentication"] {
        assert!(!brief.contains(word), "{word}: {brief}");
    }
}

/// An answer that fits a question.
fn answer_to(question: &Question, number: usize) -> Json {
    match question.expected_answer_type {
        AnswerType::Boolean => json!(true),
        AnswerType::Choice => {
            json!(question.options.as_ref().unwrap().iter().find(|it| *it != KEEP_ALL).unwrap())
        }
        AnswerType::Number => json!(number),
        AnswerType::List => json!([format!("item {number}")]),
        AnswerType::Text | AnswerType::Structured => json!(format!("answer {number}")),
    }
}

/// Answers everything that is asked until nothing is; says in how many rounds, and what was asked.
fn clarify(mut intent: Json) -> (Bundle, usize, Vec<String>) {
    let mut asked: Vec<String> = Vec::new();
    for round in 0..20 {
        let bundle = bundle(&intent);
        if bundle.unresolved_questions.is_empty() {
            return (bundle, round, asked);
        }
        for question in &bundle.unresolved_questions {
            assert!(!asked.contains(&question.id), "asked again: {}", question.text);
            asked.push(question.id.clone());
            intent["context"]["answers"][&question.id] = answer_to(question, asked.len());
        }
    }
    panic!("still asking: {intent}");
}

#[test]
fn clarifying_ends() {
    for goal in [
        "Make it better",
        "Recommend some tools or whatever is best, etc.",
        "Rename <a-name> to {b_name} by ??? or TBD",
    ] {
        clarify(json!({"goal": goal}));
    }
    let contradictory = json!({"goal": "Serve `index.html`", "constraints": ["port must be 1", "port must be 2", "port must be 3", "Logging must be enabled", "Logging must be disabled"]});
    let (bundle, _, asked) = clarify(contradictory);
    assert_eq!(asked.len(), 2);
    assert_eq!(bundle.root_node.constraints, ["Logging must be disabled", "port must be 1"]);
    let brief = &bundle.outputs.iter().find(|it| it.path == "context/brief.md").unwrap().content;
    assert!(
        brief.contains("Dropped: port must be 2") && brief.contains("Dropped: Logging must be enabled"),
        "{brief}"
    );
}

#[test]
fn many_gaps_are_asked_six_at_a_time() {
    let constraints: Vec<String> = (0..20).map(|at| format!("Limit number {at} is TBD")).collect();
    let intent = json!({"goal": "Set the limits in `limits.toml`", "constraints": constraints});
    assert_eq!(bundle(&intent).unresolved_questions.len(), 6);
    let (bundle, rounds, asked) = clarify(intent);
    assert_eq!((rounds, asked.len()), (4, 20), "{asked:?}");
    assert!(
        bundle.root_node.constraints.iter().all(|it| !it.contains("TBD")),
        "{:?}",
        bundle.root_node.constraints
    );
}

#[test]
fn answers_fill_and_constrain() {
    let mut intent =
        json!({"goal": "Rename `run` to <name> in `src/a.rs`. The timeout is TBD and the limit is TBD."});
    let first = bundle(&intent);
    let id =
        |part: &str| first.unresolved_questions.iter().find(|it| it.text.contains(part)).unwrap().id.clone();
    intent["context"]["answers"] = json!({id("<name>"): "start", id("number 1"): "5 s", id("number 2"): 10});
    let bundle = bundle(&intent);
    assert_eq!(
        bundle.root_node.goal,
        "Rename `run` to start in `src/a.rs`. The timeout is 5 s and the limit is 10."
    );
    assert!(bundle.unresolved_questions.is_empty());
}

#[test]
fn wrong_answers_are_refused() {
    let intent = json!({"goal": "Rename `run` to <name>"});
    let id = bundle(&intent).unresolved_questions[0].id.clone();
    for (key, answer) in [
        (id.as_str(), json!("TBD")),
        (id.as_str(), json!("<name>")),
        (id.as_str(), json!("???")),
        (id.as_str(), json!("")),
        (id.as_str(), json!({"a": 1})),
        ("q_0123456789abcdef", json!("start")),
        ("nonsense", json!("start")),
        (id.as_str(), json!(true)),
    ] {
        let intent = json!({"goal": "Rename `run` to <name>", "context": {"answers": {key: answer}}});
        let Transformed::Refuse(refusal) = made(&intent) else { panic!("{intent}") };
        assert_eq!(refusal.code.name(), "INVALID_ANSWER", "{intent}");
    }
}

#[test]
fn an_answer_may_not_contradict() {
    let intent =
        json!({"goal": "Set the timeout in `client.rs`", "constraints": ["Timeout: 5 s", "Timeout: TBD"]});
    let id = bundle(&intent).unresolved_questions[0].id.clone();
    let mut answered = intent.clone();
    answered["context"]["answers"][&id] = json!("10 s");
    let Transformed::Refuse(refusal) = made(&answered) else { panic!() };
    assert!(refusal.message.contains("“Timeout: 5 s” and “Timeout: 10 s” cannot hold together"), "{refusal}");
    answered["context"]["answers"][&id] = json!("5 s");
    assert!(bundle(&answered).unresolved_questions.is_empty());
}

#[test]
fn a_contradiction_that_is_none_can_be_kept() {
    let intent = json!({"goal": "Serve `index.html`", "constraints": ["port must be 1", "port must be 2"]});
    let id = bundle(&intent).unresolved_questions[0].id.clone();
    let mut answered = intent.clone();
    answered["context"]["answers"][&id] = json!("keep all");
    let bundle = bundle(&answered);
    assert!(bundle.unresolved_questions.is_empty());
    assert_eq!(bundle.root_node.constraints, ["port must be 1", "port must be 2"]);
}

#[test]
fn gaps_of_general_names_are_asked_apart() {
    let intent = json!({"goal": "Configure `app.toml` with {{bucket-name}}", "constraints": ["Owner: <name>", "Bucket: <name>", "Copy {{bucket-name}} too"]});
    let first = bundle(&intent);
    assert_eq!(first.unresolved_questions.len(), 3, "{:?}", first.unresolved_questions);
    let mut answered = intent.clone();
    for question in &first.unresolved_questions {
        let value = if question.text.contains("Owner") {
            "anna"
        } else if question.text.contains("Bucket:") {
            "orders"
        } else {
            "main"
        };
        answered["context"]["answers"][&question.id] = json!(value);
    }
    let bundle = bundle(&answered);
    assert_eq!(bundle.root_node.goal, "Configure `app.toml` with main");
    assert_eq!(bundle.root_node.constraints, ["Bucket: orders", "Copy main too", "Owner: anna"]);
}

#[test]
fn constraints_stand_under_the_heading_they_mean() {
    for (constraint, heading) in [
        ("Convert to JPEG for clients that do not accept WebP", "Must"),
        ("Skip rows that must not be imported", "Must"),
        ("No later than 1 June", "Must"),
        ("No fewer than 3 replicas", "Must"),
        ("Nobody may delete invoices", "Prohibitions"),
        ("Out of scope: the admin pages", "Prohibitions"),
        ("No new dependencies", "Prohibitions"),
        ("Ideally the export is streamed", "Should"),
        ("It should not take longer than 5 s", "Should"),
        ("Users may export their data", "May"),
        ("Only admins may export data", "Must"),
        ("`make test` passes", "Done when"),
    ] {
        let bundle = bundle(&json!({"goal": "Add the export to `export.rs`", "constraints": [constraint]}));
        let brief = &bundle.outputs.iter().find(|it| it.path == "context/brief.md").unwrap().content;
        let section =
            brief.split("\n## ").find(|it| it.contains(&format!("- {constraint}\n"))).unwrap_or_default();
        assert_eq!(section.lines().next(), Some(heading), "{constraint}: {brief}");
    }
}

#[test]
fn refusals_have_their_codes() {
    let long = "x".repeat(10_001);
    let many: Vec<String> = (0..1_001).map(|at| format!("c{at}")).collect();
    for (intent, expected) in [
        (json!([]), "INVALID_INTENT: Intent must be an object, found an array"),
        (json!({}), "INVALID_GOAL: Intent must have a string goal"),
        (json!({"goal": 1}), "INVALID_GOAL: Intent must have a string goal"),
        (json!({"goal": " \n"}), "EMPTY_GOAL: Intent goal cannot be empty"),
        (json!({"goal": "x", "constraints": null}), "INVALID_INTENT: Constraints must be an array"),
        (
            json!({"goal": "x", "constraints": ["a", 1]}),
            "INVALID_CONSTRAINT: Constraints must be strings; constraint 1",
        ),
        (json!({"goal": "x", "context": []}), "INVALID_CONTEXT: Context must be an object"),
        (json!({"goal": "x", "extra": 1}), "INVALID_INTENT: Unknown field `extra`"),
        (
            json!({"goal": "x", "context": {"files": [{"path": "/etc/passwd", "content": ""}]}}),
            "INVALID_PATH: Absolute paths not allowed in bundle: /etc/passwd",
        ),
        (
            json!({"goal": "x", "context": {"files": [{"path": "../a", "content": ""}]}}),
            "INVALID_PATH: Parent directory references not allowed: ../a",
        ),
        (
            json!({"goal": "x", "context": {"files": [{"path": "a", "content": ""}, {"path": "A", "content": ""}]}}),
            "INVALID_PATH: ",
        ),
        (
            json!({"goal": "x", "context": {"files": [{"path": "\u{212a}:a", "content": ""}]}}),
            "INVALID_PATH: ",
        ),
        (
            json!({"goal": "x", "context": {"files": [{"path": "a"}]}}),
            "INVALID_CONTEXT: /context/files/0/content",
        ),
        (json!({"goal": "x", "context": {"commands": [{"argv": []}]}}), "INVALID_CONTEXT: "),
        (json!({"goal": long}), "LIMIT_EXCEEDED: The goal is longer than 10000 characters"),
        (json!({"goal": "x", "constraints": many}), "LIMIT_EXCEEDED: There are 1001 constraints"),
        (json!({"goal": "x", "constraints": ["y".repeat(4_001)]}), "LIMIT_EXCEEDED: Constraint 0"),
    ] {
        let Transformed::Refuse(refusal) = made(&intent) else { panic!("{intent}") };
        assert!(refusal.to_string().starts_with(expected), "{refusal}\n{expected}");
    }
    // The longest that is allowed is worked on.
    bundle(&json!({"goal": "é".repeat(10_000)}));
    let Transformed::Refuse(refusal) = transform(&Value::read(br#"{"goal":"x"}"#).unwrap(), (1 << 20) + 1)
    else {
        panic!()
    };
    assert_eq!(refusal.code.name(), "LIMIT_EXCEEDED");
}

#[test]
fn files_are_taken_as_they_are() {
    let content = "e\u{301}\r\n\u{0007}";
    let intent = json!({"goal": "Add `a.txt`", "context": {"files": [
        {"path": "b/a.txt", "content": content}, {"path": "Context/x", "content": ""}, {"path": "context-2", "content": ""}]}});
    let bundle = bundle(&intent);
    let paths: Vec<&str> = bundle.outputs.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(
        paths,
        ["Context/x", "b/a.txt", "context-2", "context-3/acceptance.json", "context-3/brief.md"]
    );
    let file = bundle.outputs.iter().find(|it| it.path == "b/a.txt").unwrap();
    assert_eq!((file.content.as_str(), file.confidence), (content, 100));
}

#[test]
fn several_requests_become_parts() {
    let intent = json!({
        "goal": "Add pagination to GET /orders. Also send a `Retry-After` header with every 429 response.",
        "constraints": ["A page of GET /orders holds 50 orders", "`Retry-After` must be 1 to 60 seconds", "The limit of GET /orders is TBD", "All code must be in Go"],
    });
    let bundle = bundle(&intent);
    assert_eq!(bundle.root_node.children.len(), 2);
    let leaf = |start: &str| bundle.terminal_nodes.iter().find(|it| it.goal.starts_with(start)).unwrap();
    assert_eq!(
        leaf("Also send").constraints,
        ["All code must be in Go", "`Retry-After` must be 1 to 60 seconds"]
    );
    assert!(leaf("Add").constraints.contains(&"All code must be in Go".to_owned()));
    assert!(
        bundle.root_node.unresolved_questions.len()
            + bundle.terminal_nodes.iter().map(|it| it.unresolved_questions.len()).sum::<usize>()
            == 1
    );
}

#[test]
fn order_of_members_and_constraints_means_nothing() {
    let one = r#"{"goal":"Add a log to `a.rs`","constraints":["b must be 1","a must be 2"],"context":{"x":1,"answers":{}}}"#;
    let other = r#"{"context":{"answers":{},"x":1},"constraints":["a must be 2","b  must be 1","a must be 2"],"goal":" Add a log to `a.rs` "}"#;
    let bytes = |text: &str| {
        let made = transform(&Value::read(text.as_bytes()).unwrap(), text.len());
        Canonicalizer::new().value(&made).unwrap().to_vec()
    };
    assert_eq!(bytes(one), bytes(other));
}

/// The worst clear and the best unclear request of a kind that was once judged wrongly stay on their side.
#[test]
fn short_requests_without_anything_else_are_unclear() {
    for goal in [
        "Improve performance",
        "Set up monitoring",
        "Write documentation",
        "Make the homepage fast and user-friendly",
    ] {
        let bundle = bundle(&json!({"goal": goal}));
        assert!(bundle.root_node.entropy.entropy_score >= CLARIFY_SCORE, "{goal}");
        assert!(!bundle.unresolved_questions.is_empty(), "{goal}");
    }
}
