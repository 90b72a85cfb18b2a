//! Waiting for a decision: a long poll, or a stream of events.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::limits::{LOOK_EVERY, STREAM_WAIT};
use crate::place::Place;
use crate::request::{By, Named, RequestId};
use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use ordain_api::{ActionPage, ActionState, ActionStatus, Problem};
use ordain_canon::Canonicalizer;
use ordain_gate::{Caller, GateError, StatusFingerprint};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

/// The id of no action: somebody waits for all of them.
pub(super) const ANY: &str = "";

/// Somebody who waits for an action to change. It holds no more of the action than it needs to see that: many may wait.
pub(super) struct Watch {
    app: App,
    pub(super) caller: Caller,
    id: String,
    changes: Receiver<String>,
    stopping: watch::Receiver<bool>,
    end: Instant,
    _waiting: OwnedSemaphorePermit,
}

impl Watch {
    /// Listens before anybody looks, so that nothing is missed in between.
    pub(super) fn new(app: &App, caller: &Caller, id: &str, time: Duration) -> Result<Self, Problem> {
        let waiting = app.shared.waiting.clone().try_acquire_owned();
        Ok(Self {
            _waiting: waiting.map_err(|_| Problem::busy("too many are waiting already"))?,
            app: app.clone(),
            caller: caller.clone(),
            id: id.to_owned(),
            changes: app.gate.changes(),
            stopping: app.shared.stopping.subscribe(),
            end: Instant::now() + time,
        })
    }

    // These ask the store, for which they need much room. Boxed, they have it only as long as they ask.
    async fn fingerprint(&self) -> Result<StatusFingerprint, GateError> {
        Box::pin(self.app.gate.fingerprint(&self.caller, &self.id)).await
    }

    async fn status(&self) -> Result<ActionStatus, GateError> {
        Box::pin(self.app.gate.status(&self.caller, &self.id)).await
    }

    /// A token that ended meanwhile waits no longer.
    async fn check_token(&self) -> Result<(), GateError> {
        Box::pin(self.app.gate.check_still_holds(&self.caller)).await
    }

    pub(super) fn is_over(&self) -> bool {
        *self.stopping.borrow() || Instant::now() >= self.end
    }

    /// Waits until something may have changed: this node said so, or it is time to look what others did.
    pub(super) async fn changed(&mut self) {
        let look_at = self.end.min(Instant::now() + LOOK_EVERY);
        loop {
            tokio::select! {
                change = self.changes.recv() => match change {
                    Ok(other) if self.id != ANY && other != self.id => {}
                    _ => return,
                },
                _ = self.stopping.changed() => return,
                () = tokio::time::sleep_until(look_at) => return,
            }
        }
    }
}

/// The status when it is no longer held, or when the time is over.
pub(crate) async fn until_decided(
    app: &App,
    caller: &Caller,
    id: &str,
    time: Duration,
) -> Result<ActionStatus, ErrorResponse> {
    let mut watch = Watch::new(app, caller, id, time)?;
    while watch.fingerprint().await?.state == ActionState::Held && !watch.is_over() {
        watch.changed().await;
    }
    Ok(watch.status().await?)
}

/// The actions that changed after a place, when there are some for this caller, or when the time is over.
pub(crate) async fn until_listed(
    app: &App,
    caller: &Caller,
    state: Option<ActionState>,
    after: Option<u64>,
    limit: usize,
    time: Duration,
) -> Result<ActionPage, ErrorResponse> {
    let mut watch = if time.is_zero() { None } else { Some(Watch::new(app, caller, ANY, time)?) };
    let mut after = after;
    loop {
        // Read before the page: what changes in between is heard of twice rather than never.
        let size = app.gate.size().await?;
        let (actions, next) = Box::pin(app.gate.actions(caller, state, after, limit)).await?;
        let seen = next.unwrap_or(size);
        match &mut watch {
            Some(watch) if actions.is_empty() && !watch.is_over() => {
                after = Some(seen);
                if next.is_none() {
                    watch.changed().await;
                    watch.check_token().await?;
                }
            }
            _ => return Ok(ActionPage { actions, next, seen }),
        }
    }
}

/// Whether nothing will happen to it any more.
fn is_final(status: &ActionStatus) -> bool {
    let uses = status.permit.as_ref().map_or(0, |permit| permit.used);
    let uses_max = status.permit.as_ref().map_or(0, |permit| permit.max_executions);
    match status.state {
        ActionState::Denied | ActionState::Expired | ActionState::Superseded | ActionState::Observed => true,
        ActionState::Succeeded | ActionState::Failed => uses >= uses_max,
        ActionState::Held | ActionState::Allowed | ActionState::Running | ActionState::Unknown => false,
    }
}

struct Stream {
    watch: Watch,
    last: Option<StatusFingerprint>,
    ended: bool,
    request_id: String,
    _place: Option<Place>,
}

impl Stream {
    /// The next event, if there will be one.
    async fn next(&mut self) -> Option<Event> {
        if self.ended {
            return None;
        }
        match self.next_status().await {
            Ok(Some(status)) => {
                self.ended = is_final(&status);
                let mut canon = Canonicalizer::new();
                let data = canon.value(&status).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                Some(Event::default().event(status.state.name()).data(data.unwrap_or_default()))
            }
            Ok(None) => None,
            Err(error) => {
                self.ended = true;
                let error = ErrorResponse::from(error).for_request(std::mem::take(&mut self.request_id));
                error.log();
                let data = serde_json::to_string(&error.for_others().problem).unwrap_or_default();
                Some(Event::default().event("error").data(data))
            }
        }
    }

    /// The next status that differs from the last one; nothing when the time is over.
    async fn next_status(&mut self) -> Result<Option<ActionStatus>, GateError> {
        loop {
            let glance = self.watch.fingerprint().await?;
            if self.last.as_ref() != Some(&glance) {
                self.last = Some(glance);
                return self.watch.status().await.map(Some);
            }
            if self.watch.is_over() {
                return Ok(None);
            }
            self.watch.changed().await;
        }
    }
}

pub(crate) async fn events(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
    RequestId(request_id): RequestId,
    place: Option<Extension<Place>>,
) -> Result<Response, ErrorResponse> {
    let watch = Watch::new(&app, &caller, &id, STREAM_WAIT)?;
    // A missing or forbidden action is answered with a status, before a stream begins.
    watch.fingerprint().await?;
    let _place = place.map(|Extension(place)| place);
    let stream = Stream { watch, last: None, ended: false, request_id, _place };
    let events = stream::unfold(stream, |mut stream| async move {
        let event = stream.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}
