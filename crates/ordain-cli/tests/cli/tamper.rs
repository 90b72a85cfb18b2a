//! Whatever somebody changes in a store, `ordain ledger verify` or `fsck` says so, names the first bad entry,
//! and leaves the store as it is.

use crate::harness::{Dice, Kind, Project, proposal, soaking, use_of};
use ordain_ledger::{Edge, Hash};
use rusqlite::{Connection, params};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

const CLIENTS: u64 = 16;
const PROPOSALS_EACH: u64 = 12;

/// A store with a bit of everything, and more than two full tiles.
struct Store {
    room: Project,
    entries: Vec<Json>,
    /// A copy of the file from an earlier time, and how many entries it has.
    older: PathBuf,
    older_size: u64,
    revoked: String,
}

impl Store {
    fn new() -> Self {
        let room = Project::with_gate(Kind::File);
        let agent = room.token("agent-1", &["actor", "worker"]);
        let revoked = room.token("mallory", &["auditor"]).split('_').nth(1).unwrap().to_owned();
        let server = room.serve();
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let mut client = server.client(&agent);
                scope.spawn(move || {
                    for round in 0..PROPOSALS_EACH {
                        let domain = ["crm", "archive", "sales"][usize::try_from(round % 3).unwrap()];
                        let proposal = proposal(&format!("p-{number}-{round}"), domain, number * 100 + round);
                        client.post("/v1/actions", &proposal).unwrap().is(201);
                    }
                });
            }
        });
        server.stop();
        // A stopped server leaves one file: who copies it has everything.
        assert!(!room.state().join("ordain.db-wal").exists());
        let older = room.path("older.db");
        std::fs::copy(room.file(), &older).unwrap();
        let older_size = room.sound()["size"].as_u64().unwrap();
        let server = room.serve();
        let mut client = server.client(&agent);
        for (number, outcome) in [("q-0", None), ("q-1", Some("succeeded")), ("q-2", Some("unknown"))] {
            for (domain, round) in [("crm", 1), ("archive", 2)] {
                let id = format!("{number}-{domain}");
                let proposal = proposal(&id, domain, 90_000 + round);
                let permit = client.post("/v1/actions", &proposal).unwrap().is(201)["permit"].clone();
                let path = format!("/v1/permits/{}", permit["permit_id"].as_str().unwrap());
                let body = use_of(&proposal, permit["token"].as_str().unwrap());
                client.post(&format!("{path}/use"), &body).unwrap().is(200);
                if let Some(outcome) = outcome {
                    let report = json!({"use": 1, "outcome": outcome});
                    client.post(&format!("{path}/outcome"), &report).unwrap().is(200);
                }
            }
        }
        server.stop();
        room.run(&["token", "revoke", &revoked]).ended(0);
        room.run(&["halt", "--reason", "to see it lifted"]).ended(0);
        let entries = room.entries();
        assert!(room.sound()["size"].as_u64().unwrap() > 520);
        Self { room, entries, older, older_size, revoked }
    }

    fn size(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The entry of a kind about an action.
    fn index(&self, kind: &str, action_id: &str) -> u64 {
        let about = |entry: &&Json| {
            let event = &entry["entry"]["event"];
            event["kind"] == kind && event["action_id"] == action_id
        };
        self.entries.iter().find(about).unwrap()["index"].as_u64().unwrap()
    }

    /// Changes a copy, checks it, and wants to hear of it. A file that was only read is as it was.
    #[track_caller]
    fn check(&self, command: &str, index: Option<u64>, words: &str, change: impl FnOnce(&Connection)) {
        let copy = self.room.copy();
        let connection = Connection::open(copy.file()).unwrap();
        change(&connection);
        connection.close().unwrap();
        let before = std::fs::read(copy.file()).unwrap();
        let ran = copy.run(&["ledger", command, "--json"]).ended(1);
        let first = &ran.json()["damage"][0];
        assert_eq!(first["index"].as_u64(), index, "{}", ran.stdout);
        let first = first["problem"].as_str().unwrap();
        assert!(first.contains(words), "`{words}` is not in `{first}`");
        let shown = copy.run(&["ledger", command]).ended(1);
        let place = index.map_or("the ledger".to_owned(), |index| format!("entry {index}"));
        shown.says(&format!("{place}: "));
        assert!(std::fs::read(copy.file()).unwrap() == before, "the store was changed");
    }
}

fn blob(connection: &Connection, column: &str, table: &str, place: &str) -> Vec<u8> {
    let sql = format!("SELECT {column} FROM {table} WHERE {place}");
    connection.query_row(&sql, [], |row| row.get(0)).unwrap()
}

fn set_blob(connection: &Connection, column: &str, table: &str, place: &str, bytes: &[u8]) {
    let sql = format!("UPDATE {table} SET {column} = ?1 WHERE {place}");
    assert_eq!(connection.execute(&sql, params![bytes]).unwrap(), 1);
}

fn flip(connection: &Connection, column: &str, table: &str, place: &str, at: usize) {
    let mut bytes = blob(connection, column, table, place);
    bytes[at] ^= 1;
    set_blob(connection, column, table, place, &bytes);
}

/// Changes a record as the gate itself would write it, but for the ledger.
fn edit(connection: &Connection, kind: &str, id: &str, state: Option<&str>, change: impl FnOnce(&mut Json)) {
    let place = format!("kind = '{kind}' AND id = '{id}'");
    let text: String = connection
        .query_row(&format!("SELECT body FROM records WHERE {place}"), [], |row| row.get(0))
        .unwrap();
    let mut body: Json = serde_json::from_str(&text).unwrap();
    change(&mut body);
    assert_ne!(body.to_string(), text);
    let sql = format!("UPDATE records SET body = ?1, state = coalesce(?2, state) WHERE {place}");
    assert_eq!(connection.execute(&sql, params![body.to_string(), state]).unwrap(), 1);
}

/// Puts an entry in the place of another with everything that follows from it: hashes, tiles and the head.
fn forge(connection: &Connection, index: u64, bytes: &[u8]) {
    set_blob(connection, "bytes", "entries", &format!("position = {index}"), bytes);
    let mut rows = connection.prepare("SELECT bytes FROM entries ORDER BY position").unwrap();
    let rows: Vec<Vec<u8>> = rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut edge = Edge::new();
    let mut tiles = Vec::new();
    for (position, bytes) in rows.iter().enumerate() {
        let leaf = Hash::of_leaf(bytes);
        set_blob(connection, "leaf_hash", "entries", &format!("position = {position}"), leaf.as_bytes());
        edge.append(leaf, |tile, hashes| tiles.push((tile, hashes.to_vec())));
    }
    tiles.extend(
        edge.partial_tiles().filter(|(tile, _)| tile.level > 0).map(|(tile, hashes)| (tile, hashes.to_vec())),
    );
    for (tile, hashes) in tiles {
        let bytes: Vec<u8> = hashes.iter().flat_map(|hash| *hash.as_bytes()).collect();
        let place = format!("level = {} AND position = {}", tile.level, tile.index);
        set_blob(connection, "hashes", "tiles", &place, &bytes);
    }
    set_blob(connection, "root", "head", "1", edge.root().as_bytes());
}

#[test]
fn whatever_is_changed_is_found() {
    let store = Store::new();
    entries_and_tree(&store);
    documents(&store);
    records(&store);
    other_ledgers(&store);
    broken_files(&store);
}

fn entries_and_tree(store: &Store) {
    let (size, last) = (store.size(), store.size() - 1);
    let at = |index: u64| format!("position = {index}");
    let check =
        |index, words: &str, change: &dyn Fn(&Connection)| store.check("verify", index, words, change);
    let swap = "UPDATE entries SET bytes = (SELECT bytes FROM entries AS o WHERE o.position = 30 - entries.position),
        leaf_hash = (SELECT leaf_hash FROM entries AS o WHERE o.position = 30 - entries.position)
        WHERE position IN (10, 20)";
    check(Some(100), "was changed", &|it| flip(it, "bytes", "entries", &at(100), 40));
    check(Some(0), "was changed", &|it| flip(it, "bytes", "entries", &at(0), 0));
    check(Some(last), "was changed", &|it| flip(it, "bytes", "entries", &at(last), 40));
    check(Some(77), "was changed", &|it| flip(it, "leaf_hash", "entries", &at(77), 31));
    check(Some(300), "is missing", &|it| {
        it.execute_batch("DELETE FROM entries WHERE position = 300").unwrap()
    });
    check(Some(0), "is missing", &|it| it.execute_batch("DELETE FROM entries WHERE position = 0").unwrap());
    check(Some(last), "is missing", &|it| {
        it.execute_batch(&format!("DELETE FROM entries WHERE position = {last}")).unwrap();
    });
    check(Some(10), "exchanged", &|it| it.execute_batch(swap).unwrap());
    check(Some(size), "beyond the head", &|it| {
        let sql = "INSERT INTO entries SELECT (SELECT size FROM head), bytes, leaf_hash, NULL, NULL FROM entries WHERE position = 5";
        it.execute_batch(sql).unwrap();
    });
    check(Some(11), "exchanged", &|it| {
        let sql = "UPDATE entries SET (bytes, leaf_hash) = (SELECT bytes, leaf_hash FROM entries WHERE position = 10)
            WHERE position = 11";
        it.execute_batch(sql).unwrap();
    });
    check(Some(256 + 9), "tile/0/001", &|it| {
        flip(it, "hashes", "tiles", "level = 0 AND position = 1", 9 * 32)
    });
    check(Some(256), "tile/1/000.p/2", &|it| flip(it, "hashes", "tiles", "level = 1 AND position = 0", 33));
    check(Some(0), "tile/1/000.p/2", &|it| it.execute_batch("DELETE FROM tiles WHERE level = 1").unwrap());
    check(None, "the root on record", &|it| flip(it, "root", "head", "1", 5));
    check(None, "the root on record", &|it| it.execute_batch("UPDATE head SET size = size - 1").unwrap());
    check(Some(size), "is missing", &|it| it.execute_batch("UPDATE head SET size = size + 1").unwrap());
    // With every hash made anew only the checkpoint in the state folder knows better.
    check(Some(0), "is not what it was when a checkpoint was signed", &|it| {
        let text = String::from_utf8(blob(it, "bytes", "entries", &at(200))).unwrap();
        forge(it, 200, text.replacen("agent-1", "agent-2", 1).as_bytes());
    });
    check(Some(200), "is not an entry", &|it| forge(it, 200, b"{}"));
}

fn documents(store: &Store) {
    let index = store.index("submitted", "p-3-4");
    let place = format!("position = {index}");
    let words = "which is missing or was changed";
    for at in [0, 1, 20, 60] {
        store.check("verify", Some(index), words, |it| flip(it, "attached", "entries", &place, at));
    }
    store.check("verify", Some(index), words, |it| {
        it.execute_batch(&format!("UPDATE entries SET attached = NULL WHERE {place}")).unwrap();
    });
    // The documents of one action in the place of those of another.
    store.check("verify", Some(index), words, |it| {
        let other = store.index("submitted", "p-3-5");
        let sql = "UPDATE entries SET attached = (SELECT attached FROM entries WHERE position = ?1) WHERE position = ?2";
        assert_eq!(it.execute(sql, params![other.cast_signed(), index.cast_signed()]).unwrap(), 1);
    });
}

fn records(store: &Store) {
    let submitted = |action: &str| Some(store.index("submitted", action));
    let check = |index, words: &str, change: &dyn Fn(&Connection)| store.check("fsck", index, words, change);
    check(submitted("q-0-crm"), "the ledger has 1 uses and the record 0", &|it| {
        edit(it, "action", "q-0-crm", None, |body| {
            body["permit"]["used"] = json!(0);
            body["permit"]["uses"] = json!([]);
        });
    });
    check(submitted("q-1-crm"), "the ledger has 1 uses and the record 0", &|it| {
        edit(it, "action", "q-1-crm", None, |body| body["permit"]["used"] = json!(0));
    });
    check(submitted("q-0-crm"), "says something else", &|it| {
        edit(it, "action", "q-0-crm", None, |body| body["permit"]["uses"] = json!([]));
    });
    check(submitted("q-0-archive"), "says something else", &|it| {
        edit(it, "action", "q-0-archive", None, |body| body["permit"]["id"] = json!("permit_1_00"));
    });
    check(submitted("q-2-crm"), "says something else", &|it| {
        edit(it, "action", "q-2-crm", None, |body| {
            body["permit"]["uses"][0]["settled"]["outcome"] = json!("failed");
        });
    });
    check(None, "its effect is guarded wrongly", &|it| {
        let sql = "UPDATE records SET state = 'clear', body = '{\"open\":[]}' WHERE kind = 'effect' AND state = 'open'";
        it.execute_batch(sql).unwrap();
    });
    check(None, "counts other uses or rejections than the ledger", &|it| {
        let sql = "UPDATE records SET body = '{\"open\":[]}' WHERE kind = 'effect' AND state = 'clear'";
        it.execute_batch(sql).unwrap();
    });
    check(submitted("p-1-1"), "has no record", &|it| {
        it.execute_batch("DELETE FROM records WHERE kind = 'action' AND id = 'p-1-1'").unwrap();
    });
    check(None, "it was revoked", &|it| {
        edit(it, "token", &store.revoked, Some("valid"), |body| body["revoked_at_ms"] = Json::Null);
    });
    check(None, "its principal, names or roles", &|it| {
        edit(it, "token", &store.revoked, None, |body| body["roles"] = json!(["operator"]));
    });
    check(None, "its secret, or until when it holds", &|it| {
        let hash = format!("sha256:{}", "0".repeat(64));
        edit(it, "token", &store.revoked, None, |body| body["secret_hash"] = json!(hash));
    });
    check(None, "its secret, or until when it holds", &|it| {
        let end = json!(4_000_000_000_000_u64);
        edit(it, "token", &store.revoked, None, |body| body["expires_at_ms"] = end);
    });
    check(None, "the gate is open on record and halted by the ledger", &|it| {
        edit(it, "control", "gate", Some("open"), |body| body["halt"] = Json::Null);
    });
    check(None, "the policies in force", &|it| {
        edit(it, "control", "gate", None, |body| {
            body["policy"]["files_document"] = json!(format!("sha256:{}", "0".repeat(64)))
        });
    });
    check(submitted("p-0-2"), "whose record says something else", &|it| {
        edit(it, "action", "p-0-2", Some("allowed"), |body| body["state"] = json!("allowed"));
    });
    check(submitted("p-0-2"), "whose record says something else", &|it| {
        edit(it, "action", "p-0-2", None, |body| body["expires_at_ms"] = json!(4_000_000_000_000_u64));
    });
    check(None, "is listed as denied and is held", &|it| {
        it.execute_batch("UPDATE records SET state = 'denied' WHERE kind = 'action' AND id = 'p-0-2'")
            .unwrap();
    });
    check(None, "changed with an entry that is not there", &|it| {
        it.execute_batch("UPDATE records SET changed_at = 99999 WHERE kind = 'action' AND id = 'p-0-2'")
            .unwrap();
    });
    check(None, "cannot be read", &|it| {
        it.execute_batch("UPDATE records SET body = '{' WHERE kind = 'action' AND id = 'p-0-2'").unwrap();
    });
    check(None, "is on record and not on the ledger", &|it| {
        let sql = "INSERT INTO records SELECT kind, 'fedcba9876543210', version, state, body, changed_at
            FROM records WHERE kind = 'token' LIMIT 1";
        it.execute_batch(sql).unwrap();
    });
}

/// Copies of another time, and copies that went another way.
fn other_ledgers(store: &Store) {
    let copy = store.room.copy();
    std::fs::copy(&store.older, copy.file()).unwrap();
    let before = std::fs::read(copy.file()).unwrap();
    let audit = copy.run(&["ledger", "verify", "--json"]).ended(1).json();
    assert_eq!(audit["damage"][0]["index"], store.older_size);
    assert!(audit["damage"][0]["problem"].as_str().unwrap().contains("older or a shortened copy"));
    // Nor is it gone on with: what was spent could be spent again.
    copy.write("p.json", &proposal("p-new", "crm", 1).to_string());
    copy.run(&["submit", "p.json"]).ended(1).says("older or shortened copy");
    let refused = copy.serve_with(&[]).err().unwrap().calm();
    assert_eq!(refused.code, 1);
    refused.says("older or shortened copy");
    assert!(std::fs::read(copy.file()).unwrap() == before);

    let forks = [store.room.copy(), store.room.copy()];
    let common = store.room.state().join("checkpoint");
    for (fork, number) in forks.iter().zip(0..) {
        fork.run(&["resume", "--reason", "on"]).ended(0);
        fork.write("p.json", &proposal(&format!("fork-{number}"), "crm", number).to_string());
        fork.run(&["submit", "p.json"]).ended(0);
        fork.run(&["ledger", "verify"]).ended(0);
    }
    let checkpoint = forks[1].path("fork.txt");
    std::fs::write(&checkpoint, forks[1].run(&["ledger", "checkpoint"]).ended(0).stdout).unwrap();
    let arguments = ["ledger", "verify", "--json", "--checkpoint", text(&checkpoint)];
    let both = [&arguments[..], &["--checkpoint", text(&common)]].concat();
    forks[1].run(&both).ended(0);
    let damage = forks[0].run(&both).ended(1).json()["damage"].clone();
    assert_eq!(damage[0]["index"], store.size(), "{damage}");
    assert!(
        damage[0]["problem"].as_str().unwrap().contains("is not what it was when a checkpoint was signed")
    );
    std::fs::write(forks[0].state().join("checkpoint"), std::fs::read(&checkpoint).unwrap()).unwrap();
    forks[0].run(&["ledger", "verify"]).ended(1);
    forks[0].run(&["submit", "p.json"]).ended(1).says("entries are others");
    // A checkpoint of nobody, and a text that is not one.
    let forged = std::fs::read_to_string(&checkpoint).unwrap().replacen("\n5", "\n4", 1);
    std::fs::write(&checkpoint, forged).unwrap();
    forks[1].run(&arguments).ended(1).says("checkpoint");
    std::fs::write(&checkpoint, "checkpoint").unwrap();
    forks[1].run(&arguments).ended(2).says("is not a checkpoint");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Files that are hardly databases any more.
fn broken_files(store: &Store) {
    let whole = std::fs::read(store.room.file()).unwrap();
    let copy = store.room.copy();
    let seed = std::process::id();
    let check = |bytes: &[u8], codes: &[i32]| {
        std::fs::write(copy.file(), bytes).unwrap();
        for command in ["verify", "fsck"] {
            let ran = copy.run(&["ledger", command]).calm();
            // A store whose version is a later one cannot be checked; everything else can.
            let is_newer = ran.code == 2 && ran.all().contains("use a newer `ordain`");
            assert!(is_newer || codes.contains(&ran.code), "seed {seed}: {}", ran.all());
            assert!(std::fs::read(copy.file()).unwrap() == bytes, "the store was changed");
        }
    };
    for length in [0, 1, 100, 4096, 3 * 4096, whole.len() / 2, whole.len() - 4096, whole.len() - 1] {
        check(&whole[..length], &[1]);
    }
    let mut header = whole.clone();
    header[..16].fill(b'x');
    check(&header, &[1]);
    check("no database at all\n".repeat(1_000).as_bytes(), &[1]);
    // Any byte. Some mean nothing, one is the version, which then is of a newer program; none brings the program down.
    let mut dice = Dice(u64::from(seed));
    for _ in 0..if soaking() { 2_000 } else { 15 } {
        let mut bytes = whole.clone();
        let at = usize::try_from(dice.below(bytes.len() as u64)).unwrap();
        bytes[at] ^= 1 << dice.below(8);
        check(&bytes, &[0, 1]);
    }
    // One that is gone.
    std::fs::remove_file(copy.file()).unwrap();
    copy.run(&["ledger", "verify"]).ended(1).says("there is no store, and");
    copy.run(&["status"]).ended(1).says("was signed over one");
    copy.write("p.json", &proposal("p-new", "crm", 1).to_string());
    copy.run(&["submit", "p.json"]).ended(1).says("was signed over one");
}
