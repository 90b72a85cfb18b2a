//! The service level: the gate runs as its own user, and everybody else can only ask. Real users, in a mount namespace.

use crate::harness::{Machine, ordain, proposal};
use serde_json::{Value as Json, json};
use std::path::Path;

const PASSPHRASE: &str = "correct horse battery staple";
const SOCKET: &str = "unix:/run/ordain/gate.sock";

/// Agents of olga may change contacts at once, and in `sales` when she has approved. `agent` is a user of its own.
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
        entity("Actor", "olga", json!({"os_user": "olga"}), &["people"]),
    ]);
    [("crm.cedar", cedar.to_owned()), ("entities.json", entities.to_string())]
}

fn write_policies(folder: &Path, agent: Option<&str>) {
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

/// One long story, because each passphrase takes a second: install, claim, register, propose; and an agent that tries the rest.
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

    // Owner acts over the socket take the owner's passphrase.
    let more = machine.path("more");
    write_policies(&more, Some("agent"));
    let push = ["policy", "push", more.to_str().unwrap(), "--server", SOCKET];
    machine.ordain("olga", &shop, &push).ended(64).says("terminal");
    let pass = [("Passphrase: ", PASSPHRASE)];
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
    machine.ordain("agent", &shop, &["gate", "register"]).ended(64).says("no key of yours is enrolled");
    machine
        .on_terminal("olga", &shop, &pass, &["gate", "register"])
        .ended(0)
        .says("with the gate of the service");

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
        &["token", "list"],
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
    let approve = [("[y/N] ", "y"), ("Passphrase: ", PASSPHRASE)];
    let approved = machine.on_terminal("olga", &shop, &approve, &["approve", "p1"]).ended(0);
    approved.says_all(&["project", shop.to_str().unwrap(), "ordain/approval/v1"]);
    let gate = |arguments: &[&str]| {
        let program = [&["env", "XDG_STATE_HOME=/var/lib", "/opt/ordain/ordain"], arguments].concat();
        crate::harness::ran(&mut machine.command("ordain", &shop, &program))
    };
    let entries = gate(&["ledger", "show", "--json"]).ended(0).lines();
    let of = |kind: &str| -> Vec<&Json> {
        let of_kind = entries.iter().map(|entry| &entry["entry"]);
        of_kind.filter(|entry| entry["event"]["kind"] == kind).collect()
    };
    let submitted = of("submitted");
    let project = &of("project_registered")[0]["event"]["project_id"];
    assert_eq!(submitted.len(), 2);
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

    // Uninstalling keeps the record unless it is told otherwise.
    machine
        .ordain("root", &shop, &["service", "uninstall", "--no-start"])
        .ended(0)
        .says_all(&["stay", "/var/lib/ordain"]);
    machine.root(&["test", "-d", "/var/lib/ordain"]).ended(0);
    machine.root(&["test", "!", "-e", "/opt/ordain/ordain"]).ended(0);
    machine.ordain("root", &shop, &["service", "uninstall", "--no-start", "--purge"]).ended(0);
    machine.root(&["test", "!", "-e", "/var/lib/ordain"]).ended(0);
}
