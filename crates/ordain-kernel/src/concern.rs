//! Splitting a goal with several independent requests into parts that can be worked on alone.

use ordain_clarity::lexicon::REQUEST_VERBS;
use ordain_clarity::requirement::{Requirement, stems};
use ordain_clarity::text::{Text, Token};
use std::collections::BTreeSet;
use std::ops::Range;

/// More parts than this help nobody.
const CONCERNS_MAX: usize = 8;

/// Words before the verb of a request.
static OPENERS: &[&str] = &[
    "please",
    "also",
    "then",
    "and",
    "additionally",
    "finally",
    "next",
    "second",
    "secondly",
    "third",
    "first",
    "besides",
    "furthermore",
    "moreover",
    "in",
    "addition",
    "lastly",
    "afterwards",
    "separately",
    "meanwhile",
    "plus",
];

/// Verbs that qualify the request before them rather than start one.
static QUALIFIERS: &[&str] = &[
    "ensure", "include", "keep", "let", "make", "return", "test", "use", "verify", "cover", "validate",
    "document", "support", "log", "report", "run", "reject", "limit", "check",
];

/// The byte ranges of the parts of a goal, or nothing when it is about one thing.
pub(crate) fn concerns(goal: &Text<'_>) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for range in &goal.sentences {
        let sentence = goal.sentence(range);
        let (Some(first), Some(last)) = (sentence.first(), sentence.last()) else { continue };
        if starts_concern(sentence, parts.is_empty()) {
            let start = verb_position(sentence).and_then(|at| sentence.get(at)).unwrap_or(first).start;
            parts.push(start..last.end());
        } else if let Some(part) = parts.last_mut() {
            // What follows a request explains it.
            part.end = last.end();
        }
    }
    match parts.len() {
        2..=CONCERNS_MAX => parts,
        _ => Vec::new(),
    }
}

fn verb_position(sentence: &[Token<'_>]) -> Option<usize> {
    sentence.iter().position(|it| !(OPENERS.contains(&&*it.lower) || it.text == ","))
}

fn starts_concern(sentence: &[Token<'_>], is_first: bool) -> bool {
    let Some(at) = verb_position(sentence) else { return false };
    let Some(verb) = sentence.get(at).filter(|it| it.is_word()) else { return false };
    let request = REQUEST_VERBS.contains(&&*verb.lower);
    let qualifies = !is_first && at == 0 && QUALIFIERS.contains(&&*verb.lower);
    // `Make it configurable` is about what stands before.
    let behind = |ahead: usize| sentence.get(at + ahead).map(|it| &*it.lower).unwrap_or_default();
    let refers_back = matches!(
        behind(1),
        "it" | "this" | "that" | "them" | "these" | "those" | "they" | "its" | "their" | "both"
    ) || matches!(behind(2), "it" | "them" | "its" | "their");
    request && !qualifies && !refers_back && sentence.len() > at + 1
}

/// Verbs that say nothing about which part is meant.
static PLAIN_VERBS: &[&str] = &[
    "add",
    "build",
    "change",
    "create",
    "do",
    "get",
    "implement",
    "keep",
    "make",
    "provide",
    "put",
    "set",
    "update",
    "use",
    "write",
];

/// The stems of the words that carry weight.
fn topic(text: &str) -> BTreeSet<String> {
    stems(Text::new(text).tokens.iter().filter(|it| !PLAIN_VERBS.contains(&&*it.lower)))
}

/// Which parts each constraint touches: those with which it shares most, or all when it shares nothing with any.
pub(crate) fn touched(parts: &[String], constraints: &[Vec<Requirement>]) -> Vec<Vec<usize>> {
    let topics: Vec<BTreeSet<String>> = parts.iter().map(|part| topic(part)).collect();
    // A word that stands in every part tells none of them apart.
    let common = |stem: &String| topics.iter().all(|topic| topic.contains(stem));
    let own: Vec<BTreeSet<&String>> =
        topics.iter().map(|topic| topic.iter().filter(|it| !common(it)).collect()).collect();
    let about: Vec<BTreeSet<&String>> = constraints
        .iter()
        .map(|read| read.iter().flat_map(|it| it.about.iter().chain(&it.about_condition)).collect())
        .collect();
    let mut touched: Vec<Vec<usize>> = about.iter().map(|about| nearest(&own, about)).collect();
    // What shares nothing with a part may still share with the constraints of just one part.
    let mut vocabulary: Vec<BTreeSet<&String>> = vec![BTreeSet::new(); parts.len()];
    for (parts, about) in touched.iter().zip(&about) {
        if let [only] = parts.as_slice()
            && let Some(words) = vocabulary.get_mut(*only)
        {
            words.extend(about);
        }
    }
    for (parts_of, (about, read)) in touched.iter_mut().zip(about.iter().zip(constraints)) {
        if parts_of.is_empty() {
            *parts_of = nearest(&vocabulary, about);
        }
        // When the work is done is a matter of all parts, and so is what shares nothing with any.
        if parts_of.is_empty() || read.iter().any(|it| it.acceptance) {
            *parts_of = (0..parts.len()).collect();
        }
    }
    touched
}

/// Which of the topics share most; none when none shares anything.
fn nearest(topics: &[BTreeSet<&String>], about: &BTreeSet<&String>) -> Vec<usize> {
    let shared: Vec<usize> = topics.iter().map(|topic| topic.intersection(about).count()).collect();
    let most = shared.iter().copied().max().filter(|most| *most > 0);
    (0..topics.len()).filter(|at| most.is_some() && shared.get(*at).copied() == most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(goal: &str) -> Vec<&str> {
        let text = Text::new(goal);
        concerns(&text).into_iter().map(|range| &goal[range]).collect()
    }

    #[test]
    fn independent_requests_are_parts() {
        for (goal, expected) in [
            (
                "Add pagination to GET /orders. Also send `Retry-After` with every 429.",
                vec!["Add pagination to GET /orders.", "send `Retry-After` with every 429."],
            ),
            (
                "Fix the login:\n- Add a captcha\n- Remove the old form",
                vec!["Fix the login:", "Add a captcha", "Remove the old form"],
            ),
            ("Add a log. Make it rotate daily.", vec![]),
            ("Add a log. Use JSON for it.", vec![]),
            ("Users complain. Add a log.", vec![]),
            (
                "Add a log. The log is read by the operators. Remove the metrics.",
                vec!["Add a log. The log is read by the operators.", "Remove the metrics."],
            ),
        ] {
            assert_eq!(parts(goal), expected, "{goal}");
        }
    }
}
