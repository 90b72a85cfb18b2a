//! `ordain setup`: puts a coding agent behind the gate, and proves that it is.

mod codex;
mod files;
mod prove;
mod target;

pub(crate) use codex::hooks_of as codex_hooks;

use crate::agents;
use crate::arguments::Connect;
use crate::clock::{date, now_ms};
use crate::commands::pause;
use crate::exit::{self, Failure, Outcome};
use crate::output::{print_json, print_result};
use crate::page::Page;
use crate::report;
use clap::{ArgGroup, Args};
use files::SettingsFile;
use ordain_api::NewObservation;
use ordain_hooks::{Agent, Edit, Found, Installed, Pins, Setting, find_hook, install};
use ordain_presence::OsUser;
use serde::Serialize;
use std::path::{Path, PathBuf};
use target::Target;

#[derive(Args)]
#[command(group = ArgGroup::new("setting").args(["user", "project", "managed"]),
    group = ArgGroup::new("whom").args(["agent", "all"]).required(true),
    after_help = exit::help_with("\
Examples:
  ordain setup claude
  ordain setup codex --user --dry-run
  ordain setup --all --refresh
  ordain setup claude --observe 3d
  ordain setup claude --remove

It adds a hook to the agent's settings, keeps everything else in the file, and then runs the hook: with a call that passes, with a damaged \
one, without its gate, and with a gate that does not answer. Changing or removing a hook takes the key of the gate's owner.", &[
    Outcome::Ok.means("the agent is guarded, or no longer if you removed the hook"),
    Outcome::Failed.means("nothing was changed, or the hook does not do what it should"),
]))]
pub(crate) struct Setup {
    /// The agent: claude, codex, copilot, gemini, qwen, opencode
    #[arg(value_name = "AGENT", value_parser = agent)]
    pub(crate) agent: Option<Agent>,
    /// Every agent that is on this machine
    #[arg(long)]
    pub(crate) all: bool,
    /// In your settings, for all folders; those of no project are judged as the host's
    #[arg(long)]
    pub(crate) user: bool,
    /// In the settings of this project [default in a project]
    #[arg(long)]
    pub(crate) project: bool,
    /// In the settings of this machine; takes root
    #[arg(long)]
    pub(crate) managed: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take the hook out and restore the file
    #[arg(long, conflicts_with = "refresh")]
    pub(crate) remove: bool,
    /// Write hooks that are installed anew, after ordain moved or the gate's key changed
    #[arg(long)]
    pub(crate) refresh: bool,
    /// The name under which the agent proposes [default: the agent's own name in entities.json, or the only agent
    /// there]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// How many seconds a held call waits for a person before it is denied; 0 for jobs where nobody is
    #[arg(long, value_name = "SECONDS", default_value_t = 590, value_parser = clap::value_parser!(u64).range(0..=86_000))]
    pub(crate) wait: u64,
    /// Only record decisions about this hook's calls for a time, and let them pass: at most 14d, such as 3d or 12h
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "14d", value_parser = pause::parse_observe,
        conflicts_with_all = ["remove", "all"])]
    pub(crate) observe: Option<u64>,
    /// Trust the hook in Codex without asking
    #[arg(long)]
    pub(crate) trust: bool,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

fn agent(name: &str) -> Result<Agent, String> {
    let known: Vec<&str> = Agent::ALL.iter().map(|agent| agent.name()).collect();
    Agent::parse(name).ok_or_else(|| format!("the agents are {}", known.join(", ")))
}

/// The result for one agent.
#[derive(Serialize)]
struct Done {
    agent: &'static str,
    file: String,
    /// `installed`, `replaced`, `unchanged`, `removed`, `absent`, `would change`.
    result: &'static str,
    /// The level that protects the gate: `project`, `service` or `server`.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks: Vec<prove::Check>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_covered: Vec<String>,
}

pub(crate) fn run(args: &Setup, json: bool) -> Result<Outcome, Failure> {
    let home = agents::home()?;
    let here = std::env::current_dir()?;
    let setting = args.setting()?;
    let chosen: Vec<Agent> = match args.agent {
        Some(agent) => vec![agent],
        None => agents::present(&home).into_iter().filter(|agent| agent_has(*agent, setting)).collect(),
    };
    if chosen.is_empty() {
        let failure = Failure::Usage("no coding agent was found on this machine".to_owned());
        return Err(failure.with_hint("name one, as in `ordain setup claude`"));
    }
    let mut outcome = Outcome::Ok;
    for agent in chosen {
        let project = agents::project_folder(&here)?;
        let Some(path) = setting.path(agent, &home, &project) else {
            let problem = format!("{} has no settings of the machine", agent.title());
            return Err(Failure::Usage(problem).with_hint("use `--user` or `--project`"));
        };
        let file = SettingsFile::open(agent, setting, &path)?;
        let done =
            if args.remove { remove(args, &file)? } else { add(args, agent, setting, &project, &file)? };
        if done.checks.iter().any(|check| !check.ok) {
            outcome = Outcome::Failed;
        }
        show(&done, json)?;
    }
    Ok(outcome)
}

fn agent_has(agent: Agent, setting: Setting) -> bool {
    setting.path(agent, Path::new("/"), Path::new("/")).is_some()
}

impl Setup {
    fn setting(&self) -> Result<Setting, Failure> {
        Ok(match (self.user, self.project, self.managed) {
            (true, _, _) => Setting::User,
            (_, true, _) => Setting::Project,
            (_, _, true) => Setting::Managed,
            _ if agents::in_project()? => Setting::Project,
            _ => Setting::User,
        })
    }
}

fn add(
    args: &Setup,
    agent: Agent,
    setting: Setting,
    project: &Path,
    file: &SettingsFile,
) -> Result<Done, Failure> {
    let found = file.hooks()?;
    if args.refresh && found.is_empty() {
        return Ok(file.done(agent, "absent"));
    }
    let target = match &args.connect.server {
        Some(url) => Target::of_server(url, &args.connect, project)?,
        None => Target::find(setting, project)?,
    };
    let mut pins = target.pins(agent, args.actor.as_deref(), args.wait)?;
    let known = pins_of(&found).and_then(|(_, pins)| pins.observe.clone());
    pins.observe = match args.observe {
        Some(_) => Some(Pins::hook_id(agent, &file.path)),
        // A hook that is written anew stays the one that an owner has observed.
        None => known.filter(|id| args.refresh && *id == Pins::hook_id(agent, &file.path)),
    };
    let program = program()?;
    let installed = Installed { program: &program, pins: &pins };
    let edit = install(&installed, &file.path, file.text.as_deref()).map_err(|error| file.refused(&error))?;
    let (text, result) = match &edit {
        Edit::Same => (None, "unchanged"),
        Edit::Added(text) => (Some(text), "installed"),
        Edit::Replaced(text) => (Some(text), "replaced"),
    };
    if args.dry_run {
        let result = if text.is_some() { "would change" } else { result };
        let diff = text.map(|text| file.diff(Some(text)));
        return Ok(Done { diff, ..file.done(agent, result) });
    }
    // An owner who has the hook observed signs for it at this very gate; a hook of another gate takes that one's owner.
    let same_gate = pins_of(&found).is_some_and(|(_, old)| old.gate == pins.gate);
    if matches!(edit, Edit::Replaced(_)) && !(args.observe.is_some() && same_gate) {
        confirm(&found, Some(&target), file, "setup")?;
    }
    if let (Some(observe_ms), Some(id)) = (args.observe, &pins.observe) {
        let until_ms = now_ms().saturating_add(observe_ms);
        let reason = format!("{} {}", agent.title(), file.path.display());
        let new = NewObservation { hook: Some(id.clone()), reason, until_ms };
        let about =
            format!("{} passes everything until {}; decisions are recorded.", agent.title(), date(until_ms));
        target.observe(project, &new, &about)?;
    }
    if let Some(text) = text {
        file.write(text)?;
    }
    match (agent, setting) {
        // The host trusts settings of the machine.
        (Agent::Codex, Setting::Managed) => codex::check_seen(&file.path, project),
        (Agent::Codex, Setting::User | Setting::Project) => {
            codex::trust(&file.path, project, args.trust)?;
        }
        _ => {}
    }
    let checks = prove::all(&installed, project);
    let (level, means) = target.level();
    offer_service(level);
    let not_covered = [vec![format!("level {level}: {means}")], agents::not_covered(agent)].concat();
    Ok(Done { checks, not_covered, level: Some(level), ..file.done(agent, result) })
}

/// Root can give the gate a user of its own, which protects it from the agent.
fn offer_service(level: &str) {
    let can = OsUser::current().uid == 0 && Path::new(SYSTEMD).is_dir();
    if level == "project" && can {
        let said = "the gate, its key and its record belong to the user that the agent runs as";
        report::note(said, Some("give it a user of its own: `ordain service install`"));
    }
}

/// Is there where systemd runs the machine.
const SYSTEMD: &str = "/run/systemd/system";

fn remove(args: &Setup, file: &SettingsFile) -> Result<Done, Failure> {
    let agent = file.agent;
    let found = file.hooks()?;
    if found.is_empty() {
        return Ok(file.done(agent, "absent"));
    }
    let restored = file.restored()?;
    if args.dry_run {
        let diff = Some(file.diff(restored.as_deref()));
        return Ok(Done { diff, ..file.done(agent, "would change") });
    }
    confirm(&found, None, file, "setup --remove")?;
    file.restore(restored.as_deref()).inspect_err(|_| report::note(&file.by_hand(), None))?;
    Ok(file.done(agent, "removed"))
}

/// Changing a hook in force is an owner act of the gate that it asks. Without the key nothing is written, and the
/// person is told what to do by hand.
fn confirm(found: &[Found], target: Option<&Target>, file: &SettingsFile, act: &str) -> Result<(), Failure> {
    let pinned = found.iter().find_map(|hook| hook.pins.as_ref()).map(|(_, pins)| pins);
    let confirmed = match (pinned, target) {
        (Some(pins), _) => target::confirm_owner_of(pins, act),
        (None, Some(target)) => target.confirm_owner(act),
        (None, None) => {
            Err(Failure::Usage("the hook's own gate cannot be told from its command line".to_owned()))
        }
    };
    confirmed.inspect_err(|_| report::note(&file.by_hand(), None))
}

/// The absolute path of this program, without links.
fn program() -> Result<PathBuf, Failure> {
    Ok(std::env::current_exe()?.canonicalize()?)
}

impl SettingsFile {
    fn done(&self, agent: Agent, result: &'static str) -> Done {
        let file = self.path.display().to_string();
        let (checks, not_covered) = (Vec::new(), Vec::new());
        Done { agent: agent.name(), file, result, level: None, diff: None, checks, not_covered }
    }

    /// The hooks of ordain in it.
    fn hooks(&self) -> Result<Vec<Found>, Failure> {
        match self.text.as_deref() {
            Some(text) if !text.trim().is_empty() => {
                find_hook(self.agent, &self.path, text).map_err(|error| self.refused(&error))
            }
            _ => Ok(Vec::new()),
        }
    }
}

fn show(done: &Done, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(done);
    }
    let mut page = Page::default();
    page.title(done.agent, done.result);
    page.label("file", &done.file);
    if let Some(diff) = &done.diff {
        page.diff(diff);
    }
    if !done.checks.is_empty() {
        page.section("Checked");
        for check in &done.checks {
            page.item(&format!("{}: {}", check.name, check.said));
        }
    }
    if !done.not_covered.is_empty() {
        page.section("Not covered");
        done.not_covered.iter().for_each(|point| page.item(point));
    }
    print_result(&page)
}

/// The pins of the hooks in a text, for `doctor`.
pub(crate) fn pins_of(found: &[Found]) -> Option<&(PathBuf, Pins)> {
    found.iter().find_map(|hook| hook.pins.as_ref())
}
