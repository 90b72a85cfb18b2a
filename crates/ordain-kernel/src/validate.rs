//! Whether execution evidence shows that a plan was carried out: everything is worked out again, nothing is believed.

mod criterion;
mod files;

pub use criterion::{Criterion, Reason, Recommendation, Validation};

use criterion::Found;
use files::Files;
use ordain_canon::{Canonicalizer, ContentHash, PlanHash};
use ordain_spec::Verified;
use ordain_spec::evidence::{ActionResult, ActionStatus, ExecutionEvidence, ExecutionStatus, TestResult};
use ordain_spec::plan::{AcceptanceTest, ActionType, Proposal, ProposedAction, TestType};
use std::collections::{BTreeMap, BTreeSet};

/// The judgement of the evidence about the plan.
///
/// Doubt is never `accept`: what is missing or contradicts itself calls for `reject`, even where it concerns an action
/// or a test that may fail. Whether the plan needs approval is another question, asked when it is applied.
pub fn validate(evidence: &Verified<ExecutionEvidence>, plan: &Verified<Proposal>) -> Validation {
    let mut found = Found::default();
    check_plan(evidence, plan, &mut found);
    // Results of another plan say nothing about this one, in as many words as it has actions.
    if evidence.proposal_id.as_str() != plan.id {
        return found.into_validation();
    }
    check_actions(evidence, plan, &mut found);
    check_tests(evidence, plan, &mut found);
    check_status(evidence, &mut found);
    found.into_validation()
}

/// VA1.
fn check_plan(evidence: &ExecutionEvidence, plan: &Proposal, found: &mut Found) {
    let named = evidence.proposal_id.as_str();
    if named != plan.id {
        let message = format!("the evidence is about `{named}`, not about the plan given, `{}`", plan.id);
        found.reject(Criterion::Plan, "/proposal_id", message);
    }
    let named = evidence.proposal_hash.as_str();
    let message = match PlanHash::of(&mut Canonicalizer::new(), plan) {
        Ok(hash) if hash.is(named) => return,
        Ok(hash) => format!("`{named}` is not the hash of the plan given, which is `{hash}`"),
        Err(error) => format!("the plan given has no hash: {error}"),
    };
    found.reject(Criterion::Plan, "/proposal_hash", message);
}

/// VA2, and VA4 and VA6 for each action. That no action has two results is EV3.
fn check_actions(evidence: &ExecutionEvidence, plan: &Proposal, found: &mut Found) {
    let mut results: BTreeMap<&str, (usize, &ActionResult)> = BTreeMap::new();
    for (position, result) in evidence.action_results.iter().enumerate() {
        results.insert(&result.action_id, (position, result));
    }
    let tests: BTreeSet<&str> = plan.acceptance_tests.iter().map(|test| test.id.as_str()).collect();
    for action in &plan.actions {
        match results.remove(action.id.as_str()) {
            Some((position, result)) => {
                let pointer = format!("/action_results/{position}");
                check_outcome(action, result, &pointer, found);
                check_process(action, result, &pointer, &tests, found);
                files::check_produced(action, result, &pointer, found);
            }
            None => {
                let message =
                    format!("the action `{}` has no result: {}", action.id, about(&action.description));
                found.reject(Criterion::Actions, "/action_results", message);
            }
        }
    }
    for (id, (position, _)) in results {
        let pointer = format!("/action_results/{position}/action_id");
        found.reject(Criterion::Actions, &pointer, format!("the plan has no action `{id}`"));
    }
}

/// VA4.
fn check_outcome(action: &ProposedAction, result: &ActionResult, pointer: &str, found: &mut Found) {
    let ended = match result.status {
        ActionStatus::Success => return,
        ActionStatus::Failure => "failed",
        ActionStatus::Skipped => "was skipped",
        ActionStatus::Timeout => "took too long",
    };
    let code = result.exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
    let what = if action.required { "a required" } else { "an optional" };
    let message = format!("{what} action {ended}{code}: {}", about(&action.description));
    found.action_ended(result.status, action.required, &format!("{pointer}/status"), message);
}

/// VA4: a command that succeeded had a process, and that has an exit code. A `test` action that names an acceptance
/// test may have had none.
fn check_process(
    action: &ProposedAction,
    result: &ActionResult,
    pointer: &str,
    tests: &BTreeSet<&str>,
    found: &mut Found,
) {
    let runs_command = match action.action_type {
        ActionType::ExecuteCommand | ActionType::Validate => true,
        ActionType::Test => !tests.contains(action.target.as_str()),
        ActionType::CreateFile | ActionType::ModifyFile | ActionType::DeleteFile => false,
    };
    if runs_command && result.status == ActionStatus::Success && result.exit_code.is_none() {
        let message =
            format!("a command is said to have succeeded without an exit code: {}", about(&action.target));
        found.reject(Criterion::ActionsSucceed, pointer, message);
    }
}

/// VA3, and VA5 and VA7 for each test. That no test has two results is EV6.
fn check_tests(evidence: &ExecutionEvidence, plan: &Proposal, found: &mut Found) {
    let files = Files::after(evidence, plan);
    let mut results: BTreeMap<&str, (usize, &TestResult)> = BTreeMap::new();
    for (position, result) in evidence.test_results.iter().enumerate() {
        results.insert(result.test_id.as_str(), (position, result));
    }
    for test in &plan.acceptance_tests {
        match results.remove(test.id.as_str()) {
            Some((position, result)) => {
                let pointer = format!("/test_results/{position}");
                check_passed(test, result, &pointer, found);
                check_actual(test, result, &pointer, found);
                if result.passed
                    && let Some(message) = files.contradiction(test)
                {
                    found.reject(Criterion::TestsAgree, &format!("{pointer}/passed"), message);
                }
            }
            None => {
                let message = format!("the test `{}` has no result: {}", about(&test.id), about(&test.name));
                found.reject(Criterion::Tests, "/test_results", message);
            }
        }
    }
    for (id, (position, _)) in results {
        let pointer = format!("/test_results/{position}/test_id");
        found.reject(Criterion::Tests, &pointer, format!("the plan has no test `{}`", about(id)));
    }
}

/// VA5.
fn check_passed(test: &AcceptanceTest, result: &TestResult, pointer: &str, found: &mut Found) {
    if result.passed {
        return;
    }
    let actual = result.actual.as_deref().map(|actual| format!(", found `{}`", about(actual)));
    let message = format!(
        "{} test failed: {}; expected `{}`{}",
        if test.required { "a required" } else { "an optional" },
        about(&test.name),
        about(&test.expected),
        actual.unwrap_or_default(),
    );
    let pointer = format!("{pointer}/passed");
    match test.required {
        true => found.reject(Criterion::TestsPass, &pointer, message),
        false => found.review(Criterion::TestsPass, &pointer, message),
    }
}

/// VA7. A test passes exactly when what was found is what was expected; of a whole content the hash will do.
fn check_actual(test: &AcceptanceTest, result: &TestResult, pointer: &str, found: &mut Found) {
    let Some(actual) = result.actual.as_deref() else { return };
    let by_hash =
        test.test_type == TestType::ContentMatch && ContentHash::of(test.expected.as_bytes()).is(actual);
    let fits = actual == test.expected || by_hash;
    let message = match (result.passed, fits) {
        (true, true) | (false, false) => return,
        (true, false) => {
            format!("passed, although it found `{}` and not `{}`", about(actual), about(&test.expected))
        }
        (false, true) => format!("failed, although it found what it expects, `{}`", about(actual)),
    };
    found.reject(Criterion::TestsAgree, &format!("{pointer}/actual"), message);
}

/// VA8. `complete` means that every action succeeded (EV7), and so every action that did means `complete`.
fn check_status(evidence: &ExecutionEvidence, found: &mut Found) {
    let all = evidence.action_results.iter().all(|result| result.status == ActionStatus::Success);
    let message = match (evidence.status, all) {
        (ExecutionStatus::Complete, true) | (ExecutionStatus::Partial, false) => return,
        (ExecutionStatus::Complete, false) => "is `complete`, but not every action succeeded",
        (ExecutionStatus::Partial, true) => "is `partial`, but every action succeeded",
        (ExecutionStatus::Failed, true) => "is `failed`, but every action succeeded",
        (ExecutionStatus::Failed, false) => "is `failed`: the execution could not go on",
    };
    found.reject(Criterion::Status, "/status", message.to_owned());
}

/// Text of a document, short enough for a sentence.
fn about(text: &str) -> String {
    const CHARS_SHOWN: usize = 120;
    ordain_clarity::excerpt::excerpt(text, CHARS_SHOWN)
}
