//! Permits: looking, spending, reporting.

use crate::app::App;
use crate::problem::Problem;
use crate::request::{By, JsonBytes, Named, Typed, ok};
use axum::extract::State;
use axum::response::Response;
use ordain_api::OutcomeReport;
use ordain_canon::Value;
use ordain_gate::{IntendedAction, Spend};
use ordain_spec::action::{ActionType, KernelRequest, Target};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// What a worker is about to do, as the permit's proposal said it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its form is checked; hashes are taken of the text as it came")]
pub(crate) struct UseRequest {
    /// The permit.
    permit: String,
    /// The action.
    action_type: ActionType,
    /// On what.
    target: Target,
    /// How.
    parameters: Map<String, Json>,
}

/// What a worker is about to do, where a KernelRequest was submitted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its form is checked; the gate reads the text as it came")]
pub(crate) struct RequestUse {
    /// The permit.
    permit: String,
    /// The request; the policies in force say what it stands for.
    request: KernelRequest,
}

pub(crate) async fn show(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
) -> Result<Response, Problem> {
    ok(&app.gate.permit_status(&caller, &id).await?)
}

pub(crate) async fn spend(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let value = Value::read(&body).map_err(|error| Problem::invalid(&error.pointer, error.to_string()))?;
    let unfit = |error: ordain_canon::TypeError| Problem::mistyped(&error);
    let request = value.get("request");
    match request {
        Some(_) => value.to_typed::<RequestUse>().map(drop).map_err(unfit)?,
        None => value.to_typed::<UseRequest>().map(drop).map_err(unfit)?,
    }
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let part = |field: &str| value.get(field).unwrap_or(&Value::Null);
    let deed = match request {
        Some(request) => IntendedAction::Request(request),
        None => IntendedAction::Action {
            action_type: text("action_type"),
            target: part("target"),
            parameters: part("parameters"),
        },
    };
    ok(&app.gate.spend(&caller, &id, &Spend { permit: text("permit"), deed }).await?)
}

pub(crate) async fn outcome(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
    Typed(report): Typed<OutcomeReport>,
) -> Result<Response, Problem> {
    ok(&app.gate.settle(&caller, &id, &report).await?)
}
