//! `ordain recover`, and the recovery that every command starts with.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gate::files;
use crate::output::print_json;
use crate::report::{self, printable};
use clap::Args;
use ordain_harness::apply::{self, ApplyError, Copies, Recovered};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help(&[
    Outcome::Ok.means("nothing is unfinished"),
    Outcome::Failed.means("the change cannot be finished"),
]))]
pub(crate) struct Recover {
    /// The folder that was being changed
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// Trust a journal that came with a copy of the workspace
    #[arg(long)]
    pub(crate) even_if_copied: bool,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Recover, json: bool) -> Result<Outcome, Failure> {
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

/// Finishes or takes back what an earlier command was stopped in, and says so. That it cannot be done stops only the
/// commands that change the workspace, which ask again.
pub(crate) fn recover(workspace: &Path) {
    let said = match apply::recover(workspace, Copies::Refuse) {
        Ok(None) | Err(ApplyError::Workspace { .. }) => return,
        Ok(Some(recovered)) => sentence(&recovered),
        Err(error) => format!("an apply had been interrupted, and cannot be finished now: {error}"),
    };
    report::note(&said, None);
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
