//! `ordain serve --listen unix:PATH` beside TCP, and `--server unix:PATH`.

use crate::harness::{Kind, Project, Ran, Server, proposal, ran, unique};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;

/// A command that asks the server at this address.
fn ask(room: &Project, address: &str, token: &str, arguments: &[&str]) -> Ran {
    ran(room.command(arguments).args(["--server", address]).env("ORDAIN_TOKEN", token))
}

#[test]
fn a_socket_and_a_port_lead_to_the_same_gate() {
    let room = Project::with_gate(Kind::File);
    room.write("p.json", &proposal("p", "crm", 1).to_string());
    let agent = room.token("agent-1", &["actor"]);
    let auditor = room.token("audrey", &["auditor"]);
    let path = room.path("gate.sock");
    let address = format!("unix:{}", path.display());
    let server = room.serve_with(&["--listen", &address]).unwrap_or_else(|ran| panic!("{}", ran.all()));
    let file = std::fs::metadata(&path).unwrap();
    assert!(file.file_type().is_socket());
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    ask(&room, &address, &agent, &["submit", "p.json"]).ended(0);
    for place in [address.as_str(), &server.url()] {
        let status = ask(&room, place, &auditor, &["status", "p", "--json"]).ended(0).json();
        assert_eq!((&status["action_id"], &status["state"]), (&"p".into(), &"allowed".into()));
    }
    // A relative path, as a person writes it; and a token is needed here too.
    ask(&room, "unix:gate.sock", &auditor, &["status", "p"]).ended(0);
    ask(&room, &address, "ordain_0123456789abcdef_none", &["status", "p"]).ended(1).says("token");
    ask(&room, &address, &agent, &["halt", "--reason", "no"]).ended(1).says("operator");
    server.stop();
    assert!(!path.exists(), "the socket is left behind");
    ask(&room, &address, &auditor, &["status", "p"]).ended(1).says("gate.sock");
    let names = std::fs::read_dir(&room.root).unwrap().map(|entry| entry.unwrap().file_name());
    let hidden: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

/// Over a socket the kernel says who asks: the user of this test is `olga`, who owns `agent-1`.
#[test]
fn a_socket_knows_its_peer_without_a_token() {
    let room = Project::with_gate(Kind::File);
    room.write("p.json", &proposal("p", "crm", 1).to_string());
    let address = format!("unix:{}", room.path("gate.sock").display());
    let server = serve_alone(&room, &address).unwrap_or_else(|ran| panic!("{}", ran.all()));
    let as_user = |arguments: &[&str]| ran(room.command(arguments).args(["--server", &address]));
    as_user(&["submit", "p.json"]).ended(0);
    let mut foreign = proposal("q", "crm", 2);
    foreign["actor"] = "alice".into();
    room.write("q.json", &foreign.to_string());
    as_user(&["submit", "q.json"]).ended(1).says("may not propose as `alice`");
    // A user can only ask: no tokens, no ledger, no other keys. A person may halt, which only makes the gate stricter.
    for arguments in [&["token", "list"][..], &["ledger", "show"]] {
        as_user(arguments).ended(1).says("lacks the role");
    }
    for arguments in [&["token", "create", "mallory", "--role", "operator"][..], &["keys", "rotate"]] {
        as_user(arguments).ended(1).says("nobody owns this gate yet");
    }
    as_user(&["halt", "--reason", "x"]).ended(0).says("halted  by olga");
    as_user(&["resume", "--reason", "x"]).ended(1).says("nobody owns this gate yet");
    room.run(&["resume", "--reason", "x"]).ended(0);
    // A stranger to the policies is nobody.
    let entities = room.read("policy/entities.json");
    room.write("policy/entities.json", &entities.replace("\"os_user\":\"", "\"os_user\":\"x"));
    room.push();
    as_user(&["status", "p"]).ended(1).says("no actor of the policies in force is the user");
    server.stop();
    let entries = room.entries();
    let submitted = entries.iter().find(|entry| entry["entry"]["event"]["kind"] == "submitted").unwrap();
    assert_eq!((&submitted["entry"]["by"], &submitted["entry"]["how"]), (&"olga".into(), &"peer".into()));
}

/// A server that listens on a socket alone.
fn serve_alone(room: &Project, address: &str) -> Result<Server, Ran> {
    Server::start(room.command(&["serve", "--json", "--listen", address]), &room.path(&unique("server-log")))
}

#[test]
fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
    let room = Project::with_gate(Kind::File);
    let token = room.token("audrey", &["auditor"]);
    let address = format!("unix:{}", room.path("gate.sock").display());
    let killed = serve_alone(&room, &address).unwrap_or_else(|ran| panic!("{}", ran.all()));
    killed.kill();
    assert!(room.path("gate.sock").exists());
    let server = serve_alone(&room, &address).unwrap_or_else(|ran| panic!("{}", ran.all()));
    ask(&room, &address, &token, &["status"]).ended(0);
    let refused = serve_alone(&room, &address).err().unwrap();
    refused.ended(1).says("another server listens there");
    ask(&room, &address, &token, &["status"]).ended(0);
    // A socket that another program put in its place stays when the server ends.
    std::fs::remove_file(room.path("gate.sock")).unwrap();
    let _other = UnixListener::bind(room.path("gate.sock")).unwrap();
    server.stop();
    assert!(room.path("gate.sock").exists());
}

#[test]
fn a_path_that_cannot_be_a_socket_is_an_error() {
    let room = Project::with_gate(Kind::File);
    room.write("file", "precious");
    for (path, words) in [("file", "is not a socket"), ("missing/gate.sock", "No such file")] {
        let address = format!("unix:{}", room.path(path).display());
        serve_alone(&room, &address).err().unwrap().ended(1).says(words);
    }
    assert_eq!(std::fs::read_to_string(room.path("file")).unwrap(), "precious");
    serve_alone(&room, "unix:").err().unwrap().ended(64).says("path of a socket");
    serve_alone(&room, "gate.sock").err().unwrap().ended(64).says("unix:PATH");
}
