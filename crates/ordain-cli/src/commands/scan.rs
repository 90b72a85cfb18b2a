//! `ordain scan`: the sessions of coding agents on this machine, through the policies, before anything is installed.

use super::init::solo_files;
use crate::agents;
use crate::arguments::Connect;
use crate::clock::{now_ms, parse_past};
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::Page;
use crate::policy_folder;
use clap::Args;
use ordain_canon::Value;
use ordain_decision::{Case, PolicyFiles, PolicySet, decide};
use ordain_gate::load_policy_files;
use ordain_hooks::{Agent, Call, Kind, Step, TranscriptReader, action_in_transcript, tools_of};
use ordain_spec::decision::{Decision, Outcome as Decided, Reason, gate};
use ordain_spec::statement::NO_KEYS;
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain scan
  ordain scan codex --since 7d
  ordain scan session.jsonl --policy policy

It reads the transcripts of Claude Code and Codex, changes nothing, and sends nothing anywhere. The folder that a session began in counts \
as its workspace. Paths are resolved by their text alone, and what was in files is not known: a call that is held for that reason only \
would be held anew after a change. Without --policy, the policies in force of this project count, and without a project those that \
`ordain init --solo` writes.", exit::PLAIN))]
pub(crate) struct Scan {
    /// Agents, transcripts or folders with transcripts [default: all that are found on this machine]
    #[arg(value_name = "AGENT|PATH")]
    pub(crate) of: Vec<String>,
    /// Only transcripts that changed since then: a date, a time with its zone, or how long ago, such as 7d
    #[arg(long, value_name = "TIME", value_parser = parse_past)]
    pub(crate) since: Option<u64>,
    /// The policy folder
    #[arg(long, value_name = "DIR")]
    pub(crate) policy: Option<PathBuf>,
}

/// The agents whose transcripts are known, and the folders below the home folder.
const KNOWN: [(Agent, &str); 2] = [(Agent::Claude, ".claude/projects"), (Agent::Codex, ".codex/sessions")];
/// Folders below those that are searched.
const DEPTH_MAX: usize = 8;
/// Bytes of a line that is read.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Different calls that are listed.
const LISTED_MAX: usize = 20;

/// The report.
#[derive(Serialize, Default)]
struct Scanned {
    /// The policies: `in force`, `starter`, or the folder.
    policies: String,
    transcripts: usize,
    calls: u64,
    allowed: u64,
    held: u64,
    denied: u64,
    /// How often a person would have been asked: held calls, each deed once in a session.
    prompts: u64,
    /// Calls that the host asks no hook about, by tool.
    unseen: BTreeMap<String, u64>,
    /// Lines and calls that could not be read.
    unreadable: u64,
    kinds: BTreeMap<&'static str, Counts>,
    /// The policies and rules that held or denied, each with its number of calls.
    reasons: BTreeMap<String, u64>,
    /// Different calls that would have been held or denied, the most frequent first.
    listed: Vec<Listed>,
}

#[derive(Serialize, Default)]
struct Counts {
    allowed: u64,
    held: u64,
    denied: u64,
}

#[derive(Serialize, Clone)]
struct Listed {
    outcome: &'static str,
    call: String,
    reason: String,
    times: u64,
}

/// The policies that decide, and the name under which an agent proposes there.
struct Judge {
    policies: PolicySet,
    actor: String,
    now_ms: u64,
}

pub(crate) fn run(args: &Scan, json: bool) -> Result<Outcome, Failure> {
    let (judge, policies) = judge(args.policy.as_deref(), json)?;
    let mut scanned = Scanned { policies, ..Scanned::default() };
    let mut listed = BTreeMap::new();
    for (agent, path) in transcripts(args)? {
        read(agent, &path, &judge, &mut scanned, &mut listed)?;
    }
    let mut found: Vec<Listed> = listed.into_values().collect();
    found.sort_by(|a, b| b.times.cmp(&a.times).then_with(|| a.call.cmp(&b.call)));
    found.truncate(LISTED_MAX);
    scanned.listed = found;
    show(&scanned, json)?;
    Ok(Outcome::Ok)
}

fn judge(named: Option<&Path>, json: bool) -> Result<(Judge, String), Failure> {
    let (files, said) = match named {
        Some(folder) => {
            let (path, files) = policy_folder::load_files(Some(folder), json)?;
            (files, path.display().to_string())
        }
        None => match in_force() {
            Some(files) => (files, "in force".to_owned()),
            None => (solo_files(), "starter".to_owned()),
        },
    };
    let none = || {
        let problem = "the policies name no agent of a person".to_owned();
        let failure = Failure::Document { path: said.clone(), problem };
        failure.with_hint("give an Actor in entities.json your name as `agent_of`")
    };
    let actor = actor_of(&files).ok_or_else(none)?;
    let policies = load_policy_files(&files).map_err(|problems| Failure::Document {
        path: said.clone(),
        problem: problems.first().map(ToString::to_string).unwrap_or_default(),
    })?;
    Ok((Judge { policies, actor, now_ms: now_ms() }, said))
}

/// The policies in force of this project, if it has a gate.
fn in_force() -> Option<PolicyFiles> {
    let gateway = Gateway::open(&Connect::of_environment(), Purpose::Look).ok()?;
    gateway.client().policy(None).ok().flatten().map(|policy| policy.files)
}

/// The first agent that belongs to somebody.
fn actor_of(files: &PolicyFiles) -> Option<String> {
    let entities: Vec<Json> = serde_json::from_str(files.get("entities.json")?).ok()?;
    let agent = entities.iter().find(|entity| entity.pointer("/attrs/agent_of").is_some())?;
    agent.pointer("/uid/id").and_then(Json::as_str).map(str::to_owned)
}

/// The transcripts that were named or are found, each with its agent.
fn transcripts(args: &Scan) -> Result<Vec<(Agent, PathBuf)>, Failure> {
    let mut found = BTreeSet::new();
    let home = agents::home()?;
    let of_agent = |agent: Agent| KNOWN.iter().filter(move |(known, _)| *known == agent);
    let all: Vec<String> = KNOWN.iter().map(|(agent, _)| agent.name().to_owned()).collect();
    for name in if args.of.is_empty() { &all } else { &args.of } {
        match Agent::parse(name).filter(|_| !Path::new(name).exists()) {
            Some(agent) => {
                let mut folders = of_agent(agent).peekable();
                if folders.peek().is_none() {
                    let failure =
                        Failure::Usage(format!("the transcripts of {} are not known", agent.title()));
                    return Err(failure.with_hint("name `claude`, `codex`, or a transcript"));
                }
                folders.for_each(|(_, folder)| search(&home.join(folder), Some(agent), 0, &mut found));
            }
            None if Path::new(name).is_dir() => search(Path::new(name), None, 0, &mut found),
            None => {
                let path = PathBuf::from(name);
                File::open(&path).map_err(|error| Failure::File { path: name.clone(), error })?;
                let agent = agent_of(&path).ok_or_else(|| {
                    let problem = "is not a transcript of Claude Code or Codex".to_owned();
                    Failure::Document { path: name.clone(), problem }
                })?;
                found.insert((agent, path));
            }
        }
    }
    let since = args.since.unwrap_or_default();
    Ok(found.into_iter().filter(|(_, path)| changed_ms(path) >= since).collect())
}

fn changed_ms(path: &Path) -> u64 {
    let changed = path.metadata().and_then(|metadata| metadata.modified()).ok();
    let since = changed.and_then(|changed| changed.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The transcripts below a folder. Links are not followed.
fn search(folder: &Path, agent: Option<Agent>, depth: usize, found: &mut BTreeSet<(Agent, PathBuf)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEPTH_MAX => search(&path, agent, depth + 1, found),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|extension| extension == "jsonl") => {
                found.extend(agent.or_else(|| agent_of(&path)).map(|agent| (agent, path)));
            }
            _ => {}
        }
    }
}

/// The agent that wrote a transcript, by its first lines.
fn agent_of(path: &Path) -> Option<Agent> {
    const LINES: usize = 20;
    let lines = BufReader::new(File::open(path).ok()?).lines().take(LINES).map_while(Result::ok);
    let of_line = |line: String| {
        let line: Json = serde_json::from_str(&line).ok()?;
        let kind = line.get("type")?.as_str()?;
        if kind == "session_meta" && line.get("payload").is_some() {
            Some(Agent::Codex)
        } else {
            line.get("sessionId").is_some().then_some(Agent::Claude)
        }
    };
    lines.into_iter().find_map(of_line)
}

fn read(
    agent: Agent,
    path: &Path,
    judge: &Judge,
    scanned: &mut Scanned,
    listed: &mut BTreeMap<(&'static str, String), Listed>,
) -> Result<(), Failure> {
    let failed = |error| Failure::File { path: path.display().to_string(), error };
    let Some(mut reader) = TranscriptReader::new(agent) else { return Ok(()) };
    let mut lines = BufReader::new(File::open(path).map_err(failed)?);
    let mut asked = BTreeSet::new();
    scanned.transcripts += 1;
    loop {
        let mut line = Vec::new();
        let mut limited = std::io::Read::take(&mut lines, LINE_BYTES_MAX);
        if limited.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(());
        }
        for step in reader.line(&String::from_utf8_lossy(&line)) {
            match step {
                Step::Unreadable => scanned.unreadable += 1,
                Step::Unseen(tool) => *scanned.unseen.entry(tool).or_default() += 1,
                Step::Call(call) => {
                    let root = reader.root().unwrap_or(&call.cwd).to_owned();
                    let judged = judge.call(&call, &root);
                    scanned.add(&call, &judged, &mut asked, listed);
                }
            }
        }
    }
}

/// A decision about a call.
struct Judged {
    outcome: Decided,
    reason: String,
    rules: Vec<String>,
    /// The same for two calls of a session that ask once.
    deed: String,
}

impl Judge {
    fn call(&self, call: &Call, root: &Path) -> Judged {
        let deny = |reason: String| {
            let rules = vec!["cannot be judged".to_owned()];
            Judged { outcome: Decided::Deny, deed: reason.clone(), reason, rules }
        };
        let action = match action_in_transcript(call, root) {
            Ok(action) => action,
            Err(problem) => return deny(problem),
        };
        let request = json!({
            "request_id": "scan", "ts_ms": self.now_ms, "actor": self.actor, "intent": "",
            "tool_call": {"name": action.tool, "params": action.parameters},
        });
        let text = request.to_string();
        let Ok(document) = Value::read(text.as_bytes()) else { return deny("it cannot be read".to_owned()) };
        let decision = self.decide(&document, root);
        // A held call has reasons that permit it, too.
        let demands = |reason: &&Reason| reason.rule_id == gate::APPROVALS.name();
        let counts: Vec<&Reason> = match decision.outcome {
            Decided::Hold => decision.reasons.iter().filter(demands).collect(),
            _ => decision.reasons.iter().collect(),
        };
        let reason = counts.first().map(|reason| reason.message.clone()).unwrap_or_default();
        let named = |reason: &&Reason| match reason.policies.as_slice() {
            [] => vec![reason.rule_id.clone()],
            policies => policies.to_vec(),
        };
        let mut rules: Vec<String> = counts.iter().flat_map(named).collect();
        rules.sort();
        rules.dedup();
        let deed = json!([action.tool, action.parameters]).to_string();
        Judged { outcome: decision.outcome, reason, rules, deed }
    }

    fn decide(&self, document: &Value<'_>, root: &Path) -> Decision {
        let proposal = self.policies.proposal_of(document).and_then(|it| serde_json::to_string(&it).ok());
        let mapped = proposal.as_deref().and_then(|text| Value::read(text.as_bytes()).ok());
        let case = Case {
            document: mapped.as_ref().unwrap_or(document),
            policies: &self.policies,
            evidence: &[],
            approvals: &[],
            approver_keys: &NO_KEYS,
            now_ms: self.now_ms,
            halted: false,
            workspace: root.to_str(),
        };
        decide(&case).decision
    }
}

impl Scanned {
    fn add(
        &mut self,
        call: &Call,
        judged: &Judged,
        asked: &mut BTreeSet<String>,
        listed: &mut BTreeMap<(&'static str, String), Listed>,
    ) {
        self.calls += 1;
        let counts = self.kinds.entry(kind_of(call)).or_default();
        let outcome = match judged.outcome {
            Decided::Allow => {
                self.allowed += 1;
                counts.allowed += 1;
                return;
            }
            Decided::Hold => {
                self.held += 1;
                counts.held += 1;
                self.prompts += u64::from(asked.insert(judged.deed.clone()));
                "held"
            }
            Decided::Deny => {
                self.denied += 1;
                counts.denied += 1;
                "denied"
            }
        };
        for rule in &judged.rules {
            *self.reasons.entry(rule.clone()).or_default() += 1;
        }
        let text = words(call);
        let (call, reason) = (text.clone(), judged.reason.clone());
        listed.entry((outcome, text)).or_insert(Listed { outcome, call, reason, times: 0 }).times += 1;
    }
}

/// The tool, and the member of its input that says most.
fn words(call: &Call) -> String {
    const SHOWN_CHARACTERS: usize = 160;
    let said = ["command", "file_path", "notebook_path", "path", "url", "input", "pattern"];
    let said = said.iter().find_map(|name| call.input.get(*name).and_then(Json::as_str)).unwrap_or_default();
    let text: String = format!("{} {said}", call.tool).split_whitespace().collect::<Vec<_>>().join(" ");
    crate::wording::cut(&text, SHOWN_CHARACTERS)
}

fn kind_of(call: &Call) -> &'static str {
    let tool = tools_of(call.agent).iter().find(|tool| tool.name == call.tool && call.server.is_none());
    match tool.map(|tool| tool.kind) {
        Some(Kind::Shell) => "shell",
        Some(Kind::Read | Kind::Search) => "read",
        Some(Kind::Write | Kind::Edit | Kind::Patch) => "edit",
        Some(Kind::Fetch) => "fetch",
        Some(Kind::Meta) => "meta",
        None if call.tool.starts_with("mcp__") => "mcp",
        None => "other",
    }
}

fn show(scanned: &Scanned, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(scanned);
    }
    let mut page = Page::default();
    page.title("scan", &format!("{} calls in {} transcripts", scanned.calls, scanned.transcripts));
    page.label("policies", &scanned.policies);
    page.label("allowed", &scanned.allowed.to_string());
    page.label("held", &format!("{}, of which {} would ask you", scanned.held, scanned.prompts));
    page.label("denied", &scanned.denied.to_string());
    if scanned.unreadable > 0 {
        page.label("unreadable", &scanned.unreadable.to_string());
    }
    if !scanned.kinds.is_empty() {
        page.section("By kind");
        for (kind, Counts { allowed, held, denied }) in &scanned.kinds {
            page.item(&format!("{kind}: {allowed} allowed, {held} held, {denied} denied"));
        }
    }
    if !scanned.unseen.is_empty() {
        page.section("Not seen by hooks");
        scanned.unseen.iter().for_each(|(tool, times)| page.item(&format!("{tool}: {times}")));
    }
    if !scanned.reasons.is_empty() {
        page.section("Why");
        scanned.reasons.iter().for_each(|(rule, times)| page.item(&format!("{rule}: {times}")));
    }
    if !scanned.listed.is_empty() {
        page.section("Calls that would not just run");
        for Listed { outcome, call, reason, times } in &scanned.listed {
            page.item(&format!("{outcome}, {times}×: {call} ({reason})"));
        }
    }
    print_page(&page)
}
