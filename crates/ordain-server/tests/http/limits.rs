//! Too many at once: a refusal, and not a server that grows.

use crate::support::{Events, Server, begin, proposal, raw, read_reply};
use ordain_api::Role;
use ordain_server::limits::{REQUESTS_OF_ONE_MAX, WAITING_MAX};
use std::io::{BufReader, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Streams of one principal, each with its first event read.
fn streams(server: &Server, token: &str, count: usize) -> Vec<TcpStream> {
    let request = raw("GET", "/v1/actions/p1/events", Some(token), None);
    let mut streams: Vec<TcpStream> = (0..count).map(|_| begin(server.address, &request)).collect();
    for stream in &mut streams {
        let mut seen = Vec::new();
        let mut buffer = [0; 4_096];
        while !seen.ends_with(b"\n\n\r\n") {
            let count = stream.read(&mut buffer).unwrap();
            assert_ne!(count, 0, "{}", String::from_utf8_lossy(&seen));
            seen.extend(&buffer[..count]);
        }
        assert!(seen.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&seen));
    }
    streams
}

fn memory_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().split(' ').next().unwrap().parse().unwrap()
}

/// Waits until a request is answered as it should be: places are given back when the server notices.
fn soon(mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn one_principal_has_so_many_requests_and_no_more() {
    let server = Server::new();
    server.submit(&proposal("p1", "write"));
    let token = server.token_of("audrey").to_owned();
    let waiting = streams(&server, &token, REQUESTS_OF_ONE_MAX);
    let refused = server.get("audrey", "/v1/gate");
    refused.refused(429, "requests under way already");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(Events::open(server.address, "/v1/actions/p1/events", &token).status, 429);
    // Another token of the same principal is not a way around, and others are not touched.
    let second = server.token("audrey", &[Role::Auditor], &[], None);
    server.ask_with(Some(&second), "GET", "/v1/gate", None).refused(429, "requests under way already");
    server.get("ann", "/v1/gate").expect(200);
    drop(waiting);
    soon(|| server.get("audrey", "/v1/gate").status == 200);
}

#[test]
fn so_many_wait_and_no_more() {
    let server = Server::new();
    server.submit(&proposal("p1", "write"));
    let token = |number: usize| server.token(&format!("a{number}"), &[Role::Auditor], &[], None);
    let waiting: Vec<_> =
        (0..WAITING_MAX / 128).map(|number| streams(&server, &token(number), 128)).collect();
    server.get("ann", "/v1/actions/p1?wait=5").refused(503, "too many are waiting");
    assert_eq!(Events::open(server.address, "/v1/actions/p1/events", server.token_of("ann")).status, 503);
    // A caller that does not wait is answered.
    server.get("ann", "/v1/actions/p1").expect(200);
    server.ask_with(None, "GET", "/ready", None).expect(200);
    drop(waiting);
    soon(|| server.get("ann", "/v1/actions/p1?wait=0").status == 200);
}

#[test]
fn who_waits_costs_little() {
    let server = Server::new();
    // A long proposal, which must not be held once for each who waits.
    let mut write = proposal("p1", "write");
    write["parameters"]["text"] = "x".repeat(60_000).into();
    assert_eq!(server.submit(&write)["state"], "held");
    let poll = raw("GET", "/v1/actions/p1?wait=60", Some(server.token_of("audrey")), None);
    let wait = |count: usize| {
        let polls: Vec<TcpStream> = (0..count).map(|_| begin(server.address, &poll)).collect();
        std::thread::sleep(Duration::from_secs(2));
        (polls, memory_kib())
    };
    let (_first, before) = wait(50);
    let (_more, after) = wait(200);
    let grown = after.saturating_sub(before);
    assert!(grown < 200 * 40, "200 more waiting clients cost {grown} KiB");
}

#[test]
fn what_is_under_way_when_the_server_stops_is_answered_and_kept() {
    let folder = crate::support::Folder::new();
    let location = ordain_store::Location::File(folder.0.join("store.db"));
    let mut server = Server::on(&location);
    let token = server.token_of("andy").to_owned();
    // Half a request each; the rest comes when the server was asked to stop.
    let requests: Vec<(String, TcpStream, String)> = (0..20)
        .map(|number| {
            let id = format!("p{number}");
            let body = proposal(&id, "read").to_string();
            let request = raw("POST", "/v1/actions", Some(&token), Some(&body));
            let (first, rest) = request.split_at(request.len() - 40);
            (id, begin(server.address, first), String::from_utf8(rest.to_vec()).unwrap())
        })
        .collect();
    // Until the server has read them; what it has not begun it need not end.
    std::thread::sleep(Duration::from_millis(500));
    server.ask_to_stop();
    std::thread::sleep(Duration::from_millis(200));
    assert!(TcpStream::connect(server.address).is_err(), "it still takes connections");
    let mut answered = Vec::new();
    for (id, mut stream, rest) in requests {
        std::io::Write::write_all(&mut stream, rest.as_bytes()).unwrap();
        read_reply(&mut BufReader::new(stream)).expect(201);
        answered.push(id);
    }
    server.stop();
    let again = Server::on(&location);
    for id in answered {
        let status = again.get("andy", &format!("/v1/actions/{id}")).expect(200);
        assert_eq!(status["state"], "allowed");
    }
    let verifiers = again.wait(again.gate.note_verifiers()).unwrap();
    let audit = ordain_gate::audit(again.gate.store(), &verifiers, &[], |_, _| {});
    assert_eq!(again.wait(audit).unwrap().damage, []);
}

#[test]
fn a_client_that_reads_nothing_is_let_go() {
    let server = Server::new();
    let mut write = proposal("p1", "write");
    write["parameters"]["text"] = "x".repeat(900 << 10).into();
    server.submit(&write);
    // Many long answers are asked for on one connection, and none is read.
    let keep = raw("GET", "/v1/actions/p1", Some(server.token_of("andy")), None);
    let keep = String::from_utf8(keep).unwrap().replace("Connection: close\r\n", "");
    let stream = begin(server.address, keep.repeat(30).as_bytes());
    std::thread::sleep(ordain_server::limits::READ_WAIT + Duration::from_secs(4));
    let mut stream = stream;
    let mut all = 0;
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        all += count;
    }
    assert!(all < 29 * (900 << 10), "{all} bytes came after all");
}

#[test]
fn a_mistake_of_the_program_is_an_answer_and_the_next_request_is_another() {
    let server = Server::new();
    let read = proposal("p1", "read");
    server.set_clock(crate::support::BROKEN);
    server.post("andy", "/v1/actions", &read).refused(500, "has a bug");
    server.get("andy", "/v1/gate").refused(500, "has a bug");
    server.ask_with(None, "GET", "/health", None).expect(200);
    // The work beside requests is broken off too, and goes on.
    std::thread::sleep(ordain_server::limits::SWEEP_EVERY);
    server.set_clock(crate::support::NOW);
    server.submit(&proposal("p2", "write"));
    server.pass(24 * 3_600_000);
    let expired =
        || server.get("audrey", "/v1/ledger/entries?limit=500").text().contains("\"kind\":\"expired\"");
    soon(expired);
}

/// Transforming takes turns: a principal that asks for much of it delays itself, and nobody's decisions.
#[test]
fn a14_transforms_of_one_principal_do_not_starve_others() {
    let server = Server::new();
    let sensor = server.token("greedy", &[Role::Sensor], &[], None);
    let sentence =
        "Write `src/a.rs`, then test it with `cargo test`, and keep every line below 80 characters. ";
    let intent = serde_json::json!({"goal": sentence.repeat(60)});
    let request = raw("POST", "/v1/transform", Some(&sensor), Some(&intent.to_string()));
    let waiting: Vec<TcpStream> = (0..60).map(|_| begin(server.address, &request)).collect();
    let mut slowest = Duration::ZERO;
    for number in 0..10 {
        let started = Instant::now();
        server.post("ann", "/v1/verify?kind=intent", &serde_json::json!({"goal": "x"}));
        server.submit(&proposal(&format!("p{number}"), "read"));
        slowest = slowest.max(started.elapsed());
    }
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    // All of them are answered in the end.
    for stream in waiting {
        let reply = read_reply(&mut BufReader::new(stream));
        assert!(matches!(reply.status, 200 | 503), "{}", reply.status);
    }
}
