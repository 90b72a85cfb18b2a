//! The folder of a work order, outside of the workspace: the copy, the brief, and what is needed to go on later.

use crate::error::RunError;
use ordain_canon::DOCUMENT_BYTES_MAX;
use ordain_spec::profile::Profile;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The subject of an order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderFile {
    /// The folder that the work is for.
    pub workspace: PathBuf,
    /// As the result names the intent.
    pub intent_path: String,
    /// The intent.
    pub intent: Json,
    /// The rights of commands.
    pub profile: Profile,
    /// Whether commands may run without namespaces where there are none.
    pub allow_landlock_only: bool,
}

/// The folder of an order.
#[derive(Clone, Debug)]
pub struct WorkFolder {
    path: PathBuf,
}

impl WorkFolder {
    pub(super) fn make(path: &Path, workspace: &Path) -> Result<Self, RunError> {
        let failed = |error: io::Error| at(path, &error);
        fs::create_dir_all(path).map_err(failed)?;
        let path = path.canonicalize().map_err(failed)?;
        let workspace = workspace.canonicalize().map_err(|error| at(workspace, &error))?;
        if path.starts_with(&workspace) || workspace.starts_with(&path) {
            let problem = "a work order is kept outside of its workspace, and not around it";
            return Err(RunError::Order(format!("`{}`: {problem}", path.display())));
        }
        if fs::read_dir(&path).map_err(failed)?.next().is_some() {
            return Err(RunError::Order(format!("`{}` is not empty", path.display())));
        }
        private(&path).map_err(failed)?;
        let folder = Self { path };
        fs::create_dir(folder.copy()).map_err(|error| at(&folder.copy(), &error))?;
        Ok(folder)
    }

    pub(super) fn open(path: &Path) -> Result<Self, RunError> {
        let path = path.canonicalize().map_err(|error| at(path, &error))?;
        Ok(Self { path })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the agent works.
    pub fn copy(&self) -> PathBuf {
        self.path.join("copy")
    }

    /// The task of the agent.
    pub fn brief(&self) -> PathBuf {
        self.path.join("brief.md")
    }

    /// The faults of the last round.
    pub fn feedback(&self) -> PathBuf {
        self.path.join("feedback.md")
    }

    /// Writes a file of the order. An existing file is replaced, and no link is followed.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), RunError> {
        let path = self.path.join(name);
        let _ = fs::remove_file(&path);
        let written = OpenOptions::new().write(true).create_new(true).open(&path);
        written.and_then(|mut file| file.write_all(bytes)).map_err(|error| at(&path, &error))
    }

    pub(super) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), RunError> {
        let text = serde_json::to_vec(value).map_err(|error| RunError::Order(error.to_string()))?;
        self.write(name, &text)
    }

    /// Reads a file of the order.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, RunError> {
        let path = self.path.join(name);
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(|error| at(&path, &error))?;
        file.take(DOCUMENT_BYTES_MAX as u64).read_to_end(&mut bytes).map_err(|error| at(&path, &error))?;
        Ok(bytes)
    }

    pub(super) fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, RunError> {
        let text = self.read(name)?;
        serde_json::from_slice(&text)
            .map_err(|error| RunError::Order(format!("`{}`: {error}", self.path.join(name).display())))
    }

    /// Puts a file of the intent into the copy, or takes one away. Nothing is written through a link: one that goes up
    /// through another can lead out of the copy, whatever its text says.
    pub(super) fn put(&self, path: &str, content: Option<&[u8]>) -> Result<(), RunError> {
        let place = self.copy().join(path);
        let steps = Path::new(path).ancestors().filter(|step| !step.as_os_str().is_empty());
        for step in steps {
            if self.copy().join(step).symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                let step = step.display();
                return Err(RunError::Order(format!("`{path}` leads through the symbolic link `{step}`")));
            }
        }
        let done = match content {
            None => fs::remove_file(&place),
            Some(content) => {
                let parent = place.parent().map_or(Ok(()), fs::create_dir_all);
                parent.and_then(|()| fs::write(&place, content))
            }
        };
        done.map_err(|error| at(&place, &error))
    }

    /// Removes the folder with all that is in it.
    pub fn remove(&self) -> Result<(), RunError> {
        fs::remove_dir_all(&self.path).map_err(|error| at(&self.path, &error))
    }
}

/// Nobody else needs to see the copy.
fn private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    let _ = path;
    Ok(())
}

fn at(path: &Path, error: &io::Error) -> RunError {
    RunError::Order(format!("`{}`: {error}", path.display()))
}
