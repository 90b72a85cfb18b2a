//! `ordain work`.

mod page;

use crate::arguments::{Connect, Protection};
use crate::clock::now_ms;
use crate::commands::apply::apply_asked;
use crate::commands::run::{Live, named, random};
use crate::document::{check_stdin_once, load};
use crate::exit::{self, Failure, Meaning, Outcome};
use crate::facts::load_profile;
use crate::gate::files::Asker;
use crate::input::Source;
use crate::output::print_json;
use clap::{Args, Subcommand};
use ordain_agent::Trial;
use ordain_canon::{Canonicalizer, Value};
use ordain_harness::{AgentCommand, AgentEnd, run_agent, sandbox};
use ordain_kernel::{Transformed, transform};
use ordain_run::{
    AgentWords, IntentText, Mode, OrderFile, Origin, Request, WorkOrder, WorkRun, World, run as run_intent,
};
use ordain_spec::bundle::Bundle;
use ordain_spec::profile::Profile;
use ordain_spec::run::UNTESTED;
use ordain_spec::{Kind, document_text};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXECUTOR: &str = concat!("ordain ", env!("CARGO_PKG_VERSION"));

const ENDS: &[Meaning] = &[
    Outcome::Ok.means("accepted, or prepared"),
    Outcome::Failed.means("not accepted, also untested or with open questions"),
    Outcome::NoResult.means("an error, or accepted and not applied"),
    Outcome::Hold.means("accepted; with --apply, held by the gate"),
    Outcome::Deny.means("accepted; with --apply, denied by the gate"),
];

#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = exit::help(ENDS)
)]
pub(crate) struct Work {
    #[command(subcommand)]
    pub(crate) command: Option<WorkCommand>,
    /// The intent, JSON or by its name YAML; or its bundle, together with `--intent`
    #[arg(value_name = "INTENT|BUNDLE", required = true)]
    pub(crate) file: Option<PathBuf>,
    /// The intent that the bundle was made from
    #[arg(long, value_name = "INTENT")]
    pub(crate) intent: Option<PathBuf>,
    /// The folder that the work is for; it stays as it is
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// Where the copy and the brief go, outside of the workspace [default: a new folder in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// How often the agent may try
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) rounds: u32,
    /// Seconds that the agent has for each round
    #[arg(long, value_name = "SECONDS", default_value_t = 1_800, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) time: u64,
    /// The profile for the criteria: strict, default, dev, or a file
    #[arg(long, value_name = "PROFILE", default_value = "default")]
    pub(crate) profile: String,
    #[command(flatten)]
    pub(crate) protection: Protection,
    #[command(flatten)]
    pub(crate) then: Then,
    /// The agent: a command that edits files in its current folder. Without it the order is only prepared
    #[arg(value_name = "AGENT", last = true)]
    pub(crate) agent: Vec<OsString>,
}

/// The treatment of accepted work.
#[derive(Args)]
pub(crate) struct Then {
    /// If it is accepted, change the workspace by it, unless files changed meanwhile
    #[arg(long)]
    pub(crate) apply: bool,
    /// The actor that proposes the change to a gate [default: the one in ordain.toml, or the user's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Subcommand)]
pub(crate) enum WorkCommand {
    /// Judge what is in the copy of a prepared or interrupted order
    ///
    /// The folder of the order is believed, and an agent of the same user can change it: name the bundle that
    /// you agreed to with `--bundle`.
    #[command(after_help = exit::help(ENDS))]
    Submit(Submit),
}

#[derive(Args)]
pub(crate) struct Submit {
    /// The folder of the order, as `ordain work` printed it
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Refuse the order if it is about another bundle than this one
    #[arg(long, value_name = "ID")]
    pub(crate) bundle: Option<String>,
    #[command(flatten)]
    pub(crate) then: Then,
}

impl Work {
    /// The workspace that the command is about; an order names its own.
    pub(crate) fn workspace(&self) -> Option<&Path> {
        self.command.is_none().then_some(&self.workspace)
    }
}

pub(crate) fn run(args: &Work, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        Some(WorkCommand::Submit(args)) => submit(args, json),
        None => order(args, json),
    }
}

fn submit(args: &Submit, json: bool) -> Result<Outcome, Failure> {
    let mut order = WorkOrder::open(&args.folder, now_ms())?;
    if let Some(id) = args.bundle.as_ref().filter(|id| **id != order.bundle.id) {
        let problem = format!("the order is about `{}`, and not about `{id}`", order.bundle.id);
        let failure = Failure::Document { path: args.folder.display().to_string(), problem };
        return Err(failure.with_hint("somebody changed the order since it was prepared; prepare it again"));
    }
    let mut live = Live::new(!json);
    let world = World { now_ms: &now_ms, sandbox: &sandbox::run_watched, executor: EXECUTOR };
    order.judge(AgentWords::default(), &world, &mut |event| live.tell(event))?;
    end(order, &world, &args.then, json)
}

fn order(args: &Work, json: bool) -> Result<Outcome, Failure> {
    let Some(file) = &args.file else {
        return Err(Failure::Usage("give an intent, or `submit` a prepared order".to_owned()));
    };
    let paths: Vec<&Path> = std::iter::once(file.as_path()).chain(args.intent.as_deref()).collect();
    check_stdin_once(&paths)?;
    let profile = load_profile(&args.profile)?;
    let intent_path = args.intent.as_ref().unwrap_or(file);
    let text = Source::of(intent_path).text()?;
    let bytes = document_text(Kind::Intent, &text.json).len();
    let read = text.read(document_text(Kind::Intent, &text.json));
    let value = match read {
        Ok(value) if matches!(transform(&value, bytes), Transformed::Bundle(_)) => value,
        // Questions and refusals are results, and no agent is started.
        read => {
            let read = read.map_err(|wrong| wrong.message);
            return unready(args, json, profile, &read, bytes, text.file());
        }
    };
    if args.intent.is_some() {
        check_bundle(file, &value, bytes, json)?;
    } else if Kind::recognise(&value) == Ok(Kind::Bundle) {
        let problem = "a bundle is worked on together with its intent".to_owned();
        return Err(Failure::Usage(problem).with_hint("pass `--intent INTENT`"));
    }
    let canonical = Canonicalizer::new().value(&value)?.to_vec();
    let workspace = args.workspace.canonicalize();
    let workspace =
        workspace.map_err(|error| Failure::File { path: args.workspace.display().to_string(), error })?;
    let intent = serde_json::from_slice(&canonical).map_err(|error| Failure::Document {
        path: intent_path.display().to_string(),
        problem: error.to_string(),
    })?;
    let order_file = OrderFile {
        workspace,
        intent_path: named(intent_path, "intent.json"),
        intent,
        profile,
        allow_landlock_only: args.protection.allow_landlock_only,
    };
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => default_folder()?,
    };
    let order = WorkOrder::prepare(order_file, &folder, now_ms())?;
    if args.agent.is_empty() {
        return prepared(&order, json);
    }
    if !json {
        let place = order.folder.path().display().to_string();
        crate::report::note(&format!("the copy is in {place}"), None);
    }
    rounds(args, order, json)
}

/// With an intent given beside it, the file must be the bundle that this kernel makes of it.
fn check_bundle(path: &Path, intent: &Value<'_>, bytes: usize, json: bool) -> Result<(), Failure> {
    let given = load::<Bundle>(path, json)?;
    let made = transform(intent, bytes);
    if made.bundle() == Some(&*given.document) {
        return Ok(());
    }
    let problem = "is not the bundle that the kernel makes of the intent".to_owned();
    let failure = Failure::Document { path: path.display().to_string(), problem };
    Err(failure.with_hint("run `ordain transform` on the intent"))
}

/// Records questions or a refusal as `run` does.
fn unready(
    args: &Work,
    json: bool,
    profile: Profile,
    read: &Result<Value<'_>, String>,
    bytes: usize,
    file: &[u8],
) -> Result<Outcome, Failure> {
    let path = args.file.as_deref().unwrap_or(Path::new("intent.json"));
    let text = match read {
        Ok(value) => IntentText::Read { value, bytes },
        Err(message) => IntentText::Unreadable { text: file, message: message.clone() },
    };
    let request = Request {
        random: random()?,
        workspace: args.workspace.clone(),
        profile,
        origin: Origin::Intent { path: named(path, "intent.json"), text },
        mode: Mode::PlanOnly,
        allow_landlock_only: false,
    };
    let world = World { now_ms: &now_ms, sandbox: &sandbox::run_watched, executor: EXECUTOR };
    let run = run_intent(&request, &world, &mut |_| {})?;
    if json {
        print_json(&*run.result)?;
    } else {
        page::print_unready(&run, path)?;
    }
    Ok(Outcome::Failed)
}

fn default_folder() -> Result<PathBuf, Failure> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let cache = cache.or_else(|| variable("HOME").map(|home| home.join(".cache")));
    let [a, b, c] = random()?;
    let name = format!("{}-{a:02x}{b:02x}{c:02x}", now_ms() / 1_000);
    Ok(cache.unwrap_or_else(std::env::temp_dir).join("ordain/work").join(name))
}

fn prepared(order: &WorkOrder, json: bool) -> Result<Outcome, Failure> {
    if json {
        let text = |path: PathBuf| path.display().to_string();
        print_json(&json!({
            "bundle_id": order.bundle.id,
            "bundle_hash": order.bundle_hash,
            "folder": text(order.folder.path().to_owned()),
            "copy": text(order.folder.copy()),
            "brief": text(order.folder.brief()),
        }))?;
    } else {
        page::print_prepared(order)?;
    }
    Ok(Outcome::Ok)
}

fn rounds(args: &Work, mut order: WorkOrder, json: bool) -> Result<Outcome, Failure> {
    let world = World { now_ms: &now_ms, sandbox: &sandbox::run_watched, executor: EXECUTOR };
    for number in 1..=args.rounds {
        let agent = try_agent(args, &order, number, json)?;
        let mut live = Live::new(!json);
        let round = order.judge(agent, &world, &mut |event| live.tell(event))?;
        if !json {
            page::tell_round(number, &round.document);
        }
        // An agent cannot make up for criteria that are not there.
        let untested = round.document.reasons.first().is_some_and(|reason| reason == UNTESTED);
        if round.document.accepted || untested {
            break;
        }
    }
    end(order, &world, &args.then, json)
}

/// One round of the agent, as its user, with this environment.
fn try_agent(args: &Work, order: &WorkOrder, number: u32, json: bool) -> Result<AgentWords, Failure> {
    order.folder.write("input.md", &order.input()?)?;
    let mut variables = vec![
        ("ORDAIN_BRIEF", order.folder.brief().into_os_string()),
        ("ORDAIN_ROUND", number.to_string().into()),
    ];
    if number > 1 {
        variables.push(("ORDAIN_FEEDBACK", order.folder.feedback().into_os_string()));
    }
    if !json {
        page::tell_agent(number, args.rounds, &args.agent);
    }
    let command = AgentCommand {
        argv: &args.agent,
        folder: &order.folder.copy(),
        input: &order.folder.path().join("input.md"),
        variables: &variables,
        time: Duration::from_secs(args.time),
    };
    let report = run_agent(&command)
        .map_err(|error| Failure::Document { path: "the agent".to_owned(), problem: error.to_string() })?;
    let stragglers = match report.stragglers {
        0 => String::new(),
        1 => ", and left 1 process running, which was ended".to_owned(),
        left => format!(", and left {left} processes running, which were ended"),
    };
    Ok(AgentWords {
        failed: report.end != AgentEnd::Exited(0),
        end: format!("{}{stragglers}", report.end),
        stdout: report.stdout,
        stderr: report.stderr,
    })
}

fn end(order: WorkOrder, world: &World<'_>, then: &Then, json: bool) -> Result<Outcome, Failure> {
    let (folder, workspace) = (order.folder.clone(), order.workspace().to_owned());
    let work = order.finish(random()?, world)?;
    let accepted = work.result.decision.accepted;
    if accepted {
        // Everything that counts is in the folder of the run.
        folder.remove()?;
    }
    if json {
        print_json(&*work.result)?;
    } else {
        page::print_work(&work, &workspace, then.apply, (!accepted).then_some(folder.path()))?;
    }
    let untested = work.result.decision.reasons.first().is_some_and(|reason| reason == UNTESTED);
    if !(accepted || then.apply && untested) {
        return Ok(Outcome::Failed);
    }
    apply(&work, &workspace, then, json)
}

fn apply(work: &WorkRun, workspace: &Path, then: &Then, json: bool) -> Result<Outcome, Failure> {
    let (Some(planned), Some(tried), true) = (&work.round.planned, &work.round.tried, then.apply) else {
        return Ok(Outcome::Ok);
    };
    let asker = Asker { workspace, connect: &then.connect, actor: then.actor.as_deref(), json };
    let trial = Trial { result: &work.result, plan: &planned.plan, evidence: &tried.evidence };
    apply_asked(&asker, &planned.patch, Some(&planned.base), Some(trial))
}
