//! `apply` and `undo` as a user meets them: what is refused, what is kept, what others do meanwhile.

#![cfg(target_os = "linux")]

use crate::harness::{Ran, Workspace};
use serde_json::{Value as Json, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::Command;

const APPLY: &[&str] = &["apply", "../patch.json"];

fn run(program: &str, args: &[&str]) {
    let status = Command::new(program).args(args).status().unwrap();
    assert!(status.success(), "{program} {args:?}");
}

/// One operation on a workspace with one file, and what is said against it.
#[track_caller]
fn refused(prepare: impl FnOnce(&Workspace), operation: (&str, &str, &str), expected: &str) {
    let workspace = Workspace::empty();
    workspace.file("a.txt", "a\n");
    workspace.patch(&[operation]);
    prepare(&workspace);
    let before = workspace.tree();
    let ran = workspace.ordain(APPLY);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert!(workspace.tree() == before);
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_written() {
    refused(|_| {}, ("create", "a.txt", "x"), "a.txt  is to be created, but it is there already");
    refused(|_| {}, ("modify", "b.txt", "x"), "b.txt  is to be changed, but it is not there");
    refused(|_| {}, ("delete", "no/b.txt", ""), "no/b.txt  is to be deleted, but it is not there");
    refused(|_| {}, ("create", "a.txt/b", "x"), "a part of its path is not a folder");
    refused(|_| {}, ("create", "A.TXT", "x"), "differs only by case or Unicode form from `a.txt`");
    refused(
        |ws| ws.file("src/x", ""),
        ("create", "SRC/y", "x"),
        "differs only by case or Unicode form from `src`",
    );
    refused(|ws| ws.file("d/x", ""), ("modify", "d", "x"), "d  is a folder");
    let long = "n".repeat(300);
    refused(|_| {}, ("create", &long, "x"), "too long for the file system");
}

#[test]
fn links_are_never_followed() {
    let link = |name: &'static str, target: &'static str| {
        move |workspace: &Workspace| symlink(target, workspace.root().join(name)).unwrap()
    };
    refused(link("l", "a.txt"), ("modify", "l", "x"), "l  is a symbolic link");
    refused(link("l", "a.txt"), ("delete", "l", ""), "l  is a symbolic link");
    refused(link("l", "nowhere"), ("create", "l", "x"), "l  is a symbolic link");
    refused(link("l", ".."), ("create", "l/x", "x"), "a symbolic link is on the way");
    refused(link("l", "/tmp"), ("create", "l/d/x", "x"), "a symbolic link is on the way");
    let fifo = |workspace: &Workspace| run("mkfifo", &[workspace.root().join("p").to_str().unwrap()]);
    refused(fifo, ("modify", "p", "x"), "is a device, a pipe or a socket");
    let own = |workspace: &Workspace| {
        fs::create_dir(workspace.beside("elsewhere")).unwrap();
        symlink("../elsewhere", workspace.root().join(".ordain")).unwrap();
    };
    refused(own, ("modify", "a.txt", "x"), "`.ordain` cannot be used");
}

#[test]
fn git_and_our_own_folder_are_out_of_reach() {
    for path in [".git/hooks/pre-commit", "sub/.git/config", ".GIT/config", "a/.git", ".g\u{200c}it/config"] {
        refused(|ws| ws.file(".git/config", ""), ("create", path, "x"), "is Git's own folder");
    }
    refused(|ws| ws.file(".git/config", ""), ("modify", ".git/config", "x"), "is Git's own folder");
    for path in [".ordain/apply/txn/journal.json", "sub/.ordain/x", ".Ordain/x"] {
        refused(|_| {}, ("create", path, "x"), "is ordain's own folder");
    }
}

#[test]
fn two_new_folders_that_are_one_elsewhere() {
    let workspace = Workspace::empty();
    workspace.patch(&[("create", "Src/a", "x"), ("create", "src/b", "x")]);
    let ran = workspace.ordain(APPLY);
    assert!(ran.stderr.contains("differs only by case or Unicode form from the folder"), "{}", ran.stderr);
    assert!(workspace.tree().is_empty());
}

#[test]
fn all_problems_are_said_at_once() {
    let workspace = Workspace::empty();
    workspace.patch(&[("modify", "b", "x"), ("delete", "c", ""), ("create", "x/.git/d", "")]);
    let ran = workspace.ordain(&["apply", "../patch.json", "--json"]);
    let said: Json = serde_json::from_str(&ran.stdout).unwrap();
    let paths: Vec<_> = said["problems"].as_array().unwrap().iter().map(|it| it["path"].clone()).collect();
    assert_eq!((ran.code, paths), (1, vec![json!("b"), json!("c"), json!("x/.git/d")]));
    assert!(!workspace.root().join(".ordain").exists());
}

#[test]
fn locked_files_and_folders_are_found_first() {
    let cases =
        [("d/x", "+i", "delete", "d/x"), ("d/x", "+a", "modify", "d/x"), ("d", "+a", "create", "d/y")];
    for (path, flag, op, target) in cases {
        let workspace = Workspace::empty();
        workspace.file("d/x", "x\n");
        workspace.patch(&[(op, target, "")]);
        let path = workspace.root().join(path);
        run("chattr", &[flag, path.to_str().unwrap()]);
        let ran = workspace.ordain(APPLY);
        run("chattr", &["-ia", path.to_str().unwrap()]);
        assert!(ran.code == 1 && ran.stderr.contains("locked by an attribute"), "{}", ran.stderr);
        assert_eq!(workspace.ordain(APPLY).code, 0, "the control: without the lock it is done");
    }
}

#[test]
fn new_files_take_the_group_that_their_folder_gives() {
    let workspace = Workspace::empty();
    let shared = workspace.root().join("shared");
    fs::create_dir(&shared).unwrap();
    std::os::unix::fs::chown(&shared, None, Some(USER_ID)).unwrap();
    workspace.mode("shared", 0o2775);
    workspace.patch(&[("create", "shared/a", "a"), ("create", "shared/sub/b", "b")]);
    assert_eq!(workspace.ordain(APPLY).code, 0);
    let group = |path: &str| fs::metadata(shared.join(path)).unwrap().gid();
    assert_eq!((group("a"), group("sub"), group("sub/b")), (USER_ID, USER_ID, USER_ID));
}

/// A file system for the time of a test.
struct Mounted(std::path::PathBuf);

impl Mounted {
    fn tmpfs(workspace: &Workspace, path: &str, options: &str) -> Self {
        let place = workspace.beside(path);
        fs::create_dir_all(&place).unwrap();
        run("mount", &["-t", "tmpfs", "-o", options, "none", place.to_str().unwrap()]);
        Self(place)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", self.0.to_str().unwrap()]).status();
    }
}

#[test]
fn a_disk_without_room() {
    let workspace = Workspace::empty();
    let _small = Mounted::tmpfs(&workspace, "ws", "size=128k,nr_inodes=20");
    workspace.patch(&[("create", "large", &"x".repeat(200_000))]);
    let ran = workspace.ordain(APPLY);
    assert!(ran.stderr.contains("has room for 131072 bytes"), "{}", ran.stderr);
    let names: Vec<String> = (0..30).map(|number| format!("f{number}")).collect();
    workspace.patch(&names.iter().map(|name| ("create", name.as_str(), "")).collect::<Vec<_>>());
    let ran = workspace.ordain(APPLY);
    assert!(ran.stderr.contains("files and folders"), "{}", ran.stderr);
    assert!(workspace.tree().is_empty());
    // Control: what fits is written.
    workspace.patch(&[("create", "small", &"x".repeat(20_000))]);
    assert_eq!(workspace.ordain(APPLY).code, 0);
}

#[test]
fn a_read_only_file_system_and_one_mounted_inside() {
    let workspace = Workspace::empty();
    let _mounted = Mounted::tmpfs(&workspace, "ws", "size=1m");
    workspace.file("a.txt", "a\n");
    let _inner = Mounted::tmpfs(&workspace, "ws/inner", "size=1m");
    workspace.patch(&[("create", "inner/x", "x")]);
    let ran = workspace.ordain(APPLY);
    assert!(ran.stderr.contains("another file system is mounted on the way"), "{}", ran.stderr);
    run("mount", &["-o", "remount,ro", workspace.root().to_str().unwrap()]);
    workspace.patch(&[("modify", "a.txt", "x")]);
    let ran = workspace.ordain(APPLY);
    assert!(ran.code == 1 && ran.stderr.contains("read-only file system"), "{}", ran.stderr);
    assert_eq!(workspace.text("a.txt"), "a\n");
}

/// No user of this machine, as far as anybody knows.
const USER_ID: u32 = 64_321;

fn as_user(workspace: &Workspace, args: &[&str]) -> Ran {
    // The build folder may be closed to others.
    let program = workspace.beside("ordain");
    fs::copy(env!("CARGO_BIN_EXE_ordain"), &program).unwrap();
    let output = Command::new(program)
        .args(args)
        .current_dir(workspace.root())
        .uid(USER_ID)
        .gid(USER_ID)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn an_ordinary_user() {
    let workspace = Workspace::empty();
    let own = |path: &str| {
        std::os::unix::fs::chown(workspace.root().join(path), Some(USER_ID), Some(USER_ID)).unwrap()
    };
    workspace.file("mine.txt", "a\n");
    workspace.file("roots.txt", "a\n");
    workspace.file("closed/x", "a\n");
    own("");
    own("mine.txt");
    workspace.patch(&[("modify", "mine.txt", "b\n"), ("create", "new", "n\n")]);
    let ran = as_user(&workspace, APPLY);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let owner = |path: &str| fs::metadata(workspace.root().join(path)).unwrap().uid();
    assert_eq!((owner("mine.txt"), owner("new")), (USER_ID, USER_ID));
    workspace.patch(&[("modify", "roots.txt", "b\n")]);
    let ran = as_user(&workspace, APPLY);
    assert!(ran.code == 1 && ran.stderr.contains("belongs to another user"), "{}", ran.stderr);
    workspace.patch(&[("create", "closed/y", "b\n")]);
    let ran = as_user(&workspace, APPLY);
    assert!(
        ran.code == 1 && ran.stderr.contains("a folder that cannot be changed: permission denied"),
        "{}",
        ran.stderr
    );
    // Root changes the file of another without taking it over.
    workspace.patch(&[("modify", "mine.txt", "c\n")]);
    assert_eq!(workspace.ordain(APPLY).code, 0);
    assert_eq!((owner("mine.txt"), workspace.text("mine.txt").as_str()), (USER_ID, "c\n"));
}

#[test]
fn modes_attributes_line_endings_and_other_names_stay() {
    let workspace = Workspace::new();
    let path = |name: &str| workspace.root().join(name);
    fs::hard_link(path("README.md"), workspace.beside("outside")).unwrap();
    run("setfattr", &["-n", "user.note", "-v", "kept", path("bin/run.sh").to_str().unwrap()]);
    let old = workspace.tree();
    assert_eq!(workspace.ordain(APPLY).code, 0);
    let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("bin/run.sh"), mode("src/secret.txt"), mode("docs/empty")), (0o755, 0o600, 0o644));
    assert_eq!(workspace.text("src/windows.txt"), "one\r\nthree\r\n");
    assert_eq!(fs::read_to_string(workspace.beside("outside")).unwrap(), "# old\n");
    assert_eq!(workspace.text("README.md"), "# new\n");
    let shown =
        Command::new("getfattr").args(["-n", "user.note", path("bin/run.sh").to_str().unwrap()]).output();
    assert!(String::from_utf8(shown.unwrap().stdout).unwrap().contains("kept"));
    assert_eq!(workspace.ordain(&["undo"]).code, 0);
    assert!(workspace.tree() == old);
}

#[test]
fn undo_only_if_nothing_changed_since() {
    let workspace = Workspace::new();
    assert_eq!(workspace.ordain(&["undo"]).stderr, "error: there is no change to undo in this workspace\n");
    let old = workspace.tree();
    assert_eq!(workspace.ordain(APPLY).code, 0);
    let new = workspace.tree();
    workspace.file("src/b.rs", "mine now\n");
    workspace.file("other/gone.bin", "made again\n");
    let ran = workspace.ordain(&["undo"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("src/b.rs  was changed since")
            && ran.stderr.contains("gone.bin  was made again since")
    );
    assert_eq!(workspace.text("src/b.rs"), "mine now\n");
    workspace.file("src/b.rs", "fn b() {}\n");
    fs::remove_file(workspace.root().join("other/gone.bin")).unwrap();
    let preview = workspace.ordain(&["undo", "--dry-run"]);
    assert!(preview.stdout.contains("-fn b() {}") && workspace.tree() == new);
    // A file that somebody added to a folder that the change made keeps that folder.
    workspace.file("docs/deep/more", "mine\n");
    let before = fs::metadata(workspace.root().join("README.md")).unwrap().mtime();
    assert_eq!(workspace.ordain(&["undo"]).code, 0);
    assert!(fs::metadata(workspace.root().join("README.md")).unwrap().mtime() >= before, "seen by `make`");
    assert_eq!(workspace.text("docs/deep/more"), "mine\n");
    fs::remove_dir_all(workspace.root().join("docs")).unwrap();
    assert!(workspace.tree() == old, "{}", workspace.difference(&old, &new));
    assert_eq!(workspace.ordain(&["undo"]).code, 1);
}

#[test]
fn several_changes_are_undone_one_by_one() {
    let workspace = Workspace::empty();
    for (number, operation) in
        [("create", "a", "1"), ("modify", "a", "2"), ("create", "b", "3")].iter().enumerate()
    {
        workspace.patch(&[*operation]);
        let ran = workspace.ordain(APPLY);
        assert!(ran.stdout.contains(&format!("as {:06}-", number + 1)), "{}{}", ran.stdout, ran.stderr);
    }
    let listed: Json = serde_json::from_str(&workspace.ordain(&["undo", "--list", "--json"]).stdout).unwrap();
    let names: Vec<&str> =
        listed["applied"].as_array().unwrap().iter().map(|it| it["record"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3);
    // The last comes first. The first is under the second; the second is free.
    assert!(workspace.ordain(&["undo", names[2]]).stderr.contains("was changed since"));
    assert_eq!(workspace.ordain(&["undo", names[1]]).code, 0);
    assert_eq!(workspace.text("a"), "1");
    assert_eq!(workspace.ordain(&["undo"]).code, 0);
    assert_eq!(workspace.ordain(&["undo"]).code, 0);
    assert!(workspace.tree().is_empty());
    assert!(workspace.ordain(&["undo", "--list"]).stdout.contains("nothing was applied"));
}

/// The content of `.ordain` may have come with somebody's repository.
#[test]
fn records_of_others_are_passed_over_or_refused() {
    let workspace = Workspace::new();
    let applied = workspace.root().join(".ordain/applied");
    for name in ["18446744073709551615-x", "Thumbs.db", "\u{1b}[2J", "999999999999999-aaaaaaaaaaaa"] {
        fs::create_dir_all(applied.join(name)).unwrap();
    }
    let ran = workspace.ordain(APPLY);
    assert!(ran.code == 0 && ran.stdout.contains("as 000001-"), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(workspace.ordain(&["undo", "--list"]).stdout.lines().count(), 1);
    let (from, to) = (workspace.root(), workspace.beside("copy"));
    run("cp", &["-a", from.to_str().unwrap(), to.to_str().unwrap()]);
    let in_copy = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ordain")).args(args).current_dir(&to).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, stderr) = in_copy(&["undo"]);
    assert!(code == 1 && stderr.contains("came with a copy of the workspace"), "{stderr}");
    let (code, stderr) = in_copy(&["undo", "--even-if-copied"]);
    assert!(code == 0 && stderr.starts_with("note: no gate is registered for this folder"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert_eq!(fs::read_to_string(to.join("README.md")).unwrap(), "# old\n");
    assert_eq!(workspace.ordain(&["recover"]).stdout, "nothing had been interrupted\n");
}

/// Git removes folders in which nothing is left.
#[test]
fn undo_makes_the_folder_of_a_deleted_file_again() {
    let workspace = Workspace::empty();
    workspace.file("a/b/c", "old\n");
    workspace.patch(&[("delete", "a/b/c", "")]);
    assert_eq!(workspace.ordain(APPLY).code, 0);
    fs::remove_dir_all(workspace.root().join("a")).unwrap();
    let ran = workspace.ordain(&["undo"]);
    assert_eq!((ran.code, workspace.text("a/b/c").as_str()), (0, "old\n"), "{}", ran.stderr);
}

#[test]
fn only_if_unchanged() {
    let workspace = Workspace::new();
    let hash = |text: &str| json!(ordain_canon::ContentHash::of(text.as_bytes()).to_string());
    let mut base = json!({"files": {
        "README.md": hash("# old\n"), "bin/run.sh": hash("#!/bin/sh\necho old\n"), "docs/deep/er/a.md": null,
        "docs/empty": null, "other/gone.bin": hash("delete me too\n"), "src/b.rs": null,
        "src/gone.txt": hash("delete me\n"), "src/secret.txt": hash("old secret\n"),
        "src/windows.txt": hash("one\r\ntwo\r\n"),
    }});
    let write = |base: &Json| fs::write(workspace.beside("base.json"), base.to_string()).unwrap();
    let guarded = &["apply", "../patch.json", "--if-unchanged", "../base.json"];
    write(&base);
    workspace.file("src/secret.txt", "newer\n");
    let ran = workspace.ordain(guarded);
    assert!(ran.code == 1 && ran.stderr.contains("src/secret.txt  was changed since"), "{}", ran.stderr);
    workspace.file("src/secret.txt", "old secret\n");
    let entry = base["files"].as_object_mut().unwrap().remove("docs/empty");
    write(&base);
    assert!(workspace.ordain(guarded).stderr.contains("docs/empty  is not in the list"));
    base["files"]["docs/empty"] = entry.unwrap();
    write(&base);
    assert_eq!(workspace.ordain(guarded).code, 0);
}

#[test]
fn a_dry_run_is_a_patch_for_git_and_changes_nothing() {
    let workspace = Workspace::new();
    workspace.file("src/no-newline", "a\nb");
    workspace.patch(&[
        ("modify", "README.md", "# new\n\ttab\n"),
        ("create", "docs/empty", ""),
        ("delete", "other/gone.bin", ""),
        ("create", "src/b.rs", "fn b() {}"),
        ("create", "src/a name with blanks", "x\n"),
        ("modify", "src/no-newline", "a\nc"),
        ("modify", "src/windows.txt", "one\r\nthree\r\n"),
    ]);
    let before = workspace.tree();
    let diff = workspace.ordain(&["apply", "../patch.json", "--dry-run"]);
    assert_eq!(diff.code, 0);
    assert!(workspace.tree() == before && !workspace.root().join(".ordain").exists());
    fs::write(workspace.beside("diff"), &diff.stdout).unwrap();
    assert_eq!(workspace.ordain(APPLY).code, 0);
    let applied = workspace.tree();
    assert_eq!(workspace.ordain(&["undo"]).code, 0);
    let status = Command::new("git")
        .args(["apply", "--whitespace=nowarn", "../diff"])
        .current_dir(workspace.root())
        .env("GIT_CEILING_DIRECTORIES", workspace.beside(""))
        .status();
    assert!(status.unwrap().success(), "{}", diff.stdout);
    assert!(workspace.tree() == applied, "{}", workspace.difference(&before, &applied));
    // Byte for byte for programs; for people without what a file could do to their terminal.
    workspace.patch(&[
        ("create", "evil", "a\u{1b}];hidden\u{7}b\n"),
        ("modify", "src/windows.txt", "one\r\nthree\r\n"),
    ]);
    let plain = workspace.ordain(&["apply", "../patch.json", "--dry-run"]);
    assert!(plain.stdout.contains("+a\u{1b}];hidden\u{7}b\n"), "{:?}", plain.stdout);
    assert!(!plain.stdout.contains("windows"), "a file that stays as it is");
    let colours = workspace.ordain(&["apply", "../patch.json", "--dry-run", "--color", "always"]);
    assert!(colours.stdout.contains("\u{1b}[1m\u{1b}[32m+a\\u{1b}];hidden\\u{7}b"), "{:?}", colours.stdout);
}

#[test]
fn bad_input_is_told() {
    let workspace = Workspace::new();
    let ran = workspace.ordain(&["apply", "../nothing.json"]);
    assert!(ran.code == 1 && ran.stderr.contains("../nothing.json"), "{}", ran.stderr);
    fs::write(workspace.beside("bad.json"), "{").unwrap();
    assert_eq!(workspace.ordain(&["apply", "../bad.json"]).code, 1);
    let ran = workspace.ordain(&["apply", "../patch.json", "--workspace", "../nowhere"]);
    assert!(ran.stderr.contains("the workspace `../nowhere` cannot be used"), "{}", ran.stderr);
    let ran = workspace.ordain(&["apply", "../patch.json", "--if-unchanged", "../bad.json"]);
    assert!(ran.code == 2 && ran.stderr.contains("not a list of what a patch replaces"), "{}", ran.stderr);
    workspace.patch(&[("create", "../outside", "x")]);
    assert!(workspace.ordain(APPLY).stderr.contains("PS4"));
    assert_eq!(workspace.ordain(&["undo", "no-such"]).code, 1);
}

#[test]
fn a_patch_that_changes_nothing() {
    let workspace = Workspace::empty();
    workspace.file("a", "same\n");
    workspace.file("b", "old\n");
    for operations in [&[][..], &[("modify", "a", "same\n")]] {
        workspace.patch(operations);
        let ran = workspace.ordain(APPLY);
        assert_eq!((ran.code, ran.stdout.starts_with("nothing to change")), (0, true), "{}", ran.stderr);
        assert_eq!(workspace.ordain(&["undo"]).code, 1);
    }
    workspace.patch(&[("modify", "a", "same\n"), ("modify", "b", "new\n")]);
    let ran = workspace.ordain(APPLY);
    assert!(ran.stdout.contains("applied  1 file,") && !ran.stdout.contains("~ a"), "{}", ran.stdout);
    assert_eq!(workspace.ordain(&["undo", "000001"]).code, 0);
    assert_eq!(workspace.text("b"), "old\n");
}

/// An intent with one file that a command looks at.
fn intent(workspace: &Workspace, expected: &str) {
    let intent = json!({
        "goal": "Write `note.txt` with the word done",
        "context": {
            "files": [{"path": "note.txt", "content": "done\n"}],
            "commands": [{"argv": ["grep", expected, "note.txt"]}],
        },
    });
    fs::write(workspace.beside("intent.json"), intent.to_string()).unwrap();
}

fn run_folder(ran: &Ran) -> String {
    let result: Json = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    format!(".ordain/runs/{}", result["run_id"].as_str().unwrap())
}

#[test]
fn an_accepted_run_is_applied_if_nothing_changed() {
    let workspace = Workspace::empty();
    workspace.file("note.txt", "old\n");
    intent(&workspace, "done");
    let ran = workspace.ordain(&["run", "../intent.json", "--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let folder = run_folder(&ran);
    assert_eq!(workspace.text("note.txt"), "old\n");
    workspace.file("note.txt", "newer\n");
    let refused = workspace.ordain(&["apply", &folder]);
    assert!(
        refused.code == 1 && refused.stderr.contains("note.txt  was changed since"),
        "{}",
        refused.stderr
    );
    assert_eq!(workspace.text("note.txt"), "newer\n");
    assert_eq!(workspace.ordain(&["apply", &folder, "--even-if-changed"]).code, 0);
    assert_eq!(workspace.text("note.txt"), "done\n");
    assert_eq!(workspace.ordain(&["undo"]).code, 0);
    assert_eq!(workspace.text("note.txt"), "newer\n");
    workspace.file("note.txt", "old\n");
    // From anywhere: the folder says which workspace it is about.
    let path = workspace.root().join(&folder);
    let output =
        Command::new(env!("CARGO_BIN_EXE_ordain")).arg("apply").arg(path).current_dir("/").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(workspace.text("note.txt"), "done\n");
}

#[test]
fn a_run_is_applied_as_it_was_tried_or_not_at_all() {
    let workspace = Workspace::empty();
    intent(&workspace, "done");
    let folder = run_folder(&workspace.ordain(&["run", "../intent.json", "--json"]));
    let patch = workspace.root().join(&folder).join("patch.json");
    let text = fs::read_to_string(&patch).unwrap();
    fs::write(&patch, text.replace("done\\n", "evil\\n")).unwrap();
    let ran = workspace.ordain(&["apply", &folder]);
    assert!(ran.code == 1 && ran.stderr.contains("broken"), "{}", ran.stderr);
    intent(&workspace, "absent");
    let ran = workspace.ordain(&["run", "../intent.json", "--json", "--apply"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (1, 1), "{}", ran.stderr);
    let ran = workspace.ordain(&["apply", &run_folder(&ran)]);
    assert!(ran.code == 1 && ran.stderr.contains("the run was not accepted"), "{}", ran.stderr);
    assert!(workspace.tree().is_empty());
}

/// Where the record cannot be kept nothing is tried.
#[test]
fn nothing_runs_where_nothing_can_be_kept() {
    let workspace = Workspace::empty();
    fs::create_dir(workspace.beside("elsewhere")).unwrap();
    symlink("../elsewhere", workspace.root().join(".ordain")).unwrap();
    intent(&workspace, "done");
    let ran = workspace.ordain(&["run", "../intent.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("symbolic link") && !ran.stderr.contains("grep"), "{}", ran.stderr);
}

/// A file of a group that the user is in besides their own, as in a shared repository.
#[test]
fn a_file_of_another_group_is_tried() {
    const GROUP_ID: u32 = 64_322;
    let workspace = Workspace::empty();
    workspace.file("a", "old\n");
    for (path, group) in [("", USER_ID), ("a", GROUP_ID)] {
        std::os::unix::fs::chown(workspace.root().join(path), Some(USER_ID), Some(group)).unwrap();
    }
    workspace.mode("a", 0o775);
    workspace.patch(&[("modify", "a", "new\n")]);
    let program = workspace.beside("ordain");
    fs::copy(env!("CARGO_BIN_EXE_ordain"), &program).unwrap();
    let (user, groups) = (USER_ID.to_string(), format!("{USER_ID},{GROUP_ID}"));
    let output = Command::new("setpriv")
        .args(["--reuid", &user, "--regid", &user, "--groups", &groups])
        .arg(program)
        .args(["run", "--patch", "../patch.json", "--apply"])
        .current_dir(workspace.root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata = fs::metadata(workspace.root().join("a")).unwrap();
    assert_eq!((metadata.gid(), metadata.permissions().mode() & 0o777), (GROUP_ID, 0o775));
    assert_eq!(workspace.text("a"), "new\n");
}

#[test]
fn run_and_apply_in_one_go() {
    let workspace = Workspace::empty();
    intent(&workspace, "done");
    let ran = workspace.ordain(&["run", "../intent.json", "--json", "--apply"]);
    let applied: Json = serde_json::from_str(ran.stdout.lines().nth(1).unwrap()).unwrap();
    assert_eq!(
        (ran.code, &applied["applied"]["files"][0]["path"]),
        (0, &json!("note.txt")),
        "{}",
        ran.stdout
    );
    assert_eq!(workspace.text("note.txt"), "done\n");
    assert_eq!(workspace.ordain(&["run", "../intent.json", "--apply", "--plan-only"]).code, 64);
}

#[test]
fn what_was_planned_is_the_base() {
    let workspace = Workspace::empty();
    workspace.file("note.txt", "old\n");
    intent(&workspace, "done");
    let planned =
        workspace.ordain(&["plan", "../intent.json", "--base", "../base.json", "-o", "../plan.json"]);
    assert_eq!(planned.code, 0, "{}", planned.stderr);
    assert_eq!(workspace.ordain(&["patch", "../plan.json", "-o", "../patch.json"]).code, 0);
    let guarded = &["apply", "../patch.json", "--if-unchanged", "../base.json"];
    workspace.file("note.txt", "newer\n");
    assert_eq!(workspace.ordain(guarded).code, 1);
    workspace.file("note.txt", "old\n");
    assert_eq!(workspace.ordain(guarded).code, 0);
}
