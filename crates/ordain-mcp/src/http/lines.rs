//! A server by URL for a client on standard input and output: its lines become requests, and the answers lines.

use super::headers::{REVISION, SESSION};
use super::sse::{Event, Events};
use super::upstream::{Broken, Server};
use crate::definitions::parameter_headers;
use crate::limits::REQUESTS_MAX;
use crate::message::{Id, Message};
use crate::relay::{ResultFacts, line_channel};
use crate::texts::{self, NOT_RELAYED};
use crate::upstream::UpstreamUrl;
use base64ct::{Base64, Encoding};
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// An error within the server, in JSON-RPC.
const INTERNAL_ERROR: i64 = -32603;
/// How long to wait before a broken stream is asked for again, unless the server says something else.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(30);
/// How often a broken stream is asked for again.
const RETRIES_MAX: u32 = 5;

/// The ends of a connection for a relay that knows lines.
pub(crate) struct Connection {
    pub(crate) input: Box<dyn Write + Send>,
    pub(crate) output: Box<dyn Read + Send>,
}

/// Lines of the relay, gathered until each is whole.
struct Gathered {
    line: Vec<u8>,
    lines: UnboundedSender<Vec<u8>>,
}

impl Write for Gathered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.ends_with(b"\n") {
                self.line.pop();
                let line = std::mem::take(&mut self.line);
                self.lines.send(line).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The session with the server.
struct Session {
    server: Server,
    state: Mutex<State>,
    lines: std::sync::mpsc::SyncSender<Vec<u8>>,
    bytes_max: usize,
    timeout: Duration,
}

#[derive(Default)]
struct State {
    id: Option<HeaderValue>,
    revision: Option<HeaderValue>,
    /// Arguments that go into headers, too, by tool.
    headers: BTreeMap<String, Vec<(HeaderName, String)>>,
}

/// Connects to a server by URL.
pub(crate) fn connect(url: &UpstreamUrl, bytes_max: usize, timeout: Duration) -> io::Result<Connection> {
    let server = Server::new(url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (lines, output) = line_channel();
    let (sender, input) = unbounded_channel();
    let session = Arc::new(Session { server, state: Mutex::default(), lines, bytes_max, timeout });
    std::thread::spawn(move || runtime.block_on(session.run(input)));
    Ok(Connection { input: Box::new(Gathered { line: Vec::new(), lines: sender }), output: Box::new(output) })
}

impl Session {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends lines until the client says nothing more.
    async fn run(self: Arc<Self>, mut input: UnboundedReceiver<Vec<u8>>) {
        let under_way = Arc::new(Semaphore::new(REQUESTS_MAX));
        while let Some(line) = input.recv().await {
            let id = match Message::of_client(&line) {
                Ok(Message::Request { id, method, .. }) => Some((id, method)),
                _ => None,
            };
            let Some((id, method)) = id else {
                // The next message may depend on it.
                self.send(None, "", line).await;
                continue;
            };
            if method == "initialize" {
                self.send(Some(&id), &method, line).await;
                self.listen();
                continue;
            }
            let Ok(place) = Arc::clone(&under_way).acquire_owned().await else { return };
            let session = Arc::clone(&self);
            tokio::spawn(async move {
                session.send(Some(&id), &method, line).await;
                drop(place);
            });
        }
        let all = u32::try_from(REQUESTS_MAX).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(self.timeout, under_way.acquire_many(all)).await;
        if self.state().id.is_some() {
            let _ =
                tokio::time::timeout(RETRY, self.server.send(Method::DELETE, &self.headers(), Bytes::new()))
                    .await;
        }
    }

    fn headers(&self) -> HeaderMap {
        let state = self.state();
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.extend(state.id.clone().map(|id| (SESSION.clone(), id)));
        headers.extend(state.revision.clone().map(|revision| (REVISION.clone(), revision)));
        headers
    }

    /// The headers of a message. In the later revisions they repeat a part of the body.
    fn headers_of(&self, line: &[u8]) -> HeaderMap {
        let mut headers = self.headers();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let Ok(message) = serde_json::from_slice::<Json>(line) else { return headers };
        let revision = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
        let Some(revision) = revision.and_then(Json::as_str) else { return headers };
        headers.remove(&SESSION);
        let mut insert = |name: HeaderName, text: &str| {
            headers.extend(header_value(text).map(|value| (name, value)));
        };
        insert(REVISION.clone(), revision);
        let text = |pointer: &str| message.pointer(pointer).and_then(Json::as_str);
        if let Some(method) = text("/method") {
            insert(HeaderName::from_static("mcp-method"), method);
        }
        let name = text("/params/name").or_else(|| text("/params/uri")).or_else(|| text("/params/taskId"));
        if let Some(name) = name {
            insert(HeaderName::from_static("mcp-name"), name);
        }
        let tool = text("/params/name").filter(|_| text("/method") == Some("tools/call"));
        let marked = tool.and_then(|tool| self.state().headers.get(tool).cloned()).unwrap_or_default();
        for (header, pointer) in marked {
            let value = match message.pointer(&format!("/params/arguments{pointer}")) {
                Some(Json::String(text)) => text.clone(),
                Some(value @ (Json::Number(_) | Json::Bool(_))) => value.to_string(),
                _ => continue,
            };
            insert(header, &value);
        }
        headers
    }

    /// Sends a message; each message of the answer becomes a line.
    async fn send(&self, id: Option<&Id>, method: &str, line: Vec<u8>) {
        let headers = self.headers_of(&line);
        let sent =
            tokio::time::timeout(self.timeout, self.server.send(Method::POST, &headers, line.into())).await;
        let (code, problem) = match sent {
            Ok(Ok(answer)) => match self.answer(answer, id, method).await {
                Ok(()) => return,
                Err(problem) => problem,
            },
            Ok(Err(Broken::Unreachable(problem))) => {
                (NOT_RELAYED, format!("nothing was done: the MCP server cannot be reached: {problem}"))
            }
            Ok(Err(Broken::Cut(problem))) => {
                (INTERNAL_ERROR, format!("nobody knows whether it was done: the connection broke: {problem}"))
            }
            Err(_) => (INTERNAL_ERROR, "nobody knows whether it was done: no answer in time".to_owned()),
        };
        if let Some(id) = id {
            self.tell(&texts::error(Some(&id.text), code, &problem)).await;
        }
    }

    /// Hands a message to the relay. A message on several lines is the same one.
    async fn tell(&self, message: &[u8]) {
        let mut line: Vec<u8> =
            message.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect();
        line.push(b'\n');
        while let Err(std::sync::mpsc::TrySendError::Full(back)) = self.lines.try_send(line) {
            line = back;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn answer(
        &self,
        answer: Response<Incoming>,
        id: Option<&Id>,
        method: &str,
    ) -> Result<(), (i64, String)> {
        let status = answer.status();
        if method == "initialize" && status.is_success() {
            self.state().id = answer.headers().get(&SESSION).cloned();
        }
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/event-stream") {
            return self.stream(answer.into_body(), id, method).await;
        }
        let mut body = answer.into_body();
        let mut text = Vec::new();
        while let Some(frame) = body.frame().await {
            let broke =
                |_| (INTERNAL_ERROR, "nobody knows whether it was done: the connection broke".to_owned());
            text.extend_from_slice(frame.map_err(broke)?.data_ref().map(AsRef::as_ref).unwrap_or_default());
            if text.len() > self.bytes_max {
                let problem = format!("an answer of more than {} bytes is not relayed", self.bytes_max);
                return Err((INTERNAL_ERROR, problem));
            }
        }
        if let (Some(id), Ok(Message::Response { id: found, result, .. })) = (id, Message::of_server(&text))
            && id.key == found.key
        {
            self.learn(method, result);
            self.tell(&text).await;
            return Ok(());
        }
        match id {
            None => Ok(()),
            Some(_) if status == StatusCode::UNAUTHORIZED => Err((
                NOT_RELAYED,
                "nothing was done: the MCP server refuses the gateway's credentials".to_owned(),
            )),
            Some(_) if status.is_client_error() => {
                Err((NOT_RELAYED, format!("nothing was done: the MCP server answered HTTP {status}")))
            }
            Some(_) => Err((
                INTERNAL_ERROR,
                format!("nobody knows whether it was done: the MCP server answered HTTP {status}"),
            )),
        }
    }

    fn learn(&self, method: &str, result: Option<&str>) {
        let Some(result) = result else { return };
        if method == "initialize" {
            let facts = serde_json::from_str::<ResultFacts>(result).unwrap_or_default();
            self.state().revision = facts.protocol_version.as_deref().and_then(header_value);
        }
        if method == "tools/list" {
            self.state().headers.extend(parameter_headers(result));
        }
    }

    /// Relays the events of a stream, and asks for the rest of one that breaks off.
    async fn stream(&self, body: Incoming, id: Option<&Id>, method: &str) -> Result<(), (i64, String)> {
        let mut body = Some(body);
        let mut last: Option<HeaderValue> = None;
        let (mut wait, mut tries) = (RETRY, 0);
        loop {
            if let Some(body) = body.take()
                && self.events(body, id, method, &mut last, &mut wait).await
            {
                return Ok(());
            }
            let Some(last_id) = last.clone().filter(|_| tries < RETRIES_MAX) else {
                let problem = "nobody knows whether it was done: the MCP server ended before it answered";
                return Err((INTERNAL_ERROR, problem.to_owned()));
            };
            tokio::time::sleep(wait).await;
            tries += 1;
            let mut headers = self.headers();
            headers.insert("last-event-id", last_id);
            if let Ok(answer) = self.server.send(Method::GET, &headers, Bytes::new()).await
                && answer.status().is_success()
            {
                body = Some(answer.into_body());
            }
        }
    }

    /// Relays events until the stream ends, or the answer is there; whether it is.
    async fn events(
        &self,
        mut body: Incoming,
        id: Option<&Id>,
        method: &str,
        last: &mut Option<HeaderValue>,
        wait: &mut Duration,
    ) -> bool {
        let mut events = Events::new(self.bytes_max);
        while let Some(Ok(frame)) = body.frame().await {
            events.feed(frame.data_ref().map(AsRef::as_ref).unwrap_or_default());
            while let Some(event) = events.next() {
                let (raw, data) = match event {
                    Event::Whole { raw, data, .. } => (raw, data),
                    Event::Long(scanner) => {
                        let found = scanner.end().and_then(|(id, _)| Id::parse(id?));
                        if let Some(id) = id.filter(|id| found.is_none_or(|found| found.key == id.key)) {
                            let problem =
                                format!("an answer of more than {} bytes is not relayed", self.bytes_max);
                            self.tell(&texts::error(Some(&id.text), INTERNAL_ERROR, &problem)).await;
                            return true;
                        }
                        continue;
                    }
                };
                for field in raw.split(|byte| *byte == b'\n' || *byte == b'\r') {
                    if let Some(value) = field.strip_prefix(b"id:") {
                        *last = HeaderValue::from_bytes(value.trim_ascii()).ok().filter(|id| !id.is_empty());
                    } else if let Some(value) = field.strip_prefix(b"retry:") {
                        let ms =
                            std::str::from_utf8(value.trim_ascii()).ok().and_then(|text| text.parse().ok());
                        *wait = ms.map_or(*wait, Duration::from_millis).min(RETRY_MAX);
                    }
                }
                let Some(data) = data else { continue };
                let answered = match (id, Message::of_server(&data)) {
                    (Some(id), Ok(Message::Response { id: found, result, .. })) if found.key == id.key => {
                        self.learn(method, result);
                        true
                    }
                    _ => false,
                };
                self.tell(&data).await;
                if answered {
                    return true;
                }
            }
        }
        false
    }

    /// Listens to what the server says on its own, if it has a stream for that.
    fn listen(self: &Arc<Self>) {
        let session = Arc::downgrade(self);
        tokio::spawn(async move {
            let (mut last, mut wait) = (None, RETRY);
            loop {
                let Some(session) = session.upgrade() else { return };
                let mut headers = session.headers();
                headers.extend(last.clone().map(|id| (HeaderName::from_static("last-event-id"), id)));
                match session.server.send(Method::GET, &headers, Bytes::new()).await {
                    Ok(answer) if answer.status().is_success() => {
                        session.events(answer.into_body(), None, "", &mut last, &mut wait).await;
                    }
                    Ok(answer) if answer.status().is_client_error() => return,
                    _ => {}
                }
                drop(session);
                tokio::time::sleep(wait).await;
            }
        });
    }
}

/// Text as a header, in base64 where a header could not carry it.
fn header_value(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if is_plain && text.trim() == text && !text.starts_with("=?base64?") {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::from_str(&format!("=?base64?{}?=", Base64::encode_string(text.as_bytes()))).ok()
}
