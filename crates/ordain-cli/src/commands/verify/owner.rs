//! `ordain verify --owner KEY`: every signature of a whole ledger, by the key of its owner.

use crate::exit::{Failure, Outcome};
use crate::gateway::{Place, read_note, runtime};
use crate::output::print_json;
use crate::report::{GREEN, RED, printable};
use crate::wording::count;
use ordain_gate::{Damage, GateError, OwnerAudit};
use ordain_ledger::{Checkpoint, Edge, Hash, TILE_WIDTH, TilePath, decode_entries};
use ordain_store::Store;
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Checks a ledger: a folder that `ordain ledger export` wrote, or the store of this project.
pub(super) fn verify(folder: Option<&Path>, owner: &str, json: bool) -> Result<Outcome, Failure> {
    let damage = match folder {
        Some(folder) => of_folder(folder, owner)?,
        None => of_store(owner)?,
    };
    let outcome = if damage.is_empty() { Outcome::Ok } else { Outcome::Violations };
    if json {
        print_json(&json!({"ok": damage.is_empty(), "damage": damage}))?;
        return Ok(outcome);
    }
    let mut out = anstream::stdout().lock();
    if damage.is_empty() {
        writeln!(out, "{GREEN}verified{GREEN:#}  every owner act and signed verdict, by the key {owner}")?;
        return Ok(outcome);
    }
    writeln!(out, "{RED}not verified{RED:#}  {}", count(damage.len() as u64, "problem"))?;
    for Damage { index, problem } in &damage {
        let place = index.map_or_else(|| "the ledger".to_owned(), |index| format!("entry {index}"));
        writeln!(out, "  {place}: {}", printable(problem))?;
    }
    Ok(outcome)
}

fn of_store(owner: &str) -> Result<Vec<Damage>, Failure> {
    let place = Place::find()?;
    place.check_there()?;
    let audit = runtime(1)?.block_on(async {
        let store = Store::open_to_read(&place.location).await?;
        let damage = ordain_gate::audit_owner(&store, owner).await?;
        store.close().await?;
        Ok::<_, GateError>(damage)
    });
    Ok(audit?)
}

/// The tree over the entries must be the one that the checkpoint beside them names. Compare that one with a checkpoint kept
/// elsewhere: `ordain ledger verify --checkpoint FILE` does.
fn of_folder(folder: &Path, owner: &str) -> Result<Vec<Damage>, Failure> {
    let path = folder.join("checkpoint");
    let wrong = |problem: String| Failure::Document { path: folder.display().to_string(), problem };
    let head = Checkpoint::parse(&read_note(&path)?.text).map_err(|error| wrong(error.to_string()))?;
    let mut audit = OwnerAudit::new(owner).map_err(|error| Failure::Usage(format!("`--owner`: {error}")))?;
    let mut edge = Edge::new();
    while edge.size() < head.size {
        let first = edge.size();
        let width = usize::try_from(head.size - first).unwrap_or(TILE_WIDTH).min(TILE_WIDTH);
        let path = folder.join(TilePath::Entries { index: first / TILE_WIDTH as u64, width }.to_string());
        let bundle = std::fs::read(&path)
            .map_err(|error| Failure::File { path: path.display().to_string(), error })?;
        let entries = decode_entries(&bundle, width).map_err(|error| wrong(error.to_string()))?;
        for bytes in entries {
            audit.add(edge.size(), bytes);
            edge.append(Hash::of_leaf(bytes), |_, _| {});
        }
    }
    let mut damage = audit.end();
    if edge.root() != head.root {
        let problem = "the entries are not those that the checkpoint was signed over".to_owned();
        damage.insert(0, Damage { index: None, problem });
    }
    Ok(damage)
}
