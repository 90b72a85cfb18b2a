//! Submitting: a proposal is decided at once, and the answer is on the ledger before anybody hears it.

use super::caller::Caller;
use super::error::GateError;
use super::judge::{Inputs, Texts, judge};
use super::limits::{EVIDENCE_BYTES_MAX, HOLD_MS_MAX, TRIES_MAX};
use super::open::{Gate, Step, busy, came_to};
use super::permits::Mint;
use super::records::{Action, Evidence, Held, put};
use ordain_api::limits::{EVIDENCE_MAX, NAME_CHARACTERS_MAX};
use ordain_api::{ActionState, ActionStatus, Entry, Event, FieldError, Role};
use ordain_canon::{Canonicalizer, ContentHash, Value};
use ordain_spec::action::is_request;
use ordain_spec::decision::Outcome;
use ordain_store::StoreError;
use std::collections::BTreeSet;

/// A proposal that was submitted.
pub struct Submitted {
    /// Where it stands.
    pub status: ActionStatus,
    /// Whether it was new; the same proposal again changes nothing.
    pub new: bool,
}

/// What must be known of a proposal before the kernel looks at it.
struct Incoming {
    id: String,
    actor: String,
    bytes: Vec<u8>,
    document: String,
    evidence_ids: BTreeSet<String>,
    valid_until_ms: Option<u64>,
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
        caller.must_be(&[Role::Actor])?;
        let incoming = Incoming::read(text)?;
        if !caller.holds(&incoming.actor) {
            return Err(GateError::Forbidden(format!(
                "the token of `{}` may not propose as `{}`",
                caller.principal, incoming.actor
            )));
        }
        if supersedes == Some(incoming.id.as_str()) {
            return Err(GateError::invalid(
                "/supersedes",
                "a proposal cannot supersede itself; give it a new id",
            ));
        }
        for _ in 0..TRIES_MAX {
            let known = Held::<Action>::read(&self.store, &incoming.id).await?;
            if let Some(action) = &known.body {
                return self.submitted_before(caller, &incoming, action, supersedes).await;
            }
            match self.submit_once(caller, &incoming, &known, supersedes).await {
                Err(GateError::Store(StoreError::Conflict { .. })) => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    self.tell(&incoming.id);
                    supersedes.into_iter().for_each(|id| self.tell(id));
                    let status = came_to(|| self.status(caller, &incoming.id)).await?;
                    return Ok(Submitted { status, new: true });
                }
            }
        }
        Err(busy())
    }

    async fn submitted_before(
        &self,
        caller: &Caller,
        incoming: &Incoming,
        action: &Action,
        supersedes: Option<&str>,
    ) -> Result<Submitted, GateError> {
        if action.proposal_document == incoming.document && action.supersedes.as_deref() != supersedes {
            let before = action.supersedes.as_ref().map_or("nothing".to_owned(), |id| format!("`{id}`"));
            return Err(GateError::Conflict(format!(
                "`{}` was submitted before and supersedes {before}; what supersedes something else needs another id",
                incoming.id
            )));
        }
        if action.proposal_document != incoming.document {
            // What others proposed is not told, not even by its hash.
            let content = match caller.holds(&action.actor) {
                true => format!(" ({})", action.proposal_document),
                false => String::new(),
            };
            return Err(GateError::Conflict(format!(
                "`{}` was submitted before with other content{content}; what is different needs another id",
                incoming.id
            )));
        }
        Ok(Submitted { status: self.status(caller, &incoming.id).await?, new: false })
    }

    async fn submit_once(
        &self,
        caller: &Caller,
        incoming: &Incoming,
        known: &Held<Action>,
        supersedes: Option<&str>,
    ) -> Result<(), GateError> {
        let (control_held, control) = self.control().await?;
        let loaded = self.policies(&control).await?;
        let mut guards = vec![known.guard(), control_held.guard()];
        let superseded = match supersedes {
            None => None,
            Some(id) => {
                let held = Held::<Action>::read(&self.store, id).await?;
                guards.push(held.guard());
                Some((id.to_owned(), supersedable(caller, &held)?))
            }
        };
        let (evidence_documents, evidence) = self.evidence_of(&incoming.evidence_ids).await?;
        let now_ms = self.clock.now_ms();
        let inputs = Inputs {
            proposal_document: incoming.document.clone(),
            files_document: loaded.files_document.clone(),
            evidence_documents: evidence_documents.clone(),
            approval_documents: Vec::new(),
            now_ms,
            halted: control.halt.is_some(),
        };
        let texts = Texts { proposal: &incoming.bytes, evidence: &evidence, approvals: &[] };
        let mut judged = judge(&loaded, &inputs, &texts)?;
        let mint = match judged.grant.take() {
            Some(grant) => Some(self.minting(grant).await?),
            None => None,
        };
        guards.extend(mint.iter().flat_map(Mint::guards));
        let held_until_ms =
            now_ms.saturating_add(HOLD_MS_MAX).min(incoming.valid_until_ms.unwrap_or(u64::MAX));
        let mut action = Action {
            state: state_of(judged.decision.outcome),
            actor: incoming.actor.clone(),
            submitted_by: caller.submits_as(&incoming.actor),
            submitted_at_ms: now_ms,
            proposal_document: incoming.document.clone(),
            proposal_hash: judged.decision.proposal_hash.0.as_ref().map(|hash| hash.as_str().to_owned()),
            decision_document: judged.decision_document.clone(),
            evidence_documents,
            approval_documents: Vec::new(),
            permit_id: None,
            expires_at_ms: (judged.decision.outcome == Outcome::Hold).then_some(held_until_ms),
            supersedes: supersedes.map(str::to_owned),
            superseded_by: None,
            submitted_index: 0,
            decided_index: 0,
        };
        let id = incoming.id.clone();
        let proposal = incoming.bytes.clone();
        let by = caller.principal.clone();
        let build = move |index: u64| {
            let mut step = Step { documents: judged.documents, ..Step::default() };
            step.documents.push(proposal);
            let mut event = |event: Event| step.entries.push(Entry::of(now_ms, &by, event));
            event(Event::Submitted {
                action_id: id.clone(),
                actor: action.actor.clone(),
                proposal_document: action.proposal_document.clone(),
                supersedes: action.supersedes.clone(),
            });
            event(Event::Decided {
                action_id: id.clone(),
                outcome: judged.decision.outcome,
                decision_document: judged.decision_document,
                inputs_document: judged.inputs_document,
                expires_at_ms: action.expires_at_ms,
            });
            (action.submitted_index, action.decided_index) = (index, index + 1);
            if let Some(mint) = &mint {
                let minted = mint.mint(&id, action.decided_index)?;
                event(minted.event);
                action.permit_id = Some(minted.id.clone());
                step.documents.push(minted.document);
                step.records.push(put(&minted.id, &minted.record));
            }
            if let Some((old_id, mut old)) = superseded {
                step.entries.push(Entry::of(
                    now_ms,
                    &by,
                    Event::Superseded { action_id: old_id.clone(), by_action_id: id.clone() },
                ));
                old.state = ActionState::Superseded;
                old.superseded_by = Some(id.clone());
                step.records.push(put(&old_id, &old));
            }
            step.records.push(put(&id, &action));
            Ok(step)
        };
        self.commit(guards, build).await.map(drop)
    }

    /// The packets that the store has of those that a proposal names. What is missing is for the kernel to say.
    async fn evidence_of(&self, ids: &BTreeSet<String>) -> Result<(Vec<String>, Vec<Vec<u8>>), GateError> {
        let mut hashes = Vec::new();
        for id in ids {
            let held = Held::<Evidence>::read(&self.store, id).await?;
            hashes.extend(held.body.map(|evidence| evidence.packet_document));
        }
        let (mut packets, mut bytes) = (Vec::new(), 0);
        for hash in &hashes {
            let packet = self.read_document(hash).await?;
            bytes += packet.len();
            if bytes > EVIDENCE_BYTES_MAX {
                let problem = format!("the packets have more than {EVIDENCE_BYTES_MAX} bytes altogether");
                return Err(GateError::invalid("/evidence_bindings", problem));
            }
            packets.push(packet);
        }
        Ok((hashes, packets))
    }
}

pub(super) fn state_of(outcome: Outcome) -> ActionState {
    match outcome {
        Outcome::Allow => ActionState::Allowed,
        Outcome::Hold => ActionState::Held,
        Outcome::Deny => ActionState::Denied,
    }
}

/// Only what still waits can be replaced, and only by whoever proposed it.
fn supersedable(caller: &Caller, held: &Held<Action>) -> Result<Action, GateError> {
    let own = |action: &Action| caller.holds(&action.actor);
    let Some(action) = held.body.clone().filter(own) else {
        return Err(GateError::Unknown(format!("there is no action `{}` that could be superseded", held.id)));
    };
    match action.state {
        ActionState::Held | ActionState::Denied | ActionState::Expired => Ok(action),
        other => Err(GateError::Conflict(format!(
            "`{}` is {}, and only what is held, denied or expired can be superseded",
            held.id,
            other.name()
        ))),
    }
}

impl Incoming {
    fn read(text: &[u8]) -> Result<Self, GateError> {
        let document = Value::read(text)?;
        let request = is_request(&document);
        let id_field = if request { "request_id" } else { "proposal_id" };
        let mut faults = Vec::new();
        let id = name(&document, id_field, &mut faults);
        let actor = name(&document, "actor", &mut faults);
        let (Some(id), Some(actor)) = (id, actor) else {
            let message = "this is no proposal that could be put on record".to_owned();
            return Err(GateError::Invalid { message, faults });
        };
        let bytes = Canonicalizer::new().value(&document)?.to_vec();
        let evidence_ids = evidence_ids(&document);
        if evidence_ids.len() > EVIDENCE_MAX {
            return Err(GateError::invalid(
                "/evidence_bindings",
                format!("names {} evidence packets; at most {EVIDENCE_MAX} are read", evidence_ids.len()),
            ));
        }
        let until = document.get("time_window").and_then(|window| window.get("valid_until_ms"));
        Ok(Self {
            valid_until_ms: until.and_then(Value::as_integer).and_then(|it| u64::try_from(it).ok()),
            document: ContentHash::of(&bytes).to_string(),
            id: id.to_owned(),
            actor: actor.to_owned(),
            bytes,
            evidence_ids,
        })
    }
}

fn name<'d>(document: &'d Value<'_>, field: &str, faults: &mut Vec<FieldError>) -> Option<&'d str> {
    let text = document.get(field).and_then(Value::as_str);
    let problem = match text {
        None => "must be there, and a string".to_owned(),
        Some(text) => match name_problem(text) {
            Some(problem) => problem,
            None => return Some(text),
        },
    };
    faults.push(FieldError {
        path: format!("/{field}"),
        message: format!("`{field}` {problem}"),
        rule_id: None,
    });
    None
}

/// What keeps a text from being a name on record.
pub(super) fn name_problem(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        Some("must not be empty".to_owned())
    } else if text.chars().count() > NAME_CHARACTERS_MAX {
        Some(format!("has more than {NAME_CHARACTERS_MAX} characters"))
    } else if text.chars().any(char::is_control) {
        Some("has control characters".to_owned())
    } else {
        None
    }
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
    ids.retain(|id| name_problem(id).is_none());
    ids
}
