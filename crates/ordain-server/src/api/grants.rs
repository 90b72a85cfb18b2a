//! Standing grants: listed, taken back. Approvals make them.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::request::{By, Named, ok};
use axum::extract::State;
use axum::response::Response;
use ordain_api::GrantList;

pub(crate) async fn list(State(app): State<App>, By(_): By) -> Result<Response, ErrorResponse> {
    ok(&GrantList { grants: app.gate.grants().await? })
}

pub(crate) async fn revoke(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.revoke_grant(&caller, &id).await?)
}
