//! Messages that the gate does not judge: forwarded as they came, and answered as the server answers.

use super::body::{Answer, empty, json, relayed, written};
use super::front::{Back, Gateway, refusal};
use super::guests::{Guest, Peer, PeerState, Under};
use super::headers::{self, SESSION};
use super::sse::{Event as Piece, Events};
use super::upstream::{Broken, Server, passed};
use crate::abilities::Abilities;
use crate::definitions::Page;
use crate::message::{Batch, Id, IdKey, Message, WATCHED_METHODS};
use crate::relay::{BATCH_REVISION, Event, ResultFacts, answered, cancelled_id, has_cursor};
use crate::texts::{self, INVALID_PARAMS, INVALID_REQUEST, NOT_RELAYED};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::sync::Arc;

/// The member by which requests of the revisions without sessions are known.
const REVISION_MEMBER: &str = "io.modelcontextprotocol/protocolVersion";

impl Gateway {
    pub(super) async fn message(
        self: &Arc<Self>,
        guest: Arc<Guest>,
        mut parts: Parts,
        body: Bytes,
        message: Message<'_>,
    ) -> Answer {
        let is_modern = is_modern(&message);
        let server = match &self.back {
            Back::Url(server) => server,
            Back::Commands(commands) => {
                return commands.message(self, guest, parts, body, message, is_modern).await;
            }
        };
        let session = headers::one(&parts.headers, &SESSION).ok().flatten().map(str::to_owned);
        let peer = match session.map(|id| self.peers.session(&id, &guest.principal)) {
            Some(Some(peer)) => peer,
            // The later revisions have none, and a server that still reads the header reads nobody else's.
            Some(None) if is_modern => {
                parts.headers.remove(&SESSION);
                self.peers.of_principal(&guest.principal)
            }
            Some(None) => return no_session(),
            None => self.peers.of_principal(&guest.principal),
        };
        match message {
            Message::Request { id, method, params } if peer.tasks.answer(&method, params).is_some() => {
                match peer.tasks.answer(&method, params) {
                    Some(Ok(result)) => json(StatusCode::OK, texts::result(&id.text, &result)),
                    Some(Err(problem)) => refusal(StatusCode::OK, Some(&id.text), INVALID_PARAMS, &problem),
                    None => empty(StatusCode::ACCEPTED),
                }
            }
            Message::Request { id, method, params } if self.is_judged(&method) => {
                self.judge(guest, peer, parts, body.clone(), (id, &method, params)).await
            }
            Message::Request { id, method, params } if WATCHED_METHODS.contains(&method.as_str()) => {
                let abilities = params.filter(|_| method == "initialize").map(abilities_of);
                let watched = match method.as_str() {
                    "tools/list" => Watched::List { from_start: !has_cursor(params) },
                    _ => Watched::Opening,
                };
                match server.send(Method::POST, &parts.headers, body.clone()).await {
                    Ok(answer) => self.watched(guest, peer, answer, (id, watched), abilities).await,
                    Err(broken) => self.broken(Some(&id), broken),
                }
            }
            Message::Request { id, .. } => self.plain(server, &parts, body.clone(), Some(&id)).await,
            Message::Notification { method, .. } if self.is_judged(&method) => {
                let problem = format!("`{method}` needs an id");
                refusal(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, &problem)
            }
            Message::Notification { method, params } => {
                if method == "notifications/cancelled" && !cancel(&peer, params) {
                    return empty(StatusCode::ACCEPTED);
                }
                self.plain(server, &parts, body.clone(), None).await
            }
            Message::Response { id, result, .. } if is_answer_to_us(&peer, &id, result) => {
                empty(StatusCode::ACCEPTED)
            }
            Message::Response { .. } | Message::LooseError => {
                self.plain(server, &parts, body.clone(), None).await
            }
        }
    }

    /// A batch passes where the revision has batches, and only if nothing in it is judged or watched.
    pub(super) async fn batch(self: &Arc<Self>, guest: Arc<Guest>, parts: Parts, body: Bytes) -> Answer {
        let problem = "a batch is not relayed: the revision has none, or a part of it must be judged alone";
        let refused = || refusal(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, problem);
        let Back::Url(server) = &self.back else { return refused() };
        let session = headers::one(&parts.headers, &SESSION).ok().flatten();
        let Some(session) = session else { return refused() };
        let Some(peer) = self.peers.session(session, &guest.principal) else { return no_session() };
        let has_batches = peer.state().revision.as_deref() == Some(BATCH_REVISION);
        let is_own = |id: &Id| matches!(&id.key, IdKey::Text(id) if peer.state().questions.contains_key(id));
        let fits = |batch: &Batch| batch.is_plain && !batch.ids.iter().any(is_own);
        if !has_batches || !Batch::of(&body).as_ref().is_some_and(fits) {
            return refused();
        }
        self.plain(server, &parts, body.clone(), None).await
    }

    /// The stream of a session, or its end.
    pub(super) async fn stream_or_end(self: &Arc<Self>, guest: Arc<Guest>, parts: Parts) -> Answer {
        let session = match headers::one(&parts.headers, &SESSION) {
            Ok(session) => session.map(str::to_owned),
            Err(problem) => return refusal(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, &problem),
        };
        let server = match &self.back {
            Back::Url(server) => server,
            Back::Commands(commands) => return commands.stream_or_end(&guest, &parts, session.as_deref()),
        };
        let peer = match &session {
            None => self.peers.of_principal(&guest.principal),
            Some(id) => match self.peers.session(id, &guest.principal) {
                Some(peer) => peer,
                None => return no_session(),
            },
        };
        let is_end = parts.method == Method::DELETE;
        match server.send(parts.method, &parts.headers, Bytes::new()).await {
            Err(broken) => self.broken(None, broken),
            Ok(answer) if is_end => {
                if let Some(id) = session.filter(|_| answer.status().is_success()) {
                    self.peers.end(&id);
                }
                pass(answer)
            }
            Ok(answer) if is_stream(&answer) => self.pumped(answer, peer, None),
            Ok(answer) => pass(answer),
        }
    }

    async fn plain(&self, server: &Server, parts: &Parts, body: Bytes, id: Option<&Id>) -> Answer {
        match server.send(Method::POST, &parts.headers, body).await {
            Ok(answer) if is_foreign(answer.status()) => self.foreign(id, answer.status()),
            Ok(answer) => pass(answer),
            Err(broken) => self.broken(id, broken),
        }
    }

    /// The answer to a request that tells something about the server.
    async fn watched(
        self: &Arc<Self>,
        guest: Arc<Guest>,
        mut peer: Arc<Peer>,
        answer: Response<Incoming>,
        (id, watched): (Id, Watched),
        abilities: Option<Abilities>,
    ) -> Answer {
        if is_foreign(answer.status()) {
            return self.foreign(Some(&id), answer.status());
        }
        if let Some(abilities) = abilities {
            let session = headers::one(answer.headers(), &SESSION).ok().flatten();
            match session {
                Some(session) if answer.status().is_success() => {
                    let state = PeerState { abilities, ..PeerState::default() };
                    self.peers.begin(session, &guest.principal, state);
                    peer = self.peers.session(session, &guest.principal).unwrap_or(peer);
                }
                _ => peer.state().abilities = abilities,
            }
        }
        if is_stream(&answer) {
            return self.pumped(answer, peer, Some((id, watched, guest)));
        }
        let (parts, body) = answer.into_parts();
        let Ok(body) = Limited::new(body, self.settings.bytes_max).collect().await else {
            let problem = format!("an answer of more than {} bytes is not relayed", self.settings.bytes_max);
            return refusal(StatusCode::BAD_GATEWAY, Some(&id.text), NOT_RELAYED, &problem);
        };
        let body = body.to_bytes();
        let body = self.learn(&guest, &peer, &body, &id, watched).unwrap_or(body);
        let mut answer = json(parts.status, body);
        *answer.headers_mut() = passed(&parts.headers);
        answer
    }

    /// A stream of the server, event by event as they come.
    fn pumped(
        self: &Arc<Self>,
        answer: Response<Incoming>,
        peer: Arc<Peer>,
        watched: Option<(Id, Watched, Arc<Guest>)>,
    ) -> Answer {
        let (parts, mut body) = answer.into_parts();
        let (sender, stream) = written();
        let bytes_max = self.settings.bytes_max;
        let gateway = Arc::clone(self);
        tokio::spawn(async move {
            let mut events = Events::new(bytes_max);
            loop {
                let frame = tokio::select! {
                    frame = body.frame() => frame,
                    () = sender.closed() => return,
                };
                let Some(Ok(frame)) = frame else { break };
                let Some(piece) = frame.data_ref() else { continue };
                events.feed(piece);
                while let Some(event) = events.next() {
                    // An event that is too long is left out; its request gets no answer on this stream.
                    let Piece::Whole { raw, data, .. } = event else { continue };
                    let raw = match (&watched, &data) {
                        (Some((id, watched, guest)), Some(data)) => {
                            match gateway.learn(guest, &peer, data, id, *watched) {
                                Some(changed) => super::sse::event_of(&changed),
                                None => raw,
                            }
                        }
                        _ => raw,
                    };
                    data.iter().for_each(|data| tell_call(&peer, data));
                    if sender.send(raw).await.is_err() {
                        return;
                    }
                }
            }
            let rest = events.rest();
            if !rest.is_empty() {
                let _ = sender.send(rest.into()).await;
            }
        });
        let mut answer = Response::new(stream);
        *answer.status_mut() = parts.status;
        *answer.headers_mut() = passed(&parts.headers);
        answer
    }

    /// Learns from the answer to a request; the bytes that take its place, if others do.
    fn learn(&self, guest: &Guest, peer: &Peer, message: &[u8], id: &Id, watched: Watched) -> Option<Bytes> {
        let Ok(Message::Response { id: found, result: Some(result), .. }) = Message::of_server(message)
        else {
            return None;
        };
        if found.key != id.key {
            return None;
        }
        let Watched::List { from_start } = watched else {
            let facts = serde_json::from_str::<ResultFacts>(result).unwrap_or_default();
            let mut state = peer.state();
            state.definitions.open(result);
            state.revision = facts.protocol_version.or(state.revision.take());
            return None;
        };
        match tokio::task::block_in_place(|| self.shown(guest, peer, message, result, from_start)) {
            Ok(shown) => shown.map(Bytes::from),
            Err(problem) => {
                self.note(&problem);
                let problem = format!("the tools of the server are not shown: {}", texts::shown(&problem));
                Some(texts::error(Some(&id.text), NOT_RELAYED, &problem).into())
            }
        }
    }

    /// The list with the tools that the gate lets this client see, unless that is all of them.
    fn shown(
        &self,
        guest: &Guest,
        peer: &Peer,
        message: &[u8],
        result: &str,
        from_start: bool,
    ) -> Result<Option<Vec<u8>>, String> {
        let page = Page::read(message, result)?;
        let (listing, whole) = peer.state().definitions.learn(&page, from_start, &self.upstream_hash);
        let hidden = guest.gatekeeper.hidden(&self.settings.server, listing, whole)?;
        for (tool, why) in &hidden {
            self.note(&format!("`{tool}` is hidden: {why}"));
        }
        let state = peer.state();
        match page.shown(|name| state.definitions.is_plain(name) && !hidden.contains_key(name)) {
            Cow::Borrowed(_) => Ok(None),
            Cow::Owned(changed) => Ok(Some(changed)),
        }
    }

    pub(super) fn broken(&self, id: Option<&Id>, broken: Broken) -> Answer {
        let (Broken::Unreachable(problem) | Broken::Cut(problem)) = broken;
        self.note(&format!("the MCP server does not answer: {problem}"));
        let problem = "the MCP server does not answer";
        refusal(StatusCode::BAD_GATEWAY, id.map(|id| id.text.as_str()), NOT_RELAYED, problem)
    }

    fn foreign(&self, id: Option<&Id>, status: StatusCode) -> Answer {
        let problem = credentials_refused(status);
        self.note(&problem);
        refusal(StatusCode::BAD_GATEWAY, id.map(|id| id.text.as_str()), NOT_RELAYED, &problem)
    }
}

/// A request whose answer tells something about the server.
#[derive(Clone, Copy)]
enum Watched {
    Opening,
    List { from_start: bool },
}

pub(super) fn credentials_refused(status: StatusCode) -> String {
    format!("the MCP server refuses the gateway's credentials (HTTP {status})")
}

/// An answer about the gateway's own credentials. The client's token would not help.
pub(super) fn is_foreign(status: StatusCode) -> bool {
    status == StatusCode::UNAUTHORIZED || status == StatusCode::PROXY_AUTHENTICATION_REQUIRED
}

pub(super) fn is_stream<B>(answer: &Response<B>) -> bool {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
}

fn pass(answer: Response<Incoming>) -> Answer {
    let (parts, body) = answer.into_parts();
    let mut answer = Response::new(relayed(body));
    *answer.status_mut() = parts.status;
    *answer.headers_mut() = passed(&parts.headers);
    answer
}

pub(super) fn no_session() -> Answer {
    refusal(
        StatusCode::NOT_FOUND,
        None,
        INVALID_REQUEST,
        "the session is unknown or has ended; begin another one",
    )
}

/// The answer to a call may come on another stream of its session.
fn tell_call(peer: &Peer, message: &[u8]) {
    let Ok(Message::Response { id, result, error }) = Message::of_server(message) else { return };
    let mut state = peer.state();
    if let Some(Under::Sent(events)) = state.calls.get(&id.key) {
        let _ = events.send(answered(result, error));
        state.calls.remove(&id.key);
    }
}

/// Whether the server should hear of it, too.
fn cancel(peer: &Peer, params: Option<&str>) -> bool {
    let Some(id) = cancelled_id(params) else { return true };
    match peer.state().calls.get_mut(&id.key) {
        // The server has never seen it. The action stays held.
        Some(Under::Undecided { is_cancelled }) => {
            *is_cancelled = true;
            false
        }
        Some(Under::Sent(events)) => {
            let _ = events.send(Event::Cancelled);
            true
        }
        None => true,
    }
}

/// Whether a response is for the gateway, and not for the server.
fn is_answer_to_us(peer: &Peer, id: &Id, result: Option<&str>) -> bool {
    let IdKey::Text(id) = &id.key else { return false };
    let Some(question) = peer.state().questions.remove(id) else { return false };
    let result = result.and_then(|result| serde_json::from_str(result).ok()).unwrap_or_default();
    // The call may be over by now.
    let _ = question.send(result);
    true
}

fn abilities_of(params: &str) -> Abilities {
    let said = serde_json::from_str::<Json>(params).unwrap_or_default();
    said.get("capabilities").map(Abilities::of).unwrap_or_default()
}

fn is_modern(message: &Message<'_>) -> bool {
    let (Message::Request { params: Some(params), .. } | Message::Notification { params: Some(params), .. }) =
        message
    else {
        return false;
    };
    if !params.contains(REVISION_MEMBER) {
        return false;
    }
    let params = serde_json::from_str::<Json>(params).unwrap_or_default();
    params.get("_meta").is_some_and(|meta| meta.get(REVISION_MEMBER).is_some())
}
