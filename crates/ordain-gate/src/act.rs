//! Acting: decide, mint and use in one step, for callers that execute at once. A held call can be repeated:
//! the same deed joins the action that waits, and uses the permit that came of it.

use super::caller::Caller;
use super::conflict::Conflict;
use super::effects::{EffectKeys, EffectRecords};
use super::error::GateError;
use super::ids::ActionId;
use super::limits::{ACT_HOLD_MS, UNRESOLVED_HOLD_MS};
use super::open::Gate;
use super::records::{Action, DeedHold, Effect, Evidence, Stored, Versioned};
use super::sources::Sources;
use super::spend::{NewUse, check_same_action};
use super::status::Shown;
use super::submit::{Case, Incoming, Recorded, check_same_project};
use super::transaction::{Reading, Step};
use ordain_api::{ActAnswer, ActionState, ActionStatus, CalledAction, ObservedCall, UseReceipt};
use ordain_canon::{ContentHash, Value};
use ordain_decision::derive_shell;
use ordain_spec::action::{Deed, Proposal, SOURCE_SENSORS, project_name};
use ordain_spec::decision::Outcome;
use std::collections::BTreeSet;

const WORKSPACE: &str = "workspace";
/// Tools of the agent itself, and tools that nothing is known about.
const TOOLS: [&str; 2] = ["meta_tool", "tool"];

/// A call that wants to act at once.
#[derive(Clone, Copy)]
pub struct Act<'a> {
    /// The text of an action proposal or a KernelRequest, or of one of them with its sources.
    pub text: &'a [u8],
    /// A held action that it takes the place of. Such a call never joins another.
    pub supersedes: Option<&'a str>,
    /// The action whose approval the caller waited for. If another call used that approval, the caller is
    /// told so instead of starting a new action.
    pub waited_for: Option<&'a str>,
    /// The installed hook that asks. An owner can have its calls observed.
    pub hook: Option<&'a str>,
}

/// The action that a deed leads to, with its versions.
struct Joined {
    id: String,
    known: Versioned<Action>,
    action: Action,
}

/// The result of an attempt to act. The answer for the caller is made of it outside the writer's turn.
enum Answer {
    Known(Box<ActAnswer>),
    New { recorded: Box<Recorded>, called: Option<Box<Called>>, used: Option<UseReceipt> },
    Observed { recorded: Box<Recorded>, observed: ObservedCall },
}

/// A call, as the policies in force read it.
struct Called {
    deed: Deed,
    action: CalledAction,
}

fn parts(called: Option<Called>) -> (Option<String>, Option<CalledAction>) {
    called.map(|called| (called.deed.to_string(), called.action)).unzip()
}

impl Gate {
    /// Decides a proposal and, if it is allowed, uses its permit, in one transaction.
    pub async fn act(&self, caller: &Caller, act: &Act<'_>) -> Result<ActAnswer, GateError> {
        let document = Value::read(act.text)?;
        let (call, sources) = Sources::split(&document)?;
        let incoming = Incoming::read(call)?;
        incoming.check(caller, act.supersedes)?;
        let attempt = |reading| self.act_attempt(caller, &incoming, act, sources, reading);
        let answer = match self.transact(caller, attempt).await? {
            Answer::Known(answer) => *answer,
            Answer::New { recorded, called, used } => {
                let outcome = recorded.ruled.decision.outcome;
                let action = recorded.status(Shown::to(caller, &incoming.actor));
                let (deed, call) = parts(called.map(|called| *called));
                ActAnswer { outcome, call, deed, joined: false, observed: None, used, action }
            }
            Answer::Observed { recorded, observed } => {
                let outcome = recorded.ruled.decision.outcome;
                let action = recorded.status(Shown::to(caller, &incoming.actor));
                let (observed, joined) = (Some(observed), false);
                ActAnswer { outcome, call: None, deed: None, joined, observed, used: None, action }
            }
        };
        self.notify(&answer.action.action_id);
        act.supersedes.into_iter().for_each(|id| self.notify(id));
        Ok(answer)
    }

    async fn act_attempt(
        &self,
        caller: &Caller,
        incoming: &Incoming<'_>,
        act: &Act<'_>,
        sources: Option<&Value<'_>>,
        reading: Reading,
    ) -> Result<Step<Answer>, GateError> {
        let known = match reading {
            Reading::Cached => Versioned::absent(incoming.id.as_str()),
            Reading::Fresh => Versioned::<Action>::read(&self.store, &incoming.id).await?,
        };
        let hold_ms = if is_resolved(incoming.document) { ACT_HOLD_MS } else { UNRESOLVED_HOLD_MS };
        let mut case = self.case(caller, incoming, Some(hold_ms), reading).await?;
        let observed =
            act.hook.and_then(|hook| Some((hook, case.control_body.observed_until(hook, case.now_ms)?)));
        if let (Some((hook, until_ms)), None) = (observed, &known.body) {
            let observed = (hook, until_ms);
            return self.act_observed(caller, incoming, act, case, observed, sources, known, reading).await;
        }
        let called = self.called(caller, incoming, &case).await?;
        if let Some(action) = &known.body {
            return self.acted_before(caller, incoming, action, &case, called).await;
        }
        let sources = match sources {
            Some(payload) => self.sources(&incoming.id, payload, case.now_ms).await?,
            None => None,
        };
        let Some(called) = called else {
            // The proposal has no form that could be joined; the kernel says what is wrong with it.
            return self.act_new(caller, incoming, act, case, None, sources, known, reading).await;
        };
        let effect_keys = {
            let mapped = case.request.as_ref().map(|_| Value::read(&case.proposal)).transpose()?;
            let proposal = mapped.as_ref().unwrap_or(incoming.document);
            case.shell = derive_shell(proposal, caller.workspace());
            EffectKeys::of(&case.loaded, proposal, case.shell.as_ref())
        };
        let (hold, effects) = self.hold_and_effects(&called.deed, &effect_keys).await?;
        if act.supersedes.is_none()
            && let Some(joined) = self.joined(&hold, act).await?
        {
            return self.join(caller, incoming, case, joined, called, sources).await;
        }
        case.grant = self.candidate(&hold).await?;
        let called = Some((called, hold, effect_keys, effects));
        self.act_new(caller, incoming, act, case, called, sources, known, reading).await
    }

    /// The action that waits for a deed, and what is open of effects that must not happen twice, in one look at the
    /// store.
    async fn hold_and_effects(
        &self,
        deed: &Deed,
        effect_keys: &EffectKeys,
    ) -> Result<(Versioned<DeedHold>, EffectRecords), GateError> {
        let deed = deed.to_string();
        let blocking = effect_keys.blocking();
        let of_effects = blocking.iter().map(|key| (Effect::KIND, key.id()));
        let wanted: Vec<(&str, &str)> =
            [(DeedHold::KIND, deed.as_str())].into_iter().chain(of_effects).collect();
        let mut found = self.store.records_of(&wanted).await?.into_iter();
        let hold = Versioned::found(deed.as_str(), found.next().flatten())?;
        Ok((hold, blocking.records(found.collect())?))
    }

    /// The deed of a call, and the action it asks for; `None` for a document that is not a proposal.
    async fn called(
        &self,
        caller: &Caller,
        incoming: &Incoming<'_>,
        case: &Case,
    ) -> Result<Option<Called>, GateError> {
        // As the caller sent it: without the window that the gate has written.
        let proposal = match &case.request {
            Some(_) => case.loaded.set.proposal_in(incoming.document, caller.workspace()),
            None => incoming.document.to_typed::<Proposal>().ok(),
        };
        let Some(proposal) = proposal else { return Ok(None) };
        // An approver would take it for a call in a project, and its permit would fit any of them. A tool of the
        // agent itself touches no workspace, whatever its domain.
        let target = &proposal.target;
        let touches_workspace =
            target.domain.as_str() == WORKSPACE && !TOOLS.contains(&target.resource_type.as_str());
        if caller.outside_projects && touches_workspace {
            let problem =
                "the folder belongs to no project of this gate, so the call cannot be about a workspace";
            return Err(GateError::Forbidden(problem.to_owned()));
        }
        let sources = self.source_packets(&proposal).await?;
        let is_source = |evidence_id: &str| sources.contains(evidence_id);
        let project = project_name(&case.control_body.origin, caller.project_id());
        let deed = Deed::of(&project, &caller.principal, &proposal, is_source)?;
        let Proposal { action_type, target, risk_envelope, .. } = proposal;
        let action = CalledAction { action_type, target, risk_envelope };
        Ok(Some(Called { deed, action }))
    }

    /// The ids of bound packets that only say where a call came from.
    async fn source_packets(&self, proposal: &Proposal) -> Result<BTreeSet<String>, GateError> {
        let bindings = proposal.evidence_bindings.as_deref().unwrap_or_default();
        if bindings.is_empty() {
            return Ok(BTreeSet::new());
        }
        let keys: Vec<(&str, &str)> =
            bindings.iter().map(|binding| (Evidence::KIND, binding.evidence_id.as_str())).collect();
        let mut sources = BTreeSet::new();
        for record in self.store.records_of(&keys).await?.into_iter().flatten() {
            let packet = Versioned::<Evidence>::of(record)?;
            let is_source = |evidence: &Evidence| SOURCE_SENSORS.contains(&evidence.sensor_id.as_str());
            if packet.body.as_ref().is_some_and(is_source) {
                sources.insert(packet.id.as_str().to_owned());
            }
        }
        Ok(sources)
    }

    /// The action that a call with this deed joins: one that is open, one that is approved and unused, or one
    /// that somebody rejected, until its window ends.
    async fn joined(&self, hold: &Versioned<DeedHold>, act: &Act<'_>) -> Result<Option<Joined>, GateError> {
        let Some(DeedHold { action_id, until_ms, .. }) = &hold.body else { return Ok(None) };
        let known = Versioned::<Action>::read(&self.store, action_id.as_str()).await?;
        let Some(action) = known.body.clone() else { return Ok(None) };
        let now_ms = self.clock.now_ms();
        let used = action.permit.as_ref().filter(|permit| permit.used > 0);
        if let (Some(permit), Some(waited_for)) = (used, act.waited_for)
            && waited_for == action_id.as_str()
        {
            let (action_id, permit_id) = (action_id.to_string(), permit.id.to_string());
            return Err(Conflict::UsedByOther { action_id, permit_id, last: permit.last_use() }.into());
        }
        let joins = match action.state_at(now_ms) {
            ActionState::Held => true,
            ActionState::Allowed => used.is_none() && now_ms < *until_ms,
            ActionState::Denied => !action.approvals.is_empty() && now_ms < *until_ms,
            _ => false,
        };
        Ok(joins.then(|| Joined { id: action_id.to_string(), known, action }))
    }

    async fn join(
        &self,
        caller: &Caller,
        incoming: &Incoming<'_>,
        case: Case,
        joined: Joined,
        called: Called,
        sources: Option<Sources>,
    ) -> Result<Step<Answer>, GateError> {
        let Joined { id, known, mut action } = joined;
        let (deed, call) = parts(Some(called));
        if action.state != ActionState::Allowed {
            let action = self.status(caller, &id).await?;
            let outcome = if action.state == ActionState::Held { Outcome::Hold } else { Outcome::Deny };
            let answer = ActAnswer { outcome, call, deed, joined: true, observed: None, used: None, action };
            return Ok(Step::Done(Answer::Known(Box::new(answer))));
        }
        let mut guards = vec![known.guard(), case.control.guard()];
        let prepared =
            self.prepare_use(caller, &id, &action, &case.loaded, &case.control_body, &mut guards).await?;
        let (mut new, judged) = prepared;
        // The deed covers this already. It is checked as for any other use, against the permit itself.
        let proposal = Value::read(&case.proposal)?;
        let part = |field: &str| proposal.get(field).unwrap_or(&Value::Null);
        let action_type = part("action_type").as_str().unwrap_or_default();
        check_same_action(new.claims(), action_type, part("target"), part("parameters"))?;
        if new.claims().sub != incoming.actor {
            return Err(GateError::Forbidden("the permit was given to another actor".to_owned()));
        }
        new.call_document = Some(ContentHash::of(&case.proposal));
        let status = self.status(caller, &id).await?;
        guards.extend(sources.as_ref().map(Sources::guard));
        let now_ms = judged.now_ms;
        let documents = judged.documents.into_iter().chain([case.proposal]).collect();
        Ok(Step::write(guards, documents, move |writing| {
            writing.check_judged_at(now_ms)?;
            let used = new.write(writing, &mut action)?;
            writing.put(id.as_str(), &action)?;
            sources.map_or(Ok(()), |sources| sources.write(writing))?;
            let action = with_use(status, &action, writing.at_ms);
            let outcome = Outcome::Allow;
            Ok(Answer::Known(Box::new(ActAnswer {
                outcome,
                call,
                deed,
                joined: true,
                observed: None,
                used: Some(used),
                action,
            })))
        }))
    }

    #[expect(clippy::too_many_arguments, reason = "each is one thing that the new action depends on")]
    async fn act_new(
        &self,
        caller: &Caller,
        incoming: &Incoming<'_>,
        act: &Act<'_>,
        case: Case,
        called: Option<(Called, Versioned<DeedHold>, EffectKeys, EffectRecords)>,
        sources: Option<Sources>,
        known: Versioned<Action>,
        reading: Reading,
    ) -> Result<Step<Answer>, GateError> {
        let mut guards = vec![known.guard(), case.control.guard()];
        let (called, hold, of_use) = match called {
            Some((called, hold, keys, effects)) => (Some(called), Some(hold), Some((keys, effects))),
            None => (None, None, None),
        };
        let deed = called.as_ref().map(|called| called.deed.to_string());
        guards.extend(sources.as_ref().map(Sources::guard));
        // The use is of the same moment as the decision: both name the same inputs.
        let now_ms = case.now_ms;
        let mut new =
            self.judge_new(caller, incoming, case, act.supersedes, deed, reading, &mut guards).await?;
        let of_use = match (new.ruling.minted(), of_use) {
            (None, _) => None,
            (Some(_), Some((keys, known))) => Some((keys, known.clear(now_ms, &mut guards)?)),
            (Some(_), None) => {
                let problem = "the kernel allowed a proposal that has no deed";
                return Err(GateError::Damaged(problem.to_owned()));
            }
        };
        let held = new.ruling.decision().outcome == Outcome::Hold;
        let hold = hold.filter(|_| held);
        guards.extend(hold.as_ref().map(Versioned::guard));
        let worker = caller.principal.clone();
        let documents = std::mem::take(&mut new.documents);
        Ok(Step::write(guards, documents, move |writing| {
            let held_until_ms = new.held_until_ms;
            let mut recorded = new.write_all_but_record(writing)?;
            let mut used = None;
            if let Some((minted, (effect_keys, effects))) = recorded.ruled.minted.clone().zip(of_use) {
                let documents = [recorded.ruled.decision_document, recorded.ruled.inputs_document];
                let id = &recorded.id;
                let new_use =
                    NewUse::with_decision(id, minted, effect_keys, effects, &worker, now_ms, documents);
                used = Some(new_use.write(writing, &mut recorded.action)?);
            }
            if let Some(hold) = hold {
                let action_id = ActionId::new(recorded.id.clone());
                let grant = hold.body.and_then(|before| before.grant);
                writing.put(hold.id.as_str(), &DeedHold { action_id, until_ms: held_until_ms, grant })?;
            }
            writing.put(recorded.id.as_str(), &recorded.action)?;
            sources.map_or(Ok(()), |sources| sources.write(writing))?;
            Ok(Answer::New { recorded: Box::new(recorded), called: called.map(Box::new), used })
        }))
    }

    /// Records the decision about a call that is only observed, and mints and uses nothing. It joins nothing either.
    #[expect(clippy::too_many_arguments, reason = "each is one thing that the new action depends on")]
    async fn act_observed(
        &self,
        caller: &Caller,
        incoming: &Incoming<'_>,
        act: &Act<'_>,
        case: Case,
        (hook, until_ms): (&str, u64),
        sources: Option<&Value<'_>>,
        known: Versioned<Action>,
        reading: Reading,
    ) -> Result<Step<Answer>, GateError> {
        let mut guards = vec![known.guard(), case.control.guard()];
        let observed = self.observed_call(incoming, hook, until_ms)?;
        let case = case.without_permit();
        let sources = match sources {
            Some(payload) => self.sources(&incoming.id, payload, case.now_ms).await?,
            None => None,
        };
        guards.extend(sources.as_ref().map(Sources::guard));
        let mut new =
            self.judge_new(caller, incoming, case, act.supersedes, None, reading, &mut guards).await?;
        let (documents, hook) = (std::mem::take(&mut new.documents), hook.to_owned());
        Ok(Step::write(guards, documents, move |writing| {
            let mut recorded = new.write_all_but_record(writing)?;
            recorded.observe(writing, &hook);
            writing.put(recorded.id.as_str(), &recorded.action)?;
            sources.map_or(Ok(()), |sources| sources.write(writing))?;
            Ok(Answer::Observed { recorded: Box::new(recorded), observed })
        }))
    }

    /// The same id again: the recorded answer, if it is the same call. A permit that was used then is not used again.
    async fn acted_before(
        &self,
        caller: &Caller,
        incoming: &Incoming<'_>,
        action: &Action,
        case: &Case,
        called: Option<Called>,
    ) -> Result<Step<Answer>, GateError> {
        if !caller.holds(&action.actor) {
            return Err(Conflict::Taken { id: incoming.id.clone() }.into());
        }
        check_same_project(caller, &incoming.id, action)?;
        let status = self.status(caller, &incoming.id).await?;
        let documents = self.action_documents(action).await?;
        let before =
            Value::read(&documents.proposal).map_err(|error| GateError::Damaged(error.to_string()))?;
        let now = Value::read(&case.proposal)?;
        let same = if incoming.document.get("time_window").is_some() {
            before.same_as(&now)
        } else {
            without_window(&before).same_as(&without_window(&now))
        };
        let action_id = incoming.id.clone();
        if !same {
            return Err(Conflict::OtherContent { action_id, content: None }.into());
        }
        let outcome = match status.state {
            ActionState::Held => Outcome::Hold,
            ActionState::Denied | ActionState::Expired | ActionState::Superseded | ActionState::Observed => {
                Outcome::Deny
            }
            state => {
                const ALLOWED: &[ActionState] = &[ActionState::Held];
                return Err(Conflict::State { action_id, state, allowed: ALLOWED, wanted: "repeated" }.into());
            }
        };
        let (deed, call) = parts(called);
        let answer =
            ActAnswer { outcome, call, deed, joined: true, observed: None, used: None, action: status };
        Ok(Step::Done(Answer::Known(Box::new(answer))))
    }
}

/// Whether everything that a call names by reference was resolved. The caller says so; it gets less time where
/// something was not.
fn is_resolved(document: &Value<'_>) -> bool {
    let of_tool = document.get("tool_call").and_then(|call| call.get("params"));
    let parameters = document.get("parameters").or(of_tool).or_else(|| document.get("params"));
    let resolved = parameters.and_then(|parameters| parameters.get("resolved"));
    resolved.is_none_or(|resolved| resolved.get("unresolved").is_none())
}

fn without_window<'v>(document: &Value<'v>) -> Value<'v> {
    match document.as_object() {
        Some(members) => {
            Value::Object(members.iter().filter(|(name, _)| name != "time_window").cloned().collect())
        }
        None => document.clone(),
    }
}

/// The status of an action whose permit was used just now.
fn with_use(mut status: ActionStatus, action: &Action, now_ms: u64) -> ActionStatus {
    status.state = action.state_at(now_ms);
    if let (Some(shown), Some(permit)) = (&mut status.permit, &action.permit) {
        shown.used = permit.used;
        shown.uses.clone_from(&permit.uses);
        shown.locks = permit.locks();
    }
    status
}
