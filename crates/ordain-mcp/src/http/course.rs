//! A judged call over HTTP: decided, sent, answered, reported.

use super::body::{Answer, empty, json, stream, written};
use super::front::{Back, Gateway, refusal};
use super::guests::{Guest, KeptRound, Peer, Under};
use super::headers::{self, SESSION};
use super::relayed::{credentials_refused, is_foreign, is_stream};
use super::sse::{Event as Piece, Events, event_of};
use super::upstream::{Broken, passed};
use crate::call::Call;
use crate::gatekeeper::{Judged, now_ms};
use crate::hold::{Asker, Decided, Hold, TaskUse};
use crate::limits::{CANCELLED_WAIT, DEADLINE_MARGIN_MS, PROGRESS_EVERY, QUESTIONS_MAX, ROUNDS_MAX};
use crate::message::{Id, Message};
use crate::relay::{Event, OpenRound, answered};
use crate::rounds::OwnRound;
use crate::scan::Scanner;
use crate::tasks::Task;
use crate::texts::{self, INVALID_PARAMS, INVALID_REQUEST, NOT_RELAYED, Refusal};
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, HeaderMap};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use ordain_api::{UseOutcome, UseReceipt};
use serde_json::Value as Json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// The client of a call.
struct Caller {
    notes: mpsc::UnboundedSender<Vec<u8>>,
    is_gone: Arc<AtomicBool>,
    peer: Arc<Peer>,
    id: Id,
    takes_streams: bool,
    task: Option<Arc<Task>>,
}

impl Asker for Caller {
    fn say(&self, line: &[u8]) {
        // A client that has gone needs no notes.
        let _ = self.notes.send(line.to_vec());
    }

    fn is_gone(&self) -> bool {
        if let Some(task) = &self.task {
            return task.is_cancelled();
        }
        let state = self.peer.state();
        let is_cancelled =
            matches!(state.calls.get(&self.id.key), Some(Under::Undecided { is_cancelled: true }));
        is_cancelled || self.is_gone.load(Ordering::Relaxed)
    }

    fn ask(&self, id: &str, line: &[u8]) -> Option<Receiver<Json>> {
        if !self.takes_streams {
            return None;
        }
        let (sender, receiver) = channel();
        let mut state = self.peer.state();
        if state.questions.len() >= QUESTIONS_MAX {
            state.questions.pop_first();
        }
        state.questions.insert(id.to_owned(), sender);
        drop(state);
        self.say(line);
        Some(receiver)
    }

    fn forget(&self, id: &str) {
        // An answer may still come, and the server has never asked.
        if let Some(question) = self.peer.state().questions.get_mut(id) {
            *question = channel().0;
        }
    }
}

/// Notes when the client has gone before its answer began.
struct Presence {
    is_gone: Arc<AtomicBool>,
    has_answer: bool,
}

impl Drop for Presence {
    fn drop(&mut self) {
        if !self.has_answer {
            self.is_gone.store(true, Ordering::Relaxed);
        }
    }
}

/// How long a stream may go on after the answer.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// Actions are held for a day at most.
const TASK_WAIT: Duration = Duration::from_secs(25 * 60 * 60);

/// A call on its way.
struct Course {
    gateway: Arc<Gateway>,
    guest: Arc<Guest>,
    peer: Arc<Peer>,
    headers: HeaderMap,
    id: Id,
    /// Whether a result can say no; other methods have only errors.
    is_tool: bool,
    call: Call,
    is_gone: Arc<AtomicBool>,
    reply: Reply,
}

/// The way to the client.
struct Reply {
    head: Option<oneshot::Sender<Answer>>,
    pieces: Option<mpsc::Sender<Bytes>>,
    takes_streams: bool,
    /// The task that the client was answered with instead.
    task: Option<Arc<Task>>,
}

impl Reply {
    /// Begins a stream, unless one has begun; false if the client takes none.
    fn begin(&mut self) -> bool {
        if let Some(head) = self.head.take_if(|_| self.takes_streams) {
            let (sender, body) = written();
            self.pieces = Some(sender);
            let _ = head.send(stream(body));
        }
        self.pieces.is_some()
    }

    fn has_begun(&self) -> bool {
        self.head.is_none()
    }

    /// False if nobody reads any more.
    async fn piece(&self, piece: Bytes) -> bool {
        match &self.pieces {
            Some(pieces) => pieces.send(piece).await.is_ok(),
            None => false,
        }
    }

    /// The last message.
    async fn end(&mut self, status: StatusCode, headers: Option<HeaderMap>, line: Bytes) {
        if let Some(task) = &self.task {
            return task.end(&line);
        }
        match self.head.take() {
            Some(head) => {
                let mut answer = json(status, line);
                if let Some(headers) = headers {
                    *answer.headers_mut() = headers;
                }
                let _ = head.send(answer);
            }
            None => drop(self.piece(event_of(line.trim_ascii())).await),
        }
        self.pieces = None;
    }
}

impl Gateway {
    pub(super) async fn judge(
        self: &Arc<Self>,
        guest: Arc<Guest>,
        peer: Arc<Peer>,
        parts: Parts,
        body: Bytes,
        (id, method, params): (Id, &str, Option<&str>),
    ) -> Answer {
        let refused =
            |code: i64, problem: &str| refusal(StatusCode::BAD_REQUEST, Some(&id.text), code, problem);
        let round = match guest.gatekeeper.sealer().round_of(&body, now_ms()) {
            Ok(round) => round,
            Err(problem) => return refused(INVALID_PARAMS, &problem),
        };
        let body = round.as_ref().map_or(body, |round| round.line.clone().into());
        let read = match Message::of_client(&body) {
            Ok(Message::Request { params, .. }) => Call::read(method, params),
            _ => Call::read(method, params),
        };
        let call = match read {
            Ok(call) => call,
            Err(problem) => return refused(INVALID_PARAMS, &problem),
        };
        let Ok(place) = Arc::clone(&self.calls).try_acquire_owned() else {
            return refused(NOT_RELAYED, "too many calls are under way");
        };
        let has_session = parts.headers.contains_key(&SESSION);
        {
            let mut state = peer.state();
            // Without a session, ids belong to single connections.
            if has_session && state.calls.contains_key(&id.key) {
                drop(state);
                return refused(
                    INVALID_REQUEST,
                    &format!("the id {} belongs to a call that is not answered", id.text),
                );
            }
            if has_session {
                state.calls.insert(id.key.clone(), Under::Undecided { is_cancelled: false });
            }
        }
        let accepts = headers::one(&parts.headers, &ACCEPT).ok().flatten().unwrap_or_default();
        let takes_streams = accepts.contains("text/event-stream") || accepts.contains("*/*");
        let is_gone = Arc::new(AtomicBool::new(false));
        let mut presence = Presence { is_gone: Arc::clone(&is_gone), has_answer: false };
        let (sender, head) = oneshot::channel();
        let course = Course {
            gateway: Arc::clone(self),
            guest,
            peer,
            headers: parts.headers,
            id,
            is_tool: method == "tools/call",
            call,
            is_gone,
            reply: Reply { head: Some(sender), pieces: None, takes_streams, task: None },
        };
        tokio::spawn(async move {
            course.run(body, round).await;
            drop(place);
        });
        let answer = head.await;
        presence.has_answer = true;
        answer.unwrap_or_else(|_| empty(StatusCode::ACCEPTED))
    }
}

/// The end of a call that was sent.
struct End {
    outcome: UseOutcome,
    reason: String,
}

impl End {
    fn failed(reason: impl Into<String>) -> Self {
        Self { outcome: UseOutcome::Failed, reason: reason.into() }
    }

    fn unknown(reason: impl Into<String>) -> Self {
        Self { outcome: UseOutcome::Unknown, reason: reason.into() }
    }
}

impl Course {
    async fn run(mut self, body: Bytes, round: Option<OwnRound>) {
        let next = self.next_round();
        let (used, began) = match next {
            Some(OpenRound { used, began }) => (used, began),
            None => match self.decide_in_time(round).await {
                Ok(Decided::Run(used)) => (used, std::time::Instant::now()),
                Ok(Decided::Gone | Decided::Task(_)) => {
                    self.reply.task.iter().for_each(|task| task.withdraw());
                    return self.leave();
                }
                Ok(Decided::Result(result)) => {
                    self.leave();
                    let line = texts::result(&self.id.text, &result);
                    return self.reply.end(StatusCode::OK, None, line.into()).await;
                }
                Err(refusal) => {
                    self.leave();
                    return self.refuse(&refusal).await;
                }
            },
        };
        let (sender, mut elsewhere) = mpsc::unbounded_channel();
        let is_cancelled = {
            let mut state = self.peer.state();
            let found = state.calls.get(&self.id.key);
            let is_cancelled = matches!(found, Some(Under::Undecided { is_cancelled: true }));
            if found.is_some() && !is_cancelled {
                state.calls.insert(self.id.key.clone(), Under::Sent(sender));
            }
            is_cancelled
        };
        if is_cancelled {
            self.leave();
            return self.report(used, End::failed("the call was not sent"), began);
        }
        let left_ms = used.deadline_ms.saturating_sub(now_ms()).saturating_sub(DEADLINE_MARGIN_MS);
        let end = Instant::now() + self.gateway.settings.timeout.min(Duration::from_millis(left_ms));
        let ended = self.send(body, end, &mut elsewhere).await;
        self.leave();
        match ended {
            Ok(end) => self.report(used, end, began),
            Err(state) => self.keep_round(used, began, state.as_deref()),
        }
    }

    /// The call is not under way any more.
    fn leave(&self) {
        self.peer.state().calls.remove(&self.id.key);
    }

    /// The use that a further round of a call belongs to: it was decided before.
    fn next_round(&self) -> Option<OpenRound> {
        let state = self.call.answers_round()?;
        let key = self.call.round_key(state)?;
        self.peer.state().rounds.remove(&key).map(|kept| kept.round)
    }

    /// Keeps the use of a call in which the server asked something.
    fn keep_round(self, used: UseReceipt, began: std::time::Instant, state: Option<&str>) {
        let (peer, guest, gateway) = (self.peer, self.guest, self.gateway);
        let left_ms = used.deadline_ms.saturating_sub(now_ms()).saturating_sub(DEADLINE_MARGIN_MS);
        let number = (used.permit_id.clone(), used.number);
        let kept = KeptRound { round: OpenRound { used, began }, guest };
        let leave = move |kept: KeptRound| {
            let gateway = Arc::clone(&gateway);
            tokio::task::spawn_blocking(move || {
                if let Err(problem) = kept.leave() {
                    gateway.note(&format!("the outcome of a call was not recorded: {problem}"));
                }
            });
        };
        let Some(key) = self.call.round_key(state) else { return leave(kept) };
        let lost = {
            let mut state = peer.state();
            if state.rounds.len() < ROUNDS_MAX { state.rounds.insert(key.clone(), kept) } else { Some(kept) }
        };
        lost.into_iter().for_each(&leave);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(left_ms)).await;
            let is_same = |kept: &KeptRound| {
                (&kept.round.used.permit_id, kept.round.used.number) == (&number.0, number.1)
            };
            let mut state = peer.state();
            let late =
                if state.rounds.get(&key).is_some_and(is_same) { state.rounds.remove(&key) } else { None };
            drop(state);
            late.into_iter().for_each(&leave);
        });
    }

    /// Decides; a held call becomes a task where the client knows tasks, and is decided on.
    async fn decide_in_time(&mut self, round: Option<OwnRound>) -> Result<Decided, Refusal> {
        let action = match self.decide(round).await? {
            Decided::Task(action) => action,
            decided => return Ok(decided),
        };
        let Some(task) = self.peer.tasks.begin(&action) else {
            return Err(texts::held(&self.call.tool, &action));
        };
        let line = texts::result(&self.id.text, &task.result());
        self.reply.end(StatusCode::OK, None, line.into()).await;
        self.reply = Reply { head: None, pieces: None, takes_streams: false, task: Some(Arc::clone(&task)) };
        let decided = self.decide(None).await;
        if matches!(decided, Ok(Decided::Run(_))) {
            task.say("approved; the server has the call");
        }
        decided
    }

    /// Asks the gate, and people if it wants them. The client hears of it meanwhile.
    async fn decide(&mut self, round: Option<OwnRound>) -> Result<Decided, Refusal> {
        let (notes, mut said) = mpsc::unbounded_channel();
        let caller = Caller {
            notes,
            is_gone: Arc::clone(&self.is_gone),
            peer: Arc::clone(&self.peer),
            id: self.id.clone(),
            takes_streams: self.reply.takes_streams,
            task: self.reply.task.clone(),
        };
        let (gateway, guest, call) = (Arc::clone(&self.gateway), Arc::clone(&self.guest), self.call.clone());
        let deciding = move || {
            let undecided = |problem: String| texts::undecided(&call.tool, &problem);
            let (pins, abilities) = {
                let state = caller.peer.state();
                let abilities = if call.is_modern { call.abilities } else { state.abilities };
                (state.definitions.pins(&call.tool).map_err(undecided)?, abilities)
            };
            let settings = &gateway.settings;
            let judged =
                Judged::of(&call, &settings.server, &gateway.upstream_hash, pins).map_err(undecided)?;
            let hold = Hold {
                gatekeeper: &guest.gatekeeper,
                call: &call,
                judged: &judged,
                round: round.as_ref(),
                abilities,
                asker: &caller,
                wait: if caller.task.is_some() { TASK_WAIT } else { settings.wait },
                console: settings.console.as_deref(),
                task: if caller.task.is_some() { TaskUse::Running } else { TaskUse::Possible },
            };
            hold.decide()
        };
        let mut deciding = tokio::task::spawn_blocking(deciding);
        let mut quiet = tokio::time::interval_at(Instant::now() + PROGRESS_EVERY, PROGRESS_EVERY);
        loop {
            let pieces = self.reply.pieces.clone().filter(|_| !self.is_gone.load(Ordering::Relaxed));
            tokio::select! {
                biased;
                Some(line) = said.recv() => {
                    if self.reply.begin() && !self.reply.piece(event_of(&line)).await {
                        self.is_gone.store(true, Ordering::Relaxed);
                    }
                }
                decided = &mut deciding => {
                    while let Ok(line) = said.try_recv() {
                        if self.reply.begin() {
                            self.reply.piece(event_of(&line)).await;
                        }
                    }
                    let bug = |_| texts::undecided(&self.call.tool, "the gateway has a bug");
                    return decided.map_err(bug)?;
                }
                () = closed(pieces) => self.is_gone.store(true, Ordering::Relaxed),
                _ = quiet.tick() => {
                    // Connections without traffic are taken for dead ones.
                    if self.reply.begin() && !self.reply.piece(Bytes::from_static(b": waiting\n\n")).await {
                        self.is_gone.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    /// Sends the call and relays its answer. Gives the state of another round if the server asks for one.
    async fn send(
        &mut self,
        body: Bytes,
        end: Instant,
        elsewhere: &mut mpsc::UnboundedReceiver<Event>,
    ) -> Result<End, Option<String>> {
        let gateway = Arc::clone(&self.gateway);
        let Back::Url(server) = &gateway.back else {
            return Ok(End::unknown("the gateway has no such server"));
        };
        let sending = server.send(Method::POST, &self.headers, body);
        let sent = tokio::select! {
            sent = tokio::time::timeout_at(end, sending) => sent,
            () = self.closed() => return Ok(End::unknown("the client cancelled the call")),
        };
        let tool = self.call.tool.clone();
        let answer = match sent {
            Err(_) => return Ok(self.doubt("the server did not answer in time").await),
            Ok(Err(Broken::Unreachable(problem))) => {
                gateway.note(&format!("the MCP server cannot be reached: {problem}"));
                self.refuse(&texts::undecided(&tool, "the MCP server cannot be reached")).await;
                return Ok(End {
                    outcome: UseOutcome::Failed,
                    reason: "the server cannot be reached".to_owned(),
                });
            }
            Ok(Err(Broken::Cut(problem))) => {
                gateway.note(&format!("the MCP server broke off: {problem}"));
                return Ok(self.doubt("the connection to the server broke").await);
            }
            Ok(Ok(answer)) => answer,
        };
        if is_foreign(answer.status()) {
            let problem = credentials_refused(answer.status());
            gateway.note(&problem);
            self.refuse(&texts::undecided(&tool, &problem)).await;
            return Ok(End::failed(problem));
        }
        if is_stream(&answer) {
            return self.stream(answer, end, elsewhere).await;
        }
        self.whole(answer, end).await
    }

    /// The client has gone, in the revisions where that means that it cancels. Never, in others.
    async fn closed(&self) {
        if !self.call.is_modern {
            return std::future::pending().await;
        }
        match (&self.reply.head, &self.reply.pieces) {
            (_, Some(pieces)) => pieces.closed().await,
            (Some(_), None) => {
                while !self.is_gone.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            (None, None) => std::future::pending().await,
        }
    }

    /// An answer of one piece.
    async fn whole(&mut self, answer: Response<Incoming>, end: Instant) -> Result<End, Option<String>> {
        let (parts, mut body) = answer.into_parts();
        let bytes_max = self.gateway.settings.bytes_max;
        let mut text = Vec::new();
        let mut long: Option<Scanner> = None;
        loop {
            let frame = tokio::select! {
                frame = tokio::time::timeout_at(end, body.frame()) => frame,
                () = self.closed() => return Ok(End::unknown("the client cancelled the call")),
            };
            let piece = match frame {
                Err(_) => return Ok(self.doubt("the server did not answer in time").await),
                Ok(Some(Err(_))) => return Ok(self.doubt("the connection to the server broke").await),
                Ok(None) => break,
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            };
            if let Some(scanner) = &mut long {
                scanner.feed(&piece);
            } else if text.len() + piece.len() > bytes_max {
                let scanner = long.insert(Scanner::default());
                scanner.feed(&text);
                scanner.feed(&piece);
                text = Vec::new();
            } else {
                text.extend_from_slice(&piece);
            }
        }
        if let Some(scanner) = long {
            return Ok(self.too_long(&scanner).await);
        }
        let end = match Message::of_server(&text) {
            Ok(Message::Response { id, result, error }) if id.key == self.id.key => answered(result, error),
            Ok(Message::LooseError) if parts.status.is_client_error() => refused_by_server(parts.status),
            _ if parts.status.is_client_error() => refused_by_server(parts.status),
            _ if parts.status.is_server_error() => {
                let reason = format!("the server answered HTTP {}", parts.status);
                Event::Answered { outcome: UseOutcome::Unknown, reason }
            }
            _ => return Ok(self.doubt("the answer of the server cannot be read").await),
        };
        let is_message = Message::of_server(&text).is_ok();
        if self.reply.has_begun() && !is_message {
            let problem = format!("the MCP server answered HTTP {}", parts.status);
            self.refuse(&texts::undecided(&self.call.tool, &problem)).await;
        } else {
            self.reply.end(parts.status, Some(passed(&parts.headers)), text.into()).await;
        }
        ended(end)
    }

    /// An answer as a stream of events.
    async fn stream(
        &mut self,
        answer: Response<Incoming>,
        mut end: Instant,
        elsewhere: &mut mpsc::UnboundedReceiver<Event>,
    ) -> Result<End, Option<String>> {
        let (parts, mut body) = answer.into_parts();
        if let Some(head) = self.reply.head.take() {
            let (sender, stream) = written();
            let mut answer = Response::new(stream);
            *answer.status_mut() = parts.status;
            *answer.headers_mut() = passed(&parts.headers);
            self.reply.pieces = Some(sender);
            let _ = head.send(answer);
        }
        let mut events = Events::new(self.gateway.settings.bytes_max);
        let mut found: Option<Event> = None;
        let (mut has_ids, mut is_cancelled) = (false, false);
        loop {
            let frame = tokio::select! {
                frame = tokio::time::timeout_at(end, body.frame()) => frame,
                Some(event) = elsewhere.recv() => {
                    if matches!(event, Event::Cancelled) {
                        is_cancelled = true;
                        end = end.min(Instant::now() + CANCELLED_WAIT);
                    } else {
                        found = found.or(Some(event));
                    }
                    continue;
                }
                () = self.closed(), if found.is_none() => return Ok(End::unknown("the client cancelled the call")),
            };
            let piece = match frame {
                Err(_) if found.is_some() => break,
                Err(_) if is_cancelled => return Ok(self.doubt("the client cancelled the call").await),
                Err(_) => return Ok(self.doubt("the server did not answer in time").await),
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
                Ok(None | Some(Err(_))) => break,
            };
            events.feed(&piece);
            while let Some(event) = events.next() {
                match event {
                    Piece::Whole { raw, data, has_id } => {
                        has_ids |= has_id;
                        let answer = data.as_deref().and_then(|data| answer_to(&self.id, data));
                        if answer.is_some() && found.is_some() {
                            // A second answer would pass for the first one.
                            continue;
                        }
                        if answer.is_some() {
                            // Servers close the stream after the answer. One that does not is not waited for.
                            end = end.min(Instant::now() + LAST_EVENTS);
                        }
                        let is_answer = answer.is_some();
                        found = found.or(answer);
                        if let (Some(task), true, Some(data)) = (&self.reply.task, is_answer, &data) {
                            task.end(data);
                        }
                        // A client of the earlier revisions may come back for the rest.
                        self.reply.piece(raw).await;
                    }
                    Piece::Long(scanner) => {
                        let id = scanner.end().filter(|(_, is_request)| !is_request);
                        let id = id.and_then(|(id, _)| Id::parse(id?));
                        if found.is_none() && id.is_none_or(|id| id.key == self.id.key) {
                            return Ok(self.too_long(&scanner).await);
                        }
                    }
                }
            }
            if found.is_some() && matches!(found, Some(Event::Answered { .. })) && end_of(&body) {
                break;
            }
        }
        match found {
            Some(event) => ended(event),
            None if has_ids && self.headers.contains_key(&SESSION) => {
                // The client comes back on another stream of its session, which is watched, too.
                self.reply.pieces = None;
                self.resumed(end, elsewhere).await
            }
            None => Ok(self.doubt("the server ended before it answered").await),
        }
    }

    async fn resumed(
        &mut self,
        end: Instant,
        elsewhere: &mut mpsc::UnboundedReceiver<Event>,
    ) -> Result<End, Option<String>> {
        loop {
            match tokio::time::timeout_at(end, elsewhere.recv()).await {
                Ok(Some(Event::Cancelled)) => {}
                Ok(Some(event)) => return ended(event),
                Ok(None) | Err(_) => return Ok(End::unknown("nobody came back for the answer")),
            }
        }
    }

    async fn too_long(&mut self, scanner: &Scanner) -> End {
        let refusal = texts::too_long(&self.call.tool, scanner.bytes, self.gateway.settings.bytes_max);
        self.refuse(&refusal).await;
        End { outcome: UseOutcome::Succeeded, reason: "the server answered with too much".to_owned() }
    }

    /// Nobody knows whether the call was carried out.
    async fn doubt(&mut self, problem: &str) -> End {
        let refusal = texts::unknown(&self.call.tool, problem);
        self.refuse(&refusal).await;
        End::unknown(problem)
    }

    async fn refuse(&mut self, refusal: &Refusal) {
        let (status, line) = if self.is_tool {
            (StatusCode::OK, texts::error_result(&self.id.text, refusal, self.call.is_modern))
        } else {
            (StatusCode::BAD_REQUEST, texts::error(Some(&self.id.text), NOT_RELAYED, &refusal.text))
        };
        self.reply.end(status, None, line.into()).await;
    }

    /// Reports how the call went, after its answer.
    fn report(self, used: UseReceipt, end: End, began: std::time::Instant) {
        let (gateway, guest) = (self.gateway, self.guest);
        tokio::task::spawn_blocking(move || {
            let End { outcome, reason } = end;
            if let Err(problem) = guest.gatekeeper.report(&used, outcome, &reason, began.elapsed()) {
                gateway.note(&format!("the outcome of {} was not recorded: {problem}", used.action_id));
            }
        });
    }
}

/// Ends when nobody reads a stream any more; never without one.
async fn closed(pieces: Option<mpsc::Sender<Bytes>>) {
    match pieces {
        Some(pieces) => pieces.closed().await,
        None => std::future::pending().await,
    }
}

fn end_of(body: &Incoming) -> bool {
    hyper::body::Body::is_end_stream(body)
}

/// How the call went, if a message is its answer.
fn answer_to(id: &Id, message: &[u8]) -> Option<Event> {
    match Message::of_server(message) {
        Ok(Message::Response { id: found, result, error }) if found.key == id.key => {
            Some(answered(result, error))
        }
        _ => None,
    }
}

/// A server that answers so has not begun.
fn refused_by_server(status: StatusCode) -> Event {
    Event::Answered { outcome: UseOutcome::Failed, reason: format!("the server answered HTTP {status}") }
}

/// The end of a call by its answer; the state of another round if the server asks for one.
fn ended(event: Event) -> Result<End, Option<String>> {
    match event {
        Event::Answered { outcome, reason } => Ok(End { outcome, reason }),
        Event::Asked { state } => Err(state),
        Event::TooLong { .. } => {
            Ok(End { outcome: UseOutcome::Succeeded, reason: "the server answered with too much".to_owned() })
        }
        Event::Garbage { problem } => Ok(End::unknown(problem)),
        Event::Cancelled | Event::Gone => Ok(End::unknown("the server ended before it answered")),
    }
}
