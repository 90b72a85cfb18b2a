//! `ordain service uninstall`.

use super::binary::COPY;
use super::steps::{Mode, Steps, check_machine};
use super::{state, unit};
use crate::exit::{self, Failure, Outcome};
use crate::service::ACCOUNT;
use clap::Args;
use ordain_presence::{group_id, user_named};
use std::fs;
use std::path::Path;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Projects of the service's gate have no gate from then on: nothing asks anybody, and nothing is recorded.", exit::PLAIN))]
pub(crate) struct ServiceUninstall {
    /// Delete the record, the gate's key and the service's user too; nothing brings them back
    #[arg(long)]
    pub(crate) purge: bool,
    /// Change nothing, and print every step
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Leave systemd alone, as for the image of a machine
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) no_start: bool,
}

pub(super) fn run(args: &ServiceUninstall, json: bool) -> Result<Outcome, Failure> {
    let mode = if args.dry_run { Mode::Show } else { Mode::Do };
    if mode == Mode::Do {
        check_machine(!args.no_start)?;
    }
    let mut steps = Steps::new(mode);
    let written = Path::new(unit::PATH).exists();
    if !args.no_start {
        steps.program(&["systemctl", "disable", "--now", "--quiet", "ordain.service"], !written)?;
    }
    for path in [Path::new(unit::PATH), Path::new(COPY)] {
        remove(&mut steps, path)?;
    }
    if !args.no_start {
        steps.program(&["systemctl", "daemon-reload"], !written)?;
    }
    let state = state::folder();
    let mut next = Vec::new();
    if args.purge {
        remove(&mut steps, &state)?;
        steps.program(&["userdel", ACCOUNT], user_named(ACCOUNT).is_none())?;
        steps.program(&["groupdel", ACCOUNT], group_id(ACCOUNT).is_none())?;
    } else if state.exists() {
        let (state, hint) = (state.display(), "run `ordain service uninstall --purge` to delete it");
        next.push(format!("the record, the gate's key and the user {ACCOUNT} stay, in {state}; {hint}"));
    }
    next.push("projects of that gate have no gate now: no policy is asked there".to_owned());
    steps.show(None, &next, json)?;
    Ok(Outcome::Ok)
}

/// Removes a file, or a folder with everything in it.
fn remove(steps: &mut Steps, path: &Path) -> Result<(), Failure> {
    let there = path.symlink_metadata();
    steps.take(&format!("remove {}", path.display()), there.is_err(), || {
        let removed = if there.is_ok_and(|found| found.is_dir()) {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
        removed.map_err(|error| Failure::File { path: path.display().to_string(), error })
    })
}
