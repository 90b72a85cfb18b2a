//! Asking the kernel, with everything that it was asked put on record, and recording the answer with its permit.

use super::error::GateError;
use super::ids::{ActionId, PermitId};
use super::open::Gate;
use super::permits::Minted;
use super::policy::Loaded;
use super::records::{Action, Control, Permit};
use super::standing::GrantInput;
use super::transaction::{Reading, Writing, document};
use ordain_api::{ActionState, Event, GrantUse};
use ordain_canon::{ContentHash, Value};
use ordain_decision::{
    Case, Grant, ShellEffects, Standing, StandingOffer, decide_own_undo, decide_pinned, decide_standing,
    derive_shell,
};
use ordain_spec::decision::{Decision, Outcome};
use ordain_spec::mcp::Pins;
use ordain_spec::statement::{ApproverKeys, Assurance};
use ordain_store::Guard;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The inputs of a decision. With these documents anybody can make it again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inputs {
    pub(crate) approval_documents: Vec<ContentHash>,
    pub(crate) evidence_documents: Vec<ContentHash>,
    pub(crate) files_document: ContentHash,
    /// The grant that may stand in for approvals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grant: Option<GrantInput>,
    pub(crate) halted: bool,
    /// The keys of approvers in force. Without approvals or a grant they do not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) keys_document: Option<ContentHash>,
    pub(crate) now_ms: u64,
    /// The approved tools of the MCP server that is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pins_document: Option<ContentHash>,
    pub(crate) proposal_document: ContentHash,
    /// The effects of a shell command, as they were derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shell: Option<ShellEffects>,
    /// The action whose change is taken back with the proposer's own authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) undoes: Option<ActionId>,
}

impl Inputs {
    /// The inputs of a decision about an action as it is now.
    pub(crate) fn of(
        action: &Action,
        proposal: &Value<'_>,
        loaded: &Loaded,
        control: &Control,
        now_ms: u64,
    ) -> Self {
        Self::with(action, proposal, loaded, control, now_ms, action.shell(proposal))
    }

    /// The same with the effects of a shell command, which were derived before.
    pub(crate) fn with(
        action: &Action,
        proposal: &Value<'_>,
        loaded: &Loaded,
        control: &Control,
        now_ms: u64,
        shell: Option<ShellEffects>,
    ) -> Self {
        Self {
            proposal_document: action.proposal_document,
            files_document: loaded.files_document,
            grant: None,
            evidence_documents: action.evidence_documents.clone(),
            approval_documents: action.approval_documents(),
            keys_document: control.keys.filter(|_| !action.approvals.is_empty()).map(|keys| keys.document),
            now_ms,
            halted: control.halt.is_some(),
            shell,
            undoes: action.undoes.clone(),
            pins_document: loaded.pins.of_call(action, proposal),
        }
    }
}

impl Action {
    /// The effects of its command, if it is one of the shell.
    pub(crate) fn shell(&self, proposal: &Value<'_>) -> Option<ShellEffects> {
        derive_shell(proposal, self.project.as_ref().map(|project| project.path.as_str()))
    }
}

/// The documents behind [`Inputs`].
#[derive(Clone, Copy)]
pub(crate) struct Texts<'t> {
    pub(crate) proposal: &'t Value<'t>,
    pub(crate) evidence: &'t [Vec<u8>],
    pub(crate) approvals: &'t [Vec<u8>],
    pub(crate) keys: &'t ApproverKeys,
    pub(crate) pins: Option<&'t Pins>,
    /// The document of the grant.
    pub(crate) grant: Option<&'t [u8]>,
}

/// An answer of the kernel.
pub(crate) struct Judged {
    pub(crate) now_ms: u64,
    pub(crate) decision: Decision,
    pub(crate) grant: Option<Grant>,
    /// With a HOLD: how sure the approvals that are missing must be.
    pub(crate) assurance: Option<Assurance>,
    /// How far approvers may say that the same deed may be repeated.
    pub(crate) standing: Option<StandingOffer>,
    /// The use of a grant that an ALLOW takes.
    pub(crate) grant_use: Option<GrantUse>,
    pub(crate) decision_document: ContentHash,
    pub(crate) inputs_document: ContentHash,
    /// Both documents.
    pub(crate) documents: Vec<Vec<u8>>,
}

pub(crate) fn judge(loaded: &Loaded, inputs: &Inputs, texts: &Texts<'_>) -> Result<Judged, GateError> {
    let evidence = read_all(texts.evidence)?;
    let approvals = read_all(texts.approvals)?;
    let case = Case {
        document: texts.proposal,
        policies: &loaded.set,
        evidence: &evidence,
        approvals: &approvals,
        approver_keys: texts.keys,
        now_ms: inputs.now_ms,
        halted: inputs.halted,
        workspace: None,
    };
    let shell = inputs.shell.as_ref();
    let granted = texts.grant.map(Value::read).transpose();
    let granted = granted.map_err(|error| GateError::Damaged(error.to_string()))?;
    let judgement = match (&inputs.undoes, &inputs.grant, &granted) {
        (Some(undoes), _, _) => decide_own_undo(&case, undoes.as_str()),
        (None, Some(grant), Some(document)) => {
            let GrantInput { grant_id, principal, project, used, .. } = grant;
            let standing =
                Standing { grant_id: grant_id.as_str(), document, used: *used, project, principal };
            decide_standing(&case, shell, texts.pins, &standing)
        }
        (None, None, None) => decide_pinned(&case, shell, texts.pins),
        (None, _, _) => {
            return Err(GateError::Damaged("the inputs of a decision lack the grant they name".to_owned()));
        }
    };
    let (decision_document, decision_bytes) = document(&judgement.decision)?;
    let (inputs_document, inputs_bytes) = document(inputs)?;
    Ok(Judged {
        now_ms: inputs.now_ms,
        decision: judgement.decision,
        grant: judgement.grant,
        assurance: judgement.assurance,
        standing: judgement.standing,
        grant_use: inputs.grant_use().filter(|_| judgement.by_grant),
        decision_document,
        inputs_document,
        documents: vec![decision_bytes, inputs_bytes],
    })
}

fn read_all(texts: &[Vec<u8>]) -> Result<Vec<Value<'_>>, GateError> {
    let values = texts.iter().map(|text| Value::read(text));
    values.map(|value| value.map_err(|error| GateError::Damaged(error.to_string()))).collect()
}

/// An answer of the kernel, and the permit that comes with an ALLOW: ready to be written.
pub(crate) struct Ruling {
    judged: Judged,
    minted: Option<(Arc<Minted>, Guard)>,
}

/// A ruling that was written.
pub(crate) struct Ruled {
    pub(crate) decision: Decision,
    pub(crate) minted: Option<Arc<Minted>>,
    /// The documents, as entries name them.
    pub(crate) decision_document: ContentHash,
    pub(crate) inputs_document: ContentHash,
}

impl Gate {
    /// Asks the kernel, and prepares the permit of an ALLOW.
    pub(crate) async fn rule(
        &self,
        reading: Reading,
        loaded: &Loaded,
        inputs: &Inputs,
        texts: &Texts<'_>,
    ) -> Result<Ruling, GateError> {
        let mut judged = judge(loaded, inputs, texts)?;
        let minted = match judged.grant.take() {
            Some(grant) => {
                let (minted, key) = self.mint(reading, &grant).await?;
                Some((Arc::new(minted), key))
            }
            None => None,
        };
        Ok(Ruling { judged, minted })
    }
}

impl Ruling {
    pub(crate) fn decision(&self) -> &Decision {
        &self.judged.decision
    }

    /// The permit that comes with it.
    pub(crate) fn minted(&self) -> Option<&Minted> {
        self.minted.as_ref().map(|(minted, _)| minted.as_ref())
    }

    /// How far its approvers may say that the same deed may be repeated.
    pub(crate) fn standing(&self) -> Option<&StandingOffer> {
        self.judged.standing.as_ref()
    }

    /// Whether it is an ALLOW by a grant.
    pub(crate) fn uses_grant(&self) -> bool {
        self.judged.grant_use.is_some()
    }

    /// Leaves an ALLOW without its permit.
    pub(crate) fn drop_permit(&mut self) {
        self.minted = None;
    }

    /// Nobody has retired the key that the permit is signed with.
    pub(crate) fn guard(&self) -> Option<Guard> {
        self.minted.as_ref().map(|(_, key)| key.clone())
    }

    /// Takes the documents out, which are packed before the writer's turn: decision, inputs, permit.
    pub(crate) fn take_documents(&mut self) -> impl Iterator<Item = Vec<u8>> + use<> {
        let token = self.minted().map(|minted| minted.token.clone().into_bytes());
        std::mem::take(&mut self.judged.documents).into_iter().chain(token)
    }

    /// Writes the decision and the permit, and what they change about the action. The documents were taken out before.
    pub(crate) fn write(
        self,
        writing: &mut Writing,
        action_id: &str,
        action: &mut Action,
        held_until_ms: u64,
    ) -> Result<Ruled, GateError> {
        let judged = self.judged;
        writing.check_judged_at(judged.now_ms)?;
        let outcome = judged.decision.outcome;
        action.state = state_of(outcome);
        action.decision_document = judged.decision_document;
        action.expires_at_ms = (outcome == Outcome::Hold).then_some(held_until_ms);
        action.decided_index = writing.event(Event::Decided {
            action_id: action_id.to_owned(),
            outcome,
            decision_document: judged.decision_document.to_string(),
            inputs_document: judged.inputs_document.to_string(),
            expires_at_ms: action.expires_at_ms,
            grant: judged.grant_use,
        });
        let minted = self.minted.map(|(minted, _)| minted);
        if let Some(minted) = &minted {
            writing.event(minted.event(action_id));
            let id = PermitId::new(minted.claims.jti.clone());
            action.permit = Some(Permit::unused(id));
        }
        Ok(Ruled {
            decision: judged.decision,
            minted,
            decision_document: judged.decision_document,
            inputs_document: judged.inputs_document,
        })
    }
}

pub(crate) fn state_of(outcome: Outcome) -> ActionState {
    match outcome {
        Outcome::Allow => ActionState::Allowed,
        Outcome::Hold => ActionState::Held,
        Outcome::Deny => ActionState::Denied,
    }
}
