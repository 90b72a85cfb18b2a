//! `ordain ledger verify`.

use super::foreign::{Documents, ForeignPage};
use super::fsck::{Depth, check, notes, told};
use super::{OtherGate, PAGE_MAX};
use crate::arguments::{Connect, note_verifier};
use crate::document::write_file;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::progress::Progress;
use crate::wording::count;
use clap::Args;
use ordain_gate::{EntriesAudit, NamedNote};
use ordain_ledger::{Hash, SignedNote};
use std::fmt::Display;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain ledger verify
  ordain ledger verify --checkpoint checkpoints/2026-01-05.txt
  ordain ledger verify --server https://gate.example --key \"ordain/0123456789abcdef+89abcdef+AQ…\" --keep last.txt

With --server the entries are read and their tree is compared with the server's checkpoint of now and with what it signed \
before, by the checkpoints that you kept. The server's word is not taken for anything; the documents stay there. Only a \
kept checkpoint shows that nothing of what was there then is missing now.", &[
    Outcome::Ok.means("the ledger is sound"),
    Outcome::Failed.means("the ledger is damaged; the first bad entry is named"),
    Outcome::NoResult.means("the ledger could not be checked"),
]))]
pub(crate) struct LedgerVerify {
    /// With a server or the service: the ledger's key, as `ordain keys list` shows it; may be given several times
    #[arg(long = "key", value_name = "VERIFIER", value_parser = note_verifier)]
    pub(crate) keys: Vec<ordain_ledger::NoteVerifier>,
    /// With a server or the service: compare with the checkpoint in this file, if it is there, and if all is
    /// well put the one of now in its place
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
    /// A checkpoint from elsewhere that the ledger must still agree with; may be given several times
    #[arg(long = "checkpoint", value_name = "FILE")]
    pub(crate) checkpoints: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) other: OtherGate,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &LedgerVerify, json: bool) -> Result<Outcome, Failure> {
    if args.other.is_served(&args.connect)? {
        return verify_server(args, json);
    }
    if !args.keys.is_empty() || args.keep.is_some() {
        let problem = "`--key` and `--keep` are for a server, and this is a store".to_owned();
        return Err(Failure::Usage(problem).with_hint("name a server with `--server URL`"));
    }
    check(&args.other, &args.checkpoints, Depth::Ledger, json)
}

/// Reads the entries of a server and builds their tree, to compare it with what the server signs and signed.
fn verify_server(args: &LedgerVerify, json: bool) -> Result<Outcome, Failure> {
    let LedgerVerify { keys, keep, checkpoints, connect, .. } = args;
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
    let now = NamedNote { name: "the present checkpoint of the server".to_owned(), note, own: false };
    let mut audit = EntriesAudit::new(keys, &kept, &now);
    let mut progress = Progress::new("entries", None);
    'pages: while let missing = audit.missing()
        && !missing.is_empty()
    {
        let limit = (missing.end - missing.start).min(PAGE_MAX);
        let page = ForeignPage::read(gateway.client(), missing.start, limit, Documents::Left)?;
        if page.entries.is_empty() {
            break;
        }
        let read = page.entries.len();
        for it in page.entries {
            let leaf_hash = Hash::parse(&it.leaf_hash).map_err(|error| unreadable("a hash", &error))?;
            if !audit.check(it.index, it.entry, leaf_hash) {
                break 'pages;
            }
        }
        progress.add(read);
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
    told(
        &audit,
        &format!("agrees with the present checkpoint of the server{kept}; documents were not looked at"),
        json,
    )
}
