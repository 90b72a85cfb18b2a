//! `ordain note draft`.

use super::judge;
use crate::arguments::Connect;
use crate::document::{Made, emit};
use crate::exit::{Failure, Outcome};
use crate::gateway::{Gateway, Purpose, runtime};
use crate::input::Source;
use crate::output::{print_json, print_page};
use crate::page::Page;
use crate::project::{CONFIG, Project};
use crate::report::{self, BOLD, printable};
use crate::view;
use crate::wording::shell_word;
use clap::Args;
use ordain_api::DraftRequest;
use ordain_canon::{Canonicalizer, Value};
use ordain_client::{Client, ClientError};
use ordain_note::{Drafter, EXAMPLES};
use ordain_server::ErrorResponse;
use ordain_spec::note::Proposal;
use ordain_spec::{Facts, Kind, Verified, verify_as};
use ordain_vault::Vault;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct NoteDraft {
    /// The request for the note; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// A note of the vault that the model is shown, by path or as [[title]], or a URL that it reads as text;
    /// up to eight
    #[arg(long, value_name = "REF")]
    pub(crate) context: Vec<String>,
    /// The note to make better; its path, title and aliases stay
    #[arg(long, value_name = "PATH")]
    pub(crate) enhance: Option<String>,
    /// The text was refined already
    #[arg(long)]
    pub(crate) refined: bool,
    /// Write the proposal to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The folder of the notes; without it what ordain.toml says, or the folder of that file, or this one
    #[arg(long, value_name = "DIR", conflicts_with = "server")]
    pub(crate) vault: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// Characters of a failed answer that are shown.
const ANSWER_CHARS_SHOWN: usize = 2_000;

pub(super) fn run(args: &NoteDraft, json: bool) -> Result<Outcome, Failure> {
    let text = match args.text.as_str() {
        "-" => String::from_utf8(Source::Stdin.bytes()?).map_err(|_| Failure::Document {
            path: "standard input".to_owned(),
            problem: "is not UTF-8".to_owned(),
        })?,
        text => text.to_owned(),
    };
    let request = request(args, text);
    let (note, fits) = match &args.connect.server {
        // The vault of a server is not here; it judges when the note is applied.
        Some(_) => (asked(Gateway::open(&args.connect, Purpose::Write)?.client(), &request)?, true),
        None => local(args, &request)?,
    };
    let outcome = if fits { Outcome::Ok } else { Outcome::Failed };
    if let Some(path) = args.output.as_deref() {
        let made = Made {
            title: format!("note proposal {}", note.id),
            name: ("hash", note.hash.as_str().to_owned()),
            summary: format!("{}, to be {}", note.frontmatter.title, note.target.path),
        };
        emit(&*note, Some(path), json, made)?;
        if !json && path != Path::new("-") {
            let path = shell_word(&path.display().to_string());
            let hint = if fits {
                format!(
                    "run `ordain note show {path}` to look at it, and run `ordain note apply {path}` to write it"
                )
            } else {
                format!("run `ordain note show {path}` to look at it; the vault does not take it as it is")
            };
            report::write_hint(&mut anstream::stderr(), Some(&hint))?;
        }
        return Ok(outcome);
    }
    if json || !std::io::stdout().is_terminal() {
        print_json(&*note)?;
        return Ok(outcome);
    }
    let mut page = Page::default();
    view::note_page(&mut page, &note);
    page.section("Next");
    page.item("keep it: the same command with -o note.json");
    if fits {
        page.step("look at it", "ordain note show note.json");
        page.step("write it into the vault", "ordain note apply note.json");
    }
    print_page(&page)?;
    Ok(outcome)
}

/// The request, as a server gets it.
fn request(args: &NoteDraft, text: String) -> DraftRequest {
    let (prompt, refined_text) = if args.refined { (None, Some(text)) } else { (Some(text), None) };
    DraftRequest { prompt, refined_text, context_refs: args.context.clone(), enhance: args.enhance.clone() }
}

/// Drafts on this machine, through the gate of the project or without one; says whether the vault takes the note.
fn local(args: &NoteDraft, request: &DraftRequest) -> Result<(Verified<Proposal>, bool), Failure> {
    let project = Project::find()?;
    let folder = match (&args.vault, &project) {
        (Some(folder), _) => folder.clone(),
        (None, Some(project)) => project.vault()?,
        (None, None) => PathBuf::from("."),
    };
    let drafter = drafter(project.as_ref(), &folder)?;
    if drafter.provider().recorded().is_some() {
        let hint = format!("name a model with [model] in {CONFIG} or with ORDAIN_MODEL_PROVIDER");
        report::note("no model is set up, so recorded answers are replayed", Some(&hint));
    }
    let waiting = Waiting::new(drafter.provider().name());
    let drafted = if project.as_ref().is_some_and(|project| project.gate().is_some()) {
        let gateway = Gateway::open_in(project, &args.connect, Purpose::Write)?;
        asked(gateway.with_notes(drafter).client(), request)?
    } else {
        report::note("no gate is registered for this folder, so this draft is on no ledger", None);
        let request = ordain_note::Request::read(&serde_json::to_vec(request).unwrap_or_default());
        let request = request.map_err(|faults| refused(ordain_note::Failure::of_input(faults)))?;
        let runtime = runtime(1)?;
        let mut drafted =
            runtime.block_on(drafter.draft(&request, "local")).map_err(|failure| refused(*failure))?;
        runtime.block_on(drafter.keep(&mut drafted, "local"));
        drafted.note
    };
    drop(waiting);
    let vault = Vault::open(&folder)?;
    let validation = judge(&vault, &drafted)?;
    if !validation.ok() || !validation.warnings.is_empty() {
        let said = if validation.ok() { "the vault has remarks:" } else { "the vault will not take it yet:" };
        writeln!(anstream::stderr(), "{BOLD}{said}{BOLD:#}")?;
        super::tell(&validation)?;
    }
    Ok((drafted, validation.ok()))
}

/// The settings of the model, from the project and the environment.
pub(crate) fn drafter(project: Option<&Project>, vault: &Path) -> Result<Drafter, Failure> {
    let settings = project.map(Project::model).transpose()?.unwrap_or_default();
    let root = project.map_or(Path::new("."), Project::root);
    let variable = |name: &str| std::env::var(name).ok();
    let provider = settings.provider(variable, root, EXAMPLES).map_err(|error| Failure::Document {
        path: "the model's settings".to_owned(),
        problem: error.to_string(),
    })?;
    Ok(Drafter::new(provider, vault, project.map(Project::snapshot).transpose()?.unwrap_or_default()))
}

/// Asks the gate, and shows what the model said if nothing came of it.
fn asked(client: &Client, request: &DraftRequest) -> Result<Verified<Proposal>, Failure> {
    let drafted = client.draft_note(request).inspect_err(|error| {
        if let ClientError::Problem(problem) = error
            && let Some(id) = &problem.correlation_id
            && let Ok(Some(failed)) = client.draft_failure(id)
        {
            show_answer(&failed.payload);
        }
    })?;
    let text = Canonicalizer::new().value(&drafted)?.to_vec();
    let verified = Value::read(&text).ok().map(|value| verify_as(&Facts::default(), &value));
    match verified {
        Some(Ok(note)) => Ok(note),
        _ => Err(Failure::Server(format!("the answer is not a {}", Kind::Note.title()))),
    }
}

fn refused(failure: ordain_note::Failure) -> Failure {
    if let Some(answer) = &failure.payload {
        show_answer(answer);
    }
    Failure::Gate(Box::new(ErrorResponse::from(&failure).problem))
}

fn show_answer(answer: &str) {
    if !answer.is_empty() {
        let shown: String = answer.chars().take(ANSWER_CHARS_SHOWN).collect();
        let rest = if shown.len() < answer.len() { " …" } else { "" };
        let _ = writeln!(
            anstream::stderr(),
            "{BOLD}the model's last answer, redacted:{BOLD:#}\n{}{rest}",
            printable(&shown)
        );
    }
}

/// Tells a person whom the command waits for, and takes it back.
struct Waiting(bool);

impl Waiting {
    fn new(name: &str) -> Self {
        let shown = std::io::stderr().is_terminal() && name != "replay";
        if shown {
            let _ = write!(std::io::stderr(), "asking {} …", printable(name));
        }
        Self(shown)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.0 {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
