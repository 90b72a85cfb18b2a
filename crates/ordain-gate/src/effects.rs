//! Effects: uses of permits and rejections, by what they do. A second try of the same thing is stopped or noted.

use super::conflict::Conflict;
use super::error::GateError;
use super::ids::ActionId;
use super::judge::Inputs;
use super::limits::EFFECT_KEYS_MAX;
use super::policy::Loaded;
use super::records::{Action, Effect, EffectUse, LastSettled, SettledUses, Stored, Versioned};
use ordain_api::limits::GRACE_MS;
use ordain_api::{Settled, UseOutcome};
use ordain_canon::Value;
use ordain_decision::ShellEffects;
use ordain_spec::approval::Approval;
use ordain_store::{Guard, Record, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Rejections of one effect that are remembered.
const REJECTIONS_MAX: usize = 5;
/// Unknown uses that approvers are told of, where they block nobody: the last ones. Nearly every command reads its
/// folder.
const UNKNOWN_MAX: usize = 16;

/// The keys of the effects of an action, as entries have them: by their ids, each once. One, but for shell commands.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct EffectKeys(Vec<EffectKey>);

/// The record of each of some keys.
pub(crate) struct EffectRecords(Vec<(EffectKey, Versioned<Effect>)>);

/// The key of an effect, as entries have it. A leading `~` says that an unknown outcome blocks nobody.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct EffectKey(String);

/// A person's no to the same effect.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct EarlierRejection {
    pub(crate) action_id: ActionId,
    pub(crate) by: String,
    pub(crate) at_ms: u64,
    pub(crate) reason: String,
}

impl EarlierRejection {
    pub(crate) fn of(action_id: ActionId, approval: &Approval) -> Self {
        let by = approval.approver.as_str().to_owned();
        Self { action_id, by, at_ms: approval.at_ms, reason: approval.reason.clone() }
    }
}

impl EffectKeys {
    /// The keys of a proposal under some policies. `shell` has the effects of its command.
    pub(crate) fn of(loaded: &Loaded, proposal: &Value<'_>, shell: Option<&ShellEffects>) -> Self {
        let keys = loaded.set.effect_keys(proposal, shell).into_iter();
        Self(keys.map(|key| EffectKey(if key.blocks { key.id } else { format!("~{}", key.id) })).collect())
    }

    /// The keys that follow from the inputs of a decision. `None` where another version of ordain read the command.
    pub(crate) fn by_inputs(loaded: &Loaded, inputs: &Inputs, proposal: &[u8]) -> Option<Self> {
        let shell = inputs.shell.as_ref();
        let is_known = shell.is_none_or(|shell| shell.version == ordain_shell::VERSION);
        let proposal = Value::read(proposal).ok().filter(|_| is_known)?;
        Some(Self::of(loaded, &proposal, shell))
    }

    /// From an entry.
    pub(crate) fn parse(texts: Vec<String>) -> Self {
        Self(texts.into_iter().map(EffectKey).collect())
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.0.iter().map(|key| key.0.clone()).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &EffectKey> {
        self.0.iter()
    }

    /// Some of them.
    pub(crate) fn only(&self, wanted: impl Fn(&EffectKey) -> bool) -> Self {
        Self(self.0.iter().filter(|key| wanted(key)).cloned().collect())
    }

    /// Those whose unknown outcomes block.
    pub(crate) fn blocking(&self) -> Self {
        self.only(EffectKey::blocks)
    }

    /// Whether entries can have them like this.
    pub(crate) fn are_ordered(&self) -> bool {
        !self.0.is_empty() && self.0.is_sorted_by(|one, next| one.id() < next.id())
    }

    /// A command that must not happen twice has few effects that must not.
    pub(crate) fn check_count(&self) -> Result<(), GateError> {
        let count = self.iter().filter(|key| key.blocks()).count();
        if count <= EFFECT_KEYS_MAX {
            return Ok(());
        }
        let problem = format!(
            "has {count} effects that must not happen twice by accident, and a command may have at most {EFFECT_KEYS_MAX}"
        );
        Err(GateError::invalid("/parameters/command", problem))
    }

    /// Their records, in one look at the store.
    pub(crate) async fn read(&self, store: &Store) -> Result<EffectRecords, GateError> {
        if self.0.is_empty() {
            return Ok(EffectRecords(Vec::new()));
        }
        let ids: Vec<(&str, &str)> = self.iter().map(|key| (Effect::KIND, key.id())).collect();
        self.records(store.records_of(&ids).await?)
    }

    /// Their records, as they were found.
    pub(crate) fn records(&self, found: Vec<Option<Record>>) -> Result<EffectRecords, GateError> {
        let records = self.iter().zip(found);
        let read = |(key, record): (&EffectKey, _)| Ok((key.clone(), Versioned::found(key.id(), record)?));
        Ok(EffectRecords(records.map(read).collect::<Result<_, GateError>>()?))
    }

    /// The records for a use: where an unknown outcome blocks, they must be clear. Others need no record until
    /// they are unknown.
    pub(crate) async fn for_use(
        &self,
        store: &Store,
        now_ms: u64,
        guards: &mut Vec<Guard>,
    ) -> Result<Vec<(EffectKey, Effect)>, GateError> {
        self.check_count()?;
        self.blocking().read(store).await?.clear(now_ms, guards)
    }
}

impl EffectRecords {
    /// The records as they were read, if nothing in them blocks the next use.
    pub(crate) fn clear(
        self,
        now_ms: u64,
        guards: &mut Vec<Guard>,
    ) -> Result<Vec<(EffectKey, Effect)>, GateError> {
        let effects = self.into_effects(guards);
        match effects.iter().flat_map(|(_, effect)| effect.unknown(now_ms)).min() {
            None => Ok(effects),
            Some(open) => {
                let (permit_id, number) = (open.permit_id.to_string(), open.number);
                Err(Conflict::Unsettled { permit_id, number }.into())
            }
        }
    }

    /// The records, to be written if nobody changes them before.
    pub(crate) fn into_effects(self, guards: &mut Vec<Guard>) -> Vec<(EffectKey, Effect)> {
        guards.extend(self.0.iter().map(|(_, known)| known.guard()));
        self.0.into_iter().map(|(key, known)| (key, known.body.unwrap_or_default())).collect()
    }

    /// The note for an approver of another action that shares an effect with these; nothing if there is nothing. A use
    /// or a rejection that has several of the effects is one. Counts do not tell which uses they are of, so the
    /// largest stands for all.
    pub(crate) fn told(&self, action_id: &str, now_ms: u64) -> Option<Json> {
        let effects = || self.0.iter().filter_map(|(_, known)| known.body.as_ref());
        let of_others = effects().flat_map(|effect| &effect.rejections);
        let of_others = of_others.filter(|rejection| rejection.action_id.as_str() != action_id);
        let order = |it: &'_ EarlierRejection| (it.at_ms, it.action_id.clone(), it.by.clone());
        let rejections: BTreeMap<_, &EarlierRejection> = of_others.map(|it| (order(it), it)).collect();
        let too_many = rejections.len().saturating_sub(REJECTIONS_MAX);
        let rejections: Vec<&EarlierRejection> = rejections.into_values().skip(too_many).collect();
        let unknown = effects().flat_map(|effect| effect.unknown(now_ms));
        let unknown: BTreeSet<(u64, &str, u64)> =
            unknown.map(|open| (open.deadline_ms, open.permit_id.as_str(), open.number)).collect();
        let too_many = unknown.len().saturating_sub(UNKNOWN_MAX);
        let unknown = unknown.into_iter().skip(too_many);
        let unknown: Vec<Json> =
            unknown.map(|(_, permit_id, number)| json!({"permit_id": permit_id, "use": number})).collect();
        let settled = effects().filter_map(|effect| effect.settled.clone()).reduce(SettledUses::or);
        let is_some = !rejections.is_empty() || !unknown.is_empty() || settled.is_some();
        let mut told = json!({"rejected": rejections, "unknown": unknown});
        if let (Some(settled), Some(members)) = (settled, told.as_object_mut()) {
            members.insert("settled".to_owned(), json!(settled));
        }
        is_some.then_some(told)
    }
}

impl SettledUses {
    /// The larger counts, and the last use of both.
    fn or(self, other: Self) -> Self {
        let order = |last: &LastSettled| (last.at_ms, last.action_id.clone(), last.succeeded);
        let last = if order(&self.last) < order(&other.last) { other.last } else { self.last };
        let (succeeded, failed) = (self.succeeded.max(other.succeeded), self.failed.max(other.failed));
        Self { succeeded, failed, last }
    }
}

impl EffectKey {
    pub(crate) fn blocks(&self) -> bool {
        !self.0.starts_with('~')
    }

    /// Whether settled uses are counted: where an unknown outcome blocks, and where a person had to approve. Most uses
    /// are others, and leave no trace here.
    pub(crate) fn counts(&self, action: &Action) -> bool {
        self.blocks() || !action.approvals.is_empty()
    }

    /// The id of the record.
    pub(crate) fn id(&self) -> &str {
        self.0.trim_start_matches('~')
    }
}

impl Effect {
    /// The uses whose outcome is unknown.
    fn unknown(&self, now_ms: u64) -> impl Iterator<Item = &EffectUse> {
        self.open
            .iter()
            .filter(move |open| open.unknown || now_ms > open.deadline_ms.saturating_add(GRACE_MS))
    }

    /// A use became unknown, again or for the first time.
    pub(crate) fn add_unknown(&mut self, key: &EffectKey, mut new: EffectUse) {
        new.unknown = true;
        match self.open.iter_mut().find(|open| open.permit_id == new.permit_id && open.number == new.number) {
            Some(open) => open.unknown = true,
            None => self.open.push(new),
        }
        if !key.blocks() {
            let too_many = self.open.len().saturating_sub(UNKNOWN_MAX);
            self.open.drain(..too_many);
        }
    }

    /// A use was settled with an outcome that is known.
    pub(crate) fn add_settled(&mut self, action_id: &str, settled: &Settled) {
        let uses = self.settled.get_or_insert_with(SettledUses::default);
        let succeeded = settled.outcome == UseOutcome::Succeeded;
        let counter = if succeeded { &mut uses.succeeded } else { &mut uses.failed };
        *counter = counter.saturating_add(1);
        uses.last = LastSettled { action_id: action_id.to_owned(), succeeded, at_ms: settled.at_ms };
    }

    /// The last rejections stay.
    pub(crate) fn add_rejection(&mut self, rejection: EarlierRejection) {
        self.rejections.push(rejection);
        let too_many = self.rejections.len().saturating_sub(REJECTIONS_MAX);
        self.rejections.drain(..too_many);
    }
}
