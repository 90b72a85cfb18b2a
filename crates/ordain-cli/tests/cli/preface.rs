//! The preface of a unix socket: an open descriptor says which project a request is about, and nothing else does.

use crate::harness::{Kind, Project, Ran, Server, fed, folder, proposal, ran, unique};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::Command;

/// Sends a preface and one request, and prints status and body. The first argument says what the preface is.
const ASK: &str = r#"
import json, os, socket, sys
how, path, at, socket_path = sys.argv[1:5]
body = sys.stdin.buffer.read()
peer = socket.socket(socket.AF_UNIX)
def opened(name):
    return os.open(name, os.O_PATH)
fds = {"none": [], "bare": [], "one": [opened(at)], "two": [opened(at), opened("/")]}.get(how, [])
if how == "deleted":
    fds = [opened(at)]
    os.rmdir(at)
if how == "renamed":
    fds = [opened(at)]
    os.rename(at, at + "-away")
peer.connect(socket_path)
if how == "bare":
    peer.send(b"\0")
elif fds:
    socket.send_fds(peer, [b"\0"], fds)
peer.sendall(b"POST %s HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(body)) + body)
answer = b""
while data := peer.recv(65536):
    answer += data
head, _, body = answer.partition(b"\r\n\r\n")
print(json.dumps({"status": int(head.split()[1]), "body": json.loads(body)}))
"#;

struct Scene {
    room: Project,
    server: Option<Server>,
}

impl Scene {
    fn new() -> Self {
        let room = Project::with_gate(Kind::File);
        let address = format!("unix:{}", room.path("gate.sock").display());
        let command = room.command(&["serve", "--json", "--listen", &address]);
        let server = Server::start(command, &room.path(&unique("server-log")));
        Self { room, server: Some(server.unwrap_or_else(|ran: Ran| panic!("{}", ran.all()))) }
    }

    /// Status and body of the answer to a request whose preface is made like this.
    fn ask(&self, how: &str, at: &Path, path: &str, body: &Json) -> (u64, Json) {
        let mut python = Command::new("python3");
        python.args(["-c", ASK, how, path]).arg(at).arg(self.room.path("gate.sock"));
        let mut answer = fed(&mut python, body.to_string().as_bytes()).ended(0).json();
        (answer["status"].as_u64().unwrap(), answer["body"].take())
    }
}

#[test]
fn a_descriptor_says_which_project_it_is_about() {
    let mut scene = Scene::new();
    let room = &scene.room;
    let elsewhere = folder();
    for name in ["src", "gone", "old"] {
        std::fs::create_dir(room.path(name)).unwrap();
    }
    room.write("file", "x");
    let mut number = 0;
    let mut submit = |how: &str, at: &Path| {
        number += 1;
        let wanted = proposal(&format!("p{number}"), "crm", number);
        let (status, body) = scene.ask(how, at, "/v1/actions", &wanted);
        (status, body["detail"].as_str().unwrap_or_default().to_owned())
    };
    for (how, at, status, words) in [
        ("one", room.root.as_path(), 201, ""),
        ("one", &room.path("src"), 201, ""),
        // The folder is the same one under another name.
        ("renamed", &room.path("old"), 201, ""),
        ("deleted", &room.path("gone"), 403, "was deleted"),
        ("one", &room.path("file"), 403, "not of a folder"),
        ("one", elsewhere.path(), 403, "belongs to no project of this gate"),
        ("one", Path::new("/"), 403, "belongs to no project of this gate"),
        ("none", &room.root, 403, "names no project folder"),
        ("bare", &room.root, 400, "without a descriptor"),
        ("two", &room.root, 400, "more than one descriptor"),
    ] {
        let answered = submit(how, at);
        assert_eq!(answered.0, status, "{how} {}: {}", at.display(), answered.1);
        assert!(answered.1.contains(words), "{how}: {}", answered.1);
    }
    // Requests that are about no workspace need no project. A token says who asks, and needs none either.
    let address = format!("unix:{}", room.path("gate.sock").display());
    let mut status = room.command(&["status", "p1", "--server", &address]);
    ran(status.current_dir(elsewhere.path())).ended(0);
    let token = room.token("agent-1", &["actor"]);
    room.write("t.json", &proposal("t", "crm", 99).to_string());
    let mut submit = room.command(&["submit", room.path("t.json").to_str().unwrap(), "--server", &address]);
    ran(submit.current_dir(elsewhere.path()).env("ORDAIN_TOKEN", token)).ended(0);
    scene.server.take().unwrap().stop();
    scene.room.sound();
}

#[test]
fn two_projects_of_a_gate_never_share_a_deed() {
    let mut scene = Scene::new();
    let other = folder();
    let gates = scene.room.run(&["gate", "list", "--json"]).ended(0).json();
    let gate = gates["gate"].as_str().unwrap();
    let second = other.path().to_str().unwrap();
    let registered = scene.room.run(&["gate", "register", second, "--gate", gate, "--json"]).ended(0).json();
    assert_ne!(registered["project_id"], gates["projects"][0]["project_id"]);

    let call = |id: &str| {
        let mut wanted = proposal("a1", "sales", 1);
        wanted["proposal_id"] = id.into();
        wanted
    };
    let act = |at: &Path, id: &str| scene.ask("one", at, "/v1/act", &call(id));
    let (status, first) = act(&scene.room.root, "a1");
    assert_eq!((status, &first["outcome"]), (200, &json!("HOLD")), "{first}");
    let (_, again) = act(&scene.room.root, "a2");
    assert_eq!((&again["joined"], &again["deed"]), (&json!(true), &first["deed"]));
    // The id of an action does not lead from one to the other, nor does its deed.
    for path in ["/v1/act", "/v1/actions"] {
        let (status, refused) = scene.ask("one", other.path(), path, &call("a1"));
        assert_eq!(status, 409, "{refused}");
        assert!(refused["detail"].as_str().unwrap().contains("another project"), "{refused}");
    }
    let (_, foreign) = act(other.path(), "a3");
    assert_eq!((&foreign["outcome"], &foreign["joined"]), (&json!("HOLD"), &json!(false)), "{foreign}");
    assert_ne!(foreign["deed"], first["deed"]);
    assert_eq!(foreign["action"]["action_id"], "a3");
    scene.server.take().unwrap().stop();
    scene.room.sound();
}
