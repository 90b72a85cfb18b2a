//! Every changed bit is found.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod common;

use common::{Ledger, Reference, entry};
use ed25519_dalek::SigningKey;
use ordain_ledger::{
    Checkpoint, Hash, NoteSigner, NoteVerifier, ProofError, ProofFile, consistency_proof, inclusion_proof,
    verify_consistency, verify_inclusion,
};

fn flipped(hash: Hash, bit: usize) -> Hash {
    let mut bytes = *hash.as_bytes();
    bytes[bit / 8] ^= 1 << (bit % 8);
    Hash::from_bytes(bytes)
}

/// The proof with each bit flipped, and with a hash gone, twice there, added or moved.
fn changed(proof: &[Hash]) -> Vec<Vec<Hash>> {
    let mut all = Vec::new();
    for position in 0..proof.len() {
        for bit in 0..256 {
            let mut copy = proof.to_vec();
            copy[position] = flipped(copy[position], bit);
            all.push(copy);
        }
        let (mut less, mut twice) = (proof.to_vec(), proof.to_vec());
        less.remove(position);
        twice.insert(position, proof[position]);
        all.extend([less, twice]);
        if position > 0 {
            let mut moved = proof.to_vec();
            moved.swap(position - 1, position);
            all.push(moved);
        }
    }
    all.push([proof, &[Hash::EMPTY]].concat());
    all.push([&[Hash::EMPTY], proof].concat());
    all
}

#[test]
fn inclusion() {
    let ledger = Ledger::of(521);
    let reference = Reference::new(&ledger.leaves);
    let tiles = ledger.tiles();
    for (index, size) in
        [(0, 1), (0, 2), (1, 2), (2, 3), (4, 7), (255, 256), (256, 257), (300, 521), (520, 521)]
    {
        let position = usize::try_from(index).unwrap();
        let (leaf, root) = (ledger.leaves[position], reference.mth(0..usize::try_from(size).unwrap()));
        let proof = inclusion_proof(index, size, &tiles).unwrap();
        assert_eq!(verify_inclusion(leaf, index, size, &proof, root), Ok(()));
        for other in changed(&proof) {
            assert!(verify_inclusion(leaf, index, size, &other, root).is_err());
        }
        for bit in 0..256 {
            let missed = Err(ProofError::Root { size });
            assert_eq!(verify_inclusion(flipped(leaf, bit), index, size, &proof, root), missed);
            assert_eq!(verify_inclusion(leaf, index, size, &proof, flipped(root, bit)), missed);
        }
        for bit in 0..64 {
            assert!(verify_inclusion(leaf, index ^ 1 << bit, size, &proof, root).is_err(), "bit {bit}");
            // A size that leads the same way is told by the signature only; a proof file has one.
            let other = size ^ 1 << bit;
            let same_way = other <= ordain_ledger::SIZE_MAX
                && index < other
                && common::includes(leaf, index, other, &proof) == Some(root);
            assert_eq!(verify_inclusion(leaf, index, other, &proof, root).is_ok(), same_way, "bit {bit}");
        }
        for (other, leaf) in ledger.leaves.iter().enumerate().filter(|(other, _)| *other != position) {
            assert!(verify_inclusion(*leaf, index, size, &proof, root).is_err(), "leaf {other}");
        }
    }
}

#[test]
fn consistency() {
    let ledger = Ledger::of(521);
    let reference = Reference::new(&ledger.leaves);
    let tiles = ledger.tiles();
    for (old, new) in [(0, 5), (1, 2), (2, 3), (3, 7), (4, 7), (5, 5), (255, 256), (256, 521), (300, 521)] {
        let root = |size: u64| reference.mth(0..usize::try_from(size).unwrap());
        let (old_root, new_root) = (root(old), root(new));
        let proof = consistency_proof(old, new, &tiles).unwrap();
        assert_eq!(verify_consistency(old, new, old_root, new_root, &proof), Ok(()));
        for other in changed(&proof) {
            assert!(verify_consistency(old, new, old_root, new_root, &other).is_err(), "{old} {new}");
        }
        for bit in 0..256 {
            assert!(verify_consistency(old, new, flipped(old_root, bit), new_root, &proof).is_err());
            // Whatever a ledger has become, it started empty.
            let accepted = verify_consistency(old, new, old_root, flipped(new_root, bit), &proof).is_ok();
            assert_eq!(accepted, old == 0);
        }
        for bit in 0..64 {
            for (other_old, other_new) in [(old ^ 1 << bit, new), (old, new ^ 1 << bit)] {
                let proper = other_old > 0 && other_old <= other_new && other_new <= ordain_ledger::SIZE_MAX;
                let roots = || common::extends(other_old, other_new, true, old_root, &proof);
                let fits = proper && roots() == Some((old_root, new_root));
                let empty = other_old == 0 && old == 0 && other_new <= ordain_ledger::SIZE_MAX;
                let accepted = verify_consistency(other_old, other_new, old_root, new_root, &proof).is_ok();
                assert_eq!(accepted, fits || empty, "from {other_old} to {other_new}");
            }
        }
    }
}

#[test]
fn a_proof_file() {
    let ledger = Ledger::of(300);
    let origin = "example.com/ledger";
    let signer = NoteSigner::new(origin, SigningKey::from_bytes(&[7; 32])).unwrap();
    let known = [signer.verifier().clone()];
    let (size, root) = (ledger.edge.size(), ledger.edge.root());
    let checkpoint = Checkpoint { origin: origin.to_owned(), size, root, extensions: Vec::new() };
    let file = ProofFile {
        extra: Some(entry(257)),
        index: 257,
        hashes: inclusion_proof(257, size, &ledger.tiles()).unwrap(),
        checkpoint: checkpoint.sign(&[&signer]).unwrap(),
    };
    let accepts = |bytes: &[u8]| {
        let text = str::from_utf8(bytes).ok();
        let file = text.and_then(|text| ProofFile::parse(text).ok());
        file.is_some_and(|file| file.verify_entry(&known, origin).is_ok())
    };
    let text = file.to_string().into_bytes();
    assert!(accepts(&text));
    for position in 0..text.len() {
        for bit in 0..8 {
            let mut copy = text.clone();
            copy[position] ^= 1 << bit;
            assert!(!accepts(&copy), "bit {bit} of byte {position}: {}", String::from_utf8_lossy(&copy));
        }
        assert!(!accepts(&text[..position]), "cut at {position}");
        let mut less = text.clone();
        let byte = less.remove(position);
        assert!(!accepts(&less), "without byte {position}");
        let mut twice = text.clone();
        twice.insert(position, byte);
        assert!(!accepts(&twice), "byte {position} twice");
    }
    assert!(!accepts(&[&text[..], b"\n"].concat()));
    assert!(file.verify(Hash::of_leaf(&entry(257)), &known, "example.com/other").is_err());
    let stranger = NoteVerifier::of(origin, &SigningKey::from_bytes(&[8; 32]).verifying_key()).unwrap();
    assert!(file.verify_entry(&[stranger], origin).is_err());
    assert!(file.verify_entry(&[], origin).is_err());
}
