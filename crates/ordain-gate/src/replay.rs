//! Replaying: every decision on the ledger again, from its recorded inputs.

use super::audit::Damage;
use super::clock::Clock;
use super::conflict::Conflict;
use super::documents::typed;
use super::error::GateError;
use super::fold::{DocumentReader, EntryDocuments};
use super::judge::{Texts, judge};
use super::keyring::Keyring;
use super::open::{Gate, Settings};
use super::policy::Loaded;
use ordain_api::{Entry, Event};
use ordain_canon::{ContentHash, Value};
use ordain_decision::PolicySet;
use ordain_spec::decision::{Decision, Outcome};
use ordain_spec::statement::ApproverKeys;
use ordain_store::Store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What replaying a ledger found.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// Decisions on the ledger.
    pub decisions: u64,
    /// Those that came out the same: byte for byte, or with other policies the same outcome.
    pub same: u64,
    /// Those that did not.
    pub flips: Vec<Flip>,
    /// What could not be replayed, and why.
    pub not_replayed: Vec<NotReplayed>,
}

/// A decision that comes out otherwise.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Flip {
    /// The entry on the ledger.
    pub index: u64,
    /// The action.
    pub action_id: String,
    /// What was decided then.
    pub was: Outcome,
    /// What would be decided now.
    pub would_be: Outcome,
    /// Why, in the kernel's words.
    pub reasons: Vec<ordain_spec::decision::Reason>,
}

/// A decision that could not be replayed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NotReplayed {
    /// The entry on the ledger.
    pub index: u64,
    /// Why.
    pub problem: String,
}

/// How many policy sets are kept for decisions to come.
const SETS_KEPT: usize = 16;
const PAGE: usize = 500;

/// Decides everything again. With the recorded policies the same bytes must come out; with others the flips are listed.
pub async fn replay(
    gate: &Gate,
    other: Option<PolicySet>,
    mut progress: impl FnMut(u64, u64),
) -> Result<Replay, GateError> {
    let size = gate.store.head().await?.size;
    let other = other.map(|set| Arc::new(Loaded { set, files_document: ContentHash::of(b"") }));
    let mut sets: BTreeMap<ContentHash, Arc<Loaded>> = BTreeMap::new();
    let mut reader = DocumentReader::new();
    let mut replay = Replay::default();
    let mut index = 0;
    while index < size {
        let rows = gate.store.entries(index, PAGE).await?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            index = row.index + 1;
            reader.at(row.attached);
            let Ok(entry) = serde_json::from_slice::<Entry>(&row.bytes) else {
                let problem = "is not an entry that this version of ordain knows".to_owned();
                replay.not_replayed.push(NotReplayed { index: row.index, problem });
                continue;
            };
            let (Event::Decided { action_id, decision_document, .. }
            | Event::PermitSpent { action_id, decision_document, .. }) = &entry.event
            else {
                continue;
            };
            replay.decisions += 1;
            let documents = reader.documents(&gate.store, &entry.event).await?;
            let again = decide_again(gate, other.as_ref(), &mut sets, decision_document, documents).await;
            match again {
                Err(error) => {
                    replay.not_replayed.push(NotReplayed { index: row.index, problem: error.to_string() })
                }
                Ok((_, None)) => replay.same += 1,
                Ok((was, Some(now))) => replay.flips.push(Flip {
                    index: row.index,
                    action_id: action_id.clone(),
                    was: was.outcome,
                    would_be: now.outcome,
                    reasons: now.reasons,
                }),
            }
        }
        progress(index, size);
    }
    Ok(replay)
}

/// Decides every ALLOW of a store again. Gives those that do not come out as one, such as one whose policies demanded a signed
/// approval that nobody gave, and what could not be checked.
pub async fn audit_allowed(store: &Store) -> Result<(Vec<Damage>, Vec<String>), GateError> {
    // Nothing is signed and nothing is written: any key will do.
    let keyring = Keyring::ephemeral().map_err(|error| GateError::Unavailable(error.to_string()))?;
    let gate = Gate::bare(store.clone(), keyring, Clock::system(), Settings::default()).await?;
    let Replay { flips, not_replayed, .. } = replay(&gate, None, |_, _| {}).await?;
    let allowed = flips.into_iter().filter(|flip| flip.was == Outcome::Allow);
    let wrong = allowed.map(|flip| {
        let why: Vec<String> = flip.reasons.iter().map(|reason| reason.message.clone()).collect();
        let problem = format!(
            "allows `{}`, which by its recorded policies, evidence and approvals comes out as {}: {}",
            flip.action_id,
            flip.would_be.name(),
            why.join("; ")
        );
        Damage { index: Some(flip.index), problem }
    });
    let unchecked = not_replayed.iter().map(|entry| format!("entry {}: {}", entry.index, entry.problem));
    Ok((wrong.collect(), unchecked.collect()))
}

/// The recorded decision, and the one of now if it differs.
async fn decide_again(
    gate: &Gate,
    other: Option<&Arc<Loaded>>,
    sets: &mut BTreeMap<ContentHash, Arc<Loaded>>,
    decision_document: &str,
    documents: EntryDocuments,
) -> Result<(Decision, Option<Decision>), GateError> {
    let (Some(was), Some(inputs)) = (documents.decision, documents.inputs) else {
        return Err(GateError::Damaged(format!(
            "the decision {decision_document} or its inputs cannot be read"
        )));
    };
    let loaded = match (other, sets.get(&inputs.files_document)) {
        (Some(other), _) => other.clone(),
        (None, Some(known)) => known.clone(),
        (None, None) => {
            let loaded = Arc::new(gate.load_policies(&inputs.files_document).await?);
            if loaded.set.hash().to_string() != was.policy_hash.as_str() {
                return Err(Conflict::OtherSchema.into());
            }
            if sets.len() >= SETS_KEPT {
                sets.pop_first();
            }
            sets.insert(inputs.files_document, loaded.clone());
            loaded
        }
    };
    let action_id = was.proposal_id.0.clone().unwrap_or_default();
    let (_, action) = gate.action(&action_id).await?;
    let recorded = gate.action_documents(&action).await?;
    let evidence = gate.shared_documents(&inputs.evidence_documents).await?;
    let approvals =
        recorded.approvals.iter().filter(|text| inputs.approval_documents.contains(&ContentHash::of(text)));
    let approvals: Vec<Vec<u8>> = approvals.cloned().collect();
    let proposal = Value::read(&recorded.proposal).map_err(|error| GateError::Damaged(error.to_string()))?;
    let keys = match &inputs.keys_document {
        Some(document) => typed(&gate.shared_document(document).await?)?,
        None => ApproverKeys::default(),
    };
    let texts = Texts { proposal: &proposal, evidence: &evidence, approvals: &approvals, keys: &keys };
    let now = judge(&loaded, &inputs, &texts)?;
    let same = match other {
        None => now.decision_document.is(decision_document),
        Some(_) => now.decision.outcome == was.outcome,
    };
    Ok((was, (!same).then_some(now.decision)))
}
