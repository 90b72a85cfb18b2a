//! Text as a YAML scalar that every reader takes for exactly this text.

use ordain_spec::is_invisible;
use std::fmt::Write;

/// Texts that YAML 1.1 or 1.2 takes for something else.
const RESERVED: [&str; 10] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "none"];

/// The text, plain where nothing can be misread, otherwise in double quotes on one line.
pub(crate) fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

fn is_plain(text: &str) -> bool {
    let letter = |character: char| character.is_alphabetic() && !is_invisible(character);
    let plain = |character: char| {
        letter(character) || character.is_ascii_digit() || matches!(character, ' ' | '_' | '-' | '/' | '.')
    };
    text.starts_with(letter)
        && text.chars().all(plain)
        && !text.ends_with(' ')
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for character in text.chars() {
        match character {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\t' => written.push_str("\\t"),
            '\r' => written.push_str("\\r"),
            // To a reader who knows no front matter it would be markup.
            '<' => escape(&mut written, '<'),
            it if is_escaped(it) => escape(&mut written, it),
            it => written.push(it),
        }
    }
    written.push('"');
    written
}

/// Characters that a reader may refuse, change or not show.
fn is_escaped(character: char) -> bool {
    let code = u32::from(character);
    let is_noncharacter = code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code);
    character.is_control() || is_invisible(character) || is_noncharacter
}

fn escape(written: &mut String, character: char) {
    let code = u32::from(character);
    // Writing to a text cannot fail.
    let _ = match code {
        0..=0xff => write!(written, "\\x{code:02X}"),
        0x100..=0xffff => write!(written, "\\u{code:04X}"),
        _ => write!(written, "\\U{code:08X}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader who takes front matter for Markdown finds no markup in it.
    #[test]
    fn no_title_is_markup() {
        let written = scalar("<script>alert(1)</script>");
        assert_eq!(written, r#""\x3Cscript>alert(1)\x3C/script>""#);
        let json = crate::yaml::to_json(format!("title: {written}").as_bytes()).map(|it| it.json);
        assert_eq!(json.ok().as_deref(), Some(br#"{"title":"<script>alert(1)</script>"}"#.as_slice()));
    }
}
