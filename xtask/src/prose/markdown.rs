//! The prose of a Markdown page: paragraphs, items and cells, without code, headings and quotations.

use super::{Kind, Passage};

pub(super) struct Page {
    pub(super) passages: Vec<Passage>,
    /// Number and columns of the lines that can be broken: not those of code and tables.
    pub(super) lines: Vec<(usize, usize)>,
}

pub(super) fn read(text: &str) -> Page {
    let mut page = Page { passages: Vec::new(), lines: Vec::new() };
    let mut paragraph = Passage { line: 0, text: String::new(), kind: Kind::Sentences };
    let mut fence: Option<&str> = None;
    let mut comment = false;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        if fence.is_some() || mark.is_some() {
            page.finish(&mut paragraph);
            fence = match fence {
                Some(open) if mark == Some(open) => None,
                Some(open) => Some(open),
                None => mark,
            };
            continue;
        }
        if comment || trimmed.starts_with("<!--") {
            page.finish(&mut paragraph);
            comment = !line.contains("-->");
            continue;
        }
        if trimmed.starts_with('|') {
            page.finish(&mut paragraph);
            for cell in cells(trimmed) {
                page.passages.push(Passage { line: number, text: cell, kind: Kind::Sentences });
            }
            continue;
        }
        if !trimmed.contains("](") && !trimmed.contains("://") {
            page.lines.push((number, line.chars().count()));
        }
        if trimmed.is_empty() || trimmed.starts_with('#') || trimmed.starts_with('>') {
            page.finish(&mut paragraph);
            continue;
        }
        let item = item(trimmed);
        if let Some(text) = item {
            page.finish(&mut paragraph);
            paragraph.line = number;
            paragraph.text.push_str(text);
        } else {
            if paragraph.text.is_empty() {
                paragraph.line = number;
            } else {
                paragraph.text.push(' ');
            }
            paragraph.text.push_str(trimmed);
        }
    }
    page.finish(&mut paragraph);
    page
}

impl Page {
    /// A paragraph ends. The term that it defines, if it defines one, is a passage of its own.
    fn finish(&mut self, paragraph: &mut Passage) {
        let text = without_links(&std::mem::take(&mut paragraph.text));
        let defined = text.strip_prefix("**").and_then(|rest| rest.split_once("**: "));
        let text = defined.map_or(text.as_str(), |(_, definition)| definition);
        if !text.is_empty() {
            self.passages.push(Passage { line: paragraph.line, text: text.to_owned(), kind: paragraph.kind });
        }
    }
}

/// The text of an item of a list.
fn item(line: &str) -> Option<&str> {
    let bullet = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    bullet.or_else(|| {
        let digits = line.trim_start_matches(|character: char| character.is_ascii_digit());
        (digits.len() < line.len()).then_some(digits)?.strip_prefix(". ")
    })
}

fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_matches('|').replace("\\|", "/");
    let cells = row.split('|').map(|cell| without_links(cell.trim()));
    cells.filter(|cell| !cell.trim_matches(['-', ':', ' ']).is_empty()).collect()
}

/// `[text](address)` becomes `text`.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        plain.push_str(before);
        rest = after.split_once(')').map_or("", |(_, tail)| tail);
    }
    plain.push_str(rest);
    plain.replace('[', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_told_apart_from_code_tables_and_headings() {
        let text = "# What\n\nOne [link](a.md#b)\ntwo.\n\n```console\nWhat\n```\n- item\n  goes on\n1. second\n\n\
            | a | What it is |\n|---|---|\n> What\n\n**term**: What it is.\n";
        let page = read(text);
        let passages: Vec<(usize, &str)> =
            page.passages.iter().map(|passage| (passage.line, passage.text.as_str())).collect();
        assert_eq!(
            passages,
            [
                (3, "One link two."),
                (9, "item goes on"),
                (11, "second"),
                (13, "a"),
                (13, "What it is"),
                (17, "What it is."),
            ]
        );
        assert!(page.lines.iter().all(|(line, _)| ![3, 6, 7, 8, 13].contains(line)), "{:?}", page.lines);
    }
}
