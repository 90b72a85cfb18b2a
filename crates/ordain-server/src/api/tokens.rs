//! Tokens: made, listed, revoked.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::request::{By, Named, Typed, answer, ok};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use ordain_api::{CreatedToken, NewToken, TokenList};

pub(crate) async fn create(
    State(app): State<App>,
    By(caller): By,
    Typed(new): Typed<NewToken>,
) -> Result<Response, ErrorResponse> {
    let (status, token) = app.gate.create_token(&caller, &new).await?;
    answer(StatusCode::CREATED, &CreatedToken { status, token })
}

pub(crate) async fn list(State(app): State<App>, By(_): By) -> Result<Response, ErrorResponse> {
    ok(&TokenList { tokens: app.gate.tokens().await? })
}

pub(crate) async fn revoke(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.revoke_token(&caller, &id).await?)
}
