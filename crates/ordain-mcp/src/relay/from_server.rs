//! Lines of the server.

use super::calls::Event;
use super::from_client::BATCH_REVISION;
use super::{Pending, Relay};
use crate::lines::{Line, Lines};
use crate::message::{Batch, Id, Message, MessageError};
use crate::scan::Scanner;
use crate::texts::{self, NOT_RELAYED};
use ordain_api::UseOutcome;
use serde::Deserialize;
use std::io::Read;

/// The members of a result that the gateway reads.
#[derive(Default, Deserialize)]
pub(crate) struct ResultFacts {
    #[serde(default, rename = "isError")]
    is_error: Option<bool>,
    #[serde(default, rename = "resultType")]
    result_type: Option<String>,
    #[serde(default, rename = "requestState")]
    request_state: Option<String>,
    #[serde(default, rename = "protocolVersion")]
    pub(crate) protocol_version: Option<String>,
}

#[derive(Deserialize)]
struct ErrorFacts {
    code: f64,
}

/// Errors that say that nothing was begun: of JSON-RPC, of the routing of a request, and a wish for an answer first.
const NOT_BEGUN: [f64; 9] =
    [-32700.0, -32600.0, -32601.0, -32602.0, -32020.0, -32021.0, -32022.0, -32042.0, NOT_RELAYED_CODE];
/// The gateway's own, for a server by URL that could not be reached.
const NOT_RELAYED_CODE: f64 = -31_000.0;

impl Relay {
    /// Reads until the server says nothing more.
    pub(super) fn read_server(&self, output: impl Read) {
        let mut lines = Lines::new(output, self.settings.bytes_max);
        loop {
            match lines.next() {
                Ok(Some(Line::Whole(line))) => {
                    if !line.trim_ascii().is_empty() {
                        self.of_server(line);
                    }
                }
                Ok(Some(Line::Long(scanner))) => self.long_of_server(&scanner),
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn of_server(&self, line: &[u8]) {
        match Message::of_server(line) {
            Ok(Message::Response { id, result, error }) => self.response(line, &id, result, error),
            Ok(Message::Request { .. } | Message::Notification { .. } | Message::LooseError) => {
                self.answer(line)
            }
            Err(MessageError::Batch) => self.batch_of_server(line),
            Err(error) => self.garbage(line, &error.to_string()),
        }
    }

    fn response(&self, line: &[u8], id: &Id, result: Option<&str>, error: Option<&str>) {
        let mut state = self.state();
        let pending = match state.pending.remove(&id.key) {
            // The server cannot know of it, and its answer would pass for that of the gate.
            Some(undecided @ Pending::Undecided { .. }) => {
                state.pending.insert(id.key.clone(), undecided);
                None
            }
            found => found,
        };
        drop(state);
        match pending {
            None => self.note(&format!("an answer to {}, which nobody asked, was dropped", id.text)),
            Some(Pending::Opening { .. }) => {
                if let Some(result) = result {
                    let facts = serde_json::from_str::<ResultFacts>(result).unwrap_or_default();
                    let mut state = self.state();
                    state.definitions.open(result);
                    state.revision = facts.protocol_version.or(state.revision.take());
                }
                self.answer(line);
            }
            Some(Pending::Listing { from_start, .. }) => match result {
                Some(result) => self.answer_list(line, id, result, from_start),
                None => self.answer(line),
            },
            Some(Pending::Sent(events)) => {
                let event = answered(result, error);
                self.answer(line);
                // Its thread has reported already if its time was over.
                let _ = events.send(event);
            }
            Some(Pending::Plain { .. } | Pending::Undecided { .. }) => self.answer(line),
        }
        self.changed.notify_all();
    }

    fn long_of_server(&self, scanner: &Scanner) {
        let bytes = scanner.bytes;
        let problem = format!(
            "a message of {bytes} bytes of the server is not relayed; at most {}",
            self.settings.bytes_max
        );
        self.note(&problem);
        let id = scanner.end().filter(|(_, is_request)| !is_request).and_then(|(id, _)| Id::parse(id?));
        let Some(id) = id else { return self.doubt_one(&problem) };
        let mut state = self.state();
        match state.pending.get(&id.key) {
            None | Some(Pending::Undecided { .. }) => {}
            Some(Pending::Sent(events)) => {
                let _ = events.send(Event::TooLong { bytes });
                state.pending.remove(&id.key);
            }
            Some(Pending::Plain { .. } | Pending::Opening { .. } | Pending::Listing { .. }) => {
                state.pending.remove(&id.key);
                drop(state);
                self.answer(&texts::error(Some(&id.text), NOT_RELAYED, &problem));
            }
        }
    }

    fn batch_of_server(&self, line: &[u8]) {
        let mut state = self.state();
        let has_batches = state.revision.as_deref() == Some(BATCH_REVISION);
        let is_plain = |id: &Id| matches!(state.pending.get(&id.key), Some(Pending::Plain { .. }));
        let batch = Batch::of(line).filter(|batch| has_batches && batch.ids.iter().all(is_plain));
        let Some(batch) = batch else {
            drop(state);
            return self.garbage(line, "the server sent a batch that nobody asked for");
        };
        for id in &batch.ids {
            state.pending.remove(&id.key);
        }
        drop(state);
        self.answer(line);
    }

    /// A line that is not a message. Servers print such lines by mistake.
    fn garbage(&self, line: &[u8], problem: &str) {
        self.note(&format!("a line of the server was dropped: {problem}"));
        if line.trim_ascii_start().starts_with(b"{") || line.trim_ascii_start().starts_with(b"[") {
            self.doubt_one(problem);
        }
    }

    /// A message that cannot be read may be the answer to the only call that was sent; nobody waits for another one
    /// then.
    fn doubt_one(&self, problem: &str) {
        let mut state = self.state();
        let mut sent = state.pending.iter().filter(|(_, pending)| matches!(pending, Pending::Sent(_)));
        let (Some((key, Pending::Sent(events))), None) = (sent.next(), sent.next()) else { return };
        let _ = events.send(Event::Garbage { problem: problem.to_owned() });
        let key = key.clone();
        state.pending.remove(&key);
    }
}

/// How a call went, by its answer.
pub(crate) fn answered(result: Option<&str>, error: Option<&str>) -> Event {
    if let Some(error) = error {
        let code = serde_json::from_str::<ErrorFacts>(error).ok().map(|facts| facts.code);
        let begun = !code.is_some_and(|code| NOT_BEGUN.contains(&code));
        let outcome = if begun { UseOutcome::Unknown } else { UseOutcome::Failed };
        let code = code.map(|code| format!(" {code}")).unwrap_or_default();
        return Event::Answered { outcome, reason: format!("the server answered with the error{code}") };
    }
    let facts =
        result.and_then(|result| serde_json::from_str::<ResultFacts>(result).ok()).unwrap_or_default();
    if facts.result_type.as_deref() == Some("input_required") {
        return Event::Asked { state: facts.request_state };
    }
    let reason = match facts.is_error {
        Some(true) => "the server answered that it failed",
        _ => "the server answered",
    };
    Event::Answered { outcome: UseOutcome::Succeeded, reason: reason.to_owned() }
}
