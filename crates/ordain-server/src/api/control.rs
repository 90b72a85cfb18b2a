//! The operator's part: halt, resume, policies, keys.

use crate::app::App;
use crate::problem::Problem;
use crate::request::{By, Typed, ok};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use ordain_api::Role;
use ordain_api::limits::REASON_CHARACTERS_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Why {
    /// It goes on the ledger.
    #[schemars(length(max = REASON_CHARACTERS_MAX), regex(pattern = "\\S"))]
    reason: String,
}

/// What reloading did.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reloaded {
    /// Whether other policies are in force now.
    changed: bool,
    /// The policies in force.
    policy_hash: Option<String>,
}

pub(crate) async fn status(State(app): State<App>, By(_): By) -> Result<Response, Problem> {
    ok(&app.gate.gate_status().await?)
}

pub(crate) async fn halt(
    State(app): State<App>,
    By(caller): By,
    Typed(why): Typed<Why>,
) -> Result<Response, Problem> {
    ok(&app.gate.halt(&caller, &why.reason).await?)
}

pub(crate) async fn resume(
    State(app): State<App>,
    By(caller): By,
    Typed(why): Typed<Why>,
) -> Result<Response, Problem> {
    ok(&app.gate.resume(&caller, &why.reason).await?)
}

pub(crate) async fn reload(State(app): State<App>, By(caller): By) -> Result<Response, Problem> {
    caller.must_be(&[Role::Operator])?;
    let changed = app.reload(&caller).await?;
    let status = app.gate.gate_status().await.map_err(|error| match changed {
        true => Problem {
            public_detail: Some("the policies are in force, and then the store failed; its log says more"),
            ..Problem::uncertain(format!("the policies are in force, and then: {error}"))
        },
        false => error.into(),
    })?;
    ok(&Reloaded { changed, policy_hash: status.policy_hash })
}

pub(crate) async fn rotate_key(State(app): State<App>, By(caller): By) -> Result<Response, Problem> {
    // A client that goes away must not leave it half done.
    let rotated = tokio::spawn(async move { app.gate.rotate_key(&caller).await }).await;
    ok(&rotated.map_err(|_| broken_off())??)
}

fn broken_off() -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the work was broken off")
}

impl App {
    /// Reads the policy folder again. What is invalid changes nothing.
    pub(crate) async fn reload(&self, caller: &ordain_gate::Caller) -> Result<bool, Problem> {
        let app = self.clone();
        let files = tokio::task::spawn_blocking(move || app.shared.reload.as_ref().map(|read| read())).await;
        let files = match files {
            Ok(Some(Ok(files))) => files,
            Ok(Some(Err(problem))) => return Err(Problem::new(StatusCode::CONFLICT, "policy", problem)),
            Ok(None) => {
                let problem =
                    "this server was started without a policy folder, so there is nothing to read again";
                return Err(Problem::new(StatusCode::CONFLICT, "policy", problem));
            }
            Err(_) => return Err(broken_off()),
        };
        Ok(self.gate.set_policy(caller, &files).await?)
    }
}
