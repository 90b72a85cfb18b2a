//! Applying against an obvious model: a tree is a map, a patch set changes the map or is refused.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use ordain_canon::Value;
use ordain_harness::apply::{ApplyError, Authority, Copies, apply, undo};
use ordain_spec::patch::PatchSet;
use ordain_spec::{Facts, Verified, folded_path, verify_as};
use ordain_state::Home;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The state of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Node {
    Folder,
    File(String),
    /// To a folder with a file in it, or to nothing.
    Link(&'static str),
}

type Tree = BTreeMap<String, Node>;

/// Few names, so that they meet; some of them meet only without case.
fn path() -> impl Strategy<Value = String> {
    let name =
        prop_oneof![3 => Just("a"), 3 => Just("b"), 1 => Just("A"), 1 => Just(".git"), 1 => Just("c c")];
    prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

fn tree() -> impl Strategy<Value = Tree> {
    let node = prop_oneof![
        5 => "[xy\r\n]{0,3}".prop_map(Node::File),
        2 => Just(Node::Folder),
        1 => Just(Node::Link("../outside")),
        1 => Just(Node::Link("nowhere")),
    ];
    prop::collection::vec((path(), node), 0..8).prop_map(|entries| {
        let mut tree = Tree::new();
        for (path, node) in entries {
            let mut ancestors: Vec<String> = Vec::new();
            for (at, _) in path.match_indices('/') {
                ancestors.push(path.split_at(at).0.to_owned());
            }
            let free = !tree.contains_key(&path)
                && ancestors.iter().all(|it| tree.get(it).is_none_or(|node| *node == Node::Folder));
            if free {
                ancestors.into_iter().for_each(|it| drop(tree.insert(it, Node::Folder)));
                tree.insert(path, node);
            }
        }
        tree
    })
}

type Operation = (&'static str, String, String);

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let op = prop_oneof![Just("create"), Just("modify"), Just("delete")];
    let operation = (op, path(), "[pq\n]{0,3}");
    prop::collection::vec(operation, 1..5).prop_map(|mut operations| {
        operations.sort_by(|left, right| left.1.cmp(&right.1));
        operations
    })
}

/// Fit operations are rare when both sides are random: half of the patch sets are made from the tree.
fn fitting(tree: Tree) -> impl Strategy<Value = (Tree, Vec<Operation>)> {
    let files: Vec<String> =
        tree.iter().filter(|(_, node)| matches!(node, Node::File(_))).map(|(path, _)| path.clone()).collect();
    let count = files.len();
    let choices = prop::collection::vec((any::<bool>(), any::<bool>(), "[pq\n]{0,3}"), count);
    (choices, 0..3_usize).prop_map(move |(choices, new)| {
        let mut operations: Vec<Operation> = files
            .iter()
            .zip(choices)
            .filter(|(_, (chosen, ..))| *chosen)
            .map(|(path, (_, delete, text))| (if delete { "delete" } else { "modify" }, path.clone(), text))
            .collect();
        operations.extend((0..new).map(|number| ("create", format!("n{number}/new"), "new".to_owned())));
        operations.sort_by(|left, right| left.1.cmp(&right.1));
        (tree.clone(), operations)
    })
}

/// The tree afterwards, or nothing where one operation cannot be carried out.
fn model(tree: &Tree, operations: &[Operation]) -> Option<Tree> {
    let mut after = tree.clone();
    for (op, path, text) in operations {
        let prefixes: Vec<&str> = path.match_indices('/').map(|(at, _)| path.split_at(at).0).collect();
        let reachable = prefixes.iter().all(|it| tree.get(*it).is_none_or(|node| *node == Node::Folder));
        if !reachable || path.split('/').any(|name| name == ".git") {
            return None;
        }
        match (*op, tree.get(path)) {
            ("create", None) => {
                // The first name that is not there yet must not be there under another case.
                let all: Vec<&str> = prefixes.iter().copied().chain([path.as_str()]).collect();
                let new = all.iter().find(|it| !tree.contains_key(**it))?;
                let parent = |path: &str| path.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned();
                let meets =
                    |other: &String| parent(other) == parent(new) && folded_path(other) == folded_path(new);
                if tree.keys().any(meets) {
                    return None;
                }
                prefixes.iter().for_each(|it| drop(after.insert((*it).to_owned(), Node::Folder)));
                after.insert(path.clone(), Node::File(text.clone()));
            }
            ("modify", Some(Node::File(_))) => drop(after.insert(path.clone(), Node::File(text.clone()))),
            ("delete", Some(Node::File(_))) => drop(after.remove(path)),
            _ => return None,
        }
    }
    // Two new folders that differ only by case.
    let new: Vec<&String> = after.keys().filter(|path| !tree.contains_key(*path)).collect();
    let distinct =
        |path: &&String| new.iter().filter(|other| folded_path(other) == folded_path(path)).count() == 1;
    new.iter().all(distinct).then_some(after)
}

fn write_tree(root: &Path, tree: &Tree) {
    for (path, node) in tree {
        match node {
            Node::Folder => fs::create_dir_all(root.join(path)).unwrap(),
            Node::File(text) => fs::write(root.join(path), text).unwrap(),
            Node::Link(target) => {
                let up = "../".repeat(path.matches('/').count());
                symlink(format!("{up}{target}"), root.join(path)).unwrap();
            }
        }
    }
}

fn read_tree(folder: &Path, before: &str, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{before}{}", entry.file_name().to_str().unwrap());
        if name == ".ordain" {
            continue;
        }
        let kind = entry.file_type().unwrap();
        let node = if kind.is_dir() {
            read_tree(&entry.path(), &format!("{name}/"), tree);
            Node::Folder
        } else if kind.is_symlink() {
            let leaves = fs::read_link(entry.path()).unwrap().ends_with("outside");
            Node::Link(if leaves { "../outside" } else { "nowhere" })
        } else {
            Node::File(fs::read_to_string(entry.path()).unwrap())
        };
        tree.insert(name, node);
    }
}

fn verified(operations: &[Operation]) -> Option<Verified<PatchSet>> {
    let operation = |(op, path, text): &Operation| match *op {
        "delete" => json!({"op": op, "path": path}),
        _ => json!({"op": op, "path": path, "content": text}),
    };
    let bytes: usize =
        operations.iter().filter(|(op, ..)| *op != "delete").map(|(.., text)| text.len()).sum();
    let text = json!({
        "patch_schema_version": "1.0.0",
        "source_proposal_id": "model",
        "source_proposal_hash": format!("sha256:{}", "0".repeat(64)),
        "operations": operations.iter().map(operation).collect::<Vec<_>>(),
        "total_bytes": bytes,
    })
    .to_string();
    verify_as(&Facts::default(), &Value::read(text.as_bytes()).unwrap()).ok()
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn check(tree: &Tree, operations: &[Operation]) -> Result<(), TestCaseError> {
    // Patch sets that clash in themselves are the verifier's affair.
    let Some(patch) = verified(operations) else { return Ok(()) };
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let top = std::env::temp_dir().join(format!("ordain-model-{}-{number}", std::process::id()));
    let folder = Folder(top.clone());
    let (root, outside) = (top.join("ws"), top.join("outside"));
    fs::create_dir_all(&root).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("a"), "outside").unwrap();
    write_tree(&root, tree);
    let now = || {
        let mut tree = Tree::new();
        read_tree(&root, "", &mut tree);
        tree
    };
    let operator = || Authority::local_operator(&Home::in_folder(&top), &root).unwrap();
    let applied = apply(&root, &patch, None, operator());
    match (model(tree, operations), applied) {
        (Some(expected), Ok(applied)) => {
            prop_assert_eq!(now(), expected);
            prop_assert_eq!(applied.record.is_none(), now() == *tree, "a record exactly of what changed");
            if applied.record.is_some() {
                undo(&root, None, Copies::Refuse, operator()).unwrap();
            }
        }
        (None, Err(ApplyError::Refused(problems))) => prop_assert!(!problems.is_empty()),
        (expected, found) => prop_assert!(false, "expected {expected:?}, found {found:?}"),
    }
    prop_assert_eq!(&now(), tree);
    let names: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    prop_assert_eq!((names.len(), fs::read_to_string(outside.join("a")).unwrap()), (1, "outside".to_owned()));
    drop(folder);
    Ok(())
}

/// 150 cases every day; `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(150),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_patch_sets(tree in tree(), operations in operations()) {
        check(&tree, &operations)?;
    }

    #[test]
    fn patch_sets_that_fit((tree, operations) in tree().prop_flat_map(fitting)) {
        check(&tree, &operations)?;
    }
}

/// Two new folders inside a folder that is new as well.
#[test]
fn new_folders_that_differ_by_case_below_a_new_folder() {
    let create = |path: &str| ("create", path.to_owned(), String::new());
    check(&Tree::new(), &[create("b/A/b"), create("b/a/a")]).unwrap();
    check(&Tree::new(), &[create("b/c/A/x"), create("b/c/a/y"), create("b/d/z")]).unwrap();
}
