//! The relay: lines of the client to the server and back, as they came. Calls that
//! the gate judges take the way over [`crate::gatekeeper`].

mod by_url;
mod calls;
mod from_client;
mod from_server;
mod listing;

use crate::abilities::Abilities;
use crate::definitions::Definitions;
use crate::gatekeeper::Gatekeeper;
use crate::http::connect;
use crate::limits::END_WAIT;
use crate::message::{Id, IdKey};
use crate::texts;
use crate::upstream::{self, Upstream};
pub(crate) use by_url::line_channel;
pub(crate) use calls::{Event, OpenRound};
pub(crate) use from_client::{BATCH_REVISION, cancelled_id, has_cursor};
pub(crate) use from_server::{ResultFacts, answered};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The settings of a gateway.
#[derive(Clone)]
pub struct Settings {
    /// The server's name, as `tools.toml` and people know it.
    pub server: String,
    /// The server.
    pub upstream: Upstream,
    /// How long a held call waits for approval before the client hears of it.
    pub wait: Duration,
    /// How long the server may take to answer a call; the permit's own limit counts too.
    pub timeout: Duration,
    /// Bytes of one message.
    pub bytes_max: usize,
    /// Methods that are judged besides `tools/call`: `resources/read`, `prompts/get`.
    pub gated: BTreeSet<String>,
    /// The address of the console, where people approve.
    pub console: Option<String>,
}

/// Why there is nothing to relay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// The server does not start.
    #[error("the server cannot be started: {0}")]
    Start(std::io::Error),
    /// The server cannot be waited for.
    #[error("the server cannot be waited for: {0}")]
    End(std::io::Error),
}

/// A request of the client that has no answer yet.
enum Pending {
    /// Sent; the answer passes as it is.
    Plain { id: String },
    /// Sent; the answer tells something about the server.
    Opening { id: String },
    /// Sent; the gate says which tools of the answer the client sees.
    Listing { id: String, from_start: bool },
    /// The gate is asked, or people are.
    Undecided { cancelled: bool },
    /// A judged call that was sent.
    Sent(Sender<Event>),
}

#[derive(Default)]
struct State {
    pending: BTreeMap<IdKey, Pending>,
    /// Calls whose thread lives.
    calls: usize,
    /// Calls that are neither sent nor answered.
    undecided: usize,
    /// The client has gone.
    closing: bool,
    /// Nothing more is relayed.
    over: bool,
    /// The server has gone.
    ended: bool,
    /// The revision that client and server agreed on, if they said.
    revision: Option<String>,
    /// The definitions that the server lists.
    definitions: Definitions,
    /// Calls in which the server asked something, by what a further round of them looks like.
    rounds: BTreeMap<String, OpenRound>,
    /// How the client can hear of a held call.
    abilities: Abilities,
    /// Questions that the gateway asked the client, by their ids.
    questions: BTreeMap<String, Sender<Json>>,
}

struct Relay {
    settings: Settings,
    upstream_hash: String,
    gatekeeper: Arc<Gatekeeper>,
    client: Mutex<Box<dyn Write + Send>>,
    server: Mutex<Option<Box<dyn Write + Send>>>,
    state: Mutex<State>,
    changed: Condvar,
}

/// How long requests may still be answered when the client has said its last word.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// Relays until the client or the server has gone, or until somebody says stop.
pub fn relay(
    settings: Settings,
    gatekeeper: impl Into<Arc<Gatekeeper>>,
    client: impl Read + Send + 'static,
    answers: impl Write + Send + 'static,
    stop: Receiver<()>,
) -> Result<ExitStatus, RelayError> {
    let upstream_hash = settings.upstream.hash().map_err(RelayError::Start)?;
    let (mut child, input, output) = match &settings.upstream {
        Upstream::Command(command) => {
            let mut child = command.start().map_err(RelayError::Start)?;
            let input = child.stdin.take().map(|input| Box::new(input) as Box<dyn Write + Send>);
            let output = child.stdout.take().map(|output| Box::new(output) as Box<dyn Read + Send>);
            (Some(child), input, output)
        }
        Upstream::Url(url) => {
            let connected = connect(url, settings.bytes_max, settings.timeout).map_err(RelayError::Start)?;
            (None, Some(connected.input), Some(connected.output))
        }
    };
    let relay = Arc::new(Relay {
        settings,
        upstream_hash,
        gatekeeper: gatekeeper.into(),
        client: Mutex::new(Box::new(answers)),
        server: Mutex::new(input),
        state: Mutex::new(State::default()),
        changed: Condvar::new(),
    });
    let reading = Arc::clone(&relay);
    std::thread::spawn(move || {
        reading.read_client(client);
        reading.close(LAST_ANSWERS);
    });
    let stopping = Arc::clone(&relay);
    std::thread::spawn(move || {
        if stop.recv().is_ok() {
            stopping.close(Duration::ZERO);
        }
    });
    if let Some(output) = output {
        let reading = Arc::clone(&relay);
        // Programs that the server started may keep its output open for good.
        std::thread::spawn(move || {
            reading.read_server(output);
            reading.server_gone();
        });
    }
    let status = loop {
        if relay.wait_until(END_WAIT, |state| state.ended || state.over) {
            let Some(child) = &mut child else { break ExitStatus::default() };
            break upstream::end(child, END_WAIT).map_err(RelayError::End)?;
        }
        let Some(child) = &mut child else { continue };
        if let Some(status) = child.try_wait().map_err(RelayError::End)? {
            // Its last lines may still arrive.
            relay.wait_until(END_WAIT, |state| state.ended);
            break status;
        }
    };
    relay.server_gone();
    relay.wait_until(LAST_ANSWERS, |state| state.calls == 0);
    relay.leave_rounds();
    Ok(status)
}

impl Relay {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn server(&self) -> MutexGuard<'_, Option<Box<dyn Write + Send>>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is so; false if the time is over before.
    fn wait_until(&self, time: Duration, done: impl Fn(&State) -> bool) -> bool {
        let end = Instant::now() + time;
        let mut state = self.state();
        while !done(&state) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The client says nothing more. Calls that wait for people stop waiting; what was sent may still be answered.
    fn close(&self, patience: Duration) {
        self.state().closing = true;
        self.changed.notify_all();
        self.wait_until(patience, |state| state.undecided == 0 || state.ended);
        // Servers end when their input does. One that does not even read is ended below.
        if let Ok(mut server) = self.server.try_lock() {
            *server = None;
        }
        self.wait_until(patience, |state| state.pending.is_empty() || state.ended);
        self.state().over = true;
        self.changed.notify_all();
    }

    /// The server answers nothing more.
    fn server_gone(&self) {
        let mut state = self.state();
        state.ended = true;
        let pending = std::mem::take(&mut state.pending);
        let mut unanswered = Vec::new();
        for (key, pending) in pending {
            match pending {
                Pending::Plain { id } | Pending::Opening { id } | Pending::Listing { id, .. } => {
                    unanswered.push(id)
                }
                // Its thread answers. Nobody is left to hear it if it has just ended.
                Pending::Sent(events) => drop(events.send(Event::Gone)),
                undecided @ Pending::Undecided { .. } => drop(state.pending.insert(key, undecided)),
            }
        }
        drop(state);
        for id in unanswered {
            self.answer(&texts::error(
                Some(&id),
                texts::NOT_RELAYED,
                "the MCP server ended before it answered",
            ));
        }
        self.changed.notify_all();
    }

    /// Writes a line to the client. If it does not read any more, its own end of input says so.
    fn answer(&self, line: &[u8]) {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let written =
            client.write_all(line).and_then(|()| client.write_all(b"\n")).and_then(|()| client.flush());
        drop(client);
        if written.is_err() {
            let mut state = self.state();
            (state.closing, state.over) = (true, true);
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Writes a line to the server; the number of bytes that it got, if not all.
    fn forward(&self, line: &[u8]) -> Result<(), usize> {
        let mut server = self.server();
        let Some(input) = server.as_mut() else { return Err(0) };
        let mut sent = 0;
        for part in [line, b"\n"] {
            let mut rest = part;
            while !rest.is_empty() {
                match input.write(rest) {
                    Ok(count) if count > 0 => {
                        sent += count;
                        rest = rest.get(count..).unwrap_or_default();
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Ok(_) | Err(_) => return Err(sent),
                }
            }
        }
        Ok(())
    }

    /// Tells the person who reads the log of the client.
    fn note(&self, text: &str) {
        // Nobody may read it.
        let _ = writeln!(std::io::stderr(), "ordain: {}: {}", self.settings.server, texts::shown(text));
    }

    fn refuse(&self, id: Option<&Id>, code: i64, problem: &str) {
        self.note(problem);
        self.answer(&texts::error(id.map(|id| id.text.as_str()), code, problem));
    }
}
