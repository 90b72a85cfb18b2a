//! Splitting a goal with several independent requests into parts that can be worked on alone. Nothing of the
//! goal is lost: every sentence belongs to a part, introduces one, or is about all of them.

use ordain_clarity::class::Class;
use ordain_clarity::outline::{Entry, Form, Role, outline};
use ordain_clarity::requirement::Requirement;
use ordain_clarity::stems::{Stems, stems};
use ordain_clarity::text::{Kind, Text, Token};
use std::collections::BTreeSet;
use std::ops::Range;

/// More parts than this help nobody.
const PARTS_MAX: usize = 24;
/// A longer introduction stands only before the first part that it introduces.
const INTRODUCTION_CHARS_MAX: usize = 80;

/// One part of a goal. Sentences are named by their position.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Concern {
    /// The heading and the lead-in that it stands under.
    pub(crate) introduction: Vec<usize>,
    /// Its own sentences, in order.
    pub(crate) sentences: Vec<usize>,
    /// The sentence that asks for something.
    pub(crate) request: usize,
}

/// The parts of a goal, and what holds for all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Concerns {
    /// None when the goal is about one thing.
    pub(crate) parts: Vec<Concern>,
    /// Sentences that every part needs, each with its heading: what is out of scope, when the work is done,
    /// what it may cost.
    pub(crate) everywhere: Vec<(Option<usize>, usize)>,
}

/// Words before the verb of a request.
#[rustfmt::skip]
pub(crate) static OPENERS: &[&str] = &[
    "please", "also", "then", "and", "additionally", "finally", "next", "second", "secondly", "third", "first", "besides", "furthermore",
    "moreover", "in", "addition", "lastly", "afterwards", "separately", "meanwhile", "plus",
];

/// Verbs that qualify the request before them rather than start one.
static QUALIFIERS: &[&str] = &[
    "ensure", "include", "keep", "let", "make", "return", "test", "use", "verify", "cover", "validate",
    "document", "support", "log", "report", "run", "reject", "limit", "check",
];

/// Splits a goal. `read` has what each of its sentences demands.
pub(crate) fn concerns(goal: &Text<'_>, read: &[Requirement]) -> Concerns {
    let entries = outline(goal);
    let mut found = Split::default();
    for (at, (range, entry)) in goal.sentences.iter().zip(&entries).enumerate() {
        let sentence = goal.sentence(range);
        let everywhere = read.get(at).is_some_and(|it| it.everywhere || it.acceptance);
        found.add(at, entry, sentence, everywhere);
    }
    found.finish(entries.len())
}

/// The parts found so far.
#[derive(Default)]
struct Split {
    concerns: Concerns,
    /// Text that explains a later part.
    pending: Vec<usize>,
    lead_in: Option<usize>,
    /// Headings that no part or sentence has needed yet.
    title: Option<usize>,
    /// How far the items of the current list are indented.
    indent: Option<usize>,
    /// Whether the sentence before went to all parts.
    shared: bool,
}

impl Split {
    fn add(&mut self, at: usize, entry: &Entry, sentence: &[Token<'_>], everywhere: bool) {
        let shared = std::mem::take(&mut self.shared);
        match (entry.form, entry.role) {
            (Form::Title, Role::Work | Role::Background) => {
                self.pending.extend(self.title.replace(at));
                self.pending.extend(self.lead_in.take());
                self.indent = None;
            }
            (Form::Title, _) => {
                self.pending.extend(self.title.take());
                self.pending.extend(self.lead_in.take());
                self.indent = None;
            }
            (_, Role::OutOfScope | Role::Acceptance | Role::Everywhere) => {
                self.concerns.everywhere.push((entry.title, at));
            }
            (Form::InItem, _) if shared => self.share(at),
            (_, Role::Background) => self.explain(at),
            (Form::LeadIn, _) => {
                self.pending.extend(self.lead_in.replace(at));
                self.indent = None;
            }
            (Form::Item(indent), _) => {
                let first = *self.indent.get_or_insert(indent);
                match indent > first {
                    true => self.explain(at),
                    false if everywhere && !is_request(sentence, true) => self.share(at),
                    false => self.start(at, entry.title),
                }
            }
            (Form::InItem, _) => self.explain(at),
            (Form::Prose, _) => {
                self.indent = None;
                self.pending.extend(self.lead_in.take());
                let starts = starts_concern(sentence, self.concerns.parts.is_empty(), entry.clause);
                match starts {
                    _ if everywhere && !starts => self.share(at),
                    true => self.start(at, entry.title),
                    false => self.explain(at),
                }
            }
        }
    }

    fn share(&mut self, at: usize) {
        self.shared = true;
        self.concerns.everywhere.push((None, at));
    }

    /// Text after a request explains it; text before the first one introduces it.
    fn explain(&mut self, at: usize) {
        let waits = !self.pending.is_empty() || self.title.is_some();
        match self.concerns.parts.last_mut().filter(|_| !waits) {
            Some(part) => part.sentences.push(at),
            None => {
                self.pending.extend(self.title.take());
                self.pending.push(at);
            }
        }
    }

    fn start(&mut self, at: usize, title: Option<usize>) {
        let mut sentences = std::mem::take(&mut self.pending);
        sentences.push(at);
        // A heading and a lead-in introduce every part below them.
        self.title = None;
        let introduction = title.into_iter().chain(self.lead_in).collect();
        self.concerns.parts.push(Concern { introduction, sentences, request: at });
    }

    fn finish(self, sentences: usize) -> Concerns {
        let mut concerns = self.concerns;
        if !(2..=PARTS_MAX).contains(&concerns.parts.len()) {
            return Concerns::default();
        }
        let mut placed = vec![false; sentences];
        let of_parts = concerns.parts.iter().flat_map(|it| it.introduction.iter().chain(&it.sentences));
        let shared = concerns.everywhere.iter().flat_map(|(title, at)| title.iter().chain([at]));
        for at in of_parts.chain(shared) {
            if let Some(placed) = placed.get_mut(*at) {
                *placed = true;
            }
        }
        // Whatever has found no place, such as a heading with nothing below it, stands with the last part.
        let left = placed.iter().enumerate().filter(|(_, placed)| !**placed).map(|(at, _)| at);
        if let Some(part) = concerns.parts.last_mut() {
            part.sentences.extend(left);
            part.sentences.sort_unstable();
        }
        concerns
    }
}

fn verb_position(sentence: &[Token<'_>]) -> Option<usize> {
    sentence.iter().position(|it| !(OPENERS.contains(&&*it.lower) || it.text == ","))
}

/// Whether a sentence is an imperative: it starts with a verb that is known, or with a word in the place of one.
fn is_request(sentence: &[Token<'_>], item: bool) -> bool {
    let Some(at) = verb_position(sentence) else { return false };
    let Some(verb) = sentence.get(at).filter(|it| it.is_word()) else { return false };
    let next = sentence.get(at + 1);
    let known = verb.has(Class::REQUEST_VERB.or(Class::MORE_VERB));
    // `Solder the board`, `Frobnicate `x``: an article, a name or a number follows a verb, and seldom a noun.
    let object = next.is_some_and(|it| {
        it.is_literal()
            || it.kind == Kind::Number
            || matches!(
                &*it.lower,
                "the"
                    | "a"
                    | "an"
                    | "all"
                    | "every"
                    | "each"
                    | "our"
                    | "my"
                    | "its"
                    | "their"
                    | "any"
                    | "this"
                    | "these"
                    | "both"
                    | "no"
            )
    });
    let formed = !verb.has(Class::NO_IMPERATIVE)
        && !["ing", "ed", "ly", "tion", "ness", "ment"].iter().any(|it| verb.lower.ends_with(it))
        && (!verb.lower.ends_with('s') || ["ss", "us", "is"].iter().any(|it| verb.lower.ends_with(it)));
    known && (item || next.is_some()) || (formed && object)
}

fn starts_concern(sentence: &[Token<'_>], is_first: bool, clause: bool) -> bool {
    let Some(at) = verb_position(sentence) else { return false };
    let Some(verb) = sentence.get(at).filter(|it| it.is_word()) else { return false };
    let qualifies = !is_first && at == 0 && QUALIFIERS.contains(&&*verb.lower);
    // `Make it configurable` is about what stands before.
    let behind = |ahead: usize| sentence.get(at + ahead).map(|it| &*it.lower).unwrap_or_default();
    let refers_back = matches!(
        behind(1),
        "it" | "this" | "that" | "them" | "these" | "those" | "they" | "its" | "their" | "both"
    ) || matches!(behind(2), "it" | "them" | "its" | "their");
    // Behind a semicolon `write downtime` is a noun: a request names its thing with an article or by its name.
    let named = !clause
        || sentence.get(at + 1).is_some_and(|it| {
            it.is_literal()
                || matches!(&*it.lower, "the" | "a" | "an" | "all" | "every" | "each")
                || it.is_capitalized()
        });
    is_request(sentence, false) && !qualifies && !refers_back && named
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

/// The stems of the words of a part that carry weight.
fn topic(goal: &Text<'_>, part: &Concern) -> Stems {
    let ranges: Vec<&Range<usize>> =
        part.introduction.iter().chain(&part.sentences).filter_map(|at| goal.sentences.get(*at)).collect();
    let tokens = ranges.iter().flat_map(|range| goal.sentence(range));
    stems(tokens.filter(|it| !PLAIN_VERBS.contains(&&*it.lower)))
}

/// Which parts each constraint touches: those with which it shares most, or all when it shares nothing with any.
pub(crate) fn touched(
    goal: &Text<'_>,
    parts: &[Concern],
    constraints: &[Vec<Requirement>],
) -> Vec<Vec<usize>> {
    let topics: Vec<Stems> = parts.iter().map(|part| topic(goal, part)).collect();
    // A word in every part tells none of them apart.
    let common = |stem: &String| topics.iter().all(|topic| topic.contains(stem));
    let own: Vec<BTreeSet<&String>> =
        topics.iter().map(|topic| topic.iter().filter(|it| !common(it)).collect()).collect();
    let about: Vec<BTreeSet<&String>> = constraints
        .iter()
        .map(|read| read.iter().flat_map(|it| it.about.iter().chain(it.about_condition.iter())).collect())
        .collect();
    let mut touched: Vec<Vec<usize>> = about.iter().map(|about| nearest(&own, about)).collect();
    // A text that shares nothing with a part may still share with the constraints of just one part.
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
        if parts_of.is_empty() || read.iter().any(|it| it.acceptance || it.everywhere) {
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

/// Whether an introduction is short enough to stand before every part.
pub(crate) fn is_short(introduction: &str) -> bool {
    introduction.chars().nth(INTRODUCTION_CHARS_MAX).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_clarity::requirement::requirements;

    fn parts(goal: &str) -> Vec<String> {
        let text = Text::new(goal);
        let found = concerns(&text, &requirements(&text));
        let sentence = |at: &usize| text.sentence_text(&text.sentences[*at]);
        let mut shown: Vec<String> = found
            .parts
            .iter()
            .map(|it| it.introduction.iter().chain(&it.sentences).map(sentence).collect::<Vec<_>>().join(" "))
            .collect();
        shown.extend(found.everywhere.iter().map(|(title, at)| {
            let title = title.as_ref().map(|it| format!("{} ", sentence(it))).unwrap_or_default();
            format!("all: {title}{}", sentence(at))
        }));
        shown
    }

    #[test]
    fn independent_requests_are_parts() {
        for (goal, expected) in [
            (
                "Add pagination to GET /orders. Also send `Retry-After` with every 429.",
                vec!["Add pagination to GET /orders.", "Also send `Retry-After` with every 429."],
            ),
            (
                "Fix the login:\n- Add a captcha\n- Remove the old form",
                vec!["Fix the login: Add a captcha", "Fix the login: Remove the old form"],
            ),
            ("Add a log. Make it rotate daily.", vec![]),
            ("Add a log. Use JSON for it.", vec![]),
            ("Users complain. Add a log.", vec![]),
            (
                "Users complain. Add a log. The log is read by the operators. Remove the metrics.",
                vec!["Users complain. Add a log. The log is read by the operators.", "Remove the metrics."],
            ),
            (
                "1. Increase the memory limit of `api` to 1Gi\n2. Remove the file `b.txt`\n3. Rename `c.txt` to `d.txt`",
                vec![
                    "Increase the memory limit of `api` to 1Gi",
                    "Remove the file `b.txt`",
                    "Rename `c.txt` to `d.txt`",
                ],
            ),
            (
                "Solder the `alpha` module in `a.py`. Remove the file `b.txt`.",
                vec!["Solder the `alpha` module in `a.py`.", "Remove the file `b.txt`."],
            ),
            (
                "Migrate the `users` table to PostgreSQL 16; write downtime at most 5 minutes. Rename `a` to `b`.",
                vec![
                    "Migrate the `users` table to PostgreSQL 16; write downtime at most 5 minutes.",
                    "Rename `a` to `b`.",
                ],
            ),
            (
                "# Shop\n- Add coupons\n- Fix rounding\n\n## Not in scope\n- Admin pages\n\n## Acceptance\nAll tests pass.",
                vec![
                    "Shop Add coupons",
                    "Shop Fix rounding",
                    "all: Not in scope Admin pages",
                    "all: Acceptance All tests pass.",
                ],
            ),
        ] {
            assert_eq!(parts(goal), expected, "{goal}");
        }
    }
}
