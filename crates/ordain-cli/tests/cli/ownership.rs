//! Ownership: nothing in a workspace, a clone or a store from elsewhere takes a gate over, and policies
//! change only by an act.

use crate::harness::{Kind, Project, proposal, ran};
use serde_json::{Value as Json, json};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const ALL: &str = "@id(\"all\") permit(principal, action, resource);\n";

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// The policies that the ledger says are in force.
fn active(room: &Project) -> Json {
    room.run(&["policy", "show", "--json"]).ended(0).json()["policy_hash"].clone()
}

fn patch(path: &str, content: &str) -> String {
    json!({"patch_schema_version": "1.0.0", "source_proposal_id": "by hand",
        "source_proposal_hash": format!("sha256:{}", "0".repeat(64)), "total_bytes": content.len(),
        "operations": [{"op": "create", "path": path, "content": content}]})
    .to_string()
}

/// The attack of A1: settings and policies of an agent's own, in a subfolder and in a clone.
#[test]
fn a1_settings_in_a_subfolder_or_a_clone_take_over_no_gate() {
    let room = Project::with_gate(Kind::File);
    let token = room.token("agent-1", &["actor"]);
    let server = room.serve();
    let before = active(&room);
    // Nobody permits payments.
    let mut denied = proposal("p", "payments", 1);
    room.write("p.json", &denied.to_string());
    room.write("src/ordain.toml", "policy = \"policy\"\n");
    room.write("src/policy/all.cedar", ALL);
    room.write("src/patch.json", &patch("a.md", "a\n"));
    let inside = Path::new("src");
    // Commands in the subfolder ask the project's gate, with its policies, and say what they passed over.
    let told = "ignored ordain.toml: this folder belongs to the project";
    room.run_in(inside, &["submit", "../p.json"], "").ended(21).says(told);
    room.run_in(inside, &["apply", "patch.json", "--actor", "agent-1"], "").ended(21).says(told);
    room.run(&["apply", "src/patch.json", "--workspace", "src", "--actor", "agent-1"]).ended(21);
    room.run_in(inside, &["status"], "").ended(0);
    assert!(!room.path("src/a.md").exists());
    // The server that runs meanwhile decides as before.
    let mut client = server.client(&token);
    denied["proposal_id"] = "p2".into();
    assert_eq!(client.post("/v1/actions", &denied).unwrap().is(201)["state"], "denied");
    assert_eq!(active(&room), before);
    // A second gate below the project is not made.
    for folder in ["src", "new/folder"] {
        room.run(&["init", folder, "--keep"]).ended(1).says_all(&["registered folder", "ordain gate forget"]);
        room.run(&["gate", "register", folder, "--gate", &gate_id(&room)]).ended(1);
    }
    server.stop();
}

fn gate_id(room: &Project) -> String {
    room.state().file_name().unwrap().to_str().unwrap().to_owned()
}

/// A clone has no gate, whatever it says about one; its settings cannot name one.
#[test]
fn a1_a_clone_names_no_gate() {
    let room = Project::with_gate(Kind::File);
    let clone = room.path("../clone-of-room").with_file_name(format!("clone-{}", gate_id(&room)));
    std::fs::create_dir_all(clone.join("policy")).unwrap();
    std::fs::write(clone.join("policy/all.cedar"), ALL).unwrap();
    std::fs::write(clone.join("p.json"), proposal("p", "crm", 1).to_string()).unwrap();
    let before = active(&room);
    for settings in [
        format!("state = \"{}\"\n", room.state().display()),
        format!("store = \"{}\"\n", room.file().display()),
        "store = \"postgres://mallory.example/x?sslmode=disable\"\n".to_owned(),
    ] {
        std::fs::write(clone.join("ordain.toml"), settings).unwrap();
        room.run_in(&clone, &["submit", "p.json"], "").ended(1).says("no gate is registered");
        room.run_in(&clone, &["status"], "").ended(1).says("no gate is registered");
        room.run_in(&clone, &["policy", "check"], "").ended(1).says("is not a setting of a project");
        room.run_in(&clone, &["init", "--keep"], "").ended(1).says("is not a setting of a project");
    }
    assert_eq!(active(&room), before);
    std::fs::remove_dir_all(clone).unwrap();
}

/// Moving or replacing the folder does not lead round the gate either.
#[test]
fn a1_a_moved_project_keeps_its_gate() {
    let top = Project::empty();
    let run = |folder: &str, arguments: &[&str]| top.run_in(Path::new(folder), arguments, "");
    run(".", &["init", "shop"]).ended(0);
    top.write("patch.json", &patch("a.md", "a\n"));
    std::fs::rename(top.path("shop"), top.path("moved")).unwrap();
    run("moved", &["apply", "../patch.json"]).ended(1).says_all(&["is registered as", "ordain gate move"]);
    assert!(!top.path("moved/a.md").exists());
    let (old, new) = (top.path("shop"), top.path("moved"));
    run(".", &["gate", "move", old.to_str().unwrap(), new.to_str().unwrap()]).ended(0).says("moved");
    run("moved", &["apply", "../patch.json"]).ended(21);
    run(".", &["gate", "list"]).ended(0).says("/moved");
    // A copy in the place of the folder is another folder.
    std::fs::rename(top.path("moved"), top.path("away")).unwrap();
    crate::harness::copy_folder(&top.path("away"), &top.path("moved"));
    run("moved", &["status"]).ended(1).says("is not the folder that was registered");
    run("moved", &["gate", "forget", "."]).ended(0).says("its record stays");
    run("moved", &["status"]).ended(1).says("no gate is registered");
}

/// A store that came from elsewhere is refused, and so is a key that did.
#[test]
fn a2_a_planted_store_is_refused() {
    let (room, other) = (Project::with_gate(Kind::File), Project::with_gate(Kind::File));
    room.write("p.json", &proposal("p", "crm", 1).to_string());
    let own = std::fs::read(room.file()).unwrap();
    std::fs::copy(other.file(), room.file()).unwrap();
    for command in [&["status"][..], &["submit", "p.json"], &["token", "list"]] {
        room.run(command).ended(1);
    }
    // Not even if the checkpoint that would tell is gone.
    std::fs::remove_file(room.state().join("checkpoint")).unwrap();
    for command in [&["status"][..], &["submit", "p.json"], &["token", "create", "x", "--role", "operator"]] {
        room.run(command).ended(1).says("the store was not opened with the key");
    }
    assert!(room.serve_with(&[]).is_err());
    std::fs::write(room.file(), own).unwrap();
    room.run(&["submit", "p.json"]).ended(0);
    // Without its key a store is refused; no other key is made.
    let key = room.state().join("signing.key");
    std::fs::rename(&key, room.path("kept.key")).unwrap();
    room.run(&["submit", "p.json"]).ended(1).says("the signing key is missing");
    room.run(&["status"]).ended(1).says("the signing key is missing");
    assert!(!key.exists());
}

#[test]
fn a16_the_state_is_private_whatever_the_umask() {
    let room = Project::empty();
    let mut init = room.program("sh");
    init.args(["-c", "umask 0; exec \"$0\" init", env!("CARGO_BIN_EXE_ordain")]);
    ran(&mut init).ended(0);
    room.write("p.json", &proposal("p", "crm", 1).to_string());
    let mut submit = room.program("sh");
    submit.args(["-c", "umask 0; exec \"$0\" submit p.json", env!("CARGO_BIN_EXE_ordain")]);
    ran(&mut submit).calm();
    assert_eq!(mode(&room.state_home().join("ordain")), 0o700);
    assert_eq!(mode(&room.state()), 0o700);
    for entry in std::fs::read_dir(room.state()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    for (path, open) in [(room.state(), 0o750), (room.state_home().join("ordain"), 0o755)] {
        let closed = mode(&path);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(open)).unwrap();
        room.run(&["status"]).ended(1).says_all(&["others may use it", "chmod 700"]);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(closed)).unwrap();
    }
    room.run(&["status"]).ended(0);
}

#[test]
fn a17_keys_through_links_or_with_open_modes_are_refused() {
    let room = Project::with_gate(Kind::File);
    let key = room.state().join("signing.key");
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    room.run(&["status"]).ended(1).says_all(&["signing.key", "others may use it (mode 644)"]);
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    for name in ["signing.key", "ordain.db", "checkpoint", "gate.json"] {
        let (path, kept) = (room.state().join(name), room.path(name));
        std::fs::rename(&path, &kept).unwrap();
        symlink(&kept, &path).unwrap();
        room.run(&["status"]).ended(1).says("is a link");
        std::fs::rename(&kept, &path).unwrap();
    }
    room.run(&["status"]).ended(0);
    // The folder of the gate itself.
    let (gate, kept) = (room.state(), room.path("kept"));
    std::fs::rename(&gate, &kept).unwrap();
    symlink(&kept, &gate).unwrap();
    room.run(&["status"]).ended(1).says("is a link");
}

#[test]
fn a18_no_file_of_a_workspace_names_a_database() {
    let room = Project::with_gate(Kind::File);
    room.write("ordain.toml", "store = \"postgres://127.0.0.1:1/x?sslmode=disable\"\n");
    room.write("p.json", &proposal("p", "crm", 1).to_string());
    // Commands go on with the project's own gate and connect nowhere.
    room.run(&["status"]).ended(0);
    room.run(&["halt", "--reason", "still possible"]).ended(0);
    room.run(&["policy", "check"]).ended(1).says_all(&["`store` is not a setting", "hint: remove the line"]);
}

/// Nothing but a push changes the policies in force, and a server says that its folder differs.
#[test]
fn policies_are_in_force_only_by_a_push() {
    let room = Project::with_gate(Kind::File);
    let operator = room.token("olga", &["operator"]);
    let before = active(&room);
    room.run(&["policy", "diff"]).ended(0);
    room.write("policy/all.cedar", ALL);
    room.run(&["policy", "diff"]).ended(1).says_all(&["+++ b/all.cedar", "+@id(\"all\")"]);
    room.run(&["policy", "push", "--dry-run"]).ended(0).says("+++ b/all.cedar");
    let server = room.serve();
    assert!(server.log().contains("differs from the policies in force"), "{}", server.log());
    let mut client = server.client(&operator);
    assert_eq!(client.get("/ready").unwrap().is(200)["policy"], "differs");
    assert!(client.get("/metrics").unwrap().text.contains("ordain_policy_differs 1"));
    assert_eq!(active(&room), before);
    // Only the folder that somebody named by its hash.
    let wrong = format!("sha256:{}", "0".repeat(64));
    room.run(&["policy", "push", "--hash", &wrong]).ended(1).says("nothing changed");
    let hash = room.run(&["policy", "check", "--json"]).ended(0).json()["policy_hash"].clone();
    let url = server.url();
    let mut push = room.command(&["policy", "push", "--hash", hash.as_str().unwrap(), "--server", &url]);
    ran(push.env("ORDAIN_TOKEN", &operator)).ended(0).says("in force");
    assert_eq!(client.get("/ready").unwrap().is(200)["policy"], "active");
    assert_eq!(active(&room), hash);
    room.run(&["policy", "push"]).ended(0).says("unchanged");
    // Earlier policies stay on record.
    let earlier = room.run(&["policy", "show", before.as_str().unwrap(), "--json"]).ended(0).json();
    assert_eq!((&earlier["active"], earlier["files"].get("all.cedar")), (&json!(false), None));
    room.write("policy/broken.cedar", "permit(");
    room.run(&["policy", "push"]).ended(1).says("cannot be used");
    assert_eq!(active(&room), hash);
    server.stop();
    room.sound();
}

#[test]
fn a_server_without_policies_is_not_ready() {
    let room = Project::without_policies(Kind::File);
    let server = room.serve();
    assert!(server.log().contains("no policies are in force"), "{}", server.log());
    let mut client = server.client("none");
    client.get("/ready").unwrap().is(503);
    room.write("policy/all.cedar", ALL);
    room.push();
    client.get("/ready").unwrap().is(200);
    server.stop();
}

#[test]
fn a24_a_missing_checkpoint_is_noted_and_an_older_copy_is_not_imported() {
    let room = Project::with_gate(Kind::File);
    let (backup, newer) = (room.path("backup"), room.path("newer"));
    let (backup, newer) = (backup.to_str().unwrap(), newer.to_str().unwrap());
    room.run(&["gate", "export", backup]).ended(0);
    assert_eq!((mode(Path::new(backup)), mode(&Path::new(backup).join("ordain.db"))), (0o700, 0o600));
    room.run(&["gate", "export", backup]).ended(1).says("exists already");
    room.write("p.json", &proposal("p", "crm", 1).to_string());
    room.run(&["submit", "p.json"]).ended(0);
    let checkpoint = room.path("last.txt");
    std::fs::write(&checkpoint, room.run(&["ledger", "checkpoint"]).ended(0).stdout).unwrap();
    // This machine knows better.
    room.run(&["gate", "import", backup]).ended(1).says("older or shortened copy");
    room.run(&["status", "p"]).ended(0);
    room.run(&["gate", "export", newer]).ended(0);
    // Another machine does not, unless it is given the checkpoint.
    let elsewhere = Project::empty();
    let last = checkpoint.to_str().unwrap();
    elsewhere.run(&["gate", "import", backup, "--checkpoint", last]).ended(1).says("older or shortened copy");
    elsewhere.run(&["gate", "list"]).ended(0).says("there are no gates");
    let project = elsewhere.root.to_str().unwrap();
    elsewhere.run(&["gate", "import", newer, "--checkpoint", last, "--project", project]).ended(0);
    elsewhere.run(&["status", "p"]).ended(0);
    elsewhere.run(&["ledger", "fsck"]).ended(0);
    // A store and a key that do not belong together.
    let other = Project::with_gate(Kind::File);
    std::fs::copy(other.state().join("signing.key"), Path::new(newer).join("signing.key")).unwrap();
    elsewhere.run(&["gate", "import", newer]).ended(1).says("the store was not opened with the key");
    std::fs::remove_file(room.state().join("checkpoint")).unwrap();
    let server = room.serve();
    assert!(server.log().contains("the checkpoint is missing"), "{}", server.log());
    server.stop();
}

#[test]
fn worktrees_belong_to_a_project_where_somebody_said_so() {
    let top = Project::empty();
    let run = |folder: &str, arguments: &[&str]| top.run_in(Path::new(folder), arguments, "");
    run(".", &["init", "shop"]).ended(0);
    top.write("trees/one/.git", "gitdir: elsewhere");
    top.write("trees/one/patch.json", &patch("policy/mine.md", "x"));
    run("trees/one", &["submit", "patch.json"]).ended(1).says("no gate is registered");
    run("shop", &["gate", "register", "--worktrees", "../trees"]).ended(0).says("worktrees in");
    // Its paths count from its own root, so that the starter's rules hold there too.
    run("trees/one", &["apply", "patch.json"]).ended(21).says("policy/mine.md");
    run("trees", &["init", "one"]).ended(1).says("registered folder");
    run("shop", &["gate", "list", "--json"]).ended(0).says("/trees");
}

/// Agents may not change the files that hold them, nor secrets.
#[test]
fn a31_guard_files_and_secrets_are_protected() {
    let project = Project::started();
    for path in ["src/ordain.toml", "docs/.claude/settings.json", "docs/rules.cedar", "opencode.json"] {
        project.write("patch.json", &patch(path, "x"));
        project.run(&["apply", "patch.json"]).ended(1).says_all(&["refused", "never by a patch"]);
        assert!(!project.path(path).exists());
    }
    for path in ["docs/prod.env", "docs/.envrc", "docs/id_ed25519", "docs/.npmrc"] {
        project.write("patch.json", &patch(path, "x"));
        project.run(&["apply", "patch.json"]).ended(21).says("DENY");
    }
}
