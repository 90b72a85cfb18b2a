//! Evidence packets come in.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::request::{By, JsonBytes, answer};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

pub(crate) async fn add(
    State(app): State<App>,
    By(caller): By,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ErrorResponse> {
    app.quota.take(caller.principal(), body.len())?;
    let received = app.gate.receive(&caller, &body).await?;
    answer(if received.new { StatusCode::CREATED } else { StatusCode::OK }, &received)
}
