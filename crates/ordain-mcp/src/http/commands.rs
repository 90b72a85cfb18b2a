//! A server that is a program, for clients over HTTP: one process for each session. In the revisions without sessions,
//! a principal's requests share a process as long as their ids differ.

use super::body::{Answer, empty, json, stream, written};
use super::front::{Gateway, refusal};
use super::guests::Guest;
use super::headers::SESSION;
use super::relayed::no_session;
use super::sse::event_of;
use crate::gatekeeper::random_id;
use crate::limits::PROCESSES_MAX;
use crate::message::{Id, IdKey, Message};
use crate::relay::{line_channel, relay};
use crate::texts::{INVALID_REQUEST, NOT_RELAYED};
use hyper::body::Bytes;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use serde_json::Value as Json;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Messages of a server that wait for their client.
const WAITING_MAX: usize = 64;
/// How long servers may take to end with the gateway.
const END_WAIT: Duration = Duration::from_secs(5);

/// The processes.
#[derive(Default)]
pub(super) struct Commands {
    sessions: Mutex<BTreeMap<String, Arc<Process>>>,
    running: Arc<AtomicUsize>,
}

/// A server that runs for one session, or for one principal.
struct Process {
    principal: String,
    /// Whether it speaks the revisions without sessions.
    is_modern: bool,
    input: Mutex<Option<SyncSender<Vec<u8>>>>,
    router: Arc<Router>,
    used_at: Mutex<Instant>,
}

/// Knows which request of the client a message of the server belongs to.
#[derive(Default)]
struct Router(Mutex<Routes>);

#[derive(Default)]
struct Routes {
    requests: BTreeMap<IdKey, Route>,
    /// The stream that belongs to no request.
    stream: Option<mpsc::Sender<Vec<u8>>>,
    /// Messages from before there was a stream.
    waiting: VecDeque<Vec<u8>>,
    began: u64,
    is_over: bool,
}

struct Route {
    number: u64,
    answers: mpsc::Sender<Vec<u8>>,
    token: Option<Json>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Router {
    fn routes(&self) -> MutexGuard<'_, Routes> {
        locked(&self.0)
    }

    /// Hands a message of the server to whoever waits for it. Blocks while its client does not read.
    fn hand(&self, line: Vec<u8>) {
        let to = {
            let mut routes = self.routes();
            match Message::of_server(&line) {
                Ok(Message::Response { id, .. }) => {
                    routes.requests.remove(&id.key).map(|route| route.answers)
                }
                Ok(Message::Request { .. }) => routes.of_no_request(),
                Ok(Message::Notification { method, params }) => {
                    let token = params.filter(|_| method == "notifications/progress");
                    let token = token.and_then(|params| serde_json::from_str::<Json>(params).ok());
                    let token = token.and_then(|params| params.get("progressToken").cloned());
                    let route =
                        routes.requests.values().find(|route| token.is_some() && route.token == token);
                    match route {
                        Some(route) => Some(route.answers.clone()),
                        None => routes.of_no_request(),
                    }
                }
                _ => routes.of_no_request(),
            }
        };
        match to {
            // The client may have gone.
            Some(to) => drop(to.blocking_send(line)),
            None => {
                let mut routes = self.routes();
                if routes.waiting.len() < WAITING_MAX {
                    routes.waiting.push_back(line);
                }
            }
        }
    }
}

impl Routes {
    /// Where a message goes that names no request: to the only one there is, or to the stream, or to the latest one.
    fn of_no_request(&mut self) -> Option<mpsc::Sender<Vec<u8>>> {
        self.stream.take_if(|stream| stream.is_closed());
        let latest = self.requests.values().filter(|route| !route.answers.is_closed());
        let latest = latest.max_by_key(|route| route.number).map(|route| route.answers.clone());
        if self.requests.len() == 1 && latest.is_some() {
            return latest;
        }
        self.stream.clone().or(latest)
    }
}

/// The relay's writer: it flushes after each line.
struct Output {
    line: Vec<u8>,
    router: Arc<Router>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        while line.last().is_some_and(|byte| *byte == b'\n' || *byte == b'\r') {
            line.pop();
        }
        self.router.hand(line);
        Ok(())
    }
}

impl Process {
    fn start(
        gateway: &Gateway,
        guest: &Arc<Guest>,
        is_modern: bool,
        running: &Arc<AtomicUsize>,
    ) -> Arc<Self> {
        let (input, lines) = line_channel();
        let router = Arc::new(Router::default());
        let output = Output { line: Vec::new(), router: Arc::clone(&router) };
        let process = Arc::new(Self {
            principal: guest.principal.clone(),
            is_modern,
            input: Mutex::new(Some(input)),
            router: Arc::clone(&router),
            used_at: Mutex::new(Instant::now()),
        });
        let (settings, gatekeeper) = (gateway.settings.clone(), Arc::clone(&guest.gatekeeper));
        let running = Arc::clone(running);
        running.fetch_add(1, Ordering::SeqCst);
        let weak = Arc::downgrade(&process);
        std::thread::spawn(move || {
            // Nobody else says stop: it ends with its input.
            let (_stop, stopped) = channel();
            let name = settings.server.clone();
            if let Err(error) = relay(settings, gatekeeper, lines, output, stopped) {
                // Nobody may read it.
                let _ = writeln!(io::stderr(), "ordain: {name}: {error}");
            }
            let mut routes = router.routes();
            routes.is_over = true;
            routes.requests.clear();
            routes.stream = None;
            drop(routes);
            if let Some(process) = weak.upgrade() {
                process.end();
            }
            running.fetch_sub(1, Ordering::SeqCst);
        });
        process
    }

    fn end(&self) {
        locked(&self.input).take();
    }

    fn send(&self, body: &Bytes) -> bool {
        *locked(&self.used_at) = Instant::now();
        // A message on several lines is the same one: no string of it has a line feed.
        let mut line: Vec<u8> =
            body.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect();
        line.push(b'\n');
        let input = locked(&self.input).clone();
        let Some(input) = input else { return false };
        match input.try_send(line) {
            Ok(()) => true,
            Err(TrySendError::Disconnected(_)) => false,
            // The server reads slowly. Others go on meanwhile.
            Err(TrySendError::Full(line)) => tokio::task::block_in_place(|| input.send(line).is_ok()),
        }
    }

    fn is_idle(&self) -> bool {
        let routes = self.router.routes();
        routes.requests.is_empty() && routes.stream.as_ref().is_none_or(mpsc::Sender::is_closed)
    }

    fn is_over(&self) -> bool {
        self.router.routes().is_over
    }
}

impl Commands {
    /// Ends every server.
    pub(super) fn end(&self) {
        let sessions = std::mem::take(&mut *locked(&self.sessions));
        sessions.values().for_each(|process| process.end());
        let end = Instant::now() + END_WAIT;
        while self.running.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts a server, and ends the one that was idle longest if there are too many.
    fn begin(
        &self,
        gateway: &Gateway,
        guest: &Arc<Guest>,
        is_modern: bool,
    ) -> Result<(String, Arc<Process>), String> {
        let id = random_id()?;
        let mut sessions = locked(&self.sessions);
        sessions.retain(|_, process| !process.is_over());
        if sessions.len() >= PROCESSES_MAX {
            let idle = sessions.iter().filter(|(_, process)| process.is_idle());
            let oldest = idle.min_by_key(|(_, process)| *locked(&process.used_at)).map(|(id, _)| id.clone());
            let oldest = oldest.ok_or("too many sessions are under way")?;
            sessions.remove(&oldest).iter().for_each(|process| process.end());
        }
        let process = Process::start(gateway, guest, is_modern, &self.running);
        sessions.insert(id.clone(), Arc::clone(&process));
        Ok((id, process))
    }

    /// A server of the revisions without sessions in which nothing has this id or this token.
    fn shared(
        &self,
        gateway: &Gateway,
        guest: &Arc<Guest>,
        id: Option<&Id>,
        token: Option<&Json>,
    ) -> Result<Arc<Process>, String> {
        let is_free = |process: &Process| {
            let routes = process.router.routes();
            let same_token = |route: &Route| token.is_some() && route.token.as_ref() == token;
            !routes.is_over
                && id.is_none_or(|id| !routes.requests.contains_key(&id.key))
                && !routes.requests.values().any(same_token)
        };
        let found = locked(&self.sessions)
            .values()
            .find(|process| process.is_modern && process.principal == guest.principal && is_free(process))
            .cloned();
        match found {
            Some(process) => Ok(process),
            None => self.begin(gateway, guest, true).map(|(_, process)| process),
        }
    }

    fn session(&self, id: &str, principal: &str) -> Option<Arc<Process>> {
        let process = locked(&self.sessions).get(id).cloned()?;
        let is_own = process.principal == principal && !process.is_modern && !process.is_over();
        is_own.then_some(process)
    }

    pub(super) async fn message(
        &self,
        gateway: &Gateway,
        guest: Arc<Guest>,
        parts: Parts,
        body: Bytes,
        message: Message<'_>,
        is_modern: bool,
    ) -> Answer {
        let session = parts.headers.get(&SESSION).and_then(|id| id.to_str().ok());
        let (id, method, params) = match message {
            Message::Request { id, method, params } => (Some(id), method, params),
            Message::Notification { method, params } => (None, method, params),
            Message::Response { .. } | Message::LooseError => (None, String::new(), None),
        };
        let token = params.and_then(progress_token);
        let mut begun = None;
        let process = if is_modern {
            match self.shared(gateway, &guest, id.as_ref(), token.as_ref()) {
                Ok(process) => process,
                Err(problem) => return busy(id.as_ref(), &problem),
            }
        } else if let Some(session) = session {
            match self.session(session, &guest.principal) {
                Some(process) => process,
                None => return no_session(),
            }
        } else if method == "initialize" {
            match self.begin(gateway, &guest, false) {
                Ok((session, process)) => {
                    begun = Some(session);
                    process
                }
                Err(problem) => return busy(id.as_ref(), &problem),
            }
        } else {
            let problem = "the request needs the session that `initialize` began";
            let id = id.as_ref().map(|id| id.text.as_str());
            return refusal(StatusCode::BAD_REQUEST, id, INVALID_REQUEST, problem);
        };
        let Some(id) = id else {
            return if process.send(&body) { empty(StatusCode::ACCEPTED) } else { no_session() };
        };
        let (sender, answers) = mpsc::channel(WAITING_MAX);
        {
            let mut routes = process.router.routes();
            if routes.requests.contains_key(&id.key) {
                drop(routes);
                let problem = format!("the id {} belongs to a request that is not answered", id.text);
                return refusal(StatusCode::BAD_REQUEST, Some(&id.text), INVALID_REQUEST, &problem);
            }
            routes.began += 1;
            let number = routes.began;
            routes.requests.insert(id.key.clone(), Route { number, answers: sender, token });
        }
        if !process.send(&body) {
            process.router.routes().requests.remove(&id.key);
            return no_session();
        }
        let mut answer = answered(Waiting { process, id, answers, is_modern, is_over: false }).await;
        let session = begun.and_then(|session| session.parse().ok());
        answer.headers_mut().extend(session.map(|session| (SESSION.clone(), session)));
        answer
    }

    pub(super) fn stream_or_end(&self, guest: &Guest, parts: &Parts, session: Option<&str>) -> Answer {
        let Some(session) = session else {
            return refusal(StatusCode::METHOD_NOT_ALLOWED, None, INVALID_REQUEST, "this needs a session");
        };
        let Some(process) = self.session(session, &guest.principal) else { return no_session() };
        if parts.method == Method::DELETE {
            locked(&self.sessions).remove(session);
            process.end();
            return empty(StatusCode::NO_CONTENT);
        }
        let (sender, mut lines) = mpsc::channel(WAITING_MAX);
        let (pieces, body) = written();
        let waiting = {
            let mut routes = process.router.routes();
            routes.stream = Some(sender);
            std::mem::take(&mut routes.waiting)
        };
        tokio::spawn(async move {
            for line in waiting {
                if pieces.send(event_of(&line)).await.is_err() {
                    return;
                }
            }
            loop {
                let line = tokio::select! {
                    line = lines.recv() => line,
                    () = pieces.closed() => return,
                };
                let Some(line) = line else { return };
                if pieces.send(event_of(&line)).await.is_err() {
                    return;
                }
            }
        });
        stream(body)
    }
}

/// A request that its client waits for.
struct Waiting {
    process: Arc<Process>,
    id: Id,
    answers: mpsc::Receiver<Vec<u8>>,
    is_modern: bool,
    is_over: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.is_over || !self.is_modern {
            return;
        }
        // In the later revisions, a client that goes cancels.
        let id = &self.id.text;
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}"
        );
        self.process.send(&line.into());
        self.process.router.routes().requests.remove(&self.id.key);
    }
}

async fn answered(mut waiting: Waiting) -> Answer {
    let Some(first) = waiting.answers.recv().await else {
        waiting.is_over = true;
        return refusal(
            StatusCode::BAD_GATEWAY,
            Some(&waiting.id.text),
            NOT_RELAYED,
            "the MCP server has ended",
        );
    };
    if is_answer(&first, &waiting.id) {
        waiting.is_over = true;
        return json(status_of(&first), first);
    }
    let (pieces, body) = written();
    tokio::spawn(async move {
        let mut line = Some(first);
        while let Some(message) = line {
            if is_answer(&message, &waiting.id) {
                waiting.is_over = true;
            }
            if pieces.send(event_of(&message)).await.is_err() || waiting.is_over {
                return;
            }
            line = tokio::select! {
                line = waiting.answers.recv() => line,
                () = pieces.closed(), if waiting.is_modern => return,
            };
        }
    });
    stream(body)
}

fn is_answer(line: &[u8], id: &Id) -> bool {
    matches!(Message::of_server(line), Ok(Message::Response { id: found, .. }) if found.key == id.key)
}

/// The status that the later revisions have for some errors; the earlier ones read the body alone.
fn status_of(line: &[u8]) -> StatusCode {
    let Ok(Message::Response { error: Some(error), .. }) = Message::of_server(line) else {
        return StatusCode::OK;
    };
    let error = serde_json::from_str::<Json>(error).unwrap_or_default();
    match error.get("code").and_then(Json::as_i64) {
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

fn progress_token(params: &str) -> Option<Json> {
    let params = serde_json::from_str::<Json>(params).ok()?;
    params.pointer("/_meta/progressToken").cloned()
}

fn busy(id: Option<&Id>, problem: &str) -> Answer {
    refusal(StatusCode::SERVICE_UNAVAILABLE, id.map(|id| id.text.as_str()), NOT_RELAYED, problem)
}
