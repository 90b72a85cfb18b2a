//! The operator's part: halt, resume, policies, keys.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::request::{By, Typed, ok};
use axum::extract::State;
use axum::response::Response;
use ordain_api::{PolicyReload, Problem, ProblemCode, ReasonRequest};

pub(crate) async fn status(State(app): State<App>, By(_): By) -> Result<Response, ErrorResponse> {
    ok(&app.gate.gate_status().await?)
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

pub(crate) async fn reload(State(app): State<App>, By(caller): By) -> Result<Response, ErrorResponse> {
    let changed = app.reload(&caller).await?;
    let status = app.gate.gate_status().await.map_err(|error| {
        if !changed {
            return error.into();
        }
        let problem = Problem::uncertain(format!("the policies are in force, but the store failed: {error}"));
        ErrorResponse {
            public_detail: Some(
                "the policies are in force, but the store failed; the server's log says more",
            ),
            ..problem.into()
        }
    })?;
    ok(&PolicyReload { changed, policy_hash: status.policy_hash })
}

pub(crate) async fn rotate_key(State(app): State<App>, By(caller): By) -> Result<Response, ErrorResponse> {
    // A client that goes away must not leave it half done.
    let rotated = tokio::spawn(async move { app.gate.rotate_key(&caller).await }).await;
    ok(&rotated.map_err(|_| broken_off())??)
}

fn broken_off() -> Problem {
    Problem::new(ProblemCode::Internal, "the work was broken off")
}

impl App {
    /// Reads the policy folder again. An invalid folder changes nothing.
    pub(crate) async fn reload(&self, caller: &ordain_gate::Caller) -> Result<bool, ErrorResponse> {
        let app = self.clone();
        let files = tokio::task::spawn_blocking(move || app.shared.reload.as_ref().map(|read| read())).await;
        let files = match files {
            Ok(Some(Ok(files))) => files,
            Ok(Some(Err(problem))) => return Err(Problem::new(ProblemCode::Policy, problem).into()),
            Ok(None) => {
                let problem =
                    Problem::new(ProblemCode::Policy, "the server was started without a policy folder");
                return Err(problem.with_hint("start it with `ordain serve --policy FOLDER`").into());
            }
            Err(_) => return Err(broken_off().into()),
        };
        Ok(self.gate.set_policy(caller, &files).await?)
    }
}
