//! `apply` and `undo` stopped at every system call that writes: the old tree or the new one, never a mix.

#![cfg(target_os = "linux")]

use crate::harness::{Tree, Workspace};
use std::collections::BTreeMap;
use std::process::Command;

/// The calls that can change a file system, or make a change durable.
const WRITING: &[&str] = &[
    "write",
    "pwrite64",
    "writev",
    "openat",
    "openat2",
    "mkdirat",
    "mkdir",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "linkat",
    "symlinkat",
    "ftruncate",
    "fallocate",
    "fchmod",
    "fchmodat",
    "fchown",
    "fchownat",
    "fsetxattr",
    "utimensat",
    "fsync",
    "fdatasync",
    "syncfs",
    "flock",
];

/// One call of a command: its name, and how many of that name came before it.
#[derive(Clone, PartialEq, Debug)]
struct Call {
    name: String,
    number: usize,
}

/// Every writing call that a command makes, in order. Files that are only read are left out.
fn calls(workspace: &Workspace, args: &[&str]) -> Vec<Call> {
    let log = workspace.beside("calls");
    let status = strace(
        workspace,
        args,
        &["-o", log.to_str().unwrap(), "-e", &format!("trace={}", WRITING.join(","))],
    );
    assert_eq!(status, Some(0), "{args:?}");
    let log = std::fs::read_to_string(log).unwrap();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in log.lines() {
        let Some((name, rest)) = line.split_once('(') else { continue };
        let number = counts.entry(name.to_owned()).or_default();
        *number += 1;
        let writes = !name.starts_with("openat") || rest.contains("O_CREAT");
        if writes && !rest.starts_with("1,") && !rest.starts_with("2,") {
            calls.push(Call { name: name.to_owned(), number: *number });
        }
    }
    assert!(calls.len() > 20, "{calls:?}");
    calls
}

/// The exit code of a command under `strace`, or nothing when it was killed.
fn strace(workspace: &Workspace, args: &[&str], options: &[&str]) -> Option<i32> {
    let output = Command::new("strace")
        .args(options)
        .arg("--")
        .arg(env!("CARGO_BIN_EXE_ordain"))
        .args(args)
        .current_dir(workspace.root())
        .output()
        .expect("strace is installed by `cargo xtask test`");
    output.status.code()
}

fn inject(workspace: &Workspace, args: &[&str], call: &Call, what: &str) -> Option<i32> {
    let trace = format!("trace={}", call.name);
    let inject = format!("inject={}:{what}:when={}", call.name, call.number);
    strace(workspace, args, &["-o", "/dev/null", "-e", &trace, "-e", &inject])
}

const APPLY: &[&str] = &["apply", "../patch.json"];
const UNDO: &[&str] = &["undo"];
/// Any command recovers.
const ANY: &[&str] = &["rules", "PS4"];

/// The workspace is in one of the two states, nothing is left unfinished, and it can go on from there.
fn check_settled(workspace: &Workspace, old: &Tree, new: &Tree, what: &str) {
    let tree = workspace.tree();
    assert!(tree == *old || tree == *new, "{what}: a mix: {}", workspace.difference(old, new));
    assert!(!workspace.root().join(".ordain/apply/txn").exists(), "{what}: unfinished");
    let (next, expected) = if tree == *old { (APPLY, new) } else { (UNDO, old) };
    let ran = workspace.ordain(next);
    assert_eq!((ran.code, &workspace.tree()), (0, expected), "{what}: {}", ran.stderr);
}

fn both() -> (Workspace, Tree, Tree) {
    let workspace = Workspace::new();
    let old = workspace.tree();
    assert_eq!(workspace.ordain(APPLY).code, 0);
    let new = workspace.tree();
    assert!(old != new);
    (Workspace::new(), old, new)
}

#[test]
fn apply_killed_at_every_write() {
    let (workspace, old, new) = both();
    let (mut forward, mut back) = (0, 0);
    for call in calls(&workspace, APPLY) {
        let workspace = Workspace::new();
        assert_eq!(inject(&workspace, APPLY, &call, "signal=KILL"), None, "{call:?}");
        workspace.ordain(ANY);
        match workspace.tree() == old {
            true => back += 1,
            false => forward += 1,
        }
        check_settled(&workspace, &old, &new, &format!("killed at {call:?}"));
    }
    // The journal is written in the middle: both ways were tried.
    assert!(forward > 5 && back > 5, "{forward} {back}");
}

#[test]
fn undo_killed_at_every_write() {
    let (_, old, new) = both();
    for call in calls(&prepared(UNDO), UNDO) {
        let workspace = prepared(UNDO);
        assert_eq!(inject(&workspace, UNDO, &call, "signal=KILL"), None, "{call:?}");
        workspace.ordain(ANY);
        check_settled(&workspace, &old, &new, &format!("killed at {call:?}"));
    }
}

/// A workspace for a command: one to undo has something to undo.
fn prepared(command: &[&str]) -> Workspace {
    let workspace = Workspace::new();
    if command == UNDO {
        assert_eq!(workspace.ordain(APPLY).code, 0);
    }
    workspace
}

/// A command that is told that its write failed leaves the tree as it was, at once; what does not matter may succeed.
/// Each write fails for another reason in turn, and in a long test for every reason.
fn every_write_fails(command: &[&str]) {
    const ERRORS: [&str; 4] = ["ENOSPC", "EIO", "EROFS", "EACCES"];
    let (_, old, new) = both();
    let (before, after) = if command == UNDO { (&new, &old) } else { (&old, &new) };
    let soak = std::env::var_os("ORDAIN_SOAK").is_some();
    for (at, call) in calls(&prepared(command), command).into_iter().enumerate() {
        for error in ERRORS.iter().cycle().skip(at).take(if soak { ERRORS.len() } else { 1 }) {
            let workspace = prepared(command);
            let code = inject(&workspace, command, &call, &format!("error={error}")).expect("ends by itself");
            let what = format!("{error} at {call:?}: exit code {code}");
            let expected = if code == 0 { after } else { before };
            assert!(workspace.tree() == *expected, "{what}: {}", workspace.difference(&old, &new));
            workspace.ordain(ANY);
            check_settled(&workspace, &old, &new, &what);
        }
    }
}

#[test]
fn every_write_of_an_apply_fails() {
    every_write_fails(APPLY);
}

#[test]
fn every_write_of_an_undo_fails() {
    every_write_fails(UNDO);
}

/// The process that recovers can be killed as well: from the middle of the change, and in a long test from
/// everywhere.
#[test]
fn recovery_killed_at_every_write() {
    let (workspace, old, new) = both();
    let renames: Vec<Call> =
        calls(&workspace, APPLY).into_iter().filter(|call| call.name == "renameat2").collect();
    let middle = renames.len() / 2;
    let chosen =
        if std::env::var_os("ORDAIN_SOAK").is_some() { 1..renames.len() } else { middle..middle + 1 };
    for rename in &renames[chosen] {
        let interrupted = || {
            let workspace = Workspace::new();
            assert_eq!(inject(&workspace, APPLY, rename, "signal=KILL"), None);
            workspace
        };
        let workspace = interrupted();
        assert!(![&old, &new].contains(&&workspace.tree()), "the control: a mix before recovery");
        for call in calls(&workspace, ANY) {
            let workspace = interrupted();
            assert_eq!(inject(&workspace, ANY, &call, "signal=KILL"), None, "{call:?}");
            workspace.ordain(ANY);
            check_settled(&workspace, &old, &new, &format!("{rename:?}, recovery killed at {call:?}"));
        }
    }
}

/// Recovery is reported, once.
#[test]
fn recovery_is_told() {
    let (workspace, _, new) = both();
    let renames: Vec<Call> =
        calls(&workspace, APPLY).into_iter().filter(|call| call.name == "renameat2").collect();
    let workspace = Workspace::new();
    assert_eq!(inject(&workspace, APPLY, &renames[1], "signal=KILL"), None);
    let ran = workspace.ordain(ANY);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("note: an apply had been interrupted; it is finished now"), "{}", ran.stderr);
    assert!(workspace.tree() == new);
    assert_eq!(workspace.ordain(ANY).stderr, "");
}

/// The order of durable writes: contents before the journal, the journal before the first target, the targets
/// before the journal goes.
#[test]
fn each_stage_is_durable_before_the_next() {
    let workspace = Workspace::new();
    let calls = calls(&workspace, APPLY);
    let position = |name: &str, last: bool| {
        let mut found = calls.iter().enumerate().filter(|(_, call)| call.name == name).map(|(at, _)| at);
        if last { found.next_back() } else { found.next() }.unwrap()
    };
    let (journal, record) = (position("renameat", false), position("renameat", true));
    let (first, last) = (position("renameat2", false), position("renameat2", true));
    assert!(journal < first && last < record, "{calls:?}");
    let synced = |from: usize, to: usize| calls[from..to].iter().filter(|call| call.name == "fsync").count();
    let contents = workspace_contents(&workspace);
    assert!(synced(0, journal) > contents, "each content and the journal: {calls:?}");
    assert!(synced(journal, first) >= 2, "the folder of the journal and its name: {calls:?}");
    let folders = 6; // `.`, bin, docs, docs/deep, docs/deep/er, other, src: what a rename changed
    assert!(synced(last, record) > folders, "every folder that changed: {calls:?}");
    assert_eq!(calls[journal..first].iter().filter(|call| call.name == "write").count(), 0);
}

fn workspace_contents(workspace: &Workspace) -> usize {
    let patch: serde_json::Value =
        serde_json::from_slice(&std::fs::read(workspace.beside("patch.json")).unwrap()).unwrap();
    patch["operations"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|operation| operation.get("content").is_some())
        .count()
}

/// System calls, counted: a patch set of twice the size takes twice as many.
#[test]
fn the_work_grows_with_the_patch_set() {
    let counted = |operations: usize| {
        let workspace = Workspace::empty();
        let paths: Vec<(String, String)> = (0..operations)
            .map(|number| (format!("old{}/f{number}", number % 7), format!("new{}/f{number}", number % 7)))
            .collect();
        let mut patch = Vec::new();
        for (at, (old, new)) in paths.iter().enumerate() {
            workspace.file(old, "old\n");
            patch.push((if at % 2 == 0 { "modify" } else { "delete" }, old.as_str(), "new\n"));
            patch.push(("create", new.as_str(), "new\n"));
        }
        let patch: Vec<_> = patch
            .into_iter()
            .map(|(op, path, text)| (op, path, if op == "delete" { "" } else { text }))
            .collect();
        workspace.patch(&patch);
        let log = workspace.beside("calls");
        assert_eq!(strace(&workspace, APPLY, &["-o", log.to_str().unwrap()]), Some(0));
        std::fs::read_to_string(log).unwrap().lines().count()
    };
    let (once, twice, fourfold) = (counted(100), counted(200), counted(400));
    let (first, second) = (twice - once, fourfold - twice);
    assert!(second * 10 < first * 2 * 11, "{once} {twice} {fourfold}");
    // For each pair of operations: looking, reading, staging, renaming.
    assert!(first < 100 * 45, "{first}");
}
