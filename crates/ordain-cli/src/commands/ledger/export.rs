//! `ordain ledger export`.

use super::foreign::{Documents, ForeignPage};
use super::{OtherGate, PAGE_MAX, entries};
use crate::arguments::{Connect, note_verifier};
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::progress::Progress;
use crate::report::{GREEN, printable};
use clap::Args;
use ordain_client::Client;
use ordain_gate::{Export, GateError};
use ordain_ledger::{Checkpoint, NoteVerifier, SignedNote};
use serde_json::json;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain ledger export ledger/
  ordain ledger export ledger/ --server https://gate.example --key \"ordain/0123456789abcdef+89abcdef+AQ…\"

With --server the tiles are made here, from the entries that the server sends, and the checkpoint is written only if it was signed over \
exactly these.", exit::PLAIN))]
pub(crate) struct LedgerExport {
    /// The folder to write to
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// With --server: the ledger's key, as `ordain keys list` shows it, from the operator and not from the server
    #[arg(long = "key", value_name = "VERIFIER", value_parser = note_verifier)]
    pub(crate) keys: Vec<NoteVerifier>,
    #[command(flatten)]
    pub(crate) other: OtherGate,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &LedgerExport, json: bool) -> Result<Outcome, Failure> {
    let gateway = args.other.open(&args.connect, Purpose::Write)?;
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
    let size = match gateway.server() {
        Some(_) => of_server(gateway.client(), &args.keys, write, step)?,
        None => of_store(gateway, write, step)?,
    };
    drop(progress);
    if json {
        print_json(&json!({"size": size, "folder": root.display().to_string()}))?;
    } else {
        let said = format!("{} in {}", entries(size), root.display());
        writeln!(anstream::stdout(), "{GREEN}exported{GREEN:#}  {}", printable(&said))?;
    }
    Ok(Outcome::Ok)
}

/// Exports a store of this machine.
fn of_store(
    gateway: Gateway,
    write: impl FnMut(&str, &[u8]) -> std::io::Result<()>,
    step: impl FnMut(u64, u64),
) -> Result<u64, Failure> {
    let local = gateway.into_local().ok_or_else(|| Failure::Server("there is no store".to_owned()))?;
    Ok(local.runtime.block_on(ordain_gate::export(local.app.gate(), write, step))?)
}

/// Exports from a server: its entries, as far as they are what its checkpoint signs.
fn of_server(
    client: &Client,
    keys: &[NoteVerifier],
    write: impl FnMut(&str, &[u8]) -> std::io::Result<()>,
    mut step: impl FnMut(u64, u64),
) -> Result<u64, Failure> {
    let unreadable = |what: String| Failure::Server(format!("the server's answer cannot be read: {what}"));
    let note = SignedNote::parse(&client.checkpoint()?).map_err(|error| unreadable(error.to_string()))?;
    if let Some(key) = keys.first() {
        let wrong =
            |error: String| Failure::Server(format!("the checkpoint that the server signs now: {error}"));
        Checkpoint::open(&note, keys, key.name()).map_err(|error| wrong(error.to_string()))?;
    }
    let mut export = Export::of(note, write)?;
    while let missing = export.missing()
        && !missing.is_empty()
    {
        let limit = (missing.end - missing.start).min(PAGE_MAX);
        let page = ForeignPage::read(client, missing.start, limit, Documents::Left)?;
        for (index, entry) in (missing.start..).zip(page.entries) {
            if entry.index != index {
                return Err(unreadable(format!("entry {} came in the place of {index}", entry.index)));
            }
            export.add(entry.entry)?;
        }
        if export.missing().start == missing.start {
            let problem = format!("entry {} is missing", missing.start);
            return Err(GateError::Damaged(problem).into());
        }
        step(export.missing().start, missing.end);
    }
    Ok(export.end()?)
}
