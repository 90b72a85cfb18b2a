//! The findings of an auditor with nothing but entries, keys and checkpoints.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use super::audit::{EntriesAudit, NamedNote, audit};
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::SigningKey;
use ordain_api::{Audit, Entry, Event};
use ordain_canon::Canonicalizer;
use ordain_ledger::{Checkpoint, Edge, Hash, NoteSigner, NoteVerifier};
use ordain_spec::statement::How;
use ordain_store::{Change, Location, Store, Writes};

const ORIGIN: &str = "ordain/0123456789abcdef";

/// Entries, and checkpoints over them by whomever the test likes.
#[derive(Default)]
struct Ledger {
    entries: Vec<Vec<u8>>,
}

impl Ledger {
    fn append(&mut self, event: Event) {
        let entry = Entry::of(1_800_000_000_000, "somebody", How::Local, event);
        self.entries.push(Canonicalizer::new().value(&entry).unwrap().to_vec());
    }

    fn announce(&mut self, key: &Key, retires: Option<&Key>) {
        self.append(Event::KeyRotated {
            key_id: key.id.to_owned(),
            public_key: key.public(),
            retires: retires.map(|old| old.id.to_owned()),
        });
    }

    fn sign(&self, name: &str, key: &Key) -> NamedNote {
        let mut edge = Edge::new();
        self.entries.iter().for_each(|entry| edge.append(Hash::of_leaf(entry), |_, _| ()));
        let checkpoint = Checkpoint {
            origin: ORIGIN.to_owned(),
            size: edge.size(),
            root: edge.root(),
            extensions: Vec::new(),
        };
        NamedNote { name: name.to_owned(), note: checkpoint.sign(&[&key.signer()]).unwrap(), own: false }
    }

    fn check(&self, keys: &[&Key], kept: &[NamedNote], now: &NamedNote) -> Audit {
        let verifiers: Vec<NoteVerifier> = keys.iter().map(|key| key.signer().verifier().clone()).collect();
        let mut audit = EntriesAudit::new(&verifiers, kept, now);
        for (index, entry) in (0..).zip(&self.entries) {
            if !audit.check(index, entry.clone(), Hash::of_leaf(entry)) {
                break;
            }
        }
        audit.end()
    }
}

struct Key {
    id: &'static str,
    secret: SigningKey,
}

impl Key {
    fn new(id: &'static str, number: u8) -> Self {
        Self { id, secret: SigningKey::from_bytes(&[number; 32]) }
    }

    fn public(&self) -> String {
        Base64UrlUnpadded::encode_string(self.secret.verifying_key().as_bytes())
    }

    fn signer(&self) -> NoteSigner {
        NoteSigner::new(ORIGIN, self.secret.clone()).unwrap()
    }
}

fn nothing_wrong(audit: &Audit) -> (usize, usize, u64) {
    (audit.damage.len(), audit.unusable.len(), audit.checkpoints)
}

/// An auditor gives the old key too, because what was kept is signed by it. A thief of that key adds entries
/// at will.
#[test]
fn a_retired_key_speaks_no_more() {
    let (old, new) = (Key::new("old", 1), Key::new("new", 2));
    let mut ledger = Ledger::default();
    ledger.announce(&old, None);
    let kept = [ledger.sign("kept", &old)];
    ledger.announce(&new, Some(&old));
    let audit = ledger.check(&[&old, &new], &kept, &ledger.sign("now", &new));
    assert_eq!(nothing_wrong(&audit), (0, 0, 2), "{audit:?}");
    ledger.append(Event::Resumed { reason: "made up".to_owned() });
    let audit = ledger.check(&[&old, &new], &kept, &ledger.sign("now", &old));
    assert_eq!(audit.damage[0].index, Some(1));
    assert!(audit.damage[0].problem.starts_with("retires the key old, which signed"), "{audit:?}");
    assert!(!audit.is_sound());
}

#[test]
fn an_entry_of_a_newer_program_is_not_damage_if_it_was_signed() {
    let key = Key::new("key", 1);
    let mut ledger = Ledger::default();
    ledger.announce(&key, None);
    let before = ledger.sign("before", &key);
    let kind = "later".repeat(10_000);
    ledger.entries.push(format!(r#"{{"at_ms":1,"by":"x","event":{{"kind":"{kind}"}}}}"#).into_bytes());
    let audit = ledger.check(&[&key], &[], &ledger.sign("now", &key));
    assert_eq!(nothing_wrong(&audit), (0, 1, 1), "{audit:?}");
    assert!(audit.unusable[0].starts_with("entry 1: is not an entry, or one of a newer `ordain`"));
    assert!(audit.unusable[0].len() < 400, "{}", audit.unusable[0]);
    // Somebody changes it, and its hash with it.
    let now = ledger.sign("now", &key);
    ledger.entries[1].extend(b" ");
    let audit = ledger.check(&[&key], &[before], &now);
    assert_eq!(nothing_wrong(&audit), (1, 0, 1), "{audit:?}");
    assert_eq!(audit.damage[0].index, Some(1));
}

#[test]
fn an_entry_has_a_length() {
    let key = Key::new("key", 1);
    let mut ledger = Ledger::default();
    ledger.announce(&key, None);
    ledger.entries.push(vec![b'x'; 1 << 16]);
    let audit = ledger.check(&[&key], &[], &ledger.sign("now", &key));
    assert!(audit.damage[0].problem.starts_with("has 65536 bytes, more than"), "{audit:?}");
}

/// A caller that names keys may lack one. A store has them all.
#[tokio::test]
async fn a_key_that_a_ledger_never_had_is_damage_where_the_ledger_is() {
    let (key, other) = (Key::new("key", 1), Key::new("other", 2));
    let mut ledger = Ledger::default();
    ledger.announce(&key, None);
    let found = ledger.check(&[&key], &[], &ledger.sign("now", &other));
    assert_eq!(nothing_wrong(&found), (0, 1, 0), "{found:?}");
    let store = Store::open(&Location::Memory).await.unwrap();
    let entries = ledger.entries.clone();
    store.commit(Change::new(Vec::new(), |_| Writes { entries, ..Writes::default() })).await.unwrap();
    let verifiers = [key.signer().verifier().clone()];
    let found = audit(&store, &verifiers, &[ledger.sign("theirs", &other)], |_, _| {}).await.unwrap();
    assert_eq!(nothing_wrong(&found), (1, 0, 0), "{found:?}");
    assert!(found.damage[0].problem.starts_with("theirs: "), "{found:?}");
}
