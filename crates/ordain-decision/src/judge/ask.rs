//! The answer of the policies, and whether more approvals would change it.

use super::Judge;
use super::approvals::{self, Approved, Asked, Demands, STEPS_ALL_MAX, Seen, counted};
use super::misses::{Examiner, forbid_message, nearest};
use super::shell::COMMAND;
use super::subject::{Asker, OPERATIONS, Subject};
use crate::limits::{APPROVALS_MAX, OPERATIONS_TOLD};
use crate::policy::schema::action_name;
use crate::policy::{Statement, Verdicts};
use crate::shown::visible;
use cedar_policy::Effect;
use ordain_spec::Kind;
use ordain_spec::action::{ApprovalClass, Proposal};
use ordain_spec::decision::gate;
use std::collections::{BTreeMap, BTreeSet};

/// The answer of the policies about all subjects together, at one number of approvals.
#[derive(Clone, Default)]
pub(super) struct Answer {
    /// All permits that match somewhere, and the first subject where.
    permits: Vec<(String, usize)>,
    pub(super) permit_ids: BTreeSet<String>,
    forbids: Vec<(String, usize)>,
    errors: Vec<(String, String, usize)>,
    /// The subjects that nothing permits.
    unpermitted: Vec<usize>,
}

impl Answer {
    fn add(&mut self, at: usize, verdicts: Verdicts) {
        if verdicts.permits.is_empty() {
            self.unpermitted.push(at);
        }
        for id in verdicts.permits {
            if self.permit_ids.insert(id.clone()) {
                self.permits.push((id, at));
            }
        }
        self.forbids.extend(verdicts.forbids.into_iter().map(|id| (id, at)));
        self.errors.extend(verdicts.errors.into_iter().map(|(id, message)| (id, message, at)));
    }

    pub(super) fn allows(&self) -> bool {
        self.unpermitted.is_empty() && self.forbids.is_empty() && self.errors.is_empty()
    }
}
impl<'a> Judge<'a> {
    /// The approvers that the permits in scope of each subject name.
    pub(super) fn scopes(&self, asker: &Asker<'_>) -> BTreeSet<BTreeSet<String>> {
        let statements = &self.case.policies.statements;
        let approvers = |permits: Vec<usize>| {
            let permits = permits.into_iter().filter_map(|at| statements.get(at));
            permits.flat_map(|permit| permit.terms.approvers.iter().cloned()).collect()
        };
        asker.permits_in_scope().map(approvers).collect()
    }

    /// The least that the permits in scope ask of each approver they name.
    pub(super) fn asked_of_approvers(&self, asker: &Asker<'_>) -> BTreeMap<String, Asked> {
        let statements = &self.case.policies.statements;
        let mut least: BTreeMap<String, Asked> = BTreeMap::new();
        for permit in asker.permits_in_scope().flatten().filter_map(|at| statements.get(at)) {
            let terms = &permit.terms;
            let asked = Asked { assurance: terms.assurance, approvals: terms.approvals };
            for approver in &terms.approvers {
                let known = least.entry(approver.clone()).or_insert(asked);
                known.assurance = known.assurance.min(asked.assurance);
                known.approvals = known.approvals.min(asked.approvals);
            }
        }
        least
    }

    /// Asks the policies, and finds out whether more approvals would help.
    pub(super) fn ask_and_wait<'s>(
        &mut self,
        proposal: &Proposal,
        subjects: &[Subject<'_>],
        asker: &mut Asker<'_>,
        approved: &Approved<'s>,
        scopes: &BTreeSet<BTreeSet<String>>,
    ) -> Answer
    where
        'a: 's,
    {
        let set = self.case.policies;
        let count = approved.by.len();
        // In a patch set, an approval counts for an operation only if a permit in scope of that operation
        // names its author.
        let people: Vec<BTreeSet<&str>> = scopes.iter().map(|ids| approved.people_of(set, ids)).collect();
        let number = |more: usize| {
            people.iter().map(|people| approved.count_in(people, more)).min().unwrap_or_default()
        };
        // Policies that look at the number of approvals see those of this action alone, and no grant.
        self.seen = if self.granted.is_some() { 0 } else { number(0) };
        let now = self.ask(subjects, asker, self.seen);
        let wanted = |answer: &Answer| Demands::of(set, proposal, &answer.permit_ids, approved);
        let wanted_now = wanted(&now);
        let met = wanted_now.are_met(approved);
        let no_effects = |judge: &Self, answer: &Answer| {
            judge.effect_problems(proposal, subjects, &answer.permit_ids).is_empty()
        };
        let counting = set.reads.context("approvals");
        if now.allows() && met && (no_effects(self, &now) || !counting) {
            self.set_class(proposal, &now, wanted_now.largest());
            self.tell_permits(subjects, &now);
            return now;
        }
        // Would it be allowed with more approvals? The first number at which everything fits; else the first
        // at which the policies and the approvers would agree, so that what else is wrong is said of that.
        let mut agreed: Option<(usize, Answer)> = None;
        let mut asked: BTreeMap<usize, Answer> = BTreeMap::new();
        let mut steps = STEPS_ALL_MAX;
        'search: for more in 1..=approved.available().len().min(APPROVALS_MAX) {
            // The view of the policies: in one scope everybody counts, in several it depends on who approves.
            let numbers = match (counting, people.len()) {
                (false, _) => 0..=0,
                (true, 0..=1) => number(more)..=number(more),
                (true, _) => number(0)..=number(more),
            };
            for number in numbers.rev() {
                if counting && !asked.contains_key(&number) {
                    asked.insert(number, self.ask(subjects, asker, number));
                }
                let answer = asked.get(&number).unwrap_or(&now);
                let seen = Seen { scopes: if counting { &people } else { &[] }, number };
                if answer.allows() && wanted(answer).can_be_met(approved, more, &seen, &mut steps) {
                    let whole = no_effects(self, answer);
                    if whole || agreed.is_none() {
                        agreed = Some((count + more, answer.clone()));
                    }
                    if whole {
                        break 'search;
                    }
                }
            }
        }
        match agreed {
            Some((required, then)) if !(now.allows() && met) || no_effects(self, &then) => {
                return self.wait(proposal, subjects, approved, required, &now, then);
            }
            _ => {}
        }
        self.deny_policies(subjects, asker, &now);
        if !now.permit_ids.is_empty() {
            self.set_class(proposal, &now, wanted_now.largest());
            wanted_now.say_missing(approved, &mut self.reasons);
        }
        if now.allows() && !met && wanted_now.are_possible() {
            let more = approved.available().len().min(APPROVALS_MAX);
            let seen = Seen { scopes: &[], number: 0 };
            let message = match wanted_now.can_be_met(approved, more, &seen, &mut { STEPS_ALL_MAX }) {
                true => "the approvals that are missing cannot be given: with them the policies no longer permit it"
                    .to_owned(),
                false => format!(
                    "it takes more than {APPROVALS_MAX} further approvals, and so many are not waited for; let fewer permits \
                     ask, or let their `@approvers` name the same people"
                ),
            };
            self.reasons.deny(Kind::Action.rule(14), approvals::PATH, message);
        }
        now
    }

    pub(super) fn ask(
        &mut self,
        subjects: &[Subject<'_>],
        asker: &mut Asker<'_>,
        approvals: usize,
    ) -> Answer {
        let mut answer = Answer::default();
        for at in 0..subjects.len() {
            match asker.ask(at, approvals) {
                Ok(verdicts) => answer.add(at, verdicts),
                Err(message) => {
                    answer.unpermitted.push(at);
                    answer.errors.push((String::new(), message, at));
                }
            }
        }
        answer
    }

    /// Held, if nothing else is wrong: what is missing, and what permits it then.
    fn wait(
        &mut self,
        proposal: &Proposal,
        subjects: &[Subject<'_>],
        approved: &Approved<'_>,
        required: usize,
        now: &Answer,
        then: Answer,
    ) -> Answer {
        let wanted = Demands::of(self.case.policies, proposal, &then.permit_ids, approved);
        wanted.say_missing(approved, &mut self.reasons);
        self.assurance = wanted.assurance_wanted(approved);
        // The demands of policies are reported at once, not only when everybody else is content.
        if !wanted.some_unmet(approved) || (!now.allows() && required > wanted.largest()) {
            let mut policies: Vec<&str> = now.forbids.iter().map(|(id, _)| id.as_str()).collect();
            policies.extend(then.permit_ids.difference(&now.permit_ids).map(String::as_str));
            let message = format!(
                "the policies ask for {} in all, {} given; these people may approve: {}",
                counted(required, "approval"),
                approved.by.len(),
                approved.still(&approved.available())
            );
            self.reasons.wait(gate::APPROVALS, approvals::PATH, message, &policies);
        }
        self.set_class(proposal, &then, required);
        self.tell_permits(subjects, &then);
        then
    }

    /// The strictest class that anybody asks for, and how many approvals it takes.
    fn set_class(&mut self, proposal: &Proposal, answer: &Answer, required: usize) {
        let rank = |class: &ApprovalClass| match class {
            ApprovalClass::None => 0,
            ApprovalClass::Single => 1,
            ApprovalClass::Dual => 2,
            ApprovalClass::Threshold => 3,
        };
        let of_permits = answer
            .permit_ids
            .iter()
            .filter_map(|id| self.case.policies.statement(id))
            .map(|it| it.terms.class);
        let own = proposal.approval_class.unwrap_or(ApprovalClass::None);
        self.approvals.class = of_permits.chain([own]).max_by_key(rank).unwrap_or(own);
        self.approvals.required = required as u64;
    }

    /// G12, telling.
    fn tell_permits(&mut self, subjects: &[Subject<'_>], answer: &Answer) {
        for (id, at) in &answer.permits {
            let reason =
                self.case.policies.statement(id).and_then(|statement| statement.terms.reason.as_ref());
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let path = subjects.get(*at).map(|subject| subject.path.as_str()).unwrap_or_default();
            self.reasons.permit(gate::PERMIT, path, format!("`{id}` permits it{reason}"), id);
        }
    }

    /// G10, G11 and G12, denying: one reason for each subject and policy.
    fn deny_policies(&mut self, subjects: &[Subject<'_>], asker: &Asker<'_>, answer: &Answer) {
        let set = self.case.policies;
        let path = |at: usize| subjects.get(at).map(|subject| subject.path.clone()).unwrap_or_default();
        let of_command = subjects.iter().any(|subject| subject.shell.is_some());
        let (others, what) =
            if of_command { (COMMAND, "more effect") } else { (OPERATIONS, "more operation") };
        let effect = |at: usize| {
            let subject = subjects.get(at).filter(|subject| subject.shell.is_some());
            subject.map(|subject| format!("{}: ", subject.told())).unwrap_or_default()
        };
        let mut forbids: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (id, at) in &answer.forbids {
            forbids.entry(id).or_default().push(*at);
        }
        for (id, all) in &forbids {
            let (told, more) = told(all, what);
            for at in told {
                let message = set.statement(id).map(forbid_message).unwrap_or_default();
                let message = format!("{}{message}", effect(*at));
                self.reasons.deny_by(gate::FORBID, path(*at), message, &[id]);
            }
            if let Some(more) = more {
                self.reasons.deny_by(gate::FORBID, others, format!("`{id}` forbids {more}"), &[id]);
            }
        }
        let mut errors: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
        for (id, message, at) in &answer.errors {
            errors.entry(id).or_default().push((*at, message));
        }
        for (id, all) in &errors {
            let (told, more) = told(all, what);
            let failed = if id.is_empty() { "the policies".to_owned() } else { format!("`{id}`") };
            let policies = if id.is_empty() { &[][..] } else { &[*id][..] };
            for (at, message) in told {
                let message = format!(
                    "{}{failed} cannot be evaluated, and what is in doubt is denied: {message}",
                    effect(*at)
                );
                self.reasons.deny_by(gate::EVALUATION, path(*at), message, policies);
            }
            if let Some(more) = more {
                let message = format!("{failed} cannot be evaluated for {more}");
                self.reasons.deny_by(gate::EVALUATION, others, message, policies);
            }
        }
        let mut examiner = Examiner::new(set, asker, self.seen);
        let (unpermitted, more) = told(&answer.unpermitted, what);
        for at in unpermitted {
            let failed = answer.errors.iter().any(|(_, _, failed)| failed == at);
            if let Some(subject) = subjects.get(*at) {
                self.deny_unpermitted(&mut examiner, subject, *at, failed);
            }
        }
        if let Some(more) = more {
            self.reasons.deny(gate::PERMIT, others, format!("no policy permits {more}"));
        }
    }

    /// G12 of one subject, with the permits that come closest.
    fn deny_unpermitted(
        &mut self,
        examiner: &mut Examiner<'_>,
        subject: &Subject<'_>,
        at: usize,
        failed: bool,
    ) {
        let set = self.case.policies;
        let action = action_name(subject.action);
        let misses = nearest(examiner.examine(at, action, Some(Effect::Permit)));
        let mut message = format!("no policy permits {}", subject.told());
        // Where a policy failed, that is what is wrong.
        if misses.is_empty() && !failed {
            let about = |it: &Statement| it.effect == Effect::Permit && it.actions.contains(&action);
            message.push_str(&match set.statements.iter().any(about) {
                true => format!("; no permit for `{action}` can ever match"),
                false => format!("; there is no permit for `{action}` at all"),
            });
        }
        if !set.people.has_actor(examiner.actor()) {
            message
                .push_str(&format!("; the policy does not know the actor `{}`", visible(examiner.actor())));
        }
        self.reasons.deny(gate::PERMIT, subject.path.clone(), message);
        for miss in misses {
            let message = format!("would be permitted by `{}` if {}", miss.policy, miss.would_if());
            self.reasons.deny_by(gate::PERMIT, subject.path.clone(), message, &[&miss.policy]);
        }
    }
}

/// The subjects of which something is said one by one, and how many others there are, in words.
fn told<'t, T>(all: &'t [T], what: &str) -> (&'t [T], Option<String>) {
    let told = all.get(..OPERATIONS_TOLD).unwrap_or(all);
    let more = all.len() - told.len();
    (told, (more > 0).then(|| counted(more, what)))
}
