//! Permits: looking, spending, reporting.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::request::{By, JsonBytes, Named, Typed, ok};
use axum::extract::State;
use axum::response::Response;
use ordain_api::{KernelUseRequest, OutcomeReport, Problem, UseRequest};
use ordain_canon::Value;
use ordain_gate::{IntendedAction, Spend};

pub(crate) async fn show(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.permit_status(&caller, &id).await?)
}

pub(crate) async fn spend(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ErrorResponse> {
    let value = Value::read(&body).map_err(|error| Problem::invalid(&error.pointer, error.to_string()))?;
    let unfit = |error: ordain_canon::TypeError| Problem::mistyped(&error);
    let request = value.get("request");
    // The form is checked here; the gate hashes the text as it came.
    match request {
        Some(_) => value.to_typed::<KernelUseRequest>().map(drop).map_err(unfit)?,
        None => value.to_typed::<UseRequest>().map(drop).map_err(unfit)?,
    }
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let part = |field: &str| value.get(field).unwrap_or(&Value::Null);
    let action = match request {
        Some(request) => IntendedAction::Request(request),
        None => IntendedAction::Action {
            action_type: text("action_type"),
            target: part("target"),
            parameters: part("parameters"),
        },
    };
    ok(&app.gate.spend(&caller, &id, &Spend { permit: text("permit"), action }).await?)
}

pub(crate) async fn outcome(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
    Typed(report): Typed<OutcomeReport>,
) -> Result<Response, ErrorResponse> {
    ok(&app.gate.settle(&caller, &id, &report).await?)
}
