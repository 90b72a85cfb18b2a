//! Approving an action together with exact repetitions of it: what is offered, and the sentence that says so.

use super::summary::deed;
use crate::clock::date;
use crate::wording::{count, short_hash};
use ordain_api::{ActionStatus, SigningTerms};
use ordain_spec::standing::StandingScope;

/// How far an approval goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// This action, once.
    Once,
    /// The same call again, as the terms allow.
    Repeat,
}

/// The beginning of a line about what is granted.
pub(crate) const GRANT: &str = "grant ";
/// For how long the same call may be repeated, where the policies allow as much.
const REPEAT_MS: u64 = 12 * 3_600_000;

/// The scope that is offered with these terms.
pub(crate) fn scope(terms: &SigningTerms) -> Option<StandingScope> {
    let standing = terms.standing.as_ref()?;
    Some(standing.scope(terms.at_ms.saturating_add(REPEAT_MS)))
}

/// The scope that is offered for an action.
pub(crate) fn offered(status: &ActionStatus) -> Option<StandingScope> {
    status.signing.as_ref().and_then(scope)
}

/// For the screen: what the key `g` does.
pub(crate) fn offer(status: &ActionStatus, scope: &StandingScope) -> String {
    format!(
        "`g` approves it and exactly this call again, {} until {}; not another folder{}",
        at_most(scope),
        date(scope.until_ms),
        if names_contents(status) { ", argument or file content" } else { " or argument; files may change" }
    )
}

/// Everything that is granted, before it is signed.
pub(crate) fn sentence(status: &ActionStatus, scope: &StandingScope) -> String {
    let permits: Vec<&str> = scope.permits.keys().map(String::as_str).collect();
    format!(
        "{} may {} now, and exactly this call again without asking you, {} until {}. Exactly: the same project, agent{}, \
         byte for byte (deed {}). It stands for the approvals that {} asks for, as long as its text \
         stays the same; everything else is checked each time. `ordain grant revoke` takes it back.",
        status.actor,
        deed(status),
        at_most(scope),
        date(scope.until_ms),
        if names_contents(status) { ", parameters and file contents" } else { " and parameters" },
        short_hash(scope.deed.as_str()),
        permits.join(", "),
    )
}

/// Whether the contents of its files are part of the deed.
fn names_contents(status: &ActionStatus) -> bool {
    let parameters = status.view.get("proposal").and_then(|proposal| proposal.get("parameters"));
    parameters.is_some_and(|parameters| parameters.get("resolved").is_some())
}

/// `at most 20 times`.
fn at_most(scope: &StandingScope) -> String {
    format!("at most {}", count(scope.max_uses, "time"))
}
