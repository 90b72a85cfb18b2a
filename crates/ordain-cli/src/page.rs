//! A page for a terminal: labels, lists, tables and texts. Whatever comes from outside is made harmless here, once.

use crate::display::{self, UNLIMITED};
use crate::hints;
use crate::report::{BLUE, BOLD, GREEN, RED, YELLOW, printable};
use crate::wording::{cut, width_of};
use anstyle::Style;
use serde::Serialize;
use unicode_width::UnicodeWidthChar;

/// A tree of any depth leaves this much for text.
const TEXT_WIDTH_MIN: usize = 20;
/// The last column of a table has at least this width, or goes below the others.
const LAST_WIDTH_MIN: usize = 24;
const LABEL_WIDTH: usize = 12;
const CELL_WIDTH_MAX: usize = 40;

pub(crate) const PLAIN: Style = Style::new();

/// A page that grows downwards. The text holds the styles, which the stream takes out where nobody would see them.
pub(crate) struct Page {
    text: String,
    width: usize,
}

/// As wide as standard output.
impl Default for Page {
    fn default() -> Self {
        Self::of_width(display::columns())
    }
}

/// A column of a table. The last one is never cut or padded.
#[derive(Clone, Copy)]
pub(crate) enum Column {
    Left(&'static str),
    Right(&'static str),
    /// Left out where there is no room; of several, the last one first.
    Spare(&'static str),
}

/// A row of a table.
pub(crate) struct Row {
    pub(crate) style: Style,
    pub(crate) cells: Vec<String>,
}

impl From<Vec<String>> for Row {
    fn from(cells: Vec<String>) -> Self {
        Self { style: PLAIN, cells }
    }
}

impl Page {
    /// For lines of at most this width.
    pub(crate) fn of_width(width: usize) -> Self {
        Self { text: String::new(), width }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The subject of the page.
    pub(crate) fn title(&mut self, what: &str, name: &str) {
        self.prose(&format!("{BOLD}{what}{BOLD:#}  "), "", BOLD, name);
    }

    /// A name on the left, what it is on the right.
    pub(crate) fn label(&mut self, label: &str, value: &str) {
        self.styled_label(label, PLAIN, value);
    }

    pub(crate) fn styled_label(&mut self, label: &str, style: Style, value: &str) {
        let label = printable(label);
        let gap = " ".repeat(LABEL_WIDTH.saturating_sub(width_of(&label)).max(2));
        self.prose(&format!("{label}{gap}"), &" ".repeat(LABEL_WIDTH), style, value);
    }

    /// The head of a part, after an empty line.
    pub(crate) fn section(&mut self, name: &str) {
        self.text.push_str(&format!("\n{BOLD}{name}{BOLD:#}\n"));
    }

    /// The head of a list.
    pub(crate) fn counted_section(&mut self, name: &str, count: usize) {
        self.section(&format!("{name} ({count})"));
    }

    /// An entry of a list.
    pub(crate) fn item(&mut self, text: &str) {
        self.prose("  · ", "    ", PLAIN, text);
    }

    /// An entry with a command to run. On a terminal the command stands alone on its line and is never broken, so that
    /// it can be copied.
    pub(crate) fn step(&mut self, what: &str, command: &str) {
        self.steps(what, std::slice::from_ref(&command));
    }

    /// The same with several commands.
    pub(crate) fn steps(&mut self, what: &str, commands: &[impl AsRef<str>]) {
        let colon = if what.is_empty() { "" } else { ": " };
        if self.width == UNLIMITED {
            let commands: Vec<&str> = commands.iter().map(AsRef::as_ref).collect();
            return self.item(&format!("{what}{colon}{}", commands.join(", ")));
        }
        if !what.is_empty() {
            self.item(&format!("{what}:"));
        }
        for command in commands {
            self.text.push_str(&format!("      {}\n", printable(command.as_ref())));
        }
    }

    /// An entry, and below it an advice whose commands can be copied.
    pub(crate) fn item_with_hint(&mut self, text: &str, hint: &str) {
        if self.width == UNLIMITED {
            return self.item(&format!("{text}; {hint}"));
        }
        self.item(text);
        let width = self.width.saturating_sub("    ".len()).max(TEXT_WIDTH_MIN);
        for line in hints::lines(&printable(hint), 0, width) {
            self.text.push_str(&format!("    {line}\n"));
        }
    }

    /// Text that has lines of its own, under a label.
    pub(crate) fn text_label(&mut self, label: &str, text: &str) {
        let mut before = format!("{label:<LABEL_WIDTH$}");
        for line in text.trim_end().split('\n') {
            self.prose(&before, &" ".repeat(LABEL_WIDTH), PLAIN, line);
            before = " ".repeat(LABEL_WIDTH);
        }
    }

    /// One line, with what stands before it and before each further one if it has to be broken. A line feed inside is
    /// shown, not obeyed: otherwise an entry of a list could pass for two.
    pub(crate) fn prose(&mut self, first: &str, rest: &str, style: Style, text: &str) {
        let used = shown_width(first).max(shown_width(rest));
        let width = self.width.saturating_sub(used).max(TEXT_WIDTH_MIN);
        let mut before = first;
        for part in wrapped(&printable(text), width) {
            if part.is_empty() {
                self.text.push_str(before.trim_end())
            } else {
                self.text.push_str(&format!("{before}{style}{part}{style:#}"))
            }
            self.text.push('\n');
            before = rest;
        }
    }

    /// A table; `under` may add to the page below each row, which it gets by its number, with the space that leads to
    /// the last column.
    pub(crate) fn table(
        &mut self,
        columns: &[Column],
        rows: impl IntoIterator<Item = impl Into<Row>>,
        mut under: impl FnMut(&mut Self, usize, &str),
    ) {
        let head =
            Row { style: BOLD, cells: columns.iter().map(|column| column.head().to_owned()).collect() };
        let limit = if self.width == UNLIMITED { UNLIMITED } else { CELL_WIDTH_MAX };
        let rows = rows.into_iter().map(|row| row.into().clean(limit));
        let rows: Vec<Row> = std::iter::once(head).chain(rows).collect();
        let width = |at: usize| {
            let cells = rows.iter().filter_map(|row| row.cells.get(at));
            cells.map(|cell| width_of(cell)).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns.len()).map(width).collect();
        let layout = Layout::of(columns, &widths, self.width);
        for (number, row) in rows.iter().enumerate() {
            let last_column = self.row(&layout, row);
            if let Some(number) = number.checked_sub(1) {
                under(self, number, &last_column);
            }
        }
    }

    /// Gives the space that leads to the last column.
    fn row(&mut self, layout: &Layout, Row { style, cells }: &Row) -> String {
        let Some((last, _)) = cells.split_last() else { return String::new() };
        let mut before = String::from("  ");
        for Placed { at, column, width } in &layout.shown {
            let cell = cells.get(*at).map_or("", String::as_str);
            let space = " ".repeat(width.saturating_sub(width_of(cell)));
            let padded = match column {
                Column::Left(_) | Column::Spare(_) => format!("{style}{cell}{style:#}{space}  "),
                Column::Right(_) => format!("{space}{style}{cell}{style:#}  "),
            };
            before.push_str(&padded);
        }
        if layout.last_below {
            self.text.push_str(before.trim_end());
            self.text.push('\n');
            if !last.is_empty() {
                self.prose(BELOW, BELOW, *style, last);
            }
            return BELOW.to_owned();
        }
        let rest = " ".repeat(shown_width(&before));
        self.prose(&before, &rest, *style, last);
        rest
    }

    /// The text of a file, line by line. Tabs move to the right and do no harm; nothing is broken, so that it can be
    /// copied.
    pub(crate) fn content(&mut self, text: &str) {
        if text.is_empty() {
            return self.prose("    ", "", PLAIN, "(empty)");
        }
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            let space = if line.is_empty() { "" } else { " " };
            self.text.push_str(&format!("    {BLUE}│{BLUE:#}{space}{}\n", printable_line(line)));
        }
    }

    /// An open object, as JSON, its members in the order of their names.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        let mut value = serde_json::to_value(value).unwrap_or_default();
        value.sort_all_objects();
        let text = serde_json::to_string_pretty(&value).unwrap_or_default();
        for line in text.lines() {
            self.text.push_str(&format!("  {}\n", printable(line)));
        }
    }

    /// The lines of a diff, in their colours.
    pub(crate) fn diff(&mut self, text: &str) {
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            let style = style_of(line.chars().next().unwrap_or(' '));
            if line.trim_end().is_empty() {
                self.text.push('\n')
            } else {
                self.text.push_str(&format!("    {style}{}{style:#}\n", printable_line(line)))
            }
        }
    }
}

/// Where the last column of a table goes if there is no room beside the others.
const BELOW: &str = "      ";

/// A column that is shown beside others.
struct Placed {
    at: usize,
    column: Column,
    width: usize,
}

/// How the columns of a table are laid out.
struct Layout {
    /// All but the last column, and those that there is no room for.
    shown: Vec<Placed>,
    /// Whether the last column goes below the others.
    last_below: bool,
}

impl Layout {
    fn of(columns: &[Column], widths: &[usize], width: usize) -> Self {
        let last_at = columns.len().saturating_sub(1);
        let last = widths.last().copied().unwrap_or_default().min(LAST_WIDTH_MIN);
        let placed = columns.iter().zip(widths).take(last_at).enumerate();
        let mut shown: Vec<Placed> =
            placed.map(|(at, (column, width))| Placed { at, column: *column, width: *width }).collect();
        let used = |shown: &[Placed]| 2 + shown.iter().map(|placed| placed.width + 2).sum::<usize>();
        let fits = |shown: &[Placed]| used(shown).saturating_add(last) <= width;
        while !fits(&shown) {
            let spare = shown.iter().rposition(|placed| matches!(placed.column, Column::Spare(_)));
            let Some(at) = spare else { break };
            shown.remove(at);
        }
        let last_below = !fits(&shown);
        Self { shown, last_below }
    }
}

/// The style of a line that begins with this sign.
pub(crate) fn style_of(sign: char) -> Style {
    match sign {
        '-' => RED,
        '+' => GREEN,
        '~' => YELLOW,
        '@' => BLUE,
        _ => PLAIN,
    }
}

impl Row {
    /// All but the last cell, short enough to stand beside others.
    fn clean(mut self, width_max: usize) -> Self {
        if let Some((_, others)) = self.cells.split_last_mut() {
            for cell in others {
                *cell = cut(&printable(cell), width_max);
            }
        }
        self
    }
}

impl Column {
    fn head(&self) -> &'static str {
        match self {
            Self::Left(head) | Self::Right(head) | Self::Spare(head) => head,
        }
    }
}

fn printable_line(line: &str) -> String {
    let parts: Vec<_> = line.split('\t').map(printable).collect();
    parts.join("\t")
}

/// How wide a text is, styles aside.
fn shown_width(text: &str) -> usize {
    width_of(&anstream::adapter::strip_str(text).to_string())
}

/// A text in lines of at most this width, broken between words where that is possible.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for (position, word) in text.split(' ').enumerate() {
        if position > 0 {
            if used > 0 && used + 1 + width_of(word) > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            } else {
                line.push(' ');
                used += 1;
            }
        }
        for character in word.chars() {
            let wide = character.width().unwrap_or_default();
            if used + wide > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(character);
            used += wide;
        }
    }
    lines.push(line);
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(width: usize) -> String {
        let columns =
            [Column::Left("state"), Column::Spare("submitted"), Column::Left("id"), Column::Left("wants")];
        let row = ["held", "3 min ago", "push-1234567890", "agent-1: run the command git push"];
        let mut page = Page::of_width(width);
        page.table(&columns, [row.map(str::to_owned).to_vec()], |_, _, _| {});
        anstream::adapter::strip_str(page.text()).to_string()
    }

    #[test]
    fn a_table_drops_columns_before_it_breaks_words() {
        insta::assert_snapshot!([120, 64, 50, 40].map(table).join("--\n"));
    }

    #[test]
    fn lines_break_between_words_and_wide_characters_count_twice() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("東京東京", 5), ["東京", "東京"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
    }
}
