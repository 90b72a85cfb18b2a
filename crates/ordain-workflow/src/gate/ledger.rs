//! Checking a whole ledger, signing its head, and giving it to others.

use super::caller::{Caller, Role};
use super::entry::Entry;
use super::error::GateError;
use super::keyring::Keyring;
use super::open::Gate;
use super::records::{CONTROL_ID, Control, Held, Key, list};
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::VerifyingKey;
use ordain_canon::{ContentHash, is_canonical};
use ordain_ledger::{
    Checkpoint, Edge, Hash, NoteSigner, NoteVerifier, ProofFile, SignedNote, TILE_WIDTH, TileId, TilePath,
    encode_entries, encode_tile, verify_inclusion,
};
use ordain_store::{EntryRow, Store};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One entry, as it stands on the ledger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LedgerEntry {
    /// Its place, counted from 0.
    pub index: u64,
    /// The hash of its leaf, base64.
    pub leaf_hash: String,
    /// What it says.
    pub entry: Entry,
}

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

/// Damages that are listed; a ledger with more is beyond doubt.
const DAMAGE_MAX: usize = 20;
const PAGE: usize = 1_000;

impl Gate {
    /// The verifiers of all keys that ever signed checkpoints here.
    pub async fn note_verifiers(&self) -> Result<Vec<NoteVerifier>, GateError> {
        verifiers(&self.store, &self.keyring()).await
    }

    /// The signed head of the ledger.
    pub async fn checkpoint(&self) -> Result<SignedNote, GateError> {
        let (_, control) = self.control().await?;
        let head = self.store.head().await?;
        let keyring = self.keyring();
        let unusable = |error: String| GateError::Damaged(format!("the head cannot be signed: {error}"));
        let signer = NoteSigner::new(&control.origin, keyring.key().as_ref().clone())
            .map_err(|error| unusable(error.to_string()))?;
        let checkpoint =
            Checkpoint { origin: control.origin, size: head.size, root: head.root, extensions: Vec::new() };
        checkpoint.sign(&[&signer]).map_err(|error| unusable(error.to_string()))
    }

    /// A proof that an entry is on the ledger, complete in itself: with the entry and a signed checkpoint.
    pub async fn prove(&self, caller: &Caller, index: u64) -> Result<ProofFile, GateError> {
        may_audit(caller)?;
        let checkpoint = self.checkpoint().await?;
        let size = Checkpoint::parse(&checkpoint.text).map_or(0, |it| it.size);
        let row =
            self.store.entries(index, 1).await?.into_iter().find(|row| row.index == index && index < size);
        let Some(row) = row else {
            return Err(GateError::Unknown(format!(
                "the ledger has {size} entries, so there is no entry {index}"
            )));
        };
        let hashes = self.store.inclusion(index, size).await?;
        Ok(ProofFile { extra: Some(row.bytes), index, hashes, checkpoint })
    }

    /// A proof that the ledger only grew between two sizes.
    pub async fn prove_consistency(
        &self,
        caller: &Caller,
        old: u64,
        new: u64,
    ) -> Result<Vec<Hash>, GateError> {
        may_audit(caller)?;
        let size = self.store.head().await?.size;
        if old > new || new > size {
            return Err(GateError::Unknown(format!(
                "there is no proof from {old} to {new}: `old` must not be more than `new`, and `new` not more than the {size} entries there are"
            )));
        }
        Ok(self.store.consistency(old, new).await?)
    }

    /// How many entries there are.
    pub async fn size(&self) -> Result<u64, GateError> {
        Ok(self.store.head().await?.size)
    }

    /// That the head fits what stands at the end of the ledger.
    pub async fn check_head(&self) -> Result<u64, GateError> {
        let head = self.store.head().await?;
        let Some(last) = head.size.checked_sub(1) else { return Ok(0) };
        let row = self.store.entries(last, 1).await?.into_iter().find(|row| row.index == last);
        let row = row.ok_or_else(|| GateError::Damaged(format!("entry {last} is missing")))?;
        let proof = self.store.inclusion(last, head.size).await?;
        let fits = verify_inclusion(Hash::of_leaf(&row.bytes), last, head.size, &proof, head.root);
        fits.map_err(|error| GateError::Damaged(format!("the head does not fit entry {last}: {error}")))?;
        Ok(head.size)
    }

    /// Signs the head and keeps it in a file, in the place of an earlier one.
    pub async fn keep_checkpoint(&self, path: &Path) -> Result<(), GateError> {
        let note = self.checkpoint().await?.to_string();
        let path = path.to_owned();
        let written = tokio::task::spawn_blocking(move || {
            let next = path.with_extension("new");
            std::fs::write(&next, note)?;
            std::fs::rename(&next, &path)
        });
        let failed =
            |error: String| GateError::Unavailable(format!("the checkpoint cannot be kept: {error}"));
        written.await.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
    }

    /// Entries from a place on.
    pub async fn ledger_entries(
        &self,
        caller: &Caller,
        from: u64,
        limit: usize,
    ) -> Result<Vec<LedgerEntry>, GateError> {
        may_audit(caller)?;
        let rows = self.store.entries(from, limit).await?;
        rows.into_iter().map(|row| self.ledger_entry(row)).collect()
    }

    fn ledger_entry(&self, row: EntryRow) -> Result<LedgerEntry, GateError> {
        let entry = serde_json::from_slice(&row.bytes)
            .map_err(|error| GateError::Damaged(format!("entry {}: {error}", row.index)))?;
        Ok(LedgerEntry { index: row.index, leaf_hash: row.leaf_hash.to_string(), entry })
    }
}

/// The verifiers of all keys that ever signed checkpoints of a store, and of one's own key.
pub async fn verifiers(store: &Store, own: &Keyring) -> Result<Vec<NoteVerifier>, GateError> {
    let control = Held::<Control>::read(store, CONTROL_ID).await?.body;
    let Some(Control { origin, .. }) = control else { return Ok(Vec::new()) };
    let mut keys: BTreeSet<String> = [own.public().to_string()].into();
    for key in list::<Key>(store, None).await? {
        keys.extend(key.body.map(|key| key.public_key));
    }
    let verifier = |public: &String| {
        let mut bytes = [0; 32];
        Base64UrlUnpadded::decode(public, &mut bytes).ok()?;
        NoteVerifier::of(&origin, &VerifyingKey::from_bytes(&bytes).ok()?).ok()
    };
    Ok(keys.iter().filter_map(verifier).collect())
}

fn may_audit(caller: &Caller) -> Result<(), GateError> {
    caller.must_be(&[Role::Auditor, Role::Operator])
}

/// Reads the whole ledger and checks everything: entries, tree, tiles, documents, and that the tree still has what
/// earlier checkpoints signed. Nothing that the store says about itself is believed.
pub async fn audit(
    store: &Store,
    verifiers: &[NoteVerifier],
    checkpoints: &[SignedNote],
    mut progress: impl FnMut(u64, u64),
) -> Result<Audit, GateError> {
    let head = store.head().await?;
    let mut found = Audit {
        size: head.size,
        root: head.root.to_string(),
        documents: 0,
        checkpoints: 0,
        damage: Vec::new(),
    };
    let (signed, mut damage) = signed_heads(verifiers, checkpoints);
    let mut walk = Walk { edge: Edge::new(), at_ms: 0, roots: BTreeMap::new() };
    let sizes: BTreeSet<u64> = signed.iter().map(|checkpoint| checkpoint.size).collect();
    walk.note_root(&sizes);
    // One more than there should be: what stands beyond the head is damage too.
    loop {
        let from = walk.edge.size();
        let rows = store.entries(from, PAGE).await?;
        let Some(last) = rows.last() else { break };
        let last = last.index;
        for row in &rows {
            let expected = walk.edge.size();
            if row.index != expected {
                damage.push(Damage { index: Some(expected), problem: "is missing".to_owned() });
                break;
            }
            if expected >= head.size {
                let problem = format!("stands beyond the head, which counts {} entries", head.size);
                damage.push(Damage { index: Some(expected), problem });
            }
            walk.check_entry(store, row, &mut found, &mut damage).await?;
            walk.note_root(&sizes);
            if damage.len() >= DAMAGE_MAX {
                break;
            }
        }
        progress(walk.edge.size(), head.size);
        if damage.len() >= DAMAGE_MAX || walk.edge.size() != last + 1 {
            break;
        }
    }
    let whole = walk.edge.size();
    if whole < head.size && damage.is_empty() {
        let problem = format!("is missing: the head counts {} entries", head.size);
        damage.push(Damage { index: Some(whole), problem });
    }
    if whole == head.size && walk.edge.root() != head.root {
        damage.push(Damage {
            index: None,
            problem: "the root on record is not the root of the entries".to_owned(),
        });
    }
    let mut agreed_up_to = 0;
    for checkpoint in &signed {
        match walk.roots.get(&checkpoint.size) {
            Some(root) if *root == checkpoint.root => {
                found.checkpoints += 1;
                agreed_up_to = agreed_up_to.max(checkpoint.size);
            }
            Some(_) => {
                let problem = format!(
                    "one of the entries {agreed_up_to} to {} is not what it was when a checkpoint was signed over {} entries",
                    checkpoint.size.saturating_sub(1),
                    checkpoint.size
                );
                damage.push(Damage { index: Some(agreed_up_to), problem });
            }
            None if damage.is_empty() => {
                let problem = format!(
                    "is missing: a checkpoint was signed over {} entries, and there are {whole}; this is an older or a shortened copy",
                    checkpoint.size
                );
                damage.push(Damage { index: Some(whole), problem });
            }
            None => {}
        }
    }
    damage.sort();
    damage.dedup();
    found.damage = damage;
    Ok(found)
}

/// The checkpoints whose signatures hold, smallest first, and what is wrong with the others.
fn signed_heads(verifiers: &[NoteVerifier], notes: &[SignedNote]) -> (Vec<Checkpoint>, Vec<Damage>) {
    let (mut heads, mut damage) = (Vec::new(), Vec::new());
    for note in notes {
        let read = note
            .verify(verifiers)
            .map_err(|error| error.to_string())
            .and_then(|_| Checkpoint::parse(&note.text).map_err(|error| error.to_string()));
        match read {
            Ok(checkpoint) => heads.push(checkpoint),
            Err(problem) => damage.push(Damage { index: None, problem: format!("a checkpoint: {problem}") }),
        }
    }
    heads.sort_by_key(|head| head.size);
    (heads, damage)
}

struct Walk {
    edge: Edge,
    at_ms: u64,
    /// The roots at the sizes that somebody signed.
    roots: BTreeMap<u64, Hash>,
}

impl Walk {
    fn note_root(&mut self, sizes: &BTreeSet<u64>) {
        let size = self.edge.size();
        if sizes.contains(&size) {
            self.roots.insert(size, self.edge.root());
        }
    }

    async fn check_entry(
        &mut self,
        store: &Store,
        row: &EntryRow,
        found: &mut Audit,
        damage: &mut Vec<Damage>,
    ) -> Result<(), GateError> {
        let mut wrong = |problem: String| damage.push(Damage { index: Some(row.index), problem });
        let leaf = Hash::of_leaf(&row.bytes);
        if leaf != row.leaf_hash {
            wrong("was changed: it does not have the hash that is on record for it".to_owned());
        }
        let mut full: Vec<(TileId, Vec<Hash>)> = Vec::new();
        // The tree is built from what was recorded, so that one changed entry is one damage.
        self.edge.append(row.leaf_hash, |tile, hashes| full.push((tile, hashes.to_vec())));
        match serde_json::from_slice::<Entry>(&row.bytes) {
            Err(error) => wrong(format!("is no entry: {error}")),
            Ok(_) if !is_canonical(&row.bytes) => wrong("is not written canonically".to_owned()),
            Ok(entry) => {
                if entry.at_ms < self.at_ms {
                    wrong(format!("is of {} ms, and the one before it of {} ms", entry.at_ms, self.at_ms));
                }
                self.at_ms = self.at_ms.max(entry.at_ms);
                for name in entry.event.documents() {
                    let bytes = match ContentHash::parse(name) {
                        Some(hash) => store.document(&hash).await?,
                        None => None,
                    };
                    match bytes {
                        Some(bytes) if ContentHash::of(&bytes).is(name) => found.documents += 1,
                        Some(_) => wrong(format!("names the document {name}, which was changed")),
                        None => wrong(format!("names the document {name}, which is missing")),
                    }
                }
            }
        }
        for (tile, hashes) in full {
            let stored = store.tiles(&[tile].into(), self.edge.size()).await;
            let same = stored.is_ok_and(|stored| stored.get(&tile) == Some(&hashes));
            if !same {
                wrong(format!(
                    "ends the tile {}, which is not on record as it should be",
                    tile.path(TILE_WIDTH)
                ));
            }
        }
        Ok(())
    }
}

/// Writes the ledger as C2SP tlog-tiles: hands each file's path and content to `write`.
pub async fn export(
    gate: &Gate,
    mut write: impl FnMut(&str, &[u8]) -> std::io::Result<()>,
    mut progress: impl FnMut(u64, u64),
) -> Result<u64, GateError> {
    let failed = |error: std::io::Error| GateError::Unavailable(format!("cannot write: {error}"));
    let unfit = |error: ordain_ledger::TileError| GateError::Damaged(error.to_string());
    let note = gate.checkpoint().await?;
    let size = Checkpoint::parse(&note.text).map_or(0, |it| it.size);
    let mut edge = Edge::new();
    let mut bundle: Vec<Vec<u8>> = Vec::new();
    while edge.size() < size {
        let limit = usize::try_from(size - edge.size()).unwrap_or(PAGE).min(PAGE);
        let rows = gate.store.entries(edge.size(), limit).await?;
        if rows.is_empty() {
            return Err(GateError::Damaged(format!("entry {} is missing", edge.size())));
        }
        for row in rows {
            let mut full: Vec<(TileId, Vec<Hash>)> = Vec::new();
            edge.append(Hash::of_leaf(&row.bytes), |tile, hashes| full.push((tile, hashes.to_vec())));
            bundle.push(row.bytes);
            for (tile, hashes) in full {
                write(&tile.path(TILE_WIDTH), &encode_tile(&hashes).map_err(unfit)?).map_err(failed)?;
            }
            if bundle.len() == TILE_WIDTH || edge.size() == size {
                let path = entries_path((edge.size() - 1) / TILE_WIDTH as u64, bundle.len());
                write(&path, &encode_entries(&bundle).map_err(unfit)?).map_err(failed)?;
                bundle.clear();
            }
        }
        progress(edge.size(), size);
    }
    for (tile, hashes) in edge.partial_tiles() {
        write(&tile.path(hashes.len()), &encode_tile(hashes).map_err(unfit)?).map_err(failed)?;
    }
    write("checkpoint", note.to_string().as_bytes()).map_err(failed)?;
    Ok(size)
}

fn entries_path(index: u64, width: usize) -> String {
    TilePath::Entries { index, width }.to_string()
}
