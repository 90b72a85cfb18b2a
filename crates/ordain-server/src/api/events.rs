//! All that happens, as a stream that follows the ledger, and the views of approvers.

use super::wait::Watch;
use crate::app::App;
use crate::error::ErrorResponse;
use crate::limits::STREAM_WAIT;
use crate::place::Place;
use crate::request::{Asked, By, Named, RequestId, whole};
use crate::sessions::SessionHash;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use ordain_api::limits::STREAM_SECONDS_MAX;
use ordain_api::{EventsQuery, GateEvent, Problem, ProblemCode, VIEW_DIGEST_HEADER, ViewDocument, ViewQuery};
use ordain_gate::GateError;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::{Duration, Instant};

/// A stream under way.
struct Following {
    app: App,
    watch: Watch,
    /// The entry that is looked at next.
    next: u64,
    /// The last id that the client was told; a client that sees few events is told now and then how far it is.
    told: Option<u64>,
    events: VecDeque<GateEvent>,
    ended: bool,
    session: Option<SessionHash>,
    request_id: String,
    _place: Option<Place>,
}

/// Entries without an event for the client, after which an event without data says how far the stream is.
const SILENCE: u64 = 256;

impl Following {
    async fn next(&mut self) -> Option<Event> {
        if self.ended {
            return None;
        }
        match self.next_event().await {
            Ok(event) => event,
            Err(error) => {
                self.ended = true;
                let error = error.for_request(std::mem::take(&mut self.request_id));
                error.log();
                let data = serde_json::to_string(&error.for_others().problem).unwrap_or_default();
                Some(Event::default().event("error").data(data))
            }
        }
    }

    /// The next event; nothing when the time is over.
    async fn next_event(&mut self) -> Result<Option<Event>, ErrorResponse> {
        loop {
            if let Some(event) = self.events.pop_front() {
                self.told = Some(event.index);
                let data = serde_json::to_string(&event).unwrap_or_default();
                return Ok(Some(Event::default().id(event.index.to_string()).event(event.kind).data(data)));
            }
            let last = self.next.checked_sub(1);
            let silent = last.zip(self.told).is_some_and(|(last, told)| last >= told + SILENCE);
            if silent || (self.told.is_none() && last.is_some()) {
                self.told = last;
                return Ok(last.map(|last| Event::default().id(last.to_string())));
            }
            if let (Some(sessions), Some(session)) = (&self.app.sessions, self.session)
                && !sessions.holds(session, Instant::now())
            {
                return Err(Problem::new(ProblemCode::Unauthenticated, "the session is over").into());
            }
            let (events, next) = Box::pin(self.app.gate.events_from(&self.watch.caller, self.next)).await?;
            let moved = next > self.next;
            self.next = next;
            self.events = events.into();
            if !moved {
                if self.watch.is_over() {
                    return Ok(None);
                }
                self.watch.changed().await;
            }
        }
    }
}

pub(crate) async fn stream(
    State(app): State<App>,
    By(caller): By,
    Asked(query): Asked<EventsQuery>,
    headers: HeaderMap,
    RequestId(request_id): RequestId,
    place: Option<Extension<Place>>,
    session: Option<Extension<SessionHash>>,
) -> Result<Response, ErrorResponse> {
    let time = match query.wait {
        None => STREAM_WAIT,
        Some(seconds) if seconds <= STREAM_SECONDS_MAX => Duration::from_secs(seconds),
        Some(_) => {
            let problem = format!("`wait` must be from 0 to {STREAM_SECONDS_MAX} seconds");
            return Err(Problem::invalid("", problem).into());
        }
    };
    let after = match last_event_id(&headers)? {
        Some(last) => Some(last),
        None => query.after.map(|after| whole("after", after)).transpose()?,
    };
    let watch = Watch::new(&app, &caller, super::wait::ANY, time)?;
    let next = match after {
        Some(after) => after + 1,
        None => app.gate.size().await?,
    };
    // A place behind the end is answered with a status, before a stream begins.
    let size = app.gate.size().await?;
    if next > size {
        let problem = format!("there is no entry {}: the ledger has {size} entries", next - 1);
        let hint = "read everything anew, and follow the ledger from its end";
        return Err(Problem::new(ProblemCode::Conflict, problem).with_hint(hint).into());
    }
    let following = Following {
        app,
        watch,
        next,
        told: after,
        events: VecDeque::new(),
        ended: false,
        session: session.map(|Extension(session)| session),
        request_id,
        _place: place.map(|Extension(place)| place),
    };
    let events = stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((Ok::<_, Infallible>(event), following))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

/// The place where a client stopped that comes again.
fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let mut given = headers.get_all("last-event-id").iter();
    let number = |value: &HeaderValue| value.to_str().ok()?.parse::<u64>().ok();
    match (given.next(), given.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match number(value) {
            Some(index) => whole("Last-Event-ID", index).map(Some),
            None => Err(Problem::invalid("", "`Last-Event-ID` is not the index of an entry")),
        },
        (Some(_), Some(_)) => Err(Problem::invalid("", "there are two `Last-Event-ID`")),
    }
}

/// The bytes that an approver's page hashes and renders.
pub(crate) async fn view(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
    Asked(query): Asked<ViewQuery>,
) -> Result<Response, ErrorResponse> {
    let status = Box::pin(app.gate.status(&caller, &id)).await?;
    let (view, digest): (ViewDocument, String) = match query.digest {
        Some(digest) if digest != status.view_digest => {
            let shown = status.shown.into_iter().find(|shown| shown.view_digest == digest);
            let view = shown.and_then(|shown| shown.view);
            let unknown = || GateError::Unknown(format!("no view of `{id}` with this digest can be shown"));
            (view.ok_or_else(unknown)?, digest)
        }
        _ => (status.view, status.view_digest),
    };
    let mut response = ([(header::CONTENT_TYPE, "application/json")], view.text().to_owned()).into_response();
    // Values that policies hide make another view: it has no digest.
    let digest = HeaderValue::from_str(&digest).ok().filter(|digest| !digest.is_empty());
    let name = HeaderName::from_static(VIEW_DIGEST_HEADER);
    response.headers_mut().extend(digest.map(|digest| (name, digest)));
    Ok(response)
}
