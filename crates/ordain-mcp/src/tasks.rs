//! Held calls as tasks, for clients that ask for the state of one (the extension `io.modelcontextprotocol/tasks`). A
//! task that the gateway began stands for a call that it has not sent yet.

use crate::gatekeeper::now_ms;
use crate::limits::TASKS_MAX;
use ordain_api::ActionStatus;
use ordain_canon::time::moment;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// By this, the gateway tells its own tasks from those of the server.
const PREFIX: &str = "ordain-";
/// How often a client should ask.
const POLL_MS: u64 = 2_000;

/// The tasks of a principal.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<BTreeMap<String, Arc<Task>>>);

/// A held call.
pub(crate) struct Task {
    id: String,
    created_ms: u64,
    ttl_ms: Option<u64>,
    state: Mutex<State>,
    is_cancelled: AtomicBool,
}

struct State {
    updated_ms: u64,
    message: String,
    end: Option<End>,
}

enum End {
    Result(Json),
    Error(Json),
    Cancelled,
}

impl Tasks {
    fn tasks(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Task>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a task for a held action. Nothing if there are too many that are not over.
    pub(crate) fn begin(&self, action: &ActionStatus) -> Option<Arc<Task>> {
        let now_ms = now_ms();
        let mut tasks = self.tasks();
        if tasks.len() >= TASKS_MAX {
            let over = tasks.iter().filter(|(_, task)| task.state().end.is_some());
            let oldest = over.min_by_key(|(_, task)| task.created_ms).map(|(id, _)| id.clone())?;
            tasks.remove(&oldest);
        }
        // Two identical calls wait for one action, and each has a task.
        let mut id = format!("{PREFIX}{}", action.action_id);
        while tasks.contains_key(&id) {
            id.push('+');
        }
        let state = State {
            updated_ms: now_ms,
            message: format!("waits for approval ({})", action.action_id),
            end: None,
        };
        let task = Arc::new(Task {
            id: id.clone(),
            created_ms: now_ms,
            ttl_ms: action.expires_at_ms.map(|end_ms| end_ms.saturating_sub(now_ms)),
            state: Mutex::new(state),
            is_cancelled: AtomicBool::new(false),
        });
        tasks.insert(id, Arc::clone(&task));
        Some(task)
    }

    /// The answer to a request about a task; nothing if the task is not one of the gateway's.
    pub(crate) fn answer(&self, method: &str, params: Option<&str>) -> Option<Result<Json, String>> {
        if !["tasks/get", "tasks/update", "tasks/cancel"].contains(&method) {
            return None;
        }
        let params = serde_json::from_str::<Json>(params?).ok()?;
        let id = params.get("taskId")?.as_str()?;
        if !id.starts_with(PREFIX) {
            return None;
        }
        let Some(task) = self.tasks().get(id).cloned() else {
            return Some(Err("the task is unknown; repeat the call, which joins the same action".to_owned()));
        };
        match method {
            "tasks/get" => return Some(Ok(task.shown("complete", true))),
            "tasks/cancel" => task.cancel(),
            _ => {}
        }
        Some(Ok(json!({"resultType": "complete"})))
    }
}

impl Task {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result that a call is answered with.
    pub(crate) fn result(&self) -> Json {
        self.shown("task", false)
    }

    fn shown(&self, result_type: &str, with_end: bool) -> Json {
        let state = self.state();
        let status = match &state.end {
            None => "working",
            Some(End::Result(_)) => "completed",
            Some(End::Error(_)) => "failed",
            Some(End::Cancelled) => "cancelled",
        };
        let mut shown = json!({
            "resultType": result_type,
            "taskId": self.id,
            "status": status,
            "statusMessage": state.message,
            "createdAt": moment(self.created_ms).to_string(),
            "lastUpdatedAt": moment(state.updated_ms).to_string(),
            "ttlMs": self.ttl_ms,
            "pollIntervalMs": POLL_MS,
        });
        if let (true, Some(end), Some(members)) = (with_end, &state.end, shown.as_object_mut()) {
            match end {
                End::Result(result) => drop(members.insert("result".to_owned(), result.clone())),
                End::Error(error) => drop(members.insert("error".to_owned(), error.clone())),
                End::Cancelled => {}
            }
        }
        shown
    }

    /// Nobody wants the call any more, unless it was sent. The action stays held.
    fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn say(&self, message: &str) {
        let mut state = self.state();
        state.updated_ms = now_ms();
        message.clone_into(&mut state.message);
    }

    /// The call was withdrawn before it was sent.
    pub(crate) fn withdraw(&self) {
        self.end_as(End::Cancelled, "withdrawn; nothing was done");
    }

    /// The answer to the call.
    pub(crate) fn end(&self, message: &[u8]) {
        let message = serde_json::from_slice::<Json>(message).unwrap_or_default();
        match (message.get("result"), message.get("error")) {
            (Some(result), _) => self.end_as(End::Result(result.clone()), "done"),
            (None, Some(error)) => {
                self.end_as(End::Error(error.clone()), "the server answered with an error")
            }
            (None, None) => {
                let error = json!({"code": -32603, "message": "the answer of the server cannot be read"});
                self.end_as(End::Error(error), "the answer of the server cannot be read");
            }
        }
    }

    fn end_as(&self, end: End, message: &str) {
        let mut state = self.state();
        if state.end.is_none() {
            state.updated_ms = now_ms();
            message.clone_into(&mut state.message);
            state.end = Some(end);
        }
    }
}
