//! `ordain service`: a gate that systemd runs as its own user, for all projects of a machine.

mod account;
mod binary;
mod install;
mod state;
mod steps;
mod uninstall;
mod unit;

use crate::exit::{Failure, Outcome};
use clap::{Args, Subcommand};
use install::ServiceInstall;
use uninstall::ServiceUninstall;

#[derive(Args)]
pub(crate) struct Service {
    #[command(subcommand)]
    pub(crate) command: ServiceCommand,
}

#[derive(Subcommand)]
pub(crate) enum ServiceCommand {
    /// Make the service's user, its gate and its unit, and start it; run it as root
    ///
    /// It can be run again: parts that are there stay. People and agents can only ask the gate, over the socket
    /// /run/ordain/gate.sock; its key, its store and its record in /var/lib/ordain belong to the user `ordain` alone.
    Install(ServiceInstall),
    /// Stop the service and remove its unit; the record stays
    Uninstall(ServiceUninstall),
}

pub(crate) fn run(args: &Service, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        ServiceCommand::Install(args) => install::run(args, json),
        ServiceCommand::Uninstall(args) => uninstall::run(args, json),
    }
}
