//! `ordain gate register`.

use super::{as_json, check_known, gate_id};
use crate::exit::{self, Failure, Outcome};
use crate::gateway::Gateway;
use crate::output::print_json;
use crate::report::{GREEN, printable};
use crate::service;
use crate::signing::{self, confirm_owner};
use clap::Args;
use ordain_api::{NewProject, OwnerAct};
use ordain_client::Client;
use ordain_spec::statement::Signed;
use ordain_state::{GateId, Home, Project, WorktreeFolder};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain gate register --worktrees ../shop-worktrees
  ordain gate register ../shop-docs --gate 3f9a0c5e7712b4d8

Without `--gate`, a folder without a gate of yours is registered with the gate of the service on this machine; an owner of \
that gate signs it.", &[
    Outcome::Ok.means("registered"),
    Outcome::Failed.means("the folder lies in a registered one or above one, or an error"),
]))]
pub(crate) struct GateRegister {
    /// The folder of the project
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// The gate of a folder that is not registered yet
    #[arg(long, value_name = "ID", value_parser = gate_id)]
    pub(crate) gate: Option<GateId>,
    /// A folder outside the project whose worktrees belong to it; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) worktrees: Vec<PathBuf>,
}

pub(super) fn run(args: &GateRegister, json: bool) -> Result<Outcome, Failure> {
    let home = Home::from_environment()?;
    if args.gate.is_none()
        && home.project_of(&args.dir)?.is_none()
        && let Some(gateway) = Gateway::of_service(&args.dir)?
    {
        return with_service(args, &gateway, json);
    }
    let registered = match (home.project_of(&args.dir)?, &args.gate) {
        (Some(belongs), None) if belongs.project.path == belongs.root => {
            confirm_owner(&home.gate(&belongs.project.gate), "register worktrees")?;
            add_worktrees(&home, args, belongs.project)?
        }
        (Some(belongs), _) => {
            let problem = format!("belongs to gate {} already", belongs.project.gate);
            let failure = Failure::Document { path: args.dir.display().to_string(), problem };
            return Err(failure.with_hint("run `ordain gate list` to see its project"));
        }
        (None, Some(gate)) => {
            check_known(&home, gate)?;
            confirm_owner(&home.gate(gate), &format!("register {}", args.dir.display()))?;
            let project = Project { worktrees: worktrees(args)?, ..Project::of(&args.dir, gate.clone())? };
            home.change_registry(|registry| registry.add(&home, project.clone()))?;
            project
        }
        (None, None) => {
            let problem = "is not registered, and no gate is named".to_owned();
            let failure = Failure::Document { path: args.dir.display().to_string(), problem };
            return Err(failure.with_hint("name one with `--gate ID`, or make one with `ordain init`"));
        }
    };
    if json {
        print_json(&as_json(&registered))?;
    } else {
        let mut stdout = anstream::stdout().lock();
        let path = registered.path.display().to_string();
        writeln!(stdout, "{GREEN}registered{GREEN:#}  {} with gate {}", printable(&path), registered.gate)?;
        for folder in &registered.worktrees {
            writeln!(stdout, "  worktrees in {}", printable(&folder.path.display().to_string()))?;
        }
    }
    Ok(Outcome::Ok)
}

/// Registers a folder, and folders with its worktrees, with the gate of the service on this machine: owner
/// acts over its socket, all signed with one passphrase.
fn with_service(args: &GateRegister, gateway: &Gateway, json: bool) -> Result<Outcome, Failure> {
    let path = path_of(&args.dir)?;
    let known = service::project_of(&args.dir)?.filter(|known| known.levels_up == 0);
    // To register a folder again repairs its registration; with worktrees it stays as it is.
    let own = known.is_none_or(|known| args.worktrees.is_empty() || known.path != path);
    let mut folders: Vec<(&Path, NewProject)> = Vec::new();
    if own {
        folders.push((&args.dir, NewProject { path: path.clone(), worktrees_of: None }));
    }
    for folder in &args.worktrees {
        folders.push((folder, NewProject { path: path_of(folder)?, worktrees_of: Some(path.clone()) }));
    }
    let subjects: Vec<String> = folders.iter().map(|(_, new)| new.subject()).collect();
    let about: Vec<String> = folders
        .iter()
        .map(|(_, new)| match &new.worktrees_of {
            Some(project) => format!("register worktrees of {project} in {}", new.path),
            None => format!("register {}", new.path),
        })
        .collect();
    let signed = signing::sign_acts(gateway.client(), OwnerAct::RegisterProject, &subjects, &about)?;
    for (at, (folder, new)) in folders.iter().enumerate() {
        // Each has a connection of its own, which begins with a descriptor of its folder.
        let client = Client::new(service::transport(folder)?);
        let statement: Vec<Signed> = signed.get(at).cloned().into_iter().collect();
        let project = client.with_statements(&statement).register_project(new)?;
        let path = printable(&new.path);
        if json {
            print_json(&project)?;
        } else if new.worktrees_of.is_some() {
            writeln!(anstream::stdout(), "  worktrees in {path}")?;
        } else {
            writeln!(anstream::stdout(), "{GREEN}registered{GREEN:#}  {path} with the gate of the service")?;
        }
    }
    Ok(Outcome::Ok)
}

/// The path of a folder without links.
fn path_of(folder: &Path) -> Result<String, Failure> {
    let failure = |error| Failure::File { path: folder.display().to_string(), error };
    let path = folder.canonicalize().map_err(failure)?;
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let problem = "has a name that is not UTF-8".to_owned();
        Failure::Document { path: path.display().to_string(), problem }
    })
}

fn worktrees(args: &GateRegister) -> Result<Vec<WorktreeFolder>, Failure> {
    Ok(args.worktrees.iter().map(|path| WorktreeFolder::of(path)).collect::<Result<_, _>>()?)
}

fn add_worktrees(home: &Home, args: &GateRegister, project: Project) -> Result<Project, Failure> {
    let new = worktrees(args)?;
    home.change_registry(|registry| {
        for folder in &new {
            if !project.worktrees.contains(folder) {
                registry.check_free(home, &folder.path)?;
            }
        }
        let known = registry.projects.iter_mut().find(|known| known.path == project.path);
        let known = known.ok_or_else(|| super::not_registered(&project.path))?;
        known.worktrees.extend(new);
        known.worktrees.sort_by(|a, b| a.path.cmp(&b.path));
        known.worktrees.dedup();
        Ok(known.clone())
    })
}
