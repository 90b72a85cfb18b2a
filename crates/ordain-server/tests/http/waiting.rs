//! Long polls and streams: they answer when something happens, and end when nothing more can.

use crate::support::{Events, Server, proposal, text};
use ordain_api::Role;
use serde_json::json;
use std::thread::{scope, sleep, spawn};
use std::time::{Duration, Instant};

#[test]
fn a_long_poll_answers_when_somebody_else_approves() {
    let server = Server::new();
    let status = server.submit(&proposal("p1", "transact"));
    scope(|scope| {
        let started = Instant::now();
        let poll = scope.spawn(|| server.get("andy", "/v1/actions/p1?wait=30").expect(200));
        sleep(Duration::from_millis(400));
        assert!(!poll.is_finished());
        server.approve("ann", &status).expect(200);
        let answered = poll.join().unwrap();
        assert_eq!(text(&answered["state"]), "allowed");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    });
    // A decided action is answered at once, and one that stays held when the time is over.
    let started = Instant::now();
    assert_eq!(text(&server.get("andy", "/v1/actions/p1?wait=30").expect(200)["state"]), "allowed");
    assert!(started.elapsed() < Duration::from_secs(5));
    server.submit(&proposal("p2", "write"));
    let started = Instant::now();
    assert_eq!(text(&server.get("andy", "/v1/actions/p2?wait=1").expect(200)["state"]), "held");
    assert!(started.elapsed() >= Duration::from_secs(1));
    server.get("andy", "/v1/actions/p9?wait=30").refused(404, "no action");
    server.get("andy", "/v1/actions/p2?wait=61").refused(400, "from 0 to 60");
}

#[test]
fn a_stream_sends_each_change_and_ends() {
    let server = Server::new();
    let write = proposal("p1", "write");
    let status = server.submit(&write);
    let mut events = Events::open(server.address, "/v1/actions/p1/events", server.token_of("will"));
    assert_eq!(events.status, 200);
    let mut state =
        || events.next().map(|(name, status)| (name, status["approvals"].as_array().unwrap().len()));
    let expect = |name: &str, approvals| Some((name.to_owned(), approvals));
    assert_eq!(state(), expect("held", 0));
    server.approve("ann", &status).expect(200);
    assert_eq!(state(), expect("held", 1));
    server.approve("bob", &status).expect(200);
    assert_eq!(state(), expect("allowed", 2));
    let status = server.get("will", "/v1/actions/p1").expect(200);
    server.spend(&status, &write).expect(200);
    assert_eq!(state(), expect("running", 2));
    let path = format!("/v1/permits/{}/outcome", text(&status["permit"]["permit_id"]));
    server.post("will", &path, &json!({"use": 1, "outcome": "succeeded"})).expect(200);
    assert_eq!(state(), expect("succeeded", 2));
    assert_eq!(state(), None);

    server.submit(&proposal("p2", "delete"));
    let events = Events::open(server.address, "/v1/actions/p2/events", server.token_of("andy"));
    assert_eq!(events.map(|(name, _)| name).collect::<Vec<_>>(), ["denied"]);
    assert_eq!(Events::open(server.address, "/v1/actions/p9/events", server.token_of("andy")).status, 404);
}

#[test]
fn a_revoked_token_does_not_wait_any_longer() {
    let server = Server::new();
    server.submit(&proposal("p1", "write"));
    let token = server.token("eve", &[Role::Auditor], &[], None);
    let id = token.split('_').nth(1).unwrap().to_owned();
    let mut events = Events::open(server.address, "/v1/actions/p1/events", &token);
    assert_eq!(events.next().unwrap().0, "held");
    scope(|scope| {
        let poll = scope.spawn(|| server.ask_with(Some(&token), "GET", "/v1/actions/p1?wait=30", None));
        sleep(Duration::from_millis(200));
        server.ask("olga", "DELETE", &format!("/v1/tokens/{id}"), None).expect(200);
        poll.join().unwrap().refused(401, "no longer valid");
    });
    let (name, problem) = events.next().unwrap();
    assert_eq!((name.as_str(), problem["status"].as_u64()), ("error", Some(401)));
    assert!(events.next().is_none());
}

#[test]
fn who_waits_is_let_go_when_the_server_stops() {
    let mut server = Server::new();
    server.submit(&proposal("p1", "write"));
    let (address, token) = (server.address, server.token_of("andy").to_owned());
    let mut events = Events::open(address, "/v1/actions/p1/events", &token);
    assert_eq!(events.next().unwrap().0, "held");
    let poll = spawn(move || {
        crate::support::exchange(
            address,
            &crate::support::raw("GET", "/v1/actions/p1?wait=60", Some(&token), None),
        )
    });
    sleep(Duration::from_millis(300));
    let started = Instant::now();
    server.stop();
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(text(&poll.join().unwrap().expect(200)["state"]), "held");
    assert!(events.next().is_none());
}

#[test]
fn a_long_poll_hears_of_what_another_server_did() {
    let folder = crate::support::Folder::new();
    let location = ordain_store::Location::File(folder.0.join("store.db"));
    let (here, there) = (Server::on(&location), Server::on(&location));
    let status = here.submit(&proposal("p1", "transact"));
    scope(|scope| {
        let poll = scope.spawn(|| here.get("andy", "/v1/actions/p1?wait=30").expect(200));
        sleep(Duration::from_millis(200));
        there.approve("ann", &status).expect(200);
        let started = Instant::now();
        assert_eq!(text(&poll.join().unwrap()["state"]), "allowed");
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    });
    // A token that is revoked on one is revoked on both.
    let token = here.token("zoe", &[Role::Auditor], &[], None);
    there.ask_with(Some(&token), "GET", "/v1/gate", None).expect(200);
    let id = token.split('_').nth(1).unwrap();
    here.ask("olga", "DELETE", &format!("/v1/tokens/{id}"), None).expect(200);
    there.ask_with(Some(&token), "GET", "/v1/gate", None).refused(401, "no longer valid");
}
