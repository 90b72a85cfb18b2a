//! `ordain plan`.

use crate::changes::told;
use crate::document::{Loaded, Made, check_stdin_once, emit, load, write_file};
use crate::exit::{self, Failure, Outcome};
use crate::input::Source;
use crate::report;
use crate::wording::count;
use clap::Args;
use ordain_canon::{Canonicalizer, Value};
use ordain_harness::apply::Base;
use ordain_kernel::{Transformed, plan, transform};
use ordain_spec::bundle::{Bundle, BundleStatus};
use ordain_spec::intent::Intent;
use ordain_spec::{Facts, Kind, Verified, verify_as};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Plan {
    /// The bundle together with `--intent`, or an intent alone; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The intent that the bundle was made from; `-` is standard input
    #[arg(long, value_name = "INTENT")]
    pub(crate) intent: Option<PathBuf>,
    /// Where the files will go: those that are there are changed, the others created
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// Write the hashes of the files that the plan replaces to this file, for `apply --if-unchanged`
    #[arg(long, value_name = "FILE")]
    pub(crate) base: Option<PathBuf>,
    /// Write the plan to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

pub(crate) fn run(args: &Plan, json: bool) -> Result<Outcome, Failure> {
    let paths: Vec<&Path> = std::iter::once(args.file.as_path()).chain(args.intent.as_deref()).collect();
    check_stdin_once(&paths)?;
    let (bundle, intent) = match &args.intent {
        Some(path) => (load::<Bundle>(&args.file, json)?.document, load::<Intent>(path, json)?),
        None => of_intent(&args.file, json)?,
    };
    let deletes = deletes(&intent.document);
    let outputs = bundle.outputs.iter().map(|output| output.path.as_str());
    let base = Base::read(&args.workspace, outputs.chain(deletes.iter().map(String::as_str)));
    let base = told(base, json)?;
    let there = base.files.iter().filter(|(_, hash)| hash.is_some());
    let existing: BTreeSet<String> = there.map(|(path, _)| path.clone()).collect();
    let proposal = plan(&bundle, &intent.value()?, &existing).map_err(|error| Failure::Document {
        path: Source::of(&args.file).name(),
        problem: error.to_string(),
    })?;
    if bundle.status == BundleStatus::Incomplete {
        let questions = count(bundle.unresolved_questions.len() as u64, "question");
        let note = format!("{questions} open, so this plan always needs approval");
        report::note(&note, None);
    }
    let made = Made {
        title: format!("plan {}", proposal.id),
        name: ("id", proposal.id.clone()),
        summary: proposal.summary.clone(),
    };
    if let Some(path) = &args.base {
        let text = Canonicalizer::new().value(&base)?.to_vec();
        write_file(path, &text).map_err(|error| Failure::File { path: path.display().to_string(), error })?;
    }
    emit(&proposal, args.output.as_deref(), json, made)?;
    Ok(Outcome::Ok)
}

/// The files that an intent deletes.
fn deletes(intent: &Intent) -> Vec<String> {
    let paths = intent.context.as_ref().and_then(|context| context.get("delete")?.as_array());
    paths.into_iter().flatten().filter_map(|path| path.as_str().map(str::to_owned)).collect()
}

/// Without its intent only an intent itself can be planned: it says everything that its bundle says.
fn of_intent(path: &Path, json: bool) -> Result<(Verified<Bundle>, Loaded<Intent>), Failure> {
    let refused = |problem: String| Failure::Document { path: Source::of(path).name(), problem };
    if is_bundle(path)? {
        let problem = "a bundle is planned together with its intent".to_owned();
        return Err(Failure::Usage(problem).with_hint("pass `--intent INTENT`"));
    }
    let intent = load::<Intent>(path, json)?;
    let value = intent.value()?;
    let bundle = match transform(&value, intent.text_bytes()) {
        Transformed::Bundle(bundle) | Transformed::Clarify(bundle) => bundle,
        Transformed::Refuse(refusal) => return Err(refused(refusal.to_string())),
    };
    let text = Canonicalizer::new().value(&bundle)?.to_vec();
    let value = Value::read(&text).map_err(|error| refused(error.to_string()))?;
    let bundle = verify_as(&Facts::default(), &value)
        .map_err(|report| refused(format!("the kernel made an invalid bundle: {:?}", report.violations())))?;
    Ok((bundle, intent))
}

/// Standard input can be read only once, so its content is taken for an intent.
fn is_bundle(path: &Path) -> Result<bool, Failure> {
    let source = Source::of(path);
    if source == Source::Stdin {
        return Ok(false);
    }
    let text = source.text()?;
    let kind = text.read(&text.json).ok().and_then(|value| Kind::recognise(&value).ok());
    Ok(kind == Some(Kind::Bundle))
}
