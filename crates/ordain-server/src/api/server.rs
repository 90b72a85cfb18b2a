//! The server itself: whether it lives, whether it can work, its metrics, its keys, its description.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::log::failed_writes;
use crate::metrics::{Gauges, LogCounters};
use crate::request::{ok, text};
use crate::tls::Tls;
use axum::extract::State;
use axum::response::Response;
use ordain_api::{Health, Jwk, Jwks, KeyStatus, PolicyState, Problem, ProblemCode, Ready, openapi};
use ordain_gate::GateError;
use std::sync::OnceLock;

pub(crate) async fn health() -> Result<Response, ErrorResponse> {
    ok(&Health { status: "ok".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
}

pub(crate) async fn ready(State(app): State<App>) -> Result<Response, ErrorResponse> {
    let not = |error: GateError| {
        let ErrorResponse { problem, public_detail, .. } = error.into();
        ErrorResponse { public_detail, ..Problem::new(ProblemCode::NotReady, problem.detail).into() }
    };
    let status = app.gate.gate_status().await.map_err(not)?;
    app.gate.check_policies().await.map_err(not)?;
    let ledger_size = app.gate.check_head().await.map_err(not)?;
    ok(&Ready {
        status: "ready".to_owned(),
        ledger_size,
        halted: status.halted.is_some(),
        policy: app.policy_state().await.map_err(not)?,
        clock_behind_ms: app.gate.clock_behind_ms(),
    })
}

pub(crate) async fn metrics(State(app): State<App>) -> Response {
    let strangers = [&app.shared.strangers_refused, &app.shared.strangers_answered];
    let left_out = strangers.iter().map(|throttle| throttle.left_out()).sum();
    let gauges = Gauges {
        ledger_size: app.gate.size().await.ok(),
        halted: app.gate.gate_status().await.ok().map(|status| status.halted.is_some()),
        policy_differs: app.policy_state().await.ok().map(|state| state == PolicyState::Differs),
        clock_behind_ms: app.gate.clock_behind_ms(),
        store: app.gate.store().counters(),
        log: LogCounters { failed_writes: failed_writes(), left_out },
        tls: app.tls.as_ref().map(Tls::counters),
    };
    text("text/plain; version=0.0.4; charset=utf-8", app.shared.metrics.text(&gauges))
}

pub(crate) async fn keys(State(app): State<App>) -> Result<Response, ErrorResponse> {
    let keys = app.gate.keys().await?;
    let jwk = |key: KeyStatus| Jwk {
        kty: "OKP".to_owned(),
        crv: "Ed25519".to_owned(),
        alg: "EdDSA".to_owned(),
        usage: "sig".to_owned(),
        kid: key.key_id,
        x: key.public_key,
        created_at_ms: key.created_at_ms,
        retired_at_ms: key.retired_at_ms,
    };
    ok(&Jwks { keys: keys.into_iter().map(jwk).collect() })
}

pub(crate) async fn description() -> Result<Response, ErrorResponse> {
    // It is always the same, and long: it is written once.
    static TEXT: OnceLock<String> = OnceLock::new();
    Ok(text("application/json", TEXT.get_or_init(|| openapi().to_string()).clone()))
}
