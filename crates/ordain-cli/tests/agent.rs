//! The worked example: an agent in Python proposes, waits for a person, acts and reports.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod support;

use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use support::{Kind, Ran, Room, Server, count};

struct Example {
    room: Room,
    server: Server,
    token: String,
}

impl Example {
    fn new() -> Self {
        let room = Room::bare(Kind::File);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agent");
        support::copy_folder(&source, &room.root);
        let token = room.token("agent-1", &["actor", "worker"]);
        let server = room.serve();
        Self { room, server, token }
    }

    fn agent(&self, arguments: &[&str]) -> Child {
        let mut agent = Command::new("/usr/bin/python3");
        agent.arg("agent.py").args(arguments).current_dir(&self.room.root).stdin(Stdio::null());
        agent.env("ORDAIN_SERVER", self.server.url()).env("ORDAIN_TOKEN", &self.token);
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
    let mut said = Ran { code: None, stdout: String::new(), stderr: String::new() };
    stdout.read_to_string(&mut said.stdout).unwrap();
    agent.stderr.take().unwrap().read_to_string(&mut said.stderr).unwrap();
    said.code = agent.wait().unwrap().code();
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
    room.run(&["approve", &id, "--view", view, "--as", "mallory"]).ended(1);
    room.run(&["approve", &id, "--view", view, "--as", "alice"]).ended(0);
    end(agent, stdout).ended(0).says(&format!("{id}: succeeded"));
    assert_eq!(example.email(), "new@example.org");

    let mut agent = example.agent(&["agent-1", "crm.json", "7", "evil@example.org"]);
    let (rejected, stdout) = held(&mut agent);
    room.run(&["reject", &rejected, "--reason", "not this one", "--as", "alice"]).ended(21);
    end(agent, stdout).ended(1).says("alice: reject, not this one").says("not allowed: denied");
    assert_eq!(example.email(), "new@example.org");

    // What is not in the policy is not even held.
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
