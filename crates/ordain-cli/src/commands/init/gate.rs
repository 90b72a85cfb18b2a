//! Making a gate: its folder in the state directory, its key, the first entries of its ledger, its place in
//! the registry.

use crate::exit::Failure;
use crate::gateway::{location_of, runtime};
use crate::policy_folder;
use crate::project::Project;
use crate::service;
use ordain_api::ReplacedGate;
use ordain_decision::PolicyFiles;
use ordain_gate::{Caller, Clock, Gate, GateError, Keyring, Settings};
use ordain_presence::OsUser;
use ordain_state::{GateFolder, GateId, GateSettings, Home};
use ordain_store::{Location, Store};
use std::path::{Path, PathBuf};

/// A gate that can be made.
pub(super) struct NewGate {
    home: Home,
    settings: GateSettings,
}

/// A gate that was made.
pub(super) struct Made {
    pub(super) gate_id: String,
    pub(super) state: String,
    pub(super) policy_hash: Option<String>,
}

impl NewGate {
    /// Checks that a folder may have a gate of its own. Nothing is written.
    pub(super) fn prepare(dir: &Path, store: Option<&str>) -> Result<Self, Failure> {
        let home = Home::from_environment()?;
        let folder = absolute(dir)?;
        home.registry()?.check_free(&home, &folder)?;
        let there = folder.ancestors().find(|step| step.is_dir()).unwrap_or(&folder);
        if let Some(project) = service::project_of(there)? {
            let problem = format!("belongs to the gate of this machine's service, as {}", project.path);
            let failure = Failure::Document { path: dir.display().to_string(), problem };
            return Err(failure.with_hint("an owner of that gate decides; `ordain status` asks it"));
        }
        Self::of(home, store)
    }

    /// Without a look at the registry.
    pub(super) fn of(home: Home, store: Option<&str>) -> Result<Self, Failure> {
        let store = store.map(|url| match Location::parse(url) {
            Location::Postgres(url) => Ok(url),
            other => Err(Failure::Usage(format!("{other} is not the URL of a database"))
                .with_hint("name it as postgres://user@host/database")),
        });
        Ok(Self { home, settings: GateSettings { id: GateId::random()?, store: store.transpose()? } })
    }

    /// Makes the gate, puts the policies in force, and registers the folder.
    pub(super) fn make(self, dir: &Path, policies: Option<&PolicyFiles>) -> Result<Made, Failure> {
        let Self { home, settings } = self;
        let gate = home.create_gate(&settings)?;
        let made = begin(&gate, policies, None).and_then(|policy_hash| {
            let project = ordain_state::Project::of(dir, settings.id.clone())?;
            home.change_registry(|registry| registry.add(&home, project))?;
            Ok(policy_hash)
        });
        let policy_hash = made.inspect_err(|_| {
            // Nobody knows this gate yet.
            let _ = std::fs::remove_dir_all(gate.path());
        })?;
        let state = gate.path().display().to_string();
        Ok(Made { gate_id: settings.id.to_string(), state, policy_hash })
    }
}

/// The policies in a folder that has no gate yet, if it has any.
pub(super) fn policies_of(dir: &Path, json: bool) -> Result<Option<PolicyFiles>, Failure> {
    if !dir.exists() {
        return Ok(None);
    }
    let policy = Project::in_folder(dir)?.policy()?;
    if !policy.exists() {
        return Ok(None);
    }
    Ok(Some(policy_folder::load_files(Some(&policy), json)?.1))
}

impl NewGate {
    /// Makes the gate in the place of another one, without policies: those of the folder may be anybody's.
    pub(super) fn replace(self, project: &Path, replaced: ReplacedGate) -> Result<GateId, Failure> {
        let Self { home, settings } = self;
        let gate = home.create_gate(&settings)?;
        let made = begin(&gate, None, Some(replaced.clone())).and_then(|_| {
            home.change_registry(|registry| {
                let is_it = |known: &&mut ordain_state::Project| {
                    known.path == project && known.gate.as_str() == replaced.gate_id
                };
                let Some(known) = registry.projects.iter_mut().find(is_it) else {
                    let problem = "is registered otherwise by now; nothing was changed".to_owned();
                    return Err(Failure::Document { path: project.display().to_string(), problem });
                };
                known.gate = settings.id.clone();
                Ok(())
            })
        });
        made.inspect_err(|_| {
            // Nobody knows this gate yet.
            let _ = std::fs::remove_dir_all(gate.path());
        })?;
        Ok(settings.id)
    }
}

/// Begins the ledger. The first policies are its first act.
pub(crate) fn begin(
    gate: &GateFolder,
    files: Option<&PolicyFiles>,
    replaces: Option<ReplacedGate>,
) -> Result<Option<String>, Failure> {
    let location = location_of(gate)?;
    let keyring = Keyring::open(gate.path()).map_err(|error| Failure::Server(error.to_string()))?;
    let caller = Caller::local(&OsUser::current().name);
    runtime(1)?.block_on(async {
        let store = Store::open(&location).await.map_err(GateError::from)?;
        if store.head().await.map_err(GateError::from)?.size > 0 {
            let problem = "holds the ledger of another gate".to_owned();
            let failure = Failure::Document { path: location.to_string(), problem };
            return Err(failure.with_hint("name an empty database, or run `ordain gate import DIR`"));
        }
        let (clock, settings) = (Clock::system(), Settings::default());
        let opened = Gate::open_in_place_of(store, keyring, clock, settings, replaces).await?;
        if let Some(files) = files {
            opened.set_policy(&caller, files).await?;
        }
        opened.keep_checkpoint(&gate.checkpoint()).await?;
        let active = opened.active_policy().await?;
        opened.store().clone().close().await.map_err(GateError::from)?;
        Ok(active.map(|active| active.hash))
    })
}

/// The folder without links, which may not be there yet.
pub(super) fn absolute(dir: &Path) -> Result<PathBuf, Failure> {
    let failure = |error| Failure::File { path: dir.display().to_string(), error };
    let whole = std::path::absolute(dir).map_err(failure)?;
    let there = whole.ancestors().find(|step| step.exists()).unwrap_or(&whole);
    let missing = whole.strip_prefix(there).unwrap_or(Path::new(""));
    Ok(there.canonicalize().map_err(failure)?.join(missing))
}
