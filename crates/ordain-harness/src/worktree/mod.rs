//! Whole trees of files: a copy for an agent, and what changed between two moments or two folders.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

use crate::apply::{Problem, unpatchable};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

pub use system::copy_workspace;

use ordain_spec::patch::FileChange;

/// Files, folders and links of a tree that is copied or compared.
pub const TREE_FILES_MAX: u64 = 500_000;
/// Bytes of all its files.
pub const TREE_BYTES_MAX: u64 = 8 << 30;

/// A tree at one moment. `.git` and `.ordain` are left out, at any depth.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Files by their path.
    pub files: BTreeMap<String, SnapshotFile>,
    /// Symbolic links with their targets.
    pub links: BTreeMap<String, String>,
    /// Folders that tools fill again by themselves, which are not looked into.
    pub caches: BTreeSet<String>,
    /// Whatever cannot be a part of a patch set: names that are not safe paths, pipes, devices. With a word
    /// about each.
    pub odd: BTreeMap<String, String>,
}

/// A file of a tree.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotFile {
    /// The hash of its bytes.
    pub sha256: String,
    /// Whether its owner may execute it.
    pub executable: bool,
}

impl Snapshot {
    /// Looks at all of a tree, without following a link.
    pub fn take(folder: &Path) -> io::Result<Self> {
        system::snapshot(folder)
    }

    /// The changes that make this tree the other one.
    pub fn differences(&self, after: &Self) -> Differences {
        let mut found = Differences::default();
        let cached = |path: &str| {
            let holds =
                |cache: &String| path.strip_prefix(cache.as_str()).is_some_and(|it| it.starts_with('/'));
            self.caches.iter().chain(&after.caches).any(holds)
        };
        for path in union(&self.files, &after.files) {
            let (old, new) = (self.files.get(path), after.files.get(path));
            let same = |one: &SnapshotFile, other: &SnapshotFile| one.sha256 == other.sha256;
            if let (Some(old), Some(new)) = (old, new)
                && same(old, new)
            {
                if old.executable != new.executable && !cached(path) {
                    found.modes.push(path.clone());
                }
                continue;
            }
            if cached(path) {
                found.left_out.push(path.clone());
            } else if unpatchable(path).is_some() {
                found.guards.push(path.clone());
            } else {
                if new.is_some_and(|new| new.executable != old.is_some_and(|old| old.executable)) {
                    found.modes.push(path.clone());
                }
                found.changed.push(ChangedPath {
                    path: path.clone(),
                    was_there: old.is_some(),
                    sha256: new.map(|new| new.sha256.clone()),
                });
            }
        }
        for path in union(&self.links, &after.links) {
            let problem = match (self.links.get(path), after.links.get(path)) {
                (old, new) if old == new || cached(path) => continue,
                (Some(_), None) => "was a symbolic link, and no patch set takes one away",
                _ => "is a symbolic link, and a patch set carries none",
            };
            found.problems.push(Problem { path: path.clone(), problem: problem.to_owned() });
        }
        for path in union(&self.odd, &after.odd) {
            if self.odd.get(path) != after.odd.get(path) && !cached(path) {
                let word =
                    after.odd.get(path).map_or("is gone, and has no name for a patch set", String::as_str);
                // The hash behind the word tells two contents apart, and tells people nothing.
                let word = word.split_once(" (").map_or(word, |(word, _)| word);
                found.problems.push(Problem { path: path.clone(), problem: word.to_owned() });
            }
        }
        found
    }
}

fn union<'m, T>(one: &'m BTreeMap<String, T>, other: &'m BTreeMap<String, T>) -> BTreeSet<&'m String> {
    one.keys().chain(other.keys()).collect()
}

/// The differences between two trees.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Differences {
    /// Files for a patch set.
    pub changed: Vec<ChangedPath>,
    /// Files in folders that tools fill by themselves, or that git ignores: never part of a patch set.
    pub left_out: Vec<String>,
    /// Files by which agents are held: never part of a patch set.
    pub guards: Vec<String>,
    /// Files whose executable bit differs, which a patch set does not carry.
    pub modes: Vec<String>,
    /// The entries that no patch set can carry.
    pub problems: Vec<Problem>,
}

/// A file that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedPath {
    /// Relative to the tree.
    pub path: String,
    /// Whether the first tree has it.
    pub was_there: bool,
    /// The hash that it has in the second tree; nothing if it is gone.
    pub sha256: Option<String>,
}

impl Differences {
    /// Leaves out what nobody wants in a patch set, as git says it.
    pub fn leave_out(&mut self, ignored: &BTreeSet<String>) {
        let (left_out, changed) =
            std::mem::take(&mut self.changed).into_iter().partition(|it| ignored.contains(&it.path));
        self.changed = changed;
        self.left_out.extend(Vec::into_iter(left_out).map(|it: ChangedPath| it.path));
        self.left_out.sort();
    }

    /// The contents of the second tree. A file that changed there meanwhile is an error.
    pub fn contents(&self, after: &Path, bytes_max: u64) -> io::Result<Vec<FileChange>> {
        let folder = crate::Folder::open(after)?;
        let mut room = bytes_max;
        let mut changes = Vec::new();
        for ChangedPath { path, was_there, sha256 } in &self.changed {
            let content = match sha256 {
                None => None,
                Some(sha256) => {
                    let named = |error: io::Error| io::Error::new(error.kind(), format!("`{path}`: {error}"));
                    let (bytes, _) = folder.read(path, room).map_err(named)?;
                    room = room.saturating_sub(bytes.len() as u64);
                    if !ordain_canon::ContentHash::of(&bytes).is(sha256) {
                        return Err(named(io::Error::other("it changed while it was read")));
                    }
                    Some(bytes)
                }
            };
            changes.push(FileChange::new(path, *was_there, content));
        }
        Ok(changes)
    }
}
