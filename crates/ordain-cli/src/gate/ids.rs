//! Ids that people abbreviate.

use crate::exit::Failure;
use ordain_api::{ActionStatus, ActionsQuery};
use ordain_client::Client;
use ordain_spec::name;

/// How ids of permits begin: a number follows, and the id of the action.
const PERMIT: &str = "permit_";
/// An id is shortened to a multiple of this many characters.
const SHORT_CHARS: usize = 8;
/// An id with that many characters is not shortened.
const WHOLE_CHARS: usize = 16;
/// Candidates that an error names.
const CANDIDATES_MAX: usize = 10;

/// The action that somebody names by its id, or by the beginning of it that no other id has. The `…` of a shortened id
/// in a list may be there.
pub(crate) fn action_id(client: &Client, named: &str) -> Result<String, Failure> {
    let prefix = named.trim_end_matches('…');
    if prefix.is_empty() || name::violation(named).is_some() {
        return Err(unknown(named));
    }
    let limit = Some(CANDIDATES_MAX as u64 + 1);
    let query = ActionsQuery { id_prefix: Some(prefix.to_owned()), limit, ..ActionsQuery::default() };
    let found: Vec<String> =
        client.actions(&query)?.actions.into_iter().map(|ActionStatus { action_id, .. }| action_id).collect();
    match found.as_slice() {
        // The whole id is never an abbreviation of another one.
        [first, ..] if first == named => Ok(first.clone()),
        [] => Err(unknown(named)),
        [only] => Ok(only.clone()),
        several => {
            let names: Vec<String> =
                several.iter().take(CANDIDATES_MAX).map(|id| format!("`{id}`")).collect();
            let more = if several.len() > CANDIDATES_MAX { " and more" } else { "" };
            let problem = format!("several actions begin with `{prefix}`: {}{more}", names.join(", "));
            Err(Failure::Usage(problem).with_hint("type more of the id"))
        }
    }
}

/// The beginning of an id that names this action and no other, for a command that somebody is told to run. Ids that
/// people read at once stay whole, and so does one that the gate does not list.
pub(crate) fn short(client: &Client, action_id: &str) -> String {
    let mut end = SHORT_CHARS;
    if action_id.chars().count() <= WHOLE_CHARS {
        return action_id.to_owned();
    }
    while let Some((at, _)) = action_id.char_indices().nth(end) {
        let prefix = action_id.get(..at).unwrap_or(action_id);
        let query =
            ActionsQuery { id_prefix: Some(prefix.to_owned()), limit: Some(2), ..ActionsQuery::default() };
        match client.actions(&query) {
            Ok(page) if page.actions.len() == 1 => return prefix.to_owned(),
            Ok(page) if page.actions.len() > 1 => end += SHORT_CHARS,
            _ => break,
        }
    }
    action_id.to_owned()
}

/// The permit that somebody names by its id or its action, or by the beginning of either as far as it has a part of the
/// action's.
pub(crate) fn permit_id(client: &Client, named: &str) -> Result<String, Failure> {
    let unknown = || Failure::unknown("permit", named).with_hint("name the permit, or its action");
    let beginning = named.trim_end_matches('…');
    if beginning.is_empty() || name::violation(named).is_some() {
        return Err(unknown());
    }
    if beginning == named && client.permit(named)?.is_some() {
        return Ok(named.to_owned());
    }
    let (action, is_permit) = match beginning.strip_prefix(PERMIT).and_then(|rest| rest.split_once('_')) {
        Some((_, action)) => (action, true),
        None => (beginning, false),
    };
    let id = action_id(client, action).map_err(|failure| if is_permit { unknown() } else { failure })?;
    let found = client.action(&id)?.and_then(|status| status.permit).map(|permit| permit.permit_id);
    found.filter(|permit| !is_permit || permit.starts_with(beginning)).ok_or_else(unknown)
}

fn unknown(named: &str) -> Failure {
    Failure::unknown("action", named).with_hint("run `ordain status` to see the actions")
}
