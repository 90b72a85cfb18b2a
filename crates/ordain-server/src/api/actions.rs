//! Actions: submitting, looking, approving.

use super::wait;
use crate::app::App;
use crate::error::ErrorResponse;
use crate::request::{Asked, By, JsonBytes, Named, Typed, answer, nameable, ok, whole};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use ordain_api::limits::{PAGE_MAX, POLL_SECONDS_MAX};
use ordain_api::{ActQuery, ActionPage, ActionQuery, ActionsQuery, Problem, SubmitQuery, VerdictRequest};
use ordain_gate::Act;
use std::time::Duration;

pub(crate) async fn submit(
    State(app): State<App>,
    By(caller): By,
    Asked(query): Asked<SubmitQuery>,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ErrorResponse> {
    let supersedes = query.supersedes.map(nameable).transpose()?;
    app.quota.take(caller.principal(), body.len())?;
    let submitted = app.gate.submit(&caller, &body, supersedes.as_deref()).await?;
    if submitted.new {
        app.shared.metrics.decision(submitted.status.decision.outcome.name());
    }
    answer(if submitted.new { StatusCode::CREATED } else { StatusCode::OK }, &submitted.status)
}

pub(crate) async fn act(
    State(app): State<App>,
    By(caller): By,
    Asked(query): Asked<ActQuery>,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ErrorResponse> {
    let supersedes = query.supersedes.map(nameable).transpose()?;
    let waited_for = query.waited_for.map(nameable).transpose()?;
    app.quota.take(caller.principal(), body.len())?;
    let hook = query.hook.map(nameable).transpose()?;
    let (supersedes, waited_for) = (supersedes.as_deref(), waited_for.as_deref());
    let act = Act { text: &body, supersedes, waited_for, hook: hook.as_deref() };
    let acted = app.gate.act(&caller, &act).await?;
    if !acted.joined {
        app.shared.metrics.decision(acted.outcome.name());
    }
    ok(&acted)
}

const PAGE_DEFAULT: usize = 50;

pub(crate) async fn list(
    State(app): State<App>,
    By(caller): By,
    Asked(query): Asked<ActionsQuery>,
) -> Result<Response, ErrorResponse> {
    let limit = page(query.limit, PAGE_DEFAULT)?;
    let places = [("after", query.after), ("before", query.before), ("since_ms", query.since_ms)];
    for (name, number) in places.into_iter().chain([("until_ms", query.until_ms)]) {
        number.map(|number| whole(name, number)).transpose()?;
    }
    let wait = query.wait.map(seconds).transpose()?;
    let seen = app.gate.size().await?;
    if let Some(prefix) = query.id_prefix {
        let invalid = |_| Problem::invalid("", "`id_prefix` must be the beginning of an id");
        let prefix = nameable(prefix).map_err(invalid)?;
        let actions = app.gate.actions_named(&caller, &prefix, limit).await?;
        return ok(&ActionPage { actions, next: None, seen });
    }
    if query.after.is_none() && wait.is_none() {
        let (actions, next) = Box::pin(app.gate.find_actions(&caller, &query, limit)).await?;
        return ok(&ActionPage { actions, next, seen });
    }
    let (state, wait) = (query.state, wait.unwrap_or_default());
    let mut page = Box::pin(wait::until_listed(&app, &caller, state, query.after, limit, wait)).await?;
    page.actions.retain(|status| ordain_gate::selects(&query, status));
    ok(&page)
}

/// The time that somebody may wait.
fn seconds(asked: u64) -> Result<Duration, Problem> {
    if asked > POLL_SECONDS_MAX {
        let problem = format!("`wait` must be from 0 to {POLL_SECONDS_MAX} seconds");
        return Err(Problem::invalid("", problem));
    }
    Ok(Duration::from_secs(asked))
}

/// How many elements a page may have.
pub(crate) fn page(asked: Option<u64>, default: usize) -> Result<usize, Problem> {
    match asked.map(usize::try_from) {
        None => Ok(default),
        Some(Ok(limit)) if (1..=PAGE_MAX).contains(&limit) => Ok(limit),
        Some(_) => Err(Problem::invalid("", format!("`limit` must be from 1 to {PAGE_MAX}"))),
    }
}

pub(crate) async fn status(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
    Asked(query): Asked<ActionQuery>,
) -> Result<Response, ErrorResponse> {
    match query.wait.map(seconds).transpose()? {
        None => ok(&Box::pin(app.gate.status(&caller, &id)).await?),
        Some(time) => ok(&wait::until_decided(&app, &caller, &id, time).await?),
    }
}

pub(crate) async fn record_verdict(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
    Typed(request): Typed<VerdictRequest>,
) -> Result<Response, ErrorResponse> {
    let status = app.gate.give_verdict(&caller, &id, &request).await?;
    app.shared.metrics.decision(status.decision.outcome.name());
    ok(&status)
}
