//! No HTML reaches a note: tags are written as the text that they are.

use crate::markdown::extensions;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};
use std::collections::BTreeSet;

/// Escaping a tag can make another one of what stood inside it; hostile text may try to go on for ever.
const PASSES_MAX: usize = 32;

/// The text with `&lt;` for each `<` that starts HTML, or nothing if that cannot be done. Code and autolinks
/// stay as they are. Doing it again changes nothing.
pub(crate) fn escape(text: &str) -> Option<String> {
    let mut text = text.to_owned();
    for _ in 0..PASSES_MAX {
        let found = html_in(&text);
        if found.is_empty() {
            return Some(text);
        }
        let mut escaped = String::with_capacity(text.len() + 3 * found.len());
        for (at, character) in text.char_indices() {
            match character == '<' && found.contains(&at) {
                true => escaped.push_str("&lt;"),
                false => escaped.push(character),
            }
        }
        text = escaped;
    }
    None
}

/// Readers differ in what they know besides CommonMark, and with it in what is code. HTML to one of them
/// counts as HTML.
fn readings() -> [Options; 3] {
    // Old footnotes share a bit with the new ones.
    let all = (Options::all()
        - Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        - Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
        - Options::ENABLE_OLD_FOOTNOTES)
        | Options::ENABLE_FOOTNOTES;
    [Options::empty(), extensions(), all]
}

/// Where each `<` of HTML stands.
fn html_in(text: &str) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    if !text.contains('<') {
        return found;
    }
    for options in readings() {
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            if matches!(event, Event::Html(_) | Event::InlineHtml(_)) {
                let html = text.get(range.clone()).unwrap_or_default();
                found.extend(html.match_indices('<').map(|(at, _)| range.start + at));
            }
        }
    }
    found
}

/// The first link that would run a program rather than lead somewhere.
pub(crate) fn active_link(text: &str) -> Option<String> {
    const ACTIVE: [&str; 3] = ["javascript:", "vbscript:", "data:"];
    // A note may well be called `Data: an overview`.
    let names_note =
        |link: LinkType, scheme: &str| matches!(link, LinkType::WikiLink { .. }) && scheme == "data:";
    readings().into_iter().flat_map(|options| Parser::new_ext(text, options)).find_map(|event| {
        let Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) =
            event
        else {
            return None;
        };
        // Browsers pass over blanks and control characters in a scheme.
        let plain: String = dest_url.chars().filter(|it| !it.is_whitespace() && !it.is_control()).collect();
        let plain = plain.to_ascii_lowercase();
        ACTIVE
            .iter()
            .any(|scheme| plain.starts_with(scheme) && !names_note(link_type, scheme))
            .then(|| dest_url.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_text_and_nothing_else_changes() {
        for (text, expected) in [
            ("a < b, 1 <2, <3", None),
            ("see <https://example.org> and <me@example.org>", None),
            ("`<b>` and\n\n```html\n<script>alert(1)</script>\n```\n", None),
            ("    <script>\n", None),
            ("[a](<b c.md>)", None),
            ("&lt;b>", None),
            ("Vec<u8>", Some("Vec&lt;u8>")),
            ("a <b>c</b>", Some("a &lt;b>c&lt;/b>")),
            ("<script>alert(1)</script>", Some("&lt;script>alert(1)&lt;/script>")),
            ("<!-- x -->", Some("&lt;!-- x -->")),
            // The item ends with the line that is not indented, and the fence with the item.
            ("- a\n  ```\n<script>\n  ```\n", Some("- a\n  ```\n&lt;script>\n  ```\n")),
            // In a table, cells come before code.
            ("| a | b |\n|---|---|\n| ` | <b> ` |\n", Some("| a | b |\n|---|---|\n| ` | &lt;b> ` |\n")),
        ] {
            let escaped = escape(text).unwrap();
            assert_eq!(escaped, expected.unwrap_or(text));
            assert_eq!(escape(&escaped).unwrap(), escaped);
        }
    }

    #[test]
    fn links_that_run_something() {
        for text in [
            "[a](javascript:alert(1))",
            "[a](JaVaScript:alert(1))",
            "[a](java&#9;script:alert(1))",
            "[a]\n\n[a]: javascript:x",
            "<javascript:alert(1)>",
            "![a](data:text/html;base64,x)",
        ] {
            assert!(active_link(text).is_some(), "{text}");
        }
        assert_eq!(
            active_link("[a](https://example.org/?q=javascript:) `[a](javascript:x)` [[data: x]]"),
            None
        );
    }
}
