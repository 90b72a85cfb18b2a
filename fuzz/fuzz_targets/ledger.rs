//! Any text as what an outsider reads of a ledger: only what the key signed passes, and each thing has one spelling.

#![no_main]

use ed25519_dalek::SigningKey;
use libfuzzer_sys::fuzz_target;
use ordain_ledger::{
    Checkpoint, Hash, NoteSigner, NoteVerifier, ProofFile, SignedNote, TileId, TilePath, decode_entries,
    decode_tile, encode_entries, encode_tile, verify_consistency, verify_inclusion,
};

const ORIGIN: &str = "example.com/ledger";

fuzz_target!(|input: &[u8]| {
    if let Some((numbers, hashes)) = input.split_first_chunk::<17>() {
        proofs(numbers, hashes);
    }
    if let Some((width, bytes)) = input.split_first() {
        let width = usize::from(*width) + 1;
        if let Ok(hashes) = decode_tile(bytes, width) {
            assert_eq!(encode_tile(&hashes).as_deref(), Ok(bytes));
        }
        if let Ok(entries) = decode_entries(bytes, width) {
            assert_eq!(encode_entries(&entries).as_deref(), Ok(bytes));
        }
    }
    if let Ok(text) = std::str::from_utf8(input) {
        texts(text);
    }
});

fn texts(text: &str) {
    let key = SigningKey::from_bytes(&[7; 32]);
    let Ok(signer) = NoteSigner::new(ORIGIN, key) else { return };
    let known = [signer.verifier().clone()];
    let same = |again: Option<String>| assert!(again.is_none_or(|again| again == text), "a second spelling");
    same(Hash::parse(text).ok().map(|hash| hash.to_string()));
    same(TilePath::parse(text).ok().map(|path| path.to_string()));
    same(TileId::parse(text).ok().map(|(tile, width)| tile.path(width)));
    same(NoteVerifier::parse(text).ok().map(|key| key.to_string()));
    if let Ok(note) = SignedNote::parse(text) {
        same(Some(note.to_string()));
        // A real signature may be in the corpus; it is then on the text that the key signs again.
        if note.verify(&known).is_ok() {
            assert!(SignedNote::sign(&note.text, &[&signer]).is_ok_and(|again| again.verify(&known).is_ok()));
        }
    }
    if let Ok(file) = ProofFile::parse(text) {
        same(Some(file.to_string()));
        if let Ok((entry, checkpoint)) = file.verify_entry(&known, ORIGIN) {
            assert!(checkpoint.origin == ORIGIN && file.index < checkpoint.size);
            assert_eq!(file.extra.as_deref(), Some(entry));
        }
    }
    // The same as a checkpoint that the key did sign.
    if let Ok(checkpoint) = Checkpoint::parse(text) {
        same(Some(checkpoint.text()));
        if let Ok(note) = checkpoint.sign(&[&signer]) {
            let read = SignedNote::parse(&note.to_string());
            assert_eq!(read.as_ref(), Ok(&note));
            assert_eq!(
                Checkpoint::open(&note, &known, &checkpoint.origin).is_ok(),
                checkpoint.origin == ORIGIN
            );
        }
    }
}

/// Two numbers and some hashes as proofs: what leads to a root leads to no other.
fn proofs(numbers: &[u8; 17], hashes: &[u8]) {
    let [shift, numbers @ ..] = *numbers;
    let both = u128::from_be_bytes(numbers);
    let (first, second) = ((both >> 64) as u64 >> (shift % 64), both as u64 >> (shift % 64));
    let (chunks, _) = hashes.as_chunks::<32>();
    let hashes: Vec<Hash> = chunks.iter().copied().map(Hash::from_bytes).collect();
    let Some(([root, other], proof)) = hashes.split_first_chunk::<2>() else { return };
    if verify_inclusion(*root, first, second, proof, *other).is_ok() {
        assert!(first < second && (root == other || !proof.is_empty()));
    }
    if verify_consistency(first, second, *root, *other, proof).is_ok() {
        assert!(first <= second && (first == 0 || first == second || !proof.is_empty()));
    }
}
