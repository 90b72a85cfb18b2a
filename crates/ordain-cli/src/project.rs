//! A project: a registered folder, or one with an `ordain.toml`, and its settings.

use crate::exit::Failure;
use crate::input::Source;
use crate::report::{self, printable};
use crate::service;
use ordain_api::{ProjectName, ProjectStatus};
use ordain_canon::place_of;
use ordain_spec::path_faults;
use ordain_state::{Belongs, GateFolder, Home};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The file with the settings of a project. It says nothing about a gate: the registry does.
pub(crate) const CONFIG: &str = ordain_harness::apply::PROJECT_FILE;
/// Where policies are if nothing says otherwise.
pub(crate) const POLICY: &str = "policy";

/// The content of [`CONFIG`].
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    policy: Option<PathBuf>,
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
    /// The folder of its settings, as messages name it.
    root: PathBuf,
    /// The folder that its paths are relative to, without links; another one than `root` in a worktree.
    top: PathBuf,
    gate: Option<GateFolder>,
    name: Option<ProjectName>,
    /// The project that it is to the service of this machine.
    service: Option<ProjectStatus>,
}

impl Project {
    /// The project of this folder.
    pub(crate) fn find() -> Result<Option<Self>, Failure> {
        Self::above(Path::new("."))
    }

    /// The project that a folder belongs to: the registered one, or, where no gate is registered, the nearest settings.
    pub(crate) fn above(folder: &Path) -> Result<Option<Self>, Failure> {
        let failure = |error| Failure::File { path: folder.display().to_string(), error };
        let start = folder.canonicalize().map_err(failure)?;
        let mut root = if folder == Path::new(".") { PathBuf::new() } else { folder.to_owned() };
        let belongs = Home::from_environment()?.project_of(&start)?;
        if belongs.is_none()
            && let Some(service) = service::project_of(&start)?
        {
            let top = start.ancestors().nth(service.levels_up).unwrap_or(&start).to_owned();
            (0..service.levels_up).for_each(|_| root.push(".."));
            return Ok(Some(Self { root, top, gate: None, name: None, service: Some(service) }));
        }
        for step in start.ancestors() {
            match &belongs {
                Some(Belongs { project, root: top, gate }) if step == top => {
                    // In a worktree the settings are those of the registered folder.
                    let root = if project.path == *top { root } else { project.path.clone() };
                    let path = project.path.display().to_string();
                    let name = ProjectName { project_id: project.id.to_string(), path };
                    let (top, gate, name) = (top.clone(), Some(gate.clone()), Some(name));
                    return Ok(Some(Self { root, top, gate, name, service: None }));
                }
                Some(Belongs { project, .. }) => note_ignored(&root.join(CONFIG), &project.path),
                None if root.join(CONFIG).is_file() => {
                    let top = step.to_owned();
                    return Ok(Some(Self { root, top, gate: None, name: None, service: None }));
                }
                None => {}
            }
            root.push("..");
        }
        Ok(None)
    }

    /// The settings in a folder that has no gate yet.
    pub(crate) fn in_folder(folder: &Path) -> Result<Self, Failure> {
        let failure = |error| Failure::File { path: folder.display().to_string(), error };
        let root = if folder == Path::new(".") { PathBuf::new() } else { folder.to_owned() };
        let top = folder.canonicalize().map_err(failure)?;
        Ok(Self { root, top, gate: None, name: None, service: None })
    }

    /// The project that a folder belongs to, if a gate is registered for it.
    pub(crate) fn registered_above(folder: &Path) -> Result<Option<Self>, Failure> {
        Ok(Self::above(folder)?.filter(|project| project.gate.is_some() || project.service.is_some()))
    }

    /// Its gate, if one is registered.
    pub(crate) fn gate(&self) -> Option<&GateFolder> {
        self.gate.as_ref()
    }

    /// The project that it is to the service of this machine, if its gate is the service's.
    pub(crate) fn service(&self) -> Option<&ProjectStatus> {
        self.service.as_ref()
    }

    /// Its name to the gate, if one of this user is registered.
    pub(crate) fn name(&self) -> Option<&ProjectName> {
        self.name.as_ref()
    }

    /// The folder that a gate takes for the workspace of a shell command, from the root of the file system.
    pub(crate) fn workspace(&self) -> Option<String> {
        let served = self.service.as_ref().map(|service| service.path.clone());
        let named = self.name.as_ref().map(|name| name.path.clone());
        served.or(named).or_else(|| self.top.to_str().map(str::to_owned))
    }

    /// The folder of the settings.
    pub(crate) fn root(&self) -> &Path {
        if self.root.as_os_str().is_empty() { Path::new(".") } else { &self.root }
    }

    /// Where a folder is in the project, as patch sets name it; empty for the project's own. Policies see the
    /// paths of the project, whatever folder a command is about.
    pub(crate) fn path_within(&self, folder: &Path) -> Result<String, Failure> {
        let failure = |error| Failure::File { path: folder.display().to_string(), error };
        let (there, root) = (folder.canonicalize().map_err(failure)?, &self.top);
        let place = there.strip_prefix(root).ok().and_then(Path::to_str);
        let fault = match place {
            Some("") => None,
            Some(place) => path_faults(place).first().map(|fault| fault.message()),
            None => Some("is not text, or not in the project"),
        };
        match (place, fault) {
            (Some(place), None) => Ok(place.to_owned()),
            (_, fault) => {
                let problem = format!(
                    "a patch set cannot name this folder: `{}` {}",
                    printable(&there.strip_prefix(root).unwrap_or(&there).to_string_lossy()),
                    fault.unwrap_or_default()
                );
                let failure = Failure::Document { path: folder.display().to_string(), problem };
                Err(failure.with_hint("rename the folder"))
            }
        }
    }

    /// The folder that its paths are relative to.
    pub(crate) fn top(&self) -> &Path {
        if self.root().canonicalize().is_ok_and(|root| root == self.top) { self.root() } else { &self.top }
    }

    /// The folder of the notes.
    pub(crate) fn vault(&self) -> Result<PathBuf, Failure> {
        let config = self.config()?;
        Ok(match config.vault.as_ref().and_then(|vault| vault.root.as_deref()) {
            Some(folder) => self.root.join(folder),
            None => self.root().to_owned(),
        })
    }

    /// Whether the last note proposal is kept for people to look at.
    pub(crate) fn snapshot(&self) -> Result<bool, Failure> {
        Ok(self.config()?.vault.as_ref().and_then(|vault| vault.snapshot).unwrap_or_default())
    }

    /// The drafter of notes.
    pub(crate) fn model(&self) -> Result<ordain_model::Settings, Failure> {
        let Some(table) = self.config()?.model else { return Ok(ordain_model::Settings::default()) };
        table.try_into().map_err(|error: toml::de::Error| Failure::Document {
            path: self.root.join(CONFIG).display().to_string(),
            problem: format!("[model]: {}", error.message().replace('\n', " ")),
        })
    }

    /// The policy folder.
    pub(crate) fn policy(&self) -> Result<PathBuf, Failure> {
        Ok(self.root.join(self.config()?.policy.as_deref().unwrap_or(Path::new(POLICY))))
    }

    /// The proposer of changes of files here.
    pub(crate) fn actor(&self) -> Result<Option<String>, Failure> {
        Ok(self.config()?.actor)
    }

    /// The settings. They are read when they are needed: whoever can edit them must not keep the owner from halting.
    fn config(&self) -> Result<Config, Failure> {
        let path = self.root.join(CONFIG);
        if path.symlink_metadata().is_ok() { read(&path) } else { Ok(Config::default()) }
    }
}

/// Says once that a file of settings counts for nothing.
fn note_ignored(path: &Path, project: &Path) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if path.is_file() && !SAID.swap(true, Ordering::Relaxed) {
        let text =
            format!("ignored {}: this folder belongs to the project {}", path.display(), project.display());
        report::note(&text, None);
    }
}

/// Settings that an earlier version had here, and that would let whoever edits the file choose the gate.
const NOT_HERE: [&str; 2] = ["store", "state"];

fn read(path: &Path) -> Result<Config, Failure> {
    let problem = |problem: String| Failure::Document { path: path.display().to_string(), problem };
    let text =
        String::from_utf8(Source::of(path).bytes()?).map_err(|_| problem("is not UTF-8".to_owned()))?;
    let wrong = |error: toml::de::Error| {
        let line = error.span().map(|span| place_of(text.as_bytes(), span.start).line);
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        problem(format!("{line}{}", error.message().replace('\n', " ")))
    };
    let table: toml::Table = toml::from_str(&text).map_err(wrong)?;
    if let Some(key) = NOT_HERE.into_iter().find(|key| table.contains_key(*key)) {
        let failure =
            problem(format!("`{key}` is not a setting of a project: a gate lives in the state directory"));
        return Err(failure
            .with_hint("remove the line; `ordain init --store URL` gives a new gate a PostgreSQL store"));
    }
    toml::from_str(&text).map_err(wrong)
}
