//! `ordain patch`.

use crate::document::{Made, emit, load};
use crate::exit::{self, Failure, Outcome};
use clap::Args;
use ordain_canon::{Canonicalizer, PatchHash};
use ordain_kernel::patch;
use ordain_spec::plan::Proposal;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Patch {
    /// The plan proposal; `-` is standard input
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// Write the patch set to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

pub(crate) fn run(args: &Patch, json: bool) -> Result<Outcome, Failure> {
    let plan = load::<Proposal>(&args.plan, json)?;
    let set = patch(&plan.document)
        .map_err(|error| Failure::Document { path: plan.source.name(), problem: error.to_string() })?;
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let (count, bytes) = (set.operations.len() as u64, set.total_bytes);
    let made = Made {
        title: format!("patch set of {}", set.source_proposal_id.as_str()),
        name: ("hash", PatchHash::of(&mut Canonicalizer::new(), &set)?.to_string()),
        summary: format!("{count} operation{}, {bytes} byte{}", plural(count), plural(bytes)),
    };
    emit(&set, args.output.as_deref(), json, made)?;
    Ok(Outcome::Ok)
}
