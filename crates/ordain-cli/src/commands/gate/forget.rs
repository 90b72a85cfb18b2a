//! `ordain gate forget`.

use super::{as_json, gate_of, not_registered, registered_path};
use crate::exit::{self, Failure, Outcome};
use crate::gateway::Gateway;
use crate::output::print_json;
use crate::report::{GREEN, printable};
use crate::signing::{self, confirm_owner};
use clap::Args;
use ordain_api::OwnerAct;
use ordain_state::Home;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct GateForget {
    /// The folder of the project, which may be gone
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

pub(super) fn run(args: &GateForget, json: bool) -> Result<Outcome, Failure> {
    let home = Home::from_environment()?;
    let path = registered_path(&args.dir)?;
    if home.registry()?.at(&path).is_none()
        && let Some(gateway) = Gateway::of_service(Path::new("."))?
    {
        return with_service(&path, &gateway, json);
    }
    let gate = gate_of(&home, &path)?;
    confirm_owner(&gate, &format!("forget {}", path.display()))?;
    let forgotten = home.change_registry(|registry| {
        let known = registry.projects.iter().position(|project| project.path == path);
        Ok::<_, Failure>(registry.projects.remove(known.ok_or_else(|| not_registered(&path))?))
    })?;
    if json {
        print_json(&as_json(&forgotten))?;
    } else {
        let state = home.gate(&forgotten.gate).path().display().to_string();
        writeln!(
            anstream::stdout(),
            "{GREEN}forgotten{GREEN:#}  {}; its record stays in {}",
            printable(&path.display().to_string()),
            printable(&state)
        )?;
    }
    Ok(Outcome::Ok)
}

/// Ends a registration with the gate of the service on this machine: an owner act over its socket.
fn with_service(path: &Path, gateway: &Gateway, json: bool) -> Result<Outcome, Failure> {
    let projects = gateway.client().projects()?.projects;
    let known = projects.into_iter().find(|project| Path::new(&project.path) == path);
    let project = known.ok_or_else(|| not_registered(path))?;
    let about = format!("forget {}", project.path);
    let client = signing::for_act(gateway.client(), OwnerAct::ForgetProject, &project.project_id, &[about])?;
    let forgotten = client.forget_project(&project.project_id)?.ok_or_else(|| not_registered(path))?;
    if json {
        print_json(&forgotten)?;
    } else {
        writeln!(
            anstream::stdout(),
            "{GREEN}forgotten{GREEN:#}  {}; its record stays with the service",
            printable(&forgotten.path)
        )?;
    }
    Ok(Outcome::Ok)
}
