//! Tokens: made, listed, revoked.

use crate::app::App;
use crate::problem::Problem;
use crate::request::{By, Named, Typed, answer, ok};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use ordain_api::{NewToken, TokenStatus};
use schemars::JsonSchema;
use serde::Serialize;

/// A new token.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MadeToken {
    /// What is known of it.
    #[serde(rename = "status")]
    status: TokenStatus,
    /// The token itself. It is shown here and never again.
    token: String,
}

/// All tokens.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TokenList {
    /// Without their secrets.
    tokens: Vec<TokenStatus>,
}

pub(crate) async fn create(
    State(app): State<App>,
    By(caller): By,
    Typed(new): Typed<NewToken>,
) -> Result<Response, Problem> {
    let (status, token) = app.gate.create_token(&caller, &new).await?;
    answer(StatusCode::CREATED, &MadeToken { status, token })
}

pub(crate) async fn list(State(app): State<App>, By(caller): By) -> Result<Response, Problem> {
    ok(&TokenList { tokens: app.gate.tokens(&caller).await? })
}

pub(crate) async fn revoke(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
) -> Result<Response, Problem> {
    ok(&app.gate.revoke_token(&caller, &id).await?)
}
