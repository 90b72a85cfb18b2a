//! Replaying: every decision on the ledger again, from what it was made from.

use super::error::GateError;
use super::judge::{Inputs, Texts, judge};
use super::open::Gate;
use super::policy::Loaded;
use ordain_api::{Entry, Event};
use ordain_decision::PolicySet;
use ordain_spec::decision::{Decision, Outcome};
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
    let other = other.map(|set| Arc::new(Loaded { set, files_document: String::new() }));
    let mut sets: BTreeMap<String, Arc<Loaded>> = BTreeMap::new();
    let mut replay = Replay::default();
    let mut index = 0;
    while index < size {
        let rows = gate.store.entries(index, PAGE).await?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            index = row.index + 1;
            let Ok(entry) = serde_json::from_slice::<Entry>(&row.bytes) else {
                let problem = "is no entry that this version of ordain knows".to_owned();
                replay.not_replayed.push(NotReplayed { index: row.index, problem });
                continue;
            };
            let (action_id, decision_document, inputs_document) = match &entry.event {
                Event::Decided { action_id, decision_document, inputs_document, .. }
                | Event::PermitSpent { action_id, decision_document, inputs_document, .. } => {
                    (action_id, decision_document, inputs_document)
                }
                _ => continue,
            };
            replay.decisions += 1;
            let again =
                decide_again(gate, other.as_ref(), &mut sets, decision_document, inputs_document).await;
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

/// The recorded decision, and the one of now if it is another.
async fn decide_again(
    gate: &Gate,
    other: Option<&Arc<Loaded>>,
    sets: &mut BTreeMap<String, Arc<Loaded>>,
    decision_document: &str,
    inputs_document: &str,
) -> Result<(Decision, Option<Decision>), GateError> {
    let damaged = |error: serde_json::Error| GateError::Damaged(error.to_string());
    let was = gate.read_document(decision_document).await?;
    let was: Decision = serde_json::from_slice(&was).map_err(damaged)?;
    let inputs = gate.read_document(inputs_document).await?;
    let inputs: Inputs = serde_json::from_slice(&inputs).map_err(damaged)?;
    let loaded = match (other, sets.get(&inputs.files_document)) {
        (Some(other), _) => other.clone(),
        (None, Some(known)) => known.clone(),
        (None, None) => {
            let loaded = Arc::new(gate.load_policies(&inputs.files_document).await?);
            if loaded.set.hash().to_string() != was.policy_hash.as_str() {
                let problem = "its policies were judged by another version of ordain, with another schema";
                return Err(GateError::Conflict(problem.to_owned()));
            }
            if sets.len() >= SETS_KEPT {
                sets.pop_first();
            }
            sets.insert(inputs.files_document.clone(), loaded.clone());
            loaded
        }
    };
    let proposal = gate.read_document(&inputs.proposal_document).await?;
    let evidence = gate.read_documents(&inputs.evidence_documents).await?;
    let approvals = gate.read_documents(&inputs.approval_documents).await?;
    let texts = Texts { proposal: &proposal, evidence: &evidence, approvals: &approvals };
    let now = judge(&loaded, &inputs, &texts)?;
    let same = match other {
        None => now.decision_document == decision_document,
        Some(_) => now.decision.outcome == was.outcome,
    };
    Ok((was, (!same).then_some(now.decision)))
}
