//! Relations in a sentence: a thing and its value, a step and the one after it.

use crate::class::Class;
use crate::lexicon::{Category, REQUEST_VERBS};
use crate::stems::{Stems, stems};
use crate::strength::{Modality, Parts};
use crate::technology::Named;
use crate::text::{Kind, Token, stem};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Types, of which a thing has one.
pub(crate) static TYPES: &[&str] =
    &["integer", "string", "boolean", "float", "uuid", "timestamp", "array", "object", "number"];

/// Colours, of which a thing has one.
#[rustfmt::skip]
pub(crate) static COLORS: &[&str] = &[
    "black", "blue", "brown", "cyan", "gold", "gray", "green", "grey", "magenta", "orange", "pink", "purple", "red", "silver", "teal", "turquoise",
    "violet", "white", "yellow",
];

/// `Make the button green`.
fn made_so(sentence: &[Token<'_>]) -> Option<(Stems, String)> {
    let [verb, .., last] = sentence else { return None };
    let end = if last.kind == Kind::Mark { sentence.len() - 1 } else { sentence.len() };
    let value = sentence.get(end.checked_sub(1)?).filter(|it| it.has(Class::COLOR))?;
    let made = matches!(&*verb.lower, "make" | "turn" | "paint" | "color" | "colour" | "set");
    let subject = stems(sentence.get(1..end - 1)?.iter());
    (made && !subject.is_empty()).then(|| (subject, value.lower.to_string()))
}

/// `X must be Y`, `X is Y`, `X: Y`, `X=Y`, `write X in Y`, where Y is one definite thing.
pub(crate) fn equates(
    sentence: &[Token<'_>],
    class: Class,
    parts: &Parts,
    technologies: &[Named],
    offset: usize,
) -> Option<(Stems, String)> {
    if parts.negative || parts.modality == Modality::May {
        return None;
    }
    if let Some((name, value)) =
        sentence.iter().filter(|it| it.kind == Kind::Identifier).find_map(|it| it.text.split_once('='))
        && !name.is_empty()
    {
        return Some((Stems::from_iter([name.to_lowercase()]), value.to_lowercase()));
    }
    if let Some(found) = written_in(sentence, technologies, offset) {
        return Some(found);
    }
    if class.has(Class::COLOR)
        && let Some(found) = made_so(sentence)
    {
        return Some(found);
    }
    if !class.has(Class::COPULA) {
        return None;
    }
    let at = sentence.iter().position(|it| it.has(Class::COPULA))?;
    let rest = sentence.get(at + 1..)?;
    // Behind a colon any single word is a value; elsewhere only names and types are.
    let labelled = sentence.get(at).is_some_and(|it| it.text == ":" || it.text == "=");
    let mut values = Vec::new();
    for (ahead, token) in rest.iter().enumerate() {
        let technology = technologies.iter().find(|it| it.token == offset + at + 1 + ahead);
        match (technology, token.kind) {
            (Some(named), _) => values.push(named.name.to_string()),
            (None, Kind::Quote | Kind::Code | Kind::Path | Kind::Identifier) => {
                values.push(token.text.trim_matches(['`', '"', '\'']).to_lowercase());
            }
            (None, Kind::Word)
                if labelled || token.is_capitalized() || token.has(Class::TYPE.or(Class::COLOR)) =>
            {
                values.push(token.lower.to_string());
            }
            (None, Kind::Word) if !token.has(Class::WEIGHTLESS) => return None,
            (None, Kind::Number) => return None,
            _ => {}
        }
    }
    let [value] = values.as_slice() else { return None };
    let subject = stems(sentence.get(..at)?.iter());
    (!subject.is_empty()).then(|| (subject, value.clone()))
}

/// `implement the service in Go`, `the frontend uses React`: what something is made with.
fn written_in(sentence: &[Token<'_>], technologies: &[Named], offset: usize) -> Option<(Stems, String)> {
    if let Some(found) = delivered_as(sentence, technologies, offset) {
        return Some(found);
    }
    let named = technologies.iter().find(|it| {
        matches!(it.category, Category::Language | Category::Framework) && !it.name.starts_with('.')
    })?;
    let at = named.token.checked_sub(offset)?;
    let before = sentence.get(at.checked_sub(1)?)?;
    let verb = sentence.iter().any(|it| it.has(Class::MADE_IN));
    let moved = sentence
        .first()
        .is_some_and(|it| matches!(&*it.lower, "port" | "migrate" | "convert" | "translate" | "move"));
    let used = before.is("uses") || (before.is("use") && at > 2);
    let made = (before.is("in") && verb) || (before.is("to") && moved);
    if !made && !used {
        return None;
    }
    let making = |it: &&Token<'_>| {
        !matches!(
            &*stem(&it.lower),
            "writ"
                | "implement"
                | "build"
                | "cod"
                | "develop"
                | "rewrit"
                | "rewritten"
                | "reimplement"
                | "stay"
                | "remain"
                | "keep"
                | "port"
                | "migrat"
                | "convert"
                | "translat"
                | "mov"
        )
    };
    let mut subject = stems(sentence.get(..at)?.iter().filter(making));
    subject.insert(format!("{:?}", named.category));
    Some((subject, named.name.to_string()))
}

/// `deliver the report as CSV`: a thing is handed over in one format.
fn delivered_as(sentence: &[Token<'_>], technologies: &[Named], offset: usize) -> Option<(Stems, String)> {
    let named =
        technologies.iter().find(|it| it.category == Category::Format && !it.name.starts_with('.'))?;
    let at = named.token.checked_sub(offset)?;
    let before = sentence.get(at.checked_sub(1)?)?;
    let handed = sentence.iter().any(|it| it.has(Class::HANDED));
    if !handed || !before.is("as") {
        return None;
    }
    let subject = stems(sentence.get(..at)?.iter());
    (!subject.is_empty()).then(|| (subject, named.name.to_string()))
}

/// Verbs that say only that something takes place.
pub(crate) static TAKES_PLACE: &[&str] = &[
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

/// `A before B`, `B after A`, `first A, then B`.
pub(crate) fn order(sentence: &[Token<'_>], parts: &Parts) -> Option<(Stems, Stems)> {
    if parts.negative || parts.modality == Modality::May {
        return None;
    }
    let position = |wanted: &str| sentence.iter().position(|it| it.is_word() && it.is(wanted));
    if let (Some(0), Some(then)) = (position("first"), position("then")) {
        return edge(sentence.get(1..then)?, sentence.get(then + 1..)?);
    }
    let at = sentence.iter().position(|it| {
        it.is_word() && matches!(&*it.lower, "before" | "after" | "precedes" | "precede" | "follows")
    })?;
    let word = sentence.get(at)?;
    // `Before B, do A` puts the second part first.
    let comma = sentence.iter().position(|it| it.text == ",");
    let (left, right) = match (at, comma) {
        (0, Some(comma)) => edge(sentence.get(comma + 1..)?, sentence.get(1..comma)?)?,
        _ => edge(sentence.get(..at)?, sentence.get(at + 1..)?)?,
    };
    match &*word.lower {
        // A step that is asked for in so many words can be done twice: a backup before and after.
        "after" if parts.modal.is_none() && at > 0 && repeats(sentence) => None,
        "after" | "follows" => Some((right, left)),
        _ => Some((left, right)),
    }
}

/// Requests that can be met as often as one likes.
fn repeats(sentence: &[Token<'_>]) -> bool {
    sentence.first().is_some_and(|it| {
        matches!(
            &*it.lower,
            "take"
                | "notify"
                | "log"
                | "back"
                | "send"
                | "check"
                | "test"
                | "verify"
                | "validate"
                | "save"
                | "flush"
                | "print"
        )
    })
}

fn edge(left: &[Token<'_>], right: &[Token<'_>]) -> Option<(Stems, Stems)> {
    let content = |tokens: &[Token<'_>]| {
        // `encrypting it` and `encrypt the file` are one step: its verb names it.
        let mut words = tokens
            .iter()
            .filter(|it| it.kind != Kind::Mark && !it.has(Class::TAKES_PLACE.or(Class::WEIGHTLESS)));
        let first = words.next().map(|it| stem(&it.lower).into_owned());
        let verb = first.filter(|first| REQUEST_STEMS.contains(first));
        verb.map_or_else(
            || stems(tokens.iter().filter(|it| !it.has(Class::TAKES_PLACE))),
            |verb| Stems::from_iter([verb]),
        )
    };
    let (left, right) = (content(left), content(right));
    (!left.is_empty() && !right.is_empty() && left != right).then_some((left, right))
}

/// The stems of the verbs of requests.
static REQUEST_STEMS: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| REQUEST_VERBS.iter().map(|it| stem(it).into_owned()).collect());
