//! `ordain transform`.

use crate::commands::verify::too_long;
use crate::document::{Made, emit};
use crate::exit::{self, Failure, Outcome};
use crate::input::{Source, Text};
use crate::lines::{self, TooLong};
use crate::page::Page;
use crate::report::{self, RED, YELLOW, printable, write_hint};
use crate::view;
use crate::wording::count;
use clap::Args;
use ordain_canon::{Canonicalizer, Value};
use ordain_kernel::{Refusal, RefusalCode, Transformed, transform};
use ordain_spec::bundle::Bundle;
use ordain_spec::limits::INTENT_BYTES_MAX;
use ordain_spec::run::ResultKind;
use ordain_spec::{Kind, Report, RuleId, document_text};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help_with("With --jsonl the worst line decides the exit code.", &[
    Outcome::Ok.means("a bundle"),
    Outcome::Clarify.means("a bundle with questions"),
    Outcome::Refused.means("no bundle: the intent is refused"),
    Outcome::Failed.means("an error"),
]))]
pub(crate) struct Transform {
    /// The intent, JSON or by its name YAML; `-` is standard input, JSON
    #[arg(value_name = "INTENT")]
    pub(crate) intent: Option<PathBuf>,
    /// Take plain text as the goal: this text, or without it the content of INTENT
    #[arg(long, value_name = "TEXT", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, without a value, and with one are three things")]
    pub(crate) goal: Option<Option<String>>,
    /// Write the bundle to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Read one intent a line, write one result a line, in order, on all cores
    #[arg(long)]
    pub(crate) jsonl: bool,
}

pub(crate) fn run(args: &Transform, json: bool) -> Result<Outcome, Failure> {
    if args.jsonl {
        return transform_lines(args);
    }
    let result = match (&args.goal, &args.intent) {
        (None, Some(path)) => transform_file(&Source::of(path))?,
        (Some(None), Some(path)) => transform_goal(&text_of(path)?),
        (Some(Some(goal)), None) if goal == "-" => transform_goal(&text_of(Path::new("-"))?),
        (Some(Some(goal)), None) => {
            hint_at_file(goal);
            transform_goal(goal)
        }
        (Some(Some(_)), Some(_)) => {
            let hint = "to read the goal from a file, run `ordain transform FILE --goal`";
            return Err(Failure::Usage("an intent and a goal were given".to_owned()).with_hint(hint));
        }
        (None | Some(None), None) => {
            let hint = "name a file, `-` for standard input, or pass `--goal TEXT`";
            return Err(Failure::Usage("no intent given".to_owned()).with_hint(hint));
        }
    };
    match &result {
        Transformed::Bundle(bundle) | Transformed::Clarify(bundle) => show(&result, bundle, args, json)?,
        Transformed::Refuse(refusal) => show_refusal(&result, refusal, args, json)?,
    }
    Ok(outcome(&result))
}

fn outcome(result: &Transformed) -> Outcome {
    match result.kind() {
        ResultKind::Bundle => Outcome::Ok,
        ResultKind::Clarify => Outcome::Clarify,
        ResultKind::Refuse => Outcome::Refused,
    }
}

/// The text of a file that is a goal and no document.
fn text_of(path: &Path) -> Result<String, Failure> {
    let source = Source::of(path);
    String::from_utf8(source.bytes()?).map_err(|error| Failure::Document {
        path: source.name(),
        problem: format!("is not UTF-8 from byte {} on", error.utf8_error().valid_up_to()),
    })
}

/// `--goal notes.txt` takes the name for the goal. Says how to read the file instead.
fn hint_at_file(goal: &str) {
    if Path::new(goal).is_file() {
        let hint = format!("to read the file, run `ordain transform {goal} --goal`");
        report::note(&format!("the goal is the text `{goal}`, not the file"), Some(&hint));
    }
}

fn transform_goal(goal: &str) -> Transformed {
    let intent = Value::Object(vec![("goal".into(), Value::String(goal.into()))]);
    transform(&intent, goal.len())
}

/// A file that does not parse is refused like any other that is not an intent.
pub(crate) fn transform_file(source: &Source) -> Result<Transformed, Failure> {
    Ok(transform_text(&source.text()?))
}

/// The intent of a file, JSON or YAML.
pub(crate) fn transform_text(text: &Text) -> Transformed {
    let bytes = document_text(Kind::Intent, &text.json);
    if bytes.len() > INTENT_BYTES_MAX {
        return transform(&Value::Object(Vec::new()), bytes.len());
    }
    match text.read(bytes) {
        Ok(intent) => transform(&intent, bytes.len()),
        Err(wrong) => Transformed::Refuse(unparsed(wrong.message)),
    }
}

fn unparsed(message: String) -> Refusal {
    Refusal { code: RefusalCode::InvalidIntent, message }
}

/// For people a page, for programs the bundle; with `-o` the bundle goes to the file.
fn show(result: &Transformed, bundle: &Bundle, args: &Transform, json: bool) -> Result<(), Failure> {
    let to_terminal = args.output.is_none() && !json && std::io::stdout().is_terminal();
    if to_terminal {
        let mut page = Page::default();
        view::bundle_page(&mut page, bundle, false);
        let mut stdout = anstream::stdout().lock();
        stdout.write_all(page.text().as_bytes())?;
        stdout.flush()?;
    } else {
        let made = Made {
            title: format!("bundle {}", bundle.id),
            name: ("id", bundle.id.clone()),
            summary: summary(bundle),
        };
        emit(bundle, args.output.as_deref(), json, made)?;
    }
    if let (Transformed::Clarify(_), false) = (result, json) {
        let questions = count(bundle.unresolved_questions.len() as u64, "question");
        let hint = match args.intent.as_deref().filter(|_| args.goal.is_none()) {
            Some(path) if Source::of(path) == Source::Stdin => {
                "answer with `ordain clarify - --answers FILE`, where FILE has the answers by question id"
                    .to_owned()
            }
            Some(path) => format!("answer with `ordain clarify {}`", path.display()),
            None => "put the goal into an intent file, and answer with `ordain clarify FILE`".to_owned(),
        };
        let mut stderr = anstream::stderr().lock();
        writeln!(stderr, "{YELLOW}CLARIFY{YELLOW:#}  {questions} open")?;
        report::write_hint(&mut stderr, Some(&hint))?;
    }
    Ok(())
}

fn summary(bundle: &Bundle) -> String {
    let status = crate::wording::word(&bundle.status);
    let (outputs, questions) = (bundle.outputs.len() as u64, bundle.unresolved_questions.len() as u64);
    format!("{status}, {}, {}", count(outputs, "output"), count(questions, "open question"))
}

fn show_refusal(
    result: &Transformed,
    refusal: &Refusal,
    args: &Transform,
    json: bool,
) -> Result<(), Failure> {
    if json {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(Canonicalizer::new().value(result)?)?;
        stdout.write_all(b"\n")?;
        return Ok(stdout.flush()?);
    }
    let (code, message) = (refusal.code.name(), printable(&refusal.message));
    let mut stderr = anstream::stderr().lock();
    writeln!(stderr, "{RED}{code}{RED:#}: {message}")?;
    let piped = args.goal.is_none() && args.intent.as_deref() == Some(Path::new("-"));
    let is_unread = piped && refusal.code == RefusalCode::InvalidIntent;
    let hint =
        "standard input is read as JSON; run `ordain transform --goal -` if it is the text of the goal";
    write_hint(&mut stderr, is_unread.then_some(hint))?;
    Ok(())
}

fn transform_lines(args: &Transform) -> Result<Outcome, Failure> {
    if args.goal.is_some() || args.output.is_some() {
        return Err(Failure::Usage("`--jsonl` cannot be combined with `--goal` or `-o`".to_owned()));
    }
    let work = || {
        let mut canon = Canonicalizer::new();
        move |line: Result<&[u8], TooLong>, output: &mut Vec<u8>| {
            let (result, report) = match line {
                Ok(line) => transform_line(line),
                Err(TooLong) => (transform(&Value::Object(Vec::new()), usize::MAX), Some(too_long().report)),
            };
            let outcome = outcome(&result);
            let written = canon.value(&Line { result: &result, report: report.as_ref() });
            output
                .extend_from_slice(written.unwrap_or(b"{\"kernel_result_kind\":\"REFUSE\",\"bundle\":null}"));
            outcome
        }
    };
    match args.intent.as_deref().map(Source::of) {
        None | Some(Source::Stdin | Source::Folder(..) | Source::Run(_)) => {
            lines::run(std::io::stdin().lock(), std::io::stdout(), work)
        }
        Some(Source::File(path)) => {
            let failure = |error| Failure::File { path: path.display().to_string(), error };
            lines::run(std::fs::File::open(&path).map_err(failure)?, std::io::stdout(), work)
        }
    }
}

fn transform_line(line: &[u8]) -> (Transformed, Option<Report>) {
    let bytes = document_text(Kind::Intent, line);
    if bytes.len() > INTENT_BYTES_MAX {
        return (transform(&Value::Object(Vec::new()), bytes.len()), None);
    }
    match Value::read(bytes) {
        Ok(intent) => (transform(&intent, bytes.len()), None),
        Err(error) => {
            let message = error.to_string();
            let report = Report::of(RuleId::Parse, error.pointer, message.clone());
            (Transformed::Refuse(unparsed(message)), Some(report))
        }
    }
}

/// A result, and for a line that does not parse the report that every stream gives in its place.
struct Line<'a> {
    result: &'a Transformed,
    report: Option<&'a Report>,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.result.serialize_members(&mut map)?;
        if let Some(report) = self.report {
            report.serialize_members(&mut map)?;
        }
        map.end()
    }
}
