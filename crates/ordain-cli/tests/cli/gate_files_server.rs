//! Files go through the gate of a server where one is named: it is asked, its permits are spent, it gets the reports.

#![cfg(target_os = "linux")]

use crate::harness::{Kind, Project, Ran, SIGNALLED, count, ran};
use serde_json::json;

/// Agents may change any file of a workspace.
const FILES: &str = r#"
@id("files")
permit (principal in Group::"agents", action, resource in Domain::"workspace");
"#;

/// A folder that is not a project, with a patch set in it.
struct Folder(Project);

impl Folder {
    fn new() -> Self {
        let folder = Self(Project::empty());
        folder.0.write("a.md", "old\n");
        let patch = json!({"patch_schema_version": "1.0.0", "source_proposal_id": "by hand",
            "source_proposal_hash": format!("sha256:{}", "0".repeat(64)), "total_bytes": 4,
            "operations": [{"op": "modify", "path": "a.md", "content": "new\n"}]});
        folder.0.write("patch.json", &patch.to_string());
        folder
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
        ran(self.0.command(arguments).envs(environment.iter().copied()))
    }

    fn text(&self) -> String {
        self.0.read("a.md")
    }
}

fn room() -> Project {
    let room = Project::with_gate(Kind::File);
    room.write("policy/files.cedar", FILES);
    let entities = std::fs::read_to_string(room.path("policy/entities.json")).unwrap();
    let mut entities: serde_json::Value = serde_json::from_str(&entities).unwrap();
    let workspace = json!({"uid": {"type": "Domain", "id": "workspace"}, "attrs": {}, "parents": []});
    entities.as_array_mut().unwrap().push(workspace);
    room.write("policy/entities.json", &entities.to_string());
    room.push();
    room
}

#[test]
fn the_server_is_asked_and_told() {
    let room = room();
    let token = room.token("agent-1", &["actor", "worker"]);
    let server = room.serve();
    let (url, folder) = (server.url(), Folder::new());
    let environment = [("ORDAIN_SERVER", url.as_str()), ("ORDAIN_TOKEN", token.as_str())];
    let applied = folder.run(&["apply", "patch.json", "--actor", "agent-1"], &environment).ended(0);
    assert!(!applied.stderr.contains("no policy was asked"), "{}", applied.stderr);
    assert_eq!(folder.text(), "new\n");
    let undone = folder.run(&["undo", "--actor", "agent-1", "--server", &url], &[("ORDAIN_TOKEN", &token)]);
    undone.ended(0).says("undone");
    assert_eq!(folder.text(), "old\n");
    // The owner of another token is refused, and nothing happens.
    folder.run(&["apply", "patch.json", "--actor", "agent-2"], &environment).ended(1).says("may not propose");
    let gone = [("ORDAIN_SERVER", "http://127.0.0.1:1"), ("ORDAIN_TOKEN", token.as_str())];
    folder.run(&["apply", "patch.json", "--actor", "agent-1"], &gone).ended(1).says("127.0.0.1:1");
    assert_eq!(folder.text(), "old\n");
    let entries = room.entries();
    for kind in ["applied", "undone"] {
        assert_eq!(count(&entries, kind), 1, "{kind}");
    }
    assert_eq!(count(&entries, "permit_spent"), count(&entries, "permit_settled"));
    server.stop();
    room.sound();
}

/// An interrupted use is reported to the server that gave the permit, and to no other.
#[test]
fn an_interrupted_change_is_reported_to_its_server() {
    let room = room();
    let token = room.token("agent-1", &["actor", "worker"]);
    let server = room.serve();
    let (url, folder) = (server.url(), Folder::new());
    let mut killed = folder.0.program("strace");
    killed.args([
        "-o",
        "/dev/null",
        "-e",
        "trace=renameat2",
        "-e",
        "inject=renameat2:signal=KILL:when=1",
        "--",
    ]);
    killed.arg(env!("CARGO_BIN_EXE_ordain")).args(["apply", "patch.json", "--actor", "agent-1"]);
    killed.env("ORDAIN_SERVER", &url).env("ORDAIN_TOKEN", &token);
    assert_eq!(ran(&mut killed).code, SIGNALLED);
    let later = folder.run(&["rules", "PS4"], &[]).ended(0);
    assert!(later.stderr.contains(&format!("ordain recover --server {url}")), "{}", later.stderr);
    assert_eq!((count(&room.entries(), "applied"), folder.text().as_str()), (0, "new\n"));
    let dead = [("ORDAIN_SERVER", "http://127.0.0.1:1"), ("ORDAIN_TOKEN", token.as_str())];
    folder.run(&["rules", "PS4"], &dead).ended(0).says("is not reported yet");
    folder.run(&["recover", "--server", &url], &[("ORDAIN_TOKEN", &token)]).ended(0).says("is reported now");
    assert_eq!(count(&room.entries(), "applied"), 1);
    assert_eq!(folder.run(&["rules", "PS4"], &[]).stderr, "");
    server.stop();
    room.sound();
}
