//! IN1–IN9.

use super::normalize::normal_constraint;
use crate::facts::Facts;
use crate::kind::Kind;
use crate::limits::{CONSTRAINT_CHARS_MAX, CONSTRAINTS_MAX, DELETES_MAX, GOAL_CHARS_MAX, INTENT_BYTES_MAX};
use crate::node::Node;
use crate::patch::check_clashes;
use crate::path::{clashes, nfc, path_faults, path_problem, shorten};
use crate::plan::check_test;
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};
use ordain_canon::{DerivedId, Value};
use std::collections::BTreeSet;

const IN: Kind = Kind::Intent;

/// The rules of an intent.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: RuleId::Schema, title: "every field is known", section: "BUNDLE_SPEC §2.1", category: Category::Schema, check: by_shape },
    Rule { id: IN.rule(1), title: "the goal is text that is not blank", section: "BUNDLE_SPEC §2.1, §6.1", category: Category::Field, check: goal_says_something },
    Rule { id: IN.rule(2), title: "constraints are strings", section: "BUNDLE_SPEC §2.1", category: Category::Field, check: by_shape },
    Rule { id: IN.rule(3), title: "the context is an object whose keys stay distinct", section: "BUNDLE_SPEC §2.1, §4.4", category: Category::Field, check: keys_stay_distinct },
    Rule { id: IN.rule(4), title: "answers belong to questions and are plain values", section: "intents", category: Category::Field, check: answers_are_plain },
    Rule { id: IN.rule(5), title: "files have safe, distinct paths and text as content", section: "intents", category: Category::Content, check: files_are_safe },
    Rule { id: IN.rule(6), title: "commands are argument vectors", section: "intents", category: Category::Field, check: commands_are_vectors },
    Rule { id: IN.rule(7), title: "tests have a known type, and target and expected value fit it", section: "intents", category: Category::Field, check: tests_make_sense },
    Rule { id: IN.rule(8), title: "the intent is within the limits", section: "intents", category: Category::Limit, check: limits_hold },
    Rule { id: IN.rule(9), title: "paths to delete are safe and distinct, and none of them is written", section: "intents", category: Category::Content, check: deletes_are_safe },
];

/// IN1.
fn goal_says_something(_: &Facts<'_>, intent: Node<'_, '_>, found: &mut Findings) {
    let goal = intent.get("goal");
    if goal.str().is_some_and(|text| normal_constraint(text).is_empty()) {
        found.at(goal, "must not be blank");
    }
}

/// IN3.
fn keys_stay_distinct(_: &Facts<'_>, intent: Node<'_, '_>, found: &mut Findings) {
    fn descend(node: Node<'_, '_>, found: &mut Findings) {
        match node.value() {
            Some(Value::Object(members)) => {
                // By form and then by the key itself, not by position: the order of members means nothing.
                let mut keys: Vec<_> = members.iter().map(|(key, _)| (nfc(key), key.as_ref())).collect();
                keys.sort_unstable();
                let mut seconds = BTreeSet::new();
                for pair in keys.windows(2) {
                    if let [(left, _), (right, key)] = pair
                        && left == right
                    {
                        seconds.insert(*key);
                    }
                }
                for (key, member) in node.members() {
                    if seconds.contains(key) {
                        let message = format!(
                            "the key `{}` equals another one after Unicode normalization",
                            shorten(key)
                        );
                        found.at(member, message);
                    }
                    descend(member, found);
                }
            }
            Some(Value::Array(_)) => node.elements().for_each(|element| descend(element, found)),
            _ => {}
        }
    }
    descend(intent.get("context"), found);
}

/// IN4.
fn answers_are_plain(_: &Facts<'_>, intent: Node<'_, '_>, found: &mut Findings) {
    let plain = |value: &Value<'_>| matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_));
    let context = intent.get("context");
    for (key, answer) in context.get("answers").members() {
        if !DerivedId::Question.is_well_formed(key) {
            found.at(
                answer,
                format!("`{}` is not the id of a question: `q_` and 16 hexadecimal digits", shorten(key)),
            );
            continue;
        }
        let fits = match answer.value() {
            Some(Value::Array(elements)) => elements.iter().all(plain),
            Some(value) => plain(value),
            None => true,
        };
        if !fits {
            found.at(answer, "an answer is text, a number, true or false, or a list of these");
        }
    }
}

/// IN5.
fn files_are_safe(_: &Facts<'_>, intent: Node<'_, '_>, found: &mut Findings) {
    let context = intent.get("context");
    let files = context.get("files");
    for file in files.elements() {
        let (path, content) = (file.get("path"), file.get("content"));
        if let Some(message) = path.str().and_then(path_problem) {
            found.at(path, message);
        }
        if content.str().is_some_and(|text| text.contains('\0')) {
            found.at(content, "content has a NUL character; only text can be written");
        }
    }
    check_clashes(files, "path", |_| true, found);
}

/// IN6.
fn commands_are_vectors(_: &Facts<'_>, intent: Node<'_, '_>, found: &mut Findings) {
    let context = intent.get("context");
    for command in context.get("commands").elements() {
        for (position, argument) in command.get("argv").elements().enumerate() {
            match argument.str() {
                Some("") if position == 0 => found.at(argument, "the name of the command must not be empty"),
                Some(text) if text.contains('\0') => found.at(argument, "has a NUL character"),
                _ => {}
            }
        }
    }
}

/// IN7.
fn tests_make_sense(_: &Facts<'_>, intent: Node<'_, '_>, found: &mut Findings) {
    let context = intent.get("context");
    for test in context.get("tests").elements() {
        check_test(test, found);
    }
}

/// IN8.
fn limits_hold(facts: &Facts<'_>, intent: Node<'_, '_>, found: &mut Findings) {
    let over = |text: &str, max: usize| text.chars().nth(max).is_some();
    if facts.document_bytes > INTENT_BYTES_MAX {
        found.at(
            intent,
            format!("the intent has {} bytes; at most {INTENT_BYTES_MAX} are read", facts.document_bytes),
        );
    }
    let goal = intent.get("goal");
    if goal.str().is_some_and(|text| over(text, GOAL_CHARS_MAX)) {
        found.at(goal, format!("is longer than {GOAL_CHARS_MAX} characters"));
    }
    let constraints = intent.get("constraints");
    let count = constraints.elements().len();
    if count > CONSTRAINTS_MAX {
        found.at(constraints, format!("has {count} entries; at most {CONSTRAINTS_MAX} are allowed"));
    }
    for constraint in constraints.elements() {
        if constraint.str().is_some_and(|text| over(text, CONSTRAINT_CHARS_MAX)) {
            found.at(constraint, format!("is longer than {CONSTRAINT_CHARS_MAX} characters"));
        }
    }
}

/// IN9. Only paths that are safe are compared, those of files too.
fn deletes_are_safe(_: &Facts<'_>, intent: Node<'_, '_>, found: &mut Findings) {
    let context = intent.get("context");
    let (files, deletes) = (context.get("files"), context.get("delete"));
    let count = deletes.elements().len();
    if count > DELETES_MAX {
        return found.at(deletes, format!("has {count} entries; at most {DELETES_MAX} are allowed"));
    }
    let safe = |text: &&str| path_faults(text).is_empty();
    let mut paths: Vec<&str> = Vec::new();
    for file in files.elements() {
        paths.extend(file.get("path").str().filter(safe));
    }
    let written = paths.len();
    let mut nodes = Vec::new();
    for path in deletes.elements() {
        let Some(text) = path.str() else { continue };
        match path_problem(text) {
            Some(message) => found.at(path, message),
            None => {
                paths.push(text);
                nodes.push(path);
            }
        }
    }
    for (at, other, clash) in clashes(&paths) {
        // A clash may name the file first, and two files are IN5's.
        let place = at.checked_sub(written).or_else(|| other.checked_sub(written));
        if let (Some(node), Some(path), Some(other)) =
            (place.and_then(|place| nodes.get(place)), paths.get(at), paths.get(other))
        {
            found.at(*node, clash.message(path, other));
        }
    }
}
