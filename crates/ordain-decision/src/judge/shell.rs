//! Shell commands, which are judged by their effects. The gate derives those itself: a caller cannot name them.

use ordain_canon::Value;
use ordain_shell::{Effect, Place, VERSION, analyse};
use ordain_spec::action::{ActionType, Proposal};
use serde::{Deserialize, Serialize};

/// Where the command stands.
pub(crate) const COMMAND: &str = "/parameters/command";
pub(crate) const SHELL: &str = "shell";
const WORKSPACE: &str = "workspace";
const HOST: &str = "host";

/// The effects of a shell command, and what they were derived with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellEffects {
    /// Every effect, each once. Without any, nothing is permitted.
    pub effects: Vec<Effect>,
    /// The version of `ordain-shell`.
    pub version: String,
    /// The workspace, from the root of the file system. Without it, paths from the root are outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// The effects of a proposal's shell command. `None` for any other proposal, and for one that rule G9 denies.
pub fn derive_shell(document: &Value<'_>, workspace: Option<&str>) -> Option<ShellEffects> {
    let target = |name: &str| document.get("target")?.get(name)?.as_str();
    if document.get("action_type")?.as_str()? != "execute" || target("resource_type")? != SHELL {
        return None;
    }
    let Ok((command, cwd)) = command_of(document, target("domain")?) else { return None };
    let analysis = analyse(command, &Place { workspace, cwd, home: None });
    Some(ShellEffects {
        effects: analysis.effects,
        version: VERSION.to_owned(),
        workspace: workspace.map(str::to_owned),
    })
}

/// Something about a command that keeps it from being judged.
pub(crate) struct Problem {
    pub(crate) path: &'static str,
    pub(crate) message: &'static str,
}

/// Whether a proposal runs a shell command that can be judged by its effects.
pub(crate) fn is_judged_by_effects(proposal: &Proposal, document: &Value<'_>) -> bool {
    proposal.target.resource_type.as_str() == SHELL && problem(proposal, document).is_none()
}

/// G9 of a shell command.
pub(crate) fn problem(proposal: &Proposal, document: &Value<'_>) -> Option<Problem> {
    if proposal.target.resource_type.as_str() != SHELL {
        return None;
    }
    if proposal.action_type != ActionType::Execute {
        return Some(Problem { path: "/action_type", message: "a shell command is run by `execute`" });
    }
    command_of(document, proposal.target.domain.as_str()).err()
}

/// The command and the folder that it starts in.
fn command_of<'d>(document: &'d Value<'_>, domain: &str) -> Result<(&'d str, &'d str), Problem> {
    let wrong = |path: &'static str, message: &'static str| Err(Problem { path, message });
    if domain != WORKSPACE && domain != HOST {
        return wrong("/target/domain", "a shell command runs in the domain `workspace` or `host`");
    }
    let parameter = |name: &str| document.get("parameters").and_then(|parameters| parameters.get(name));
    if parameter("effects").is_some() {
        return wrong(
            "/parameters/effects",
            "the gate derives the effects of a command; a caller cannot name them",
        );
    }
    let Some(command) = parameter("command").and_then(Value::as_str) else {
        return wrong(COMMAND, "a shell command is a text in `parameters.command`");
    };
    let cwd = match parameter("cwd") {
        None if domain == WORKSPACE => ".",
        None => "/",
        Some(cwd) => match cwd.as_str() {
            Some(cwd) if domain == WORKSPACE || cwd.starts_with('/') => cwd,
            Some(_) => return wrong("/parameters/cwd", "a folder of the host is a path from the root"),
            None => return wrong("/parameters/cwd", "the folder of a command is a text"),
        },
    };
    Ok((command, cwd))
}
