//! Whether the files of a run's folder are valid and belong together: everything is made again from what comes before
//! it, and compared.

mod folder;
mod kernel;
mod trial;
mod work;

use crate::artefacts::{BASE, BRIEFS, BUNDLE, EVIDENCE, INTENT, INTENT_TEXT, PATCH, PLAN, RESULT};
use folder::Folder;
use ordain_canon::Value;
use ordain_spec::run::{ResultKind, RunResult, links};
use ordain_spec::{Facts, Kind, Report};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

pub use kernel::patch_link;

/// The findings about one file of a run's folder.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckedFile {
    /// Relative to the folder.
    pub file: String,
    /// Its kind; nothing for texts, for the base, and for other files.
    pub kind: Option<Kind>,
    /// The findings.
    pub report: Report,
}

/// Whether a folder is that of a run: it has a result that is one by its fields.
pub fn is_run_folder(path: &Path) -> bool {
    let Ok(bytes) = folder::read(&path.join(RESULT)) else { return false };
    Value::read(&bytes).is_ok_and(|value| Kind::recognise(&value) == Ok(Kind::Run))
}

/// Verifies every file of a run's folder and every link between them. Gives the files in the order of their names.
pub fn verify_run_folder(path: &Path) -> io::Result<Vec<CheckedFile>> {
    let mut folder = Folder::open(path)?;
    let Some(result) = folder.document::<RunResult>(RESULT, &Facts::default()) else {
        folder.unchecked(RESULT);
        return Ok(folder.into_checked());
    };
    check_name(&mut folder, &result);
    check_files(&mut folder, &result);
    match result.kernel_result_kind {
        ResultKind::Refuse => kernel::check_refused(&mut folder, &result),
        ResultKind::Clarify => kernel::check_asked(&mut folder, &result),
        ResultKind::Bundle if !was_tried(&result) => kernel::check_order(&mut folder, &result),
        ResultKind::Bundle => {
            if let Some(planned) = kernel::check_planned(&mut folder, &result) {
                trial::check(&mut folder, &result, &planned);
            }
        }
    }
    Ok(folder.into_checked())
}

/// Whether there is a plan: the last round of a work order may have come to none.
fn was_tried(result: &RunResult) -> bool {
    result.work.is_none() || result.execution.0.is_some()
}

/// RL2.
fn check_name(folder: &mut Folder<'_>, result: &RunResult) {
    let run_id = result.run_id.as_str();
    match folder.name() {
        Some(name) if name != run_id => {
            let message = format!("the folder is called `{name}`; a run keeps its name");
            folder.wrong(links::NAME, RESULT, "/run_id", message);
        }
        _ => {}
    }
    let seconds: String = result.started_at.chars().take("2026-01-05T12:00:00".len()).collect();
    let started = format!("run_{}Z_", seconds.replace(['-', ':'], ""));
    if !run_id.starts_with(&started) {
        let message = format!("a run that started then has a name that begins with `{started}`");
        folder.wrong(links::NAME, RESULT, "/started_at", message);
    }
}

/// RL1. Outputs are a matter of the evidence (RL10), briefs of the bundle (RL4).
fn check_files(folder: &mut Folder<'_>, result: &RunResult) {
    let bundled = result.kernel_result_kind == ResultKind::Bundle && was_tried(result);
    let (of_rounds, allowed) = result.work.as_ref().map(work::expected).unwrap_or_default();
    let text = folder.has(INTENT_TEXT) && result.kernel_result_kind == ResultKind::Refuse;
    let mut expected: BTreeSet<&str> = of_rounds.iter().map(String::as_str).chain([RESULT]).collect();
    expected.extend(result.intent.0.is_some().then_some(if text { INTENT_TEXT } else { INTENT }));
    expected.extend(result.bundle.0.is_some().then_some(BUNDLE));
    expected.extend([PLAN, PATCH, BASE].into_iter().filter(|_| bundled));
    expected.extend(result.execution.0.is_some().then_some(EVIDENCE));
    for name in &expected {
        if !folder.has(name) {
            let message = "the result implies this file, and it is not there".to_owned();
            folder.wrong(links::FILES, name, "", message);
        }
    }
    for name in folder.names() {
        // RL4 looks at briefs where there is a plan, and nowhere else.
        let is_brief = bundled && name.starts_with(BRIEFS);
        let elsewhere = is_brief || name.starts_with("output/") || is_round_output(&name, result);
        if !expected.contains(name.as_str()) && !allowed.contains(&name) && !elsewhere {
            let message = "does not belong to the run that the result describes".to_owned();
            folder.wrong(links::FILES, &name, "", message);
        }
    }
}

/// The output of a command of a trial is a matter of that trial's evidence, if there is any.
fn is_round_output(name: &str, result: &RunResult) -> bool {
    let rounds = result.work.iter().flat_map(|work| &work.rounds);
    (1..).zip(rounds).any(|(number, round)| {
        let within = |folder: String| name.starts_with(&format!("{folder}output/"));
        (round.evidence_hash.is_some() && within(crate::artefacts::round_file(number, "")))
            || (round.restored_evidence_hash.is_some() && within(crate::artefacts::restored_file(number, "")))
    })
}
