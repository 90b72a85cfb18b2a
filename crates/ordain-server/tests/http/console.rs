//! The console's part of the server: the stream of all that happens, views as bytes, pages, sessions.

use crate::support::{Events, Folder, Reply, Server, exchange, proposal, text};
use ordain_api::Role;
use ordain_canon::ContentHash;
use serde_json::{Value as Json, json};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// The events after an entry, in one part.
fn since(server: &Server, who: &str, after: u64) -> Vec<Json> {
    let reply = server.get(who, &format!("/v1/events?after={after}&wait=0"));
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/event-stream")));
    data(&reply)
}

fn data(reply: &Reply) -> Vec<Json> {
    let text = reply.text();
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

fn indices(events: &[Json]) -> Vec<u64> {
    events.iter().map(|event| event["index"].as_u64().unwrap()).collect()
}

fn kinds(events: &[Json]) -> Vec<&str> {
    events.iter().map(|event| text(&event["kind"])).collect()
}

#[test]
fn a_principal_hears_of_everything_it_may_see_and_of_nothing_else() {
    let server = Server::new();
    let start = server.size() - 1;
    server.submit(&proposal("p1", "transact"));
    let others = json!({"actor": "agent-of-everybody"});
    let mut other = proposal("p2", "write");
    other["actor"] = others["actor"].clone();
    server.post("everybody", "/v1/actions", &other).expect(201);
    server.token("zoe", &[Role::Worker], &[], None);
    server.post("olga", "/v1/halt", &json!({"reason": "fire"})).expect(200);

    let all = since(&server, "audrey", start);
    assert_eq!(indices(&all), (start + 1..server.size()).collect::<Vec<_>>());
    assert!(all.iter().all(|event| event["by"].is_string()));
    let approver = since(&server, "ann", start);
    assert_eq!(kinds(&approver), ["submitted", "decided", "submitted", "decided", "halted"]);
    // A proposer hears of its own actions, and of what everybody is told.
    let own = since(&server, "andy", start);
    assert_eq!(kinds(&own), ["submitted", "decided", "halted"]);
    assert!(own.iter().all(|event| event["action_id"] != "p2" && event.get("by").is_none()));
    assert_eq!(kinds(&since(&server, "sam", start)), ["halted"]);
    assert_eq!(server.ask_with(None, "GET", "/v1/events", None).status, 401);
}

#[test]
fn a_stream_begins_where_the_last_one_ended_also_after_a_restart_and_on_another_node() {
    let folder = Folder::new();
    let location = ordain_store::Location::File(folder.0.join("store.db"));
    let mut server = Server::on(&location);
    let token = server.token_of("audrey").to_owned();
    let start = server.size() - 1;
    let mut stream = Events::open(server.address, "/v1/events", &token);
    assert_eq!(stream.status, 200);
    server.submit(&proposal("p1", "transact"));
    let (kind, first) = stream.next().unwrap();
    assert_eq!((kind.as_str(), first["index"].as_u64()), ("submitted", Some(start + 1)));
    server.stop();
    let there = Server::on(&location);
    there.submit(&proposal("p2", "transact"));
    let asked = format!(
        "GET /v1/events?wait=0 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nLast-Event-ID: {}\r\n\
         Authorization: Bearer {token}\r\n\r\n",
        start + 1
    );
    let missed = data(&exchange(there.address, asked.as_bytes()));
    assert_eq!(indices(&missed), (start + 2..there.size()).collect::<Vec<_>>());

    // Another node of the same store is heard within a second.
    let here = Server::on(&location);
    let mut stream = Events::open(
        here.address,
        &format!("/v1/events?after={}", there.size() - 1),
        here.token_of("audrey"),
    );
    scope(|scope| {
        let heard = scope.spawn(|| stream.next().map(|(kind, _)| (kind, Instant::now())));
        sleep(Duration::from_millis(200));
        let said = Instant::now();
        there.submit(&proposal("p3", "transact"));
        let (kind, at) = heard.join().unwrap().unwrap();
        assert_eq!(kind, "submitted");
        assert!(at - said < Duration::from_secs(3), "{:?}", at - said);
    });
}

#[test]
fn a_place_behind_the_end_and_a_bad_one_are_refused() {
    let server = Server::new();
    let size = server.size();
    server.get("audrey", &format!("/v1/events?after={size}&wait=0")).refused(409, "no entry");
    assert!(since(&server, "audrey", size - 1).is_empty());
    server.get("audrey", "/v1/events?after=-1").refused(400, "query");
    server.get("audrey", "/v1/events?wait=3601").refused(400, "from 0 to 3600");
    let asked = format!(
        "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nLast-Event-ID: 1e3\r\nAuthorization: Bearer {}\r\n\r\n",
        server.token_of("audrey")
    );
    exchange(server.address, asked.as_bytes()).refused(400, "not the index");
}

#[test]
fn a_stream_ends_with_the_token_of_its_reader() {
    let server = Server::new();
    let token = server.token("eve", &[Role::Auditor], &[], None);
    let id = token.split('_').nth(1).unwrap().to_owned();
    let mut stream = Events::open(server.address, "/v1/events", &token);
    server.submit(&proposal("p1", "read"));
    assert_eq!(stream.next().unwrap().0, "submitted");
    server.ask("olga", "DELETE", &format!("/v1/tokens/{id}"), None).expect(200);
    let ended = stream.find(|(kind, _)| kind == "error").unwrap().1;
    assert_eq!(ended["status"], 401);
}

#[test]
fn a_view_is_the_bytes_of_its_digest() {
    let server = Server::new();
    let status = server.submit(&proposal("p1", "write"));
    let view = server.get("ann", "/v1/actions/p1/view");
    let digest = ContentHash::of(&view.body).to_string();
    assert_eq!((view.status, view.header("ordain-view-digest")), (200, Some(digest.as_str())));
    assert_eq!(text(&server.get("ann", "/v1/actions/p1").expect(200)["view_digest"]), digest);
    assert!(!view.text().contains("hunter2"), "policies hide it");
    server.get("andy", "/v1/actions/p1/view").refused(403, "lacks the roles");
    server.get("ann", "/v1/actions/p9/view").refused(404, "no action");

    // Other policies make another view; the one that an approver saw stays.
    server.approve("ann", &status).expect(200);
    let cedar = "@id(\"more\") permit(principal, action == Action::\"navigate\", resource);";
    server.folder.lock().unwrap().insert("more.cedar".to_owned(), cedar.to_owned());
    server.push().expect(200);
    let now = server.get("ann", "/v1/actions/p1/view");
    assert_ne!(now.header("ordain-view-digest"), Some(digest.as_str()));
    let then = server.get("ann", &format!("/v1/actions/p1/view?digest={digest}"));
    assert_eq!((then.body, then.status), (view.body, 200));
    server.get("ann", "/v1/actions/p1/view?digest=sha256:00").refused(404, "no view");
}

/// A request with exactly these headers.
fn ask(server: &Server, line: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    exchange(server.address, request.as_bytes())
}

#[test]
fn pages_are_at_one_origin_and_nothing_else_runs_in_them() {
    let server = Server::new();
    let port = server.address.port();
    let host = format!("{}:{port}", Server::CONSOLE);
    let page = ask(&server, "GET /i/p1", &[("Host", &host)], "");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    for rule in [
        "default-src 'none'",
        "script-src 'self';",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(rule), "{rule} is not in {policy}");
    }
    assert!(!policy.contains("unsafe") && !page.text().contains("<script>"));
    for name in ["localhost", "127.0.0.1"] {
        let elsewhere = ask(&server, "GET /ledger?before=7", &[("Host", &format!("{name}:{port}"))], "");
        let to = format!("http://{host}/ledger?before=7");
        assert_eq!((elsewhere.status, elsewhere.header("location")), (307, Some(to.as_str())));
    }
    ask(&server, "GET /", &[("Host", "other.localhost")], "").refused(403, "does not answer for the host");

    let module = ask(&server, "GET /console/app.js", &[("Host", &host), ("Accept-Encoding", "br, gzip")], "");
    assert_eq!((module.status, module.header("content-encoding")), (200, Some("gzip")));
    assert!(module.body.starts_with(&[0x1f, 0x8b]));
    assert_eq!(ask(&server, "GET /console/none.js", &[("Host", &host)], "").status, 401);
    for reply in [&page, &module, &server.get("ann", "/v1/gate")] {
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(reply.header(name), Some(value));
        }
        assert!(reply.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    }
}

#[test]
fn a_session_looks_and_decides_nothing_without_a_signature() {
    let server = Server::new();
    let status = server.submit(&proposal("p1", "transact"));
    let host = format!("{}:{}", Server::CONSOLE, server.address.port());
    let page = [("Host", host.as_str()), ("Sec-Fetch-Site", "same-origin")];
    let code = server.app.console_code().unwrap().unwrap();
    let body = json!({ "code": code }).to_string();

    // A code counts for the console's own page, once.
    ask(&server, "POST /v1/sessions", &[("Host", &host)], &body).refused(403, "Sec-Fetch-Site");
    let squatter = [("Host", "localhost"), ("Sec-Fetch-Site", "same-origin")];
    ask(&server, "POST /v1/sessions", &squatter, &body).refused(403, "own address");
    ask(&server, "POST /v1/sessions", &page, r#"{"code": "guess"}"#).refused(401, "the code is unknown");
    let session = ask(&server, "POST /v1/sessions", &page, &body).expect(201);
    assert_eq!(session["principal"], "maria");
    ask(&server, "POST /v1/sessions", &page, &body).refused(401, "was used before");

    let bearer = format!("Bearer {}", text(&session["session"]));
    let signed_in = [page[0], page[1], ("Authorization", bearer.as_str())];
    let as_session = |line: &str, body: &str| ask(&server, line, &signed_in, body);
    as_session("GET /v1/actions?state=held", "").expect(200);
    assert_eq!(as_session("GET /v1/gate", "").expect(200)["principal"], "maria");
    assert_eq!(as_session("GET /v1/ledger/proof?index=0", "").status, 200);

    // Elsewhere it is nothing: not on other names, not from other pages, not from programs.
    let elsewhere: [&[(&str, &str)]; 4] = [
        &[("Host", host.as_str()), signed_in[2]],
        &[("Host", "localhost"), page[1], signed_in[2]],
        &[("Host", host.as_str()), ("Sec-Fetch-Site", "same-site"), signed_in[2]],
        &[("Host", host.as_str()), page[1], ("Origin", "http://localhost:1"), signed_in[2]],
    ];
    for headers in elsewhere {
        ask(&server, "GET /v1/gate", headers, "").refused(403, "");
    }

    // It has no role to propose, to use permits or to run the gate, and its verdict takes a signature.
    let say = |verdict: &str| {
        json!({"verdict": verdict, "reason": "because", "view_digest": status["view_digest"]}).to_string()
    };
    for verdict in ["approve", "reject"] {
        as_session("POST /v1/actions/p1/approvals", &say(verdict)).refused(403, "with a signature only");
    }
    as_session("POST /v1/actions", &proposal("p2", "read").to_string()).refused(403, "lacks the role");
    as_session("POST /v1/tokens", &json!({"principal": "x", "roles": ["actor"]}).to_string())
        .refused(403, "");
    as_session("POST /v1/policy", &json!({"files": {}}).to_string()).refused(403, "");
    // A halt only makes the gate stricter.
    as_session("POST /v1/halt", &json!({"reason": "fire"}).to_string()).expect(200);
    as_session("POST /v1/resume", &json!({"reason": "out"}).to_string()).refused(403, "");

    let mut stream = Events::open_with(server.address, "/v1/events?after=0", &signed_in);
    assert_eq!(stream.status, 200);
    assert_eq!(as_session("POST /v1/sessions/end?everywhere=true", "").expect(200)["ended"], 1);
    as_session("GET /v1/gate", "").refused(401, "the session is unknown or over");
    let ended = stream.find(|(kind, _)| kind == "error").unwrap().1;
    assert_eq!(ended["status"], 401);
}
