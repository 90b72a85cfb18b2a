//! The operator's part: halt, resume, policies, keys.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::request::{Asked, By, Typed, ok};
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ordain_api::{
    EndedObservation, GateStatus, NewObservation, PolicyPush, PolicyQuery, Problem, ProblemCode,
    ProjectStatus, ReasonRequest,
};

pub(crate) async fn status(
    State(app): State<App>,
    By(caller): By,
    project: Option<Extension<ProjectStatus>>,
) -> Result<Response, ErrorResponse> {
    let project = project.map(|Extension(project)| project);
    let principal = Some(caller.principal().to_owned());
    let agents = caller.agents().map(str::to_owned).collect();
    ok(&GateStatus { principal, agents, project, ..app.gate.gate_status().await? })
}

pub(crate) async fn halt(
    State(app): State<App>,
    By(caller): By,
    Typed(request): Typed<ReasonRequest>,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.halt(&caller, &request.reason).await?)
}

pub(crate) async fn resume(
    State(app): State<App>,
    By(caller): By,
    Typed(request): Typed<ReasonRequest>,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.resume(&caller, &request.reason).await?)
}

pub(crate) async fn start_observation(
    State(app): State<App>,
    By(caller): By,
    Typed(new): Typed<NewObservation>,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.start_observation(&caller, &new).await?)
}

pub(crate) async fn end_observation(
    State(app): State<App>,
    By(caller): By,
    Typed(ended): Typed<EndedObservation>,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.end_observation(&caller, &ended).await?)
}

pub(crate) async fn push_policy(
    State(app): State<App>,
    By(caller): By,
    Typed(push): Typed<PolicyPush>,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.push_policy(&caller, &push).await?)
}

pub(crate) async fn policy(
    State(app): State<App>,
    By(_): By,
    Asked(query): Asked<PolicyQuery>,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.policy_on_record(query.hash.as_deref()).await?)
}

pub(crate) async fn rotate_key(State(app): State<App>, By(caller): By) -> Result<Response, ErrorResponse> {
    // A client that goes away must not leave it half done.
    let rotated = tokio::spawn(async move { app.gate.rotate_key(&caller).await }).await;
    ok(&rotated.map_err(|_| broken_off())??)
}

fn broken_off() -> Problem {
    Problem::new(ProblemCode::Internal, "the work was broken off")
}
