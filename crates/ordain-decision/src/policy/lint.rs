//! Policies that can never make a difference, as far as scopes and constant conditions tell.

use super::people::{action_uid, actor_uid, resource_uid};
use super::problem::{Problem, Severity};
use super::statement::{Condition, Scope, Statement};
use cedar_policy::{Context, Effect, Entities, EvalResult, Expression, Request, eval_expression};
use std::str::FromStr;

/// Policies that never apply. Cedar finds those whose types say so, and these are left out; `1 > 2` has the
/// type of any other comparison.
pub(crate) fn never(statements: &[Statement], known: &[Problem]) -> Vec<Problem> {
    let says_it = |problem: &&Problem| {
        problem.severity == Severity::Error || problem.message.contains("policy is impossible")
    };
    let is_known =
        |it: &Statement| known.iter().filter(says_it).any(|problem| problem.policy.as_ref() == Some(&it.id));
    let mut found = Vec::new();
    for statement in statements.iter().filter(|it| !is_known(it)) {
        if let Some(condition) = statement.conditions.iter().find(|it| is_never_true(it)) {
            let message = format!("never applies: `{}` is never true", condition.text);
            found.push(Problem::warning(&statement.file, message).at(statement.line).about(&statement.id));
        }
    }
    found
}

/// Whether a condition is about nothing that is asked, and does not hold.
fn is_never_true(condition: &Condition) -> bool {
    if condition.depends_on_request() {
        return false;
    }
    let anything = Request::new(actor_uid(""), action_uid("read"), resource_uid(""), Context::empty(), None);
    let (Ok(request), Ok(expression)) = (anything, Expression::from_str(&condition.text)) else {
        return false;
    };
    !matches!(eval_expression(&request, &Entities::empty(), &expression), Ok(EvalResult::Bool(true)))
}

/// Policies that another one makes useless.
pub(crate) fn warnings(statements: &[Statement]) -> Vec<Problem> {
    let mut found = Vec::new();
    for statement in statements {
        let other = statements.iter().find(|other| other.id != statement.id && shadows(other, statement));
        let Some(other) = other else { continue };
        let message = match (statement.effect, other.effect) {
            (Effect::Permit, Effect::Forbid) => {
                format!("never permits anything: `{}` forbids all of it", other.id)
            }
            _ => format!("makes no difference: `{}` covers all of it", other.id),
        };
        found.push(Problem::warning(&statement.file, message).at(statement.line).about(&statement.id));
    }
    found
}

/// Whether `other` decides everything that `statement` could, in the same way or against it.
fn shadows(other: &Statement, statement: &Statement) -> bool {
    let covers = other.conditions.is_empty()
        && statement.actions.iter().all(|action| other.actions.contains(action))
        && wider(&other.principal, &statement.principal)
        && wider(&other.resource, &statement.resource);
    if !covers || statement.principal == Scope::Never || statement.resource == Scope::Never {
        return false;
    }
    match (statement.effect, other.effect) {
        (_, Effect::Forbid) => {
            // If two forbids cover each other, one is enough; the later one in the folder is named.
            statement.effect == Effect::Permit || !shadowed_back(other, statement)
        }
        (Effect::Permit, Effect::Permit) => {
            // The strictest of all permits that match holds, so a permit with terms of its own still matters.
            // So does one that names other approvers: who may approve is asked of all permits in scope.
            let plain = |it: &Statement| it.terms.approvals == 0 && it.terms.effects.is_empty();
            plain(statement)
                && statement.terms.approvers.is_subset(&other.terms.approvers)
                && statement.terms.max_executions >= other.terms.max_executions
                && !shadowed_back(other, statement)
        }
        (Effect::Forbid, Effect::Permit) => false,
    }
}

/// Whether the two cover each other and `other` is the one that is kept.
fn shadowed_back(other: &Statement, statement: &Statement) -> bool {
    statement.conditions.is_empty()
        && statement.principal == other.principal
        && statement.resource == other.resource
        && statement.actions == other.actions
        && statement.id < other.id
}

fn wider(wide: &Scope, narrow: &Scope) -> bool {
    match (wide, narrow) {
        (Scope::Any, _) => true,
        (Scope::In(wide), Scope::In(narrow) | Scope::Is(narrow)) => wide == narrow,
        (Scope::Is(wide), Scope::Is(narrow)) => wide == narrow,
        _ => false,
    }
}
