//! Finds the policies that can apply to a request without looking at the others.
//!
//! A policy is found by its action, by the entity of its principal scope and by that of its resource scope. A
//! request looks under its own entities, all their ancestors, and under the policies that have no such scope.
//! The policies that it finds are in scope, so Cedar is asked about conditions alone. That the answers are
//! those of Cedar's plain `Authorizer` over the whole set is checked by a test.

use super::statement::{EntityReads, Scope, Statement};
use cedar_policy::{Authorizer, Effect, Entities, EntityUid, EvaluationError, PolicySet, Request};
use std::collections::{BTreeMap, HashMap};

/// Policies with the same scope.
#[derive(Default)]
struct Slice {
    permits: PolicySet,
    forbids: PolicySet,
    /// The positions of the permits in the set.
    permit_positions: Vec<usize>,
    count: usize,
    reads: EntityReads,
}

/// Something for each scope.
#[derive(Default)]
struct ByScope<T> {
    any: Option<T>,
    is: HashMap<EntityUid, T>,
    inside: HashMap<EntityUid, T>,
}

impl<T: Default> ByScope<T> {
    fn entry(&mut self, scope: &Scope) -> Option<&mut T> {
        match scope {
            Scope::Any => Some(self.any.get_or_insert_default()),
            Scope::Is(uid) => Some(self.is.entry(uid.clone()).or_default()),
            Scope::In(uid) => Some(self.inside.entry(uid.clone()).or_default()),
            Scope::Never => None,
        }
    }

    /// The scopes that an entity with these ancestors fits: no scope, the entity itself, the entity as one
    /// that is in itself, and what it is in.
    fn find<'s, 'e>(
        &'s self,
        entity: &'e EntityUid,
        ancestors: &'e [EntityUid],
    ) -> impl Iterator<Item = &'s T> + use<'s, 'e, T> {
        let inside = [entity].into_iter().chain(ancestors).filter_map(|uid| self.inside.get(uid));
        self.any.iter().chain(self.is.get(entity)).chain(inside)
    }
}

/// The index.
#[derive(Default)]
pub(crate) struct Index {
    by_action: BTreeMap<&'static str, ByScope<ByScope<Slice>>>,
}

/// The answer of policies to a request.
#[derive(Default, Debug)]
pub(crate) struct Verdicts {
    /// The ids of the permits that apply, sorted.
    pub(crate) permits: Vec<String>,
    /// The ids of the forbids that apply, sorted.
    pub(crate) forbids: Vec<String>,
    /// Policies that could not be evaluated, and why, sorted.
    pub(crate) errors: Vec<(String, String)>,
    /// How many policies were evaluated.
    pub(crate) evaluated: usize,
}

/// A request's entities, and what each is in.
pub(crate) struct Place<'r> {
    pub(crate) action: &'static str,
    pub(crate) principal: &'r EntityUid,
    pub(crate) principal_ancestors: &'r [EntityUid],
    pub(crate) resource: &'r EntityUid,
    pub(crate) resource_ancestors: &'r [EntityUid],
}

impl Index {
    /// The index of all policies of a set.
    pub(crate) fn of(statements: &[Statement]) -> Result<Self, String> {
        let mut index = Self::default();
        for (position, statement) in statements.iter().enumerate() {
            for action in &statement.actions {
                let by_principal = index.by_action.entry(action).or_default();
                let by_resource = by_principal.entry(&statement.principal);
                let slice = by_resource.and_then(|by_resource| by_resource.entry(&statement.resource));
                let Some(slice) = slice else { continue };
                let set = match statement.effect {
                    Effect::Permit => {
                        slice.permit_positions.push(position);
                        &mut slice.permits
                    }
                    Effect::Forbid => &mut slice.forbids,
                };
                set.add(statement.unscoped.clone()).map_err(|error| error.to_string())?;
                slice.count += 1;
                slice.reads.add(statement.reads.entities);
            }
        }
        Ok(index)
    }

    /// The policies whose scope a request fits.
    pub(crate) fn find(&self, place: &Place<'_>) -> InScope<'_> {
        let mut found = InScope { slices: Vec::new(), reads: EntityReads::default() };
        let Some(by_principal) = self.by_action.get(place.action) else { return found };
        for by_resource in by_principal.find(place.principal, place.principal_ancestors) {
            for slice in by_resource.find(place.resource, place.resource_ancestors) {
                found.slices.push(slice);
                found.reads.add(slice.reads);
            }
        }
        found
    }
}

/// Policies whose scope a request fits.
pub(crate) struct InScope<'i> {
    slices: Vec<&'i Slice>,
    /// The values that their conditions read.
    pub(crate) reads: EntityReads,
}

impl InScope<'_> {
    /// The positions of the permits.
    pub(crate) fn permits(&self) -> impl Iterator<Item = usize> {
        self.slices.iter().flat_map(|slice| slice.permit_positions.iter().copied())
    }

    /// Asks them.
    pub(crate) fn ask(&self, request: &Request, entities: &Entities) -> Verdicts {
        let authorizer = Authorizer::new();
        let mut verdicts = Verdicts::default();
        for slice in &self.slices {
            verdicts.evaluated += slice.count;
            // Apart from each other, because an answer names either permits or forbids.
            for (set, ids) in
                [(&slice.permits, &mut verdicts.permits), (&slice.forbids, &mut verdicts.forbids)]
            {
                if set.is_empty() {
                    continue;
                }
                let response = authorizer.is_authorized(request, set, entities);
                ids.extend(response.diagnostics().reason().map(ToString::to_string));
                for error in response.diagnostics().errors() {
                    let cedar_policy::AuthorizationError::PolicyEvaluationError(error) = error;
                    verdicts.errors.push((error.policy_id().to_string(), without_values(error.inner())));
                }
            }
        }
        verdicts.permits.sort();
        verdicts.forbids.sort();
        verdicts.errors.sort();
        verdicts
    }
}

/// The error in a policy's evaluation. Cedar quotes values, which may be secrets, where a sum is too large or
/// a text is not what a function takes.
fn without_values(error: &EvaluationError) -> String {
    match error {
        EvaluationError::IntegerOverflow(_) => "a number is too large to be computed".to_owned(),
        EvaluationError::FailedExtensionFunctionExecution(_) => {
            "a function cannot take the value that it was given".to_owned()
        }
        EvaluationError::NonValue(_) => "an expression has no value".to_owned(),
        other => other.to_string(),
    }
}
