//! PR1–PR14 (PROPOSAL_INTERNAL_SPEC §8, and what the rulings add), in spec order.

use crate::command::split_command;
use crate::facts::Facts;
use crate::intent::is_blank;
use crate::kind::Kind;
use crate::node::Node;
use crate::order::{check_distinct, check_order};
use crate::path::{path_problem, shorten};
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};
use crate::version::check_version;
use ordain_canon::{Canonicalizer, ContentHash, DerivedId, compare_utf16, is_lower_hex, is_sha256};
use std::collections::BTreeSet;

const PR: Kind = Kind::Plan;
const SPEC: &str = "PROPOSAL_INTERNAL_SPEC §8";

/// The rules of a plan proposal.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: RuleId::Schema, title: "every field is known and has its type", section: "PROPOSAL_INTERNAL_SPEC §3", category: Category::Schema, check: by_shape },
    Rule { id: PR.rule(1), title: "the schema version is known", section: SPEC, category: Category::Schema, check: version_is_known },
    Rule { id: PR.rule(2), title: "the source bundle is named and is the one given", section: "PROPOSAL_INTERNAL_SPEC §4, §8", category: Category::Reference, check: source_is_right },
    Rule { id: PR.rule(3), title: "a plan for a complete bundle with files has actions", section: SPEC, category: Category::Consistency, check: actions_are_there },
    Rule { id: PR.rule(4), title: "action ids are unique", section: SPEC, category: Category::Consistency, check: action_ids_are_unique },
    Rule { id: PR.rule(5), title: "every action has a known type", section: SPEC, category: Category::Field, check: by_shape },
    Rule { id: PR.rule(6), title: "action ids are well-formed", section: SPEC, category: Category::Field, check: action_ids_are_well_formed },
    Rule { id: PR.rule(7), title: "test ids are unique", section: SPEC, category: Category::Consistency, check: test_ids_are_unique },
    Rule { id: PR.rule(8), title: "every test has a known type, and target and expected value fit it", section: SPEC, category: Category::Field, check: tests_make_sense },
    Rule { id: PR.rule(9), title: "confidence is an integer from 0 to 100", section: SPEC, category: Category::Limit, check: by_shape },
    Rule { id: PR.rule(10), title: "the summary says something", section: SPEC, category: Category::Field, check: summary_is_there },
    Rule { id: PR.rule(11), title: "actions are sorted by order and id, tests by id", section: "PROPOSAL_INTERNAL_SPEC §6, §8", category: Category::Order, check: lists_are_sorted },
    Rule { id: PR.rule(12), title: "files to write have content, files to delete have none", section: SPEC, category: Category::Content, check: content_is_there },
    Rule { id: PR.rule(13), title: "every id matches its content", section: "PROPOSAL_INTERNAL_SPEC §4.3", category: Category::Integrity, check: ids_match },
    Rule { id: PR.rule(14), title: "targets are safe paths or commands that need no shell", section: "PROPOSAL_INTERNAL_SPEC §5", category: Category::Content, check: targets_are_safe },
];

fn is_file_write(action: Node<'_, '_>) -> bool {
    matches!(action.get("type").str(), Some("create_file" | "modify_file"))
}

fn is_file(action: Node<'_, '_>) -> bool {
    is_file_write(action) || action.get("type").str() == Some("delete_file")
}

/// PR1.
fn version_is_known(_: &Facts<'_>, plan: Node<'_, '_>, found: &mut Findings) {
    check_version(plan.get("schema_version"), 1, found);
}

/// PR2.
fn source_is_right(facts: &Facts<'_>, plan: Node<'_, '_>, found: &mut Findings) {
    let id = plan.get("source_bundle_id");
    let hash = plan.get("source_bundle_hash");
    let well_formed = |text: &str| {
        let digits = text.strip_prefix("bundle_").or_else(|| text.strip_prefix("bun_"));
        digits.is_some_and(|digits| is_lower_hex(digits, 16))
    };
    let mut comparable = id.str();
    if let Some(text) = id.str().filter(|text| !well_formed(text)) {
        found.at(id, format!("expected `bundle_` and 16 hexadecimal digits, found `{}`", shorten(text)));
        comparable = None;
    }
    let Some(bundle) = facts.bundle else { return };
    if let Some(problem) = &bundle.problem {
        found.warn(id, format!("the bundle given is not valid itself: {problem}"));
    }
    let digits = |text: &str| text.split_once('_').map(|(_, digits)| digits.to_owned());
    if comparable.is_some_and(|named| digits(named) != digits(&bundle.id)) {
        found.at(id, format!("names another bundle than the one given, which is `{}`", bundle.id));
    }
    if hash.str().is_some_and(|named| is_sha256(named) && named != bundle.hash) {
        found.at(hash, format!("is not the hash of the bundle given, which is `{}`", bundle.hash));
    }
}

/// PR3.
fn actions_are_there(facts: &Facts<'_>, plan: Node<'_, '_>, found: &mut Findings) {
    let actions = plan.get("actions");
    if actions.array().is_none_or(|actions| !actions.is_empty()) {
        return;
    }
    match facts.bundle {
        Some(bundle) if bundle.complete && bundle.brings_files => {
            found.at(actions, "is empty although the bundle is complete and brings files");
        }
        _ => found.warn(actions, "is empty: this plan does nothing"),
    }
}

/// PR4.
fn action_ids_are_unique(_: &Facts<'_>, plan: Node<'_, '_>, found: &mut Findings) {
    check_distinct(plan.get("actions"), |action| action.get("id").str(), Some("id"), found);
}

/// PR6.
fn action_ids_are_well_formed(_: &Facts<'_>, plan: Node<'_, '_>, found: &mut Findings) {
    let mut canon = Canonicalizer::new();
    for action in plan.get("actions").elements() {
        let id = action.get("id");
        if let Some(text) = id.str().filter(|text| !DerivedId::Action.is_well_formed(text)) {
            let derived = action.value().and_then(|action| DerivedId::Action.of(&mut canon, action).ok());
            let content = derived.map(|id| format!("; the content gives `{id}`")).unwrap_or_default();
            let message =
                format!("expected `act_` and 16 hexadecimal digits, found `{}`{content}", shorten(text));
            found.at(id, message);
        }
    }
}

/// PR7.
fn test_ids_are_unique(_: &Facts<'_>, plan: Node<'_, '_>, found: &mut Findings) {
    check_distinct(plan.get("acceptance_tests"), |test| test.get("id").str(), Some("id"), found);
    for test in plan.get("acceptance_tests").elements() {
        let id = test.get("id");
        if id.str().is_some_and(str::is_empty) {
            found.at(id, "must not be empty");
        }
    }
}

/// PR8.
fn tests_make_sense(_: &Facts<'_>, plan: Node<'_, '_>, found: &mut Findings) {
    for test in plan.get("acceptance_tests").elements() {
        check_test(test, found);
    }
}

/// The fields that an acceptance test of a plan and a test of an intent share.
pub(crate) fn check_test(test: Node<'_, '_>, found: &mut Findings) {
    let (target, expected) = (test.get("target"), test.get("expected"));
    let Some(test_type) = test.get("type").str() else { return };
    if let Some(message) = expected.str().and_then(|text| expected_problem(test_type, text)) {
        found.at(expected, message);
    }
    let Some(text) = target.str() else { return };
    match test_type {
        "command_success" => {
            if let Err(error) = split_command(text) {
                found.at(target, error.to_string());
            }
        }
        "hash_match" | "file_exists" | "content_match" => {
            if let Some(message) = path_problem(text) {
                found.at(target, message);
            }
        }
        _ => {}
    }
}

/// The error in the expected value of a test.
fn expected_problem(test_type: &str, expected: &str) -> Option<String> {
    let wanted = match test_type {
        "hash_match" if !is_sha256(expected) => "`sha256:` and 64 lower-case hexadecimal digits",
        "file_exists" if expected != "true" => "`true`",
        "command_success" if expected != "0" => "`0`, the exit code",
        _ => return None,
    };
    Some(format!("`{test_type}` expects {wanted}, found `{}`", shorten(expected)))
}

/// PR10.
fn summary_is_there(_: &Facts<'_>, plan: Node<'_, '_>, found: &mut Findings) {
    let summary = plan.get("summary");
    if summary.str().is_some_and(|text| text.chars().all(is_blank)) {
        found.at(summary, "must not be blank");
    }
}

/// PR11.
fn lists_are_sorted(_: &Facts<'_>, plan: Node<'_, '_>, found: &mut Findings) {
    check_order(
        plan.get("actions"),
        // A malformed id is a matter of PR6 and has no place in the order.
        |action| {
            let id = action.get("id").str().filter(|id| DerivedId::Action.is_well_formed(id));
            Some((action.get("order").integer()?, id?))
        },
        |left, right| left.0.cmp(&right.0).then_with(|| compare_utf16(left.1, right.1)),
        "order, then id",
        found,
    );
    let tests = plan.get("acceptance_tests");
    check_order(tests, |test| test.get("id").str(), |left, right| compare_utf16(left, right), "id", found);
}

/// PR12.
fn content_is_there(_: &Facts<'_>, plan: Node<'_, '_>, found: &mut Findings) {
    for action in plan.get("actions").elements() {
        let content = action.get("content");
        if is_file_write(action) && content.is_missing() {
            found.at(content, "`content` is missing; a file to write needs it");
        } else if action.get("type").str() == Some("delete_file") && content.str().is_some() {
            found.at(content, "`delete_file` has no content");
        }
    }
}

/// PR13. A malformed action id is a matter of PR6.
fn ids_match(_: &Facts<'_>, plan: Node<'_, '_>, found: &mut Findings) {
    let mut canon = Canonicalizer::new();
    let mut check = |node: Node<'_, '_>, kind: DerivedId, found: &mut Findings| {
        let id = node.get("id");
        if let (Some(named), Some(value)) = (id.str(), node.value())
            && let Ok(derived) = kind.of(&mut canon, value)
            && named != derived
        {
            found.at(id, format!("does not match the content, which gives `{derived}`"));
        }
    };
    check(plan, DerivedId::Plan, found);
    for action in plan.get("actions").elements() {
        if action.get("id").str().is_some_and(|id| DerivedId::Action.is_well_formed(id)) {
            check(action, DerivedId::Action, found);
        }
    }
}

/// PR14.
fn targets_are_safe(_: &Facts<'_>, plan: Node<'_, '_>, found: &mut Findings) {
    let mut test_ids = BTreeSet::new();
    for test in plan.get("acceptance_tests").elements() {
        test_ids.extend(test.get("id").str());
    }
    for action in plan.get("actions").elements() {
        let (target, content, expected) =
            (action.get("target"), action.get("content"), action.get("expected_hash"));
        let problem = target.str().and_then(|text| match action.get("type").str()? {
            _ if is_file(action) => path_problem(text),
            "test" if test_ids.contains(text) => None,
            "execute_command" | "validate" | "test" => {
                split_command(text).err().map(|error| error.to_string())
            }
            _ => None,
        });
        if let Some(message) = problem {
            found.at(target, message);
        }
        if action.get("type").str() == Some("execute_command") && content.str().is_some() {
            found.at(content, "`execute_command` has no content; its arguments are part of the target");
        }
        let Some(text) = content.str() else { continue };
        if text.contains('\0') {
            found.at(content, "content has a NUL character; only text can be written");
        }
        if let Some(named) = expected.str().filter(|named| is_file_write(action) && is_sha256(named)) {
            let hash = ContentHash::of(text.as_bytes());
            if !hash.is(named) {
                found.at(expected, format!("does not match the content, whose hash is `{hash}`"));
            }
        }
    }
}
