//! Checking a whole ledger: nothing that the store says about itself is believed.

use super::entry::Entry;
use super::error::GateError;
use super::ledger::PAGE;
use super::limits::CLOCKS_APART_MS_MAX;
use ordain_canon::{ContentHash, is_canonical};
use ordain_ledger::{Checkpoint, Edge, Hash, NoteVerifier, SignedNote, TILE_WIDTH, TileId};
use ordain_store::{EntryRow, Store, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Damages that are listed; a ledger with more is beyond doubt.
const DAMAGE_MAX: usize = 20;

/// What checking a ledger found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// How many entries there are.
    pub size: u64,
    /// The root of their tree, base64.
    pub root: String,
    /// Documents that the entries name and that are there, unchanged.
    pub documents: u64,
    /// Signed checkpoints that the tree agrees with.
    pub checkpoints: u64,
    /// Everything that is wrong, the first entry first.
    pub damage: Vec<Damage>,
}

/// Something that is wrong with a ledger.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Damage {
    /// The entry, if it is about one.
    pub index: Option<u64>,
    /// What is wrong.
    pub problem: String,
}

/// Reads the whole ledger and checks everything: entries, tree, tiles, documents, and that the tree still has what
/// earlier checkpoints signed. Nothing that the store says about itself is believed. What others append meanwhile is left
/// for the next time.
pub async fn audit(
    store: &Store,
    verifiers: &[NoteVerifier],
    checkpoints: &[SignedNote],
    mut progress: impl FnMut(u64, u64),
) -> Result<Audit, GateError> {
    let head = store.head().await?;
    let (signed, damage) = signed_heads(verifiers, checkpoints);
    let mut walk = Walk {
        edge: Edge::new(),
        at_ms: 0,
        sizes: signed.iter().map(|checkpoint| checkpoint.size).collect(),
        roots: BTreeMap::new(),
        documents: 0,
        damage,
        elsewhere: BTreeSet::new(),
    };
    walk.note_root();
    while walk.edge.size() < head.size && walk.damage.len() < DAMAGE_MAX {
        let limit = usize::try_from(head.size - walk.edge.size()).unwrap_or(PAGE).min(PAGE);
        let rows = store.entries(walk.edge.size(), limit).await?;
        let whole = walk.check_page(store, &rows).await?;
        progress(walk.edge.size(), head.size);
        if !whole || rows.is_empty() {
            break;
        }
    }
    let whole = walk.edge.size();
    if whole < head.size && walk.damage.is_empty() {
        walk.wrong(Some(whole), format!("is missing: the head counts {} entries", head.size));
    }
    if whole == head.size {
        walk.check_end(store, head.root).await?;
    }
    let agreed = walk.compare(&signed);
    let Walk { documents, mut damage, .. } = walk;
    damage.sort();
    damage.dedup();
    let (size, root) = (head.size, head.root.to_string());
    Ok(Audit { size, root, documents, checkpoints: agreed, damage })
}

/// The checkpoints whose signatures hold, smallest first, and what is wrong with the others.
fn signed_heads(verifiers: &[NoteVerifier], notes: &[SignedNote]) -> (Vec<Checkpoint>, Vec<Damage>) {
    let (mut heads, mut damage) = (Vec::new(), Vec::new());
    let origin = verifiers.first().map(NoteVerifier::name).unwrap_or_default();
    for note in notes {
        match Checkpoint::open(note, verifiers, origin) {
            Ok(checkpoint) => heads.push(checkpoint),
            Err(error) => damage
                .push(Damage { index: None, problem: format!("a checkpoint is of no use here: {error}") }),
        }
    }
    heads.sort_by_key(|head| head.size);
    (heads, damage)
}

struct Walk {
    edge: Edge,
    at_ms: u64,
    /// The sizes that somebody signed, and the roots at them.
    sizes: BTreeSet<u64>,
    roots: BTreeMap<u64, Hash>,
    documents: u64,
    damage: Vec<Damage>,
    /// The entries that are not what they were: what follows from that for the tree above them is no news.
    elsewhere: BTreeSet<u64>,
}

impl Walk {
    /// An entry is not what it was.
    fn another(&mut self, index: u64, problem: String) {
        if self.elsewhere.insert(index) {
            self.wrong(Some(index), problem);
        }
    }

    /// Whether one of these entries is known not to be what it was.
    fn explained(&self, entries: Range<u64>) -> bool {
        self.elsewhere.range(entries).next().is_some()
    }

    fn wrong(&mut self, index: Option<u64>, problem: String) {
        self.damage.push(Damage { index, problem });
    }

    fn note_root(&mut self) {
        let size = self.edge.size();
        if self.sizes.contains(&size) {
            self.roots.insert(size, self.edge.root());
        }
    }

    /// Whether there was nothing so wrong that what follows cannot be told.
    async fn check_page(&mut self, store: &Store, rows: &[EntryRow]) -> Result<bool, GateError> {
        for row in rows {
            let expected = self.edge.size();
            if row.index != expected {
                self.wrong(Some(expected), "is missing".to_owned());
                return Ok(false);
            }
            self.check_entry(store, row).await?;
            self.note_root();
            if self.damage.len() >= DAMAGE_MAX {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn check_entry(&mut self, store: &Store, row: &EntryRow) -> Result<(), GateError> {
        let changed = Hash::of_leaf(&row.bytes) != row.leaf_hash;
        let mut full: Vec<(TileId, Vec<Hash>)> = Vec::new();
        // The tree is built from what was recorded, so that one changed entry is one damage.
        self.edge.append(row.leaf_hash, |tile, hashes| full.push((tile, hashes.to_vec())));
        match serde_json::from_slice::<Entry>(&row.bytes) {
            _ if changed => {
                let problem = "was changed: it does not have the hash that is on record for it";
                self.another(row.index, problem.to_owned());
            }
            Err(error) => self.another(row.index, format!("is no entry: {error}")),
            Ok(_) if !is_canonical(&row.bytes) => {
                self.another(row.index, "is not written canonically".to_owned());
            }
            Ok(entry) => {
                if entry.at_ms.saturating_add(CLOCKS_APART_MS_MAX) < self.at_ms {
                    let problem = format!("is of {} ms, and one before it of {} ms", entry.at_ms, self.at_ms);
                    self.wrong(Some(row.index), problem);
                }
                self.at_ms = self.at_ms.max(entry.at_ms);
                for name in entry.event.documents() {
                    self.check_document(store, row.index, name).await?;
                }
            }
        }
        for (tile, hashes) in full {
            self.check_tile(store, tile, &hashes).await?;
        }
        Ok(())
    }

    async fn check_document(&mut self, store: &Store, index: u64, name: &str) -> Result<(), GateError> {
        let bytes = match ContentHash::parse(name) {
            // The store compares a document with its hash too.
            Some(hash) => or_damaged(store.document(&hash).await)?,
            None => Ok(None),
        };
        match bytes {
            Ok(Some(bytes)) if ContentHash::of(&bytes).is(name) => self.documents += 1,
            Ok(None) => self.wrong(Some(index), format!("names the document {name}, which is missing")),
            Ok(Some(_)) | Err(_) => {
                self.wrong(Some(index), format!("names the document {name}, which was changed"));
            }
        }
        Ok(())
    }

    /// A tile must be what the entries below it come to; where it is not, the first entry that it has otherwise is named.
    async fn check_tile(&mut self, store: &Store, tile: TileId, hashes: &[Hash]) -> Result<(), GateError> {
        let stored = or_damaged(store.tiles(&[tile].into(), self.edge.size()).await)?;
        let stored = stored.ok().and_then(|mut tiles| tiles.remove(&tile)).unwrap_or_default();
        if stored == hashes {
            return Ok(());
        }
        let below = (TILE_WIDTH as u64).saturating_pow(u32::from(tile.level));
        let same = stored.iter().zip(hashes).take_while(|(stored, hash)| stored == hash).count() as u64;
        let first = (tile.index.saturating_mul(TILE_WIDTH as u64).saturating_add(same)).saturating_mul(below);
        let path = tile.path(hashes.len());
        if tile.level == 0 {
            let problem =
                format!("is not what the tile {path} has of it: it was exchanged, or the tile was changed");
            self.another(first, problem);
        } else if !self.explained(first..first.saturating_add(below)) {
            self.another(first, format!("begins a part of the tree that the tile {path} has otherwise"));
        }
        Ok(())
    }

    /// After the last entry that the head counts.
    async fn check_end(&mut self, store: &Store, root: Hash) -> Result<(), GateError> {
        let partial: Vec<(TileId, Vec<Hash>)> =
            self.edge.partial_tiles().map(|(tile, hashes)| (tile, hashes.to_vec())).collect();
        for (tile, hashes) in partial.into_iter().filter(|(tile, _)| tile.level > 0) {
            self.check_tile(store, tile, &hashes).await?;
        }
        if self.edge.root() != root && !self.explained(0..u64::MAX) {
            self.wrong(None, "the root on record is not the root of the entries".to_owned());
        }
        let size = self.edge.size();
        if let Some(row) = store.entries(size, 1).await?.into_iter().next() {
            // Others may have appended it: then the head that is read after it counts it.
            let head = store.head().await?;
            if row.index >= head.size {
                let problem = format!("stands beyond the head, which counts {} entries", head.size);
                self.wrong(Some(row.index), problem);
            }
        }
        Ok(())
    }

    /// What was signed must still be there; how many of the checkpoints agree.
    fn compare(&mut self, signed: &[Checkpoint]) -> u64 {
        let (mut agreed, mut agreed_up_to) = (0, 0);
        let whole = self.edge.size();
        let mut told = !self.damage.is_empty();
        for checkpoint in signed {
            match self.roots.get(&checkpoint.size) {
                Some(root) if *root == checkpoint.root => {
                    agreed += 1;
                    agreed_up_to = checkpoint.size;
                }
                Some(_) if self.explained(0..checkpoint.size) => {}
                Some(_) => {
                    let problem = format!(
                        "one of the entries {agreed_up_to} to {} is not what it was when a checkpoint was signed over {} entries",
                        checkpoint.size.saturating_sub(1),
                        checkpoint.size
                    );
                    self.wrong(Some(agreed_up_to), problem);
                    told = true;
                }
                None if !told => {
                    let problem = format!(
                        "is missing: a checkpoint was signed over {} entries, and there are {whole}; this is an older or a shortened copy",
                        checkpoint.size
                    );
                    self.wrong(Some(whole), problem);
                    told = true;
                }
                None => {}
            }
        }
        agreed
    }
}

/// What is damaged is a finding; that the store cannot be read at all is not.
pub(super) fn or_damaged<T>(read: Result<T, StoreError>) -> Result<Result<T, StoreError>, GateError> {
    match read {
        Err(error @ StoreError::Corrupt(_)) => Ok(Err(error)),
        Err(error) => Err(error.into()),
        Ok(value) => Ok(Ok(value)),
    }
}
