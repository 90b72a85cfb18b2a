//! Findings that count in one genre only. In the head of a function the prose is judged, not the code; in a
//! user story, the wish.

use crate::detect::Hit;
use crate::findings::{Finding, Part};
use crate::lexicon::OPPOSITES;
use crate::rules::index_of;
use crate::text::{Kind, Text, Token};
use std::ops::Range;

/// Marks of an example.
static EXAMPLES: &[&str] = &[
    ">>>",
    "assert",
    "=>",
    "==",
    "for example",
    "e.g.",
    "Example",
    " gives ",
    " is `",
    ") is ",
    "-> {",
    " returns `",
];

/// Words that need a rule before code can follow them.
#[rustfmt::skip]
static TERMS: &[&[&str]] = &[
    &["close", "to"], &["similar"], &["too", "deep"], &["too", "long"], &["too", "many"], &["well-formed"], &["valid"], &["outlier"], &["outliers"], &["behave"], &["sensible"],
    &["reasonable"], &["suitable"], &["appropriate"], &["gracefully"], &["nice"], &["nicely"], &["pretty"], &["important"], &["interesting"], &["special"], &["relevant"], &["certain"], &["some", "kind"],
    &["enough"], &["long", "words"], &["as", "well"], &["often"], &["usually"], &["depending", "on"], &["best", "match"], &["human", "readable"], &["properly"], &["correctly"], &["as", "needed"],
    &["if", "possible"], &["normalize"], &["normalise"], &["working", "day"],
];

/// Words that no sentence ends with.
#[rustfmt::skip]
static OPEN_ENDS: &[&str] = &["a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "if", "in", "into", "is", "of", "on", "or", "that", "the", "then", "to", "when", "where", "which", "will", "with"];

/// Words with which a wish leaves open what is wanted.
#[rustfmt::skip]
static WISH_TERMS: &[&[&str]] = &[
    &["important"], &["smarter"], &["smart"], &["enough"], &["soon"], &["too", "long"], &["dealt", "with"], &["improved"], &["better"], &["faster"], &["easier"], &["stuff"], &["a", "few"],
    &["usual"], &["properly"], &["meaningful"], &["relevant"], &["certain"], &["somehow"], &["insights"], &["bad"], &["nicer"], &["modern"], &["suitable"], &["appropriate"], &["more", "control"],
    &["helpful"], &["useful"], &["simpler"], &["new", "format"], &["similar"], &["maybe"], &["etc"], &["as", "needed"], &["and", "so", "on"], &["what", "i", "need"], &["what", "matters"], &["at", "a", "glance"],
    &["we", "discussed"], &["we", "need"], &["be", "able", "to", "export"], &["regularly"], &["recent"], &["too", "many"], &["too", "much"],
];

/// Fewer words say nothing.
const PROSE_WORDS_MIN: usize = 6;

/// The lines of prose: inside a docstring, or behind the mark of a comment.
fn prose(source: &str) -> String {
    let mut prose = String::new();
    for quotes in ["\"\"\"", "'''"] {
        let inside = source.split(quotes).skip(1).step_by(2);
        inside.for_each(|text| {
            prose.push_str(text);
            prose.push('\n');
        });
    }
    for line in source.lines().map(str::trim_start) {
        let comment = ["///", "//", "/**", "*/", "*", "# "].iter().find_map(|it| line.strip_prefix(it));
        if let Some(text) = comment {
            prose.push_str(text.trim_end_matches("*/").trim());
            prose.push('\n');
        }
    }
    let lines = prose.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with(">>>")
            && !line.starts_with('@')
            && !line.starts_with("```")
            && !line.starts_with(":param")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Adds what is unclear about a stub.
pub(crate) fn find_in_stub(stub: &Text<'_>, findings: &mut Vec<Finding>) {
    let prose = prose(stub.source);
    let text = Text::new(&prose);
    let mut add = |rule: &str, words: &str| {
        let start = stub.source.find(words).unwrap_or_default();
        let hit = Hit { start, words: words.to_owned(), options: Vec::new() };
        findings.push(Finding { rule: index_of(rule), part: Part::Goal, hit });
    };
    let words: Vec<&Token<'_>> = text.tokens.iter().filter(|it| it.is_word()).collect();
    let opening = stub.source.lines().find(|it| !it.trim().is_empty()).unwrap_or_default().trim();
    let opening: String = opening.chars().take(60).collect();
    if !EXAMPLES.iter().any(|it| stub.source.contains(it)) {
        add("stub-example", &opening);
    }
    if words.len() < PROSE_WORDS_MIN && text.tokens.iter().filter(|it| it.kind == Kind::Code).count() < 2 {
        add("stub-short", prose.trim().lines().next().filter(|it| !it.is_empty()).unwrap_or(&opening));
    }
    for three in words.windows(3) {
        if let [one, or, other] = three
            && or.is("or")
            && OPPOSITES.iter().any(|(a, b)| (one.is(a) && other.is(b)) || (one.is(b) && other.is(a)))
        {
            add("stub-choice", text.between(one, other));
        }
    }
    // An example or a note may follow the sentence that breaks off.
    let last = prose.trim_end().split("\n\n").next().map(str::trim_end).unwrap_or_default();
    let cut = |it: &&str| {
        it.split_whitespace().next_back().is_some_and(|it| OPEN_ENDS.contains(&it.to_lowercase().as_str()))
    };
    if let Some(last) = [prose.trim_end(), last].into_iter().find(cut) {
        let tail: Vec<&str> = last.lines().next_back().unwrap_or_default().split_whitespace().collect();
        add("stub-cut", &tail.join(" "));
    }
    for (first, last) in terms(&words, TERMS) {
        add("stub-term", text.between(first, last));
    }
}

/// Adds what is unclear about the wish of a user story. `around` is what is not the wish.
pub(crate) fn find_in_story(story: &Text<'_>, around: &[Range<usize>], findings: &mut Vec<Finding>) {
    let wished = |it: &&Token<'_>| it.is_word() && !around.iter().any(|range| range.contains(&it.start));
    let words: Vec<&Token<'_>> = story.tokens.iter().filter(wished).collect();
    for (first, last) in terms(&words, WISH_TERMS) {
        let hit =
            Hit { start: first.start, words: story.between(first, last).to_owned(), options: Vec::new() };
        findings.push(Finding { rule: index_of("wish-term"), part: Part::Goal, hit });
    }
}

/// The first and the last word of each term that is there.
fn terms<'w, 't>(words: &[&'w Token<'t>], terms: &[&[&str]]) -> Vec<(&'w Token<'t>, &'w Token<'t>)> {
    let mut found = Vec::new();
    for (at, first) in words.iter().enumerate() {
        let stands = |term: &&&[&str]| {
            term.iter().enumerate().all(|(ahead, word)| words.get(at + ahead).is_some_and(|it| it.is(word)))
        };
        let last = terms.iter().find(stands).and_then(|term| words.get(at + term.len() - 1));
        found.extend(last.map(|last| (*first, *last)));
    }
    found
}
