//! The demand of a constraint's sentence: how strongly, of whom, what, under which condition, how much.

use crate::class::{Class, entry_of};
use crate::detect::is_acceptance;
use crate::quantity::{Bound, Quantities, Quantity, quantities};
use crate::relation::{equates, order};
use crate::stems::{Stems, stems, weighty};
use crate::strength::{Modality, Parts, is_bound, is_mixed, parts_of};
use crate::technology::Named;
use crate::text::{Kind, Text, Token, class_of, stem};
use std::ops::Range;

/// One sentence of a constraint, read.
#[derive(Clone, Debug)]
pub struct Requirement {
    pub text: String,
    pub modality: Modality,
    /// Whether it asks that something is not so.
    pub negative: bool,
    /// Whether it demands one thing and forbids or allows another.
    pub mixed: bool,
    pub actor: Option<String>,
    pub action: Option<String>,
    pub object: Option<String>,
    pub condition: Option<String>,
    pub quantities: Vec<Quantity>,
    pub paths: Vec<String>,
    pub technologies: Vec<Named>,
    /// Whether it says when the work is done.
    pub acceptance: bool,
    /// Whether its opening says how strongly it is meant: `Optional: …`.
    pub labelled: bool,
    /// Whether it is about all of the work: its cost, its deadline, its scope, its success.
    pub everywhere: bool,
    /// The stems of the words that say what it is about, without quantities and the condition.
    pub about: Stems,
    /// Those of them that stand before the first preposition, if these are fewer: `store tokens` of
    /// `store tokens in the keychain`.
    pub lead: Option<Stems>,
    /// The stems of the condition.
    pub about_condition: Stems,
    /// `X must be Y`: the stems of X, and Y if it is one definite thing.
    pub equates: Option<(Stems, String)>,
    /// Whether it says `only`.
    pub only: bool,
    /// Whether it demands something: by a modal verb, by a label, or as a request.
    pub demands: bool,
    /// The subject, where the sentence names one: the stems, and whether it is about just these or about all.
    pub actors: Option<(Actors, Stems)>,
    /// Whether it says that there is none of something.
    pub none: bool,
    /// `A before B`: the stems of both.
    pub order: Option<(Stems, Stems)>,
    /// The stems of its words that have an opposite.
    pub opposed: Stems,
    /// Whether it has so few words that it is about the whole: `the service is stateless`.
    pub short: bool,
    /// The lists in which its words stand.
    pub class: Class,
}

impl Requirement {
    /// Whether the sentence itself says that it is a demand or a criterion.
    pub fn is_explicit(&self) -> bool {
        let modal = self.class.has(Class::EXPLICIT);
        self.acceptance || self.negative || self.labelled || (modal && self.actor.is_some())
    }
}

/// Reads every sentence of a text.
pub fn requirements(text: &Text<'_>) -> Vec<Requirement> {
    text.sentences.iter().map(|range| read(text, range)).collect()
}

fn read(text: &Text<'_>, range: &Range<usize>) -> Requirement {
    let sentence = text.sentence(range);
    let class = class_of(sentence);
    let parts = parts_of(sentence, class);
    let found = quantities(sentence, parts.negative);
    // Both are in the order of the text.
    let named = text.technologies();
    let first = named.partition_point(|it| it.token < range.start);
    let technologies: Vec<Named> =
        named.iter().skip(first).take_while(|it| it.token < range.end).cloned().collect();
    let topic = Topic::of(sentence, class, &parts, &found);
    let (actor, action, object) = clause(text, sentence, &parts);
    Requirement {
        text: text.sentence_text(range).to_owned(),
        modality: parts.modality,
        negative: parts.negative,
        mixed: class.has(Class::MIXES) && is_mixed(sentence),
        actor,
        action,
        object,
        condition: parts.condition.as_ref().and_then(|it| slice_text(text, sentence, it)),
        paths: sentence.iter().filter_map(|it| it.path()).map(str::to_owned).collect(),
        equates: equates(sentence, class, &parts, &technologies, range.start),
        technologies,
        acceptance: is_acceptance(sentence, class) || is_criterion(sentence, class),
        labelled: parts.labelled,
        everywhere: is_everywhere(sentence, class, &parts, &found),
        about: topic.about,
        lead: topic.lead,
        about_condition: topic.condition,
        only: class.has(Class::ONLY),
        demands: parts.modal.is_some() || first_is_request(sentence),
        actors: actors(sentence, &parts),
        none: class.has(Class::NONE_OF) && says_none(sentence),
        order: if class.has(Class::ORDER) { order(sentence, &parts) } else { None },
        opposed: topic.opposed,
        short: is_short(sentence),
        class,
        quantities: found.list,
    }
}

/// How few words a sentence about the whole has.
const SHORT_WORDS_MAX: usize = 6;

fn is_short(sentence: &[Token<'_>]) -> bool {
    let mut seen: Vec<&str> = Vec::with_capacity(SHORT_WORDS_MAX);
    for token in sentence.iter().filter(|it| it.is_word()) {
        if !seen.contains(&&*token.lower) {
            if seen.len() == SHORT_WORDS_MAX {
                return false;
            }
            seen.push(&token.lower);
        }
    }
    true
}

/// The topic of a sentence, read in one go.
struct Topic {
    about: Stems,
    lead: Option<Stems>,
    condition: Stems,
    opposed: Stems,
}

impl Topic {
    fn of(sentence: &[Token<'_>], class: Class, parts: &Parts, found: &Quantities) -> Self {
        let (mut about, mut lead, mut condition, mut opposed) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let lead_end = if class.has(Class::LEAD_END) { lead_end(sentence, parts) } else { sentence.len() };
        // A purpose is not a condition.
        let begins = parts.condition.as_ref().and_then(|it| sentence.get(it.start));
        let purpose = begins.is_some_and(|it| it.is("so") || it.is("in"));
        for (at, token) in sentence.iter().enumerate() {
            if token.is_word() {
                let stem = stem(&token.lower);
                if entry_of(&stem).class.has(Class::OPPOSED) {
                    opposed.push(stem.into_owned());
                }
            }
            let in_condition = parts.condition.as_ref().is_some_and(|it| it.contains(&at));
            if (in_condition && purpose) || (!in_condition && found.covers(at)) {
                continue;
            }
            let Some(stem) = weighty(token) else { continue };
            if in_condition {
                condition.push(stem);
                continue;
            }
            if at < lead_end && lead_end < sentence.len() {
                lead.push(stem.clone());
            }
            about.push(stem);
        }
        let mut about: Stems = about.into_iter().collect();
        let mut lead = (lead_end < sentence.len()).then(|| lead.into_iter().collect::<Stems>());
        if class.has(Class::RELATIVE) && has_relative_clause(sentence) {
            lead.get_or_insert_with(|| about.clone());
            about.insert(RELATIVE.to_owned());
        }
        let lead = lead.filter(|it| *it != about);
        Self {
            about,
            lead,
            condition: condition.into_iter().collect(),
            opposed: opposed.into_iter().collect(),
        }
    }
}

/// The subject of a sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Actors {
    Only,
    Some,
}

fn first_is_request(sentence: &[Token<'_>]) -> bool {
    sentence.first().is_some_and(|it| it.has(Class::REQUEST_VERB.or(Class::MORE_VERB)))
}

/// `Only admins may …`, `may be deleted only by accountants`, `Every user may …`.
fn actors(sentence: &[Token<'_>], parts: &Parts) -> Option<(Actors, Stems)> {
    let modal = parts.modal.as_ref().filter(|_| !parts.negative)?;
    let only_by = sentence.windows(2).position(|pair| matches!(pair, [a, b] if a.is("only") && b.is("by")));
    if let Some(at) = only_by {
        return Some((Actors::Only, stems(sentence.get(at + 2..)?.iter())));
    }
    let before = sentence.get(..modal.start)?;
    let kind = if before.first().is_some_and(|it| it.is("only")) { Actors::Only } else { Actors::Some };
    let named = stems(before.iter());
    (!named.is_empty()).then_some((kind, named))
}

/// `There must be no downtime`, `Data loss must be zero`.
fn says_none(sentence: &[Token<'_>]) -> bool {
    sentence.windows(2).any(|pair| match pair {
        [it, next] if it.is("no") => next.is_word() && !is_bound(&next.lower),
        [before, it] => it.is("zero") || before.is("zero"),
        _ => false,
    })
}

/// The mark in `about` of a relative clause: `files that are in use` are not all files.
const RELATIVE: &str = "that …";

fn has_relative_clause(sentence: &[Token<'_>]) -> bool {
    sentence.windows(2).any(|pair| match pair {
        [before, it] => {
            it.has(Class::RELATIVE)
                && !matches!(
                    &*before.lower,
                    "ensure" | "ensures" | "so" | "verify" | "check" | "state" | "means" | "sure"
                )
        }
        _ => false,
    })
}

/// Where the first preposition behind the verb and its object stands.
fn lead_end(sentence: &[Token<'_>], parts: &Parts) -> usize {
    let from = parts.modal.as_ref().map_or(1, |modal| modal.end + 1);
    let ends = |at: &usize| sentence.get(*at).is_some_and(|it| it.has(Class::LEAD_END));
    (from..sentence.len()).find(ends).unwrap_or(sentence.len())
}

/// The measure of a result.
#[rustfmt::skip]
pub(crate) static METRICS: &[&str] = &[
    "accuracy", "auc", "availability", "bleu", "coverage", "downtime", "f1", "f1-score", "latency", "lcp", "mae", "macro-f1", "map",
    "micro-f1", "mse", "p50", "p90", "p95", "p99", "perplexity", "precision", "recall", "rmse", "rouge", "roc-auc", "score", "throughput", "uptime", "wer",
];

/// `macro-F1 must be at least 0.82`: a figure that the result is judged by.
pub(crate) fn is_criterion(sentence: &[Token<'_>], class: Class) -> bool {
    let bounded = || {
        quantities(sentence, false).list.iter().any(|it| !matches!(it.bound, Bound::Exactly | Bound::About))
    };
    let metric = |it: &Token<'_>| match it.kind {
        Kind::Word => it.has(Class::METRIC),
        Kind::Identifier => entry_of(&it.text.to_lowercase()).class.has(Class::METRIC),
        _ => false,
    };
    class.has(Class::METRIC_VERB) && sentence.iter().any(metric) && bounded()
}

/// Words for all of the work.
static WHOLE: &[&str] = &[
    "change", "changes", "code", "commit", "commits", "part", "parts", "step", "steps", "task", "tasks",
    "work",
];

/// Whether a sentence is about all of the work, whatever part of it it stands beside.
fn is_everywhere(sentence: &[Token<'_>], class: Class, parts: &Parts, found: &Quantities) -> bool {
    let word = |at: usize| sentence.get(at).map(|it| &*it.lower).unwrap_or_default();
    let scope = matches!(
        (word(0), word(1), word(2)),
        ("out", "of", "scope")
            | ("not", "in", "scope")
            | ("non-goal" | "non-goals" | "budget" | "deadline" | "cost" | "costs", ..)
    ) || matches!(
        (word(0), word(1)),
        ("the" | "total" | "monthly" | "overall", "cost" | "costs" | "budget" | "deadline")
    );
    let first = usize::from(matches!(word(0), "for" | "in"));
    let all = matches!(word(first), "everything" | "nothing")
        || (matches!(word(first), "all" | "every" | "each" | "any")
            && (WHOLE.contains(&word(first + 1)) || WHOLE.contains(&word(first + 2))));
    // A request says what to do; its price or date is its own.
    let request = sentence.first().is_some_and(|it| it.has(Class::REQUEST_VERB));
    let money =
        found.list.iter().any(|it| matches!(it.measures, "dollars" | "euros")) && class.has(Class::COST);
    let dated = parts.modal.is_some()
        && found.list.iter().any(|it| matches!(it.measures, "date" | "day") && it.bound != Bound::Exactly)
        && class.has(Class::DONE);
    scope || all || (!request && (money || dated))
}

fn slice_text(text: &Text<'_>, sentence: &[Token<'_>], range: &Range<usize>) -> Option<String> {
    let tokens = sentence.get(range.clone())?;
    Some(text.between(tokens.first()?, tokens.last()?).trim_end_matches([',', '.', ';', ':']).to_owned())
}

/// Words that end an object.
pub(crate) static OBJECT_ENDS: &[&str] = &[
    "within", "under", "when", "if", "before", "after", "until", "unless", "while", "because", "so", "that",
    "which", "where", "for", "by", "with", "without", "at", "during", "as", "to", "from", "in", "on", "into",
    "via", "using",
];

/// Subject, verb and object, as far as the order of the words tells.
fn clause(
    text: &Text<'_>,
    sentence: &[Token<'_>],
    parts: &Parts,
) -> (Option<String>, Option<String>, Option<String>) {
    let begin = parts.condition.as_ref().filter(|it| it.start == 0).map_or(0, |it| it.end);
    let end = parts.condition.as_ref().filter(|it| it.start > 0).map_or(sentence.len(), |it| it.start);
    let (actor, mut at) = match &parts.modal {
        Some(modal) if modal.start > begin => (slice_text(text, sentence, &(begin..modal.start)), modal.end),
        Some(modal) => (None, modal.end),
        None => (None, begin),
    };
    let mut is_state = false;
    while let Some(token) = sentence
        .get(at)
        .filter(|it| matches!(&*it.lower, "be" | "always" | "also" | "not" | "never" | "only"))
    {
        is_state |= token.is("be");
        at += 1;
    }
    let Some(verb) = sentence.get(at).filter(|it| it.is_word() && at < end) else {
        return (actor, None, None);
    };
    // `must be at most 200` says what something is; `must be sorted` what is done to it.
    let participle = ["ed", "wn", "en", "pt", "ilt", "ent"].iter().any(|it| verb.lower.ends_with(it));
    if is_state && !participle {
        let rest = (at..end)
            .find(|at| sentence.get(*at).is_none_or(|it| matches!(it.text, "," | ";" | ":" | "(")))
            .unwrap_or(end);
        return (actor, Some("be".to_owned()), slice_text(text, sentence, &(at..rest)));
    }
    // Without a modal only an imperative shows which word is the verb; `Test coverage: 90 %` is none.
    let label = sentence.iter().take(4).any(|it| it.text == ":");
    if parts.modal.is_none() && (label || !verb.has(Class::REQUEST_VERB)) {
        return (actor, None, None);
    }
    let object_end = (at + 1..end)
        .find(|at| sentence.get(*at).is_none_or(|it| it.kind == Kind::Mark || it.has(Class::OBJECT_END)))
        .unwrap_or(end);
    let object = if object_end > at + 1 { slice_text(text, sentence, &(at + 1..object_end)) } else { None };
    (actor, Some(verb.lower.to_string()), object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let text = Text::new(text);
        let read = requirements(&text).remove(0);
        let or = |it: &Option<String>| it.clone().unwrap_or_else(|| "-".to_owned());
        format!(
            "{:?} | {} | {} | {} | {}",
            read.modality,
            or(&read.actor),
            or(&read.action),
            or(&read.object),
            or(&read.condition)
        )
    }

    #[test]
    fn parts_of_a_sentence() {
        for (text, expected) in [
            ("The server must log every request.", "Must | The server | log | every request | -"),
            (
                "The sender must not log the request body.",
                "MustNot | The sender | log | the request body | -",
            ),
            (
                "When the cursor is wrong, the endpoint must return 400.",
                "Must | the endpoint | return | 400 | When the cursor is wrong",
            ),
            ("Do not use Redis.", "MustNot | - | use | Redis | -"),
            (
                "Users may reset the password if they are signed in.",
                "May | Users | reset | the password | if they are signed in",
            ),
            ("Add an index on `id`.", "Must | - | add | an index | -"),
            ("Timeout: 30 s", "Must | - | - | - | -"),
            ("Plain-text passwords are not allowed.", "MustNot | Plain-text passwords | - | - | -"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
