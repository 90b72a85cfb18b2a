//! The server itself: whether it lives, whether it can work, its metrics, its keys, its description.

use crate::app::App;
use crate::metrics::Gauges;
use crate::openapi::openapi;
use crate::problem::Problem;
use crate::request::{ok, text};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use ordain_gate::GateError;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::OnceLock;

/// How the server is.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Health {
    /// `ok`.
    status: &'static str,
    /// The program's version.
    version: &'static str,
}

/// Whether the server can work.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Ready {
    /// `ready`.
    status: &'static str,
    /// How many entries the ledger has.
    ledger_size: u64,
    /// Whether an operator has halted the gate.
    halted: bool,
    /// How far the machine's clock is behind the ledger.
    clock_behind_ms: u64,
}

/// Public keys (RFC 7517).
#[derive(Serialize, JsonSchema)]
pub(crate) struct Jwks {
    /// One for each key that permits may be signed with.
    keys: Vec<Jwk>,
}

/// An Ed25519 public key (RFC 8037).
#[derive(Serialize, JsonSchema)]
pub(crate) struct Jwk {
    kty: &'static str,
    crv: &'static str,
    alg: &'static str,
    #[serde(rename = "use")]
    usage: &'static str,
    kid: String,
    x: String,
    /// Since when, in milliseconds since 1970.
    created_at_ms: u64,
    /// When another took its place; it signs nothing since.
    #[serde(skip_serializing_if = "Option::is_none")]
    retired_at_ms: Option<u64>,
}

pub(crate) async fn health() -> Result<Response, Problem> {
    ok(&Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

pub(crate) async fn ready(State(app): State<App>) -> Result<Response, Problem> {
    let not = |error: GateError| {
        let Problem { detail, public_detail, .. } = error.into();
        Problem { public_detail, ..Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", detail) }
    };
    let status = app.gate.gate_status().await.map_err(not)?;
    app.gate.check_policies().await.map_err(not)?;
    let ledger_size = app.gate.check_head().await.map_err(not)?;
    ok(&Ready {
        status: "ready",
        ledger_size,
        halted: status.halted.is_some(),
        clock_behind_ms: app.gate.clock_behind_ms(),
    })
}

pub(crate) async fn metrics(State(app): State<App>) -> Response {
    let gauges = Gauges {
        ledger_size: app.gate.size().await.ok(),
        halted: app.gate.gate_status().await.ok().map(|status| status.halted.is_some()),
        clock_behind_ms: app.gate.clock_behind_ms(),
        store: app.gate.store().counters(),
    };
    text("text/plain; version=0.0.4; charset=utf-8", app.shared.metrics.text(&gauges))
}

pub(crate) async fn jwks(State(app): State<App>) -> Result<Response, Problem> {
    let keys = app.gate.keys().await?;
    let jwk = |key: ordain_api::KeyStatus| Jwk {
        kty: "OKP",
        crv: "Ed25519",
        alg: "EdDSA",
        usage: "sig",
        kid: key.key_id,
        x: key.public_key,
        created_at_ms: key.created_at_ms,
        retired_at_ms: key.retired_at_ms,
    };
    ok(&Jwks { keys: keys.into_iter().map(jwk).collect() })
}

pub(crate) async fn description() -> Result<Response, Problem> {
    // It is always the same, and long: it is written once.
    static TEXT: OnceLock<String> = OnceLock::new();
    Ok(text("application/json", TEXT.get_or_init(|| openapi().to_string()).clone()))
}
