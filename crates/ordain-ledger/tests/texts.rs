//! Notes, keys, checkpoints, paths and proof files as text: one spelling each, strictly read, and no text panics.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod common;

use ed25519_dalek::{SigningKey, VerifyingKey};
use ordain_ledger::{
    Checkpoint, CheckpointError, Hash, KeyError, NoteError, NoteSigner, NoteVerifier, ProofFile,
    ProofFileError, SIZE_MAX, SignedNote, TileId, TilePath, decode_entries, decode_tile, encode_entries,
    inclusion_proof,
};
use proptest::prelude::*;

fn signer(name: &str, seed: u8) -> NoteSigner {
    NoteSigner::new(name, SigningKey::from_bytes(&[seed; 32])).unwrap()
}

fn known(signers: &[&NoteSigner]) -> Vec<NoteVerifier> {
    signers.iter().map(|signer| signer.verifier().clone()).collect()
}

fn checkpoint() -> Checkpoint {
    let (origin, root) = ("example.com/ledger".to_owned(), Hash::of_leaf(b"a"));
    Checkpoint { origin, size: 1, root, extensions: Vec::new() }
}

/// The example in the documentation of Go's `sumdb/note`.
const PETER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const WISDOM: &str = "If you think cryptography is the answer to your problem,
then you don't know what your problem is.

— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=
";

/// The contract shows a proof file, its checkpoint and its key. They are real.
#[test]
fn the_example_of_the_contract() {
    let page = include_str!("../../../docs/contracts/ledger.md");
    let ledger = common::Ledger::of(5);
    let signer = signer("example.com/ledger", 7);
    let (size, root) = (ledger.edge.size(), ledger.edge.root());
    let checkpoint = Checkpoint { size, root, ..checkpoint() }.sign(&[&signer]).unwrap();
    let hashes = inclusion_proof(2, size, &ledger.tiles()).unwrap();
    let file = ProofFile { extra: Some(common::entry(2)), index: 2, hashes, checkpoint };
    assert!(page.contains(&format!("```text\n{file}```\n")), "{file}");
    assert!(page.contains(&format!("```text\n{}```\n", file.checkpoint)));
    assert!(page.contains(&format!("$ go run verify.go {} <", signer.verifier())));
}

#[test]
fn a_note_that_others_signed() {
    let peter = NoteVerifier::parse(PETER).unwrap();
    assert_eq!((peter.name(), peter.id().to_string().as_str()), ("PeterNeumann", "c74f20a3"));
    let note = SignedNote::parse(WISDOM).unwrap();
    assert_eq!(note.verify(std::slice::from_ref(&peter)), Ok(vec![&peter]));
    assert_eq!(note.to_string(), WISDOM);
    assert_eq!(note.verify(&[]), Err(NoteError::Unknown));
    let changed = SignedNote::parse(&WISDOM.replace("your", "my")).unwrap();
    let error = changed.verify(&[peter]).unwrap_err();
    let expected = "the signature by `PeterNeumann` (c74f20a3) does not fit the text of the note";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn keys_are_read_strictly() {
    let refused = |text: &str| NoteVerifier::parse(text).unwrap_err();
    for text in ["", "a", "a+b", "a+c74f20a3", "a+c74f20a+AA==", "a+C74F20A3+AA==", "a++", "a+0xc74f20+AA=="]
    {
        assert_eq!(refused(text), KeyError::Form, "{text}");
    }
    assert!(matches!(refused(&PETER.replace("c74f20a3", "c74f20a4")), KeyError::Hash { .. }));
    assert!(matches!(refused(&PETER.replace("Peter", "Paul")), KeyError::Hash { .. }));
    for (from, to) in [("+AR", "+AT"), ("+AR", "+AA"), ("10TW", "10T="), ("10TW", "10TW="), ("10TW", "")] {
        assert_eq!(refused(&PETER.replace(from, to)), KeyError::Type("PeterNeumann".to_owned()), "{to}");
    }
    // ECDSA, and a cosignature: other types of signature, which are not made here.
    for kind in ["+Ah", "+Ap"] {
        assert!(matches!(refused(&PETER.replace("+AR", kind)), KeyError::Type(_)), "{kind}");
    }
    for name in ["", "a b", "a\tb", "a\u{a0}b", "a\u{2028}b", "a\nb", "a\u{1}b", &"a".repeat(1025)] {
        let key = SigningKey::from_bytes(&[1; 32]);
        assert!(matches!(NoteSigner::new(name, key), Err(KeyError::Name(_))), "{name:?}");
    }
    // Points of small order, of which the first is the neutral one.
    for first in [1, 0] {
        let mut bytes = [0; 32];
        bytes[0] = first;
        let key = VerifyingKey::from_bytes(&bytes).unwrap();
        assert_eq!(NoteVerifier::of("weak", &key), Err(KeyError::Weak("weak".to_owned())));
    }
    let secret = format!("{:?}", signer("a", 7));
    assert_eq!(secret, format!("NoteSigner({})", signer("a", 7).verifier()));
}

#[test]
fn notes_are_read_strictly() {
    let (_, line) = WISDOM.trim_end().rsplit_once('\n').unwrap();
    let read = |text: &str| SignedNote::parse(text).map(drop);
    let signature = |line| Err(NoteError::Signature { line });
    assert_eq!(read(&format!("a\n\n{line}\n")), Ok(()));
    assert_eq!(read(&format!("a\n\n\n\n{line}\n")), Ok(()));
    for text in
        ["", "\n", "a\n", "a\n\n", &format!("a\n\n{line}"), &format!("a\n{line}\n"), &format!("{line}\n")]
    {
        assert_eq!(read(text), Err(NoteError::NoSignature), "{text}");
    }
    assert_eq!(read("a\n\nb\n"), signature(3));
    assert_eq!(read(&format!("a\nb\n\n{line}\n-- {line}\n")), signature(5));
    assert_eq!(read(&format!("a\n\n{line} \n")), signature(3));
    assert_eq!(read(&format!("a\n\n{line}\n ")), Err(NoteError::NoSignature));
    for wrong in [
        "— a",
        "— a ",
        "—  AAAAAAE=",
        "— a AAAAAA==",
        "— a AAAA",
        "— a AAAAAAE",
        "— a AAAAAAF=",
        "— a AAAAAAE= b",
        "— a AAAA\u{a0}AAE=",
        "— a+b AAAAAAE=",
        "- a AAAAAAE=",
        "—\u{a0}a AAAAAAE=",
    ] {
        assert_eq!(read(&format!("a\n\n{wrong}\n")), signature(3), "{wrong}");
    }
    assert_eq!(read("a\n\n— a AAAAAAE=\n"), Ok(()));
    assert_eq!(read(&format!("a\nb\r\n\n{line}\n")), Err(NoteError::Control { line: 2 }));
    assert_eq!(
        read(&format!("a\n\n{line}\n").replace("Root", "Ro\u{1b}ot")),
        Err(NoteError::Control { line: 3 })
    );
    let lines = |count| format!("a\n\n{}", format!("{line}\n").repeat(count));
    assert_eq!(read(&lines(100)), Ok(()));
    assert_eq!(read(&lines(101)), Err(NoteError::TooMany));
    assert_eq!(read(&"a".repeat(1_000_001)), Err(NoteError::TooLong(1_000_001)));
}

#[test]
fn signatures_count_as_the_specification_says() {
    let (a, b) = (signer("a", 1), signer("b", 2));
    let sign = |signers: &[&NoteSigner]| SignedNote::sign("text\n", signers);
    let note = sign(&[&a, &b]).unwrap();
    let keys = known(&[&a, &b]);
    assert_eq!(note.verify(&keys), Ok(vec![&keys[0], &keys[1]]));
    assert_eq!(note.verify(&keys[1..]), Ok(vec![&keys[1]]), "a signature by a stranger is ignored");
    // The same name with another key is another key.
    assert_eq!(note.verify(&known(&[&signer("a", 3)])), Err(NoteError::Unknown));
    assert_eq!(note.verify(&known(&[&signer("c", 1)])), Err(NoteError::Unknown));

    // A good signature does not help a bad one beside it, also of the same key.
    let other = SignedNote::sign("other\n", &[&a]).unwrap().to_string();
    let (_, forged) = other.split_once("\n\n").unwrap();
    let with_forged = SignedNote::parse(&format!("{note}{forged}")).unwrap();
    assert!(matches!(with_forged.verify(&keys), Err(NoteError::Forged { .. })));
    assert_eq!(with_forged.verify(&keys[1..]), Ok(vec![&keys[1]]));
    let (_, same) =
        sign(&[&a]).unwrap().to_string().split_once("\n\n").map(|(_, line)| ((), line.to_owned())).unwrap();
    let twice = SignedNote::parse(&format!("{note}{same}")).unwrap();
    assert_eq!(twice.verify(&keys), Ok(vec![&keys[0], &keys[1]]), "and none counts twice");

    assert_eq!(sign(&[]), Err(NoteError::NoSignature));
    assert!(matches!(sign(&[&a, &a]), Err(NoteError::Ambiguous { .. })));
    assert_eq!(SignedNote::sign("text", &[&a]), Err(NoteError::Unfinished));
    assert_eq!(SignedNote::sign("te\txt\n", &[&a]), Err(NoteError::Control { line: 1 }));
    assert!(matches!(SignedNote::sign(&"a\n".repeat(500_000), &[&a]), Err(NoteError::TooLong(_))));
}

#[test]
fn checkpoints_are_read_strictly() {
    let root = Hash::of_leaf(b"a");
    let read = |text: &str| Checkpoint::parse(text).map(|checkpoint| checkpoint.size);
    assert_eq!(read(&format!("a b\n1\n{root}\n")), Ok(1));
    assert_eq!(read(&format!("a\n0\n{}\n", Hash::EMPTY)), Ok(0));
    assert_eq!(read(&format!("a\n0\n{root}\n")), Err(CheckpointError::EmptyRoot));
    for text in [
        "",
        "\n",
        "a\n",
        "a\n1\n",
        &format!("a\n1\n{root}"),
        &format!("\n1\n{root}\n"),
        &format!("a\n1\n{root}\n\n"),
        &format!("a\n1\n{root}\nb\n\n"),
        &format!("a\n1\n{root}\n\nb\n"),
        &format!("a\n\n1\n{root}\n"),
    ] {
        assert_eq!(read(text), Err(CheckpointError::Lines), "{text:?}");
    }
    for size in ["01", "-1", "+1", "1 ", "one", "9223372036854775808", "18446744073709551616"] {
        assert_eq!(read(&format!("a\n{size}\n{root}\n")), Err(CheckpointError::Size), "{size}");
    }
    assert_eq!(read(&format!("a\n1\n{root} \n")), Err(CheckpointError::Root));
    assert_eq!(read("a\n1\n47DEQpj8HBSa\n"), Err(CheckpointError::Root));
}

#[test]
fn only_what_can_be_read_back_is_signed() {
    let key = signer("example.com/ledger", 1);
    let refused = |checkpoint: Checkpoint| checkpoint.sign(&[&key]).unwrap_err();
    assert_eq!(refused(Checkpoint { origin: String::new(), ..checkpoint() }), CheckpointError::Lines);
    assert_eq!(refused(Checkpoint { origin: "a\n5".to_owned(), ..checkpoint() }), CheckpointError::Root);
    assert_eq!(refused(Checkpoint { size: SIZE_MAX + 1, ..checkpoint() }), CheckpointError::Size);
    assert_eq!(refused(Checkpoint { size: 0, ..checkpoint() }), CheckpointError::EmptyRoot);
    let extensions = vec!["a\nb".to_owned()];
    assert_eq!(refused(Checkpoint { extensions, ..checkpoint() }), CheckpointError::Fields);
    let control = Checkpoint { origin: "a\tb".to_owned(), ..checkpoint() };
    assert_eq!(refused(control), CheckpointError::Note(NoteError::Control { line: 1 }));
}

#[test]
fn a_ledger_speaks_for_itself_only() {
    let (ledger, witness) = (signer("example.com/ledger", 1), signer("witness.example", 2));
    let keys = known(&[&ledger, &witness]);
    let open = |signers: &[&NoteSigner], origin: &str| {
        Checkpoint::open(&checkpoint().sign(signers).unwrap(), &keys, origin)
    };
    assert_eq!(open(&[&ledger], "example.com/ledger"), Ok(checkpoint()));
    assert_eq!(open(&[&ledger, &witness], "example.com/ledger"), Ok(checkpoint()));
    let error = open(&[&witness], "example.com/ledger").unwrap_err();
    assert_eq!(error, CheckpointError::NotByLedger("example.com/ledger".to_owned()));
    let error = open(&[&witness], "witness.example").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the checkpoint is of the ledger `example.com/ledger`, not `witness.example`"
    );
}

/// Proof files that differ from a good one in one line.
#[test]
fn proof_files_are_read_strictly() {
    let key = signer("example.com/ledger", 1);
    let hashes = vec![Hash::EMPTY; 2];
    let note = checkpoint().sign(&[&key]).unwrap();
    let file = ProofFile { extra: Some(b"a".to_vec()), index: 0, hashes, checkpoint: note };
    let text = file.to_string();
    assert!(
        text.starts_with("c2sp.org/tlog-proof@v1\nextra YQ==\nindex 0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NM")
    );
    assert_eq!(ProofFile::parse(&text), Ok(file));
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        ProofFile::parse(&text.replacen(from, to, 1)).unwrap_err()
    };
    let line = |error: ProofFileError| match error {
        ProofFileError::Line { line, .. } => line,
        other => panic!("{other}"),
    };
    assert_eq!(refused("@v1", "@v2"), ProofFileError::Header);
    assert_eq!(refused("@v1\n", "@v1 \n"), ProofFileError::Header);
    assert_eq!(refused("c2sp", " c2sp"), ProofFileError::Header);
    for extra in ["extra YQ=", "extra YR==", "extra  YQ==", "extra YQ== ", "extra YQ", "extra YQ==="] {
        assert_eq!(line(refused("extra YQ==", extra)), 2, "{extra}");
    }
    for extra in ["extra", "Extra YQ==", "YQ==", "", "extra\tYQ==", "extra:YQ=="] {
        assert_eq!(line(refused("extra YQ==", extra)), 2, "{extra}");
    }
    assert_eq!(line(refused("extra YQ==\n", "extra YQ==\nextra YQ==\n")), 3);
    assert_eq!(line(refused("YQ==", &"AAAA".repeat(21_846))), 2);
    for index in
        ["index 00", "index -0", "index", "index  0", "index 0 ", "index 9223372036854775808", "0", ""]
    {
        assert_eq!(line(refused("index 0", index)), 3, "{index}");
    }
    assert_eq!(line(refused("47DE", "!7DE")), 4);
    assert_eq!(line(refused("\n\nexample.com", "\nexample.com")), 6);
    let hash = format!("{}\n", Hash::EMPTY);
    assert_eq!(refused(&hash, &hash.repeat(64)), ProofFileError::TooMany);
    assert!(matches!(refused("\n— ", "\n- "), ProofFileError::Note(_)));
    assert_eq!(line(ProofFile::parse("c2sp.org/tlog-proof@v1\nindex 0\n").unwrap_err()), 3);
    assert_eq!(line(ProofFile::parse("c2sp.org/tlog-proof@v1\nindex 0").unwrap_err()), 2);

    let none = ProofFile::parse(&text.replacen("extra YQ==\n", "", 1)).unwrap();
    assert_eq!(none.verify_entry(&known(&[&key]), "example.com/ledger"), Err(ProofFileError::NoEntry));
    let empty = ProofFile::parse(&text.replacen("YQ==", "", 1)).unwrap();
    assert_eq!(empty.extra, Some(Vec::new()));
}

/// Writing what was read gives the same bytes.
fn same_or_refused(text: &str) {
    let check = |again: Option<String>| assert!(again.is_none_or(|again| again == text), "{text:?}");
    check(Hash::parse(text).ok().map(|hash| hash.to_string()));
    check(TilePath::parse(text).ok().map(|path| path.to_string()));
    check(TileId::parse(text).ok().map(|(tile, width)| tile.path(width)));
    check(NoteVerifier::parse(text).ok().map(|key| key.to_string()));
    check(Checkpoint::parse(text).ok().map(|checkpoint| checkpoint.text()));
    let note = SignedNote::parse(text).ok();
    let file = ProofFile::parse(text).ok();
    let key = [signer("example.com/ledger", 1).verifier().clone()];
    if let Some(note) = &note {
        let _ = (note.verify(&key), Checkpoint::open(note, &key, "example.com/ledger"));
    }
    if let Some(file) = &file {
        let _ = file.verify_entry(&key, "example.com/ledger");
    }
    check(note.map(|note| note.to_string()));
    check(file.map(|file| file.to_string()));
}

fn any_hash() -> impl Strategy<Value = Hash> {
    any::<[u8; 32]>().prop_map(Hash::from_bytes)
}

fn any_signer() -> impl Strategy<Value = NoteSigner> {
    ("[^\\s+\\p{Cc}]{1,20}", any::<[u8; 32]>())
        .prop_map(|(name, seed)| NoteSigner::new(&name, SigningKey::from_bytes(&seed)).unwrap())
}

fn any_checkpoint() -> impl Strategy<Value = Checkpoint> {
    let line = || "[^\\p{Cc}]{1,20}";
    (line(), 1..=SIZE_MAX, any_hash(), proptest::collection::vec(line(), 0..3))
        .prop_map(|(origin, size, root, extensions)| Checkpoint { origin, size, root, extensions })
}

proptest! {
    #[test]
    fn paths(level in 0..=63_u8, index in 0..=SIZE_MAX / 256, shift in 0..56_u32, width in 1..=256_usize) {
        let index = index >> shift;
        for path in [
            TilePath::Hashes { tile: TileId { level, index }, width },
            TilePath::Entries { index, width },
        ] {
            prop_assert_eq!(TilePath::parse(&path.to_string()), Ok(path));
        }
    }

    #[test]
    fn keys(signer in any_signer()) {
        let key = signer.verifier();
        let read = NoteVerifier::parse(&key.to_string());
        prop_assert_eq!(read.as_ref(), Ok(key));
    }

    #[test]
    fn notes(text in "(?s)[^\\p{Cc}\n]{0,20}(\n[^\\p{Cc}]{0,9}){0,4}\n", signer in any_signer()) {
        let note = SignedNote::sign(&text, &[&signer]).unwrap();
        let read = SignedNote::parse(&note.to_string()).unwrap();
        prop_assert_eq!(&read, &note);
        prop_assert_eq!(&read.text, &text);
        let keys = [signer.verifier().clone()];
        prop_assert_eq!(read.verify(&keys), Ok(vec![&keys[0]]));
    }

    #[test]
    fn proof_files(
        checkpoint in any_checkpoint(),
        signer in any_signer(),
        extra in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..100)),
        index in 0..=SIZE_MAX,
        hashes in proptest::collection::vec(any_hash(), 0..=64),
    ) {
        prop_assert_eq!(Checkpoint::parse(&checkpoint.text()), Ok(checkpoint.clone()));
        let file = ProofFile { extra, index, hashes, checkpoint: checkpoint.sign(&[&signer]).unwrap() };
        prop_assert_eq!(ProofFile::parse(&file.to_string()), Ok(file));
    }

    #[test]
    fn any_text(text in "(?s).{0,200}") {
        same_or_refused(&text);
    }

    /// Text that is nearly right: something good, with a few characters of its own kind put somewhere.
    #[test]
    fn nearly_right(
        which in 0..6_usize,
        at in any::<prop::sample::Index>(),
        gone in 0..4_usize,
        put in "[\n —+=/.0-9a-cA-Cpx]{0,3}",
    ) {
        let key = signer("example.com/ledger", 1);
        let note = checkpoint().sign(&[&key]).unwrap();
        let file = ProofFile {
            extra: Some(b"a".to_vec()),
            index: 0,
            hashes: Vec::new(),
            checkpoint: note.clone(),
        };
        let (hash, path) = (Hash::EMPTY.to_string(), "tile/0/x001/x234/067.p/5".to_owned());
        let texts = [hash, path, PETER.to_owned(), checkpoint().text(), note.to_string(), file.to_string()];
        let characters: Vec<char> = texts[which].chars().collect();
        let at = at.index(characters.len());
        let rest = characters.iter().skip(at + gone);
        let text: String = characters[..at].iter().copied().chain(put.chars()).chain(rest.copied()).collect();
        same_or_refused(&text);
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300), width in 0..300_usize) {
        let _ = decode_tile(&bytes, width);
        if let Ok(entries) = decode_entries(&bytes, width) {
            prop_assert_eq!(encode_entries(&entries).unwrap(), bytes.clone());
        }
        let entries: Vec<&[u8]> = bytes.chunks(width.clamp(2, 299)).collect();
        let bundle = encode_entries(&entries);
        prop_assert_eq!(bundle.is_ok(), !entries.is_empty());
        if let Ok(bundle) = bundle {
            prop_assert_eq!(decode_entries(&bundle, entries.len()).unwrap(), entries);
        }
    }
}
