//! A judged call: decided, sent, answered, reported.

use super::{Pending, Relay};
use crate::call::Call;
use crate::gatekeeper::{Judged, now_ms};
use crate::hold::{Asker, Decided, Hold, TaskUse};
use crate::limits::{CANCELLED_WAIT, DEADLINE_MARGIN_MS, QUESTIONS_MAX, ROUNDS_MAX};
use crate::message::Id;
use crate::rounds::OwnRound;
use crate::texts::{self, NOT_RELAYED, Refusal};
use ordain_api::{UseOutcome, UseReceipt};
use serde_json::Value as Json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The fate of a call that was sent.
pub(crate) enum Event {
    /// The client has the server's answer.
    Answered {
        outcome: UseOutcome,
        reason: String,
    },
    /// The client has a question of the server, and the call goes on in another round.
    Asked {
        state: Option<String>,
    },
    /// The answer was too long to relay.
    TooLong {
        bytes: u64,
    },
    /// The answer cannot be read.
    Garbage {
        problem: String,
    },
    Cancelled,
    Gone,
}

/// A call that goes on when the client has answered the server's question.
pub(crate) struct OpenRound {
    pub(crate) used: UseReceipt,
    pub(crate) began: Instant,
}

/// A call on its own thread.
struct Course<'r> {
    relay: &'r Relay,
    id: &'r Id,
    /// Whether a result can say no; other methods have only errors.
    is_tool: bool,
    call: &'r Call,
    /// The gateway's own round that it continues.
    round: Option<&'r OwnRound>,
}

impl Relay {
    /// Lets a call run its course on a thread of its own.
    pub(super) fn begin_call(
        self: &Arc<Self>,
        id: Id,
        method: &str,
        call: Call,
        line: Vec<u8>,
        round: Option<OwnRound>,
    ) {
        let relay = Arc::clone(self);
        let is_tool = method == "tools/call";
        std::thread::spawn(move || {
            let course = Course { relay: &relay, id: &id, is_tool, call: &call, round: round.as_ref() };
            let ran = catch_unwind(AssertUnwindSafe(|| course.run(&line)));
            if ran.is_err() {
                course.refuse(&texts::unknown(&call.tool, "the gateway has a bug"));
                relay.decided(&id, true);
            }
            relay.state().calls -= 1;
            relay.changed.notify_all();
        });
    }

    /// A call is no longer undecided; if it was not sent, nothing of it is left.
    fn decided(&self, id: &Id, over: bool) {
        let mut state = self.state();
        if matches!(state.pending.get(&id.key), Some(Pending::Undecided { .. })) {
            state.undecided -= 1;
        }
        if over {
            state.pending.remove(&id.key);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Calls whose next round never came.
    pub(super) fn leave_rounds(&self) {
        let rounds = std::mem::take(&mut self.state().rounds);
        for (_, OpenRound { used, began }) in rounds {
            self.report(&used, UseOutcome::Failed, "the server asked something, and nobody answered", began);
        }
    }

    fn report(&self, used: &UseReceipt, outcome: UseOutcome, reason: &str, began: Instant) {
        if let Err(problem) = self.gatekeeper.report(used, outcome, reason, began.elapsed()) {
            self.note(&format!("the outcome of {} was not recorded: {problem}", used.action_id));
        }
    }
}

impl Course<'_> {
    fn run(&self, line: &[u8]) {
        let began = self.next_round();
        let (used, began) = match began {
            Some(OpenRound { used, began }) => (used, began),
            None => match self.decide() {
                Ok(Decided::Run(used)) => (used, Instant::now()),
                Ok(Decided::Gone | Decided::Task(_)) => return self.relay.decided(self.id, true),
                Ok(Decided::Result(result)) => {
                    self.relay.decided(self.id, true);
                    return self.relay.answer(&texts::result(&self.id.text, &result));
                }
                Err(refusal) => {
                    // Nobody can use its id again before it is answered, and nobody waits for it after.
                    self.relay.decided(self.id, true);
                    return self.refuse(&refusal);
                }
            },
        };
        let (sender, events) = channel();
        {
            let mut state = self.relay.state();
            let is_cancelled =
                matches!(state.pending.get(&self.id.key), Some(Pending::Undecided { cancelled: true }));
            if is_cancelled || state.ended {
                drop(state);
                self.relay.decided(self.id, true);
                if !is_cancelled {
                    self.refuse(&texts::undecided(&self.call.tool, "the MCP server has ended"));
                }
                return self.relay.report(&used, UseOutcome::Failed, "the call was not sent", began);
            }
            state.undecided -= 1;
            state.pending.insert(self.id.key.clone(), Pending::Sent(sender));
        }
        let sent = self.relay.forward(line);
        self.relay.changed.notify_all();
        if let Err(bytes) = sent {
            self.relay.state().pending.remove(&self.id.key);
            let (outcome, refusal) = if bytes == 0 {
                (UseOutcome::Failed, texts::undecided(&self.call.tool, "the MCP server reads nothing more"))
            } else {
                (
                    UseOutcome::Unknown,
                    texts::unknown(&self.call.tool, "the MCP server ended while the call was sent"),
                )
            };
            self.refuse(&refusal);
            return self.relay.report(&used, outcome, "the server ended before it had the whole call", began);
        }
        self.follow(used, began, &events);
    }

    /// The use that a further round of a call belongs to: it was decided before.
    fn next_round(&self) -> Option<OpenRound> {
        let state = self.call.answers_round()?;
        let key = self.call.round_key(state)?;
        self.relay.state().rounds.remove(&key)
    }

    /// Asks the gate, and people if it wants them.
    fn decide(&self) -> Result<Decided, Refusal> {
        let Relay { settings, gatekeeper, upstream_hash, .. } = self.relay;
        let tool = &self.call.tool;
        let undecided = |problem: String| texts::undecided(tool, &problem);
        let (pins, abilities) = {
            let state = self.relay.state();
            let abilities = if self.call.is_modern { self.call.abilities } else { state.abilities };
            (state.definitions.pins(tool).map_err(undecided)?, abilities)
        };
        let judged = Judged::of(self.call, &settings.server, upstream_hash, pins).map_err(undecided)?;
        let hold = Hold {
            gatekeeper,
            call: self.call,
            judged: &judged,
            round: self.round,
            abilities,
            asker: self,
            wait: settings.wait,
            console: settings.console.as_deref(),
            // The answer to the call could not be told from that to another request of the same id.
            task: TaskUse::Never,
        };
        hold.decide()
    }

    fn is_cancelled(&self) -> bool {
        let state = self.relay.state();
        matches!(state.pending.get(&self.id.key), Some(Pending::Undecided { cancelled: true }))
    }

    /// Waits for the answer to a call that was sent, and reports it.
    fn follow(&self, used: UseReceipt, began: Instant, events: &Receiver<Event>) {
        let tool = &self.call.tool;
        let left_ms = used.deadline_ms.saturating_sub(now_ms()).saturating_sub(DEADLINE_MARGIN_MS);
        let mut end = Instant::now() + self.relay.settings.timeout.min(Duration::from_millis(left_ms));
        let mut is_cancelled = false;
        let (outcome, reason, refusal) = loop {
            let problem = match events.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Event::Answered { outcome, reason }) => break (outcome, reason, None),
                Ok(Event::Asked { state }) => return self.keep_round(used, began, state.as_deref()),
                Ok(Event::TooLong { bytes }) => {
                    let refusal = texts::too_long(tool, bytes, self.relay.settings.bytes_max);
                    break (
                        UseOutcome::Succeeded,
                        "the server answered with too much".to_owned(),
                        Some(refusal),
                    );
                }
                Ok(Event::Cancelled) => {
                    is_cancelled = true;
                    end = end.min(Instant::now() + CANCELLED_WAIT);
                    continue;
                }
                Ok(Event::Garbage { problem }) => {
                    format!("the answer of the server cannot be read: {problem}")
                }
                Ok(Event::Gone) => "the server ended before it answered".to_owned(),
                Err(RecvTimeoutError::Disconnected) => "the gateway lost the call".to_owned(),
                Err(RecvTimeoutError::Timeout) if is_cancelled => "the client cancelled the call".to_owned(),
                Err(RecvTimeoutError::Timeout) => "the server did not answer in time".to_owned(),
            };
            self.relay.state().pending.remove(&self.id.key);
            let refusal = texts::unknown(tool, &problem);
            break (UseOutcome::Unknown, problem, Some(refusal));
        };
        if let Some(refusal) = refusal.filter(|_| !is_cancelled) {
            self.refuse(&refusal);
        }
        self.relay.report(&used, outcome, &reason, began);
    }

    fn keep_round(&self, used: UseReceipt, began: Instant, state: Option<&str>) {
        let key = self.call.round_key(state);
        let mut relay = self.relay.state();
        match key.filter(|key| relay.rounds.len() < ROUNDS_MAX && !relay.rounds.contains_key(key)) {
            Some(key) => {
                relay.rounds.insert(key, OpenRound { used, began });
            }
            None => {
                drop(relay);
                self.relay.report(
                    &used,
                    UseOutcome::Failed,
                    "the server asked something, and the call was not followed",
                    began,
                );
            }
        }
    }

    fn refuse(&self, refusal: &Refusal) {
        let line = if self.is_tool {
            texts::error_result(&self.id.text, refusal, self.call.is_modern)
        } else {
            texts::error(Some(&self.id.text), NOT_RELAYED, &refusal.text)
        };
        self.relay.answer(&line);
    }
}

impl Asker for Course<'_> {
    fn say(&self, line: &[u8]) {
        self.relay.answer(line);
    }

    fn is_gone(&self) -> bool {
        self.relay.state().closing || self.is_cancelled()
    }

    fn ask(&self, id: &str, line: &[u8]) -> Option<Receiver<Json>> {
        let (sender, receiver) = channel();
        let mut state = self.relay.state();
        if state.questions.len() >= QUESTIONS_MAX {
            state.questions.pop_first();
        }
        state.questions.insert(id.to_owned(), sender);
        drop(state);
        self.relay.answer(line);
        Some(receiver)
    }

    fn forget(&self, id: &str) {
        // An answer may still come, and the server has never asked.
        if let Some(question) = self.relay.state().questions.get_mut(id) {
            *question = channel().0;
        }
    }
}
