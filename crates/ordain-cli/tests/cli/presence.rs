//! Owner acts and signed approvals: a key under a passphrase, which is typed on a terminal. Each test has a
//! pty of its own.

use crate::harness::{Kind, Project, Ran, count, proposal, ran};
use serde_json::{Value as Json, json};
use std::process::Command;

/// The question of `approve` and `watch` below the screen.
pub(crate) const ASKED: &str = "[q]uit: ";
pub(crate) const PASSPHRASE: &str = "correct horse battery staple";

/// Runs a command on a new terminal. In each step it waits for a text and then types a line: `{letters}` are
/// the three that were shown last, and a line that starts with `!` is run in a shell instead. With a watcher,
/// a process of another session has the terminal open.
pub(crate) const ON_TERMINAL: &str = r#"
import fcntl, json, os, pty, re, select, signal, struct, subprocess, sys, termios, time
steps, watched, command = json.loads(sys.argv[1]), sys.argv[2] == "watched", sys.argv[3:]
pid, master = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    time.sleep(0.7 if watched else 0)
    os.execv(command[0], command)
watcher = None
if watched:
    # The child takes the terminal after the fork.
    while not os.readlink(f"/proc/{pid}/fd/0").startswith("/dev/pts/"):
        time.sleep(0.01)
    slave = open(os.readlink(f"/proc/{pid}/fd/0"))
    watcher = subprocess.Popen(["sleep", "60"], stdin=slave, start_new_session=True)
    slave.close()
seen, mark = b"", 0
def more():
    global seen
    # A question that nobody answers would wait for ever.
    if not select.select([master], [], [], 60)[0]:
        os.kill(pid, signal.SIGKILL)
    try:
        data = os.read(master, 65536)
    except OSError:
        data = b""
    seen += data
    return data
for wanted, line in steps:
    while wanted.encode() not in seen[mark:]:
        if not more():
            break
    if line.startswith("!"):
        subprocess.run(line[1:], shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        continue
    if line == "{letters}":
        line = re.findall(rb"Type ([a-z]{3}) to approve", seen)[-1].decode()
    mark = len(seen)
    os.write(master, line.encode() + b"\n")
if watcher:
    # It keeps the terminal open, so that reading does not end by itself.
    _, status = os.waitpid(pid, 0)
    watcher.kill()
    watcher.wait()
while more():
    pass
if not watcher:
    _, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(status))
"#;

pub(crate) fn on_terminal(room: &Project, steps: &[(&str, &str)], arguments: &[&str]) -> Ran {
    terminal(room, "alone", steps, arguments)
}

/// The same for a command that is made elsewhere.
pub(crate) fn command_on_terminal(room: &Project, steps: &[(&str, &str)], command: &Command) -> Ran {
    of_terminal("alone", steps, command, room)
}

fn terminal(room: &Project, watched: &str, steps: &[(&str, &str)], arguments: &[&str]) -> Ran {
    of_terminal(watched, steps, &room.command(arguments), room)
}

fn of_terminal(watched: &str, steps: &[(&str, &str)], inner: &Command, room: &Project) -> Ran {
    let mut command = Command::new("python3");
    command.args(["-c", ON_TERMINAL, &json!(steps).to_string(), watched]);
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(&room.root);
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    ran(&mut command)
}

/// Runs a command without any terminal, as an agent's shell may.
pub(crate) fn detached(room: &Project, arguments: &[&str]) -> Ran {
    let inner = room.command(arguments);
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(inner.get_program()).args(inner.get_args()).current_dir(&room.root);
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    ran(command.stdin(std::process::Stdio::null()))
}

fn claimed() -> Project {
    let room = Project::with_gate(Kind::File);
    let steps = [("New passphrase: ", PASSPHRASE), ("The same again: ", PASSPHRASE), ("[y/N] ", "y")];
    on_terminal(&room, &steps, &["init", "--claim"]).ended(0).says("olga owns this gate");
    room
}

fn how_of<'e>(entries: &'e [Json], kind: &str) -> Vec<&'e Json> {
    let of_kind = entries.iter().filter(|entry| entry["entry"]["event"]["kind"] == kind);
    of_kind.map(|entry| &entry["entry"]["how"]).collect()
}

#[test]
fn owner_acts_take_the_passphrase_of_an_owner() {
    let room = claimed();
    let keys = room.run(&["approver", "list", "--json"]).ended(0).lines();
    assert_eq!((&keys[0]["principal"], &keys[0]["owner"]), (&json!("olga"), &json!(true)));
    room.run(&["halt", "--reason", "smoke"]).ended(0);
    let before = room.entries().len();
    // An agent with a shell of the same user has every command, and no passphrase.
    for arguments in [
        &["resume", "--reason", "go"][..],
        &["token", "create", "mallory", "--role", "operator"],
        &["keys", "rotate"],
        &["approver", "revoke", keys[0]["key_id"].as_str().unwrap()],
        &["approver", "enrol"],
        &["init", "--claim"],
        &["gate", "forget", "."],
        &["gate", "move", ".", ".."],
        &["gate", "register", "--worktrees", ".."],
    ] {
        let refused = detached(&room, arguments);
        assert_ne!(refused.code, 0, "{arguments:?}: {}", refused.all());
        assert!(!refused.all().contains("panicked"), "{}", refused.all());
    }
    room.write("policy/more.cedar", "@id(\"all\") permit(principal, action, resource);\n");
    assert_ne!(detached(&room, &["policy", "push"]).code, 0);
    assert_eq!(room.entries().len(), before, "nothing is on the ledger");

    let resume = ["resume", "--reason", "go"];
    // Nobody is asked while another session has the terminal open.
    let refused = terminal(&room, "watched", &[], &resume);
    assert_ne!(refused.code, 0, "{}", refused.all());
    refused.says_all(&["of another session has this terminal open", "sleep"]);
    on_terminal(&room, &[("Passphrase: ", "correct horse battery stable"); 3], &resume)
        .ended(1)
        .says("the passphrase does not open");
    on_terminal(&room, &[("Passphrase: ", PASSPHRASE)], &resume).ended(0).says_all(&[
        "To be signed",
        "ordain/act/v1",
        "resume",
    ]);
    // The registry is not on the ledger, and takes the passphrase all the same.
    let folder = room.path("").canonicalize().unwrap();
    room.run(&["gate", "list"]).ended(0).says(folder.to_str().unwrap());
    let token = ["token", "create", "bob", "--role", "approver"];
    on_terminal(&room, &[("Passphrase: ", PASSPHRASE)], &token).ended(0).says("ordain_");
    let entries = room.entries();
    assert_eq!(how_of(&entries, "resumed"), [&json!("signed")]);
    room.sound();
}

#[test]
fn an_approval_is_signed_as_it_is_shown() {
    let room = Project::with_gate(Kind::File);
    let entities = room.read("policy/entities.json");
    let mut entities: Vec<Json> = serde_json::from_str(&entities).unwrap();
    for entity in entities.iter_mut().filter(|entity| entity["uid"]["id"] == "olga") {
        entity["parents"] = json!([{"type": "Group", "id": "people"}]);
    }
    room.write("policy/entities.json", &json!(entities).to_string());
    room.push();
    let steps = [("New passphrase: ", PASSPHRASE), ("The same again: ", PASSPHRASE), ("[y/N] ", "y")];
    on_terminal(&room, &steps, &["init", "--claim"]).ended(0);
    // Longer than a screen of 24 rows: it is shown as a whole before it can be approved.
    let mut long = proposal("p1-long", "sales", 1);
    let text: Vec<String> = (1..=60).map(|line| format!("line {line}")).collect();
    long["parameters"]["text"] = json!(text.join("\n"));
    room.write("p.json", &long.to_string());
    room.run(&["submit", "p.json"]).ended(20);
    let steps = [
        (ASKED, "a"),
        ("for more, q to answer -- ", ""),
        ("for more, q to answer -- ", ""),
        ("for more, q to answer -- ", ""),
        ("Enter to answer -- ", ""),
        (ASKED, "a"),
        ("Passphrase: ", PASSPHRASE),
    ];
    // An id can be abbreviated.
    let said = on_terminal(&room, &steps, &["approve", "p1"]).ended(0);
    let first = said.stdout.split(ASKED).next().unwrap().replace('\r', "");
    let screen: Vec<&str> = first.lines().rev().take(24).collect();
    assert!(screen.iter().any(|line| line.contains("agent-1 wants to write")), "{first}");
    assert!(screen.iter().any(|line| line.contains("more lines; `v` shows all")), "{first}");
    said.says_all(&[
        "ordain/approval/v1",
        "presence",
        "To be signed",
        "line 60",
        "approve p1-long: agent-1 wants",
    ]);
    let entries = room.entries();
    assert_eq!(count(&entries, "approved"), 1);
    assert_eq!(how_of(&entries, "approved"), [&json!("signed")]);
    room.sound();
}

/// Too short, or typed differently: no key is made, and the gate stays open.
#[test]
fn a_weak_passphrase_makes_no_key() {
    let room = Project::with_gate(Kind::File);
    for (first, second, said) in
        [("short", "short", "fewer than 12"), (PASSPHRASE, "correct horse battery stable", "differ")]
    {
        let steps = [("New passphrase: ", first), ("The same again: ", second)];
        let steps = if first == "short" { &steps[..1] } else { &steps[..] };
        let refused = on_terminal(&room, &steps.repeat(3), &["init", "--claim"]);
        assert_ne!(refused.code, 0);
        refused.says(said);
    }
    assert!(room.run(&["approver", "list", "--json"]).ended(0).stdout.is_empty());
    let found = room.run(&["doctor", "--json"]).ended(0).json();
    assert_eq!((&found["level"], &found["owned"]), (&json!("project"), &json!(false)));
    let names: Vec<&str> = found["open_points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"open_gate") && names.contains(&"key"), "{names:?}");
    // On a terminal of 24 rows a long page goes through the pager that the person names, and only there.
    let paged = |name: &str, arguments: &[&str]| {
        let mut command = room.command(arguments);
        command.env(name, "sed s/^/paged:/").env_remove(if name == "PAGER" {
            "ORDAIN_PAGER"
        } else {
            "PAGER"
        });
        of_terminal("alone", &[], &command, &room).ended(0).stdout.replace('\r', "")
    };
    assert!(
        paged("ORDAIN_PAGER", &["help", "apply"]).starts_with("paged:")
            && paged("PAGER", &["help", "apply"]).starts_with("paged:")
    );
    for arguments in [&["help", "apply", "--no-pager"][..], &["gate", "list"]] {
        assert!(!paged("ORDAIN_PAGER", arguments).contains("paged:"), "{arguments:?}");
    }
    let plain = on_terminal(&room, &[], &["help", "apply"]).ended(0).stdout.replace('\r', "");
    let visible = |line: &str| {
        line.split("\u{1b}[")
            .map(|part| part.split_once('m').map_or(part, |(_, it)| it).chars().count())
            .sum::<usize>()
    };
    assert!(plain.lines().count() > 24 && plain.lines().all(|line| visible(line) <= 80 + 8), "{plain}");
}

/// A gate whose only owner's key is lost. An agent has every command and a terminal of its own, too.
#[test]
fn a_lost_gate_is_replaced_after_it_was_moved_aside() {
    const OTHER: &str = "another passphrase of hers";
    let room = claimed();
    let old = room.state();
    let old_id = old.file_name().unwrap().to_str().unwrap().to_owned();
    let owner = room.run(&["approver", "list", "--json"]).ended(0).lines()[0]["public_key"].clone();
    let replace = ["init", "--replace"];
    let aside = old.with_file_name(format!("{old_id}.replaced"));
    let entries_before = room.entries().len();
    // While the gate is in its place, the command only says what to do, with a terminal and without.
    let refused = detached(&room, &replace);
    assert_ne!(refused.code, 0);
    on_terminal(&room, &[], &replace).ended(1).says_all(&["is in use", "mv ", ".replaced"]);
    assert_eq!(room.state(), old);
    std::fs::rename(&old, &aside).unwrap();
    // The key that is said to be lost is there.
    on_terminal(&room, &[], &replace).ended(1).says("is the key of an owner of the old gate");
    let key = room.state_home().join("config/ordain/approver.key");
    std::fs::rename(&key, key.with_extension("lost")).unwrap();
    assert_ne!(detached(&room, &replace).code, 0);
    on_terminal(&room, &[("to go on: ", "elsewhere")], &replace).ended(64).says("not the name of the folder");
    assert_eq!(room.state(), old, "nothing was changed");

    let name = room.root.canonicalize().unwrap();
    let name = name.file_name().unwrap().to_str().unwrap();
    let steps = [("to go on: ", name), ("New passphrase: ", OTHER), ("The same again: ", OTHER)];
    on_terminal(&room, &steps, &replace).ended(0).says_all(&[
        "Nothing of the old one carries over",
        "took the place of",
        "owns this gate",
    ]);
    let new = room.state();
    assert_ne!(new, old);
    let entries = room.entries();
    let replaces = &entries[0]["entry"]["event"]["replaces"];
    assert_eq!(replaces["gate_id"], json!(old_id));
    let checkpoint = replaces["checkpoint"].as_str().unwrap();
    assert!(checkpoint.starts_with(replaces["origin"].as_str().unwrap()), "{replaces}");
    // Whatever the workspace holds, no policies are in force.
    assert_eq!(count(&entries, "policy_changed"), 0);
    room.write("p.json", &proposal("p1", "crm", 1).to_string());
    assert_ne!(room.run(&["submit", "p.json"]).code, 0);
    assert_eq!(count(&room.entries(), "submitted"), 0);
    assert_ne!(room.run(&["policy", "show"]).code, 0);
    room.sound();
    let listed = room.run(&["gate", "list"]).ended(0);
    let new_id = new.file_name().unwrap().to_str().unwrap();
    listed.says_all(&[&old_id, &format!("replaced by {new_id}"), new_id]);
    // Its record is still there to be read and checked, by its id, and nothing is written to it.
    let of_old = |arguments: &[&str]| room.run(&[arguments, &["--gate", &old_id]].concat());
    let shown = of_old(&["ledger", "show", "--json"]).ended(0).lines();
    assert_eq!(shown.len(), entries_before, "the record of the old gate");
    of_old(&["ledger", "verify"]).ended(0).says("verified");
    of_old(&["ledger", "fsck"]).ended(0).says("verified");
    let export = room.path("old-ledger");
    of_old(&["ledger", "export", export.to_str().unwrap()]).ended(0).says("exported");
    room.run(&["ledger", "show", "--gate", "0123456789abcdef"]).ended(1).says("gate list");
    // The old record can still be checked, and is not changed any more.
    let verify = ["verify", "--owner", owner.as_str().unwrap(), aside.to_str().unwrap()];
    room.run(&verify).ended(0).says("every owner act");
    assert!(std::fs::metadata(aside.join("ordain.db")).unwrap().permissions().readonly());
    on_terminal(&room, &[], &replace).ended(1).says("is in use");
}
