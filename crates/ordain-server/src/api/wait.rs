//! Waiting for a decision: a long poll, or a stream of events.

use crate::app::App;
use crate::limits::{LOOK_EVERY, STREAM_WAIT};
use crate::problem::Problem;
use crate::request::{By, Named};
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use ordain_canon::Canonicalizer;
use ordain_workflow::gate::{ActionStatus, Caller, GateError, State as ActionState};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::time::Instant;

fn place(app: &App) -> Result<OwnedSemaphorePermit, Problem> {
    app.shared.waiting.clone().try_acquire_owned().map_err(|_| Problem::busy("too many are waiting already"))
}

/// The status when it is no longer held, or when the time is over.
pub(crate) async fn until_decided(
    app: &App,
    caller: &Caller,
    id: &str,
    time: Duration,
) -> Result<ActionStatus, Problem> {
    let _place = place(app)?;
    let end = Instant::now() + time;
    // Listened to before looking, so that nothing is missed in between.
    let mut changes = app.gate.changes();
    loop {
        let status = app.gate.status(caller, id).await?;
        if status.state != ActionState::Held || Instant::now() >= end {
            return Ok(status);
        }
        changed(&mut changes, id, end).await;
    }
}

/// Waits until something may have changed: this node said so, or it is time to look what others did.
async fn changed(changes: &mut Receiver<String>, id: &str, end: Instant) {
    let look_at = end.min(Instant::now() + LOOK_EVERY);
    loop {
        match tokio::time::timeout_at(look_at, changes.recv()).await {
            Ok(Ok(other)) if other != id => {}
            _ => return,
        }
    }
}

/// Whether nothing will happen to it any more.
fn is_final(status: &ActionStatus) -> bool {
    let uses = status.permit.as_ref().map_or(0, |permit| permit.uses.len() as u64);
    let uses_max = status.permit.as_ref().map_or(0, |permit| permit.max_executions);
    match status.state {
        ActionState::Denied | ActionState::Expired | ActionState::Superseded => true,
        ActionState::Succeeded | ActionState::Failed => uses >= uses_max,
        ActionState::Held | ActionState::Allowed | ActionState::Running | ActionState::Unknown => false,
    }
}

struct Stream {
    app: App,
    caller: Caller,
    id: String,
    changes: Receiver<String>,
    end: Instant,
    last: Option<ActionStatus>,
    _place: OwnedSemaphorePermit,
}

impl Stream {
    /// The next status that differs from the last one.
    async fn next(&mut self) -> Option<Result<ActionStatus, GateError>> {
        while Instant::now() < self.end {
            if let Some(last) = &self.last {
                if is_final(last) {
                    return None;
                }
                changed(&mut self.changes, &self.id, self.end).await;
            }
            match self.app.gate.status(&self.caller, &self.id).await {
                Ok(status) if self.last.as_ref() == Some(&status) => {}
                Ok(status) => {
                    self.last = Some(status.clone());
                    return Some(Ok(status));
                }
                Err(error) => {
                    self.end = Instant::now();
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

pub(crate) async fn events(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
) -> Result<Response, Problem> {
    // What is not there or not for this caller is said with a status, before a stream begins.
    app.gate.status(&caller, &id).await?;
    let changes = app.gate.changes();
    let place = place(&app)?;
    let end = Instant::now() + STREAM_WAIT;
    let events = Stream { app, caller, id, changes, end, last: None, _place: place };
    let events = stream::unfold(events, |mut events| async move {
        let event = match events.next().await? {
            Ok(status) => {
                let mut canon = Canonicalizer::new();
                let data = canon.value(&status).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                Event::default().event(status.state.name()).data(data.unwrap_or_default())
            }
            Err(error) => Event::default().event("error").data(Problem::from(error).detail),
        };
        Some((Ok::<_, Infallible>(event), events))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}
