//! Registering, listing and forgetting projects.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::peer::{Peer, Preface};
use crate::projects::Projects;
use crate::request::{By, Named, Typed, answer, ok};
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use ordain_api::{NewProject, Problem, ProblemCode};

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
    check_path("/path", &new.path)?;
    new.worktrees_of.iter().try_for_each(|path| check_path("/worktrees_of", path))?;
    app.gate.check_may_register(&caller, &new).await?;
    let drafted = projects.draft(&folder, &new)?;
    // First on the ledger: a registration that nobody signed has no effect.
    app.gate.record_project(&caller, &new, drafted.project_id()).await?;
    answer(StatusCode::CREATED, &projects.add(drafted)?)
}

pub(crate) async fn list(State(app): State<App>, By(_): By) -> Result<Response, ErrorResponse> {
    ok(&projects_of(&app)?.list()?)
}

pub(crate) async fn forget(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
) -> Result<Response, ErrorResponse> {
    let projects = projects_of(&app)?;
    let project = projects.find(&id)?;
    app.gate.forget_project(&caller, &project).await?;
    projects.forget(&id)?;
    ok(&project)
}

fn projects_of(app: &App) -> Result<&Projects, Problem> {
    let none = || Problem::new(ProblemCode::Unknown, "this gate is served without a registry of projects");
    app.projects.as_deref().ok_or_else(none)
}

/// A path that people can read, from the root.
fn check_path(field: &str, path: &str) -> Result<(), Problem> {
    const BYTES_MAX: usize = 4_096;
    let plain = path.split('/').skip(1).all(|step| !matches!(step, "" | "." | ".."));
    if !path.starts_with('/') || !plain || path.len() > BYTES_MAX || path.chars().any(char::is_control) {
        return Err(Problem::invalid(
            field,
            "must be an absolute path without `.`, `..` and control characters",
        ));
    }
    Ok(())
}
