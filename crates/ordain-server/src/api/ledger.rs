//! The ledger, for those who check it.

use super::actions::page;
use crate::app::App;
use crate::problem::Problem;
use crate::request::{Asked, By, ok, text, whole};
use axum::extract::State;
use axum::response::Response;
use ordain_api::LedgerEntry;
use ordain_api::limits::PAGE_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Entries.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EntryPage {
    /// In their order.
    entries: Vec<LedgerEntry>,
    /// How many there are on the whole ledger.
    size: u64,
}

/// A proof that one tree begins with another.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Consistency {
    /// The smaller size.
    old: u64,
    /// The larger size.
    new: u64,
    /// The hashes, base64.
    hashes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntriesQuery {
    from: Option<u64>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProofQuery {
    index: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConsistencyQuery {
    old: u64,
    new: u64,
}

const PAGE_DEFAULT: usize = 100;

pub(crate) async fn checkpoint(State(app): State<App>, By(_): By) -> Result<Response, Problem> {
    Ok(text("text/plain; charset=utf-8", app.gate.checkpoint().await?.to_string()))
}

pub(crate) async fn proof(
    State(app): State<App>,
    By(caller): By,
    Asked(query): Asked<ProofQuery>,
) -> Result<Response, Problem> {
    Ok(text(
        "text/plain; charset=utf-8",
        app.gate.prove(&caller, whole("index", query.index)?).await?.to_string(),
    ))
}

pub(crate) async fn consistency(
    State(app): State<App>,
    By(caller): By,
    Asked(query): Asked<ConsistencyQuery>,
) -> Result<Response, Problem> {
    let (old, new) = (whole("old", query.old)?, whole("new", query.new)?);
    let hashes = app.gate.prove_consistency(&caller, old, new).await?;
    let hashes = hashes.iter().map(ToString::to_string).collect();
    ok(&Consistency { old, new, hashes })
}

pub(crate) async fn entries(
    State(app): State<App>,
    By(caller): By,
    Asked(query): Asked<EntriesQuery>,
) -> Result<Response, Problem> {
    let limit = page(query.limit, PAGE_DEFAULT, PAGE_MAX)?;
    let from = whole("from", query.from.unwrap_or(0))?;
    let entries = app.gate.ledger_entries(&caller, from, limit).await?;
    ok(&EntryPage { entries, size: app.gate.size().await? })
}
