//! The input that may be worked on: an intent in its normal form, or a refusal that says what is wrong with
//! it.

use crate::outcome::{Refusal, RefusalCode};
use ordain_canon::{Canonicalizer, IntentHash, Value};
use ordain_spec::intent::{Context, NormalizeError, normalize};
use ordain_spec::limits::{CONSTRAINT_CHARS_MAX, CONSTRAINTS_MAX, GOAL_CHARS_MAX, INTENT_BYTES_MAX};
use ordain_spec::{Facts, Hex64, Kind, PathFault, Report, Violation, path_faults, verify_value};

/// An intent that can be worked on.
pub(crate) struct Accepted {
    pub(crate) goal: String,
    pub(crate) constraints: Vec<String>,
    pub(crate) context: Context,
    /// Other keys of the context whose value is text.
    pub(crate) said: Vec<(String, String)>,
    /// The hash of the normalized intent.
    pub(crate) hash: Hex64,
}

/// Checks and normalizes an intent. `document_bytes` is the length of its text.
pub(crate) fn accept(intent: &Value<'_>, document_bytes: usize) -> Result<Accepted, Refusal> {
    if document_bytes > INTENT_BYTES_MAX {
        let message = format!("The intent has {document_bytes} bytes; at most {INTENT_BYTES_MAX} are read");
        return Err(Refusal::new(RefusalCode::LimitExceeded, message));
    }
    check_shape(intent)?;
    check_limits(intent)?;
    let normal = normalize(intent).map_err(refused)?;
    // The normal form is what is judged: normalizing can turn a harmless character into a colon or a slash.
    let report = verify_value(Kind::Intent, &Facts { document_bytes, ..Facts::default() }, &normal);
    if let Some(refusal) = first_of(&report, &normal) {
        return Err(refusal);
    }
    let internal = |error: String| Refusal::new(RefusalCode::InvalidIntent, error);
    let hash =
        IntentHash::of(&mut Canonicalizer::new(), &normal).map_err(|error| internal(error.to_string()))?;
    let context = normal.get("context").map(Value::to_typed).transpose();
    let text = |value: &Value<'_>| value.as_str().map(str::to_owned).unwrap_or_default();
    let list = normal.get("constraints").and_then(Value::as_array).unwrap_or_default();
    Ok(Accepted {
        goal: normal.get("goal").map(text).unwrap_or_default(),
        constraints: list.iter().map(text).collect(),
        context: context.map_err(|error| internal(error.to_string()))?.unwrap_or_default(),
        said: said(&normal),
        hash: hash.into(),
    })
}

fn said(intent: &Value<'_>) -> Vec<(String, String)> {
    let members = intent.get("context").and_then(Value::as_object).unwrap_or_default();
    let texts =
        members.iter().filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.trim().to_owned())));
    texts
        .filter(|(_, value)| !value.is_empty() && !ordain_clarity::placeholder::is_placeholder(value))
        .collect()
}

fn check_shape(intent: &Value<'_>) -> Result<(), Refusal> {
    let refuse = |code, message: String| Err(Refusal::new(code, message));
    let Some(members) = intent.as_object() else {
        return refuse(
            RefusalCode::InvalidIntent,
            format!("Intent must be an object, found {}", intent.kind()),
        );
    };
    if let Ok(kind) = Kind::recognise(intent)
        && kind != Kind::Intent
    {
        let message = format!("Expected an intent, found another document: {}", kind.title());
        return refuse(RefusalCode::InvalidIntent, message);
    }
    if let Some((key, _)) =
        members.iter().find(|(key, _)| !matches!(&**key, "goal" | "constraints" | "context"))
    {
        let message = format!(
            "Unknown field `{}`: an intent has goal, constraints and context",
            ordain_clarity::excerpt::excerpt(key, 60)
        );
        return refuse(RefusalCode::InvalidIntent, message);
    }
    if intent.get("goal").and_then(Value::as_str).is_none() {
        return refuse(RefusalCode::InvalidGoal, "Intent must have a string goal".to_owned());
    }
    match intent.get("constraints") {
        None => {}
        Some(Value::Array(list)) => {
            if let Some(at) = list.iter().position(|it| it.as_str().is_none()) {
                let found = list.get(at).map(Value::kind).unwrap_or_default();
                let hint = match list.get(at) {
                    Some(Value::Object(_)) => "; in YAML a text with a colon needs quotes: \"Timeout: 5 s\"",
                    _ => "",
                };
                let message = format!("Constraints must be strings; constraint {at} is {found}{hint}");
                return refuse(RefusalCode::InvalidConstraint, message);
            }
        }
        Some(other) => {
            let message = format!(
                "Constraints must be an array of strings, found {}; leave the field out if there are none",
                other.kind()
            );
            return refuse(RefusalCode::InvalidIntent, message);
        }
    }
    match intent.get("context") {
        None | Some(Value::Object(_)) => Ok(()),
        Some(other) => {
            refuse(RefusalCode::InvalidContext, format!("Context must be an object, found {}", other.kind()))
        }
    }
}

fn check_limits(intent: &Value<'_>) -> Result<(), Refusal> {
    let exceeded = |message: String| Err(Refusal::new(RefusalCode::LimitExceeded, message));
    let over = |text: &str, max: usize| text.chars().nth(max).is_some();
    if intent.get("goal").and_then(Value::as_str).is_some_and(|goal| over(goal, GOAL_CHARS_MAX)) {
        return exceeded(format!("The goal is longer than {GOAL_CHARS_MAX} characters"));
    }
    let constraints = intent.get("constraints").and_then(Value::as_array).unwrap_or_default();
    if constraints.len() > CONSTRAINTS_MAX {
        return exceeded(format!(
            "There are {} constraints; at most {CONSTRAINTS_MAX} are read",
            constraints.len()
        ));
    }
    let long = constraints.iter().position(|it| it.as_str().is_some_and(|it| over(it, CONSTRAINT_CHARS_MAX)));
    match long {
        Some(at) => exceeded(format!("Constraint {at} is longer than {CONSTRAINT_CHARS_MAX} characters")),
        None => Ok(()),
    }
}

fn refused(error: NormalizeError) -> Refusal {
    let code = match &error {
        NormalizeError::BlankGoal => {
            return Refusal::new(RefusalCode::EmptyGoal, "Intent goal cannot be empty");
        }
        NormalizeError::KeysCollide(_) => RefusalCode::InvalidContext,
        _ => RefusalCode::InvalidIntent,
    };
    Refusal::new(code, error.to_string())
}

/// The first finding that matters, as a refusal.
fn first_of(report: &Report, intent: &Value<'_>) -> Option<Refusal> {
    let violation = report.violations().first()?;
    let rule = violation.rule.name();
    let code = match &*rule {
        "IN1" => RefusalCode::InvalidGoal,
        "IN2" => RefusalCode::InvalidConstraint,
        "IN4" if violation.path.starts_with("/context/answers/") => RefusalCode::InvalidAnswer,
        "IN5" if violation.path.ends_with("/path") => return Some(path_refusal(violation, intent)),
        "IN8" => RefusalCode::LimitExceeded,
        _ if violation.path.starts_with("/context") => RefusalCode::InvalidContext,
        _ => RefusalCode::InvalidIntent,
    };
    Some(Refusal::new(code, at_path(violation)))
}

fn at_path(violation: &Violation) -> String {
    format!("{}: {}", violation.path, violation.message)
}

/// In the words of the contract where it has some.
fn path_refusal(violation: &Violation, intent: &Value<'_>) -> Refusal {
    let index = violation.path.split('/').rev().nth(1).and_then(|it| it.parse::<usize>().ok());
    let files =
        intent.get("context").and_then(|it| it.get("files")).and_then(Value::as_array).unwrap_or_default();
    let path = index.and_then(|at| files.get(at)?.get("path")?.as_str()).unwrap_or_default();
    let shown = ordain_clarity::excerpt::excerpt(path, 120);
    let faults = path_faults(path);
    let message = if faults.iter().any(|it| it.is_absolute()) {
        format!("Absolute paths not allowed in bundle: {shown}")
    } else if faults.contains(&PathFault::Parent) {
        format!("Parent directory references not allowed: {shown}")
    } else {
        at_path(violation)
    };
    Refusal::new(RefusalCode::InvalidPath, message)
}
