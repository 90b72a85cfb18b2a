//! The actions that wait for the person who asks.

use super::page;
use super::settling::UnknownUse;
use crate::clock::when;
use crate::commands::status;
use crate::exit::Failure;
use crate::page::{Column, PLAIN, Page, Row};
use ordain_api::limits::PAGE_MAX;
use ordain_api::{ActionState, ActionStatus, ActionsQuery};
use ordain_client::Client;
use serde::Serialize;

/// A held action, for programs.
#[derive(Serialize)]
pub(crate) struct HeldAction<'a> {
    action_id: &'a str,
    actor: &'a str,
    assurance: Option<&'static str>,
    expires_at_ms: Option<u64>,
    required: u64,
    view_digest: &'a str,
    wants: String,
}

impl<'a> HeldAction<'a> {
    pub(crate) fn of(status: &'a ActionStatus) -> Self {
        Self {
            action_id: &status.action_id,
            actor: &status.actor,
            assurance: status.signing.as_ref().map(|terms| terms.assurance.name()),
            expires_at_ms: status.expires_at_ms,
            required: status.decision.approvals.required,
            view_digest: &status.view_digest,
            wants: page::wants(status),
        }
    }
}

/// The held actions that this principal can approve, oldest first: not their own, and not those that they
/// approved already.
pub(crate) fn for_approver(client: &Client, principal: &str) -> Result<Vec<ActionStatus>, Failure> {
    let owned = client.approver_keys()?.owned;
    let mut found = all_in(client, ActionState::Held)?;
    found.retain(|status| {
        let own = status.submitted_by == principal || status.actor == principal;
        let given = status.approvals.iter().any(|approval| approval.approver.as_str() == principal);
        let may = status.signing.is_some() || !owned;
        status.state == ActionState::Held && may && !own && !given
    });
    found.sort_by_key(|status| status.submitted_at_ms);
    Ok(found)
}

/// Every action in a state that the caller sees, with everything that lists leave out: evidence, and the terms of a
/// signature.
pub(super) fn all_in(client: &Client, state: ActionState) -> Result<Vec<ActionStatus>, Failure> {
    let mut found = Vec::new();
    let mut query = ActionsQuery {
        state: Some(state),
        after: Some(0),
        limit: Some(PAGE_MAX as u64),
        ..ActionsQuery::default()
    };
    loop {
        let listed = client.actions(&query)?;
        for action in &listed.actions {
            found.push(status::of(client, &action.action_id)?);
        }
        match listed.next {
            Some(next) => query.after = Some(next),
            None => return Ok(found),
        }
    }
}

/// The uses that nobody knows about, and then the held actions, with the numbers by which they are chosen.
pub(crate) fn numbered(page: &mut Page, unknown: &[UnknownUse], held: &[ActionStatus]) {
    let unknown = unknown.iter().map(|unknown| (&unknown.status, unknown.in_list()));
    let held = held.iter().map(|status| (status, page::wants(status)));
    let row = |(number, (status, wants)): (usize, (&ActionStatus, String))| Row {
        style: PLAIN,
        cells: vec![(number + 1).to_string(), status.action_id.clone(), when(status.submitted_at_ms), wants],
    };
    let columns = [Column::Right("#"), Column::Left("id"), Column::Spare("submitted"), Column::Left("wants")];
    page.table(&columns, unknown.chain(held).enumerate().map(row), |_, _, _| {});
}

/// The numbers that somebody typed: `1 3`, `1,3`, `all`, or nothing. They count from 1.
pub(crate) fn chosen(answer: &str, count: usize) -> Result<Vec<usize>, String> {
    if answer.trim() == "all" {
        return Ok((0..count).collect());
    }
    let mut numbers = Vec::new();
    for word in answer.split([' ', ',']).filter(|word| !word.is_empty()) {
        let number = word.parse::<usize>().ok().filter(|number| (1..=count).contains(number));
        let at = number.ok_or_else(|| format!("`{word}` is not a number from 1 to {count}"))? - 1;
        if !numbers.contains(&at) {
            numbers.push(at);
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_chosen_once_and_must_be_there() {
        assert_eq!(chosen("", 3), Ok(vec![]));
        assert_eq!(chosen("all", 3), Ok(vec![0, 1, 2]));
        assert_eq!(chosen(" 3, 1 3", 3), Ok(vec![2, 0]));
        for wrong in ["0", "4", "-1", "y", "1 x", "99999999999999999999"] {
            assert!(chosen(wrong, 3).is_err(), "{wrong}");
        }
    }
}
