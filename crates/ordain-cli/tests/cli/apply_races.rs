//! Changes by others to a workspace while it is changed, or after a change was interrupted.

#![cfg(target_os = "linux")]

use crate::harness::{Workspace, soaking};
use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const APPLY: &[&str] = &["apply", "../patch.json"];
const ANY: &[&str] = &["rules", "PS4"];

/// An `apply` that is stopped: all is checked and staged, the journal is written, no target is touched.
struct Stopped<'w> {
    workspace: &'w Workspace,
    child: Child,
}

impl<'w> Stopped<'w> {
    /// `-D`: the command is our child, and `strace` is not in between. The journal is the first rename of all, and a
    /// signal stops a process when the call has done its work.
    fn new(workspace: &'w Workspace) -> Self {
        Self::with(workspace, &["inject=renameat:signal=STOP:when=1"])
    }

    /// As before, and once more after the first target was renamed.
    fn twice(workspace: &'w Workspace) -> Self {
        let stops = ["inject=renameat:signal=STOP:when=1", "inject=renameat2:signal=STOP:when=1"];
        Self::with(workspace, &stops)
    }

    fn with(workspace: &'w Workspace, stops: &[&str]) -> Self {
        let child = Command::new("strace")
            .args(["-D", "-o", "/dev/null", "-e", "trace=renameat,renameat2"])
            .args(stops.iter().flat_map(|stop| ["-e", *stop]))
            .args(["--", env!("CARGO_BIN_EXE_ordain")])
            .args(APPLY)
            .current_dir(workspace.root())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("strace is installed by `cargo xtask test`");
        let stopped = Self { workspace, child };
        stopped.wait();
        stopped
    }

    /// Until it has been still for a while.
    fn wait(&self) {
        let status = format!("/proc/{}/status", self.child.id());
        let journal = self.workspace.root().join(".ordain/apply/txn/journal.json");
        let mut still = 0;
        while still < 20 {
            let state = fs::read_to_string(&status).unwrap_or_default().to_lowercase();
            still = if journal.exists() && state.contains("state:\tt") { still + 1 } else { 0 };
            assert!(!state.contains("zombie"), "it ended without stopping");
            sleep(Duration::from_millis(5));
        }
    }

    fn carry_on(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-CONT", &id]).status().unwrap().success());
    }

    /// Goes on to the next stop, which is there when the slot has changed.
    fn go_on_to_the_rename(&self, is_there: impl Fn(&Workspace) -> bool) {
        self.carry_on();
        while !is_there(self.workspace) {
            sleep(Duration::from_millis(5));
        }
        self.wait();
    }

    /// Goes on to the end: the exit code and what was said.
    fn go_on(self) -> (i32, String) {
        self.carry_on();
        let output = self.child.wait_with_output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Somebody does something between the checks and the first change: everything of ours is as before, everything of
/// theirs as they left it.
#[track_caller]
fn conflict(meanwhile: impl FnOnce(&Workspace), expected: &str) {
    let workspace = Workspace::new();
    fs::create_dir(workspace.beside("outside")).unwrap();
    let stopped = Stopped::new(&workspace);
    meanwhile(&workspace);
    let theirs = workspace.tree();
    let (code, stderr) = stopped.go_on();
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("everything is as it was before") && stderr.contains(expected), "{stderr}");
    assert!(workspace.tree() == theirs, "{}", workspace.difference(&theirs, &theirs));
    assert_eq!(fs::read_dir(workspace.beside("outside")).unwrap().count(), 0, "nothing outside is touched");
    assert!(!workspace.root().join(".ordain/apply/txn").exists());
}

#[test]
fn nobody_does_anything() {
    let workspace = Workspace::new();
    let (code, stderr) = Stopped::new(&workspace).go_on();
    let note =
        "note: no gate is registered for this folder: no policy was asked, and nothing goes on a ledger\n";
    assert_eq!((code, stderr.as_str()), (0, note));
    assert_eq!(workspace.text("README.md"), "# new\n");
}

#[test]
fn a_folder_becomes_a_link() {
    let swap = |workspace: &Workspace| {
        fs::rename(workspace.root().join("src"), workspace.root().join("moved")).unwrap();
        symlink(workspace.beside("outside"), workspace.root().join("src")).unwrap();
    };
    conflict(swap, "src/b.rs  cannot be reached: a symbolic link is on the way");
}

#[test]
fn a_folder_to_be_made_becomes_a_link() {
    let link = |workspace: &Workspace| {
        symlink(workspace.beside("outside"), workspace.root().join("docs")).unwrap();
    };
    conflict(link, "a symbolic link is on the way");
}

#[test]
fn a_file_becomes_a_link() {
    let link = |workspace: &Workspace| {
        let path = workspace.root().join("src/secret.txt");
        fs::remove_file(&path).unwrap();
        symlink("../../outside/x", path).unwrap();
    };
    conflict(link, "src/secret.txt  is not what it was: a symbolic link is on the way");
}

#[test]
fn a_file_is_edited() {
    conflict(|ws| ws.file("src/windows.txt", "somebody's edit\n"), "src/windows.txt  was changed meanwhile");
    // The same length, at the same moment.
    conflict(|ws| ws.file("README.md", "# OLD\n"), "README.md  was changed meanwhile");
}

#[test]
fn a_file_is_edited_before_it_is_deleted() {
    conflict(|ws| ws.file("src/gone.txt", "wanted after all\n"), "src/gone.txt  was changed meanwhile");
}

#[test]
fn a_file_is_made() {
    conflict(|ws| ws.file("src/b.rs", "somebody's\n"), "src/b.rs  was made by somebody else meanwhile");
}

#[test]
fn a_file_or_folder_vanishes() {
    conflict(|ws| fs::remove_file(ws.root().join("README.md")).unwrap(), "README.md  was deleted meanwhile");
    conflict(
        |ws| fs::remove_dir_all(ws.root().join("src")).unwrap(),
        "src/b.rs  cannot be reached: it is gone",
    );
}

/// As editors do it: a new file, renamed over the old one.
fn save(workspace: &Workspace, path: &str, text: &str) {
    workspace.file(&format!("{path}~"), text);
    fs::rename(workspace.root().join(format!("{path}~")), workspace.root().join(path)).unwrap();
}

fn rescued(workspace: &Workspace) -> Vec<String> {
    let Ok(entries) = fs::read_dir(workspace.root().join(".ordain/rescued")) else { return Vec::new() };
    entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

/// Two saves at the worst moments: the newest is at the target, the other one is kept.
#[test]
fn no_save_is_lost() {
    let workspace = Workspace::empty();
    workspace.file("f", "old");
    workspace.patch(&[("modify", "f", "new")]);
    let stopped = Stopped::twice(&workspace);
    save(&workspace, "f", "first save");
    stopped.go_on_to_the_rename(|ws| ws.text("f") == "new");
    save(&workspace, "f", "second save");
    let (code, stderr) = stopped.go_on();
    assert!(code == 1 && stderr.contains("is kept in `.ordain/rescued/"), "{stderr}");
    assert_eq!(workspace.text("f"), "second save");
    assert_eq!(rescued(&workspace), ["first save"]);
    assert_eq!(workspace.ordain(APPLY).code, 0);
}

#[test]
fn no_save_before_a_deletion_is_lost() {
    let workspace = Workspace::empty();
    workspace.file("f", "old");
    workspace.patch(&[("delete", "f", "")]);
    let stopped = Stopped::twice(&workspace);
    save(&workspace, "f", "first save");
    stopped.go_on_to_the_rename(|ws| !ws.root().join("f").exists());
    save(&workspace, "f", "second save");
    let (code, stderr) = stopped.go_on();
    assert!(code == 1 && stderr.contains("is kept in `.ordain/rescued/"), "{stderr}");
    assert_eq!(
        (workspace.text("f"), rescued(&workspace)),
        ("second save".to_owned(), vec!["first save".to_owned()])
    );
}

#[test]
fn a_target_that_is_removed_meanwhile_comes_back() {
    let workspace = Workspace::empty();
    workspace.file("f", "old");
    workspace.patch(&[("modify", "f", "new")]);
    let stopped = Stopped::twice(&workspace);
    save(&workspace, "f", "a save");
    stopped.go_on_to_the_rename(|ws| ws.text("f") == "new");
    fs::remove_file(workspace.root().join("f")).unwrap();
    assert_eq!(stopped.go_on().0, 1);
    assert_eq!(workspace.text("f"), "a save");
}

/// Killed between the rename and the look at what came back.
#[test]
fn a_save_is_found_by_whoever_recovers() {
    for (op, is_there) in [
        ("modify", (|ws| ws.text("f") == "new") as fn(&Workspace) -> bool),
        ("delete", |ws| !ws.root().join("f").exists()),
    ] {
        let workspace = Workspace::empty();
        workspace.file("f", "old");
        workspace.patch(&[(op, "f", if op == "delete" { "" } else { "new" })]);
        let stopped = Stopped::twice(&workspace);
        save(&workspace, "f", "a save");
        stopped.go_on_to_the_rename(is_there);
        stopped.kill();
        let ran = workspace.ordain(ANY);
        assert!(ran.stderr.contains("it is rolled back now"), "{op}: {}", ran.stderr);
        assert_eq!(workspace.text("f"), "a save");
        assert_eq!(rescued(&workspace), [""; 0]);
    }
}

#[test]
fn two_at_once() {
    let workspace = Workspace::new();
    let stopped = Stopped::new(&workspace);
    let second = workspace.ordain(APPLY);
    assert!(
        second.code == 1 && second.stderr.contains("another ordain changes this workspace"),
        "{}",
        second.stderr
    );
    assert_eq!(workspace.ordain(&["undo"]).code, 1);
    // A change at work is not an interrupted one.
    assert_eq!(workspace.ordain(ANY).stderr, "");
    assert_eq!(stopped.go_on().0, 0);
    assert_eq!(workspace.text("README.md"), "# new\n");
}

/// After a crash somebody edits a file before anybody recovers.
#[test]
fn edits_after_a_crash_are_kept() {
    let workspace = Workspace::new();
    let old = workspace.tree();
    Stopped::new(&workspace).kill();
    workspace.file("src/windows.txt", "somebody's edit\n");
    let ran = workspace.ordain(ANY);
    assert!(ran.stderr.contains("it is rolled back now"), "{}", ran.stderr);
    assert_eq!(workspace.text("src/windows.txt"), "somebody's edit\n");
    workspace.file("src/windows.txt", "one\r\ntwo\r\n");
    assert!(workspace.tree() == old);
}

/// A journal that comes with a copy is not carried out: it may be anybody's.
#[test]
fn a_copied_journal_is_not_carried_out() {
    let workspace = Workspace::new();
    Stopped::new(&workspace).kill();
    let (from, to) = (workspace.root(), workspace.beside("copy"));
    assert!(Command::new("cp").arg("-a").args([&from, &to]).status().unwrap().success());
    let output = Command::new(env!("CARGO_BIN_EXE_ordain")).args(ANY).current_dir(&to).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("came with a copy of the workspace"), "{stderr}");
    assert_eq!(fs::read_to_string(to.join("README.md")).unwrap(), "# old\n");
    let trusted = ["recover", "--even-if-copied"];
    let output = Command::new(env!("CARGO_BIN_EXE_ordain")).args(trusted).current_dir(&to).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(to.join("README.md")).unwrap(), "# new\n");
    // The one that it was copied from is finished.
    workspace.ordain(ANY);
    assert_eq!(workspace.text("README.md"), "# new\n");
}

/// A journal is believed no more than a patch.
#[test]
fn a_forged_journal_reaches_nothing_that_a_patch_does_not() {
    let workspace = Workspace::new();
    workspace.file(".git/config", "[core]\n");
    Stopped::new(&workspace).kill();
    let journal = workspace.root().join(".ordain/apply/txn/journal.json");
    let text = fs::read_to_string(&journal).unwrap();
    for (path, expected) in
        [(".git/config", "Git's own"), ("../../x", "contains `..`"), ("/etc/x", "starts with `/`")]
    {
        fs::write(&journal, text.replace("\"README.md\"", &format!("\"{path}\""))).unwrap();
        let ran = workspace.ordain(APPLY);
        assert!(ran.code == 1 && ran.stderr.contains(expected), "{}", ran.stderr);
    }
    fs::write(&journal, "{\"half").unwrap();
    let ran = workspace.ordain(APPLY);
    assert!(
        ran.code == 1 && ran.stderr.contains("journal.json` cannot be used: is damaged"),
        "{}",
        ran.stderr
    );
    assert_eq!(workspace.text("README.md"), "# old\n");
}

/// Puts links to a folder outside in the place of `docs` and `.ordain`, and takes them away again, without end.
const SWAP: &str = r#"
import os, sys
outside = sys.argv[1]
while True:
    for name in ("docs", ".ordain"):
        try:
            os.rename(name, name + ".away")
            os.symlink(outside, name)
            os.unlink(name)
            os.rename(name + ".away", name)
        except OSError:
            # Somebody made it meanwhile.
            try:
                if os.path.islink(name):
                    os.unlink(name)
                if os.path.exists(name + ".away") and not os.path.exists(name):
                    os.rename(name + ".away", name)
            except OSError:
                pass
"#;

/// Root applies while another user, to whom the workspace belongs, swaps its folders for links.
#[test]
fn links_that_come_and_go_lead_nowhere() {
    const USER_ID: u32 = 65_534;
    let workspace = Workspace::empty();
    workspace.file("docs/a.md", "old\n");
    let outside = workspace.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.md"), "precious\n").unwrap();
    for path in ["", "docs", "docs/a.md"] {
        chown(workspace.root().join(path), Some(USER_ID), Some(USER_ID)).unwrap();
    }
    let mut swapper = Command::new("python3");
    swapper.args(["-c", SWAP]).arg(&outside).current_dir(workspace.root()).uid(USER_ID).gid(USER_ID);
    let mut swapper = swapper.spawn().unwrap();
    let (mut applied, mut refused) = (0, 0);
    for number in 0..if soaking() { 1_500 } else { 12 } {
        workspace.patch(&[("modify", "docs/a.md", &format!("{number}\n"))]);
        let ran = workspace.ordain(APPLY).calm();
        *if ran.code == 0 { &mut applied } else { &mut refused } += 1;
        let there: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(there, ["a.md"], "{}", ran.all());
        assert_eq!(fs::read_to_string(outside.join("a.md")).unwrap(), "precious\n", "{}", ran.all());
    }
    swapper.kill().unwrap();
    swapper.wait().unwrap();
    println!("{applied} applied, {refused} refused");
    assert!(!soaking() || (applied > 0 && refused > 0), "{applied} applied, {refused} refused");
}
