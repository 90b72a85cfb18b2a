//! `ordain verify`.

mod dossier;
mod owner;
mod proof;

use crate::arguments::{kinds, note_verifier};
use crate::document::load;
use crate::exit::{self, Failure, Outcome};
use crate::facts::{load_approver_keys, load_bundle, load_profile, read_packets, recompute};
use crate::input::{Source, Text, Unreadable, sources};
use crate::progress::Progress;
use crate::{lines, report};
use clap::Args;
use ordain_canon::{Canonicalizer, DOCUMENT_BYTES_MAX, ReadErrorKind, Value};
use ordain_run::patch_link;
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;
use ordain_spec::profile::Profile;
use ordain_spec::{Facts, Kind, Report, RuleId, Verified, document_text, verify_as, verify_value};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("With several files the highest exit code is returned.", &[
    Outcome::Ok.means("every document is valid"),
    Outcome::Failed.means("a file could not be read"),
    Outcome::NoResult.means("a document does not parse, its kind is unclear, or part of a ledger could not be checked"),
    Outcome::Violations.means("a document breaks rules, or a ledger is not its owner's"),
]))]
pub(crate) struct Verify {
    /// Documents; `-` is standard input; a folder is searched for .json, .yaml and .yml, but hidden and linked
    /// folders are not; of the folder of a run every file and every link between them is checked
    #[arg(value_name = "FILE", required_unless_present_any = ["jsonl", "owner"])]
    pub(crate) files: Vec<PathBuf>,
    /// The kind of the documents [default: recognised from their content]
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
    /// The policy profile: strict, default, dev, or a file
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// The time, in milliseconds since 1970; without it no rule about the present is checked
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    pub(crate) now: Option<i64>,
    /// The bundle that a plan proposal comes from
    #[arg(long, value_name = "FILE")]
    pub(crate) bundle: Option<PathBuf>,
    /// The plan proposal that a patch set comes from: it must give the same patch set
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// The intent that a bundle comes from: the transform must give the same bundle
    #[arg(long, value_name = "FILE")]
    pub(crate) intent: Option<PathBuf>,
    /// An evidence packet, or an array of them; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Vec<PathBuf>,
    /// Read one document a line, write one result a line, in order, on all cores
    #[arg(long)]
    pub(crate) jsonl: bool,
    /// The keys of approvers, as `ordain approver list --json` writes them: signatures of approvals are
    /// checked with them
    #[arg(long, value_name = "FILE")]
    pub(crate) approver_keys: Option<PathBuf>,
    /// Check a whole ledger by the public key of its owner: an exported folder, the folder of a gate, or
    /// without FILE the store of this project. Every owner act and signed verdict must be signed by a key
    /// that the ledger enrolled, the first of them KEY. In a store, every ALLOW is also decided again from
    /// its recorded policies, evidence and approvals; an export has no documents, so there only the entries
    /// count
    #[arg(long, value_name = "KEY", conflicts_with = "jsonl", allow_hyphen_values = true)]
    pub(crate) owner: Option<String>,
    /// With --owner: a checkpoint kept elsewhere that the ledger must follow from; may be given several times
    #[arg(long = "checkpoint", value_name = "FILE", requires = "owner")]
    pub(crate) checkpoints: Vec<PathBuf>,
    /// The key of the ledger that a proof file or a dossier comes from, as `ordain keys list` shows it; may
    /// be given several times
    #[arg(long = "key", value_name = "VERIFIER", value_parser = note_verifier)]
    pub(crate) keys: Vec<ordain_ledger::NoteVerifier>,
}

pub(crate) fn run(args: &Verify, json: bool) -> Result<Outcome, Failure> {
    if let Some(owner) = &args.owner {
        return match args.files.as_slice() {
            [] => owner::verify(None, owner, &args.checkpoints, json),
            [folder] => owner::verify(Some(folder), owner, &args.checkpoints, json),
            _ => Err(Failure::Usage("`--owner` takes one exported ledger".to_owned())),
        };
    }
    let facts = args
        .bundle
        .iter()
        .chain(&args.intent)
        .chain(&args.plan)
        .chain(&args.evidence)
        .filter(|path| Source::of(path) == Source::Stdin)
        .count();
    let documents = args.files.iter().filter(|path| Source::of(path) == Source::Stdin).count();
    if facts + documents.max(usize::from(args.jsonl)) > 1 {
        return Err(Failure::Usage("standard input can be read only once".to_owned()));
    }
    let profile = args.profile.as_deref().map(load_profile).transpose()?;
    let bundle = args.bundle.as_deref().map(load_bundle).transpose()?;
    let plan = args.plan.as_deref().map(|path| load::<Proposal>(path, json)).transpose()?;
    let plan = plan.as_ref().map(|plan| &plan.document);
    let intent_text = args.intent.as_deref().map(|path| Source::of(path).text()).transpose()?;
    let intent_value =
        intent_text.as_ref().and_then(|text| text.read(document_text(Kind::Intent, &text.json)).ok());
    let normal = intent_value.as_ref().and_then(|intent| ordain_spec::intent::normalize(intent).ok());
    let intent = args.intent.as_deref().zip(intent_text.as_ref());
    let recomputed = intent.map(|(path, text)| recompute(path, text)).transpose()?;
    let recomputed = recomputed.as_deref().map(Value::read).transpose();
    let recomputed = recomputed.map_err(|error| Failure::Usage(error.to_string()))?;
    let evidence_texts: Vec<Text> =
        args.evidence.iter().map(|path| Source::of(path).text()).collect::<Result<_, _>>()?;
    let mut evidence = Vec::new();
    for (path, text) in args.evidence.iter().zip(&evidence_texts) {
        evidence.extend(read_packets(path, text)?);
    }
    let approver_keys = args.approver_keys.as_deref().map(load_approver_keys).transpose()?;
    let facts = Facts {
        approver_keys: approver_keys.as_ref(),
        now_ms: args.now,
        profile: profile.as_ref().unwrap_or(Profile::default_profile()),
        bundle: bundle.as_ref(),
        intent: normal.as_ref(),
        recomputed: recomputed.as_ref(),
        evidence: &evidence,
        ..Facts::default()
    };
    if args.jsonl { verify_lines(args, &facts, plan) } else { verify_files(args, &facts, plan, json) }
}

/// The result of verifying one document.
pub(crate) struct Checked {
    pub(crate) kind: Option<Kind>,
    pub(crate) report: Report,
    pub(crate) outcome: Outcome,
    /// Where the text does not parse.
    pub(crate) offset: Option<usize>,
}

impl Checked {
    pub(crate) fn refused(rule: RuleId, wrong: Unreadable, outcome: Outcome) -> Self {
        Self {
            kind: None,
            report: Report::of(rule, wrong.pointer, wrong.message),
            outcome,
            offset: wrong.offset,
        }
    }
}

fn check(
    kind: Option<Kind>,
    facts: &Facts<'_>,
    plan: Option<&Verified<Proposal>>,
    bytes: &[u8],
    read: impl for<'a> Fn(&'a [u8]) -> Result<Value<'a>, Unreadable>,
) -> Checked {
    match recognise(kind, bytes, read) {
        Ok(document) => match plan {
            Some(plan) if document.kind == Kind::Patch => document.check_with_plan(facts, plan),
            _ => document.check(facts),
        },
        Err(refused) => refused,
    }
}

/// A document that was read, and what it is.
pub(crate) struct Recognised<'a> {
    pub(crate) kind: Kind,
    pub(crate) value: Value<'a>,
    text_bytes: usize,
}

impl Recognised<'_> {
    pub(crate) fn check(&self, facts: &Facts<'_>) -> Checked {
        let facts = Facts { document_bytes: self.text_bytes, ..*facts };
        let report = verify_value(self.kind, &facts, &self.value);
        let outcome = if report.ok() { Outcome::Ok } else { Outcome::Violations };
        Checked { kind: Some(self.kind), report, outcome, offset: None }
    }

    /// A patch set that is valid by itself must also be the one that the plan gives.
    fn check_with_plan(&self, facts: &Facts<'_>, plan: &Verified<Proposal>) -> Checked {
        let checked = self.check(facts);
        let Ok(set) = verify_as::<PatchSet>(facts, &self.value) else { return checked };
        let link = patch_link(plan, &set);
        let outcome = if link.ok() { checked.outcome } else { Outcome::Violations };
        let report = Report::new(link.violations().to_vec(), checked.report.warnings().to_vec());
        Checked { report, outcome, ..checked }
    }
}

/// Reads a document and tells its kind, if nobody said it.
pub(crate) fn recognise<'a>(
    kind: Option<Kind>,
    bytes: &'a [u8],
    read: impl Fn(&'a [u8]) -> Result<Value<'a>, Unreadable>,
) -> Result<Recognised<'a>, Checked> {
    // Only an intent may start with a byte order mark, and only reading it shows whether it is one.
    let unmarked = document_text(Kind::Intent, bytes);
    let text = match kind {
        Some(kind) => document_text(kind, bytes),
        None => unmarked,
    };
    let value = read(text).map_err(|wrong| Checked::refused(RuleId::Parse, wrong, Outcome::NoResult))?;
    let kind = kind.map_or_else(|| Kind::recognise(&value), Ok).map_err(|error| {
        let wrong = Unreadable { pointer: String::new(), message: error.with_way("--kind"), offset: None };
        Checked::refused(RuleId::Kind, wrong, Outcome::NoResult)
    })?;
    if text.len() < bytes.len() && kind != Kind::Intent {
        let kind = ReadErrorKind::ByteOrderMark;
        let wrong = Unreadable { pointer: String::new(), message: kind.to_string(), offset: Some(0) };
        return Err(Checked::refused(RuleId::Parse, wrong, Outcome::NoResult));
    }
    Ok(Recognised { kind, value, text_bytes: text.len() })
}

fn verify_files(
    args: &Verify,
    facts: &Facts<'_>,
    plan: Option<&Verified<Proposal>>,
    json: bool,
) -> Result<Outcome, Failure> {
    let sources = sources(&args.files);
    let mut progress = Progress::new("documents", Some(sources.len()));
    let mut canon = Canonicalizer::new();
    let mut output = BufWriter::new(anstream::stdout().lock());
    let mut outcomes: Vec<Outcome> = Vec::new();
    for source in &sources {
        if let Source::Run(folder) = source {
            outcomes.push(super::run::verify(&mut output, folder, json)?);
            progress.add(1);
            continue;
        }
        let (checked, text) = match source.text() {
            Ok(text) if proof::is_proof(&text.json) => {
                outcomes.push(proof::verify(&mut output, &source.name(), &text.json, &args.keys, json)?);
                progress.add(1);
                continue;
            }
            Ok(text) if args.kind.is_none() && dossier::is_dossier(&text.json) => {
                outcomes.push(dossier::verify(&mut output, &source.name(), &text.json, &args.keys, json)?);
                progress.add(1);
                continue;
            }
            Ok(text) => (check(args.kind, facts, plan, &text.json, |bytes| text.read(bytes)), Some(text)),
            Err(failure) => {
                let wrong = Unreadable { pointer: String::new(), message: io_message(failure), offset: None };
                (Checked::refused(RuleId::Io, wrong, Outcome::Failed), None)
            }
        };
        if json {
            let line = canon.value(&FileReport { file: source.file(), report: &checked.report });
            output.write_all(line?)?;
            output.write_all(b"\n")?;
        } else {
            report::checked(&mut output, &source.name(), &checked, text.as_ref())?;
        }
        outcomes.push(checked.outcome);
        progress.add(1);
    }
    drop(progress);
    if !json && outcomes.len() > 1 {
        report::summary(&mut output, &outcomes)?;
    }
    output.flush()?;
    Ok(outcomes.into_iter().max().unwrap_or(Outcome::Ok))
}

fn io_message(failure: Failure) -> String {
    match failure {
        Failure::File { error, .. } => format!("cannot be read: {error}"),
        Failure::Document { problem, .. } => problem,
        other => other.to_string(),
    }
}

/// A report with the name of its file.
pub(crate) struct FileReport<'a> {
    pub(crate) file: Option<String>,
    pub(crate) report: &'a Report,
}

impl Serialize for FileReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(file) = &self.file {
            map.serialize_entry("file", file)?;
        }
        self.report.serialize_members(&mut map)?;
        map.end()
    }
}

fn verify_lines(
    args: &Verify,
    facts: &Facts<'_>,
    plan: Option<&Verified<Proposal>>,
) -> Result<Outcome, Failure> {
    if args.files.iter().any(|path| Source::of(path) != Source::Stdin) {
        return Err(Failure::Usage("`--jsonl` reads standard input and takes no files".to_owned()));
    }
    lines::run(std::io::stdin().lock(), std::io::stdout(), || {
        let mut canon = Canonicalizer::new();
        move |line: Result<&[u8], lines::TooLong>, output: &mut Vec<u8>| {
            let checked = match line {
                Ok(line) => {
                    check(args.kind, facts, plan, line, |bytes| Value::read(bytes).map_err(Unreadable::from))
                }
                Err(lines::TooLong) => too_long(),
            };
            write_report(&mut canon, &checked.report, output);
            checked.outcome
        }
    })
}

/// Appends a report; one that is too long to be written is replaced, never left out.
pub(crate) fn write_report(canon: &mut Canonicalizer, report: &Report, output: &mut Vec<u8>) {
    let replacement = match canon.value(report) {
        Ok(line) => return output.extend_from_slice(line),
        Err(error) => Report::of(RuleId::Io, String::new(), format!("the report cannot be written: {error}")),
    };
    output.extend_from_slice(canon.value(&replacement).unwrap_or(b"{\"ok\":false}"));
}

/// The result for a line that is too long to keep.
pub(crate) fn too_long() -> Checked {
    let message = format!("the line is longer than {DOCUMENT_BYTES_MAX} bytes");
    let wrong = Unreadable { pointer: String::new(), message, offset: None };
    Checked::refused(RuleId::Parse, wrong, Outcome::NoResult)
}
