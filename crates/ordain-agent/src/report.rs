//! How a use went, as the gate is told.

use ordain_api::limits::REASON_CHARACTERS_MAX;
use ordain_api::{FileChange, OutcomeReport, UseOutcome};
use ordain_harness::apply::{Applied, ApplyError, Done, OpenUse, done_under};
use std::path::Path;

/// The report of a change that was tried just now.
pub(crate) fn of_attempt(
    workspace: &Path,
    open: &OpenUse,
    applied: &Result<Applied, ApplyError>,
    duration_ms: Option<u64>,
) -> OutcomeReport {
    let error = match applied {
        Ok(applied) => return succeeded(open, applied, duration_ms),
        Err(error) => error.to_string(),
    };
    match done_under(workspace, open) {
        Ok(Done::NotMade) => report_of(open, UseOutcome::Failed, 0, &error, duration_ms),
        Ok(Done::Made(applied)) => succeeded(open, &applied, duration_ms),
        // A half-made change may still be finished or taken back, and nobody can tell which.
        Ok(Done::AtWork) | Err(_) => report_of(open, UseOutcome::Unknown, 0, &error, duration_ms),
    }
}

pub(crate) fn succeeded(open: &OpenUse, applied: &Applied, duration_ms: Option<u64>) -> OutcomeReport {
    let change = applied.record.as_ref().map(|record| FileChange {
        patch_hash: open.patch_hash.clone(),
        record: record.clone(),
        undone: open.undo,
    });
    let records = applied.files.len() as u64;
    OutcomeReport { change, ..report_of(open, UseOutcome::Succeeded, records, "", duration_ms) }
}

pub(crate) fn report_of(
    open: &OpenUse,
    outcome: UseOutcome,
    records: u64,
    reason: &str,
    duration_ms: Option<u64>,
) -> OutcomeReport {
    OutcomeReport {
        number: open.number,
        outcome,
        // If the outcome is unknown, so is the number of changed files.
        affected_records: (outcome != UseOutcome::Unknown).then_some(records),
        duration_ms,
        reason: reason.chars().take(REASON_CHARACTERS_MAX).collect(),
        change: None,
    }
}
