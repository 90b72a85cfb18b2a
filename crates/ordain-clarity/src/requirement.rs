//! What a sentence of a constraint demands: how strongly, of whom, what, under which condition, how much.

use crate::detect::is_acceptance;
use crate::lexicon::{MORE_VERBS, REQUEST_VERBS, WEIGHTLESS};
use crate::quantity::{Bound, Quantities, Quantity, limit_name, quantities};
use crate::relation::{equates, order};
use crate::technology::{Named, technologies};
use crate::text::{Kind, Text, Token, stem};
use std::collections::BTreeSet;
use std::ops::Range;

/// How strongly something is demanded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Modality {
    Must,
    MustNot,
    Should,
    May,
}

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
    pub about: BTreeSet<String>,
    /// Those of them that stand before the first preposition: `store tokens` of `store tokens in the keychain`.
    pub lead: BTreeSet<String>,
    /// The stems of the condition.
    pub about_condition: BTreeSet<String>,
    /// `X must be Y`: the stems of X, and Y if it is one definite thing.
    pub equates: Option<(BTreeSet<String>, String)>,
    /// Whether it says `only`.
    pub only: bool,
    /// Whether it demands something: by a modal verb, by a label, or as a request.
    pub demands: bool,
    /// Who does it, where the sentence says so: the stems, and whether it is about just these or about all.
    pub actors: Option<(Actors, BTreeSet<String>)>,
    /// Whether it says that there is none of something.
    pub none: bool,
    /// `A before B`: the stems of both.
    pub order: Option<(BTreeSet<String>, BTreeSet<String>)>,
    /// Words in lower case, for opposites.
    pub words: BTreeSet<String>,
}

impl Requirement {
    /// Whether the sentence itself says that it is a demand or a criterion.
    pub fn is_explicit(&self) -> bool {
        let modal =
            ["must", "shall", "should", "may", "cannot", "never"].iter().any(|it| self.words.contains(*it));
        self.acceptance || self.negative || self.labelled || (modal && self.actor.is_some())
    }
}

/// Reads every sentence of a text.
pub fn requirements(text: &Text<'_>) -> Vec<Requirement> {
    let named = technologies(text);
    text.sentences.iter().map(|range| read(text, range, &named)).collect()
}

/// Where the parts of a sentence stand.
pub struct Parts {
    pub modality: Modality,
    pub negative: bool,
    /// The tokens of the modal verb, with its `not`.
    pub modal: Option<Range<usize>>,
    condition: Option<Range<usize>>,
}

fn read(text: &Text<'_>, range: &Range<usize>, named: &[Named]) -> Requirement {
    let sentence = text.sentence(range);
    let mut parts = parts_of(sentence);
    let found = quantities(sentence, parts.negative);
    let only = sentence.iter().any(|it| matches!(&*it.lower, "only" | "exclusively" | "solely"));
    // `Only the admin may …` is a limit, not a permission.
    if parts.modality == Modality::May && only {
        parts.modality = Modality::Must;
    }
    // Both are in the order of the text.
    let first = named.partition_point(|it| it.token < range.start);
    let technologies: Vec<Named> =
        named.iter().skip(first).take_while(|it| it.token < range.end).cloned().collect();
    let in_condition = |at: usize| parts.condition.as_ref().is_some_and(|it| it.contains(&at));
    let content = |at: usize| !in_condition(at) && !covered(&found, at);
    let tokens = sentence.iter().enumerate();
    let mut about = stems(tokens.clone().filter(|(at, _)| content(*at)).map(|(_, it)| it));
    if has_relative_clause(sentence) {
        about.insert(RELATIVE.to_owned());
    }
    let lead_end = lead_end(sentence, &parts);
    let lead = stems(tokens.clone().filter(|(at, _)| *at < lead_end && content(*at)).map(|(_, it)| it));
    // What something is for is no condition of it.
    let purpose = parts
        .condition
        .as_ref()
        .is_some_and(|it| sentence.get(it.start).is_some_and(|it| it.is("so") || it.is("in")));
    let about_condition = stems(tokens.filter(|(at, _)| in_condition(*at) && !purpose).map(|(_, it)| it));
    let (actor, action, object) = clause(text, sentence, &parts);
    Requirement {
        text: text.sentence_text(range).to_owned(),
        modality: parts.modality,
        negative: parts.negative,
        mixed: is_mixed(sentence),
        actor,
        action,
        object,
        condition: parts.condition.as_ref().and_then(|it| slice_text(text, sentence, it)),
        quantities: found.list.clone(),
        paths: sentence.iter().filter_map(|it| it.path()).map(str::to_owned).collect(),
        equates: equates(sentence, &parts, &technologies, range.start),
        technologies,
        acceptance: is_acceptance(sentence) || is_criterion(sentence),
        labelled: labelled(sentence).is_some(),
        everywhere: is_everywhere(sentence, &parts, &found),
        about,
        lead,
        about_condition,
        only,
        demands: parts.modal.is_some() || first_is_request(sentence),
        actors: actors(sentence, &parts),
        none: says_none(sentence),
        order: order(sentence, &parts),
        words: sentence.iter().filter(|it| it.is_word()).map(|it| it.lower.to_string()).collect(),
    }
}

/// Of whom a sentence speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Actors {
    Only,
    Some,
}

fn first_is_request(sentence: &[Token<'_>]) -> bool {
    sentence.first().is_some_and(|it| REQUEST_VERBS.contains(&&*it.lower) || MORE_VERBS.contains(&&*it.lower))
}

/// `Only admins may …`, `may be deleted only by accountants`, `Every user may …`.
fn actors(sentence: &[Token<'_>], parts: &Parts) -> Option<(Actors, BTreeSet<String>)> {
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

/// Stands in `about` for whatever a relative clause says: `files that are in use` are not all files.
const RELATIVE: &str = "that …";

fn has_relative_clause(sentence: &[Token<'_>]) -> bool {
    sentence.windows(2).any(|pair| match pair {
        [before, it] => {
            matches!(&*it.lower, "that" | "which" | "who" | "whose")
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
    let ends = |at: &usize| {
        sentence.get(*at).is_some_and(|it| {
            matches!(
                &*it.lower,
                "in" | "to"
                    | "for"
                    | "on"
                    | "into"
                    | "from"
                    | "with"
                    | "at"
                    | "via"
                    | "by"
                    | "during"
                    | "under"
            )
        })
    };
    (from..sentence.len()).find(ends).unwrap_or(sentence.len())
}

fn parts_of(sentence: &[Token<'_>]) -> Parts {
    let condition = condition(sentence);
    if let Some((modality, negative, length)) = labelled(sentence) {
        return Parts { modality, negative, modal: Some(0..length), condition };
    }
    let (modality, negative, modal) = modality(sentence, condition.as_ref());
    Parts { modality, negative, modal, condition }
}

/// Openings that say how strongly a sentence is meant.
#[rustfmt::skip]
static LABELS: &[(&[&str], Modality, bool)] = &[
    (&["out", "of", "scope"], Modality::MustNot, true),
    (&["not", "in", "scope"], Modality::MustNot, true),
    (&["non-goal"], Modality::MustNot, true),
    (&["non-goals"], Modality::MustNot, true),
    (&["under", "no", "circumstances"], Modality::MustNot, true),
    (&["refrain", "from"], Modality::MustNot, true),
    (&["zero"], Modality::MustNot, true),
    (&["nice", "to", "have"], Modality::Should, false),
    (&["recommended"], Modality::Should, false),
    (&["where", "possible"], Modality::Should, false),
    (&["if", "possible"], Modality::Should, false),
    (&["ideally"], Modality::Should, false),
    (&["preferably"], Modality::Should, false),
    (&["prefer"], Modality::Should, false),
    (&["we", "would", "like"], Modality::Should, false),
    (&["nice-to-have"], Modality::Should, false),
    (&["would", "be", "nice"], Modality::Should, false),
    (&["it", "would", "be", "nice"], Modality::Should, false),
    (&["optionally"], Modality::May, false),
    (&["optional", ":"], Modality::May, false),
    (&["(", "optional", ")"], Modality::May, false),
    (&["bonus", ":"], Modality::May, false),
    (&["stretch", ":"], Modality::May, false),
    (&["stretch", "goal"], Modality::May, false),
    (&["stretch", "goals"], Modality::May, false),
    (&["it", "is", "fine"], Modality::May, false),
    (&["feel", "free"], Modality::May, false),
    (&["you", "are", "free"], Modality::May, false),
];

fn labelled(sentence: &[Token<'_>]) -> Option<(Modality, bool, usize)> {
    LABELS.iter().find_map(|(words, modality, negative)| {
        let opening = sentence.get(..words.len())?;
        let matches = opening.iter().zip(*words).all(|(token, word)| token.is(word));
        matches.then_some((*modality, *negative, words.len()))
    })
}

/// What a result is measured by.
#[rustfmt::skip]
static METRICS: &[&str] = &[
    "accuracy", "auc", "availability", "bleu", "coverage", "downtime", "f1", "f1-score", "latency", "lcp", "mae", "macro-f1", "map",
    "micro-f1", "mse", "p50", "p90", "p95", "p99", "perplexity", "precision", "recall", "rmse", "rouge", "roc-auc", "score", "throughput", "uptime", "wer",
];

/// `macro-F1 must be at least 0.82`: a figure that the result is judged by.
pub(crate) fn is_criterion(sentence: &[Token<'_>]) -> bool {
    let bounded = || {
        quantities(sentence, false).list.iter().any(|it| !matches!(it.bound, Bound::Exactly | Bound::About))
    };
    let modal =
        sentence.iter().any(|it| matches!(&*it.lower, "must" | "shall" | "has" | "reach" | "reaches"));
    let metric = |it: &Token<'_>| {
        (it.is_word() || it.kind == Kind::Identifier) && METRICS.contains(&it.text.to_lowercase().as_str())
    };
    modal && sentence.iter().any(metric) && bounded()
}

/// Words for all of the work.
static WHOLE: &[&str] = &[
    "change", "changes", "code", "commit", "commits", "part", "parts", "step", "steps", "task", "tasks",
    "work",
];

/// Whether a sentence is about all of the work, whatever part of it it stands beside.
fn is_everywhere(sentence: &[Token<'_>], parts: &Parts, found: &Quantities) -> bool {
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
    let request = REQUEST_VERBS.contains(word(0));
    let money = found.list.iter().any(|it| matches!(it.measures, "dollars" | "euros"))
        && sentence.iter().any(|it| matches!(&*it.lower, "cost" | "costs" | "budget" | "spend"));
    let dated = parts.modal.is_some()
        && found.list.iter().any(|it| matches!(it.measures, "date" | "day") && it.bound != Bound::Exactly)
        && sentence.iter().any(|it| {
            matches!(
                &*it.lower,
                "done" | "finished" | "complete" | "completed" | "live" | "merged" | "released" | "shipped"
            )
        });
    scope || all || (!request && (money || dated))
}

fn covered(found: &Quantities, at: usize) -> bool {
    found.covered.get(at).copied().unwrap_or_default()
}

fn slice_text(text: &Text<'_>, sentence: &[Token<'_>], range: &Range<usize>) -> Option<String> {
    let tokens = sentence.get(range.clone())?;
    Some(text.between(tokens.first()?, tokens.last()?).trim_end_matches([',', '.', ';', ':']).to_owned())
}

/// What the words are about: stems of words that carry weight, and literals as they are.
pub fn stems<'s, 't: 's>(tokens: impl Iterator<Item = &'s Token<'t>>) -> BTreeSet<String> {
    let mut stems = BTreeSet::new();
    for token in tokens {
        match token.kind {
            Kind::Word if !WEIGHTLESS.contains(&&*token.lower) && !is_modal(&token.lower) => {
                // `HTTPS` is no plural.
                let acronym = token.text.len() > 1
                    && token.text.chars().all(|it| it.is_uppercase() || it.is_ascii_digit());
                stems.insert(if acronym { token.lower.to_string() } else { stem(&token.lower) });
            }
            // Numbers that are no quantities are names.
            Kind::Number => drop(stems.insert(token.text.to_owned())),
            Kind::Identifier | Kind::Code if limit_name(token.text).is_some() => {
                stems.extend(limit_name(token.text).map(|(_, name)| name.to_lowercase()));
            }
            Kind::Quote | Kind::Code | Kind::Path | Kind::Identifier => {
                let bare = token.text.trim_matches(['`', '"', '\'', '“', '”', '‘', '’']);
                stems.insert(bare.to_lowercase());
            }
            _ => {}
        }
    }
    stems
}

fn is_modal(word: &str) -> bool {
    matches!(
        word,
        "must" | "shall" | "should" | "may" | "can" | "will" | "could" | "might" | "needs" | "ought"
    )
}

/// `if …`, `when …`: up to the comma when it comes first, else to the end.
fn condition(sentence: &[Token<'_>]) -> Option<Range<usize>> {
    let starts = |token: &Token<'_>| {
        token.is_word()
            && matches!(
                &*token.lower,
                "if" | "when" | "unless" | "while" | "whenever" | "until" | "once" | "during" | "where"
            )
    };
    let purpose = sentence.windows(2).position(|pair| {
        matches!(pair, [so, that] if (so.is("so") && that.is("that")) || (so.is("in") && that.is("order")))
    });
    let at = sentence.iter().position(starts).into_iter().chain(purpose).min()?;
    // `done when …` is no condition.
    if at == 1
        && sentence
            .first()
            .is_some_and(|it| matches!(&*it.lower, "done" | "complete" | "finished" | "accepted"))
    {
        return None;
    }
    let comma = sentence.iter().skip(at).position(|it| it.text == ",").map(|offset| at + offset);
    match (at, comma) {
        (0, Some(comma)) => Some(0..comma + 1),
        (0, None) => None,
        _ => Some(at..sentence.len()),
    }
}

/// How strongly a sentence demands, whether it denies, and where its modal verb stands. Only the main clause counts:
/// `skip rows that must not be imported` is no ban.
fn modality(
    sentence: &[Token<'_>],
    condition: Option<&Range<usize>>,
) -> (Modality, bool, Option<Range<usize>>) {
    let word =
        |at: usize| sentence.get(at).filter(|it| it.is_word()).map(|it| &*it.lower).unwrap_or_default();
    let first = condition.filter(|range| range.start == 0).map_or(0, |range| range.end);
    let relative = |at: usize| {
        (1..=2).any(|back| {
            at.checked_sub(back).is_some_and(|at| matches!(word(at), "that" | "which" | "who" | "whose"))
        })
    };
    let main = |at: &usize| condition.is_none_or(|range| !range.contains(at)) && !relative(*at);
    let nobody = matches!(word(first), "nobody" | "none" | "neither")
        || (word(first) == "no" && !is_bound(word(first + 1)));
    // `3 May` is a day.
    let month = |at: usize| at > 0 && sentence.get(at).is_some_and(|it| it.text == "May");
    for at in (0..sentence.len()).filter(main).filter(|at| !month(*at)) {
        let denied = |ahead: usize| matches!(word(at + ahead), "not" | "never");
        let found = match word(at) {
            "must" | "shall" | "will" | "may" | "can" | "could" | "might" if denied(1) => {
                Some((Modality::MustNot, true, 2))
            }
            "must" | "shall" | "will" | "may" | "can" | "should" if nobody => {
                Some((Modality::MustNot, true, 1))
            }
            "must" | "shall" | "will"
                if word(at + 1) == "be" && word(at + 2) == "no" && !is_bound(word(at + 3)) =>
            {
                Some((Modality::MustNot, true, 3))
            }
            "must" | "shall" | "will" | "can" => Some((Modality::Must, false, 1)),
            "mustn't" | "cannot" | "can't" | "won't" => Some((Modality::MustNot, true, 1)),
            "shouldn't" => Some((Modality::Should, true, 1)),
            "should" | "ought" if denied(1) => Some((Modality::Should, true, 2)),
            "should" | "ought" => Some((Modality::Should, false, 1)),
            "may" | "could" | "might" => Some((Modality::May, false, 1)),
            "has" | "have" | "needs" | "need" if word(at + 1) == "to" => Some((Modality::Must, false, 2)),
            _ => None,
        };
        if let Some((modality, negative, length)) = found {
            return (modality, negative, Some(at..(at + length).min(sentence.len())));
        }
    }
    let opening = match (word(first), word(first + 1)) {
        ("do", "not") => Some((Modality::MustNot, true, 2)),
        ("don't" | "never" | "avoid", _) => Some((Modality::MustNot, true, 1)),
        ("no", next) if !is_bound(next) => Some((Modality::MustNot, true, 1)),
        ("without", _) if sentence.len() <= first + 5 => Some((Modality::MustNot, true, 1)),
        _ => None,
    };
    if let Some((modality, negative, length)) = opening {
        return (modality, negative, Some(first..(first + length).min(sentence.len())));
    }
    // A request says what to do, whatever it says about the things it is done to.
    if REQUEST_VERBS.contains(word(first)) && word(first + 1) != "of" {
        return (Modality::Must, false, None);
    }
    for at in (first + 1..sentence.len()).filter(main) {
        let denied = matches!(word(at + 1), "not" | "never");
        let length = match word(at) {
            "is" | "are" if denied && matches!(word(at + 2), "allowed" | "permitted") => 3,
            "is" | "are" if matches!(word(at + 1), "forbidden" | "prohibited" | "disallowed") => 2,
            "is" | "are" | "does" | "do" if denied => 2,
            "never" | "doesn't" | "don't" | "isn't" | "aren't" => 1,
            _ => continue,
        };
        return (Modality::MustNot, true, Some(at..(at + length).min(sentence.len())));
    }
    (Modality::Must, false, None)
}

/// `no more than`, `no later than`: a bound, not a ban.
fn is_bound(word: &str) -> bool {
    matches!(
        word,
        "more"
            | "fewer"
            | "less"
            | "later"
            | "earlier"
            | "longer"
            | "shorter"
            | "larger"
            | "smaller"
            | "higher"
            | "lower"
    )
}

/// Whether a sentence has modal verbs of more than one kind: `must not …, and must …`.
fn is_mixed(sentence: &[Token<'_>]) -> bool {
    let mut kinds = BTreeSet::new();
    for (at, token) in sentence.iter().enumerate() {
        let denied = sentence.get(at + 1).is_some_and(|it| matches!(&*it.lower, "not" | "never"));
        let strength = match &*token.lower {
            "must" | "shall" => 0,
            "should" => 1,
            "may" => 2,
            _ => continue,
        };
        kinds.insert((strength, denied));
    }
    kinds.len() > 1
}

/// Words that end an object.
static OBJECT_ENDS: &[&str] = &[
    "within", "under", "when", "if", "before", "after", "until", "unless", "while", "because", "so", "that",
    "which", "where", "for", "by", "with", "without", "at", "during", "as", "to", "from", "in", "on", "into",
    "via", "using",
];

/// Who does what to what, as far as the order of the words tells.
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
    if parts.modal.is_none() && (label || !REQUEST_VERBS.contains(&&*verb.lower)) {
        return (actor, None, None);
    }
    let object_end = (at + 1..end)
        .find(|at| {
            sentence.get(*at).is_none_or(|it| it.kind == Kind::Mark || OBJECT_ENDS.contains(&&*it.lower))
        })
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
