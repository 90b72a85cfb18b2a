//! How strongly a sentence demands something, whether it denies, and under which condition.

use crate::class::Class;
use crate::text::{Token, class_of};
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

/// Where the parts of a sentence stand.
pub struct Parts {
    pub modality: Modality,
    pub negative: bool,
    /// The tokens of the modal verb, with its `not`.
    pub modal: Option<Range<usize>>,
    /// Whether its opening says how strongly it is meant: `Optional: …`.
    pub labelled: bool,
    pub(crate) condition: Option<Range<usize>>,
}

/// How strongly a sentence demands, and whether it denies.
pub fn strength(sentence: &[Token<'_>]) -> (Modality, bool) {
    let parts = parts_of(sentence, class_of(sentence));
    (parts.modality, parts.negative)
}

/// `class` is that of the tokens of the sentence.
pub(crate) fn parts_of(sentence: &[Token<'_>], class: Class) -> Parts {
    let condition = condition(sentence, class);
    if let Some((modality, negative, length)) = labelled(sentence) {
        let modality = limited(modality, class);
        return Parts { modality, negative, modal: Some(0..length), labelled: true, condition };
    }
    let (modality, negative, modal) = modality(sentence, class, condition.as_ref());
    Parts { modality: limited(modality, class), negative, modal, labelled: false, condition }
}

/// `Only the admin may …` is a limit, not a permission.
fn limited(modality: Modality, class: Class) -> Modality {
    if modality == Modality::May && class.has(Class::ONLY) { Modality::Must } else { modality }
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
    sentence.first().filter(|it| it.has(Class::LABEL))?;
    LABELS.iter().find_map(|(words, modality, negative)| {
        let opening = sentence.get(..words.len())?;
        let matches = opening.iter().zip(*words).all(|(token, word)| token.is(word));
        matches.then_some((*modality, *negative, words.len()))
    })
}

/// `if …`, `when …`: up to the comma when it comes first, else to the end.
fn condition(sentence: &[Token<'_>], class: Class) -> Option<Range<usize>> {
    if !class.has(Class::CONDITION.or(Class::PURPOSE)) {
        return None;
    }
    let starts = |token: &Token<'_>| token.is_word() && token.has(Class::CONDITION);
    let purpose = sentence.windows(2).position(|pair| {
        matches!(pair, [first, _] if first.has(Class::PURPOSE)) && matches!(pair, [so, that] if (so.is("so") && that.is("that")) || (so.is("in") && that.is("order")))
    });
    let at = sentence.iter().position(starts).into_iter().chain(purpose).min()?;
    // `done when …` is not a condition.
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

/// How strongly a sentence demands, whether it denies, and the place of its modal verb. Only the main clause
/// counts: `skip rows that must not be imported` does not ban anything.
fn modality(
    sentence: &[Token<'_>],
    class: Class,
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
    let of_class = |class: Class| move |at: &usize| sentence.get(*at).is_some_and(|it| it.has(class));
    let strong = if class.has(Class::STRENGTH) { 0..sentence.len() } else { 0..0 };
    for at in strong.filter(of_class(Class::STRENGTH)).filter(main).filter(|at| !month(*at)) {
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
    let requests = sentence.get(first).is_some_and(|it| it.is_word() && it.has(Class::REQUEST_VERB));
    if requests && word(first + 1) != "of" {
        return (Modality::Must, false, None);
    }
    let denying = if class.has(Class::DENIES) { first + 1..sentence.len() } else { 0..0 };
    for at in denying.filter(of_class(Class::DENIES)).filter(main) {
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
pub(crate) fn is_bound(word: &str) -> bool {
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
pub(crate) fn is_mixed(sentence: &[Token<'_>]) -> bool {
    let mut kinds = BTreeSet::new();
    for (at, token) in sentence.iter().enumerate().filter(|(_, it)| it.has(Class::MIXES)) {
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
