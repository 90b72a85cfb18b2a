//! Laws of the transform, tried on texts made of the words that its rules know.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and asks the environment how long to try"
)]

mod support;

use ordain_canon::Value;
use ordain_clarity::CLARITY_RULES;
use ordain_kernel::{PlanError, Refusal, Transformed, patch, plan, transform};
use ordain_spec::bundle::{AnswerType, Bundle, BundleStatus, Question};
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;
use ordain_spec::{Facts, Verified};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use support::{canonical, report_on, verified};

/// Questions in one bundle at most.
const QUESTIONS_MAX: usize = 6;
/// More rounds of questions than the gaps of any text here can fill.
const ROUNDS_MAX: usize = 60;

/// 200 cases every day; `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let cases = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default().cases,
        None => 200,
    };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Words that a rule may trip over, besides those of the examples.
#[rustfmt::skip]
static WORDS: &[&str] = &[
    "must", "must not", "should", "may", "never", "only", "if", "when", "unless", "before", "after", "or", "either",
    "and", "is", "be", "at least", "at most", "no more than", "between", "up to", "exactly", "port", "timeout",
    "the log", "a file", "Redis", "PostgreSQL", "JSON", "Go", "src/main.rs", "`id`", "\"done\"", "max_retries",
    "1", "2", "30", "8080", "3.5", "08:30", "1.2.3", "1,000", "ms", "s", "minutes", "MB", "%", "$", "three",
    "enabled", "disabled", "ascending", "descending", "public", "private", "TBD", "???", "____", "<name>", "{name}",
    "`<name>`", "[insert it here]", "{{name}}", "to be decided", "Add", "Remove", "Write", "passes", "Done when",
    ".", ",", ";", ":", "\n", "\n\n", "\n- ", "\n1. ", "(", ")", "[", "]", "{", "}", "<", ">", "\"", "'", "`", "“", "”",
    "it", "x1", "true", "etc.", "e.g.", "é", "e\u{301}", "\u{37e}", "K", "\u{0}", "\u{1b}", "\u{2028}", "🦀", "",
];

/// Words of the rules' examples and of the list above, with and without blanks between them.
fn text(words_max: usize) -> impl Strategy<Value = String> {
    let examples = CLARITY_RULES.iter().flat_map(|rule| rule.accept.iter().chain(rule.reject));
    let whole: Vec<String> = examples.clone().map(|it| (*it).to_owned()).collect();
    let mut words: BTreeSet<String> = WORDS.iter().map(|it| (*it).to_owned()).collect();
    words.extend(examples.flat_map(|it| it.split(' ')).map(str::to_owned));
    let words: Vec<String> = words.into_iter().collect();
    let listed: Vec<String> = WORDS.iter().map(|it| (*it).to_owned()).collect();
    let piece = prop_oneof![
        4 => prop::sample::select(words),
        4 => prop::sample::select(listed),
        1 => prop::sample::select(whole),
        1 => "\\PC{0,4}",
    ];
    let blank = prop_oneof![8 => Just(" "), 1 => Just(""), 1 => Just(". ")];
    prop::collection::vec((piece, blank), 1..=words_max)
        .prop_map(|pieces| pieces.into_iter().flat_map(|(piece, blank)| [piece, blank.to_owned()]).collect())
}

fn intent() -> impl Strategy<Value = Json> {
    // A constraint in two forms is what contradictions are made of.
    let pair = (text(5), "[0-9]{1,3}", "[0-9]{1,3}").prop_map(|(words, one, other)| {
        vec![format!("{words} must be {one}"), format!("{words} must be {other}")]
    });
    let denied = text(5).prop_map(|words| vec![format!("It must {words}"), format!("It must not {words}")]);
    let order = (text(2), text(2)).prop_map(|(one, other)| {
        vec![format!("Run {one} before {other}"), format!("Run {other} before {one}")]
    });
    let some = prop_oneof![4 => text(12).prop_map(|it| vec![it]), 1 => pair, 1 => denied, 1 => order];
    let constraints = prop::collection::vec(some, 0..5).prop_map(|it| it.concat());
    let file = ("(context|src|Context)(-2)?/[a-c](\\.rs|\\.csv)?", text(2));
    let files = prop::collection::vec(file, 0..3);
    (text(25), constraints, files).prop_map(|(goal, constraints, files)| {
        let files: Vec<Json> =
            files.into_iter().map(|(path, content)| json!({"path": path, "content": content})).collect();
        match files.is_empty() {
            true => json!({"goal": goal, "constraints": constraints}),
            false => json!({"goal": goal, "constraints": constraints, "context": {"files": files}}),
        }
    })
}

fn result_of(intent: &str) -> Transformed {
    transform(&Value::read(intent.as_bytes()).unwrap(), intent.len())
}

/// The bundle of an intent, once the laws for a single transform hold.
fn transformed(intent: &str) -> Result<Bundle, Refusal> {
    let once = result_of(intent);
    assert_eq!(canonical(&once), canonical(&result_of(intent)));
    let complete = matches!(once, Transformed::Bundle(_));
    let bundle = match once {
        Transformed::Bundle(bundle) | Transformed::Clarify(bundle) => bundle,
        Transformed::Refuse(refusal) => return Err(refusal),
    };
    let report = report_on::<Bundle>(&Facts::default(), &bundle);
    assert!(report.ok(), "{}", canonical(&report));
    assert_eq!(bundle.status == BundleStatus::Complete, complete);
    assert_eq!(bundle.unresolved_questions.is_empty(), complete);
    assert!(bundle.unresolved_questions.len() <= QUESTIONS_MAX);
    for question in &bundle.unresolved_questions {
        let quoted = question.text.split_once('“').is_some_and(|(_, rest)| rest.contains('”'));
        assert!(quoted, "a question quotes nothing: {question:?}");
    }
    Ok(bundle)
}

fn answer(question: &Question) -> Json {
    match (question.expected_answer_type, question.options.as_deref()) {
        (AnswerType::Choice, Some([first, ..])) => json!(first),
        (AnswerType::Choice, _) => panic!("a choice of nothing: {question:?}"),
        (AnswerType::Boolean, _) => json!(true),
        (AnswerType::Number, _) => json!(1),
        (AnswerType::List, _) => json!(["x1"]),
        _ => json!("x1"),
    }
}

/// Answers what is asked until nothing is.
fn settled(mut intent: Json) -> Option<(Json, Bundle)> {
    let mut bundle = transformed(&intent.to_string()).ok()?;
    let mut answers = Map::new();
    for _ in 0..ROUNDS_MAX {
        if bundle.unresolved_questions.is_empty() {
            return Some((intent, bundle));
        }
        for question in &bundle.unresolved_questions {
            let known = answers.insert(question.id.clone(), answer(question));
            assert!(known.is_none(), "an answered question comes back: {question:?}");
        }
        let mut context = intent.get("context").cloned().unwrap_or_else(|| json!({}));
        context["answers"] = Json::Object(answers.clone());
        intent["context"] = context;
        bundle = match transformed(&intent.to_string()) {
            Ok(bundle) => bundle,
            // The same answer everywhere may make two constraints contradict each other.
            Err(refusal) if refusal.message.contains("cannot hold together") => return None,
            Err(refusal) => panic!("{refusal}: {intent}"),
        };
    }
    panic!("questions do not end: {intent}");
}

/// A plan and its patch set, unless what the intent brings forbids one.
fn planned(intent: &Json, bundle: &Bundle) {
    let text = intent.to_string();
    let value = Value::read(text.as_bytes()).unwrap();
    let bundle: Verified<Bundle> = verified(bundle);
    let proposal = match plan(&bundle, &value, &BTreeSet::new()) {
        Ok(proposal) => proposal,
        Err(PlanError::Clash(_)) if intent.get("context").is_some() => return,
        Err(PlanError::Invalid(_)) if intent["context"].to_string().contains("\\u0000") => return,
        Err(error) => panic!("no plan: {error}"),
    };
    let set = patch(&verified::<Proposal>(&proposal)).unwrap();
    let report = report_on::<PatchSet>(&Facts::default(), &set);
    assert!(report.ok(), "{}", canonical(&report));
}

/// Inputs that the fuzzer found.
#[test]
fn found_before() {
    // Two gaps whose sentences differ only far away from them.
    let same = "word ".repeat(60);
    let far_apart = format!("Say {same}TBD {same}. Write {same}TBD {same}.");
    for goal in [
        far_apart.as_str(),
        "An H\0TP call",
        "Add TBD now. Add TBD now.",
        "Write a file `out.csv` . - [x] Add a log ",
        "Write a file `out.csv`. 2. Add a log. a) Remove it. (3) Rename `x`.",
        "Add <name> now. Add <other> now.",
        "Add <name> now. Add <other> now. Remove the log.",
        // A gap that ends a sentence: its answer must not join it with the next one.
        "Anwendung The weather in Paris #?????? Set up monitoring ",
        // Numbers that are too long for the mark of an item.
        "Refactor a. 1,000. Set up monitoring",
        "Keep the logs. 2020. Remove the file `b.txt`.",
        "Set the colour of `a.css` to ??? Remove the file `b.txt`. Rename `c.txt` to `d.txt`.",
    ] {
        let (intent, bundle) = settled(json!({"goal": goal})).unwrap();
        planned(&intent, &bundle);
    }
}

proptest! {
    #![proptest_config(config())]

    /// Every intent is refused, or asked about until nothing is open, and then planned.
    #[test]
    fn questions_end_and_a_plan_follows(intent in intent()) {
        if let Some((intent, bundle)) = settled(intent) {
            planned(&intent, &bundle);
        }
    }

    /// The order of members does not matter, nor that of constraints, nor that one is said twice.
    #[test]
    fn order_and_repetition_change_nothing(intent in intent()) {
        let goal = &intent["goal"];
        let mut constraints = intent["constraints"].as_array().unwrap().clone();
        constraints.reverse();
        constraints.extend(constraints.first().cloned());
        let constraints = Json::Array(constraints);
        let context = intent.get("context").map(|it| format!("\"context\": {it}, ")).unwrap_or_default();
        let other = format!("{{{context}\"constraints\": {constraints},\n  \"goal\": {goal}}}");
        prop_assert_eq!(canonical(&result_of(&intent.to_string())), canonical(&result_of(&other)));
    }
}
