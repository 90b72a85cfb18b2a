//! The changes that would help: the permits that come closest, and why a forbid applies.

use super::subject::Asker;
use crate::limits::{MISSES_LOOKED_AT, MISSES_TOLD};
use crate::policy::{Condition, EntityReads, PolicySet, Statement, depends_on_request};
use cedar_policy::{Effect, EvalResult, Expression, eval_expression};
use serde::Serialize;
use std::collections::BTreeMap;
use std::str::FromStr;

/// A condition of a policy and whether it holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Check {
    /// The condition, in Cedar's words.
    pub condition: String,
    /// Whether it holds.
    pub holds: bool,
    /// Whether it could not be evaluated, as when an attribute is missing that an earlier condition asks for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The compared value, where the condition compares one and nothing forbids to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

impl Check {
    /// Whether another proposal could make a difference: a condition about nothing that is asked stays as it is.
    fn can_change(&self) -> bool {
        depends_on_request(&self.condition)
    }
}

/// A policy, condition by condition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Examined {
    /// The policy's id.
    pub policy: String,
    /// `permit` or `forbid`.
    pub effect: &'static str,
    /// Where in the proposal stands what it was asked about: empty, or an operation of a patch set.
    pub path: String,
    /// Its scope first, then its conditions in order.
    pub checks: Vec<Check>,
    /// Its `@reason`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Examined {
    /// Whether the policy applies.
    pub fn applies(&self) -> bool {
        self.checks.iter().all(|check| check.holds)
    }

    fn failing(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| !check.holds)
    }

    /// How many conditions keep it from applying. One that cannot be evaluated follows from another that does
    /// not hold, so it does not count.
    pub fn distance(&self) -> usize {
        self.failing().filter(|check| !check.failed).count()
    }

    /// The missing part, in words.
    pub fn would_if(&self) -> String {
        let missing: Vec<String> = self
            .failing()
            .map(|check| match &check.found {
                Some(found) => format!("`{}` (found {found})", check.condition),
                None => format!("`{}`", check.condition),
            })
            .collect();
        missing.join(" and ")
    }
}

/// Looks at policies condition by condition.
pub(crate) struct Examiner<'a> {
    set: &'a PolicySet,
    asker: &'a Asker<'a>,
    approvals: usize,
    /// The conditions read so far, by their texts: the operations of a patch set are asked about the same ones.
    read: BTreeMap<&'a str, Option<Expression>>,
}

impl<'a> Examiner<'a> {
    pub(crate) fn new(set: &'a PolicySet, asker: &'a Asker<'a>, approvals: usize) -> Self {
        Self { set, asker, approvals, read: BTreeMap::new() }
    }

    pub(crate) fn actor(&self) -> &'a str {
        self.asker.actor()
    }

    /// Looks at all policies about a subject's action, those of its scope or near it first.
    pub(crate) fn examine(&mut self, at: usize, action: &str, effect: Option<Effect>) -> Vec<Examined> {
        let (set, asker) = (self.set, self.asker);
        let Ok((request, entities)) = asker.question(at, self.approvals, EntityReads::all()) else {
            return Vec::new();
        };
        let about = |statement: &&Statement| {
            statement.actions.contains(&action) && effect.is_none_or(|effect| statement.effect == effect)
        };
        let mut candidates: Vec<&Statement> = set.statements.iter().filter(about).collect();
        candidates.sort_by_cached_key(|statement| {
            asker.scope_of(at, statement).iter().filter(|(fits, _)| !fits).count()
        });
        candidates.truncate(MISSES_LOOKED_AT);
        let mut value = |text: &'a str| {
            let read = self.read.entry(text).or_insert_with(|| Expression::from_str(text).ok());
            eval_expression(&request, &entities, read.as_ref()?).ok()
        };
        let mut examined = Vec::new();
        for statement in candidates {
            let mut checks: Vec<Check> = asker
                .scope_of(at, statement)
                .into_iter()
                .filter(|(_, text)| text != "true")
                .map(|(holds, condition)| Check { condition, holds, failed: false, found: None })
                .collect();
            for condition in &statement.conditions {
                let result = value(&condition.text);
                let holds = matches!(result, Some(EvalResult::Bool(true)));
                let found = condition.compared.as_deref().filter(|_| !holds && may_show(set, condition));
                let found = found.and_then(&mut value).as_ref().and_then(short);
                let (condition, failed) = (condition.text.clone(), result.is_none());
                checks.push(Check { condition, holds, failed, found });
            }
            examined.push(Examined {
                policy: statement.id.clone(),
                effect: if statement.effect == Effect::Permit { "permit" } else { "forbid" },
                path: String::new(),
                checks,
                reason: statement.terms.reason.clone(),
            });
        }
        examined
    }
}

/// The permits that come closest, without those that can never match: those with the fewest conditions that
/// do not hold.
pub fn nearest(mut permits: Vec<Examined>) -> Vec<Examined> {
    permits.retain(|permit| !permit.applies() && permit.failing().all(Check::can_change));
    let least = permits.iter().map(Examined::distance).min().unwrap_or_default();
    permits.retain(|permit| permit.distance() == least);
    permits.sort_by(|left, right| left.policy.cmp(&right.policy));
    permits.truncate(MISSES_TOLD);
    permits
}

/// Why a forbid applies and what would end that.
pub(crate) fn forbid_message(statement: &Statement) -> String {
    let reason = statement.terms.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let quoted = |negated: bool| {
        let conditions = statement.conditions.iter().filter(|it| it.negated == negated);
        conditions.map(|it| format!("`{}`", plain(it))).collect::<Vec<_>>()
    };
    let (when, unless) = (quoted(false), quoted(true));
    let mut message = format!("`{}` forbids it{reason}", statement.id);
    if !when.is_empty() {
        message.push_str(&format!("; it applies because {}", when.join(" and ")));
    }
    if !unless.is_empty() {
        message.push_str(&format!("; it would not if {}", unless.join(" or ")));
    }
    message
}

/// The condition as the policy has it, without the negation of `unless`.
fn plain(condition: &Condition) -> &str {
    let text = condition.text.as_str();
    match condition.negated {
        true => text.strip_prefix("!(").and_then(|text| text.strip_suffix(')')).unwrap_or(text),
        false => text,
    }
}

/// Whether a message may contain the compared value.
fn may_show(set: &PolicySet, condition: &Condition) -> bool {
    let text = condition.compared.as_deref().unwrap_or_default();
    !set.redact.iter().any(|name| text.contains(name.as_str()))
}

fn short(value: &EvalResult) -> Option<String> {
    const CHARS_MAX: usize = 60;
    let text = match value {
        EvalResult::Bool(value) => value.to_string(),
        EvalResult::Long(value) => value.to_string(),
        EvalResult::String(text) => format!("{text:?}"),
        EvalResult::ExtensionValue(text) => text.clone(),
        _ => return None,
    };
    (text.chars().count() <= CHARS_MAX).then_some(text)
}
