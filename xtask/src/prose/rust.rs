//! The prose of a Rust source: comments, and string literals that are long enough to be messages.

use super::{Kind, Passage};

/// Which literals of a file belong to tests and are not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tested {
    /// The file is a test.
    Everything,
    /// From the line `#[cfg(test)]` before a module with a body to the end, as everywhere here.
    Modules,
}

pub(super) struct Source {
    pub(super) passages: Vec<Passage>,
    /// Number and columns of the lines that are comments.
    pub(super) comment_lines: Vec<(usize, usize)>,
}

/// Literals with fewer words are names, formats or parts of sentences.
const WORDS_MIN: usize = 4;

pub(super) fn read(text: &str, tested: Tested) -> Source {
    let tests_from = match tested {
        Tested::Everything => 0,
        Tested::Modules => start_of_tests(text).unwrap_or(usize::MAX),
    };
    let mut source = Source { passages: Vec::new(), comment_lines: Vec::new() };
    source.read_comments(text);
    for literal in literals(text) {
        let message = literal.text.trim();
        let is_start = literal.text.starts_with(|first: char| !first.is_whitespace());
        let is_long = message.split_whitespace().count() >= WORDS_MIN;
        if literal.line < tests_from && is_start && is_long && !is_table(message) {
            let kind = if literal.is_hint { Kind::Hint } else { Kind::Message };
            source.passages.push(Passage { line: literal.line, text: message.to_owned(), kind });
        }
    }
    source.passages.sort_by_key(|passage| passage.line);
    source
}

fn start_of_tests(text: &str) -> Option<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.windows(2).position(|pair| {
        matches!(pair, [attribute, module] if attribute.trim() == "#[cfg(test)]" && module.trim_end().ends_with('{'))
    });
    start.map(|index| index + 1)
}

impl Source {
    /// Neighbouring lines of one indentation and one kind of comment are one passage; an empty line ends a paragraph,
    /// and an item starts one.
    fn read_comments(&mut self, text: &str) {
        let mut open: Option<(&str, Passage)> = None;
        let mut fenced = false;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let trimmed = line.trim_start();
            let mark = ["///", "//!", "//"].into_iter().find(|mark| trimmed.starts_with(mark));
            let Some(mark) = mark.filter(|_| !trimmed.starts_with("////")) else {
                self.passages.extend(open.take().map(|(_, passage)| passage));
                fenced = false;
                continue;
            };
            let words = trimmed.get(mark.len()..).unwrap_or_default().trim();
            if words.starts_with("```") {
                fenced = !fenced;
            }
            if fenced || words.starts_with("```") || words.starts_with('|') || words.starts_with('#') {
                self.passages.extend(open.take().map(|(_, passage)| passage));
                continue;
            }
            if !words.contains("://") && !words.contains("](") {
                self.comment_lines.push((number, line.chars().count()));
            }
            let starts = words.is_empty() || words.starts_with("- ") || words.starts_with("* ");
            match &mut open {
                Some((before, passage)) if *before == mark && !starts => {
                    passage.text.push(' ');
                    passage.text.push_str(words);
                }
                _ => {
                    self.passages.extend(open.take().map(|(_, passage)| passage));
                    if !words.is_empty() {
                        let text = words.trim_start_matches(['-', '*', ' ']).to_owned();
                        open = Some((mark, Passage { line: number, text, kind: Kind::Sentences }));
                    }
                }
            }
        }
        self.passages.extend(open.take().map(|(_, passage)| passage));
    }
}

struct Literal {
    line: usize,
    text: String,
    is_hint: bool,
}

/// Whether a literal lists options or alternatives and says no sentence.
fn is_table(message: &str) -> bool {
    let cells = message.split_whitespace().filter(|word| word.starts_with('-') || word.contains('|')).count();
    cells * 2 > message.split_whitespace().count()
}

/// The string literals of a source, with escapes and continued lines taken together.
fn literals(text: &str) -> Vec<Literal> {
    let mut literals = Vec::new();
    let mut line = 1;
    let mut rest = text;
    let mut before = String::new();
    while let Some(first) = rest.chars().next() {
        let mut used = first.len_utf8();
        if rest.starts_with("//") {
            used = rest.find('\n').unwrap_or(rest.len());
        } else if first == '\'' {
            used = character(rest).unwrap_or(used);
        } else if let Some((length, content)) = literal(rest) {
            used = length;
            // The few characters before it say what it is: `hint: "…"`, `.with_hint("…")`, `hint = format!("…")`.
            let call: String = before.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
            let statement = call.rsplit([';', '{', '}']).next().unwrap_or_default();
            let is_hint = statement.to_lowercase().contains("hint");
            literals.push(Literal { line, text: content, is_hint });
        }
        let (token, tail) = rest.split_at(used);
        line += token.matches('\n').count();
        before.push_str(if token.len() > 1 { "\"\"" } else { token });
        rest = tail;
    }
    literals
}

/// The length of a character literal; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let mut inside = text.char_indices().skip(1);
    let (_, first) = inside.next()?;
    if first == '\\' {
        return inside.skip(1).find(|(_, next)| *next == '\'').map(|(at, _)| at + 1);
    }
    inside.next().filter(|(_, next)| *next == '\'').map(|(at, _)| at + 1)
}

/// The length and the content of the string literal at the start of the text.
fn literal(text: &str) -> Option<(usize, String)> {
    let prefix = text.len() - text.trim_start_matches(['b', 'c', 'r']).len();
    if prefix > 2 {
        return None;
    }
    let after = text.get(prefix..)?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after.get(hashes..)?.strip_prefix('"')?;
    let start = prefix + hashes + 1;
    let raw = text.get(..prefix)?.contains('r');
    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        let length = body.find(&end)?;
        return Some((start + length + end.len(), body.get(..length)?.to_owned()));
    }
    if hashes > 0 {
        return None;
    }
    let mut content = String::new();
    let mut characters = body.char_indices().peekable();
    while let Some((at, next)) = characters.next() {
        match next {
            '"' => return Some((start + at + 1, content)),
            '\\' => match characters.next().map(|(_, escaped)| escaped) {
                Some('\n') => while characters.next_if(|(_, next)| next.is_whitespace()).is_some() {},
                Some('n') => content.push('\n'),
                Some(escaped) => content.push(escaped),
                None => return None,
            },
            other => content.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_messages_are_read_and_tests_left_out() {
        let text = "//! One\n//! two.\n//!\n//! ```\n//! What\n//! ```\n/// Three.\n/// - four\n\
            fn f<'a>() {\n    // Five.\n    g('\"', b\"a b c d\", \"say \\\"it\\\" \\\n       now please\", r#\"a \"b\" c d\"#);\n\
                h().with_hint(\"run it; use that\");\n}\n\
            #[cfg(test)]\nmod tests {\n    /// Six.\n    const A: &str = \"never read as prose\";\n}\n";
        let source = read(text, Tested::Modules);
        let passages: Vec<(usize, &str, Kind)> = source
            .passages
            .iter()
            .map(|passage| (passage.line, passage.text.as_str(), passage.kind))
            .collect();
        assert_eq!(
            passages,
            [
                (1, "One two.", Kind::Sentences),
                (7, "Three.", Kind::Sentences),
                (8, "four", Kind::Sentences),
                (10, "Five.", Kind::Sentences),
                (11, "a b c d", Kind::Message),
                (11, "say \"it\" now please", Kind::Message),
                (12, "a \"b\" c d", Kind::Message),
                (13, "run it; use that", Kind::Hint),
                (17, "Six.", Kind::Sentences),
            ]
        );
        assert_eq!(source.comment_lines.len(), 7);
        assert!(
            read(text, Tested::Everything).passages.iter().all(|passage| passage.kind == Kind::Sentences)
        );
    }
}
