//! Constraints that cannot hold together: two values for one quantity, disjoint intervals, must against must not,
//! opposites, exclusive choices, and orders that run in a circle.
//!
//! Requirements are grouped by what they are about, so that the work grows with their number and not with its square.

use crate::lexicon::{Category, OPPOSITES};
use crate::quantity::{Interval, Quantity};
use crate::requirement::{Actors, Modality, Requirement};
use crate::text::stem;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Some constraints of which only one can hold. The goal is one too, behind the last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contradiction {
    /// What kind, for the reader.
    pub reason: &'static str,
    /// The constraints, by position, at least one.
    pub constraints: Vec<usize>,
    /// The sentences that disagree, in the order of the constraints.
    pub sentences: Vec<String>,
    /// Those of them that stand in the goal.
    pub of_goal: Vec<String>,
}

/// A requirement and the constraint that it stands in.
type Stated<'r> = (usize, &'r Requirement);
type Key = BTreeSet<String>;

/// All contradictions between constraints, each set of constraints once.
pub fn contradictions(requirements: &[Vec<Requirement>]) -> Vec<Contradiction> {
    contradictions_with(requirements, &[])
}

/// All contradictions between constraints, and of the goal with constraints. The position of the goal is the number of constraints.
pub fn contradictions_with(requirements: &[Vec<Requirement>], goal: &[Requirement]) -> Vec<Contradiction> {
    // A goal also tells a story, which it does not ask for. Where it is done makes no difference.
    let asked: Vec<Requirement> = goal.iter().filter(|it| it.demands).map(without_places).collect();
    let of_goal = asked.iter().map(|it| (requirements.len(), it));
    let stated: Vec<Stated<'_>> = requirements
        .iter()
        .enumerate()
        .flat_map(|(constraint, list)| list.iter().map(move |it| (constraint, it)))
        .chain(of_goal)
        .collect();
    let mut found = Vec::new();
    negations(&stated, &mut found);
    permissions(&stated, &mut found);
    actors(&stated, &mut found);
    // What is only permitted contradicts a ban and nothing else.
    let limits =
        |it: &Requirement| it.quantities.iter().any(|it| it.bound != crate::quantity::Bound::Exactly);
    let stated: Vec<Stated<'_>> =
        stated.into_iter().filter(|(_, it)| it.modality != Modality::May || limits(it)).collect();
    values(&stated, &mut found);
    equations(&stated, &mut found);
    opposites(&stated, &mut found);
    exclusives(&stated, &mut found);
    counts(&stated, &mut found);
    cycles(&stated, &mut found);
    // The goal alone is prose: it may weigh one thing against another.
    found.retain(|it| it.constraints != [requirements.len()]);
    for contradiction in found.iter_mut().filter(|it| it.constraints.last() == Some(&requirements.len())) {
        let of_goal = |it: &&String| asked.iter().any(|asked| asked.text == **it);
        contradiction.of_goal = contradiction.sentences.iter().filter(of_goal).cloned().collect();
    }
    let mut seen = BTreeSet::new();
    found.retain(|it| {
        seen.insert((
            it.constraints.clone(),
            if it.constraints.len() == 1 { it.sentences.clone() } else { Vec::new() },
        ))
    });
    found.sort_by(|left, right| left.constraints.cmp(&right.constraints));
    found
}

fn without_places(requirement: &Requirement) -> Requirement {
    let mut requirement = requirement.clone();
    let places: BTreeSet<String> = requirement.paths.iter().map(|it| it.to_lowercase()).collect();
    if requirement.about.len() > places.len() + 1 {
        requirement.about.retain(|it| !places.contains(it));
        requirement.lead.retain(|it| !places.contains(it));
    }
    requirement
}

fn contradiction(reason: &'static str, members: &[Stated<'_>]) -> Contradiction {
    let mut members: Vec<_> = members.iter().map(|(constraint, it)| (*constraint, &it.text)).collect();
    members.sort();
    members.dedup();
    let mut constraints: Vec<usize> = members.iter().map(|(constraint, _)| *constraint).collect();
    constraints.dedup();
    Contradiction {
        reason,
        constraints,
        sentences: members.into_iter().map(|(_, text)| text.clone()).collect(),
        of_goal: Vec::new(),
    }
}

/// Verbs of which one value does not exclude another: Python 3.9 and 3.10 can both be supported.
static ADDS_UP: &[&str] =
    &["support", "accept", "allow", "handle", "include", "cover", "test", "add", "return"];
/// The same said of a thing rather than asked for.
static ADDS_UP_SAID: &[&str] =
    &["supports", "accepts", "allows", "handles", "includes", "covers", "returns", "tested"];
/// What a thing does on several of its kind at once, if it says `on` or `with`.
static RUNS_ON: &[&str] =
    &["run", "runs", "work", "works", "compile", "compiles", "build", "builds", "target", "targets"];
/// Words with which a bound picks out cases instead of limiting all of them.
static SELECTS: &[&str] = &[
    "reject", "rejects", "rejected", "refuse", "refused", "block", "blocked", "deny", "denied", "alert",
    "warn", "fail", "fails", "ignore", "ignored", "skip", "skipped", "drop", "exclude", "flag", "invalid",
    "alarm",
];

fn says(requirement: &Requirement, list: &[&str]) -> bool {
    list.iter().any(|it| requirement.words.contains(*it))
}

/// The subject of a statement about a day. A thing finished by a day happens by then; a thing that starts on a day happens from then on.
fn dated_about<'r>(requirement: &'r Requirement, measure: &str, of_measure: &[&Quantity]) -> Cow<'r, Key> {
    use crate::quantity::Bound;
    let drops: &[&str] = match of_measure {
        [only] if matches!(measure, "date" | "day" | "clock") => match only.bound {
            Bound::AtMost | Bound::LessThan => &["finish", "complet", "end", "do"],
            Bound::AtLeast | Bound::MoreThan => &["start", "begin"],
            Bound::Exactly | Bound::About => &[],
        },
        _ => &[],
    };
    if !drops.iter().any(|it| requirement.about.contains(*it)) {
        return Cow::Borrowed(&requirement.about);
    }
    Cow::Owned(requirement.about.iter().filter(|it| !drops.contains(&it.as_str())).cloned().collect())
}

/// Two values for one quantity, or bounds that leave nothing.
fn values(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    type Bounds<'r> = Vec<(Interval, Stated<'r>)>;
    type Group<'r> = (Cow<'r, Key>, &'r Key, &'static str, Vec<&'r str>);
    let mut groups: BTreeMap<Group<'_>, Bounds<'_>> = BTreeMap::new();
    for (constraint, requirement) in stated {
        let requirement: &Requirement = requirement;
        if says(requirement, SELECTS) {
            continue;
        }
        let mut measures: Vec<&'static str> = requirement.quantities.iter().map(|it| it.measures).collect();
        measures.sort_unstable();
        measures.dedup();
        for measure in measures {
            let of_measure: Vec<_> =
                requirement.quantities.iter().filter(|it| it.measures == measure).collect();
            let exact = of_measure.iter().filter(|it| it.bound == crate::quantity::Bound::Exactly).count();
            let interval = of_measure.iter().fold(Interval::ALL, |sum, it| sum.and(Interval::of(it)));
            // `below 0 or above 40` is a union.
            let union = of_measure.len() > 1 && requirement.words.contains("or");
            if of_measure.len() == 2 && exact == 0 && !union && interval.is_empty() {
                found.push(contradiction("it leaves a quantity no value", &[(*constraint, requirement)]));
                continue;
            }
            if exact == 2 && of_measure.len() == 2 && requirement.words.contains("both") {
                found.push(contradiction("it gives one thing two values", &[(*constraint, requirement)]));
                continue;
            }
            let adds_up = exact > 0
                && (requirement.action.as_deref().is_some_and(|it| ADDS_UP.contains(&it))
                    || says(requirement, ADDS_UP_SAID)
                    || (says(requirement, RUNS_ON) && says(requirement, &["on", "with"])));
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
        // Who sets the highest low and the lowest high is to blame, and who agrees with neither.
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
fn permissions(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    #[derive(Default)]
    struct Sides<'r> {
        none: Vec<Stated<'r>>,
        some: Vec<Stated<'r>>,
    }
    let mut groups: BTreeMap<Key, Sides<'_>> = BTreeMap::new();
    for (constraint, requirement) in stated {
        let mut about = requirement.about.clone();
        about.remove("zero");
        let bounded = requirement.quantities.iter().any(|it| {
            it.value > 0.0
                && matches!(it.bound, crate::quantity::Bound::AtMost | crate::quantity::Bound::LessThan)
        });
        let permits = requirement.modality == Modality::May
            || says(requirement, &["acceptable", "allowed", "fine", "ok", "okay", "permitted", "tolerated"]);
        if about.is_empty() || !requirement.about_condition.is_empty() {
            continue;
        }
        if requirement.none && requirement.quantities.is_empty() {
            groups.entry(about).or_default().none.push((*constraint, requirement));
        } else if bounded && permits && !requirement.none {
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

/// Words for everybody.
static EVERYBODY: &[&str] = &["anybody", "anyone", "everybody", "everyone"];

/// `Only admins may …` against somebody else who may.
fn actors(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    type Who<'r> = (Actors, BTreeSet<String>, Stated<'r>);
    let mut groups: BTreeMap<(Key, &Key), Vec<Who<'_>>> = BTreeMap::new();
    for (constraint, requirement) in stated {
        let Some((kind, who)) = &requirement.actors else { continue };
        let mut deed = requirement.about.clone();
        deed.retain(|it| !who.contains(it) && !EVERYBODY.contains(&it.as_str()));
        if !deed.is_empty() && requirement.quantities.is_empty() {
            let key = (deed, &requirement.about_condition);
            groups.entry(key).or_default().push((*kind, who.clone(), (*constraint, requirement)));
        }
    }
    for group in groups.values() {
        for (_, who, member) in group.iter().filter(|(kind, ..)| *kind == Actors::Only).take(EXCLUSIVES_MAX) {
            // Who is among the allowed ones is no other.
            let others: Vec<Stated<'_>> = group
                .iter()
                .filter(|(_, other, _)| !who.is_subset(other))
                .map(|(.., member)| *member)
                .collect();
            if !others.is_empty() {
                let members: Vec<_> = std::iter::once(*member).chain(others).collect();
                found.push(contradiction("one allows to some only what another allows to others", &members));
            }
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
fn counts(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
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
            .filter(|(_, it)| it.about.contains(*noun) && !it.negative)
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
fn equations(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
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

/// Must or may against must not.
fn negations(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    #[derive(Default)]
    struct Sides<'r> {
        must: Vec<Stated<'r>>,
        must_not: Vec<Stated<'r>>,
    }
    let mut groups: BTreeMap<(&Key, &Key), Sides<'_>> = BTreeMap::new();
    let mut leads: BTreeMap<&Key, Sides<'_>> = BTreeMap::new();
    let mut used: BTreeMap<&str, Sides<'_>> = BTreeMap::new();
    for (constraint, requirement) in stated {
        let member = (*constraint, *requirement);
        let negative = requirement.negative;
        // A bound on a quantity is no ban of the thing.
        if !requirement.quantities.is_empty() || requirement.about.is_empty() {
            continue;
        }
        let sides = groups.entry((&requirement.about, &requirement.about_condition)).or_default();
        if negative {
            sides.must_not.push(member)
        } else {
            sides.must.push(member)
        }
        // A ban without any qualification covers what is asked for with one: `store tokens in the keychain`.
        let plain = requirement.about_condition.is_empty();
        if plain && negative && requirement.about == requirement.lead {
            leads.entry(&requirement.lead).or_default().must_not.push(member);
        } else if plain && !negative && requirement.about != requirement.lead {
            leads.entry(&requirement.lead).or_default().must.push(member);
        }
        // `Do not use Redis` forbids every use of it.
        let bare_ban = negative && requirement.about.len() == 1 && plain;
        for technology in &requirement.technologies {
            let sides = used.entry(&technology.name).or_default();
            match negative {
                true if bare_ban => sides.must_not.push(member),
                true => {}
                false => sides.must.push(member),
            }
        }
    }
    for sides in groups.values().chain(leads.values()).chain(used.values()) {
        if !sides.must.is_empty() && !sides.must_not.is_empty() {
            let members: Vec<_> = sides.must.iter().chain(&sides.must_not).copied().collect();
            found.push(contradiction("one demands what another forbids", &members));
        }
    }
}

/// The sides of each pair of opposites by the stem of their word.
static SIDES: LazyLock<BTreeMap<String, Vec<(usize, bool)>>> = LazyLock::new(|| {
    let mut sides: BTreeMap<String, Vec<(usize, bool)>> = BTreeMap::new();
    for (pair, (one, other)) in OPPOSITES.iter().enumerate() {
        sides.entry(stem(one)).or_default().push((pair, true));
        sides.entry(stem(other)).or_default().push((pair, false));
    }
    sides
});

/// How few words a sentence about the whole has: `the service is stateless`.
const SHORT_WORDS_MAX: usize = 6;

/// Ascending against descending, of the same thing.
fn opposites(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    type Sides<'r> = [Vec<Stated<'r>>; 2];
    let mut groups: BTreeMap<(usize, Key, &Key, Vec<&str>), Sides<'_>> = BTreeMap::new();
    for (constraint, requirement) in stated {
        let requirement: &Requirement = requirement;
        // An order and a bound say when, not whether.
        if requirement.order.is_some() || (requirement.negative && !requirement.quantities.is_empty()) {
            continue;
        }
        let stems: BTreeSet<String> = requirement.words.iter().map(|it| stem(it)).collect();
        for word in &stems {
            for (pair, one) in SIDES.get(word).into_iter().flatten() {
                let Some((left, right)) = OPPOSITES.get(*pair) else { continue };
                let mut rest = requirement.about.clone();
                rest.remove(word);
                if stems.contains(&stem(left)) && stems.contains(&stem(right)) {
                    let joined = [format!("{left} and {right}"), format!("{right} and {left}")];
                    let lower = requirement.text.to_lowercase();
                    if *one && joined.iter().any(|it| lower.contains(it.as_str())) {
                        found.push(contradiction("it asks for opposites", &[(*constraint, requirement)]));
                    }
                    continue;
                }
                if rest.is_empty() && requirement.words.len() > SHORT_WORDS_MAX {
                    continue;
                }
                let side = usize::from(*one != requirement.negative);
                let mut figures: Vec<&str> =
                    requirement.quantities.iter().map(|it| it.text.as_str()).collect();
                figures.sort_unstable();
                let bounded =
                    requirement.quantities.iter().any(|it| it.bound != crate::quantity::Bound::Exactly);
                let sides = groups.entry((*pair, rest, &requirement.about_condition, figures)).or_default();
                if let Some(list) = sides.get_mut(side).filter(|_| !bounded) {
                    list.push((*constraint, requirement));
                }
            }
        }
    }
    for [one, other] in groups.values() {
        if !one.is_empty() && !other.is_empty() {
            let members: Vec<_> = one.iter().chain(other).copied().collect();
            found.push(contradiction("they ask for opposites", &members));
        }
    }
}

/// `Only A` against another choice of its kind.
fn exclusives(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    let mut demanded: BTreeMap<Category, Vec<(&str, Stated<'_>)>> = BTreeMap::new();
    for (constraint, requirement) in stated.iter().filter(|(_, it)| !it.negative) {
        // Named twice it is still one choice.
        let named: BTreeSet<(Category, &str)> =
            requirement.technologies.iter().map(|it| (it.category, it.name.as_str())).collect();
        for (category, name) in named {
            // The extension of a file is no choice of a format.
            if !name.starts_with('.') {
                demanded.entry(category).or_default().push((name, (*constraint, requirement)));
            }
        }
    }
    for list in demanded.values() {
        let stays = |it: &Requirement| {
            says(it, &["stay", "stays", "remain", "remains"])
                && it.technologies.iter().any(|it| it.category == Category::Region)
        };
        let exclusive: Vec<_> =
            list.iter().filter(|(_, (_, requirement))| requirement.only || stays(requirement)).collect();
        let names_of = |requirement: &Requirement| -> BTreeSet<String> {
            requirement.technologies.iter().map(|it| it.name.clone()).collect()
        };
        // One that says `only` is compared with all others; a second one that says so is compared too.
        for (_, (constraint, requirement)) in exclusive.iter().take(EXCLUSIVES_MAX) {
            let allowed = names_of(requirement);
            let rest: Key = requirement.about.iter().filter(|it| !allowed.contains(*it)).cloned().collect();
            let against: Vec<Stated<'_>> = list
                .iter()
                .filter(|(name, (other, _))| !allowed.contains(*name) && other != constraint)
                .filter(|(_, (_, other))| rest.iter().all(|it| other.about.contains(it)))
                .map(|(_, stated)| *stated)
                .collect();
            if !against.is_empty() {
                let members: Vec<_> = std::iter::once((*constraint, *requirement)).chain(against).collect();
                found.push(contradiction("one allows only what another departs from", &members));
            }
        }
    }
}

/// How many statements with `only` are compared with all others.
const EXCLUSIVES_MAX: usize = 8;

/// Orders that run in a circle: the strongly connected parts of the graph of `A before B`.
fn cycles(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    let mut nodes: BTreeMap<&Key, usize> = BTreeMap::new();
    let mut edges: Vec<(usize, usize, Stated<'_>)> = Vec::new();
    for (constraint, requirement) in stated {
        if let Some((left, right)) = &requirement.order {
            let mut node = |key| {
                let next = nodes.len();
                *nodes.entry(key).or_insert(next)
            };
            let (left, right) = (node(left), node(right));
            edges.push((left, right, (*constraint, requirement)));
        }
    }
    // What nothing comes before, and what nothing comes after, is on no circle: take it away until nothing goes.
    let mut alive = vec![true; edges.len()];
    for forward in [true, false] {
        let ends =
            |edge: &(usize, usize, Stated<'_>)| if forward { (edge.0, edge.1) } else { (edge.1, edge.0) };
        let mut incoming = vec![0_usize; nodes.len()];
        let mut outgoing: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (index, edge) in edges.iter().enumerate().filter(|(index, _)| alive.get(*index) == Some(&true)) {
            let (from, to) = ends(edge);
            if let (Some(count), Some(list)) = (incoming.get_mut(to), outgoing.get_mut(from)) {
                *count += 1;
                list.push(index);
            }
        }
        let mut free: Vec<usize> =
            incoming.iter().enumerate().filter(|(_, count)| **count == 0).map(|(at, _)| at).collect();
        while let Some(node) = free.pop() {
            for index in outgoing.get(node).cloned().unwrap_or_default() {
                let Some(edge) = edges.get(index) else { continue };
                let (_, to) = ends(edge);
                if let (Some(alive), Some(count)) = (alive.get_mut(index), incoming.get_mut(to)) {
                    *alive = false;
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        free.push(to);
                    }
                }
            }
        }
    }
    let members: Vec<_> =
        edges.iter().zip(&alive).filter(|(_, alive)| **alive).map(|(edge, _)| edge.2).collect();
    if !members.is_empty() {
        found.push(contradiction("their order runs in a circle", &members));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::requirements;
    use crate::text::Text;

    fn found(constraints: &[&str]) -> Vec<Vec<usize>> {
        let texts: Vec<_> = constraints.iter().map(|it| Text::new(it)).collect();
        let read: Vec<_> = texts.iter().map(requirements).collect();
        contradictions(&read).into_iter().map(|it| it.constraints).collect()
    }

    /// Pairs that were written before the rules for them.
    #[test]
    fn pairs_that_were_written_before() {
        const PAIRS: &str = include_str!("../../../data/clarify/contradictions.jsonl");
        let (mut right, mut all, mut missed, mut alarms) = (0, 0, Vec::new(), Vec::new());
        for line in PAIRS.lines() {
            let item: serde_json::Value = serde_json::from_str(line).unwrap();
            let texts: Vec<&str> =
                item["constraints"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
            let texts: Vec<Text<'_>> = texts.into_iter().map(Text::new).collect();
            let read: Vec<_> = texts.iter().map(requirements).collect();
            let goal = Text::new(item["goal"].as_str().unwrap_or_default());
            let found = !contradictions_with(&read, &requirements(&goal)).is_empty();
            match item["contradicts"].as_bool().unwrap() {
                true => {
                    all += 1;
                    right += usize::from(found);
                    missed.extend((!found).then(|| line.to_owned()));
                }
                false => alarms.extend(found.then(|| line.to_owned())),
            }
        }
        assert!(alarms.is_empty(), "false alarms:\n{}", alarms.join("\n"));
        assert!(right * 4 >= all * 3, "{right} of {all}; missed:\n{}", missed.join("\n"));
    }

    /// What bundles once missed.
    #[test]
    fn pairs_that_were_missed() {
        for (goal, constraints) in [
            ("", vec!["Minimum replicas: 10", "Maximum replicas: 5"]),
            ("", vec!["Only admins may export", "Every user may export"]),
            ("", vec!["Downtime must be zero", "Downtime may be up to 10 minutes"]),
            ("", vec!["Deploy to eu-west-1 only", "Deploy to at least two regions"]),
            ("", vec!["The export must be synchronous", "The export must run asynchronously"]),
            ("", vec!["Release on 1 March", "Do not release before 15 March"]),
            ("Rewrite the importer in Go", vec!["The importer must stay in Python"]),
            ("Make the button green", vec!["The button must be red"]),
            (
                "Store passwords in plain text so that support can read them",
                vec!["Passwords must never be stored in plain text"],
            ),
        ] {
            let texts: Vec<Text<'_>> = constraints.iter().map(|it| Text::new(it)).collect();
            let read: Vec<_> = texts.iter().map(requirements).collect();
            let found = contradictions_with(&read, &requirements(&Text::new(goal)));
            assert_eq!(found.len(), 1, "{goal} {constraints:?}: {found:?}");
        }
    }

    #[test]
    fn what_cannot_hold_together() {
        let mut wrong = Vec::new();
        for constraints in [
            vec!["port must be 8080", "port must be 9090"],
            vec!["The server must listen on port 8080", "The port must be 9090"],
            vec!["The request timeout must be 5 seconds.", "The request timeout must be 30 seconds."],
            vec!["Timeout: 30 s", "timeout must be at least 1 minute"],
            vec!["Response time must be under 200 ms", "Response time must be at least 0.5 s"],
            vec![
                "The queue must hold at least 10000 messages.",
                "The queue must hold at most 2000 messages.",
            ],
            vec!["The request must not take more than 5 s", "The request must take at least 10 s"],
            vec!["Retry exactly 3 times", "Retry at least 5 times"],
            vec!["The sender must log the request body.", "The sender must not log the request body."],
            vec!["Requests must be logged", "Do not log requests"],
            vec!["Use Redis for sessions", "Do not use Redis"],
            vec!["Never store passwords", "Store passwords"],
            vec!["Results must be sorted in ascending order", "Results must be sorted in descending order"],
            vec!["Logging must be enabled", "Logging must be disabled"],
            vec!["Use only PostgreSQL", "Store the orders in MySQL"],
            vec!["The output format must be JSON", "The output format must be XML"],
            vec!["The service must be written in Go", "The service must be written in Rust"],
            vec!["The branch must be `main`", "The branch must be `trunk`"],
            vec!["Run the migration before the deployment", "Run the deployment before the migration"],
            vec!["Passwords must be at least 12 characters and at most 10 characters long."],
            vec!["The API must be public", "The API must be private"],
            vec!["Users may export data", "Users must not export data"],
            vec!["Caching is required", "Caching is forbidden"],
            vec!["Use Kafka for events", "Kafka is forbidden"],
            vec!["Overwrite existing files", "Existing files must not be overwritten"],
            vec!["Don't store tokens", "Store tokens in the keychain"],
            vec!["The service is stateless", "The service is stateful"],
            vec!["Currency: EUR", "Currency: USD"],
            vec!["Time zone must be UTC", "Time zone must be CET"],
            vec!["The id must be an integer", "The id must be a string"],
            vec!["Implement the service in Go", "Implement the service in Java"],
            vec!["The frontend uses React", "The frontend uses Vue"],
            vec!["Deploy to AWS only", "Deploy to Azure"],
            vec!["Accept only PNG", "Accept GIF"],
            vec!["Test coverage: 90 %", "Test coverage: 70 %"],
            vec!["The error rate must stay below 1 %", "The error rate must be above 2 %"],
            vec!["Set MAX_RETRIES=3", "Set MAX_RETRIES=7"],
            vec!["Exactly one admin", "Exactly two admins"],
            vec!["Encrypt the file before compressing it", "Compress the file before encrypting it"],
            vec!["First approve, then publish", "First publish, then approve"],
            vec!["The size must be greater than 10 and less than 5"],
            vec!["Logging must be enabled and disabled"],
            vec!["Page size must be exactly 50", "Page size must not exceed 20"],
            vec!["The service must run 3 replicas", "The service must run 5 replicas"],
            vec!["The backup must run at 02:00", "The backup must run at 04:00"],
            vec!["Node 18 or later", "Node 16 or earlier"],
            vec!["Logs are retained for 30 days", "Logs must be retained for at least 1 year"],
            vec!["The search is case sensitive", "The search is case insensitive"],
            vec!["Use of eval is not allowed", "Use eval"],
            vec!["There must be no logging", "Logging must happen"],
            vec!["The timeout must be both 5 s and 10 s"],
            vec![
                "Nobody may delete invoices",
                "Admins may delete invoices",
                "Nobody may delete invoices ever",
                "Delete invoices",
            ],
        ] {
            if found(&constraints).len() != 1 {
                wrong.push(format!("{constraints:?}: {:?}", found(&constraints)));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let cycle = ["Lint before test", "Test before deploy", "Deploy before lint", "Build before lint"];
        assert_eq!(found(&cycle), [vec![0, 1, 2]]);
        assert_eq!(
            found(&["port must be 1", "port must be 2", "port must be 3", "host must be 4"]),
            [vec![0, 1, 2]]
        );
    }

    #[test]
    fn what_can() {
        let mut wrong = Vec::new();
        for constraints in [
            vec!["must not log secrets", "must validate input"],
            vec!["HTTP port must be 8080", "The metrics port must be 9090"],
            vec!["Timeout must be at least 5 s", "Timeout must be at most 30 s"],
            vec!["Timeout must be 1 minute", "Timeout must be 60 s"],
            vec!["When the user is an admin, the limit is 100", "When the user is a guest, the limit is 10"],
            vec!["Sort names ascending", "Sort dates descending"],
            vec!["Support JSON", "Support XML"],
            vec!["Use PostgreSQL for orders", "Use Redis for sessions"],
            vec!["Use only PostgreSQL for storage", "Cache sessions in Redis"],
            vec!["Lint before test", "Test before deploy", "Lint before deploy"],
            vec!["Keep 3 copies", "Keep 3 copies of the log"],
            vec!["The cursor must not expose customer data", "The cursor must be signed"],
            vec!["Users may export data", "Users must not delete data"],
            vec!["Users may sort names ascending", "Users may sort names descending"],
            vec!["The API must not be slower than 200 ms", "The API must answer within 100 ms"],
            vec!["Retry 3 times within 10 s", "Wait 2 s"],
            vec!["Limit number 1 is high", "Limit number 2 is high"],
            vec!["Step 1 must be logged", "Step 2 must be logged"],
            vec!["Support Python 3.9", "Support Python 3.10"],
            vec!["Return status 404", "Return status 400"],
            vec!["Python >= 3.9", "Python < 3.13"],
            vec!["Must run on Ubuntu 22.04", "Must run on Ubuntu 24.04"],
            vec!["Accept files up to 50 MB", "Reject files over 50 MB"],
            vec!["Allow port 443", "Block port 22"],
            vec!["Include rows with a status", "Exclude rows without a status"],
            vec!["Keep 10 backups", "Do not keep more than 10 backups"],
            vec!["The left sidebar is 240 px wide", "The right sidebar is 320 px wide"],
            vec!["Start the API before the worker", "Stop the worker before the API"],
            vec!["Severity 1: 1 h", "Severity 2: 4 h"],
            vec!["Listen on port 8080 for HTTP", "Listen on port 8443 for HTTPS"],
            vec!["The discount is 5 % after 2 years", "The discount is 10 % after 5 years"],
            vec!["Reject names shorter than 3 characters", "Reject names longer than 50 characters"],
            vec!["Temperatures under 0 or over 40 raise an alarm"],
            vec!["Shift with x << 2 and y >> 3"],
            vec!["Take a backup before the migration", "Take a backup after the migration"],
            vec!["Send one email per day", "Do not send more than one email per day"],
            vec!["Delete files", "Do not delete files that are in use"],
            vec!["Do not store passwords", "Store password hashes"],
        ] {
            if !found(&constraints).is_empty() {
                wrong.push(format!("{constraints:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
