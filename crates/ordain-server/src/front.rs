//! What every request passes: it gets an id, limits hold, it is found out who asks, and it is logged without its content.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::limits::ANSWER_WAIT;
use crate::place::Place;
use crate::request::RequestId;
use crate::routes;
use axum::extract::{MatchedPath, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use ordain_api::{Access, ActionQuery, LongPoll, Operation, Problem, ProblemCode};
use ordain_gate::Caller;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(crate) async fn pass(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    request.extensions_mut().insert(RequestId(id.clone()));
    let route = request.extensions().get::<MatchedPath>().and_then(|path| routes::known(path.as_str()));
    let route = route.unwrap_or("unknown");
    let method = request.method().clone();
    // Who is known already asks without a network.
    let is_local = request.extensions().get::<Caller>().is_some();
    let answered = AssertUnwindSafe(answer(&app, request, next, route)).catch_unwind().await;
    let (mut response, principal) = answered.unwrap_or_else(|_| (response_of(broken_off()), None));
    if let Some(error) = response.extensions_mut().remove::<ErrorResponse>() {
        let mut error = error.for_request(id.clone());
        error.log();
        if !is_local {
            error = error.for_others();
        }
        // The headers stay: a refused method comes with those that are allowed.
        let headers = std::mem::take(response.headers_mut());
        response = error.into_response();
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
    app.shared.metrics.request(&method, route, status, took);
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
    let operation = routes::find(request.method(), route);
    // Health must be answered when the server is busiest.
    if routes::is_open(route) {
        let takes_turns = operation.is_some_and(|operation| operation.takes_turns);
        return (answer_open(app, request, next, takes_turns).await, None);
    }
    // Those who wait for something have a limit of their own.
    let waits = operation.is_some_and(|operation| waits(operation, request.uri()));
    let working = if waits {
        None
    } else {
        match app.shared.working.try_acquire() {
            Ok(working) => Some(working),
            Err(_) => return (response_of(Problem::busy("too many requests at once")), None),
        }
    };
    let caller = match request.extensions().get::<Caller>() {
        Some(caller) => Ok(caller.clone()),
        // Boxed, because asking the store takes much room, and the request may wait for long after it.
        None => Box::pin(authenticate(app, request.headers())).await,
    };
    let caller = match caller {
        Ok(caller) => caller,
        Err(error) => return (error.into_response(), None),
    };
    let principal = Some(caller.principal().to_owned());
    let response = match admit(app, &mut request, caller, operation) {
        Err(error) => error.into_response(),
        Ok(_place) if waits => next.run(request).await,
        Ok(_place) => in_time(request, next).await,
    };
    drop(working);
    (response, principal)
}

/// Whether a request may take as long as it asks for.
fn waits(operation: &Operation, uri: &Uri) -> bool {
    match operation.long_poll {
        LongPoll::Never => false,
        LongPoll::Always => true,
        LongPoll::OnRequest => {
            Query::<ActionQuery>::try_from_uri(uri).is_ok_and(|Query(query)| query.wait.is_some())
        }
    }
}

fn response_of(problem: Problem) -> Response {
    ErrorResponse::from(problem).into_response()
}

/// A bug in the program must not take the connection with it.
fn broken_off() -> Problem {
    let problem = "the server has a bug; the request may have been carried out";
    Problem::new(ProblemCode::Internal, problem)
}

/// Callers without a token take turns at the store, so that it is free for those with one.
async fn answer_open(app: &App, request: Request, next: Next, takes_turns: bool) -> Response {
    if !takes_turns {
        return in_time(request, next).await;
    }
    match tokio::time::timeout(ANSWER_WAIT, app.shared.open.acquire()).await {
        Ok(_turn) => in_time(request, next).await,
        Err(_) => response_of(Problem::busy("too many requests without a token")),
    }
}

async fn in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(ANSWER_WAIT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let problem = "the answer took too long, and the request may have been carried out";
            response_of(Problem::uncertain(problem))
        }
    }
}

/// Lets a caller in that has a place and one of the roles that the table asks for. Its body is not read before.
fn admit(
    app: &App,
    request: &mut Request,
    caller: Caller,
    operation: Option<&'static Operation>,
) -> Result<Place, ErrorResponse> {
    let place = Place::take(app, caller.principal())?;
    if let Some(operation) = operation {
        check_roles(&caller, operation.access)?;
        request.extensions_mut().insert(operation);
    }
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(place.clone());
    Ok(place)
}

fn check_roles(caller: &Caller, access: Access) -> Result<(), ErrorResponse> {
    let (allowed, roles, word) = match access {
        Access::Anybody | Access::AnyToken => return Ok(()),
        Access::Roles(roles) => (roles.iter().any(|role| caller.is(*role)), roles, " or "),
        Access::AllRoles(roles) => (roles.iter().all(|role| caller.is(*role)), roles, " and "),
    };
    if allowed {
        return Ok(());
    }
    let names: Vec<String> = roles.iter().map(|role| format!("`{}`", role.name())).collect();
    let what = if names.len() == 1 { "role" } else { "roles" };
    let problem = format!("token of `{}` lacks the {what} {}", caller.principal(), names.join(word));
    Err(Problem::new(ProblemCode::Forbidden, problem).into())
}

async fn authenticate(app: &App, headers: &HeaderMap) -> Result<Caller, ErrorResponse> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return Err(no_token().into()) };
    let value = value.to_str().unwrap_or_default();
    let token = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let Some((_, token)) = token else { return Err(no_token().into()) };
    Ok(app.gate.authenticate(token.trim()).await?)
}

/// The request names no token.
pub(crate) fn no_token() -> Problem {
    Problem::new(ProblemCode::Unauthenticated, "the request has no token")
        .with_hint("create one with `ordain token create` and send `Authorization: Bearer TOKEN`")
}

/// The client's, if it is harmless; else a new one.
fn request_id(headers: &HeaderMap) -> String {
    const LENGTH_MAX: usize = 64;
    let given = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if (1..=LENGTH_MAX).contains(&given.len()) && given.bytes().all(harmless) {
        return given.to_owned();
    }
    let mut bytes = [0; 8];
    // Without randomness there is an id all the same; it only has to be found again.
    let _ = getrandom::fill(&mut bytes);
    format!("{:016x}", u64::from_be_bytes(bytes))
}

pub(crate) async fn no_route() -> ErrorResponse {
    Problem::new(ProblemCode::NoRoute, "the server has no such path").with_hint(SEE_DESCRIPTION).into()
}

pub(crate) async fn no_method(method: Method) -> ErrorResponse {
    let problem = format!("the path does not take {method}");
    Problem::new(ProblemCode::NoMethod, problem).with_hint(SEE_DESCRIPTION).into()
}

const SEE_DESCRIPTION: &str = "GET /openapi.json describes every path";

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_api::OperationId;

    #[test]
    fn only_a_request_that_asks_for_it_may_take_long() {
        let waits = |id: OperationId, uri: &str| waits(id.operation(), &uri.parse().unwrap());
        assert!(waits(OperationId::GetAction, "/v1/actions/p1?wait=5"));
        assert!(waits(OperationId::StreamActionEvents, "/v1/actions/p1/events"));
        for uri in
            ["/v1/actions/wait", "/v1/actions/p1?waiting=5", "/v1/actions/p1?x=wait", "/v1/actions/p1?wait="]
        {
            assert!(!waits(OperationId::GetAction, uri), "{uri}");
        }
        assert!(!waits(OperationId::ListActions, "/v1/actions?wait=5"));
    }
}
