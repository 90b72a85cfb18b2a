//! `ordain clarify`: asks, and writes the intent with its answers.

use crate::document::document_failure;
use crate::document::{Made, check_stdin_once, emit};
use crate::exit::{self, Failure, Outcome};
use crate::input::{Source, Text};
use crate::report::{BOLD, GREEN, RED, YELLOW, printable};
use crate::wording::count;
use clap::Args;
use ordain_canon::{Canonicalizer, IntentHash, Value};
use ordain_kernel::{KEEP_ALL, Refusal, Transformed, transform};
use ordain_spec::bundle::{AnswerType, Bundle, Question};
use ordain_spec::{Kind, document_text, intent};
use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help(&[
    Outcome::Ok.means("no question is open"),
    Outcome::Failed.means("questions are open, or an error"),
]))]
pub(crate) struct Clarify {
    /// The intent, JSON or by its name YAML; `-` is standard input, and then answers come from `--answers`
    #[arg(value_name = "INTENT")]
    pub(crate) intent: PathBuf,
    /// Take the answers from this file, an object by question id, and ask nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
    /// Write the answered intent to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

pub(crate) fn run(args: &Clarify, json: bool) -> Result<Outcome, Failure> {
    let paths: Vec<_> = std::iter::once(args.intent.as_path()).chain(args.answers.as_deref()).collect();
    check_stdin_once(&paths)?;
    let source = Source::of(&args.intent);
    let text = source.text()?;
    let bytes = document_text(Kind::Intent, &text.json);
    let intent = text.read(bytes).map_err(|wrong| document_failure(&source, &wrong))?;
    let mut state = State { intent, bytes: bytes.len() };
    let bundle = match &args.answers {
        Some(path) => {
            let answers_source = Source::of(path);
            let answers_text = answers_source.text()?;
            let answers = read_answers(&answers_source, &answers_text)?;
            for (id, answer) in answers {
                state = state.with_answer(&id, answer);
            }
            state.transform().map_err(|refusal| refused(&source, &refusal))?
        }
        // Nobody can answer on a standard input that was the intent: the questions are listed.
        None if source == Source::Stdin => state.transform().map_err(|refusal| refused(&source, &refusal))?,
        None => {
            let first = state.transform().map_err(|refusal| refused(&source, &refusal))?;
            ask_all(&mut state, first)?
        }
    };
    write(args, &state, &bundle, json)
}

fn refused(source: &Source, refusal: &Refusal) -> Failure {
    Failure::Document { path: source.name(), problem: refusal.to_string() }
}

/// The intent as far as it is answered.
#[derive(Clone)]
struct State<'a> {
    intent: Value<'a>,
    /// Bytes of the text that it came from.
    bytes: usize,
}

impl<'a> State<'a> {
    fn transform(&self) -> Result<Bundle, Refusal> {
        match transform(&self.intent, self.bytes) {
            Transformed::Bundle(bundle) | Transformed::Clarify(bundle) => Ok(bundle),
            Transformed::Refuse(refusal) => Err(refusal),
        }
    }

    /// The same intent with one more answer under `context.answers`.
    fn with_answer(&self, id: &str, answer: Value<'a>) -> Self {
        let mut state = self.clone();
        if let Some(answers) = object_at(&mut state.intent, "context").and_then(|it| object_at(it, "answers"))
            && let Value::Object(members) = answers
        {
            members.retain(|(key, _)| key != id);
            members.push((id.to_owned().into(), answer));
        }
        state
    }
}

/// The object under a key, made if it is not there.
fn object_at<'v, 'a>(value: &'v mut Value<'a>, key: &'static str) -> Option<&'v mut Value<'a>> {
    let Value::Object(members) = value else { return None };
    if !members.iter().any(|(name, _)| name == key) {
        members.push((key.into(), Value::Object(Vec::new())));
    }
    members.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// An object of answers by question id.
fn read_answers(source: &Source, text: &Text) -> Result<Vec<(String, Value<'static>)>, Failure> {
    let wrong = |problem: String| Failure::Document { path: source.name(), problem };
    let value = text.read(&text.json).map_err(|error| document_failure(source, &error))?;
    let Value::Object(members) = &value else {
        return Err(wrong(format!("expected an object of answers by question id, found {}", value.kind())));
    };
    members
        .iter()
        .map(|(id, answer)| Some((id.to_string(), owned(answer)?)))
        .collect::<Option<_>>()
        .ok_or_else(|| wrong("an answer is text, a number, true or false, or a list of these".to_owned()))
}

fn owned(answer: &Value<'_>) -> Option<Value<'static>> {
    Some(match answer {
        Value::Bool(value) => Value::Bool(*value),
        Value::Number(value) => Value::Number(*value),
        Value::String(text) => Value::String(text.to_string().into()),
        Value::Array(list) => Value::Array(list.iter().map(owned).collect::<Option<_>>()?),
        Value::Null | Value::Object(_) => return None,
    })
}

/// Asks until nothing is open, or nobody answers any more. Questions go to standard error: standard output is for
/// the intent.
fn ask_all(state: &mut State<'_>, first: Bundle) -> Result<Bundle, Failure> {
    let mut out = anstream::stderr();
    let mut lines = std::io::stdin().lock().lines();
    let mut skipped: BTreeSet<String> = BTreeSet::new();
    let mut bundle = first;
    let mut number = 0;
    while let Some(question) =
        bundle.unresolved_questions.iter().find(|it| !skipped.contains(&it.id)).cloned()
    {
        number += 1;
        show_question(&mut out, number, &question)?;
        loop {
            write!(out, "> ")?;
            out.flush()?;
            let Some(line) = lines.next().transpose()? else {
                writeln!(out)?;
                return Ok(bundle);
            };
            if line.trim().is_empty() {
                skipped.insert(question.id.clone());
                writeln!(out, "left open")?;
                break;
            }
            let answered = match parse(&question, line.trim()) {
                Ok(answer) => {
                    let next = state.with_answer(&question.id, answer);
                    let id = format!("{}: ", question.id);
                    let problem = |refusal: Refusal| refusal.message.trim_start_matches(&id).to_owned();
                    next.transform().map(|made| (next, made)).map_err(problem)
                }
                Err(problem) => Err(problem),
            };
            match answered {
                Ok((next, made)) => {
                    show_change(&mut out, &bundle, &made)?;
                    (*state, bundle) = (next, made);
                    break;
                }
                Err(problem) => writeln!(out, "{RED}not taken:{RED:#} {}", printable(&problem))?,
            }
        }
    }
    Ok(bundle)
}

/// The options as people see them: a choice first, and last the answer that makes none.
fn options(question: &Question) -> impl Iterator<Item = &str> {
    let of = |wanted: bool| {
        question.options.iter().flatten().map(String::as_str).filter(move |it| (*it == KEEP_ALL) == wanted)
    };
    of(false).chain(of(true))
}

fn show_question(out: &mut impl Write, number: usize, question: &Question) -> std::io::Result<()> {
    writeln!(out, "\n{BOLD}{number}. {}{BOLD:#}", printable(&question.text))?;
    writeln!(out, "   {}", printable(&question.why_needed))?;
    for (at, option) in options(question).enumerate() {
        writeln!(out, "   {}) {}", at + 1, printable(option))?;
    }
    let how = match question.expected_answer_type {
        AnswerType::Boolean => "yes or no",
        AnswerType::Choice => "a number from the list",
        AnswerType::Number => "a number",
        AnswerType::List => "a list with commas",
        AnswerType::Text | AnswerType::Structured => "text",
    };
    writeln!(out, "   ({how}; an empty line leaves it open)")
}

/// How an answer changed the scores.
fn show_change(out: &mut impl Write, before: &Bundle, after: &Bundle) -> std::io::Result<()> {
    let (from, to) = (&before.root_node, &after.root_node);
    let left = count(after.unresolved_questions.len() as u64, "question");
    writeln!(
        out,
        "{GREEN}taken:{GREEN:#} unclear {} → {} · settled {} → {} · {left} open",
        from.entropy.entropy_score,
        to.entropy.entropy_score,
        from.density.density_score,
        to.density.density_score,
    )
}

fn parse(question: &Question, line: &str) -> Result<Value<'static>, String> {
    let text = || Value::String(line.to_owned().into());
    match question.expected_answer_type {
        AnswerType::Boolean => match line.to_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(Value::Bool(true)),
            "n" | "no" | "false" => Ok(Value::Bool(false)),
            _ => Err("expected yes or no".to_owned()),
        },
        AnswerType::Choice => {
            let by_number =
                line.parse::<usize>().ok().and_then(|it| options(question).nth(it.checked_sub(1)?));
            // Any other text may still be an answer in other letters; the kernel judges it.
            match options(question).find(|it| *it == line).or(by_number) {
                Some(chosen) => Ok(Value::String(chosen.to_owned().into())),
                None if line.parse::<usize>().is_err() => Ok(text()),
                None => Err(format!("expected a number from 1 to {}", options(question).count())),
            }
        }
        AnswerType::Number => {
            line.parse().map(Value::Number).map_err(|_| format!("`{line}` is not a number"))
        }
        AnswerType::List => {
            let items = line.split(',').map(str::trim).filter(|it| !it.is_empty());
            Ok(Value::Array(items.map(|it| Value::String(it.to_owned().into())).collect()))
        }
        AnswerType::Text | AnswerType::Structured => Ok(text()),
    }
}

/// Writes the answered intent; says what is still open.
fn write(args: &Clarify, state: &State<'_>, bundle: &Bundle, json: bool) -> Result<Outcome, Failure> {
    let open = bundle.unresolved_questions.len() as u64;
    let source = Source::of(&args.intent);
    let wrong = |problem: String| Failure::Document { path: source.name(), problem };
    let normal = intent::normalize(&state.intent).map_err(|error| wrong(error.to_string()))?;
    let hash = IntentHash::of(&mut Canonicalizer::new(), &normal)?;
    let made = Made {
        title: "intent".to_owned(),
        name: ("hash", hash.to_string()),
        summary: format!(
            "{} open, unclear {}",
            count(open, "question"),
            bundle.root_node.entropy.entropy_score
        ),
    };
    emit(&state.intent, args.output.as_deref(), json, made)?;
    if open > 0 {
        if !json {
            writeln!(
                anstream::stderr(),
                "{YELLOW}CLARIFY{YELLOW:#}  {} still open",
                count(open, "question")
            )?;
            for question in &bundle.unresolved_questions {
                writeln!(anstream::stderr(), "  {}  {}", question.id, printable(&question.text))?;
            }
            if source == Source::Stdin && args.answers.is_none() {
                let hint = "put answers by question id into a file, and pass `--answers FILE`";
                crate::report::write_hint(&mut anstream::stderr(), Some(hint))?;
            }
        }
        return Ok(Outcome::Failed);
    }
    Ok(Outcome::Ok)
}
