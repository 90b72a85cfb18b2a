//! What the entries of a ledger come to: every record as it should be, as far as the ledger says.

use super::judge::Inputs;
use super::outcome::state_after;
use super::records::PolicyInForce;
use super::submit::state_of;
use ordain_api::{ActionState, Entry, Event, Role, UseOutcome};
use ordain_spec::decision::Decision;
use std::collections::{BTreeMap, BTreeSet};

/// What the entries of a ledger come to.
#[derive(Default)]
pub(super) struct Expected {
    pub(super) origin: Option<String>,
    pub(super) actions: BTreeMap<String, ExpectedAction>,
    pub(super) permits: BTreeMap<String, ExpectedPermit>,
    /// The entry, the packet and the sensor.
    pub(super) evidence: BTreeMap<String, (u64, String, String)>,
    /// The packets alone.
    pub(super) packets: BTreeSet<String>,
    pub(super) tokens: BTreeMap<String, ExpectedToken>,
    /// The public key, and whether it was retired.
    pub(super) keys: BTreeMap<String, (String, bool)>,
    /// By whom, and why.
    pub(super) halted: Option<(String, String)>,
    pub(super) policy: Option<PolicyInForce>,
}

#[derive(Default)]
pub(super) struct ExpectedAction {
    /// Where it stands, but for the uses of its permit.
    pub(super) state: Option<ActionState>,
    pub(super) actor: String,
    /// Who brought it: a principal, or somebody for the actor.
    pub(super) by: String,
    pub(super) proposal_document: String,
    pub(super) decision_document: String,
    /// When it was submitted, and what approvals are bound to, by its first decision.
    pub(super) first: Option<(u64, Option<String>)>,
    /// Of the last decision.
    pub(super) evidence_documents: Option<Vec<String>>,
    pub(super) approval_documents: Vec<String>,
    pub(super) permit_id: Option<String>,
    pub(super) expires_at_ms: Option<u64>,
    pub(super) supersedes: Option<String>,
    pub(super) superseded_by: Option<String>,
    pub(super) submitted_index: u64,
    pub(super) decided_index: u64,
}

#[derive(Default)]
pub(super) struct ExpectedPermit {
    pub(super) action_id: String,
    pub(super) permit_document: String,
    pub(super) max_executions: u64,
    pub(super) valid_from_ms: u64,
    pub(super) valid_until_ms: u64,
    pub(super) uses: Vec<ExpectedUse>,
    pub(super) index: u64,
}

#[derive(PartialEq, Eq)]
pub(super) struct ExpectedUse {
    pub(super) number: u64,
    pub(super) worker: String,
    /// By the documents of the decision.
    pub(super) spent_at_ms: Option<u64>,
    pub(super) deadline_ms: u64,
    /// How it went, and the document that says so.
    pub(super) settled: Option<(UseOutcome, String)>,
}

#[derive(PartialEq, Eq)]
pub(super) struct ExpectedToken {
    pub(super) principal: String,
    pub(super) names: Vec<String>,
    pub(super) roles: Vec<Role>,
    pub(super) secret_hash: String,
    pub(super) expires_at_ms: Option<u64>,
    pub(super) revoked: bool,
}

/// The documents of a decision: what it was made from, and what it was.
pub(super) struct Recorded {
    pub(super) inputs: Inputs,
    pub(super) decision: Decision,
}

impl Expected {
    /// Adds an entry; a decision comes with its documents, as far as they can be read.
    pub(super) fn add(&mut self, index: u64, entry: Entry, recorded: Option<Recorded>) {
        let by = entry.by;
        match entry.event {
            Event::Opened { origin } => self.origin = Some(origin),
            Event::Submitted { action_id, actor, proposal_document, supersedes } => {
                let action = self.actions.entry(action_id).or_default();
                action.submitted_index = index;
                (action.actor, action.by) = (actor, by);
                (action.proposal_document, action.supersedes) = (proposal_document, supersedes);
            }
            Event::Decided { action_id, outcome, decision_document, expires_at_ms, .. } => {
                let action = self.actions.entry(action_id).or_default();
                action.state = Some(state_of(outcome));
                action.decision_document = decision_document;
                (action.expires_at_ms, action.decided_index) = (expires_at_ms, index);
                if let Some(Recorded { inputs, decision }) = recorded {
                    let proposal_hash = decision.proposal_hash.0.map(|hash| hash.as_str().to_owned());
                    action.first.get_or_insert((inputs.now_ms, proposal_hash));
                    action.evidence_documents = Some(inputs.evidence_documents);
                }
            }
            Event::Approved { action_id, approval_document }
            | Event::Rejected { action_id, approval_document } => {
                self.actions.entry(action_id).or_default().approval_documents.push(approval_document);
            }
            Event::Superseded { action_id, by_action_id } => {
                let action = self.actions.entry(action_id).or_default();
                (action.state, action.superseded_by) = (Some(ActionState::Superseded), Some(by_action_id));
            }
            Event::Expired { action_id } => {
                self.actions.entry(action_id).or_default().state = Some(ActionState::Expired);
            }
            Event::PermitMinted {
                action_id,
                permit_id,
                permit_document,
                max_executions,
                valid_from_ms,
                valid_until_ms,
                ..
            } => {
                self.actions.entry(action_id.clone()).or_default().permit_id = Some(permit_id.clone());
                let permit = self.permits.entry(permit_id).or_default();
                (permit.action_id, permit.permit_document, permit.index) =
                    (action_id, permit_document, index);
                permit.max_executions = max_executions;
                (permit.valid_from_ms, permit.valid_until_ms) = (valid_from_ms, valid_until_ms);
            }
            Event::PermitSpent { permit_id, number, deadline_ms, .. } => {
                let spent_at_ms = recorded.map(|it| it.inputs.now_ms);
                let used = ExpectedUse { number, worker: by, spent_at_ms, deadline_ms, settled: None };
                self.permits.entry(permit_id).or_default().uses.push(used);
            }
            Event::PermitSettled { permit_id, number, outcome, report_document, .. } => {
                let uses = &mut self.permits.entry(permit_id).or_default().uses;
                if let Some(used) = uses.iter_mut().find(|used| used.number == number) {
                    used.settled = Some((outcome, report_document));
                }
            }
            Event::EvidenceReceived { evidence_id, sensor_id, packet_document } => {
                self.packets.insert(packet_document.clone());
                self.evidence.insert(evidence_id, (index, packet_document, sensor_id));
            }
            Event::PolicyChanged { policy_hash, files_document } => {
                self.policy = Some(PolicyInForce { hash: policy_hash, files_document });
            }
            Event::KeyRotated { key_id, public_key, retires } => {
                self.keys.insert(key_id, (public_key, false));
                if let Some((_, retired)) = retires.and_then(|id| self.keys.get_mut(&id)) {
                    *retired = true;
                }
            }
            Event::Halted { reason } => self.halted = Some((by, reason)),
            Event::Resumed { .. } => self.halted = None,
            Event::TokenCreated { token_id, principal, names, roles, secret_hash, expires_at_ms } => {
                let revoked = false;
                let token = ExpectedToken { principal, names, roles, secret_hash, expires_at_ms, revoked };
                self.tokens.insert(token_id, token);
            }
            Event::TokenRevoked { token_id } => {
                if let Some(token) = self.tokens.get_mut(&token_id) {
                    token.revoked = true;
                }
            }
            Event::Applied { .. } | Event::Undone { .. } | Event::Drafted { .. } => {}
        }
    }

    /// Where an action stands.
    pub(super) fn state(&self, action: &ExpectedAction) -> Option<ActionState> {
        let permit = action.permit_id.as_ref().and_then(|id| self.permits.get(id));
        match permit.map(ExpectedPermit::outcomes).unwrap_or_default().as_slice() {
            [] => action.state,
            outcomes => Some(state_after(outcomes)),
        }
    }
}

impl ExpectedPermit {
    fn outcomes(&self) -> Vec<Option<UseOutcome>> {
        self.uses.iter().map(|used| used.settled.as_ref().map(|(outcome, _)| *outcome)).collect()
    }

    /// The uses of which nobody knows yet how they went.
    pub(super) fn open(&self, permit_id: &str) -> BTreeSet<(String, u64)> {
        let open = |used: &&ExpectedUse| {
            used.settled.as_ref().is_none_or(|(outcome, _)| *outcome == UseOutcome::Unknown)
        };
        self.uses.iter().filter(open).map(|used| (permit_id.to_owned(), used.number)).collect()
    }
}
