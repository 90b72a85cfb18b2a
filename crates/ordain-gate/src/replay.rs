//! Replaying: every decision on the ledger again, from its recorded inputs.

use super::clock::Clock;
use super::conflict::Conflict;
use super::documents::typed;
use super::effects::EffectKeys;
use super::error::GateError;
use super::fold::{DocumentReader, EntryDocuments};
use super::judge::{Inputs, Judged, Texts, judge};
use super::keyring::Keyring;
use super::open::{Gate, Settings};
use super::policy::{Loaded, load_policy_files};
use ordain_api::{Damage, Entry, Event};
use ordain_canon::{ContentHash, Value};
use ordain_decision::{PolicySet, ShellEffects, derive_shell};
use ordain_shell::Effect;
use ordain_spec::decision::{Decision, Outcome};
use ordain_spec::mcp::Pins;
use ordain_spec::statement::ApproverKeys;
use ordain_store::Store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The result of replaying a ledger.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// Decisions on the ledger.
    pub decisions: u64,
    /// Those that came out the same: byte for byte, or with other policies the same outcome.
    pub same: u64,
    /// Those that did not.
    pub flips: Vec<Flip>,
    /// The decisions that could not be replayed, and why.
    pub not_replayed: Vec<NotReplayed>,
    /// Decisions about shell commands whose effects this version of ordain derives otherwise. They were replayed with
    /// the recorded effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived_otherwise: Vec<DerivedOtherwise>,
    /// Uses and rejections whose entries name other effects than their proposals have by the recorded policies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_effects: Vec<OtherEffects>,
}

/// A use or a rejection under other effect keys than it has. With them, unknown outcomes lock something else.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OtherEffects {
    /// The entry on the ledger.
    pub index: u64,
    /// The action.
    pub action_id: String,
    /// The keys that the entry names.
    pub recorded: Vec<String>,
    /// The keys by its inputs.
    pub by_inputs: Vec<String>,
}

/// The effect keys of an entry that stands beside a decision.
#[derive(Default)]
struct Keyed {
    /// The last rejection; the decision that follows has its inputs.
    rejected: Option<(u64, Vec<String>)>,
}

impl Keyed {
    /// Remembers the keys of a rejection.
    fn note(&mut self, index: u64, event: &Event) {
        match event {
            Event::Rejected { effect_keys, .. } => self.rejected = Some((index, effect_keys.clone())),
            Event::Decided { .. } => {}
            _ => self.rejected = None,
        }
    }

    /// The difference between the keys beside a decision and those that follow from its inputs. Keys of a command that
    /// another version of ordain read are not compared.
    fn compared(&mut self, index: u64, event: &Event, again: &DecidedAgain) -> Option<OtherEffects> {
        let (index, action_id, recorded) = match event {
            Event::PermitSpent { action_id, effect_keys, .. } => (index, action_id, effect_keys.clone()),
            Event::Decided { action_id, .. } => {
                let (index, recorded) = self.rejected.take()?;
                (index, action_id, recorded)
            }
            _ => return None,
        };
        if again.by_others {
            return None;
        }
        let by_inputs = EffectKeys::by_inputs(&again.loaded, &again.inputs, &again.proposal)?.texts();
        let action_id = action_id.clone();
        (recorded != by_inputs).then_some(OtherEffects { index, action_id, recorded, by_inputs })
    }
}

/// A decision about a shell command whose effects come out otherwise today.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DerivedOtherwise {
    /// The entry on the ledger.
    pub index: u64,
    /// The action.
    pub action_id: String,
    /// The version of `ordain-shell` that derived the recorded effects.
    pub version: String,
    /// Whether that is the version of today. Then the record is wrong.
    pub same_version: bool,
    /// The recorded effects that are not derived today, each as `effect program resource`.
    pub recorded: Vec<String>,
    /// The effects of today that are not recorded.
    pub today: Vec<String>,
}

impl DerivedOtherwise {
    /// Compares the recorded effects of a command with those of today.
    fn of(index: u64, action_id: &str, inputs: &Inputs, proposal: &[u8]) -> Option<Self> {
        let proposal = Value::read(proposal).ok()?;
        let workspace = inputs.shell.as_ref().and_then(|shell| shell.workspace.as_deref());
        let today = derive_shell(&proposal, workspace);
        if today == inputs.shell {
            return None;
        }
        let effects = |derived: &Option<ShellEffects>| {
            derived.as_ref().map(|derived| derived.effects.clone()).unwrap_or_default()
        };
        let (recorded, now) = (effects(&inputs.shell), effects(&today));
        if recorded == now && inputs.shell.is_some() == today.is_some() {
            return None;
        }
        let only = |these: &[Effect], those: &[Effect]| {
            these.iter().filter(|effect| !those.contains(effect)).map(told).collect()
        };
        let version = inputs.shell.as_ref().map(|shell| shell.version.clone()).unwrap_or_default();
        Some(Self {
            index,
            action_id: action_id.to_owned(),
            same_version: version == ordain_shell::VERSION,
            version,
            recorded: only(&recorded, &now),
            today: only(&now, &recorded),
        })
    }
}

fn told(effect: &Effect) -> String {
    let words = [effect.effect.name(), &effect.program, &effect.resource_id];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// A decision that comes out otherwise.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Flip {
    /// The entry on the ledger.
    pub index: u64,
    /// The action.
    pub action_id: String,
    /// The decision of then.
    pub was: Outcome,
    /// The decision of now.
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

/// Decides everything again. With the recorded policies the same bytes must come out; with others the flips
/// are listed.
pub async fn replay(
    gate: &Gate,
    other: Option<PolicySet>,
    mut progress: impl FnMut(u64, u64),
) -> Result<Replay, GateError> {
    let size = gate.store.head().await?.size;
    let other = other.map(|set| Arc::new(Loaded::of(set, ContentHash::of(b""))));
    let mut sets: BTreeMap<ContentHash, Arc<Loaded>> = BTreeMap::new();
    let mut reader = DocumentReader::new();
    let mut replay = Replay::default();
    let mut keyed = Keyed::default();
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
            keyed.note(row.index, &entry.event);
            let (Event::Decided { decision_document, .. } | Event::PermitSpent { decision_document, .. }) =
                &entry.event
            else {
                continue;
            };
            let documents = reader.documents(&gate.store, &entry.event).await?;
            let again = decide_again(gate, other.as_ref(), &mut sets, decision_document, documents).await;
            replay.add(row.index, &entry.event, &mut keyed, again);
        }
        progress(index, size);
    }
    Ok(replay)
}

/// Decides every ALLOW of a store again. Gives those that do not come out as one, such as one whose policies
/// demanded a signed approval that nobody gave, and what could not be checked.
pub async fn audit_allowed(store: &Store) -> Result<(Vec<Damage>, Vec<String>), GateError> {
    // Nothing is signed and nothing is written: any key will do.
    let keyring = Keyring::ephemeral().map_err(|error| GateError::Unavailable(error.to_string()))?;
    let gate = Gate::bare(store.clone(), keyring, Clock::system(), Settings::default()).await?;
    let Replay { flips, not_replayed, derived_otherwise, other_effects, .. } =
        replay(&gate, None, |_, _| {}).await?;
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
    let wrong = wrong.chain(derived_otherwise.into_iter().filter(|it| it.same_version).map(|it| {
        let problem = format!("decides on `{}` by effects that its command does not have", it.action_id);
        Damage { index: Some(it.index), problem }
    }));
    let wrong = wrong.chain(other_effects.into_iter().map(|it| {
        let problem = format!("names other effects than `{}` has by its recorded policies", it.action_id);
        Damage { index: Some(it.index), problem }
    }));
    let unchecked = not_replayed.iter().map(|entry| format!("entry {}: {}", entry.index, entry.problem));
    Ok((wrong.collect(), unchecked.collect()))
}

/// A decision that was made again.
struct DecidedAgain {
    was: Decision,
    /// The one of now, if it differs.
    now: Option<Decision>,
    inputs: Inputs,
    proposal: Vec<u8>,
    loaded: Arc<Loaded>,
    /// Whether these are other policies than the recorded ones.
    by_others: bool,
}

impl Replay {
    /// Adds a decision that was made again, or why it could not be.
    fn add<E: std::fmt::Display>(
        &mut self,
        index: u64,
        event: &Event,
        keyed: &mut Keyed,
        again: Result<DecidedAgain, E>,
    ) {
        let (Event::Decided { action_id, .. } | Event::PermitSpent { action_id, .. }) = event else { return };
        self.decisions += 1;
        let again = match again {
            Ok(again) => again,
            Err(error) => {
                return self.not_replayed.push(NotReplayed { index, problem: error.to_string() });
            }
        };
        self.derived_otherwise.extend(DerivedOtherwise::of(index, action_id, &again.inputs, &again.proposal));
        self.other_effects.extend(keyed.compared(index, event, &again));
        match again.now {
            None => self.same += 1,
            Some(now) => self.flips.push(Flip {
                index,
                action_id: action_id.clone(),
                was: again.was.outcome,
                would_be: now.outcome,
                reasons: now.reasons,
            }),
        }
    }
}

/// Decides again what a gate has on record.
async fn decide_again(
    gate: &Gate,
    other: Option<&Arc<Loaded>>,
    sets: &mut BTreeMap<ContentHash, Arc<Loaded>>,
    decision_document: &str,
    documents: EntryDocuments,
) -> Result<DecidedAgain, GateError> {
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
    let keys = match &inputs.keys_document {
        Some(document) => typed(&gate.shared_document(document).await?)?,
        None => ApproverKeys::default(),
    };
    let pins = match &inputs.pins_document {
        Some(document) => Some(typed(&gate.shared_document(document).await?)?),
        None => None,
    };
    let grant = match &inputs.grant {
        Some(grant) => Some(gate.shared_document(&grant.grant_document).await?),
        None => None,
    };
    let again = Again { proposal: recorded.proposal, evidence, approvals, keys, pins, grant };
    let by_others = other.is_some();
    let now = compared(&was, again.decide(&loaded, &inputs)?, decision_document, by_others);
    Ok(DecidedAgain { was, now, inputs, proposal: again.proposal, loaded, by_others })
}

/// The documents that a decision is made from once more.
pub(crate) struct Again {
    pub(crate) proposal: Vec<u8>,
    pub(crate) evidence: Vec<Vec<u8>>,
    pub(crate) approvals: Vec<Vec<u8>>,
    pub(crate) keys: ApproverKeys,
    pub(crate) pins: Option<Pins>,
    pub(crate) grant: Option<Vec<u8>>,
}

impl Again {
    /// The documents that some inputs name.
    pub(crate) fn of<E: From<GateError>>(
        inputs: &Inputs,
        mut find: impl FnMut(&ContentHash) -> Result<Vec<u8>, E>,
    ) -> Result<Self, E> {
        let keys = match &inputs.keys_document {
            Some(document) => typed(&find(document)?)?,
            None => ApproverKeys::default(),
        };
        let pins = match &inputs.pins_document {
            Some(document) => Some(typed(&find(document)?)?),
            None => None,
        };
        let grant = match &inputs.grant {
            Some(grant) => Some(find(&grant.grant_document)?),
            None => None,
        };
        Ok(Self {
            pins,
            grant,
            proposal: find(&inputs.proposal_document)?,
            evidence: inputs.evidence_documents.iter().map(&mut find).collect::<Result<_, _>>()?,
            approvals: inputs.approval_documents.iter().map(&mut find).collect::<Result<_, _>>()?,
            keys,
        })
    }

    pub(crate) fn decide(&self, loaded: &Loaded, inputs: &Inputs) -> Result<Judged, GateError> {
        let proposal = Value::read(&self.proposal).map_err(|error| GateError::Damaged(error.to_string()))?;
        let (evidence, approvals) = (&self.evidence, &self.approvals);
        let (keys, pins, grant) = (&self.keys, self.pins.as_ref(), self.grant.as_deref());
        judge(loaded, inputs, &Texts { proposal: &proposal, evidence, approvals, keys, pins, grant })
    }
}

/// The decision of now, if it differs.
fn compared(was: &Decision, now: Judged, decision_document: &str, by_others: bool) -> Option<Decision> {
    let same = if by_others {
        now.decision.outcome == was.outcome
    } else {
        now.decision_document.is(decision_document)
    };
    (!same).then_some(now.decision)
}

/// Replays decisions of a ledger that somebody else keeps, entry by entry, from documents by their hashes.
#[derive(Default)]
pub struct Replayer {
    other: Option<Arc<Loaded>>,
    sets: BTreeMap<ContentHash, Arc<Loaded>>,
    keyed: Keyed,
    replay: Replay,
}

impl Replayer {
    /// With the recorded policies, or with others.
    pub fn new(other: Option<PolicySet>) -> Self {
        let other = other.map(|set| Arc::new(Loaded::of(set, ContentHash::of(b""))));
        Self { other, ..Self::default() }
    }

    /// The next entry. `find` gives a document by its hash, which it has checked.
    pub fn add<E: From<GateError> + std::fmt::Display>(
        &mut self,
        index: u64,
        bytes: &[u8],
        find: impl FnMut(&ContentHash) -> Result<Vec<u8>, E>,
    ) {
        let Ok(entry) = serde_json::from_slice::<Entry>(bytes) else {
            let problem = "is not an entry that this version of ordain knows".to_owned();
            self.replay.not_replayed.push(NotReplayed { index, problem });
            return;
        };
        self.keyed.note(index, &entry.event);
        let (Event::Decided { decision_document, inputs_document, .. }
        | Event::PermitSpent { decision_document, inputs_document, .. }) = &entry.event
        else {
            return;
        };
        let again = self.decide_again(decision_document, inputs_document, find);
        self.replay.add(index, &entry.event, &mut self.keyed, again);
    }

    /// The result.
    pub fn end(self) -> Replay {
        self.replay
    }

    /// Decides again what documents have on record.
    fn decide_again<E: From<GateError>>(
        &mut self,
        decision_document: &str,
        inputs_document: &str,
        mut find: impl FnMut(&ContentHash) -> Result<Vec<u8>, E>,
    ) -> Result<DecidedAgain, E> {
        let mut named = |text: &str| {
            let hash = ContentHash::parse(text);
            find(&hash.ok_or_else(|| GateError::Damaged(format!("`{text}` is not a hash")))?)
        };
        let was: Decision = typed(&named(decision_document)?)?;
        let inputs: Inputs = typed(&named(inputs_document)?)?;
        let files = inputs.files_document;
        let loaded = match (&self.other, self.sets.get(&files)) {
            (Some(loaded), _) | (None, Some(loaded)) => Arc::clone(loaded),
            (None, None) => {
                let loaded = Arc::new(loaded_of(files, &find(&files)?)?);
                if loaded.set.hash().to_string() != was.policy_hash.as_str() {
                    return Err(GateError::from(Conflict::OtherSchema).into());
                }
                if self.sets.len() >= SETS_KEPT {
                    self.sets.pop_first();
                }
                self.sets.insert(files, Arc::clone(&loaded));
                loaded
            }
        };
        let again = Again::of(&inputs, find)?;
        let by_others = self.other.is_some();
        let now = compared(&was, again.decide(&loaded, &inputs)?, decision_document, by_others);
        Ok(DecidedAgain { was, now, inputs, proposal: again.proposal, loaded, by_others })
    }
}

/// Policies from the document of their files.
pub(crate) fn loaded_of(files_document: ContentHash, bytes: &[u8]) -> Result<Loaded, GateError> {
    let set = load_policy_files(&typed(bytes)?).map_err(|problems| {
        let first = problems.first().map(ToString::to_string).unwrap_or_default();
        GateError::Damaged(format!("the policies {files_document} cannot be read: {first}"))
    })?;
    Ok(Loaded::of(set, files_document))
}
