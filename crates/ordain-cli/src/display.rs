//! Standard output: how wide it is, whether it has colours, which times it shows, and a pager for long pages.

use crate::cli::{Color, Global};
use ordain_presence::size_of;
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A pipe takes lines of any length; its reader breaks them, or does not.
pub(crate) const UNLIMITED: usize = usize::MAX;
/// Below this, lines are longer than the terminal.
const COLUMNS_MIN: usize = 40;
/// Longer lines are hard to read.
const COLUMNS_MAX: usize = 120;
/// The pager where nobody names one. It ends by itself where the page fits, shows colours, and leaves the page on the
/// screen.
const PAGER: &str = "less -FRX";

struct Settings {
    absolute: bool,
    pager: bool,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Takes over what the command line says.
pub(crate) fn set(global: &Global) {
    match global.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let _first = SETTINGS.set(Settings { absolute: global.absolute, pager: !global.no_pager });
}

/// Whether times are shown as dates.
pub(crate) fn absolute() -> bool {
    SETTINGS.get().is_some_and(|settings| settings.absolute)
}

/// The width of a page on standard output: `COLUMNS`, or what the terminal says. A pipe has no width.
pub(crate) fn columns() -> usize {
    let named = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    let columns = named.filter(|columns| *columns > 0).or_else(|| {
        let size = size_of(std::io::stdout()).map(|size| size.columns);
        size.or(std::io::stdout().is_terminal().then_some(80))
    });
    columns.map_or(UNLIMITED, within)
}

/// The width of the terminal that standard error is; nothing where it is something else.
pub(crate) fn error_columns() -> Option<usize> {
    let size = size_of(std::io::stderr())?;
    let named = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    Some(within(named.filter(|columns| *columns > 0).unwrap_or(size.columns)))
}

/// A width that pages are made for.
pub(crate) fn within(columns: usize) -> usize {
    columns.clamp(COLUMNS_MIN, COLUMNS_MAX)
}

/// Text for the terminal of this process, which is not one of the standard streams: in colours only where they are
/// wanted.
pub(crate) fn for_terminal(text: &str) -> String {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let colored = match anstream::ColorChoice::global() {
        anstream::ColorChoice::Always | anstream::ColorChoice::AlwaysAnsi => true,
        anstream::ColorChoice::Never => false,
        anstream::ColorChoice::Auto => {
            !set("NO_COLOR") && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
        }
    };
    if colored { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() }
}

/// Shows a page in a pager if it is longer than the terminal; says whether it did.
pub(crate) fn paged(text: &str) -> bool {
    let wanted = SETTINGS.get().is_some_and(|settings| settings.pager);
    let rows = size_of(std::io::stdout()).map(|size| size.rows);
    let long = rows.is_some_and(|rows| text.lines().count() >= rows);
    if !wanted || !long || !std::io::stdout().is_terminal() {
        return false;
    }
    let named = ["ORDAIN_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok());
    let line = named.unwrap_or_else(|| PAGER.to_owned());
    let mut words = line.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    // Whatever the locale is, this is UTF-8.
    if std::env::var_os("LESSCHARSET").is_none() {
        command.env("LESSCHARSET", "utf-8");
    }
    // Without the pager the page is printed as it is.
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // A reader who leaves the pager early has read enough.
        let _ = input.write_all(for_terminal(text).as_bytes());
    }
    let _ = child.wait();
    true
}
