//! `ordain ledger verify`.

use super::PAGE_MAX;
use super::fsck::{Depth, LedgerFsck, check, notes, told};
use crate::arguments::note_verifier;
use crate::document::write_file;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::progress::Progress;
use crate::wording::count;
use clap::Args;
use ordain_api::EntriesQuery;
use ordain_canon::Canonicalizer;
use ordain_gate::{EntriesAudit, NamedNote};
use ordain_ledger::{Hash, SignedNote};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fmt::Display;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain ledger verify
  ordain ledger verify --checkpoint checkpoints/2026-01-05.txt
  ordain ledger verify --server https://gate.example --key \"ordain/0123456789abcdef+89abcdef+AQ…\" --keep last.txt

With --server the entries are read and their tree is compared with what the server signs now and with what it signed \
before, by the checkpoints that you kept. The server's word is not taken for anything; the documents stay there. Only a \
kept checkpoint shows that nothing of what was there then is missing now.", &[
    Outcome::Ok.means("the ledger is sound"),
    Outcome::Failed.means("the ledger is damaged; the first bad entry is named"),
    Outcome::NoResult.means("the ledger could not be checked"),
]))]
pub(crate) struct LedgerVerify {
    /// With --server: the ledger's key, as `ordain keys list` shows it; may be given several times
    #[arg(long = "key", value_name = "VERIFIER", value_parser = note_verifier, requires = "server")]
    pub(crate) keys: Vec<ordain_ledger::NoteVerifier>,
    /// With --server: compare with the checkpoint in this file, if it is there, and if all is well put the one of now in its place
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) keep: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) what: LedgerFsck,
}

pub(super) fn run(args: &LedgerVerify, json: bool) -> Result<Outcome, Failure> {
    if args.what.connect.server.is_some() {
        verify_server(args, json)
    } else {
        check(&args.what, Depth::Ledger, json)
    }
}

/// Reads the entries of a server and builds their tree, to compare it with what the server signs and signed.
fn verify_server(args: &LedgerVerify, json: bool) -> Result<Outcome, Failure> {
    let LedgerVerify { keys, keep, what: LedgerFsck { checkpoints, connect } } = args;
    if keys.is_empty() {
        let hint =
            "pass `--key VERIFIER` as `ordain keys list` shows it, from the operator and not from the server";
        return Err(
            Failure::Usage("the ledger of a server is checked with its key".to_owned()).with_hint(hint)
        );
    }
    // Compare with the checkpoint of the last time before it is replaced.
    let last = keep.iter().filter(|path| path.exists() && !checkpoints.contains(path));
    let kept = notes(&checkpoints.iter().chain(last).cloned().collect::<Vec<_>>())?;
    let gateway = Gateway::open(connect, Purpose::Look)?;
    let unreadable = |what: &str, error: &dyn Display| {
        Failure::Server(format!("the server's answer cannot be read: {what}: {error}"))
    };
    let note = SignedNote::parse(&gateway.client().checkpoint()?);
    let note = note.map_err(|error| unreadable("the checkpoint", &error))?;
    let signed = note.to_string();
    let now = NamedNote { name: "what the server signs now".to_owned(), note, own: false };
    let mut audit = EntriesAudit::new(keys, &kept, &now);
    let mut progress = Progress::new("entries", None);
    let mut canonicalizer = Canonicalizer::new();
    'pages: while let missing = audit.missing()
        && !missing.is_empty()
    {
        let limit = (missing.end - missing.start).min(PAGE_MAX);
        let query = EntriesQuery { from: Some(missing.start), limit: Some(limit) };
        let page: ForeignPage = gateway.client().entries_as(&query)?;
        if page.entries.is_empty() {
            break;
        }
        for it in page.entries.iter().take(usize::try_from(limit).unwrap_or_default()) {
            let leaf_hash = Hash::parse(&it.leaf_hash).map_err(|error| unreadable("a hash", &error))?;
            let entry = it.entry.get().as_bytes();
            let entry = canonicalizer.text(entry).unwrap_or(entry).to_vec();
            if !audit.check(it.index, entry, leaf_hash) {
                break 'pages;
            }
        }
        progress.add(page.entries.len());
    }
    drop(progress);
    let audit = audit.end();
    if let Some(path) = keep.as_ref().filter(|_| audit.is_sound()) {
        write_file(path, signed.as_bytes())
            .map_err(|error| Failure::File { path: path.display().to_string(), error })?;
    }
    let kept = match audit.checkpoints {
        0 | 1 if keep.is_some() => "; there was no earlier checkpoint to compare with".to_owned(),
        0 | 1 => "; no earlier checkpoint was compared, --keep FILE keeps one for the next time".to_owned(),
        number => format!(" and with {}", count(number - 1, "earlier checkpoint")),
    };
    told(&audit, &format!("agrees with what the server signs now{kept}; documents were not looked at"), json)
}

/// A page of a server whose word is not taken for anything.
#[derive(Deserialize)]
struct ForeignPage {
    entries: Vec<ForeignEntry>,
}

/// An entry of which nothing is believed.
#[derive(Deserialize)]
struct ForeignEntry {
    index: u64,
    leaf_hash: String,
    entry: Box<RawValue>,
}
