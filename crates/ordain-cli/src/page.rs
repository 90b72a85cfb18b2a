//! A page for a terminal: labels, lists, tables and texts. Whatever comes from outside is made harmless here, once.

use crate::report::{BLUE, BOLD, GREEN, RED, YELLOW, printable};
use crate::wording::cut;
use anstyle::Style;
use serde::Serialize;

/// Wide enough for prose, narrow enough for most windows. It is fixed, so that the same document gives the same page
/// everywhere.
pub(crate) const WIDTH: usize = 100;
/// What a tree of any depth leaves for text.
const TEXT_WIDTH_MIN: usize = 40;
const LABEL_WIDTH: usize = 12;
const CELL_WIDTH_MAX: usize = 40;

pub(crate) const PLAIN: Style = Style::new();

/// A page that grows downwards. The text holds the styles, which the stream takes out where nobody would see them.
#[derive(Default)]
pub(crate) struct Page {
    text: String,
}

/// A column of a table. The last one is never cut or padded.
pub(crate) enum Column {
    Left(&'static str),
    Right(&'static str),
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
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What the page is about.
    pub(crate) fn title(&mut self, what: &str, name: &str) {
        self.prose(&format!("{BOLD}{what}{BOLD:#}  "), "", BOLD, name);
    }

    /// A name on the left, what it is on the right.
    pub(crate) fn label(&mut self, label: &str, value: &str) {
        self.styled_label(label, PLAIN, value);
    }

    pub(crate) fn styled_label(&mut self, label: &str, style: Style, value: &str) {
        let label = printable(label);
        let gap = " ".repeat(LABEL_WIDTH.saturating_sub(label.chars().count()).max(2));
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
        let used = shown_chars(first).max(shown_chars(rest));
        let width = WIDTH.saturating_sub(used).max(TEXT_WIDTH_MIN);
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
        let rows = rows.into_iter().map(|row| row.into().clean());
        let rows: Vec<Row> = std::iter::once(head).chain(rows).collect();
        let width = |at: usize| {
            let cells = rows.iter().filter_map(|row| row.cells.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns.len()).map(width).collect();
        for (number, row) in rows.iter().enumerate() {
            let last_column = self.row(columns, &widths, row);
            if let Some(number) = number.checked_sub(1) {
                under(self, number, &last_column);
            }
        }
    }

    /// Gives the space that leads to the last column.
    fn row(&mut self, columns: &[Column], widths: &[usize], Row { style, cells }: &Row) -> String {
        let Some((last, others)) = cells.split_last() else { return String::new() };
        let mut before = String::from("  ");
        for ((cell, column), width) in others.iter().zip(columns).zip(widths) {
            let padded = match column {
                Column::Left(_) => format!("{style}{cell:<width$}{style:#}  "),
                Column::Right(_) => format!("{style}{cell:>width$}{style:#}  "),
            };
            before.push_str(&padded);
        }
        let rest = " ".repeat(shown_chars(&before));
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

/// Of what begins with this sign.
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
    fn clean(mut self) -> Self {
        if let Some((_, others)) = self.cells.split_last_mut() {
            for cell in others {
                *cell = cut(&printable(cell), CELL_WIDTH_MAX);
            }
        }
        self
    }
}

impl Column {
    fn head(&self) -> &'static str {
        match self {
            Self::Left(head) | Self::Right(head) => head,
        }
    }
}

fn printable_line(line: &str) -> String {
    let parts: Vec<_> = line.split('\t').map(printable).collect();
    parts.join("\t")
}

/// How many characters are seen, styles aside.
fn shown_chars(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for (position, word) in text.split(' ').enumerate() {
        if position > 0 {
            if used > 0 && used + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            } else {
                line.push(' ');
                used += 1;
            }
        }
        for character in word.chars() {
            if used >= width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(character);
            used += 1;
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

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("  one", 20), ["  one"]);
        assert_eq!(wrapped("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
        assert_eq!(wrapped("", 3), [""]);
        assert_eq!(wrapped("äöü äöü", 3), ["äöü", "äöü"]);
    }
}
