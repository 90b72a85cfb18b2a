//! A project: the folder with an `ordain.toml`, and what the file says.

use crate::exit::Failure;
use crate::input::Source;
use crate::report::printable;
use ordain_canon::place_of;
use ordain_spec::path_faults;
use ordain_store::Location;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The file that says where a project keeps what.
pub(crate) const CONFIG: &str = ordain_harness::apply::PROJECT_FILE;
/// Where policies are if nothing says otherwise.
pub(crate) const POLICY: &str = "policy";
/// Where the store, the key and the last checkpoint are if nothing says otherwise.
const STATE: &str = ".ordain/gate";
const DATABASE: &str = "ordain.db";

/// What is in [`CONFIG`].
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    policy: Option<PathBuf>,
    store: Option<String>,
    state: Option<PathBuf>,
    actor: Option<String>,
    vault: Option<VaultConfig>,
    /// Read when a model is asked: what is wrong here must not keep anybody from halting the gate.
    model: Option<toml::Table>,
}

/// Where the notes are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VaultConfig {
    root: Option<PathBuf>,
    /// Whether the last proposal is kept in `km/.km_last_proposal.yaml`.
    snapshot: Option<bool>,
}

/// A project.
pub(crate) struct Project {
    root: PathBuf,
    config: Config,
}

impl Project {
    /// The project of this folder: the nearest configuration here or above.
    pub(crate) fn find() -> Result<Option<Self>, Failure> {
        Self::above(Path::new("."))
    }

    /// The project that a folder belongs to.
    pub(crate) fn above(folder: &Path) -> Result<Option<Self>, Failure> {
        let failure = |error| Failure::File { path: folder.display().to_string(), error };
        let start = folder.canonicalize().map_err(failure)?;
        let mut root = if folder == Path::new(".") { PathBuf::new() } else { folder.to_owned() };
        for _ in start.ancestors() {
            let path = root.join(CONFIG);
            if path.is_file() {
                return Ok(Some(Self { config: read(&path)?, root }));
            }
            root.push("..");
        }
        Ok(None)
    }

    /// The folder of the configuration.
    pub(crate) fn root(&self) -> &Path {
        if self.root.as_os_str().is_empty() { Path::new(".") } else { &self.root }
    }

    /// Where a folder is in the project, as patch sets name it; empty for the project's own. Policies see the paths of the
    /// project, whatever folder a command is about.
    pub(crate) fn path_within(&self, folder: &Path) -> Result<String, Failure> {
        let failure = |error| Failure::File { path: folder.display().to_string(), error };
        let (there, root) =
            (folder.canonicalize().map_err(failure)?, self.root().canonicalize().map_err(failure)?);
        let place = there.strip_prefix(&root).ok().and_then(Path::to_str);
        let fault = match place {
            Some("") => None,
            Some(place) => path_faults(place).first().map(|fault| fault.message()),
            None => Some("is no text, or not in the project"),
        };
        match (place, fault) {
            (Some(place), None) => Ok(place.to_owned()),
            (_, fault) => {
                let problem = format!(
                    "a patch set cannot name this folder: `{}` {}",
                    printable(&there.strip_prefix(&root).unwrap_or(&there).to_string_lossy()),
                    fault.unwrap_or_default()
                );
                let failure = Failure::Document { path: folder.display().to_string(), problem };
                Err(failure.with_hint("rename the folder"))
            }
        }
    }

    /// The folder of the notes.
    pub(crate) fn vault(&self) -> PathBuf {
        match self.config.vault.as_ref().and_then(|vault| vault.root.as_deref()) {
            Some(folder) => self.root.join(folder),
            None => self.root().to_owned(),
        }
    }

    /// Whether the last note proposal is kept for people to look at.
    pub(crate) fn snapshot(&self) -> bool {
        self.config.vault.as_ref().and_then(|vault| vault.snapshot).unwrap_or_default()
    }

    /// Who drafts notes.
    pub(crate) fn model(&self) -> Result<ordain_model::Settings, Failure> {
        let Some(table) = self.config.model.clone() else { return Ok(ordain_model::Settings::default()) };
        table.try_into().map_err(|error: toml::de::Error| Failure::Document {
            path: self.root.join(CONFIG).display().to_string(),
            problem: format!("[model]: {}", error.message().replace('\n', " ")),
        })
    }

    /// The policy folder.
    pub(crate) fn policy(&self) -> PathBuf {
        self.root.join(self.config.policy.as_deref().unwrap_or(Path::new(POLICY)))
    }

    /// Where the key and the last checkpoint are.
    pub(crate) fn state(&self) -> PathBuf {
        self.root.join(self.config.state.as_deref().unwrap_or(Path::new(STATE)))
    }

    /// The store.
    pub(crate) fn store(&self) -> Location {
        match self.config.store.as_deref().map(Location::parse) {
            None => Location::File(self.state().join(DATABASE)),
            Some(Location::File(path)) => Location::File(self.root.join(path)),
            Some(other) => other,
        }
    }

    /// Who proposes changes of files here.
    pub(crate) fn actor(&self) -> Option<String> {
        self.config.actor.clone()
    }
}

fn read(path: &Path) -> Result<Config, Failure> {
    let problem = |problem: String| Failure::Document { path: path.display().to_string(), problem };
    let text =
        String::from_utf8(Source::of(path).bytes()?).map_err(|_| problem("is not UTF-8".to_owned()))?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map(|span| place_of(text.as_bytes(), span.start).line);
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        problem(format!("{line}{}", error.message().replace('\n', " ")))
    })
}
