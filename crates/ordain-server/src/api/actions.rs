//! Actions: submitting, looking, approving.

use super::wait;
use crate::app::App;
use crate::limits::POLL_SECONDS_MAX;
use crate::problem::Problem;
use crate::request::{Asked, By, JsonBytes, Named, Typed, answer, nameable, ok, whole};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use ordain_api::limits::PAGE_MAX;
use ordain_api::{ActionState, ActionStatus, VerdictRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubmitQuery {
    supersedes: Option<String>,
}

pub(crate) async fn submit(
    State(app): State<App>,
    By(caller): By,
    Asked(query): Asked<SubmitQuery>,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let supersedes = query.supersedes.map(nameable).transpose()?;
    let submitted = app.gate.submit(&caller, &body, supersedes.as_deref()).await?;
    if submitted.new {
        app.shared.metrics.decision(submitted.status.decision.outcome.name());
    }
    answer(if submitted.new { StatusCode::CREATED } else { StatusCode::OK }, &submitted.status)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuery {
    state: Option<ActionState>,
    after: Option<u64>,
    limit: Option<usize>,
}

/// A page of actions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ActionPage {
    /// In the order in which they last changed.
    actions: Vec<ActionStatus>,
    /// What `after` must say for the next page, if there may be one. A page may have fewer elements than were asked for.
    next: Option<u64>,
}

const PAGE_DEFAULT: usize = 50;

pub(crate) async fn list(
    State(app): State<App>,
    By(caller): By,
    Asked(query): Asked<ListQuery>,
) -> Result<Response, Problem> {
    let limit = page(query.limit, PAGE_DEFAULT, PAGE_MAX)?;
    let after = query.after.map(|place| whole("after", place)).transpose()?;
    let (actions, next) = app.gate.actions(&caller, query.state, after, limit).await?;
    ok(&ActionPage { actions, next })
}

/// How many elements a page may have.
pub(crate) fn page(asked: Option<usize>, default: usize, max: usize) -> Result<usize, Problem> {
    match asked {
        None => Ok(default),
        Some(limit) if (1..=max).contains(&limit) => Ok(limit),
        Some(_) => Err(Problem::invalid("", format!("`limit` must be from 1 to {max}"))),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatusQuery {
    wait: Option<u64>,
}

pub(crate) async fn status(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
    Asked(query): Asked<StatusQuery>,
) -> Result<Response, Problem> {
    match query.wait {
        None => ok(&Box::pin(app.gate.status(&caller, &id)).await?),
        Some(seconds) if seconds <= POLL_SECONDS_MAX => {
            ok(&wait::until_decided(&app, &caller, &id, Duration::from_secs(seconds)).await?)
        }
        Some(_) => Err(Problem::invalid("", format!("`wait` must be from 0 to {POLL_SECONDS_MAX} seconds"))),
    }
}

pub(crate) async fn say(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
    Typed(say): Typed<VerdictRequest>,
) -> Result<Response, Problem> {
    let status = app.gate.say(&caller, &id, &say).await?;
    app.shared.metrics.decision(status.decision.outcome.name());
    ok(&status)
}
