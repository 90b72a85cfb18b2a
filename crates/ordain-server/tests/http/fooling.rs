//! Permits, approvals and the clock, in the hands of somebody who wants more than was decided.

use crate::support::{NOW, Reply, Server, exchange, proposal, raw, text, usage};
use ordain_api::Role;
use serde_json::{Value as Json, json};

fn use_path(status: &Json) -> String {
    format!("/v1/permits/{}/use", text(&status["permit"]["permit_id"]))
}

#[test]
fn a_permit_is_for_one_thing_and_for_nothing_else() {
    let server = Server::new();
    let (read, mut other) = (proposal("a", "read"), proposal("b", "read"));
    other["target"]["resource_id"] = json!("8");
    let (of_a, of_b) = (server.submit(&read), server.submit(&other));
    // The permit of A under the id of B, for what B is.
    let mut wrong = usage(&of_b, &other);
    wrong["permit"] = of_a["permit"]["token"].clone();
    server.post("will", &use_path(&of_b), &wrong).refused(403, "the permit is `permit_");
    type Change = fn(&mut Json);
    let changes: [(&str, &str, Change); 8] = [
        ("/action_type", "another `action_type`", |it| *it = json!("write")),
        ("/target/resource_id", "another `target`", |it| *it = json!("8")),
        ("/target/constraints", "another `target`", |it| *it = json!({"x": 1})),
        ("/parameters/updates/email", "another `parameters`", |it| *it = json!("y@example.org")),
        ("/parameters/password", "another `parameters`", |it| *it = json!("hunter3")),
        ("/parameters", "another `parameters`", |it| *it = json!({})),
        ("/parameters/updates", "another `parameters`", |it| *it = json!([])),
        ("/parameters/updates/email", "another `parameters`", |it| *it = json!("X@example.org")),
    ];
    for (pointer, why, change) in changes {
        let mut wrong = usage(&of_a, &read);
        change(wrong.pointer_mut(pointer).unwrap());
        server.post("will", &use_path(&of_a), &wrong).refused(403, why);
    }
    // Nothing of all that has cost a use.
    assert!(server.get("will", "/v1/actions/a").expect(200)["permit"]["uses"].as_array().unwrap().is_empty());
    server.spend(&of_a, &read).expect(200);
}

#[test]
fn a_permit_that_was_not_given_here_is_none() {
    let (server, elsewhere) = (Server::new(), Server::new());
    let read = proposal("a", "read");
    let (status, foreign) = (server.submit(&read), elsewhere.submit(&read));
    let token = text(&status["permit"]["token"]);
    let parts: Vec<&str> = token.split('.').collect();
    let flipped = |at: usize| {
        let mut bytes = token.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).unwrap()
    };
    let none = "eyJhbGciOiJub25lIiwidHlwIjoib3JkYWluLXBlcm1pdCtqd3QifQ";
    let forged = [
        text(&foreign["permit"]["token"]).to_owned(),
        flipped(3),
        flipped(parts[0].len() + 9),
        flipped(token.len() - 9),
        format!("{none}.{}.", parts[1]),
        format!("{none}.{}.{}", parts[1], parts[2]),
        format!("{token}="),
        format!(" {token}"),
        format!("{}.{}", parts[0], parts[1]),
        String::new(),
        "' OR '1'='1".to_owned(),
    ];
    for permit in forged {
        let mut wrong = usage(&status, &read);
        wrong["permit"] = json!(permit);
        server.post("will", &use_path(&status), &wrong).refused(403, "permit");
    }
}

#[test]
fn a_permit_holds_in_its_window_only_and_no_clock_brings_it_back() {
    let server = Server::new();
    let mut read = proposal("a", "read");
    read["time_window"] =
        json!({"valid_from_ms": NOW + 60_000, "valid_until_ms": NOW + 120_000, "max_duration_ms": 1_000});
    let early = server.submit(&read);
    assert_eq!(early["permit"]["valid_from_ms"], json!(NOW + 60_000), "{early}");
    server.spend(&early, &read).refused(403, "permit");
    server.pass(59_999);
    server.spend(&early, &read).refused(403, "permit");
    server.pass(1);
    server.spend(&early, &read).expect(200);
    let mut read = proposal("b", "read");
    read["target"]["resource_id"] = json!("8");
    read["time_window"] =
        json!({"valid_from_ms": NOW, "valid_until_ms": NOW + 120_000, "max_duration_ms": 1_000});
    let status = server.submit(&read);
    assert_eq!(text(&status["state"]), "allowed");
    assert_eq!(status["permit"]["valid_until_ms"], json!(NOW + 120_000));
    server.spend(&status, &read).expect(200);
    server.pass(60_000);
    server.spend(&status, &read).refused(403, "expired");
    server.set_clock(NOW + 61_000);
    server.spend(&status, &read).refused(403, "expired");
    let behind = server.ask_with(None, "GET", "/ready", None).expect(200)["clock_behind_ms"].clone();
    assert_eq!(behind, json!(59_000));
    assert!(
        server
            .ask_with(None, "GET", "/metrics", None)
            .text()
            .contains("ordain_clock_behind_milliseconds 59000")
    );
    // More than a minute before the last entry nothing is written, and both times are named.
    server.set_clock(NOW - 1);
    let told = "2027-01-15T08:01:00Z";
    server.ask_with(None, "GET", "/ready", None).refused(503, told);
    server.post("andy", "/v1/actions", &proposal("c", "read")).refused(503, told);
    server.get("andy", "/v1/actions/a").expect(200);
}

#[test]
fn of_many_who_want_the_last_use_exactly_one_gets_it() {
    let server = Server::new();
    for round in 0..5 {
        let mut create = proposal(&format!("p{round}"), "create");
        create["target"]["resource_id"] = json!(format!("r{round}"));
        let status = server.submit(&create);
        let replies: Vec<Reply> = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..24).map(|_| scope.spawn(|| server.spend(&status, &create))).collect();
            clients.into_iter().map(|client| client.join().unwrap()).collect()
        });
        let won = replies.iter().filter(|reply| reply.status == 200).count();
        assert_eq!(won, 1, "{:?}", replies.iter().map(|reply| reply.status).collect::<Vec<_>>());
        for lost in replies.iter().filter(|reply| reply.status != 200) {
            lost.refused(409, "is used up (1 of 1");
        }
    }
}

#[test]
fn the_same_proposal_from_many_at_once_is_one_decision() {
    let server = Server::new();
    let read = proposal("p1", "read");
    let size = server.size();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..16).map(|_| scope.spawn(|| server.post("andy", "/v1/actions", &read).status)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 201].contains(status)), "{statuses:?}");
    // Submitted, decided, minted.
    assert_eq!(server.size(), size + 3);
}

#[test]
fn a_request_that_is_sent_again_does_nothing_more() {
    let server = Server::new();
    let create = proposal("p1", "create");
    let status = server.submit(&create);
    let spend = raw(
        "POST",
        &use_path(&status),
        Some(server.token_of("will")),
        Some(&usage(&status, &create).to_string()),
    );
    exchange(server.address, &spend).expect(200);
    exchange(server.address, &spend).refused(409, "is used up (1 of 1");
    let status = server.submit(&proposal("p2", "write"));
    server.approve("ann", &status).expect(200);
    let size = server.size();
    let again = server.approve("ann", &status).expect(200);
    assert_eq!((text(&again["state"]), again["approvals"].as_array().unwrap().len()), ("held", 1));
    assert_eq!(server.size(), size);
    // And nobody takes a word back.
    server.say("ann", &status, "reject").refused(409, "has already decided");
}

#[test]
fn nobody_approves_their_own_proposal_through_another_token() {
    let server = Server::new();
    let status = server.submit(&proposal("p1", "write"));
    let digest = &status["view_digest"];
    let approve = json!({"verdict": "approve", "view_digest": digest});
    let say = |token: &str| server.ask_with(Some(token), "POST", "/v1/actions/p1/approvals", Some(&approve));
    // The same principal, the actor's own name, another name of the same person, and one in other letters.
    for principal in ["andy", "agent", "andrew", "Andy", "AGENT"] {
        let token = server.token(principal, &[Role::Approver], &[], None);
        say(&token).refused(403, "their own proposal");
    }
    // A token that may propose as the actor makes its holder the actor, even if it was made later and is revoked.
    let token = server.token("bob", &[Role::Actor], &["agent"], None);
    server.approve("bob", &status).refused(403, "their own proposal");
    let id = token.split('_').nth(1).unwrap();
    server.ask("olga", "DELETE", &format!("/v1/tokens/{id}"), None).expect(200);
    server.approve("bob", &status).refused(403, "their own proposal");
    let stranger = server.token("zoe", &[Role::Approver], &[], None);
    say(&stranger).refused(403, "does not count");
    assert!(server.get("ann", "/v1/actions/p1").expect(200)["approvals"].as_array().unwrap().is_empty());
}

#[test]
fn an_approval_is_for_what_was_shown() {
    let server = Server::new();
    let (first, second) = (server.submit(&proposal("p1", "write")), server.submit(&proposal("p2", "write")));
    let mut mixed = first.clone();
    mixed["view_digest"] = second["view_digest"].clone();
    server.approve("ann", &mixed).refused(409, "the view has changed");
    mixed["view_digest"] = json!("nonsense");
    server.approve("ann", &mixed).refused(409, "the view has changed");
    // Other policies show something else.
    let redact = "fields = [\"email\"]".to_owned();
    server.folder.lock().unwrap().insert("redact.toml".to_owned(), redact);
    server.push().expect(200);
    server.approve("ann", &first).refused(409, "the view has changed");
}

#[test]
fn what_nobody_knows_is_not_done_again() {
    let server = Server::new();
    let read = proposal("p1", "read");
    let status = server.submit(&read);
    server.spend(&status, &read).expect(200);
    let path = format!("/v1/permits/{}/outcome", text(&status["permit"]["permit_id"]));
    server.post("will", &path, &json!({"use": 1, "outcome": "unknown"})).expect(200);
    server.spend(&status, &read).refused(409, "is unknown");
    // Only the worker who spent it or an operator settles it.
    let other = server.token("wendy", &[Role::Worker], &[], None);
    let settle = json!({"use": 1, "outcome": "succeeded"});
    server.ask_with(Some(&other), "POST", &path, Some(&settle)).refused(403, "only they or an operator");
    server.post("olga", &path, &settle).expect(200);
    server.spend(&status, &read).expect(200);
    // A worker that vanishes leaves the same.
    server.pass(5 * 60_000 - 1);
    assert_eq!(text(&server.get("andy", "/v1/actions/p1").expect(200)["state"]), "running");
    server.pass(5_002);
    assert_eq!(text(&server.get("andy", "/v1/actions/p1").expect(200)["state"]), "unknown");
}
