//! `ordain show`: any document as a page for people.

mod action;
mod bundle;
pub(crate) mod decision;
mod intent;
mod note;
mod patch;
mod plan;
mod run;
mod time;

use crate::args::Show;
use crate::canon::document_failure;
use crate::exit::{Failure, Outcome};
use crate::input::{Source, Unreadable};
use crate::page::Page;
use crate::report::{RED, printable};
use crate::verify::{Checked, Recognised, recognise};
use crate::wording::count;
use ordain_canon::{Canonicalizer, Value};
use ordain_run::is_run_folder;
use ordain_spec::{Facts, Kind, Report};
use serde::de::DeserializeOwned;
use std::io::Write;

pub(crate) use bundle::{figures as bundle_figures, show as bundle_page};
pub(crate) use note::show as note_page;

pub(crate) fn run(args: &Show, json: bool) -> Result<Outcome, Failure> {
    // Of a run's folder the result says what became of it.
    let source = match is_run_folder(&args.file) {
        true => Source::of(&args.file.join("result.json")),
        false => Source::of(&args.file),
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
    let fits = show(&mut page, &document, args.full);
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

/// Why there is no document, as an error of this command.
pub(crate) fn unreadable(source: &Source, refused: &Checked) -> Failure {
    let wrong = refused.report.violations().first();
    let (pointer, message) = wrong.map(|it| (it.path.clone(), it.message.clone())).unwrap_or_default();
    document_failure(source, &Unreadable { pointer, message, offset: None })
}

fn violations(document: &Recognised<'_>, fits: bool) -> usize {
    let report: Report = document.check(&Facts::default()).report;
    let counts = |rule| {
        // Whether evidence is there is nothing that a proposal alone can break; a wrong reference to it is.
        !fits || rule != Kind::Action.rule(13)
    };
    report.violations().iter().filter(|it| counts(it.rule)).count()
}

/// Shows a document by its type; says whether it has one. Breaking a rule does not stop that: only a document whose
/// fields are not those of its kind has no page of its own.
fn show(page: &mut Page, document: &Recognised<'_>, full: bool) -> bool {
    let value = &document.value;
    match document.kind {
        Kind::Intent => typed(value, |it| intent::show(page, &it, full)),
        Kind::Bundle => typed(value, |it| bundle::show(page, &it, full)),
        Kind::Plan => typed(value, |it| plan::show(page, &it, full)),
        Kind::Patch => typed(value, |it| patch::show(page, &it, full)),
        Kind::Action => {
            typed(value, |it| action::show(page, &it)) || typed(value, |it| action::show_request(page, &it))
        }
        Kind::Packet => typed(value, |it| action::show_packet(page, &it)),
        Kind::Approval => typed(value, |it| decision::show_approval(page, &it)),
        Kind::Decision => typed(value, |it| decision::show(page, &it, None)),
        Kind::Profile => typed(value, |it| run::show_profile(page, &it)),
        Kind::Evidence => typed(value, |it| run::show_evidence(page, &it)),
        Kind::Run => typed(value, |it| run::show(page, &it)),
        Kind::Note => typed(value, |it| note::show(page, &it)),
        Kind::Routing => typed(value, |it| note::show_routing(page, &it, full)),
    }
}

fn typed<T: DeserializeOwned>(value: &Value<'_>, show: impl FnOnce(T)) -> bool {
    value.to_typed().map(show).is_ok()
}
