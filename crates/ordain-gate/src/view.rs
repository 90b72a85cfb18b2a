//! The view that an approver is shown: the proposal and its evidence with secrets hashed, and the policies it
//! is judged by.

use super::caller::Caller;
use super::error::GateError;
use super::policy::Loaded;
use super::records::{Action, Control};
use super::status::sees_evidence;
use ordain_api::{ProjectName, ViewDocument};
use ordain_canon::{Canonicalizer, ContentHash, Value, ViewDigest};
use ordain_spec::action::RUNNER_SENSOR;
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

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

/// The view that an approver is shown.
pub(crate) struct View {
    pub(crate) document: ViewDocument,
    /// Empty where the view does not have all of the evidence.
    pub(crate) digest: String,
}

impl View {
    /// The view in the answer to a submission that waits for nobody.
    pub(crate) fn none() -> Self {
        Self { document: ViewDocument::none(), digest: String::new() }
    }

    /// The same, without what other policies hide. A view that loses something has no digest any more.
    pub(crate) fn hiding(self, other: &Self) -> Result<Self, GateError> {
        let mut shown: Json = (*self.document).clone();
        for part in ["proposal", "evidence", "intent"] {
            if let (Some(shown), Some(other)) = (shown.get_mut(part), other.document.get(part)) {
                hide(shown, other);
            }
        }
        if shown == *self.document {
            return Ok(self);
        }
        let text = String::from_utf8_lossy(Canonicalizer::new().value(&shown)?).into_owned();
        Ok(Self { document: ViewDocument::of_canonical(text), digest: String::new() })
    }
}

/// Takes over what another view of the same document hides.
fn hide(shown: &mut Json, other: &Json) {
    match (shown, other) {
        (Json::Object(shown), Json::Object(other)) => {
            for (name, value) in shown.iter_mut() {
                if let Some(other) = other.get(name) {
                    hide(value, other);
                }
            }
        }
        (Json::Array(shown), Json::Array(other)) => {
            shown.iter_mut().zip(other).for_each(|(shown, other)| hide(shown, other));
        }
        (shown, other) => {
            let is_hidden =
                |value: &Json| value.as_str().is_some_and(|text| text.starts_with(REDACTED_PREFIX));
            if is_hidden(other) && !is_hidden(shown) {
                *shown = other.clone();
            }
        }
    }
}

/// The parts of a view beside the proposal and its evidence.
#[derive(Clone, Default)]
pub(crate) struct Beside<'a> {
    /// Rejections and uses of the same effect.
    pub(crate) earlier: Option<Json>,
    /// The purpose in words, where a request names one. It is for people: nothing is decided by it.
    pub(crate) intent: Option<&'a str>,
}

#[derive(Serialize)]
struct Form<'a> {
    action_id: &'a str,
    /// Rejections and uses of the same effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<Json>,
    evidence: Vec<Json>,
    /// The purpose in the words of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    intent: Option<Json>,
    /// Warnings about packets, by their ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, &'static str>,
    policy_hash: &'a str,
    /// The project of the gate whose paths and commands these are.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a ProjectName>,
    proposal: Value<'a>,
    proposal_hash: &'a ContentHash,
}

/// How a value begins that policies hide.
const REDACTED_PREFIX: &str = "redacted:";
/// Nobody but the proposer vouches for it.
const PROPOSERS_WORD: &str = "proposer's word";

/// The view depends on the proposal, its evidence, the policies, and what is known of the same effect.
/// `evidence` has the packets of the action, unless only their hashes are shown.
#[expect(clippy::too_many_arguments, reason = "everything that an approver is shown")]
pub(crate) fn view(
    packets: Packets,
    loaded: &Loaded,
    control: &Control,
    action_id: &str,
    action: &Action,
    proposal: &Value<'_>,
    evidence: &[Vec<u8>],
    beside: Beside<'_>,
) -> Result<View, GateError> {
    view_under(
        packets,
        loaded,
        &loaded.set.hash().to_string(),
        control,
        action_id,
        action,
        proposal,
        evidence,
        beside,
    )
}

/// The same with the hash of the policies that it names: in a list, redaction is that of now, and nothing
/// else depends on the policies of then.
#[expect(clippy::too_many_arguments, reason = "everything that an approver is shown")]
pub(crate) fn view_under(
    packets: Packets,
    loaded: &Loaded,
    policy_hash: &str,
    control: &Control,
    action_id: &str,
    action: &Action,
    proposal: &Value<'_>,
    evidence: &[Vec<u8>],
    beside: Beside<'_>,
) -> Result<View, GateError> {
    let read = |text: &[u8]| -> Json { serde_json::from_slice(text).unwrap_or_default() };
    let hashes = &action.evidence_documents;
    let labels = match packets {
        Packets::Whole => evidence.iter().filter_map(|text| label(loaded, &read(text))).collect(),
        Packets::Named | Packets::Hashed => BTreeMap::new(),
    };
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
        policy_hash,
        project: action.project.as_ref(),
        earlier: beside.earlier,
        intent: beside.intent.map(|intent| redacted_intent(loaded, control, intent)),
        labels,
    };
    let mut canon = Canonicalizer::new();
    let (digest, bytes) = ViewDigest::with_bytes(&mut canon, &form)?;
    let damaged = |error: std::str::Utf8Error| GateError::Damaged(error.to_string());
    let text = std::str::from_utf8(bytes).map_err(damaged)?.to_owned();
    let digest = if is_whole { digest.to_string() } else { String::new() };
    Ok(View { document: ViewDocument::of_canonical(text), digest })
}

/// Policies hide it by its name, like any other field.
fn redacted_intent(loaded: &Loaded, control: &Control, intent: &str) -> Json {
    let mut redacted = loaded.set.redacted(&json!({ "intent": intent }), &control.salt);
    redacted.get_mut("intent").map(Json::take).unwrap_or_default()
}

/// A run is as good as whoever ran it. Without the signature of a runner's own key, the proposer may have made it up.
fn label(loaded: &Loaded, packet: &Json) -> Option<(String, &'static str)> {
    let text = |field: &str| packet.get(field).and_then(Json::as_str);
    let sensor = text("sensor_id").filter(|sensor| *sensor == RUNNER_SENSOR)?;
    let vouched_for = packet.get("sensor_signature").is_some() && loaded.set.has_key_of(sensor);
    (!vouched_for).then(|| (text("evidence_id").unwrap_or_default().to_owned(), PROPOSERS_WORD))
}
