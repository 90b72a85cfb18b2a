//! Quantities and values that exclude each other.

use super::{Contradiction, EXCLUSIVES_MAX, Key, Stated, contradiction};
use crate::class::Class;
use crate::lexicon::Category;
use crate::quantity::{Bound, Interval, Quantity};
use crate::requirement::Requirement;
use crate::strength::Modality;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Verbs of which one value does not exclude another: Python 3.9 and 3.10 can both be supported.
static ADDS_UP: &[&str] =
    &["support", "accept", "allow", "handle", "include", "cover", "test", "add", "return"];
/// The same said of a thing rather than asked for.
pub(crate) static ADDS_UP_SAID: &[&str] =
    &["supports", "accepts", "allows", "handles", "includes", "covers", "returns", "tested"];
/// The things on which one acts at once, if the sentence says `on` or `with`.
pub(crate) static RUNS_ON: &[&str] =
    &["run", "runs", "work", "works", "compile", "compiles", "build", "builds", "target", "targets"];
/// Words with which a bound picks out cases instead of limiting all of them.
pub(crate) static SELECTS: &[&str] = &[
    "reject", "rejects", "rejected", "refuse", "refused", "block", "blocked", "deny", "denied", "alert",
    "warn", "fail", "fails", "ignore", "ignored", "skip", "skipped", "drop", "exclude", "flag", "invalid",
    "alarm",
];

/// The subject of a statement about a day. A thing finished by a day happens by then; a thing that starts on
/// a day happens from then on.
fn dated_about<'r>(requirement: &'r Requirement, measure: &str, of_measure: &[&Quantity]) -> Cow<'r, Key> {
    let drops: &[&str] = match of_measure {
        [only] if matches!(measure, "date" | "day" | "clock") => match only.bound {
            Bound::AtMost | Bound::LessThan => &["finish", "complet", "end", "do"],
            Bound::AtLeast | Bound::MoreThan => &["start", "begin"],
            Bound::Exactly | Bound::About => &[],
        },
        _ => &[],
    };
    if !drops.iter().any(|it| requirement.about.contains(it)) {
        return Cow::Borrowed(&requirement.about);
    }
    Cow::Owned(requirement.about.iter().filter(|it| !drops.contains(&it.as_str())).cloned().collect::<Key>())
}

/// Two values for one quantity, or bounds that leave nothing.
pub(super) fn values(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    type Bounds<'r> = Vec<(Interval, Stated<'r>)>;
    type Group<'r> = (Cow<'r, Key>, &'r Key, &'static str, Vec<&'r str>);
    let mut groups: BTreeMap<Group<'_>, Bounds<'_>> = BTreeMap::new();
    for (constraint, requirement) in stated {
        let requirement: &Requirement = requirement;
        if requirement.quantities.is_empty() || requirement.class.has(Class::SELECTS) {
            continue;
        }
        let mut measures: Vec<&'static str> = requirement.quantities.iter().map(|it| it.measures).collect();
        measures.sort_unstable();
        measures.dedup();
        for measure in measures {
            let of_measure: Vec<_> =
                requirement.quantities.iter().filter(|it| it.measures == measure).collect();
            let exact = of_measure.iter().filter(|it| it.bound == Bound::Exactly).count();
            let interval = of_measure.iter().fold(Interval::ALL, |sum, it| sum.and(Interval::of(it)));
            // `below 0 or above 40` is a union.
            let union = of_measure.len() > 1 && requirement.class.has(Class::OR);
            if of_measure.len() == 2 && exact == 0 && !union && interval.is_empty() {
                found.push(contradiction("it leaves a quantity no value", &[(*constraint, requirement)]));
                continue;
            }
            if exact == 2 && of_measure.len() == 2 && requirement.class.has(Class::BOTH) {
                found.push(contradiction("it gives one thing two values", &[(*constraint, requirement)]));
                continue;
            }
            let adds_up = exact > 0
                && (requirement.action.as_deref().is_some_and(|it| ADDS_UP.contains(&it))
                    || requirement.class.has(Class::ADDS_UP_SAID)
                    || (requirement.class.has(Class::RUNS_ON) && requirement.class.has(Class::ON_OR_WITH)));
            // Two values of one measure in a sentence belong to different things; two bounds are one interval.
            let several = of_measure.len() > 2 || (of_measure.len() == 2 && exact > 0);
            if adds_up || several || union || requirement.about.is_empty() {
                continue;
            }
            // A second quantity says when the first one holds: `5 % after 2 years`.
            let mut others: Vec<&str> = requirement
                .quantities
                .iter()
                .filter(|it| it.measures != measure)
                .map(|it| it.text.as_str())
                .collect();
            others.sort_unstable();
            let about = dated_about(requirement, measure, &of_measure);
            let key = (about, &requirement.about_condition, measure, others);
            groups.entry(key).or_default().push((interval, (*constraint, requirement)));
        }
    }
    for group in groups.values() {
        let common = group.iter().fold(Interval::ALL, |sum, (interval, _)| sum.and(*interval));
        if !common.is_empty() {
            continue;
        }
        // The statements that set the highest low and the lowest high are to blame, and those that agree with
        // neither.
        let blamed: Vec<Stated<'_>> = group
            .iter()
            .filter(|(interval, _)| {
                let highest = Interval { high: f64::INFINITY, high_open: false, ..common };
                let lowest = Interval { low: f64::NEG_INFINITY, low_open: false, ..common };
                interval.is_empty() || interval.and(highest).is_empty() || interval.and(lowest).is_empty()
            })
            .map(|(_, stated)| *stated)
            .collect();
        if !blamed.is_empty() {
            found.push(contradiction("they give one quantity values that exclude each other", &blamed));
        }
    }
}

/// None of something against a permission of some of it.
pub(super) fn permissions(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    #[derive(Default)]
    struct Sides<'r> {
        none: Vec<Stated<'r>>,
        some: Vec<Stated<'r>>,
    }
    let mut groups: BTreeMap<Key, Sides<'_>> = BTreeMap::new();
    for (constraint, requirement) in stated {
        let bounded = requirement
            .quantities
            .iter()
            .any(|it| it.value > 0.0 && matches!(it.bound, Bound::AtMost | Bound::LessThan));
        let permits = requirement.modality == Modality::May || requirement.class.has(Class::PERMITS);
        let none = requirement.none && requirement.quantities.is_empty();
        let some = bounded && permits && !requirement.none;
        if !(none || some) || !requirement.about_condition.is_empty() {
            continue;
        }
        let mut about = requirement.about.clone();
        about.retain(|it| it != "zero");
        if about.is_empty() {
            continue;
        }
        if none {
            groups.entry(about).or_default().none.push((*constraint, requirement));
        } else {
            groups.entry(about).or_default().some.push((*constraint, requirement));
        }
    }
    for Sides { none, some } in groups.values() {
        if !none.is_empty() && !some.is_empty() {
            let members: Vec<_> = none.iter().chain(some).copied().collect();
            found.push(contradiction("one allows none of what another allows some of", &members));
        }
    }
}

/// Nouns for several things of a kind.
static KINDS: &[(&str, Category)] = &[
    ("region", Category::Region),
    ("language", Category::Language),
    ("database", Category::Database),
    ("format", Category::Format),
    ("platform", Category::Platform),
    ("cloud", Category::Platform),
];

/// `Only A` against a number of things of its kind.
pub(super) fn counts(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    if !stated.iter().any(|(_, it)| it.only && !it.technologies.is_empty()) {
        return;
    }
    for (noun, category) in KINDS {
        let only: Vec<(usize, Stated<'_>)> = stated
            .iter()
            .filter(|(_, it)| it.only && !it.negative)
            .map(|stated| {
                (stated.1.technologies.iter().filter(|it| it.category == *category).count(), *stated)
            })
            .filter(|(count, _)| *count > 0)
            .take(EXCLUSIVES_MAX)
            .collect();
        if only.is_empty() {
            continue;
        }
        let counted: Vec<(f64, Stated<'_>)> = stated
            .iter()
            .filter(|(_, it)| it.about.contains(noun) && !it.negative)
            .filter_map(|stated| {
                let at_least = stated.1.quantities.iter().filter(|it| it.measures.is_empty());
                let low = at_least.map(|it| Interval::of(it).low).fold(f64::NEG_INFINITY, f64::max);
                (low > 1.0).then_some((low, *stated))
            })
            .collect();
        for (named, member) in &only {
            let more: Vec<Stated<'_>> =
                counted.iter().filter(|(low, _)| *low > *named as f64).map(|(_, stated)| *stated).collect();
            if !more.is_empty() {
                let members: Vec<_> = std::iter::once(*member).chain(more).collect();
                found.push(contradiction("one allows fewer than another asks for", &members));
            }
        }
    }
}

/// `X must be A` and `X must be B`.
pub(super) fn equations(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    let mut groups: BTreeMap<(&Key, &Key), Vec<(&str, Stated<'_>)>> = BTreeMap::new();
    for (constraint, requirement) in stated {
        if let Some((subject, value)) = &requirement.equates {
            let key = (subject, &requirement.about_condition);
            groups.entry(key).or_default().push((value, (*constraint, requirement)));
        }
    }
    for group in groups.values() {
        let values: BTreeSet<&str> = group.iter().map(|(value, _)| *value).collect();
        if values.len() > 1 {
            let members: Vec<_> = group.iter().map(|(_, stated)| *stated).collect();
            found.push(contradiction("they give one thing different values", &members));
        }
    }
}
