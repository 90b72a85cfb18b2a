//! The events in the sandbox: RL8 to RL10.

use super::folder::Folder;
use super::kernel::{Planned, check_verdict};
use crate::artefacts::{BASE, EVIDENCE, RESULT};
use crate::verdict::{beyond_profile, only_planned, verdict};
use crate::verified::{evidence_hash, file_hash, judged};
use ordain_canon::time::milliseconds;
use ordain_canon::{Canonicalizer, ContentHash, PlanHash};
use ordain_spec::Facts;
use ordain_spec::evidence::ExecutionEvidence;
use ordain_spec::patch::PatchSet;
use ordain_spec::run::{RunResult, links};
use serde_json::Value as Json;
use std::collections::BTreeSet;

pub(super) fn check(folder: &mut Folder<'_>, result: &RunResult, planned: &Planned) {
    if result.execution.0.is_none() {
        check_untried(folder, result, planned);
        return check_outputs(folder, "", None);
    }
    let Some(evidence) = folder.document::<ExecutionEvidence>(EVIDENCE, &Facts::default()) else {
        return folder.unchecked(EVIDENCE);
    };
    check_evidence(folder, result, planned, &evidence);
    check_occasion(folder, result, planned, &evidence);
    // That of a work order follows from its rounds.
    if result.work.is_none() {
        check_verdict(folder, result, &verdict(&planned.plan, &evidence).document());
    }
    check_outputs(folder, "", Some(&evidence));
}

/// RL9 for a run that only planned, or whose patch set is more than its profile allows.
fn check_untried(folder: &mut Folder<'_>, result: &RunResult, planned: &Planned) {
    let facts = Facts { profile: &result.policy, ..Facts::default() };
    let mut expected = match judged::<PatchSet>(&facts, &*planned.patch) {
        Ok(Err(report)) => beyond_profile(&report),
        _ => only_planned(&[]),
    }
    .document();
    // Obstacles are reported after it, and the files do not show them.
    let more = result.decision.reasons.iter().skip(expected.reasons.len()).cloned();
    expected.reasons.extend(more);
    check_verdict(folder, result, &expected);
}

/// RL8.
fn check_evidence(
    folder: &mut Folder<'_>,
    result: &RunResult,
    planned: &Planned,
    evidence: &ExecutionEvidence,
) {
    let plan = &*planned.plan;
    if evidence.proposal_id.as_str() != plan.id {
        let message = format!("is about another plan than plan.json, which is `{}`", plan.id);
        folder.wrong(links::EVIDENCE, EVIDENCE, "/proposal_id", message);
    }
    if let Ok(hash) = PlanHash::of(&mut Canonicalizer::new(), plan)
        && !hash.is(evidence.proposal_hash.as_str())
    {
        let message = format!("is not the hash of plan.json, which is `{hash}`");
        folder.wrong(links::EVIDENCE, EVIDENCE, "/proposal_hash", message);
    }
    let Some(named) = &result.execution.0 else { return };
    if let Ok(hash) = evidence_hash(evidence)
        && named.evidence_hash != hash
    {
        let message = format!("is not the hash of {EVIDENCE}, which is `{}`", hash.as_str());
        folder.wrong(links::EVIDENCE, RESULT, "/execution/evidence_hash", message);
    }
    if named.status != evidence.status {
        let message = format!("is not the status of {EVIDENCE}");
        folder.wrong(links::EVIDENCE, RESULT, "/execution/status", message);
    }
}

fn observed<'e>(evidence: &'e ExecutionEvidence, name: &str) -> Option<&'e Json> {
    evidence.observed.as_ref()?.get(name)
}

/// RL8: same policy, same kernel, within the time of the run.
fn check_occasion(
    folder: &mut Folder<'_>,
    result: &RunResult,
    planned: &Planned,
    evidence: &ExecutionEvidence,
) {
    let text = |name: &str| observed(evidence, name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let policy = file_hash(&result.policy).map(|hash| hash.as_str().to_owned()).unwrap_or_default();
    if text("policy_sha256") != policy {
        let message = format!("is not the policy that {EVIDENCE} was made under");
        folder.wrong(links::EVIDENCE, RESULT, "/policy", message);
    }
    let base = file_hash(&planned.base).map(|hash| hash.as_str().to_owned()).unwrap_or_default();
    if text("base_sha256") != base {
        let message = format!("is not what {EVIDENCE} says the workspace had");
        folder.wrong(links::BASE, BASE, "", message);
    }
    if text("kernel_version") != result.kernel_version.as_str() {
        let message = format!("is not the kernel that {EVIDENCE} names");
        folder.wrong(links::EVIDENCE, RESULT, "/kernel_version", message);
    }
    check_times(folder, result, evidence);
}

/// RL8: one after the other, and as long as it is said to have taken.
fn check_times(folder: &mut Folder<'_>, result: &RunResult, evidence: &ExecutionEvidence) {
    let time = |name: &str| observed(evidence, name).and_then(Json::as_str).and_then(milliseconds);
    let duration = observed(evidence, "duration_ms").and_then(Json::as_u64);
    let times = [
        milliseconds(&result.started_at),
        time("started_at"),
        time("completed_at"),
        milliseconds(&result.completed_at),
    ];
    let in_order = times.iter().all(Option::is_some) && times.is_sorted();
    if !in_order || time("completed_at").zip(time("started_at")).map(|(end, start)| end - start) != duration {
        let message = "the times of the evidence do not fit into those of the run".to_owned();
        folder.wrong(links::EVIDENCE, EVIDENCE, "/observed/started_at", message);
    }
}

/// RL10, for the trial whose files are in this folder of the run.
pub(super) fn check_outputs(folder: &mut Folder<'_>, within: &str, evidence: Option<&ExecutionEvidence>) {
    let outputs = evidence.and_then(|it| observed(it, "outputs")).and_then(Json::as_array);
    let field = |output: &Json, name: &str| output.get(name).and_then(Json::as_str).map(str::to_owned);
    let mut listed = BTreeSet::new();
    for output in outputs.into_iter().flatten() {
        let (Some(file), Some(sha256)) = (field(output, "file"), field(output, "sha256")) else {
            let message = "names no file and its hash".to_owned();
            folder.wrong(links::OUTPUT, EVIDENCE, "/observed/outputs", message);
            continue;
        };
        let file = format!("{within}{file}");
        let found = folder.bytes(&file).map(|bytes| ContentHash::of(&bytes).to_string());
        match found {
            None => {
                folder.wrong(links::OUTPUT, &file, "", format!("{EVIDENCE} names it, and it is not there"))
            }
            Some(found) if found != sha256 => {
                let message = format!("has the hash `{found}`, and {EVIDENCE} says `{sha256}`");
                folder.wrong(links::OUTPUT, &file, "", message);
            }
            Some(_) => {}
        }
        listed.insert(file);
    }
    let outputs = format!("{within}output/");
    for name in folder.names().into_iter().filter(|it| it.starts_with(&outputs)) {
        if !listed.contains(&name) {
            folder.wrong(links::OUTPUT, &name, "", format!("{EVIDENCE} does not name it"));
        }
    }
    if let Some(evidence) = evidence {
        check_whole_outputs(folder, within, evidence, &listed);
    }
}

/// A stream that was kept whole has the hash that the sandbox took of it; one that is empty has no file.
fn check_whole_outputs(
    folder: &mut Folder<'_>,
    within: &str,
    evidence: &ExecutionEvidence,
    listed: &BTreeSet<String>,
) {
    let steps = observed(evidence, "sandbox").and_then(|it| it.get("steps")).and_then(Json::as_array);
    for (position, step) in steps.into_iter().flatten().enumerate() {
        for name in ["stdout", "stderr"] {
            let Some(stream) = step.get(name) else { continue };
            let file = format!("{within}output/{}-{name}.txt", position + 1);
            let bytes = stream.get("bytes").and_then(Json::as_u64).unwrap_or_default();
            let whole = stream.get("truncated").and_then(Json::as_bool) == Some(false);
            let sha256 = stream.get("sha256").and_then(Json::as_str).unwrap_or_default();
            let found = folder.bytes(&file).map(|bytes| ContentHash::of(&bytes).to_string());
            let agrees = match &found {
                Some(found) => !whole || found == sha256,
                None => bytes == 0 || listed.contains(&file),
            };
            if !agrees {
                let path = format!("/observed/sandbox/steps/{position}/{name}");
                folder.wrong(links::OUTPUT, EVIDENCE, &path, format!("does not agree with {file}"));
            }
        }
    }
}
