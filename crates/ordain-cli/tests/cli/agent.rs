//! The worked example: an agent in Python proposes, waits for a person, acts and reports.

use crate::harness::{Kind, Project, Ran, SIGNALLED, Server, copy_folder, count};
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

struct Example {
    room: Project,
    server: Server,
    token: String,
}

impl Example {
    fn new() -> Self {
        let room = Project::without_policies(Kind::File);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agent");
        copy_folder(&source, &room.root);
        room.push();
        let token = room.token("agent-1", &["actor", "worker"]);
        let server = room.serve();
        Self { room, server, token }
    }

    fn agent(&self, arguments: &[&str]) -> Child {
        self.agent_at(&self.server.url(), arguments)
    }

    fn agent_at(&self, url: &str, arguments: &[&str]) -> Child {
        let mut agent = Command::new("/usr/bin/python3");
        agent.arg("agent.py").args(arguments).current_dir(&self.room.root).stdin(Stdio::null());
        agent.env("ORDAIN_SERVER", url).env("ORDAIN_TOKEN", &self.token);
        agent.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn email(&self) -> String {
        let crm = std::fs::read(self.room.path("crm.json")).unwrap();
        let crm: Json = serde_json::from_slice(&crm).unwrap();
        crm["contact-7"]["email"].as_str().unwrap().to_owned()
    }
}

/// Waits until the agent has said that its action is held; gives the action's id.
fn held(agent: &mut Child) -> (String, BufReader<std::process::ChildStdout>) {
    let mut stdout = BufReader::new(agent.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let (id, state) = line.trim().split_once(": ").unwrap_or_else(|| panic!("{line}"));
    assert_eq!(state, "held");
    (id.to_owned(), stdout)
}

fn end(mut agent: Child, mut stdout: BufReader<std::process::ChildStdout>) -> Ran {
    let mut said = Ran { code: SIGNALLED, stdout: String::new(), stderr: String::new() };
    stdout.read_to_string(&mut said.stdout).unwrap();
    agent.stderr.take().unwrap().read_to_string(&mut said.stderr).unwrap();
    said.code = agent.wait().unwrap().code().unwrap_or(SIGNALLED);
    said
}

#[test]
fn an_agent_asks_before_it_acts() {
    let example = Example::new();
    let room = &example.room;
    let mut agent = example.agent(&["agent-1", "crm.json", "7", "new@example.org"]);
    let (id, stdout) = held(&mut agent);
    assert_eq!(example.email(), "old@example.org", "nothing happens before somebody has approved");
    let status = room.run(&["status", &id, "--json"]).ended(20).json();
    let view = status["view_digest"].as_str().unwrap();
    room.approve_as("mallory", &id, view).ended(1);
    room.approve_as("alice", &id, view).ended(0);
    end(agent, stdout).ended(0).says(&format!("{id}: succeeded"));
    assert_eq!(example.email(), "new@example.org");

    let mut agent = example.agent(&["agent-1", "crm.json", "7", "evil@example.org"]);
    let (rejected, stdout) = held(&mut agent);
    room.run_as("alice", &["approver"], &["reject", &rejected, "--reason", "not this one"]).ended(21);
    end(agent, stdout).ended(1).says("alice: reject, not this one").says("not allowed: denied");
    assert_eq!(example.email(), "new@example.org");

    // An action outside the policy is not even held.
    let mut agent = example.agent(&["agent-2", "crm.json", "7", "evil@example.org"]);
    let stdout = BufReader::new(agent.stdout.take().unwrap());
    end(agent, stdout).ended(1).says("refused (403)");

    let status = room.run(&["status", &id, "--json"]).ended(0).json();
    assert_eq!(status["state"], "succeeded");
    assert_eq!(status["permit"]["uses"][0]["settled"]["affected_records"], 1);
    let entries = room.entries();
    let kinds = ["submitted", "approved", "rejected", "permit_minted", "permit_spent", "permit_settled"];
    assert_eq!(kinds.map(|kind| count(&entries, kind)), [2, 1, 1, 1, 1, 1]);
    // Replayed, everything comes out the same, and with policies that allow nothing the ALLOWs flip.
    let replay = room.run(&["replay", "--json"]).ended(0).json();
    assert_eq!((&replay["decisions"], &replay["same"]), (&5.into(), &5.into()));
    room.write("stricter/none.cedar", "@id(\"none\") forbid (principal, action, resource);\n");
    let replay = room.run(&["replay", "--policy", "stricter", "--json"]).ended(1).json();
    let flips = replay["flips"].as_array().unwrap();
    assert!(
        flips.iter().all(|flip| flip["action_id"] == id.as_str() || flip["action_id"] == rejected.as_str())
    );
    assert!(flips.iter().any(|flip| flip["was"] == "ALLOW" && flip["would_be"] == "DENY"), "{replay}");
    example.server.stop();
    example.room.sound();
}

/// Passes requests on to a server. The answer to the first that spends a permit is lost, as after a timeout;
/// `passed` says whether the server got it.
fn lossy(address: String, passed: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut lost = false;
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let request = request(&mut client);
            let loses = !lost && request.starts_with(b"POST ") && request.windows(5).any(|it| it == b"/use ");
            let mut answer = Vec::new();
            if passed || !loses {
                let mut server = TcpStream::connect(&address).unwrap();
                server.write_all(&request).unwrap();
                server.read_to_end(&mut answer).unwrap();
            }
            if loses {
                lost = true;
                let body = r#"{"code":"uncertain","detail":"the answer took too long","status":503}"#;
                let head = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/problem+json";
                answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
            }
            let _ = client.write_all(&answer);
        }
    });
    url
}

/// One request of a client that closes the connection afterwards, as Python's does.
fn request(client: &mut TcpStream) -> Vec<u8> {
    let mut reader = BufReader::new(client);
    let (mut head, mut length) = (Vec::new(), 0);
    loop {
        let start = head.len();
        reader.read_until(b'\n', &mut head).unwrap();
        let line = String::from_utf8_lossy(&head[start..]).to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    [head, body].concat()
}

/// After a lost answer the agent looks: it never spends a second use on top of one, and never acts on one it
/// was not given.
#[test]
fn an_agent_looks_before_it_spends_again() {
    for (passed, code, events, email) in
        [(true, 1, [1, 1], "old@example.org"), (false, 0, [1, 1], "new@example.org")]
    {
        let example = Example::new();
        let url = lossy(example.server.address.clone(), passed);
        let mut agent = example.agent_at(&url, &["agent-1", "crm.json", "7", "new@example.org"]);
        let (id, stdout) = held(&mut agent);
        let status = example.room.run(&["status", &id, "--json"]).ended(20).json();
        let view = status["view_digest"].as_str().unwrap();
        example.room.approve_as("alice", &id, view).ended(0);
        end(agent, stdout).ended(code);
        assert_eq!(example.email(), email);
        let entries = example.room.entries();
        assert_eq!(["permit_spent", "permit_settled"].map(|kind| count(&entries, kind)), events);
        let code = if passed { 22 } else { 0 };
        example.room.run(&["status", &id]).ended(code);
        example.server.stop();
        example.room.sound();
    }
}
