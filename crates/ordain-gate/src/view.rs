//! What an approver is shown: the proposal and its evidence with secrets hashed, and the policies it is judged by.

use super::caller::Caller;
use super::error::GateError;
use super::policy::Loaded;
use super::records::{Action, Control};
use super::status::sees_evidence;
use ordain_canon::{Canonicalizer, ContentHash, Value, ViewDigest};
use serde::Serialize;
use serde_json::{Value as Json, json};

/// How much of the evidence a view has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packets {
    /// All of it.
    Whole,
    /// The id and the hash of each packet.
    Named,
    /// The hash of each packet: nothing is read for it.
    Hashed,
}

impl Packets {
    pub(crate) fn of(caller: &Caller) -> Self {
        if sees_evidence(caller) { Self::Whole } else { Self::Named }
    }
}

/// What an approver is shown.
pub(crate) struct View {
    pub(crate) json: Json,
    /// Empty where the view does not have all of the evidence.
    pub(crate) digest: String,
}

#[derive(Serialize)]
struct Form<'a> {
    action_id: &'a str,
    proposal_hash: &'a ContentHash,
    proposal: Value<'a>,
    evidence: Vec<Json>,
    policy_hash: String,
}

/// The view depends on the proposal, its evidence and the policies, and on nothing that others do meanwhile. `evidence` has
/// the packets of the action, unless only their hashes are shown.
pub(crate) fn view(
    packets: Packets,
    loaded: &Loaded,
    control: &Control,
    action_id: &str,
    action: &Action,
    proposal: &Value<'_>,
    evidence: &[Vec<u8>],
) -> Result<View, GateError> {
    let read = |text: &[u8]| -> Json { serde_json::from_slice(text).unwrap_or_default() };
    let hashes = &action.evidence_documents;
    let evidence: Vec<Json> = match packets {
        Packets::Hashed => hashes.iter().map(|hash| json!({"packet_hash": hash})).collect(),
        Packets::Whole => {
            evidence.iter().map(|text| loaded.set.redacted(&read(text), &control.salt)).collect()
        }
        Packets::Named => {
            let named = |(text, hash): (&Vec<u8>, &ContentHash)| json!({"evidence_id": read(text).get("evidence_id"), "packet_hash": hash});
            evidence.iter().zip(hashes).map(named).collect()
        }
    };
    let is_whole = packets == Packets::Whole || evidence.is_empty();
    let form = Form {
        action_id,
        proposal_hash: &action.proposal_document,
        proposal: loaded.set.redacted_value(proposal, &control.salt),
        evidence,
        policy_hash: loaded.set.hash().to_string(),
    };
    let digest =
        if is_whole { ViewDigest::of(&mut Canonicalizer::new(), &form)?.to_string() } else { String::new() };
    let json = serde_json::to_value(&form).map_err(|error| GateError::Damaged(error.to_string()))?;
    Ok(View { json, digest })
}
