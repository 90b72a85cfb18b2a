//! `ordain verify --owner KEY`: a real ledger with an owner, and what somebody forged or removed.

use crate::harness::{Kind, Project, Ran, proposal};
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::SigningKey;
use ordain_api::{Approving, NewApproverKey, OwnerAct, VerdictRequest};
use ordain_canon::{Canonicalizer, ContentHash};
use ordain_gate::{Caller, Clock, Gate, Keyring, Settings, load_policy_files};
use ordain_ledger::{Edge, Hash};
use ordain_spec::approval::Verdict;
use ordain_spec::statement::{Assurance, Signed, Statement};
use ordain_store::{Location, Store};
use rusqlite::Connection;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

const ALICE: u8 = 7;
const OLGA: u8 = 1;

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn public(seed: u8) -> String {
    Base64UrlUnpadded::encode_string(key(seed).verifying_key().as_bytes())
}

async fn signed(gate: &Gate, act: OwnerAct, subject: &str) -> Caller {
    let terms = gate.act_terms(act.name()).await.unwrap();
    let statement = Statement::Act(terms.statement("olga", subject, 0));
    Caller::local("olga").with_statements(vec![Signed::sign(&statement, &key(OLGA)).unwrap()])
}

async fn enrol(gate: &Gate, principal: &str, seed: u8) {
    let new = NewApproverKey {
        principal: principal.to_owned(),
        public_key: public(seed),
        owner: principal == "olga",
        passkey: None,
    };
    let caller = signed(gate, OwnerAct::EnrolApproverKey, &new.subject()).await;
    gate.enrol_approver_key(&caller, &new).await.unwrap();
}

/// A project that `olga` owns. Changes of sales take a signed approval, and `alice` gave one.
fn owned() -> Project {
    let room = Project::with_gate(Kind::File);
    let cedar = room.read("policy/crm.cedar");
    let cedar = cedar.replace("@approvers(\"people\")", "@approvers(\"people\")\n@assurance(\"presence\")");
    room.write("policy/crm.cedar", &cedar);
    let files: BTreeMap<String, String> = ["crm.cedar", "entities.json"]
        .map(|name| (name.to_owned(), room.read(&format!("policy/{name}"))))
        .into();
    let hash = load_policy_files(&files).unwrap().hash().to_string();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&Location::File(room.file())).await.unwrap();
        let keyring = Keyring::open_existing(&room.state()).unwrap().unwrap();
        let gate = Gate::open(store, keyring, Clock::system(), Settings::default()).await.unwrap();
        enrol(&gate, "olga", OLGA).await;
        let caller = signed(&gate, OwnerAct::PushPolicy, &hash).await;
        assert!(gate.set_policy(&caller, &files).await.unwrap());
        enrol(&gate, "alice", ALICE).await;
        let agent = Caller::local("olga").with_agents(["agent-1"]);
        for (id, domain) in [("p1", "crm"), ("p2", "sales"), ("p3", "sales")] {
            let text = proposal(id, domain, 1).to_string();
            gate.submit(&agent, text.as_bytes(), None).await.unwrap();
        }
        let alice = Caller::local("alice");
        let status = gate.status(&alice, "p2").await.unwrap();
        let approving = Approving {
            principal: "alice",
            action_id: "p2",
            view_digest: &status.view_digest,
            verdict: Verdict::Approve,
            reason: "checked",
            assurance: Assurance::Presence,
            session: None,
            scope: ordain_spec::statement::ONCE,
        };
        let statement = Statement::Approval(status.signing.unwrap().statement(&approving, 0));
        let request = VerdictRequest {
            verdict: Verdict::Approve,
            reason: "checked".to_owned(),
            view_digest: status.view_digest.clone(),
            signed: Some(Signed::sign(&statement, &key(ALICE)).unwrap()),
            scope: None,
        };
        let status = gate.give_verdict(&alice, "p2", &request).await.unwrap();
        assert_eq!(status.state.name(), "allowed");
        gate.keep_checkpoint(&room.state().join("checkpoint")).await.unwrap();
        gate.store().clone().close().await.unwrap();
    });
    room
}

/// Rewrites the ledger of a store, with every hash made anew, and what its gate keeps as the last checkpoint removed.
fn forge(room: &Project, change: impl FnOnce(&mut Vec<Json>, &Connection)) {
    let connection = Connection::open(room.file()).unwrap();
    let read = |row: &rusqlite::Row<'_>| row.get::<_, Vec<u8>>(0);
    let mut statement = connection.prepare("SELECT bytes FROM entries ORDER BY position").unwrap();
    let rows: Vec<Vec<u8>> = statement.query_map([], read).unwrap().map(Result::unwrap).collect();
    drop(statement);
    let mut entries: Vec<Json> = rows.iter().map(|bytes| serde_json::from_slice(bytes).unwrap()).collect();
    change(&mut entries, &connection);
    let (mut edge, mut canon) = (Edge::new(), Canonicalizer::new());
    for (at, entry) in entries.iter().enumerate() {
        let bytes = canon.value(entry).unwrap().to_vec();
        let leaf = Hash::of_leaf(&bytes);
        edge.append(leaf, |_, _| {});
        let sql = "UPDATE entries SET bytes = ?2, leaf_hash = ?3 WHERE position = ?1";
        let position = i64::try_from(at).unwrap();
        connection.execute(sql, (position, bytes, leaf.as_bytes().as_slice())).unwrap();
    }
    let size = i64::try_from(entries.len()).unwrap();
    connection.execute("DELETE FROM entries WHERE position >= ?1", [size]).unwrap();
    let root = edge.root();
    connection.execute("UPDATE head SET size = ?1, root = ?2", (size, root.as_bytes().as_slice())).unwrap();
    std::fs::remove_file(room.state().join("checkpoint")).unwrap();
}

fn of_kind<'e>(entries: &'e mut [Json], kind: &str) -> Vec<&'e mut Json> {
    entries.iter_mut().filter(|entry| entry["event"]["kind"] == kind).collect()
}

fn unsign(entry: &mut Json) {
    entry["how"] = json!("local");
    entry.as_object_mut().unwrap().remove("signed");
}

fn verify(room: &Project, more: &[&str]) -> Ran {
    let owner = public(OLGA);
    let mut arguments = vec!["verify", "--owner", &owner];
    arguments.extend(more);
    room.run(&arguments)
}

/// The export of a ledger, and the checkpoint that somebody kept of it.
fn exported(room: &Project) -> (String, PathBuf) {
    room.run(&["ledger", "export", "exported"]).ended(0);
    let kept = room.path("kept.txt");
    std::fs::copy(room.path("exported/checkpoint"), &kept).unwrap();
    ("exported".to_owned(), kept)
}

#[test]
fn a_ledger_is_verified_by_the_key_of_its_owner() {
    let room = owned();
    let (folder, kept) = exported(&room);
    let kept = kept.to_str().unwrap();
    verify(&room, &[]).ended(0).says("every owner act and signed verdict");
    verify(&room, &["--checkpoint", kept]).ended(0).says("agrees with 2 checkpoints");
    verify(&room, &[&folder])
        .ended(0)
        .says_all(&["no checkpoint was compared", "decisions were not made again"]);
    verify(&room, &[&folder, "--checkpoint", kept]).ended(0).says("agrees with 1 checkpoint");
    let found = verify(&room, &["--json"]).ended(0).json();
    assert_eq!((&found["ok"], &found["damage"], &found["unchecked"]), (&json!(true), &json!([]), &json!([])));

    // Another owner, no owner, and no key.
    for more in [&[][..], &[folder.as_str()]] {
        let other = public(99);
        let mut arguments = vec!["verify", "--owner", &other];
        arguments.extend(more);
        room.run(&arguments).ended(3).says("the first key that was enrolled is");
    }
    room.run(&["verify", "--owner", "AAAA"]).ended(1);
    room.run(&["verify", "--checkpoint", kept, "x.json"]).ended(64);
    verify(&room, &["--checkpoint", "missing.txt"]).ended(1);
    let open = Project::with_gate(Kind::File);
    verify(&open, &[]).ended(3).says("nobody owns this gate");
    // A checkpoint of another ledger is not one that this ledger follows from.
    verify(&open, &["--checkpoint", kept]).ended(3);
}

#[test]
fn forged_and_removed_records_are_found() {
    let room = owned();
    let (_, kept) = exported(&room);
    let kept = kept.to_str().unwrap();
    let files = ["ordain.db", "checkpoint"].map(|name| room.state().join(name));
    assert!(!room.state().join("ordain.db-wal").exists());
    let sound = files.each_ref().map(|path| std::fs::read(path).unwrap());
    type Change = fn(&mut Vec<Json>, &Connection);
    let forgeries: [(&str, Change, &str, bool); 7] = [
        (
            "policies that nobody signed",
            |entries, _| unsign(of_kind(entries, "policy_changed").pop().unwrap()),
            "`push_policy` needs a statement signed by an owner's key",
            true,
        ),
        (
            "another key of alice",
            |entries, _| {
                let enrolled = of_kind(entries, "approver_key_enrolled").pop().unwrap();
                enrolled["event"]["public_key"] = json!(public(66));
            },
            "approver_key_enrolled",
            true,
        ),
        (
            "another first key",
            |entries, _| unsign(of_kind(entries, "approver_key_enrolled").remove(0)),
            "signs its own enrolment",
            true,
        ),
        (
            "an approval without its signature",
            |entries, _| unsign(of_kind(entries, "approved").pop().unwrap()),
            "with another signature than its document",
            false,
        ),
        (
            "an approval of another action",
            |entries, _| of_kind(entries, "approved").pop().unwrap()["event"]["action_id"] = json!("p3"),
            "its statement is about something else",
            true,
        ),
        (
            "allowed without the approval that its policy demands",
            |entries, connection| {
                let held = of_kind(entries, "decided").pop_if_held();
                let name = ContentHash::parse(held["event"]["decision_document"].as_str().unwrap()).unwrap();
                let mut decision = decision(connection, &name);
                decision["outcome"] = json!("ALLOW");
                decision["reasons"] = json!([]);
                let bytes = Canonicalizer::new().value(&decision).unwrap().to_vec();
                let hash = ContentHash::of(&bytes);
                let sql = "INSERT INTO documents (hash, bytes) VALUES (?1, ?2)";
                connection.execute(sql, (hash.as_bytes().as_slice(), bytes)).unwrap();
                held["event"]["outcome"] = json!("ALLOW");
                held["event"]["decision_document"] = json!(hash.to_string());
            },
            "comes out as HOLD",
            false,
        ),
        ("the end is gone", |entries, _| drop(entries.pop()), "", true),
    ];
    for (name, change, says, in_export) in forgeries {
        for (path, content) in files.iter().zip(&sound) {
            std::fs::write(path, content).unwrap();
        }
        forge(&room, change);
        if !says.is_empty() {
            let found = verify(&room, &[]).ended(3);
            assert!(found.all().contains(says), "{name}: {}", found.all());
        }
        // A forger who makes every hash anew makes another tree than the one that was signed.
        let found = verify(&room, &["--checkpoint", kept]).ended(3);
        assert!(found.all().contains("a checkpoint was signed over"), "{name}: {}", found.all());
        if in_export && !says.is_empty() {
            let store = Connection::open(room.file()).unwrap();
            write_export(&room, &store);
            let found = verify(&room, &["forged"]).ended(3);
            assert!(found.all().contains(says), "{name}: {}", found.all());
        }
    }
}

/// Exports a forged ledger with the key of its gate, as somebody could who has the gate's folder.
fn write_export(room: &Project, connection: &Connection) {
    use ordain_ledger::{Checkpoint, NoteSigner, TilePath, encode_entries};
    let mut statement = connection.prepare("SELECT bytes FROM entries ORDER BY position").unwrap();
    let rows = statement.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    let entries: Vec<Vec<u8>> = rows.map(Result::unwrap).collect();
    let mut edge = Edge::new();
    entries.iter().for_each(|bytes| edge.append(Hash::of_leaf(bytes), |_, _| {}));
    let path = TilePath::Entries { index: 0, width: entries.len() }.to_string();
    room.write(&format!("forged/{path}"), "");
    std::fs::write(room.path(&format!("forged/{path}")), encode_entries(&entries).unwrap()).unwrap();
    let first: Json = serde_json::from_slice(&entries[0]).unwrap();
    let origin = first["event"]["origin"].as_str().unwrap().to_owned();
    let seed = std::fs::read_to_string(room.state().join("signing.key")).unwrap();
    let seed: [u8; 32] = Base64UrlUnpadded::decode_vec(seed.trim()).unwrap().try_into().unwrap();
    let signer = NoteSigner::new(&origin, SigningKey::from_bytes(&seed)).unwrap();
    let head = Checkpoint { origin, size: edge.size(), root: edge.root(), extensions: Vec::new() };
    room.write("forged/checkpoint", &head.sign(&[&signer]).unwrap().to_string());
}

/// The decision of `p3` as the gate recorded it, made again: documents of an entry are packed.
fn decision(connection: &Connection, name: &ContentHash) -> Json {
    let path: String = connection.query_row("PRAGMA database_list", [], |row| row.get(2)).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let bytes = runtime.block_on(async {
        let store = Store::open_to_read(&Location::File(path.into())).await.unwrap();
        let size = store.head().await.unwrap().size;
        let rows = store.entries(0, usize::try_from(size).unwrap()).await.unwrap();
        let found =
            rows.into_iter().flat_map(|row| row.attached).find(|bytes| ContentHash::of(bytes) == *name);
        store.close().await.unwrap();
        found.unwrap()
    });
    serde_json::from_slice(&bytes).unwrap()
}

trait Held<'e> {
    fn pop_if_held(self) -> &'e mut Json;
}

impl<'e> Held<'e> for Vec<&'e mut Json> {
    /// The decision that holds `p3`.
    fn pop_if_held(self) -> &'e mut Json {
        self.into_iter().find(|entry| entry["event"]["action_id"] == "p3").unwrap()
    }
}
