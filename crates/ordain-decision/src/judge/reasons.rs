//! Reasons as they are found, and the outcome that follows from them.

use ordain_spec::decision::{Outcome, Reason};
use ordain_spec::{Report, RuleId};
use std::collections::BTreeSet;

/// Everything that was found so far.
#[derive(Default)]
pub(crate) struct Reasons {
    all: Vec<Reason>,
    permits: Vec<Reason>,
    denied: bool,
    waiting: bool,
}

impl Reasons {
    /// Something is wrong.
    pub(crate) fn deny(&mut self, rule: RuleId, path: impl Into<String>, message: impl Into<String>) {
        self.deny_by(rule, path, message, &[]);
    }

    /// Something is wrong, and these policies say so.
    pub(crate) fn deny_by(
        &mut self,
        rule: RuleId,
        path: impl Into<String>,
        message: impl Into<String>,
        policies: &[&str],
    ) {
        self.denied = true;
        self.push(rule, path.into(), message.into(), policies);
    }

    /// Approvals are missing.
    pub(crate) fn wait(&mut self, rule: RuleId, path: &str, message: String, policies: &[&str]) {
        self.waiting = true;
        self.push(rule, path.to_owned(), message, policies);
    }

    /// A policy permits it; said only if nothing denies.
    pub(crate) fn permit(&mut self, rule: RuleId, path: &str, message: String, policy: &str) {
        self.permits.push(Reason {
            rule_id: rule.name().into_owned(),
            path: path.to_owned(),
            message,
            policies: vec![policy.to_owned()],
        });
    }

    /// Something should be known.
    pub(crate) fn tell(&mut self, rule: RuleId, message: String) {
        self.push(rule, String::new(), message, &[]);
    }

    /// Everything that a verifier found.
    pub(crate) fn deny_report(&mut self, report: &Report) {
        for violation in report.violations() {
            self.deny(violation.rule, violation.path.clone(), violation.message.clone());
        }
    }

    fn push(&mut self, rule: RuleId, path: String, message: String, policies: &[&str]) {
        let policies: BTreeSet<&str> = policies.iter().copied().collect();
        let policies = policies.into_iter().map(str::to_owned).collect();
        self.all.push(Reason { rule_id: rule.name().into_owned(), path, message, policies });
    }

    /// Whether a reason is about that place, or it is the proposal itself.
    pub(crate) fn point_to(&self, path: &str) -> bool {
        path.is_empty() || self.all.iter().chain(&self.permits).any(|reason| reason.path == path)
    }

    /// The first reason with this rule.
    pub(crate) fn first(&self, rule: RuleId) -> Option<String> {
        let name = rule.name();
        self.all.iter().find(|reason| reason.rule_id == name).map(|reason| reason.message.clone())
    }

    pub(crate) fn outcome(&self) -> Outcome {
        match (self.denied, self.waiting) {
            (true, _) => Outcome::Deny,
            (false, true) => Outcome::Hold,
            (false, false) => Outcome::Allow,
        }
    }

    pub(crate) fn into_sorted(mut self) -> Vec<Reason> {
        if !self.denied {
            self.all.append(&mut self.permits);
        }
        self.all.sort();
        self.all.dedup();
        self.all
    }
}
