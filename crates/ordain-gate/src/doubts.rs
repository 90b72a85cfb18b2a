//! Whether an entry can follow those before it. A decision can be made again from its inputs; whether these
//! were true at the time, only the ledger itself can say.

use super::effects::EffectKeys;
use super::fold::{EntryDocuments, Fold};
use super::ids::GrantId;
use super::judge::Inputs;
use super::limits::CLOCKS_APART_MS_MAX;
use super::observe::observed_until;
use super::records::Action;
use super::transaction;
use ordain_api::{ActionState, Entry, Event};
use ordain_canon::{ContentHash, Value};
use ordain_spec::action::{Deed, Proposal, SOURCE_SENSORS, project_name};
use ordain_spec::approval::Approval;
use ordain_spec::decision::{Decision, Outcome, gate};
use ordain_spec::standing::common_scope;

impl Fold {
    /// The claims of an entry that the entries before it do not bear out.
    pub(crate) fn doubts(&self, index: u64, entry: &Entry, documents: &EntryDocuments) -> Vec<String> {
        let decided = documents.inputs.as_ref().zip(documents.decision.as_ref());
        match (&entry.event, decided) {
            (Event::Decided { action_id, outcome, .. }, Some((inputs, decision))) => {
                let mut doubts = self.doubts_of_inputs(action_id, entry.at_ms, inputs);
                let action = self.actions.get(action_id);
                let is_open = action
                    .is_none_or(|action| action.decided_index == 0 || action.state == ActionState::Held);
                if !is_open {
                    doubts.push(format!("decides on `{action_id}`, which was not held any more"));
                }
                if decision.outcome != *outcome {
                    doubts.push(format!("decides on `{action_id}` otherwise than its document says"));
                }
                doubts.extend(self.doubts_of_grant(action_id, entry, inputs, decision));
                doubts
            }
            (
                Event::PermitSpent { action_id, permit_id, number, effect_keys, .. },
                Some((inputs, decision)),
            ) => {
                let mut doubts = self.doubts_of_inputs(action_id, entry.at_ms, inputs);
                if decision.outcome != Outcome::Allow {
                    doubts.push(format!("uses `{permit_id}`, and its document is not an ALLOW"));
                }
                doubts.extend(self.doubts_of_use(action_id, permit_id, *number, inputs.now_ms));
                doubts.extend(self.doubts_of_call(action_id, entry, documents));
                doubts.extend(doubts_of_effects(action_id, effect_keys));
                doubts
            }
            (Event::Observed { action_id, decision_document, hook }, _) => {
                let just_decided = self.actions.get(action_id).is_some_and(|action| {
                    action.decided_index + 1 == index
                        && action.permit.is_none()
                        && action.decision_document.is(decision_document)
                });
                let mut doubts = Vec::new();
                if !just_decided {
                    doubts.push(format!("observes `{action_id}`, which the entry before it does not decide"));
                }
                // The call was judged a moment before it was written.
                let judged_ms = entry.at_ms.saturating_sub(CLOCKS_APART_MS_MAX);
                if self.halt.is_some() || observed_until(&self.observing, hook, judged_ms).is_none() {
                    doubts.push(format!(
                        "observes `{action_id}`, and nobody had the calls of `{hook}` observed"
                    ));
                }
                doubts
            }
            (Event::Decided { action_id, .. } | Event::PermitSpent { action_id, .. }, None) => {
                vec![format!("decides on `{action_id}`, and its inputs cannot be read")]
            }
            (Event::Submitted { action_id, undoes: Some(undone), .. }, _) => {
                let used = |action: &Action| action.permit.as_ref().is_some_and(|permit| permit.used > 0);
                let applied = self.actions.get(undone).is_some_and(used);
                if applied {
                    Vec::new()
                } else {
                    vec![format!("`{action_id}` takes back `{undone}`, which changed nothing")]
                }
            }
            (Event::ServerListed { server, project_id, pins_document: Some(_), .. }, _) => {
                let known = self.servers.get(&(project_id.clone(), server.clone()));
                let pinned = known.is_some_and(|known| known.approved);
                if pinned {
                    vec![format!("approves a list of `{server}`, which is not its first")]
                } else {
                    Vec::new()
                }
            }
            (Event::Granted { .. }, _) => self.doubts_of_new_grant(index, &entry.event, documents),
            (Event::GrantRevoked { grant_id }, _) => {
                let known = self.grants.get(grant_id.as_str());
                if known.is_some_and(|grant| grant.revoked.is_none()) {
                    Vec::new()
                } else {
                    vec![format!("takes back the grant `{grant_id}`, which does not count")]
                }
            }
            (Event::PermitMinted { action_id, permit_id, key_id, .. }, _) => {
                let mut doubts = Vec::new();
                let allowed = self.actions.get(action_id).is_some_and(|action| {
                    action.state == ActionState::Allowed
                        && action.permit.is_none()
                        && action.decided_index + 1 == index
                });
                if !allowed {
                    doubts.push(format!("mints `{permit_id}` without an ALLOW just before it"));
                }
                if self.keys.get(key_id.as_str()).is_none_or(|key| !key.is_valid()) {
                    doubts.push(format!("mints `{permit_id}` with a key that was not valid"));
                }
                doubts
            }
            (Event::Rejected { action_id, effect_keys, .. }, _) => {
                let mut doubts = doubts_of_verdict(action_id, entry, documents.approval.as_ref());
                doubts.extend(doubts_of_effects(action_id, effect_keys));
                doubts
            }
            (Event::Approved { action_id, .. }, _) => {
                doubts_of_verdict(action_id, entry, documents.approval.as_ref())
            }
            _ => Vec::new(),
        }
    }

    /// An ALLOW by a grant names it and takes its next use; the grant counts, and is for the deed of this call.
    fn doubts_of_grant(
        &self,
        action_id: &str,
        entry: &Entry,
        inputs: &Inputs,
        decision: &Decision,
    ) -> Vec<String> {
        let Event::Decided { grant: used, .. } = &entry.event else { return Vec::new() };
        let told = decision.reasons.iter().any(|reason| reason.rule_id == gate::STANDING.name());
        let by_grant = told && decision.outcome == Outcome::Allow;
        if by_grant != used.is_some() {
            return vec![format!(
                "decides on `{action_id}` by a grant, and takes no use of it, or the other way round"
            )];
        }
        let Some(input) = &inputs.grant else {
            return if by_grant {
                vec![format!("decides on `{action_id}` by a grant that its inputs do not name")]
            } else {
                Vec::new()
            };
        };
        let Some(grant) = self.grants.get(input.grant_id.as_str()) else {
            return vec![format!(
                "decides on `{action_id}` by the grant `{}`, which nobody gave",
                input.grant_id
            )];
        };
        let action = self.actions.get(action_id);
        let project = action.and_then(|action| action.project.as_ref());
        let project = project.map(|project| project.project_id.as_str());
        let project = project_name(self.origin.as_deref().unwrap_or_default(), project);
        let claims = [
            (input.grant_document == grant.document, "with another document"),
            (input.used == grant.used, "as if it had been used more or less often"),
            (grant.revoked.is_none(), "which was taken back"),
            (input.project == project, "of another project"),
            (entry.by == input.principal, "for another principal"),
            (self.deeds_of_actions.get(action_id) == Some(&grant.deed), "for another deed"),
            (used.is_none() || *used == inputs.grant_use(), "as another use"),
        ];
        let doubtful = claims.into_iter().filter(|(holds, _)| !holds);
        let id = &input.grant_id;
        doubtful.map(|(_, how)| format!("decides on `{action_id}` by the grant `{id}`, {how}")).collect()
    }

    /// A grant comes with the ALLOW of an action, from exactly its approvals, all of which go that far.
    fn doubts_of_new_grant(&self, index: u64, event: &Event, documents: &EntryDocuments) -> Vec<String> {
        let Event::Granted { action_id, grant_id, deed, max_uses, until_ms, grant_document } = event else {
            return Vec::new();
        };
        let Some(document) = &documents.grant else {
            return vec![format!("gives `{grant_id}`, whose document cannot be read")];
        };
        let just_allowed = self.actions.get(action_id).is_some_and(|action| {
            let approvals: Vec<_> = action.approvals.iter().map(|approval| approval.document).collect();
            let given = document.approvals.iter().map(transaction::document);
            let given: Vec<_> = given.filter_map(|it| it.ok().map(|(hash, _)| hash)).collect();
            action.state == ActionState::Allowed && action.decided_index < index && given == approvals
        });
        let scope = common_scope(&document.approvals);
        let claims = [
            (just_allowed, "without the approvals of an ALLOW just before it"),
            (document.action_id == *action_id, "with the document of another action"),
            (self.deeds_of_actions.get(action_id) == Some(deed), "for another deed than the action has"),
            (
                scope.is_some_and(|scope| {
                    scope.deed.as_str() == deed && scope.max_uses == *max_uses && scope.until_ms == *until_ms
                }),
                "wider than its approvers signed",
            ),
            (
                ContentHash::parse(grant_document)
                    .is_some_and(|hash| GrantId::of(&hash).as_str() == grant_id),
                "under the id of another document",
            ),
            (!self.grants.contains_key(grant_id.as_str()), "a second time"),
        ];
        let doubtful = claims.into_iter().filter(|(holds, _)| !holds);
        doubtful.map(|(_, how)| format!("gives `{grant_id}` {how}")).collect()
    }

    /// A call that joined an action must have the deed that was approved.
    fn doubts_of_call(&self, action_id: &str, entry: &Entry, documents: &EntryDocuments) -> Vec<String> {
        let Event::PermitSpent { call_document: Some(_), .. } = &entry.event else { return Vec::new() };
        let approved = self.deeds_of_actions.get(action_id);
        let call = documents.call.as_deref().and_then(|text| Value::read(text).ok());
        let call = call.and_then(|call| call.to_typed::<Proposal>().ok());
        let same = call.zip(approved).is_some_and(|(call, approved)| {
            // The window may have been written by the gate.
            let without = Proposal { time_window: None, ..call.clone() };
            let project = self.actions.get(action_id).and_then(|action| action.project.as_ref());
            let project = project.map(|project| project.project_id.as_str());
            [call, without].iter().any(|call| self.deed(project, &entry.by, call).as_ref() == Some(approved))
        });
        if same { Vec::new() } else { vec![format!("uses the permit of `{action_id}` for another deed")] }
    }

    fn deed(&self, project: Option<&str>, principal: &str, proposal: &Proposal) -> Option<String> {
        let is_source = |id: &str| {
            let sensor = self.evidence.get(id).map(|evidence| evidence.sensor_id.as_str());
            sensor.is_some_and(|sensor| SOURCE_SENSORS.contains(&sensor))
        };
        let origin = self.origin.as_deref().unwrap_or_default();
        let project = project_name(origin, project);
        Deed::of(&project, principal, proposal, is_source).ok().map(|deed| deed.to_string())
    }

    /// A decision must be made from what was true at the time.
    fn doubts_of_inputs(&self, action_id: &str, at_ms: u64, inputs: &Inputs) -> Vec<String> {
        let Some(action) = self.actions.get(action_id) else {
            return vec![format!("decides on `{action_id}`, which nobody submitted")];
        };
        let files_document = self.policy.as_ref().map(|policy| &policy.files_document);
        let soon = inputs.now_ms <= at_ms && at_ms - inputs.now_ms <= CLOCKS_APART_MS_MAX;
        let claims = [
            (inputs.proposal_document == action.proposal_document, "by another proposal than was submitted"),
            (inputs.approval_documents == action.approval_documents(), "by other approvals than were given"),
            (
                inputs.evidence_documents.iter().all(|packet| self.packets.contains(packet)),
                "by evidence that nobody had brought",
            ),
            (Some(&inputs.files_document) == files_document, "by other policies than were in force"),
            (
                inputs.halted == self.halt.is_some(),
                if inputs.halted { "as if the gate were halted" } else { "as if the gate were not halted" },
            ),
            (
                inputs.keys_document
                    == self
                        .keys_in_force
                        .filter(|_| !action.approvals.is_empty() || inputs.grant.is_some())
                        .map(|keys| keys.document),
                "by other keys of approvers than were in force",
            ),
            (inputs.undoes == action.undoes, "as if somebody took back a change, or the other way round"),
            (
                inputs.pins_document.is_none_or(|pins| {
                    let project = action.project.as_ref().map(|project| &project.project_id);
                    let mut servers = self.servers.iter().filter(|((of, _), _)| of.as_ref() == project);
                    servers.any(|(_, server)| server.pins == Some(pins))
                }),
                "by other approved tools than were in force",
            ),
            (soon, "as if it were another time"),
        ];
        let doubtful = claims.into_iter().filter(|(holds, _)| !holds);
        doubtful.map(|(_, how)| format!("decides on `{action_id}` {how}")).collect()
    }

    /// A permit must be usable.
    fn doubts_of_use(&self, action_id: &str, permit_id: &str, number: u64, now_ms: u64) -> Vec<String> {
        let Some(permit) = self.permits.get(permit_id).filter(|permit| permit.action_id == action_id) else {
            return vec![format!("uses `{permit_id}`, which nobody minted for `{action_id}`")];
        };
        let claims = [
            (number == permit.used + 1, "out of turn"),
            (
                permit.minted.as_ref().is_none_or(|minted| number <= minted.claims.max_executions),
                "more often than it can be used",
            ),
            (permit.minted.as_ref().is_none_or(|minted| minted.holds_at(now_ms)), "outside its window"),
            (self.halt.is_none(), "while the gate was halted"),
        ];
        let doubtful = claims.into_iter().filter(|(holds, _)| !holds);
        doubtful.map(|(_, how)| format!("uses `{permit_id}` {how}")).collect()
    }
}

/// Each effect once, in order. Whether they are those of the action takes its policies, which a replay reads.
fn doubts_of_effects(action_id: &str, effect_keys: &[String]) -> Option<String> {
    let are_ordered = EffectKeys::parse(effect_keys.to_vec()).are_ordered();
    (!are_ordered).then(|| format!("names the effects of `{action_id}` otherwise than a gate does"))
}

/// The entry of a verdict has the signature of its document, and only that.
fn doubts_of_verdict(action_id: &str, entry: &Entry, approval: Option<&Approval>) -> Vec<String> {
    let Some(approval) = approval else {
        return vec![format!("is a verdict about `{action_id}` whose document cannot be read")];
    };
    let signed = approval.signed().and_then(Result::ok);
    if approval.signature.is_some() != entry.signed.is_empty() && signed.as_ref() == entry.signed.first() {
        return Vec::new();
    }
    vec![format!("is a verdict about `{action_id}` with another signature than its document")]
}
