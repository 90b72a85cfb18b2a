//! Cases for a decision: small, realistic universes of policies, proposals, evidence and approvals, from a seed.

mod approvals;
mod conditions;
mod evidence;
mod faults;
mod folder;
mod policies;
mod proposal;
mod rng;
mod signatures;

use crate::model::ModelInput;
use ordain_canon::{ActionHash, Canonicalizer, Value};
use ordain_spec::action::{KernelRequest, is_request, map_request};
use ordain_spec::statement::ApproverKeys;
use rng::Rng;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// How many cases in a row share a policy folder: reading one takes far longer than deciding by it.
pub const CASES_PER_FOLDER: u64 = 25;

/// The time of most cases, give or take.
const NOW_MS: i64 = 1_705_171_260_000;

/// Everything that a decision is made of.
pub struct Case {
    /// Cases with the same number have the same folder.
    pub folder_number: u64,
    /// The files of the policy folder: name and text.
    pub folder: BTreeMap<String, String>,
    /// The text of the proposal.
    pub proposal: Vec<u8>,
    /// The evidence packets.
    pub evidence: Vec<Value<'static>>,
    /// The approvals.
    pub approvals: Vec<Value<'static>>,
    /// The keys of approvers in force.
    pub approver_keys: ApproverKeys,
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
    /// Whether an operator has halted the gate.
    pub halted: bool,
}

impl Case {
    /// As the model takes it.
    pub fn input(&self) -> ModelInput<'_> {
        ModelInput {
            folder: &self.folder,
            proposal: &self.proposal,
            evidence: &self.evidence,
            approvals: &self.approvals,
            approver_keys: &self.approver_keys,
            now_ms: self.now_ms,
            halted: self.halted,
        }
    }
}

/// The case of a seed.
pub fn case(seed: u64) -> Case {
    let folder_number = seed / CASES_PER_FOLDER;
    let world = folder::world(folder_number);
    let mut rng = Rng::new(seed, 1);
    let now_ms = NOW_MS + i64::try_from(rng.below(2_000_000)).unwrap_or_default();
    let mut draft = proposal::draft(&mut rng, &world, now_ms);
    evidence::add(&mut rng, &mut draft);
    let count = *rng.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2]);
    for _ in 0..count {
        faults::one(&mut rng, &world, &mut draft);
    }
    evidence::seal(&mut draft);
    let text = faults::text(&mut rng, &draft);
    let hash = proposal_hash(&text, &world);
    let mut approvals = approvals::all(&mut rng, &world, &draft, &hash);
    let approver_keys = signatures::add(seed, &mut approvals);
    Case {
        folder_number,
        folder: world.files,
        proposal: text,
        evidence: draft.evidence.iter().map(owned).collect(),
        approvals: approvals.iter().map(owned).collect(),
        approver_keys,
        now_ms,
        halted: draft.halted,
    }
}

/// The hashes that approvals are bound to.
fn proposal_hash(text: &[u8], world: &folder::World) -> String {
    let mut canon = Canonicalizer::new();
    let nothing = || format!("sha256:{}", "0".repeat(64));
    let Ok(document) = Value::read(text) else { return nothing() };
    let mapped = match is_request(&document) {
        true => document.to_typed::<KernelRequest>().ok().and_then(|it| map_request(&it, &world.tools).ok()),
        false => None,
    };
    let hash = match &mapped {
        Some(proposal) => ActionHash::of(&mut canon, proposal),
        None => ActionHash::of(&mut canon, &document),
    };
    hash.map(|hash| hash.to_string()).unwrap_or_else(|_| nothing())
}

/// The object with one member set.
fn with(mut object: Json, key: &str, value: Json) -> Json {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
    object
}

fn owned(json: &Json) -> Value<'static> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or_default()),
        Json::String(text) => Value::String(text.clone().into()),
        Json::Array(elements) => Value::Array(elements.iter().map(owned).collect()),
        Json::Object(members) => {
            Value::Object(members.iter().map(|(key, value)| (key.clone().into(), owned(value))).collect())
        }
    }
}
