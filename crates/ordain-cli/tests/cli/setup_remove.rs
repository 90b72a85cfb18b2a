//! `ordain setup --remove` where the gate, its store or the disk fails: the file stays as it is, and the person is told
//! what to do by hand. And settings of the machine.

use crate::approving::owned_solo;
use crate::harness::{Guarded, Ran, ran};
use crate::presence::{PASSPHRASE, command_on_terminal, detached};
use ordain_hooks::Agent;
use serde_json::Value as Json;
use std::fs;
use std::path::Path;
use std::process::Command;

const BEFORE: &str = "{\n\t\"model\": \"x\",\n\t\"hooks\": {\n\t\t\"Stop\": []\n\t}\n}";
const SETTINGS: &str = ".claude/settings.local.json";

/// A project that its person owns, with a hook in settings that were there before.
fn hooked() -> Guarded {
    let guarded = Guarded::of(owned_solo());
    guarded.project.write(SETTINGS, BEFORE);
    let done = guarded.run(&["setup", "claude", "--project", "--json"]).ended(0).json();
    assert_eq!(done["result"], "installed", "{done}");
    guarded
}

/// With the passphrase typed where somebody asks for it.
fn remove(guarded: &Guarded) -> Ran {
    let command = guarded.command(&["setup", "claude", "--project", "--remove"]);
    command_on_terminal(&guarded.project, &[("Passphrase: ", PASSPHRASE)], &command)
}

fn stays(guarded: &Guarded, with: &str, ran: Ran) {
    assert_ne!(ran.code, 0, "{}", ran.all());
    let text = ran.all().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("nothing was changed; to do it by hand, delete every entry of"), "{text}");
    assert!(text.contains("has `ordain hook claude`"), "{text}");
    assert_eq!(guarded.project.read(SETTINGS), with);
}

#[test]
fn without_the_key_the_gate_or_the_store_nothing_is_removed() {
    let guarded = hooked();
    let with = guarded.project.read(SETTINGS);
    // Without a terminal, and with a passphrase that is wrong.
    let inner = guarded.project.command(&["setup", "claude", "--project", "--remove"]);
    let words: Vec<&str> = inner.get_args().map(|word| word.to_str().unwrap()).collect();
    stays(&guarded, &with, detached(&guarded.project, &words));
    let command = guarded.command(&["setup", "claude", "--project", "--remove"]);
    let wrong = [("Passphrase: ", "a wrong one altogether"); 3];
    stays(&guarded, &with, command_on_terminal(&guarded.project, &wrong, &command));
    guarded.stop_gate();
    let state = guarded.project.state();
    // The store is gone, empty, or something else.
    let database = fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> =
        database.filter(|path| path.file_name().unwrap().to_string_lossy().contains(".db")).collect();
    assert!(!files.is_empty());
    let aside = guarded.home.path().join("aside");
    fs::create_dir(&aside).unwrap();
    for file in &files {
        fs::rename(file, aside.join(file.file_name().unwrap())).unwrap();
    }
    stays(&guarded, &with, remove(&guarded));
    let main = files.iter().min_by_key(|path| path.as_os_str().len()).unwrap();
    for content in [&b""[..], b"not a store, but a text of some length"] {
        fs::write(main, content).unwrap();
        stays(&guarded, &with, remove(&guarded));
        fs::remove_file(main).unwrap();
    }
    for file in &files {
        fs::rename(aside.join(file.file_name().unwrap()), file).unwrap();
    }
    // The gate is gone, and then everything of ordain.
    let elsewhere = guarded.home.path().join("gate");
    fs::rename(&state, &elsewhere).unwrap();
    stays(&guarded, &with, remove(&guarded));
    fs::rename(&elsewhere, &state).unwrap();
    let all = guarded.project.state_home().join("ordain");
    let elsewhere = guarded.home.path().join("all");
    fs::rename(&all, &elsewhere).unwrap();
    stays(&guarded, &with, remove(&guarded));
    fs::rename(&elsewhere, &all).unwrap();

    let removed = remove(&guarded);
    assert_eq!(removed.code, 0, "{}", removed.all());
    assert_eq!(guarded.project.read(SETTINGS), BEFORE);
}

/// Runs a script where these folders are full disks: tmpfs of 256 KiB with what was there, filled up.
fn on_full_disks(folders: &[&Path], script: &str) -> Command {
    let mut setup = String::from("set -e\n");
    for folder in folders {
        let folder = folder.display();
        setup.push_str(&format!(
            "tar -C '{folder}' -cf - . > /dev/shm/kept.$$\nmount -t tmpfs -o size=$(($(stat -c %s /dev/shm/kept.$$) / 1024 + 256))k \
             tmpfs '{folder}'\ntar -C '{folder}' -xf /dev/shm/kept.$$\nrm /dev/shm/kept.$$\ndd if=/dev/zero of='{folder}/filler' bs=4k \
             2>/dev/null || true\n"
        ));
    }
    let mut command = Command::new("/usr/bin/unshare");
    let is_root = crate::harness::os_user() == "root";
    command.args((!is_root).then_some("--map-root-user")).args([
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
    ]);
    command.arg(format!("{setup}{script}"));
    command
}

#[test]
fn on_a_full_disk_the_file_stays_whole() {
    let guarded = hooked();
    let with = guarded.project.read(SETTINGS);
    guarded.stop_gate();
    let folder = guarded.project.path(".claude");
    let state = guarded.project.state_home().to_owned();
    let binary = env!("CARGO_BIN_EXE_ordain");
    // The disk of the settings, and the disk of the gate too.
    for folders in [vec![folder.as_path()], vec![folder.as_path(), state.as_path()]] {
        let script = format!(
            "set +e; '{binary}' setup claude --project --remove; code=$?; printf 'FILE<%s>' \"$(cat '{}')\"; exit $code",
            guarded.project.path(SETTINGS).display()
        );
        let mut command = on_full_disks(&folders, &script);
        let inner = guarded.command(&[]);
        command.current_dir(&guarded.project.root);
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("HOME", guarded.home.path());
        let ran = command_on_terminal(&guarded.project, &[("Passphrase: ", PASSPHRASE)], &command);
        let said = ran.all().replace('\r', "");
        assert!(said.contains(&format!("FILE<{with}>")), "{said}");
        stays(&guarded, &with, ran);
    }
    // With room again, byte for byte.
    assert_eq!(remove(&guarded).code, 0);
    assert_eq!(guarded.project.read(SETTINGS), BEFORE);
}

/// Settings of the machine, on a copy of `/etc` that only the script sees.
fn on_own_etc(guarded: &Guarded, script: &str) -> Ran {
    let setup = "set -e\nW=$(mktemp -d)\nmount -t tmpfs tmpfs $W\nmkdir $W/upper $W/work\nmount -t overlay overlay \
         -o lowerdir=/etc,upperdir=$W/upper,workdir=$W/work /etc\n";
    let mut command = Command::new("/usr/bin/unshare");
    let is_root = crate::harness::os_user() == "root";
    command.args((!is_root).then_some("--map-root-user")).args([
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
    ]);
    command.arg(format!("{setup}{script}")).current_dir(&guarded.project.root);
    for (name, value) in guarded.command(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    ran(&mut command)
}

/// Codex reads `/etc/codex/requirements.toml`, in which a hook needs nobody's trust. Codex itself says so.
#[test]
fn codex_has_settings_of_the_machine() {
    let guarded = Guarded::new();
    let codex = crate::hooks_live::program(Agent::Codex);
    let binary = env!("CARGO_BIN_EXE_ordain");
    let before = "# ours\nallow_managed_hooks_only = true\n";
    let script = format!(
        "export PATH='{}:/usr/bin:/bin'\nmkdir -p $HOME/.codex /etc/codex\nF=/etc/codex/requirements.toml\nprintf '{}' > $F\n\
         '{binary}' setup codex --managed --json\ncat $F\nstat -c %a $F >&2\n\
         '{binary}' doctor --json | tr -d '\\n'; echo\n\
         '{binary}' setup codex --managed --remove --json\nprintf 'FILE<%s>\\n' \"$(cat $F)\"\n\
         rm -r /etc/codex\n'{binary}' setup codex --managed --json > /dev/null\nstat -c %a $F\n\
         '{binary}' setup codex --managed --remove --json > /dev/null\nls -d /etc/codex 2>&1",
        codex.parent().unwrap().display(),
        before.replace('\n', "\\n"),
    );
    let said = on_own_etc(&guarded, &script);
    let lines: Vec<&str> = said.stdout.lines().collect();
    let installed: Json = serde_json::from_str(lines[0]).unwrap_or_else(|_| panic!("{}", said.all()));
    assert_eq!(installed["result"], "installed", "{installed}");
    let checks = installed["checks"].as_array().unwrap();
    assert!(checks.len() == 5 && checks.iter().all(|check| check["ok"] == true), "{installed}");
    assert!(said.stdout.contains("[[hooks.PreToolUse]]\nmatcher = \".*\"\n"), "{}", said.stdout);
    // Codex lists it as one that runs, and nothing had to be trusted.
    let doctor = lines.iter().find(|line| line.contains("\"agents\"")).unwrap();
    let doctor: Json = serde_json::from_str(doctor).unwrap();
    let state = &doctor["agents"].as_array().unwrap()[0];
    assert_eq!((&state["agent"], &state["state"]), (&"codex".into(), &"guarded".into()), "{doctor}");
    assert!(!said.stderr.contains("does not run"), "{}", said.stderr);
    assert!(said.stdout.contains(&format!("FILE<{}>", before.trim_end())), "{}", said.stdout);
    // A file that is made for everybody can be read by everybody, and is gone again with its folder.
    assert!(lines.contains(&"644"), "{}", said.stdout);
    assert!(lines.last().unwrap().contains("No such file"), "{}", said.stdout);
    guarded
        .run(&["setup", "opencode", "--managed"])
        .ended(64)
        .says_all(&["no settings of the machine", "--user"]);
}
