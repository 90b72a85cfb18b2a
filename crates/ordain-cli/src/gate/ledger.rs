//! `ordain ledger`.

use super::{print_json, print_page};
use crate::args::{
    Connect, Ledger, LedgerCommand, LedgerExport, LedgerFsck, LedgerProve, LedgerShow, LedgerVerify,
};
use crate::document::write_file;
use crate::exit::{Failure, Outcome};
use crate::gateway::{Gateway, Local, Place, Purpose, read_note};
use crate::page::{Column, Page};
use crate::progress::Progress;
use crate::report::{GREEN, RED, printable};
use crate::wording::count;
use ordain_api::{LedgerEntry, ProblemCode};
use ordain_canon::Canonicalizer;
use ordain_canon::time::moment;
use ordain_gate::{Audit, EntriesAudit, NamedNote};
use ordain_ledger::{Hash, SignedNote};
use ordain_store::Store;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::fmt::Display;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

pub(crate) fn run(args: &Ledger, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        LedgerCommand::Verify(args) if args.what.connect.server.is_some() => {
            verify_server(args, json).map_err(no_result)
        }
        LedgerCommand::Verify(args) => verify(&args.what, Depth::Ledger, json).map_err(no_result),
        LedgerCommand::Fsck(args) => verify(args, Depth::Records, json).map_err(no_result),
        LedgerCommand::Show(args) => show(args, json),
        LedgerCommand::Prove(args) => prove(args, json),
        LedgerCommand::Checkpoint(args) => {
            // What signs puts its key on record.
            let gateway = Gateway::open(&args.connect, Purpose::Write, json)?;
            let note = gateway.raw("GET", "/v1/ledger/checkpoint", None)?.body;
            let mut stdout = std::io::stdout().lock();
            if json {
                return print_json(&json!({"checkpoint": String::from_utf8_lossy(&note)}))
                    .map(|()| Outcome::Ok);
            }
            stdout.write_all(&note)?;
            Ok(Outcome::Ok)
        }
        LedgerCommand::Export(args) => export(args, json),
    }
}

/// Whoever checks every night wants to tell damage from everything else that can go wrong.
pub(super) fn no_result(failure: Failure) -> Failure {
    match &failure {
        Failure::Gate(problem) if problem.code == ProblemCode::Damaged => failure,
        Failure::Damaged { .. } => failure,
        _ => Failure::NoResult(Box::new(failure)),
    }
}

/// How far a check goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Ledger,
    Records,
}

/// Checks what is stored without changing anything: the policies are not loaded and nothing is recorded.
fn verify(args: &LedgerFsck, depth: Depth, json: bool) -> Result<Outcome, Failure> {
    if args.connect.server.is_some() {
        return Err(Failure::Usage(
            "this reads what a store keeps beside its ledger; run it where the store is, or `ordain ledger verify --server URL`".to_owned(),
        ));
    }
    let place = Place::of(&args.connect)?;
    place.check_there()?;
    let runtime = crate::gateway::runtime(1)?;
    let mut notes = notes(&args.checkpoints)?;
    let kept = place.signed()?;
    notes.extend(kept.map(|(path, note)| NamedNote { name: path.display().to_string(), note, own: true }));
    let keyring = place.existing_keyring()?;
    let mut progress = Progress::new("entries", None);
    let mut before = 0;
    let audit = runtime.block_on(async {
        let store = Store::open_to_read(&place.location).await?;
        let verifiers = ordain_gate::verifiers(&store, keyring.as_ref()).await?;
        let mut step = |done: u64, _: u64| {
            progress.add(usize::try_from(done - before).unwrap_or_default());
            before = done;
        };
        let mut audit = ordain_gate::audit(&store, &verifiers, &notes, &mut step).await?;
        if depth == Depth::Records && audit.damage.is_empty() {
            audit.damage = ordain_gate::check_records(&store).await?;
        }
        store.close().await?;
        Ok::<Audit, ordain_gate::GateError>(audit)
    })?;
    drop(progress);
    let checkpoints = match audit.checkpoints {
        0 => "no checkpoint is at hand to compare with".to_owned(),
        1 => "agrees with a checkpoint".to_owned(),
        number => format!("agrees with {number} checkpoints"),
    };
    let documents = count(audit.documents.unwrap_or_default(), "document");
    told(&audit, &format!("{documents}, {checkpoints}"), json)
}

fn notes(paths: &[PathBuf]) -> Result<Vec<NamedNote>, Failure> {
    let named = |path: &PathBuf| {
        Ok(NamedNote { name: path.display().to_string(), note: read_note(path)?, own: false })
    };
    paths.iter().map(named).collect()
}

/// Reads the entries of a server and builds their tree, to compare it with what the server signs and signed.
fn verify_server(args: &LedgerVerify, json: bool) -> Result<Outcome, Failure> {
    let LedgerVerify { keys, keep, what: LedgerFsck { checkpoints, connect } } = args;
    if keys.is_empty() {
        return Err(Failure::Usage(
            "a server's ledger is checked with its key: --key VERIFIER, as `ordain keys list` shows it; take it from whoever runs the server, not from the server".to_owned(),
        ));
    }
    // What was kept the last time is compared with before another takes its place.
    let last = keep.iter().filter(|path| path.exists() && !checkpoints.contains(path));
    let kept = notes(&checkpoints.iter().chain(last).cloned().collect::<Vec<_>>())?;
    let gateway = Gateway::open(connect, Purpose::Look, json)?;
    let unreadable = |what: &str, error: &dyn Display| {
        Failure::Server(format!("the server's answer cannot be read: {what}: {error}"))
    };
    let note = gateway.raw("GET", "/v1/ledger/checkpoint", None)?.body;
    let note = SignedNote::parse(&String::from_utf8_lossy(&note));
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
        let page: EntryPage<ForeignEntry> =
            gateway.get(&format!("/v1/ledger/entries?from={}&limit={limit}", missing.start))?;
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

/// `of_what`: what was compared besides the entries.
fn told(audit: &Audit, of_what: &str, json: bool) -> Result<Outcome, Failure> {
    let outcome = match (audit.damage.is_empty(), audit.unusable.is_empty()) {
        (true, true) => Outcome::Ok,
        (true, false) => Outcome::Unreadable,
        (false, _) => Outcome::Failed,
    };
    if json {
        print_json(audit)?;
        return Ok(outcome);
    }
    let mut stdout = anstream::stdout().lock();
    if outcome == Outcome::Ok {
        writeln!(
            stdout,
            "{GREEN}verified{GREEN:#}  {}, {of_what}; root {}",
            entries(audit.size),
            audit.root
        )?;
        return Ok(outcome);
    }
    if !audit.damage.is_empty() {
        writeln!(stdout, "{RED}damaged{RED:#}  {}", count(audit.damage.len() as u64, "problem"))?;
    }
    for damage in &audit.damage {
        let place = damage.index.map_or_else(|| "the ledger".to_owned(), |index| format!("entry {index}"));
        writeln!(stdout, "  {place}: {}", printable(&damage.problem))?;
    }
    if !audit.unusable.is_empty() {
        writeln!(stdout, "{RED}not verified{RED:#}  {}", count(audit.unusable.len() as u64, "doubt"))?;
        for problem in &audit.unusable {
            writeln!(stdout, "  {}", printable(problem))?;
        }
        writeln!(
            stdout,
            "  Where a key was rotated, or several nodes sign, every key is needed; `ordain keys list` shows them."
        )?;
    }
    Ok(outcome)
}

fn entries(number: u64) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{number} entries") }
}

#[derive(Deserialize)]
struct EntryPage<T> {
    entries: Vec<T>,
    size: u64,
}

/// An entry of which nothing is believed.
#[derive(Deserialize)]
struct ForeignEntry {
    index: u64,
    leaf_hash: String,
    entry: Box<RawValue>,
}

/// What a server gives at once.
const PAGE_MAX: u64 = 500;

fn show(args: &LedgerShow, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Look, json)?;
    let size = gateway.get::<EntryPage<LedgerEntry>>("/v1/ledger/entries?limit=1")?.size;
    let from = args.from.unwrap_or_else(|| size.saturating_sub(args.limit));
    let mut entries: Vec<LedgerEntry> = Vec::new();
    while (entries.len() as u64) < args.limit {
        let next = from + entries.len() as u64;
        let limit = (args.limit - entries.len() as u64).clamp(1, PAGE_MAX);
        let page: EntryPage<LedgerEntry> =
            gateway.get(&format!("/v1/ledger/entries?from={next}&limit={limit}"))?;
        if page.entries.is_empty() {
            break;
        }
        entries.extend(page.entries);
    }
    if json {
        entries.iter().try_for_each(print_json)?;
        return Ok(Outcome::Ok);
    }
    if entries.is_empty() {
        writeln!(anstream::stdout(), "there are no entries from {from} on; the ledger has {size}")?;
        return Ok(Outcome::Ok);
    }
    let row = |it: &LedgerEntry| {
        let event = serde_json::to_value(&it.entry.event).unwrap_or_default();
        let details = event.as_object().map(|members| {
            let plain = members.iter().filter(|(name, _)| *name != "kind" && !name.ends_with("_document"));
            plain
                .map(|(name, value)| {
                    format!("{name} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                })
                .collect::<Vec<_>>()
                .join(", ")
        });
        vec![
            it.index.to_string(),
            moment(it.entry.at_ms),
            it.entry.by.clone(),
            it.entry.event.name().to_owned(),
            details.unwrap_or_default(),
        ]
    };
    let mut page = Page::default();
    let columns = [
        Column::Right("entry"),
        Column::Left("time"),
        Column::Left("by"),
        Column::Left("event"),
        Column::Left(""),
    ];
    page.table(&columns, entries.iter().map(row), |_, _, _| {});
    print_page(&page)?;
    Ok(Outcome::Ok)
}

fn prove(args: &LedgerProve, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write, json)?;
    let proof = gateway.raw("GET", &format!("/v1/ledger/proof?index={}", args.index), None)?.body;
    match &args.output {
        Some(path) => {
            std::fs::write(path, &proof)
                .map_err(|error| Failure::File { path: path.display().to_string(), error })?;
            if json {
                print_json(&json!({"index": args.index, "proof": path.display().to_string()}))?;
            } else {
                writeln!(anstream::stdout(), "{GREEN}written{GREEN:#}  {}", path.display())?;
            }
        }
        None if json => print_json(&json!({"index": args.index, "proof": String::from_utf8_lossy(&proof)}))?,
        None => std::io::stdout().lock().write_all(&proof)?,
    }
    Ok(Outcome::Ok)
}

fn export(args: &LedgerExport, json: bool) -> Result<Outcome, Failure> {
    let local = local(&args.connect, Purpose::Write, json)?;
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

/// The gate of this project; for what needs the whole store.
pub(super) fn local(connect: &Connect, purpose: Purpose, json: bool) -> Result<Local, Failure> {
    match Gateway::open(connect, purpose, json)? {
        Gateway::Local(local) => Ok(*local),
        Gateway::Remote(_) => Err(Failure::Usage(
            "this reads the whole store; run it where the store is, without --server".to_owned(),
        )),
    }
}
