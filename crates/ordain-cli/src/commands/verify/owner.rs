//! `ordain verify --owner KEY`: a whole ledger by the key of its owner and by checkpoints kept elsewhere.

use crate::exit::{Failure, Outcome};
use crate::gateway::{Place, location_of, read_note, runtime};
use crate::output::print_json;
use crate::report::{GREEN, RED, printable};
use crate::wording::count;
use ordain_api::{Audit, Damage, Entry, Event};
use ordain_gate::{EntriesAudit, GateError, Keyring, NamedNote, OwnerAudit, audit_allowed, note_verifier};
use ordain_ledger::{Checkpoint, Hash, NoteVerifier, TILE_WIDTH, TilePath, decode_entries};
use ordain_state::{GateFolder, Home};
use ordain_store::Store;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The result of a check.
struct Found {
    size: u64,
    /// Checkpoints that the ledger agrees with.
    checkpoints: u64,
    damage: Vec<Damage>,
    /// The checks that could not be made.
    unchecked: Vec<String>,
    /// The parts that were not looked at, because they are not there.
    left_out: Option<&'static str>,
}

/// Checks a ledger: a folder that `ordain ledger export` wrote, the folder of a gate, or the store of this project.
pub(super) fn verify(
    folder: Option<&Path>,
    owner: &str,
    checkpoints: &[PathBuf],
    json: bool,
) -> Result<Outcome, Failure> {
    let kept = checkpoints
        .iter()
        .map(|path| Ok(NamedNote { name: path.display().to_string(), note: read_note(path)?, own: true }));
    let kept = kept.collect::<Result<Vec<_>, Failure>>()?;
    let mut found = match folder {
        Some(folder) => match gate_in(folder)? {
            Some(gate) => of_store(owner, kept, &gate)?,
            None => of_folder(folder, owner, &kept)?,
        },
        None => {
            let place = Place::find()?;
            place.check_there()?;
            of_store(owner, kept, &place.gate)?
        }
    };
    found.damage.sort();
    found.damage.dedup();
    let outcome = match (found.damage.is_empty(), found.unchecked.is_empty()) {
        (true, true) => Outcome::Ok,
        (true, false) => Outcome::NoResult,
        (false, _) => Outcome::Violations,
    };
    if json {
        let Found { size, checkpoints, damage, unchecked, .. } = &found;
        print_json(&json!({"ok": outcome == Outcome::Ok, "size": size, "checkpoints": checkpoints,
            "damage": damage, "unchecked": unchecked}))?;
        return Ok(outcome);
    }
    tell(&found, owner, outcome)?;
    Ok(outcome)
}

fn tell(found: &Found, owner: &str, outcome: Outcome) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let left_out = found.left_out.map(|left_out| format!("; {left_out}")).unwrap_or_default();
    if outcome == Outcome::Ok {
        let compared = match found.checkpoints {
            0 => "no checkpoint was compared".to_owned(),
            number => format!("agrees with {}", count(number, "checkpoint")),
        };
        writeln!(
            out,
            "{GREEN}verified{GREEN:#}  {}, every owner act and signed verdict by the key {owner}; {compared}{left_out}",
            count(found.size, "entry")
        )?;
        return Ok(());
    }
    if !found.damage.is_empty() {
        writeln!(out, "{RED}not verified{RED:#}  {}", count(found.damage.len() as u64, "problem"))?;
    }
    for Damage { index, problem } in &found.damage {
        let place = index.map_or_else(|| "the ledger".to_owned(), |index| format!("entry {index}"));
        writeln!(out, "  {place}: {}", printable(problem))?;
    }
    if !found.unchecked.is_empty() {
        writeln!(out, "{RED}not checked{RED:#}  {}", count(found.unchecked.len() as u64, "doubt"))?;
        for problem in &found.unchecked {
            writeln!(out, "  {}", printable(problem))?;
        }
    }
    Ok(())
}

/// The gate whose own folder this is: one in use, or one that another took the place of.
fn gate_in(folder: &Path) -> Result<Option<GateFolder>, Failure> {
    let Ok(folder) = folder.canonicalize() else { return Ok(None) };
    let home = Home::from_environment()?;
    let gates = home.gates()?.into_iter().chain(home.replaced_gates()?);
    Ok(gates.into_iter().find(|gate| gate.path().canonicalize().is_ok_and(|path| path == folder)))
}

/// The store with everything in it: entries, tree, documents and records, and every ALLOW once more.
fn of_store(owner: &str, mut notes: Vec<NamedNote>, gate: &GateFolder) -> Result<Found, Failure> {
    let location = location_of(gate)?;
    let path = gate.checkpoint();
    if path.exists() {
        notes.push(NamedNote { name: path.display().to_string(), note: read_note(&path)?, own: true });
    }
    let keyring = Keyring::open_existing(gate.path()).map_err(|error| Failure::Server(error.to_string()))?;
    let found = runtime(1)?.block_on(async {
        let store = Store::open_to_read(&location).await?;
        let verifiers = ordain_gate::verifiers(&store, keyring.as_ref()).await?;
        let Audit { size, checkpoints, unusable, mut damage, .. } =
            ordain_gate::audit(&store, &verifiers, &notes, |_, _| {}).await?;
        damage.extend(ordain_gate::audit_owner(&store, owner).await?);
        damage.extend(ordain_gate::check_records(&store).await?);
        let (wrong, unchecked) = audit_allowed(&store).await?;
        damage.extend(wrong);
        store.close().await?;
        let unchecked = unusable.into_iter().chain(unchecked).collect();
        Ok::<_, GateError>(Found { size, checkpoints, damage, unchecked, left_out: None })
    });
    Ok(found?)
}

/// Entries and checkpoint alone: the documents are not exported, so that nothing can be decided again.
fn of_folder(folder: &Path, owner: &str, kept: &[NamedNote]) -> Result<Found, Failure> {
    let wrong = |problem: String| Failure::Document { path: folder.display().to_string(), problem };
    let path = folder.join("checkpoint");
    let now = read_note(&path)?;
    let head = Checkpoint::parse(&now.text).map_err(|error| wrong(error.to_string()))?;
    let mut audit = OwnerAudit::new(owner).map_err(|error| Failure::Usage(format!("`--owner`: {error}")))?;
    let mut verifiers: Vec<NoteVerifier> = Vec::new();
    each_entry(folder, head.size, |index, bytes| {
        audit.add(index, bytes);
        if let Ok(Entry { event: Event::KeyRotated { public_key, .. }, .. }) = serde_json::from_slice(bytes) {
            verifiers.extend(note_verifier(&head.origin, &public_key));
        }
        true
    })?;
    let mut damage = audit.end();
    let now = NamedNote { name: path.display().to_string(), note: now, own: true };
    let mut tree = EntriesAudit::new(&verifiers, kept, &now);
    each_entry(folder, head.size, |index, bytes| tree.check(index, bytes.to_vec(), Hash::of_leaf(bytes)))?;
    let Audit { size, checkpoints, unusable, damage: in_tree, .. } = tree.end();
    damage.extend(in_tree);
    // One of them is the checkpoint of the export itself.
    let checkpoints = checkpoints.saturating_sub(1);
    let left_out = "decisions were not made again, because an export has no documents";
    Ok(Found { size, checkpoints, damage, unchecked: unusable, left_out: Some(left_out) })
}

/// Hands over the entries of an exported ledger one after the other, while they are wanted.
fn each_entry(folder: &Path, size: u64, mut each: impl FnMut(u64, &[u8]) -> bool) -> Result<(), Failure> {
    let wrong = |problem: String| Failure::Document { path: folder.display().to_string(), problem };
    let mut first = 0;
    while first < size {
        let width = usize::try_from(size - first).unwrap_or(TILE_WIDTH).min(TILE_WIDTH);
        let path = folder.join(TilePath::Entries { index: first / TILE_WIDTH as u64, width }.to_string());
        let bundle = std::fs::read(&path)
            .map_err(|error| Failure::File { path: path.display().to_string(), error })?;
        let entries = decode_entries(&bundle, width).map_err(|error| wrong(error.to_string()))?;
        for (index, bytes) in (first..).zip(entries) {
            if !each(index, bytes) {
                return Ok(());
            }
        }
        first += width as u64;
    }
    Ok(())
}
