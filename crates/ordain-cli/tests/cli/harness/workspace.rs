//! A workspace with files of all sorts, and a patch set that creates, changes and deletes.

use super::{Ran, folder, ran};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Every path of a tree but `.ordain`: its mode, and the content of a file or the target of a link.
pub(crate) type Tree = BTreeMap<String, (u32, Vec<u8>)>;

pub(crate) struct Workspace {
    top: TempDir,
}

impl Workspace {
    pub(crate) fn empty() -> Self {
        let top = folder();
        fs::create_dir(top.path().join("ws")).unwrap();
        Self { top }
    }

    /// Modes, an executable, a private file, other line endings, a link that nobody touches; and the patch set beside.
    pub(crate) fn new() -> Self {
        let workspace = Self::empty();
        for (path, mode, content) in [
            ("README.md", 0o644, "# old\n"),
            ("bin/run.sh", 0o755, "#!/bin/sh\necho old\n"),
            ("src/secret.txt", 0o600, "old secret\n"),
            ("src/windows.txt", 0o644, "one\r\ntwo\r\n"),
            ("src/gone.txt", 0o640, "delete me\n"),
            ("other/gone.bin", 0o644, "delete me too\n"),
            ("other/stays.txt", 0o444, "not touched\n"),
        ] {
            workspace.file(path, content);
            workspace.mode(path, mode);
        }
        std::os::unix::fs::symlink("stays.txt", workspace.root().join("other/link")).unwrap();
        workspace.patch(&[
            ("modify", "README.md", "# new\n"),
            ("modify", "bin/run.sh", "#!/bin/sh\necho new\n"),
            ("create", "docs/deep/er/a.md", "made\n"),
            ("create", "docs/empty", ""),
            ("delete", "other/gone.bin", ""),
            ("create", "src/b.rs", "fn b() {}\n"),
            ("delete", "src/gone.txt", ""),
            ("modify", "src/secret.txt", "new secret\n"),
            ("modify", "src/windows.txt", "one\r\nthree\r\n"),
        ]);
        workspace
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.top.path().join("ws")
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    pub(crate) fn file(&self, path: &str, content: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// Writes the patch set of these operations to `patch.json` beside the workspace.
    pub(crate) fn patch(&self, operations: &[(&str, &str, &str)]) {
        fs::write(self.beside("patch.json"), patch_set(operations).to_string()).unwrap();
    }

    pub(crate) fn ordain(&self, args: &[&str]) -> Ran {
        ran(&mut self.command(args))
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
        command.args(args).current_dir(self.root()).env("XDG_STATE_HOME", self.beside("state"));
        command
    }

    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        walk(&self.root(), "", &mut tree);
        tree
    }

    /// For a message: which paths are as in neither state, or in which.
    pub(crate) fn difference(&self, old: &Tree, new: &Tree) -> String {
        let tree = self.tree();
        let mut said = Vec::new();
        for path in old.keys().chain(new.keys()).chain(tree.keys()) {
            let (now, then, later) = (tree.get(path), old.get(path), new.get(path));
            if then != later || now != then {
                let which = match (now == then, now == later) {
                    (true, _) => "old",
                    (_, true) => "new",
                    _ => "neither",
                };
                said.push(format!("{path}: {which}"));
            }
        }
        said.sort();
        said.dedup();
        said.join(", ")
    }
}

pub(crate) fn patch_set(operations: &[(&str, &str, &str)]) -> Json {
    let mut operations = operations.to_vec();
    operations.sort_by_key(|(_, path, _)| *path);
    let bytes: usize = operations.iter().map(|(_, _, content)| content.len()).sum();
    let operation = |(op, path, content): &(&str, &str, &str)| match *op {
        "delete" => json!({"op": op, "path": path}),
        _ => json!({"op": op, "path": path, "content": content}),
    };
    json!({
        "patch_schema_version": "1.0.0",
        "source_proposal_id": "by hand",
        "source_proposal_hash": format!("sha256:{}", "0".repeat(64)),
        "operations": operations.iter().map(operation).collect::<Vec<_>>(),
        "total_bytes": bytes,
    })
}

fn walk(folder: &Path, before: &str, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        if name == ".ordain" {
            continue;
        }
        let metadata = entry.path().symlink_metadata().unwrap();
        let content = match metadata.file_type() {
            kind if kind.is_dir() => {
                walk(&entry.path(), &format!("{name}/"), tree);
                Vec::new()
            }
            kind if kind.is_symlink() => {
                fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes()
            }
            kind if kind.is_file() => fs::read(entry.path()).unwrap(),
            _ => Vec::new(),
        };
        tree.insert(name, (metadata.permissions().mode(), content));
    }
}
