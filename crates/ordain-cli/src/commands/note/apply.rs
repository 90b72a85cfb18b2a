//! `ordain note apply`: a note goes into the vault as every other change does.

use super::{Held, NoteFile, hold, tell, vault_folder};
use crate::arguments::Connect;
use crate::commands::apply::apply_asked;
use crate::commands::recover::recover;
use crate::exit::{Failure, Outcome};
use crate::gate::files::Asker;
use crate::output::print_json;
use crate::project::Project;
use crate::report::RED;
use clap::Args;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct NoteApply {
    #[command(flatten)]
    pub(crate) note: NoteFile,
    /// The actor that proposes the change to a gate [default: the one in ordain.toml, or the user's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &NoteApply, json: bool) -> Result<Outcome, Failure> {
    let (workspace, folder) = workspace_of(&vault_folder(&args.note)?)?;
    if workspace != Path::new(".") {
        recover(&workspace);
    }
    let Held { proposal, validation, .. } = hold(&args.note, json)?;
    let Some((patch, base)) = validation.patch_set(&proposal, &folder) else {
        if json {
            let (findings, warnings) = (&validation.findings, &validation.warnings);
            print_json(&json!({"applied": null, "findings": findings, "warnings": warnings}))?;
        } else {
            writeln!(
                anstream::stderr(),
                "{RED}refused{RED:#}  nothing was changed: the note does not fit the vault"
            )?;
            tell(&validation)?;
        }
        return Err(Failure::Reported);
    };
    if !json {
        tell(&validation)?;
    }
    let asker = Asker { workspace: &workspace, connect: &args.connect, actor: args.actor.as_deref(), json };
    apply_asked(&asker, &patch, Some(&base), None)
}

/// The workspace that a vault belongs to, and the vault's folder in it. That is the project, so that policies
/// see the paths of the project; a vault without one is a workspace of its own.
fn workspace_of(vault: &Path) -> Result<(PathBuf, String), Failure> {
    // Opening the vault reports a path that is not a folder.
    let Some(project) = vault.is_dir().then(|| Project::registered_above(vault)).transpose()?.flatten()
    else {
        // The current folder must not choose the gate of a vault that lies elsewhere.
        if vault.is_dir() && Project::registered_above(Path::new("."))?.is_some() {
            let problem = "is outside of the project here, whose gate decides only about its own files";
            let failure =
                Failure::Document { path: vault.display().to_string(), problem: problem.to_owned() };
            return Err(
                failure.with_hint("run `ordain init` in the vault, or run this outside of the project")
            );
        }
        return Ok((vault.to_owned(), String::new()));
    };
    Ok((project.top().to_owned(), project.path_within(vault)?))
}
