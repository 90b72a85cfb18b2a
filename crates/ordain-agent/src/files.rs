//! Changes of files through the gate: apply a patch set, or undo one.

use crate::agent::{Acted, ActionDetails, Agent, Proposed, Purpose};
use crate::clock::now_ms;
use crate::diff::diff_excerpt;
use crate::error::AgentError;
use crate::interrupted::{Interrupted, Note};
use crate::trial::{Trial, evidence_of};
use ordain_api::{ActionState, ActionStatus};
use ordain_canon::{Canonicalizer, ContentHash, PatchHash, SHA256_PREFIX};
use ordain_client::Client;
use ordain_harness::apply::{self, ApplyError, Base, Change, Copies, records};
use ordain_spec::action::{ActionType, BindingType, EvidenceBinding, Proposal, Target, TimeWindow};
use ordain_spec::limits::OPEN_OBJECT_BYTES_MAX;
use ordain_spec::packet::EvidencePacket;
use ordain_spec::patch::{PatchOp, PatchSet};
use ordain_spec::{NonEmpty, Verified};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::path::Path;

/// How long a change may wait to be carried out once it is proposed: as long as it may wait for approvals.
/// Somebody approves in the evening, and it is applied in the morning.
const WINDOW_MS: u64 = 24 * 60 * 60 * 1_000;
/// How long carrying it out may take.
const DURATION_MS: u64 = 5 * 60 * 1_000;
/// A server's clock may be behind.
const CLOCKS_APART_MS: u64 = 60_000;
/// How old the evidence of a run may be.
const EVIDENCE_MS_MAX: u64 = 24 * 3_600_000;
/// How often the same change can be proposed before somebody should look.
const NUMBER_MAX: u64 = 1_000;

/// The longest diff that goes with a proposal, as JSON.
const DIFF_BYTES_MAX: usize = 32 << 10;
/// With less room there is none.
const DIFF_BYTES_MIN: usize = 256;
/// Its name and its comma.
const DIFF_KEY_BYTES: usize = r#","diff":"#.len();

/// A workspace whose changes a gate decides.
#[derive(Clone, Copy)]
pub struct GatedWorkspace<'a> {
    /// The gate.
    pub client: &'a Client,
    /// The server that the client talks to; nothing for the store of the project.
    pub server: Option<&'a str>,
    /// The folder.
    pub folder: &'a Path,
    /// The path of the folder in its project, because policies see the paths of the project. Empty for the
    /// project itself.
    pub place: &'a str,
    /// The principal that proposes.
    pub actor: &'a str,
}

/// Has a proposal signed, which is named by its hash.
pub type Sign<'a> = &'a mut dyn FnMut(&str) -> Result<Client, AgentError>;

/// The result of a change.
pub enum FileOutcome {
    /// The gate did not permit it. Nothing was changed.
    NotPermitted(Box<ActionStatus>),
    /// The gate permitted it, and it was tried.
    Tried(Acted),
}

impl GatedWorkspace<'_> {
    /// Applies a patch set. `changes` is its preview: files that changed since are not overwritten.
    pub fn apply(
        &self,
        patch: &Verified<PatchSet>,
        changes: &[Change],
        trial: Option<Trial<'_>>,
        tell: &mut dyn FnMut(Note),
    ) -> Result<FileOutcome, AgentError> {
        let patch_hash = PatchHash::of(&mut Canonicalizer::new(), &**patch)?.to_string();
        let operations =
            patch.operations.iter().map(|operation| self.operation(operation.op, &operation.path));
        let parameters = Parameters { operations: operations.collect(), ..Parameters::of(&patch_hash) };
        let change = ProposedChange {
            verb: "apply",
            target: target(&patch_hash),
            parameters: self.with_diff(parameters, changes)?,
            purpose: Purpose { patch_hash: patch_hash.clone(), undo: false },
        };
        let evidence = trial.map(|trial| evidence_of(&trial, &patch_hash)).transpose()?;
        // Not the base of the run alone: an edit since the preview is in no diff that was approved.
        let base = Base::of(changes);
        self.carry_out(change, evidence, None, tell, |authority| {
            apply::apply(self.folder, patch, Some(&base), authority)
        })
    }

    /// Takes a change back. `changes` is the preview of that. With `sign`, the owner at the terminal does it
    /// with their own authority: it gets the hash of the proposal, and gives the client that submits it.
    pub fn undo(
        &self,
        record: &str,
        copies: Copies,
        changes: &[Change],
        sign: Option<Sign<'_>>,
        tell: &mut dyn FnMut(Note),
    ) -> Result<FileOutcome, AgentError> {
        let known = records(self.folder)?.into_iter().find(|known| known.record == record);
        let gone =
            || ApplyError::NoRecord(format!("there is no change `{record}` in this workspace any more"));
        let known = known.ok_or_else(gone)?;
        let patch_hash = known.patch_hash;
        // A record can name a permit of another gate, or one that never was: then the policies decide.
        let permit = known.permit_id.as_deref().map(|id| self.client.permit(id)).transpose()?.flatten();
        let undoes = permit.map(|permit| permit.action_id);
        let restored = changes.iter().filter_map(|change| {
            let content_hash = ContentHash::of(change.after.as_ref()?).to_string();
            Some(RestoredFile { content_hash, path: self.path_in_project(&change.path) })
        });
        let operations = changes.iter().map(|change| self.operation(operation_of(change), &change.path));
        let parameters = Parameters {
            operations: operations.collect(),
            record: Some(record),
            restored: Some(restored.collect()),
            undo: Some(true),
            undoes: undoes.as_deref(),
            ..Parameters::of(&patch_hash)
        };
        let change = ProposedChange {
            verb: "undo",
            target: target(record),
            parameters: self.with_diff(parameters, changes)?,
            purpose: Purpose { patch_hash: patch_hash.clone(), undo: true },
        };
        self.carry_out(change, None, sign, tell, |authority| {
            apply::undo(self.folder, Some(record), copies, authority)
        })
    }

    /// Asks for a change, and carries it out if it is permitted.
    fn carry_out(
        &self,
        change: ProposedChange,
        evidence: Option<EvidencePacket>,
        sign: Option<Sign<'_>>,
        tell: &mut dyn FnMut(Note),
        action: impl FnOnce(apply::Authority) -> Result<apply::Applied, ApplyError>,
    ) -> Result<FileOutcome, AgentError> {
        let agent = Agent { client: self.client, server: self.server };
        Interrupted::find(self.folder, self.server, tell).report(agent, self.folder, tell)?;
        let permit = match self.ask(agent, &change, evidence, sign)? {
            Proposed::Permitted(permit) => permit,
            Proposed::Held(status) | Proposed::Denied(status) | Proposed::Used(status) => {
                return Ok(FileOutcome::NotPermitted(status));
            }
        };
        let ProposedChange { target, parameters, purpose, .. } = change;
        let details = ActionDetails { action_type: ActionType::Write, target, parameters };
        let spent = agent.spend(*permit, details, self.folder, purpose)?;
        Ok(FileOutcome::Tried(agent.act(spent, action)))
    }

    /// The answer to the proposal of this change that is still open, or else to a new one.
    fn ask(
        &self,
        agent: Agent<'_>,
        change: &ProposedChange,
        evidence: Option<EvidencePacket>,
        sign: Option<Sign<'_>>,
    ) -> Result<Proposed, AgentError> {
        let digits = self.digits(change)?;
        for number in 1..=NUMBER_MAX {
            let id = format!("{}-{digits}-{number}", change.verb);
            let Some(status) = self.client.action(&id)? else {
                let proposal = self.proposal(id, change, evidence.as_ref());
                let Some(sign) = sign else { return agent.propose(&proposal, evidence.as_slice()) };
                let hash = ContentHash::of(Canonicalizer::new().value(&proposal)?).to_string();
                let signed = sign(&hash)?;
                return Agent { client: &signed, ..agent }.propose(&proposal, &[]);
            };
            match status.state {
                // Somebody who signs does not wait for anybody.
                ActionState::Held if sign.is_some() => {}
                ActionState::Held | ActionState::Allowed if still_holds(&status) => {
                    return agent.answer(status);
                }
                ActionState::Running | ActionState::Unknown => {
                    let permit_id = status.permit.map(|permit| permit.permit_id).unwrap_or_default();
                    return Err(AgentError::Unsettled { action_id: id, permit_id });
                }
                // It is over; the same change again is another action.
                ActionState::Held
                | ActionState::Allowed
                | ActionState::Denied
                | ActionState::Expired
                | ActionState::Superseded
                | ActionState::Succeeded
                | ActionState::Failed
                | ActionState::Observed => {}
            }
        }
        Err(AgentError::TooOften { times: NUMBER_MAX })
    }

    /// Digits that tell this change of this actor from every other.
    fn digits(&self, change: &ProposedChange) -> Result<String, AgentError> {
        let target = serde_json::to_value(&change.target)?;
        let parameters = serde_json::to_string(&change.parameters)?;
        let hash = ContentHash::of(format!("{}\n{target}\n{parameters}", self.actor).as_bytes()).to_string();
        Ok(hash.trim_start_matches(SHA256_PREFIX).chars().take(12).collect())
    }

    fn proposal(&self, id: String, change: &ProposedChange, evidence: Option<&EvidencePacket>) -> Proposal {
        let now_ms = now_ms();
        let binding = |packet: &EvidencePacket| EvidenceBinding {
            evidence_id: packet.evidence_id.clone(),
            binding_type: BindingType::Attestation,
            required: true,
            freshness_ms: EVIDENCE_MS_MAX,
        };
        Proposal {
            proposal_id: id,
            ts_ms: now_ms,
            actor: NonEmpty::of(self.actor.to_owned()),
            action_type: ActionType::Write,
            target: change.target.clone(),
            parameters: change.parameters.clone(),
            preconditions: None,
            risk_envelope: None,
            rollback_semantics: None,
            time_window: Some(TimeWindow {
                valid_from_ms: now_ms.saturating_sub(CLOCKS_APART_MS),
                valid_until_ms: now_ms.saturating_add(WINDOW_MS),
                max_duration_ms: DURATION_MS,
            }),
            approval_class: None,
            evidence_bindings: evidence.map(|packet| vec![binding(packet)]),
        }
    }

    /// The parameters with a diff: an approver sees what changes, and exactly that must be applied then.
    fn with_diff(
        &self,
        mut parameters: Parameters<'_>,
        changes: &[Change],
    ) -> Result<Map<String, Json>, AgentError> {
        let bytes = serde_json::to_string(&parameters)?.len() + DIFF_KEY_BYTES;
        let room = OPEN_OBJECT_BYTES_MAX.saturating_sub(bytes);
        if room >= DIFF_BYTES_MIN {
            let name = |path: &str| self.path_in_project(path);
            parameters.diff = Some(diff_excerpt(changes, name, room.min(DIFF_BYTES_MAX)));
        }
        Ok(serde_json::from_value(serde_json::to_value(&parameters)?)?)
    }

    fn operation(&self, op: PatchOp, path: &str) -> Operation {
        Operation { op, path: self.path_in_project(path) }
    }

    fn path_in_project(&self, path: &str) -> String {
        if self.place.is_empty() { path.to_owned() } else { format!("{}/{path}", self.place) }
    }
}

/// A change, as it is proposed. Applying and undoing are different actions, even if they do the same to the same files.
struct ProposedChange {
    verb: &'static str,
    target: Target,
    parameters: Map<String, Json>,
    purpose: Purpose,
}

/// The parameters of a proposal to change files.
#[derive(Serialize)]
struct Parameters<'a> {
    operations: Vec<Operation>,
    patch_hash: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<bool>,
    /// The action whose change is taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<&'a str>,
    /// The files that come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    restored: Option<Vec<RestoredFile>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl<'a> Parameters<'a> {
    fn of(patch_hash: &'a str) -> Self {
        Self {
            operations: Vec::new(),
            patch_hash,
            undo: None,
            undoes: None,
            record: None,
            restored: None,
            diff: None,
        }
    }
}

#[derive(Serialize)]
struct Operation {
    op: PatchOp,
    path: String,
}

#[derive(Serialize)]
struct RestoredFile {
    content_hash: String,
    path: String,
}

fn target(resource_id: &str) -> Target {
    Target {
        resource_type: NonEmpty::of("patch_set".to_owned()),
        resource_id: NonEmpty::of(resource_id.to_owned()),
        domain: NonEmpty::of("workspace".to_owned()),
        constraints: Map::new(),
    }
}

fn operation_of(change: &Change) -> PatchOp {
    match (&change.before, &change.after) {
        (None, _) => PatchOp::Create,
        (Some(_), Some(_)) => PatchOp::Modify,
        (Some(_), None) => PatchOp::Delete,
    }
}

fn still_holds(status: &ActionStatus) -> bool {
    status.permit.as_ref().is_none_or(|permit| now_ms() < permit.valid_until_ms)
}
