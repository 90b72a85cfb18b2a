//! `ordain apply`.

use super::recover::recover;
use crate::arguments::Connect;
use crate::changes::{show_applied, show_changes, told};
use crate::document::load;
use crate::exit::{self, Failure, Outcome};
use crate::gate::files::{self, Asker, Changed};
use crate::input::Source;
use crate::patch_source::{is_diff, of_diff};
use crate::report::RED;
use clap::Args;
use ordain_agent::Trial;
use ordain_harness::apply::{self, Applied, Authority, Base};
use ordain_run::is_run_folder;
use ordain_spec::Verified;
use ordain_spec::evidence::ExecutionEvidence;
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;
use ordain_spec::run::{RunResult, UNTESTED};
use ordain_state::Home;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help(&[
    Outcome::Ok.means("applied"),
    Outcome::Failed.means("refused or rolled back"),
    Outcome::Hold.means("held by the gate; nothing is changed"),
    Outcome::Deny.means("denied by the gate; nothing is changed"),
]))]
pub(crate) struct Apply {
    /// A patch set, a git diff, or the folder of an accepted run; `-` is standard input
    #[arg(value_name = "PATCH|DIFF|RUN")]
    pub(crate) what: PathBuf,
    /// The folder to change; without it the one that the run was tried on, or this one
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// It is a git diff; a file's content shows that too
    #[arg(long)]
    pub(crate) diff: bool,
    /// Only if the files are as this list says, as `plan --base` writes it; a run has one of its own
    #[arg(long, value_name = "BASE")]
    pub(crate) if_unchanged: Option<PathBuf>,
    /// Apply a run even if files changed since it was tried
    #[arg(long, conflicts_with = "if_unchanged")]
    pub(crate) even_if_changed: bool,
    /// Change nothing, and print what would change as a unified diff
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The actor that proposes the change to a gate [default: the one in ordain.toml, or the user's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Apply, json: bool) -> Result<Outcome, Failure> {
    let wanted = Wanted::of(args, json)?;
    // The recovery at the start was about the current folder.
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
        let applied = Authority::local_operator(&Home::from_environment()?, workspace)
            .and_then(|authority| apply::apply(workspace, patch, base, authority));
        let applied = told(applied, json)?;
        if applied.record.is_some() {
            files::say_nobody_was_asked();
        }
        show_applied(&applied, workspace, json)?;
        return Ok(Outcome::Ok);
    };
    // A patch set that cannot be applied is not proposed, and one that changes nothing needs no permission.
    let changes = told(apply::preview(workspace, patch, base), json)?;
    if changes.iter().all(|change| change.before == change.after) {
        show_applied(&Applied { record: None, files: Vec::new() }, workspace, json)?;
        return Ok(Outcome::Ok);
    }
    let acted = match gate.change(|gated, tell| gated.apply(patch, &changes, run, tell))? {
        Changed::Not(outcome) => return Ok(outcome),
        Changed::Tried(acted) => acted,
    };
    show_applied(&told(acted.applied, json)?, workspace, json)?;
    acted.reported?;
    Ok(Outcome::Ok)
}

/// The change to apply, and the folder to apply it to.
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
            let workspace = args.workspace.clone().unwrap_or_else(here);
            let source = Source::of(&args.what);
            if args.diff || (source != Source::Stdin && is_diff(&source.bytes()?)) {
                let (patch, seen) = of_diff(&source.bytes()?, &source.name(), &workspace)?;
                return Ok(Self { workspace, patch, base: base.or(Some(seen)), run: None });
            }
            let patch = load::<PatchSet>(&args.what, json)?.document;
            return Ok(Self { workspace, patch, base, run: None });
        }
        if !is_run_folder(&args.what) {
            let problem = "is neither a patch set, a git diff nor the folder of a run".to_owned();
            let failure = Failure::Document { path: args.what.display().to_string(), problem };
            return Err(failure.with_hint("the folders of runs are in `.ordain/runs`"));
        }
        check_links(&args.what, json)?;
        let run = load::<RunResult>(&args.what.join("result.json"), json)?.document;
        let untested = run.decision.reasons.first().is_some_and(|reason| reason == UNTESTED);
        if !run.decision.accepted && !untested {
            let reason = run.decision.reasons.first().map_or("", String::as_str);
            let path = args.what.display().to_string();
            let hint = format!("run `ordain show {path}`");
            let problem = format!("the run was not accepted: {reason}");
            return Err(Failure::Document { path, problem }.with_hint(hint));
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

/// Refuses the folder of a run in which anything changed since: only what was tried is applied.
fn check_links(run: &Path, json: bool) -> Result<(), Failure> {
    let mut report = Vec::new();
    if super::run::verify(&mut report, run, json)? == Outcome::Ok {
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
