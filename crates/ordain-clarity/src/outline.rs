//! The form of a text: headings, items of lists, and what a section is for.

use crate::text::{Kind, Text, Token};
use std::ops::Range;

/// The purpose of a section or a sentence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Something to be done.
    Work,
    /// Work that is left out.
    OutOfScope,
    /// When the work is done.
    Acceptance,
    /// Limits of all of the work: its cost, its deadline, its bounds.
    Everywhere,
    /// Text that explains the work.
    Background,
}

/// The form of a sentence in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A heading, with `#` or alone on its line.
    Title,
    /// `Change these:`, before a list.
    LeadIn,
    /// The first sentence of an item of a list, and how far it is indented.
    Item(usize),
    /// A later sentence of an item.
    InItem,
    Prose,
}

/// One sentence of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    pub form: Form,
    /// The purpose of its section.
    pub role: Role,
    /// The position of the heading of that section.
    pub title: Option<usize>,
    /// Whether it starts behind a semicolon, on the line of the sentence before.
    pub clause: bool,
}

#[rustfmt::skip]
static TITLES: &[(Role, &[&str])] = &[
    (Role::OutOfScope, &[
        "excluded", "exclusions", "no goals", "non goals", "non-goals", "not included", "not in scope", "not part of this",
        "out of scope", "out-of-scope", "won't do", "will not do",
    ]),
    (Role::Acceptance, &[
        "acceptance", "acceptance criteria", "acceptance criterion", "acceptance test", "acceptance tests", "definition of done",
        "dod", "done", "done when", "exit criteria", "success", "success criteria", "success criterion", "success metrics",
    ]),
    (Role::Everywhere, &[
        "boundaries", "budget", "constraint", "constraints", "conventions", "cost", "costs", "deadline", "deadlines", "guidelines",
        "limitations", "limits", "non-functional requirements", "nonfunctional requirements", "rules", "timeline",
    ]),
    (Role::Background, &[
        "actual behavior", "actual behaviour", "actual result", "actual results", "additional context", "additional information", "background", "context",
        "current behavior", "current behaviour", "describe the bug", "description", "environment", "expected behavior", "expected behaviour",
        "expected result", "expected results", "how to reproduce", "introduction", "links", "logs", "minimal example", "motivation", "notes", "overview",
        "problem", "reason", "references", "reproduction", "reproduction steps", "screenshots", "steps to reproduce", "summary", "to reproduce",
        "traceback", "version", "versions", "why",
    ]),
];

/// Longer lines are not headings.
const TITLE_WORDS_MAX: usize = 5;

/// The purpose that a heading gives its section; nothing for any other line.
pub fn role_of_title(tokens: &[Token<'_>]) -> Option<Role> {
    let marks_only = tokens.iter().all(|it| it.is_word() || it.kind == Kind::Mark);
    let words: Vec<&str> = tokens.iter().filter(|it| it.is_word()).map(|it| &*it.lower).collect();
    if !marks_only || words.is_empty() || words.len() > TITLE_WORDS_MAX {
        return None;
    }
    let title = words.join(" ");
    TITLES.iter().find(|(_, titles)| titles.contains(&title.as_str())).map(|(role, _)| *role)
}

/// The text on the line before a place.
fn before(source: &str, start: usize) -> &str {
    let line = source.get(..start).and_then(|text| text.rfind('\n')).map_or(0, |at| at + 1);
    source.get(line..start).unwrap_or_default()
}

/// Whether only the mark of an item is there: `-`, `2.`, `(a)`, `- [ ]`.
fn is_marker(prefix: &str) -> bool {
    let prefix = prefix.trim();
    let bare = prefix.trim_end_matches(|it: char| it.is_whitespace() || matches!(it, '[' | ']' | 'x' | 'X'));
    let bullet = |it: &str| matches!(it, "-" | "*" | "•" | "–" | "+");
    let number = prefix.strip_prefix('(').unwrap_or(prefix).strip_suffix(['.', ')']);
    bullet(prefix)
        || (bullet(bare) && prefix.ends_with(']'))
        || number.is_some_and(|it| {
            it.len() == 1 && it.bytes().all(|it| it.is_ascii_alphanumeric())
                || (1..=3).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit())
        })
}

/// The form of every sentence of a text.
pub fn outline(text: &Text<'_>) -> Vec<Entry> {
    let start_of = |range: &Range<usize>| text.tokens.get(range.start).map_or(0, |it| it.start);
    let forms: Vec<(Form, bool, usize)> = text
        .sentences
        .iter()
        .map(|range| {
            let start = start_of(range);
            let prefix = before(text.source, start);
            let indent = prefix.chars().take_while(|it| it.is_whitespace()).count();
            let hashes = prefix.trim();
            let form = if !hashes.is_empty() && hashes.bytes().all(|it| it == b'#') {
                Form::Title
            } else if is_marker(prefix) {
                Form::Item(indent)
            } else {
                Form::Prose
            };
            (form, hashes.is_empty(), indent)
        })
        .collect();
    let mut entries: Vec<Entry> = Vec::with_capacity(forms.len());
    let (mut role, mut title, mut marked) = (Role::Work, None, false);
    let mut item: Option<usize> = None;
    for (at, (range, (form, opens_line, indent))) in text.sentences.iter().zip(&forms).enumerate() {
        let sentence = text.sentence(range);
        let next = forms.get(at + 1);
        let next_is_item = next.is_some_and(|(form, ..)| matches!(form, Form::Item(_)));
        let ends_line = next.is_none_or(|(form, opens, _)| *opens || *form != Form::Prose);
        let colon = sentence.iter().rev().find(|it| it.text != "*").is_some_and(|it| it.text == ":");
        let named = role_of_title(sentence).filter(|_| ends_line);
        let form = match *form {
            Form::Item(_) if named.is_some() && next_is_item && colon => Form::Title,
            Form::Prose if *opens_line && named.is_some() => Form::Title,
            Form::Prose if colon && next_is_item => Form::LeadIn,
            // `Release 1.4`, alone on its line above a list.
            Form::Prose if *opens_line && next_is_item && is_short_line(sentence) => Form::LeadIn,
            Form::Prose if item.is_some_and(|item| !*opens_line || *indent > item) => Form::InItem,
            other => other,
        };
        let gap = gap_before(text, range);
        let clause =
            !*opens_line && matches!(form, Form::Prose | Form::InItem) && ends_with_semicolon(text, range);
        match form {
            Form::Title => {
                let hashes = forms.get(at).is_some_and(|(form, ..)| *form == Form::Title);
                (role, title, marked, item) = (named.unwrap_or(Role::Work), Some(at), hashes, None);
            }
            Form::Item(indent) => item = Some(item.map_or(indent, |first| first.min(indent))),
            Form::InItem => {}
            // A heading without `#` ends with its list or its paragraph.
            Form::LeadIn | Form::Prose => {
                if title.is_some()
                    && !marked
                    && gap.matches('\n').count() >= 2
                    && title.is_none_or(|it| it + 1 != at)
                {
                    (role, title) = (Role::Work, None);
                }
                item = None;
            }
        }
        entries.push(Entry { form, role, title: title.filter(|it| *it != at), clause });
    }
    entries
}

/// Longer lines above a list are sentences.
const LEAD_IN_TOKENS_MAX: usize = 6;

fn is_short_line(sentence: &[Token<'_>]) -> bool {
    sentence.len() <= LEAD_IN_TOKENS_MAX && sentence.last().is_some_and(|it| it.kind != Kind::Mark)
}

fn gap_before<'t>(text: &Text<'t>, range: &Range<usize>) -> &'t str {
    let end = range.start.checked_sub(1).and_then(|at| text.tokens.get(at)).map_or(0, Token::end);
    let start = text.tokens.get(range.start).map_or(end, |it| it.start);
    text.source.get(end..start).unwrap_or_default()
}

fn ends_with_semicolon(text: &Text<'_>, range: &Range<usize>) -> bool {
    range.start.checked_sub(1).and_then(|at| text.tokens.get(at)).is_some_and(|it| it.text == ";")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str) -> Vec<String> {
        let text = Text::new(source);
        let entries = outline(&text);
        let sentences = text.sentences.iter().map(|range| text.sentence_text(range));
        sentences
            .zip(entries)
            .map(|(it, entry)| format!("{it} | {:?} {:?}", entry.form, entry.role))
            .collect()
    }

    #[test]
    fn headings_items_and_sections() {
        assert_eq!(
            shown(
                "# Release 1.4\n\n- Add coupons. They expire.\n  - nested one\n- Fix rounding\n\nNot in scope\n- Admin pages\n\nAcceptance:\n1. Tests pass\n\nAlso rename it."
            ),
            [
                "Release 1.4 | Title Work",
                "Add coupons. | Item(0) Work",
                "They expire. | InItem Work",
                "nested one | Item(2) Work",
                "Fix rounding | Item(0) Work",
                "Not in scope | Title OutOfScope",
                "Admin pages | Item(0) OutOfScope",
                "Acceptance: | Title Acceptance",
                "Tests pass | Item(0) Acceptance",
                "Also rename it. | Prose Work",
            ]
        );
        assert_eq!(
            shown("Fix the login:\n- Add a captcha\n* [ ] Remove the form"),
            [
                "Fix the login: | LeadIn Work",
                "Add a captcha | Item(0) Work",
                "Remove the form | Item(0) Work"
            ]
        );
    }
}
