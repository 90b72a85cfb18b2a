//! The approvals that were given and are needed, and whether waiting would help.

use super::reasons::Reasons;
use crate::limits::{APPROVAL_MS_MAX, APPROVALS_MAX};
use crate::policy::PolicySet;
use ordain_canon::{ActionHash, Value};
use ordain_spec::action::{ApprovalClass, Proposal};
use ordain_spec::approval::{Approval, Verdict};
use ordain_spec::decision::gate;
use ordain_spec::limits::CLOCK_SKEW_MS;
use ordain_spec::statement::{ApproverKeys, Assurance};
use ordain_spec::{Facts, Kind, verify_value};
use std::collections::{BTreeMap, BTreeSet};

/// Where reasons about approvals point to.
pub(crate) const PATH: &str = "/approval_class";

/// The people who may approve, and those who did.
pub(crate) struct Approved<'s> {
    /// The actor's person.
    actor: &'s str,
    /// People in scope, without the actor, and an id that each may use.
    in_scope: BTreeMap<&'s str, &'s str>,
    /// An approval that counts: the person, and the id they used.
    pub(crate) by: BTreeMap<&'s str, &'s str>,
    /// How sure it is that the person is behind it.
    assurance: BTreeMap<&'s str, Assurance>,
}

/// The approvals of a case, and what they are checked against.
pub(crate) struct Given<'a> {
    pub(crate) documents: &'a [Value<'a>],
    pub(crate) keys: &'a ApproverKeys,
    pub(crate) now_ms: u64,
    /// The demands of the permits in scope on each approver.
    pub(crate) asked: BTreeMap<String, Asked>,
}

/// The least that permits ask of one approver.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) assurance: Assurance,
    /// How many approvals the permit that asks for fewest takes.
    pub(crate) approvals: usize,
}

impl<'s> Approved<'s> {
    /// Counts the approvals, and says why others do not count.
    pub(crate) fn count(
        set: &'s PolicySet,
        actor: &'s str,
        approvers: &'s BTreeSet<String>,
        proposal_hash: &ActionHash,
        given: &Given<'_>,
        reasons: &mut Reasons,
    ) -> Self {
        let actor = set.people.person(actor);
        let mut in_scope = BTreeMap::new();
        for id in approvers {
            in_scope.entry(set.people.person(id)).or_insert(id.as_str());
        }
        in_scope.remove(actor);
        let mut approved = Self { actor, in_scope, by: BTreeMap::new(), assurance: BTreeMap::new() };
        let facts = Facts { approver_keys: Some(given.keys), ..Facts::default() };
        let mut valid: Vec<Approval> = Vec::new();
        for document in given.documents {
            let report = verify_value(Kind::Approval, &facts, document);
            match (report.violations().first(), document.to_typed::<Approval>()) {
                (None, Ok(approval)) => valid.push(approval),
                (problem, _) => {
                    let problem = problem.map(|it| format!("{} at `{}`: {}", it.rule, it.path, it.message));
                    let problem = problem.unwrap_or_default();
                    reasons.tell(gate::NOT_COUNTED, format!("an approval is not valid: {problem}"));
                }
            }
        }
        // The order in which they were given must not matter.
        valid.sort_by(|left, right| (left.at_ms, &left.approver).cmp(&(right.at_ms, &right.approver)));
        for approval in &valid {
            if let Err(message) = approved.add(set, approvers, approval, proposal_hash, given, reasons) {
                let message =
                    format!("the approval by `{}` does not count: {message}", approval.approver.as_str());
                reasons.tell(gate::NOT_COUNTED, message);
            }
        }
        approved
    }

    fn add(
        &mut self,
        set: &'s PolicySet,
        approvers: &'s BTreeSet<String>,
        approval: &Approval,
        proposal_hash: &ActionHash,
        given: &Given<'_>,
        reasons: &mut Reasons,
    ) -> Result<(), String> {
        let now_ms = given.now_ms;
        let id = approval.approver.as_str();
        if !proposal_hash.is(approval.proposal_hash.as_str()) {
            return Err("it is for another proposal".to_owned());
        }
        if !set.people.has_actor(id) {
            let like = set.known.actors.like(id);
            let like = like
                .map(|known| format!(", though there is `{known}`, which looks like it"))
                .unwrap_or_default();
            return Err(format!("the policy has no such actor{like}"));
        }
        let Some(id) = approvers.get(id) else {
            return Err("no permit that is about this proposal names them in `@approvers`".to_owned());
        };
        let person = set.people.person(id);
        if person == self.actor {
            return Err("it is the actor's own, under whatever name".to_owned());
        }
        if approval.verdict == Verdict::Reject {
            reasons.deny(gate::REJECTED, "", format!("`{id}` rejected it: {}", approval.reason.trim()));
            return Ok(());
        }
        if set.people.owns(person, self.actor) && !is_assured(approval) {
            return Err(format!(
                "`{id}` owns the agent that proposed it, and an owner's approval counts only if it is signed (`recent` or `presence`)"
            ));
        }
        let skew_ms = u64::try_from(CLOCK_SKEW_MS).unwrap_or_default();
        if approval.at_ms > now_ms.saturating_add(skew_ms) {
            return Err(format!("it is {} ms in the future", approval.at_ms - now_ms));
        }
        let age_ms = now_ms.saturating_sub(approval.at_ms);
        if age_ms > APPROVAL_MS_MAX {
            let hours = APPROVAL_MS_MAX / 3_600_000;
            return Err(format!("it expired: approvals hold for {hours} hours, and it is {age_ms} ms old"));
        }
        let assurance = approval.assurance();
        let asked = given.asked.get(id).copied();
        let asked = asked.unwrap_or(Asked { assurance: Assurance::Local, approvals: 1 });
        if let Some(problem) = shortfall(asked.assurance, asked.approvals, assurance) {
            return Err(problem);
        }
        match self.by.get(person) {
            // Signed later, it counts for more.
            Some(_) if self.assurance.get(person).is_some_and(|before| *before < assurance) => {}
            Some(before) if *before == id => return Err("they approved already".to_owned()),
            Some(before) => return Err(format!("they approved already, as `{before}`")),
            None => {}
        }
        self.by.insert(person, id);
        self.assurance.insert(person, assurance);
        Ok(())
    }

    /// People in scope who have not approved.
    pub(crate) fn available(&self) -> BTreeSet<&'s str> {
        self.in_scope.keys().filter(|person| !self.by.contains_key(*person)).copied().collect()
    }

    /// Those of some people who have not approved, by an id of theirs.
    pub(crate) fn still(&self, people: &BTreeSet<&str>) -> String {
        const SHOWN_MAX: usize = 8;
        let open = people.iter().filter(|person| !self.by.contains_key(*person));
        let all: Vec<String> =
            open.filter_map(|person| self.in_scope.get(person)).map(|id| format!("`{id}`")).collect();
        match all.get(..SHOWN_MAX) {
            Some(shown) if all.len() > SHOWN_MAX => {
                format!("{} and {} more", shown.join(", "), all.len() - SHOWN_MAX)
            }
            _ => all.join(", "),
        }
    }

    /// The people behind some approvers, without the actor.
    pub(crate) fn people_of<'t>(&self, set: &'t PolicySet, ids: &'t BTreeSet<String>) -> BTreeSet<&'t str> {
        let mut people = set.people.persons(ids);
        people.remove(self.actor);
        people
    }

    /// How many of some people have approved, if up to `more` others of them did as well.
    pub(crate) fn count_in(&self, people: &BTreeSet<&str>, more: usize) -> usize {
        let given = people.iter().filter(|person| self.by.contains_key(*person)).count();
        given + more.min(people.len() - given)
    }

    /// The ids that count, sorted.
    pub(crate) fn have(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.by.values().map(|&id| id.to_owned()).collect();
        ids.sort_by(|left, right| ordain_canon::compare_utf16(left, right));
        ids
    }
}

/// Whether a person was there when it was given. Nothing that an agent with its owner's shell could do is enough.
fn is_assured(approval: &Approval) -> bool {
    approval.assurance().needs_signature()
}

/// A number of approvals that somebody asks for.
pub(crate) struct Demand<'s> {
    class: ApprovalClass,
    pub(crate) count: usize,
    assurance: Assurance,
    /// The people who can give them, without the actor.
    people: BTreeSet<&'s str>,
    /// As the policies name them.
    names: Vec<&'s str>,
    /// The permit that asks; none if the proposal does.
    policy: Option<&'s str>,
}

impl Demand<'_> {
    fn given(&self, approved: &Approved<'_>) -> usize {
        let given = self.people.iter().filter_map(|person| approved.assurance.get(person));
        given.filter(|given| self.shortfall(**given).is_none()).count()
    }

    /// Why an approval with this assurance does not count for it.
    fn shortfall(&self, given: Assurance) -> Option<String> {
        shortfall(self.assurance, self.count, given)
    }

    /// Approvals that do not reach the assurance.
    fn tell_weak(&self, approved: &Approved<'_>, reasons: &mut Reasons) {
        for (person, id) in approved.by.iter().filter(|(person, _)| self.people.contains(*person)) {
            if let Some(problem) = approved.assurance.get(person).and_then(|given| self.shortfall(*given)) {
                let message = format!("the approval by `{id}` does not count for {}: {problem}", self.asks());
                reasons.tell(gate::NOT_COUNTED, message);
            }
        }
    }

    fn is_met(&self, approved: &Approved<'_>) -> bool {
        self.given(approved) >= self.count
    }

    fn is_possible(&self) -> bool {
        self.people.len() >= self.count
    }

    /// The permit that asks; none if the proposal does.
    pub(crate) fn policy(&self) -> Option<&str> {
        self.policy
    }

    fn policies(&self) -> Vec<&str> {
        self.policy.into_iter().collect()
    }

    fn asks(&self) -> String {
        match self.policy {
            Some(policy) => format!("`{policy}`"),
            None => "the proposal".to_owned(),
        }
    }

    /// V-PROP-014.
    fn deny_impossible(&self, reasons: &mut Reasons) {
        if self.names.is_empty() {
            let message = format!(
                "{} asks for {}, but no policy that permits it says whose; `@approvers` would",
                self.asks(),
                counted(self.count, "approval")
            );
            return reasons.deny_by(Kind::Action.rule(14), PATH, message, &self.policies());
        }
        let message = format!(
            "{} asks for {} from {}, but {} besides the actor",
            self.asks(),
            counted(self.count, "approval"),
            named(&self.names),
            match self.people.len() {
                0 => "nobody may approve".to_owned(),
                1 => "only one person may approve".to_owned(),
                count => format!("only {count} people may approve"),
            }
        );
        reasons.deny_by(Kind::Action.rule(14), PATH, message, &self.policies());
    }

    /// G14.
    fn wait(&self, approved: &Approved<'_>, reasons: &mut Reasons) {
        let given = self.given(approved);
        let message = format!(
            "{} asks for {}{} from {}, {given} of them given; still needed: {} of {}",
            self.asks(),
            counted(self.count, "approval"),
            match self.assurance {
                Assurance::Local => String::new(),
                assurance => format!(" with the assurance `{}`", assurance.name()),
            },
            named(&self.names),
            self.count.saturating_sub(given),
            approved.still(&self.people),
        );
        reasons.wait(gate::APPROVALS, PATH, message, &self.policies());
    }
}

/// Why an approval does not reach what is asked. A key that stays unlocked signs alone: where several people
/// must approve, each of them is there for it.
fn shortfall(least: Assurance, approvals: usize, given: Assurance) -> Option<String> {
    if given < least {
        return Some(format!(
            "it asks for the assurance `{}`, and this one is `{}`",
            least.name(),
            given.name()
        ));
    }
    (given == Assurance::Recent && approvals > 1).then(|| {
        format!("it asks for {approvals} approvals, and one with the assurance `recent` counts only alone")
    })
}

/// As in `2 approvals`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn named(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The demands of the matching permits and of the proposal.
#[derive(Default)]
pub(crate) struct Demands<'s> {
    pub(crate) all: Vec<Demand<'s>>,
    /// The proposal asks for a number that nobody says.
    pub(crate) unsaid: bool,
}

impl<'s> Demands<'s> {
    pub(crate) fn of(
        set: &'s PolicySet,
        proposal: &Proposal,
        permits: &BTreeSet<String>,
        approved: &Approved<'s>,
    ) -> Self {
        let statements: Vec<_> = permits.iter().filter_map(|id| set.statement(id)).collect();
        let mut demands = Self::default();
        for statement in &statements {
            let terms = &statement.terms;
            if terms.approvals > 0 {
                demands.all.push(Demand {
                    class: terms.class,
                    count: terms.approvals,
                    assurance: terms.assurance,
                    people: approved.people_of(set, &terms.approvers),
                    names: terms.approver_names.iter().map(String::as_str).collect(),
                    policy: Some(&statement.id),
                });
            }
        }
        let class = proposal.approval_class.unwrap_or(ApprovalClass::None);
        let thresholds = demands.all.iter().filter(|demand| demand.class == ApprovalClass::Threshold);
        let count = match class {
            ApprovalClass::None => 0,
            ApprovalClass::Single => 1,
            ApprovalClass::Dual => 2,
            ApprovalClass::Threshold => thresholds.map(|demand| demand.count).max().unwrap_or_default(),
        };
        demands.unsaid = class == ApprovalClass::Threshold && count == 0;
        // An approval that satisfies a permit also counts for the proposal itself.
        if demands.all.iter().all(|demand| demand.count < count) && count > 0 {
            let people =
                statements.iter().flat_map(|it| approved.people_of(set, &it.terms.approvers)).collect();
            let names: BTreeSet<&str> =
                statements.iter().flat_map(|it| it.terms.approver_names.iter().map(String::as_str)).collect();
            demands.all.push(Demand {
                class,
                count,
                assurance: statements.iter().map(|it| it.terms.assurance).max().unwrap_or(Assurance::Local),
                people,
                names: names.into_iter().collect(),
                policy: None,
            });
        }
        demands
    }

    /// Whether everybody who must has approved.
    pub(crate) fn are_met(&self, approved: &Approved<'_>) -> bool {
        !self.unsaid && self.all.iter().all(|demand| demand.is_met(approved))
    }

    /// Whether there are people enough for each.
    pub(crate) fn are_possible(&self) -> bool {
        !self.unsaid && self.all.iter().all(Demand::is_possible)
    }

    /// Whether `more` further approvals can meet them all and let policies see a number.
    pub(crate) fn can_be_met(
        &self,
        approved: &Approved<'_>,
        more: usize,
        seen: &Seen<'_>,
        steps: &mut usize,
    ) -> bool {
        !self.unsaid && can_meet(&self.all, approved, more, seen, steps)
    }

    /// Whether some are not met.
    pub(crate) fn some_unmet(&self, approved: &Approved<'_>) -> bool {
        self.all.iter().any(|demand| !demand.is_met(approved))
    }

    /// The highest assurance that is still asked for.
    pub(crate) fn assurance_wanted(&self, approved: &Approved<'_>) -> Option<Assurance> {
        let unmet = self.all.iter().filter(|demand| !demand.is_met(approved));
        unmet.map(|demand| demand.assurance).max()
    }

    /// The largest number that somebody asks for.
    pub(crate) fn largest(&self) -> usize {
        self.all.iter().map(|demand| demand.count).max().unwrap_or_default()
    }

    /// The missing approvals, and those that can never be given.
    pub(crate) fn say_missing(&self, approved: &Approved<'_>, reasons: &mut Reasons) {
        if self.unsaid {
            let message =
                "the proposal asks for `threshold`, and no policy that permits it says how many that is";
            reasons.deny(Kind::Action.rule(14), PATH, message);
        }
        for demand in self.all.iter().filter(|demand| !demand.is_met(approved)) {
            demand.tell_weak(approved, reasons);
            if demand.is_possible() {
                demand.wait(approved, reasons);
            } else {
                demand.deny_impossible(reasons);
            }
        }
    }
}

/// The number of approvals that policies are to see: the smallest over the scopes.
pub(crate) struct Seen<'s> {
    /// The people in scope of each subject; none where no policy looks at the number.
    pub(crate) scopes: &'s [BTreeSet<&'s str>],
    pub(crate) number: usize,
}

/// Steps that a search for who could approve may take, for one number of approvals and for all of them. A set
/// that is not found by then counts as not found: doubt denies.
const STEPS_MAX: usize = 500;
pub(crate) const STEPS_ALL_MAX: usize = STEPS_MAX * APPROVALS_MAX;

/// Whether `more` further approvals can meet all demands and bring the smallest scope to the number, and not beyond.
fn can_meet(
    demands: &[Demand<'_>],
    approved: &Approved<'_>,
    more: usize,
    seen: &Seen<'_>,
    steps: &mut usize,
) -> bool {
    let available = approved.available();
    if available.len() < more || more > APPROVALS_MAX {
        return false;
    }
    let of_scopes = seen.scopes.iter().map(|people| (people, seen.number));
    let wanted: Vec<(&BTreeSet<&str>, usize)> =
        demands.iter().map(|demand| (&demand.people, demand.count)).chain(of_scopes).collect();
    let of_demands = demands.iter().map(|demand| demand.count.saturating_sub(demand.given(approved)));
    let of_scopes = seen.scopes.iter().map(|people| seen.number.saturating_sub(approved.count_in(people, 0)));
    let missing: Vec<usize> = of_demands.chain(of_scopes).collect();
    // People who can serve the same demands are alike.
    let mut alike: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
    for person in &available {
        let serves = wanted.iter().map(|(people, _)| people.contains(person)).collect();
        *alike.entry(serves).or_default() += 1;
    }
    let mut groups: Vec<(Vec<bool>, usize)> = alike.into_iter().collect();
    // One scope is the smallest. Where policies see no number, none is.
    let smallest = wanted.iter().enumerate().skip(demands.len());
    let smallest = smallest.filter(|(_, (people, number))| approved.count_in(people, 0) <= *number);
    let mut exact: Vec<Option<usize>> = smallest.map(|(at, _)| Some(at)).collect();
    if seen.scopes.is_empty() {
        exact.push(None);
    }
    exact.into_iter().any(|exact| {
        let before = STEPS_MAX.min(*steps);
        let mut left = before;
        let found = choose(&mut groups, missing.clone(), more, exact, &mut left);
        *steps -= before - left;
        found
    })
}

/// Takes people of one sort after another until nothing is missing, those first who serve most of what is. No
/// more of those who serve `exact` than are missing.
fn choose(
    groups: &mut [(Vec<bool>, usize)],
    missing: Vec<usize>,
    more: usize,
    exact: Option<usize>,
    steps: &mut usize,
) -> bool {
    let Some(unmet) = missing.iter().position(|count| *count > 0) else { return true };
    if missing.iter().any(|count| *count > more) || *steps == 0 {
        return false;
    }
    *steps -= 1;
    let full = exact.filter(|exact| missing.get(*exact) == Some(&0));
    let serves_missing = |serves: &[bool]| {
        serves.iter().zip(&missing).filter(|(serves, count)| **serves && **count > 0).count()
    };
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(groups.get(*at).map(|(serves, _)| serves_missing(serves))));
    for at in order {
        let Some((serves, left)) = groups.get_mut(at) else { continue };
        let too_many = full.is_some_and(|full| serves.get(full) == Some(&true));
        if *left == 0 || too_many || serves.get(unmet) != Some(&true) {
            continue;
        }
        *left -= 1;
        let after = missing
            .iter()
            .zip(serves.iter())
            .map(|(count, serves)| count.saturating_sub(usize::from(*serves)))
            .collect();
        let found = choose(groups, after, more - 1, exact, steps);
        if let Some((_, left)) = groups.get_mut(at) {
            *left += 1;
        }
        if found {
            return true;
        }
    }
    false
}
