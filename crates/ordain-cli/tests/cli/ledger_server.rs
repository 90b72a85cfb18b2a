//! `ordain ledger verify --server`: an auditor needs the ledger's key and what the server sends, and believes
//! none of it.

use crate::harness::http::{Answer, Client};
use crate::harness::{Kind, Project, Ran, Server, proposal, ran};
use ordain_canon::Canonicalizer;
use ordain_ledger::Hash;
use serde_json::{Value as Json, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

const CLIENTS: u64 = 8;
const PROPOSALS_EACH: u64 = 24;

/// A server with more entries than it sends at once.
struct Audited {
    room: Project,
    server: Server,
    key: String,
    token: String,
}

impl Audited {
    fn new() -> Self {
        let room = Project::with_gate(Kind::File);
        let (agent, token) = (room.token("agent-1", &["actor"]), room.token("auditor-1", &["auditor"]));
        let key = verifier(&room, "");
        let server = room.serve();
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let mut client = server.client(&agent);
                scope.spawn(move || {
                    for round in 0..PROPOSALS_EACH {
                        let proposal =
                            proposal(&format!("p-{number}-{round}"), "crm", number * 1_000 + round);
                        client.post("/v1/actions", &proposal).unwrap().is(201);
                    }
                });
            }
        });
        Self { room, server, key, token }
    }

    /// As the auditor.
    fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.room.command(arguments).env("ORDAIN_TOKEN", &self.token))
    }

    fn verify(&self, url: &str, arguments: &[&str]) -> Ran {
        self.run(&[&["ledger", "verify", "--server", url, "--key", &self.key][..], arguments].concat())
    }

    fn keep_checkpoint(&self, name: &str) {
        let note = self.run(&["ledger", "checkpoint", "--server", &self.server.url()]).ended(0).stdout;
        self.room.write(name, &note);
    }

    /// Where somebody passes requests on to the server and changes the pages that come back.
    fn forger(&self, forge: fn(&mut Json)) -> String {
        self.between(move |_, text| {
            if let Ok(mut page) = serde_json::from_str(text) {
                forge(&mut page);
                *text = page.to_string();
            }
        })
    }

    /// The same with anything, by the path that was asked for.
    fn between(&self, change: impl Fn(&str, &mut String) + Send + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut honest = self.server.client(&self.token);
        std::thread::spawn(move || {
            listener.incoming().for_each(|stream| pass_on(stream.unwrap(), &mut honest, &change).unwrap());
        });
        url
    }
}

/// The key that a ledger has and that is not this one.
fn verifier(room: &Project, other: &str) -> String {
    let keys = room.run(&["keys", "list", "--json"]).ended(0).lines();
    let mut keys = keys.iter().map(|key| key["verifier"].as_str().unwrap());
    keys.find(|key| *key != other).unwrap().to_owned()
}

/// One request of one connection.
fn pass_on(
    stream: TcpStream,
    honest: &mut Client,
    change: &impl Fn(&str, &mut String),
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut request, mut header) = (String::new(), String::new());
    stream.read_line(&mut request)?;
    while stream.read_line(&mut header)? > 2 {
        header.clear();
    }
    let path = request.split(' ').nth(1).unwrap();
    let Answer { status, mut text } = honest.get(path)?;
    if status == 200 {
        change(path, &mut text);
    }
    let length = text.len();
    let stream = stream.get_mut();
    write!(stream, "HTTP/1.1 {status} That\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{text}")
}

fn entries(page: &mut Json) -> &mut Vec<Json> {
    page["entries"].as_array_mut().unwrap()
}

#[test]
fn a_servers_ledger_is_checked_from_elsewhere() {
    let audited = Audited::new();
    let url = audited.server.url();
    audited.keep_checkpoint("old.txt");
    audited.room.token("auditor-2", &["auditor"]);
    let size = audited.room.entries().len();
    assert!(size > 500, "one page has them all: {size}");
    let said = audited.verify(&url, &[]).ended(0).stdout;
    let expected =
        format!("verified  {size} entries, agrees with the present checkpoint of the server; no earlier");
    assert!(said.starts_with(&expected), "{said}");
    let audit = audited.verify(&url, &["--checkpoint", "old.txt", "--keep", "kept.txt", "--json"]);
    let audit = audit.ended(0).json();
    assert!(audit.get("documents").is_none(), "{audit}");
    assert_eq!(
        (audit["size"].as_u64(), audit["checkpoints"].as_u64()),
        (Some(size as u64), Some(2)),
        "{audit}"
    );
    // A compared checkpoint can be compared with again; others are not kept, and other files are left alone.
    audited.room.write("notes.txt", "remember the milk");
    audited.verify(&url, &["--keep", "notes.txt"]).ended(2).says("is not a checkpoint");
    assert_eq!(std::fs::read_to_string(audited.room.path("notes.txt")).unwrap(), "remember the milk");
    audited.verify(&url, &["--checkpoint", "kept.txt"]).ended(0);
    audited.verify(&audited.forger(|page| entries(page).clear()), &["--keep", "forged.txt"]).ended(1);
    assert!(!audited.room.path("forged.txt").exists());
    // The key of another ledger, and none.
    let other = Project::with_gate(Kind::File);
    other.token("auditor-1", &["auditor"]);
    let other = verifier(&other, "");
    let verify = ["ledger", "verify", "--server", &url];
    audited
        .run(&[&verify[..], &["--key", &other]].concat())
        .ended(2)
        .says("the present checkpoint of the server: the note is signed by no key");
    audited.run(&verify).ended(64).says("--key VERIFIER");
    audited.room.run(&["ledger", "verify", "--key", &audited.key]).ended(64).says("--server");
    // Not everybody reads a ledger.
    let actor = audited.room.token("agent-2", &["actor"]);
    let mut command = audited.room.command(&[&verify[..], &["--key", &audited.key]].concat());
    ran(command.env("ORDAIN_TOKEN", actor)).ended(2).says("auditor");
    // A checkpoint of an earlier key needs that key.
    audited.room.run(&["keys", "rotate"]).ended(0);
    let new = verifier(&audited.room, &audited.key);
    audited
        .verify(&url, &[])
        .ended(2)
        .says("the present checkpoint of the server: the note is signed by no key");
    audited
        .verify(&url, &["--key", &new, "--checkpoint", "old.txt"])
        .ended(0)
        .says("and with 1 earlier checkpoint;");
    audited.server.stop();
}

/// The server makes the check of `ledger fsck` for an auditor and sends the result that the local command prints.
#[test]
fn a_server_checks_its_own_records() {
    let audited = Audited::new();
    let url = audited.server.url();
    let fsck = ["ledger", "fsck", "--server", &url];
    let same = |code: i32| {
        // The checkpoint that the server keeps is of a moment ago.
        let there = audited.run(&[&fsck[..], &["--json"]].concat()).ended(code).json();
        let here = audited.room.run(&["ledger", "fsck", "--json"]).ended(code).json();
        assert_eq!(there, here);
        there
    };
    let sound = same(0);
    assert_eq!((&sound["checkpoints"], &sound["damage"]), (&json!(1), &json!([])), "{sound}");
    let said = audited.run(&fsck).ended(0).stdout;
    assert_eq!(said, audited.room.run(&["ledger", "fsck"]).ended(0).stdout);
    assert!(said.contains("agrees with a checkpoint"), "{said}");
    let mut by_variable = audited.room.command(&["ledger", "fsck"]);
    by_variable.env("ORDAIN_SERVER", &url).env("ORDAIN_TOKEN", &audited.token);
    ran(&mut by_variable).ended(0);
    audited
        .run(&[&fsck[..], &["--checkpoint", "old.txt"]].concat())
        .ended(64)
        .says("ordain ledger verify --server http://");
    let actor = audited.room.token("agent-2", &["actor"]);
    ran(audited.room.command(&fsck).env("ORDAIN_TOKEN", actor)).ended(2).says("auditor");
    // A record that was changed under the server.
    let store = rusqlite::Connection::open(audited.room.file()).unwrap();
    store.execute_batch("DELETE FROM records WHERE kind = 'action' AND id = 'p-3-7'").unwrap();
    store.close().unwrap();
    let damaged = same(1);
    let problem = damaged["damage"][0]["problem"].as_str().unwrap();
    assert_eq!(problem, "the action `p-3-7` is on the ledger and has no record");
    audited.run(&fsck).ended(1).says_all(&["damaged", "has no record"]);
    audited.server.stop();
}

#[test]
fn what_a_server_sends_is_not_believed() {
    let audited = Audited::new();
    audited.verify(&audited.forger(|_| ()), &[]).ended(0);
    type Forgery = (fn(&mut Json), u64, &'static str);
    let forgeries: [Forgery; 5] = [
        (
            |page| {
                let entry = entries(page).iter_mut().find(|entry| entry["index"] == 123);
                entry.map(|entry| entry["entry"]["by"] = json!("somebody-else")).unwrap_or_default();
            },
            123,
            "was changed",
        ),
        (
            |page| {
                let Some(entry) = entries(page).iter_mut().find(|entry| entry["index"] == 510) else {
                    return;
                };
                entry["entry"]["by"] = json!("somebody-else");
                let bytes = Canonicalizer::new().value(&entry["entry"]).unwrap().to_vec();
                entry["leaf_hash"] = json!(Hash::of_leaf(&bytes).to_string());
            },
            // Which of them it is, a signed head does not tell.
            0,
            "is not what it was when a checkpoint was signed",
        ),
        (|page| entries(page).retain(|entry| entry["index"] != 77), 77, "is missing"),
        (|page| entries(page).retain(|entry| entry["index"].as_u64() < Some(505)), 505, "is missing"),
        (|page| entries(page).reverse(), 0, "is missing"),
    ];
    for (forge, index, words) in forgeries {
        let ran = audited.verify(&audited.forger(forge), &["--json"]).ended(1);
        let first = &ran.json()["damage"][0];
        assert_eq!(first["index"].as_u64(), Some(index), "{}", ran.stdout);
        assert!(first["problem"].as_str().unwrap().contains(words), "{}", ran.stdout);
    }
    let nonsense: [fn(&mut Json); 2] =
        [|page| *page = json!({"entries": 7}), |page| entries(page)[0]["leaf_hash"] = json!("none")];
    for forge in nonsense {
        audited.verify(&audited.forger(forge), &[]).ended(2).says("the server's answer cannot be read");
    }
    audited.server.stop();
}

/// It has the key, and everything that it says fits, but not what somebody else has kept.
#[test]
fn a_server_with_an_older_copy_is_found() {
    let mut audited = Audited::new();
    audited.server.stop();
    let older = audited.room.copy();
    audited.room.token("auditor-2", &["auditor"]);
    audited.server = audited.room.serve();
    audited.keep_checkpoint("newer.txt");
    let server = older.serve();
    audited.verify(&server.url(), &[]).ended(0);
    let said = audited.verify(&server.url(), &["--checkpoint", "newer.txt"]).ended(1);
    said.says("this is an older state");
    server.stop();
}

/// Somebody in between needs no key to show what was true once. It is not believed, and not kept.
#[test]
fn an_old_checkpoint_does_not_replace_a_newer_one() {
    let audited = Audited::new();
    audited.keep_checkpoint("old.txt");
    audited.room.token("auditor-2", &["auditor"]);
    audited.keep_checkpoint("kept.txt");
    let read = |name: &str| std::fs::read_to_string(audited.room.path(name)).unwrap();
    let (old, kept) = (read("old.txt"), read("kept.txt"));
    let replayed = audited.between(move |path, text| {
        if path == "/v1/ledger/checkpoint" {
            *text = old.clone();
        }
    });
    let keep = ["--keep", "kept.txt"];
    audited.verify(&replayed, &keep).ended(1).says("this is an older state");
    assert_eq!(read("kept.txt"), kept);
    // An auditor who kept nothing cannot know.
    audited.verify(&replayed, &[]).ended(0);
    audited.room.token("auditor-3", &["auditor"]);
    audited.verify(&audited.server.url(), &keep).ended(0);
    assert_ne!(read("kept.txt"), kept);
    audited.server.stop();
}

/// The rest of the record, from elsewhere: decisions, files, documents, a report and a dossier.
#[test]
fn an_auditor_reads_the_whole_record_from_elsewhere() {
    let audited = Audited::new();
    let url = audited.server.url();
    let at = |arguments: &[&str]| audited.run(&[arguments, &["--server", &url]].concat());
    // Every decision again, from documents that were checked by their hashes.
    let replayed = at(&["replay", "--json"]).ended(0).json();
    let proposals = CLIENTS * PROPOSALS_EACH;
    assert_eq!(
        (replayed["decisions"].as_u64(), replayed["same"].as_u64()),
        (Some(proposals), Some(proposals))
    );
    let lying = audited.between(|_, text| {
        *text = text.replace("\\\"outcome\\\":\\\"ALLOW\\\"", "\\\"outcome\\\":\\\"HOLD\\\"")
    });
    let lied = audited.run(&["replay", "--json", "--server", &lying]).ended(1).json();
    assert_eq!(lied["same"].as_u64(), Some(0), "a document that was changed has another hash");
    // Files that are made here are those that are made there.
    at(&["ledger", "export", "elsewhere", "--key", &audited.key]).ended(0);
    audited.room.run(&["ledger", "export", "here"]).ended(0);
    for file in ["tile/0/000", "tile/entries/000", "tile/entries/001"] {
        let read = |folder: &str| std::fs::read(audited.room.path(&format!("{folder}/{file}"))).unwrap();
        assert_eq!(read("elsewhere"), read("here"), "{file}");
    }
    let forged = audited.forger(|page| {
        if let Some(page) = page.get_mut("entries").and_then(Json::as_array_mut) {
            page.iter_mut().for_each(|entry| entry["entry"]["by"] = json!("somebody-else"));
        }
    });
    let forged = audited.run(&["ledger", "export", "forged", "--server", &forged, "--key", &audited.key]);
    forged.ended(1).says("not those that the checkpoint signed");
    assert!(!audited.room.path("forged/checkpoint").exists());
    // Filters.
    let ids = |ran: Ran| -> Vec<String> {
        ran.ended(0).lines().iter().map(|it| it["action_id"].as_str().unwrap().to_owned()).collect()
    };
    let all = ids(at(&["status", "--json", "--limit", "1000"]));
    assert_eq!(all.len() as u64, proposals);
    assert_eq!(ids(at(&["status", "--json", "--limit", "3"])), all[..3]);
    let one = ids(at(&["status", "--json", "--target", "contact-3007"]));
    assert_eq!(one, ["p-3-7"]);
    assert_eq!(ids(at(&["status", "--json", "--since", "1h", "--actor", "agent-1", "--limit", "1000"])), all);
    assert_eq!(ids(at(&["status", "--json", "--until", "1h"])), [""; 0]);
    assert_eq!(ids(at(&["status", "--json", "--approver", "nobody"])), [""; 0]);
    at(&["status", "--since", "yesterday"]).ended(64).says("2026-01-05");
    at(&["status", "p-3-7", "--actor", "agent-1"]).ended(64).says("do not go together");
    let entries = at(&["ledger", "show", "--target", "contact-3007", "--json"]).ended(0).lines();
    let kinds: Vec<&str> = entries.iter().map(|it| it["entry"]["event"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["permit_minted", "decided", "submitted"]);
    let newest = at(&["ledger", "show", "--limit", "2", "--json"]).ended(0).lines();
    assert!(newest[0]["index"].as_u64() > newest[1]["index"].as_u64());
    // A document by its hash.
    let hash = entries[1]["entry"]["event"]["decision_document"].as_str().unwrap();
    let found = at(&["ledger", "document", hash, "--json"]).ended(0).json();
    assert_eq!(found["kind"], "decision");
    at(&["ledger", "document", hash]).ended(0);
    at(&["ledger", "document", "4f1c"]).ended(64).says("not the hash of a document");
    at(&["ledger", "document", &format!("sha256:{}", "0".repeat(64))]).ended(1);
    let lying = audited.between(|path, text| {
        if path.contains("/documents/") {
            *text = text.replace("ALLOW", "DENY");
        }
    });
    audited.run(&["ledger", "document", hash, "--server", &lying]).ended(1).says("another document");
    // One file that proves it, and one to read.
    at(&["dossier", "p-3-7", "-o", "p.dossier.json"]).ended(0);
    let verify =
        audited.room.run(&["verify", "p.dossier.json", "--key", &audited.key, "--json"]).ended(0).json();
    assert_eq!(verify["dossier"]["decisions"], 1, "{verify}");
    audited.room.run(&["verify", "p.dossier.json"]).ended(3).says("--key VERIFIER");
    let text = std::fs::read_to_string(audited.room.path("p.dossier.json")).unwrap();
    audited.room.write("changed.json", &text.replacen("agent-1", "agent-2", 1));
    audited
        .room
        .run(&["verify", "changed.json", "--key", &audited.key])
        .ended(3)
        .says("is not the hash of its text");
    let page = at(&["report", "p-3-7"]).ended(0).stdout;
    for words in ["<h1>Action p-3-7</h1>", "permit minted", "@id(&quot;"] {
        assert!(page.contains(words), "{words} is not in {page}");
    }
    assert!(!page.contains("<script"), "{page}");
    let quarter = at(&["report", "--from", "1h", "--json"]).ended(0).json();
    assert_eq!(quarter["counts"]["actor"]["agent-1"].as_u64(), Some(proposals));
    assert_eq!(quarter["actions"].as_array().unwrap().len() as u64, proposals);
    at(&["report", "--from", "1h", "-o", "hour.html"]).ended(0);
    at(&["report"]).ended(64);
    // Not everybody reads the record.
    let actor = audited.room.token("agent-2", &["actor"]);
    for arguments in
        [&["replay"][..], &["dossier", "p-3-7"], &["report", "p-3-7"], &["ledger", "document", hash]]
    {
        let mut command = audited.room.command(&[arguments, &["--server", &url]].concat());
        assert_ne!(ran(command.env("ORDAIN_TOKEN", &actor)).code, 0, "{arguments:?}");
    }
    audited.server.stop();
}
