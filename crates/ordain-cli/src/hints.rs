//! Advice as people read it. On a terminal a command stands alone on its line, whole, so that it can be copied.

use crate::page::wrapped;
use crate::wording::width_of;

/// How the text of a command to run begins.
const PROGRAMS: [&str; 7] = ["ordain ", "sudo ", "mv ", "chmod ", "kill ", "sysctl ", "systemctl "];
/// Where text stands below the first line.
const TEXT_INDENT: &str = "  ";
/// Where a command stands.
const COMMAND_INDENT: &str = "    ";
/// Stands for a space where no line may be broken.
const FIXED_SPACE: char = '\u{e000}';

/// A part of an advice, with lines of its own.
#[derive(PartialEq, Eq, Debug)]
enum Part {
    Text(String),
    Command(String),
}

/// The lines of an advice, the first of them beginning in the column `used`.
pub(crate) fn lines(hint: &str, used: usize, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for part in parts(hint) {
        match part {
            Part::Text(text) => {
                let room = columns.saturating_sub(used.max(TEXT_INDENT.len()));
                for line in wrapped(&text, room) {
                    let indent = if lines.is_empty() { "" } else { TEXT_INDENT };
                    lines.push(format!("{indent}{line}").replace(FIXED_SPACE, " "));
                }
            }
            Part::Command(command) => lines.push(format!("{COMMAND_INDENT}{command}")),
        }
    }
    lines
}

/// A message in lines that fit, the first of them beginning in the column `used`. Lines are broken at spaces alone:
/// a path or an id that is longer than a line stays whole.
pub(crate) fn fitted(text: &str, used: usize, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (number, text) in text.split('\n').enumerate() {
        let indent = text.len() - text.trim_start_matches(' ').len();
        let (indent, text) = text.split_at(indent);
        let start = if number == 0 { used } else { width_of(indent) };
        let rest = if number == 0 { TEXT_INDENT } else { indent };
        let mut line = if number == 0 { String::new() } else { indent.to_owned() };
        let mut width = start;
        let mut is_new = true;
        for word in text.split(' ') {
            if !is_new && width + 1 + width_of(word) > columns {
                lines.push(std::mem::replace(&mut line, rest.to_owned()));
                width = width_of(rest);
                is_new = true;
            }
            if !is_new {
                line.push(' ');
                width += 1;
            }
            line.push_str(word);
            width += width_of(word);
            is_new = false;
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// An advice in one piece of text after the other: its commands are taken out of their sentences.
fn parts(hint: &str) -> Vec<Part> {
    let pieces: Vec<&str> = hint.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return vec![Part::Text(hint.to_owned())];
    }
    let mut parts = Vec::new();
    let mut text = String::new();
    // Bytes that a sentence has behind its command, and that were taken over already.
    let mut taken = 0;
    for (at, piece) in pieces.iter().enumerate() {
        if at % 2 == 0 {
            let rest = piece.get(taken..).unwrap_or_default();
            let follows = taken > 0 || (text.is_empty() && matches!(parts.last(), Some(Part::Command(_))));
            let rest = if follows { rest.trim_start_matches([',', ';', '.', ' ']) } else { rest };
            text.push_str(rest);
            taken = 0;
        } else if PROGRAMS.iter().any(|program| piece.starts_with(program)) {
            let order = ["run ", "runs "].iter().any(|word| text.ends_with(word));
            let after = pieces.get(at + 1).copied().unwrap_or_default();
            if order {
                text.push_str("this");
                let clause = clause(after, at + 2 == pieces.len());
                text.push_str(clause);
                taken = clause.len();
            }
            let introduction = text.trim_end_matches([' ', ':']);
            if !introduction.is_empty() {
                parts.push(Part::Text(format!("{introduction}:")));
            }
            text.clear();
            parts.push(Part::Command((*piece).to_owned()));
        } else {
            text.push('`');
            text.extend(piece.chars().map(|it| if it == ' ' { FIXED_SPACE } else { it }));
            text.push('`');
        }
    }
    let text = text.trim();
    if !text.is_empty() {
        parts.push(Part::Text(text.to_owned()));
    }
    parts
}

/// The words behind a command that belong to it: ` on a terminal`. They end at a comma, or with the advice.
fn clause(after: &str, is_last: bool) -> &str {
    if !after.starts_with(' ') {
        return "";
    }
    match after.find([',', ';', '.', ':']) {
        Some(end) => after.get(..end).unwrap_or_default(),
        None if is_last => after,
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(hint: &str, columns: usize) -> String {
        lines(hint, "hint: ".len(), columns).join("\n")
    }

    #[test]
    fn a_command_stands_alone() {
        for (hint, expected) in [
            ("run `ordain init --claim` on a terminal", "run this on a terminal:\n    ordain init --claim"),
            (
                "run `ordain init`, or pass `--server URL`",
                "run this:\n    ordain init\n  or pass `--server URL`",
            ),
            ("name a file, or run `ordain gate list`", "name a file, or run this:\n    ordain gate list"),
            (
                "run `ordain a` first, and run `ordain b` then",
                "run this first:\n    ordain a\n  and run this then:\n    ordain b",
            ),
            (
                "an owner runs `ordain approver enrol --for bob`",
                "an owner runs this:\n    ordain approver enrol --for bob",
            ),
            ("try again: `mv a b`", "try again:\n    mv a b"),
            ("use a new id", "use a new id"),
            ("one ` alone", "one ` alone"),
            ("set `X`", "set `X`"),
        ] {
            assert_eq!(shown(hint, 80), expected);
        }
    }

    #[test]
    fn a_message_is_broken_between_words() {
        assert_eq!(fitted("one two three", 6, 80), "one two three");
        assert_eq!(fitted("one two three", 6, 14), "one two\n  three");
        assert_eq!(fitted("a /very/long/path b", 2, 8), "a\n  /very/long/path\n  b");
        assert_eq!(fitted("why\n  G12  no policy", 2, 12), "why\n  G12  no\n  policy");
    }

    /// However narrow the terminal is.
    #[test]
    fn a_command_is_never_broken() {
        let command = format!("ordain approver enrol --for bob --public-key {}", "x".repeat(43));
        let hint = format!(
            "an owner of this gate runs `{command}` on a terminal of theirs, or asks with `--json and more`"
        );
        for columns in [40, 60, 80, 120] {
            let shown = shown(&hint, columns);
            assert!(shown.lines().any(|line| line.trim_start() == command), "{shown}");
            assert!(shown.contains("`--json and more`"), "{shown}");
            let others = shown.lines().filter(|line| !line.contains(&command));
            assert!(others.clone().all(|line| line.chars().count() <= columns), "{shown}");
            assert!(others.count() >= 2, "{shown}");
        }
    }
}
