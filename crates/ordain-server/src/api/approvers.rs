//! Keys of approvers: enrolled, listed, revoked; and the terms of owner acts.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::request::{By, Named, Typed, answer, ok};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use ordain_api::NewApproverKey;

pub(crate) async fn terms(
    State(app): State<App>,
    By(_): By,
    Named(act): Named,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.act_terms(&act).await?)
}

pub(crate) async fn enrol(
    State(app): State<App>,
    By(caller): By,
    Typed(new): Typed<NewApproverKey>,
) -> Result<Response, ErrorResponse> {
    answer(StatusCode::CREATED, &app.gate.enrol_approver_key(&caller, &new).await?)
}

pub(crate) async fn list(State(app): State<App>, By(_): By) -> Result<Response, ErrorResponse> {
    ok(&app.gate.approver_key_list().await?)
}

pub(crate) async fn revoke(
    State(app): State<App>,
    By(caller): By,
    Named(key_id): Named,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.revoke_approver_key(&caller, &key_id).await?)
}
