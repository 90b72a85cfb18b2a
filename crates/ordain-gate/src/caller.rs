//! Who asks, and what they may do.

use ordain_api::Role;
use std::collections::BTreeSet;

/// Somebody whose identity was established.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    pub(super) principal: String,
    pub(super) names: Names,
    pub(super) roles: BTreeSet<Role>,
    /// The token that it came with, if it needed one.
    pub(super) token_id: Option<String>,
}

/// The names that a caller may speak under.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Names {
    /// The person at the machine that holds the store: they could write anything into it anyway.
    Any,
    /// The principal's own and those of its agents.
    These(BTreeSet<String>),
}

impl Caller {
    /// The person at the machine that holds the store.
    pub fn local(principal: &str) -> Self {
        Self { principal: principal.to_owned(), names: Names::Any, roles: Role::ALL.into(), token_id: None }
    }

    /// Who it is.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// Whether it has a role.
    pub fn is(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Whether it may speak under a name.
    pub(super) fn holds(&self, name: &str) -> bool {
        match &self.names {
            Names::Any => true,
            Names::These(names) => names.contains(name),
        }
    }

    /// Who submits a proposal of this actor, as it counts for approvals.
    pub(super) fn submits_as(&self, actor: &str) -> String {
        match &self.names {
            // A person hands in what an agent wrote; they are not the agent.
            Names::Any => actor.to_owned(),
            Names::These(_) => self.principal.clone(),
        }
    }
}
