//! Answers to readers: where an action stands, permits, the gate, tokens, keys. Secrets are taken out.

use super::caller::Caller;
use super::documents::typed;
use super::effects::EffectKeys;
use super::error::GateError;
use super::history::Past;
use super::ids::{KeyId, PermitId, TokenId};
use super::judge::{Inputs, Texts, judge};
use super::limits::PAGE_BYTES_MAX;
use super::nonce::NonceOf;
use super::open::Gate;
use super::permits::Minted;
use super::policy::Loaded;
use super::records::{Action, Control, Key, Permit, Stored, Token, Versioned, list};
use super::transaction::Reading;
use super::view::{Beside, Packets, View, view};
use ordain_api::limits::PAGE_MAX;
use ordain_api::{
    ActionState, ActionStatus, GateStatus, KeyStatus, PermitStatus, Role, SigningTerms, StandingTerms,
    TokenStatus, Use,
};
use ordain_canon::Value;
use ordain_spec::approval::Approval;
use ordain_spec::decision::{Decision, Outcome};
use ordain_spec::limits::STATEMENT_MS_MAX;
use ordain_spec::statement::Assurance;
use ordain_store::{Query, Record};
use std::sync::Arc;

/// Tells whether the status of an action has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusFingerprint {
    /// How far it is.
    pub state: ActionState,
    version: u64,
    policy_hash: Option<String>,
}

/// How much a caller is shown of an action.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    /// The permit itself.
    token: bool,
}

impl Shown {
    /// The token is for the proposer, for its workers and for operators.
    pub(crate) fn to(caller: &Caller, actor: &str) -> Self {
        let own = caller.is(Role::Actor) && caller.holds(actor);
        Self { token: own || caller.works_for(actor) || caller.is(Role::Operator) }
    }

    /// Whether the permit itself is shown.
    pub(crate) fn shows_token(self) -> bool {
        self.token
    }

    pub(crate) fn permit(self, action_id: &str, minted: &Minted, permit: &Permit) -> PermitStatus {
        minted.status(action_id, permit, self.token)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a status")]
    pub(crate) fn status(
        self,
        action_id: &str,
        action: &Action,
        decision: Decision,
        approvals: Vec<Approval>,
        view: View,
        minted: Option<&Minted>,
        now_ms: u64,
    ) -> ActionStatus {
        let permit = match (minted, &action.permit) {
            (Some(minted), Some(permit)) => Some(self.permit(action_id, minted, permit)),
            _ => None,
        };
        ActionStatus {
            action_id: action_id.to_owned(),
            state: action.state_with(minted, now_ms),
            actor: action.actor.clone(),
            submitted_by: action.submitted_by.clone(),
            submitted_at_ms: action.submitted_at_ms,
            decision,
            approvals,
            view: view.document,
            view_digest: view.digest,
            shown: Vec::new(),
            signing: None,
            needs_owner: false,
            permit,
            expires_at_ms: action.expires_at_ms,
            supersedes: action.supersedes.clone().map(String::from),
            superseded_by: action.superseded_by.clone().map(String::from),
            submitted_index: action.submitted_index,
            decided_index: action.decided_index,
        }
    }
}

impl Action {
    /// The state, with what time has made of it and of its permit.
    pub(crate) fn state_with(&self, minted: Option<&Minted>, now_ms: u64) -> ActionState {
        match self.state_at(now_ms) {
            ActionState::Allowed if minted.is_some_and(|minted| minted.is_over(now_ms)) => {
                ActionState::Expired
            }
            state => state,
        }
    }

    /// The state, with what time has made of it.
    pub(crate) fn state_at(&self, now_ms: u64) -> ActionState {
        let uses = self.permit.iter().flat_map(|permit| &permit.uses);
        if uses.into_iter().any(|used: &Use| used.is_unknown(now_ms)) {
            return ActionState::Unknown;
        }
        match self.expires_at_ms {
            Some(expires_at_ms) if self.state == ActionState::Held && now_ms >= expires_at_ms => {
                ActionState::Expired
            }
            _ => self.state,
        }
    }
}

impl Gate {
    /// Where an action stands.
    pub async fn status(&self, caller: &Caller, action_id: &str) -> Result<ActionStatus, GateError> {
        let action = self.visible_action(caller, action_id).await?.1;
        let (_, control) = self.control(Reading::Fresh).await?;
        let loaded = self.policies(&control).await?;
        let mut status =
            self.status_of(caller, action_id, &action, &loaded, &control, Packets::of(caller)).await?;
        status.signing = self.signing_terms(caller, &control, &loaded, &action, &status).await?;
        if status.state == ActionState::Held && caller.is(Role::Approver) && control.keys.is_none() {
            let now_ms = self.clock.now_ms();
            let (wanted, _) = self.wanted_of_approvers(&control, &loaded, action_id, &action, now_ms).await?;
            status.needs_owner = wanted.needs_signature();
        }
        Ok(status)
    }

    /// The terms on which a verdict is signed, for somebody who could give one now.
    async fn signing_terms(
        &self,
        caller: &Caller,
        control: &Control,
        loaded: &Loaded,
        action: &Action,
        status: &ActionStatus,
    ) -> Result<Option<SigningTerms>, GateError> {
        let can_decide = status.state == ActionState::Held
            && caller.is(Role::Approver)
            && loaded.set.is_approver(&caller.principal);
        if !can_decide || status.view_digest.is_empty() || control.keys.is_none() {
            return Ok(None);
        }
        let at_ms = self.clock.now_ms();
        let not_after_ms = at_ms + STATEMENT_MS_MAX;
        let of = NonceOf::Approval { action_id: &status.action_id, view_digest: &status.view_digest };
        let nonce = control.nonce(of, not_after_ms)?;
        let proposal_hash = action.proposal_document.to_string();
        let origin = control.origin.clone();
        let (assurance, standing) =
            self.wanted_of_approvers(control, loaded, &status.action_id, action, at_ms).await?;
        Ok(Some(SigningTerms { origin, proposal_hash, assurance, at_ms, not_after_ms, nonce, standing }))
    }

    /// How sure the approvals of a held action must be, by the policies of now; where it would not be held, the most.
    /// And on what terms they may hold for later calls.
    async fn wanted_of_approvers(
        &self,
        control: &Control,
        loaded: &Loaded,
        action_id: &str,
        action: &Action,
        now_ms: u64,
    ) -> Result<(Assurance, Option<StandingTerms>), GateError> {
        let documents = self.action_documents(action).await?;
        let proposal =
            Value::read(&documents.proposal).map_err(|error| GateError::Damaged(error.to_string()))?;
        let evidence = self.shared_documents(&action.evidence_documents).await?;
        let keys = self.approver_keys(control)?;
        let approvals = &documents.approvals;
        let inputs = Inputs::of(action, &proposal, loaded, control, now_ms);
        let pins = loaded.pins.of(&inputs);
        let texts =
            Texts { proposal: &proposal, evidence: &evidence, approvals, keys: &keys, pins, grant: None };
        let judged = judge(loaded, &inputs, &texts)?;
        // An approval that was given for this action alone lets no grant come of it.
        let given = approvals.iter().map(|text| typed::<Approval>(text)).collect::<Result<Vec<_>, _>>()?;
        let is_open = judged.decision.outcome == Outcome::Hold && given.iter().all(|it| it.scope.is_some());
        let offer = judged.standing.filter(|_| is_open);
        let standing = self.standing_terms(offer, control, action_id, action, &proposal, now_ms).await?;
        Ok((judged.assurance.unwrap_or(Assurance::Presence), standing))
    }

    /// A cheap look at an action, for a caller that waits for a change: two that are equal were of the same
    /// status. A token that ended meanwhile is noticed.
    pub async fn fingerprint(
        &self,
        caller: &Caller,
        action_id: &str,
    ) -> Result<StatusFingerprint, GateError> {
        self.check_token(caller).await?;
        let (version, action) = self.visible_action(caller, action_id).await?;
        let (_, control) = self.control(Reading::Fresh).await?;
        let state = action.state_at(self.clock.now_ms());
        Ok(StatusFingerprint {
            state,
            version,
            policy_hash: control.policy.map(|policy| policy.hash.to_string()),
        })
    }

    /// An action that the caller may see; for others it does not exist.
    async fn visible_action(&self, caller: &Caller, action_id: &str) -> Result<(u64, Action), GateError> {
        let found = Versioned::<Action>::read(&self.store, action_id).await?;
        let action = found.body.filter(|action| may_see(caller, action));
        action.map(|action| (found.version, action)).ok_or_else(|| no_action(action_id))
    }

    /// An action with its version, whoever may see it.
    pub(crate) async fn action(&self, action_id: &str) -> Result<(Versioned<Action>, Action), GateError> {
        let found = Versioned::<Action>::read(&self.store, action_id).await?;
        let action = found.body.clone().ok_or_else(|| no_action(action_id))?;
        Ok((found, action))
    }

    pub(crate) async fn status_of(
        &self,
        caller: &Caller,
        action_id: &str,
        action: &Action,
        loaded: &Arc<Loaded>,
        control: &Control,
        packets: Packets,
    ) -> Result<ActionStatus, GateError> {
        let documents = self.action_documents(action).await?;
        let evidence = match packets {
            Packets::Hashed => Vec::new(),
            Packets::Whole | Packets::Named => self.shared_documents(&action.evidence_documents).await?,
        };
        let proposal =
            Value::read(&documents.proposal).map_err(|error| GateError::Damaged(error.to_string()))?;
        let now_ms = self.clock.now_ms();
        let is_held = action.state_at(now_ms) == ActionState::Held;
        let earlier = match packets {
            Packets::Whole if is_held => {
                let keys = EffectKeys::of(loaded, &proposal, action.shell(&proposal).as_ref());
                keys.read(&self.store).await?.told(action_id, now_ms)
            }
            _ => None,
        };
        let minted = documents.permit(action)?;
        let decision = documents.decision(action)?;
        let approvals = documents.approvals()?;
        let (proposal, evidence) = (&proposal, &evidence);
        let documents = &documents;
        let past = Past { action_id, action, documents, proposal, evidence, control, loaded };
        let view = if is_held {
            let beside = Beside { earlier, intent: documents.intent.as_deref() };
            view(packets, loaded, control, action_id, action, proposal, evidence, beside)?
        } else {
            self.settled_view(&past, packets, &decision).await?
        };
        let shown = match packets {
            Packets::Whole => self.shown_to_approvers(&past, &approvals, &view).await?,
            Packets::Named | Packets::Hashed => Vec::new(),
        };
        let answer = Shown::to(caller, &action.actor);
        let status = answer.status(action_id, action, decision, approvals, view, minted.as_ref(), now_ms);
        Ok(ActionStatus { shown, ..status })
    }

    /// Actions in the order in which they last changed, and where the next page begins, if there may be one.
    /// A page ends where it is long enough in elements or in bytes. Where it ends is a place in the order of
    /// changes, which names nobody's action.
    pub async fn actions(
        &self,
        caller: &Caller,
        state: Option<ActionState>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<ActionStatus>, Option<u64>), GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        let (records, full) = self.page_of_state(state, after, limit.min(PAGE_MAX)).await?;
        // Actions that this caller may not see are left out, so that a page can be short and others follow it.
        let mut next = records.last().filter(|_| full).map(|record| record.changed_at);
        let now_ms = self.clock.now_ms();
        let mut found = Vec::new();
        let mut bytes = 0;
        let mut before = None;
        for record in records {
            let place = Some(record.changed_at);
            if bytes >= PAGE_BYTES_MAX && before != place {
                next = before;
                break;
            }
            before = place;
            let versioned = Versioned::<Action>::of(record)?;
            let Some(action) = versioned.body else { continue };
            let wanted = state.is_none_or(|wanted| wanted == action.state_at(now_ms));
            if wanted && may_see(caller, &action) {
                let loaded = self.policies(&control).await?;
                let status = self
                    .status_of(caller, &versioned.id, &action, &loaded, &control, Packets::Hashed)
                    .await?;
                bytes += serde_json::to_vec(&status).map_or(0, |text| text.len());
                found.push(status);
            }
        }
        Ok((found, next))
    }

    /// The actions whose ids begin with a text, in the order of their ids, as far as the caller may see them.
    pub async fn actions_named(
        &self,
        caller: &Caller,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<ActionStatus>, GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        let mut found = Vec::new();
        for id in self.store.ids(Action::KIND, prefix, limit.min(PAGE_MAX)).await? {
            let Some(action) = Versioned::<Action>::read(&self.store, &id).await?.body else { continue };
            if may_see(caller, &action) {
                let loaded = self.policies(&control).await?;
                found.push(self.status_of(caller, &id, &action, &loaded, &control, Packets::Hashed).await?);
            }
        }
        Ok(found)
    }

    /// A page of a state, with those that time alone has brought there: a use whose deadline has passed is unknown
    /// before anybody wrote so.
    async fn page_of_state(
        &self,
        state: Option<ActionState>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<Record>, bool), GateError> {
        let (mut records, mut full) = self.page(state, after, limit).await?;
        if state != Some(ActionState::Unknown) {
            return Ok((records, full));
        }
        let (running, running_full) = self.page(Some(ActionState::Running), after, limit).await?;
        let end =
            |records: &[Record], full: bool| records.last().filter(|_| full).map(|last| last.changed_at);
        let ends = [end(&records, full), end(&running, running_full)];
        let until = ends.into_iter().flatten().min().unwrap_or(u64::MAX);
        records.extend(running);
        records.retain(|record| record.changed_at <= until);
        records.sort_by(|one, other| (one.changed_at, &one.id).cmp(&(other.changed_at, &other.id)));
        full |= running_full;
        // Those of one change stay on one page.
        if let Some(last) = limit.checked_sub(1).and_then(|last| records.get(last)) {
            let (count, until) = (records.len(), last.changed_at);
            records.retain(|record| record.changed_at <= until);
            full |= records.len() < count;
        }
        Ok((records, full))
    }

    /// The records of a page, and whether there may be more. Those of one change are on one page.
    async fn page(
        &self,
        state: Option<ActionState>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<Record>, bool), GateError> {
        let mut query = Query {
            kind: Action::KIND.to_owned(),
            state: state.map(|state| state.name().to_owned()),
            after: after.map(|place| (place.saturating_add(1), String::new())),
            limit,
            newest_first: false,
        };
        let mut records = self.store.records(&query).await?;
        let full = records.len() == limit;
        while let Some(last) = records.last().filter(|_| full) {
            let place = last.changed_at;
            query.after = Some((place, last.id.clone()));
            query.limit = 1;
            let more = self.store.records(&query).await?;
            if more.iter().all(|record| record.changed_at != place) {
                break;
            }
            records.extend(more);
        }
        Ok((records, full))
    }

    /// A permit.
    pub async fn permit_status(&self, caller: &Caller, permit_id: &str) -> Result<PermitStatus, GateError> {
        let id = PermitId::new(permit_id);
        let action_id = id.action_id().ok_or_else(|| no_permit(permit_id))?;
        let (_, action) = self.visible_action(caller, action_id).await.map_err(|_| no_permit(permit_id))?;
        let minted = self.action_documents(&action).await?.permit(&action)?;
        match (minted, &action.permit) {
            (Some(minted), Some(permit)) if permit.id == id => {
                let shown = Shown::to(caller, &action.actor);
                Ok(shown.permit(action_id, &minted, permit))
            }
            _ => Err(no_permit(permit_id)),
        }
    }

    /// The gate itself.
    pub async fn gate_status(&self) -> Result<GateStatus, GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        Ok(control.status(self.clock.now_ms()))
    }

    /// All public keys, for verifiers of permits and checkpoints.
    pub async fn keys(&self) -> Result<Vec<KeyStatus>, GateError> {
        let keys = list::<Key>(&self.store, None).await?;
        Ok(keys.into_iter().filter_map(|key| Some(key_status(key.id, key.body?))).collect())
    }

    /// All tokens, without their secrets.
    pub async fn tokens(&self) -> Result<Vec<TokenStatus>, GateError> {
        let tokens = list::<Token>(&self.store, None).await?;
        Ok(tokens.into_iter().filter_map(|token| Some(token_status(token.id, token.body?))).collect())
    }
}

impl Control {
    /// The gate as it is shown at this time.
    pub(crate) fn status(self, now_ms: u64) -> GateStatus {
        let policy_hash = self.policy.map(|policy| policy.hash.to_string());
        let owned = self.keys.is_some();
        GateStatus {
            origin: self.origin,
            halted: self.halt,
            policy_hash,
            observing: self.observing.into_iter().filter(|it| now_ms < it.until_ms).collect(),
            owned,
            principal: None,
            agents: Vec::new(),
            project: None,
        }
    }
}

pub(crate) fn key_status(key_id: KeyId, key: Key) -> KeyStatus {
    KeyStatus {
        key_id: key_id.into(),
        public_key: key.public_key,
        created_at_ms: key.created_at_ms,
        retired_at_ms: key.retired_at_ms,
    }
}

pub(crate) fn token_status(token_id: TokenId, token: Token) -> TokenStatus {
    TokenStatus {
        token_id: token_id.into(),
        principal: token.principal,
        names: token.names,
        roles: token.roles,
        created_at_ms: token.created_at_ms,
        expires_at_ms: token.expires_at_ms,
        revoked_at_ms: token.revoked_at_ms,
    }
}

pub(crate) fn may_see(caller: &Caller, action: &Action) -> bool {
    (caller.is(Role::Actor) && caller.holds(&action.actor)) || sees_evidence(caller)
}

/// A proposer can name any packet, and so must not be shown it; nor must a worker that also proposes.
pub(crate) fn sees_evidence(caller: &Caller) -> bool {
    let everything = [Role::Approver, Role::Operator, Role::Auditor].iter().any(|role| caller.is(*role));
    everything || (caller.is(Role::Worker) && !caller.is(Role::Actor))
}

pub(crate) fn no_action(action_id: &str) -> GateError {
    GateError::Unknown(format!("no action `{action_id}`"))
}

pub(crate) fn no_permit(permit_id: &str) -> GateError {
    GateError::Unknown(format!("no permit `{permit_id}`"))
}
