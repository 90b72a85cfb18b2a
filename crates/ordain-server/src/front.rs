//! What every request passes: it gets an id, limits hold, it is found out who asks, and it is logged without its content.

use crate::app::App;
use crate::limits::ANSWER_WAIT;
use crate::place::Place;
use crate::problem::Problem;
use crate::request::RequestId;
use crate::routes::Who;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use ordain_gate::{Caller, GateError};
use std::panic::AssertUnwindSafe;
use std::time::Instant;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(crate) async fn pass(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    request.extensions_mut().insert(RequestId(id.clone()));
    let route = request.extensions().get::<MatchedPath>().map_or("unknown", |path| path.as_str()).to_owned();
    let method = request.method().clone();
    // Who is known already asks without a network.
    let is_local = request.extensions().get::<Caller>().is_some();
    let answered = AssertUnwindSafe(answer(&app, request, next, &route)).catch_unwind().await;
    let (mut response, principal) = answered.unwrap_or_else(|_| (broken_off().into_response(), None));
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let mut named = Problem { correlation_id: Some(id.clone()), ..problem.scrubbed() };
        named.log();
        if !is_local {
            named = named.for_others();
        }
        // The headers stay: a refused method comes with those that are allowed.
        let headers = std::mem::take(response.headers_mut());
        response = named.into_response();
        let own = headers.into_iter().filter_map(|(name, value)| Some((name?, value)));
        for (name, value) in own.filter(|(name, _)| *name != header::CONTENT_LENGTH) {
            response.headers_mut().insert(name, value);
        }
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

/// The answer, and who asked.
async fn answer(app: &App, mut request: Request, next: Next, route: &str) -> (Response, Option<String>) {
    // What tells whether the server lives must be answered when it is busiest.
    if crate::routes::is_open(route) {
        return (in_turn(app, request, next, route).await, None);
    }
    // Those who wait for something have a limit of their own.
    let waits = crate::routes::waits(route, request.uri().query());
    let working = match waits {
        true => None,
        false => match app.shared.working.try_acquire() {
            Ok(working) => Some(working),
            Err(_) => return (Problem::busy("too many requests at once").into_response(), None),
        },
    };
    let caller = match request.extensions().get::<Caller>() {
        Some(caller) => Ok(caller.clone()),
        // Boxed, because asking the store takes much room, and the request may wait for long after it.
        None => Box::pin(authenticate(app, request.headers())).await,
    };
    let caller = match caller {
        Ok(caller) => caller,
        Err(problem) => return (problem.into_response(), None),
    };
    let principal = Some(caller.principal().to_owned());
    let response = match admit(app, &mut request, caller, route) {
        Err(problem) => problem.into_response(),
        Ok(_place) if waits => next.run(request).await,
        Ok(_place) => in_time(request, next).await,
    };
    drop(working);
    (response, principal)
}

/// What is wrong with the program must not take the connection with it.
fn broken_off() -> Problem {
    let problem = "the server made a mistake; what was asked may have been done";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", problem)
}

/// Nobody has to say who they are for these, so those that ask the store take turns: it is for those who do.
async fn in_turn(app: &App, request: Request, next: Next, route: &str) -> Response {
    if !matches!(route, "/ready" | "/metrics" | "/.well-known/jwks.json") {
        return in_time(request, next).await;
    }
    match tokio::time::timeout(ANSWER_WAIT, app.shared.open.acquire()).await {
        Ok(_turn) => in_time(request, next).await,
        Err(_) => Problem::busy("too many ask without a token").into_response(),
    }
}

async fn in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(ANSWER_WAIT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let problem =
                "the answer took too long, and what was asked may have been done; look before you ask again";
            Problem::uncertain(problem).into_response()
        }
    }
}

/// Lets a caller in that has a place and one of the roles that the table asks for. Its body is not read before.
fn admit(app: &App, request: &mut Request, caller: Caller, route: &str) -> Result<Place, Problem> {
    let place = Place::take(app, caller.principal())?;
    if let Some(Who::Roles(roles)) = crate::routes::who(request.method(), route) {
        caller.must_be(roles)?;
    }
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(place.clone());
    Ok(place)
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
