//! Requests that are not what they should be: too long, too slow, malformed, or full of tricks.

use crate::support::{NOW, Server, begin, exchange, proposal, raw, read_reply, text};
use ordain_api::Role;
use ordain_api::limits::{BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX};
use ordain_server::limits::{BODY_WAIT, HEAD_WAIT};
use serde_json::{Value as Json, json};
use std::io::{BufReader, Read, Write};
use std::time::{Duration, Instant};

/// A request by the agent with a body of any kind.
fn submit(server: &Server, headers: &str, body: &[u8]) -> crate::support::Reply {
    let head = format!(
        "POST /v1/actions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {}\r\n{headers}\r\n",
        server.token_of("andy")
    );
    exchange(server.address, &[head.as_bytes(), body].concat())
}

fn submit_json(server: &Server, body: &str) -> crate::support::Reply {
    exchange(server.address, &raw("POST", "/v1/actions", Some(server.token_of("andy")), Some(body)))
}

#[test]
fn a_body_that_is_too_long_is_refused_however_it_is_announced() {
    let server = Server::new();
    // Announced and not sent: nobody waits for it.
    let announced = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", BODY_BYTES_MAX + 1);
    submit(&server, &announced, b"").refused(413, "longer than");
    let chunk = [format!("{:x}\r\n", 1 << 16).into_bytes(), vec![b' '; 1 << 16], b"\r\n".to_vec()].concat();
    let chunked = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    submit(&server, chunked, &chunk.repeat(17)).refused(413, "longer than");
    // A request that fits, fits: in pieces too.
    let body = proposal("p1", "read").to_string();
    let pieces: String =
        body.as_bytes().chunks(7).map(|it| format!("{:x}\r\n{}\r\n", it.len(), text_of(it))).collect();
    submit(&server, chunked, format!("{pieces}0\r\n\r\n").as_bytes()).expect(201);
    let mut long = proposal("p2", "read");
    long["parameters"]["x"] = json!("x".repeat(BODY_BYTES_MAX));
    submit_json(&server, &long.to_string()).refused(413, "longer than");
    server.get("andy", "/v1/actions/p2").refused(404, "no action");
    // Operations that take no document have a smaller limit.
    let reason = json!({"reason": "x".repeat(SMALL_BODY_BYTES_MAX)});
    server
        .post("olga", "/v1/halt", &reason)
        .refused(413, &format!("longer than {SMALL_BODY_BYTES_MAX} bytes"));
}

fn text_of(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn who_is_slow_is_let_go() {
    let server = Server::new();
    let token = server.token_of("andy").to_owned();
    let address = server.address;
    let within = |wait: Duration, bytes: Vec<u8>| {
        std::thread::spawn(move || {
            let started = Instant::now();
            let mut stream = begin(address, &bytes);
            let reply = read_reply(&mut BufReader::new(&mut stream));
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            let took = started.elapsed();
            assert!(
                took >= wait - Duration::from_secs(1) && took < wait + Duration::from_secs(10),
                "{took:?}"
            );
            reply
        })
    };
    let nothing = within(HEAD_WAIT, Vec::new());
    let head = within(HEAD_WAIT, b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: ".to_vec());
    let body = format!(
        "POST /v1/actions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    let body = within(BODY_WAIT, body.into_bytes());
    // A connection that is kept open after an answer, and on which nothing comes.
    let idle = within(HEAD_WAIT, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec());
    // Somebody who sends a byte now and then is no better.
    let dripping = std::thread::spawn(move || {
        let mut stream = begin(address, b"GET /health HTTP/1.1\r\n");
        let started = Instant::now();
        while stream.write_all(b"X").is_ok() && started.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(250));
        }
        assert!(started.elapsed() < HEAD_WAIT + Duration::from_secs(5), "{:?}", started.elapsed());
    });
    assert!([0, 408].contains(&nothing.join().unwrap().status));
    assert!([0, 408].contains(&head.join().unwrap().status));
    body.join().unwrap().refused(408, "did not arrive in time");
    assert_eq!(idle.join().unwrap().status, 200);
    dripping.join().unwrap();
}

#[test]
fn malformed_requests_get_a_refusal_and_the_server_lives() {
    let server = Server::new();
    let token = server.token_of("andy");
    let malformed: Vec<Vec<u8>> = vec![
        b"\r\n\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"GET /health\r\n\r\n".to_vec(),
        b"GET /health HTTP/9.9\r\n\r\n".to_vec(),
        b"GET /health HTTP/1.1\nHost x\n\n".to_vec(),
        b"GET  /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"GET health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"G\0T /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"GET /hea\xfflth HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"GET /health HTTP/1.1\r\nHost : x\r\n\r\n".to_vec(),
        b"GET /health HTTP/1.1\r\nX: a\0b\r\n\r\n".to_vec(),
        b"GET /health HTTP/1.1\r\n X: folded\r\n\r\n".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(70_000)).into_bytes(),
        format!("GET /health HTTP/1.1\r\n{}\r\n", "X-A: b\r\n".repeat(5_000)).into_bytes(),
        format!("GET /health HTTP/1.1\r\nX-A: {}\r\n\r\n", "b".repeat(70_000)).into_bytes(),
    ];
    for mut bytes in malformed {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        bytes.extend(b"\r\n");
        let stream = begin(server.address, &bytes);
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let reply = read_reply(&mut BufReader::new(stream));
        assert!([0, 400, 401, 403, 404, 414, 431, 505].contains(&reply.status), "{shown}: {}", reply.status);
    }
    // Two lengths, a length beside chunks, no number: never two readings of one request.
    let body = proposal("p1", "read").to_string();
    let length = body.len();
    for headers in [
        format!("Content-Length: {length}\r\nContent-Length: {}\r\n", length + 1),
        "Content-Length: -1\r\n".to_owned(),
        "Content-Length: +1\r\n".to_owned(),
        "Content-Length: 1e3\r\n".to_owned(),
        format!("Content-Length: {}\r\n", "9".repeat(40)),
        "Transfer-Encoding: chunked, identity\r\n".to_owned(),
        "Transfer-Encoding: xchunked\r\n".to_owned(),
    ] {
        let reply = submit(&server, &format!("Content-Type: application/json\r\n{headers}"), body.as_bytes());
        assert_eq!(reply.status, 400, "{headers}");
    }
    // Both at once: chunks count, and the rest is not a second request.
    let both = format!(
        "Content-Type: application/json\r\nContent-Length: {length}\r\nTransfer-Encoding: chunked\r\n"
    );
    let smuggled = format!(
        "0\r\n\r\nPOST /v1/halt HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n",
        server.token_of("olga")
    );
    assert_eq!(submit(&server, &both, smuggled.as_bytes()).status, 400);
    for chunks in ["zz\r\n", "5\r\nab\r\n0\r\n\r\n", "ffffffffffffffffff\r\n", "-1\r\n"] {
        let headers = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
        assert_eq!(submit(&server, headers, chunks.as_bytes()).status, 400, "{chunks}");
    }
    server.get("andy", "/v1/actions/p1").refused(404, "no action");
    assert!(server.get("andy", "/v1/gate").expect(200)["halted"].is_null());
    for method in ["PUT", "PATCH", "TRACE", "OPTIONS", "BREW", "DELETE"] {
        let reply = exchange(server.address, &raw(method, "/v1/actions", Some(token), None));
        reply.refused(405, method);
        let allowed = reply.header("allow").unwrap();
        assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
    }
    server.ask_with(None, "POST", "/health", None).refused(405, "POST");
}

#[test]
fn a_path_is_taken_as_it_is() {
    let server = Server::new();
    server.submit(&proposal("p1", "read"));
    let nothing = [
        "//v1/actions/p1",
        "/v1//actions/p1",
        "/v1/actions/p1/",
        "/v1/actions/",
        "/v1/actions/./p1",
        "/v1/./actions/p1",
        "/v1/x/../actions/p1",
        "/v1/tokens/../actions/p1",
        "/v1/%61ctions/p1",
        "/V1/actions/p1",
        "/v1%2Factions%2Fp1",
        "/v1/actions/p1%2Fevents",
        "/v1/actions/p1%2F..%2Fp1",
        "/v1/actions/..%2Fp1",
        "/v1/actions/..",
        "/v1/actions/%2e%2e",
        "/v1/actions/%2e%2e/actions/p1",
        "/v1/actions/%00",
        "/v1/actions/p1%00",
        "/v1/actions/p1%0d%0aX-A:%20b",
        "/v1/actions/p1;x=1",
        "/v1/actions/p1%20",
        "/v1/actions/P1",
        "/health/../v1/gate",
        "/v1/actions/%ef%bc%901",
    ];
    for path in nothing {
        let reply = server.get("andy", path);
        assert_eq!(reply.status, 404, "{path}: {}", reply.text());
        reply.refused(404, "");
        // Without a token nothing at all is told.
        server.ask_with(None, "GET", path, None).refused(401, "token");
    }
    for path in ["/v1/actions/%ff", "/v1/actions/%c3%28", "/v1/actions/%"] {
        let reply = server.get("andy", path);
        assert!([400, 404].contains(&reply.status), "{path}: {}", reply.text());
    }
    assert_eq!(text(&server.get("andy", "/v1/actions/%701").expect(200)["action_id"]), "p1");
    let absolute = "http://localhost/v1/actions/p1";
    assert_eq!(text(&server.get("andy", absolute).expect(200)["action_id"]), "p1");
    server.get("andy", "http://evil.example/v1/actions/p1").refused(403, "evil.example");
    // An id may have what a path must escape.
    let odd = "a/b?c#d%2e ünï'\"<>&";
    server.submit(&proposal(odd, "read"));
    let escaped: String = odd.bytes().map(|byte| format!("%{byte:02X}")).collect();
    assert_eq!(text(&server.get("andy", &format!("/v1/actions/{escaped}")).expect(200)["action_id"]), odd);
}

#[test]
fn a_query_says_what_it_may_say_and_no_more() {
    let server = Server::new();
    server.submit(&proposal("p1", "write"));
    for path in [
        "/v1/actions?limit=0",
        "/v1/actions?limit=501",
        "/v1/actions?limit=-1",
        "/v1/actions?limit=1e2",
        "/v1/actions?limit=99999999999999999999999999",
        "/v1/actions?limit=",
        "/v1/actions?limit=1&limit=2",
        "/v1/actions?state=open",
        "/v1/actions?state=",
        "/v1/actions?color=red",
        "/v1/actions?LIMIT=1",
        "/v1/actions/p1?wait=-1",
        "/v1/actions/p1?wait=61",
        "/v1/actions/p1?wait=18446744073709551616",
        "/v1/actions/p1?wait=1.5",
        "/v1/actions/p1?wait=0&token=x",
        "/v1/ledger/entries?from=9007199254740992",
        "/v1/ledger/entries?from=18446744073709551615",
        "/v1/ledger/entries?from=9223372036854775808",
        "/v1/ledger/proof",
        "/v1/ledger/proof?index=9223372036854775808",
        "/v1/ledger/proof?index=x",
        "/v1/ledger/consistency?old=1",
        "/v1/actions?after=nobody",
        "/v1/actions?after=%00",
        "/v1/actions?after=-1",
        "/v1/actions?after=9007199254740992",
        "/v1/actions?after=18446744073709551615",
        "/v1/ledger/consistency?old=18446744073709551615&new=18446744073709551615",
    ] {
        let reply = server.get("everybody", path);
        assert_eq!(reply.status, 400, "{path}: {}", reply.text());
        reply.refused(400, "");
    }
    server.get("everybody", "/v1/ledger/proof?index=9007199254740991").refused(404, "no entry");
    server.get("everybody", "/v1/ledger/consistency?old=2&new=1").refused(404, "no proof from 2 to 1");
    let last = server.get("everybody", "/v1/ledger/entries?from=9007199254740991").expect(200);
    assert_eq!(last["entries"], json!([]));
    let supersedes = server.post("andy", "/v1/actions?supersedes=%00", &proposal("p2", "read"));
    supersedes.refused(404, "a control character");
    server
        .post("andy", "/v1/actions?supersedes=p2", &proposal("p2", "read"))
        .refused(400, "supersede itself");
}

/// Where it is, but not what it is: it may be a secret.
#[test]
fn a_fault_of_a_body_has_a_place() {
    let server = Server::new();
    for (path, body, pointer) in [
        ("/v1/tokens", json!({"principal": "andy", "roles": ["actor", "ordain_secret"]}), "/roles/1"),
        ("/v1/permits/x/outcome", json!({"use": "ordain_secret", "outcome": "succeeded"}), "/use"),
        ("/v1/halt", json!({"reason": ["ordain_secret"]}), "/reason"),
    ] {
        let reply = server.post("everybody", path, &body);
        reply.refused(400, "was found");
        assert_eq!(text(&reply.json()["errors"][0]["path"]), pointer, "{}", reply.text());
        assert!(!reply.text().contains("secret"), "{}", reply.text());
    }
    let reply = server.get("everybody", "/v1/actions?limit=-1");
    reply.refused(400, "the query is not valid: limit: ");
}

#[test]
fn a_body_is_strict_json_of_the_right_type() {
    let server = Server::new();
    let good = proposal("p1", "read").to_string();
    for (headers, status) in [
        ("", 415),
        ("Content-Type: text/plain\r\n", 415),
        ("Content-Type: application/x-www-form-urlencoded\r\n", 415),
        ("Content-Type: multipart/form-data; boundary=x\r\n", 415),
        ("Content-Type: application/jsonp\r\n", 415),
        ("Content-Type: text/plain; application/json\r\n", 415),
        ("Content-Type: application/problem+json\r\n", 415),
        ("Content-Type: application/json\r\nContent-Encoding: gzip\r\n", 415),
        ("Content-Type: text/plain\r\nContent-Type: application/json\r\n", 415),
        ("Content-Type: Application/JSON; charset=utf-8\r\n", 201),
    ] {
        let headers = format!("{headers}Content-Length: {}\r\n", good.len());
        let reply = submit(&server, &headers, good.as_bytes());
        assert_eq!(reply.status, status, "{headers}: {}", reply.text());
    }
    let deep = format!(
        "{{\"proposal_id\":\"p2\",\"actor\":\"agent\",\"x\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let twice = good.replacen("\"actor\"", "\"actor\":\"ann\",\"actor\"", 1);
    let escaped = good.replacen("\"actor\"", "\"\\u0061ctor\":\"ann\",\"actor\"", 1);
    for (body, why) in [
        ("", ""),
        ("{", ""),
        ("null", ""),
        ("[]", ""),
        ("{}", "proposal_id"),
        ("{\"proposal_id\":1,\"actor\":\"agent\"}", "proposal_id"),
        (&good[..good.len() - 1], ""),
        (&format!("{good}x"), ""),
        (&format!("\u{feff}{good}"), ""),
        (&good.replace('"', "'"), ""),
        (&good.replace("\"x@example.org\"", "NaN"), ""),
        (&good.replace("\"x@example.org\"", "1e999"), ""),
        (&good.replace("\"x@example.org\"", "9007199254740993"), ""),
        (&good.replace("x@example.org", "\\ud800"), ""),
        (&good.replace("x@example.org", "a\nb"), ""),
        (&deep, ""),
        (&twice, "actor"),
        (&escaped, "actor"),
        (&good.replace("\"p1\"", "\"a\\u0000b\""), "control"),
        (&good.replace("\"p1\"", "\" \""), "empty"),
        (&good.replace("\"p1\"", &format!("\"{}\"", "x".repeat(257))), "256"),
    ] {
        let reply = submit_json(&server, body);
        assert_eq!(reply.status, 400, "{}: {}", &body[..body.len().min(80)], reply.text());
        reply.refused(400, why);
    }
    let invalid = [b"{\"proposal_id\":\"".as_slice(), b"\xff\xfe", b"\"}"].concat();
    let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", invalid.len());
    submit(&server, &headers, &invalid).refused(400, "");
    // Bodies of a known form, wherever they are read.
    for (path, body) in [
        ("/v1/halt", json!({})),
        ("/v1/halt", json!({"reason": 1})),
        ("/v1/halt", json!({"reason": "x", "force": true})),
        ("/v1/halt", json!({"reason": "x".repeat(4_001)})),
        ("/v1/actions/p1/approvals", json!({"verdict": "maybe", "view_digest": ""})),
        ("/v1/permits/p/use", json!({"permit": "x"})),
        ("/v1/permits/p/outcome", json!({"use": -1, "outcome": "failed"})),
        ("/v1/permits/p/outcome", json!({"use": 1.5, "outcome": "failed"})),
        ("/v1/evidence", json!({})),
        ("/v1/verify", json!([])),
    ] {
        server.post("everybody", path, &body).refused(400, "");
    }
}

#[test]
fn sql_is_a_text_like_any_other() {
    let server = Server::new();
    let tricks = [
        "'; DROP TABLE records; --",
        "\" OR \"1\"=\"1",
        "1); DELETE FROM entries; --",
        "%' OR 1=1 --",
        "\\'; SELECT 1",
        "$$;--",
    ];
    for (number, trick) in tricks.into_iter().enumerate() {
        let token = server.token(trick, &Role::ALL, &[], None);
        let ask =
            |method: &str, path: &str, body: Option<&Json>| server.ask_with(Some(&token), method, path, body);
        let path: String = trick.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let mut read = proposal(trick, "read");
        read["actor"] = json!(trick);
        read["target"]["resource_id"] = json!(trick);
        read["parameters"] = json!({trick: trick});
        let status = ask("POST", "/v1/actions", Some(&read)).expect(201);
        assert_eq!((text(&status["action_id"]), text(&status["submitted_by"])), (trick, trick));
        // The answer to a submission that waits for nobody lacks the view.
        let mut seen = ask("GET", &format!("/v1/actions/{path}"), None).expect(200);
        assert!(seen["view"].to_string().contains(&json!(trick).to_string()), "{seen}");
        (seen["view"], seen["view_digest"]) = (json!({}), json!(""));
        assert_eq!(seen, status);
        ask("GET", &format!("/v1/actions?after={path}"), None).refused(400, "");
        ask("GET", &format!("/v1/actions?state={path}"), None).refused(400, "");
        ask("GET", &format!("/v1/permits/{path}"), None).refused(404, "no permit");
        ask("GET", &format!("/v1/ledger/proof?index={path}"), None).refused(400, "");
        ask("DELETE", &format!("/v1/tokens/{path}"), None).refused(404, "no token");
        let say = json!({"verdict": "reject", "reason": trick, "view_digest": trick});
        ask("POST", &format!("/v1/actions/{path}/approvals"), Some(&say)).refused(409, "");
        let halted = ask("POST", "/v1/halt", Some(&json!({"reason": trick}))).expect(200);
        assert_eq!(text(&halted["halted"]["reason"]), trick);
        ask("POST", "/v1/resume", Some(&json!({"reason": trick}))).expect(200);
        let mut packet = crate::support::packet(&format!("{trick}{number}"), &json!({trick: trick}));
        packet["sensor_id"] = json!(trick);
        ask("POST", "/v1/evidence", Some(&packet)).expect(201);
        let new = json!({"principal": trick, "names": [trick], "roles": ["actor"], "expires_at_ms": NOW + 1});
        ask("POST", "/v1/tokens", Some(&new)).expect(201);
    }
    // Everything is there, and the ledger verifies.
    let verifiers = server.wait(server.gate.note_verifiers()).unwrap();
    let found = server.wait(ordain_gate::audit(server.gate.store(), &verifiers, &[], |_, _| {})).unwrap();
    assert_eq!(found.damage, []);
    assert_eq!(
        server.get("audrey", "/v1/actions").expect(200)["actions"].as_array().unwrap().len(),
        tricks.len()
    );
}
