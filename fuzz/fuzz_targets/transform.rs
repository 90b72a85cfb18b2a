//! A shape and any bytes: every intent is refused, or asked about until nothing is open, and then planned.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ordain_canon::{Canonicalizer, Value};
use ordain_kernel::{PlanError, Transformed, patch, plan, transform};
use ordain_spec::bundle::{AnswerType, Bundle, BundleStatus, Question};
use ordain_spec::plan::Proposal;
use ordain_spec::{Facts, Kind, verify_as, verify_value};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

/// Questions in one bundle at most.
const QUESTIONS_MAX: usize = 6;
/// Rounds of questions, if the text is short; a long one may have more gaps than they can ask about.
const ROUNDS_MAX: usize = 20;
const SHORT_BYTES_MAX: usize = 240;

fuzz_target!(|input: &[u8]| {
    let Some((shape, bytes)) = input.split_first() else { return };
    let text = || String::from_utf8_lossy(bytes).into_owned();
    let intent = match shape % 3 {
        0 => bytes.to_vec(),
        1 => json!({"goal": text()}).to_string().into_bytes(),
        _ => {
            let text = text();
            let mut lines = text.lines();
            let goal = lines.next().unwrap_or_default();
            json!({"goal": goal, "constraints": lines.collect::<Vec<_>>()}).to_string().into_bytes()
        }
    };
    if let Ok(bundle) = transformed(&intent) {
        settle(&intent, bundle);
    }
});

fn canonical(value: &impl Serialize) -> Vec<u8> {
    Canonicalizer::new().value(value).expect("it can be written").to_vec()
}

/// The bundle of an intent, once the laws for a single transform hold.
fn transformed(intent: &[u8]) -> Result<Bundle, String> {
    let value = Value::read(intent).map_err(|error| error.to_string())?;
    let once = transform(&value, intent.len());
    let again = transform(&value, intent.len());
    assert_eq!(canonical(&once), canonical(&again), "the same intent gives two results");
    let complete = matches!(once, Transformed::Bundle(_));
    let bundle = match once {
        Transformed::Bundle(bundle) | Transformed::Clarify(bundle) => bundle,
        Transformed::Refuse(refusal) => return Err(refusal.message),
    };
    let text = canonical(&bundle);
    let report = verify_value(Kind::Bundle, &Facts::default(), &Value::read(&text).expect("it can be read"));
    assert!(report.ok(), "the bundle breaks rules: {:?}", report.violations());
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

/// Answers what is asked until nothing is, and plans the result.
fn settle(intent: &[u8], mut bundle: Bundle) {
    // Numbers that one reader takes and the other does not are a matter of the target `read`.
    let Ok(mut intent) = serde_json::from_slice::<Json>(intent) else { return };
    let short = intent.to_string().len() <= SHORT_BYTES_MAX;
    let mut text = intent.to_string();
    for _ in 0..ROUNDS_MAX {
        if bundle.unresolved_questions.is_empty() {
            return planned(&text, &bundle);
        }
        if intent.get("context").is_none() {
            intent["context"] = json!({});
        }
        if intent["context"].get("answers").is_none() {
            intent["context"]["answers"] = Json::Object(Map::new());
        }
        let answers = intent["context"]["answers"].as_object_mut().expect("answers are an object");
        for question in &bundle.unresolved_questions {
            let known = answers.insert(question.id.clone(), answer(question));
            assert!(known.is_none(), "an answered question comes back: {question:?}");
        }
        text = intent.to_string();
        bundle = match transformed(text.as_bytes()) {
            Ok(bundle) => bundle,
            // The same answer everywhere may make two constraints contradict each other.
            Err(message) if message.contains("cannot hold together") => return,
            Err(message) => panic!("answers are refused: {message}: {text}"),
        };
    }
    assert!(!short || bundle.unresolved_questions.is_empty(), "questions do not end: {text}");
}

fn planned(intent: &str, bundle: &Bundle) {
    let text = canonical(bundle);
    let value = Value::read(&text).expect("it can be read");
    let bundle = verify_as::<Bundle>(&Facts::default(), &value).expect("the bundle verifies");
    let intent = Value::read(intent.as_bytes()).expect("it was read before");
    let proposal = match plan(&bundle, &intent, &BTreeSet::new()) {
        Ok(proposal) => proposal,
        // The parts of the intent itself may clash or not be commands.
        Err(PlanError::Clash(_) | PlanError::Command { .. }) if intent.get("context").is_some() => return,
        // A file, a target or an expected value with a NUL character in it.
        Err(PlanError::Invalid(_)) if intent.get("context").is_some_and(has_nul) => return,
        Err(error) => panic!("no plan: {error}"),
    };
    let text = canonical(&proposal);
    let value = Value::read(&text).expect("it can be read");
    let proposal = verify_as::<Proposal>(&Facts::default(), &value).expect("the plan verifies");
    let set = canonical(&patch(&proposal).expect("a plan without clashes has a patch set"));
    let report = verify_value(Kind::Patch, &Facts::default(), &Value::read(&set).expect("it can be read"));
    assert!(report.ok(), "the patch set breaks rules: {:?}", report.violations());
}

fn has_nul(value: &Value<'_>) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(elements) => elements.iter().any(has_nul),
        Value::Object(members) => members.iter().any(|(_, value)| has_nul(value)),
        _ => false,
    }
}
