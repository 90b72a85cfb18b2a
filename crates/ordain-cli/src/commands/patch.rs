//! `ordain patch`.

use crate::document::{emit, load};
use crate::exit::{self, Failure, Outcome};
use crate::input::Source;
use crate::patch_source::{made, of_diff, of_folder, of_git};
use crate::report;
use clap::Args;
use ordain_kernel::patch;
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;
use std::path::PathBuf;

#[derive(Args)]
#[command(
    group(clap::ArgGroup::new("origin").required(true).args(["plan", "from", "diff", "git"])),
    after_help = exit::help(exit::PLAIN)
)]
pub(crate) struct Patch {
    /// The plan proposal; `-` is standard input
    #[arg(value_name = "PLAN")]
    pub(crate) plan: Option<PathBuf>,
    /// Compare the workspace with this folder: the patch set turns the one into the other
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// Take a git diff against the workspace; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) diff: Option<PathBuf>,
    /// Take what changed since this commit in the files that git tracks; `A..B` is from one commit to another
    #[arg(long, value_name = "REV", allow_hyphen_values = false)]
    pub(crate) git: Option<String>,
    /// The folder that the changes are for
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// Write the patch set to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

pub(crate) fn run(args: &Patch, json: bool) -> Result<Outcome, Failure> {
    let set = match (&args.plan, &args.from, &args.diff, &args.git) {
        (Some(path), ..) => of_plan(path, json)?,
        (_, Some(folder), ..) => of_folder(&args.workspace, folder)?.into_inner(),
        (_, _, Some(path), _) => {
            let source = Source::of(path);
            of_diff(&source.bytes()?, &source.name(), &args.workspace)?.0.into_inner()
        }
        (_, _, _, Some(revision)) => of_git(&args.workspace, revision)?.into_inner(),
        (None, None, None, None) => {
            return Err(Failure::Usage("give a plan, `--from`, `--diff` or `--git`".to_owned()));
        }
    };
    if set.operations.is_empty() {
        let hint = args
            .git
            .is_some()
            .then_some("run `ordain patch --git HEAD~1` to compare with the commit before the last one");
        report::note("nothing differs, so the patch set is empty", hint);
    }
    emit(&set, args.output.as_deref(), json, made(&set)?)?;
    Ok(Outcome::Ok)
}

fn of_plan(path: &std::path::Path, json: bool) -> Result<PatchSet, Failure> {
    let plan = load::<Proposal>(path, json)?;
    patch(&plan.document)
        .map_err(|error| Failure::Document { path: plan.source.name(), problem: error.to_string() })
}
