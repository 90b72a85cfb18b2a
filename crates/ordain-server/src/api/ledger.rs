//! The ledger, for those who check it.

use super::actions::page;
use super::documents::apart;
use crate::app::App;
use crate::error::ErrorResponse;
use crate::limits::FSCK_WAIT;
use crate::request::{Asked, By, Named, ok, text, whole};
use axum::extract::State;
use axum::response::Response;
use ordain_api::{ConsistencyProof, ConsistencyQuery, EntriesQuery, Problem, ProblemCode, ProofQuery};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

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

/// On a thread of its own, which ends when the caller is gone, when it took too long and when the server stops.
pub(crate) async fn fsck(State(app): State<App>, By(_): By) -> Result<Response, ErrorResponse> {
    let place = app.shared.checking.clone().try_acquire_owned();
    let place = place.map_err(|_| Problem::busy("another check of the records is under way"))?;
    let (_asking, gone) = oneshot::channel::<()>();
    let mut stopping = app.shared.stopping.subscribe();
    let runtime = Handle::current();
    apart(move || {
        let _place = place;
        let checked = app.gate.fsck(app.checkpoint_file.as_deref());
        let ended = runtime.block_on(async {
            tokio::select! {
                biased;
                _ = stopping.wait_for(|stopping| *stopping) => Err("the server is stopping"),
                _ = gone => Err("the caller is gone"),
                () = tokio::time::sleep(FSCK_WAIT) => Err("the check of the records took more than ten minutes"),
                checked = checked => Ok(checked),
            }
        });
        let unfinished = |problem: &str| {
            let hint = "run `ordain ledger fsck` on the machine of the store";
            Problem::new(ProblemCode::Unavailable, problem).with_hint(hint)
        };
        ok(&ended.map_err(unfinished)??)
    })
    .await
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

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_gate::{Caller, Clock, Gate, Keyring, Settings};
    use ordain_store::{Location, Store};
    use std::time::Duration;

    async fn app() -> App {
        let store = Store::open(&Location::Memory).await.unwrap();
        let keyring = Keyring::ephemeral().unwrap();
        App::new(Gate::open(store, keyring, Clock::system(), Settings::default()).await.unwrap())
    }

    async fn ask(app: &App) -> u16 {
        app.call(Caller::local("audrey"), "GET", "/v1/ledger/fsck", None).await.status
    }

    #[tokio::test]
    async fn one_check_runs_at_a_time() {
        let app = app().await;
        let place = app.shared.checking.clone().try_acquire_owned().unwrap();
        assert_eq!(ask(&app).await, 503);
        drop(place);
        assert_eq!(ask(&app).await, 200);
    }

    #[tokio::test]
    async fn a_check_ends_when_the_server_stops() {
        let app = app().await;
        app.shared.stopping.send_replace(true);
        assert_eq!(ask(&app).await, 503);
        assert_eq!(app.shared.checking.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_caller_who_is_gone_gives_the_place_back() {
        let app = app().await;
        let asked = tokio::time::timeout(Duration::ZERO, ask(&app)).await;
        assert!(asked.is_err(), "the answer came at once");
        let free = tokio::time::timeout(Duration::from_secs(10), app.shared.checking.acquire());
        drop(free.await.unwrap().unwrap());
    }
}
