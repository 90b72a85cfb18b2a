//! Content and paths that a proposal must not have, whatever the vault.

use crate::finding::{Code, Finding, sort};
use crate::html::active_link;
use crate::limits::{
    LABEL_CHARS_MAX, LINKS_MAX, NAME_BYTES_MAX, NOTE_BYTES_MAX, PATH_BYTES_MAX, REMARK_CHARS_MAX,
};
use crate::vault::is_note_path;
use ordain_spec::note::Proposal;
use ordain_spec::{NonEmpty, is_invisible};

/// Everything in a proposal that must not reach a disk, all of it `SCHEMA_INVALID`.
pub fn guard(proposal: &Proposal) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut refuse = |path: &str, problem: Option<String>| {
        found.extend(problem.map(|problem| Finding::new(Code::SchemaInvalid, path, problem)));
    };
    refuse("/target/path", path_problem(&proposal.target.path));
    refuse("/frontmatter/title", label_problem(&proposal.frontmatter.title));
    let list = |list: &'_ Option<Vec<NonEmpty>>| list.clone().unwrap_or_default();
    for (name, list) in
        [("tags", list(&proposal.frontmatter.tags)), ("aliases", list(&proposal.frontmatter.aliases))]
    {
        for (number, label) in list.iter().enumerate() {
            refuse(&format!("/frontmatter/{name}/{number}"), label_problem(label.as_str()));
        }
    }
    refuse("/body/content_md", body_problem(proposal.body.content_md.as_str()));
    refuse("/target/route_id", label_problem(proposal.target.route_id.as_str()));
    refuse("/governance/rationale", remark_problem(proposal.governance.rationale.as_str(), Lines::Many));
    if proposal.governance.related_links.len() > LINKS_MAX {
        refuse("/governance/related_links", Some(format!("has more than {LINKS_MAX} links")));
    }
    for (number, link) in proposal.governance.related_links.iter().take(LINKS_MAX).enumerate() {
        refuse(&format!("/governance/related_links/{number}"), remark_problem(link, Lines::One));
    }
    sort(&mut found);
    found
}

/// Why no note can have this path on one of the systems that a vault is shared with.
pub(crate) fn path_problem(path: &str) -> Option<String> {
    if path.len() > PATH_BYTES_MAX {
        return Some(format!("is longer than {PATH_BYTES_MAX} bytes"));
    }
    if !is_note_path(path) {
        let problem = "is not the path of a note: it must end in `.md`, no folder or name may start with `.`, and it may not be in `km`";
        return Some(problem.to_owned());
    }
    if let Some(problem) = text_problem(path, Lines::One) {
        return Some(problem);
    }
    path.split('/').find_map(|name| {
        let problem = name_problem(name)?;
        Some(format!("`{name}` {problem}"))
    })
}

fn name_problem(name: &str) -> Option<String> {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    let is_numbered = numbered.is_some_and(|rest| {
        matches!(rest, "¹" | "²" | "³") || (rest.len() == 1 && rest.parse::<u8>().is_ok())
    });
    if DEVICES.contains(&stem.as_str()) || is_numbered {
        return Some("is a device on Windows".to_owned());
    }
    if let Some(character) = name.chars().find(|it| matches!(it, '<' | '>' | ':' | '"' | '|' | '?' | '*')) {
        return Some(format!("contains `{character}`, which names cannot have on Windows"));
    }
    if name.ends_with('.') {
        return Some("ends with a dot, which Windows takes away".to_owned());
    }
    (name.len() > NAME_BYTES_MAX).then(|| format!("is longer than {NAME_BYTES_MAX} bytes"))
}

fn label_problem(label: &str) -> Option<String> {
    if label.chars().nth(LABEL_CHARS_MAX).is_some() {
        return Some(format!("is longer than {LABEL_CHARS_MAX} characters"));
    }
    text_problem(label, Lines::One)
}

fn remark_problem(text: &str, lines: Lines) -> Option<String> {
    if text.chars().nth(REMARK_CHARS_MAX).is_some() {
        return Some(format!("is longer than {REMARK_CHARS_MAX} characters"));
    }
    text_problem(text, lines)
}

fn body_problem(body: &str) -> Option<String> {
    if body.len() > NOTE_BYTES_MAX {
        return Some(format!("is larger than {NOTE_BYTES_MAX} bytes"));
    }
    if let Some(problem) = text_problem(body, Lines::Many) {
        return Some(problem);
    }
    let Some(first) = body.lines().find(|line| !line.trim().is_empty()) else {
        return Some("is blank".to_owned());
    };
    if first.trim_end() == "---" {
        return Some("starts with a line `---`, as front matter does; leave it out".to_owned());
    }
    active_link(body).map(|link| {
        let shown: String = link.chars().take(60).collect();
        format!(
            "has a link to `{}`, which would run a program; link to a page or a note",
            shown.escape_debug()
        )
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Lines {
    One,
    Many,
}

/// The first character that nobody would see, or that would turn the writing around.
fn text_problem(text: &str, lines: Lines) -> Option<String> {
    let mut before = None;
    let (mut line, mut column) = (1, 0);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        column += 1;
        let allowed = match character {
            '\n' | '\t' => lines == Lines::Many,
            it if it.is_control() => false,
            it if is_invisible(it) => is_at_home(before, it, characters.peek().copied()),
            _ => true,
        };
        if !allowed {
            let what = if character.is_control() { "control" } else { "invisible" };
            let place = match lines {
                Lines::One => format!("at character {column}"),
                Lines::Many => format!("at line {line}, column {column}"),
            };
            return Some(format!(
                "contains the {what} character U+{:04X} {place}; leave it out",
                u32::from(character)
            ));
        }
        if character == '\n' {
            (line, column) = (line + 1, 0);
        }
        before = Some(character);
    }
    None
}

/// Some invisible characters belong to what is seen: the form of an emoji, emojis joined to one, and the joiners of
/// scripts that cannot be written without them.
fn is_at_home(before: Option<char>, character: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match character {
        '\u{fe0e}' | '\u{fe0f}' => {
            is_emoji(before) || (matches!(before, '0'..='9' | '#' | '*') && after == Some('\u{20e3}'))
        }
        '\u{200d}' if is_emoji(before) || before == '\u{fe0f}' => after.is_some_and(is_emoji),
        '\u{200c}' | '\u{200d}' => is_joining(before) && after.is_some_and(is_joining),
        _ => false,
    }
}

fn is_emoji(character: char) -> bool {
    matches!(character, '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '\u{2190}'..='\u{2bff}' | '〰' | '〽' | '㊗' | '㊙' | '\u{1f000}'..='\u{1faff}')
}

/// Arabic, the scripts of India and their neighbours up to Burmese, Khmer and Mongolian.
fn is_joining(character: char) -> bool {
    matches!(character, '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}') && !is_invisible(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_and_what_is_not() {
        for text in ["⚠️ a", "1️⃣", "👩‍👧", "❤️‍🔥", "می‌خواهم", "ක්‍ෂ", "straße", "a\u{301}", "日本語"]
        {
            assert_eq!(text_problem(text, Lines::One), None, "{text}");
        }
        for text in [
            "a\u{202e}b",
            "a\u{200b}b",
            "a\u{200d}b",
            "a\u{fe0f}",
            "\u{feff}a",
            "a\u{ad}b",
            "a\u{2066}b",
            "a\0",
            "a\nb",
            "a\u{1b}[2J",
            "🏴\u{e0067}\u{e007f}",
            "\u{2028}",
            "⚠️\u{200d}a",
            "a\u{85}b",
        ] {
            assert!(text_problem(text, Lines::One).is_some(), "{text:?}");
        }
        assert_eq!(text_problem("a\n\tb", Lines::Many), None);
        assert_eq!(
            text_problem("a\nb\r", Lines::Many).unwrap(),
            "contains the control character U+000D at line 2, column 2; leave it out"
        );
    }

    #[test]
    fn names_that_some_system_cannot_have() {
        for path in [
            "con.md",
            "a/NUL.md",
            "aux/b.md",
            "com1.md",
            "LPT9.txt.md",
            "COM¹.md",
            "a:b.md",
            "a|b.md",
            "a./b.md",
            "what?.md",
            ".md",
            ".obsidian/a.md",
            "km/a.md",
            "KM/a.md",
            "a/.b/c.md",
            "a.MD",
            "a",
            "a\u{200b}.md",
        ] {
            assert!(path_problem(path).is_some(), "{path}");
        }
        for path in ["a.md", "console.md", "com10.md", "a/km/b.md", "A b/ü.md", "comma.md", "a.b.md"] {
            assert_eq!(path_problem(path), None, "{path}");
        }
        assert!(path_problem(&format!("{}.md", "x".repeat(253))).is_some());
        assert!(path_problem(&format!("{}a.md", "x/".repeat(600))).is_some());
    }
}
