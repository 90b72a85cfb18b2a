//! Text for people, made from text of others.

/// At most `chars_max` characters in one line: blanks and control characters become single spaces, what is cut off
/// an ellipsis.
pub(crate) fn excerpt(text: &str, chars_max: usize) -> String {
    let blank = |character: char| character.is_whitespace() || character.is_control();
    let words: Vec<&str> = text.split(blank).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    if line.chars().nth(chars_max).is_none() {
        return line;
    }
    let head: String = line.chars().take(chars_max.saturating_sub(1)).collect();
    // Where a word ends, unless that leaves almost nothing.
    let head = match head.rsplit_once(' ') {
        Some((words, _)) if words.chars().count() * 2 >= chars_max => words,
        _ => &head,
    };
    format!("{}…", head.trim_end_matches([' ', ',', ';', ':', '.', '(', '-']))
}

/// `1 file`, `2 files`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_one_short_line() {
        for (text, expected) in [
            ("", ""),
            (" \n ", ""),
            ("a\r\n b\tc", "a b c"),
            ("a\u{1b}[2Jb", "a [2Jb"),
            ("12345678", "12345678"),
            ("123456789", "1234567…"),
            ("123456 89", "123456…"),
            ("12345, 789", "12345…"),
            ("éééééééééé", "ééééééé…"),
        ] {
            assert_eq!(excerpt(text, 8), expected, "{text:?}");
        }
    }
}
