//! Hearing of actions as they change, by long polls.

use crate::exit::Failure;
use ordain_api::limits::POLL_SECONDS_MAX;
use ordain_api::{ActionState, ActionStatus, ActionsQuery};
use ordain_client::Client;
use std::time::{Duration, Instant};

/// The first actions that come into a state from now on; none when the time is over.
pub(crate) fn next(client: &Client, state: ActionState, seconds: u64) -> Result<Vec<ActionStatus>, Failure> {
    let mut after = seen(client)?;
    // Without an end, if the clock cannot count that far.
    let end = Instant::now().checked_add(Duration::from_secs(seconds));
    loop {
        let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        // A started second is waited for.
        let left = left.as_secs().saturating_add(u64::from(left.subsec_nanos() > 0));
        let wait = Some(left.min(POLL_SECONDS_MAX));
        let query = ActionsQuery { state: Some(state), after: Some(after), wait, ..ActionsQuery::default() };
        let page = client.actions(&query)?;
        if !page.actions.is_empty() || left == 0 {
            return Ok(page.actions);
        }
        after = page.seen;
    }
}

/// Waits until any action changes after a place; gives the new place. The time may be over before.
pub(crate) fn changed(client: &Client, after: u64) -> Result<u64, Failure> {
    let wait = Some(POLL_SECONDS_MAX);
    let query = ActionsQuery { after: Some(after), wait, limit: Some(1), ..ActionsQuery::default() };
    Ok(client.actions(&query)?.seen)
}

/// The place of the last change.
pub(crate) fn seen(client: &Client) -> Result<u64, Failure> {
    // Beyond the end of every ledger, so that the page is empty.
    let after = Some(ordain_api::limits::WHOLE_MAX);
    let query = ActionsQuery { after, limit: Some(1), ..ActionsQuery::default() };
    Ok(client.actions(&query)?.seen)
}
