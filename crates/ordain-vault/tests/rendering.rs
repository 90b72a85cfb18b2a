//! Whatever a title holds, readers get exactly it back, and a body stays a body.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod support;

use ordain_vault::{Note, render};
use proptest::prelude::*;
use serde_json::json;
use support::{draft, proposal};

/// The title, tags and aliases that a reader finds in a rendered note.
fn read_back(text: &str) -> Note {
    let note = Note::read("a/b.md", text.as_bytes().to_vec()).unwrap();
    assert_eq!(note.problem, None, "{text}");
    note
}

#[test]
fn the_form_of_a_note() {
    let text = render(&proposal(json!({})), None).unwrap().text;
    assert_eq!(
        text,
        "---\ntitle: Idempotent requests\nstatus: draft\ntags:\n  - api\naliases:\n  - idempotency\n---\n\n\
         # Idempotent requests\n\n## Summary\n\nA request that may be sent twice.\n"
    );
    let lists = render(&proposal(json!({"tags": [], "aliases": null, "body": "x"})), None).unwrap().text;
    assert_eq!(lists, "---\ntitle: Idempotent requests\nstatus: draft\ntags: []\n---\n\nx\n");
}

#[test]
fn titles_that_look_like_something_else() {
    for title in [
        "a: b",
        "a #b",
        "--- x",
        "---",
        "...",
        "yes",
        "No",
        "null",
        "~ ~",
        "1.5",
        "0x1F",
        "2024-01-01",
        "12:30:00",
        "!tag",
        "&anchor x",
        "*alias",
        "- item",
        "? key",
        "| block",
        "> fold",
        "@at",
        "`tick",
        "%dir",
        "[a, b]",
        "{a: b}",
        "\"quoted\"",
        "'single'",
        "a\\b",
        "it's",
        "C:\\dir",
        " padded ",
        "x ",
        "ünïcödé",
        "日本語 title",
        "end:",
        "a : b",
        "=  =",
        "<<",
        "True story",
        ".inf",
        "1_000",
        "a, b",
        "“q”",
        "e: \\n",
        "title: x",
    ] {
        let text =
            render(&draft(json!({"title": title, "tags": [title], "aliases": [title]})), None).unwrap().text;
        let note = read_back(&text);
        assert_eq!(
            (note.title(), &note.tags[0], &note.aliases[0]),
            (title, &title.to_owned(), &title.to_owned())
        );
    }
}

#[test]
fn what_must_not_reach_a_disk() {
    for (change, pointer) in [
        (json!({"title": "a\n---\nadmin: true"}), "/frontmatter/title"),
        (json!({"title": "x".repeat(1_000_000)}), "/frontmatter/title"),
        (json!({"title": "abc\u{202e}def"}), "/frontmatter/title"),
        (json!({"tags": ["a", "b\u{0}"]}), "/frontmatter/tags/1"),
        (json!({"aliases": ["a\u{200b}b"]}), "/frontmatter/aliases/0"),
        (json!({"body": "\n---\ntitle: other\n---\n"}), "/body/content_md"),
        (json!({"body": "a\u{1b}[2Jb"}), "/body/content_md"),
        (json!({"body": "a\u{202e}b"}), "/body/content_md"),
        (json!({"body": " \n\t"}), "/body/content_md"),
        (json!({"body": "a\r\nb"}), "/body/content_md"),
        (json!({"body": "[a](javascript:alert(1))"}), "/body/content_md"),
        (json!({"body": "x".repeat(1_048_577)}), "/body/content_md"),
        (json!({"body": "x".repeat(1_048_570)}), "/body/content_md"),
        (json!({"path": "con.md"}), "/target/path"),
        (json!({"path": "km/x.md"}), "/target/path"),
        (json!({"path": ".git/x.md"}), "/target/path"),
    ] {
        let found = render(&draft(change), None).unwrap_err();
        let places: Vec<(&str, &str)> = found.iter().map(|it| (it.code.name(), it.path.as_str())).collect();
        assert_eq!(places, [("SCHEMA_INVALID", pointer)]);
    }
}

#[test]
fn an_enhancement_keeps_what_proposals_do_not_know() {
    let old = "---\n# my own\ncreated: 2024-01-05\n\"title\": 'Idempotent requests'\ntags: [old]\n\n# below\n\
               status: draft # for now\naliases:\n- idempotency\nnested:\n  title: inner\n  list: [1, 2]\n---\n\nold\n";
    let note = Note::read("api/x.md", old.as_bytes().to_vec()).unwrap();
    let same = draft(json!({"tags": ["old"], "body": "new\n"}));
    assert_eq!(render(&same, Some(&note)).unwrap().text, old.replace("\nold\n", "\nnew\n"));
    let other = draft(json!({"tags": ["new", "x: y"], "status": "review", "body": "new\n"}));
    let expected = "---\n# my own\ncreated: 2024-01-05\n\"title\": 'Idempotent requests'\ntags:\n  - new\n  - \"x: y\"\n\n\
         # below\nstatus: review\naliases:\n- idempotency\nnested:\n  title: inner\n  list: [1, 2]\n---\n\nnew\n";
    assert_eq!(render(&other, Some(&note)).unwrap().text, expected);
    // Fields that it leaves out stay.
    let silent = draft(json!({"tags": null, "aliases": null, "body": "old\n"}));
    assert_eq!(render(&silent, Some(&note)).unwrap().text, old);
    // Line ends become those of the rest.
    let dos = Note::read("api/x.md", old.replace('\n', "\r\n").into_bytes()).unwrap();
    assert_eq!(render(&silent, Some(&dos)).unwrap().text, old);
    let plain = Note::read("api/x.md", b"# Idempotent requests\n".to_vec()).unwrap();
    assert_eq!(render(&same, Some(&plain)).unwrap().text, render(&same, None).unwrap().text);
    for broken in [
        "---\ntitle: [\n---\nx",
        "---\na: 1\na: 2\n---\nx",
        "---\n{title: a, b: c}\n---\nx",
        "---\n- a\n---\n",
        // To YAML these end a line.
        "---\ntitle: a\nother: 'b\r  c'\n---\n",
        "---\ntitle: a\nother: 'b\r\r\n  c'\nstatus: draft\n---\n",
    ] {
        let note = Note::read("api/x.md", broken.as_bytes().to_vec()).unwrap();
        let found = render(&same, Some(&note)).unwrap_err();
        assert_eq!(found[0].path, "/target/path", "{broken}");
    }
}

#[test]
fn a_note_is_read_as_it_is() {
    let text = "\u{feff}---\r\ntitle: T\r\ntags: a, b\r\naliases: one two\r\nyear: 2024\r\n---\r\n\r\n# H *1*\r\n\r\n\
                ```\n# no\n[[no]]\n```\n\nSub\n---\n\n> # quoted\n\n[[Other#part|shown]] ![[pic.png]] [x](y.md) `[[no]]` [[Other]]\n\
                ## `code` here ##\n";
    let note = Note::read("a/b c.md", text.as_bytes().to_vec()).unwrap();
    assert_eq!((note.title(), note.status.as_deref()), ("T", None));
    assert_eq!(note.tags, ["a", "b"]);
    assert_eq!(note.aliases, ["one two"]);
    assert_eq!(note.links, ["[[Other]]", "[[pic.png]]", "y.md"]);
    let headings: Vec<(u8, &str)> = note.headings.iter().map(|it| (it.level, it.text.as_str())).collect();
    assert_eq!(headings, [(1, "H 1"), (2, "Sub"), (2, "code here")]);
    assert!(note.body().starts_with("# H"));
    for (path, text, title) in [
        ("a/b c.md", "no heading", "b c"),
        ("a.md", "## two\n\n# one\n", "one"),
        ("a.md", "---\nnot closed", "a"),
        ("a.md", "---\n---\n# x", "x"),
        ("a.md", "---\ntitle: 2024\ntags: [1, true]\n---\n", "2024"),
        ("a.md", "", "a"),
    ] {
        let note = Note::read(path, text.as_bytes().to_vec()).unwrap();
        assert_eq!((note.title(), note.problem.as_deref()), (title, None), "{text}");
    }
    let broken = Note::read("a.md", b"---\ntitle: x\nb: [\n---\n# H".to_vec()).unwrap();
    assert!(broken.problem.as_deref().unwrap().contains("line"), "{:?}", broken.problem);
    assert_eq!(broken.title(), "H");
    assert!(Note::read("a.md", vec![b'a', 0xff]).unwrap_err().contains("byte 1"));
}

proptest! {
    /// read(render(x)) == x for every title, tag and alias that is let through, and nothing else is.
    #[test]
    fn scalars_come_back(title in any_text(), tag in any_text(), alias in any_text()) {
        let proposal = draft(json!({"title": title, "tags": [tag], "aliases": [alias]}));
        if let Ok(rendered) = render(&proposal, None) {
            let note = read_back(&rendered.text);
            prop_assert_eq!(note.stated_title.unwrap(), title);
            prop_assert_eq!(&note.tags, &[tag]);
            prop_assert_eq!(&note.aliases, &[alias]);
        }
    }

    /// A body is found again as it was, but for tags; and what was rendered is rendered the same way again.
    #[test]
    fn bodies_stay_bodies(body in body_text()) {
        let proposal = draft(json!({"body": body}));
        let Ok(rendered) = render(&proposal, None) else { return Ok(()) };
        let note = read_back(&rendered.text);
        prop_assert_eq!(&note.tags, &["api"]);
        let again = render(&draft(json!({"body": note.body()})), None).unwrap();
        prop_assert_eq!(&again.text.trim_end(), &rendered.text.trim_end());
        prop_assert!(!again.html_escaped);
        if !rendered.html_escaped {
            prop_assert_eq!(note.body().trim(), body.trim());
        }
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let hostile = "[-:#!&*?|>@%`'\"{}\\[\\], \\\\a-zA-Z0-9~=.<\u{e9}\u{2603}\u{1f600}]{3,12}";
    prop_oneof![hostile, "[^\u{0}-\u{1f}]{3,12}", "\\PC{3,20}"]
}

fn body_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<b>"),
        Just("</b>"),
        Just("<script>"),
        Just("<!-- "),
        Just("-->"),
        Just("```\n"),
        Just("`"),
        Just("\n"),
        Just("\n\n"),
        Just("- "),
        Just("  "),
        Just("    "),
        Just("> "),
        Just("| a | b |\n|---|---|\n"),
        Just("x "),
        Just("<https://example.org>"),
        Just("$"),
        Just("[a]("),
        Just(")"),
        Just("# "),
        Just("---\n"),
        Just("&lt;"),
        Just("<![CDATA["),
        Just("]]>"),
        Just("<?php "),
        Just("~~~\n"),
        Just("[^1]: "),
        Just("|"),
        Just("\\"),
    ];
    proptest::collection::vec(piece, 1..24).prop_map(|pieces| pieces.concat())
}
