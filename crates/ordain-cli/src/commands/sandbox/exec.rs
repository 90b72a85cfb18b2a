//! `ordain sandbox exec`.

use crate::arguments::Protection;
use crate::document::write_file;
use crate::exit::{Failure, Outcome};
use crate::facts::load_profile;
use crate::page::{PLAIN, Page};
use crate::report::{GREEN, RED, YELLOW, printable_lines};
use crate::wording::{count, size};
use crate::{patch_source, report};
use anstyle::Style;
use clap::Args;
use ordain_canon::{Canonicalizer, EvidenceHash};
use ordain_harness::apply::unpatchable;
use ordain_harness::sandbox::{
    self, End, Level, ProducedFile, Protections, Report, Session, Step, StepReport,
};
use ordain_run::{command_evidence, plan_of_command};
use ordain_spec::NonEmpty;
use ordain_spec::evidence::{ActionStatus, ExecutionEvidence};
use ordain_spec::patch::{FileChange, PatchSource};
use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct Exec {
    /// The profile: strict, default, dev, or a file
    #[arg(long, value_name = "PROFILE", default_value = "default")]
    pub(crate) profile: String,
    /// The folder that it works on
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    #[command(flatten)]
    pub(crate) protection: Protection,
    /// If the command succeeds, write what it left as a patch set to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    /// The command and its arguments, without a shell
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub(crate) argv: Vec<String>,
}

pub(super) fn run(args: &Exec, json: bool) -> Result<Outcome, Failure> {
    let profile = load_profile(&args.profile)?;
    // Only evidence needs a plan; what has none is refused before anything runs.
    let proposal = (json || args.patch.is_some()).then(|| plan_of_command(&args.argv)).transpose()?;
    let mut session = Session::new(&args.workspace, profile);
    if args.protection.allow_landlock_only {
        session.allow_landlock_only();
    }
    session.steps.push(Step::new(args.argv.iter().cloned()));
    session.keep = args.patch.is_some();
    let report = sandbox::run(&session)?;
    let Some(step) = report.steps.first() else {
        let problem = "the sandbox reported no step".to_owned();
        return Err(Failure::Document { path: "the command".to_owned(), problem });
    };
    let evidence = proposal.as_ref().map(|it| command_evidence(it, &report, step)).transpose()?;
    if let Some(evidence) = evidence.as_ref().filter(|_| json) {
        // Evidence has only the hashes of what was written; whoever reads it may want to know why.
        let mut stderr = std::io::stderr().lock();
        let to_terminal = stderr.is_terminal();
        stderr.write_all(&harmless(&step.stdout.kept, to_terminal))?;
        stderr.write_all(&harmless(&step.stderr.kept, to_terminal))?;
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(Canonicalizer::new().value(evidence)?)?;
        stdout.write_all(b"\n")?;
        stdout.flush()?;
    } else {
        // As if it had run here: its output to our output, its errors to our errors, and what we say after them.
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&harmless(&step.stdout.kept, stdout.is_terminal()))?;
        stdout.flush()?;
        let mut stderr = anstream::stderr().lock();
        let to_terminal = std::io::stderr().is_terminal();
        std::io::stderr().lock().write_all(&harmless(&step.stderr.kept, to_terminal))?;
        stderr.write_all(exec_page(&report, step).text().as_bytes())?;
        let not_allowed = matches!(step.end, End::NotAllowed { .. });
        let hint = "the profile `dev` allows every command: pass `--profile dev`";
        report::write_hint(&mut stderr, not_allowed.then_some(hint))?;
    }
    if step.status() != ActionStatus::Success {
        if args.patch.is_some() {
            report::note("no patch set was written, because the command failed", None);
        }
        return Ok(Outcome::Failed);
    }
    if let (Some(path), Some(evidence)) = (&args.patch, &evidence) {
        write_patch(path, args, &report, evidence)?;
    }
    Ok(Outcome::Ok)
}

/// Writes what the command left as a patch set, whose source is the evidence of the command.
fn write_patch(
    path: &Path,
    args: &Exec,
    report: &Report,
    evidence: &ExecutionEvidence,
) -> Result<(), Failure> {
    let name = ordain_spec::shown_command(&args.argv);
    let wrong = |problem: String| Failure::Document { path: name.clone(), problem };
    if let Some(refused) = report.refused.first() {
        return Err(wrong(format!("no patch set can carry `{}`: {}", refused.path, refused.reason)));
    }
    let was_there = |path: &str| args.workspace.join(path).symlink_metadata().is_ok_and(|it| it.is_file());
    let mut changes: Vec<FileChange> = report
        .kept
        .iter()
        .map(|file| FileChange::new(&file.path, was_there(&file.path), Some(file.content.clone())))
        .collect();
    changes.extend(report.deleted.iter().map(|path| FileChange::new(path, true, None)));
    if let Some(problem) =
        changes.iter().find_map(|it| Some(format!("`{}` {}", it.path, unpatchable(&it.path)?)))
    {
        return Err(wrong(problem));
    }
    let text = Canonicalizer::new().value(evidence)?.to_vec();
    let hash =
        EvidenceHash::of_text(&mut Canonicalizer::new(), &text).map_err(|error| wrong(error.to_string()))?;
    let id = NonEmpty::of(format!("sandbox:{}", evidence.proposal_id.as_str()));
    let source = PatchSource { id, hash: hash.into(), bundle: None };
    let set = patch_source::of_changes(source, &name, changes)?;
    let text = Canonicalizer::new().value(&*set)?.to_vec();
    let file = path.display().to_string();
    write_file(path, &text).map_err(|error| Failure::File { path: file.clone(), error })?;
    let operations = count(set.operations.len() as u64, "operation");
    report::note(&format!("patch set written to {file}: {operations}"), None);
    for file in report.produced.iter().filter(|file| file.executable) {
        report::note(&format!("`{}` is executable, which a patch set does not carry", file.path), None);
    }
    Ok(())
}

/// Makes control characters harmless for a terminal; a file or a pipe gets the bytes as they are.
fn harmless(bytes: &[u8], to_terminal: bool) -> Cow<'_, [u8]> {
    if to_terminal { printable_lines(bytes).into_bytes().into() } else { bytes.into() }
}

fn exec_page(report: &Report, step: &StepReport) -> Page {
    let mut page = Page::default();
    let style = match step.status() {
        ActionStatus::Success => GREEN,
        ActionStatus::Timeout => YELLOW,
        ActionStatus::Failure | ActionStatus::Skipped => RED,
    };
    let memory = size(step.peak_memory_bytes);
    let how = match step.end {
        End::NotStarted { .. } | End::NotAllowed { .. } | End::Skipped => step.end.to_string(),
        End::TimedOut { .. } => format!("{}, {memory} of memory", step.end),
        _ => format!("{}, after {} ms, {memory} of memory", step.end, step.duration_ms),
    };
    page.styled_label("ended", style, &how);
    for violation in &step.violations {
        page.styled_label("violation", RED, violation);
    }
    if step.stragglers > 0 {
        page.styled_label("killed", YELLOW, &format!("{} processes that it left running", step.stragglers));
    }
    for (name, stream) in [("stdout", &step.stdout), ("stderr", &step.stderr)] {
        if stream.truncated {
            let (kept, all) = (size(stream.kept.len() as u64), size(stream.bytes));
            page.styled_label(name, YELLOW, &format!("cut: {kept} of {all} are shown"));
        }
    }
    left_behind(&mut page, report);
    // Where nothing ran nothing had to protect.
    if report.protections.level.is_some() {
        page.label("protection", &protection(&report.protections));
    }
    for open in &report.protections.left_open {
        page.styled_label("open", YELLOW, open);
    }
    page
}

/// More of one sort than this are counted.
const LISTED_MAX: usize = 50;

fn left_behind(page: &mut Page, report: &Report) {
    if report.produced.is_empty() && report.deleted.is_empty() {
        page.label("left", "nothing");
    }
    let executable = |file: &ProducedFile| if file.executable { ", executable" } else { "" };
    let left =
        report.produced.iter().map(|file| format!("{} ({}{})", file.path, size(file.size), executable(file)));
    listed(page, "left", PLAIN, left);
    listed(page, "deleted", PLAIN, report.deleted.iter().cloned());
    let refused = report.refused.iter().map(|it| format!("{}: {}", it.path, it.reason));
    listed(page, "refused", YELLOW, refused);
    let dropped = report.dropped.iter().map(|path| format!("{path}: never counts"));
    listed(page, "dropped", YELLOW, dropped);
}

fn listed(page: &mut Page, label: &str, style: Style, lines: impl ExactSizeIterator<Item = String>) {
    let more = lines.len().saturating_sub(LISTED_MAX);
    for line in lines.take(LISTED_MAX) {
        page.styled_label(label, style, &line);
    }
    if more > 0 {
        page.styled_label(label, style, &format!("and {more} more"));
    }
}

fn protection(protections: &Protections) -> String {
    let level = protections.level.map_or("none", Level::name);
    let landlock = match protections.landlock_abi {
        0 => "no Landlock".to_owned(),
        abi => format!("Landlock {abi}"),
    };
    let namespaces = match protections.namespaces.len() {
        0 => "no namespaces".to_owned(),
        count => format!("{count} namespaces"),
    };
    format!("{level}: {namespaces}, no capabilities, seccomp, {landlock}, no network")
}
