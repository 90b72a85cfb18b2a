//! From the sandbox's report to execution evidence.

use crate::error::RunError;
use crate::results::{Ended, Found};
use crate::trial::Trial;
use crate::verified::{file_hash, verified};
use ordain_canon::time::rfc3339;
use ordain_canon::{Canonicalizer, ContentHash, PlanHash};
use ordain_harness::apply::Base;
use ordain_harness::sandbox::{Captured, Report, StepReport};
use ordain_kernel::KERNEL_VERSION;
use ordain_spec::Verified;
use ordain_spec::evidence::{ActionStatus, ExecutionEvidence, ExecutionStatus};
use ordain_spec::plan::{ActionType, Proposal};
use serde_json::{Map, Value as Json, json};

/// When something was tried, in milliseconds since 1970, by whom, and on what.
pub(crate) struct Occasion<'o> {
    pub(crate) started_ms: u64,
    pub(crate) completed_ms: u64,
    pub(crate) executor: &'o str,
    pub(crate) base: &'o Base,
}

/// The result of a trial. Without a report nothing ran, because a required file action is blocked.
pub(crate) fn evidence(
    plan: &Proposal,
    trial: &Trial,
    report: Option<&Report>,
    occasion: &Occasion<'_>,
) -> Result<Verified<ExecutionEvidence>, RunError> {
    let (actions, tests) = Found { plan, trial, report }.results();
    let status = status(plan, &actions);
    let results: Vec<Json> =
        plan.actions.iter().zip(&actions).map(|(action, ended)| ended.json(action)).collect();
    let tests: Vec<Json> = plan
        .acceptance_tests
        .iter()
        .zip(&tests)
        .map(|(test, outcome)| {
            let mut result = json!({"test_id": test.id, "passed": outcome.passed});
            if let (Some(actual), Some(fields)) = (&outcome.actual, result.as_object_mut()) {
                fields.insert("actual".to_owned(), json!(actual));
            }
            result
        })
        .collect();
    let problems = plan.actions.iter().zip(&actions).filter_map(|(action, ended)| {
        Some(json!({"action_id": action.id, "problem": ended.problem.as_ref()?}))
    });
    let mut observed = observed(trial, report, occasion)?;
    observed.insert("problems".to_owned(), problems.collect());
    document(plan, results, tests, status, observed)
}

/// Evidence of a plan that has one command, which ran outside a run.
pub fn command_evidence(
    plan: &Proposal,
    report: &Report,
    step: &StepReport,
) -> Result<ExecutionEvidence, RunError> {
    let ended = Ended::of_step(step);
    let status = match ended.status {
        ActionStatus::Success => ExecutionStatus::Complete,
        ActionStatus::Failure | ActionStatus::Skipped | ActionStatus::Timeout => ExecutionStatus::Failed,
    };
    let command = plan.actions.iter().filter(|action| action.action_type == ActionType::ExecuteCommand);
    let results = command.map(|action| ended.json(action)).collect();
    Ok(document(plan, results, Vec::new(), status, report.observed())?.into_inner())
}

fn document(
    plan: &Proposal,
    action_results: Vec<Json>,
    test_results: Vec<Json>,
    status: ExecutionStatus,
    observed: Map<String, Json>,
) -> Result<Verified<ExecutionEvidence>, RunError> {
    verified(&json!({
        "evidence_schema_version": "1.0.0",
        "proposal_id": plan.id,
        "proposal_hash": PlanHash::of(&mut Canonicalizer::new(), plan)?,
        "action_results": action_results,
        "test_results": test_results,
        "status": status,
        "observed": observed,
    }))
}

/// `partial` lacks only what was optional. A required action that does not succeed ends the execution.
fn status(plan: &Proposal, actions: &[Ended]) -> ExecutionStatus {
    let lacking = plan.actions.iter().zip(actions).filter(|(_, it)| it.status != ActionStatus::Success);
    let required: Vec<bool> = lacking.map(|(action, _)| action.required).collect();
    match required.as_slice() {
        [] => ExecutionStatus::Complete,
        lacking if lacking.contains(&true) => ExecutionStatus::Failed,
        _ => ExecutionStatus::Partial,
    }
}

/// The parts that vary between two runs of the same thing.
fn observed(
    trial: &Trial,
    report: Option<&Report>,
    occasion: &Occasion<'_>,
) -> Result<Map<String, Json>, RunError> {
    let mut observed = report.map(Report::observed).unwrap_or_default();
    let outputs = report.map(outputs).unwrap_or_default();
    let outputs: Vec<Json> = outputs
        .iter()
        .map(|(name, stream)| json!({"file": name, "sha256": ContentHash::of(&stream.kept)}))
        .collect();
    let time = |ms: u64| rfc3339(ms).unwrap_or_default();
    observed.insert("executor".to_owned(), json!(occasion.executor));
    observed.insert("started_at".to_owned(), json!(time(occasion.started_ms)));
    observed.insert("completed_at".to_owned(), json!(time(occasion.completed_ms)));
    let duration_ms = occasion.completed_ms.saturating_sub(occasion.started_ms);
    observed.insert("duration_ms".to_owned(), json!(duration_ms));
    observed.insert("outputs".to_owned(), json!(outputs));
    observed.insert("policy_sha256".to_owned(), json!(file_hash(&trial.session.profile)?));
    observed.insert("base_sha256".to_owned(), json!(file_hash(occasion.base)?));
    observed.insert("kernel_version".to_owned(), json!(KERNEL_VERSION));
    Ok(observed)
}

/// The streams that have something in them, by the name of the file that they are kept in.
pub(crate) fn outputs(report: &Report) -> Vec<(String, &Captured)> {
    let mut outputs = Vec::new();
    for (number, step) in (1..).zip(&report.steps) {
        for (name, stream) in [("stdout", &step.stdout), ("stderr", &step.stderr)] {
            if !stream.kept.is_empty() {
                outputs.push((format!("output/{number}-{name}.txt"), stream));
            }
        }
    }
    outputs
}
