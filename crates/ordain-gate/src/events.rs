//! All that happens, as far as a caller may see it: the ledger, followed from a place.

use super::caller::Caller;
use super::conflict::Conflict;
use super::error::GateError;
use super::index::rows_of;
use super::open::Gate;
use super::records::{Action, Versioned};
use super::status::may_see;
use ordain_api::{Entry, Event, GateEvent, Role};
use std::collections::BTreeMap;

/// Entries that are looked at for one part of a stream.
const PART: u64 = 256;

impl Gate {
    /// The events from an entry on that the caller may see, and the entry where the next part begins. The token of the
    /// caller must still hold.
    pub async fn events_from(&self, caller: &Caller, from: u64) -> Result<(Vec<GateEvent>, u64), GateError> {
        self.check_still_holds(caller).await?;
        let size = self.size().await?;
        if from > size {
            return Err(Conflict::AfterEnd { index: from - 1, size }.into());
        }
        let end = size.min(from.saturating_add(PART));
        let mut seen: BTreeMap<String, bool> = BTreeMap::new();
        let mut events = Vec::new();
        for row in rows_of(&self.store, from..end).await? {
            let entry: Entry = serde_json::from_slice(&row.bytes)
                .map_err(|error| GateError::Damaged(format!("entry {}: {error}", row.index)))?;
            let visible = match entry.event.action_id() {
                _ if sees_all_actions(caller) => tells(caller, &entry.event),
                None => tells(caller, &entry.event),
                Some(id) => match seen.get(id) {
                    Some(known) => *known,
                    None => {
                        let action = Versioned::<Action>::read(&self.store, id).await?.body;
                        let visible = action.is_some_and(|action| may_see(caller, &action));
                        seen.insert(id.to_owned(), visible);
                        visible
                    }
                },
            };
            if visible {
                events.push(GateEvent {
                    action_id: entry.event.action_id().map(str::to_owned),
                    at_ms: entry.at_ms,
                    by: sees_all_actions(caller).then_some(entry.by),
                    index: row.index,
                    kind: entry.event.name().to_owned(),
                });
            }
        }
        Ok((events, end))
    }
}

/// Whether every action is shown to the caller, with its approvers.
fn sees_all_actions(caller: &Caller) -> bool {
    [Role::Approver, Role::Operator, Role::Auditor].iter().any(|role| caller.is(*role))
}

/// Whether the caller may know that this happened, by what other operations tell it; actions are looked at apart.
fn tells(caller: &Caller, event: &Event) -> bool {
    let reads_ledger = caller.is(Role::Auditor) || caller.is(Role::Operator);
    match event {
        // `get_gate`, `get_keys` and `list_approver_keys` tell everybody.
        Event::Opened { .. }
        | Event::PolicyChanged { .. }
        | Event::KeyRotated { .. }
        | Event::ApproverKeyEnrolled { .. }
        | Event::ApproverKeyRevoked { .. }
        | Event::Halted { .. }
        | Event::Resumed { .. }
        | Event::ObservationStarted { .. }
        | Event::ObservationEnded { .. } => true,
        Event::ProjectRegistered { .. }
        | Event::ProjectForgotten { .. }
        | Event::ServerListed { .. }
        | Event::ServerPinned { .. }
        | Event::ToolBlocked { .. }
        | Event::GrantRevoked { .. } => sees_all_actions(caller),
        Event::EvidenceReceived { .. }
        | Event::Drafted { .. }
        | Event::TokenCreated { .. }
        | Event::TokenRevoked { .. } => reads_ledger,
        Event::Submitted { .. }
        | Event::Decided { .. }
        | Event::Approved { .. }
        | Event::Rejected { .. }
        | Event::Granted { .. }
        | Event::Observed { .. }
        | Event::Superseded { .. }
        | Event::Expired { .. }
        | Event::PermitMinted { .. }
        | Event::PermitSpent { .. }
        | Event::PermitSettled { .. }
        | Event::Applied { .. }
        | Event::Undone { .. } => sees_all_actions(caller),
    }
}
