//! Adds the hook to a host's settings and takes it out again. Texts in, texts out: whoever calls this reads and
//! writes the files.

mod codex;
mod json;
mod opencode;
mod requirements;

pub use codex::codex_trust;

use crate::core::agent::Agent;
use crate::pins::Pins;
use json::{Node, insert_element, insert_member, parse, remove_at};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// The owner of the settings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Setting {
    /// Those of the machine, which root writes.
    Managed,
    /// Those of the user.
    User,
    /// Those of a project, on this machine.
    Project,
}

/// The result for a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Edit {
    /// It says so already.
    Same,
    /// The hook was added; everything else is as it was.
    Added(String),
    /// Another command of ordain stood there.
    Replaced(String),
}

/// Why a text is left alone.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The host would not read it either, or would read it in its own way.
    #[error("cannot be read: {0}")]
    Malformed(String),
    /// A member is not what the host expects.
    #[error("`{0}` has another type than the host expects")]
    Shape(String),
    /// A file of that name that is not ours.
    #[error("is not a file of ordain")]
    NotOurs,
}

/// A hook of ordain in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The event that it is called for.
    pub event: String,
    /// The command line.
    pub command: String,
    /// Its program and pins; nothing if they cannot be read.
    pub pins: Option<(PathBuf, Pins)>,
    /// Seconds that the host waits.
    pub timeout_s: Option<u64>,
    /// Everything of the entry is as `setup` writes it.
    pub exact: bool,
}

/// A program with its pins, as it is installed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Installed<'a> {
    /// The absolute path of `ordain`.
    pub program: &'a Path,
    /// The pins.
    pub pins: &'a Pins,
}

/// Seconds that a host waits longer than the hook.
const HOST_WAITS_LONGER_S: u64 = 10;
/// Seconds that a host waits for the event after a call.
const AFTER_S: u64 = 60;

impl Setting {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Managed, Self::User, Self::Project];

    /// As options name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
        }
    }

    /// The file that an agent reads; nothing where it has none of this kind.
    pub fn path(self, agent: Agent, home: &Path, project: &Path) -> Option<PathBuf> {
        let below = match (agent, self) {
            (Agent::Claude, Self::Managed) => return Some("/etc/claude-code/managed-settings.json".into()),
            (Agent::Gemini, Self::Managed) => return Some("/etc/gemini-cli/settings.json".into()),
            (Agent::Qwen, Self::Managed) => return Some("/etc/qwen-code/settings.json".into()),
            (Agent::Copilot, Self::Managed) => {
                return Some("/etc/github-copilot/policy.d/ordain.json".into());
            }
            (Agent::Codex, Self::Managed) => return Some("/etc/codex/requirements.toml".into()),
            (Agent::Opencode, Self::Managed) => return None,
            (Agent::Claude, Self::User) => ".claude/settings.json",
            // The file that is not shared with others: the command names paths of this machine.
            (Agent::Claude, Self::Project) => ".claude/settings.local.json",
            (Agent::Codex, _) => ".codex/hooks.json",
            (Agent::Gemini, _) => ".gemini/settings.json",
            (Agent::Qwen, _) => ".qwen/settings.json",
            (Agent::Copilot, Self::User) => ".copilot/hooks/ordain.json",
            (Agent::Copilot, Self::Project) => ".github/hooks/ordain.json",
            (Agent::Opencode, Self::User) => ".config/opencode/plugin/ordain.js",
            (Agent::Opencode, Self::Project) => ".opencode/plugin/ordain.js",
        };
        let base = if self == Self::User { home } else { project };
        Some(base.join(below))
    }
}

/// The events that an agent's settings name: before a call, and after it.
fn events(agent: Agent) -> (&'static str, &'static [&'static str]) {
    match agent {
        Agent::Claude => ("PreToolUse", &["PostToolUse", "PostToolUseFailure"]),
        Agent::Codex | Agent::Qwen => ("PreToolUse", &["PostToolUse"]),
        Agent::Gemini => ("BeforeTool", &["AfterTool"]),
        Agent::Copilot => ("preToolUse", &["postToolUse"]),
        Agent::Opencode => ("tool.execute.before", &["tool.execute.after"]),
    }
}

/// The form of a file with hooks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Settings in JSON.
    Json,
    /// Settings in TOML.
    Toml,
    /// A file of its own for each hook.
    Own,
}

impl Form {
    fn of(agent: Agent, path: &Path) -> Self {
        match agent {
            Agent::Copilot | Agent::Opencode => Self::Own,
            Agent::Codex if path.extension().is_some_and(|extension| extension == "toml") => Self::Toml,
            Agent::Claude | Agent::Codex | Agent::Gemini | Agent::Qwen => Self::Json,
        }
    }
}

/// The words in the spinner of a host that shows some while a hook runs.
const STATUS: &str = "asking ordain; `ordain approve` answers a call that is held";

/// The entry of one event.
fn entry(installed: &Installed<'_>, is_before: bool) -> Json {
    let Installed { program, pins } = installed;
    let command = if is_before { pins.command(program) } else { pins.command_after(program) };
    let seconds = if is_before { pins.wait_s + HOST_WAITS_LONGER_S } else { AFTER_S };
    match pins.agent {
        Agent::Claude if is_before => json!({"hooks": [{
            "command": command, "onFailure": "block", "statusMessage": STATUS, "timeout": seconds,
            "type": "command",
        }]}),
        Agent::Claude => json!({"hooks": [{"command": command, "timeout": seconds, "type": "command"}]}),
        Agent::Codex if is_before => json!({
            "hooks": [{"command": command, "statusMessage": STATUS, "timeout": seconds, "type": "command"}],
            "matcher": ".*",
        }),
        Agent::Codex => {
            json!({"hooks": [{"command": command, "timeout": seconds, "type": "command"}], "matcher": ".*"})
        }
        Agent::Gemini | Agent::Qwen => json!({
            "hooks": [{"command": command, "name": "ordain", "timeout": seconds * 1_000, "type": "command"}],
            "matcher": ".*",
        }),
        Agent::Copilot => json!({"bash": command, "timeoutSec": seconds, "type": "command"}),
        Agent::Opencode => Json::Null,
    }
}

/// Adds the hook to the text of a file that may not be there.
pub fn install(installed: &Installed<'_>, path: &Path, text: Option<&str>) -> Result<Edit, EditError> {
    let agent = installed.pins.agent;
    let form = Form::of(agent, path);
    if form == Form::Own {
        let wanted = own_file(installed);
        return match text {
            None => Ok(Edit::Added(wanted)),
            Some(text) if text == wanted => Ok(Edit::Same),
            Some(text) if find_hook(agent, path, text).is_ok_and(|found| !found.is_empty()) => {
                Ok(Edit::Replaced(wanted))
            }
            Some(_) => Err(EditError::NotOurs),
        };
    }
    let (before, after) = events(agent);
    let old = text.unwrap_or_default();
    let mut replaced = false;
    let mut new = match text {
        Some(text) if !text.trim().is_empty() => {
            let found = find_hook(agent, path, text)?;
            if is_whole(installed, &found) {
                return Ok(Edit::Same);
            }
            replaced = !found.is_empty();
            remove(agent, path, text)?
        }
        _ if form == Form::Toml => String::new(),
        _ => "{}\n".to_owned(),
    };
    if form == Form::Toml {
        new = requirements::add(&new, installed)?;
        return Ok(if replaced { Edit::Replaced(new) } else { Edit::Added(new) });
    }
    for (event, is_before) in [(before, true)].into_iter().chain(after.iter().map(|event| (*event, false))) {
        new = add(&new, event, &entry(installed, is_before))?;
    }
    if new == old {
        return Ok(Edit::Same);
    }
    Ok(if replaced { Edit::Replaced(new) } else { Edit::Added(new) })
}

/// Whether exactly this is installed.
fn is_whole(installed: &Installed<'_>, found: &[Found]) -> bool {
    let (before, after) = events(installed.pins.agent);
    let wanted: Vec<&str> = [before].into_iter().chain(after.iter().copied()).collect();
    let events: Vec<&str> = found.iter().map(|hook| hook.event.as_str()).collect();
    let same = |hook: &Found| {
        let pinned = hook
            .pins
            .as_ref()
            .is_some_and(|(program, pins)| program == installed.program && pins == installed.pins);
        pinned && hook.exact
    };
    events == wanted && found.iter().all(same)
}

/// The whole text of a file of our own.
fn own_file(installed: &Installed<'_>) -> String {
    if installed.pins.agent == Agent::Opencode {
        return opencode::plugin(installed);
    }
    let (before, after) = events(installed.pins.agent);
    let mut hooks = serde_json::Map::new();
    hooks.insert(before.to_owned(), json!([entry(installed, true)]));
    for event in after {
        hooks.insert((*event).to_owned(), json!([entry(installed, false)]));
    }
    format!("{:#}\n", json!({"hooks": hooks, "version": 1}))
}

fn add(text: &str, event: &str, entry: &Json) -> Result<String, EditError> {
    let root = parse(text)?;
    let Some(hooks) = root.member("hooks") else {
        root.as_object("the file")?;
        return Ok(insert_member(text, &root, "hooks", &json!({event: [entry]})));
    };
    hooks.as_object("hooks")?;
    match hooks.member(event) {
        None => Ok(insert_member(text, hooks, event, &json!([entry]))),
        Some(list) => {
            list.as_array(&format!("hooks.{event}"))?;
            Ok(insert_element(text, list, entry))
        }
    }
}

/// The hooks of ordain in a text.
pub fn find_hook(agent: Agent, path: &Path, text: &str) -> Result<Vec<Found>, EditError> {
    if agent == Agent::Opencode {
        return Ok(opencode::find(text));
    }
    if Form::of(agent, path) == Form::Toml {
        return requirements::find(text);
    }
    let root = parse(text)?;
    root.as_object("the file")?;
    let value: Json = serde_json::from_str(text).map_err(|error| EditError::Malformed(error.to_string()))?;
    let mut found = Vec::new();
    let Some(hooks) = value.get("hooks") else { return Ok(found) };
    if !hooks.is_object() {
        return Err(EditError::Shape("hooks".to_owned()));
    }
    let (before, after) = events(agent);
    for event in [before].into_iter().chain(after.iter().copied()) {
        let Some(list) = hooks.get(event) else { continue };
        let list = list.as_array().ok_or_else(|| EditError::Shape(format!("hooks.{event}")))?;
        for element in list.iter().filter(|element| is_ours(agent, element)) {
            found.push(read(agent, event, event == before, element));
        }
    }
    Ok(found)
}

/// The command of an entry that is ours.
fn command_of<'j>(agent: Agent, element: &'j Json) -> Option<&'j str> {
    let of = |hook: &'j Json, name: &str| hook.get(name).and_then(Json::as_str);
    let command = if agent == Agent::Copilot {
        of(element, "bash")
    } else {
        element
            .get("hooks")?
            .as_array()?
            .iter()
            .find_map(|hook| of(hook, "command").filter(|it| names_us(it)))
    };
    command.filter(|command| names_us(command))
}

/// A command that calls `ordain hook`, whatever its path and options.
fn names_us(command: &str) -> bool {
    let words = Pins::shell_words(command);
    words.windows(2).any(|pair| match pair {
        [program, hook] => hook == "hook" && program.rsplit('/').next() == Some("ordain"),
        _ => false,
    })
}

fn is_ours(agent: Agent, element: &Json) -> bool {
    command_of(agent, element).is_some()
}

fn read(agent: Agent, event: &str, is_before: bool, element: &Json) -> Found {
    let command = command_of(agent, element).unwrap_or_default().to_owned();
    let pins = Pins::of_command(&command);
    let hook = if agent == Agent::Copilot {
        Some(element)
    } else {
        element.get("hooks").and_then(|hooks| hooks.get(0))
    };
    let number = |name: &str| hook.and_then(|hook| hook.get(name)).and_then(Json::as_u64);
    let timeout_s = match agent {
        Agent::Gemini | Agent::Qwen => number("timeout").map(|ms| ms / 1_000),
        Agent::Copilot => number("timeoutSec"),
        _ => number("timeout"),
    };
    let exact = pins
        .as_ref()
        .is_some_and(|(program, pins)| entry(&Installed { program, pins }, is_before) == *element);
    Found { event: event.to_owned(), command, pins, timeout_s, exact }
}

/// The text without the hooks of ordain. Everything else stays, byte for byte, apart from lists that become empty.
pub fn remove(agent: Agent, path: &Path, text: &str) -> Result<String, EditError> {
    if Form::of(agent, path) == Form::Toml {
        return requirements::remove(text);
    }
    let (before, after) = events(agent);
    let mut text = text.to_owned();
    for event in [before].into_iter().chain(after.iter().copied()) {
        loop {
            let root = parse(&text)?;
            let Some(list) = root.member("hooks").and_then(|hooks| hooks.member(event)) else { break };
            let elements = list.as_array(&format!("hooks.{event}"))?;
            let is_ours = |node: &Node| {
                let element = text.get(node.span.clone()).and_then(|text| serde_json::from_str(text).ok());
                element.is_some_and(|element: Json| is_ours(agent, &element))
            };
            let Some(at) = elements.iter().position(is_ours) else { break };
            let path: &[&str] = if elements.len() > 1 { &["hooks", event] } else { &["hooks"] };
            let is_last_event = root.member("hooks").is_some_and(|hooks| hooks.members().len() == 1);
            text = match (elements.len() > 1, is_last_event) {
                (true, _) => remove_at(&text, &root, path, json::At::Element(at)),
                (false, false) => remove_at(&text, &root, path, json::At::Member(event)),
                (false, true) => remove_at(&text, &root, &[], json::At::Member("hooks")),
            };
        }
    }
    Ok(text)
}
