//! The slow, obvious model of a decision, written from docs/contracts/decision.md and policy.md alone, so
//! that a comparison with the decision kernel finds mistakes in either. It shares no code of
//! `ordain-decision`. Both use `ordain-spec`: its verifier for V-PROP-000 to 016, for packets and for
//! approvals, and its mapping of KernelRequests. A mistake there is found by the vectors of conformance/.
//!
//! It is slow on purpose. Every policy is asked alone and all of them together, with the whole entity store
//! and a context that Cedar checks against the whole schema. The scope of a permit is the permit without its
//! conditions. To find out whether a proposal is held, it tries every set of people who could still approve.

mod approvals;
mod ask;
mod declared;
mod evidence;
mod folder;
mod names;
mod patch;
mod time;
mod verdict;

use ordain_canon::Value;
use ordain_spec::action::ApprovalClass;
use ordain_spec::decision::Outcome;
use ordain_spec::statement::ApproverKeys;
use std::collections::{BTreeMap, BTreeSet};

pub use folder::ModelFolder;

/// The inputs of a decision.
pub struct ModelInput<'a> {
    /// The files of the policy folder: name and text.
    pub folder: &'a BTreeMap<String, String>,
    /// The text of the action proposal or KernelRequest.
    pub proposal: &'a [u8],
    /// The evidence packets.
    pub evidence: &'a [Value<'a>],
    /// The approvals.
    pub approvals: &'a [Value<'a>],
    /// The keys of approvers in force.
    pub approver_keys: &'a ApproverKeys,
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
    /// Whether an operator has halted the gate.
    pub halted: bool,
}

/// A reason without its message: rule id, path, sorted policies.
pub type ModelReason = (String, String, Vec<String>);

/// The answer of the model.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelAnswer {
    /// The answer.
    pub outcome: Outcome,
    /// The strictest class asked for.
    pub class: ApprovalClass,
    /// How many approvals it takes.
    pub required: u64,
    /// The people whose approvals count, sorted.
    pub have: Vec<String>,
    /// The reasons. The model does not know the nearest misses of a default deny.
    pub reasons: BTreeSet<ModelReason>,
}

/// Decides, or says what is wrong with the folder.
pub fn decide(input: &ModelInput<'_>) -> Result<ModelAnswer, String> {
    Ok(decide_with(&ModelFolder::read(input.folder)?, input))
}

/// Decides by a folder that was read before; the input's own is not looked at.
pub fn decide_with(folder: &ModelFolder, input: &ModelInput<'_>) -> ModelAnswer {
    verdict::decide(folder, input)
}

fn reason(rule: &str, path: impl Into<String>, policies: &[&str]) -> ModelReason {
    let mut policies: Vec<String> = policies.iter().map(|id| (*id).to_owned()).collect();
    policies.sort();
    policies.dedup();
    (rule.to_owned(), path.into(), policies)
}

#[cfg(test)]
mod tests;
