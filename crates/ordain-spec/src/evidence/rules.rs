//! EV1–EV7.

use crate::facts::Facts;
use crate::kind::Kind;
use crate::node::Node;
use crate::order::{check_distinct, check_order};
use crate::path::{path_problem, shorten};
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};
use crate::version::check_version;
use ordain_canon::{DerivedId, compare_utf16};

const EV: Kind = Kind::Evidence;

/// The rules of execution evidence.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: RuleId::Schema, title: "every field is known", section: "execution evidence", category: Category::Schema, check: by_shape },
    Rule { id: EV.rule(1), title: "the schema version is known", section: "execution evidence", category: Category::Schema, check: version_is_known },
    Rule { id: EV.rule(2), title: "the proposal is named with its hash", section: "execution evidence", category: Category::Reference, check: by_shape },
    Rule { id: EV.rule(3), title: "every action has one result with a known status", section: "execution evidence", category: Category::Field, check: results_are_distinct },
    Rule { id: EV.rule(4), title: "exit codes agree with the status", section: "execution evidence", category: Category::Consistency, check: exit_codes_agree },
    Rule { id: EV.rule(5), title: "produced files have safe paths, sorted, and hashes", section: "execution evidence", category: Category::Content, check: produced_is_sound },
    Rule { id: EV.rule(6), title: "every test has one result", section: "execution evidence", category: Category::Field, check: tests_are_distinct },
    Rule { id: EV.rule(7), title: "complete means that every action succeeded", section: "execution evidence", category: Category::Consistency, check: status_agrees },
];

/// EV1.
fn version_is_known(_: &Facts<'_>, evidence: Node<'_, '_>, found: &mut Findings) {
    check_version(evidence.get("evidence_schema_version"), 1, found);
}

/// EV3.
fn results_are_distinct(_: &Facts<'_>, evidence: Node<'_, '_>, found: &mut Findings) {
    let results = evidence.get("action_results");
    for result in results.elements() {
        let id = result.get("action_id");
        if let Some(text) = id.str().filter(|text| !DerivedId::Action.is_well_formed(text)) {
            found.at(id, format!("expected `act_` and 16 hexadecimal digits, found `{}`", shorten(text)));
        }
    }
    check_distinct(results, |result| result.get("action_id").str(), Some("action_id"), found);
}

/// EV4.
fn exit_codes_agree(_: &Facts<'_>, evidence: Node<'_, '_>, found: &mut Findings) {
    for result in evidence.get("action_results").elements() {
        let code = result.get("exit_code");
        let message = match (result.get("status").str(), code.integer()) {
            (Some("success"), Some(number)) if number != 0 => "a command that succeeded exits with 0",
            (Some("failure"), Some(0)) => "a command that failed does not exit with 0",
            (Some("skipped"), Some(_)) => "an action that was skipped has no exit code",
            _ => continue,
        };
        found.at(code, message);
    }
}

/// EV5.
fn produced_is_sound(_: &Facts<'_>, evidence: Node<'_, '_>, found: &mut Findings) {
    for result in evidence.get("action_results").elements() {
        let produced = result.get("produced");
        for file in produced.elements() {
            let path = file.get("path");
            if let Some(message) = path.str().and_then(path_problem) {
                found.at(path, message);
            }
        }
        check_order(
            produced,
            |file| file.get("path").str(),
            |left, right| compare_utf16(left, right),
            "path",
            found,
        );
        check_distinct(produced, |file| file.get("path").str(), Some("path"), found);
    }
}

/// EV6.
fn tests_are_distinct(_: &Facts<'_>, evidence: Node<'_, '_>, found: &mut Findings) {
    check_distinct(
        evidence.get("test_results"),
        |result| result.get("test_id").str(),
        Some("test_id"),
        found,
    );
}

/// EV7.
fn status_agrees(_: &Facts<'_>, evidence: Node<'_, '_>, found: &mut Findings) {
    let status = evidence.get("status");
    if status.str() != Some("complete") {
        return;
    }
    let results = evidence.get("action_results");
    let other = results
        .elements()
        .filter_map(|result| result.get("status").str())
        .find(|status| *status != "success");
    if let Some(other @ ("failure" | "skipped" | "timeout")) = other {
        found.at(status, format!("is `complete`, but an action ended with `{other}`"));
    }
}
