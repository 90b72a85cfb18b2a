//! What is shown: where an action stands, what an approver sees, permits, tokens, keys. Secrets are taken out.

use super::approve::no_action;
use super::caller::Caller;
use super::error::GateError;
use super::limits::PAGE_BYTES_MAX;
use super::open::Gate;
use super::policy::Loaded;
use super::records::{Action, Control, Held, Kept, Key, Permit, Token, list};
use super::spend::no_permit;
use ordain_api::limits::PAGE_MAX;
use ordain_api::{ActionState, Role};
use ordain_api::{ActionStatus, GateStatus, KeyStatus, PermitStatus, TokenStatus};
use ordain_canon::{Canonicalizer, ViewDigest};
use ordain_spec::decision::Decision;
use ordain_store::Query;
use serde_json::{Value as Json, json};

/// What has to be known of an action to see whether its status has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusFingerprint {
    /// How far it is.
    pub state: ActionState,
    version: u64,
    policy_hash: Option<String>,
}

/// How much of the evidence a view has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packets {
    /// All of it.
    Whole,
    /// The id and the hash of each packet.
    Named,
    /// The hash of each packet: nothing is read for it.
    Hashed,
}

/// What an approver is shown.
pub(super) struct View {
    pub(super) json: Json,
    pub(super) digest: String,
}

impl Action {
    /// The state, with what time has made of it.
    pub(super) fn shown_state(&self, now_ms: u64) -> ActionState {
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
        let held = self.action(action_id).await?;
        // What somebody may not see is not there for them.
        let Some(action) = held.body.filter(|action| may_see(caller, action)) else {
            return Err(no_action(action_id));
        };
        let (_, control) = self.control().await?;
        let loaded = self.policies(&control).await?;
        let packets = if sees_evidence(caller) { Packets::Whole } else { Packets::Named };
        self.status_of(caller, action_id, action, &loaded, &control, packets).await
    }

    /// A look at an action, by somebody who waits for a change: two that are equal were of the same status. It costs
    /// little, and a token that ended meanwhile is noticed.
    pub async fn fingerprint(
        &self,
        caller: &Caller,
        action_id: &str,
    ) -> Result<StatusFingerprint, GateError> {
        self.check_token(caller).await?;
        let held = self.action(action_id).await?;
        let Some(action) = held.body.filter(|action| may_see(caller, action)) else {
            return Err(no_action(action_id));
        };
        let (_, control) = self.control().await?;
        let now_ms = self.clock.now_ms();
        let permit = match &action.permit_id {
            Some(id) => Held::<Permit>::read(&self.store, id).await?.body,
            None => None,
        };
        let unknown = permit.iter().flat_map(|it| &it.uses).any(|it| it.is_unknown(now_ms));
        let state = if unknown { ActionState::Unknown } else { action.shown_state(now_ms) };
        Ok(StatusFingerprint {
            state,
            version: held.version,
            policy_hash: control.policy.map(|policy| policy.hash),
        })
    }

    async fn status_of(
        &self,
        caller: &Caller,
        action_id: &str,
        action: Action,
        loaded: &Loaded,
        control: &Control,
        packets: Packets,
    ) -> Result<ActionStatus, GateError> {
        let now_ms = self.clock.now_ms();
        let view = self.view_with(packets, action_id, &action, loaded, control).await?;
        let decision = self.read_document(&action.decision_document).await?;
        let damaged = |error: serde_json::Error| GateError::Damaged(format!("`{action_id}`: {error}"));
        let decision: Decision = serde_json::from_slice(&decision).map_err(damaged)?;
        let approvals = self.read_documents(&action.approval_documents).await?;
        let approvals = approvals.iter().map(|text| serde_json::from_slice(text).map_err(damaged));
        let permit = match &action.permit_id {
            Some(id) => Some(self.permit_status(caller, id).await?),
            None => None,
        };
        let unknown = permit.iter().flat_map(|it| &it.uses).any(|it| it.is_unknown(now_ms));
        Ok(ActionStatus {
            action_id: action_id.to_owned(),
            state: if unknown { ActionState::Unknown } else { action.shown_state(now_ms) },
            approvals: approvals.collect::<Result<_, _>>()?,
            actor: action.actor,
            submitted_by: action.submitted_by,
            submitted_at_ms: action.submitted_at_ms,
            decision,
            view: view.json,
            view_digest: view.digest,
            permit,
            expires_at_ms: action.expires_at_ms,
            supersedes: action.supersedes,
            superseded_by: action.superseded_by,
            submitted_index: action.submitted_index,
            decided_index: action.decided_index,
        })
    }

    /// What an approver is shown. It depends on the proposal, its evidence and the policies, and on nothing that others
    /// do meanwhile.
    pub(super) async fn view(
        &self,
        action_id: &str,
        action: &Action,
        loaded: &Loaded,
        control: &Control,
    ) -> Result<View, GateError> {
        self.view_with(Packets::Whole, action_id, action, loaded, control).await
    }

    async fn view_with(
        &self,
        packets: Packets,
        action_id: &str,
        action: &Action,
        loaded: &Loaded,
        control: &Control,
    ) -> Result<View, GateError> {
        let read = |text: &[u8]| -> Json { serde_json::from_slice(text).unwrap_or_default() };
        let proposal = self.read_document(&action.proposal_document).await?;
        let proposal = loaded.set.as_proposal(&proposal).unwrap_or_else(|| read(&proposal));
        let hide = |document: &Json| loaded.set.redacted(document, &control.salt);
        let mut evidence = Vec::new();
        for hash in &action.evidence_documents {
            evidence.push(match packets {
                Packets::Whole => hide(&read(&self.read_document(hash).await?)),
                Packets::Named => {
                    let packet = read(&self.read_document(hash).await?);
                    json!({"evidence_id": packet.get("evidence_id"), "packet_hash": hash})
                }
                Packets::Hashed => json!({"packet_hash": hash}),
            });
        }
        let is_whole = packets == Packets::Whole || evidence.is_empty();
        let json = json!({
            "action_id": action_id,
            "proposal_hash": action.proposal_hash,
            "proposal": hide(&proposal),
            "evidence": evidence,
            "policy_hash": loaded.set.hash().to_string(),
        });
        let digest = match is_whole {
            true => ViewDigest::of(&mut Canonicalizer::new(), &json)?.to_string(),
            false => String::new(),
        };
        Ok(View { json, digest })
    }

    /// Actions in the order in which they last changed, and where the next page begins, if there may be one. A page ends
    /// where it is long enough in elements or in bytes. Where it ends is a place in the order of changes, which names
    /// nobody's action.
    pub async fn actions(
        &self,
        caller: &Caller,
        state: Option<ActionState>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<ActionStatus>, Option<u64>), GateError> {
        let (_, control) = self.control().await?;
        let (records, full) = self.page(state, after, limit.min(PAGE_MAX)).await?;
        // What this caller may not see is left out, so that a page can be short and others follow it.
        let mut next = records.last().filter(|_| full).map(|record| record.changed_at);
        let now_ms = self.clock.now_ms();
        let (mut found, mut bytes) = (Vec::new(), 0);
        let mut before = None;
        for record in records {
            let place = Some(record.changed_at);
            if bytes >= PAGE_BYTES_MAX && before != place {
                next = before;
                break;
            }
            before = place;
            let held = Held::<Action>::of(record)?;
            let Some(action) = held.body else { continue };
            let shown = state.is_none_or(|wanted| wanted == action.shown_state(now_ms));
            if shown && may_see(caller, &action) {
                let loaded = self.policies(&control).await?;
                let status =
                    self.status_of(caller, &held.id, action, &loaded, &control, Packets::Hashed).await?;
                bytes += serde_json::to_vec(&status).map_or(0, |text| text.len());
                found.push(status);
            }
        }
        Ok((found, next))
    }

    /// The records of a page, and whether there may be more. Those of one change are on one page.
    async fn page(
        &self,
        state: Option<ActionState>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<ordain_store::Record>, bool), GateError> {
        let mut query = Query {
            kind: Action::KIND.to_owned(),
            state: state.map(|it| it.name().to_owned()),
            after: after.map(|place| (place.saturating_add(1), String::new())),
            limit,
        };
        let mut records = self.store.records(&query).await?;
        let full = records.len() == limit;
        while let Some(last) = records.last().filter(|_| full) {
            let place = last.changed_at;
            (query.after, query.limit) = (Some((place, last.id.clone())), 1);
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
        let held = Held::<Permit>::read(&self.store, permit_id).await?;
        let Some(permit) = held.body else { return Err(no_permit(permit_id)) };
        let action =
            self.action(&permit.action_id).await?.body.ok_or_else(|| no_action(&permit.action_id))?;
        if !may_see(caller, &action) {
            return Err(no_permit(permit_id));
        }
        let own = caller.is(Role::Actor) && caller.holds(&action.actor);
        let token_shown = own || caller.is(Role::Worker) || caller.is(Role::Operator);
        Ok(PermitStatus {
            permit_id: permit_id.to_owned(),
            action_id: permit.action_id,
            token: token_shown.then_some(permit.token),
            valid_from_ms: permit.valid_from_ms,
            valid_until_ms: permit.valid_until_ms,
            max_executions: permit.max_executions,
            max_duration_ms: permit.max_duration_ms,
            max_affected_records: permit.max_affected_records,
            used: permit.used,
            uses: permit.uses,
        })
    }

    /// The gate itself.
    pub async fn gate_status(&self) -> Result<GateStatus, GateError> {
        let (_, control) = self.control().await?;
        let policy_hash = control.policy.map(|policy| policy.hash);
        Ok(GateStatus { origin: control.origin, halted: control.halt, policy_hash })
    }

    /// All public keys, for whoever verifies permits and checkpoints.
    pub async fn keys(&self) -> Result<Vec<KeyStatus>, GateError> {
        let keys = self.list::<Key>(None).await?;
        let shown = keys.into_iter().filter_map(|held| {
            let key = held.body?;
            Some(KeyStatus {
                key_id: held.id,
                public_key: key.public_key,
                created_at_ms: key.created_at_ms,
                retired_at_ms: key.retired_at_ms,
            })
        });
        Ok(shown.collect())
    }

    /// All tokens, without their secrets.
    pub async fn tokens(&self, caller: &Caller) -> Result<Vec<TokenStatus>, GateError> {
        caller.must_be(&[Role::Operator, Role::Auditor])?;
        let tokens = self.list::<Token>(None).await?;
        Ok(tokens.into_iter().filter_map(|held| Some(token_status(&held.id, held.body?))).collect())
    }

    /// All records of a kind.
    pub(super) async fn list<T: Kept>(&self, state: Option<&str>) -> Result<Vec<Held<T>>, GateError> {
        list(&self.store, state).await
    }
}

pub(super) fn token_status(token_id: &str, token: Token) -> TokenStatus {
    TokenStatus {
        token_id: token_id.to_owned(),
        principal: token.principal,
        names: token.names,
        roles: token.roles,
        created_at_ms: token.created_at_ms,
        expires_at_ms: token.expires_at_ms,
        revoked_at_ms: token.revoked_at_ms,
    }
}

fn may_see(caller: &Caller, action: &Action) -> bool {
    (caller.is(Role::Actor) && caller.holds(&action.actor)) || sees_evidence(caller)
}

/// Whoever proposes can name any packet, and so must not be shown it.
fn sees_evidence(caller: &Caller) -> bool {
    [Role::Approver, Role::Operator, Role::Worker, Role::Auditor].iter().any(|role| caller.is(*role))
}
