//! Answers: the exact bytes that a host honours. A host ignores what it does not know, and then runs the tool.

use super::agent::Agent;
use super::words::one_line;
use serde_json::json;

/// An answer to an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The tool may run.
    Allow,
    /// The tool may not run. The reason is for the model.
    Deny(String),
    /// The event asks for nothing.
    Nothing,
}

/// The form of an answer, where a host has several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// As the agent's own events want it.
    Own,
    /// Copilot, asked by an event in the form of Claude Code.
    ClaudeLike,
}

/// The output of a hook, and how it ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Printed {
    /// To standard output, once.
    pub stdout: String,
    /// To standard error.
    pub stderr: String,
    /// The exit status.
    pub code: u8,
}

/// The status with which every host that asks for one blocks a call.
const BLOCK: u8 = 2;

impl Answer {
    /// As this agent reads it.
    pub fn printed(&self, agent: Agent, shape: Shape) -> Printed {
        match self {
            Self::Nothing => Printed { stdout: String::new(), stderr: String::new(), code: 0 },
            Self::Allow => Printed { stdout: allow(agent, shape), stderr: String::new(), code: 0 },
            Self::Deny(reason) => {
                let reason = one_line(reason);
                // An empty reason makes some hosts drop the whole answer.
                let reason = if reason.is_empty() { "ordain: not allowed".to_owned() } else { reason };
                let stderr = format!("{reason}\n");
                Printed { stdout: deny(agent, shape, &reason), stderr, code: BLOCK }
            }
        }
    }
}

/// A line that the host shows while it waits for the answer; nothing for a host that would take it for one.
pub(crate) fn progress(agent: Agent, shape: Shape, text: &str) -> Option<String> {
    let shows = agent == Agent::Copilot && shape == Shape::Own;
    shows.then(|| {
        let said = json!({"message": one_line(text), "temporary": true, "type": "progress"});
        format!("{said}\n")
    })
}

fn allow(agent: Agent, shape: Shape) -> String {
    let said = match (agent, shape) {
        // Codex takes an allow without new input for a mistake of the hook.
        (Agent::Codex, _) => return String::new(),
        (Agent::Claude | Agent::Qwen, _) | (Agent::Copilot, Shape::ClaudeLike) => json!({
            "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
        }),
        (Agent::Copilot, Shape::Own) => json!({"permissionDecision": "allow"}),
        (Agent::Gemini | Agent::Opencode, _) => json!({"decision": "allow"}),
    };
    format!("{said}\n")
}

fn deny(agent: Agent, shape: Shape, reason: &str) -> String {
    let said = match (agent, shape) {
        (Agent::Claude | Agent::Codex | Agent::Qwen, _) | (Agent::Copilot, Shape::ClaudeLike) => json!({
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }
        }),
        (Agent::Copilot, Shape::Own) => {
            json!({"permissionDecision": "deny", "permissionDecisionReason": reason})
        }
        (Agent::Gemini | Agent::Opencode, _) => json!({"decision": "deny", "reason": reason}),
    };
    format!("{said}\n")
}
