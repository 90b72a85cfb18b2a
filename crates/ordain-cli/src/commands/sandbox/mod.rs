//! `ordain sandbox`.

mod exec;
mod probe;

use crate::exit::{self, Failure, Outcome};
use clap::{Args, Subcommand};
use exec::Exec;
use std::path::Path;

#[derive(Args)]
pub(crate) struct Sandbox {
    #[command(subcommand)]
    pub(crate) command: SandboxCommand,
}

#[derive(Subcommand)]
pub(crate) enum SandboxCommand {
    /// Try what this machine supports, and say what to change
    #[command(after_help = exit::help(&[
        Outcome::Ok.means("the sandbox works"),
        Outcome::Failed.means("it does not work, or only with --allow-landlock-only"),
    ]))]
    Probe,
    /// Run one command on a view of a workspace, and show what came of it
    ///
    /// The command sees the workspace in /workspace and may change it there; the folder itself stays as it is. With
    /// --json the execution evidence is printed, of a plan that has this one command.
    #[command(after_help = exit::help(&[
        Outcome::Ok.means("the command succeeded"),
        Outcome::Failed.means("the command failed or could not be run"),
    ]))]
    Exec(Exec),
}

impl Sandbox {
    /// The workspace that the command is about.
    pub(crate) fn workspace(&self) -> Option<&Path> {
        match &self.command {
            SandboxCommand::Probe => None,
            SandboxCommand::Exec(args) => Some(&args.workspace),
        }
    }
}

pub(crate) fn run(args: &Sandbox, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        SandboxCommand::Probe => probe::run(json),
        SandboxCommand::Exec(args) => exec::run(args, json),
    }
}
