//! A store that is full, read-only, gone or stopped: refused in clear words, nothing acknowledged, and with
//! the store back it goes on.

use crate::harness::http::{Answer, Client};
use crate::harness::{Kind, Project, Server, count, proposal, ran};
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// A shell where a small file system is mounted over the folder of the gate, which only it and its children see.
fn in_a_small_room(room: &Project, script: &str) -> Command {
    let mut command = room.program("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c"]);
    let mount = r#"cp -a "$STATE" "$STATE.kept" && mount -t tmpfs -o size=4m,mode=700 tmpfs "$STATE" &&
        cp -a "$STATE.kept/." "$STATE/" || exit 99"#;
    command.arg(format!("{mount}\n{script}"));
    command.env("STATE", room.state()).env("ORDAIN", env!("CARGO_BIN_EXE_ordain"));
    command
}

#[test]
fn a_full_disk() {
    let room = Project::with_gate(Kind::File);
    // The file system is gone with its last process, so everything is looked at inside.
    let script = r#"
        "$ORDAIN" token create agent-1 --role actor --role auditor 2>/dev/null
        head -c 1500000 /dev/zero > "$STATE/ballast"
        "$ORDAIN" serve --listen 127.0.0.1:0 --json
        "$ORDAIN" ledger fsck --json"#;
    let mut command = in_a_small_room(&room, script);
    let mut shell = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(shell.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        line.trim().to_owned()
    };
    let token = line();
    let listening: Json = serde_json::from_str(&line()).unwrap();
    let mut client =
        Client::new(listening["listening"].as_str().unwrap().trim_start_matches("http://"), &token);
    let mut acknowledged = Vec::new();
    let refused = (0..5_000).find_map(|number| {
        let id = format!("p-{number}");
        let answer = client.post("/v1/actions", &padded(&id, number)).unwrap();
        if answer.status == 201 {
            acknowledged.push(id);
            return None;
        }
        Some(answer)
    });
    let refused = refused.expect("there was room for everything").is(503);
    assert_eq!(refused["code"], "store");
    assert!(refused["detail"].as_str().unwrap().contains("no room is left"), "{refused}");
    assert!(acknowledged.len() > 3);
    client.post("/v1/actions", &padded("again", 1)).unwrap().is(503);
    client.get(&format!("/v1/actions/{}", acknowledged[0])).unwrap().is(200);
    // With room it goes on.
    let inside = format!("/proc/{}/root{}", shell.id(), room.state().join("ballast").display());
    std::fs::remove_file(inside).unwrap();
    client.post("/v1/actions", &padded("later", 2)).unwrap().is(201);
    acknowledged.push("later".to_owned());
    for id in &acknowledged {
        client.get(&format!("/v1/actions/{id}")).unwrap().is(200);
    }
    client.get("/v1/actions/again").unwrap().is(404);
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", shell.id())).unwrap();
    assert!(Command::new("kill").args(["-TERM", children.trim()]).status().unwrap().success());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let output = shell.wait_with_output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{rest}{log}");
    assert!(!log.contains("panicked"), "{log}");
    assert_eq!(serde_json::from_str::<Json>(&rest).unwrap()["damage"], Json::Array(Vec::new()));
}

/// A proposal that takes some room.
fn padded(id: &str, number: u64) -> Json {
    let mut proposal = proposal(id, "crm", number);
    proposal["parameters"]["updates"]["note"] = Json::String("x".repeat(50_000));
    proposal
}

#[test]
fn a_read_only_disk() {
    let room = Project::with_gate(Kind::File);
    for name in ["p", "q"] {
        room.write(&format!("{name}.json"), &proposal(name, "crm", 1).to_string());
    }
    let script = r#"
        "$ORDAIN" submit p.json --json > submitted
        permit=$(sed 's/.*"permit_id":"\([^"]*\)".*/\1/' submitted)
        mount -o remount,ro "$STATE" || exit 99
        "$ORDAIN" submit q.json; echo "submit $?"
        "$ORDAIN" permit use "$permit" --for p.json; echo "use $?"
        "$ORDAIN" halt --reason now; echo "halt $?"
        "$ORDAIN" serve --listen 127.0.0.1:0; echo "serve $?"
        "$ORDAIN" ledger verify; echo "verify $?"
        "$ORDAIN" ledger fsck; echo "fsck $?""#;
    let ran = ran(&mut in_a_small_room(&room, script)).ended(0);
    let codes: Vec<&str> = ran.stdout.lines().filter(|line| line.split(' ').count() == 2).collect();
    assert_eq!(codes, ["submit 1", "use 1", "halt 1", "serve 1", "verify 0", "fsck 0"], "{}", ran.all());
    assert_eq!(ran.stderr.matches("it cannot be written to").count(), 4, "{}", ran.stderr);
}

/// When the disk fails at the very end, what was written may be found again: nobody is told that nothing was.
#[test]
fn a_disk_that_fails_at_the_end_of_a_change() {
    let room = Project::with_gate(Kind::File);
    for name in ["p", "q"] {
        room.write(&format!("{name}.json"), &proposal(name, "crm", 1).to_string());
    }
    room.run(&["submit", "p.json"]).ended(0);
    let mut command = room.program("strace");
    command.args(["-f", "-o", "/dev/null", "-e", "trace=fdatasync"]);
    command.args(["-e", "inject=fdatasync:error=EIO", "--"]).arg(env!("CARGO_BIN_EXE_ordain"));
    command.args(["submit", "q.json"]);
    ran(&mut command).ended(1).says("the change may have been written");
    room.sound();
    // It is there or it is not; the same proposal again is the same proposal.
    room.run(&["submit", "q.json"]).ended(0);
    assert_eq!(count(&room.entries(), "submitted"), 2);
}

#[test]
fn a_file_that_is_gone() {
    let room = Project::with_gate(Kind::File);
    let token = room.token("agent-1", &["actor"]);
    let server = room.serve();
    let away = room.path("away.db");
    check_gone(&room, server, &token, &|gone| {
        let (from, to) = if gone { (room.file(), away.clone()) } else { (away.clone(), room.file()) };
        std::fs::rename(from, to).unwrap();
    });
}

#[test]
fn a_database_that_is_gone() {
    let room = Project::with_gate(Kind::Postgres);
    let token = room.token("agent-1", &["actor"]);
    let server = room.serve();
    check_gone(&room, server, &token, &|gone| {
        room.database().let_in(!gone);
        if gone {
            room.run(&["status"]).ended(1).says("not currently accepting connections");
            room.run(&["ledger", "verify"]).ended(2).says("not currently accepting connections");
        }
    });
}

/// A backup is put back below a running server. It has told people of more than there is now, so it does
/// nothing until that is there again.
#[test]
fn a_store_that_is_set_back() {
    const TABLES: [&str; 5] = ["entries", "tiles", "head", "documents", "records"];
    let room = Project::with_gate(Kind::File);
    let token = room.token("agent-1", &["actor"]);
    let server = room.serve();
    let mut client = server.client(&token);
    let store = rusqlite::Connection::open(room.file()).unwrap();
    let all = |sql: &dyn Fn(&str) -> String| TABLES.map(sql).join(";");
    let keep = |name: &str| {
        store
            .execute_batch(&all(&|table| format!("CREATE TABLE {name}_{table} AS SELECT * FROM {table}")))
            .unwrap();
    };
    let put_back = |name: &str| {
        let table =
            |table: &str| format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM {name}_{table}");
        store.execute_batch(&format!("BEGIN IMMEDIATE; {}; COMMIT", all(&table))).unwrap();
    };
    let mut submit = |id: &str| client.post("/v1/actions", &proposal(id, "crm", 1)).unwrap();
    submit("p-0").is(201);
    keep("older");
    submit("p-1").is(201);
    keep("newer");
    put_back("older");
    for _ in 0..2 {
        assert_eq!(submit("p-2").is(500)["code"], "damaged");
    }
    assert_eq!(server.client(&token).get("/ready").unwrap().is(503)["code"], "not_ready");
    put_back("newer");
    submit("p-2").is(201);
    server.client(&token).get("/ready").unwrap().is(200);
    assert!(server.log().contains("took its place"), "{}", server.log());
    server.stop();
    room.sound();
}

/// Connections break all the time, in the middle of requests. Each answer is true: done is done, and refused
/// is not done.
#[test]
fn connections_that_break() {
    const CLIENTS: usize = 4;
    /// Each client goes on until a request of somebody was refused, which is a matter of luck.
    const EACH: usize = 60;
    const EACH_MAX: usize = 2_000;
    let room = Project::with_gate(Kind::Postgres);
    let token = room.token("agent-1", &["actor"]);
    let server = room.serve();
    let enough = AtomicBool::new(false);
    let answers: Vec<(String, Answer)> = std::thread::scope(|scope| {
        let load = |number: usize| {
            let (mut client, mut answers) = (server.client(&token), Vec::new());
            for round in 0..EACH_MAX {
                if round >= EACH && enough.load(Ordering::Relaxed) {
                    break;
                }
                let id = format!("p-{number}-{round}");
                let proposal = proposal(&id, "crm", (number * EACH_MAX + round) as u64);
                let answer = client.post("/v1/actions", &proposal).unwrap();
                enough.fetch_or(answer.json()["code"] == "store", Ordering::Relaxed);
                answers.push((id, answer));
            }
            answers
        };
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || load(number))).collect();
        while clients.iter().any(|client| !client.is_finished()) {
            room.database().let_in(true);
        }
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let entries = room.entries();
    let is_there = |id: &str| {
        let submitted = |entry: &&Json| entry["entry"]["event"]["kind"] == "submitted";
        entries.iter().filter(submitted).any(|entry| entry["entry"]["event"]["action_id"] == id)
    };
    let mut refused = 0;
    for (id, answer) in &answers {
        match (answer.status, answer.json()["code"].as_str()) {
            (201, _) => assert!(is_there(id), "{id}"),
            (503, Some("uncertain")) => {}
            (503, Some("store")) => {
                refused += 1;
                assert!(!is_there(id), "{id}: {}", answer.text);
            }
            _ => panic!("{id}: {answer:?}"),
        }
    }
    assert!(refused > 0, "no connection broke in time");
    server.stop();
    room.sound();
}

/// The server refuses while the store is gone, and only then.
fn check_gone(room: &Project, server: Server, token: &str, gone: &dyn Fn(bool)) {
    let mut client = server.client(token);
    client.post("/v1/actions", &proposal("before", "crm", 1)).unwrap().is(201);
    client.get("/ready").unwrap().is(200);
    gone(true);
    for _ in 0..3 {
        client.post("/v1/actions", &proposal("meanwhile", "crm", 2)).unwrap().is(503);
    }
    let ready = client.get("/ready").unwrap();
    assert_eq!(ready.status, 503, "{}", ready.text);
    // Which store it is, and what it says, is for whoever runs the server.
    let made_up = format!("ordain_{}_{}", "0".repeat(16), "A".repeat(43));
    let stranger = server.client(&made_up).get("/v1/actions").unwrap();
    let keys = client.get("/.well-known/jwks.json").unwrap();
    for answer in [ready, stranger, keys, client.get("/v1/actions").unwrap()] {
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert!(answer.text.contains("the store cannot be used"), "{}", answer.text);
        for secret in ["ordain_cli", "ordain.db", "connections"] {
            assert!(!answer.text.contains(secret), "{}", answer.text);
        }
    }
    let log = server.log();
    assert!(log.contains("ordain.db") || log.contains("not currently accepting connections"), "{log}");
    client.get("/health").unwrap().is(200);
    gone(false);
    // A connection that broke is noticed by whoever uses it next.
    let after = (0..20).find_map(|_| {
        let answer = client.post("/v1/actions", &proposal("after", "crm", 3)).unwrap();
        if answer.status == 503 {
            return None;
        }
        Some(answer)
    });
    after.expect("the server does not come back").is(201);
    client.get("/v1/actions/before").unwrap().is(200);
    client.get("/v1/actions/meanwhile").unwrap().is(404);
    server.stop();
    room.sound();
    assert_eq!(count(&room.entries(), "submitted"), 2);
}

/// A store that is not there is not made anew, and a password is never shown.
#[test]
fn a_place_that_is_not_there() {
    let room = Project::with_gate(Kind::File);
    room.write("p.json", &proposal("p", "crm", 1).to_string());
    std::fs::remove_file(room.file()).unwrap();
    for command in ["verify", "fsck"] {
        room.run(&["ledger", command]).ended(1).says("there is no store, and");
    }
    room.run(&["submit", "p.json"]).ended(1).says("ordain gate import");
    assert!(!room.file().exists(), "nothing is made where something is missing");
    let elsewhere = Project::empty();
    elsewhere.write("policy/a.cedar", "@id(\"a\") permit(principal, action, resource);");
    let nowhere = "postgres://anna:s3cret@127.0.0.1:1/ordain";
    let ran = elsewhere.run(&["init", "--keep", "--store", nowhere]).ended(1);
    assert!(!ran.all().contains("s3cret"), "{}", ran.all());
    elsewhere.run(&["gate", "list"]).ended(0).says("there are no gates");
}
