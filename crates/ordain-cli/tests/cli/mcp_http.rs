//! The gateway over HTTP: whom it serves, what reaches the server, and how clients hear of held calls.

use crate::harness::{Project, count, memory_kib, soaking};
use crate::mcp::{
    Session, action_of, approve, call, entry, installed, lines_of, outcomes, project, script, seen,
    test_server, text,
};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A gateway that listens.
pub(crate) struct Listening {
    child: Child,
    address: String,
    pub(crate) url: String,
}

impl Listening {
    pub(crate) fn start(project: &Project, name: &str, options: &[&str], server: &[String]) -> Self {
        let mut words = entry(project, name, options, server);
        let at = words.iter().position(|word| word == "--actor").unwrap();
        words.splice(at..at + 2, ["--listen".to_owned(), "127.0.0.1:0".to_owned()]);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir("/").env("OWN_TOKEN", "for-the-server");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let line = lines_of(child.stdout.take().unwrap()).recv_timeout(Duration::from_secs(30)).unwrap();
        let url = line.split(' ').next_back().unwrap().to_owned();
        let address = url.split('/').nth(2).unwrap().to_owned();
        Self { child, address, url }
    }

    /// A server by URL behind the gate.
    pub(crate) fn before(project: &Project, name: &str, options: &[&str], url: &str) -> Self {
        let options: Vec<&str> = options.iter().copied().chain(["--url", url]).collect();
        let mut words = entry(project, name, &[], &["true".to_owned()]);
        words.truncate(words.iter().position(|word| word == "--").unwrap());
        let at = words.iter().position(|word| word == "--actor").unwrap();
        words.splice(at..at + 2, ["--listen".to_owned(), "127.0.0.1:0".to_owned()]);
        words.extend(options.iter().map(|&option| option.to_owned()));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir("/").env("OWN_TOKEN", "for-the-server");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let line = lines_of(child.stdout.take().unwrap()).recv_timeout(Duration::from_secs(30)).unwrap();
        let url = line.split(' ').next_back().unwrap().to_owned();
        let address = url.split('/').nth(2).unwrap().to_owned();
        Self { child, address, url }
    }

    /// One request on a connection of its own: the status, the headers in lower case, and the body.
    fn ask(&self, method: &str, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
        let path = self.url.split_once(&self.address).unwrap().1;
        self.ask_path(method, path, headers, body)
    }

    fn ask_path(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let has_host = headers.iter().any(|(name, _)| *name == "host");
        let host = if has_host { String::new() } else { format!("host: {}\r\n", self.address) };
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\n{host}{headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_lowercase(), body.to_owned())
    }

    /// A message of a client with a token; its answer, if it is one.
    fn message(&self, token: &str, session: Option<&str>, body: &str) -> (u16, String, Json) {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        headers.extend(session.map(|session| ("mcp-session-id", session)));
        let (status, head, body) = self.ask("POST", &headers, body);
        (status, head, serde_json::from_str(&body).unwrap_or(Json::String(body)))
    }

    /// Begins a session.
    fn open(&self, token: &str) -> String {
        let opening = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        let (status, head, answer) = self.message(token, None, opening);
        assert_eq!(status, 200, "{answer}");
        let line =
            head.lines().find(|line| line.starts_with("mcp-session-id")).unwrap_or_else(|| panic!("{head}"));
        line.split(' ').nth(1).unwrap().to_owned()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        for _ in 0..500 {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A project whose agent has a token.
fn with_token() -> (Project, String) {
    let project = project();
    let token = project.token("agent-1", &["actor", "worker"]);
    (project, token)
}

/// A server over HTTP that answers every request in the same way, and tells what it got.
fn stand_in(answer: impl Fn(&str) -> String + Send + 'static) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, got) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).unwrap_or(0) == 0 {
                    break;
                }
                let lower = line.to_lowercase();
                length = lower
                    .strip_prefix("content-length:")
                    .map_or(length, |value| value.trim().parse().unwrap());
                head.push_str(&lower);
                if line == "\r\n" {
                    break;
                }
            }
            let mut body = vec![0; length];
            if head.is_empty() || stream.read_exact(&mut body).is_err() {
                continue;
            }
            let request = format!("{head}{}", String::from_utf8(body).unwrap());
            let text = answer(&request);
            let _ = sender.send(request);
            let _ = stream.get_mut().write_all(text.as_bytes());
        }
    });
    (address, got)
}

fn json_answer(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn clients_over_http_show_tokens() {
    let (project, token) = with_token();
    let other = project.token("alice", &["actor", "worker"]);
    let gateway = Listening::start(&project, "t", &["--wait", "0"], &test_server(&project));
    // Nobody without a token comes in, and the way to one is said.
    let (status, head, _) = gateway.ask("POST", &[("content-type", "application/json")], "{}");
    let place = format!("http://{}/.well-known/oauth-protected-resource/mcp/t", gateway.address);
    assert!(status == 401 && head.contains(&format!("bearer resource_metadata=\"{place}\"")), "{head}");
    let path = "/.well-known/oauth-protected-resource/mcp/t";
    let (status, _, said) = gateway.ask_path("GET", path, &[], "");
    assert_eq!(status, 200);
    assert_eq!(serde_json::from_str::<Json>(&said).unwrap()["resource"], gateway.url);
    assert_eq!(gateway.message("ordain_0000000000000000_x", None, "{}").0, 401);
    // A token of another role is none, and neither is half of one.
    for roles in [&["auditor"][..], &["actor"]] {
        let (status, head, _) = gateway.message(&project.token("carol", roles), None, "{}");
        assert!(status == 403 && head.contains("insufficient_scope"), "{head}");
    }
    // A page of a browser, or a name that leads here.
    let bearer = format!("Bearer {token}");
    for (name, value) in [("origin", "http://evil.example"), ("host", "evil.example"), ("origin", "null")] {
        let headers =
            [("authorization", bearer.as_str()), ("content-type", "application/json"), (name, value)];
        assert_eq!(gateway.ask("POST", &headers, "{}").0, 403, "{name}: {value}");
    }
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping","vendor":{"x":[1.50]}}"#;
    let session = gateway.open(&token);
    let (status, _, answer) = gateway.message(&token, Some(&session), ping);
    assert_eq!((status, &answer["result"]["vendor"]), (200, &json!({"x": [1.5]})));
    // A session belongs to whoever began it.
    assert_eq!(gateway.message(&other, Some(&session), ping).0, 404);
    assert_eq!(gateway.message(&token, Some("0123"), ping).0, 404);
    // The calls of each are their own.
    let (_, _, answer) = gateway.message(&token, Some(&session), &call(1, "echo", &json!({"a": 1})));
    assert_eq!(text(&answer), "echo {\"a\": 1}");
    let (_, _, held) = gateway.message(&token, Some(&session), &call(2, "sell", &json!({})));
    assert!(text(&held).starts_with("HELD"), "{held}");
    approve(&project, &action_of(&held));
    let (_, _, answer) = gateway.message(&token, Some(&session), &call(3, "sell", &json!({})));
    assert_eq!(text(&answer), "sell {}");
    let session = gateway.open(&other);
    let (_, _, denied) = gateway.message(&other, Some(&session), &call(1, "echo", &json!({})));
    assert!(text(&denied).starts_with("DENIED"), "{denied}");
    // A header that says something else than the body.
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
    ];
    let (status, _, answer) = gateway.ask("POST", &headers, &call(4, "sell", &json!({})));
    assert!(status == 400 && answer.contains("-32020"), "{answer}");
    // A token that is revoked is worth nothing a second later.
    let id = token.split('_').nth(1).unwrap();
    project.run(&["token", "revoke", id]).ended(0);
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(gateway.message(&token, None, ping).0, 401);
    drop(gateway);
    let called: Vec<Json> = seen(&project).into_iter().filter(|call| call.get(1).is_some()).collect();
    assert_eq!(called, [json!(["echo", {"a": 1}]), json!(["sell", {}])]);
    assert_eq!(outcomes(&project).get("succeeded"), Some(&2));
    project.sound();
}

#[test]
fn a_server_by_url_gets_the_gateways_own_token() {
    let (project, token) = with_token();
    let (address, got) = stand_in(|request| {
        if request.contains("crash") {
            return String::new();
        }
        if request.contains("nobody") {
            return "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned();
        }
        json_answer(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#)
    });
    let url = format!("http://{address}/mcp");
    let gateway = Listening::before(&project, "t", &["--url-token", "env:OWN_TOKEN"], &url);
    let (status, _, answer) = gateway.message(&token, None, &call(1, "echo", &json!({"a": 1})));
    assert_eq!((status, text(&answer)), (200, "done"));
    let request = got.recv().unwrap();
    assert!(
        request.contains("authorization: bearer for-the-server\r\n") && !request.contains(&token),
        "{request}"
    );
    assert!(request.ends_with(&call(1, "echo", &json!({"a": 1}))), "{request}");
    // Silence is doubt, and a refusal of the gateway's own token is not the client's fault.
    let (_, _, crashed) = gateway.message(&token, None, &call(1, "crash", &json!({})));
    assert!(text(&crashed).starts_with("UNKNOWN"), "{crashed}");
    let (status, head, refused) = gateway.message(&token, None, &call(1, "echo", &json!({"who": "nobody"})));
    assert!(status == 200 && text(&refused).contains("nothing was done"), "{refused}");
    assert!(!head.contains("www-authenticate"), "{head}");
    drop(gateway);
    // A client on standard input and output reaches it, too.
    let words = entry(&project, "t", &[], &["true".to_owned()]);
    let end = words.iter().position(|word| word == "--").unwrap();
    let words: Vec<String> = words[..end].iter().cloned().chain(["--url".to_owned(), url]).collect();
    let mut client = Session::start(&words);
    assert_eq!(text(&client.call(1, "echo", &json!({"b": 1}))), "done");
    assert_eq!(client.end(), 0);
    let expected = [("failed", 1), ("succeeded", 2), ("unknown", 1)];
    assert_eq!(outcomes(&project), BTreeMap::from(expected.map(|(state, count)| (state.to_owned(), count))));
    project.sound();
}

#[test]
fn a_client_that_starts_the_gateway_reaches_a_server_by_url() {
    let (project, _) = suite_project("mcp.suite.nothing");
    let server = SuiteServer::start();
    let words = entry(&project, "suite", &[], &["true".to_owned()]);
    let end = words.iter().position(|word| word == "--").unwrap();
    let words: Vec<&str> = words[..end].iter().map(String::as_str).collect();
    let target: Vec<&str> = ["--"].into_iter().chain(words).chain(["--url", &server.1]).collect();
    for (era, revision) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let mut client = Holding::start(era, "accept", &target);
        assert_eq!(client.first["revision"], revision);
        client.send("test_tool_with_progress", &json!({}));
        client.next("progress");
        assert_eq!(client.next("text"), json!({"error": false, "text": "done"}));
        client.send("test_x_mcp_header", &json!({"region": "süd"}));
        assert_eq!(client.next("text"), json!({"error": false, "text": "süd"}), "{era}");
        if era == "legacy" {
            // A question of the server within a call, and a stream that breaks off.
            client.send("test_elicitation", &json!({"message": "who?"}));
            assert_eq!(client.next("asked")["asked"]["message"], "who?");
            client.next("text");
            client.send("test_reconnection", &json!({}));
            assert_eq!(client.next("text")["text"], "came back");
        }
    }
    assert!(!outcomes(&project).contains_key("unknown"));
    project.sound();
}

/// The Python SDK as a client that can hear of holds.
struct Holding {
    session: Session,
    first: Json,
}

impl Holding {
    fn start(era: &str, answer: &str, target: &[&str]) -> Self {
        let mut command = Command::new(installed("python-mcp/bin/python"));
        command.args([&script("mcp_holding_client.py"), era, answer]).args(target);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let (input, lines) = (child.stdin.take(), lines_of(child.stdout.take().unwrap()));
        let session = Session { child, input, lines };
        let first = serde_json::from_str(&session.line()).unwrap();
        Self { session, first }
    }

    /// The next line that has this member.
    fn next(&self, member: &str) -> Json {
        loop {
            let line: Json = serde_json::from_str(&self.session.line()).unwrap();
            assert!(line.get("raised").is_none(), "{line}");
            if line.get(member).is_some() {
                return line;
            }
        }
    }

    fn send(&mut self, tool: &str, arguments: &Json) {
        self.session.send(&json!([tool, arguments]).to_string());
    }
}

/// The action that a text names.
fn named(text: &str) -> String {
    text.split(['(', ')']).nth(1).unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn a_form_tells_the_clients_user_and_approves_nothing() {
    let project = project();
    let words = entry(&project, "t", &["--wait", "40"], &test_server(&project));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let target: Vec<&str> = ["--"].into_iter().chain(words).collect();
    let mut client = Holding::start("legacy", "accept", &target);
    client.send("sell", &json!({"n": 1}));
    let asked = client.next("asked");
    let (message, schema) = (asked["asked"]["message"].as_str().unwrap(), &asked["asked"]["requestedSchema"]);
    // A form that asks nothing is one that programs accept.
    assert_eq!(schema["required"], json!(["next"]));
    assert!(schema["properties"]["next"].get("default").is_none());
    // It is accepted, and that does not approve the call.
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(seen(&project).iter().filter(|call| call[0] == "sell").count(), 0);
    approve(&project, &named(message));
    assert_eq!(client.next("text")["text"], "sell {\"n\": 1}");
    drop(client);
    // A person who does not want to wait reads how to go on.
    let mut client = Holding::start("legacy", "decline", &target);
    client.send("sell", &json!({"n": 2}));
    client.next("asked");
    let held = client.next("text");
    assert!(held["text"].as_str().unwrap().starts_with("HELD"), "{held}");
    assert_eq!(outcomes(&project).get("held"), Some(&1));
    project.sound();
}

#[test]
fn a_page_is_opened_where_the_client_can() {
    let (project, token) = with_token();
    let (address, opened) = stand_in(|_| json_answer("{}"));
    let console = format!("http://{address}/console/");
    let gateway =
        Listening::start(&project, "t", &["--wait", "40", "--console", &console], &test_server(&project));
    let mut client = Holding::start("legacy", "open", &[&gateway.url, &token]);
    client.send("sell", &json!({}));
    let asked = client.next("asked");
    assert_eq!(asked["asked"]["mode"], "url");
    let request = opened.recv_timeout(Duration::from_secs(20)).unwrap();
    let action = request.split([' ', '/']).find(|part| part.starts_with("mcp-")).unwrap().to_owned();
    assert_eq!(asked["asked"]["url"], format!("http://{address}/console/actions/{action}"));
    // Nobody is logged in by the address alone.
    assert!(!request.contains("authorization") && !request.contains("token"), "{request}");
    approve(&project, &action);
    assert_eq!(client.next("text")["text"], "sell {}");
    drop(client);
    drop(gateway);
    project.sound();
}

/// A server of every revision, over HTTP.
pub(crate) struct SuiteServer(Child, pub(crate) String);

impl SuiteServer {
    pub(crate) fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(installed("python-mcp/bin/python"));
        command
            .args([script("mcp_suite_server.py"), port.to_string()])
            .stderr(Stdio::null())
            .stdout(Stdio::null());
        let server = Self(command.spawn().unwrap(), format!("http://127.0.0.1:{port}/mcp"));
        for _ in 0..600 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return server;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not start");
    }
}

impl Drop for SuiteServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Calls of one tool of the suite's server are held.
pub(crate) fn suite_project(held: &str) -> (Project, String) {
    let (project, token) = with_token();
    let row = |tool: &str, id: &str, domain: &str| {
        format!(
            "[\"{tool}\"]\naction_type = \"write\"\nresource_type = \"tool\"\nresource_id = \"{id}\"\ndomain = \"{domain}\"\n"
        )
    };
    project.write("policy/tools.toml", &format!("{}{}", row(held, "held", "sales"), row("*", "any", "crm")));
    project.push();
    (project, token)
}

#[test]
fn a_held_call_goes_on_in_rounds() {
    let (project, token) = suite_project("mcp.suite.test_simple_text");
    let server = SuiteServer::start();
    // Each round waits two seconds, so that there are several.
    let gateway = Listening::before(&project, "suite", &["--wait", "2"], &server.1);
    let mut client = Holding::start("auto", "accept", &[&gateway.url, &token]);
    assert_eq!(client.first["revision"], "2026-07-28");
    client.send("test_simple_text", &json!({}));
    let asked = client.next("asked");
    std::thread::sleep(Duration::from_secs(5));
    approve(&project, &named(asked["asked"]["message"].as_str().unwrap()));
    let answer = client.next("text");
    assert_eq!(answer, json!({"error": false, "text": "This is a simple text response for testing."}));
    // Rejected while it waits.
    client.send("test_simple_text", &json!({}));
    let asked = client.next("asked");
    let action = named(asked["asked"]["message"].as_str().unwrap());
    project.run_as("alice", &["approver"], &["reject", &action, "--reason", "not today"]).ended(21);
    let rejected = client.next("text");
    let said = rejected["text"].as_str().unwrap();
    assert!(said.starts_with("REJECTED") && said.contains("not today"), "{rejected}");
    drop(client);
    // The server's own rounds pass, decided once.
    let spent = count(&project.entries(), "permit_spent");
    let mut client = Holding::start("auto", "accept", &[&gateway.url, &token]);
    client.send("test_input_required_result_request_state", &json!({}));
    client.next("asked");
    assert!(client.next("text")["text"].as_str().unwrap().starts_with("state-ok"));
    drop(client);
    assert_eq!(count(&project.entries(), "permit_spent"), spent + 1);
    drop(gateway);
    project.sound();
}

#[test]
fn a_client_without_forms_waits_and_then_reads_a_text() {
    let (project, token) = suite_project("mcp.suite.test_simple_text");
    let server = SuiteServer::start();
    let gateway = Listening::before(&project, "suite", &["--wait", "2"], &server.1);
    let mut client = Holding::start("auto", "none", &[&gateway.url, &token]);
    client.send("test_simple_text", &json!({}));
    let progress = client.next("progress");
    assert!(progress["message"].as_str().unwrap().starts_with("waits for approval"), "{progress}");
    let held = client.next("text");
    assert!(held["error"] == true && held["text"].as_str().unwrap().starts_with("HELD"), "{held}");
    approve(&project, &named(held["text"].as_str().unwrap()));
    client.send("test_simple_text", &json!({}));
    assert_eq!(client.next("text")["error"], false);
    drop(client);
    drop(gateway);
    project.sound();
}

#[test]
fn a_killed_gateway_over_http_leaves_no_doubt_unrecorded() {
    let (project, token) = with_token();
    let mut sent = 0;
    for round in 0..if soaking() { 200_u64 } else { 5 } {
        let mut gateway = Listening::start(&project, "t", &[], &test_server(&project));
        let session = gateway.open(&token);
        let first = call(100, "echo", &json!({"n": format!("first-{round}")}));
        assert!(text(&gateway.message(&token, Some(&session), &first).2).starts_with("echo"));
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (gateway, token, session) = (&gateway, &token, &session);
                scope.spawn(move || {
                    let body = call(number, "echo", &json!({"n": format!("{round}-{number}")}));
                    let request = format!(
                        "POST /mcp/t HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\nmcp-session-id: {session}\r\n\
                         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
                         content-length: {}\r\n\r\n{body}",
                        gateway.address,
                        body.len()
                    );
                    let mut stream = TcpStream::connect(&gateway.address).unwrap();
                    stream.write_all(request.as_bytes()).unwrap();
                    stream
                });
            }
        });
        sent += 5;
        std::thread::sleep(Duration::from_millis(round * 7 % 41));
        gateway.kill();
    }
    // The next gateway reports what the others left open, when that client comes back.
    let gateway = Listening::start(&project, "t", &[], &test_server(&project));
    gateway.open(&token);
    drop(gateway);
    let ran: Vec<Json> = seen(&project).into_iter().filter(|call| call[0] == "echo").collect();
    let distinct: std::collections::BTreeSet<String> = ran.iter().map(Json::to_string).collect();
    assert_eq!(distinct.len(), ran.len(), "a call ran twice");
    let spent = count(&project.entries(), "permit_spent");
    assert!(ran.len() <= spent && spent <= sent, "{} ran, {spent} were allowed", ran.len());
    let states = outcomes(&project);
    assert!(states.keys().all(|state| ["succeeded", "unknown"].contains(&state.as_str())), "{states:?}");
    project.sound();
}

#[test]
fn a_flood_stays_in_bounds() {
    let (project, token) = with_token();
    let notes = if soaking() { 1_000_000 } else { 100_000 };
    let mib = if soaking() { 200 } else { 40 };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut line = String::new();
            while stream.read_line(&mut line).unwrap_or(0) > 0 && line != "\r\n" {
                line.clear();
            }
            let mut out = std::io::BufWriter::new(stream.into_inner());
            write!(out, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
                .unwrap();
            for number in 0..notes {
                let note = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": number}});
                write!(out, "data: {note}\n\n").unwrap();
            }
            out.write_all(
                b"data: {\"jsonrpc\":\"2.0\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"",
            )
            .unwrap();
            let piece = "x".repeat(1 << 20);
            for _ in 0..mib {
                if out.write_all(piece.as_bytes()).is_err() {
                    break;
                }
            }
            let _ = out.write_all(b"\"}]},\"id\":1}\n\n");
        }
    });
    let gateway = Listening::before(&project, "t", &[], &url);
    let (status, _, answer) = gateway.message(&token, None, &call(1, "huge", &json!({})));
    let Json::String(stream) = answer else { panic!("{answer}") };
    assert_eq!(status, 200);
    assert_eq!(stream.matches("notifications/progress").count(), notes);
    let last = stream.lines().rfind(|line| line.starts_with("data: ")).unwrap();
    assert!(last.contains("TOO LONG") && last.contains("\"isError\":true"), "{last}");
    let memory = memory_kib(gateway.child.id());
    // Without optimisation the program itself takes a part of that.
    assert!(memory < 96 << 10, "{memory} KiB");
    drop(gateway);
    assert_eq!(outcomes(&project).get("succeeded"), Some(&1));
}

#[test]
fn a_held_call_is_a_task_where_the_client_knows_tasks() {
    let (project, token) = with_token();
    let (address, got) = stand_in(|_| {
        json_answer(
            r#"{"jsonrpc":"2.0","id":"c","result":{"resultType":"complete","content":[{"type":"text","text":"sold"}]}}"#,
        )
    });
    let gateway = Listening::before(&project, "t", &[], &format!("http://{address}/mcp"));
    let modern = |id: &str, method: &str, params: Json| {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
        let mut params = params;
        params["_meta"] = meta;
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let sell = modern("c", "tools/call", json!({"name": "sell", "arguments": {"n": 1}}));
    let (_, _, begun) = gateway.message(&token, None, &sell);
    let task = begun["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    assert_eq!(
        (&begun["result"]["resultType"], &begun["result"]["status"]),
        (&json!("task"), &json!("working"))
    );
    let state = |id: &str| {
        let (_, _, answer) = gateway.message(&token, None, &modern("g", "tasks/get", json!({"taskId": id})));
        answer
    };
    assert_eq!(state(&task)["result"]["status"], "working");
    // Another principal knows nothing of it.
    let other = project.token("alice", &["actor", "worker"]);
    let (_, _, foreign) = gateway.message(&other, None, &modern("g", "tasks/get", json!({"taskId": task})));
    assert_eq!(foreign["error"]["code"], -32602, "{foreign}");
    assert!(got.try_recv().is_err());
    let action = task.strip_prefix("ordain-").unwrap();
    approve(&project, action);
    let mut done = state(&task);
    for _ in 0..100 {
        if done["result"]["status"] != "working" {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        done = state(&task);
    }
    assert_eq!(done["result"]["status"], "completed", "{done}");
    assert_eq!(done["result"]["result"]["content"][0]["text"], "sold");
    assert!(got.recv().unwrap().ends_with(&sell));
    // A task that is cancelled is not sent, and the action stays held.
    let again = modern("c", "tools/call", json!({"name": "sell", "arguments": {"n": 2}}));
    let (_, _, begun) = gateway.message(&token, None, &again);
    let task = begun["result"]["taskId"].as_str().unwrap().to_owned();
    gateway.message(&token, None, &modern("x", "tasks/cancel", json!({"taskId": task})));
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(state(&task)["result"]["status"], "cancelled");
    drop(gateway);
    assert!(got.try_recv().is_err());
    let expected = [("held", 1), ("succeeded", 1)];
    assert_eq!(outcomes(&project), BTreeMap::from(expected.map(|(state, count)| (state.to_owned(), count))));
    project.sound();
}
