//! The folder of one gate.

use crate::error::StateError;
use crate::ids::GateId;
use crate::private::{
    check_private_file, check_private_folder, make_private_folder, open_private, write_private,
};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::{Path, PathBuf};

const SETTINGS: &str = "gate.json";
const DATABASE: &str = "ordain.db";
const CHECKPOINT: &str = "checkpoint";
/// The file that names the gate in the place of this one, and how the name of the folder ends then.
pub(crate) const REPLACED: &str = "replaced";
/// Bytes of a settings file or of the registry.
pub(crate) const FILE_BYTES_MAX: u64 = 16 << 20;

/// The description of a gate in its folder.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateSettings {
    /// The gate.
    pub id: GateId,
    /// The URL of its PostgreSQL store, which may hold a password; without it the store is a file in the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

/// The folder of one gate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateFolder {
    id: GateId,
    path: PathBuf,
}

impl GateFolder {
    /// The folder of a gate in a state directory, which may not be there.
    pub(crate) fn new(state: &Path, id: GateId) -> Self {
        Self { path: state.join(id.as_str()), id }
    }

    /// The folder of a gate that another one took the place of: its owner has moved it aside.
    pub(crate) fn replaced(state: &Path, id: GateId) -> Self {
        Self { path: state.join(format!("{id}.{REPLACED}")), id }
    }

    /// Keeps the folder as it is, for people to look at, and says which gate came in its place.
    pub fn retire(&self, successor: &GateId) -> Result<(), StateError> {
        write_private(&self.path.join(REPLACED), &format!("{successor}\n"))?;
        for name in [SETTINGS, DATABASE, CHECKPOINT, REPLACED] {
            let path = self.path.join(name);
            if let Ok(metadata) = path.symlink_metadata() {
                let mut permissions = metadata.permissions();
                permissions.set_readonly(true);
                std::fs::set_permissions(&path, permissions).map_err(StateError::io(&path))?;
            }
        }
        Ok(())
    }

    /// The gate that came in its place, if one did.
    pub fn successor(&self) -> Result<Option<GateId>, StateError> {
        Ok(read_private(&self.path.join(REPLACED))?.and_then(|text| GateId::parse(text.trim_end())))
    }

    /// Makes the folder and writes the settings.
    pub(crate) fn create(&self, settings: &GateSettings) -> Result<(), StateError> {
        make_private_folder(&self.path)?;
        self.write_settings(settings)
    }

    /// Replaces the settings.
    pub fn write_settings(&self, settings: &GateSettings) -> Result<(), StateError> {
        let path = self.path.join(SETTINGS);
        let text = serde_json::to_string_pretty(settings)
            .map_err(|error| StateError::new(&path, error.to_string()))?;
        write_private(&path, &format!("{text}\n"))
    }

    /// The settings. The folder and its files must be the caller's own.
    pub fn settings(&self) -> Result<GateSettings, StateError> {
        self.check()?;
        let path = self.path.join(SETTINGS);
        let lost = || {
            StateError::new(&path, "is missing, so nobody knows which store the gate has")
                .with_hint("put the state directory back from a backup, or run `ordain gate import DIR`")
        };
        let text = read_private(&path)?.ok_or_else(lost)?;
        let settings: GateSettings = serde_json::from_str(&text)
            .map_err(|error| StateError::new(&path, format!("cannot be read: {error}")))?;
        if settings.id != self.id {
            return Err(StateError::new(&path, format!("is of the gate {}", settings.id)));
        }
        Ok(settings)
    }

    /// That the folder and what is in it belong to the caller alone, and that nothing in it is a link.
    pub fn check(&self) -> Result<(), StateError> {
        check_private_folder(&self.path)?;
        for name in [SETTINGS, DATABASE, CHECKPOINT] {
            let path = self.path.join(name);
            if path.symlink_metadata().is_ok() {
                check_private_file(&path)?;
            }
        }
        Ok(())
    }

    /// The gate.
    pub fn id(&self) -> &GateId {
        &self.id
    }

    /// Where the signing key is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The SQLite file of a gate without another store.
    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// The file with the last signed head.
    pub fn checkpoint(&self) -> PathBuf {
        self.path.join(CHECKPOINT)
    }
}

/// The text of a private file, if it is there.
pub(crate) fn read_private(path: &Path) -> Result<Option<String>, StateError> {
    let Some(file) = open_private(path)? else { return Ok(None) };
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(StateError::io(path))?;
    Ok(Some(text))
}
