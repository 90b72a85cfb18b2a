//! A server that goes on: without its log, with strangers who fill it, with a principal that sends too much.

use crate::harness::http::Client;
use crate::harness::{Kind, Project, proposal};
use serde_json::Value as Json;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// The gate decides, is halted and stops, whatever becomes of its log.
fn goes_on(room: &Project, stderr: Stdio, close: impl FnOnce(&mut Child)) {
    let agent = room.token("agent-1", &["actor"]);
    let operator = room.token("olga", &["operator"]);
    let mut command = room.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
    let mut server = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said: Json = serde_json::from_str(&line).unwrap();
    let address = said["listening"].as_str().unwrap().trim_start_matches("http://").to_owned();
    close(&mut server);
    let mut client = Client::new(&address, &agent);
    for number in 0..20 {
        let answer = client.post("/v1/actions", &proposal(&format!("p-{number}"), "crm", number)).unwrap();
        answer.is(201);
    }
    let mut client = Client::new(&address, &operator);
    let metrics = client.get("/metrics").unwrap().text;
    let failures = metrics.lines().find(|line| line.starts_with("ordain_log_write_failures_total ")).unwrap();
    let failures: u64 = failures.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(failures >= 20, "{failures}");
    client.post("/v1/halt", &serde_json::json!({"reason": "to be sure"})).unwrap().is(200);
    let pid = server.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(server.wait().unwrap().success());
}

#[test]
fn a6_a_closed_pipe_under_the_log_does_not_end_the_server() {
    let room = Project::with_gate(Kind::File);
    goes_on(&room, Stdio::piped(), |server| drop(server.stderr.take()));
}

#[test]
fn a6_a_full_disk_under_the_log_does_not_end_the_server() {
    let room = Project::with_gate(Kind::File);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    goes_on(&room, full.into(), |_| {});
}

#[test]
fn a6_strangers_cannot_fill_the_log() {
    let room = Project::with_gate(Kind::File);
    let auditor = room.token("audrey", &["auditor"]);
    let server = room.serve();
    let started = std::time::Instant::now();
    let mut stranger = server.client("ordain_0123456789abcdef_none");
    for _ in 0..500 {
        assert_eq!(stranger.get("/v1/gate").unwrap().status, 401);
        assert_eq!(stranger.get("/health").unwrap().status, 200);
    }
    // A caller with a token is logged every time.
    let mut known = server.client(&auditor);
    for _ in 0..10 {
        known.get("/v1/gate").unwrap().is(200);
    }
    let seconds = usize::try_from(started.elapsed().as_secs()).unwrap() + 2;
    let log = server.log();
    let count = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert!((1..=seconds).contains(&count("\"status\":401")), "{log}");
    assert!((1..=seconds).contains(&count("\"route\":\"/health\"")), "{log}");
    assert_eq!(count("\"principal\":\"audrey\""), 10, "{log}");
    let metrics = known.get("/metrics").unwrap().text;
    let value = |name: &str| -> usize {
        let line = metrics.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(value("ordain_log_left_out_total") >= 1_000 - 2 * seconds, "{metrics}");
    assert_eq!(value("ordain_requests_total{method=\"GET\",route=\"/v1/gate\",status=\"401\"}"), 500);
    server.stop();
}

#[test]
fn a14_one_principal_cannot_grow_the_store_without_end() {
    let room = Project::with_gate(Kind::File);
    let (greedy, other) = (room.token("agent-1", &["actor"]), room.token("agent-2", &["actor"]));
    let server = room.serve_with(&["--bytes-per-day", "4000"]).unwrap_or_else(|ran| panic!("{}", ran.all()));
    let mut client = server.client(&greedy);
    let answers: Vec<_> = (0..30)
        .map(|number| client.post("/v1/actions", &proposal(&format!("p-{number}"), "crm", number)).unwrap())
        .collect();
    let taken = answers.iter().filter(|answer| answer.status == 201).count();
    assert!((5..25).contains(&taken), "{taken}");
    let refused = answers.into_iter().last().unwrap().is(429);
    assert!(refused["hint"].as_str().unwrap().contains("--bytes-per-day"), "{refused}");
    // It can still look at its actions, and others propose.
    client.get("/v1/actions/p-0").unwrap().is(200);
    let mut theirs = proposal("q-1", "crm", 1);
    theirs["actor"] = "agent-2".into();
    server.client(&other).post("/v1/actions", &theirs).unwrap().is(201);
    server.stop();
}

/// Failures of a start are lines of the log, and an empty proposal leaves nothing behind.
#[test]
fn what_fails_early_is_said_and_leaves_nothing() {
    let room = Project::with_gate(Kind::File);
    let before = room.entries().len();
    room.run_with(&["submit", "-"], "").ended(1).says("invalid JSON");
    assert_eq!(room.entries().len(), before);
    let open = ["serve", "--json", "--listen", "0.0.0.0:0", "--public-url", "https://gate.example"];
    let refused = room.run(&open).ended(64);
    for line in refused.stderr.lines() {
        let line: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(line["timestamp"].is_string() && line["fields"]["message"].is_string(), "{line}");
    }
    assert!(refused.stderr.contains("\"level\":\"ERROR\"") && refused.stderr.contains("\"hint\""));
    // A missing store is not begun anew, also without the checkpoint.
    std::fs::rename(room.file(), room.path("saved.db")).unwrap();
    room.write("p.json", &proposal("p", "crm", 1).to_string());
    room.run(&["submit", "p.json"]).ended(1).says("there is no store");
    std::fs::remove_file(room.state().join("checkpoint")).unwrap();
    assert_ne!(room.run(&["ledger", "verify"]).code, 0);
    assert!(!room.file().exists());
}
