//! A store that fails: nothing is acknowledged, and the server says so.

use crate::support::{Events, Folder, Server, proposal, text};
use ordain_store::{Change, Guard, Location, NewRecord, Writes};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file system in memory that is gone after the test.
struct Small(PathBuf);

impl Small {
    fn new(folder: &Folder, size: &str) -> Self {
        let path = folder.0.join("small");
        std::fs::create_dir(&path).unwrap();
        run("mount", &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], &path);
        Self(path)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        run("umount", &["--lazy"], &self.0);
    }
}

#[track_caller]
fn run(program: &str, arguments: &[&str], path: &Path) {
    let status = Command::new(program).args(arguments).arg(path).status().unwrap();
    assert!(
        status.success(),
        "{program} {arguments:?} {}: this test needs the right to mount",
        path.display()
    );
}

fn refused(server: &Server, id: &str) {
    let reply = server.post("andy", "/v1/actions", &proposal(id, "read"));
    reply.refused(503, "");
    assert_eq!(reply.header("retry-after"), Some("1"));
}

fn lives_and_is_not_ready(server: &Server) {
    server.ask_with(None, "GET", "/health", None).expect(200);
    server.ask_with(None, "GET", "/ready", None).refused(503, "");
    assert_eq!(server.ask_with(None, "GET", "/metrics", None).status, 200);
}

/// Another version of the program may read the same files as other policies.
#[test]
fn policies_that_another_version_recorded_are_told_before_anybody_asks() {
    let server = Server::new();
    server.ask_with(None, "GET", "/ready", None).expect(200);
    let store = server.gate.store();
    let control = server.wait(store.record("control", "gate")).unwrap().unwrap();
    let mut body: serde_json::Value = serde_json::from_str(&control.body).unwrap();
    body["policy"]["hash"] = json!(format!("sha256:{}", "0".repeat(64)));
    // As they are after a restart: nothing is remembered.
    body["policy"]["files_document"] = {
        let mut files = crate::support::policies();
        files
            .insert("more.cedar".to_owned(), "@id(\"more\") forbid(principal, action, resource);".to_owned());
        let bytes = serde_json::to_vec(&files).unwrap();
        let hash = ordain_canon::ContentHash::of(&bytes).to_string();
        let write = Change::new(Vec::new(), move |_| Writes { documents: vec![bytes], ..Writes::default() });
        server.wait(store.commit(write)).unwrap();
        json!(hash)
    };
    // The ledger says so too.
    let last =
        server.wait(server.gate.ledger_entries(server.wait(server.gate.size()).unwrap() - 1, 1)).unwrap();
    let mut entry = serde_json::to_value(&last[0].entry).unwrap();
    let changes = entry["changes"].as_u64().unwrap() + 1;
    let (policy_hash, files_document) = (&body["policy"]["hash"], &body["policy"]["files_document"]);
    entry["event"] =
        json!({"kind": "policy_changed", "policy_hash": policy_hash, "files_document": files_document});
    entry["changes"] = json!(changes);
    body["policy"]["index"] = json!(last[0].index + 1);
    let entries = vec![ordain_canon::Canonicalizer::new().value(&entry).unwrap().to_vec()];
    let record = NewRecord::new("control", "gate", control.state, body.to_string());
    let guard = Guard::new("control", "gate", control.version);
    let writes = Writes { records: vec![record], entries, marks: vec![(0, changes)], ..Writes::default() };
    let write = Change::new(vec![guard], move |_| writes);
    server.wait(store.commit(write)).unwrap();
    server.ask_with(None, "GET", "/ready", None).refused(503, "push them again");
    server.post("andy", "/v1/actions", &proposal("p1", "read")).refused(503, "push them again");
    server.push().expect(200);
    server.ask_with(None, "GET", "/ready", None).expect(200);
}

#[test]
fn a_full_store_acknowledges_nothing_and_works_again_when_there_is_room() {
    let folder = Folder::new();
    let small = Small::new(&folder, "4m");
    let location = Location::File(small.0.join("store.db"));
    let mut server = Server::on(&location);
    server.submit(&proposal("before", "read"));
    let filler = small.0.join("filler");
    // Everything that is left, to the last byte.
    let _ = std::fs::write(&filler, vec![0; 8 << 20]);
    let mut taken = Vec::new();
    let full = (0..200).find(|number| {
        let id = format!("p{number}");
        let reply = server.post("andy", "/v1/actions", &proposal(&id, "read"));
        match reply.status {
            201 => taken.push(id),
            _ => reply.refused(503, "no room"),
        }
        reply.status != 201
    });
    let full = full.unwrap();
    // It stays so, and what could not be written is not there.
    refused(&server, "other");
    server.post("olga", "/v1/halt", &json!({"reason": "x"})).refused(503, "no room");
    server.get("andy", &format!("/v1/actions/p{full}")).refused(404, "no action");
    server.get("andy", "/v1/actions/other").refused(404, "no action");
    server.ask_with(None, "GET", "/health", None).expect(200);
    std::fs::remove_file(&filler).unwrap();
    server.submit(&proposal("after", "read"));
    server.stop();
    drop(server);
    let again = Server::on(&location);
    for id in taken.iter().map(String::as_str).chain(["before", "after"]) {
        assert_eq!(text(&again.get("andy", &format!("/v1/actions/{id}")).expect(200)["state"]), "allowed");
    }
    let verifiers = again.wait(again.gate.note_verifiers()).unwrap();
    let audit = ordain_gate::audit(again.gate.store(), &verifiers, &[], |_, _| {});
    assert_eq!(again.wait(audit).unwrap().damage, []);
}

#[test]
fn a_store_that_is_gone_acknowledges_nothing() {
    let folder = Folder::new();
    let path = folder.0.join("store.db");
    let server = Server::on(&Location::File(path.clone()));
    let read = proposal("before", "read");
    let status = server.submit(&read);
    let mut events = Events::open(server.address, "/v1/actions/before/events", server.token_of("andy"));
    assert_eq!(events.next().unwrap().0, "allowed");
    // SQLite itself would go on writing to the removed file.
    let aside = folder.0.join("aside.db");
    std::fs::rename(&path, &aside).unwrap();
    refused(&server, "p1");
    server.spend(&status, &read).refused(503, "the store cannot be used");
    lives_and_is_not_ready(&server);
    // A stream says no more about the store than an answer.
    let (name, problem) = events.next().unwrap();
    assert_eq!((name.as_str(), text(&problem["code"])), ("error", "store"));
    assert!(text(&problem["detail"]).starts_with("the store cannot be used"), "{problem}");
    assert!(!problem.to_string().contains("store.db") && problem["correlation_id"].is_string(), "{problem}");
    std::fs::rename(&aside, &path).unwrap();
    server.spend(&status, &read).expect(200);
    server.get("andy", "/v1/actions/p1").refused(404, "no action");
}

#[test]
fn a_closed_store_is_not_ready() {
    let server = Server::new();
    let read = proposal("before", "read");
    let status = server.submit(&read);
    server.wait(server.gate.store().clone().close()).unwrap();
    refused(&server, "p1");
    server.spend(&status, &read).refused(503, "");
    lives_and_is_not_ready(&server);
}
