//! Policies that can never make a difference, as far as scopes tell.

use super::problem::Problem;
use super::statement::{Scope, Statement};
use cedar_policy::Effect;

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
            // Of two forbids that cover each other one is enough; the later one in the folder is named.
            statement.effect == Effect::Permit || !shadowed_back(other, statement)
        }
        (Effect::Permit, Effect::Permit) => {
            // The strictest of all permits that match holds, so a permit with terms of its own still matters.
            let plain = |it: &Statement| it.terms.approvals == 0 && it.terms.effects.is_empty();
            plain(statement)
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
