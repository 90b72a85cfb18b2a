//! An action in one sentence, and its risk in words.

use crate::report::{GREEN, RED, YELLOW};
use crate::wording::count;
use anstyle::Style;
use ordain_api::ActionStatus;
use serde_json::Value as Json;

/// How much can go wrong, by the kind of the action alone. Nothing that the proposer says about itself counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Risk {
    pub(crate) level: Level,
    pub(crate) words: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Low,
    Medium,
    High,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    pub(crate) fn style(self) -> Style {
        match self {
            Self::Low => GREEN,
            Self::Medium => YELLOW,
            Self::High => RED,
        }
    }
}

/// A text of the proposal, as an approver is shown it.
pub(super) fn text<'s>(status: &'s ActionStatus, pointer: &str) -> &'s str {
    let found = status.view.get("proposal").and_then(|proposal| proposal.pointer(pointer));
    found.and_then(Json::as_str).unwrap_or("?")
}

/// `agent-1 wants to run: git push origin main`. Everything after the name is the agent's own text.
pub(crate) fn summary(status: &ActionStatus) -> String {
    format!("{} wants to {}", status.actor, deed(status))
}

/// `write the file src/main.rs of workspace`.
pub(crate) fn deed(status: &ActionStatus) -> String {
    let action = text(status, "/action_type");
    let (kind, id) = (text(status, "/target/resource_type"), text(status, "/target/resource_id"));
    let parameter = |name: &str| {
        let parameters = status.view.get("proposal").and_then(|proposal| proposal.get("parameters"));
        parameters.and_then(|parameters| parameters.get(name))
    };
    if action == "execute" {
        let command = parameter("command").and_then(Json::as_str).unwrap_or(id);
        return format!("run: {command}");
    }
    if kind == "patch_set"
        && let Some(operations) = parameter("operations").and_then(Json::as_array)
    {
        let back = parameter("undo").and_then(Json::as_bool).unwrap_or_default();
        return format!("{} {}", if back { "take back changes of" } else { "change" }, files(operations));
    }
    format!("{} the {kind} {id} of {}", verb(action), text(status, "/target/domain"))
}

/// `3 files (1 create, 2 modify)`, with the path if there is one.
fn files(operations: &[Json]) -> String {
    let member =
        |operation: &Json, name: &str| operation.get(name).and_then(Json::as_str).unwrap_or("?").to_owned();
    if let [operation] = operations {
        return format!("1 file: {} {}", member(operation, "op"), member(operation, "path"));
    }
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for operation in operations {
        let name = member(operation, "op");
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, number)) => *number += 1,
            None => kinds.push((name, 1)),
        }
    }
    let kinds: Vec<String> = kinds.into_iter().map(|(name, number)| format!("{number} {name}")).collect();
    format!("{} ({})", count(operations.len() as u64, "file"), kinds.join(", "))
}

fn verb(action: &str) -> &str {
    match action {
        "communicate" => "send to",
        "transact" => "pay with",
        "navigate" => "open",
        "custom" => "use",
        other => other,
    }
}

/// The risk of an action.
pub(crate) fn risk(status: &ActionStatus) -> Risk {
    let of_files = text(status, "/target/resource_type") == "patch_set";
    let deletes = || {
        let proposal = status.view.get("proposal");
        let operations =
            proposal.and_then(|it| it.pointer("/parameters/operations")).and_then(Json::as_array);
        operations.is_none_or(|all| {
            all.iter().any(|operation| operation.get("op").and_then(Json::as_str) == Some("delete"))
        })
    };
    let (level, words) = match text(status, "/action_type") {
        "read" => (Level::Low, "reads, and changes nothing"),
        "navigate" => (Level::Medium, "opens an address, which can carry data out"),
        "create" => (Level::Medium, "adds something new"),
        "write" | "delete" if of_files && deletes() => {
            (Level::High, "deletes files; `ordain undo` brings them back while nothing else changed them")
        }
        "write" | "delete" if of_files => {
            (Level::Medium, "changes files; `ordain undo` takes it back while nothing else changed them")
        }
        "write" => (Level::Medium, "changes something in place"),
        "delete" => (Level::High, "removes something; ordain keeps no copy"),
        "execute" => (Level::High, "runs a program with all the rights of its user"),
        "communicate" => (Level::High, "sends something out, which nobody can take back"),
        "transact" => (Level::High, "moves money"),
        "approve" => (Level::High, "approves something elsewhere"),
        _ => (Level::High, "does something that ordain cannot judge"),
    };
    Risk { level, words }
}
