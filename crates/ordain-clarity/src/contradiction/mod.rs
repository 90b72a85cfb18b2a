//! Constraints that cannot hold together: two values for one quantity, disjoint intervals, must against must not,
//! opposites, exclusive choices, and orders that run in a circle.
//!
//! Requirements are grouped by what they are about, so that the work grows with their number and not with its square.

mod choices;
mod cycles;
mod values;

#[cfg(test)]
mod tests;

use crate::quantity::Bound;
use crate::requirement::Requirement;
use crate::stems::Stems as Key;
use crate::strength::Modality;
use choices::{actors, exclusives, negations, opposites};
use cycles::cycles;
use std::borrow::Cow;
use std::collections::BTreeSet;
pub(crate) use values::{ADDS_UP_SAID, RUNS_ON, SELECTS};
use values::{counts, equations, permissions, values};

/// Some constraints of which only one can hold. The goal is one too, behind the last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contradiction {
    /// The kind, for the reader.
    pub reason: &'static str,
    /// The constraints, by position, at least one.
    pub constraints: Vec<usize>,
    /// The sentences that disagree, in the order of the constraints.
    pub sentences: Vec<String>,
    /// Those of them that are in the goal.
    pub of_goal: Vec<String>,
}

/// A requirement and the constraint that it is part of.
type Stated<'r> = (usize, &'r Requirement);

/// How many statements with `only` are compared with all others.
const EXCLUSIVES_MAX: usize = 8;

/// All contradictions between constraints, each set of constraints once.
pub fn contradictions(requirements: &[Vec<Requirement>]) -> Vec<Contradiction> {
    contradictions_with(requirements, &[])
}

/// All contradictions between constraints, and of the goal with constraints. The position of the goal is the
/// number of constraints.
pub fn contradictions_with(requirements: &[Vec<Requirement>], goal: &[Requirement]) -> Vec<Contradiction> {
    // The goal alone is prose: it may weigh one thing against another.
    if requirements.is_empty() {
        return Vec::new();
    }
    // A goal also tells a story, which it does not ask for. Where it is done makes no difference.
    let asked: Vec<Cow<'_, Requirement>> = goal.iter().filter(|it| it.demands).map(without_places).collect();
    let of_goal = asked.iter().map(|it| (requirements.len(), &**it));
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
    // A permission contradicts a ban and nothing else.
    let limits = |it: &Requirement| it.quantities.iter().any(|it| it.bound != Bound::Exactly);
    let stated: Vec<Stated<'_>> =
        stated.into_iter().filter(|(_, it)| it.modality != Modality::May || limits(it)).collect();
    values(&stated, &mut found);
    equations(&stated, &mut found);
    opposites(&stated, &mut found);
    exclusives(&stated, &mut found);
    counts(&stated, &mut found);
    cycles(&stated, &mut found);
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

fn without_places(requirement: &Requirement) -> Cow<'_, Requirement> {
    let places: BTreeSet<String> = requirement.paths.iter().map(|it| it.to_lowercase()).collect();
    if places.is_empty() || requirement.about.len() <= places.len() + 1 {
        return Cow::Borrowed(requirement);
    }
    let mut requirement = requirement.clone();
    requirement.about.retain(|it| !places.contains(it));
    if let Some(lead) = &mut requirement.lead {
        lead.retain(|it| !places.contains(it));
    }
    requirement.lead = requirement.lead.take().filter(|it| *it != requirement.about);
    Cow::Owned(requirement)
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
