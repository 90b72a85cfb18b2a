//! What a patch set replaces: the state of its targets when it was planned or tried.

#[cfg(target_os = "linux")]
use super::tree::{At, Tree};
use super::{ApplyError, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The hashes of files at one moment. Who applies with a base overwrites nobody's newer edit.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// By path, relative to the workspace; nothing where there was no file.
    pub files: BTreeMap<String, Option<String>>,
}

impl Base {
    /// What is at these paths now. A link, a folder, or a path through one of them is refused.
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

    /// What is at these paths now.
    #[cfg(not(target_os = "linux"))]
    pub fn read<'p>(_: &Path, _: impl IntoIterator<Item = &'p str>) -> Result<Self, ApplyError> {
        Err(ApplyError::Unsupported)
    }
}
