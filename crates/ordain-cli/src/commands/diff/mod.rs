//! `ordain diff`: what changed from one bundle to another.

mod changes;
mod pages;
mod tree;

use crate::commands::verify::recognise;
use crate::document::unreadable;
use crate::document::with_article;
use crate::exit::{self, Failure, Outcome};
use crate::input::Source;
use crate::page::Page;
use crate::report;
use crate::wording::count;
use changes::Changes;
use clap::Args;
use ordain_canon::Canonicalizer;
use ordain_spec::bundle::Bundle;
use ordain_spec::{Facts, Kind};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help(&[
    Outcome::Ok.means("the same bundle"),
    Outcome::Failed.means("the bundles differ, or one is not valid"),
]))]
pub(crate) struct Diff {
    /// The bundle before; `-` is standard input
    #[arg(value_name = "A")]
    pub(crate) before: PathBuf,
    /// The bundle after; `-` is standard input
    #[arg(value_name = "B")]
    pub(crate) after: PathBuf,
}

pub(crate) fn run(args: &Diff, json: bool) -> Result<Outcome, Failure> {
    if [&args.before, &args.after].iter().all(|path| Source::of(path) == Source::Stdin) {
        return Err(Failure::Usage("standard input can be read only once".to_owned()));
    }
    let (before, after) = (load(&args.before)?, load(&args.after)?);
    let changes = Changes::between(&before, &after);
    if json {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(Canonicalizer::new().value(&changes)?)?;
        stdout.write_all(b"\n")?;
        stdout.flush()?;
    } else {
        let mut page = Page::default();
        pages::show(&mut page, &changes);
        let mut stdout = anstream::stdout().lock();
        stdout.write_all(page.text().as_bytes())?;
        stdout.flush()?;
    }
    Ok(if changes.same { Outcome::Ok } else { Outcome::Failed })
}

/// A bundle that obeys its rules; otherwise what is wrong with it goes to standard error.
fn load(path: &Path) -> Result<Bundle, Failure> {
    let source = Source::of(path);
    let text = source.text()?;
    let problem = |problem: String| Failure::Document { path: source.name(), problem };
    let read = |kind| recognise(kind, &text.json, |bytes| text.read(bytes));
    // For a document of another kind, name its kind instead of everything that it lacks as a bundle.
    if let Ok(document) = read(None)
        && document.kind != Kind::Bundle
    {
        return Err(problem(format!("expected a bundle, found {}", with_article(document.kind))));
    }
    let document = read(Some(Kind::Bundle)).map_err(|refused| unreadable(&source, &refused))?;
    let checked = document.check(&Facts::default());
    if !checked.report.ok() {
        report::checked(&mut anstream::stderr().lock(), &source.name(), &checked, Some(&text))?;
        let violations = count(checked.report.violations().len() as u64, "violation");
        return Err(problem(format!("only valid bundles can be compared, and this has {violations}")));
    }
    document.value.to_typed().map_err(|error| problem(error.to_string()))
}
