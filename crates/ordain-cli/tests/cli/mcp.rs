//! The gateway in front of MCP servers: transparent for everything but tool calls, and those are actions at the gate.

use crate::harness::{Kind, Project, count, memory_kib, ran, repository, soaking};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Agents call every tool of the domain `crm` at once and those of `sales` after an approval; others are not mapped.
pub(crate) fn tools(server: &str, allowed: &[&str]) -> String {
    let row = |tool: &str, domain: &str| {
        format!(
            "[\"mcp.{server}.{tool}\"]\naction_type = \"write\"\nresource_type = \"tool\"\nresource_id = \"{tool}\"\ndomain = \"{domain}\"\n"
        )
    };
    let allowed: String = allowed.iter().map(|tool| row(tool, "crm")).collect();
    format!("{allowed}{}", row("sell", "sales"))
}

const ALLOWED: [&str; 10] =
    ["echo", "crash", "hang", "garbage", "error", "huge", "drip", "twice", "early", "environment"];

/// A project with a gate for the tools of the test server.
pub(crate) fn project() -> Project {
    let project = Project::with_gate(Kind::File);
    project.write("policy/tools.toml", &tools("t", &ALLOWED));
    project.push();
    project
}

pub(crate) fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/harness").join(name).display().to_string()
}

pub(crate) fn test_server(project: &Project) -> Vec<String> {
    ["python3".to_owned(), script("mcp_server.py"), project.path("seen").display().to_string()].into()
}

/// The words that start a server behind the gate of a project.
pub(crate) fn entry(project: &Project, name: &str, options: &[&str], server: &[String]) -> Vec<String> {
    let mut arguments = vec!["mcp", "entry", name, "--json", "--"];
    arguments.extend(server.iter().map(String::as_str));
    let entry = project.run(&arguments).ended(0).json();
    let entry = &entry["mcpServers"][name];
    let mut words: Vec<String> = vec![entry["command"].as_str().unwrap().to_owned()];
    words.extend(entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()));
    let at = words.iter().position(|word| word == "--").unwrap();
    words.splice(at..at, options.iter().map(|&option| option.to_owned()));
    words
}

/// A client that reads line by line.
pub(crate) struct Session {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) lines: Receiver<String>,
}

impl Session {
    /// Started in a folder that belongs to no gate, with an environment that names another one.
    pub(crate) fn start(words: &[String]) -> Self {
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .current_dir("/")
            .env("XDG_STATE_HOME", "/nonexistent")
            .env("ORDAIN_SERVER", "http://127.0.0.1:1");
        command.env("SECRET", "s").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        Self { input: child.stdin.take(), child, lines }
    }

    pub(crate) fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(30)).expect("the client waits for an answer")
    }

    pub(crate) fn ask(&mut self, line: &str) -> Json {
        self.send(line);
        serde_json::from_str(&self.line()).unwrap()
    }

    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: &Json) -> Json {
        self.ask(&call(id, tool, arguments))
    }

    /// The client says nothing more; how the gateway ended.
    pub(crate) fn end(mut self) -> i32 {
        drop(self.input.take());
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn lines_of(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line.unwrap()).is_err() {
                return;
            }
        }
    });
    receiver
}

pub(crate) fn call(id: u64, tool: &str, arguments: &Json) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}).to_string()
}

pub(crate) fn text(answer: &Json) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// The calls that reached the server.
pub(crate) fn seen(project: &Project) -> Vec<Json> {
    std::fs::read_to_string(project.path("seen"))
        .unwrap_or_default()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| json!(line)))
        .collect()
}

pub(crate) fn action_of(answer: &Json) -> String {
    answer["result"]["_meta"]["org.ordain/call"]["action_id"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}

pub(crate) fn approve(project: &Project, id: &str) {
    let status = project.run(&["status", id, "--json"]).json();
    project.approve_as("alice", id, status["view_digest"].as_str().unwrap()).ended(0);
}

/// The outcomes on the ledger, counted.
pub(crate) fn outcomes(project: &Project) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for action in project.run(&["status", "--json"]).lines() {
        *counted.entry(action["state"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counted
}

#[test]
fn a_call_reaches_the_server_after_the_gate_has_allowed_it() {
    let project = project();
    let mut client = Session::start(&entry(&project, "t", &["--wait", "0"], &test_server(&project)));
    let answer = client.call(1, "echo", &json!({"a": 1}));
    assert_eq!(text(&answer), "echo {\"a\": 1}");
    assert_eq!(answer["result"].get("_meta"), None);
    // Denied: no row of tools.toml.
    let denied = client.call(2, "drop", &json!({}));
    assert!(text(&denied).starts_with("DENIED") && text(&denied).contains("nothing was done"), "{denied}");
    assert_eq!(denied["result"]["isError"], true);
    // Held: the identical call runs after approval, once.
    let held = client.call(3, "sell", &json!({"n": 1}));
    assert!(
        text(&held).starts_with("HELD") && text(&held).contains("Repeat the identical call after approval"),
        "{held}"
    );
    let again = client.call(4, "sell", &json!({"n": 1}));
    assert_eq!(action_of(&held), action_of(&again));
    let other = client.call(5, "sell", &json!({"n": 2}));
    assert_ne!(action_of(&held), action_of(&other));
    approve(&project, &action_of(&held));
    assert_eq!(seen(&project), [json!(["echo", {"a": 1}])]);
    assert_eq!(text(&client.call(6, "sell", &json!({"n": 1}))), "sell {\"n\": 1}");
    let spent = client.call(7, "sell", &json!({"n": 1}));
    assert!(text(&spent).starts_with("HELD"), "{spent}");
    assert_ne!(action_of(&spent), action_of(&held));
    // Rejected, with the reason.
    project
        .run_as("alice", &["approver"], &["reject", &action_of(&other), "--reason", "not on a Friday"])
        .ended(21);
    let rejected = client.call(8, "sell", &json!({"n": 2}));
    assert!(
        text(&rejected).starts_with("REJECTED") && text(&rejected).contains("not on a Friday"),
        "{rejected}"
    );
    assert_eq!(client.end(), 0);
    assert_eq!(seen(&project), [json!(["echo", {"a": 1}]), json!(["sell", {"n": 1}])]);
    let entries = project.entries();
    assert_eq!((count(&entries, "permit_spent"), count(&entries, "permit_settled")), (2, 2));
    project.run(&["replay"]).ended(0);
    project.sound();
}

#[test]
fn a_call_waits_for_its_approval() {
    let project = project();
    let mut client = Session::start(&entry(&project, "t", &["--wait", "60"], &test_server(&project)));
    client.send(
        r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"sell","arguments":{},"_meta":{"progressToken":"p"}}}"#,
    );
    let progress: Json = serde_json::from_str(&client.line()).unwrap();
    assert_eq!(
        (&progress["method"], &progress["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("p"))
    );
    // Another one is cancelled while it waits: it is not answered, stays held, and the server hears nothing.
    client.send(&call(2, "sell", &json!({"n": 2})));
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    // Nobody but the gate answers a call that waits.
    let guessed = client.ask(r#"{"jsonrpc":"2.0","id":3,"method":"guess","params":{"ids":["w",2,99]}}"#);
    assert_eq!(guessed["id"], 3, "{guessed}");
    // The id is taken.
    let reused = client.ask(r#"{"jsonrpc":"2.0","id":"w","method":"ping"}"#);
    assert_eq!((&reused["id"], &reused["error"]["code"]), (&Json::Null, &json!(-32600)));
    let id = progress["params"]["message"].as_str().unwrap();
    let id = id.split(['(', ')']).nth(1).unwrap().to_owned();
    approve(&project, &id);
    let answer: Json = serde_json::from_str(&client.line()).unwrap();
    assert_eq!((&answer["id"], text(&answer)), (&json!("w"), "sell {}"));
    assert_eq!(client.end(), 0);
    assert_eq!(seen(&project), [json!(["guess"]), json!(["sell", {}])]);
    assert_eq!(outcomes(&project), BTreeMap::from([("held".to_owned(), 1), ("succeeded".to_owned(), 1)]));
}

#[test]
fn an_approval_holds_for_the_definition_that_was_shown() {
    let project = project();
    let mut client = Session::start(&entry(&project, "t", &["--wait", "0"], &test_server(&project)));
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let change = |version: u64| {
        json!({"jsonrpc": "2.0", "id": 2, "method": "change", "params": {"version": version}}).to_string()
    };
    client.ask(list);
    let held = action_of(&client.call(3, "sell", &json!({})));
    approve(&project, &held);
    // The definition changes after the approval: this is another call now.
    client.ask(&change(2));
    client.ask(list);
    let changed = client.call(4, "sell", &json!({}));
    assert_ne!(action_of(&changed), held);
    // Two tools of one name are none.
    client.ask(&change(3));
    client.ask(list);
    let doubled = client.call(5, "echo", &json!({}));
    assert!(text(&doubled).starts_with("NOT DECIDED"), "{doubled}");
    // With the definition that was approved, it runs.
    client.ask(&change(1));
    client.ask(list);
    assert_eq!(text(&client.call(6, "sell", &json!({}))), "sell {}");
    assert_eq!(client.end(), 0);
    assert_eq!(seen(&project).iter().filter(|call| call[0] == "sell" || call[0] == "echo").count(), 1);
}

#[test]
fn ambiguous_messages_never_reach_the_server() {
    let project = project();
    let mut client = Session::start(&entry(&project, "t", &["--max-bytes", "65536"], &test_server(&project)));
    let opening = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}}"#;
    client.ask(opening);
    let long = format!(
        r#"{{"params":{{"name":"echo","arguments":{{"x":"{}"}}}},"method":"tools/call","id":9}}"#,
        "x".repeat(70_000)
    );
    let deep = format!(
        r#"{{"id":9,"method":"tools/call","params":{{"name":"echo","arguments":{{"x":{}{}}}}}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    for line in [
        r#"{"jsonrpc":"2.0","id":9,"method":"ping","method":"tools/call","params":{"name":"sell"}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"ping","Method":"tools/call","params":{"name":"sell"}}"#,
        r#"{"id":9,"method":"tools/call","params":{"name":"echo","name":"sell"}}"#,
        r#"{"id":9,"method":"tools/call","params":{"name":"echo","arguments":{"a":1,"a":2}}}"#,
        r#"{"id":9,"method":"tools/call","params":{"name":"echo","arguments":{"a":1,"A":2}}}"#,
        r#"{"id":9,"method":"tools/call","params":{"name":"echo","arguments":{"a":9007199254740993}}}"#,
        r#"{"id":9,"method":"tools/call","params":{"name":"echo","arguments":{"a":"\ud800"}}}"#,
        r#"{"id":9,"method":"tools/call","params":{"name":"echo","arguments":[1]}}"#,
        r#"{"id":null,"method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"method":"tools/call","params":{"name":"echo"}}"#,
        r#"[{"id":9,"method":"tools/call","params":{"name":"echo"}}]"#,
        r#"[{"id":9,"method":"ping"}]"#,
        "{\"id\":9,\"method\":\"ping\"} {\"id\":8,\"method\":\"tools/call\"}",
        "garbage",
        &deep,
        &long,
    ] {
        let answer = client.ask(line);
        assert!(answer.get("error").is_some() && answer.get("result").is_none(), "{line}: {answer}");
        assert!(answer["id"].is_null() || answer["id"] == 9, "{answer}");
    }
    // The session goes on, and what nobody knows yet passes as it is.
    let answer = client.ask(r#"{"jsonrpc":"2.0","id":10,"method":"vendor/new","vendor":{"z":[1.50]}}"#);
    assert_eq!(answer["result"], json!({"method": "vendor/new", "vendor": {"z": [1.5]}}));
    assert_eq!(client.end(), 0);
    assert_eq!(seen(&project), [json!(["initialize"]), json!(["vendor/new"])]);
    assert_eq!(count(&project.entries(), "submitted"), 0);
}

#[test]
fn every_failure_of_a_server_has_its_answer_and_its_outcome() {
    let project = project();
    // A server that says nothing has a short time of its own: others may need longer on a busy machine.
    let mut client = Session::start(&entry(&project, "t", &["--timeout", "2"], &test_server(&project)));
    let hanging = client.call(6, "hang", &json!({}));
    assert!(text(&hanging).starts_with("UNKNOWN"), "{hanging}");
    assert_eq!(client.end(), 0);
    let mut client = Session::start(&entry(&project, "t", &[], &test_server(&project)));
    assert_eq!(text(&client.call(1, "drip", &json!({}))), "slow");
    assert_eq!(text(&client.call(2, "twice", &json!({}))), "first");
    let garbage = client.call(3, "garbage", &json!({}));
    assert!(text(&garbage).starts_with("UNKNOWN"), "{garbage}");
    let refused = client.call(4, "error", &json!({"code": -32602}));
    assert_eq!(refused["error"]["code"], -32602);
    let failed = client.call(5, "error", &json!({"code": -1}));
    assert_eq!(failed["error"]["code"], -1);
    // The result is bounded, and so is the memory.
    let huge = client.call(7, "huge", &json!({"mib": 100}));
    assert!(text(&huge).starts_with("TOO LONG"), "{huge}");
    assert_eq!(text(&client.call(8, "huge", &json!({"mib": 1}))).len(), 1 << 20);
    let memory = memory_kib(client.child.id());
    // Without optimisation the program itself takes a part of that.
    assert!(memory < 96 << 10, "{memory} KiB");
    let names = client.call(9, "environment", &json!({}));
    assert!(
        text(&names).contains("PATH") && !text(&names).contains("SECRET") && !text(&names).contains("XDG"),
        "{names}"
    );
    // The server crashes with one call under way and one request that is not judged.
    client.send(&call(10, "crash", &json!({})));
    let crashed: Json = serde_json::from_str(&client.line()).unwrap();
    assert!(text(&crashed).starts_with("UNKNOWN"), "{crashed}");
    assert_eq!(client.end(), 1);
    let expected =
        [("failed", 1), ("succeeded", 5), ("unknown", 4)].map(|(state, count)| (state.to_owned(), count));
    assert_eq!(outcomes(&project), BTreeMap::from(expected));
    project.sound();
}

#[test]
fn only_the_pinned_gate_is_asked() {
    let (project, other) = (project(), project());
    let words = entry(&project, "t", &[], &test_server(&project));
    let elsewhere = entry(&other, "t", &[], &test_server(&project));
    let value =
        |words: &[String], name: &str| words[words.iter().position(|word| word == name).unwrap() + 1].clone();
    for name in ["--gate", "--key", "--state", "--project"] {
        let changed: Vec<String> = words
            .iter()
            .map(|word| if *word == value(&words, name) { value(&elsewhere, name) } else { word.clone() })
            .collect();
        let ended = ran(Command::new(&changed[0]).args(&changed[1..]).stdin(Stdio::null()));
        assert_eq!(ended.code, 1, "{name}: {}", ended.all());
    }
    // An actor that is not an agent of this user.
    let stranger: Vec<String> =
        words.iter().map(|word| if word == "agent-1" { "alice".to_owned() } else { word.clone() }).collect();
    let mut client = Session::start(&stranger);
    let answer = client.call(1, "echo", &json!({}));
    assert!(text(&answer).starts_with("NOT DECIDED"), "{answer}");
    drop(client);
    // A halted gate says no, and so does one whose policies were never pushed for this.
    project.run(&["halt", "--reason", "x"]).ended(0);
    let mut client = Session::start(&words);
    let answer = client.call(1, "echo", &json!({}));
    assert!(text(&answer).contains("nothing was done"), "{answer}");
    drop(client);
    assert_eq!(seen(&project), Vec::<Json>::new());
}

#[test]
fn a_killed_gateway_leaves_no_doubt_unrecorded() {
    let project = project();
    let words = entry(&project, "t", &[], &test_server(&project));
    let mut sent = 0;
    for round in 0..if soaking() { 200_u64 } else { 10 } {
        let mut client = Session::start(&words);
        client.call(0, "echo", &json!({"n": format!("first-{round}")}));
        for number in 0..12 {
            client.send(&call(number + 1, "echo", &json!({"n": format!("{round}-{number}")})));
        }
        sent += 13;
        std::thread::sleep(Duration::from_millis(round * 7 % 41));
        client.child.kill().unwrap();
        client.child.wait().unwrap();
    }
    // The next gateway reports what the others left open.
    let client = Session::start(&words);
    assert_eq!(client.end(), 0);
    let ran = seen(&project);
    let distinct: std::collections::BTreeSet<String> = ran.iter().map(Json::to_string).collect();
    assert_eq!(distinct.len(), ran.len(), "a call ran twice");
    let entries = project.entries();
    let spent = count(&entries, "permit_spent");
    assert!(ran.len() <= spent && spent <= sent, "{} ran, {spent} were allowed", ran.len());
    let states = outcomes(&project);
    assert!(states.keys().all(|state| ["succeeded", "unknown"].contains(&state.as_str())), "{states:?}");
    assert_eq!(states.values().sum::<usize>(), spent);
    project.sound();
}

/// The packages that `cargo xtask test` has installed.
pub(crate) fn installed(path: &str) -> String {
    let found = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join(path);
    assert!(found.exists(), "`cargo xtask test` installs {}", found.display());
    found.display().to_string()
}

/// Every line that a server answers to a script, in order; each request waits for its answer.
fn transcript(words: &[String], folder: &Path, script: &[Json]) -> Vec<String> {
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (mut input, lines) = (child.stdin.take().unwrap(), lines_of(child.stdout.take().unwrap()));
    let mut found = Vec::new();
    for message in script {
        writeln!(input, "{message}").unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        while message.get("id").is_some() {
            let line = lines.recv_timeout(end.saturating_duration_since(Instant::now())).unwrap();
            let is_answer = serde_json::from_str::<Json>(&line).unwrap().get("id") == message.get("id");
            // Notes of a server come when it likes.
            if is_answer {
                found.push(line);
                break;
            }
        }
    }
    drop(input);
    child.wait().unwrap();
    found
}

#[test]
fn real_servers_answer_the_same_through_the_gateway() {
    let project = Project::with_gate(Kind::File);
    let all: String = [
        ("everything", &["echo", "get-sum"][..]),
        ("files", &["read_text_file", "list_directory"]),
        ("time", &["convert_time"]),
        ("memory", &["read_graph", "create_entities"]),
        ("thinking", &["sequentialthinking"]),
        ("git", &["git_status", "git_log"]),
        ("fetch", &["fetch"]),
        ("sqlite", &["list_tables", "read_query"]),
    ]
    .map(|(server, called)| tools(server, called))
    .concat();
    // Every tool is shown.
    let all = format!(
        "{all}[\"*\"]\naction_type = \"write\"\nresource_type = \"tool\"\nresource_id = \"{{*}}\"\ndomain = \"sales\"\n"
    );
    project.write("policy/tools.toml", &all);
    project.push();
    project.write("data/a.txt", "one\ntwo\n");
    let data = project.path("data").display().to_string();
    let node = |package: &str, last: &str| -> Vec<String> {
        [
            "node".to_owned(),
            installed(&format!("node/node_modules/@modelcontextprotocol/{package}/dist/index.js")),
            last.to_owned(),
        ]
        .into()
    };
    let time = installed("python-mcp/bin/mcp-server-time");
    let request = |id: u64, method: &str, params: Json| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let tool = |id: u64, name: &str, arguments: Json| {
        request(id, "tools/call", json!({"name": name, "arguments": arguments}))
    };
    let opening = [
        request(
            1,
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
        ),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request(2, "tools/list", json!({})),
    ];
    let mut cases: Vec<(&str, Vec<String>, Vec<Json>)> = vec![
        (
            "everything",
            node("server-everything", "stdio"),
            [
                tool(3, "echo", json!({"message": "hi"})),
                tool(4, "get-sum", json!({"a": 2, "b": 3.5})),
                request(5, "resources/list", json!({})),
                request(6, "prompts/list", json!({})),
                request(7, "nothing/known", json!({"x": 1})),
                tool(8, "echo", json!({"message": 3})),
            ]
            .into(),
        ),
        (
            "files",
            node("server-filesystem", &data),
            [
                tool(3, "read_text_file", json!({"path": format!("{data}/a.txt")})),
                tool(4, "list_directory", json!({"path": data})),
                tool(5, "read_text_file", json!({"path": "/etc/hostname"})),
            ]
            .into(),
        ),
        (
            "time",
            [time].into(),
            [tool(
                3,
                "convert_time",
                json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
            )]
            .into(),
        ),
    ];
    if soaking() {
        cases.extend(further_servers(&project, &tool));
    }
    let calls =
        cases.iter().flat_map(|(_, _, calls)| calls).filter(|call| call["method"] == "tools/call").count();
    for (name, server, calls) in cases {
        let script: Vec<Json> = opening.iter().cloned().chain(calls).collect();
        let direct = transcript(&server, &project.root, &script);
        let through = transcript(&entry(&project, name, &[], &server), &project.root, &script);
        assert_eq!(through, direct, "{name}");
    }
    assert_eq!(count(&project.entries(), "permit_spent"), calls);
    project.sound();
}

/// Servers that only the soak asks. None of the calls changes what the next one answers.
fn further_servers(
    project: &Project,
    tool: &impl Fn(u64, &str, Json) -> Json,
) -> Vec<(&'static str, Vec<String>, Vec<Json>)> {
    let node = |package: &str| -> Vec<String> {
        let path = format!("node-mcp-servers/node_modules/@modelcontextprotocol/{package}/dist/index.js");
        vec!["node".to_owned(), installed(&path)]
    };
    let python = |path: &str, arguments: &[&str]| -> Vec<String> {
        std::iter::once(installed(path))
            .chain(arguments.iter().map(|&argument| argument.to_owned()))
            .collect()
    };
    let repository = project.path("repository").display().to_string();
    for arguments in [
        &["init", "--quiet", &repository][..],
        &[
            "-C",
            &repository,
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "x",
        ],
    ] {
        ran(Command::new("git").args(arguments)).ended(0);
    }
    let database = project.path("test.db").display().to_string();
    let thought = json!({"thought": "x", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1});
    vec![
        ("memory", node("server-memory"), vec![tool(3, "read_graph", json!({}))]),
        ("thinking", node("server-sequential-thinking"), vec![tool(3, "sequentialthinking", thought)]),
        (
            "git",
            python("python-mcp-servers/bin/mcp-server-git", &[]),
            vec![
                tool(3, "git_status", json!({"repo_path": repository})),
                tool(4, "git_log", json!({"repo_path": repository})),
            ],
        ),
        (
            "fetch",
            python("python-mcp-servers/bin/mcp-server-fetch", &["--ignore-robots-txt"]),
            vec![tool(3, "fetch", json!({"url": "http://127.0.0.1:9/"}))],
        ),
        (
            "sqlite",
            python("python-mcp-sqlite/bin/mcp-server-sqlite", &["--db-path", &database]),
            vec![tool(3, "list_tables", json!({})), tool(4, "read_query", json!({"query": "SELECT 1 AS x"}))],
        ),
    ]
}

#[test]
fn a_real_client_is_allowed_denied_held_and_served() {
    let project = project();
    let words = entry(&project, "t", &["--wait", "1"], &test_server(&project));
    let python: PathBuf = installed("python-mcp/bin/python").into();
    let mut command = Command::new(python);
    command.arg(script("mcp_client.py")).args(&words).current_dir(repository());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().unwrap();
    let (input, lines) = (child.stdin.take(), lines_of(child.stdout.take().unwrap()));
    let mut client = Session { child, input, lines };
    let listed: Json = serde_json::from_str(&client.line()).unwrap();
    assert_eq!(listed[0], "echo");
    let answer = client.ask(&json!(["echo", {"a": 1}]).to_string());
    assert_eq!(answer, json!({"error": false, "text": "echo {\"a\": 1}"}));
    let denied = client.ask(&json!(["drop", {}]).to_string());
    assert!(denied["error"] == true && denied["text"].as_str().unwrap().starts_with("DENIED"), "{denied}");
    let held = client.ask(&json!(["sell", {}]).to_string());
    let said = held["text"].as_str().unwrap();
    assert!(held["error"] == true && said.starts_with("HELD"), "{held}");
    approve(&project, said.split(['(', ')']).nth(1).unwrap());
    let served = client.ask(&json!(["sell", {}]).to_string());
    assert_eq!(served, json!({"error": false, "text": "sell {}"}));
    assert_eq!(client.end(), 0);
}
