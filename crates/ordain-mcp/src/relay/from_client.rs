//! Lines of the client.

use super::{Pending, Relay};
use crate::abilities::Abilities;
use crate::call::Call;
use crate::gatekeeper::now_ms;
use crate::limits::{CALLS_MAX, REQUESTS_MAX};
use crate::lines::{Line, Lines};
use crate::message::{Batch, Id, IdKey, Message, MessageError, WATCHED_METHODS};
use crate::scan::Scanner;
use crate::texts::{INVALID_PARAMS, INVALID_REQUEST, NOT_RELAYED, PARSE_ERROR};
use serde::Deserialize;
use serde_json::Value as Json;
use serde_json::value::RawValue;
use std::io::Read;
use std::sync::Arc;

/// The one revision that has batches.
pub(crate) const BATCH_REVISION: &str = "2025-03-26";

impl Relay {
    /// Reads until the client says nothing more.
    pub(super) fn read_client(self: &Arc<Self>, input: impl Read) {
        let mut lines = Lines::new(input, self.settings.bytes_max);
        loop {
            match lines.next() {
                Ok(Some(Line::Whole(line))) => {
                    if !line.trim_ascii().is_empty() {
                        self.of_client(line);
                    }
                }
                Ok(Some(Line::Long(scanner))) => self.long_of_client(&scanner),
                Ok(None) | Err(_) => return,
            }
            if self.state().ended {
                return;
            }
        }
    }

    fn long_of_client(&self, scanner: &Scanner) {
        let problem = format!(
            "a message of {} bytes is not relayed; at most {}",
            scanner.bytes, self.settings.bytes_max
        );
        let id = scanner.end().filter(|(_, is_request)| *is_request).and_then(|(id, _)| Id::parse(id?));
        self.refuse(id.as_ref(), INVALID_REQUEST, &problem);
    }

    fn of_client(self: &Arc<Self>, line: &[u8]) {
        match Message::of_client(line) {
            Ok(Message::Request { id, method, params }) => self.request(line, id, &method, params),
            Ok(Message::Notification { method, params }) => self.notification(line, &method, params),
            Ok(Message::Response { id, result, .. }) if self.is_answer_to_us(&id, result) => {}
            Ok(Message::Response { .. } | Message::LooseError) => self.pass(line),
            Err(MessageError::Batch) => self.batch(line),
            Err(error) => {
                // Its outermost members may still say which request is refused.
                let id = match Message::of_server(line) {
                    Ok(Message::Request { id, .. }) => Some(id),
                    _ => None,
                };
                let is_json = !matches!(error, MessageError::Json(_)) || id.is_some();
                let code = if is_json { INVALID_REQUEST } else { PARSE_ERROR };
                self.refuse(id.as_ref(), code, &error.to_string());
            }
        }
    }

    /// Whether a response is for the gateway, and not for the server.
    fn is_answer_to_us(&self, id: &Id, result: Option<&str>) -> bool {
        let IdKey::Text(id) = &id.key else { return false };
        let Some(question) = self.state().questions.remove(id) else { return false };
        let result = result.and_then(|result| serde_json::from_str(result).ok()).unwrap_or_default();
        // The call may be over by now.
        let _ = question.send(result);
        true
    }

    fn pass(&self, line: &[u8]) {
        if self.forward(line).is_err() {
            self.note("the server reads nothing more");
        }
    }

    fn request(self: &Arc<Self>, line: &[u8], id: Id, method: &str, params: Option<&str>) {
        let mut state = self.state();
        if state.pending.contains_key(&id.key) {
            drop(state);
            return self.refuse(
                None,
                INVALID_REQUEST,
                &format!("the id {} belongs to a request that is not answered", id.text),
            );
        }
        if state.pending.len() >= REQUESTS_MAX || state.calls >= CALLS_MAX {
            drop(state);
            return self.refuse(Some(&id), NOT_RELAYED, "too many requests are under way");
        }
        if method == "initialize" {
            let said = params.and_then(|params| serde_json::from_str::<Json>(params).ok());
            state.abilities =
                said.and_then(|said| said.get("capabilities").map(Abilities::of)).unwrap_or_default();
        }
        if !self.is_judged(method) {
            let text = id.text.clone();
            let pending = match method {
                "tools/list" => Pending::Listing { id: text, from_start: !has_cursor(params) },
                _ if WATCHED_METHODS.contains(&method) => Pending::Opening { id: text },
                _ => Pending::Plain { id: text },
            };
            state.pending.insert(id.key.clone(), pending);
            drop(state);
            if self.forward(line).is_err() && self.state().pending.remove(&id.key).is_some() {
                self.refuse(Some(&id), NOT_RELAYED, "the MCP server reads nothing more");
            }
            return;
        }
        let round = match self.gatekeeper.sealer().round_of(line, now_ms()) {
            Ok(round) => round,
            Err(problem) => {
                drop(state);
                return self.refuse(Some(&id), INVALID_PARAMS, &problem);
            }
        };
        let line = round.as_ref().map_or(line, |round| &round.line).to_vec();
        let read = match Message::of_client(&line) {
            Ok(Message::Request { params, .. }) => Call::read(method, params),
            _ => Call::read(method, params),
        };
        match read {
            Ok(call) => {
                state.pending.insert(id.key.clone(), Pending::Undecided { cancelled: false });
                state.calls += 1;
                state.undecided += 1;
                drop(state);
                self.begin_call(id, method, call, line, round);
            }
            Err(problem) => {
                drop(state);
                self.refuse(Some(&id), INVALID_PARAMS, &problem);
            }
        }
    }

    /// Whether the gate judges requests of a method.
    fn is_judged(&self, method: &str) -> bool {
        method == "tools/call" || self.settings.gated.contains(method)
    }

    fn notification(&self, line: &[u8], method: &str, params: Option<&str>) {
        if self.is_judged(method) {
            // A server could carry it out all the same.
            return self.refuse(None, INVALID_REQUEST, &format!("`{method}` needs an id"));
        }
        if method == "notifications/cancelled" && !self.cancel(params) {
            return;
        }
        self.pass(line);
    }

    /// Whether the server should hear of it, too.
    fn cancel(&self, params: Option<&str>) -> bool {
        let Some(id) = cancelled_id(params) else { return true };
        let mut state = self.state();
        match state.pending.get_mut(&id.key) {
            // The server has never seen it. The action stays held.
            Some(Pending::Undecided { cancelled }) => {
                *cancelled = true;
                false
            }
            Some(Pending::Sent(events)) => {
                let _ = events.send(super::Event::Cancelled);
                true
            }
            Some(Pending::Plain { .. } | Pending::Opening { .. } | Pending::Listing { .. }) => {
                state.pending.remove(&id.key);
                true
            }
            None => true,
        }
    }

    /// A batch passes where the revision has batches, and only if nothing in it is judged or watched.
    fn batch(&self, line: &[u8]) {
        let mut state = self.state();
        let has_batches = state.revision.as_deref() == Some(BATCH_REVISION);
        let batch = Batch::of(line).filter(|batch| has_batches && batch.is_plain);
        let room = |batch: &Batch| {
            let is_new = |id: &Id| !state.pending.contains_key(&id.key);
            batch.ids.iter().all(is_new) && state.pending.len() + batch.ids.len() <= REQUESTS_MAX
        };
        let Some(batch) = batch.filter(room) else {
            drop(state);
            let problem =
                "a batch is not relayed: the revision has none, or a part of it must be judged alone";
            return self.refuse(None, INVALID_REQUEST, problem);
        };
        for Id { key, text } in batch.ids {
            state.pending.insert(key, Pending::Plain { id: text });
        }
        drop(state);
        self.pass(line);
    }
}

/// The request that a notification cancels.
pub(crate) fn cancelled_id(params: Option<&str>) -> Option<Id> {
    #[derive(Deserialize)]
    struct Cancelled<'a> {
        #[serde(borrow, rename = "requestId")]
        request_id: Option<&'a RawValue>,
    }
    let cancelled = serde_json::from_str::<Cancelled<'_>>(params?).ok()?;
    Id::parse(cancelled.request_id?.get())
}

/// Whether a list goes on where a page ended.
pub(crate) fn has_cursor(params: Option<&str>) -> bool {
    #[derive(Deserialize)]
    struct Paged<'a> {
        #[serde(borrow, default)]
        cursor: Option<&'a RawValue>,
    }
    let paged = params.and_then(|params| serde_json::from_str::<Paged<'_>>(params).ok());
    paged.and_then(|paged| paged.cursor).is_some_and(|cursor| cursor.get() != "null")
}
