//! `cargo xtask prose`: the part of the house voice that a machine can check.
//!
//! It reads Markdown pages, comments of Rust sources and string literals that are messages, and reports:
//!
//! - sentences that open with *What*, *Who*, *Whoever*, *Of* or *That which*. A question that ends in `?`
//!   may. Titles may too, since they are not sentences: headings, and literals with a capital and no full stop;
//! - phrases that no native writer uses, see [`rules::PHRASES`];
//! - sentences of more than [`rules::WORDS_MAX`] words, and lines of more than [`rules::COLUMNS_MAX`] columns;
//! - messages with advice glued on (`…; run …`), which belongs in a hint: a field of its own, a line of its own.
//!
//! Code blocks, quoted code and block quotes are not prose. Tests are programs and not messages, so only their comments
//! are checked. There is no list of exceptions.

mod markdown;
mod rules;
mod rust;

use crate::generate::files_below;
use crate::process::root;
use crate::{Result, no_arguments};
use std::fs;
use std::path::{Path, PathBuf};

/// A piece of text that is read by itself: a paragraph, an item of a list, a cell, a comment, a literal.
#[derive(Debug, PartialEq, Eq)]
struct Passage {
    /// The line in the file on which it starts.
    line: usize,
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Sentences of a page or a comment, with capital letters.
    Sentences,
    /// A message or a part of one: it may start in lower case.
    Message,
    /// A message that is a hint itself.
    Hint,
}

/// Pages and folders of pages.
const PAGES: &[&str] = &[
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CHANGELOG_GOLDENS.md",
    "docs",
    "conformance",
    "examples",
    "crates",
];
const SOURCES: &[&str] = &["crates", "xtask", "fuzz/fuzz_targets"];
/// Inputs and expected outputs of tests, not our words.
const DATA: &[&str] = &["conformance/decide/", "/tests/", "/fixtures/", "/goldens/", "/target/"];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    Ok(check()?)
}

pub(crate) fn check() -> std::result::Result<(), String> {
    let mut problems = Vec::new();
    for (name, text) in texts(PAGES, "md")? {
        if !DATA.iter().any(|part| name.contains(part)) {
            problems.extend(page_problems(&name, &text));
        }
    }
    for (name, text) in texts(SOURCES, "rs")? {
        problems.extend(source_problems(&name, &text));
    }
    if problems.is_empty() {
        return Ok(());
    }
    let count = problems.len();
    Err(format!("{}\n{count} places break the rules in xtask/src/prose.rs", problems.join("\n")))
}

/// The files below these paths with this extension: names from the root, and texts.
fn texts(paths: &[&str], extension: &str) -> std::result::Result<Vec<(String, String)>, String> {
    let mut texts = Vec::new();
    for path in paths {
        let start = root().join(path);
        let files: Vec<PathBuf> = if start.is_file() {
            vec![start]
        } else {
            files_below(&start).map_err(|error| format!("{path}: {error}"))?
        };
        for file in files.iter().filter(|file| file.extension().is_some_and(|found| found == extension)) {
            let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
            texts.push((name_of(file), text));
        }
    }
    Ok(texts)
}

fn name_of(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).to_string_lossy().replace('\\', "/")
}

fn page_problems(name: &str, text: &str) -> Vec<String> {
    let page = markdown::read(text);
    let mut problems = passage_problems(name, &page.passages);
    // Generated pages quote reports and titles, one on each line.
    if !text.starts_with("<!-- Generated") {
        problems.extend(line_problems(name, &page.lines));
    }
    problems
}

fn source_problems(name: &str, text: &str) -> Vec<String> {
    let tested = if name.contains("/tests/") || name.ends_with("_tests.rs") || name.ends_with("/tests.rs") {
        rust::Tested::Everything
    } else {
        rust::Tested::Modules
    };
    let source = rust::read(text, tested);
    let mut problems = passage_problems(name, &source.passages);
    problems.extend(line_problems(name, &source.comment_lines));
    problems
}

fn passage_problems(name: &str, passages: &[Passage]) -> Vec<String> {
    let mut problems = Vec::new();
    for passage in passages {
        for problem in rules::problems(&passage.text, passage.kind) {
            problems.push(format!("{name}:{}: {problem}", passage.line));
        }
    }
    problems
}

fn line_problems(name: &str, lines: &[(usize, usize)]) -> Vec<String> {
    let long = lines.iter().filter(|(_, columns)| *columns > rules::COLUMNS_MAX);
    long.map(|(line, columns)| {
        format!(
            "{name}:{line}: a line of {columns} columns; at most {} are read at a glance",
            rules::COLUMNS_MAX
        )
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_sources_are_reported_with_their_lines() {
        let page = "# What it holds\n\nA fine sentence.\n\n- What is no path is refused.\n";
        assert_eq!(
            page_problems("a.md", page),
            [
                "a.md:5: opens with `What`: What is no path is refused.",
                "a.md:5: says `is no path`: What is no path is refused."
            ]
        );
        let source = "//! Of the record.\nfn f() { fail(\"it is gone; run it again\") }\n";
        assert_eq!(
            source_problems("src/a.rs", source),
            [
                "src/a.rs:1: opens with `Of`: Of the record.",
                "src/a.rs:2: glues on a hint (`; run`): it is gone; run it again",
            ]
        );
        assert_eq!(source_problems("x/tests/a.rs", source).len(), 1);
        let long = format!("{}\n", "word ".repeat(25));
        assert_eq!(page_problems("a.md", &long).len(), 1);
    }
}
