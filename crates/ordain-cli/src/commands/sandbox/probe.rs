//! `ordain sandbox probe`.

use crate::exit::{Failure, Outcome};
use crate::page::{Column, PLAIN, Page, Row};
use crate::report::{GREEN, RED, YELLOW};
use crate::wording::yes_no;
use ordain_canon::Canonicalizer;
use ordain_harness::sandbox::{self, Level, Probe};
use std::io::Write;

pub(super) fn run(json: bool) -> Result<Outcome, Failure> {
    let probe = sandbox::probe();
    let mut stdout = anstream::stdout().lock();
    if json {
        stdout.write_all(Canonicalizer::new().value(&probe)?)?;
        stdout.write_all(b"\n")?;
    } else {
        stdout.write_all(probe_page(&probe).text().as_bytes())?;
    }
    stdout.flush()?;
    // A level that needs a flag is not enough.
    Ok(if probe.level >= Some(Level::Namespaces) { Outcome::Ok } else { Outcome::Failed })
}

fn probe_page(probe: &Probe) -> Page {
    let mut page = Page::default();
    let (style, level, meaning) = match probe.level {
        Some(Level::Full) => (GREEN, "full", "every profile can be used"),
        Some(Level::Namespaces) => (YELLOW, "namespaces", "the profile `strict` cannot be used"),
        Some(Level::LandlockOnly) => {
            let meaning =
                "nothing can be run without `--allow-landlock-only`, and the profile `strict` not at all";
            (YELLOW, "landlock-only", meaning)
        }
        None => (RED, "none", "nothing can be run"),
    };
    page.styled_label("level", style, &format!("{level}: {meaning}"));
    page.label("caller", &probe.caller);
    page.section("What it is made of");
    let row = |feature: &sandbox::Feature| Row {
        style: if feature.works { PLAIN } else { RED },
        cells: vec![feature.name.clone(), yes_no(feature.works).to_owned(), feature.found.clone()],
    };
    let columns = [Column::Left("feature"), Column::Left("works"), Column::Left("found")];
    page.table(&columns, probe.features.iter().map(row), |page, number, before| {
        if let Some(remedy) = probe.features.get(number).and_then(|feature| feature.remedy.as_ref()) {
            page.prose(before, before, YELLOW, remedy);
        }
    });
    let open = probe.level.map(Level::leaves_open).unwrap_or_default();
    if !open.is_empty() {
        page.section("What this level leaves open");
    }
    for line in open {
        page.prose("  - ", "    ", PLAIN, line);
    }
    page
}
