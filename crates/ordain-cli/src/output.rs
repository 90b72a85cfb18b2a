//! Results on standard output.

use crate::display;
use crate::exit::Failure;
use crate::page::Page;
use ordain_canon::Canonicalizer;
use serde::Serialize;
use std::io::Write;

/// Prints one line of canonical JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(Canonicalizer::new().value(value)?)?;
    stdout.write_all(b"\n")?;
    Ok(stdout.flush()?)
}

/// Prints a page, in a pager where it is longer than the terminal.
pub(crate) fn print_page(page: &Page) -> Result<(), Failure> {
    if display::paged(page.text()) {
        return Ok(());
    }
    print_result(page)
}

/// Prints what a command did, and what to do next: nobody should have to leave a pager first.
pub(crate) fn print_result(page: &Page) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(page.text().as_bytes())?;
    Ok(stdout.flush()?)
}
