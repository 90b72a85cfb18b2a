//! Permits: looking, spending, reporting.

use crate::app::App;
use crate::problem::Problem;
use crate::request::{By, JsonBytes, Named, Typed, ok};
use axum::extract::State;
use axum::response::Response;
use ordain_canon::Value;
use ordain_spec::action::{ActionType, Target};
use ordain_workflow::gate::{Report, Spend};
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
    value.to_typed::<UseRequest>().map_err(|error| Problem::invalid("", error.without_values()))?;
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    let (Some(permit), Some(action_type), Some(target), Some(parameters)) =
        (text("permit"), text("action_type"), value.get("target"), value.get("parameters"))
    else {
        return Err(Problem::invalid("", "needs `permit`, `action_type`, `target` and `parameters`"));
    };
    ok(&app.gate.spend(&caller, &id, &Spend { permit, action_type, target, parameters }).await?)
}

pub(crate) async fn outcome(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
    Typed(report): Typed<Report>,
) -> Result<Response, Problem> {
    ok(&app.gate.settle(&caller, &id, &report).await?)
}
