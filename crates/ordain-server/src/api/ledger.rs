//! The ledger, for those who check it.

use super::actions::page;
use crate::app::App;
use crate::error::ErrorResponse;
use crate::request::{Asked, By, Named, ok, text, whole};
use axum::extract::State;
use axum::response::Response;
use ordain_api::{ConsistencyProof, ConsistencyQuery, EntriesQuery, ProofQuery};

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
    By(caller): By,
    Asked(query): Asked<EntriesQuery>,
) -> Result<Response, ErrorResponse> {
    let limit = page(query.limit, PAGE_DEFAULT)?;
    let places = [("from", query.from), ("before", query.before), ("since_ms", query.since_ms)];
    for (name, number) in places.into_iter().chain([("until_ms", query.until_ms)]) {
        number.map(|number| whole(name, number)).transpose()?;
    }
    ok(&Box::pin(app.gate.find_entries(&caller, &query, limit)).await?)
}

pub(crate) async fn dossier(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
) -> Result<Response, ErrorResponse> {
    ok(&Box::pin(app.gate.dossier(&caller, &id)).await?)
}

pub(crate) async fn document(
    State(app): State<App>,
    By(caller): By,
    Named(hash): Named,
) -> Result<Response, ErrorResponse> {
    ok(&Box::pin(app.gate.document(&caller, &hash)).await?)
}
