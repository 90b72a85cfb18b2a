//! ordain itself as an MCP server: an agent proposes and looks. Deciding is never a tool.

use crate::gatekeeper::{now_ms, random_id};
use crate::lines::{Line, Lines};
use crate::message::{Id, Message, MessageError};
use crate::texts::{self, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR};
use ordain_api::{ActionState, ActionStatus, ActionsQuery};
use ordain_canon::Canonicalizer;
use ordain_client::{Client, ClientError};
use serde_json::{Map, Value as Json, json};
use std::io::{Read, Result, Write};

const METHOD_UNKNOWN: i64 = -32601;
const VERSION_UNKNOWN: i64 = -32022;
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// Held actions of one answer.
const LISTED_MAX: usize = 50;
/// The revisions with an opening, the last one first, and the one without.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const MODERN: &str = "2026-07-28";
const MODERN_KEY: &str = "io.modelcontextprotocol/protocolVersion";

const INSTRUCTIONS: &str = "ordain decides what you may do. Propose an action, then ask for its status. \
    A held action waits for a person: nothing you can call approves it.";

/// A gate, and the agent in whose name it is asked.
pub struct Desk {
    client: Client,
    actor: String,
}

/// The answer of a tool: a text, and the same for programs.
type Answered = std::result::Result<(String, Json), String>;

impl Desk {
    /// Proposals are in this agent's name.
    pub fn new(client: Client, actor: String) -> Self {
        Self { client, actor }
    }

    /// Answers until the client says nothing more.
    pub fn serve(&self, input: impl Read, mut output: impl Write) -> Result<()> {
        let mut lines = Lines::new(input, MESSAGE_BYTES_MAX);
        while let Some(line) = lines.next()? {
            let answer = match line {
                Line::Whole(line) if line.trim_ascii().is_empty() => None,
                Line::Whole(line) => self.answer(line),
                Line::Long(_) => Some(texts::error(None, INVALID_REQUEST, "the message is too long")),
            };
            if let Some(answer) = answer {
                output.write_all(&answer)?;
                output.write_all(b"\n")?;
                output.flush()?;
            }
        }
        Ok(())
    }

    /// The answer to one message; nothing to a notification.
    pub fn answer(&self, message: &[u8]) -> Option<Vec<u8>> {
        match Message::of_client(message) {
            Ok(Message::Request { id, method, params }) => Some(self.request(&id, &method, params)),
            Ok(Message::Notification { .. } | Message::Response { .. } | Message::LooseError) => None,
            Err(MessageError::Json(problem)) => Some(texts::error(None, PARSE_ERROR, &problem)),
            Err(error) => Some(texts::error(None, INVALID_REQUEST, &error.to_string())),
        }
    }

    fn request(&self, id: &Id, method: &str, params: Option<&str>) -> Vec<u8> {
        let params: Json = params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default();
        let version = params.get("_meta").and_then(|meta| meta.get(MODERN_KEY)).and_then(Json::as_str);
        if let Some(version) = version.filter(|version| *version != MODERN) {
            let error = json!({"code": VERSION_UNKNOWN, "message": "this revision is not supported",
                "data": {"supported": [MODERN], "requested": version}});
            return format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}", id.text).into_bytes();
        }
        let mut result = match method {
            "initialize" => {
                let asked = params.get("protocolVersion").and_then(Json::as_str).unwrap_or_default();
                let version = LEGACY.into_iter().find(|known| *known == asked).unwrap_or(LEGACY[0]);
                about(&json!({"protocolVersion": version}))
            }
            "server/discover" => about(&json!({"supportedVersions": [MODERN]})),
            "ping" => json!({}),
            "tools/list" => json!({"tools": tools()}),
            "tools/call" => {
                let name = params.get("name").and_then(Json::as_str).unwrap_or_default();
                let none = Map::new();
                let arguments = match params.get("arguments") {
                    None => &none,
                    Some(Json::Object(arguments)) => arguments,
                    Some(_) => {
                        return texts::error(
                            Some(&id.text),
                            INVALID_PARAMS,
                            "`params.arguments` is not an object",
                        );
                    }
                };
                let Some(answered) = self.call(name, arguments) else {
                    let message = format!("no tool `{}`", texts::shown(name));
                    return texts::error(Some(&id.text), INVALID_PARAMS, &message);
                };
                match answered {
                    Ok((text, data)) => {
                        json!({"content": [{"type": "text", "text": text}], "structuredContent": data})
                    }
                    Err(problem) => json!({"content": [{"type": "text", "text": problem}], "isError": true}),
                }
            }
            _ => {
                let message = format!("`{}` is not a method of this server", texts::shown(method));
                return texts::error(Some(&id.text), METHOD_UNKNOWN, &message);
            }
        };
        if let Some(members) = result.as_object_mut().filter(|_| version.is_some()) {
            members.insert("resultType".to_owned(), json!("complete"));
            if ["tools/list", "server/discover"].contains(&method) {
                members.extend([
                    ("ttlMs".to_owned(), json!(60_000)),
                    ("cacheScope".to_owned(), json!("private")),
                ]);
            }
        }
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", id.text).into_bytes()
    }

    /// Nothing for a tool that there is not.
    fn call(&self, name: &str, arguments: &Map<String, Json>) -> Option<Answered> {
        Some(match name {
            "propose" => self.propose(arguments),
            "status" => self.with_action(arguments, |action| (told(action), state(action))),
            "why" => self.with_action(arguments, |action| (why(action), state(action))),
            "show" => self.with_action(arguments, |action| {
                (texts::shown(action.view.text()), json!({"view_digest": action.view_digest}))
            }),
            "list_held" => self.list_held(),
            _ => return None,
        })
    }

    fn propose(&self, arguments: &Map<String, Json>) -> Answered {
        const KNOWN: [&str; 5] = ["action_type", "target", "parameters", "supersedes", "preconditions"];
        if let Some(other) = arguments.keys().find(|name| !KNOWN.contains(&name.as_str())) {
            return Err(format!("unknown argument `{}`", texts::shown(other)));
        }
        let member = |name: &str| arguments.get(name).cloned();
        let mut target = member("target").unwrap_or_default();
        if let Some(target) = target.as_object_mut() {
            target.entry("constraints").or_insert_with(|| json!({}));
        }
        let mut proposal = json!({
            "proposal_id": format!("mcp-{}", random_id()?),
            "ts_ms": now_ms(),
            "actor": self.actor,
            "action_type": member("action_type").unwrap_or_default(),
            "target": target,
            "parameters": member("parameters").unwrap_or_else(|| json!({})),
        });
        if let (Some(preconditions), Some(members)) = (member("preconditions"), proposal.as_object_mut()) {
            members.insert("preconditions".to_owned(), preconditions);
        }
        let mut canon = Canonicalizer::new();
        let document = canon.value(&proposal).map_err(|error| error.to_string())?;
        let supersedes = arguments.get("supersedes").and_then(Json::as_str);
        let answer = self.client.submit(document, supersedes).map_err(|error| problem(&error))?;
        Ok((told(&answer.status), state(&answer.status)))
    }

    fn with_action(
        &self,
        arguments: &Map<String, Json>,
        tell: impl FnOnce(&ActionStatus) -> (String, Json),
    ) -> Answered {
        let id = arguments.get("action_id").and_then(Json::as_str).ok_or("`action_id` is not a text")?;
        let unknown = || format!("no action `{}` of yours", texts::shown(id));
        let action = self.client.action(id).map_err(|error| problem(&error))?;
        // An agent sees its own; other agents of the same user have others.
        let action = action.filter(|action| action.actor == self.actor);
        action.as_ref().map(tell).ok_or_else(unknown)
    }

    fn list_held(&self) -> Answered {
        let query = ActionsQuery { state: Some(ActionState::Held), ..ActionsQuery::default() };
        let page = self.client.actions(&query).map_err(|error| problem(&error))?;
        let held: Vec<&ActionStatus> =
            page.actions.iter().filter(|action| action.actor == self.actor).take(LISTED_MAX).collect();
        let lines: Vec<String> = held.iter().map(|action| told(action)).collect();
        let text = if lines.is_empty() { "nothing is held".to_owned() } else { lines.join("\n") };
        Ok((text, json!({"actions": held.iter().map(|action| state(action)).collect::<Vec<_>>()})))
    }
}

fn about(first: &Json) -> Json {
    let mut about = json!({"capabilities": {"tools": {}}, "instructions": INSTRUCTIONS,
        "serverInfo": {"name": "ordain", "version": env!("CARGO_PKG_VERSION")}});
    if let (Some(about), Some(first)) = (about.as_object_mut(), first.as_object()) {
        about.extend(first.clone());
    }
    about
}

fn told(action: &ActionStatus) -> String {
    let id = &action.action_id;
    match action.state {
        ActionState::Held => {
            format!("{id} is held: a person approves it with `ordain approve {id}`. Ask again with `status`.")
        }
        ActionState::Allowed => format!("{id} is allowed: a worker with its permit may carry it out."),
        other => format!("{id} is {}.", other.name()),
    }
}

fn why(action: &ActionStatus) -> String {
    let reasons = action.decision.reasons.iter();
    let mut lines: Vec<String> =
        reasons.map(|reason| format!("[{}] {}", reason.rule_id, texts::shown(&reason.message))).collect();
    let verdicts = action.approvals.iter().map(|approval| {
        let (approver, reason) = (approval.approver.as_str(), &approval.reason);
        format!("{:?} by {}: {}", approval.verdict, texts::shown(approver), texts::shown(reason))
    });
    lines.extend(verdicts);
    format!("{}\n{}", told(action), lines.join("\n"))
}

fn state(action: &ActionStatus) -> Json {
    json!({"action_id": action.action_id, "state": action.state.name(), "expires_at_ms": action.expires_at_ms})
}

fn problem(error: &ClientError) -> String {
    match error {
        ClientError::Problem(problem) => {
            let errors = problem.errors.iter().map(|error| format!("{}: {}", error.path, error.message));
            let all: Vec<String> = std::iter::once(problem.detail.clone()).chain(errors).collect();
            texts::shown(&all.join("; "))
        }
        other => texts::shown(&format!("the gate cannot be asked: {other}")),
    }
}

fn tools() -> Json {
    let tool = |name: &str, description: &str, read_only: bool, properties: Json, required: Json| {
        json!({"name": name, "description": description,
            "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
            "annotations": {"readOnlyHint": read_only, "destructiveHint": false, "openWorldHint": false}})
    };
    let id = json!({"action_id": {"type": "string"}});
    let text = json!({"type": "string"});
    let target = json!({"type": "object", "properties": {"resource_type": text, "resource_id": text, "domain": text,
        "constraints": {"type": "object"}}, "required": ["resource_type", "resource_id", "domain"]});
    json!([
        tool(
            "propose",
            "Propose an action. The gate decides at once: allowed, held for a person, or denied with every reason.",
            false,
            json!({"action_type": {"type": "string", "description": "such as read, write, delete, execute, communicate"},
                "target": target, "parameters": {"type": "object"}, "preconditions": {"type": "array"},
                "supersedes": {"type": "string", "description": "a held action of yours that this one replaces"}}),
            json!(["action_type", "target"])
        ),
        tool("status", "Tell the state of an action that you proposed.", true, id, json!(["action_id"])),
        tool("list_held", "List your actions that wait for a person.", true, json!({}), json!([])),
        tool(
            "show",
            "Show an action as its approvers see it.",
            true,
            json!({"action_id": text}),
            json!(["action_id"])
        ),
        tool(
            "why",
            "Tell every reason of a decision, and who approved or rejected.",
            true,
            json!({"action_id": text}),
            json!(["action_id"])
        ),
    ])
}
