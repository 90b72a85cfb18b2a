//! `ordain gate list`.

use super::as_json;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, location_of};
use crate::output::{print_json, print_page};
use crate::page::{Column, Page};
use crate::report;
use crate::service::SOCKET;
use clap::Args;
use ordain_api::ProjectList;
use ordain_state::{GateFolder, Home, Project};
use serde_json::json;
use std::io::Write;
use std::path::Path;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct GateList {}

pub(super) fn run(_: &GateList, json: bool) -> Result<Outcome, Failure> {
    let home = Home::from_environment()?;
    let registry = home.registry()?;
    let gates = home.gates()?;
    let replaced = home.replaced_gates()?;
    let of_service = of_service()?;
    let of = |gate: &GateFolder| -> Vec<&Project> {
        registry.projects.iter().filter(|project| project.gate == *gate.id()).collect()
    };
    if json {
        for gate in &gates {
            let projects: Vec<_> = of(gate).into_iter().map(as_json).collect();
            print_json(
                &json!({"gate": gate.id(), "state": gate.path(), "store": store(gate), "projects": projects}),
            )?;
        }
        for gate in &replaced {
            let by = gate.successor()?;
            print_json(
                &json!({"gate": gate.id(), "state": gate.path(), "store": store(gate), "projects": [], "replaced_by": by}),
            )?;
        }
        if let Some(ProjectList { gate_id, projects }) = of_service {
            print_json(&json!({"gate": gate_id, "service": true, "store": SOCKET, "projects": projects}))?;
        }
        return Ok(Outcome::Ok);
    }
    let mut rows = Vec::new();
    for gate in &gates {
        let projects = of(gate);
        let row = |path: String| vec![gate.id().to_string(), path, store(gate)];
        if projects.is_empty() {
            rows.push(row("no project".to_owned()));
        }
        for project in projects {
            rows.push(row(project.path.display().to_string()));
            let trees = project.worktrees.iter().map(|folder| folder.path.display());
            rows.extend(trees.map(|path| row(format!("worktrees in {path}"))));
        }
    }
    for gate in &replaced {
        let by = match gate.successor()? {
            Some(by) => format!("replaced by {by}"),
            None => "moved aside".to_owned(),
        };
        rows.push(vec![gate.id().to_string(), by, store(gate)]);
    }
    if let Some(ProjectList { gate_id, projects }) = of_service {
        let row = |path: String| vec![gate_id.clone(), path, SOCKET.to_owned()];
        if projects.is_empty() {
            rows.push(row("no project".to_owned()));
        }
        for project in projects {
            rows.push(row(project.path));
            rows.extend(project.worktrees.into_iter().map(|path| row(format!("worktrees in {path}"))));
        }
    }
    let mut page = Page::default();
    if rows.is_empty() {
        writeln!(anstream::stdout(), "there are no gates of this user; `ordain init` makes one")?;
        return Ok(Outcome::Ok);
    }
    let columns = [Column::Left("gate"), Column::Left("project"), Column::Left("store")];
    page.table(&columns, rows, |_, _, _| {});
    print_page(&page)?;
    Ok(Outcome::Ok)
}

/// The gate of the service on this machine and its projects, if this user may see them.
fn of_service() -> Result<Option<ProjectList>, Failure> {
    let Some(gateway) = Gateway::of_service(Path::new("."))? else { return Ok(None) };
    match gateway.client().projects() {
        Ok(projects) => Ok(Some(projects)),
        Err(error) => {
            let failure = Failure::from(error);
            let text = format!("the projects of the service are not listed: {}", failure.text());
            report::note(&text, failure.hint());
            Ok(None)
        }
    }
}

/// Where the record is, without a password; or why nobody knows.
fn store(gate: &GateFolder) -> String {
    location_of(gate).map_or_else(|failure| failure.text(), |location| location.to_string())
}
