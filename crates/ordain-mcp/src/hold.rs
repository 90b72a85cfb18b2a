//! A call on its way to a decision: what its client hears while people decide.
//!
//! A client hears of a hold in the best way that it has: it is asked to open the page of the action, it is shown a
//! form, it is asked for another round, or it waits and then reads a text. None of its answers is an approval.

use crate::abilities::Abilities;
use crate::call::Call;
use crate::gatekeeper::{Answer, Gatekeeper, Judged, now_ms, random_id};
use crate::limits::{PERSON_TAKES, PROGRESS_EVERY};
use crate::rounds::{LEGS_MAX, OwnRound, QUESTION, is_declined};
use crate::texts::{self, Refusal};
use ordain_api::{ActionState, ActionStatus, UseReceipt};
use serde_json::{Value as Json, json};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// The client of a call, as far as the gateway can reach it while the call is held.
pub(crate) trait Asker {
    /// Sends it a message.
    fn say(&self, line: &[u8]);
    /// Whether nobody waits for the answer any more.
    fn is_gone(&self) -> bool;
    /// Sends it a request; its result arrives at the receiver.
    fn ask(&self, id: &str, line: &[u8]) -> Option<Receiver<Json>>;
    /// Its answer to a request is not wanted any more.
    fn forget(&self, id: &str);
}

/// The end of a decision.
pub(crate) enum Decided {
    /// Send the call now.
    Run(UseReceipt),
    /// The client wants no answer.
    Gone,
    /// A result that is not the server's.
    Result(Json),
    /// Answer with a task, and decide on.
    Task(Box<ActionStatus>),
}

/// A call that is decided.
pub(crate) struct Hold<'a> {
    pub(crate) gatekeeper: &'a Gatekeeper,
    pub(crate) call: &'a Call,
    pub(crate) judged: &'a Judged,
    /// The gateway's own round that it continues.
    pub(crate) round: Option<&'a OwnRound>,
    pub(crate) abilities: Abilities,
    pub(crate) asker: &'a dyn Asker,
    /// How long it waits at most, for one answer.
    pub(crate) wait: Duration,
    /// Where people approve: the page of an action is below it.
    pub(crate) console: Option<&'a str>,
    /// Whether the call may become a task, is one, or neither.
    pub(crate) task: TaskUse,
}

/// Whether a held call is a task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskUse {
    Never,
    Possible,
    Running,
}

impl Hold<'_> {
    /// Asks the gate, and people if it wants them.
    pub(crate) fn decide(&self) -> Result<Decided, Refusal> {
        let tool = &self.call.tool;
        let undecided = |problem: String| texts::undecided(tool, &problem);
        let end = Instant::now() + self.wait;
        let mut waited_for = self.round.map(|round| round.state.action_id.clone());
        let mut leg = self.round.map_or(0, |round| round.state.leg);
        loop {
            let answered = self.gatekeeper.act(self.judged, waited_for.as_deref());
            let action = match answered.map_err(undecided)? {
                Answer::Allowed(used) => return Ok(Decided::Run(used)),
                Answer::Denied(action) => return Err(texts::denied(tool, &action)),
                Answer::Held(action) => action,
            };
            if waited_for.as_deref() != Some(action.action_id.as_str()) {
                leg = 0;
            }
            if self.round.is_some_and(|round| round.is_declined) {
                return Err(texts::held(tool, &action));
            }
            if self.task == TaskUse::Possible
                && self.abilities.tasks
                && self.call.is_modern
                && !self.wait.is_zero()
            {
                return Ok(Decided::Task(action));
            }
            // The first round only tells the client; the later ones wait.
            if leg == 0
                && let Some(result) = self.round_result(&action, 1)
            {
                return Ok(Decided::Result(result));
            }
            let Some(status) = self.wait(&action, end).map_err(undecided)? else {
                if self.asker.is_gone() {
                    return Ok(Decided::Gone);
                }
                let next = Some(leg + 1).filter(|next| leg > 0 && *next <= LEGS_MAX);
                return match next.and_then(|next| self.round_result(&action, next)) {
                    Some(result) => Ok(Decided::Result(result)),
                    None => Err(texts::held(tool, &action)),
                };
            };
            if matches!(status.state, ActionState::Denied | ActionState::Expired | ActionState::Superseded) {
                return Err(texts::denied(tool, &status));
            }
            waited_for = Some(status.action_id);
        }
    }

    /// The address where people see the action and approve it.
    fn page(&self, action: &ActionStatus) -> Option<String> {
        let console = self.console.filter(|_| self.abilities.page)?;
        Some(format!("{}/actions/{}", console.trim_end_matches('/'), action.action_id))
    }

    /// The result that asks the client for another round. Only the first one shows something to its user.
    fn round_result(&self, action: &ActionStatus, leg: u32) -> Option<Json> {
        if !self.call.is_modern || self.wait.is_zero() || self.task == TaskUse::Running {
            return None;
        }
        let question = match (leg, self.page(action)) {
            (_, None) if !self.abilities.form => return None,
            (1, Some(url)) => Some(json!({"mode": "url", "url": url, "message": self.message(action)})),
            (1, None) => Some(form(&self.message(action))),
            _ => None,
        };
        let sealer = self.gatekeeper.sealer();
        let state = sealer.seal(&action.action_id, leg, self.call.round_parts(), now_ms())?;
        let mut result = json!({"resultType": "input_required", "requestState": state});
        if let (Some(params), Some(members)) = (question, result.as_object_mut()) {
            let requests = json!({QUESTION: {"method": "elicitation/create", "params": params}});
            members.insert("inputRequests".to_owned(), requests);
        }
        Some(result)
    }

    fn message(&self, action: &ActionStatus) -> String {
        texts::question(&self.call.tool, action)
    }

    /// Asks a client of the earlier revisions; its answer arrives at the receiver.
    fn question(&self, action: &ActionStatus) -> Option<(String, bool, Receiver<Json>)> {
        if self.call.is_modern || self.wait.is_zero() {
            return None;
        }
        let id = format!("ordain-{}", random_id().ok()?);
        let page = self.page(action);
        let params = match &page {
            Some(url) => {
                json!({"mode": "url", "elicitationId": id, "url": url, "message": self.message(action)})
            }
            None if self.abilities.form => form(&self.message(action)),
            None => return None,
        };
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params});
        let answer = self.asker.ask(&id, request.to_string().as_bytes())?;
        Some((id, page.is_some(), answer))
    }

    /// Waits for people. Nothing if the time is over, or if nobody waits any more.
    fn wait(&self, action: &ActionStatus, end: Instant) -> Result<Option<ActionStatus>, String> {
        let question = self.question(action);
        let waited = self.wait_for(action, end, question.as_ref().map(|(_, _, answer)| answer));
        if let Some((id, is_page, _)) = question {
            self.asker.forget(&id);
            let over = if is_page {
                json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": id}})
            } else {
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
            };
            if !matches!(waited, Ok(Waited::Answered)) {
                self.asker.say(over.to_string().as_bytes());
            }
        }
        waited.map(|waited| match waited {
            Waited::Decided(status) => Some(*status),
            Waited::Answered | Waited::Over => None,
        })
    }

    fn wait_for(
        &self,
        action: &ActionStatus,
        end: Instant,
        question: Option<&Receiver<Json>>,
    ) -> Result<Waited, String> {
        const STEP: Duration = Duration::from_secs(1);
        let asked_at = Instant::now();
        let mut said_at = asked_at.checked_sub(PROGRESS_EVERY).unwrap_or(asked_at);
        let mut step = 0;
        loop {
            if Instant::now() >= end || self.asker.is_gone() {
                return Ok(Waited::Over);
            }
            // A program that answers for its user takes no time, and nobody has read the question.
            let answer = question.and_then(|answer| answer.try_recv().ok());
            if answer.is_some_and(|answer| is_declined(&answer) && asked_at.elapsed() >= PERSON_TAKES) {
                return Ok(Waited::Answered);
            }
            if said_at.elapsed() >= PROGRESS_EVERY
                && let Some(token) = &self.call.progress_token
            {
                step += 1;
                let message = format!("waits for approval ({})", action.action_id);
                self.asker.say(&texts::progress(token, step, &message));
                said_at = Instant::now();
            }
            if let Some(status) = self.gatekeeper.wait(&action.action_id, STEP)? {
                return Ok(Waited::Decided(Box::new(status)));
            }
        }
    }
}

/// How a wait ended.
enum Waited {
    Decided(Box<ActionStatus>),
    /// The client's user does not want to wait.
    Answered,
    Over,
}

/// A form that no program fills in by itself: programs accept forms that ask nothing.
fn form(message: &str) -> Json {
    let next = json!({"type": "string", "title": "Next", "oneOf": [
        {"const": "wait", "title": "Wait for the approval"},
        {"const": "stop", "title": "Do not wait; the request stays open"},
    ]});
    let schema = json!({"type": "object", "properties": {"next": next}, "required": ["next"]});
    json!({"mode": "form", "message": message, "requestedSchema": schema})
}
