//! Documents on record: those of one step are attached to its first entry, those that several steps name have
//! a place of their own. Every document is compared with its hash when it is read.

use super::error::GateError;
use super::judge::Inputs;
use super::open::Gate;
use super::permits::Minted;
use super::records::Action;
use ordain_canon::ContentHash;
use ordain_spec::action::KernelRequest;
use ordain_spec::approval::Approval;
use ordain_spec::decision::Decision;
use serde::de::DeserializeOwned;

/// The documents that are attached to an entry.
pub(crate) struct Attached {
    documents: Vec<(ContentHash, Vec<u8>)>,
}

/// The documents of an action, but for its evidence.
pub(crate) struct ActionDocuments {
    pub(crate) proposal: Vec<u8>,
    /// The purpose that the request named, in words, where the action came as a request.
    pub(crate) intent: Option<String>,
    pub(crate) approvals: Vec<Vec<u8>>,
    /// Those of the steps that decided: of each approval, or of the submission.
    pub(crate) steps: Vec<Attached>,
}

impl Attached {
    pub(crate) fn of(documents: Vec<Vec<u8>>) -> Self {
        Self { documents: documents.into_iter().map(|bytes| (ContentHash::of(&bytes), bytes)).collect() }
    }

    pub(crate) fn get(&self, hash: &ContentHash) -> Result<&[u8], GateError> {
        let found = self.documents.iter().find(|(name, _)| name == hash);
        found.map(|(_, bytes)| bytes.as_slice()).ok_or_else(|| missing(hash))
    }

    /// The decision that was made from these inputs.
    pub(crate) fn decision_by(&self, inputs: &Inputs) -> Result<Decision, GateError> {
        let mut decisions =
            self.documents.iter().filter_map(|(_, bytes)| serde_json::from_slice::<Decision>(bytes).ok());
        let found = decisions.find(|decision| decision.decided_at_ms == inputs.now_ms);
        found.ok_or_else(|| GateError::Damaged("a decision is missing or was changed".to_owned()))
    }

    /// The purpose in the request that an action came as. The proposal made from it has no room for it.
    fn intent(&self, action: &Action) -> Option<String> {
        let others = self.documents.iter().filter(|(name, _)| *name != action.proposal_document);
        others.filter_map(|(_, bytes)| intent_of(bytes)).next()
    }

    /// The inputs of the first decision about an action among them.
    pub(crate) fn inputs(&self, action: &Action) -> Result<Inputs, GateError> {
        let mut inputs =
            self.documents.iter().filter_map(|(_, bytes)| serde_json::from_slice::<Inputs>(bytes).ok());
        let found = inputs.find(|inputs| inputs.proposal_document == action.proposal_document);
        found.ok_or_else(|| {
            GateError::Damaged("the inputs of a decision are missing or were changed".to_owned())
        })
    }
}

impl ActionDocuments {
    pub(crate) fn decision(&self, action: &Action) -> Result<Decision, GateError> {
        typed(self.decided()?.get(&action.decision_document)?)
    }

    /// The step whose decision counts.
    fn decided(&self) -> Result<&Attached, GateError> {
        self.steps
            .last()
            .ok_or_else(|| GateError::Damaged("the documents of a decision are missing".to_owned()))
    }

    /// The inputs of the decision that counts.
    pub(crate) fn inputs(&self, action: &Action) -> Result<Inputs, GateError> {
        self.decided()?.inputs(action)
    }

    pub(crate) fn approvals(&self) -> Result<Vec<Approval>, GateError> {
        self.approvals.iter().map(|text| typed(text)).collect()
    }

    /// The permit of an action that has one.
    pub(crate) fn permit(&self, action: &Action) -> Result<Option<Minted>, GateError> {
        let Some(permit) = &action.permit else { return Ok(None) };
        let tokens =
            self.decided()?.documents.iter().filter_map(|(_, bytes)| String::from_utf8(bytes.clone()).ok());
        let mut permits = tokens.filter_map(Minted::of);
        let minted = permits.find(|minted| minted.claims.jti == permit.id.as_str());
        let damaged = || GateError::Damaged(format!("the permit `{}` is missing", permit.id));
        minted.map(Some).ok_or_else(damaged)
    }
}

impl Gate {
    /// The documents of the step that an entry belongs to.
    pub(crate) async fn attached(&self, index: u64) -> Result<Attached, GateError> {
        Ok(Attached::of(self.store.attached(index).await?))
    }

    /// The documents of an action: one read for each step that wrote some.
    pub(crate) async fn action_documents(&self, action: &Action) -> Result<ActionDocuments, GateError> {
        let submitted = self.attached(action.submitted_index).await?;
        let proposal = submitted.get(&action.proposal_document)?.to_vec();
        let intent = submitted.intent(action);
        if action.approvals.is_empty() {
            return Ok(ActionDocuments { proposal, intent, approvals: Vec::new(), steps: vec![submitted] });
        }
        let mut approvals = Vec::with_capacity(action.approvals.len());
        let mut steps = Vec::with_capacity(action.approvals.len());
        for approval in &action.approvals {
            let step = self.attached(approval.index).await?;
            approvals.push(step.get(&approval.document)?.to_vec());
            steps.push(step);
        }
        // Each approval comes with a decision, and the last one counts.
        Ok(ActionDocuments { proposal, intent, approvals, steps })
    }

    /// A document that several steps name.
    pub(crate) async fn shared_document(&self, hash: &ContentHash) -> Result<Vec<u8>, GateError> {
        self.store.document(hash).await?.ok_or_else(|| missing(hash))
    }

    /// Documents that several steps name, in this order.
    pub(crate) async fn shared_documents(&self, hashes: &[ContentHash]) -> Result<Vec<Vec<u8>>, GateError> {
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.store.documents(hashes).await?;
        found.into_iter().zip(hashes).map(|(bytes, hash)| bytes.ok_or_else(|| missing(hash))).collect()
    }
}

/// The purpose that a request names, in words.
pub(crate) fn intent_of(request: &[u8]) -> Option<String> {
    serde_json::from_slice::<KernelRequest>(request).ok().map(|request| request.intent)
}

pub(crate) fn typed<T: DeserializeOwned>(text: &[u8]) -> Result<T, GateError> {
    serde_json::from_slice(text).map_err(|error| GateError::Damaged(error.to_string()))
}

fn missing(hash: &ContentHash) -> GateError {
    GateError::Damaged(format!("the document {hash} is missing or was changed"))
}
