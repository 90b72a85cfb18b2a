//! The state directory.

use crate::error::StateError;
use crate::gate_folder::{GateFolder, GateSettings, REPLACED};
use crate::ids::GateId;
use crate::private::{check_private_folder, check_way, make_private_folder};
use crate::registry::{Belongs, Registry};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

const FOLDER: &str = "ordain";
const LOCK: &str = "registry.lock";

/// The state directory of this user. It may not be there yet.
#[derive(Clone, Debug)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// `$XDG_STATE_HOME/ordain`, or `~/.local/state/ordain`.
    pub fn from_environment() -> Result<Self, StateError> {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        // The specification of these folders says that a relative path is ignored.
        let base = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
        let base = base.or_else(|| {
            let home = variable("HOME").filter(|path| path.is_absolute());
            home.map(|home| home.join(".local/state"))
        });
        let base = base.ok_or_else(|| {
            StateError::new(
                Path::new("the state directory"),
                "neither XDG_STATE_HOME nor HOME names a folder",
            )
            .with_hint("set XDG_STATE_HOME to an absolute path")
        })?;
        Ok(Self::in_folder(&base))
    }

    /// The state directory in a folder.
    pub fn in_folder(base: &Path) -> Self {
        Self { path: base.join(FOLDER) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is there. Where it is, only the caller may use it.
    pub(crate) fn exists(&self) -> Result<bool, StateError> {
        if self.path.symlink_metadata().is_err() {
            return Ok(false);
        }
        check_way(self.path.parent().unwrap_or(Path::new("/")))?;
        check_private_folder(&self.path)?;
        Ok(true)
    }

    /// Makes it. Folders above it are made private too.
    fn prepare(&self) -> Result<(), StateError> {
        let base = self.path.parent().unwrap_or(Path::new("/"));
        check_way(base)?;
        let mut missing: Vec<&Path> = base.ancestors().take_while(|folder| !folder.exists()).collect();
        missing.reverse();
        missing.into_iter().try_for_each(make_private_folder)?;
        make_private_folder(&self.path)
    }

    /// The registry; an empty one where there is no state yet.
    pub fn registry(&self) -> Result<Registry, StateError> {
        if self.exists()? { Registry::read(&self.path) } else { Ok(Registry::default()) }
    }

    /// Changes the registry. Others wait until it is done.
    pub fn change_registry<T, E: From<StateError>>(
        &self,
        change: impl FnOnce(&mut Registry) -> Result<T, E>,
    ) -> Result<T, E> {
        self.prepare()?;
        let path = self.path.join(LOCK);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = options.open(&path).map_err(StateError::io(&path))?;
        lock.lock().map_err(StateError::io(&path))?;
        let mut registry = Registry::read(&self.path)?;
        let result = change(&mut registry)?;
        registry.write(&self.path)?;
        Ok(result)
    }

    /// The project that a folder belongs to, and its gate.
    pub fn project_of(&self, folder: &Path) -> Result<Option<Belongs>, StateError> {
        let registry = self.registry()?;
        if registry.projects.is_empty() {
            return Ok(None);
        }
        let folder = folder.canonicalize().map_err(StateError::io(folder))?;
        registry.find(self, &folder)
    }

    /// Makes the folder of a new gate.
    pub fn create_gate(&self, settings: &GateSettings) -> Result<GateFolder, StateError> {
        self.prepare()?;
        let gate = self.gate(&settings.id);
        if gate.path().symlink_metadata().is_ok() {
            return Err(StateError::new(gate.path(), "exists already"));
        }
        gate.create(settings)?;
        Ok(gate)
    }

    /// The folder of a gate, which may not be there.
    pub fn gate(&self, id: &GateId) -> GateFolder {
        GateFolder::new(&self.path, id.clone())
    }

    /// The folder of a gate that its owner moved aside, which may not be there.
    pub fn replaced_gate(&self, id: &GateId) -> GateFolder {
        GateFolder::replaced(&self.path, id.clone())
    }

    /// The gates that others took the place of.
    pub fn replaced_gates(&self) -> Result<Vec<GateFolder>, StateError> {
        let id_of = |name: &str| name.strip_suffix(REPLACED)?.strip_suffix('.').and_then(GateId::parse);
        Ok(self.names()?.iter().filter_map(|name| id_of(name)).map(|id| self.replaced_gate(&id)).collect())
    }

    /// The names in the state directory, sorted.
    fn names(&self) -> Result<Vec<String>, StateError> {
        if !self.exists()? {
            return Ok(Vec::new());
        }
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(StateError::io(&self.path))? {
            let entry = entry.map_err(StateError::io(&self.path))?;
            names.extend(entry.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    /// All gates that are here, with or without a project.
    pub fn gates(&self) -> Result<Vec<GateFolder>, StateError> {
        Ok(self.names()?.iter().filter_map(|name| GateId::parse(name)).map(|id| self.gate(&id)).collect())
    }
}
