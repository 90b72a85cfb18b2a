//! Standing grants: approvals that hold for later calls with the same deed. The approvers sign how far; the kernel
//! counts their signatures anew for each call; the uses are counted here, in the transaction of the decision.

use super::caller::Caller;
use super::documents::typed;
use super::error::GateError;
use super::ids::{ActionId, GrantId};
use super::judge::{Inputs, Ruling};
use super::open::Gate;
use super::records::{Action, Control, DeedHold, RevokedGrant, StandingGrant, Stored, Versioned};
use super::transaction::{Reading, Step, Writing};
use ordain_api::limits::PAGE_MAX;
use ordain_api::{Event, GrantState, GrantStatus, GrantUse, Role, StandingTerms};
use ordain_canon::{Canonicalizer, ContentHash, Value};
use ordain_decision::{StandingOffer, standing_document};
use ordain_spec::Sha256;
use ordain_spec::action::{Deed, Proposal, project_name};
use ordain_spec::approval::{Approval, Verdict};
use ordain_spec::decision::Outcome;
use ordain_spec::standing::{StandingScope, common_scope};
use ordain_store::{Guard, Query};
use serde::{Deserialize, Serialize};

/// A grant among the inputs of a decision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantInput {
    pub(crate) grant_document: ContentHash,
    pub(crate) grant_id: GrantId,
    /// The principal of the call's deed.
    pub(crate) principal: String,
    /// The project of the call's deed.
    pub(crate) project: String,
    /// How often it was used before.
    pub(crate) used: u64,
}

/// The document of a grant, as far as records follow from it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct GrantDocument {
    pub(crate) action_id: String,
    pub(crate) approvals: Vec<Approval>,
}

impl GrantDocument {
    /// The people who signed it.
    pub(crate) fn approvers(&self) -> Vec<String> {
        let mut approvers: Vec<String> =
            self.approvals.iter().map(|approval| approval.approver.as_str().to_owned()).collect();
        approvers.sort();
        approvers.dedup();
        approvers
    }
}

/// A grant that a call may be covered by.
pub(crate) struct Candidate {
    known: Versioned<StandingGrant>,
    grant: StandingGrant,
    document: Vec<u8>,
}

impl Candidate {
    /// As an input of the decision about an action of this caller.
    pub(crate) fn input(&self, caller: &Caller, action: &Action, control: &Control) -> GrantInput {
        GrantInput {
            grant_document: self.grant.document,
            grant_id: self.known.id.clone(),
            principal: caller.principal.clone(),
            project: deed_project(action, control),
            used: self.grant.used,
        }
    }

    pub(crate) fn document(&self) -> &[u8] {
        &self.document
    }

    /// Nobody has used or revoked it since. A decision that does not use it records how often it was used, too.
    pub(crate) fn guard(&self) -> Guard {
        self.known.guard()
    }

    /// Takes one use.
    pub(crate) fn used(self) -> UsedGrant {
        let grant = StandingGrant { used: self.grant.used + 1, ..self.grant };
        UsedGrant { id: self.known.id, grant }
    }
}

/// A grant with one use more, ready to be written.
pub(crate) struct UsedGrant {
    id: GrantId,
    grant: StandingGrant,
}

impl UsedGrant {
    pub(crate) fn write(self, writing: &mut Writing) -> Result<(), GateError> {
        writing.put(&self.id, &self.grant)
    }
}

/// A grant that approvers have just made, ready to be written.
pub(crate) struct NewGrant {
    known: Versioned<StandingGrant>,
    hold: Versioned<DeedHold>,
    grant: StandingGrant,
    document: Vec<u8>,
}

/// An action with all its approvals.
#[derive(Clone, Copy)]
pub(crate) struct ApprovedAction<'a> {
    pub(crate) id: &'a str,
    pub(crate) action: &'a Action,
    pub(crate) proposal: &'a Value<'a>,
    pub(crate) given: &'a [Approval],
    /// The documents of the approvals.
    pub(crate) documents: &'a [Vec<u8>],
}

impl NewGrant {
    pub(crate) fn guards(&self) -> [Guard; 2] {
        [self.known.guard(), self.hold.guard()]
    }

    pub(crate) fn write(self, writing: &mut Writing) -> Result<(), GateError> {
        let Self { known, hold, mut grant, document } = self;
        grant.granted_index = writing.event(Event::Granted {
            action_id: grant.action_id.to_string(),
            grant_id: known.id.to_string(),
            deed: grant.deed.clone(),
            max_uses: grant.max_uses,
            until_ms: grant.until_ms,
            grant_document: grant.document.to_string(),
        });
        grant.granted_at_ms = writing.at_ms;
        writing.share(document);
        writing.put(&known.id, &grant)?;
        if let Some(body) = hold.body {
            writing.put(hold.id.as_str(), &DeedHold { grant: Some(known.id), ..body })?;
        }
        Ok(())
    }
}

impl Inputs {
    /// The use of the grant that an ALLOW with these inputs takes.
    pub(crate) fn grant_use(&self) -> Option<GrantUse> {
        let grant = self.grant.as_ref()?;
        Some(GrantUse { grant_id: grant.grant_id.to_string(), number: grant.used + 1 })
    }
}

impl StandingGrant {
    /// The grant as it is shown at this time.
    fn status(self, id: GrantId, now_ms: u64) -> GrantStatus {
        let state = match &self.revoked {
            Some(_) => GrantState::Revoked,
            None if self.used >= self.max_uses => GrantState::UsedUp,
            None if now_ms >= self.until_ms => GrantState::Ended,
            None => GrantState::Active,
        };
        GrantStatus {
            action_id: self.action_id.into(),
            actor: self.actor,
            approvers: self.approvers,
            deed: self.deed,
            grant_id: id.into(),
            granted_index: self.granted_index,
            granted_at_ms: self.granted_at_ms,
            max_uses: self.max_uses,
            revoked_by: self.revoked.map(|revoked| revoked.by),
            state,
            until_ms: self.until_ms,
            used: self.used,
        }
    }

    /// Whether the entry on the ledger says the same of it: a row in the store makes no grant and widens none.
    pub(crate) fn is_as_granted(&self, entry: &Self) -> bool {
        let bounds = |grant: &Self| {
            let Self { document, deed, max_uses, until_ms, granted_index, .. } = grant;
            (*document, deed.clone(), *max_uses, *until_ms, *granted_index)
        };
        bounds(self) == bounds(entry) && entry.revoked.is_none()
    }
}

impl Gate {
    /// The grant that a deed leads to, unless somebody took it back. One whose time or uses are over is among them: the
    /// decision says so.
    pub(crate) async fn candidate(&self, hold: &Versioned<DeedHold>) -> Result<Option<Candidate>, GateError> {
        let Some(id) = hold.body.as_ref().and_then(|hold| hold.grant.as_ref()) else { return Ok(None) };
        let known = Versioned::<StandingGrant>::read(&self.store, id).await?;
        let Some(grant) = known.body.clone().filter(|grant| grant.revoked.is_none()) else {
            return Ok(None);
        };
        if !self.is_on_ledger(&known.id, &grant) {
            // Another node may have written it.
            self.read_control().await?;
            if !self.is_on_ledger(&known.id, &grant) {
                return Ok(None);
            }
        }
        let document = self.shared_document(&grant.document).await?;
        Ok(Some(Candidate { known, grant, document }))
    }

    fn is_on_ledger(&self, id: &GrantId, grant: &StandingGrant) -> bool {
        self.ledger_state(|state| state.grant(id).is_some_and(|entry| grant.is_as_granted(entry)))
    }

    /// On what terms the approvers of a held action may say that its deed may be repeated.
    pub(crate) async fn standing_terms(
        &self,
        offer: Option<StandingOffer>,
        control: &Control,
        action_id: &str,
        action: &Action,
        proposal: &Value<'_>,
        now_ms: u64,
    ) -> Result<Option<StandingTerms>, GateError> {
        let Some(StandingOffer { permits, max_uses, max_ms }) = offer else { return Ok(None) };
        let Some(hold) = self.deed_hold(control, action_id, action, proposal).await? else {
            return Ok(None);
        };
        let Ok(deed) = typed::<Sha256>(serde_json::json!(hold.id).to_string().as_bytes()) else {
            return Ok(None);
        };
        Ok(Some(StandingTerms { deed, max_uses, permits, until_ms: now_ms.saturating_add(max_ms) }))
    }

    /// The record that calls with the deed of an action join it by; none for an action that no call joins.
    async fn deed_hold(
        &self,
        control: &Control,
        action_id: &str,
        action: &Action,
        proposal: &Value<'_>,
    ) -> Result<Option<Versioned<DeedHold>>, GateError> {
        let Ok(proposal) = proposal.to_typed::<Proposal>() else { return Ok(None) };
        // The deed names whoever made the call. Where that is the person whose agent it is, the agent submitted it.
        let Some(entry) = self.entry(action.submitted_index).await? else { return Ok(None) };
        let (project, principal) = (deed_project(action, control), entry.by);
        // The window may have been written by the gate.
        let without = Proposal { time_window: None, ..proposal.clone() };
        for form in [&without, &proposal] {
            let deed = Deed::of(&project, &principal, form, |_| false)?.to_string();
            let hold = Versioned::<DeedHold>::read(&self.store, deed.as_str()).await?;
            if hold.body.as_ref().is_some_and(|hold| hold.action_id.as_str() == action_id) {
                return Ok(Some(hold));
            }
        }
        Ok(None)
    }

    /// Whether an approval may go as far as its scope says; and the record of the action's deed.
    #[expect(clippy::too_many_arguments, reason = "each is one thing that the scope depends on")]
    pub(crate) async fn check_scope(
        &self,
        scope: &StandingScope,
        ruling: &Ruling,
        control: &Control,
        action_id: &str,
        action: &Action,
        proposal: &Value<'_>,
        at_ms: u64,
    ) -> Result<Versioned<DeedHold>, GateError> {
        let refused = |problem: String| GateError::invalid("/scope", problem);
        let Some(offer) = ruling.standing() else {
            let problem = "the policies do not let its approvers say that it may be repeated";
            return Err(refused(problem.to_owned()));
        };
        if let Some(problem) = scope.violation(at_ms) {
            return Err(refused(problem));
        }
        let Some(hold) = self.deed_hold(control, action_id, action, proposal).await? else {
            return Err(refused("no later call can have the deed of this action".to_owned()));
        };
        let problem = if hold.id.as_str() != scope.deed.as_str() {
            "is about another deed".to_owned()
        } else if scope.permits != offer.permits {
            "names other permits, or other texts of them, than ask for its approvals".to_owned()
        } else if scope.max_uses > offer.max_uses {
            format!("covers {} uses; the policies let it cover {}", scope.max_uses, offer.max_uses)
        } else if scope.until_ms > at_ms.saturating_add(offer.max_ms) {
            format!("holds longer than the {} ms that the policies allow", offer.max_ms)
        } else {
            return Ok(hold);
        };
        Err(refused(problem))
    }

    /// The grant that the approvals of an action come to, once it is allowed and all of them say so.
    pub(crate) fn new_grant(
        &self,
        hold: Versioned<DeedHold>,
        ruling: &Ruling,
        approved: &ApprovedAction<'_>,
        now_ms: u64,
    ) -> Result<Option<NewGrant>, GateError> {
        let ApprovedAction { id: action_id, action, proposal, given, documents: approvals } = *approved;
        let all_approve = given.iter().all(|approval| approval.verdict == Verdict::Approve);
        let Some(scope) = common_scope(given).filter(|_| all_approve) else { return Ok(None) };
        let covers = now_ms < scope.until_ms && !scope.permits.is_empty();
        if ruling.decision().outcome != Outcome::Allow || !covers {
            return Ok(None);
        }
        let read = |text| Value::read(text).map_err(|error| GateError::Damaged(error.to_string()));
        let values = approvals.iter().map(|text| read(text)).collect::<Result<Vec<_>, _>>()?;
        let document = standing_document(action_id, proposal.clone(), values);
        let document = Canonicalizer::new().value(&document)?.to_vec();
        let hash = ContentHash::of(&document);
        let known = Versioned::absent(&GrantId::of(&hash));
        let grant = StandingGrant {
            action_id: ActionId::new(action_id),
            actor: action.actor.clone(),
            approvers: typed::<GrantDocument>(&document)?.approvers(),
            deed: scope.deed.as_str().to_owned(),
            document: hash,
            granted_at_ms: now_ms,
            granted_index: 0,
            max_uses: scope.max_uses,
            revoked: None,
            until_ms: scope.until_ms,
            used: 0,
        };
        Ok(Some(NewGrant { known, hold, grant, document }))
    }

    /// Takes a grant back, at once and on every node. Those who signed it may do so, and owners and operators. Again it
    /// changes nothing.
    pub async fn revoke_grant(&self, caller: &Caller, grant_id: &str) -> Result<GrantStatus, GateError> {
        let attempt = |_| async {
            let known = Versioned::<StandingGrant>::read(&self.store, &GrantId::new(grant_id)).await?;
            let Some(mut grant) = known.body.clone() else {
                return Err(GateError::Unknown(format!("no grant `{grant_id}`")));
            };
            let (control, control_body) = self.control(Reading::Fresh).await?;
            let keys = self.approver_keys(&control_body)?;
            let owns = |principal: &str| {
                keys.keys.iter().any(|key| key.owner && key.is_in_force() && key.principal == principal)
            };
            let may = caller.is(Role::Operator)
                || grant.approvers.contains(&caller.principal)
                || owns(&caller.principal);
            if !may {
                let problem = format!(
                    "`{}` did not sign the grant `{grant_id}`, and does not own the gate",
                    caller.principal
                );
                return Err(GateError::Forbidden(problem));
            }
            let id = known.id.clone();
            if grant.revoked.is_some() {
                return Ok(Step::Done(grant.status(id, self.clock.now_ms())));
            }
            let by = caller.principal.clone();
            Ok(Step::write(vec![known.guard(), control.guard()], Vec::new(), move |writing| {
                writing.event(Event::GrantRevoked { grant_id: id.to_string() });
                grant.revoked = Some(RevokedGrant { at_ms: writing.at_ms, by });
                writing.put(&id, &grant)?;
                Ok(grant.status(id, writing.at_ms))
            }))
        };
        self.transact(caller, attempt).await
    }

    /// The grants that changed last, the newest first.
    pub async fn grants(&self) -> Result<Vec<GrantStatus>, GateError> {
        let query = Query {
            kind: StandingGrant::KIND.to_owned(),
            limit: PAGE_MAX,
            newest_first: true,
            ..Query::default()
        };
        let now_ms = self.clock.now_ms();
        let mut found = Vec::new();
        for record in self.store.records(&query).await? {
            let Versioned { id, body, .. } = Versioned::<StandingGrant>::of(record)?;
            found.extend(body.map(|grant| grant.status(id, now_ms)));
        }
        Ok(found)
    }
}

/// The project of the deed of an action's call.
fn deed_project(action: &Action, control: &Control) -> String {
    let project = action.project.as_ref().map(|project| project.project_id.as_str());
    project_name(&control.origin, project)
}
