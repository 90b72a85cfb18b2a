//! `ordain gate`: the gates of this user, and the projects that belong to them.

mod export;
mod forget;
mod import;
mod list;
mod register;
mod relocate;

use crate::exit::{Failure, Outcome};
use clap::{Args, Subcommand};
use export::GateExport;
use forget::GateForget;
use import::GateImport;
use list::GateList;
use ordain_state::{GateFolder, GateId, Home, Project};
use register::GateRegister;
use relocate::GateMove;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct Gate {
    #[command(subcommand)]
    pub(crate) command: GateCommand,
}

#[derive(Subcommand)]
pub(crate) enum GateCommand {
    /// List gates and their projects
    List(GateList),
    /// Register a folder with a gate, or folders with worktrees of a project
    Register(GateRegister),
    /// Forget a project; its gate and its record stay
    Forget(GateForget),
    /// Say where the folder of a project is now
    Move(GateMove),
    /// Write a gate to a folder, with its key: for a backup, or for another machine
    Export(GateExport),
    /// Take over a gate from a folder that `gate export` wrote
    ///
    /// It refuses a copy that is older than a checkpoint of the same gate: what was spent could be spent again.
    Import(GateImport),
}

pub(crate) fn run(args: &Gate, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        GateCommand::List(args) => list::run(args, json),
        GateCommand::Register(args) => register::run(args, json),
        GateCommand::Forget(args) => forget::run(args, json),
        GateCommand::Move(args) => relocate::run(args, json),
        GateCommand::Export(args) => export::run(args, json),
        GateCommand::Import(args) => import::run(args, json),
    }
}

/// A gate's id on the command line.
pub(crate) fn gate_id(text: &str) -> Result<GateId, String> {
    GateId::parse(text).ok_or_else(|| "expected the 16 digits that `ordain gate list` shows".to_owned())
}

/// A folder as the registry names it. It may be gone.
fn registered_path(folder: &Path) -> Result<PathBuf, Failure> {
    let failure = |error| Failure::File { path: folder.display().to_string(), error };
    match folder.canonicalize() {
        Ok(path) => Ok(path),
        Err(_) => std::path::absolute(folder).map_err(failure),
    }
}

/// That nothing but a known gate is named.
fn check_known(home: &Home, id: &GateId) -> Result<(), Failure> {
    if home.gate(id).path().is_dir() {
        return Ok(());
    }
    let failure = Failure::unknown("gate", id.as_str());
    Err(failure.with_hint("run `ordain gate list` to see the gates that are here"))
}

/// The gate of a registered folder.
fn gate_of(home: &Home, path: &Path) -> Result<GateFolder, Failure> {
    let registry = home.registry()?;
    let known = registry.at(path).ok_or_else(|| not_registered(path))?;
    Ok(home.gate(&known.gate))
}

fn not_registered(path: &Path) -> Failure {
    let problem = "is not registered".to_owned();
    let failure = Failure::Document { path: path.display().to_string(), problem };
    failure.with_hint("run `ordain gate list` to see the projects")
}

/// For programs.
fn as_json(project: &Project) -> serde_json::Value {
    let worktrees: Vec<&PathBuf> = project.worktrees.iter().map(|folder| &folder.path).collect();
    let (gate, id, path) = (&project.gate, &project.id, &project.path);
    serde_json::json!({"gate": gate, "project": path, "project_id": id, "worktrees": worktrees})
}
