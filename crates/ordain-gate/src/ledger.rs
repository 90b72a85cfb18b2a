//! Signing the head of the ledger, proving what is on it, and giving it to others.

use super::error::GateError;
use super::keyring::Keyring;
use super::open::Gate;
use super::records::{CONTROL_ID, Control, Key, Versioned, list};
use super::transaction::{Reading, time_of};
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::VerifyingKey;
use ordain_api::LedgerEntry;
use ordain_ledger::{
    Checkpoint, Edge, Hash, NoteSigner, NoteVerifier, ProofFile, SignedNote, TILE_WIDTH, TileId, TilePath,
    encode_entries, encode_tile, verify_consistency, verify_inclusion,
};
use ordain_state::write_private;
use ordain_store::Store;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Entries read at once.
pub(super) const PAGE: usize = 1_000;

impl Gate {
    /// The verifiers of all keys that ever signed checkpoints here.
    pub async fn note_verifiers(&self) -> Result<Vec<NoteVerifier>, GateError> {
        verifiers(&self.store, Some(&self.keyring())).await
    }

    /// The signed head of the ledger.
    pub async fn checkpoint(&self) -> Result<SignedNote, GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        let head = self.store.head().await?;
        let (keyring, _) = self.signing(Reading::Fresh).await?;
        let unusable = |error: String| GateError::Damaged(format!("the head cannot be signed: {error}"));
        let signer = NoteSigner::new(&control.origin, keyring.key().as_ref().clone())
            .map_err(|error| unusable(error.to_string()))?;
        let checkpoint =
            Checkpoint { origin: control.origin, size: head.size, root: head.root, extensions: Vec::new() };
        checkpoint.sign(&[&signer]).map_err(|error| unusable(error.to_string()))
    }

    /// A proof that an entry is on the ledger, complete in itself: with the entry and a signed checkpoint.
    pub async fn prove(&self, index: u64) -> Result<ProofFile, GateError> {
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
    pub async fn prove_consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>, GateError> {
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

    /// That the head fits what stands at the end of the ledger, and that what is written now can follow it.
    pub async fn check_head(&self) -> Result<u64, GateError> {
        let seen = self.shared.size_seen.load(Ordering::Relaxed);
        let head = self.store.head().await?;
        if head.size < seen {
            let problem =
                format!("the ledger has {} entries and had {seen}: an older state took its place", head.size);
            return Err(GateError::Damaged(problem));
        }
        let Some(last) = head.size.checked_sub(1) else { return Ok(0) };
        let row = self.store.entries(last, 1).await?.into_iter().find(|row| row.index == last);
        let row = row.ok_or_else(|| GateError::Damaged(format!("entry {last} is missing")))?;
        let proof = self.store.inclusion(last, head.size).await?;
        let fits = verify_inclusion(Hash::of_leaf(&row.bytes), last, head.size, &proof, head.root);
        fits.map_err(|error| GateError::Damaged(format!("the head does not fit entry {last}: {error}")))?;
        self.clock.check(time_of(&row.bytes))?;
        Ok(head.size)
    }

    /// Signs the head and keeps it in a file, in the place of an earlier one, if the ledger grew from what
    /// that one says: else the store was set back, and the earlier one is what shows it.
    pub async fn keep_checkpoint(&self, path: &Path) -> Result<(), GateError> {
        let failed =
            |error: String| GateError::Unavailable(format!("the checkpoint cannot be kept: {error}"));
        let (path, kept) = (path.to_owned(), path.to_owned());
        let kept = tokio::task::spawn_blocking(move || std::fs::read_to_string(kept));
        match kept.await.map_err(|error| failed(error.to_string()))? {
            Ok(kept) => {
                let kept = SignedNote::parse(&kept).map_err(|error| failed(error.to_string()))?;
                check_grown(&self.store, Some(&self.keyring()), &kept).await?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error.to_string())),
        }
        let note = self.checkpoint().await?.to_string();
        let written = tokio::task::spawn_blocking(move || write_private(&path, &note));
        written.await.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
    }

    /// Entries from a place on.
    pub async fn ledger_entries(&self, from: u64, limit: usize) -> Result<Vec<LedgerEntry>, GateError> {
        let rows = self.store.entries(from, limit).await?;
        rows.into_iter().map(|row| self.ledger_entry(row)).collect()
    }
}

/// The verifiers of all keys that ever signed checkpoints of a store, and of one's own key.
pub async fn verifiers(store: &Store, own: Option<&Keyring>) -> Result<Vec<NoteVerifier>, GateError> {
    let control = Versioned::<Control>::read(store, CONTROL_ID).await?.body;
    let Some(Control { origin, .. }) = control else { return Ok(Vec::new()) };
    let mut keys: BTreeSet<String> = own.iter().map(|own| own.public().to_string()).collect();
    for key in list::<Key>(store, None).await? {
        keys.extend(key.body.map(|key| key.public_key));
    }
    Ok(keys.iter().filter_map(|public| note_verifier(&origin, public)).collect())
}

/// Reads a public key as records and entries have it, base64url.
pub fn note_verifier(origin: &str, public: &str) -> Option<NoteVerifier> {
    let mut bytes = [0; 32];
    Base64UrlUnpadded::decode(public, &mut bytes).ok()?;
    NoteVerifier::of(origin, &VerifyingKey::from_bytes(&bytes).ok()?).ok()
}

/// That a store still has what a checkpoint of its ledger signed: it only grew. A gate on an older copy would
/// give out again what was spent already.
pub async fn check_grown(store: &Store, own: Option<&Keyring>, note: &SignedNote) -> Result<(), GateError> {
    let other = |problem: String| {
        GateError::Damaged(format!(
            "this is not the ledger that the last checkpoint was signed over: {problem}"
        ))
    };
    let known = verifiers(store, own).await?;
    let origin = known.first().map(NoteVerifier::name).unwrap_or_default();
    let signed = Checkpoint::open(note, &known, origin).map_err(|error| other(error.to_string()))?;
    let head = store.head().await?;
    if head.size < signed.size {
        return Err(other(format!(
            "that one had {} entries, and this older or shortened copy has {}",
            signed.size, head.size
        )));
    }
    let proof = store.consistency(signed.size, head.size).await?;
    verify_consistency(signed.size, head.size, signed.root, head.root, &proof)
        .map_err(|_| other(format!("some of the first {} entries are others", signed.size)))
}

/// Writes the ledger as C2SP tlog-tiles: hands each file's path and content to `write`.
pub async fn export(
    gate: &Gate,
    write: impl FnMut(&str, &[u8]) -> std::io::Result<()>,
    mut progress: impl FnMut(u64, u64),
) -> Result<u64, GateError> {
    let mut export = Export::of(gate.checkpoint().await?, write)?;
    while let missing = export.missing()
        && !missing.is_empty()
    {
        let limit = usize::try_from(missing.end - missing.start).unwrap_or(PAGE).min(PAGE);
        let rows = gate.store.entries(missing.start, limit).await?;
        if rows.is_empty() {
            return Err(GateError::Damaged(format!("entry {} is missing", missing.start)));
        }
        rows.into_iter().try_for_each(|row| export.add(row.bytes))?;
        progress(export.missing().start, missing.end);
    }
    export.end()
}

/// A ledger on its way into files: the entries that a checkpoint signed, one after the other.
pub struct Export<W> {
    note: SignedNote,
    head: Checkpoint,
    edge: Edge,
    bundle: Vec<Vec<u8>>,
    write: W,
}

impl<W: FnMut(&str, &[u8]) -> std::io::Result<()>> Export<W> {
    /// Exports the ledger that a checkpoint signed. Hands each file's path and content to `write`.
    pub fn of(note: SignedNote, write: W) -> Result<Self, GateError> {
        let head = Checkpoint::parse(&note.text).map_err(|error| GateError::Damaged(error.to_string()))?;
        Ok(Self { note, head, edge: Edge::new(), bundle: Vec::new(), write })
    }

    /// The entries that were not added yet.
    pub fn missing(&self) -> std::ops::Range<u64> {
        self.edge.size()..self.head.size
    }

    /// Adds the next entry.
    pub fn add(&mut self, bytes: Vec<u8>) -> Result<(), GateError> {
        let mut full: Vec<(TileId, Vec<Hash>)> = Vec::new();
        self.edge.append(Hash::of_leaf(&bytes), |tile, hashes| full.push((tile, hashes.to_vec())));
        self.bundle.push(bytes);
        for (tile, hashes) in full {
            let content = encode_tile(&hashes).map_err(unfit)?;
            (self.write)(&tile.path(TILE_WIDTH), &content).map_err(not_written)?;
        }
        if self.bundle.len() == TILE_WIDTH || self.edge.size() == self.head.size {
            let path = entries_path((self.edge.size() - 1) / TILE_WIDTH as u64, self.bundle.len());
            (self.write)(&path, &encode_entries(&self.bundle).map_err(unfit)?).map_err(not_written)?;
            self.bundle.clear();
        }
        Ok(())
    }

    /// Ends it, and gives its size. Entries that the checkpoint does not sign get no checkpoint.
    pub fn end(mut self) -> Result<u64, GateError> {
        if self.edge.root() != self.head.root {
            let problem = "the entries are not those that the checkpoint signed".to_owned();
            return Err(GateError::Damaged(problem));
        }
        for (tile, hashes) in self.edge.partial_tiles() {
            let content = encode_tile(hashes).map_err(unfit)?;
            (self.write)(&tile.path(hashes.len()), &content).map_err(not_written)?;
        }
        (self.write)("checkpoint", self.note.to_string().as_bytes()).map_err(not_written)?;
        Ok(self.head.size)
    }
}

fn not_written(error: std::io::Error) -> GateError {
    GateError::Unavailable(format!("cannot write: {error}"))
}

fn unfit(error: ordain_ledger::TileError) -> GateError {
    GateError::Damaged(error.to_string())
}

fn entries_path(index: u64, width: usize) -> String {
    TilePath::Entries { index, width }.to_string()
}
