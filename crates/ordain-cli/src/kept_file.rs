//! A settings file of another program: read, backed up, written, restored.

use crate::exit::Failure;
use ordain_canon::ContentHash;
use ordain_state::{Home, make_private_folder, write_private};
use serde::{Deserialize, Serialize};
use similar::TextDiff;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A settings file, which may not be there.
pub(crate) struct KeptFile {
    pub(crate) path: PathBuf,
    pub(crate) text: Option<String>,
    /// Whether every user may read a file that was not there before.
    is_public: bool,
}

/// A file as it was before ordain wrote it. Kept in the state directory.
#[derive(Serialize, Deserialize)]
struct Backup {
    path: PathBuf,
    /// Nothing where there was no file.
    before: Option<String>,
    /// The hash of what was written.
    after: String,
    /// Folders that were made for the file, the outermost first.
    folders: Vec<PathBuf>,
}

const BYTES_MAX: u64 = 16 << 20;
/// Everybody reads it, and its owner writes it.
const PUBLIC: u32 = 0o644;

impl KeptFile {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::File { path: path.display().to_string(), error };
        // A link stays a link: the file that it leads to is changed.
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if path.symlink_metadata().is_ok() {
                    let problem = "is a link that leads nowhere".to_owned();
                    return Err(Failure::Document { path: path.display().to_string(), problem });
                }
                return Ok(Self { path: path.to_owned(), text: None, is_public: false });
            }
            Err(error) => return Err(failed(error)),
        };
        let metadata = real.metadata().map_err(failed)?;
        if !metadata.is_file() || metadata.len() > BYTES_MAX {
            let problem = "is not a settings file: a folder, or far too long".to_owned();
            return Err(Failure::Document { path: path.display().to_string(), problem });
        }
        let bytes = fs::read(&real).map_err(failed)?;
        let text = String::from_utf8(bytes).map_err(|_| Failure::Document {
            path: path.display().to_string(),
            problem: "is not UTF-8; it was not changed".to_owned(),
        })?;
        Ok(Self { path: real, text: Some(text), is_public: false })
    }

    /// The same, of the whole machine.
    pub(crate) fn for_everybody(self) -> Self {
        Self { is_public: true, ..self }
    }

    pub(crate) fn diff(&self, new: Option<&str>) -> String {
        let old = self.text.as_deref().unwrap_or_default();
        let diff = TextDiff::from_lines(old, new.unwrap_or_default());
        diff.unified_diff().context_radius(3).to_string()
    }

    /// Writes a text, and keeps what was there before. `without` is that text where somebody else changed it since.
    pub(crate) fn write(
        &self,
        text: &str,
        without: impl FnOnce() -> Result<Option<String>, Failure>,
    ) -> Result<(), Failure> {
        let known = self.backup()?;
        let is_ours =
            known.as_ref().is_some_and(|known| Some(&known.after) == self.text.as_deref().map(hash).as_ref());
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let missing = folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned);
        let mut folders: Vec<PathBuf> = missing.collect();
        folders.reverse();
        let backup = match known {
            Some(known) if is_ours => Backup { after: hash(text), ..known },
            _ => Backup { path: self.path.clone(), before: without()?, after: hash(text), folders },
        };
        fs::create_dir_all(folder).map_err(|error| self.failed(error))?;
        self.keep(&backup)?;
        self.replace(text)
    }

    /// The file byte for byte as before, unless somebody changed it since.
    pub(crate) fn restored(
        &self,
        without: impl FnOnce() -> Result<Option<String>, Failure>,
    ) -> Result<Option<String>, Failure> {
        let current = self.text.as_deref().map(hash);
        match self.backup()? {
            Some(backup) if Some(&backup.after) == current.as_ref() => Ok(backup.before),
            _ => without(),
        }
    }

    pub(crate) fn restore(&self, text: Option<&str>) -> Result<(), Failure> {
        match text {
            Some(text) => self.replace(text)?,
            None => {
                fs::remove_file(&self.path).map_err(|error| self.failed(error))?;
                let folders = self.backup()?.map(|backup| backup.folders).unwrap_or_default();
                for folder in folders.iter().rev() {
                    // A folder with something else in it stays.
                    let _ = fs::remove_dir(folder);
                }
            }
        }
        if let Ok(path) = self.backup_path() {
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    fn failed(&self, error: std::io::Error) -> Failure {
        Failure::File { path: self.path.display().to_string(), error }
    }

    /// Replaces the file at once, with the mode that it had.
    fn replace(&self, text: &str) -> Result<(), Failure> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let mut draft = tempfile::NamedTempFile::new_in(folder).map_err(|error| self.failed(error))?;
        draft.write_all(text.as_bytes()).map_err(|error| self.failed(error))?;
        let permissions = match self.path.metadata() {
            Ok(metadata) => Some(metadata.permissions()),
            Err(_) => self.is_public.then(|| Permissions::from_mode(PUBLIC)),
        };
        if let Some(permissions) = permissions {
            draft.as_file().set_permissions(permissions).map_err(|error| self.failed(error))?;
        }
        draft.as_file().sync_all().map_err(|error| self.failed(error))?;
        draft.persist(&self.path).map(drop).map_err(|error| self.failed(error.error))
    }

    fn backup_path(&self) -> Result<PathBuf, Failure> {
        let name = hash(&self.path.display().to_string());
        let name = name.rsplit(':').next().unwrap_or(&name);
        Ok(Home::from_environment()?.path().join("setup").join(format!("{name}.json")))
    }

    fn backup(&self) -> Result<Option<Backup>, Failure> {
        let text = match fs::read_to_string(self.backup_path()?) {
            Ok(text) => text,
            Err(_) => return Ok(None),
        };
        Ok(serde_json::from_str(&text).ok().filter(|backup: &Backup| backup.path == self.path))
    }

    fn keep(&self, backup: &Backup) -> Result<(), Failure> {
        let path = self.backup_path()?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        if let Some(state) = folder.parent() {
            fs::create_dir_all(state).map_err(|error| self.failed(error))?;
        }
        make_private_folder(folder)?;
        let text = serde_json::to_string(backup).map_err(|error| Failure::Server(error.to_string()))?;
        Ok(write_private(&path, &text)?)
    }
}

fn hash(text: &str) -> String {
    ContentHash::of(text.as_bytes()).to_string()
}
