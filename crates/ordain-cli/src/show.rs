//! Reports for people.

use crate::exit::Outcome;
use crate::verify::Checked;
use anstyle::{AnsiColor, Color, Style};
use ordain_canon::{place_of, span_of};
use ordain_spec::{RuleId, Violation};
use std::io::{Result, Write};
use std::ops::Range;

const fn colored(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(color))).bold()
}

pub(crate) const RED: Style = colored(AnsiColor::Red);
pub(crate) const GREEN: Style = colored(AnsiColor::Green);
pub(crate) const YELLOW: Style = colored(AnsiColor::Yellow);
pub(crate) const BLUE: Style = colored(AnsiColor::Blue);
pub(crate) const BOLD: Style = Style::new().bold();

/// Places are looked up by reading the text again, which is not worth it a thousand times over.
const PLACES_SHOWN_MAX: usize = 50;

/// One document's report, with the offending places where the text is at hand.
pub(crate) fn checked(
    out: &mut impl Write,
    name: &str,
    checked: &Checked,
    text: Option<&[u8]>,
) -> Result<()> {
    let what = checked.kind.map_or("document", |kind| kind.title());
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
        writeln!(out, "  see `ordain rules {first}{select}` or docs/contracts/{kind}.md")?;
    }
    Ok(())
}

fn finding(
    out: &mut impl Write,
    style: Style,
    it: &Violation,
    text: Option<&[u8]>,
    offset: Option<usize>,
) -> Result<()> {
    let path = match it.path.as_str() {
        "" => "the document",
        path => path,
    };
    writeln!(out, "  {style}{}{style:#}  {BOLD}{path}{BOLD:#}  {}", it.rule, it.message)?;
    match (text, offset) {
        (Some(text), Some(offset)) => excerpt(out, text, offset..offset + 1),
        (Some(text), None) if it.rule != RuleId::Kind => excerpt(out, text, span_of(text, &it.path)),
        _ => Ok(()),
    }
}

/// The line in which a range starts, with the range underlined.
fn excerpt(out: &mut impl Write, text: &[u8], range: Range<usize>) -> Result<()> {
    const CHARS_BEFORE: usize = 40;
    const CHARS_SHOWN: usize = 90;
    let start = range.start.min(text.len());
    let line_start =
        text.get(..start).unwrap_or_default().iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let rest = text.get(line_start..).unwrap_or_default();
    let line_end = line_start + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let slice =
        |from: usize, to: usize| String::from_utf8_lossy(text.get(from..to).unwrap_or_default()).into_owned();
    // A canonical document is one long line: show what is around the place.
    let before = slice(line_start, start);
    let skipped = before.chars().count().saturating_sub(CHARS_BEFORE);
    let before: String = before.chars().skip(skipped).collect();
    let marked_end = range.end.clamp(start, line_end);
    let marked: String = slice(start, marked_end).trim_end().chars().take(CHARS_SHOWN).collect();
    let after: String = slice(marked_end, line_end)
        .chars()
        .take(CHARS_SHOWN.saturating_sub(marked.chars().count()))
        .collect();
    let clean =
        |text: &str| text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect::<String>();
    let (left, number) = (if skipped > 0 { "… " } else { "" }, place_of(text, start).line.to_string());
    let gutter = " ".repeat(number.len());
    writeln!(out, "   {BLUE}{number} │{BLUE:#} {left}{}{}{}", clean(&before), clean(&marked), clean(&after))?;
    let indent = " ".repeat(left.chars().count() + before.chars().count());
    let carets = "^".repeat(marked.chars().count().max(1));
    writeln!(out, "   {BLUE}{gutter} │{BLUE:#} {indent}{RED}{carets}{RED:#}")
}

/// How several documents went.
pub(crate) fn summary(out: &mut impl Write, outcomes: &[Outcome]) -> Result<()> {
    let count = |wanted: Outcome| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    let mut parts = vec![format!("{} valid", count(Outcome::Ok))];
    for (outcome, name) in
        [(Outcome::Violations, "invalid"), (Outcome::Unreadable, "unreadable"), (Outcome::Failed, "not read")]
    {
        if count(outcome) > 0 {
            parts.push(format!("{} {name}", count(outcome)));
        }
    }
    writeln!(out, "{} documents: {}", outcomes.len(), parts.join(", "))
}
