//! Every rule has its vectors, every folder has its rule, and each report is the one that is written down.
//!
//! `cargo xtask gen` writes `reject.report.json` anew; the diff is then part of the review.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

use ordain_canon::{Canonicalizer, Value};
use ordain_spec::{Category, Kind, Report, RuleId};
use ordain_testkit::vectors;
use std::collections::BTreeSet;

fn canonical(report: &Report) -> String {
    String::from_utf8(Canonicalizer::new().value(report).unwrap().to_vec()).unwrap()
}

#[test]
fn rules_and_folders_are_the_same_set() {
    let rules: BTreeSet<(Kind, String)> = Kind::ALL
        .iter()
        .flat_map(|kind| kind.rules().iter().map(|rule| (*kind, rule.id.name().into_owned())))
        .collect();
    let folders: BTreeSet<(Kind, String)> =
        vectors().into_iter().map(|vector| (vector.kind, vector.rule)).collect();
    assert_eq!(
        rules.difference(&folders).collect::<Vec<_>>(),
        Vec::<&(Kind, String)>::new(),
        "rules without a folder"
    );
    assert_eq!(
        folders.difference(&rules).collect::<Vec<_>>(),
        Vec::<&(Kind, String)>::new(),
        "folders without a rule"
    );
}

#[test]
fn every_folder_says_why() {
    for vector in vectors() {
        let about = vector.file("about.md").unwrap_or_else(|| panic!("{vector}/about.md is missing"));
        assert!(about.trim().len() > 40 && !about.starts_with('#'), "{vector}/about.md");
    }
}

/// Rules about the verifier itself have properties for their proof; every other rule has both documents.
#[test]
fn accept_is_accepted_and_reject_is_rejected_by_its_rule() {
    let bless = std::env::var_os("ORDAIN_BLESS").is_some();
    let mut wrong = Vec::new();
    for vector in vectors() {
        let rule = vector.kind.rules().iter().find(|rule| rule.id.name() == vector.rule).unwrap();
        if rule.category == Category::Verifier {
            continue;
        }
        let accept = vector.report("accept.json");
        if !accept.ok() {
            wrong.push(format!("{vector}/accept.json is refused: {}", canonical(&accept)));
        }
        let reject = vector.report("reject.json");
        // PS2 refuses a symlink as an unknown operation, PS9 says why.
        let expected: &[&str] = if vector.rule == "PS9" { &["PS2", "PS9"] } else { &[&vector.rule] };
        let rules: BTreeSet<String> =
            reject.violations().iter().map(|found| found.rule.name().into_owned()).collect();
        if !rules.iter().map(String::as_str).eq(expected.iter().copied()) {
            wrong.push(format!("{vector}/reject.json: {}", canonical(&reject)));
        }
        let report = canonical(&reject) + "\n";
        if bless {
            std::fs::write(vector.folder.join("reject.report.json"), &report).unwrap();
        }
        if vector.file("reject.report.json").as_deref() != Some(&report) {
            wrong.push(format!("{vector}/reject.report.json is not {report}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The two documents of a vector differ little: that difference is the documentation.
#[test]
fn accept_and_reject_differ_in_few_places() {
    fn differences(left: &Value<'_>, right: &Value<'_>) -> usize {
        match (left, right) {
            (Value::Object(a), Value::Object(b)) => {
                let keys: BTreeSet<&str> = a.iter().chain(b).map(|(key, _)| &**key).collect();
                let pair = |key: &str| match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => differences(left, right),
                    _ => 1,
                };
                keys.into_iter().map(pair).sum()
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                a.iter().zip(b).map(|(left, right)| differences(left, right)).sum()
            }
            _ => usize::from(!left.same_as(right)),
        }
    }
    for vector in vectors() {
        let (Some(accept), Some(reject)) = (vector.file("accept.json"), vector.file("reject.json")) else {
            continue;
        };
        let (accept, reject) =
            (Value::read(accept.as_bytes()).unwrap(), Value::read(reject.as_bytes()).unwrap());
        let count = differences(&accept, &reject);
        assert!((1..=24).contains(&count), "{vector}: {count} differences");
    }
}

#[test]
fn every_vector_is_recognised_by_its_content() {
    for vector in vectors() {
        for name in ["accept.json", "reject.json"] {
            let Some(text) = vector.file(name) else { continue };
            let kind = Kind::recognise(&Value::read(text.as_bytes()).unwrap());
            assert_eq!(kind, Ok(vector.kind), "{vector}/{name}");
        }
    }
}

#[test]
fn tables_are_in_order_and_read_as_statements() {
    for kind in Kind::ALL {
        let numbers: Vec<u16> = kind
            .rules()
            .iter()
            .filter_map(|rule| match rule.id {
                RuleId::Numbered(_, number) => Some(number),
                _ => None,
            })
            .collect();
        assert!(numbers.is_sorted_by(|left, right| left < right), "{kind}: {numbers:?}");
        for rule in kind.rules() {
            let title = rule.title;
            assert!(
                title.chars().next().is_some_and(|first| !first.is_uppercase()) && !title.ends_with('.'),
                "{title}"
            );
            assert!(title.split(' ').count() >= 3, "{}: `{title}` is no statement", rule.id);
        }
    }
}

/// The published schemas, judged by an implementation that is not ours: it takes every accepted document, and it
/// takes none that we refuse for its shape.
#[test]
fn published_schemas_agree_with_the_verifier() {
    let to_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    for vector in vectors() {
        let validator = jsonschema::draft202012::new(&vector.kind.schema()).unwrap();
        if let Some(accept) = vector.file("accept.json") {
            let errors: Vec<String> =
                validator.iter_errors(&to_json(&accept)).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{vector}/accept.json: {errors:?}");
        }
        if vector.rule == "SCHEMA" || vector.rule == "V-PROP-000" {
            assert!(
                !validator.is_valid(&to_json(&vector.file("reject.json").unwrap())),
                "{vector}/reject.json"
            );
        }
    }
}
