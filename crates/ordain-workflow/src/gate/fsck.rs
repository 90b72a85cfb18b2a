//! Whether what is kept beside the ledger follows from it: somebody who changes a record changes no entry.

use super::entry::{Entry, Event};
use super::error::GateError;
use super::ledger::Damage;
use super::outcome::state_after;
use super::records::{
    Action, CONTROL_ID, Control, Evidence, Held, Key, Permit, State, Token, UseOutcome, list,
};
use super::submit::state_of;
use ordain_store::Store;
use std::collections::BTreeMap;

const PAGE: usize = 1_000;

/// What the entries of a ledger come to.
#[derive(Default)]
struct Expected {
    actions: BTreeMap<String, ExpectedAction>,
    permits: BTreeMap<String, ExpectedPermit>,
    evidence: BTreeMap<String, String>,
    tokens: BTreeMap<String, bool>,
    keys: BTreeMap<String, bool>,
    halted: bool,
    files_document: Option<String>,
}

#[derive(Default)]
struct ExpectedAction {
    state: Option<State>,
    decision_document: String,
    approvals: usize,
    index: u64,
}

#[derive(Default)]
struct ExpectedPermit {
    action_id: String,
    max_executions: u64,
    valid_until_ms: u64,
    /// The outcomes of its uses, in their order.
    uses: Vec<Option<UseOutcome>>,
    index: u64,
}

/// Compares all records of a store with its entries. The ledger itself must have been checked before.
pub async fn check_records(store: &Store) -> Result<Vec<Damage>, GateError> {
    let mut expected = Expected::default();
    let size = store.head().await?.size;
    let mut index = 0;
    while index < size {
        let rows = store.entries(index, PAGE).await?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            index = row.index + 1;
            if let Ok(entry) = serde_json::from_slice::<Entry>(&row.bytes) {
                expected.add(row.index, entry);
            }
        }
    }
    let mut damage = Vec::new();
    check_actions(&expected, list(store, None).await?, &mut damage);
    check_permits(&expected, list(store, None).await?, &mut damage);
    let control = Held::<Control>::read(store, CONTROL_ID).await?.body;
    let halted = control.as_ref().is_some_and(|it| it.halt.is_some());
    if halted != expected.halted {
        let (record, ledger) = if halted { ("halted", "open") } else { ("open", "halted") };
        damage.push(wrong(None, format!("the gate is {record} on record and {ledger} by the ledger")));
    }
    let files = control.and_then(|it| it.policy).map(|it| it.files_document);
    if files != expected.files_document {
        damage.push(wrong(None, "the policies in force are not those that the ledger names last".to_owned()));
    }
    let of = |held: Held<Evidence>| Some((held.id, held.body?.packet_document));
    let evidence = list(store, None).await?.into_iter().filter_map(of).collect();
    compare("evidence packet", &expected.evidence, &evidence, &mut damage);
    let of = |held: Held<Token>| Some((held.id, held.body?.revoked_at_ms.is_some()));
    let tokens = list(store, None).await?.into_iter().filter_map(of).collect();
    compare("token", &expected.tokens, &tokens, &mut damage);
    let of = |held: Held<Key>| Some((held.id, held.body?.retired_at_ms.is_some()));
    let keys = list(store, None).await?.into_iter().filter_map(of).collect();
    compare("key", &expected.keys, &keys, &mut damage);
    damage.sort();
    Ok(damage)
}

impl Expected {
    fn add(&mut self, index: u64, entry: Entry) {
        match entry.event {
            Event::Submitted { action_id, .. } => {
                self.actions.insert(action_id, ExpectedAction { index, ..ExpectedAction::default() });
            }
            Event::Decided { action_id, outcome, decision_document, .. } => {
                let action = self.actions.entry(action_id).or_default();
                action.state = Some(state_of(outcome));
                action.decision_document = decision_document;
            }
            Event::Approved { action_id, .. } | Event::Rejected { action_id, .. } => {
                self.actions.entry(action_id).or_default().approvals += 1;
            }
            Event::Superseded { action_id, .. } => self.state(action_id, State::Superseded),
            Event::Expired { action_id } => self.state(action_id, State::Expired),
            Event::PermitMinted { action_id, permit_id, max_executions, valid_until_ms, .. } => {
                let permit =
                    ExpectedPermit { action_id, max_executions, valid_until_ms, uses: Vec::new(), index };
                self.permits.insert(permit_id, permit);
            }
            Event::PermitSpent { permit_id, .. } => {
                self.permits.entry(permit_id).or_default().uses.push(None);
            }
            Event::PermitSettled { permit_id, number, outcome, .. } => {
                let uses = &mut self.permits.entry(permit_id).or_default().uses;
                let at = usize::try_from(number).unwrap_or_default().wrapping_sub(1);
                if let Some(used) = uses.get_mut(at) {
                    *used = Some(outcome);
                }
            }
            Event::EvidenceReceived { evidence_id, packet_document, .. } => {
                self.evidence.insert(evidence_id, packet_document);
            }
            Event::PolicyChanged { files_document, .. } => self.files_document = Some(files_document),
            Event::KeyRotated { key_id, retires, .. } => {
                self.keys.insert(key_id, false);
                self.keys.extend(retires.map(|id| (id, true)));
            }
            Event::Halted { .. } => self.halted = true,
            Event::Resumed { .. } => self.halted = false,
            Event::TokenCreated { token_id, .. } => drop(self.tokens.insert(token_id, false)),
            Event::TokenRevoked { token_id } => drop(self.tokens.insert(token_id, true)),
            Event::Opened { .. } | Event::Applied { .. } | Event::Undone { .. } => {}
        }
    }

    fn state(&mut self, action_id: String, state: State) {
        self.actions.entry(action_id).or_default().state = Some(state);
    }
}

fn check_actions(expected: &Expected, found: Vec<Held<Action>>, damage: &mut Vec<Damage>) {
    let permits: BTreeMap<&str, &ExpectedPermit> =
        expected.permits.values().map(|permit| (permit.action_id.as_str(), permit)).collect();
    let mut left: BTreeMap<&String, &ExpectedAction> = expected.actions.iter().collect();
    for held in found {
        let (Some(action), Some(should)) = (held.body, left.remove(&held.id)) else {
            damage.push(wrong(None, format!("the action `{}` is on record and not on the ledger", held.id)));
            continue;
        };
        let uses = permits.get(held.id.as_str()).map(|permit| permit.uses.as_slice()).unwrap_or_default();
        let state = match uses {
            [] => should.state,
            uses => Some(state_after(uses)),
        };
        let same = Some(action.state) == state
            && action.decision_document == should.decision_document
            && action.approval_documents.len() == should.approvals;
        if !same {
            let problem =
                format!("submits the action `{}`, whose record says something else than the ledger", held.id);
            damage.push(wrong(Some(should.index), problem));
        }
    }
    for (id, should) in left {
        damage.push(wrong(Some(should.index), format!("submits the action `{id}`, which has no record")));
    }
}

fn check_permits(expected: &Expected, found: Vec<Held<Permit>>, damage: &mut Vec<Damage>) {
    let mut left: BTreeMap<&String, &ExpectedPermit> = expected.permits.iter().collect();
    for held in found {
        let (Some(permit), Some(should)) = (held.body, left.remove(&held.id)) else {
            damage.push(wrong(None, format!("the permit `{}` is on record and not on the ledger", held.id)));
            continue;
        };
        let outcome = |number: u64| should.uses.get(usize::try_from(number).ok()?.checked_sub(1)?).copied();
        let shown =
            permit.uses.iter().all(|it| outcome(it.number) == Some(it.settled.as_ref().map(|it| it.outcome)));
        let open = |outcome: &Option<UseOutcome>| matches!(outcome, None | Some(UseOutcome::Unknown));
        let all_open = permit.outcomes().iter().filter(|it| open(it)).count()
            == should.uses.iter().filter(|it| open(it)).count();
        let same = permit.used == should.uses.len() as u64
            && shown
            && all_open
            && permit.max_executions == should.max_executions
            && permit.valid_until_ms == should.valid_until_ms
            && permit.action_id == should.action_id;
        if !same {
            let problem = format!(
                "mints `{}`, which was used {} times by the ledger and {} times by its record, or is recorded otherwise",
                held.id,
                should.uses.len(),
                permit.used
            );
            damage.push(wrong(Some(should.index), problem));
        }
    }
    for (id, should) in left {
        damage.push(wrong(Some(should.index), format!("mints `{id}`, which has no record")));
    }
}

fn compare<T: PartialEq>(
    what: &str,
    expected: &BTreeMap<String, T>,
    found: &BTreeMap<String, T>,
    damage: &mut Vec<Damage>,
) {
    for (id, value) in found {
        match expected.get(id) {
            Some(should) if should == value => {}
            Some(_) => damage
                .push(wrong(None, format!("the {what} `{id}` is recorded otherwise than on the ledger"))),
            None => damage.push(wrong(None, format!("the {what} `{id}` is on record and not on the ledger"))),
        }
    }
    for id in expected.keys().filter(|id| !found.contains_key(*id)) {
        damage.push(wrong(None, format!("the {what} `{id}` is on the ledger and has no record")));
    }
}

fn wrong(index: Option<u64>, problem: String) -> Damage {
    Damage { index, problem }
}
