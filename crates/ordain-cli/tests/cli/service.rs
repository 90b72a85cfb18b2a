//! The service level: the gate runs as its own user, and everybody else can only ask. Real users, in a mount namespace.

use crate::harness::{Machine, ordain, proposal};
use serde_json::{Value as Json, json};
use std::path::Path;

const PASSPHRASE: &str = "correct horse battery staple";
pub(crate) const SOCKET: &str = "unix:/run/ordain/gate.sock";

/// Asks to register the folder above all others as a project, with a statement that nobody signed, and prints the
/// answer.
const FORGED_REGISTRATION: &str = r#"
import base64, json, os, socket
statement = [{"statement": "x", "method": "ed25519", "key_id": "k", "signature": "s"}]
header = base64.urlsafe_b64encode(json.dumps(statement).encode()).rstrip(b"=")
body = json.dumps({"path": "/tmp"}).encode()
peer = socket.socket(socket.AF_UNIX)
peer.connect("/run/ordain/gate.sock")
socket.send_fds(peer, [b"\0"], [os.open("/", os.O_PATH)])
peer.sendall(b"POST /v1/projects HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\nConnection: close\r\nordain-statement: %s\r\nContent-Length: %d\r\n\r\n" % (header, len(body)) + body)
answer = b""
while data := peer.recv(65536):
    answer += data
print(answer.partition(b"\r\n\r\n")[2].decode())
"#;

/// Agents of olga may change contacts at once, and in `sales` when she has approved. `agent` is a user of its own.
/// Where the agent is one, olga may also read the record.
fn policies(agent: Option<&str>) -> [(&'static str, String); 2] {
    let cedar = r#"
@id("change-contact")
permit (principal in Group::"agents", action == Action::"write", resource in Domain::"crm");
@id("change-sales")
@approval("single")
@approvers("people")
permit (principal in Group::"agents", action == Action::"write", resource in Domain::"sales");
"#;
    let mut attributes = json!({"agent_of": "olga"});
    if let Some(user) = agent {
        attributes["os_user"] = user.into();
    }
    let mut olga = json!({"os_user": "olga"});
    if agent.is_some() {
        olga["roles"] = json!(["auditor"]);
    }
    let entity = |kind: &str, id: &str, attributes: Json, groups: &[&str]| {
        let parents: Vec<Json> = groups.iter().map(|id| json!({"type": "Group", "id": id})).collect();
        json!({"uid": {"type": kind, "id": id}, "attrs": attributes, "parents": parents})
    };
    let entities = json!([
        entity("Group", "agents", json!({}), &[]),
        entity("Group", "people", json!({}), &[]),
        entity("Domain", "crm", json!({}), &[]),
        entity("Domain", "sales", json!({}), &[]),
        entity("Actor", "agent-1", attributes, &["agents"]),
        entity("Actor", "olga", olga, &["people"]),
    ]);
    [("crm.cedar", cedar.to_owned()), ("entities.json", entities.to_string())]
}

pub(crate) fn write_policies(folder: &Path, agent: Option<&str>) {
    std::fs::create_dir_all(folder).unwrap();
    for (name, text) in policies(agent) {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

#[test]
fn a_dry_run_prints_a_unit_that_systemd_takes_and_changes_nothing() {
    let planned =
        ordain(&["service", "install", "--owner", "root", "--dry-run", "--json"], "").ended(0).json();
    let unit = planned["unit"].as_str().unwrap();
    for line in [
        "User=ordain",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "CapabilityBoundingSet=\n",
        "RestrictAddressFamilies=AF_UNIX",
        "StateDirectoryMode=0700",
        "UMask=0077",
    ] {
        assert!(unit.contains(line), "{line} is not in {unit}");
    }
    let states: Vec<&Json> = planned["steps"].as_array().unwrap().iter().map(|step| &step["state"]).collect();
    assert!(!states.contains(&&json!("done")), "{planned}");
    assert!(!Path::new("/etc/systemd/system/ordain.service").exists());
    ordain(&["service", "install", "--owner", "no-such-user", "--dry-run"], "").ended(64).says("no user");
    ordain(&["service", "uninstall", "--dry-run"], "").ended(0).says("no policy is asked there");
}

/// One long story, because each passphrase takes a second: install, claim, register, propose; and an agent
/// that tries the rest.
#[test]
fn a_service_lets_other_users_only_ask() {
    let machine = Machine::new();
    let shop = machine.path("shop");
    std::fs::create_dir_all(shop.join("src")).unwrap();
    machine.root(&["chown", "-R", "agent", shop.to_str().unwrap()]).ended(0);
    let start = machine.path("start");
    write_policies(&start, None);
    let policy = start.to_str().unwrap();

    // Only root installs, with policies that name the owner, and a program that nobody else can replace.
    let install = ["service", "install", "--owner", "olga", "--no-start", "--policy", policy];
    machine.ordain("olga", &shop, &install).ended(64).says_all(&["only root", "--dry-run"]);
    machine.ordain("root", &shop, &install[..4]).ended(64).says("systemd does not run");
    let mallory = ["service", "install", "--owner", "mallory", "--no-start", "--policy", policy];
    machine
        .ordain("root", &shop, &mallory)
        .ended(1)
        .says("no actor in entities.json has the `os_user` `mallory`");
    // An account of somebody with the service's name would have the gate.
    machine.root(&["useradd", "--no-create-home", "ordain"]).ended(0);
    machine.ordain("root", &shop, &install).ended(64).says("is somebody's account");
    machine.root(&["userdel", "ordain"]).ended(0);
    // A folder that somebody else can write to could have root write elsewhere.
    let trap = "mkdir -p /opt/ordain && chown agent /opt/ordain && touch /opt/target && ln -s /opt/target /opt/ordain/ordain.new";
    machine.root(&["sh", "-c", trap]).ended(0);
    machine.ordain("root", &shop, &install).ended(1).says_all(&["/opt/ordain", "others than root"]);
    machine.root(&["sh", "-c", "test ! -s /opt/target && rm -r /opt/ordain"]).ended(0);
    machine.ordain("root", &shop, &install).ended(0).says_all(&["/opt/ordain/ordain", "ordain init --claim"]);
    let again = machine.ordain("root", &shop, &[&install[..], &["--json"]].concat()).ended(0).json();
    assert!(again["steps"].as_array().unwrap().iter().all(|step| step["state"] == "unchanged"), "{again}");
    machine.root(&["systemd-analyze", "verify", "/etc/systemd/system/ordain.service"]).ended(0);

    let server = machine.start_service().unwrap_or_else(|ran| panic!("{}", ran.all()));
    assert!(server.log().contains("this gate is open"), "{}", server.log());
    let socket = machine.root(&["stat", "-c", "%U %G %a", "/run/ordain/gate.sock"]).ended(0).stdout;
    assert_eq!(socket, "ordain ordain 660\n");

    // Until its owner claims it, the gate takes no owner act, and nobody else can claim it.
    let push = ["policy", "push", policy, "--server", SOCKET];
    machine.ordain("olga", &shop, &push).ended(1).says_all(&["nobody owns this gate yet", "user `olga`"]);
    machine.ordain("mallory", &shop, &["status", "--server", SOCKET]).ended(1).says("ermission denied");
    machine.root(&["usermod", "--append", "--groups", "ordain", "agent"]).ended(0);
    let unknown = "no actor of the policies in force is the user `agent`";
    machine.ordain("agent", &shop, &["init", "--claim"]).ended(1).says_all(&[unknown, "os_user"]);
    let claim = [("New passphrase: ", PASSPHRASE), ("The same again: ", PASSPHRASE), ("[y/N] ", "y")];
    machine.on_terminal("olga", &shop, &claim, &["init", "--claim"]).ended(0).says("olga owns this gate");

    // A person may halt, whatever the policies say. To read the record, they must say so.
    machine.ordain("olga", &shop, &["halt", "--reason", "tea", "--server", SOCKET]).ended(0).says("halted");
    machine
        .ordain("olga", &shop, &["ledger", "show", "--server", SOCKET])
        .ended(1)
        .says_all(&["lacks the roles `auditor`", "entities.json"]);
    let resume = ["resume", "--reason", "tea is over", "--server", SOCKET];
    machine.ordain("olga", &shop, &resume).ended(64).says("terminal");
    let pass = [("Passphrase: ", PASSPHRASE)];
    machine.on_terminal("olga", &shop, &pass, &resume).ended(0);

    // Owner acts over the socket take the owner's passphrase.
    let more = machine.path("more");
    write_policies(&more, Some("agent"));
    let push = ["policy", "push", more.to_str().unwrap(), "--server", SOCKET];
    machine.ordain("olga", &shop, &push).ended(64).says("terminal");
    machine.on_terminal("olga", &shop, &pass, &push).ended(0).says_all(&[
        "To be signed",
        "push_policy",
        "in force",
    ]);

    // A folder that nobody registered is nobody's business.
    let wanted = shop.join("p.json");
    std::fs::write(&wanted, proposal("p1", "sales", 1).to_string()).unwrap();
    machine
        .ordain("agent", &shop, &["submit", "p.json"])
        .ended(1)
        .says("no gate is registered for this folder");
    let asked = ["submit", "p.json", "--server", SOCKET];
    machine
        .ordain("agent", &shop, &asked)
        .ended(1)
        .says_all(&["belongs to no project", "ordain gate register"]);
    machine.ordain("agent", &shop, &["gate", "register"]).ended(1).says("ask the person whose agent it is");
    machine
        .on_terminal("olga", &shop, &pass, &["gate", "register"])
        .ended(0)
        .says("with the gate of the service");

    // Worktrees outside the project belong to it, and the record says so.
    let trees = machine.path("trees");
    std::fs::create_dir_all(trees.join("one/deep")).unwrap();
    std::fs::write(trees.join("one/.git"), "gitdir: elsewhere\n").unwrap();
    machine.root(&["chown", "-R", "agent", trees.to_str().unwrap()]).ended(0);
    let worktrees = ["gate", "register", "--worktrees", trees.to_str().unwrap()];
    machine.ordain("agent", &shop, &worktrees).ended(1).says("ask the person whose agent it is");
    machine.on_terminal("olga", &shop, &pass, &worktrees).ended(0).says_all(&["worktrees in", "trees"]);
    std::fs::write(trees.join("one/p.json"), proposal("w1", "crm", 9).to_string()).unwrap();
    machine.ordain("agent", &trees.join("one/deep"), &["submit", "../p.json"]).ended(0).says("w1");
    let listed = machine.ordain("olga", &shop, &["gate", "list"]).ended(0);
    listed.says_all(&[shop.to_str().unwrap(), &format!("worktrees in {}", trees.display()), "gate.sock"]);
    let listed = machine.ordain("olga", &shop, &["gate", "list", "--json"]).ended(0).json();
    assert_eq!(
        (&listed["service"], &listed["projects"][0]["path"]),
        (&json!(true), &json!(shop)),
        "{listed}"
    );
    let stranger = machine.ordain("agent", &shop, &["gate", "list"]).ended(0);
    assert!(!stranger.all().contains(trees.to_str().unwrap()), "{}", stranger.all());
    stranger.says("are not listed");
    // A registration ends by an owner's signature too.
    let docs = machine.path("docs");
    std::fs::create_dir_all(&docs).unwrap();
    machine.on_terminal("olga", &docs, &pass, &["gate", "register"]).ended(0);
    machine
        .ordain("agent", &shop, &["gate", "forget", docs.to_str().unwrap()])
        .ended(1)
        .says("lacks the role");
    machine.ordain("olga", &shop, &["gate", "forget", docs.to_str().unwrap()]).ended(64).says("terminal");
    let forget = ["gate", "forget", docs.to_str().unwrap()];
    machine.on_terminal("olga", &shop, &pass, &forget).ended(0).says_all(&["forget_project", "forgotten"]);
    machine.ordain("olga", &shop, &forget).ended(1).says("is not registered");

    // A statement that nobody signed tells nothing about the projects of others.
    let mut forged = machine.command("agent", &shop, &["python3", "-c", FORGED_REGISTRATION]);
    let answer = crate::harness::ran(&mut forged).ended(0).json();
    assert_eq!(answer["code"], "presence", "{answer}");
    assert!(!answer.to_string().contains(machine.path("").to_str().unwrap()), "{answer}");

    // The agent proposes, from any folder of the project, and that is all.
    machine.ordain("agent", &shop, &["submit", "p.json"]).ended(20).says("p1");
    std::fs::write(&wanted, proposal("p2", "crm", 2).to_string()).unwrap();
    machine.ordain("agent", &shop.join("src"), &["submit", "../p.json"]).ended(0);
    let mut foreign = proposal("p3", "crm", 3);
    foreign["actor"] = "olga".into();
    std::fs::write(&wanted, foreign.to_string()).unwrap();
    machine.ordain("agent", &shop, &["submit", "p.json"]).ended(1).says("may not propose as `olga`");
    machine.ordain("agent", &shop, &["approve", "p1"]).ended(64).says("terminal");
    for arguments in [
        &["policy", "push", policy][..],
        &["token", "create", "agent-1", "--role", "operator"],
        &["keys", "rotate"],
        &["approver", "revoke", "none"],
        &["approver", "enrol"],
        &["resume", "--reason", "go"],
        &["halt", "--reason", "x"],
        &["ledger", "show"],
        &["ledger", "export", "out"],
        &["ledger", "checkpoint", "--gate", "0123456789abcdef"],
        &["token", "list"],
        &["status", "--server", SOCKET, "--token-file", "/dev/null"],
        &["init"],
        &["init", "--claim"],
        &["gate", "forget", "."],
        &["service", "uninstall", "--no-start"],
    ] {
        let refused = machine.ordain("agent", &shop, arguments).calm();
        assert_ne!(refused.code, 0, "{arguments:?}: {}", refused.all());
    }
    // No part of the record can be read, replaced or deleted, and the socket cannot be taken over.
    for program in [
        &["ls", "/var/lib/ordain"][..],
        &["sh", "-c", "cat /var/lib/ordain/*/signing.key /var/lib/ordain/registry.json"],
        &["sh", "-c", "rm -rf /var/lib/ordain/* /var/lib/ordain && test ! -e /var/lib/ordain"],
        &["rm", "/run/ordain/gate.sock"],
        &["mv", "/run/ordain", "/run/elsewhere"],
        &["sh", "-c", "echo x > /opt/ordain/ordain"],
        &["sh", "-c", "echo x >> /etc/systemd/system/ordain.service"],
    ] {
        let refused = crate::harness::ran(&mut machine.command("agent", &shop, program));
        assert_ne!(refused.code, 0, "{program:?}");
    }
    let found = machine.ordain("agent", &shop, &["doctor", "--json"]).ended(0).json();
    assert_eq!((&found["level"], &found["principal"]), (&json!("service"), &json!("agent-1")));
    assert_eq!(found["owned"], true);
    let names: Vec<&Json> =
        found["open_points"].as_array().unwrap().iter().map(|point| &point["name"]).collect();
    for name in ["open_gate", "socket_owner", "service_state", "project_level"] {
        assert!(!names.contains(&&json!(name)), "{found}");
    }

    // Olga approves at her terminal. The ledger says who did what, and for which project.
    let approve = [("[q]uit: ", "a"), ("Passphrase: ", PASSPHRASE)];
    let approved = machine.on_terminal("olga", &shop, &approve, &["approve", "p1"]).ended(0);
    approved.says_all(&["project", shop.to_str().unwrap(), "ordain/approval/v1"]);
    let gate = |arguments: &[&str]| {
        let program = [&["env", "XDG_STATE_HOME=/var/lib", "/opt/ordain/ordain"], arguments].concat();
        crate::harness::ran(&mut machine.command("ordain", &shop, &program))
    };
    let entries = gate(&["ledger", "show", "--json"]).ended(0).lines();
    // Over the socket olga reads the same, by the role that the policies give her.
    let read = machine.ordain("olga", &shop, &["ledger", "show", "--json"]).ended(0).lines();
    assert_eq!(read, entries);
    machine.ordain("olga", &shop, &["token", "list"]).ended(0);
    let key = machine.ordain("olga", &shop, &["keys", "list", "--json"]).ended(0).json();
    let key = key["verifier"].as_str().unwrap().to_owned();
    machine.ordain("olga", &shop, &["ledger", "verify"]).ended(64).says("--key VERIFIER");
    machine.ordain("olga", &shop, &["ledger", "verify", "--key", &key]).ended(0).says("verified");
    machine.ordain("olga", &shop, &["ledger", "fsck"]).ended(0).says("verified");
    let kept = machine.path("kept");
    std::fs::create_dir_all(&kept).unwrap();
    machine.root(&["chown", "olga", kept.to_str().unwrap()]).ended(0);
    let exported = kept.join("ledger");
    machine
        .ordain("olga", &shop, &["ledger", "export", exported.to_str().unwrap()])
        .ended(0)
        .says("exported");
    let owner = machine.ordain("olga", &shop, &["approver", "list", "--json"]).ended(0).json();
    let owner = owner["public_key"].as_str().unwrap().to_owned();
    let verify = ["verify", "--owner", &owner, exported.to_str().unwrap()];
    machine.ordain("olga", &kept, &verify).ended(0).says("verified");
    let of = |kind: &str| -> Vec<&Json> {
        let of_kind = entries.iter().rev().map(|entry| &entry["entry"]);
        of_kind.filter(|entry| entry["event"]["kind"] == kind).collect()
    };
    let submitted = of("submitted");
    let project = &of("project_registered")[0]["event"]["project_id"];
    assert_eq!(submitted.len(), 3);
    assert_eq!(of("project_registered")[1]["event"]["worktrees_of"], json!(shop));
    assert_eq!(of("project_forgotten")[0]["how"], "signed");
    assert_eq!((&of("halted")[0]["by"], &of("halted")[0]["how"]), (&json!("olga"), &json!("peer")));
    assert!(submitted.iter().all(|entry| entry["by"] == "agent-1" && entry["how"] == "peer"));
    assert!(submitted.iter().all(|entry| entry["event"]["project"]["project_id"] == *project));
    assert!(project.is_string());
    assert_eq!(of("project_registered")[0]["how"], "signed");
    assert_eq!((&of("approved")[0]["by"], &of("approved")[0]["how"]), (&json!("olga"), &json!("signed")));
    // Policies that forget the owner do not lock them out: they can still sign.
    let forgotten = std::fs::read_to_string(more.join("entities.json")).unwrap();
    std::fs::write(
        more.join("entities.json"),
        forgotten.replace(r#""os_user":"olga""#, r#""os_user":"somebody""#),
    )
    .unwrap();
    machine.on_terminal("olga", &shop, &pass, &push).ended(0);
    machine.ordain("olga", &shop, &["submit", "p.json"]).ended(1).says("do not name the user");
    std::fs::write(more.join("entities.json"), forgotten).unwrap();
    machine.on_terminal("olga", &shop, &pass, &push).ended(0);
    gate(&["ledger", "fsck"]).ended(0);
    gate(&["gate", "export", "/var/lib/ordain/backup"]).ended(0);
    server.stop();

    // While the service is down, its projects do not seem to have no gate.
    machine
        .ordain("agent", &shop, &["submit", "p.json"])
        .ended(1)
        .says_all(&["is not running", "systemctl start"]);
    machine.ordain("mallory", &machine.path("home"), &["gate", "list"]).ended(0);

    // A17, with a second user: a key that another user owns, or a link, is refused.
    machine
        .root(&[
            "sh",
            "-c",
            "chown agent /var/lib/ordain/*/signing.key && chmod 644 /var/lib/ordain/*/signing.key",
        ])
        .ended(0);
    machine.start_service().err().unwrap().ended(1).says("belongs to user");
    machine.root(&["sh", "-c", "rm -r /var/lib/ordain/backup && cd /var/lib/ordain/*/ && chown ordain signing.key && chmod 600 signing.key && mv signing.key moved && ln -s moved signing.key"]).ended(0);
    machine.start_service().err().unwrap().ended(1).says("link");

    // Uninstalling keeps the record unless an option says otherwise.
    machine
        .ordain("root", &shop, &["service", "uninstall", "--no-start"])
        .ended(0)
        .says_all(&["stay", "/var/lib/ordain"]);
    machine.root(&["test", "-d", "/var/lib/ordain"]).ended(0);
    machine.root(&["test", "!", "-e", "/opt/ordain/ordain"]).ended(0);
    machine.ordain("agent", &shop, &["submit", "p.json"]).ended(1).says("no gate is registered");
    machine.ordain("root", &shop, &["service", "uninstall", "--no-start", "--purge"]).ended(0);
    machine.root(&["test", "!", "-e", "/var/lib/ordain"]).ended(0);
}
