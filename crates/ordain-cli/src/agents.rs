//! The coding agents of this machine: which are there, and whether the gate is asked before they act.

use crate::commands::pause::told;
use crate::commands::setup::{codex_hooks, pins_of};
use crate::exit::Failure;
use crate::project::Project;
use ordain_api::Observation;
use ordain_hooks::{Agent, Found, GatePin, Pins, Setting, find_hook};
use ordain_state::Home;
use serde::Serialize;
use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};

/// How an agent stands.
#[derive(Serialize)]
pub(crate) struct AgentState {
    pub(crate) agent: &'static str,
    /// `guarded`: every hooked call asks the gate. `observed`: an owner lets its calls pass for a time. `open`: it acts
    /// by itself. `broken`: a hook is there that does not guard.
    pub(crate) state: &'static str,
    /// The file with the hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// Why it is broken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<String>,
    /// Calls that the host does not ask about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_covered: Vec<String>,
}

impl AgentState {
    /// Whether it claims to be guarded and is not.
    pub(crate) fn is_broken(&self) -> bool {
        self.state == BROKEN
    }
}

const GUARDED: &str = "guarded";
const OBSERVED: &str = "observed";
const OPEN: &str = "open";
const BROKEN: &str = "broken";

/// The home folder of the person who sets up an agent.
pub(crate) fn home() -> Result<PathBuf, Failure> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    home.ok_or_else(|| Failure::Usage("HOME names no folder".to_owned()))
}

/// Whether this folder belongs to a project with a gate.
pub(crate) fn in_project() -> Result<bool, Failure> {
    Ok(Project::registered_above(Path::new("."))?.is_some())
}

/// The folder of the project that a folder belongs to, or the folder itself.
pub(crate) fn project_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let project = Project::registered_above(folder)?;
    let top = project.map_or_else(|| folder.to_owned(), |project| project.top().to_owned());
    Ok(top.canonicalize()?)
}

/// The agents that are on this machine: their program is in the path, or their folder in the home folder.
pub(crate) fn present(home: &Path) -> Vec<Agent> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    let there = |agent: &Agent| {
        let settings = match agent {
            Agent::Claude => ".claude",
            Agent::Codex => ".codex",
            Agent::Copilot => ".copilot",
            Agent::Gemini => ".gemini",
            Agent::Qwen => ".qwen",
            Agent::Opencode => ".config/opencode",
        };
        home.join(settings).is_dir() || folders.iter().any(|folder| folder.join(agent.name()).is_file())
    };
    Agent::ALL.into_iter().filter(there).collect()
}

/// Calls of an agent that no hook sees.
pub(crate) fn not_covered(agent: Agent) -> Vec<String> {
    let points: &[&str] = match agent {
        Agent::Claude => &[
            "`claude --bare` and `disableAllHooks` run without hooks",
            "files that a prompt mentions with `@` are read without a call",
        ],
        Agent::Codex => &[
            "`write_stdin` types into a program that runs already: hold commands that start a shell or an interpreter",
            "`web_search` runs at the provider",
        ],
        Agent::Copilot => &["if the hook takes longer than its timeout, the host runs the tool"],
        Agent::Gemini => &[
            "if the hook takes longer than its timeout, the host runs the tool",
            "in a folder that Gemini CLI does not trust no hook runs",
        ],
        Agent::Qwen => &["if the hook takes longer than its timeout, the host runs the tool"],
        Agent::Opencode => &["if the plugin does not load, tools run"],
    };
    points.iter().map(|point| (*point).to_owned()).collect()
}

/// Every agent of this machine, as seen from a folder.
pub(crate) fn look(folder: &Path, observing: &[Observation]) -> Result<Vec<AgentState>, Failure> {
    let home = home()?;
    let project = project_folder(folder)?;
    let mut states = Vec::new();
    let present = present(&home);
    for agent in Agent::ALL {
        let state = state_of(agent, &home, &project, observing);
        if present.contains(&agent) || state.state != OPEN {
            states.push(state);
        }
    }
    Ok(states)
}

fn state_of(agent: Agent, home: &Path, project: &Path, observing: &[Observation]) -> AgentState {
    let mut problems = Vec::new();
    let mut hook = None;
    for path in files(agent, home, project) {
        let Ok(text) = fs::read_to_string(&path) else {
            if path.symlink_metadata().is_ok() {
                problems.push(format!("{} cannot be read", path.display()));
            }
            continue;
        };
        match find_hook(agent, &path, &text) {
            Ok(found) if !found.is_empty() => hook = hook.or(Some((path, text, found))),
            Ok(_) => problems.extend(disabled(agent, &path, &text)),
            // The host may ignore the whole file, and every hook in it.
            Err(error) if text.contains("ordain") => problems.push(format!("{}: {error}", path.display())),
            Err(_) => {}
        }
    }
    let Some((path, text, found)) = hook else {
        // Nothing says that it is guarded, unless a file that names ordain cannot be read.
        let broken = problems.iter().any(|problem| problem.contains("cannot be read:"));
        let state = if broken { BROKEN } else { OPEN };
        let problems = if broken { problems } else { Vec::new() };
        return AgentState { agent: agent.name(), state, file: None, problems, not_covered: Vec::new() };
    };
    problems.extend(disabled(agent, &path, &text));
    problems.extend(problems_of(agent, &path, &found));
    if agent == Agent::Codex {
        problems.extend(untrusted(&path, project));
    }
    let hook = pins_of(&found).map(|(_, pins)| pins.hook().to_owned());
    let counts = |it: &&Observation| it.hook.is_none() || it.hook == hook;
    let observed: Vec<String> = observing.iter().filter(counts).map(told).collect();
    let state = match (problems.is_empty(), observed.is_empty()) {
        (false, _) => BROKEN,
        (true, false) => OBSERVED,
        (true, true) => GUARDED,
    };
    let file = Some(path.display().to_string());
    let not_covered = [observed, not_covered(agent)].concat();
    AgentState { agent: agent.name(), state, file, problems, not_covered }
}

/// The settings that an agent reads, also those that `setup` does not write.
fn files(agent: Agent, home: &Path, project: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        Setting::ALL.iter().filter_map(|setting| setting.path(agent, home, project)).collect();
    if agent == Agent::Claude {
        files.push(project.join(".claude/settings.json"));
    }
    files.dedup();
    files
}

/// Switches that keep hooks from running, in any settings of the agent.
fn disabled(agent: Agent, path: &Path, text: &str) -> Option<String> {
    let settings: Json = serde_json::from_str(text).ok()?;
    let is = |pointer: &str, value: bool| settings.pointer(pointer) == Some(&Json::Bool(value));
    let off = match agent {
        Agent::Claude | Agent::Qwen => is("/disableAllHooks", true),
        Agent::Gemini => is("/hooksConfig/enabled", false) || is("/tools/enableHooks", false),
        Agent::Codex | Agent::Copilot | Agent::Opencode => false,
    };
    off.then(|| format!("{} switches all hooks off", path.display()))
}

/// The problems of the hooks in a file.
fn problems_of(agent: Agent, path: &Path, found: &[Found]) -> Vec<String> {
    let mut problems = Vec::new();
    let before: Vec<&Found> = found
        .iter()
        .filter(|hook| {
            !hook.event.to_lowercase().contains("after") && !hook.event.to_lowercase().starts_with("post")
        })
        .collect();
    if before.is_empty() {
        problems.push("no hook is called before a tool runs".to_owned());
    }
    if found.iter().any(|hook| !hook.exact) {
        problems.push("the entry was edited: it is not what `ordain setup` writes".to_owned());
    }
    let Some((program, pins)) = pins_of(found) else {
        problems.push("its command line cannot be read".to_owned());
        return problems;
    };
    if !program.is_file() {
        problems.push(format!("{} is not there", program.display()));
    } else if std::env::current_exe().and_then(|own| own.canonicalize()).is_ok_and(|own| own != *program) {
        problems.push(format!("it runs {}, which is another ordain than this one", program.display()));
    }
    let too_short = |hook: &&&Found| hook.timeout_s.is_some_and(|timeout| timeout <= pins.wait_s + 5);
    if agent != Agent::Opencode && before.iter().any(|hook| too_short(&hook)) {
        problems.push("the host waits less long than the hook".to_owned());
    }
    let file = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if pins.observe.as_ref().is_some_and(|id| *id != Pins::hook_id(agent, &file)) {
        problems.push("it passes for another hook, whose calls an owner may have observed".to_owned());
    }
    problems.extend(gate_problem(pins));
    problems
}

/// The problems of the gate that a hook asks.
fn gate_problem(pins: &Pins) -> Option<String> {
    match &pins.gate {
        GatePin::Own { id, state } => {
            let home = Home::in_folder(state.parent().unwrap_or(Path::new("/")));
            let gate = home.gate(id);
            if let Err(error) = gate.settings() {
                return Some(format!("its gate cannot be asked: {error}"));
            }
            let keyring = ordain_gate::Keyring::open_existing(gate.path()).ok().flatten();
            match keyring {
                Some(keyring) if keyring.public() == pins.key => None,
                Some(_) => Some("the gate signs with another key by now".to_owned()),
                None => Some("the gate has no signing key".to_owned()),
            }
        }
        GatePin::Service { socket, .. } => {
            let answers = std::os::unix::net::UnixStream::connect(socket).is_ok();
            (!answers).then(|| format!("nobody answers on {}", socket.display()))
        }
        GatePin::Server { url, token, cacert, .. } => {
            let client = ordain_hooks::client_of_server(url, token, cacert.as_deref());
            let answers = client.is_ok_and(|client| client.gate().is_ok());
            (!answers).then(|| format!("{url} does not answer, or not to the token in {}", token.display()))
        }
    }
}

/// The trust that Codex has in the hooks of a file.
fn untrusted(path: &Path, project: &Path) -> Option<String> {
    let Some(hooks) = codex_hooks(project) else {
        // Nobody has to trust the settings of the machine.
        let is_managed = Setting::Managed.path(Agent::Codex, project, project).is_some_and(|it| it == path);
        return (!is_managed).then(|| "Codex does not say whether it trusts the hook".to_owned());
    };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut ours = hooks.iter().filter(|hook| {
        hook.event == "preToolUse"
            && hook.source.canonicalize().is_ok_and(|source| source == real)
            && hook.command.contains(" hook codex ")
    });
    match ours.next() {
        None => Some("Codex does not see the hook".to_owned()),
        Some(hook) if !hook.enabled => Some("the hook is disabled in Codex".to_owned()),
        Some(hook) if !hook.trusted => Some("Codex does not trust the hook, and does not run it".to_owned()),
        Some(_) => None,
    }
}
