//! `ordain run`.

mod live;
mod page;
mod verify;

use crate::arguments::{Connect, Protection};
use crate::clock::now_ms;
use crate::commands::apply::apply_asked;
use crate::document::load_with;
use crate::exit::{self, Failure, Outcome};
use crate::facts::load_profile;
use crate::gate::files::Asker;
use crate::input::{Source, Text};
use clap::Args;
use ordain_agent::Trial;
use ordain_canon::{Canonicalizer, Value};
use ordain_harness::sandbox;
use ordain_run::{IntentText, Mode, Origin, Request, VerdictReason, World};
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;
use ordain_spec::profile::Profile;
use ordain_spec::{Facts, Kind, document_text, path_problem};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

pub(crate) use live::Live;
pub(crate) use verify::verify;

#[derive(Args)]
#[command(
    group(clap::ArgGroup::new("origin").required(true).args(["intent", "plan", "patch"])),
    after_help = exit::help(&[
    Outcome::Ok.means("accepted"),
    Outcome::Failed.means("not accepted, also with --plan-only or open questions"),
    Outcome::NoResult.means("an error, or accepted and not applied"),
    Outcome::Hold.means("accepted; with --apply, held by the gate"),
    Outcome::Deny.means("accepted; with --apply, denied by the gate"),
])
)]
pub(crate) struct Run {
    /// The intent, JSON or by its name YAML; `-` is standard input, JSON
    #[arg(value_name = "INTENT")]
    pub(crate) intent: Option<PathBuf>,
    /// Try this plan proposal: files, commands and tests
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Try this patch set: only files
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    /// The folder that it is about
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// The profile for commands: strict, default, dev, or a file
    #[arg(long, value_name = "PROFILE", default_value = "default")]
    pub(crate) profile: String,
    #[command(flatten)]
    pub(crate) protection: Protection,
    /// Make the plan and the patch set, and try nothing
    #[arg(long)]
    pub(crate) plan_only: bool,
    /// If it is accepted, change the workspace by it, unless files changed meanwhile
    #[arg(long, conflicts_with = "plan_only")]
    pub(crate) apply: bool,
    /// The actor that proposes the change to a gate [default: the one in ordain.toml, or the user's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Run, json: bool) -> Result<Outcome, Failure> {
    let profile = load_profile(&args.profile)?;
    match (&args.intent, &args.plan, &args.patch) {
        (Some(path), ..) => {
            let text = Source::of(path).text()?;
            let value = read(&text);
            let origin =
                Origin::Intent { path: named(path, "intent.json"), text: intent_text(&text, &value) };
            try_it(args, json, profile, origin)
        }
        (None, Some(path), _) => {
            let plan = load_with::<Proposal>(path, json, &Facts::default())?.document;
            let origin = Origin::Plan { path: named(path, "plan.json"), plan: Box::new(plan) };
            try_it(args, json, profile, origin)
        }
        (None, None, Some(path)) => {
            // A patch set larger than the profile allows is a valid document; the verdict rejects it.
            let unlimited = Profile { max_total_output_bytes: u64::MAX, ..profile.clone() };
            let facts = Facts { profile: &unlimited, ..Facts::default() };
            let set = load_with::<PatchSet>(path, json, &facts)?.document;
            let origin = Origin::Patch { path: named(path, "patch.json"), set: Box::new(set) };
            try_it(args, json, profile, origin)
        }
        (None, None, None) => Err(Failure::Usage("give an intent, `--plan` or `--patch`".to_owned())),
    }
}

fn read(text: &Text) -> Result<Value<'_>, String> {
    text.read(document_text(Kind::Intent, &text.json)).map_err(|wrong| wrong.message)
}

fn intent_text<'t>(text: &'t Text, value: &'t Result<Value<'t>, String>) -> IntentText<'t> {
    match value {
        Ok(value) => IntentText::Read { value, bytes: document_text(Kind::Intent, &text.json).len() },
        Err(message) => IntentText::Unreadable { text: text.file(), message: message.clone() },
    }
}

/// As the result names a document: no path of this machine.
pub(crate) fn named(path: &Path, fallback: &str) -> String {
    let safe = |text: &str| text != "-" && path_problem(text).is_none();
    let name = path.file_name().and_then(|name| name.to_str());
    let names = [path.to_str(), name, Some(fallback)];
    names.into_iter().flatten().find(|text| safe(text)).unwrap_or(fallback).to_owned()
}

pub(crate) fn random() -> Result<[u8; 3], Failure> {
    const SOURCE: &str = "/dev/urandom";
    let mut bytes = [0; 3];
    let read = File::open(SOURCE).and_then(|mut file| file.read_exact(&mut bytes));
    read.map(|()| bytes).map_err(|error| Failure::File { path: SOURCE.to_owned(), error })
}

fn try_it(args: &Run, json: bool, profile: Profile, origin: Origin<'_>) -> Result<Outcome, Failure> {
    let request = Request {
        random: random()?,
        workspace: args.workspace.clone(),
        profile,
        origin,
        mode: if args.plan_only { Mode::PlanOnly } else { Mode::Try },
        allow_landlock_only: args.protection.allow_landlock_only,
    };
    let executor = concat!("ordain ", env!("CARGO_PKG_VERSION"));
    let world = World { now_ms: &now_ms, sandbox: &sandbox::run_watched, executor };
    let mut live = Live::new(!json);
    let run = ordain_run::run(&request, &world, &mut |event| live.tell(event))?;
    let mut stdout = anstream::stdout().lock();
    if json {
        stdout.write_all(Canonicalizer::new().value(&*run.result)?)?;
        stdout.write_all(b"\n")?;
    } else {
        stdout.write_all(page::of(&run, args).text().as_bytes())?;
    }
    stdout.flush()?;
    drop(stdout);
    // An untested run may be taken to the gate: the evidence says so, and people decide.
    let untested = run.reasons.first() == Some(&VerdictReason::Untested);
    let goes_on = run.result.decision.accepted || (args.apply && untested);
    if !goes_on {
        return Ok(Outcome::Failed);
    }
    if let Some(planned) = run.planned.filter(|_| args.apply) {
        let (patch, base) = (&planned.patch, Some(&planned.base));
        let asker =
            Asker { workspace: &args.workspace, connect: &args.connect, actor: args.actor.as_deref(), json };
        let trial = run.tried.as_ref().map(|tried| Trial {
            result: &run.result,
            plan: &planned.plan,
            evidence: &tried.evidence,
        });
        return apply_asked(&asker, patch, base, trial);
    }
    Ok(Outcome::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_names_no_path_of_this_machine() {
        for (path, expected) in [
            ("intents/a.yaml", "intents/a.yaml"),
            ("/home/somebody/a.yaml", "a.yaml"),
            ("../a.yaml", "a.yaml"),
            ("-", "intent.json"),
            ("a/..", "intent.json"),
            ("/home/somebody/a..b", "intent.json"),
        ] {
            assert_eq!(named(Path::new(path), "intent.json"), expected);
        }
    }
}
