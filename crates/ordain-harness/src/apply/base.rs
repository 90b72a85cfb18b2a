//! The base of a patch set: the state of its targets when it was planned or tried.

#[cfg(target_os = "linux")]
use super::tree::{At, Tree};
use super::{ApplyError, Change, Problem};
use ordain_canon::ContentHash;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The hashes of files at one moment. Applying with a base overwrites nobody's newer edit.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// By path, relative to the workspace; nothing where there was no file.
    pub files: BTreeMap<String, Option<String>>,
}

impl Base {
    /// The base that these changes were seen to replace.
    pub fn of(changes: &[Change]) -> Self {
        let hash = |content: &Vec<u8>| ContentHash::of(content).to_string();
        let file = |it: &Change| (it.path.clone(), it.before.as_ref().map(hash));
        Self { files: changes.iter().map(file).collect() }
    }

    /// The state of these paths now. A link, a folder, or a path through one of them is refused.
    #[cfg(target_os = "linux")]
    pub fn read<'p>(workspace: &Path, paths: impl IntoIterator<Item = &'p str>) -> Result<Self, ApplyError> {
        let tree = Tree::open(workspace)?;
        let mut folder = tree.folders();
        let mut base = Self::default();
        let mut problems = Vec::new();
        for path in paths {
            match folder.at(path) {
                Ok(At::Nothing) => drop(base.files.insert(path.to_owned(), None)),
                Ok(At::File(seen)) => drop(base.files.insert(path.to_owned(), Some(seen.sha256))),
                Err(problem) => problems.push(Problem { path: path.to_owned(), problem }),
            }
        }
        if problems.is_empty() { Ok(base) } else { Err(ApplyError::Refused(problems)) }
    }

    /// The state of these paths now. A link, a folder, or a path through one of them is refused.
    #[cfg(not(target_os = "linux"))]
    pub fn read<'p>(workspace: &Path, paths: impl IntoIterator<Item = &'p str>) -> Result<Self, ApplyError> {
        let mut base = Self::default();
        let mut problems = Vec::new();
        for path in paths {
            match hash_at(workspace, path) {
                Ok(hash) => drop(base.files.insert(path.to_owned(), hash)),
                Err(error) => problems.push(Problem { path: path.to_owned(), problem: error.to_string() }),
            }
        }
        if problems.is_empty() { Ok(base) } else { Err(ApplyError::Refused(problems)) }
    }
}

/// Where nothing can be changed there is no race to lose either.
#[cfg(not(target_os = "linux"))]
fn hash_at(workspace: &Path, path: &str) -> std::io::Result<Option<String>> {
    use std::io::{Error, ErrorKind};
    let mut place = workspace.to_owned();
    for segment in path.split('/') {
        match place.symlink_metadata() {
            Ok(metadata) if place == workspace || metadata.is_dir() => place.push(segment),
            Ok(_) => return Err(Error::other("a part of its path is not a folder")),
            Err(error) if error.kind() == ErrorKind::NotFound && place != workspace => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    match place.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => Ok(Some(ContentHash::of(&std::fs::read(place)?).to_string())),
        Ok(_) => Err(Error::other("it is not a file, and only files can be changed")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
