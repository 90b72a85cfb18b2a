//! Whether what is kept beside the ledger follows from it: somebody who changes a record changes no entry. And whether the
//! entries follow from each other.

use super::audit::{Damage, or_damaged};
use super::error::GateError;
use super::expected::{Expected, ExpectedAction, ExpectedPermit, ExpectedToken, ExpectedUse, Recorded};
use super::open::document;
use super::permits::effect;
use super::records::{Action, Control, Effect, Evidence, Kept, Key, Permit, Token};
use base64ct::{Base64UrlUnpadded, Encoding};
use ordain_api::limits::PAGE_MAX;
use ordain_api::{Entry, Event, Use, UseOutcome};
use ordain_canon::ContentHash;
use ordain_decision::Claims;
use ordain_store::{Query, Store};
use std::collections::{BTreeMap, BTreeSet};

const PAGE: usize = 1_000;

/// Compares all records of a store with its entries, and each entry with those before it. The ledger itself must have been checked before. What others change
/// meanwhile is left for the next time.
pub async fn check_records(store: &Store) -> Result<Vec<Damage>, GateError> {
    let mut check = Check { store, size: store.head().await?.size, damage: Vec::new() };
    let expected = check.expected().await?;
    check.control(&expected).await?;
    check.actions(&expected).await?;
    let effects = check.permits(&expected).await?;
    check.effects(effects).await?;
    check.evidence(&expected).await?;
    check.tokens(&expected).await?;
    check.keys(&expected).await?;
    check.damage.sort();
    Ok(check.damage)
}

struct Check<'s> {
    store: &'s Store,
    /// The entries that count.
    size: u64,
    damage: Vec<Damage>,
}

/// The records of a kind.
struct Found<T> {
    bodies: BTreeMap<String, T>,
    /// Those that changed since the check began, or that cannot be read.
    passed_over: BTreeSet<String>,
}

impl Check<'_> {
    fn wrong(&mut self, index: Option<u64>, problem: String) {
        self.damage.push(Damage { index, problem });
    }

    /// What the entries come to. Each is compared with those before it.
    async fn expected(&mut self) -> Result<Expected, GateError> {
        let mut expected = Expected::default();
        let mut index = 0;
        while index < self.size {
            let rows = self.store.entries(index, PAGE).await?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                index = row.index + 1;
                if index > self.size {
                    break;
                }
                let Ok(entry) = serde_json::from_slice::<Entry>(&row.bytes) else { continue };
                let recorded = self.recorded(&entry.event).await?;
                for problem in expected.doubts(row.index, &entry, recorded.as_ref()) {
                    self.wrong(Some(row.index), problem);
                }
                expected.add(row.index, entry, recorded);
            }
        }
        Ok(expected)
    }

    /// The documents of a decision; nothing if they cannot be read.
    async fn recorded(&self, event: &Event) -> Result<Option<Recorded>, GateError> {
        let (Event::Decided { decision_document, inputs_document, .. }
        | Event::PermitSpent { decision_document, inputs_document, .. }) = event
        else {
            return Ok(None);
        };
        let hashes = [inputs_document, decision_document].map(|name| ContentHash::parse(name));
        let [Some(inputs), Some(decision)] = hashes else { return Ok(None) };
        let found = or_damaged(self.store.documents(&[inputs, decision]).await)?.unwrap_or_default();
        let [Some(inputs), Some(decision)] = found.as_slice() else { return Ok(None) };
        let (inputs, decision) = (serde_json::from_slice(inputs), serde_json::from_slice(decision));
        Ok(inputs.ok().zip(decision.ok()).map(|(inputs, decision)| Recorded { inputs, decision }))
    }

    async fn found<T: Kept>(&mut self) -> Result<Found<T>, GateError> {
        let mut found = Found { bodies: BTreeMap::new(), passed_over: BTreeSet::new() };
        let mut query = Query { kind: T::KIND.to_owned(), limit: PAGE_MAX, ..Query::default() };
        loop {
            let page = self.store.records(&query).await?;
            let Some(last) = page.last() else { return Ok(found) };
            query.after = Some((last.changed_at, last.id.clone()));
            // After the page, so that a record of the page cannot be newer.
            let size = self.store.head().await?.size;
            for record in page {
                let name = format!("the {} `{}`", T::KIND, record.id);
                if record.changed_at > self.size {
                    if record.changed_at > size {
                        self.wrong(None, format!("{name} changed with an entry that is not there"));
                    }
                    found.passed_over.insert(record.id);
                    continue;
                }
                match serde_json::from_str::<T>(&record.body) {
                    Err(error) => {
                        self.wrong(None, format!("{name} cannot be read: {error}"));
                        found.passed_over.insert(record.id);
                    }
                    Ok(body) => {
                        if body.state() != record.state {
                            self.wrong(
                                None,
                                format!("{name} is listed as {} and is {}", record.state, body.state()),
                            );
                        }
                        found.bodies.insert(record.id, body);
                    }
                }
            }
        }
    }

    /// Every record must be on the ledger and the same there, and the other way round.
    fn compare<T, E>(
        &mut self,
        what: &str,
        found: &Found<T>,
        expected: &BTreeMap<String, E>,
        place: impl Fn(&E) -> Option<u64>,
        problem: impl Fn(&str, &T, &E) -> Option<String>,
    ) {
        for (id, body) in &found.bodies {
            match expected.get(id) {
                None => self.wrong(None, format!("the {what} `{id}` is on record and not on the ledger")),
                Some(should) => {
                    if let Some(problem) = problem(id, body, should) {
                        self.wrong(place(should), problem);
                    }
                }
            }
        }
        let there = |id: &&String| found.bodies.contains_key(*id) || found.passed_over.contains(*id);
        for (id, should) in expected.iter().filter(|(id, _)| !there(id)) {
            self.wrong(place(should), format!("the {what} `{id}` is on the ledger and has no record"));
        }
    }

    async fn control(&mut self, expected: &Expected) -> Result<(), GateError> {
        let found = self.found::<Control>().await?;
        if found.bodies.len() + found.passed_over.len() != 1 && self.size > 0 {
            self.wrong(None, "the gate's own record is missing, or there are several".to_owned());
        }
        for control in found.bodies.into_values() {
            let halted = control.halt.map(|halt| (halt.by, halt.reason));
            if halted.is_some() != expected.halted.is_some() {
                let word = |halted: bool| if halted { "halted" } else { "open" };
                let (record, ledger) = (word(halted.is_some()), word(expected.halted.is_some()));
                self.wrong(None, format!("the gate is {record} on record and {ledger} by the ledger"));
            } else if halted != expected.halted {
                self.wrong(
                    None,
                    "the gate was halted by another or for another reason than on record".to_owned(),
                );
            }
            if control.policy != expected.policy {
                let problem = "the policies in force are not those that the ledger names last";
                self.wrong(None, problem.to_owned());
            }
            if Some(control.origin) != expected.origin {
                self.wrong(Some(0), "names another ledger than the gate's own record".to_owned());
            }
        }
        Ok(())
    }

    async fn actions(&mut self, expected: &Expected) -> Result<(), GateError> {
        let found = self.found::<Action>().await?;
        let problem = |id: &str, action: &Action, should: &ExpectedAction| {
            (!same_action(action, should, expected)).then(|| {
                format!("submits the action `{id}`, whose record says something else than the ledger")
            })
        };
        self.compare("action", &found, &expected.actions, |it| Some(it.submitted_index), problem);
        for (id, action) in &found.bodies {
            let Some(should) = expected.actions.get(id) else { continue };
            if should.evidence_documents.as_ref().is_some_and(|it| *it != action.evidence_documents) {
                let problem = format!("decides on `{id}`, whose record names other evidence");
                self.wrong(Some(should.decided_index), problem);
            }
        }
        Ok(())
    }

    /// Also gives what effects are open, by the ledger.
    async fn permits(
        &mut self,
        expected: &Expected,
    ) -> Result<BTreeMap<String, BTreeSet<(String, u64)>>, GateError> {
        let found = self.found::<Permit>().await?;
        let problem = |id: &str, permit: &Permit, should: &ExpectedPermit| {
            let (record, ledger) = (permit.used, should.uses.len() as u64);
            if record != ledger {
                return Some(format!(
                    "mints `{id}`, of which the ledger has {ledger} uses and its record {record}"
                ));
            }
            (!same_permit(permit, should, expected))
                .then(|| format!("mints `{id}`, whose record says something else"))
        };
        self.compare("permit", &found, &expected.permits, |it| Some(it.index), problem);
        let mut effects: BTreeMap<String, BTreeSet<(String, u64)>> = BTreeMap::new();
        for (id, should) in &expected.permits {
            // The token is on the ledger by its hash, so that what it says is beyond doubt.
            let Some(permit) = found.bodies.get(id) else { continue };
            if let Some(claims) = claims(&permit.token) {
                effects.entry(effect(&claims)).or_default().extend(should.open(id));
            }
        }
        // A permit that changed meanwhile may have an effect in common with others.
        if !found.passed_over.is_empty() {
            effects.clear();
        }
        Ok(effects)
    }

    async fn effects(
        &mut self,
        expected: BTreeMap<String, BTreeSet<(String, u64)>>,
    ) -> Result<(), GateError> {
        let found = self.found::<Effect>().await?;
        let mut problems = Vec::new();
        for (id, open) in expected {
            let record = match found.bodies.get(&id) {
                _ if found.passed_over.contains(&id) => continue,
                Some(effect) => effect.open.iter().cloned().collect(),
                None => BTreeSet::new(),
            };
            for (permit_id, number) in open.symmetric_difference(&record) {
                let (ledger, on_record) = if open.contains(&(permit_id.clone(), *number)) {
                    ("open", "settled")
                } else {
                    ("settled", "open")
                };
                problems.push(format!(
                    "use {number} of `{permit_id}` is {ledger} by the ledger and {on_record} on record, so that its effect is guarded wrongly"
                ));
            }
        }
        problems.into_iter().for_each(|problem| self.wrong(None, problem));
        Ok(())
    }

    async fn evidence(&mut self, expected: &Expected) -> Result<(), GateError> {
        let found = self.found::<Evidence>().await?;
        let problem = |id: &str, it: &Evidence, should: &(u64, String, String)| {
            let record = (it.received_index, &it.packet_document, &it.sensor_id);
            (record != (should.0, &should.1, &should.2))
                .then(|| format!("receives the evidence `{id}`, whose record says something else"))
        };
        self.compare("evidence packet", &found, &expected.evidence, |it| Some(it.0), problem);
        Ok(())
    }

    async fn tokens(&mut self, expected: &Expected) -> Result<(), GateError> {
        let found = self.found::<Token>().await?;
        let problem = |id: &str, it: &Token, should: &ExpectedToken| {
            let record = ExpectedToken {
                principal: it.principal.clone(),
                names: it.names.clone(),
                roles: it.roles.clone(),
                secret_hash: it.secret_hash.clone(),
                expires_at_ms: it.expires_at_ms,
                revoked: it.revoked_at_ms.is_some(),
            };
            let otherwise =
                |what: &str| format!("the token `{id}` is recorded otherwise than on the ledger: {what}");
            if record.revoked != should.revoked {
                return Some(otherwise(if should.revoked { "it was revoked" } else { "it was not revoked" }));
            }
            if (&record.secret_hash, record.expires_at_ms) != (&should.secret_hash, should.expires_at_ms) {
                return Some(otherwise("its secret, or until when it holds"));
            }
            (record != *should).then(|| otherwise("its principal, names or roles"))
        };
        self.compare("token", &found, &expected.tokens, |_| None, problem);
        Ok(())
    }

    async fn keys(&mut self, expected: &Expected) -> Result<(), GateError> {
        let found = self.found::<Key>().await?;
        let problem = |id: &str, it: &Key, should: &(String, bool)| {
            let record = (&it.public_key, it.retired_at_ms.is_some());
            (record != (&should.0, should.1))
                .then(|| format!("the key `{id}` is recorded otherwise than on the ledger"))
        };
        self.compare("key", &found, &expected.keys, |_| None, problem);
        Ok(())
    }
}

fn same_action(action: &Action, should: &ExpectedAction, expected: &Expected) -> bool {
    Some(action.state) == expected.state(should)
        && should
            .first
            .as_ref()
            .is_none_or(|first| first.0 == action.submitted_at_ms && first.1 == action.proposal_hash)
        && action.actor == should.actor
        && (action.submitted_by == should.by || action.submitted_by == should.actor)
        && action.proposal_document == should.proposal_document
        && action.decision_document == should.decision_document
        && action.approval_documents == should.approval_documents
        && action.permit_id == should.permit_id
        && action.expires_at_ms == should.expires_at_ms
        && action.supersedes == should.supersedes
        && action.superseded_by == should.superseded_by
        && (action.submitted_index, action.decided_index) == (should.submitted_index, should.decided_index)
}

/// By the ledger, and by the permit's own text, which the ledger has by its hash.
fn same_permit(permit: &Permit, should: &ExpectedPermit, expected: &Expected) -> bool {
    let Some(claims) = claims(&permit.token) else { return false };
    let first = expected.actions.get(&should.action_id).and_then(|action| action.first.as_ref());
    first.is_none_or(|(_, proposal_hash)| proposal_hash.as_ref() == Some(&claims.proposal_hash))
        && ContentHash::of(permit.token.as_bytes()).is(&should.permit_document)
        && permit.action_id == should.action_id
        && permit.effect == effect(&claims)
        && permit.max_duration_ms == claims.max_duration_ms
        && permit.max_affected_records == claims.max_affected_records
        && permit.max_executions == should.max_executions
        && (permit.valid_from_ms, permit.valid_until_ms) == (should.valid_from_ms, should.valid_until_ms)
        && same_uses(permit, should)
}

/// The record shows all uses that are open, and others only as they are on the ledger.
fn same_uses(permit: &Permit, should: &ExpectedPermit) -> bool {
    let on_ledger = |used: &Use| {
        let at = usize::try_from(used.number).ok()?.checked_sub(1)?;
        should.uses.get(at)
    };
    let as_recorded =
        |used: &Use| on_ledger(used).is_some() && recorded_use(used).as_ref() == on_ledger(used);
    let shown: BTreeSet<u64> = permit.uses.iter().map(|used| used.number).collect();
    let open =
        |used: &&ExpectedUse| !matches!(used.settled, Some((UseOutcome::Succeeded | UseOutcome::Failed, _)));
    permit.uses.iter().all(as_recorded)
        && should.uses.iter().filter(open).all(|used| shown.contains(&used.number))
}

/// A use as a record has it; nothing if its outcome has no canonical form.
fn recorded_use(used: &Use) -> Option<ExpectedUse> {
    let settled = match &used.settled {
        Some(settled) => Some((settled.outcome, document(settled).ok()?.0)),
        None => None,
    };
    let (number, worker, deadline_ms) = (used.number, used.worker.clone(), used.deadline_ms);
    Some(ExpectedUse { number, worker, spent_at_ms: Some(used.spent_at_ms), deadline_ms, settled })
}

/// What a permit says; its signature is not looked at.
fn claims(token: &str) -> Option<Claims> {
    let payload = token.split('.').nth(1)?;
    serde_json::from_slice(&Base64UrlUnpadded::decode_vec(payload).ok()?).ok()
}
