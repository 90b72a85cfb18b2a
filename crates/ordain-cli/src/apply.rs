//! `ordain apply` and `ordain undo`.

use crate::args::{Apply, Recover, Undo};
use crate::document::load;
use crate::exit::{Failure, Outcome};
use crate::gate::files::{self, Asked, Asker, Gated, Trial, What, Wish};
use crate::input::Source;
use crate::report::{BOLD, GREEN, RED, YELLOW, printable};
use crate::unified::{self, Reader};
use crate::wording::count;
use anstyle::Style;
use ordain_canon::time::rfc3339;
use ordain_canon::{Canonicalizer, ContentHash, PatchHash};
use ordain_harness::apply::{
    self, Applied, ApplyError, Authority, Base, Change, ChangedFile, Copies, Problem, Recovered, records,
};
use ordain_run::is_run_folder;
use ordain_spec::Verified;
use ordain_spec::evidence::ExecutionEvidence;
use ordain_spec::patch::{PatchOp, PatchSet};
use ordain_spec::plan::Proposal;
use ordain_spec::run::RunResult;
use serde::Serialize;
use serde_json::json;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &Apply, json: bool) -> Result<Outcome, Failure> {
    let wanted = Wanted::of(args, json)?;
    // The one that every command starts with was about this folder.
    if wanted.workspace != Path::new(".") && args.workspace.is_none() {
        recover(&wanted.workspace);
    }
    if args.dry_run {
        let changes = apply::preview(&wanted.workspace, &wanted.patch, wanted.base.as_ref());
        return told(changes, json).and_then(|changes| show_changes(&changes, json));
    }
    let actor = args.actor.as_deref();
    let asker = Asker { workspace: &wanted.workspace, connect: &args.connect, actor, json };
    let trial = wanted.run.as_ref().map(|(result, plan, evidence)| Trial { result, plan, evidence });
    apply_asked(&asker, &wanted.patch, wanted.base.as_ref(), trial)
}

/// Applies a patch set, after asking the gate where there is one.
pub(crate) fn apply_asked(
    asker: &Asker<'_>,
    patch: &Verified<PatchSet>,
    base: Option<&Base>,
    run: Option<Trial<'_>>,
) -> Result<Outcome, Failure> {
    let &Asker { workspace, json, .. } = asker;
    let Some(gate) = asker.gate()? else {
        let applied = told(apply::apply(workspace, patch, base, Authority::LocalOperator), json)?;
        if applied.record.is_some() {
            files::say_nobody_was_asked();
        }
        show_applied(&applied, workspace, json)?;
        return Ok(Outcome::Ok);
    };
    // What cannot be applied is not asked for, and what is there already needs no permission.
    let changes = told(apply::preview(workspace, patch, base), json)?;
    if changes.iter().all(|change| change.before == change.after) {
        show_applied(&Applied { record: None, files: Vec::new() }, workspace, json)?;
        return Ok(Outcome::Ok);
    }
    let patch_hash = PatchHash::of(&mut Canonicalizer::new(), &**patch)?.to_string();
    let operations = patch.operations.iter().map(|it| (it.op, it.path.as_str())).collect();
    let wish = Wish { what: What::Apply { run }, patch_hash: &patch_hash, operations, changes: &changes };
    let permitted = match gate.ask(&wish)? {
        Asked::Not(outcome) => return Ok(outcome),
        Asked::Permitted(permitted) => permitted,
    };
    // Not the base alone: what somebody wrote since the gate was asked stands in no diff that was approved.
    let applied = apply::apply(workspace, patch, Some(&Base::of(&changes)), permitted.authority());
    let reported = permitted.report(&applied);
    show_applied(&told(applied, json)?, workspace, json)?;
    reported.map(|()| Outcome::Ok)
}

/// What is to be applied, and where.
struct Wanted {
    workspace: PathBuf,
    patch: Verified<PatchSet>,
    base: Option<Base>,
    run: Option<(Verified<RunResult>, Verified<Proposal>, Verified<ExecutionEvidence>)>,
}

impl Wanted {
    fn of(args: &Apply, json: bool) -> Result<Self, Failure> {
        let here = || PathBuf::from(".");
        if !args.what.is_dir() {
            let base = args.if_unchanged.as_deref().map(read_base).transpose()?;
            let patch = load::<PatchSet>(&args.what, json)?.document;
            let workspace = args.workspace.clone().unwrap_or_else(here);
            return Ok(Self { workspace, patch, base, run: None });
        }
        if !is_run_folder(&args.what) {
            let problem = "is no folder of a run, and no patch set; a run is in `.ordain/runs`".to_owned();
            return Err(Failure::Document { path: args.what.display().to_string(), problem });
        }
        check_links(&args.what, json)?;
        let run = load::<RunResult>(&args.what.join("result.json"), json)?.document;
        if !run.decision.accepted {
            let reason = run.decision.reasons.first().map_or("", String::as_str);
            let problem = format!(
                "this run was not accepted, so it is not applied: {reason} (`ordain show {}` says more)",
                args.what.display()
            );
            return Err(Failure::Document { path: args.what.display().to_string(), problem });
        }
        let base = match (&args.if_unchanged, args.even_if_changed) {
            (_, true) => None,
            (Some(base), false) => Some(read_base(base)?),
            (None, false) => Some(read_base(&args.what.join("base.json"))?),
        };
        let patch = load::<PatchSet>(&args.what.join("patch.json"), json)?.document;
        let workspace = args.workspace.clone().or_else(|| workspace_of_run(&args.what)).unwrap_or_else(here);
        let plan = load::<Proposal>(&args.what.join("plan.json"), json)?.document;
        let evidence = load::<ExecutionEvidence>(&args.what.join("evidence.json"), json)?.document;
        Ok(Self { workspace, patch, base, run: Some((run, plan, evidence)) })
    }
}

/// What was tried is what is applied: a folder in which anything was changed since is refused.
fn check_links(run: &Path, json: bool) -> Result<(), Failure> {
    let mut report = Vec::new();
    if crate::run::verify(&mut report, run, json)? == Outcome::Ok {
        return Ok(());
    }
    if json {
        io::stdout().lock().write_all(&report)?;
    } else {
        let mut stderr = anstream::stderr().lock();
        stderr.write_all(&report)?;
        writeln!(stderr, "{RED}refused{RED:#}  nothing was changed: this is not what was tried")?;
    }
    Err(Failure::Reported)
}

/// A run's folder is `.ordain/runs/NAME` of the workspace that it was tried on.
fn workspace_of_run(run: &Path) -> Option<PathBuf> {
    let above = |run: &Path| {
        let runs = run.parent().filter(|runs| runs.ends_with(".ordain/runs"))?;
        Some(runs.parent()?.parent()?.to_owned())
    };
    // As it was typed, if that says it.
    let workspace = above(run).or_else(|| above(&run.canonicalize().ok()?))?;
    Some(if workspace.as_os_str().is_empty() { PathBuf::from(".") } else { workspace })
}

fn read_base(path: &Path) -> Result<Base, Failure> {
    let text = Source::of(path).text()?;
    serde_json::from_slice(&text.json).map_err(|error| Failure::Parse {
        path: path.display().to_string(),
        problem: format!("not a list of what a patch replaces: {error}"),
    })
}

pub(crate) fn run_undo(args: &Undo, json: bool) -> Result<Outcome, Failure> {
    if args.list {
        return list(&args.workspace, json);
    }
    let record = args.record.as_deref();
    let copies = if args.even_if_copied { Copies::Trust } else { Copies::Refuse };
    if args.dry_run {
        let preview = told(apply::preview_undo(&args.workspace, record, copies), json)?;
        return show_changes(&preview.1, json);
    }
    let asker =
        Asker { workspace: &args.workspace, connect: &args.connect, actor: args.actor.as_deref(), json };
    let (undone, reported) = match asker.gate()? {
        None => {
            let undone = apply::undo(&args.workspace, record, copies, Authority::LocalOperator);
            if undone.is_ok() {
                files::say_nobody_was_asked();
            }
            (undone, Ok(()))
        }
        Some(gate) => {
            let (name, changes) = told(apply::preview_undo(&args.workspace, record, copies), json)?;
            let permitted = match ask_to_undo(gate, &args.workspace, &name, &changes, json)? {
                Asked::Not(outcome) => return Ok(outcome),
                Asked::Permitted(permitted) => permitted,
            };
            let undone = apply::undo(&args.workspace, Some(&name), copies, permitted.authority());
            let reported = permitted.report(&undone);
            (undone, reported)
        }
    };
    let undone = told(undone, json)?;
    if json {
        print_json(&json!({"undone": undone}))?;
        return reported.map(|()| Outcome::Ok);
    }
    let mut stdout = anstream::stdout().lock();
    let files = count(undone.files.len() as u64, "file");
    let record = undone.record.unwrap_or_default();
    writeln!(stdout, "{GREEN}undone{GREEN:#}  {record}: {files} as before")?;
    write_files(&mut stdout, &undone.files)?;
    stdout.flush()?;
    reported.map(|()| Outcome::Ok)
}

fn ask_to_undo(
    gate: Gated<'_>,
    workspace: &Path,
    record: &str,
    changes: &[Change],
    json: bool,
) -> Result<Asked, Failure> {
    let operation = |change: &'_ Change| match (&change.before, &change.after) {
        (None, _) => PatchOp::Create,
        (Some(_), Some(_)) => PatchOp::Modify,
        (Some(_), None) => PatchOp::Delete,
    };
    let operations = changes.iter().map(|change| (operation(change), change.path.as_str())).collect();
    let mut restored = Vec::new();
    for Change { path, after, .. } in changes {
        restored.extend(after.as_ref().map(|content| (path.as_str(), ContentHash::of(content).to_string())));
    }
    let known = told(records(workspace), json)?.into_iter().find(|it| it.record == record);
    let gone = || ApplyError::NoRecord(format!("there is no change `{record}` in this workspace any more"));
    let patch_hash = known.ok_or_else(gone)?.patch_hash;
    gate.ask(&Wish { what: What::Undo { record, restored }, patch_hash: &patch_hash, operations, changes })
}

fn list(workspace: &Path, json: bool) -> Result<Outcome, Failure> {
    let mut records = told(records(workspace), json)?;
    records.reverse();
    if json {
        print_json(&json!({"applied": records}))?;
        return Ok(Outcome::Ok);
    }
    let mut stdout = anstream::stdout().lock();
    if records.is_empty() {
        writeln!(stdout, "nothing was applied to this workspace, or all of it is undone")?;
    }
    for record in &records {
        let files = count(record.files.len() as u64, "file");
        let time = rfc3339(record.applied_at_ms).unwrap_or_default();
        let source = printable(&record.source_proposal_id);
        writeln!(stdout, "{BOLD}{}{BOLD:#}  {time}  {files}  {source}", record.record)?;
    }
    stdout.flush()?;
    Ok(Outcome::Ok)
}

/// Prints what speaks against a change, one line for each; other failures are told where all are.
pub(crate) fn told<T>(result: Result<T, ApplyError>, json: bool) -> Result<T, Failure> {
    let (word, said, problems) = match result {
        Ok(value) => return Ok(value),
        Err(ApplyError::Refused(problems)) => ("refused", "nothing was changed", problems),
        Err(ApplyError::RolledBack(problem)) => {
            ("rolled back", "everything is as it was before", vec![problem])
        }
        Err(error) => return Err(error.into()),
    };
    if json {
        print_json(&json!({"applied": null, "because": word, "problems": problems}))?;
    } else {
        let mut stderr = anstream::stderr().lock();
        let found = count(problems.len() as u64, "problem");
        writeln!(stderr, "{RED}{word}{RED:#}  {said}: {found}")?;
        for Problem { path, problem } in &problems {
            writeln!(stderr, "  {BOLD}{}{BOLD:#}  {}", printable(path), printable(problem))?;
        }
    }
    Err(Failure::Reported)
}

pub(crate) fn show_applied(applied: &Applied, workspace: &Path, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(&json!({"applied": applied}));
    }
    let mut stdout = anstream::stdout().lock();
    let Some(record) = &applied.record else {
        writeln!(
            stdout,
            "{GREEN}nothing to change{GREEN:#}  every file is already as the patch set wants it"
        )?;
        return Ok(stdout.flush()?);
    };
    let files = count(applied.files.len() as u64, "file");
    writeln!(stdout, "{GREEN}applied{GREEN:#}  {files}, as {record}")?;
    write_files(&mut stdout, &applied.files)?;
    let place = match workspace {
        here if here == Path::new(".") => String::new(),
        there => format!(" --workspace {}", printable(&there.display().to_string())),
    };
    writeln!(stdout, "take it back with: ordain undo{place}")?;
    Ok(stdout.flush()?)
}

fn write_files(out: &mut impl Write, files: &[ChangedFile]) -> io::Result<()> {
    /// More than that are counted.
    const LISTED_MAX: usize = 100;
    files.iter().take(LISTED_MAX).try_for_each(|file| write_file(out, file.op, &file.path))?;
    match files.len().saturating_sub(LISTED_MAX) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more"),
    }
}

fn write_file(out: &mut impl Write, op: PatchOp, path: &str) -> io::Result<()> {
    let (style, sign): (Style, char) = match op {
        PatchOp::Create => (GREEN, '+'),
        PatchOp::Modify => (YELLOW, '~'),
        PatchOp::Delete => (RED, '-'),
    };
    writeln!(out, "  {style}{sign}{style:#} {}", printable(path))
}

pub(crate) fn show_changes(changes: &[Change], json: bool) -> Result<Outcome, Failure> {
    if json {
        let hash = |side: &Option<Vec<u8>>| side.as_ref().map(|bytes| ContentHash::of(bytes).to_string());
        let file = |change: &Change| json!({"path": change.path, "before": hash(&change.before), "after": hash(&change.after)});
        print_json(&json!({"would_change": changes.iter().map(file).collect::<Vec<_>>()}))?;
        return Ok(Outcome::Ok);
    }
    let colours = anstream::ColorChoice::global() == anstream::ColorChoice::Always;
    if colours || io::stdout().is_terminal() {
        unified::write(&mut io::BufWriter::new(anstream::stdout().lock()), changes, Reader::Person)?;
    } else {
        // As it is, byte for byte: a stream that takes colours out would take out of the contents what looks like one.
        unified::write(&mut io::BufWriter::new(io::stdout().lock()), changes, Reader::Program)?;
    }
    Ok(Outcome::Ok)
}

fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(Canonicalizer::new().value(value)?)?;
    stdout.write_all(b"\n")?;
    Ok(stdout.flush()?)
}

/// Finishes or takes back what an earlier command was stopped in, and says so. That it cannot be done stops only the
/// commands that change the workspace, which ask again.
pub(crate) fn recover(workspace: &Path) {
    let said = match apply::recover(workspace, Copies::Refuse) {
        Ok(None) | Err(ApplyError::Workspace { .. }) => return,
        Ok(Some(recovered)) => sentence(&recovered),
        Err(error) => format!("an apply had been interrupted, and cannot be finished now: {error}"),
    };
    let _ = writeln!(anstream::stderr(), "{YELLOW}note:{YELLOW:#} {}", printable(&said));
}

fn sentence(recovered: &Recovered) -> String {
    match recovered {
        Recovered::Discarded => {
            "an apply had been interrupted before it changed anything; what it had staged is removed"
                .to_owned()
        }
        Recovered::Finished { record } => {
            format!("an apply had been interrupted; it is finished now, as {record}")
        }
        Recovered::RolledBack { because } => {
            format!(
                "an apply had been interrupted; it is rolled back now, everything is as before: {because}"
            )
        }
        Recovered::Undone { record } => {
            format!("an undo had been interrupted; it is finished now: {record} is undone")
        }
    }
}

pub(crate) fn run_recover(args: &Recover, json: bool) -> Result<Outcome, Failure> {
    let copies = if args.even_if_copied { Copies::Trust } else { Copies::Refuse };
    let recovered = apply::recover(&args.workspace, copies)?;
    files::report_interrupted(&args.workspace, &args.connect);
    if json {
        print_json(&json!({"recovered": recovered}))?;
    } else {
        let said = recovered.as_ref().map_or_else(|| "nothing had been interrupted".to_owned(), sentence);
        writeln!(anstream::stdout(), "{}", printable(&said))?;
    }
    Ok(Outcome::Ok)
}
