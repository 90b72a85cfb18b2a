//! `ordain gate list`.

use super::as_json;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::location_of;
use crate::output::{print_json, print_page};
use crate::page::{Column, Page};
use clap::Args;
use ordain_state::{GateFolder, Home, Project};
use serde_json::json;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct GateList {}

pub(super) fn run(_: &GateList, json: bool) -> Result<Outcome, Failure> {
    let home = Home::from_environment()?;
    let registry = home.registry()?;
    let gates = home.gates()?;
    let replaced = home.replaced_gates()?;
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

/// Where the record is, without a password; or why nobody knows.
fn store(gate: &GateFolder) -> String {
    location_of(gate).map_or_else(|failure| failure.text(), |location| location.to_string())
}
