//! `ordain gate move`.

use super::{as_json, gate_of, not_registered, registered_path};
use crate::exit::{self, Failure, Outcome};
use crate::output::print_json;
use crate::report::{GREEN, printable};
use crate::signing::confirm_owner;
use clap::Args;
use ordain_state::{Home, Project};
use std::io::Write;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  mv shop ../shop && ordain gate move \"$PWD/shop\" ../shop", exit::PLAIN))]
pub(crate) struct GateMove {
    /// The folder as it is registered
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// Where it is now; the same path if the folder was restored or copied back
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
}

pub(super) fn run(args: &GateMove, json: bool) -> Result<Outcome, Failure> {
    let home = Home::from_environment()?;
    let old = registered_path(&args.old)?;
    let gate = gate_of(&home, &old)?;
    confirm_owner(&gate, &format!("move {} to {}", old.display(), args.new.display()))?;
    let moved = home.change_registry(|registry| {
        let known = registry.projects.iter().position(|project| project.path == old);
        let known = registry.projects.remove(known.ok_or_else(|| not_registered(&old))?);
        let moved =
            Project { id: known.id, worktrees: known.worktrees, ..Project::of(&args.new, known.gate)? };
        registry.add(&home, moved.clone())?;
        Ok::<_, Failure>(moved)
    })?;
    if json {
        print_json(&as_json(&moved))?;
    } else {
        let path = moved.path.display().to_string();
        writeln!(
            anstream::stdout(),
            "{GREEN}moved{GREEN:#}  {} belongs to gate {}",
            printable(&path),
            moved.gate
        )?;
    }
    Ok(Outcome::Ok)
}
