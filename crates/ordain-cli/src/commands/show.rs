//! `ordain show`: any document as a page for people.

use super::verify::{Recognised, recognise};
use crate::arguments::kinds;
use crate::document::unreadable;
use crate::exit::{self, Failure, Outcome};
use crate::input::Source;
use crate::page::Page;
use crate::report::{RED, printable};
use crate::view;
use crate::wording::count;
use clap::Args;
use ordain_canon::Canonicalizer;
use ordain_run::is_run_folder;
use ordain_spec::{Facts, Kind, Report};
use std::io::Write;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Show {
    /// The document, or the folder of a run; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The kind of document [default: recognised from its content]
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
    /// Show the content of files as well
    #[arg(long)]
    pub(crate) full: bool,
}

pub(crate) fn run(args: &Show, json: bool) -> Result<Outcome, Failure> {
    // The result stands for the folder of a run.
    let source = if is_run_folder(&args.file) {
        Source::of(&args.file.join("result.json"))
    } else {
        Source::of(&args.file)
    };
    let text = source.text()?;
    let document = recognise(args.kind, &text.json, |bytes| text.read(bytes))
        .map_err(|refused| unreadable(&source, &refused))?;
    if json {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(Canonicalizer::new().value(&document.value)?)?;
        stdout.write_all(b"\n")?;
        stdout.flush()?;
        return Ok(Outcome::Ok);
    }
    let mut page = Page::default();
    let fits = view::show(&mut page, &document, args.full);
    let violations = violations(&document, fits);
    let mut stdout = anstream::stdout().lock();
    if violations > 0 {
        let kind = args.kind.map(|kind| format!(" --kind {kind}")).unwrap_or_default();
        let file = source.file().unwrap_or_else(|| "-".to_owned());
        let (violations, file) = (count(violations as u64, "violation"), printable(&file));
        writeln!(stdout, "{RED}invalid{RED:#}: {violations}, see `ordain verify{kind} {file}`\n")?;
    }
    if !fits {
        page.title(document.kind.title(), "");
        match document.value.to_typed::<serde_json::Value>() {
            Ok(value) => page.json(&value),
            Err(_) => page.json(&document.value),
        }
    }
    stdout.write_all(page.text().as_bytes())?;
    stdout.flush()?;
    Ok(Outcome::Ok)
}

fn violations(document: &Recognised<'_>, fits: bool) -> usize {
    let report: Report = document.check(&Facts::default()).report;
    let counts = |rule| {
        // Whether evidence is there is nothing that a proposal alone can break; a wrong reference to it is.
        !fits || rule != Kind::Action.rule(13)
    };
    report.violations().iter().filter(|it| counts(it.rule)).count()
}
