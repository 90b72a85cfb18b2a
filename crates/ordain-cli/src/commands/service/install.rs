//! `ordain service install`.

use super::steps::{Mode, Steps, check_machine};
use super::unit::{self, Unit};
use super::{account, binary, state};
use crate::exit::{self, Failure, Outcome};
use crate::service::{ACCOUNT, SOCKET};
use clap::Args;
use ordain_presence::user_named;
use ordain_state::GateId;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain service install --owner olga --dry-run
  ordain service install --owner olga
  ordain service install --owner olga --policy policy --no-start

If a step fails, run it again when the cause is gone.", exit::PLAIN))]
pub(crate) struct ServiceInstall {
    /// The user of this machine who will own the gate: nobody else can claim it
    #[arg(long, value_name = "USER")]
    pub(crate) owner: String,
    /// The policies to begin with; they name the owner as `os_user` of an actor [default: those of `ordain init`]
    #[arg(long, value_name = "DIR")]
    pub(crate) policy: Option<PathBuf>,
    /// Change nothing, and print the unit and every step
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not start the service, as for the image of a machine
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) no_start: bool,
}

pub(super) fn run(args: &ServiceInstall, json: bool) -> Result<Outcome, Failure> {
    let owner = account::owner(&args.owner)?;
    let mode = if args.dry_run { Mode::Show } else { Mode::Do };
    if mode == Mode::Do {
        check_machine(!args.no_start)?;
    }
    if let Some(policy) = &args.policy {
        state::check_policies(&owner, policy, json)?;
    }
    let mut steps = Steps::new(mode);
    account::make(&mut steps, &owner)?;
    let binary = binary::prepare(&mut steps)?;
    let existing = match (state::existing(user_named(ACCOUNT).map(|user| user.uid)), mode) {
        (Ok(existing), _) => existing,
        // Another user than root cannot look.
        (Err(_), Mode::Show) => None,
        (Err(failure), Mode::Do) => return Err(failure),
    };
    let gate = match &existing {
        Some(gate) => gate.clone(),
        None => GateId::random()?,
    };
    if existing.is_none() {
        let policy = args.policy.as_deref();
        state::make(&mut steps, &owner, policy, account::numbers, &gate, json)?;
    }
    let text = Unit { binary: &binary, gate: gate.as_str(), owner: &owner.name }.text();
    let is_written = fs::read_to_string(unit::PATH).is_ok_and(|there| there == text);
    steps.take(&format!("write {}", unit::PATH), is_written, || {
        let failure = |error| Failure::File { path: unit::PATH.to_owned(), error };
        fs::write(unit::PATH, &text).map_err(failure)?;
        fs::set_permissions(unit::PATH, Permissions::from_mode(0o644)).map_err(failure)
    })?;
    if !args.no_start {
        steps.program(&["systemctl", "daemon-reload"], false)?;
        steps.program(&["systemctl", "enable", "--quiet", "ordain.service"], false)?;
        steps.program(&["systemctl", "restart", "ordain.service"], false)?;
    }
    steps.show(Some(&text), &next(&owner.name), json)?;
    Ok(Outcome::Ok)
}

fn next(owner: &str) -> Vec<String> {
    vec![
        format!("log in again as {owner}, so that the group {ACCOUNT} counts"),
        format!("as {owner}, on a terminal and before any agent runs: ordain init --claim"),
        format!("as {owner}, in the folder of a project: ordain gate register"),
        format!(
            "for others: usermod --append --groups {ACCOUNT} USER, and name them in entities.json as `os_user`"
        ),
        format!("ordain policy push DIR --server unix:{SOCKET}"),
    ]
}
