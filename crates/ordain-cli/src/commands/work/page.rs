//! The result of a work order, for people.

use crate::exit::Failure;
use crate::output::print_page;
use crate::page::Page;
use crate::report::{BLUE, GREEN, RED, YELLOW, printable};
use crate::wording::{count, cut};
use ordain_run::{Run, WorkOrder, WorkRun};
use ordain_spec::patch::PatchOp;
use ordain_spec::run::{ResultKind, UNTESTED, WorkRound};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

const REASONS_SHOWN: usize = 20;
const CHANGES_SHOWN: usize = 100;
const COMMAND_CHARS_SHOWN: usize = 56;

/// The agent begins. A failure to say so stops nothing.
pub(super) fn tell_agent(number: u32, rounds: u32, argv: &[OsString]) {
    let argv: Vec<_> = argv.iter().map(|it| it.to_string_lossy()).collect();
    let line = ordain_spec::shown_command(&argv);
    let line = cut(&printable(&line), COMMAND_CHARS_SHOWN);
    let _ = writeln!(anstream::stderr().lock(), "{BLUE}agent {BLUE:#}  {number}/{rounds}  {line}");
}

pub(super) fn tell_round(number: u32, round: &WorkRound) {
    let mut stderr = anstream::stderr().lock();
    let agent = printable(round.agent.as_str());
    let _ = match (round.accepted, round.reasons.first()) {
        (true, _) => writeln!(stderr, "{GREEN}round {GREEN:#}  {number}: accepted (the agent {agent})"),
        (false, reason) => {
            let reason = reason.map(|it| printable(it)).unwrap_or_default();
            writeln!(stderr, "{RED}round {RED:#}  {number}: not accepted (the agent {agent}): {reason}")
        }
    };
}

pub(super) fn print_prepared(order: &WorkOrder) -> Result<(), Failure> {
    let mut page = Page::default();
    let folder = order.folder.path().display();
    page.title("work order", &order.bundle.id);
    page.label("copy", &order.folder.copy().display().to_string());
    page.label("brief", &order.folder.brief().display().to_string());
    page.section("Next");
    page.label("", "let somebody edit the copy; only changes in it count");
    page.label("submit", &format!("ordain work submit {folder} --bundle {}", order.bundle.id));
    page.label("give up", &format!("rm -r {folder}"));
    print_page(&page)
}

/// Questions or a refusal.
pub(super) fn print_unready(run: &Run, intent: &Path) -> Result<(), Failure> {
    let mut page = Page::default();
    page.title("work order", run.result.run_id.as_str());
    let clarify = run.result.kernel_result_kind == ResultKind::Clarify;
    let verdict =
        if clarify { "not accepted: questions are open" } else { "not accepted: the intent is refused" };
    page.styled_label("verdict", YELLOW, verdict);
    for reason in run.result.decision.reasons.iter().take(REASONS_SHOWN) {
        page.label("because", reason);
    }
    page.section("Next");
    if clarify {
        page.label("answer", &format!("ordain clarify {}", intent.display()));
    }
    page.label("", "no agent was started");
    print_page(&page)
}

pub(super) fn print_work(
    work: &WorkRun,
    workspace: &Path,
    applies: bool,
    kept: Option<&Path>,
) -> Result<(), Failure> {
    let mut page = Page::default();
    let decision = &work.result.decision;
    let untested = decision.reasons.first().is_some_and(|reason| reason == UNTESTED);
    page.title("run", work.result.run_id.as_str());
    let (style, verdict) = match (decision.accepted, untested) {
        (true, _) => (GREEN, "accepted"),
        (false, true) => (YELLOW, "not accepted: untested"),
        (false, false) => (RED, "not accepted"),
    };
    page.styled_label("verdict", style, verdict);
    let mut label = "because";
    for reason in decision.reasons.iter().take(REASONS_SHOWN) {
        page.label(label, reason);
        label = "";
    }
    if let Some(bundle) = &work.result.bundle.0 {
        page.label("bundle", &bundle.bundle_id);
    }
    let rounds = work.result.work.iter().flat_map(|order| &order.rounds);
    for (number, round) in (1..).zip(rounds) {
        let word = if round.accepted { "accepted" } else { "not accepted" };
        let agent = match round.agent.as_str() {
            "submitted" => "submitted".to_owned(),
            end => format!("the agent {end}"),
        };
        page.label(&format!("round {number}"), &format!("{word}; {agent}"));
    }
    if !work.round.document.protected.is_empty() {
        page.section("Protected files that changed");
        for path in work.round.document.protected.iter().take(CHANGES_SHOWN) {
            page.prose("  ! ", "    ", YELLOW, path);
        }
    }
    if let Some(planned) = &work.round.planned {
        changes(&mut page, &planned.patch);
    }
    page.section("Next");
    let folder = workspace.join(&work.folder);
    page.label("kept in", &folder.display().to_string());
    if !applies && (decision.accepted || untested) {
        page.label("apply", &format!("ordain apply {}", folder.display()));
    }
    if let Some(kept) = kept {
        page.label(
            "go on",
            &format!("edit {}, then: ordain work submit {}", kept.join("copy").display(), kept.display()),
        );
    }
    print_page(&page)
}

fn changes(page: &mut Page, patch: &ordain_spec::patch::PatchSet) {
    page.section(&format!("Would change ({})", count(patch.operations.len() as u64, "file")));
    for operation in patch.operations.iter().take(CHANGES_SHOWN) {
        let (style, sign) = match operation.op {
            PatchOp::Create => (GREEN, "+"),
            PatchOp::Modify => (YELLOW, "~"),
            PatchOp::Delete => (RED, "-"),
        };
        page.prose("  ", "    ", style, &format!("{sign} {}", operation.path));
    }
    if let Some(more) = patch.operations.len().checked_sub(CHANGES_SHOWN).filter(|more| *more > 0) {
        page.item(&format!("and {more} more, in patch.json"));
    }
}
