//! Reports for people.

use crate::clock::now_ms;
use crate::commands::verify::Checked;
use crate::display;
use crate::exit::{Failure, Outcome};
use crate::hints;
use crate::input::Text;
use crate::page::wrapped;
use crate::wording::width_of;
use anstyle::{AnsiColor, Color, Style};
use ordain_canon::place_of;
use ordain_canon::time::moment;
use ordain_spec::{Report, RuleId, Violation, is_invisible};
use serde_json::json;
use std::borrow::Cow;
use std::io::{Result, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

const fn colored(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(color))).bold()
}

pub(crate) const RED: Style = colored(AnsiColor::Red);
pub(crate) const GREEN: Style = colored(AnsiColor::Green);
pub(crate) const YELLOW: Style = colored(AnsiColor::Yellow);
pub(crate) const BLUE: Style = colored(AnsiColor::Blue);
pub(crate) const BOLD: Style = Style::new().bold();

/// Whether a character from outside could move the cursor, change colours, add lines, turn the writing around or
/// hide text.
fn is_treacherous(character: char) -> bool {
    character.is_control() || is_invisible(character)
}

/// Text from outside, made harmless.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_treacherous) {
        return text.into();
    }
    let mut shown = String::new();
    for character in text.chars() {
        if is_treacherous(character) {
            shown.extend(character.escape_unicode())
        } else {
            shown.push(character)
        }
    }
    shown.into()
}

/// Prints why a command failed, and what to do about it. Where standard error is gone nobody can be told.
pub(crate) fn error(failure: &Failure) {
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{RED}error:{RED:#} {}", fitted("error: ", &failure.text()));
    let _ = write_hint(&mut stderr, failure.hint());
}

/// A message behind its label, in lines that fit a terminal.
fn fitted<'t>(label: &str, text: &'t str) -> Cow<'t, str> {
    match display::error_columns() {
        Some(columns) => hints::fitted(text, label.len(), columns).into(),
        None => text.into(),
    }
}

/// Prints why a server failed as a line of its log.
pub(crate) fn log_error(failure: &Failure) {
    let message = json!({"message": failure.text()});
    let fields = failure.hint().map_or(message, |hint| json!({"message": failure.text(), "hint": hint}));
    let line = json!({"timestamp": moment(now_ms()), "level": "ERROR", "fields": fields});
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Whether remarks are kept back, because a shell asks and not a person.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Keeps remarks back from now on.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints a remark that does not change the result, and what to do about it.
pub(crate) fn note(text: &str, hint: Option<&str>) {
    if QUIET.load(Ordering::Relaxed) {
        return;
    }
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{YELLOW}note:{YELLOW:#} {}", fitted("note: ", &printable(text)));
    let _ = write_hint(&mut stderr, hint);
}

/// Advice: on a terminal in lines that fit, with each command alone on one; elsewhere on one line.
pub(crate) fn write_hint(out: &mut impl Write, hint: Option<&str>) -> Result<()> {
    const LABEL_WIDTH: usize = "hint: ".len();
    let Some(hint) = hint.map(printable) else { return Ok(()) };
    match display::error_columns() {
        None => writeln!(out, "{BLUE}hint:{BLUE:#} {hint}"),
        Some(columns) => {
            let lines = hints::lines(&hint, LABEL_WIDTH, columns);
            writeln!(out, "{BLUE}hint:{BLUE:#} {}", lines.join("\n"))
        }
    }
}

/// Many lines from outside, made harmless: only their ends and tabs are kept, and anything but text is shown
/// as bytes.
pub(crate) fn printable_lines(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_treacherous(character) && !matches!(character, '\n' | '\t') {
                shown.extend(character.escape_unicode())
            } else {
                shown.push(character)
            }
        }
        shown.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    shown
}

/// Places are looked up by reading the text again, which is not worth it a thousand times over.
const PLACES_SHOWN_MAX: usize = 20;

/// One document's report, with the offending places where the text is at hand.
pub(crate) fn checked(
    out: &mut impl Write,
    name: &str,
    checked: &Checked,
    text: Option<&Text>,
) -> Result<()> {
    let what = checked.kind.map_or("document", |kind| kind.title());
    let name = printable(name);
    let violations = checked.report.violations();
    let warnings = checked.report.warnings();
    match (violations.len(), checked.kind) {
        (0, _) => writeln!(out, "{GREEN}valid{GREEN:#}  {name}: {what}")?,
        (_, None) => writeln!(out, "{RED}unreadable{RED:#}  {name}")?,
        (1, _) => writeln!(out, "{RED}invalid{RED:#}  {name}: {what}, 1 violation")?,
        (count, _) => writeln!(out, "{RED}invalid{RED:#}  {name}: {what}, {count} violations")?,
    }
    for (position, violation) in violations.iter().enumerate() {
        let text = text.filter(|_| position < PLACES_SHOWN_MAX);
        finding(out, RED, violation, text, checked.offset)?;
    }
    for warning in warnings {
        finding(out, YELLOW, warning, None, None)?;
    }
    if let Some(kind) = checked.kind.filter(|_| !violations.is_empty()) {
        let first = violations.first().map(|it| it.rule.name()).unwrap_or_default();
        let select = if first == "SCHEMA" { format!(" --kind {kind}") } else { String::new() };
        let page = kind.contract();
        writeln!(out, "  see `ordain rules {first}{select}` or docs/contracts/{page}.md")?;
    }
    Ok(())
}

/// The violations, without the places in a text.
pub(crate) fn findings(out: &mut impl Write, report: &Report) -> Result<()> {
    for violation in report.violations() {
        finding(out, RED, violation, None, None)?;
    }
    for warning in report.warnings() {
        finding(out, YELLOW, warning, None, None)?;
    }
    Ok(())
}

/// Where a message begins that does not fit behind its place.
const MESSAGE_INDENT: &str = "      ";

fn finding(
    out: &mut impl Write,
    style: Style,
    it: &Violation,
    text: Option<&Text>,
    offset: Option<usize>,
) -> Result<()> {
    let path = match it.path.as_str() {
        "" => "the document",
        path => &printable(path),
    };
    let (rule, message) = (it.rule.to_string(), printable(&it.message));
    write!(out, "  {style}{rule}{style:#}  {BOLD}{path}{BOLD:#}")?;
    let columns = display::columns();
    if width_of(&rule) + width_of(path) + width_of(&message) + "      ".len() <= columns {
        writeln!(out, "  {message}")?;
    } else {
        writeln!(out)?;
        for line in wrapped(&message, columns - MESSAGE_INDENT.len()) {
            writeln!(out, "{MESSAGE_INDENT}{line}")?;
        }
    }
    match (text, offset) {
        (Some(text), Some(offset)) => excerpt(out, text.file(), offset..offset + 1),
        (Some(text), None) if it.rule != RuleId::Kind => match text.span_of(&it.path) {
            Some(range) => excerpt(out, text.file(), range),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The line in which a range starts, with the range underlined. A canonical document is one long line: only what is
/// around the place is shown.
fn excerpt(out: &mut impl Write, text: &[u8], range: Range<usize>) -> Result<()> {
    const CHARS_BEFORE_MAX: usize = 40;
    const CHARS_SHOWN_MAX: usize = 90;
    const BYTES_PER_CHAR: usize = 4;
    let start = range.start.min(text.len());
    let number = place_of(text, start).line.to_string();
    // Beside the text stand the gutter and the marks of what is left out.
    let room = display::columns() - (number.len() + "    │ … ".chars().count() + " …".chars().count());
    let chars_before = CHARS_BEFORE_MAX.min(room / 2);
    let chars_shown = CHARS_SHOWN_MAX.min(room - chars_before);
    let (before, rest) = text.split_at_checked(start).unwrap_or((text, &[]));
    let before = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let rest = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let marked_bytes = range.len().min(rest.len());
    let window = |bytes: &[u8]| -> Vec<char> {
        let clean = |it: char| if is_treacherous(it) { ' ' } else { it };
        String::from_utf8_lossy(bytes).chars().map(clean).collect()
    };
    let (tail, head) = (chars_before * BYTES_PER_CHAR, chars_shown * BYTES_PER_CHAR);
    let before = window(before.get(before.len().saturating_sub(tail)..).unwrap_or_default());
    let skipped = before.len().saturating_sub(chars_before);
    let marked = window(rest.get(..marked_bytes.min(head)).unwrap_or_default());
    let after = window(rest.get(marked_bytes..rest.len().min(marked_bytes + head)).unwrap_or_default());
    let shown: Vec<char> = marked.iter().chain(&after).copied().take(chars_shown).collect();
    let cut = marked.len() + after.len() > shown.len();
    let (left, right) = (if skipped > 0 { "… " } else { "" }, if cut { " …" } else { "" });
    let before: String = before.into_iter().skip(skipped).collect();
    let gutter = " ".repeat(number.len());
    let shown: String = shown.into_iter().collect();
    writeln!(out, "   {BLUE}{number} │{BLUE:#} {left}{before}{}{right}", shown.trim_end())?;
    let indent = " ".repeat(left.chars().count() + before.chars().count());
    let marked: String = marked.into_iter().take(chars_shown).collect();
    let carets = "^".repeat(marked.trim_end().chars().count().max(1));
    writeln!(out, "   {BLUE}{gutter} │{BLUE:#} {indent}{RED}{carets}{RED:#}")
}

/// How several documents went.
pub(crate) fn summary(out: &mut impl Write, outcomes: &[Outcome]) -> Result<()> {
    let count = |wanted: Outcome| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    let mut parts = vec![format!("{} valid", count(Outcome::Ok))];
    for (outcome, name) in
        [(Outcome::Violations, "invalid"), (Outcome::NoResult, "unreadable"), (Outcome::Failed, "not read")]
    {
        if count(outcome) > 0 {
            parts.push(format!("{} {name}", count(outcome)));
        }
    }
    writeln!(out, "{} documents: {}", outcomes.len(), parts.join(", "))
}
