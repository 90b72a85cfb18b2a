//! `ordain policy diff`.

use crate::arguments::Connect;
use crate::changes::show_changes;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::policy_folder::{Folder, find};
use clap::Args;
use ordain_decision::PolicyFiles;
use ordain_harness::apply::Change;
use std::collections::BTreeSet;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain policy diff
  ordain policy diff policy --server https://gate.example", &[
    Outcome::Ok.means("the folder is in force"),
    Outcome::Failed.means("the folder differs, or an error"),
]))]
pub(crate) struct PolicyDiff {
    /// The policy folder; without it the one that ordain.toml names, or ./policy
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &PolicyDiff, json: bool) -> Result<Outcome, Failure> {
    let folder = Folder::read(find(args.dir.as_deref())?)?;
    let active = Gateway::open(&args.connect, Purpose::Look)?.client().policy(None)?;
    let active = active.map(|active| active.files).unwrap_or_default();
    let changes = changes(&active, &folder.files);
    show_changes(&changes, json)?;
    Ok(if changes.is_empty() { Outcome::Ok } else { Outcome::Failed })
}

/// The files that differ, from one set of policies to another.
pub(super) fn changes(before: &PolicyFiles, after: &PolicyFiles) -> Vec<Change> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    let bytes = |files: &PolicyFiles, name: &String| files.get(name).map(|text| text.clone().into_bytes());
    differs
        .map(|name| Change { path: name.clone(), before: bytes(before, name), after: bytes(after, name) })
        .collect()
}
