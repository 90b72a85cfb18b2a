//! `ordain ledger`.

use super::{page, print_json, print_page};
use crate::args::{Connect, Ledger, LedgerCommand, LedgerExport, LedgerProve, LedgerShow, LedgerVerify};
use crate::exit::{Failure, Outcome};
use crate::gateway::{Gateway, Local, Place, Purpose, read_note};
use crate::page::{Column, Page};
use crate::progress::Progress;
use crate::report::{GREEN, RED, printable};
use crate::wording::count;
use ordain_store::Store;
use ordain_workflow::gate::{self, Audit, LedgerEntry};
use serde::Deserialize;
use serde_json::json;
use std::io::Write;
use std::path::{Component, Path};

pub(crate) fn run(args: &Ledger, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        LedgerCommand::Verify(args) => verify(args, Depth::Ledger, json),
        LedgerCommand::Fsck(args) => verify(args, Depth::Records, json),
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

/// How far a check goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Ledger,
    Records,
}

/// Checks what is stored without changing anything: the policies are not loaded and nothing is recorded.
fn verify(args: &LedgerVerify, depth: Depth, json: bool) -> Result<Outcome, Failure> {
    if args.connect.server.is_some() {
        return Err(Failure::Usage(
            "a server's ledger is checked by its proofs: `ordain ledger prove` and `ordain verify`; this command reads a store".to_owned(),
        ));
    }
    let place = Place::of(&args.connect)?;
    place.check_there()?;
    let runtime = crate::gateway::runtime(1)?;
    let mut notes = Vec::new();
    for path in &args.checkpoints {
        notes.push(read_note(path)?);
    }
    notes.extend(place.signed()?.map(|(_, note)| note));
    let keyring = place.existing_keyring()?;
    let mut progress = Progress::new("entries", None);
    let mut before = 0;
    let audit = runtime.block_on(async {
        let store = Store::open_to_read(&place.location).await?;
        let verifiers = gate::verifiers(&store, keyring.as_ref()).await?;
        let mut step = |done: u64, _: u64| {
            progress.add(usize::try_from(done - before).unwrap_or_default());
            before = done;
        };
        let mut audit = gate::audit(&store, &verifiers, &notes, &mut step).await?;
        if depth == Depth::Records && audit.damage.is_empty() {
            audit.damage = gate::check_records(&store).await?;
        }
        store.close().await?;
        Ok::<Audit, gate::GateError>(audit)
    })?;
    drop(progress);
    told(&audit, json)
}

fn told(audit: &Audit, json: bool) -> Result<Outcome, Failure> {
    let outcome = if audit.damage.is_empty() { Outcome::Ok } else { Outcome::Failed };
    if json {
        print_json(audit)?;
        return Ok(outcome);
    }
    let mut stdout = anstream::stdout().lock();
    if outcome == Outcome::Ok {
        let checkpoints = match audit.checkpoints {
            0 => "no checkpoint is at hand to compare with".to_owned(),
            1 => "agrees with a checkpoint".to_owned(),
            number => format!("agrees with {number} checkpoints"),
        };
        writeln!(
            stdout,
            "{GREEN}verified{GREEN:#}  {}, {}, {checkpoints}; root {}",
            entries(audit.size),
            count(audit.documents, "document"),
            audit.root
        )?;
        return Ok(outcome);
    }
    writeln!(stdout, "{RED}damaged{RED:#}  {}", count(audit.damage.len() as u64, "problem"))?;
    for damage in &audit.damage {
        let place = damage.index.map_or_else(|| "the ledger".to_owned(), |index| format!("entry {index}"));
        writeln!(stdout, "  {place}: {}", printable(&damage.problem))?;
    }
    Ok(outcome)
}

fn entries(number: u64) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{number} entries") }
}

#[derive(Deserialize)]
struct EntryPage {
    entries: Vec<LedgerEntry>,
    size: u64,
}

/// What a server gives at once.
const PAGE_MAX: u64 = 500;

fn show(args: &LedgerShow, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Look, json)?;
    let size = gateway.get::<EntryPage>("/v1/ledger/entries?limit=1")?.size;
    let from = args.from.unwrap_or_else(|| size.saturating_sub(args.limit));
    let mut entries: Vec<LedgerEntry> = Vec::new();
    while (entries.len() as u64) < args.limit {
        let next = from + entries.len() as u64;
        let limit = (args.limit - entries.len() as u64).clamp(1, PAGE_MAX);
        let page: EntryPage = gateway.get(&format!("/v1/ledger/entries?from={next}&limit={limit}"))?;
        if page.entries.is_empty() {
            break;
        }
        entries.extend(page.entries);
    }
    if json {
        entries.iter().try_for_each(print_json)?;
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
            page::time(it.entry.at_ms),
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
    let size = local.runtime.block_on(gate::export(local.app.gate(), write, step))?;
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
