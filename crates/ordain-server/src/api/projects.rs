//! Registering projects.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::peer::{Peer, Preface};
use crate::projects::status;
use crate::request::{By, Typed, answer};
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use ordain_api::{NewProject, Problem};
use ordain_state::Located;

pub(crate) async fn register(
    State(app): State<App>,
    By(caller): By,
    peer: Option<Extension<Peer>>,
    Typed(new): Typed<NewProject>,
) -> Result<Response, ErrorResponse> {
    let folder = peer.map(|Extension(peer)| peer.preface);
    let (Some(Preface::Folder(folder)), Some(projects)) = (folder, &app.projects) else {
        let problem = "a project is registered over the gate's unix socket, with a descriptor of its folder";
        return Err(Problem::invalid("", problem).into());
    };
    check_path(&new.path)?;
    let project = projects.draft(&folder, &new)?;
    // First on the ledger: a registration that nobody signed has no effect.
    app.gate.record_project(&caller, &new, project.id.as_str()).await?;
    projects.add(&project)?;
    answer(StatusCode::CREATED, &status(&Located { project, levels_up: 0 }))
}

/// A path that people can read, from the root.
fn check_path(path: &str) -> Result<(), Problem> {
    const BYTES_MAX: usize = 4_096;
    let plain = path.split('/').skip(1).all(|step| !matches!(step, "" | "." | ".."));
    if !path.starts_with('/') || !plain || path.len() > BYTES_MAX || path.chars().any(char::is_control) {
        return Err(Problem::invalid(
            "/path",
            "must be an absolute path without `.`, `..` and control characters",
        ));
    }
    Ok(())
}
