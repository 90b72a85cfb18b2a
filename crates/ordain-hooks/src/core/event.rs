//! Events: what a host writes to a hook's standard input. A damaged event is an error, and an error is a no.

use super::agent::Agent;
use super::answer::Shape;
use super::limits::EVENT_BYTES_MAX;
use ordain_canon::{Canonicalizer, ContentHash, Value};
use serde_json::{Map, Value as Json};
use std::path::{Path, PathBuf};

/// One event.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one event in a process")]
pub enum Event {
    /// A tool is about to run.
    Before(Call),
    /// A tool has run.
    After(Report),
}

/// A tool call that an agent is about to make.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The agent that calls.
    pub agent: Agent,
    /// The form in which the answer is wanted.
    pub shape: Shape,
    /// By which the event after the call is found. Hosts without call ids get the hash of session, tool and input.
    pub key: String,
    /// The tool, as the host names it.
    pub tool: String,
    /// The MCP server that the tool belongs to, where the host says so.
    pub server: Option<String>,
    /// The tool's input.
    pub input: Map<String, Json>,
    /// The folder that relative paths count from.
    pub cwd: PathBuf,
    /// Everything else that the host says: where the call came from.
    pub sources: Map<String, Json>,
}

/// How a call went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The call's id.
    pub key: String,
    /// `None` where the call was interrupted: nobody knows.
    pub succeeded: Option<bool>,
}

/// Why an event cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// Too long.
    #[error("the event is longer than {EVENT_BYTES_MAX} bytes")]
    TooLong,
    /// Not JSON, or JSON with two readings.
    #[error("the event cannot be read: {0}")]
    Unreadable(String),
    /// A member is missing or has another type.
    #[error("the event has no `{0}` of the expected type")]
    Member(&'static str),
    /// An event of another kind.
    #[error("the event `{0}` is not known")]
    Unknown(String),
    /// A relative folder.
    #[error("the folder of the event is not an absolute path")]
    Folder,
}

/// The names by which a host speaks.
struct Names {
    before: &'static str,
    after: &'static str,
    failed: Option<&'static str>,
}

fn names(agent: Agent) -> Names {
    match agent {
        Agent::Claude | Agent::Codex | Agent::Qwen | Agent::Copilot => {
            Names { before: "PreToolUse", after: "PostToolUse", failed: Some("PostToolUseFailure") }
        }
        Agent::Gemini => Names { before: "BeforeTool", after: "AfterTool", failed: None },
        Agent::Opencode => Names { before: "tool.execute.before", after: "tool.execute.after", failed: None },
    }
}

/// Members of an event that say what happened to a call, and not where it came from.
const RESULTS: [&str; 5] = ["tool_response", "tool_result", "toolResult", "error", "tool_output"];

/// Reads an event of this agent.
pub fn read_event(agent: Agent, bytes: &[u8]) -> Result<Event, EventError> {
    if bytes.len() > EVENT_BYTES_MAX {
        return Err(EventError::TooLong);
    }
    // Strictly: an event with two readings could be judged by one and run by the other.
    let unreadable = |error: &dyn std::fmt::Display| EventError::Unreadable(error.to_string());
    let value = Value::read(bytes).map_err(|error| unreadable(&error))?;
    if value.as_object().is_none() {
        return Err(EventError::Unreadable("expected an object".to_owned()));
    }
    let mut members: Map<String, Json> = value.to_typed().map_err(|error| unreadable(&error))?;
    // Copilot's own events have no name, and other names for everything.
    let camel = agent == Agent::Copilot && members.contains_key("toolName");
    let (tool_name, tool_input) = if camel { ("toolName", "toolArgs") } else { ("tool_name", "tool_input") };
    let is_result = |name: &str| RESULTS.contains(&name);
    let kind = match members.get("hook_event_name") {
        None if camel && members.keys().any(|name| is_result(name)) => "PostToolUse".to_owned(),
        None if camel => "PreToolUse".to_owned(),
        None => return Err(EventError::Member("hook_event_name")),
        Some(Json::String(name)) => name.clone(),
        Some(_) => return Err(EventError::Member("hook_event_name")),
    };
    let Names { before, after, failed } = names(agent);
    if kind != before && kind != after && Some(kind.as_str()) != failed {
        return Err(EventError::Unknown(kind));
    }
    let tool = match members.remove(tool_name) {
        Some(Json::String(tool)) if !tool.trim().is_empty() => tool,
        _ => return Err(EventError::Member("tool_name")),
    };
    let input = match members.remove(tool_input) {
        Some(Json::Object(input)) => input,
        _ => return Err(EventError::Member("tool_input")),
    };
    // OpenCode's plugin sends the arguments twice.
    if agent == Agent::Opencode
        && members.remove("args").is_some_and(|args| args != Json::Object(input.clone()))
    {
        return Err(EventError::Member("args"));
    }
    let key = key(agent, &members, &tool, &input);
    if kind != before {
        let is_true = |value: Option<&Json>| value.and_then(Json::as_bool) == Some(true);
        let of_result = members.get("tool_response").and_then(|result| result.get("interrupted"));
        let interrupted = is_true(members.get("is_interrupt")) || is_true(of_result);
        let succeeded = if interrupted { None } else { Some(kind == after && !is_failure(&members)) };
        return Ok(Event::After(Report { key, succeeded }));
    }
    let folder = if agent == Agent::Opencode { "directory" } else { "cwd" };
    let cwd = match members.remove(folder) {
        Some(Json::String(cwd)) => PathBuf::from(cwd),
        _ => return Err(EventError::Member("cwd")),
    };
    if !is_plain(&cwd) {
        return Err(EventError::Folder);
    }
    let server = server(&members);
    let shape = if agent == Agent::Copilot && !camel { Shape::ClaudeLike } else { Shape::Own };
    Ok(Event::Before(Call { agent, shape, key, tool, server, input, cwd, sources: members }))
}

fn is_plain(folder: &Path) -> bool {
    folder.is_absolute() && !folder.to_string_lossy().contains('\0')
}

fn server(members: &Map<String, Json>) -> Option<String> {
    let of = |member: &str, field: &str| members.get(member)?.get(field)?.as_str().map(str::to_owned);
    of("mcp_server", "name").or_else(|| of("mcp_context", "server_name"))
}

/// The words of hosts for a call that failed, where the event's name does not.
fn is_failure(members: &Map<String, Json>) -> bool {
    let result = RESULTS.iter().filter_map(|name| members.get(*name)).next();
    let Some(result) = result else { return false };
    let is_true = |field: &str| result.get(field).and_then(Json::as_bool) == Some(true);
    let ended = result.get("resultType").and_then(Json::as_str);
    let code = result.get("exit_code").or_else(|| result.get("exitCode")).and_then(Json::as_i64);
    is_true("is_error")
        || is_true("isError")
        || ended == Some("failure")
        || code.is_some_and(|code| code != 0)
}

/// The same for the event before a call and the event after it.
fn key(agent: Agent, members: &Map<String, Json>, tool: &str, input: &Map<String, Json>) -> String {
    let text = |name: &str| members.get(name).and_then(Json::as_str);
    let inner = |name: &str| members.get("input").and_then(|inner| inner.get(name)).and_then(Json::as_str);
    let session = text("session_id").or_else(|| text("sessionId")).or_else(|| inner("sessionID"));
    let id = text("tool_use_id").or_else(|| text("tool_call_id")).or_else(|| inner("callID"));
    let session = session.unwrap_or_default();
    let mut canon = Canonicalizer::new();
    let about = match id {
        Some(id) => serde_json::json!([agent.name(), session, id]),
        None => serde_json::json!([agent.name(), session, tool, input]),
    };
    // It has been read strictly, so it can be written.
    let bytes = canon.value(&about).map(<[u8]>::to_vec).unwrap_or_default();
    let hash = ContentHash::of(&bytes).to_string();
    hash.rsplit(':').next().unwrap_or(&hash).chars().take(32).collect()
}
