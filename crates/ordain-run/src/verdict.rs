//! Whether a run is accepted. Everything here follows from documents, so it can be worked out again.

use crate::trial::is_file_action;
use ordain_kernel::{Recommendation, Refusal, validate};
use ordain_spec::evidence::{ActionStatus, ExecutionEvidence};
use ordain_spec::plan::{Proposal, TestType};
use ordain_spec::run::Verdict;
use ordain_spec::{Report, Verified};
use serde_json::Value as Json;
use std::collections::BTreeSet;

const ALL_PASSED: &str = "every required action and test passed";
/// What a person should know who takes the first sentence for more than it says.
const NOTHING_RUN: &str = "no command was run, because the plan brings none: only its files were looked at";
/// Why a run that only plans is not accepted.
pub(crate) const ONLY_PLANNED: &str = "nothing was tried: only a plan was asked for";

/// What the evidence means for the plan. What may fail may fail, but for file actions: the patch set has all of them,
/// and one that cannot be carried out stops the whole of it.
pub(crate) fn verdict(plan: &Verified<Proposal>, evidence: &Verified<ExecutionEvidence>) -> Verdict {
    let validation = validate(evidence, plan);
    let mut reasons: Vec<String> = validation.reasons.iter().map(ToString::to_string).collect();
    reasons.extend(problems(evidence));
    let succeeded = evidence.action_results.iter().filter(|it| it.status == ActionStatus::Success);
    let succeeded: BTreeSet<&str> = succeeded.map(|it| it.action_id.as_str()).collect();
    let applicable =
        plan.actions.iter().all(|action| !is_file_action(action) || succeeded.contains(action.id.as_str()));
    let accepted = validation.recommendation != Recommendation::Reject && applicable;
    if reasons.is_empty() {
        reasons.push(ALL_PASSED.to_owned());
        reasons.extend((!runs_anything(plan)).then(|| NOTHING_RUN.to_owned()));
    }
    Verdict { accepted, reasons, validated_by_kernel: true }
}

fn runs_anything(plan: &Proposal) -> bool {
    plan.actions.iter().any(|action| !is_file_action(action))
        || plan.acceptance_tests.iter().any(|test| test.test_type == TestType::CommandSuccess)
}

/// What was observed of actions that did not go well, in words.
fn problems(evidence: &ExecutionEvidence) -> impl Iterator<Item = String> {
    let observed = evidence.observed.as_ref().and_then(|observed| observed.get("problems"));
    let problems = observed.and_then(Json::as_array).into_iter().flatten();
    // What is no problem in words still counts as one.
    problems.map(|it| it.get("problem").and_then(Json::as_str).map_or_else(|| it.to_string(), str::to_owned))
}

/// A run that tried nothing.
pub(crate) fn untried(reasons: Vec<String>) -> Verdict {
    Verdict { accepted: false, reasons, validated_by_kernel: false }
}

/// The patch set is more than the profile allows.
pub(crate) fn beyond_profile(report: &Report) -> Verdict {
    let reason = |it: &ordain_spec::Violation| format!("{} at `{}`: {}", it.rule, it.path, it.message);
    untried(report.violations().iter().map(reason).collect())
}

pub(crate) fn questions_open(count: usize) -> Verdict {
    untried(vec![match count {
        1 => "1 question is open".to_owned(),
        count => format!("{count} questions are open"),
    }])
}

pub(crate) fn refused(refusal: &Refusal) -> Verdict {
    refused_text(&refusal.to_string())
}

pub(crate) fn refused_text(refusal: &str) -> Verdict {
    untried(vec![format!("the intent was refused: {refusal}")])
}
