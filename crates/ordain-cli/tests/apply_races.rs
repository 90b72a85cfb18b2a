//! What others do to a workspace while it is changed, or after a change was interrupted.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod workspace;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use workspace::Workspace;

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
        let child = Command::new("strace")
            .args([
                "-D",
                "-o",
                "/dev/null",
                "-e",
                "trace=renameat",
                "-e",
                "inject=renameat:signal=STOP:when=1",
            ])
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

    /// Goes on to the end: the exit code and what was said.
    fn go_on(self) -> (i32, String) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-CONT", &id]).status().unwrap().success());
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
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_eq!(workspace.text("README.md"), "# new\n");
}

#[test]
fn a_folder_becomes_a_link() {
    let swap = |workspace: &Workspace| {
        fs::rename(workspace.root().join("src"), workspace.root().join("moved")).unwrap();
        symlink(workspace.beside("outside"), workspace.root().join("src")).unwrap();
    };
    conflict(swap, "`src/b.rs` cannot be reached: a symbolic link is on the way");
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
    conflict(link, "`src/secret.txt` is not what it was: a symbolic link is on the way");
}

#[test]
fn a_file_is_edited() {
    conflict(|ws| ws.file("src/windows.txt", "somebody's edit\n"), "`src/windows.txt` was changed meanwhile");
    // The same length, at the same moment.
    conflict(|ws| ws.file("README.md", "# OLD\n"), "`README.md` was changed meanwhile");
}

#[test]
fn a_file_is_edited_before_it_is_deleted() {
    conflict(|ws| ws.file("src/gone.txt", "wanted after all\n"), "`src/gone.txt` was changed meanwhile");
}

#[test]
fn a_file_is_made() {
    conflict(|ws| ws.file("src/b.rs", "somebody's\n"), "`src/b.rs` was made by somebody else meanwhile");
}

#[test]
fn a_file_or_folder_vanishes() {
    conflict(|ws| fs::remove_file(ws.root().join("README.md")).unwrap(), "`README.md` was deleted meanwhile");
    conflict(
        |ws| fs::remove_dir_all(ws.root().join("src")).unwrap(),
        "`src/b.rs` cannot be reached: it is gone",
    );
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
    // A change at work is no interrupted one.
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
