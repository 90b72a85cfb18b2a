//! What a sentence of a constraint demands: how strongly, of whom, what, under which condition, how much.

use crate::detect::is_acceptance;
use crate::lexicon::{REQUEST_VERBS, WEIGHTLESS};
use crate::quantity::{Bound, Quantities, Quantity, quantities};
use crate::technology::{Named, technologies};
use crate::text::{Kind, Text, Token, stem};
use std::collections::BTreeSet;
use std::ops::Range;

/// How strongly something is demanded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Modality {
    Must,
    MustNot,
    Should,
    May,
}

/// One sentence of a constraint, read.
#[derive(Clone, Debug)]
pub(crate) struct Requirement {
    pub(crate) text: String,
    pub(crate) modality: Modality,
    /// Whether it demands one thing and forbids or allows another.
    pub(crate) mixed: bool,
    pub(crate) actor: Option<String>,
    pub(crate) action: Option<String>,
    pub(crate) object: Option<String>,
    pub(crate) condition: Option<String>,
    pub(crate) quantities: Vec<Quantity>,
    pub(crate) paths: Vec<String>,
    pub(crate) technologies: Vec<Named>,
    /// Whether it says when the work is done.
    pub(crate) acceptance: bool,
    /// The stems of the words that say what it is about, without quantities and the condition.
    pub(crate) about: BTreeSet<String>,
    /// The stems of the condition.
    pub(crate) about_condition: BTreeSet<String>,
    /// `X must be Y`: the stems of X, and Y if it is one definite thing.
    pub(crate) equates: Option<(BTreeSet<String>, String)>,
    /// Whether it says `only`.
    pub(crate) only: bool,
    /// `A before B`: the stems of both.
    pub(crate) order: Option<(BTreeSet<String>, BTreeSet<String>)>,
    /// Words in lower case, for opposites.
    pub(crate) words: BTreeSet<String>,
}

/// Reads every sentence of a text.
pub(crate) fn requirements(text: &Text<'_>) -> Vec<Requirement> {
    let named = technologies(text);
    text.sentences.iter().map(|range| read(text, range, &named)).collect()
}

/// Where the parts of a sentence stand.
struct Parts {
    modality: Modality,
    /// The tokens of the modal verb, with its `not`.
    modal: Option<Range<usize>>,
    condition: Option<Range<usize>>,
}

fn read(text: &Text<'_>, range: &Range<usize>, named: &[Named]) -> Requirement {
    let sentence = text.sentence(range);
    let condition = condition(sentence);
    let (modality, modal) = modality(sentence, condition.as_ref());
    let mut parts = Parts { modality, modal, condition };
    let negative = parts.modality == Modality::MustNot;
    let found = quantities(sentence, negative);
    let only = sentence.iter().any(|it| matches!(&*it.lower, "only" | "exclusively" | "solely"));
    // `Only the admin may …` and `may take at most 5 s` are limits, not permissions.
    if parts.modality == Modality::May && (only || found.list.iter().any(|it| it.bound != Bound::Exactly)) {
        parts.modality = Modality::Must;
    }
    // Both are in the order of the text.
    let first = named.partition_point(|it| it.token < range.start);
    let technologies: Vec<Named> =
        named.iter().skip(first).take_while(|it| it.token < range.end).cloned().collect();
    let in_condition = |at: usize| parts.condition.as_ref().is_some_and(|it| it.contains(&at));
    let tokens = sentence.iter().enumerate();
    let about =
        stems(tokens.clone().filter(|(at, _)| !in_condition(*at) && !covered(&found, *at)).map(|(_, it)| it));
    let about_condition = stems(tokens.filter(|(at, _)| in_condition(*at)).map(|(_, it)| it));
    let (actor, action, object) = clause(text, sentence, &parts);
    Requirement {
        text: text.sentence_text(range).to_owned(),
        modality: parts.modality,
        mixed: is_mixed(sentence),
        actor,
        action,
        object,
        condition: parts.condition.as_ref().and_then(|it| slice_text(text, sentence, it)),
        quantities: found.list.clone(),
        paths: sentence.iter().filter_map(|it| it.path()).map(str::to_owned).collect(),
        equates: equates(sentence, &parts, &technologies, range.start),
        technologies,
        acceptance: is_acceptance(sentence),
        about,
        about_condition,
        only,
        order: order(sentence, &parts),
        words: sentence.iter().filter(|it| it.is_word()).map(|it| it.lower.to_string()).collect(),
    }
}

fn covered(found: &Quantities, at: usize) -> bool {
    found.covered.get(at).copied().unwrap_or_default()
}

fn slice_text(text: &Text<'_>, sentence: &[Token<'_>], range: &Range<usize>) -> Option<String> {
    let tokens = sentence.get(range.clone())?;
    Some(text.between(tokens.first()?, tokens.last()?).trim_end_matches([',', '.', ';', ':']).to_owned())
}

/// What the words are about: stems of words that carry weight, and literals as they are.
pub(crate) fn stems<'s, 't: 's>(tokens: impl Iterator<Item = &'s Token<'t>>) -> BTreeSet<String> {
    let mut stems = BTreeSet::new();
    for token in tokens {
        match token.kind {
            Kind::Word if !WEIGHTLESS.contains(&&*token.lower) && !is_modal(&token.lower) => {
                stems.insert(stem(&token.lower));
            }
            // Numbers that are no quantities are names.
            Kind::Number => drop(stems.insert(token.text.to_owned())),
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
    let at = sentence.iter().position(starts)?;
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

/// How strongly a sentence demands, and where its modal verb stands.
fn modality(sentence: &[Token<'_>], condition: Option<&Range<usize>>) -> (Modality, Option<Range<usize>>) {
    let word =
        |at: usize| sentence.get(at).filter(|it| it.is_word()).map(|it| &*it.lower).unwrap_or_default();
    let outside = |at: &usize| condition.is_none_or(|range| !range.contains(at));
    let first = condition.filter(|range| range.start == 0).map_or(0, |range| range.end);
    for at in (0..sentence.len()).filter(outside) {
        let denied = |ahead: usize| matches!(word(at + ahead), "not" | "never");
        let found = match word(at) {
            "must" | "shall" | "will" if denied(1) => Some((Modality::MustNot, 2)),
            "must" | "shall" | "will" => Some((Modality::Must, 1)),
            "mustn't" | "cannot" | "can't" | "shouldn't" | "won't" => Some((Modality::MustNot, 1)),
            "should" | "ought" if denied(1) => Some((Modality::MustNot, 2)),
            "should" | "ought" => Some((Modality::Should, 1)),
            "may" | "can" | "could" | "might" if denied(1) => Some((Modality::MustNot, 2)),
            "may" | "could" | "might" => Some((Modality::May, 1)),
            "can" => Some((Modality::Must, 1)),
            "has" | "have" | "needs" | "need" if word(at + 1) == "to" => Some((Modality::Must, 2)),
            "is" | "are" if denied(1) && matches!(word(at + 2), "allowed" | "permitted") => {
                Some((Modality::MustNot, 3))
            }
            "is" | "are" if matches!(word(at + 1), "forbidden" | "prohibited") => {
                Some((Modality::MustNot, 2))
            }
            "is" | "are" | "does" | "do" if denied(1) && at > first => Some((Modality::MustNot, 2)),
            "never" => Some((Modality::MustNot, 1)),
            "doesn't" | "don't" => Some((Modality::MustNot, 1)),
            _ => None,
        };
        if let Some((modality, length)) = found {
            return (modality, Some(at..(at + length).min(sentence.len())));
        }
    }
    let imperative = match (word(first), word(first + 1)) {
        ("do", "not") => Some((Modality::MustNot, 2)),
        ("don't" | "never" | "avoid" | "no" | "without", _) => Some((Modality::MustNot, 1)),
        ("optionally" | "optional", _) => Some((Modality::May, 1)),
        ("preferably" | "prefer" | "ideally", _) => Some((Modality::Should, 1)),
        _ => None,
    };
    match imperative {
        Some((modality, length)) => (modality, Some(first..(first + length).min(sentence.len()))),
        None => (Modality::Must, None),
    }
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
    // Without a modal only an imperative shows which word is the verb.
    if parts.modal.is_none() && !REQUEST_VERBS.contains(&&*verb.lower) {
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

/// `X must be Y`, `X is Y`, `X: Y`, where Y is one literal or one technology.
fn equates(
    sentence: &[Token<'_>],
    parts: &Parts,
    technologies: &[Named],
    offset: usize,
) -> Option<(BTreeSet<String>, String)> {
    if parts.modality == Modality::MustNot || parts.modality == Modality::May {
        return None;
    }
    let is_copula =
        |token: &Token<'_>| matches!(&*token.lower, "be" | "is" | "are" | "=" | ":" | "equals" | "equal");
    let written = |at: usize| {
        sentence.get(at).is_some_and(|it| matches!(&*it.lower, "written" | "implemented" | "built" | "coded"))
            && sentence.get(at + 1).is_some_and(|it| it.is("in"))
    };
    let (subject_end, value_start) = match (0..sentence.len()).find(|at| written(*at)) {
        Some(at) => (at + 1, at + 2),
        None => {
            let at = sentence.iter().position(is_copula)?;
            (at, at + 1)
        }
    };
    let subject = stems(sentence.get(..subject_end)?.iter());
    let rest = sentence.get(value_start..)?;
    let mut values = Vec::new();
    for (at, token) in rest.iter().enumerate() {
        let technology = technologies
            .binary_search_by_key(&(offset + value_start + at), |it| it.token)
            .ok()
            .and_then(|at| technologies.get(at));
        match (technology, token.kind) {
            (Some(named), _) => values.push(named.name.clone()),
            (None, Kind::Quote | Kind::Code | Kind::Path | Kind::Identifier) => {
                values.push(token.text.trim_matches(['`', '"', '\'']).to_lowercase());
            }
            (None, Kind::Word) if !WEIGHTLESS.contains(&&*token.lower) => return None,
            (None, Kind::Number) => return None,
            _ => {}
        }
    }
    match values.as_slice() {
        [value] if !subject.is_empty() => Some((subject, value.clone())),
        _ => None,
    }
}

/// Verbs that say only that something takes place.
static TAKES_PLACE: &[&str] = &[
    "run",
    "runs",
    "running",
    "do",
    "perform",
    "execute",
    "happen",
    "happens",
    "complete",
    "completed",
    "finish",
    "finished",
    "start",
    "started",
    "begin",
    "come",
    "comes",
    "take",
    "place",
    "occur",
    "done",
    "first",
    "make",
    "sure",
    "apply",
];

/// `A before B`, `B after A`.
fn order(sentence: &[Token<'_>], parts: &Parts) -> Option<(BTreeSet<String>, BTreeSet<String>)> {
    if parts.modality == Modality::MustNot || parts.modality == Modality::May {
        return None;
    }
    let at = sentence.iter().position(|it| {
        it.is_word() && matches!(&*it.lower, "before" | "after" | "precedes" | "precede" | "follows")
    })?;
    let word = sentence.get(at)?;
    let content = |tokens: &[Token<'_>]| stems(tokens.iter().filter(|it| !TAKES_PLACE.contains(&&*it.lower)));
    // `Before B, do A` puts the second part first.
    let comma = sentence.iter().position(|it| it.text == ",");
    let (left, right) = match (at, comma) {
        (0, Some(comma)) => (content(sentence.get(comma + 1..)?), content(sentence.get(1..comma)?)),
        _ => (content(sentence.get(..at)?), content(sentence.get(at + 1..)?)),
    };
    if left.is_empty() || right.is_empty() || left == right {
        return None;
    }
    match &*word.lower {
        "after" | "follows" => Some((right, left)),
        _ => Some((left, right)),
    }
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
