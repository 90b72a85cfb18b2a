//! Numbers with their unit and bound: `at most 200 ms`, `between 1 and 60 seconds`, `port 8080`.

use crate::class::{Class, MONTHS, entry_of};
use crate::lexicon::Unit;
use crate::text::{Kind, Token};

/// The bound that a number sets to a quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    Exactly,
    AtLeast,
    MoreThan,
    AtMost,
    LessThan,
    /// `about`: no bound at all.
    About,
}

impl Bound {
    /// The bound that is left when it is denied: `not less than` is `at least`.
    fn negated(self) -> Self {
        match self {
            Self::AtLeast => Self::LessThan,
            Self::MoreThan => Self::AtMost,
            Self::AtMost => Self::MoreThan,
            Self::LessThan => Self::AtLeast,
            // `not 8080` leaves everything else, which is not a bound.
            Self::Exactly | Self::About => Self::About,
        }
    }
}

/// A number in a sentence.
#[derive(Clone, PartialEq, Debug)]
pub struct Quantity {
    pub bound: Bound,
    /// As the text writes it, with its unit.
    pub text: String,
    /// In the smallest unit of what is measured.
    pub value: f64,
    /// The measured quantity; empty for a count.
    pub measures: &'static str,
}

/// The quantities of a sentence, and which of its tokens they consist of.
pub struct Quantities {
    pub list: Vec<Quantity>,
    /// For each token of the sentence whether it belongs to a quantity; empty where there is none.
    covered: Vec<bool>,
}

/// Finds the quantities of a sentence.
pub fn quantities(sentence: &[Token<'_>], negative: bool) -> Quantities {
    let mut found = Quantities { list: Vec::new(), covered: Vec::new() };
    let mut position = 0;
    while let Some(token) = sentence.get(position) {
        let could_be = token.kind == Kind::Number
            || token.entry.number.is_some()
            || token.has(Class::MONTH.or(Class::ONE));
        let length = if could_be { found.add(sentence, position, negative) } else { None };
        position += length.unwrap_or(1);
    }
    found
}

impl Quantities {
    /// Whether a token of the sentence belongs to a quantity.
    pub fn covers(&self, at: usize) -> bool {
        self.covered.get(at).copied().unwrap_or_default()
    }

    /// Adds the quantity that starts at `position`; says how many tokens it takes.
    fn add(&mut self, sentence: &[Token<'_>], position: usize, negative: bool) -> Option<usize> {
        if let Some(length) = self.add_date(sentence, position, negative) {
            return Some(length);
        }
        let token = sentence.get(position)?;
        let before = position.checked_sub(1).and_then(|at| sentence.get(at));
        // `one` counts only where it bounds: `exactly one`, `more than one`.
        let bounded =
            before.is_some_and(|it| matches!(&*it.lower, "exactly" | "than" | "most" | "least" | "only"));
        let mut value = number(token).or_else(|| (bounded && token.is("one")).then_some(1.0))?;
        if before.is_some_and(|it| it.has(Class::NUMBERED)) {
            return None;
        }
        // `x << 2` compares nothing.
        let twice = |mark: &str| {
            before.is_some_and(|it| it.text == mark)
                && position.checked_sub(2).and_then(|at| sentence.get(at)).is_some_and(|it| it.text == mark)
        };
        if twice("<") || twice(">") {
            return None;
        }
        // `4 million rows`
        let scale =
            sentence.get(position + 1).filter(|_| token.kind == Kind::Number).and_then(|it| {
                match &*it.lower {
                    "hundred" => Some(1e2),
                    "thousand" => Some(1e3),
                    "million" => Some(1e6),
                    "billion" => Some(1e9),
                    _ => None,
                }
            });
        value *= scale.unwrap_or(1.0);
        let (unit, after_unit) = unit_after(sentence, position + 1 + usize::from(scale.is_some()));
        let unit = unit.or_else(|| currency_before(sentence, position));
        let (measures, factor) = unit.map_or(("", 1.0), |unit| (unit.measures, unit.factor));
        let measures = match token.text {
            text if text.contains(':') => "clock",
            text if text.matches('.').count() >= 2 => "version",
            text if measures.is_empty() && text.contains('.') && follows_a_product(sentence, position) => {
                "version"
            }
            _ => measures,
        };
        if measures == "version" {
            value = version_value(token.text)?;
        }
        // `between 1 and 60 seconds`, `1 to 60`, `1-60`: the second number has the unit of both.
        if let Some((high, end)) = range_end(sentence, position) {
            let (unit, after_unit) = unit_after(sentence, end + 1);
            let (measures, factor) = unit.map_or((measures, factor), |unit| (unit.measures, unit.factor));
            let text = text_of(sentence, position, after_unit.max(end + 1));
            self.push(Bound::AtLeast, &text, value * factor, measures);
            self.push(Bound::AtMost, &text, high * factor, measures);
            self.cover(position, after_unit.max(end + 1));
            self.cover_bound(sentence, position);
            return Some(after_unit.max(end + 1) - position);
        }
        let (bound, denied) = match measures {
            "clock" => day_bound(sentence, position, after_unit),
            _ => bound_of(sentence, position, after_unit),
        };
        let (bound, denied) = match limit_before(sentence, position) {
            Some((limit, at)) if bound == Bound::Exactly => {
                self.cover(at, at + 1);
                (limit, true)
            }
            _ => (bound, denied),
        };
        if measures == "clock" {
            self.cover_day_bound(sentence, position);
        }
        let bound = if negative && !denied { bound.negated() } else { bound };
        // `18 or later`: the words behind belong to the bound.
        let trails = sentence.get(after_unit).is_some_and(|it| it.is("or") || it.is("and"))
            && sentence.get(after_unit + 1).is_some_and(|it| {
                matches!(
                    &*it.lower,
                    "more"
                        | "greater"
                        | "longer"
                        | "above"
                        | "later"
                        | "higher"
                        | "newer"
                        | "up"
                        | "less"
                        | "fewer"
                        | "below"
                        | "earlier"
                        | "lower"
                        | "shorter"
                        | "older"
                )
            });
        if trails {
            self.cover(after_unit, after_unit + 2);
        }
        let text = text_of(sentence, position, after_unit);
        self.push(bound, &text, value * factor, measures);
        self.cover(position, after_unit);
        self.cover_bound(sentence, position);
        Some(after_unit - position)
    }

    /// Adds the date that starts at `position`.
    fn add_date(&mut self, sentence: &[Token<'_>], position: usize, negative: bool) -> Option<usize> {
        let (value, measures, length) = date(sentence, position)?;
        let (bound, denied) = day_bound(sentence, position, position + length);
        let bound = if negative && !denied { bound.negated() } else { bound };
        self.push(bound, &text_of(sentence, position, position + length), value, measures);
        self.cover(position, position + length);
        self.cover_day_bound(sentence, position);
        Some(length)
    }

    fn cover_day_bound(&mut self, sentence: &[Token<'_>], position: usize) {
        for at in (position.saturating_sub(BOUND_WORDS_MAX)..position).rev() {
            if !sentence.get(at).is_some_and(|it| it.has(Class::DAY_BOUND)) {
                break;
            }
            self.cover(at, at + 1);
        }
    }

    fn push(&mut self, bound: Bound, text: &str, value: f64, measures: &'static str) {
        self.list.push(Quantity { bound, text: text.to_owned(), value, measures });
    }

    fn cover(&mut self, from: usize, to: usize) {
        if self.covered.len() < to {
            self.covered.resize(to, false);
        }
        for covered in self.covered.iter_mut().take(to).skip(from) {
            *covered = true;
        }
    }

    /// The words of the bound say nothing about what is bounded.
    fn cover_bound(&mut self, sentence: &[Token<'_>], position: usize) {
        for at in (position.saturating_sub(BOUND_WORDS_MAX)..position).rev() {
            let Some(token) = sentence.get(at) else { break };
            if !token.has(Class::BOUND) {
                break;
            }
            self.cover(at, at + 1);
        }
    }
}

fn number(token: &Token<'_>) -> Option<f64> {
    match token.kind {
        Kind::Number => number_value(token.text),
        Kind::Word => token.entry.number,
        _ => None,
    }
}

/// Whether the number is the version of something: `Python >= 3.9`, `version 1.10`.
fn follows_a_product(sentence: &[Token<'_>], position: usize) -> bool {
    let before = sentence.get(position.saturating_sub(BOUND_WORDS_MAX)..position).unwrap_or_default();
    let product = before.iter().rev().find(|it| !it.has(Class::BOUND));
    product.is_some_and(|it| {
        matches!(&*it.lower, "version" | "versions" | "release" | "v") || it.entry.technology.is_some()
    })
}

/// Parts of a version, each of which may go up to 9,999.
fn version_value(text: &str) -> Option<f64> {
    let mut parts = text.split('.').map(|it| it.parse::<f64>().ok());
    let mut value = 0.0;
    for _ in 0..4 {
        value = value * 10_000.0 + parts.next().unwrap_or(Some(0.0))?;
    }
    Some(value)
}

/// The value of `1,000`, `3.5`, `08:30` and `1.2.3`, each comparable with its kind.
fn number_value(text: &str) -> Option<f64> {
    let plain = text.replace([',', '_'], "");
    if plain.contains(':') {
        let parts: Option<Vec<f64>> = plain.split(':').map(|it| it.parse().ok()).collect();
        return Some(parts?.into_iter().fold(0.0, |sum, part| sum * 60.0 + part));
    }
    if plain.matches('.').count() >= 2 {
        return version_value(&plain);
    }
    plain.parse().ok()
}

/// Whether a token is a unit. Units such as `kB` are not words.
pub(crate) fn is_unit(token: &Token<'_>) -> bool {
    unit(token).is_some()
}

fn unit(token: &Token<'_>) -> Option<&'static Unit> {
    match token.kind {
        Kind::Identifier => entry_of(&token.text.to_lowercase()).unit,
        _ => token.entry.unit,
    }
}

/// The unit behind a number, and the position behind the unit.
fn unit_after(sentence: &[Token<'_>], position: usize) -> (Option<&'static Unit>, usize) {
    let hyphen = sentence.get(position).is_some_and(|it| it.text == "-");
    let at = position + usize::from(hyphen);
    let Some(token) = sentence.get(at) else { return (None, position) };
    match unit(token) {
        Some(unit) => (Some(unit), at + 1),
        None => (None, position),
    }
}

fn currency_before(sentence: &[Token<'_>], position: usize) -> Option<&'static Unit> {
    let sign = sentence.get(position.checked_sub(1)?)?;
    sign.entry.unit.filter(|_| sign.has(Class::MONEY))
}

fn range_end(sentence: &[Token<'_>], position: usize) -> Option<(f64, usize)> {
    let before = |back: usize| {
        position.checked_sub(back).and_then(|at| sentence.get(at)).map(|it| &*it.lower).unwrap_or_default()
    };
    let (_, after_unit) = unit_after(sentence, position + 1);
    let joint = sentence.get(after_unit)?;
    let high = number(sentence.get(after_unit + 1)?)?;
    let low = number(sentence.get(position)?)?;
    let is_range = match &*joint.lower {
        "and" => before(1) == "between",
        "to" => before(1) != "from" || high > low,
        "-" | "–" | "—" => true,
        _ => false,
    };
    (is_range && high > low).then_some((high, after_unit + 1))
}

/// Words that say on which side of a day something is.
pub(crate) static DAY_BOUND_WORDS: &[&str] = &[
    "after", "at", "before", "by", "earlier", "from", "later", "no", "not", "of", "on", "since", "than",
    "the", "until",
];

/// `15 March`, `March 15, 2026`, `2026-03-15`: a number that grows with the day, what it is, and how many
/// tokens it takes.
fn date(sentence: &[Token<'_>], position: usize) -> Option<(f64, &'static str, usize)> {
    let number = |at: usize, digits: std::ops::RangeInclusive<usize>| {
        let token =
            sentence.get(at).filter(|it| it.kind == Kind::Number && digits.contains(&it.text.len()))?;
        token.text.parse::<u32>().ok()
    };
    let month = |at: usize| {
        let token =
            sentence.get(at).filter(|it| it.has(Class::MONTH) && it.is_word() && it.is_capitalized())?;
        MONTHS.iter().position(|it| token.is(it)).map(|it| it as u32 + 1)
    };
    let text = |at: usize| sentence.get(at).map(|it| it.text).unwrap_or_default();
    let value = |year: u32, month: u32, day: u32| f64::from(year * 372 + month * 31 + day);
    if let (Some(year), "-", Some(month), "-", Some(day)) = (
        number(position, 4..=4),
        text(position + 1),
        number(position + 2, 2..=2),
        text(position + 3),
        number(position + 4, 2..=2),
    ) {
        return Some((value(year, month, day), "day", 5));
    }
    let (day, month, mut length) = match (number(position, 1..=2), month(position)) {
        (Some(day), _) => (day, month(position + 1)?, 2),
        (None, Some(month)) => (number(position + 1, 1..=2)?, month, 2),
        (None, None) => return None,
    };
    let comma = usize::from(text(position + length) == ",");
    let year = number(position + length + comma, 4..=4);
    if year.is_some() {
        length += comma + 1;
    }
    Some((value(year.unwrap_or_default(), month, day), if year.is_some() { "day" } else { "date" }, length))
}

/// The bound of a day or an hour, and whether a `no` or `not` was read as part of it.
fn day_bound(sentence: &[Token<'_>], position: usize, end: usize) -> (Bound, bool) {
    let word = |back: usize| {
        position.checked_sub(back).and_then(|at| sentence.get(at)).map(|it| &*it.lower).unwrap_or_default()
    };
    let after = |ahead: usize| sentence.get(end + ahead).map(|it| &*it.lower).unwrap_or_default();
    match (after(0), after(1), after(2)) {
        ("at", "the", "earliest") | ("or", "later", _) => return (Bound::AtLeast, true),
        ("at", "the", "latest") | ("or", "earlier", _) => return (Bound::AtMost, true),
        _ => {}
    }
    let denied = |back: usize| matches!(word(back), "no" | "not" | "never");
    let skip = usize::from(word(1) == "the");
    match (word(2 + skip), word(1 + skip)) {
        ("later", "than") if denied(3 + skip) => (Bound::AtMost, true),
        ("earlier", "than") if denied(3 + skip) => (Bound::AtLeast, true),
        (_, "before") if denied(2 + skip) => (Bound::AtLeast, true),
        (_, "after") if denied(2 + skip) => (Bound::AtMost, true),
        (_, "before") => (Bound::LessThan, false),
        (_, "by" | "until") => (Bound::AtMost, false),
        (_, "after") => (Bound::MoreThan, false),
        (_, "from" | "since") => (Bound::AtLeast, false),
        _ => (Bound::Exactly, false),
    }
}

/// How far before its number `minimum` may stand.
const LIMIT_WORDS_MAX: usize = 5;

/// `Minimum replicas: 10`, `max_connections is 5`: the bound of a name, and which token says it.
fn limit_before(sentence: &[Token<'_>], position: usize) -> Option<(Bound, usize)> {
    for at in (position.saturating_sub(LIMIT_WORDS_MAX)..position).rev() {
        let token = sentence.get(at)?;
        match &*token.lower {
            "minimum" | "min" => return Some((Bound::AtLeast, at)),
            "maximum" | "max" => return Some((Bound::AtMost, at)),
            "," | ";" | "and" | "or" => return None,
            _ if token.kind == Kind::Number => return None,
            _ => {}
        }
        if let Some((bound, _)) = limit_name(token.text) {
            return Some((bound, position));
        }
    }
    None
}

/// `min_replicas`, `maxOpen`: the bound, and the name without it.
pub fn limit_name(name: &str) -> Option<(Bound, &str)> {
    let name = name.trim_matches('`');
    [("minimum", Bound::AtLeast), ("min", Bound::AtLeast), ("maximum", Bound::AtMost), ("max", Bound::AtMost)]
        .into_iter()
        .find_map(|(word, bound)| {
            let head = name.get(..word.len())?;
            let rest = name.get(word.len()..)?;
            let joined = rest
                .strip_prefix(['_', '-'])
                .or_else(|| Some(rest).filter(|it| it.starts_with(char::is_uppercase)));
            joined.filter(|it| head.eq_ignore_ascii_case(word) && !it.is_empty()).map(|rest| (bound, rest))
        })
}

/// Nouns whose number is a name: step 2, RFC 3339, status 404.
#[rustfmt::skip]
pub(crate) static NUMBERED: &[&str] = &[
    "appendix", "attempt", "case", "channel", "chapter", "class", "code", "cluster", "column", "day", "device", "environment", "error", "figure", "floor", "grade", "group", "http", "issue", "item", "iso", "level", "line",
    "milestone", "no", "number", "option", "part", "phase", "pr", "priority", "quarter", "question", "rfc", "room", "round", "row", "rule", "section", "sensor", "severity", "shard", "slot", "sprint",
    "stage", "status", "step", "table", "task", "test", "ticket", "tier", "worker", "zone", "#", "§",
];

/// How far before its number a bound may start.
const BOUND_WORDS_MAX: usize = 4;

/// Words that bounds are made of.
#[rustfmt::skip]
pub(crate) static BOUND_WORDS: &[&str] = &[
    "<", "=", ">", "about", "above", "approximately", "around", "at", "below", "between", "by", "exactly", "exceed", "exceeds",
    "exceeding", "fewer", "greater", "larger", "least", "less", "longer", "max", "maximum", "min", "minimum", "more", "most", "no", "not", "of", "over",
    "roughly", "shorter", "smaller", "than", "to", "under", "up", "within", "~", "≤", "≥", ":",
];

/// The bound around a number, and whether a `no` or `not` was read as part of it.
fn bound_of(sentence: &[Token<'_>], position: usize, after_unit: usize) -> (Bound, bool) {
    let word = |back: usize| {
        let token = position.checked_sub(back).and_then(|at| sentence.get(at));
        token.map(|it| &*it.lower).unwrap_or_default()
    };
    let after = |ahead: usize| sentence.get(after_unit + ahead).map(|it| &*it.lower).unwrap_or_default();
    let trailing = match (after(0), after(1)) {
        ("or", "more" | "greater" | "longer" | "above" | "later" | "higher" | "newer")
        | ("and", "above" | "up") => Some(Bound::AtLeast),
        ("or", "less" | "fewer" | "below" | "earlier" | "lower" | "shorter" | "older") => Some(Bound::AtMost),
        ("max" | "maximum", _) => Some(Bound::AtMost),
        ("min" | "minimum", _) => Some(Bound::AtLeast),
        _ => None,
    };
    if let Some(bound) = trailing {
        return (bound, false);
    }
    // `of` and an article between the bound and the number change nothing.
    let skip = usize::from(matches!(word(1), "of" | "$" | "€" | "a" | "the"));
    let word = |back: usize| word(back + skip);
    let denied = |back: usize| matches!(word(back), "no" | "not" | "never");
    match (word(3), word(2), word(1)) {
        (_, "at", "least") => (Bound::AtLeast, false),
        (_, "at", "most") => (Bound::AtMost, false),
        (_, "up", "to") => (Bound::AtMost, false),
        (_, "more" | "greater" | "longer" | "larger" | "higher" | "bigger", "than") if denied(3) => {
            (Bound::AtMost, true)
        }
        (_, "less" | "fewer" | "shorter" | "smaller" | "lower", "than") if denied(3) => {
            (Bound::AtLeast, true)
        }
        (_, "more" | "greater" | "longer" | "larger" | "higher" | "bigger", "than") => {
            (Bound::MoreThan, false)
        }
        (_, "less" | "fewer" | "shorter" | "smaller" | "lower", "than") => (Bound::LessThan, false),
        (_, ">", "=") | (_, _, "≥" | "minimum" | "min") => (Bound::AtLeast, false),
        (_, "<", "=") | (_, _, "≤" | "maximum" | "max" | "within") => (Bound::AtMost, false),
        (_, _, "exceed" | "exceeds" | "exceeding" | "over" | "above" | ">") => (Bound::MoreThan, false),
        (_, _, "under" | "below" | "<") => (Bound::LessThan, false),
        (_, _, "about" | "around" | "approximately" | "roughly" | "~" | "nearly" | "almost") => {
            (Bound::About, false)
        }
        _ => (Bound::Exactly, false),
    }
}

fn text_of(sentence: &[Token<'_>], from: usize, to: usize) -> String {
    let words: Vec<&str> = sentence.get(from..to).unwrap_or_default().iter().map(|it| it.text).collect();
    words.join(" ")
}

/// The values that satisfy a list of bounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    pub low: f64,
    pub low_open: bool,
    pub high: f64,
    pub high_open: bool,
}

impl Interval {
    pub const ALL: Self =
        Self { low: f64::NEG_INFINITY, low_open: false, high: f64::INFINITY, high_open: false };

    pub fn of(quantity: &Quantity) -> Self {
        let value = quantity.value;
        match quantity.bound {
            Bound::Exactly => Self { low: value, low_open: false, high: value, high_open: false },
            Bound::AtLeast => Self { low: value, ..Self::ALL },
            Bound::MoreThan => Self { low: value, low_open: true, ..Self::ALL },
            Bound::AtMost => Self { high: value, ..Self::ALL },
            Bound::LessThan => Self { high: value, high_open: true, ..Self::ALL },
            Bound::About => Self::ALL,
        }
    }

    pub fn and(self, other: Self) -> Self {
        let (low, low_open) = match self.low.total_cmp(&other.low) {
            std::cmp::Ordering::Greater => (self.low, self.low_open),
            std::cmp::Ordering::Less => (other.low, other.low_open),
            std::cmp::Ordering::Equal => (self.low, self.low_open || other.low_open),
        };
        let (high, high_open) = match self.high.total_cmp(&other.high) {
            std::cmp::Ordering::Less => (self.high, self.high_open),
            std::cmp::Ordering::Greater => (other.high, other.high_open),
            std::cmp::Ordering::Equal => (self.high, self.high_open || other.high_open),
        };
        Self { low, low_open, high, high_open }
    }

    pub fn is_empty(self) -> bool {
        self.low > self.high || (self.low == self.high && (self.low_open || self.high_open))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    fn shown(text: &str, negative: bool) -> String {
        let text = Text::new(text);
        let found = quantities(&text.tokens, negative);
        let shown: Vec<_> =
            found.list.iter().map(|it| format!("{:?} {} {}", it.bound, it.value, it.measures)).collect();
        shown.join("; ")
    }

    #[test]
    fn bounds_and_units() {
        for (text, expected) in [
            ("port 8080", "Exactly 8080 "),
            ("under 200 ms", "LessThan 200 time"),
            ("at most 3 s", "AtMost 3000 time"),
            ("no more than 1,000 rows", "AtMost 1000 "),
            ("between 1 and 60 seconds", "AtLeast 1000 time; AtMost 60000 time"),
            ("5-10 minutes", "AtLeast 300000 time; AtMost 600000 time"),
            ("a maximum of 5 MB", "AtMost 5000000 size"),
            ("12 characters or more", "AtLeast 12 characters"),
            ("$50", "Exactly 50 dollars"),
            ("a 30-second timeout", "Exactly 30000 time"),
            ("at 08:30", "Exactly 510 clock"),
            ("version 1.2.3", "Exactly 1000200030000 version"),
            ("Python >= 3.9", "AtLeast 3000900000000 version"),
            ("exactly one admin", "Exactly 1 "),
            ("about 5 items", "About 5 "),
            ("three copies", "Exactly 3 "),
            ("4 million rows", "Exactly 4000000 "),
            ("at most 64 KiB", "AtMost 65536 size"),
        ] {
            assert_eq!(shown(text, false), expected, "{text}");
        }
        assert_eq!(shown("exceed 5 s", true), "AtMost 5000 time");
        assert_eq!(shown("be less than 5", true), "AtLeast 5 ");
        assert_eq!(shown("be 5", true), "About 5 ");
    }
}
