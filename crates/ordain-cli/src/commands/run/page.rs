//! The result of a run, for people: the verdict, the changes, the failures, and what to do next.

use super::Run as Arguments;
use crate::page::Page;
use crate::report::{GREEN, RED, YELLOW};
use crate::wording::{count, size_of};
use ordain_harness::sandbox::{Captured, Level, StepReport};
use ordain_kernel::Criterion;
use ordain_run::{Run, VerdictReason};
use ordain_spec::evidence::{ActionStatus, ExecutionStatus};
use ordain_spec::patch::{PatchOp, PatchSet};
use ordain_spec::run::ResultKind;
use std::path::Path;

/// The end of what a command wrote says why it failed.
const LINES_SHOWN: usize = 20;
const FAILURES_SHOWN: usize = 5;
const REASONS_SHOWN: usize = 20;
const CHANGES_SHOWN: usize = 100;

pub(super) fn of(run: &Run, args: &Arguments) -> Page {
    let mut page = Page::default();
    let result = &run.result;
    page.title("run", result.run_id.as_str());
    let (style, verdict) = match (result.decision.accepted, result.kernel_result_kind) {
        (true, _) => (GREEN, "accepted"),
        (false, ResultKind::Clarify) => (YELLOW, "not accepted: questions are open"),
        (false, ResultKind::Bundle) if is_untested(run) => (YELLOW, "not accepted: untested"),
        (false, ResultKind::Bundle) if run.tried.is_none() => (YELLOW, "not accepted: nothing was tried"),
        (false, _) => (RED, "not accepted"),
    };
    page.styled_label("verdict", style, verdict);
    if result.kernel_result_kind != ResultKind::Clarify {
        reasons(&mut page, run);
    }
    questions(&mut page, run);
    failures(&mut page, run);
    if let Some(planned) = &run.planned {
        changes(&mut page, &planned.patch);
    }
    let level = run.tried.as_ref().and_then(|tried| tried.report.as_ref()?.protections.level);
    if level == Some(Level::LandlockOnly) {
        let meaning = "without namespaces; the evidence lists what that leaves open";
        page.styled_label("protection", YELLOW, &format!("landlock-only: {meaning}"));
    }
    page.section("Next");
    // As it can be typed where the command was given.
    let folder = match args.workspace.as_path() {
        workspace if workspace == Path::new(".") => run.folder.clone(),
        workspace => workspace.join(&run.folder),
    };
    let folder = folder.display();
    page.label("kept in", &format!("{folder}"));
    match (result.kernel_result_kind, result.decision.accepted) {
        (_, true) if args.apply => {}
        (ResultKind::Bundle, false) if is_untested(run) && args.apply => {}
        (ResultKind::Bundle, false) if is_untested(run) => {
            page.label("apply", &format!("ordain apply {folder}"))
        }
        (_, true) => page.label("apply", &format!("ordain apply {folder}")),
        (ResultKind::Clarify, _) => {
            let intent = args.intent.as_ref().map(|it| it.display().to_string()).unwrap_or_default();
            page.label("answer", &format!("ordain clarify {intent}"));
        }
        (ResultKind::Refuse, _) => {}
        (ResultKind::Bundle, _) if run.tried.is_some() => {
            page.label("look", &format!("ordain show {folder}"));
            page.label("", &format!("all that commands wrote is in {folder}/output"));
        }
        (ResultKind::Bundle, _) => page.label("look", &format!("ordain show {folder}/plan.json")),
    }
    page
}

fn is_untested(run: &Run) -> bool {
    run.reasons.first() == Some(&VerdictReason::Untested)
}

/// The reasons that help a person; the result has all of them, each with its rule and place.
fn reasons(page: &mut Page, run: &Run) {
    let evidence = run.tried.as_ref().map(|tried| &tried.evidence);
    let stopped = evidence.is_some_and(|it| it.status == ExecutionStatus::Failed);
    let untested = evidence.is_some_and(|it| it.test_results.iter().all(|test| test.actual.is_none()));
    // Actions and tests that never ran follow from the one that failed.
    let follows = |reason: &&VerdictReason| match reason {
        VerdictReason::Evidence(reason) if stopped => match reason.criterion {
            Criterion::ActionsSucceed => reason.ended == Some(ActionStatus::Skipped),
            Criterion::TestsPass => untested,
            Criterion::Status => true,
            _ => false,
        },
        _ => false,
    };
    let mut label = "because";
    for reason in run.reasons.iter().filter(|reason| !follows(reason)).take(REASONS_SHOWN) {
        match reason {
            VerdictReason::Evidence(reason) => page.label(label, &reason.message),
            other => page.label(label, &other.to_string()),
        }
        label = "";
    }
    let skipped = evidence.map_or(0, |evidence| {
        evidence.action_results.iter().filter(|it| it.status == ActionStatus::Skipped).count()
    });
    let tests = evidence.filter(|_| stopped && untested).map_or(0, |it| it.test_results.len());
    if skipped + tests > 0 {
        let (skipped, tests) = (count(skipped as u64, "action"), count(tests as u64, "test"));
        page.label("not tried", &format!("{skipped}, {tests}"));
    }
}

fn questions(page: &mut Page, run: &Run) {
    let Some(bundle) = run.bundle.as_ref().filter(|it| !it.unresolved_questions.is_empty()) else { return };
    page.counted_section("Questions", bundle.unresolved_questions.len());
    for (number, question) in (1..).zip(&bundle.unresolved_questions) {
        page.prose(&format!("  {number}. "), "     ", crate::page::PLAIN, &question.text);
    }
}

/// Commands that failed, with the end of what they wrote.
fn failures(page: &mut Page, run: &Run) {
    let steps = run.tried.iter().filter_map(|tried| tried.report.as_ref()).flat_map(|report| &report.steps);
    let failed = |step: &&StepReport| matches!(step.status(), ActionStatus::Failure | ActionStatus::Timeout);
    let failed: Vec<&StepReport> = steps.filter(failed).collect();
    if failed.is_empty() {
        return;
    }
    page.counted_section("What failed", failed.len());
    for step in failed.iter().take(FAILURES_SHOWN) {
        page.prose("  $ ", "    ", RED, &ordain_spec::shown_command(&step.argv));
        page.prose("    ", "    ", crate::page::PLAIN, &step.end.to_string());
        for violation in &step.violations {
            page.prose("    ", "    ", crate::page::PLAIN, violation);
        }
        for (name, stream) in [("stdout", &step.stdout), ("stderr", &step.stderr)] {
            tail(page, name, stream);
        }
    }
    if let Some(more) = failed.len().checked_sub(FAILURES_SHOWN).filter(|more| *more > 0) {
        page.item(&format!("and {more} more"));
    }
}

fn tail(page: &mut Page, name: &str, stream: &Captured) {
    let text = String::from_utf8_lossy(&stream.kept);
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.get(lines.len().saturating_sub(LINES_SHOWN)..).unwrap_or_default();
    if shown.is_empty() {
        return;
    }
    let cut = if shown.len() < lines.len() || stream.truncated { ", the end of what was kept" } else { "" };
    page.prose("    ", "    ", crate::report::BOLD, &format!("{name}{cut}:"));
    page.content(&shown.join("\n"));
}

fn changes(page: &mut Page, patch: &PatchSet) {
    page.section(&format!("Would change ({})", count(patch.operations.len() as u64, "file")));
    for operation in patch.operations.iter().take(CHANGES_SHOWN) {
        let (style, sign) = match operation.op {
            PatchOp::Create => (GREEN, "+"),
            PatchOp::Modify => (YELLOW, "~"),
            PatchOp::Delete => (RED, "-"),
        };
        let size = operation.content.as_deref().map(|text| format!(" ({})", size_of(text)));
        let text = format!("{sign} {}{}", operation.path, size.unwrap_or_default());
        page.prose("  ", "    ", style, &text);
    }
    if let Some(more) = patch.operations.len().checked_sub(CHANGES_SHOWN).filter(|more| *more > 0) {
        page.item(&format!("and {more} more, in patch.json"));
    }
}
