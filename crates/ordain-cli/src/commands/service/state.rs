//! The gate of the service, in its state directory.

use super::steps::Steps;
use crate::commands::init::{Names, Starter, begin_gate};
use crate::exit::Failure;
use crate::policy_folder;
use crate::service::{ACCOUNT, STATE_BASE};
use ordain_decision::PolicyFiles;
use ordain_presence::OsUser;
use ordain_state::{GateId, GateSettings, Home};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, lchown};
use std::path::{Path, PathBuf};

/// The state directory.
pub(super) fn folder() -> PathBuf {
    Path::new(STATE_BASE).join(ACCOUNT)
}

/// The gate that is there, if there is one. Only its user may use its folder.
pub(super) fn existing(user: Option<u32>) -> Result<Option<GateId>, Failure> {
    let path = folder();
    let problem = |problem: String| Failure::Document { path: path.display().to_string(), problem };
    let Ok(found) = path.symlink_metadata() else { return Ok(None) };
    if !found.is_dir() || Some(found.uid()) != user || found.mode() & 0o077 != 0 {
        let failure = problem(format!("is not a folder of the user `{ACCOUNT}` alone"));
        return Err(failure.with_hint("move it away, or give it back to that user with mode 700"));
    }
    let failure = |error| Failure::File { path: path.display().to_string(), error };
    let mut gates = Vec::new();
    for entry in fs::read_dir(&path).map_err(failure)? {
        gates.extend(entry.map_err(failure)?.file_name().to_str().and_then(GateId::parse));
    }
    match gates.as_slice() {
        [] => Ok(None),
        [gate] => Ok(Some(gate.clone())),
        _ => Err(problem("holds several gates".to_owned()).with_hint("keep the one that the service has")),
    }
}

/// Makes the gate beside its place, gives it to the service's user, and moves it there: all of it or nothing.
pub(super) fn make(
    steps: &mut Steps,
    owner: &OsUser,
    policy: Option<&Path>,
    numbers: impl FnOnce() -> Result<(u32, u32), Failure>,
    gate: &GateId,
    json: bool,
) -> Result<(), Failure> {
    let place = folder();
    let step = format!("make the gate {gate} in {}, which {ACCOUNT} alone may use", place.display());
    steps.take(&step, false, || {
        let (user, group) = numbers()?;
        let staging = Path::new(STATE_BASE).join(format!(".{ACCOUNT}-{gate}"));
        DirBuilder::new().mode(0o700).create(&staging)?;
        let made = stage(&staging, owner, policy, gate, json).and_then(|()| {
            let home = staging.join(ACCOUNT);
            give(&home, user, group)?;
            // An empty folder may be there, from systemd.
            if place.is_dir() {
                fs::remove_dir(&place)?;
            }
            Ok(fs::rename(&home, &place)?)
        });
        // The failure to make it counts.
        let _ = fs::remove_dir_all(&staging);
        made
    })
}

fn stage(
    staging: &Path,
    owner: &OsUser,
    policy: Option<&Path>,
    gate: &GateId,
    json: bool,
) -> Result<(), Failure> {
    let starter = staging.join("policy");
    let folder = match policy {
        Some(folder) => folder,
        None => {
            let names = Names { user: owner.name.clone(), me: None, agent: None };
            Starter::Team.write_folder(&starter, &names).map_err(|(path, error)| {
                let path = path.display().to_string();
                Failure::File { path, error }
            })?;
            &starter
        }
    };
    let files = check_policies(owner, folder, json)?;
    let home = Home::in_folder(staging);
    let settings = GateSettings { id: gate.clone(), store: None };
    let made = home.create_gate(&settings)?;
    begin_gate(&made, Some(&files), None).map(drop)
}

/// Policies to begin with. They name the owner: nobody else can claim the gate.
pub(super) fn check_policies(owner: &OsUser, folder: &Path, json: bool) -> Result<PolicyFiles, Failure> {
    let (folder, set) = policy_folder::checked(Some(folder), json)?;
    if set.actor_of_user(&owner.name).is_some() {
        return Ok(folder.files);
    }
    let problem = format!("no actor in entities.json has the `os_user` `{}`", owner.name);
    let failure = Failure::Document { path: folder.path.display().to_string(), problem };
    Err(failure.with_hint("name the owner there: nobody else can claim the gate"))
}

/// Gives a folder and everything in it to a user.
fn give(path: &Path, user: u32, group: u32) -> Result<(), Failure> {
    let failure = |error| Failure::File { path: path.display().to_string(), error };
    if path.symlink_metadata().map_err(failure)?.is_dir() {
        for entry in fs::read_dir(path).map_err(failure)? {
            give(&entry.map_err(failure)?.path(), user, group)?;
        }
    }
    lchown(path, Some(user), Some(group)).map_err(failure)
}
