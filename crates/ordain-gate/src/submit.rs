//! Submitting: a proposal is decided at once, and the answer is on the ledger before anybody hears it.

use super::caller::Caller;
use super::conflict::Conflict;
use super::documents::intent_of;
use super::effects::EffectKeys;
use super::error::GateError;
use super::ids::ActionId;
use super::judge::{Inputs, Ruling, Texts};
use super::limits::{EVIDENCE_BYTES_MAX, HOLD_MS_MAX};
use super::open::Gate;
use super::policy::Loaded;
use super::records::{Action, Control, Evidence, Stored, Versioned};
use super::standing::{Candidate, UsedGrant};
use super::status::Shown;
use super::transaction::{Reading, Step, Writing};
use super::undo::OwnUndo;
use super::view::{Beside, Packets, View, view};
use ordain_api::limits::EVIDENCE_MAX;
use ordain_api::{ActionState, ActionStatus, Event, FieldError, ViewDocument};
use ordain_canon::{Canonicalizer, ContentHash, Value};
use ordain_decision::ShellEffects;
use ordain_spec::action::is_request;
use ordain_spec::decision::Outcome;
use ordain_spec::name::violation;
use ordain_spec::statement::NO_KEYS;
use ordain_store::Guard;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A proposal that was submitted.
pub struct Submitted {
    /// Where it stands.
    pub status: ActionStatus,
    /// Whether it was new; the same proposal again changes nothing.
    pub new: bool,
}

/// A proposal or a request, as it arrived.
pub(crate) struct Incoming<'v> {
    pub(crate) id: String,
    pub(crate) actor: String,
    pub(crate) document: &'v Value<'v>,
    /// In canonical form.
    pub(crate) bytes: Vec<u8>,
    evidence_ids: BTreeSet<String>,
}

/// A proposal with everything that a decision about it depends on.
pub(crate) struct Case {
    pub(crate) control: Versioned<Control>,
    pub(crate) control_body: Control,
    pub(crate) loaded: Arc<Loaded>,
    /// The proposal's bytes: those that arrived, or those of the proposal that a request stands for.
    pub(crate) proposal: Vec<u8>,
    /// The request, where one arrived.
    pub(crate) request: Option<Vec<u8>>,
    evidence_documents: Vec<ContentHash>,
    evidence: Vec<Vec<u8>>,
    /// The action whose change is taken back with the proposer's own authority.
    pub(crate) undoes: Option<ActionId>,
    /// The effects of its command, where they were derived before.
    pub(crate) shell: Option<ShellEffects>,
    /// Whether an ALLOW comes with a permit. A call that is only observed gets none.
    pub(crate) mints: bool,
    /// The grant that may stand in for approvals.
    pub(crate) grant: Option<Candidate>,
    /// When it is judged.
    pub(crate) now_ms: u64,
}

impl Case {
    /// The same for a call that is only observed.
    pub(crate) fn without_permit(self) -> Self {
        Self { mints: false, ..self }
    }
}

/// An action that was judged, ready to be written.
pub(crate) struct NewAction {
    pub(crate) id: String,
    pub(crate) action: Action,
    pub(crate) ruling: Ruling,
    pub(crate) view: View,
    pub(crate) held_until_ms: u64,
    pub(crate) deed: Option<String>,
    /// All documents of the step, to be packed.
    pub(crate) documents: Vec<Vec<u8>>,
    request_document: Option<String>,
    superseded: Option<(ActionId, Action)>,
    /// The grant that allowed it.
    grant: Option<UsedGrant>,
}

impl Gate {
    /// Submits a proposal. The same one again gives the recorded answer; the same id with other content is refused.
    /// A held proposal that it supersedes is withdrawn with it.
    pub async fn submit(
        &self,
        caller: &Caller,
        text: &[u8],
        supersedes: Option<&str>,
    ) -> Result<Submitted, GateError> {
        let document = Value::read(text)?;
        let incoming = Incoming::read(&document)?;
        incoming.check(caller, supersedes)?;
        let attempt = |reading| self.submit_attempt(caller, &incoming, supersedes, reading);
        match self.transact(caller, attempt).await? {
            Answer::Known(status) => Ok(Submitted { status: without_idle_view(*status), new: false }),
            Answer::New(recorded) => {
                self.notify(&incoming.id);
                supersedes.into_iter().for_each(|id| self.notify(id));
                let shown = Shown::to(caller, &incoming.actor);
                Ok(Submitted { status: recorded.status(shown), new: true })
            }
        }
    }

    async fn submit_attempt(
        &self,
        caller: &Caller,
        incoming: &Incoming<'_>,
        supersedes: Option<&str>,
        reading: Reading,
    ) -> Result<Step<Answer>, GateError> {
        // At first the id is taken for a new one: nearly every one is, and the write finds out.
        let known = match reading {
            Reading::Cached => Versioned::absent(incoming.id.as_str()),
            Reading::Fresh => Versioned::<Action>::read(&self.store, &incoming.id).await?,
        };
        let mut case = self.case(caller, incoming, None, reading).await?;
        if let Some(action) = &known.body {
            check_same(caller, &incoming.id, action, &case, supersedes)?;
            let status = self.status(caller, &incoming.id).await?;
            return Ok(Step::Done(Answer::Known(Box::new(status))));
        }
        let mut guards = vec![known.guard(), case.control.guard()];
        let undo = self.own_undo(caller, incoming, &case).await?;
        let OwnUndo { undoes, authorized } = undo.unwrap_or_default();
        case.undoes = undoes;
        guards.extend(authorized.guards());
        let mut new = self.judge_new(caller, incoming, case, supersedes, None, reading, &mut guards).await?;
        let documents = std::mem::take(&mut new.documents);
        Ok(Step::write(guards, documents, move |writing| {
            authorized.write(writing)?;
            Ok(Answer::New(Box::new(new.write(writing)?)))
        }))
    }

    /// Reads what a decision about a proposal depends on. A request becomes the proposal that it stands for
    /// here, and nowhere else. `window_ms` is written into a proposal without a time window.
    pub(crate) async fn case(
        &self,
        caller: &Caller,
        incoming: &Incoming<'_>,
        window_ms: Option<u64>,
        reading: Reading,
    ) -> Result<Case, GateError> {
        let (control, control_body) = self.control(reading).await?;
        let loaded = self.policies(&control_body).await?;
        let now_ms = self.clock.now_ms();
        let mapped = loaded.set.proposal_in(incoming.document, caller.workspace());
        let windowed = |document: &Value<'_>| -> Result<Option<Vec<u8>>, GateError> {
            let Some(window_ms) = window_ms else { return Ok(None) };
            let Some(document) = with_window(document, now_ms, window_ms) else { return Ok(None) };
            Ok(Some(Canonicalizer::new().value(&document)?.to_vec()))
        };
        let (proposal, request) = match mapped {
            Some(mapped) => {
                let bytes = Canonicalizer::new().value(&mapped)?.to_vec();
                let bytes = windowed(&Value::read(&bytes)?)?.unwrap_or(bytes);
                (bytes, Some(incoming.bytes.clone()))
            }
            None => (windowed(incoming.document)?.unwrap_or_else(|| incoming.bytes.clone()), None),
        };
        let (evidence_documents, evidence) = self.evidence_of(&incoming.evidence_ids).await?;
        Ok(Case {
            control,
            control_body,
            loaded,
            proposal,
            request,
            evidence_documents,
            evidence,
            undoes: None,
            shell: None,
            mints: true,
            grant: None,
            now_ms,
        })
    }

    /// Judges a proposal that is new.
    #[expect(clippy::too_many_arguments, reason = "each is one thing that the new action depends on")]
    pub(crate) async fn judge_new(
        &self,
        caller: &Caller,
        incoming: &Incoming<'_>,
        case: Case,
        supersedes: Option<&str>,
        deed: Option<String>,
        reading: Reading,
        guards: &mut Vec<Guard>,
    ) -> Result<NewAction, GateError> {
        let superseded = match supersedes {
            None => None,
            Some(id) => {
                let old = Versioned::<Action>::read(&self.store, id).await?;
                guards.push(old.guard());
                Some((ActionId::new(id), supersedable(caller, &old)?))
            }
        };
        let Case {
            control_body,
            loaded,
            proposal,
            request,
            evidence_documents,
            evidence,
            undoes,
            shell,
            mints,
            grant,
            now_ms,
            ..
        } = case;
        let action = Action {
            state: ActionState::Denied,
            actor: incoming.actor.clone(),
            submitted_by: caller.submits_as(&incoming.actor),
            project: caller.project.clone(),
            submitted_at_ms: now_ms,
            proposal_document: ContentHash::of(&proposal),
            decision_document: ContentHash::of(b""),
            evidence_documents,
            approvals: Vec::new(),
            permit: None,
            undoes,
            expires_at_ms: None,
            supersedes: supersedes.map(ActionId::new),
            superseded_by: None,
            submitted_index: 0,
            decided_index: 0,
        };
        // A proposal that arrived as it is recorded was read already.
        let reread = if proposal == incoming.bytes { None } else { Some(Value::read(&proposal)?) };
        let document = reread.as_ref().unwrap_or(incoming.document);
        let shell = shell.or_else(|| action.shell(document));
        if shell.is_some() && mints {
            EffectKeys::of(&loaded, document, shell.as_ref()).check_count()?;
        }
        let mut inputs = Inputs::with(&action, document, &loaded, &control_body, now_ms, shell);
        let mut keys = None;
        if let Some(grant) = &grant {
            inputs.grant = Some(grant.input(caller, &action, &control_body));
            inputs.keys_document = control_body.keys.map(|keys| keys.document);
            keys = Some(self.approver_keys(&control_body)?);
        }
        let keys = keys.as_deref().unwrap_or(&NO_KEYS);
        let pins = loaded.pins.of(&inputs);
        let granted = grant.as_ref().map(Candidate::document);
        let texts =
            Texts { proposal: document, evidence: &evidence, approvals: &[], keys, pins, grant: granted };
        let mut ruling = self.rule(reading, &loaded, &inputs, &texts).await?;
        if !mints {
            ruling.drop_permit();
        }
        guards.extend(ruling.guard());
        guards.extend(grant.as_ref().map(Candidate::guard));
        let grant = grant.filter(|_| ruling.uses_grant()).map(Candidate::used);
        // Nobody decides about an action that does not wait. It is there for all who ask for the action.
        let view = if ruling.decision().outcome == Outcome::Hold {
            let packets = Packets::of(caller);
            let intent = request.as_deref().and_then(intent_of);
            let beside = Beside { earlier: None, intent: intent.as_deref() };
            view(packets, &loaded, &control_body, &incoming.id, &action, document, &evidence, beside)?
        } else {
            View::none()
        };
        let valid_until_ms = valid_until_ms(document).unwrap_or(u64::MAX);
        let held_until_ms = now_ms.saturating_add(HOLD_MS_MAX).min(valid_until_ms);
        let request_document = request.as_ref().map(|bytes| ContentHash::of(bytes).to_string());
        let documents = [proposal].into_iter().chain(request).chain(ruling.take_documents()).collect();
        Ok(NewAction {
            id: incoming.id.clone(),
            action,
            ruling,
            view,
            held_until_ms,
            deed,
            documents,
            request_document,
            superseded,
            grant,
        })
    }

    /// The packets that the store has of those that a proposal names. The kernel says which are missing.
    async fn evidence_of(
        &self,
        ids: &BTreeSet<String>,
    ) -> Result<(Vec<ContentHash>, Vec<Vec<u8>>), GateError> {
        if ids.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let keys: Vec<(&str, &str)> = ids.iter().map(|id| (Evidence::KIND, id.as_str())).collect();
        let mut hashes = Vec::new();
        for record in self.store.records_of(&keys).await?.into_iter().flatten() {
            hashes.extend(Versioned::<Evidence>::of(record)?.body.map(|evidence| evidence.packet_document));
        }
        let packets = self.shared_documents(&hashes).await?;
        if packets.iter().map(Vec::len).sum::<usize>() > EVIDENCE_BYTES_MAX {
            let problem = format!("the packets have more than {EVIDENCE_BYTES_MAX} bytes altogether");
            return Err(GateError::invalid("/evidence_bindings", problem));
        }
        Ok((hashes, packets))
    }
}

/// The same answer as to a new submission: a view where somebody decides about it.
fn without_idle_view(status: ActionStatus) -> ActionStatus {
    if status.state == ActionState::Held {
        return status;
    }
    ActionStatus { view: ViewDocument::none(), view_digest: String::new(), ..status }
}

/// A new action that was written.
pub(crate) struct Recorded {
    pub(crate) id: String,
    pub(crate) action: Action,
    pub(crate) ruled: super::judge::Ruled,
    view: View,
    at_ms: u64,
}

/// The result of an attempt to submit. The answer for the caller is made of it outside the writer's turn.
enum Answer {
    /// It was submitted before.
    Known(Box<ActionStatus>),
    New(Box<Recorded>),
}

impl NewAction {
    /// Writes the submission, the decision and the permit. The record of the action is left to the caller.
    pub(crate) fn write_all_but_record(mut self, writing: &mut Writing) -> Result<Recorded, GateError> {
        let submitted_by = &self.action.submitted_by;
        self.action.submitted_index = writing.event(Event::Submitted {
            action_id: self.id.clone(),
            actor: self.action.actor.clone(),
            proposal_document: self.action.proposal_document.to_string(),
            request_document: self.request_document,
            supersedes: self.action.supersedes.clone().map(String::from),
            submitted_by: (submitted_by != writing.by()).then(|| submitted_by.clone()),
            deed: self.deed.clone(),
            undoes: self.action.undoes.clone().map(String::from),
            project: self.action.project.clone(),
        });
        let ruled = self.ruling.write(writing, &self.id, &mut self.action, self.held_until_ms)?;
        self.grant.map_or(Ok(()), |grant| grant.write(writing))?;
        if let Some((old_id, mut old)) = self.superseded {
            let (action_id, by_action_id) = (old_id.to_string(), self.id.clone());
            writing.event(Event::Superseded { action_id, by_action_id });
            old.state = ActionState::Superseded;
            old.superseded_by = Some(ActionId::new(self.id.clone()));
            writing.put(old_id.as_str(), &old)?;
        }
        Ok(Recorded { id: self.id, action: self.action, ruled, view: self.view, at_ms: writing.at_ms })
    }

    pub(crate) fn write(self, writing: &mut Writing) -> Result<Recorded, GateError> {
        let recorded = self.write_all_but_record(writing)?;
        writing.put(recorded.id.as_str(), &recorded.action)?;
        Ok(recorded)
    }
}

impl Recorded {
    pub(crate) fn status(self, shown: Shown) -> ActionStatus {
        let minted = self.ruled.minted.as_deref();
        shown.status(&self.id, &self.action, self.ruled.decision, Vec::new(), self.view, minted, self.at_ms)
    }
}

/// An id that was submitted before stands for the same proposal.
fn check_same(
    caller: &Caller,
    id: &str,
    action: &Action,
    case: &Case,
    supersedes: Option<&str>,
) -> Result<(), GateError> {
    let action_id = id.to_owned();
    if !caller.holds(&action.actor) {
        return Err(Conflict::Taken { id: action_id }.into());
    }
    check_same_project(caller, id, action)?;
    if action.proposal_document != ContentHash::of(&case.proposal) {
        let content = Some(action.proposal_document.to_string());
        return Err(Conflict::OtherContent { action_id, content }.into());
    }
    if action.supersedes.as_ref().map(ActionId::as_str) != supersedes {
        let before = action.supersedes.as_ref().map_or("nothing".to_owned(), |id| format!("`{id}`"));
        return Err(Conflict::OtherSuperseded { action_id, before }.into());
    }
    Ok(())
}

/// A caller that asks about one project of the gate gets nothing of another.
pub(crate) fn check_same_project(caller: &Caller, id: &str, action: &Action) -> Result<(), GateError> {
    let projects = caller.project.as_ref().zip(action.project.as_ref());
    if projects.is_some_and(|(asked, submitted)| asked.project_id != submitted.project_id) {
        return Err(Conflict::OtherProject { action_id: id.to_owned() }.into());
    }
    Ok(())
}

/// Only an action that waits, or that came to nothing, can be superseded, and only by its proposer.
fn supersedable(caller: &Caller, old: &Versioned<Action>) -> Result<Action, GateError> {
    const ALLOWED: &[ActionState] = &[ActionState::Held, ActionState::Denied, ActionState::Expired];
    let own = |action: &Action| caller.holds(&action.actor);
    let Some(action) = old.body.clone().filter(own) else {
        return Err(GateError::Unknown(format!("no action `{}` that you could supersede", old.id)));
    };
    if ALLOWED.contains(&action.state) {
        return Ok(action);
    }
    let (action_id, state) = (old.id.clone(), action.state);
    Err(Conflict::State { action_id, state, allowed: ALLOWED, wanted: "superseded" }.into())
}

impl<'v> Incoming<'v> {
    pub(crate) fn read(document: &'v Value<'v>) -> Result<Self, GateError> {
        let id_field = if is_request(document) { "request_id" } else { "proposal_id" };
        let mut errors = Vec::new();
        let id = name(document, id_field, &mut errors);
        let actor = name(document, "actor", &mut errors);
        let (Some(id), Some(actor)) = (id, actor) else {
            let message = "this is not a proposal that can be put on record".to_owned();
            return Err(GateError::Invalid { message, errors });
        };
        let bytes = Canonicalizer::new().value(document)?.to_vec();
        let evidence_ids = evidence_ids(document);
        if evidence_ids.len() > EVIDENCE_MAX {
            return Err(GateError::invalid(
                "/evidence_bindings",
                format!("names {} evidence packets; at most {EVIDENCE_MAX} are read", evidence_ids.len()),
            ));
        }
        Ok(Self { id: id.to_owned(), actor: actor.to_owned(), document, bytes, evidence_ids })
    }

    /// The caller may propose under this name, and not supersede the proposal by itself.
    pub(crate) fn check(&self, caller: &Caller, supersedes: Option<&str>) -> Result<(), GateError> {
        if !caller.holds(&self.actor) {
            let (principal, actor) = (&caller.principal, &self.actor);
            let problem = if caller.token.is_some() {
                format!("the token of `{principal}` may not propose as `{actor}`")
            } else {
                format!(
                    "`{principal}` may not propose as `{actor}`, which entities.json does not name as their agent"
                )
            };
            return Err(GateError::Forbidden(problem));
        }
        if supersedes == Some(self.id.as_str()) {
            let problem = "a proposal cannot supersede itself";
            return Err(GateError::invalid("/supersedes", problem));
        }
        Ok(())
    }
}

/// The document with a time window that the gate writes; `None` if it has one, or is not an object.
fn with_window<'v>(document: &Value<'v>, now_ms: u64, window_ms: u64) -> Option<Value<'v>> {
    #[expect(clippy::cast_precision_loss, reason = "times are below 2^53")]
    let number = |ms: u64| Value::Number(ms as f64);
    if document.get("time_window").is_some() {
        return None;
    }
    let mut members = document.as_object()?.to_vec();
    let window = vec![
        ("max_duration_ms".into(), number(super::limits::DURATION_MS_DEFAULT)),
        ("valid_from_ms".into(), number(now_ms)),
        ("valid_until_ms".into(), number(now_ms.saturating_add(window_ms))),
    ];
    members.push(("time_window".into(), Value::Object(window)));
    Some(Value::Object(members))
}

fn valid_until_ms(document: &Value<'_>) -> Option<u64> {
    let until = document.get("time_window")?.get("valid_until_ms")?.as_integer()?;
    u64::try_from(until).ok()
}

fn name<'d>(document: &'d Value<'_>, field: &str, errors: &mut Vec<FieldError>) -> Option<&'d str> {
    let text = document.get(field).and_then(Value::as_str);
    let problem = match text {
        None => "must be there, and a string".to_owned(),
        Some(text) => match violation(text) {
            Some(problem) => problem.to_string(),
            None => return Some(text),
        },
    };
    let message = format!("`{field}` {problem}");
    errors.push(FieldError { path: format!("/{field}"), message, rule_id: None });
    None
}

/// The ids of all evidence that a proposal or a request names anywhere.
fn evidence_ids(document: &Value<'_>) -> BTreeSet<String> {
    let list = |field: &str| document.get(field).and_then(Value::as_array).unwrap_or_default();
    let of = |entry: &Value<'_>, field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
    let mut ids = BTreeSet::new();
    ids.extend(list("evidence_bindings").iter().filter_map(|entry| of(entry, "evidence_id")));
    ids.extend(list("preconditions").iter().filter_map(|entry| of(entry, "evidence_ref")));
    for entry in list("evidence") {
        ids.extend(entry.as_str().map(str::to_owned).or_else(|| of(entry, "evidence_id")));
    }
    ids.retain(|id| violation(id).is_none());
    ids
}
