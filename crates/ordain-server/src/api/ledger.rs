//! The ledger, for those who check it.

use super::actions::page;
use crate::app::App;
use crate::error::ErrorResponse;
use crate::request::{Asked, By, ok, text, whole};
use axum::extract::State;
use axum::response::Response;
use ordain_api::{ConsistencyProof, ConsistencyQuery, EntriesQuery, EntryPage, ProofQuery};

const PAGE_DEFAULT: usize = 100;

pub(crate) async fn checkpoint(State(app): State<App>, By(_): By) -> Result<Response, ErrorResponse> {
    Ok(text("text/plain; charset=utf-8", app.gate.checkpoint().await?.to_string()))
}

pub(crate) async fn proof(
    State(app): State<App>,
    By(_): By,
    Asked(query): Asked<ProofQuery>,
) -> Result<Response, ErrorResponse> {
    Ok(text("text/plain; charset=utf-8", app.gate.prove(whole("index", query.index)?).await?.to_string()))
}

pub(crate) async fn consistency(
    State(app): State<App>,
    By(_): By,
    Asked(query): Asked<ConsistencyQuery>,
) -> Result<Response, ErrorResponse> {
    let (old, new) = (whole("old", query.old)?, whole("new", query.new)?);
    let hashes = app.gate.prove_consistency(old, new).await?;
    let hashes = hashes.iter().map(ToString::to_string).collect();
    ok(&ConsistencyProof { old, new, hashes })
}

pub(crate) async fn entries(
    State(app): State<App>,
    By(_): By,
    Asked(query): Asked<EntriesQuery>,
) -> Result<Response, ErrorResponse> {
    let limit = page(query.limit, PAGE_DEFAULT)?;
    let from = whole("from", query.from.unwrap_or(0))?;
    let entries = app.gate.ledger_entries(from, limit).await?;
    ok(&EntryPage { entries, size: app.gate.size().await? })
}
