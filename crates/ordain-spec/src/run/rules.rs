//! RN1–RN9.

use crate::facts::Facts;
use crate::kind::Kind;
use crate::node::Node;
use crate::path::{path_problem, shorten};
use crate::profile;
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};
use crate::version::check_version;
use ordain_canon::{DerivedId, Value};

const RN: Kind = Kind::Run;

/// The rules of a run result.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: RuleId::Schema, title: "every field is known and has its type", section: "runs", category: Category::Schema, check: by_shape },
    Rule { id: RN.rule(1), title: "the schema version is known", section: "runs", category: Category::Schema, check: version_is_known },
    Rule { id: RN.rule(2), title: "the run ends after it starts, both in UTC", section: "runs", category: Category::Time, check: times_are_in_order },
    Rule { id: RN.rule(3), title: "the policy is a valid profile", section: "runs", category: Category::Reference, check: policy_is_valid },
    Rule { id: RN.rule(4), title: "an intent or what was brought instead is named by a relative path and a hash", section: "runs", category: Category::Reference, check: origin_is_named },
    Rule { id: RN.rule(5), title: "there is a bundle unless the intent was refused or there was none", section: "runs", category: Category::Consistency, check: bundle_fits_kind },
    Rule { id: RN.rule(6), title: "questions come with CLARIFY, a reason with REFUSE", section: "runs", category: Category::Consistency, check: outcome_fields_fit },
    Rule { id: RN.rule(7), title: "only a bundle is executed", section: "runs", category: Category::Consistency, check: execution_fits_kind },
    Rule { id: RN.rule(8), title: "only an executed bundle that did not fail is accepted", section: "runs", category: Category::Consistency, check: verdict_fits },
    Rule { id: RN.rule(9), title: "the last round of a work order is what the result says", section: "work orders", category: Category::Consistency, check: work_fits },
];

/// RN1.
fn version_is_known(_: &Facts<'_>, run: Node<'_, '_>, found: &mut Findings) {
    check_version(run.get("run_schema_version"), 1, found);
}

/// RN2.
fn times_are_in_order(_: &Facts<'_>, run: Node<'_, '_>, found: &mut Findings) {
    let mut times = Vec::new();
    for field in ["started_at", "completed_at"] {
        let node = run.get(field);
        let Some(text) = node.str() else { continue };
        match utc_time(text) {
            Some(time) => times.push(time),
            None => {
                found.at(node, format!("`{}` is not a time such as `2026-01-05T12:00:00Z`", shorten(text)))
            }
        }
    }
    if let [started, completed] = times.as_slice()
        && started > completed
    {
        found.at(run.get("completed_at"), "is before `started_at`");
    }
}

/// Date, time and fraction of an RFC 3339 time in UTC, in a form that orders as time does.
fn utc_time(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let template = b"dddd-dd-ddTdd:dd:dd";
    let fits = bytes.len() > template.len()
        && template.iter().zip(bytes).all(|(form, byte)| match form {
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        });
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
    if !fits {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => return None,
    };
    let in_range =
        (1..=days).contains(&day) && number(11, 13)? < 24 && number(14, 16)? < 60 && number(17, 19)? <= 60;
    let rest = text.get(19..)?.strip_suffix('Z')?;
    let fraction = match rest.strip_prefix('.') {
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => digits,
        None if rest.is_empty() => "",
        _ => return None,
    };
    in_range.then_some((text.get(..19)?, fraction.trim_end_matches('0')))
}

/// RN3. The profile's own rules, under this name.
fn policy_is_valid(facts: &Facts<'_>, run: Node<'_, '_>, found: &mut Findings) {
    let policy = run.get("policy");
    for rule in profile::RULES {
        (rule.check)(facts, policy, found);
    }
}

/// RN4.
fn origin_is_named(_: &Facts<'_>, run: Node<'_, '_>, found: &mut Findings) {
    let (intent, source) = (run.get("intent"), run.get("source"));
    for path in [intent.get("path"), source.get("path")] {
        if let Some(message) = path.str().and_then(path_problem) {
            found.at(path, message);
        }
    }
    match (intent.value(), source.value()) {
        (Some(Value::Null), None) => {
            found.at(intent, "is null, and no `source` says what was brought instead")
        }
        (Some(Value::Object(_)), Some(Value::Object(_))) => {
            found.at(source, "is there besides an intent; a run starts with one of them")
        }
        _ => {}
    }
}

/// RN5.
fn bundle_fits_kind(_: &Facts<'_>, run: Node<'_, '_>, found: &mut Findings) {
    let bundle = run.get("bundle");
    let kind = run.get("kernel_result_kind");
    let brought = matches!(run.get("source").value(), Some(Value::Object(_)));
    match (kind.str(), bundle.value()) {
        (Some(other @ ("CLARIFY" | "REFUSE")), _) if brought => {
            found.at(kind, format!("`{other}` is about an intent, and a plan or a patch set was brought"))
        }
        (Some("REFUSE"), Some(Value::Object(_))) => {
            found.at(bundle, "a refused intent has no bundle; expected null")
        }
        (Some(kind @ ("BUNDLE" | "CLARIFY")), Some(Value::Null)) if !brought => {
            found.at(bundle, format!("`{kind}` has a bundle"))
        }
        _ => {}
    }
    let id = bundle.get("bundle_id");
    if let Some(text) = id.str().filter(|text| !DerivedId::Bundle.is_well_formed(text)) {
        found.at(id, format!("expected `bundle_` and 16 hexadecimal digits, found `{}`", shorten(text)));
    }
}

/// RN6.
fn outcome_fields_fit(_: &Facts<'_>, run: Node<'_, '_>, found: &mut Findings) {
    let Some(kind) = run.get("kernel_result_kind").str() else { return };
    for (field, owner) in [("clarify_questions", "CLARIFY"), ("refuse_reason", "REFUSE")] {
        let node = run.get(field);
        match (kind == owner, node.is_missing()) {
            (true, true) => found.at(node, format!("`{field}` is missing; `{owner}` needs it")),
            (false, false) => found.at(node, format!("only `{owner}` has `{field}`")),
            _ => {}
        }
    }
    let reason = run.get("refuse_reason");
    let text = match reason.value() {
        Some(Value::Object(_)) => reason.get("code").str().and(reason.get("message").str()),
        _ => reason.str(),
    };
    if !reason.is_missing() && text.is_none_or(str::is_empty) {
        found.at(reason, "expected a reason: its text, or an object with `code` and `message`");
    }
    for question in run.get("clarify_questions").elements() {
        let text = match question.value() {
            Some(Value::Object(_)) => question.get("text").str(),
            _ => question.str(),
        };
        if text.is_none_or(|text| text.trim().is_empty()) {
            found.at(question, "expected a question: its text, or an object with `text`");
        }
    }
}

/// RN7.
fn execution_fits_kind(_: &Facts<'_>, run: Node<'_, '_>, found: &mut Findings) {
    let execution = run.get("execution");
    if let (Some(kind @ ("CLARIFY" | "REFUSE")), Some(Value::Object(_))) =
        (run.get("kernel_result_kind").str(), execution.value())
    {
        found.at(execution, format!("`{kind}` executes nothing; expected null"));
    }
}

/// RN8. Which actions were required only the plan knows; a failed execution passed none of them.
fn verdict_fits(_: &Facts<'_>, run: Node<'_, '_>, found: &mut Findings) {
    let decision = run.get("decision");
    let accepted = decision.get("accepted");
    if accepted.bool() != Some(true) {
        return;
    }
    let execution = run.get("execution");
    let message =
        match (run.get("kernel_result_kind").str(), execution.value(), execution.get("status").str()) {
            (Some(kind @ ("CLARIFY" | "REFUSE")), ..) => format!("`{kind}` cannot be accepted"),
            (_, Some(Value::Null), _) => "nothing was executed, so nothing can be accepted".to_owned(),
            (_, _, Some("failed")) => "an execution that failed cannot be accepted".to_owned(),
            _ if decision.get("validated_by_kernel").bool() == Some(false) => {
                "a run that the kernel did not validate cannot be accepted".to_owned()
            }
            _ => return,
        };
    found.at(accepted, message);
}

/// RN9. The order ends with the first round that is accepted, so none before the last is.
fn work_fits(_: &Facts<'_>, run: Node<'_, '_>, found: &mut Findings) {
    let work = run.get("work");
    if work.is_missing() {
        return;
    }
    if !matches!(run.get("intent").value(), Some(Value::Object(_)))
        || run.get("kernel_result_kind").str() != Some("BUNDLE")
    {
        return found.at(work, "a work order starts with an intent that has a complete bundle");
    }
    let rounds = work.get("rounds");
    let count = rounds.elements().len();
    if count == 0 && rounds.array().is_some() {
        return found.at(rounds, "has no round");
    }
    for (number, round) in (1..).zip(rounds.elements()) {
        let accepted = round.get("accepted");
        let untried = |field: &str| round.get(field).is_missing();
        let protected = round.get("protected").elements().len() > 0;
        for path in round.get("protected").elements() {
            if let Some(problem) = path.str().and_then(path_problem) {
                found.at(path, problem);
            }
        }
        if accepted.bool() == Some(true) {
            if number < count {
                found.at(accepted, "a round that is accepted is the last one");
            } else if untried("patch_hash") || untried("evidence_hash") {
                found.at(accepted, "nothing was tried, so nothing can be accepted");
            } else if protected && untried("restored_evidence_hash") {
                found.at(accepted, "protected files changed, and nothing was tried with them put back");
            }
        }
        if number < count {
            continue;
        }
        let decision = run.get("decision");
        if let (Some(of_round), Some(of_run)) = (accepted.bool(), decision.get("accepted").bool())
            && of_round != of_run
        {
            found.at(accepted, "the decision of the run says something else");
        }
        let (hash, executed) = (round.get("evidence_hash"), run.get("execution"));
        if hash.str() != executed.get("evidence_hash").str() {
            found.at(hash, "is not the evidence that the run names");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::utc_time;
    use crate::{Facts, Kind, verify_text};
    use serde_json::{Value as Json, json};

    /// The demands of RN4 and RN5 on a run that starts like this.
    fn found(start: &Json) -> Vec<String> {
        let text = start.to_string();
        let report = verify_text(Kind::Run, &Facts::default(), text.as_bytes()).unwrap();
        let about = |rule| rule == Kind::Run.rule(4) || rule == Kind::Run.rule(5);
        let found = report.violations().iter().filter(|it| about(it.rule));
        found.map(|it| format!("{} {}", it.rule, it.path)).collect()
    }

    #[test]
    fn a_run_starts_with_one_thing() {
        let hash = format!("sha256:{}", "0".repeat(64));
        let intent = json!({"path": "intent.json", "sha256": hash});
        let source = json!({"kind": "patch", "path": "patch.json", "sha256": hash});
        let bundle = json!({"bundle_id": "bundle_0123456789abcdef", "sha256": hash});
        let run = |intent: &Json, source: Option<&Json>, bundle: &Json, kind: &str| {
            let mut run = json!({"intent": intent, "bundle": bundle, "kernel_result_kind": kind});
            if let Some(source) = source {
                run["source"] = source.clone();
            }
            found(&run)
        };
        let none: [&str; 0] = [];
        assert_eq!(run(&intent, None, &bundle, "BUNDLE"), none);
        assert_eq!(run(&Json::Null, Some(&source), &bundle, "BUNDLE"), none);
        assert_eq!(run(&Json::Null, Some(&source), &Json::Null, "BUNDLE"), none);
        assert_eq!(run(&intent, None, &Json::Null, "REFUSE"), none);
        assert_eq!(run(&Json::Null, None, &bundle, "BUNDLE"), ["RN4 /intent"]);
        assert_eq!(run(&intent, Some(&source), &bundle, "BUNDLE"), ["RN4 /source"]);
        assert_eq!(run(&Json::Null, Some(&json!({"kind": "note"})), &bundle, "BUNDLE").len(), 3);
        assert_eq!(run(&intent, None, &Json::Null, "CLARIFY"), ["RN5 /bundle"]);
        assert_eq!(run(&Json::Null, Some(&source), &bundle, "CLARIFY"), ["RN5 /kernel_result_kind"]);
    }

    #[test]
    fn times() {
        for good in ["2026-01-05T12:00:00Z", "2024-02-29T23:59:60Z", "2026-01-05T12:00:00.123Z"] {
            assert!(utc_time(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "2026-01-05",
            "2026-13-01T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2026-01-05T24:00:00Z",
            "2026-01-05T12:00:00+01:00",
            "2026-01-05T12:00:00",
            "2026-01-05T12:00:00.Z",
            "2026-01-05 12:00:00Z",
            "２026-01-05T12:00:00Z",
        ] {
            assert!(utc_time(bad).is_none(), "{bad}");
        }
        assert!(utc_time("2026-01-05T12:00:00.5Z") > utc_time("2026-01-05T12:00:00.49Z"));
        assert_eq!(utc_time("2026-01-05T12:00:00.50Z"), utc_time("2026-01-05T12:00:00.5Z"));
    }
}
