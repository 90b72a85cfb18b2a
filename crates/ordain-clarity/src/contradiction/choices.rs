//! Demands and bans, opposites, and choices of one thing against another.

use super::{Contradiction, EXCLUSIVES_MAX, Key, Stated, contradiction};
use crate::class::Class;
use crate::lexicon::{Category, OPPOSITES};
use crate::quantity::Bound;
use crate::requirement::{Actors, Requirement};
use crate::text::stem;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Must or may against must not.
pub(super) fn negations(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    #[derive(Default)]
    struct Sides<'r> {
        must: Vec<Stated<'r>>,
        must_not: Vec<Stated<'r>>,
    }
    if !stated.iter().any(|(_, it)| it.negative) {
        return;
    }
    let mut groups: BTreeMap<(&Key, &Key), Sides<'_>> = BTreeMap::new();
    let mut leads: BTreeMap<&Key, Sides<'_>> = BTreeMap::new();
    let mut used: BTreeMap<&str, Sides<'_>> = BTreeMap::new();
    for (constraint, requirement) in stated {
        let member = (*constraint, *requirement);
        let negative = requirement.negative;
        // A bound on a quantity does not ban the thing.
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
        match &requirement.lead {
            None if plain && negative => leads.entry(&requirement.about).or_default().must_not.push(member),
            Some(lead) if plain && !negative => leads.entry(lead).or_default().must.push(member),
            _ => {}
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

/// Words for everybody.
static EVERYBODY: &[&str] = &["anybody", "anyone", "everybody", "everyone"];

/// `Only admins may …` against somebody else who may.
pub(super) fn actors(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    type Who<'r> = (Actors, &'r Key, Stated<'r>);
    let limits = |it: &Requirement| matches!(it.actors, Some((Actors::Only, _)));
    if !stated.iter().any(|(_, it)| limits(it)) {
        return;
    }
    let mut groups: BTreeMap<(Key, &Key), Vec<Who<'_>>> = BTreeMap::new();
    for (constraint, requirement) in stated {
        let Some((kind, who)) = &requirement.actors else { continue };
        let mut deed = requirement.about.clone();
        deed.retain(|it| !who.contains(it) && !EVERYBODY.contains(&it.as_str()));
        if !deed.is_empty() && requirement.quantities.is_empty() {
            let key = (deed, &requirement.about_condition);
            groups.entry(key).or_default().push((*kind, who, (*constraint, *requirement)));
        }
    }
    for group in groups.values() {
        for (_, who, member) in group.iter().filter(|(kind, ..)| *kind == Actors::Only).take(EXCLUSIVES_MAX) {
            // One of the allowed ones is not another.
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

/// The pairs of opposites that a stem belongs to, and on which side.
type Sides = BTreeMap<Cow<'static, str>, Vec<(usize, bool)>>;

/// The sides of each pair of opposites by the stem of their word.
static SIDES: LazyLock<Sides> = LazyLock::new(|| {
    let mut sides = Sides::new();
    for (pair, (one, other)) in OPPOSITES.iter().enumerate() {
        sides.entry(stem(one)).or_default().push((pair, true));
        sides.entry(stem(other)).or_default().push((pair, false));
    }
    sides
});

/// Ascending against descending, of the same thing.
pub(super) fn opposites(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    type Sides<'r> = [Vec<Stated<'r>>; 2];
    let mut groups: BTreeMap<(usize, Key, &Key, Vec<&str>), Sides<'_>> = BTreeMap::new();
    for (constraint, requirement) in stated {
        let requirement: &Requirement = requirement;
        // An order and a bound say when, not whether.
        if requirement.order.is_some() || (requirement.negative && !requirement.quantities.is_empty()) {
            continue;
        }
        let stems = &requirement.opposed;
        for word in stems.iter() {
            for (pair, one) in SIDES.get(word.as_str()).into_iter().flatten() {
                let Some((left, right)) = OPPOSITES.get(*pair) else { continue };
                let mut rest = requirement.about.clone();
                rest.retain(|it| it != word);
                if stems.contains(&stem(left)) && stems.contains(&stem(right)) {
                    let joined = [format!("{left} and {right}"), format!("{right} and {left}")];
                    let lower = requirement.text.to_lowercase();
                    if *one && joined.iter().any(|it| lower.contains(it.as_str())) {
                        found.push(contradiction("it asks for opposites", &[(*constraint, requirement)]));
                    }
                    continue;
                }
                if rest.is_empty() && !requirement.short {
                    continue;
                }
                let side = usize::from(*one != requirement.negative);
                let mut figures: Vec<&str> =
                    requirement.quantities.iter().map(|it| it.text.as_str()).collect();
                figures.sort_unstable();
                let bounded = requirement.quantities.iter().any(|it| it.bound != Bound::Exactly);
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
pub(super) fn exclusives(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    let stays = |it: &Requirement| {
        it.class.has(Class::STAYS) && it.technologies.iter().any(|it| it.category == Category::Region)
    };
    if !stated.iter().any(|(_, it)| it.only || stays(it)) {
        return;
    }
    let mut demanded: BTreeMap<Category, Vec<(&str, Stated<'_>)>> = BTreeMap::new();
    for (constraint, requirement) in stated.iter().filter(|(_, it)| !it.negative) {
        // Named twice it is still one choice.
        let named: BTreeSet<(Category, &str)> =
            requirement.technologies.iter().map(|it| (it.category, &*it.name)).collect();
        for (category, name) in named {
            // The extension of a file is not a choice of a format.
            if !name.starts_with('.') {
                demanded.entry(category).or_default().push((name, (*constraint, requirement)));
            }
        }
    }
    for list in demanded.values() {
        let exclusive: Vec<_> =
            list.iter().filter(|(_, (_, requirement))| requirement.only || stays(requirement)).collect();
        // One that says `only` is compared with all others; a second one that says so is compared too.
        for (_, (constraint, requirement)) in exclusive.iter().take(EXCLUSIVES_MAX) {
            let allowed: BTreeSet<&str> = requirement.technologies.iter().map(|it| &*it.name).collect();
            let rest: Vec<&String> =
                requirement.about.iter().filter(|it| !allowed.contains(it.as_str())).collect();
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
