//! Signing in to the console, and out.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::host::ConsoleOrigin;
use crate::request::{Asked, By, Typed, answer, ok};
use crate::sessions::{SESSION_IDLES, SESSION_LIVES, SessionHash};
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use ordain_api::{EndSessionQuery, EndedSessions, NewSession, Problem, ProblemCode, Session};
use std::time::Instant;

pub(crate) async fn create(
    State(app): State<App>,
    headers: HeaderMap,
    origin: Option<Extension<ConsoleOrigin>>,
    Typed(request): Typed<NewSession>,
) -> Result<Response, ErrorResponse> {
    let Some(sessions) = &app.sessions else {
        let problem = Problem::new(ProblemCode::Forbidden, "this server has no sessions");
        return Err(problem.with_hint("run `ordain serve --open`, or sign in with a token").into());
    };
    ConsoleOrigin::check(origin.map(|Extension(origin)| origin), &headers)?;
    let caller = app.gate.caller_of_session(&sessions.user).await?;
    let session = sessions.begin(&request.code, Instant::now())?;
    tracing::info!(principal = caller.principal(), "a session of the console began");
    answer(
        StatusCode::CREATED,
        &Session {
            session,
            principal: caller.principal().to_owned(),
            seconds: SESSION_LIVES.as_secs(),
            idle_seconds: SESSION_IDLES.as_secs(),
        },
    )
}

pub(crate) async fn end(
    State(app): State<App>,
    By(caller): By,
    session: Option<Extension<SessionHash>>,
    Asked(query): Asked<EndSessionQuery>,
) -> Result<Response, ErrorResponse> {
    let (Some(sessions), Some(Extension(session))) = (&app.sessions, session) else {
        return Err(Problem::new(ProblemCode::Forbidden, "the caller has no session").into());
    };
    let ended = sessions.end((!query.everywhere).then_some(session));
    tracing::info!(principal = caller.principal(), ended, "sessions of the console were ended");
    ok(&EndedSessions { ended })
}
