//! Text for people, made from text of others.

/// At most `chars_max` characters in one line: blanks and control characters become single spaces, what is cut off
/// an ellipsis.
pub fn excerpt(text: &str, chars_max: usize) -> String {
    excerpt_of(text.chars(), chars_max)
}

/// The same for a text in pieces. The rest is not read, so that many short quotes of one long text cost
/// little.
pub fn excerpt_of(text: impl Iterator<Item = char>, chars_max: usize) -> String {
    let (mut head, mut chars, mut blank) = (String::new(), 0, false);
    for character in text {
        if character.is_whitespace() || character.is_control() {
            blank = !head.is_empty();
            continue;
        }
        for character in blank.then_some(' ').into_iter().chain([character]) {
            if chars == chars_max {
                return shortened(&head, chars_max);
            }
            head.push(character);
            chars += 1;
        }
        blank = false;
    }
    head
}

/// With an ellipsis in place of the last word, which was cut through, unless that leaves almost nothing.
fn shortened(head: &str, chars_max: usize) -> String {
    let head = match head.rsplit_once(' ') {
        Some((words, _)) if words.chars().count() * 2 >= chars_max => words.to_owned(),
        _ => head.chars().take(chars_max.saturating_sub(1)).collect(),
    };
    format!("{}…", head.trim_end_matches([' ', ',', ';', ':', '.', '(', '-']))
}

/// `1 file`, `2 files`.
pub fn counted(count: usize, noun: &str) -> String {
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
