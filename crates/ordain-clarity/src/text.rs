//! Text as tokens and sentences. Quotes, code, paths and names of things are literals: they say something
//! definite, and their words are not read as prose.

use crate::class::{Class, Entry, entry_of};
use crate::literal::literal_kind;
use crate::technology::{Named, technologies};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A word of prose.
    Word,
    /// A number, with its decimals but without its unit.
    Number,
    /// Text in quotes.
    Quote,
    /// Code in backticks or braces.
    Code,
    /// A file, a folder, a URL.
    Path,
    /// A name as programs have them: `snake_case`, `camelCase`, `call()`, `--flag`, `Vec<u8>`.
    Identifier,
    /// Anything else, one character each.
    Mark,
}

/// A piece of the text.
#[derive(Clone, Debug)]
pub struct Token<'t> {
    pub kind: Kind,
    /// Its spelling in the text.
    pub text: &'t str,
    /// Where it starts.
    pub start: usize,
    /// A word in lower case; other tokens as they are.
    pub lower: Cow<'t, str>,
    /// Its known classes as a word.
    pub entry: &'static Entry,
}

impl Token<'_> {
    /// Whether it is in one of these lists.
    pub fn has(&self, class: Class) -> bool {
        self.entry.class.has(class)
    }

    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub fn is_word(&self) -> bool {
        self.kind == Kind::Word
    }

    pub fn is(&self, word: &str) -> bool {
        self.lower == word
    }

    /// Whether it names something definite.
    pub fn is_literal(&self) -> bool {
        matches!(self.kind, Kind::Quote | Kind::Code | Kind::Path | Kind::Identifier)
    }

    /// The file or folder that it names, in backticks or without.
    pub fn path(&self) -> Option<&str> {
        let inner = self.text.trim_matches('`');
        let is_path = match self.kind {
            Kind::Path => true,
            Kind::Code => !inner.contains(char::is_whitespace) && literal_kind(inner) == Some(Kind::Path),
            _ => false,
        };
        is_path.then_some(inner)
    }

    /// Whether it starts with a capital letter.
    pub fn is_capitalized(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_uppercase)
    }
}

/// A text, taken apart once.
#[derive(Debug)]
pub struct Text<'t> {
    pub source: &'t str,
    pub tokens: Vec<Token<'t>>,
    /// Ranges of tokens, in order, that do not overlap.
    pub sentences: Vec<Range<usize>>,
    /// The lists in which any of the tokens stands.
    pub class: Class,
    technologies: OnceCell<Vec<Named>>,
}

/// The lists in which any of the tokens stands.
pub fn class_of(tokens: &[Token<'_>]) -> Class {
    tokens.iter().fold(Class::NONE, |sum, it| sum.or(it.entry.class))
}

impl<'t> Text<'t> {
    pub fn new(source: &'t str) -> Self {
        let tokens = tokens(source);
        let sentences = sentences(source, &tokens);
        let class = class_of(&tokens);
        Self { source, tokens, sentences, class, technologies: OnceCell::new() }
    }

    /// All technologies that it names, in order.
    pub fn technologies(&self) -> &[Named] {
        self.technologies.get_or_init(|| technologies(&self.tokens))
    }

    /// The tokens of a sentence.
    pub fn sentence(&self, range: &Range<usize>) -> &[Token<'t>] {
        self.tokens.get(range.clone()).unwrap_or_default()
    }

    /// The text from one token to another, both included.
    pub fn between(&self, first: &Token<'_>, last: &Token<'_>) -> &'t str {
        self.source.get(first.start..last.end()).unwrap_or_default()
    }

    /// A sentence of the text.
    pub fn sentence_text(&self, range: &Range<usize>) -> &'t str {
        match self.sentence(range) {
            [] => "",
            [only] => only.text,
            [first, .., last] => self.between(first, last),
        }
    }
}

/// How far a quote or a brace may be from its partner. A limit keeps a text of ten thousand quotes linear.
const PARTNER_BYTES_MAX: usize = 300;
/// How often a literal is looked for between two blanks. A text without a blank for so long is not prose, and
/// each look goes up to the next blank.
const LOOKS_MAX: usize = 32;

fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::with_capacity(source.len() / 5);
    let mut at = 0;
    // Where the chunk ends that is being read, and how often a literal was looked for in it.
    let (mut chunk_end, mut looks) = (0, 0);
    // Once no backtick follows, none is looked for again.
    let mut backticks_left = true;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        if at >= chunk_end
            && let Some(length) = plain_word_length(rest)
            && let Some(text) = rest.get(..length)
        {
            tokens.push(word(text, at));
            at += length;
            continue;
        }
        let Some(first) = rest.chars().next() else { break };
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let before = source.get(..at).and_then(|text| text.chars().next_back());
        let (kind, length) = match first {
            '`' if backticks_left => match code_length(rest) {
                Some(length) => (Kind::Code, length),
                None => {
                    backticks_left = false;
                    (Kind::Mark, 1)
                }
            },
            '"' | '“' | '«' | '\'' | '‘' => match quote_length(rest, first, before) {
                Some(length) => (Kind::Quote, length),
                None => (Kind::Mark, first.len_utf8()),
            },
            '{' | '[' => match block_length(rest, first) {
                Some(length) => (Kind::Code, length),
                None => (Kind::Mark, 1),
            },
            _ => {
                if at >= chunk_end {
                    (chunk_end, looks) = (at + rest.find(breaks_chunk).unwrap_or(rest.len()), 0);
                }
                looks += 1;
                let glued = before.is_some_and(char::is_alphanumeric);
                let whole = source.get(at..chunk_end).filter(|_| looks <= LOOKS_MAX);
                chunk(rest, whole, first, glued)
            }
        };
        let text = rest.get(..length).unwrap_or(rest);
        let token = match kind {
            Kind::Word => word(text, at),
            _ => Token { kind, text, start: at, lower: Cow::Borrowed(text), entry: entry_of(text) },
        };
        at += text.len().max(1);
        tokens.push(token);
    }
    tokens
}

fn word(text: &str, start: usize) -> Token<'_> {
    let lower: Cow<'_, str> = if text.bytes().all(|it| it.is_ascii() && !it.is_ascii_uppercase()) {
        text.into()
    } else if text.contains(|it: char| it.is_uppercase() || it == '’') {
        text.to_lowercase().replace('’', "'").into()
    } else {
        text.into()
    };
    let entry = entry_of(&lower);
    Token { kind: Kind::Word, text, start, lower, entry }
}

/// The length of a word of ASCII letters with at most one capital, its first, that a blank follows, perhaps
/// behind one mark. Most words are such, and need no closer look.
fn plain_word_length(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    if !bytes.first()?.is_ascii_alphabetic() {
        return None;
    }
    let length = 1 + bytes.iter().skip(1).take_while(|it| it.is_ascii_lowercase()).count();
    let blank = |at: usize| bytes.get(at).is_none_or(u8::is_ascii_whitespace);
    let marked = bytes.get(length).is_some_and(|it| matches!(it, b'.' | b',' | b';' | b':' | b'!' | b'?'));
    (blank(length) || (marked && blank(length + 1))).then_some(length)
}

/// From a backtick, or three, to the next.
fn code_length(rest: &str) -> Option<usize> {
    let ticks = if rest.starts_with("```") { "```" } else { "`" };
    let inner = rest.get(ticks.len()..)?;
    Some(ticks.len() + inner.find(ticks)? + ticks.len())
}

fn window(rest: &str) -> &str {
    let mut end = rest.len().min(PARTNER_BYTES_MAX);
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    rest.get(..end).unwrap_or(rest)
}

fn quote_length(rest: &str, open: char, before: Option<char>) -> Option<usize> {
    let close = match open {
        '“' => '”',
        '«' => '»',
        '‘' => '’',
        other => other,
    };
    // An apostrophe is not a quote: `users'`, `don't`.
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let inner = window(rest).get(open.len_utf8()..)?;
    let mut line_feeds = 0;
    for (position, character) in inner.char_indices() {
        if character == close {
            let after = inner.get(position + close.len_utf8()..).and_then(|text| text.chars().next());
            let apostrophe = matches!(close, '\'' | '’') && after.is_some_and(char::is_alphanumeric);
            if !apostrophe && position > 0 {
                return Some(open.len_utf8() + position + close.len_utf8());
            }
        }
        line_feeds += usize::from(character == '\n');
        if line_feeds > 1 {
            return None;
        }
    }
    None
}

/// Braces and brackets with data inside: `{"id":1}`, `{a, b}`, `[1, 2]`. A possible placeholder is not among
/// these.
fn block_length(rest: &str, open: char) -> Option<usize> {
    let close = if open == '{' { '}' } else { ']' };
    let mut depth = 0_usize;
    let mut end = None;
    for (position, character) in window(rest).char_indices() {
        if character == open {
            depth += 1;
        } else if character == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                end = Some(position);
                break;
            }
        }
    }
    let end = end?;
    let inner = rest.get(1..end)?;
    let data = match open {
        '{' => inner.trim().is_empty() || inner.contains(['"', ':', ',', ';', '=', '\'']),
        _ => {
            inner.contains(['"', '\''])
                || inner.trim().starts_with(|it: char| it.is_ascii_digit() || it == '-')
        }
    };
    data.then_some(end + 1)
}

fn breaks_chunk(character: char) -> bool {
    character.is_whitespace() || matches!(character, '"' | '“' | '”' | '`' | '«' | '»' | '…')
}

/// The token at the start of `rest`: a literal if the whole chunk is one, else a number, a word or a mark.
fn chunk(rest: &str, whole: Option<&str>, first: char, glued: bool) -> (Kind, usize) {
    if breaks_chunk(first) {
        return (Kind::Mark, first.len_utf8());
    }
    // `/or` in `and/or` is not a path.
    let chunk = whole.filter(|_| !glued || first.is_alphanumeric()).map(without_end);
    if let Some((chunk, kind)) = chunk.and_then(|chunk| Some((chunk, literal_kind(chunk)?))) {
        return (kind, chunk.len());
    }
    if let Some(length) = number_length(rest) {
        return (Kind::Number, length);
    }
    if !first.is_alphanumeric() {
        return (Kind::Mark, first.len_utf8());
    }
    if let Some(length) = abbreviation_length(rest) {
        return (Kind::Word, length);
    }
    (Kind::Word, word_length(rest))
}

/// A chunk with what belongs to the sentence taken off its end.
fn without_end(whole: &str) -> &str {
    let marks = ['.', ',', ';', ':', '!', '?', '\'', '’'];
    let mut chunk = whole.trim_end_matches(marks);
    // Each is looked for at most once: a chunk may end in thousands of brackets.
    let mut opens: [Option<usize>; 4] = [None; 4];
    // A bracket at the end belongs to the chunk only if its partner does.
    while let Some(stripped) = chunk.strip_suffix([')', ']', '}', '>']) {
        let (open, at) = match (chunk.chars().next_back().unwrap_or_default(), &mut opens) {
            (')', [at, ..]) => ('(', at),
            (']', [_, at, ..]) => ('[', at),
            ('}', [_, _, at, _]) => ('{', at),
            (_, [.., at]) => ('<', at),
        };
        let at = *at.get_or_insert_with(|| whole.find(open).unwrap_or(whole.len()));
        if (1..chunk.len()).contains(&at) {
            break;
        }
        chunk = stripped.trim_end_matches(marks);
    }
    chunk
}

/// A word may have hyphens and apostrophes inside.
fn word_length(rest: &str) -> usize {
    let mut end = 0;
    let mut characters = rest.char_indices().peekable();
    while let Some((position, character)) = characters.next() {
        let next_is_letter = characters.peek().is_some_and(|(_, next)| next.is_alphanumeric());
        let inside = character.is_alphanumeric()
            || is_mark_above(character)
            || (matches!(character, '-' | '\'' | '’' | '‑') && next_is_letter);
        if !inside {
            break;
        }
        end = position + character.len_utf8();
    }
    end.max(rest.chars().next().map_or(1, char::len_utf8))
}

/// Combining marks belong to the letter before them.
fn is_mark_above(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

fn abbreviation_length(rest: &str) -> Option<usize> {
    ["e.g.", "i.e.", "etc.", "E.g.", "I.e.", "vs."]
        .iter()
        .find(|it| rest.starts_with(**it))
        .map(|it| it.len() - 1)
}

/// Digits with separators and decimals; a sign or a currency before them is a mark of its own.
fn number_length(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    if !bytes.first()?.is_ascii_digit() {
        return None;
    }
    let mut end = 0;
    while let Some(byte) = bytes.get(end) {
        let digit_follows = bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        match byte {
            b'0'..=b'9' => end += 1,
            b'.' | b',' | b'_' | b':' if digit_follows => end += 1,
            _ => break,
        }
    }
    // `3rd` and `2nd` are words.
    let tail = rest.get(end..)?;
    let ordinal = ["st", "nd", "rd", "th"]
        .iter()
        .any(|it| tail.strip_prefix(it).is_some_and(|after| !after.starts_with(char::is_alphanumeric)));
    (!ordinal).then_some(end)
}

fn sentences(source: &str, tokens: &[Token<'_>]) -> Vec<Range<usize>> {
    let mut sentences = Vec::new();
    let (mut start, mut line) = (0, 0);
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index + 1);
        let gap = next.and_then(|next| source.get(token.end()..next.start)).unwrap_or("\n\n");
        let stop = match token.text {
            "." if is_abbreviated(tokens, index, next) => false,
            "." | "!" | "?" => {
                !gap.is_empty() && next.is_none_or(|next| !next.text.starts_with(char::is_lowercase))
            }
            ";" => !gap.is_empty(),
            _ => false,
        };
        let ends_line = gap.contains('\n');
        let item = ends_line && next.is_some_and(|next| starts_item(next, tokens.get(index + 2)));
        let blank_line = ends_line && gap.matches('\n').count() >= 2;
        // A heading ends with its line, and a label such as `Notes:` too.
        let heading = ends_line
            && (token.text == ":"
                || next.is_some_and(|next| next.text == "#")
                || opens_with_hash(source, tokens, line)
                || is_title(tokens.get(line..index + 1).unwrap_or_default()));
        if stop || blank_line || item || heading {
            push(&mut sentences, tokens, start..index + 1);
            start = index + 1;
        }
        if ends_line {
            line = index + 1;
        }
    }
    push(&mut sentences, tokens, start..tokens.len());
    sentences
}

/// `Foo Inc. (processor)`, `Dr. Smith`: a point that shortens a word and ends no sentence.
fn is_abbreviated(tokens: &[Token<'_>], index: usize, next: Option<&Token<'_>>) -> bool {
    let Some(word) = index.checked_sub(1).and_then(|at| tokens.get(at)).filter(|it| it.is_word()) else {
        return false;
    };
    let new_sentence = next.is_none_or(|it| it.is_word() && it.is_capitalized());
    match &*word.lower {
        "mr" | "mrs" | "dr" | "prof" | "fig" | "cf" | "approx" | "dept" => next.is_some(),
        "inc" | "ltd" | "corp" | "co" | "llc" | "bros" | "est" | "incl" | "ca" | "al" => !new_sentence,
        _ => false,
    }
}

fn opens_with_hash(source: &str, tokens: &[Token<'_>], line: usize) -> bool {
    let Some(first) = tokens.get(line).filter(|it| it.text == "#") else { return false };
    // `#12` and `#fff` are not headings.
    let rest = source.get(first.start..).unwrap_or_default().trim_start_matches('#');
    rest.starts_with([' ', '\t'])
}

fn is_title(line: &[Token<'_>]) -> bool {
    line.len() <= 8 && crate::outline::role_of_title(line).is_some()
}

/// Whether a line starts an item of a list: `- `, `* `, `1.`, `a)`.
fn starts_item(token: &Token<'_>, next: Option<&Token<'_>>) -> bool {
    match token.kind {
        Kind::Mark => matches!(token.text, "-" | "*" | "•" | "–" | "+" | "("),
        // A longer number, such as a year or an amount, is a statement. BS12 draws the same line.
        Kind::Number => {
            let short = token.text.len() <= 3 && token.text.bytes().all(|byte| byte.is_ascii_digit());
            short && next.is_some_and(|next| matches!(next.text, "." | ")"))
        }
        _ => token.text.len() == 1 && next.is_some_and(|next| next.text == ")"),
    }
}

/// Without the bullet or the number before it, and only if something is left.
fn push(sentences: &mut Vec<Range<usize>>, tokens: &[Token<'_>], mut range: Range<usize>) {
    let Some(mut slice) = tokens.get(range.clone()) else { return };
    while let [first, rest @ ..] = slice {
        let numbered = starts_item(first, rest.first()) && first.kind != Kind::Mark;
        // `[ ]` and `[x]` of a list of tasks.
        let boxed = match slice {
            [open, close, ..] if open.text == "[" && close.text == "]" => 2,
            [open, mark, close, ..] if open.text == "[" && mark.is("x") && close.text == "]" => 3,
            _ => 0,
        };
        let skip = match first.kind {
            _ if boxed > 0 && range.start > 0 => boxed,
            Kind::Mark if !matches!(first.text, "<" | "{" | "$" | "(" | "[" | "_" | "?") => 1,
            _ if numbered => 2,
            _ => break,
        };
        range.start += skip;
        slice = slice.get(skip..).unwrap_or_default();
    }
    if slice.iter().any(|token| token.kind != Kind::Mark) || slice.len() > 1 {
        sentences.push(range);
    }
}

/// The stem of a form that no rule leads back.
#[rustfmt::skip]
fn irregular(word: &str) -> Option<&'static str> {
    Some(match word {
        "written" => "writ",
        "overwritten" => "overwrit",
        "sent" => "send",
        "kept" => "keep",
        "built" => "build",
        "chosen" => "choos",
        "taken" => "tak",
        "given" => "giv",
        "shown" => "show",
        "hidden" => "hid",
        "made" => "mak",
        "held" => "hold",
        "found" => "find",
        "ran" => "run",
        "done" => "do",
        "deployment" | "deployments" => "deploy",
        "approval" => "approv",
        "publication" => "publish",
        "migration" | "migrations" => "migrat",
        "validation" => "validat",
        "colour" | "colours" => "color",
        "deletion" => "delet",
        "encryption" => "encrypt",
        "compression" => "compress",
        "authentication" => "authenticat",
        _ => return None,
    })
}

/// The common part of the forms of a word, for comparing: `logs`, `logged` and `logging` are one.
pub fn stem(word: &str) -> Cow<'_, str> {
    let word = word.strip_suffix("'s").unwrap_or(word);
    if let Some(root) = irregular(word) {
        return root.into();
    }
    if word.len() < 3 || !word.is_ascii() {
        return word.into();
    }
    if let Some(root) = word.strip_suffix("ies") {
        return format!("{root}y").into();
    }
    let stemmed = if let Some(root) = word.strip_suffix("ing").filter(|it| it.len() >= 2) {
        undoubled(root)
    } else if let Some(root) = word.strip_suffix("ed").filter(|it| it.len() >= 2 && !it.ends_with('e')) {
        undoubled(root)
    } else if let Some(root) = word.strip_suffix("es").filter(|it| it.ends_with(['s', 'x', 'z', 'h'])) {
        root
    } else if word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") && !word.ends_with("is") {
        word.get(..word.len() - 1).unwrap_or(word)
    } else {
        word
    };
    stemmed.strip_suffix('e').filter(|it| it.len() >= 2).unwrap_or(stemmed).into()
}

/// `logg` as `log`.
fn undoubled(root: &str) -> &str {
    match root.as_bytes() {
        [.., a, b] if a == b && !matches!(b, b'l' | b's' | b'z' | b'e' | b'o') => {
            root.get(..root.len() - 1).unwrap_or(root)
        }
        _ => root,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> String {
        let text = Text::new(text);
        let shown: Vec<_> = text.tokens.iter().map(|it| format!("{:?}:{}", it.kind, it.text)).collect();
        shown.join(" ")
    }

    #[test]
    fn tokens_of_prose_and_code() {
        for (text, expected) in [
            ("Don't use e.g. etc.", "Word:Don't Word:use Word:e.g Mark:. Word:etc Mark:."),
            ("port 8080, 3.5 s", "Word:port Number:8080 Mark:, Number:3.5 Word:s"),
            ("200ms", "Number:200 Word:ms"),
            ("see `a b` and \"x y\"", "Word:see Code:`a b` Word:and Quote:\"x y\""),
            ("Vec<u8> argv[1] {\"id\":1}", "Identifier:Vec<u8> Identifier:argv[1] Code:{\"id\":1}"),
            ("src/main.rs, https://a.b/c?d", "Path:src/main.rs Mark:, Path:https://a.b/c?d"),
            ("max_retries=3 --flag f(x)", "Identifier:max_retries=3 Identifier:--flag Identifier:f(x)"),
            ("users' data's", "Word:users Mark:' Word:data's"),
            ("and/or TCP/IP", "Word:and Mark:/ Word:or Word:TCP Mark:/ Word:IP"),
            ("<name> {new_name}", "Mark:< Word:name Mark:> Mark:{ Identifier:new_name Mark:}"),
            ("/users/{id}", "Path:/users/{id}"),
            ("the 3rd", "Word:the Word:3rd"),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
    }

    #[test]
    fn sentences_and_items() {
        for (text, expected) in [
            (
                "Add a log. Then rotate it daily, e.g. at noon.",
                vec!["Add a log.", "Then rotate it daily, e.g. at noon."],
            ),
            ("Do:\n- one\n- two", vec!["Do:", "one", "two"]),
            ("1. first\n2. second", vec!["first", "second"]),
            ("Wait. 1,000. Go on", vec!["Wait.", "1,000.", "Go on"]),
            ("2020. It was hot", vec!["2020.", "It was hot"]),
            ("v1.2 of a.b", vec!["v1.2 of a.b"]),
            ("", vec![]),
            ("...", vec![]),
        ] {
            let text = Text::new(text);
            let found: Vec<_> = text.sentences.iter().map(|it| text.sentence_text(it)).collect();
            assert_eq!(found, expected, "{:?}", text.source);
        }
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            ["log", "logs", "logged", "logging"],
            ["use", "uses", "used", "using"],
            ["retry", "retries", "retry", "retrying"],
        ] {
            let first = stem(forms[0]);
            assert!(forms.iter().all(|it| stem(it) == first), "{forms:?} {:?}", forms.map(stem));
        }
    }
}
