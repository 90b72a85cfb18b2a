//! The front that every request passes: it gives the request an id, enforces limits, identifies the caller,
//! and logs without content.

use crate::app::App;
use crate::console::{self, POLICY_OF_DATA};
use crate::error::ErrorResponse;
use crate::host::{self, ConsoleOrigin, Hosts, OverTls};
use crate::limits::ANSWER_WAIT;
use crate::peer::{Peer, Preface};
use crate::place::Place;
use crate::projects::status;
use crate::request::RequestId;
use crate::routes;
use crate::sessions::SessionHash;
use axum::extract::{MatchedPath, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use ordain_api::{
    Access, ActQuery, ActionQuery, ActionsQuery, LongPoll, Method as ApiMethod, Operation, OperationId,
    Problem, ProblemCode, ProjectName, Role, SESSION_PREFIX, STATEMENT_HEADER, read_statement_header,
};
use ordain_gate::{Caller, GateError};
use ordain_spec::statement::How;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Headers of every answer.
static ALWAYS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// For a year browsers reach the public name with TLS alone. Its subdomains are not ours.
const STRICT_TRANSPORT: &str = "max-age=31536000";

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(crate) async fn pass(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    request.extensions_mut().insert(RequestId(id.clone()));
    let route = request.extensions().get::<MatchedPath>().and_then(|path| routes::known(path.as_str()));
    let route = route.unwrap_or("unknown");
    let method = request.method().clone();
    let is_strict = request.extensions().get::<OverTls>().is_some()
        && host::is_public(app.public_host.as_deref(), request.uri(), request.headers());
    // A known caller asks without a network.
    let is_local = request.extensions().get::<Arc<Caller>>().is_some();
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
    for (name, value) in &ALWAYS {
        headers.insert(name.clone(), HeaderValue::from_static(value));
    }
    if is_strict {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(STRICT_TRANSPORT));
    }
    // A page of the console has its own.
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY_OF_DATA));
    }
    let status = response.status().as_u16();
    let took = started.elapsed();
    app.shared.metrics.request(&method, route, status, took);
    let Some(left_out) = logged(&app, principal.as_deref(), status) else { return response };
    tracing::info!(
        correlation_id = id,
        method = method.as_str(),
        route,
        status,
        duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        principal = principal.as_deref().unwrap_or_default(),
        left_out,
        "request"
    );
    response
}

/// Whether a request is logged, and how many before it were not. Requests of strangers are logged once in a
/// while: anybody can send as many as they like. The metrics count all of them.
fn logged(app: &App, principal: Option<&str>, status: u16) -> Option<Option<u64>> {
    if principal.is_some() {
        return Some(None);
    }
    let refused = status >= 400;
    let throttle = if refused { &app.shared.strangers_refused } else { &app.shared.strangers_answered };
    throttle.admit(Instant::now()).map(|left_out| Some(left_out).filter(|count| *count > 0))
}

/// The answer, and who asked.
async fn answer(app: &App, mut request: Request, next: Next, route: &str) -> (Response, Option<String>) {
    let operation = routes::find(request.method(), route);
    if let Some(hosts) = request.extensions().get::<Hosts>()
        && let Err(error) = hosts.check(request.uri(), request.headers())
    {
        return (error.into_response(), None);
    }
    // Files of the console ask nothing of the store.
    if console::known(route).is_some() {
        return (next.run(request).await, None);
    }
    if let Some(origin) = request
        .extensions()
        .get::<Hosts>()
        .and_then(|hosts| ConsoleOrigin::of(hosts, request.uri(), request.headers()))
    {
        request.extensions_mut().insert(origin);
    }
    // Health must be answered when the server is busiest.
    if routes::is_open(route) {
        let takes_turns = operation.is_some_and(|operation| operation.takes_turns);
        return (answer_open(app, request, next, takes_turns).await, None);
    }
    // Boxed: it takes much room, and what is open to anybody does without.
    Box::pin(answer_known(app, request, next, operation)).await
}

/// The answer to somebody who has to say who they are.
async fn answer_known(
    app: &App,
    mut request: Request,
    next: Next,
    operation: Option<&'static Operation>,
) -> (Response, Option<String>) {
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
    let caller = match request.extensions().get::<Arc<Caller>>() {
        Some(caller) => Ok(Arc::clone(caller)),
        // Boxed, because asking the store takes much room, and the request may wait for long after it.
        None => {
            let guarded = operation.is_some_and(|operation| operation.guards_token);
            let peer = request.extensions().get::<Peer>().cloned();
            match session_of(app, &request) {
                Ok(None) => Box::pin(authenticate(app, request.headers(), peer, guarded)).await.map(Arc::new),
                Ok(Some(session)) => {
                    request.extensions_mut().insert(session);
                    let user = app.sessions.as_ref().map(|sessions| Arc::clone(&sessions.user));
                    let caller =
                        Box::pin(app.gate.caller_of_session(user.as_deref().unwrap_or_default())).await;
                    caller.map(Arc::new).map_err(ErrorResponse::from)
                }
                Err(problem) => Err(problem.into()),
            }
        }
    };
    let caller = match caller {
        Ok(caller) => caller,
        Err(error) => return (error.into_response(), None),
    };
    let principal = Some(caller.principal().to_owned());
    let caller = match about_project(app, &mut request, caller, operation).await {
        Ok(caller) => caller,
        Err(error) => return (error.into_response(), principal),
    };
    let admitted = match present(app, request.headers(), request.extensions().get(), &caller, operation).await
    {
        Ok(caller) => admit(app, &mut request, caller, operation),
        Err(error) => Err(error),
    };
    let mut response = match admitted {
        Err(error) => error.into_response(),
        Ok(_place) if waits => next.run(request).await,
        Ok(_place) => in_time(request, next).await,
    };
    if response.status().is_client_error()
        && let Err(error) = Box::pin(app.gate.confirm(&caller)).await
    {
        response = ErrorResponse::from(error).into_response();
    }
    drop(working);
    (response, principal)
}

/// Whether a request may take as long as it asks for.
fn waits(operation: &Operation, uri: &Uri) -> bool {
    match operation.long_poll {
        LongPoll::Never => false,
        LongPoll::Always => true,
        LongPoll::OnRequest => {
            let one = Query::<ActionQuery>::try_from_uri(uri).is_ok_and(|Query(query)| query.wait.is_some());
            one || Query::<ActionsQuery>::try_from_uri(uri).is_ok_and(|Query(query)| query.wait.is_some())
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

/// The caller with the statements that it signed. An owner act on a gate with an owner has at least one; the
/// gate checks it.
async fn present(
    app: &App,
    headers: &HeaderMap,
    peer: Option<&Peer>,
    caller: &Arc<Caller>,
    operation: Option<&'static Operation>,
) -> Result<Arc<Caller>, ErrorResponse> {
    let mut given = headers.get_all(STATEMENT_HEADER).iter();
    let caller = match (given.next(), given.next()) {
        (None, _) => Arc::clone(caller),
        (Some(value), None) => {
            let signed = value.to_str().ok().and_then(read_statement_header);
            let problem = "the header `ordain-statement` holds no signed statements";
            let signed = signed.ok_or_else(|| Problem::invalid("", problem))?;
            Arc::new(caller.as_ref().clone().with_statements(signed))
        }
        (Some(_), Some(_)) => return Err(Problem::invalid("", "there are two `ordain-statement`").into()),
    };
    let Some(operation) = operation.filter(|operation| operation.is_owner_act()) else { return Ok(caller) };
    // Neither has a role for owner acts: the statement carries the act.
    let is_peer = caller.how() == How::Peer || caller.in_session();
    if !is_peer && !caller.statements().is_empty() {
        return Ok(caller);
    }
    let owned = Box::pin(app.gate.is_owned()).await?;
    if owned && caller.statements().is_empty() {
        let problem = format!("`{}` needs a statement signed by an owner's key", operation.id.name());
        return Err(GateError::Presence(problem).into());
    }
    if !is_peer {
        return Ok(caller);
    }
    // A user of the machine has no role for owner acts: the statement carries the act. Without an owner there
    // is only the claim.
    let may_claim = || operation.id == OperationId::EnrolApproverKey && is_claimant(app, peer);
    if !owned && !may_claim() {
        return Err(unclaimed(app).into());
    }
    Ok(Arc::new(Arc::unwrap_or_clone(caller).for_owner_act()))
}

/// Whether the user at the other end of the socket may claim the gate.
fn is_claimant(app: &App, peer: Option<&Peer>) -> bool {
    peer.is_some_and(|peer| app.claimant.as_deref() == Some(peer.user.name.as_str()))
}

fn unclaimed(app: &App) -> Problem {
    let problem = Problem::new(
        ProblemCode::Forbidden,
        "nobody owns this gate yet, and until then it takes no owner act",
    );
    match &app.claimant {
        Some(user) => {
            problem.with_hint(format!("the user `{user}` runs `ordain init --claim` on a terminal"))
        }
        None => problem.with_hint("the user who runs the gate claims it with `ordain init --claim`"),
    }
}

/// The caller, asking about the project whose folder came with the preface. A workspace that no project of
/// the gate registers is refused; a token needs no preface.
async fn about_project(
    app: &App,
    request: &mut Request,
    caller: Arc<Caller>,
    operation: Option<&'static Operation>,
) -> Result<Arc<Caller>, ErrorResponse> {
    let peer = request.extensions().get::<Peer>().cloned();
    let (Some(peer), Some(projects), Some(operation)) = (peer, app.projects.clone(), operation) else {
        return Ok(caller);
    };
    let is_invalid = matches!(peer.preface, Preface::Invalid(_));
    let is_named = matches!(peer.preface, Preface::Folder(_));
    if !is_invalid && !operation.workspace && operation.id != OperationId::GetGate {
        return Ok(caller);
    }
    if !is_invalid && !is_named && caller.how() != How::Peer {
        return Ok(caller);
    }
    // It reads a file.
    let located = tokio::task::spawn_blocking(move || projects.named_by(&peer.preface));
    let located = tokio::time::timeout(ANSWER_WAIT, located).await;
    let located = located.map_err(|_| Problem::busy("the folder cannot be looked at in time"))?;
    match located.map_err(|_| broken_off())? {
        Ok(located) => {
            let status = status(&located);
            let (project_id, path) = (status.project_id.clone(), status.path.clone());
            request.extensions_mut().insert(status);
            Ok(Arc::new(Arc::unwrap_or_clone(caller).about_project(ProjectName { project_id, path })))
        }
        Err(_) if is_named && asks_about_any_folder(operation, request.uri()) => {
            Ok(Arc::new(Arc::unwrap_or_clone(caller).outside_projects()))
        }
        Err(problem) if is_invalid || operation.workspace => Err(problem.into()),
        Err(_) => Ok(caller),
    }
}

/// Whether a call may be about a folder of no project. The caller's own word is enough: the gate then takes no call
/// about a workspace.
fn asks_about_any_folder(operation: &Operation, uri: &Uri) -> bool {
    operation.id == OperationId::Act
        && Query::<ActQuery>::try_from_uri(uri).is_ok_and(|Query(query)| query.any_folder)
}

/// Lets a caller in that has a place and one of the roles that the table asks for. Its body is not read before.
fn admit(
    app: &App,
    request: &mut Request,
    caller: Arc<Caller>,
    operation: Option<&'static Operation>,
) -> Result<Place, ErrorResponse> {
    let place = Place::take(app, caller.principal())?;
    if let Some(operation) = operation {
        check_roles(&caller, operation)?;
        request.extensions_mut().insert(operation);
    }
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(place.clone());
    Ok(place)
}

fn check_roles(caller: &Caller, operation: &Operation) -> Result<(), ErrorResponse> {
    // Both only make the gate stricter.
    if matches!(operation.id, OperationId::Halt | OperationId::EndObservation) && caller.may_halt() {
        return Ok(());
    }
    if caller.signs_only() && operation.method != ApiMethod::Get && !operation.is_owner_act() {
        let problem = format!("the policies in force do not name the user who is `{}`", caller.principal());
        let hint = "push policies with an actor whose `os_user` it is";
        return Err(Problem::new(ProblemCode::Forbidden, problem).with_hint(hint).into());
    }
    let (allowed, roles, word) = match operation.access {
        Access::Anybody | Access::AnyToken => return Ok(()),
        Access::Roles(roles) => (roles.iter().any(|role| caller.is(*role)), roles, " or "),
        Access::AllRoles(roles) => (roles.iter().all(|role| caller.is(*role)), roles, " and "),
    };
    if allowed {
        return Ok(());
    }
    let names: Vec<String> = roles.iter().map(|role| format!("`{}`", role.name())).collect();
    let what = if names.len() == 1 { "role" } else { "roles" };
    let (principal, names) = (caller.principal(), names.join(word));
    if caller.how() == How::Peer {
        let problem = format!("`{principal}` lacks the {what} {names} over a socket");
        let in_policies = [Role::Auditor, Role::Operator].into_iter().find(|role| roles.contains(role));
        let hint = match in_policies {
            // An agent, by the policies.
            _ if !caller.may_halt() => "ask the person whose agent it is".to_owned(),
            Some(role) => format!(
                "a policy can give it to a person: `\"roles\": [\"{}\"]` in entities.json; or use a token that has it",
                role.name()
            ),
            None => "use a token that has it: set ORDAIN_TOKEN, or pass `--token-file`".to_owned(),
        };
        return Err(Problem::new(ProblemCode::Forbidden, problem).with_hint(hint).into());
    }
    let problem = format!("token of `{principal}` lacks the {what} {names}");
    Err(Problem::new(ProblemCode::Forbidden, problem).into())
}

/// The owner of the token; without one, the user at the other end of a unix socket. `guarded`: what it asks
/// for checks the token once more as it writes.
async fn authenticate(
    app: &App,
    headers: &HeaderMap,
    peer: Option<Peer>,
    guarded: bool,
) -> Result<Caller, ErrorResponse> {
    if !headers.contains_key(header::AUTHORIZATION)
        && let Some(peer) = peer
    {
        let known = app.gate.caller_of_peer(&peer.user.name, app.claimant.as_deref()).await;
        return known.map_err(stranger);
    }
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return Err(no_token().into()) };
    let value = value.to_str().unwrap_or_default();
    let token = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let Some((_, token)) = token else { return Err(no_token().into()) };
    let token = token.trim();
    let owner = if guarded {
        app.gate.authenticate_to_write(token).await
    } else {
        app.gate.authenticate(token).await
    };
    Ok(owner?)
}

/// The session of a request, if it comes with one. It counts for the console's own pages alone.
fn session_of(app: &App, request: &Request) -> Result<Option<SessionHash>, Problem> {
    let mut given = request.headers().get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return Ok(None) };
    let value = value.to_str().unwrap_or_default();
    let text = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let Some(text) = text.map(|(_, text)| text.trim()).filter(|text| text.starts_with(SESSION_PREFIX)) else {
        return Ok(None);
    };
    let over = || {
        let problem = Problem::new(ProblemCode::Unauthenticated, "the session is unknown or over");
        problem.with_hint("run `ordain serve --open` to sign in again")
    };
    let session = app.sessions.as_ref().and_then(|sessions| sessions.find(text, Instant::now()));
    let session = session.ok_or_else(over)?;
    ConsoleOrigin::check(request.extensions().get().cloned(), request.headers())?;
    Ok(Some(session))
}

/// A user of the machine whom the policies do not name.
fn stranger(error: GateError) -> ErrorResponse {
    let unknown = matches!(error, GateError::Unauthenticated(_));
    let mut response = ErrorResponse::from(error);
    if unknown {
        let hint = "ask an owner of the gate to name this user as `os_user` of an actor in entities.json";
        response.problem.hint = Some(hint.to_owned());
    }
    response
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
    new_request_id()
}

/// An id that no other request has: a count from a random start. It is not a secret; it only has to be found
/// again.
fn new_request_id() -> String {
    static START: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let start = START.get_or_init(|| {
        let mut bytes = [0; 8];
        let _ = getrandom::fill(&mut bytes);
        u64::from_ne_bytes(bytes)
    });
    let number = start.wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed));
    // A multiple of an odd number: every count has another id, and neighbours do not look alike.
    let mut id = String::with_capacity(16);
    for digit in number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes() {
        for nibble in [digit >> 4, digit & 15] {
            id.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
    }
    id
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
        assert!(waits(OperationId::ListActions, "/v1/actions?state=held&wait=5"));
        assert!(!waits(OperationId::ListActions, "/v1/actions?state=held"));
    }
}
