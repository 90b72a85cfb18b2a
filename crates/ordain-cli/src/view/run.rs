//! Runs, the profiles that bound them, and the evidence of what happened.

use super::plan::expected;
use super::time::duration;
use crate::page::{Column, PLAIN, Page, Row};
use crate::report::{GREEN, RED, YELLOW};
use crate::wording::{exact_size, short_hash, word};
use anstyle::Style;
use ordain_spec::evidence::{ActionResult, ActionStatus, ExecutionEvidence, ExecutionStatus, TestResult};
use ordain_spec::profile::Profile;
use ordain_spec::run::RunResult;
use serde_json::Value as Json;

pub(super) fn show(page: &mut Page, run: &RunResult) {
    page.title("run result", run.run_id.as_str());
    if run.decision.accepted {
        page.styled_label("verdict", GREEN, "accepted")
    } else {
        page.styled_label("verdict", RED, "not accepted")
    }
    let checked = if run.decision.validated_by_kernel { "" } else { "not " };
    page.label("evidence", &format!("{checked}checked by the kernel"));
    page.label("started", &run.started_at);
    page.label("completed", &run.completed_at);
    page.label("kernel", run.kernel_version.as_str());
    if let Some(intent) = &run.intent.0 {
        page.label("intent", &format!("{} {}", intent.path, short_hash(intent.sha256.as_str())));
    }
    if let Some(source) = &run.source {
        let (kind, hash) = (word(&source.kind), short_hash(source.sha256.as_str()));
        page.label("brought", &format!("{kind} {} {hash}", source.path));
    }
    page.label("became", &word(&run.kernel_result_kind));
    if let Some(bundle) = &run.bundle.0 {
        page.label("bundle", &format!("{} {}", bundle.bundle_id, short_hash(bundle.sha256.as_str())));
    }
    match &run.execution.0 {
        Some(execution) => {
            let hash = short_hash(execution.evidence_hash.as_str());
            let text = format!("{}, evidence {hash}", word(&execution.status));
            page.styled_label("execution", execution_style(execution.status), &text);
        }
        None => page.label("execution", "nothing was tried"),
    }
    if let Some(work) = &run.work {
        page.counted_section("Rounds", work.rounds.len());
        for (number, round) in (1..).zip(&work.rounds) {
            let word = if round.accepted { "accepted" } else { "not accepted" };
            let patch = round.patch_hash.as_ref().map_or("none".to_owned(), |hash| short_hash(hash.as_str()));
            page.item(&format!("{number}: {word}; patch set {patch}; the agent {}", round.agent.as_str()));
            if !round.protected.is_empty() {
                page.item(&format!("{number}: put back: {}", round.protected.join(", ")));
            }
        }
    }
    if !run.decision.reasons.is_empty() {
        page.section("Reasons");
        for reason in &run.decision.reasons {
            page.item(reason);
        }
    }
    if let Some(questions) = &run.clarify_questions {
        page.counted_section("Questions", questions.len());
        for question in questions {
            page.item(&said(question, "text"));
        }
    }
    if let Some(reason) = &run.refuse_reason {
        page.section("Refused");
        page.item(&said(reason, "message"));
    }
    page.section("Profile");
    page.label("name", &run.policy.name);
    limits(page, &run.policy);
}

/// Questions and reasons are texts, or objects that have one; an object's id or code comes along.
fn said(value: &Json, key: &str) -> String {
    let text = value.get(key).and_then(Json::as_str);
    let name = value.get("id").or(value.get("code")).and_then(Json::as_str);
    match (value, text, name) {
        (Json::String(text), ..) => text.clone(),
        (_, Some(text), Some(name)) => format!("{name}: {text}"),
        (_, Some(text), None) => text.to_owned(),
        _ => value.to_string(),
    }
}

fn execution_style(status: ExecutionStatus) -> Style {
    match status {
        ExecutionStatus::Complete => GREEN,
        ExecutionStatus::Partial => YELLOW,
        ExecutionStatus::Failed => RED,
    }
}

pub(super) fn show_profile(page: &mut Page, profile: &Profile) {
    page.title("policy profile", &profile.name);
    limits(page, profile);
}

fn limits(page: &mut Page, profile: &Profile) {
    if profile.allow_network {
        page.styled_label("network", YELLOW, "allowed")
    } else {
        page.label("network", "none")
    }
    page.label("timeout", &format!("{} for each command", duration(profile.timeout_ms)));
    let bytes = exact_size(profile.max_total_output_bytes);
    page.label("output", &format!("at most {} files, {bytes}", profile.max_output_files));
    page.label("commands", &allowed(&profile.allowed_commands));
    page.label("writes to", &allowed(&profile.allowed_write_roots));
}

fn allowed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        [all] if all == "*" => "all".to_owned(),
        names => names.join(", "),
    }
}

pub(super) fn show_evidence(page: &mut Page, evidence: &ExecutionEvidence) {
    page.title("execution evidence", &format!("of {}", evidence.proposal_id.as_str()));
    page.styled_label("status", execution_style(evidence.status), &word(&evidence.status));
    page.label("proposal", &short_hash(evidence.proposal_hash.as_str()));
    actions(page, &evidence.action_results);
    tests(page, &evidence.test_results);
    if let Some(observed) = &evidence.observed {
        page.section("Observed, outside the hash");
        page.json(observed);
    }
}

fn actions(page: &mut Page, results: &[ActionResult]) {
    page.counted_section("Actions", results.len());
    let row = |it: &ActionResult| {
        let exit_code = it.exit_code.map(|code| code.to_string()).unwrap_or_default();
        let style = match it.status {
            ActionStatus::Success => PLAIN,
            ActionStatus::Skipped => YELLOW,
            ActionStatus::Failure | ActionStatus::Timeout => RED,
        };
        Row { style, cells: vec![word(&it.status), exit_code, it.action_id.clone()] }
    };
    let columns = [Column::Left("status"), Column::Right("exit code"), Column::Left("action")];
    page.table(&columns, results.iter().map(row), |page, number, space| {
        for produced in results.get(number).into_iter().flat_map(|it| &it.produced) {
            let text = format!("{} {}", short_hash(produced.sha256.as_str()), produced.path);
            page.prose(space, space, PLAIN, &text);
        }
    });
}

fn tests(page: &mut Page, results: &[TestResult]) {
    page.counted_section("Tests", results.len());
    let row = |it: &TestResult| {
        let (style, passed) = if it.passed { (PLAIN, "passed") } else { (RED, "failed") };
        Row { style, cells: vec![passed.to_owned(), it.test_id.as_str().to_owned()] }
    };
    let columns = [Column::Left("result"), Column::Left("test")];
    page.table(&columns, results.iter().map(row), |page, number, space| {
        if let Some(actual) = results.get(number).and_then(|it| it.actual.as_deref()) {
            page.prose(&format!("{space}found "), space, PLAIN, &expected(actual));
        }
    });
}
