//! Values as people read them.

use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The first line of a text is cut here.
const FIRST_LINE_WIDTH: usize = 100;

/// How many columns of a terminal a text takes.
pub(crate) fn width_of(text: &str) -> usize {
    text.width()
}

/// At most that wide, the last character `…` if any are left out.
pub(crate) fn cut(text: &str, width_max: usize) -> String {
    if width_of(text) <= width_max {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = |character: &char| {
        used += character.width().unwrap_or_default();
        used <= width_max
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{kept}…")
}

/// The first line of a text, no longer than a line of the page.
pub(crate) fn first_line(text: &str) -> String {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default().trim_end();
    if first.len() == text.len() && width_of(text) <= FIRST_LINE_WIDTH {
        return text.to_owned();
    }
    let shown = cut(first, FIRST_LINE_WIDTH);
    let shown = shown.trim_end_matches('…');
    // Where a word ends, if there is one.
    let shown = match shown.rsplit_once(' ') {
        Some((words, _)) if shown.len() < first.len() => words,
        _ => shown,
    };
    format!("{} …", shown.trim_end())
}

/// Enough of a hash to tell it from others.
pub(crate) fn short_hash(hash: &str) -> String {
    const DIGITS_SHOWN: usize = 12;
    let prefix = if hash.starts_with("sha256:") { "sha256:".len() } else { 0 };
    cut(hash, prefix + DIGITS_SHOWN + 1)
}

/// A word that a shell reads as it is.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "/._-+=:@".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// `1 node`, `2 nodes`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if number == 1 => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
    }
}

/// `512 B`, `1.5 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}

/// The size, and the bytes where it does not show them.
pub(crate) fn exact_size(bytes: u64) -> String {
    if bytes < 1024 { size(bytes) } else { format!("{} ({bytes} bytes)", size(bytes)) }
}

/// The size of a text.
pub(crate) fn size_of(text: &str) -> String {
    size(text.len() as u64)
}

pub(crate) fn yes_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

/// The word that documents use for a value of an enum.
pub(crate) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(first_line("one\ntwo"), "one …");
        assert_eq!(short_hash("sha256:0123456789abcdef"), "sha256:0123456789ab…");
        assert_eq!(short_hash("0123456789abcdef"), "0123456789ab…");
        assert_eq!(short_hash("ä"), "ä");
    }

    #[test]
    fn words_of_a_shell() {
        for (word, expected) in
            [("a/b.json", "a/b.json"), ("", "''"), ("a b", "'a b'"), ("a'b;c", r"'a'\''b;c'")]
        {
            assert_eq!(shell_word(word), expected);
        }
    }

    #[test]
    fn sizes() {
        let shown: Vec<String> = [0, 1023, 1024, 1536, 10_485_760, u64::MAX].map(size).into();
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "10.0 MiB", "17179869183.9 GiB"]);
    }
}
