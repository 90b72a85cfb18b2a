//! Effects: uses of permits and rejections, by what they do. A second try of the same thing is stopped or noted.

use super::conflict::Conflict;
use super::error::GateError;
use super::ids::ActionId;
use super::policy::Loaded;
use super::records::{Action, Effect, EffectUse, LastSettled, SettledUses, Versioned};
use ordain_api::limits::GRACE_MS;
use ordain_api::{Settled, UseOutcome};
use ordain_canon::Value;
use ordain_spec::approval::Approval;
use ordain_store::{Guard, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Rejections of one effect that are remembered.
const REJECTIONS_MAX: usize = 5;

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

impl EffectKey {
    pub(crate) fn of(loaded: &Loaded, proposal: &Value<'_>) -> Self {
        let key = loaded.set.effect_key(proposal);
        Self(if key.blocks { key.id } else { format!("~{}", key.id) })
    }

    /// From an entry.
    pub(crate) fn parse(text: String) -> Self {
        Self(text)
    }

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

    pub(crate) fn text(&self) -> String {
        self.0.clone()
    }

    pub(crate) async fn read(&self, store: &Store) -> Result<Versioned<Effect>, GateError> {
        Versioned::read(store, self.id()).await
    }

    /// The record for a use: where an unknown outcome blocks, it must be clear. Others need no record until
    /// they are unknown.
    pub(crate) async fn for_use(
        &self,
        store: &Store,
        now_ms: u64,
        guards: &mut Vec<Guard>,
    ) -> Result<Option<Effect>, GateError> {
        if !self.blocks() {
            return Ok(None);
        }
        Self::clear(self.read(store).await?, now_ms, guards).map(Some)
    }

    /// A record as it was read, if nothing in it blocks the next use.
    pub(crate) fn clear(
        known: Versioned<Effect>,
        now_ms: u64,
        guards: &mut Vec<Guard>,
    ) -> Result<Effect, GateError> {
        guards.push(known.guard());
        let effect = known.body.unwrap_or_default();
        if let Some(open) = effect.unknown(now_ms).next() {
            let (permit_id, number) = (open.permit_id.to_string(), open.number);
            return Err(Conflict::Unsettled { permit_id, number }.into());
        }
        Ok(effect)
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
    pub(crate) fn add_unknown(&mut self, mut new: EffectUse) {
        new.unknown = true;
        match self.open.iter_mut().find(|open| open.permit_id == new.permit_id && open.number == new.number) {
            Some(open) => open.unknown = true,
            None => self.open.push(new),
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

    /// The note for an approver of another action with this effect; nothing if there is nothing.
    pub(crate) fn told(&self, action_id: &str, now_ms: u64) -> Option<Json> {
        let rejections: Vec<&EarlierRejection> =
            self.rejections.iter().filter(|rejection| rejection.action_id.as_str() != action_id).collect();
        let unknown: Vec<Json> = self
            .unknown(now_ms)
            .map(|open| json!({"permit_id": open.permit_id, "use": open.number}))
            .collect();
        let mut told = json!({"rejected": rejections, "unknown": unknown});
        if let (Some(settled), Some(members)) = (&self.settled, told.as_object_mut()) {
            members.insert("settled".to_owned(), json!(settled));
        }
        let is_some = !rejections.is_empty() || !unknown.is_empty() || self.settled.is_some();
        is_some.then_some(told)
    }
}
