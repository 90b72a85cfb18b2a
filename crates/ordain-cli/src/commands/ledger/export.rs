//! `ordain ledger export`.

use super::{entries, local};
use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::Purpose;
use crate::output::print_json;
use crate::progress::Progress;
use crate::report::{GREEN, printable};
use clap::Args;
use serde_json::json;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct LedgerExport {
    /// The folder to write to
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &LedgerExport, json: bool) -> Result<Outcome, Failure> {
    let local = local(&args.connect, Purpose::Write)?;
    let root = &args.dir;
    let write = |path: &str, content: &[u8]| -> std::io::Result<()> {
        let path = Path::new(path);
        if path.components().any(|it| !matches!(it, Component::Normal(_))) {
            return Err(std::io::Error::other("a path that leaves the folder"));
        }
        let path = root.join(path);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, content)
    };
    let mut progress = Progress::new("entries", None);
    let mut before = 0;
    let step = |done: u64, _: u64| {
        progress.add(usize::try_from(done - before).unwrap_or_default());
        before = done;
    };
    let size = local.runtime.block_on(ordain_gate::export(local.app.gate(), write, step))?;
    drop(progress);
    if json {
        print_json(&json!({"size": size, "folder": root.display().to_string()}))?;
    } else {
        let said = format!("{} in {}", entries(size), root.display());
        writeln!(anstream::stdout(), "{GREEN}exported{GREEN:#}  {}", printable(&said))?;
    }
    Ok(Outcome::Ok)
}
