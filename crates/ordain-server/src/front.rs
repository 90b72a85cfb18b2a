//! What every request passes: it gets an id, limits hold, it is found out who asks, and it is logged without its content.

use crate::app::App;
use crate::limits::{ANSWER_WAIT, REQUESTS_OF_ONE_MAX};
use crate::problem::Problem;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ordain_workflow::gate::{Caller, GateError};
use std::sync::PoisonError;
use std::time::Instant;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(crate) async fn pass(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    let route = request.extensions().get::<MatchedPath>().map_or("unknown", |path| path.as_str()).to_owned();
    let method = request.method().clone();
    let mut principal = None;
    let mut response = match admit(&app, &mut request, &route).await {
        Err(problem) => problem.into_response(),
        Ok((admitted, who)) => {
            principal = who;
            let answered = respond(request, next, &route).await;
            drop(admitted);
            answered
        }
    };
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let named = Problem { correlation_id: Some(id.clone()), ..problem };
        if named.status >= 500 {
            tracing::error!(correlation_id = id, code = named.code, detail = named.detail, "failed");
        }
        response = named.into_response();
    }
    let headers = response.headers_mut();
    headers.extend(HeaderValue::from_str(&id).ok().map(|id| (REQUEST_ID.clone(), id)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let status = response.status().as_u16();
    let took = started.elapsed();
    app.shared.metrics.request(&method, &route, status, took);
    tracing::info!(
        correlation_id = id,
        method = method.as_str(),
        route,
        status,
        duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        principal = principal.as_deref().unwrap_or_default(),
        "request"
    );
    response
}

async fn respond(request: Request, next: Next, route: &str) -> Response {
    if crate::routes::waits(route) {
        return next.run(request).await;
    }
    match tokio::time::timeout(ANSWER_WAIT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            Problem::busy("the answer took too long; what was asked may have been done").into_response()
        }
    }
}

/// A place among the requests that are worked on; given back when dropped.
struct Admitted<'a> {
    app: &'a App,
    principal: Option<String>,
    _working: Option<tokio::sync::SemaphorePermit<'a>>,
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        let Some(principal) = &self.principal else { return };
        let mut of_one = self.app.shared.of_one.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = of_one.get_mut(principal) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                of_one.remove(principal);
            }
        }
    }
}

async fn admit<'a>(
    app: &'a App,
    request: &mut Request,
    route: &str,
) -> Result<(Admitted<'a>, Option<String>), Problem> {
    // What tells whether the server lives must be answered when it is busiest.
    if crate::routes::is_open(route) {
        return Ok((Admitted { app, principal: None, _working: None }, None));
    }
    // Those who wait for something have a limit of their own.
    let working = match crate::routes::waits(route) {
        true => None,
        false => {
            Some(app.shared.working.try_acquire().map_err(|_| Problem::busy("too many requests at once"))?)
        }
    };
    let caller = match request.extensions().get::<Caller>() {
        Some(caller) => caller.clone(),
        None => authenticate(app, request.headers()).await?,
    };
    let principal = caller.principal().to_owned();
    {
        let mut of_one = app.shared.of_one.lock().unwrap_or_else(PoisonError::into_inner);
        let count = of_one.entry(principal.clone()).or_default();
        if *count >= REQUESTS_OF_ONE_MAX {
            let problem = format!("`{principal}` has {REQUESTS_OF_ONE_MAX} requests under way already");
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many", problem));
        }
        *count += 1;
    }
    request.extensions_mut().insert(caller);
    Ok((Admitted { app, principal: Some(principal.clone()), _working: working }, Some(principal)))
}

async fn authenticate(app: &App, headers: &HeaderMap) -> Result<Caller, Problem> {
    let missing = "this takes a token: `Authorization: Bearer ordain_…`; `ordain token create` makes one";
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else {
        return Err(GateError::Unauthenticated(missing.to_owned()).into());
    };
    let value = value.to_str().unwrap_or_default();
    let token = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let Some((_, token)) = token else {
        return Err(GateError::Unauthenticated(missing.to_owned()).into());
    };
    Ok(app.gate.authenticate(token.trim()).await?)
}

/// The client's, if it is harmless; else a new one.
fn request_id(headers: &HeaderMap) -> String {
    const LENGTH_MAX: usize = 64;
    let given = headers.get(&REQUEST_ID).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if (1..=LENGTH_MAX).contains(&given.len()) && given.bytes().all(harmless) {
        return given.to_owned();
    }
    let mut bytes = [0; 8];
    // Without randomness there is an id all the same; it only has to be found again.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) async fn no_route() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "no_route",
        "there is nothing here; GET /openapi.json says what there is",
    )
}

pub(crate) async fn no_method(method: Method) -> Problem {
    let problem = format!("{method} is not possible here; GET /openapi.json says what is");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no_method", problem)
}
