//! Asking the kernel, with everything that it was asked put on record.

use super::error::GateError;
use super::open::document;
use super::policy::Loaded;
use ordain_canon::Value;
use ordain_decision::{Case, Grant, decide_text};
use ordain_spec::decision::Decision;
use serde::{Deserialize, Serialize};

/// What a decision was made from. With these documents anybody can make it again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inputs {
    pub(super) proposal_document: String,
    pub(super) files_document: String,
    pub(super) evidence_documents: Vec<String>,
    pub(super) approval_documents: Vec<String>,
    pub(super) now_ms: u64,
    pub(super) halted: bool,
}

/// The texts behind [`Inputs`].
pub(super) struct Texts<'t> {
    pub(super) proposal: &'t [u8],
    pub(super) evidence: &'t [Vec<u8>],
    pub(super) approvals: &'t [Vec<u8>],
}

/// An answer of the kernel.
pub(super) struct Judged {
    pub(super) decision: Decision,
    pub(super) grant: Option<Grant>,
    pub(super) decision_document: String,
    pub(super) inputs_document: String,
    /// Both documents, for the store.
    pub(super) documents: Vec<Vec<u8>>,
}

pub(super) fn judge(loaded: &Loaded, inputs: &Inputs, texts: &Texts<'_>) -> Result<Judged, GateError> {
    let read = |texts: &'_ [Vec<u8>]| -> Result<(), GateError> {
        texts.iter().try_for_each(|text| {
            Value::read(text).map(drop).map_err(|error| GateError::Damaged(error.to_string()))
        })
    };
    read(texts.evidence)?;
    read(texts.approvals)?;
    let evidence: Vec<Value<'_>> = texts.evidence.iter().filter_map(|text| Value::read(text).ok()).collect();
    let approvals: Vec<Value<'_>> =
        texts.approvals.iter().filter_map(|text| Value::read(text).ok()).collect();
    let case = Case {
        document: &Value::Null,
        policies: &loaded.set,
        evidence: &evidence,
        approvals: &approvals,
        now_ms: inputs.now_ms,
        halted: inputs.halted,
    };
    let judgement = decide_text(texts.proposal, &case);
    let (decision_document, decision_bytes) = document(&judgement.decision)?;
    let (inputs_document, inputs_bytes) = document(inputs)?;
    Ok(Judged {
        decision: judgement.decision,
        grant: judgement.grant,
        decision_document,
        inputs_document,
        documents: vec![decision_bytes, inputs_bytes],
    })
}
