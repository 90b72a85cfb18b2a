//! Go's `sumdb/note` and `sumdb/tlog` and we check each other: what one makes the other accepts, what was changed both
//! refuse. `cargo xtask test` installs Debian's `golang` and `golang-golang-x-mod-dev`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]
#![allow(clippy::disallowed_methods, reason = "a test may run other programs")]

mod common;

use base64ct::{Base64, Encoding};
use common::{Ledger, Reference, entry};
use ed25519_dalek::SigningKey;
use ordain_ledger::{
    Checkpoint, Hash, NoteError, NoteSigner, NoteVerifier, ProofFile, SignedNote, consistency_proof,
    inclusion_proof, verify_consistency, verify_inclusion,
};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const ORIGIN: &str = "example.com/ledger";
/// Where Debian puts the sources of Go packages.
const GOPATH: &str = "/usr/share/gocode";

static BUILT: AtomicU32 = AtomicU32::new(0);

/// Builds a program of `tests/go/` without a network.
fn build(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Tests run at once, in one process or in many: each builds its own copy.
    let number = BUILT.fetch_add(1, Ordering::Relaxed);
    let program = folder.join(format!("{name}-{}-{number}", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/go/{name}.go"));
    let mut go = Command::new("go");
    go.arg("build").arg("-o").arg(&program).arg(source);
    go.envs([("GO111MODULE", "off"), ("GOPATH", GOPATH), ("GOFLAGS", ""), ("CGO_ENABLED", "0")]);
    go.env("GOCACHE", folder.join("go-cache"));
    let built =
        go.output().unwrap_or_else(|error| panic!("Debian's package `golang` must be there: {error}"));
    let told = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "Debian's package `golang-golang-x-mod-dev` must be there: {told}");
    program
}

fn run(program: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    })
}

/// Asks the peer and gives its answers: the words after `ok`, or nothing where it said no.
fn ask(questions: &[String]) -> Vec<Option<Vec<String>>> {
    let program = build("peer");
    let output = run(&program, &[], questions.join("\n").as_bytes());
    std::fs::remove_file(program).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let words = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        assert_ne!(line, "no \"what?\"", "the peer did not understand");
        (words.next().unwrap() == "ok").then(|| words.collect())
    };
    let answers: Vec<_> = text.lines().map(words).collect();
    assert_eq!(answers.len(), questions.len());
    answers
}

fn base64(text: impl ToString) -> String {
    Base64::encode_string(text.to_string().as_bytes())
}

fn question(name: &str, n: u64, n_root: Hash, m: u64, m_root: Hash, proof: &[Hash]) -> String {
    let hashes: String = proof.iter().map(|hash| format!(" {hash}")).collect();
    format!("{name} {n} {n_root} {m} {m_root}{hashes}")
}

/// The tree with the sizes that Go is asked about.
const SIZE: u64 = 66_000;
const SIZES: &[u64] = &[1, 2, 3, 7, 8, 255, 256, 257, 300, 511, 512, 513, 1000, 65_535, 65_536, 65_537, SIZE];

#[test]
fn go_accepts_our_proofs_and_refuses_changed_ones() {
    let ledger = Ledger::of(SIZE);
    let tiles = ledger.tiles();
    let reference = Reference::new(&ledger.leaves);
    let root = |size: u64| reference.mth(0..usize::try_from(size).unwrap());
    let leaf = |index: u64| ledger.leaves[usize::try_from(index).unwrap()];
    let (mut questions, mut expected) = (Vec::new(), Vec::new());
    let mut add = |question: String, ours: bool| {
        questions.push(question);
        expected.push(ours);
    };
    let changed = |hash: Hash| {
        let mut bytes = *hash.as_bytes();
        bytes[31] ^= 1;
        Hash::from_bytes(bytes)
    };
    for &size in SIZES {
        let mut indexes = vec![0, size / 3, size - 1];
        indexes.extend(SIZES.iter().filter(|index| **index < size));
        for index in indexes {
            let proof = inclusion_proof(index, size, &tiles).unwrap();
            let mut inclusion = |leaf: Hash, index: u64, proof: &[Hash], root: Hash| {
                let ours = verify_inclusion(leaf, index, size, proof, root).is_ok();
                add(question("record", size, root, index, leaf, proof), ours);
                ours
            };
            assert!(inclusion(leaf(index), index, &proof, root(size)));
            assert!(!inclusion(changed(leaf(index)), index, &proof, root(size)));
            assert!(!inclusion(leaf(index), index, &proof, changed(root(size))));
            assert!(!inclusion(leaf(index), (index + 1) % (size + 1), &proof, root(size)));
            if let Some((last, rest)) = proof.split_last() {
                assert!(!inclusion(leaf(index), index, rest, root(size)));
                assert!(!inclusion(leaf(index), index, &[rest, &[changed(*last)]].concat(), root(size)));
            }
        }
        for &old in SIZES.iter().filter(|old| **old <= size) {
            let proof = consistency_proof(old, size, &tiles).unwrap();
            let mut consistency = |old: u64, old_root: Hash, proof: &[Hash], new_root: Hash| {
                let ours = verify_consistency(old, size, old_root, new_root, proof).is_ok();
                add(question("tree", size, new_root, old, old_root, proof), ours);
                ours
            };
            assert!(consistency(old, root(old), &proof, root(size)));
            assert!(!consistency(old, changed(root(old)), &proof, root(size)));
            assert!(!consistency(old, root(old), &proof, changed(root(size))));
            assert!(!consistency(old + 1, root(old), &proof, root(size)));
            assert!(!consistency(old, root(old), &[&proof[..], &[Hash::EMPTY]].concat(), root(size)));
            if let Some((first, rest)) = proof.split_first() {
                assert!(!consistency(old, root(old), rest, root(size)));
                assert!(!consistency(old, root(old), &[&[changed(*first)], rest].concat(), root(size)));
            }
        }
    }
    let answers: Vec<bool> = ask(&questions).iter().map(Option::is_some).collect();
    for ((question, go), ours) in questions.iter().zip(answers).zip(expected) {
        assert_eq!(go, ours, "{question}");
    }
}

#[test]
fn we_accept_the_proofs_of_go() {
    let mut ledger = Ledger::default();
    let (mut questions, mut made) = (Vec::new(), Vec::new());
    for &size in SIZES {
        questions.push(format!("grow {size}"));
        for index in [0, size / 3, size / 2, size - 1] {
            questions.push(format!("prove-record {size} {index}"));
            questions.push(format!("prove-tree {size} {}", index + 1));
            made.push((size, index));
        }
    }
    let mut answers = ask(&questions).into_iter().map(|words| {
        let words = words.unwrap();
        words.iter().map(|word| Hash::parse(word).unwrap()).collect::<Vec<Hash>>()
    });
    let mut roots = std::collections::BTreeMap::new();
    for &size in SIZES {
        while ledger.edge.size() < size {
            ledger.append(Hash::of_leaf(&entry(ledger.edge.size())));
            roots.insert(ledger.edge.size(), ledger.edge.root());
        }
        assert_eq!(answers.next().unwrap(), [ledger.edge.root()], "root of {size}");
        for (_, index) in made.iter().filter(|(of, _)| *of == size) {
            let (record, tree) = (answers.next().unwrap(), answers.next().unwrap());
            let (leaf, root) = (Hash::of_leaf(&entry(*index)), roots[&size]);
            assert_eq!(verify_inclusion(leaf, *index, size, &record, root), Ok(()));
            assert_eq!(verify_consistency(index + 1, size, roots[&(index + 1)], root, &tree), Ok(()));
        }
    }
}

#[test]
fn notes_in_both_directions() {
    let signer = NoteSigner::new(ORIGIN, SigningKey::from_bytes(&[7; 32])).unwrap();
    let witness = NoteSigner::new("witness.example", SigningKey::from_bytes(&[8; 32])).unwrap();
    let key = signer.verifier().to_string();
    let checkpoint = Checkpoint {
        origin: ORIGIN.to_owned(),
        size: 42,
        root: Hash::of_leaf(b"a"),
        extensions: vec!["an extension — with more than ASCII".to_owned()],
    };
    let note = checkpoint.sign(&[&witness, &signer]).unwrap();
    let stranger = SigningKey::from_bytes(&[9; 32]).verifying_key();
    let stranger = NoteVerifier::of(ORIGIN, &stranger).unwrap();
    let mut questions = vec![
        format!("open {key} {}", base64(&note)),
        format!("open {} {}", witness.verifier(), base64(&note)),
        format!("open {stranger} {}", base64(&note)),
        format!("sign go.example/log {}", base64(checkpoint.text())),
        format!("sign go.example/log {}", base64("a text\n\nwith a blank line\n")),
    ];
    // Every byte of the note with its lowest bit flipped.
    let alone = checkpoint.sign(&[&signer]).unwrap().to_string().into_bytes();
    let tampered: Vec<Vec<u8>> = (0..alone.len())
        .map(|position| {
            let mut copy = alone.clone();
            copy[position] ^= 1;
            copy
        })
        .collect();
    questions.extend(tampered.iter().map(|copy| format!("open {key} {}", Base64::encode_string(copy))));
    let answers = ask(&questions);

    let text = Some(vec![base64(checkpoint.text())]);
    assert_eq!(answers[..3], [text.clone(), text, None]);
    for (answer, expected) in answers[3..5].iter().zip([&checkpoint.text(), "a text\n\nwith a blank line\n"])
    {
        let Some([key, message]) = answer.as_deref() else { panic!("{answer:?}") };
        let known = [NoteVerifier::parse(key).unwrap()];
        let message = String::from_utf8(Base64::decode_vec(message).unwrap()).unwrap();
        let note = SignedNote::parse(&message).unwrap();
        assert_eq!(note.text, expected);
        assert_eq!(note.verify(&known), Ok(vec![&known[0]]));
        assert_eq!((known[0].to_string(), note.to_string()), (key.clone(), message.clone()));
        let changed = SignedNote::parse(&message.replacen('a', "b", 1)).unwrap();
        assert!(matches!(changed.verify(&known), Err(NoteError::Forged { .. })));
    }
    let known = [signer.verifier().clone()];
    for (copy, answer) in tampered.iter().zip(&answers[5..]) {
        let note = str::from_utf8(copy).ok().and_then(|text| SignedNote::parse(text).ok());
        let ours = note.is_some_and(|note| note.verify(&known).is_ok());
        let told = String::from_utf8_lossy(copy);
        assert!(!ours, "{told}");
        assert_eq!(answer, &None, "{told}");
    }
}

/// The program of `docs/contracts/ledger.md`.
#[test]
fn a_proof_file_is_all_that_go_needs() {
    let ledger = Ledger::of(1000);
    let signer = NoteSigner::new(ORIGIN, SigningKey::from_bytes(&[7; 32])).unwrap();
    let (size, root) = (ledger.edge.size(), ledger.edge.root());
    let checkpoint = Checkpoint { origin: ORIGIN.to_owned(), size, root, extensions: Vec::new() };
    let file = |index: u64, key: &NoteSigner| ProofFile {
        extra: Some(entry(index)),
        index,
        hashes: inclusion_proof(index, size, &ledger.tiles()).unwrap(),
        checkpoint: checkpoint.sign(&[key]).unwrap(),
    };
    let known = [signer.verifier().clone()];
    let program = build("verify");
    let go = |text: &str| {
        let output = run(&program, &[&known[0].to_string()], text.as_bytes());
        output.status.success().then_some(output.stdout)
    };
    let ours = |text: &str| {
        let file = ProofFile::parse(text).ok()?;
        file.verify_entry(&known, ORIGIN).ok().map(|(entry, _)| entry.to_vec())
    };
    for index in [0, 42, 255, 256, 999] {
        let text = file(index, &signer).to_string();
        assert_eq!(go(&text), Some(entry(index)));
        assert_eq!(ours(&text), Some(entry(index)));
    }
    let good = file(42, &signer);
    let thief = NoteSigner::new(ORIGIN, SigningKey::from_bytes(&[8; 32])).unwrap();
    let mut other_hash = good.clone();
    other_hash.hashes[3] = Hash::EMPTY;
    let forged = [
        file(42, &thief).to_string(),
        ProofFile { extra: Some(entry(43)), ..good.clone() }.to_string(),
        ProofFile { index: 43, ..good.clone() }.to_string(),
        ProofFile { hashes: good.hashes[1..].to_vec(), ..good.clone() }.to_string(),
        other_hash.to_string(),
        good.to_string().replacen("\n1000\n", "\n1001\n", 1),
        good.to_string().replacen("\nexample.com", "\nexample.org", 1),
        good.to_string().replacen("@v1", "@v2", 1),
    ];
    for text in forged {
        assert_eq!((ours(&text), go(&text)), (None, None), "{text}");
    }
    std::fs::remove_file(program).unwrap();
}
