//! Checking a whole ledger: nothing that the store says about itself is believed.

use super::error::GateError;
use super::fold::DocumentReader;
use super::ledger::{PAGE, note_verifier};
use super::limits::CLOCKS_APART_MS_MAX;
use ordain_api::{Audit, Damage, Entry, Event};
use ordain_canon::time::moment;
use ordain_canon::{ContentHash, is_canonical};
use ordain_ledger::{
    Checkpoint, CheckpointError, ENTRY_BYTES_MAX, Edge, Hash, NoteError, NoteVerifier, SignedNote,
    TILE_WIDTH, TileId,
};
use ordain_store::{EntryRow, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Damages that are listed; a ledger with more is beyond doubt.
const DAMAGE_MAX: usize = 20;
/// The length of a reader's message about an entry, which may quote much of it.
const ERROR_CHARACTERS_MAX: usize = 200;

/// A checkpoint, and what it is called where something is wrong with it.
pub struct NamedNote {
    /// Such as the path of its file.
    pub name: String,
    /// The checkpoint.
    pub note: SignedNote,
    /// Whether it was signed over this ledger, whatever this ledger says of its name and its keys.
    pub own: bool,
}

/// Reads the whole ledger and checks everything: entries, tree, tiles, documents, and that the tree still has
/// what earlier checkpoints signed. Nothing that the store says about itself is believed. Entries that others
/// append meanwhile are left for the next time.
pub async fn audit(
    store: &Store,
    verifiers: &[NoteVerifier],
    checkpoints: &[NamedNote],
    mut progress: impl FnMut(u64, u64),
) -> Result<Audit, GateError> {
    let head = store.head().await?;
    let (signed, mut walk) = begin(verifiers, Keys::All, checkpoints);
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
    Ok(walk.end(&signed, head.size, head.root))
}

/// Checks a ledger that others keep, from its entries alone: that they are entries, and that the tree over
/// them is the one that checkpoints signed.
pub struct EntriesAudit {
    signed: Vec<SignedHead>,
    walk: Walk,
}

impl EntriesAudit {
    /// At the beginning of the ledger that these keys signed: `now` is what its keeper signs, `kept` what
    /// they signed before.
    pub fn new(verifiers: &[NoteVerifier], kept: &[NamedNote], now: &NamedNote) -> Self {
        let (mut signed, mut walk) = begin(verifiers, Keys::Given, kept);
        let newest = signed_heads(verifiers, Keys::Given, std::slice::from_ref(now));
        walk.unusable.extend(newest.unusable);
        walk.damage.extend(newest.damage);
        // A server that shows an old head hides what came after it, and would have us keep that head.
        if let (Some(now), Some(before)) = (newest.heads.first(), signed.last())
            && now.size() < before.size()
        {
            let problem = format!(
                "is not in what is signed now, which has {} entries; there were {} when a checkpoint was kept: this is an older state",
                now.size(),
                before.size()
            );
            walk.wrong(Some(now.size()), problem);
        }
        signed.extend(newest.heads);
        signed.sort_by_key(SignedHead::size);
        walk.sizes = signed.iter().map(SignedHead::size).collect();
        walk.note_root();
        Self { signed, walk }
    }

    /// The entries that the largest checkpoint signed and that were not checked yet.
    pub fn missing(&self) -> Range<u64> {
        self.walk.edge.size()..self.signed.last().map_or(0, SignedHead::size)
    }

    /// Checks the next entry. Not: it is another one, or there was so much damage that more says nothing.
    pub fn check(&mut self, index: u64, bytes: Vec<u8>, leaf_hash: Hash) -> bool {
        let mut is_next = self.walk.is_next(index);
        if is_next && bytes.len() > ENTRY_BYTES_MAX {
            self.walk.wrong(Some(index), format!("has {} bytes, more than an entry can have", bytes.len()));
            is_next = false;
        }
        if is_next {
            self.walk
                .append(&EntryRow { index, bytes, leaf_hash, attached: Vec::new(), mark: None }, |_, _| ());
            self.walk.note_root();
        }
        is_next && self.walk.damage.len() < DAMAGE_MAX
    }

    /// After the last entry.
    pub fn end(self) -> Audit {
        let (size, root) = (self.walk.edge.size(), self.walk.edge.root());
        Audit { documents: None, ..self.walk.end(&self.signed, size, root) }
    }
}

/// The checkpoints whose signatures hold, and the way along the entries.
fn begin(verifiers: &[NoteVerifier], keys: Keys, checkpoints: &[NamedNote]) -> (Vec<SignedHead>, Walk) {
    let Signed { heads: signed, unusable, damage } = signed_heads(verifiers, keys, checkpoints);
    let mut walk = Walk {
        edge: Edge::new(),
        reader: DocumentReader::new(),
        at_ms: 0,
        sizes: signed.iter().map(SignedHead::size).collect(),
        roots: BTreeMap::new(),
        documents: 0,
        keys: BTreeMap::new(),
        retired: BTreeMap::new(),
        foreign: Vec::new(),
        unusable,
        damage,
        elsewhere: BTreeSet::new(),
    };
    walk.note_root();
    (signed, walk)
}

/// The keys that a ledger is checked with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// All that it has on record: a ledger forgets none.
    All,
    /// Some that somebody knows.
    Given,
}

/// A checkpoint whose signature holds, and by which keys of the ledger.
struct SignedHead {
    checkpoint: Checkpoint,
    signers: Vec<NoteVerifier>,
}

impl SignedHead {
    fn size(&self) -> u64 {
        self.checkpoint.size
    }
}

/// The result of the checkpoints.
#[derive(Default)]
struct Signed {
    /// Those whose signatures hold, smallest first.
    heads: Vec<SignedHead>,
    /// Those of another ledger, or by keys that nobody knows here.
    unusable: Vec<String>,
    /// Those that somebody changed.
    damage: Vec<Damage>,
}

fn signed_heads(verifiers: &[NoteVerifier], keys: Keys, notes: &[NamedNote]) -> Signed {
    let mut signed = Signed::default();
    let origin = verifiers.first().map(NoteVerifier::name).unwrap_or_default();
    for NamedNote { name, note, own } in notes {
        let is_of_this = || Checkpoint::parse(&note.text).is_ok_and(|it| it.origin == origin);
        match Checkpoint::open(note, verifiers, origin) {
            Ok(checkpoint) => {
                let signers = note.verify(verifiers).unwrap_or_default();
                let signers = signers.into_iter().filter(|key| key.name() == origin).cloned().collect();
                signed.heads.push(SignedHead { checkpoint, signers });
            }
            Err(
                error @ (CheckpointError::Note(NoteError::Unknown)
                | CheckpointError::Origin { .. }
                | CheckpointError::NotByLedger(_)),
            ) if !(*own || keys == Keys::All && is_of_this()) => {
                signed.unusable.push(format!("{name}: {error}"));
            }
            Err(error) => signed.damage.push(Damage { index: None, problem: format!("{name}: {error}") }),
        }
    }
    signed.heads.sort_by_key(SignedHead::size);
    signed
}

struct Walk {
    edge: Edge,
    reader: DocumentReader,
    at_ms: u64,
    /// The sizes that somebody signed, and the roots at them.
    sizes: BTreeSet<u64>,
    roots: BTreeMap<u64, Hash>,
    documents: u64,
    /// The public keys that entries announce, by their ids.
    keys: BTreeMap<String, String>,
    /// Where which of them is retired.
    retired: BTreeMap<String, u64>,
    /// Entries that cannot be read though they have their hash, and why; the first of them.
    foreign: Vec<Damage>,
    unusable: Vec<String>,
    damage: Vec<Damage>,
    /// The entries that are not what they were: the consequences for the tree above them are not reported
    /// again.
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
            if !self.is_next(row.index) {
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

    /// Whether it is the entry that comes next; that another one comes is a damage.
    fn is_next(&mut self, index: u64) -> bool {
        let expected = self.edge.size();
        if index != expected {
            self.wrong(Some(expected), "is missing".to_owned());
        }
        index == expected
    }

    async fn check_entry(&mut self, store: &Store, row: &EntryRow) -> Result<(), GateError> {
        let mut full: Vec<(TileId, Vec<Hash>)> = Vec::new();
        let entry = self.append(row, |tile, hashes| full.push((tile, hashes.to_vec())));
        self.reader.at(row.attached.clone());
        for name in entry.iter().flat_map(|entry| entry.event.documents()) {
            self.check_document(store, row.index, name).await?;
        }
        for (tile, hashes) in full {
            self.check_tile(store, tile, &hashes).await?;
        }
        Ok(())
    }

    /// Adds an entry to the tree, hands over the tiles that became full, and gives what the entry says, if it
    /// can be read.
    fn append(&mut self, row: &EntryRow, full: impl FnMut(TileId, &[Hash])) -> Option<Entry> {
        let changed = Hash::of_leaf(&row.bytes) != row.leaf_hash;
        // The tree is built from what was recorded, so that one changed entry is one damage.
        self.edge.append(row.leaf_hash, full);
        match serde_json::from_slice::<Entry>(&row.bytes) {
            _ if changed => {
                let problem = "was changed: it does not have the hash that is on record for it";
                self.another(row.index, problem.to_owned());
            }
            Err(error) => {
                let error: String = error.to_string().chars().take(ERROR_CHARACTERS_MAX).collect();
                let problem = format!("is not an entry, or one of a newer `ordain`: {error}");
                if self.elsewhere.insert(row.index) && self.foreign.len() < DAMAGE_MAX {
                    self.foreign.push(Damage { index: Some(row.index), problem });
                }
            }
            Ok(_) if !is_canonical(&row.bytes) => {
                self.another(row.index, "is not written canonically".to_owned());
            }
            Ok(entry) => {
                if entry.at_ms.saturating_add(CLOCKS_APART_MS_MAX) < self.at_ms {
                    let (at, before) = (moment(entry.at_ms), moment(self.at_ms));
                    let problem = format!("is of {at}, and one before it of {before}");
                    self.wrong(Some(row.index), problem);
                }
                self.at_ms = self.at_ms.max(entry.at_ms);
                if let Event::KeyRotated { key_id, public_key, retires } = &entry.event {
                    self.keys.insert(key_id.clone(), public_key.clone());
                    self.retired.extend(retires.iter().map(|id| (id.clone(), row.index)));
                }
                return Some(entry);
            }
        }
        None
    }

    async fn check_document(&mut self, store: &Store, index: u64, name: &str) -> Result<(), GateError> {
        let found = match ContentHash::parse(name) {
            Some(hash) => self.reader.find(store, &hash).await?,
            None => None,
        };
        match found {
            Some(_) => self.documents += 1,
            None => {
                self.wrong(
                    Some(index),
                    format!("names the document {name}, which is missing or was changed"),
                );
            }
        }
        Ok(())
    }

    /// A tile must be what the entries below it come to; where it is not, the first entry that it has
    /// otherwise is named.
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

    /// The signed entries must still be there; how many of the checkpoints agree.
    fn compare(&mut self, signed: &[SignedHead]) -> u64 {
        let (mut agreed, mut agreed_up_to) = (0, 0);
        let whole = self.edge.size();
        let mut told = !self.damage.is_empty();
        for SignedHead { checkpoint, signers } in signed {
            if let Some((index, id)) = self.retired_before(checkpoint, signers) {
                let problem = format!(
                    "retires the key {id}, which signed a checkpoint over {} entries after that: who has it speaks for the \
                     ledger no more",
                    checkpoint.size
                );
                self.wrong(Some(index), problem);
                told = true;
                continue;
            }
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
        // The signed entry is there as it should be: then we are too old to read it.
        for Damage { index, problem } in std::mem::take(&mut self.foreign) {
            match index.filter(|index| *index < agreed_up_to) {
                Some(index) => self.unusable.push(format!("entry {index}: {problem}")),
                None => self.wrong(index, problem),
            }
        }
        agreed
    }

    /// Where the keys that signed a checkpoint were all retired, if that was before it: the last place, and the key.
    fn retired_before(&self, checkpoint: &Checkpoint, signers: &[NoteVerifier]) -> Option<(u64, String)> {
        let retired = |signer: &NoteVerifier| {
            let is_it = |(_, public): &(&String, &String)| {
                note_verifier(&checkpoint.origin, public).as_ref() == Some(signer)
            };
            let (id, _) = self.keys.iter().find(is_it)?;
            let index = self.retired.get(id).filter(|index| **index < checkpoint.size)?;
            Some((*index, id.clone()))
        };
        signers.iter().map(retired).collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// The findings on a ledger of this size and with this root.
    fn end(mut self, signed: &[SignedHead], size: u64, root: Hash) -> Audit {
        let checkpoints = self.compare(signed);
        let Self { documents, unusable, mut damage, .. } = self;
        damage.sort();
        damage.dedup();
        Audit { size, root: root.to_string(), documents: Some(documents), checkpoints, unusable, damage }
    }
}

/// Damage is a finding; a store that cannot be read at all is not.
pub(super) fn or_damaged<T>(read: Result<T, StoreError>) -> Result<Result<T, StoreError>, GateError> {
    match read {
        Err(error @ StoreError::Corrupt(_)) => Ok(Err(error)),
        Err(error) => Err(error.into()),
        Ok(value) => Ok(Ok(value)),
    }
}
