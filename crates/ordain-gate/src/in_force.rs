//! The gate's own state as the ledger has it. The store's records of policies, keys, tokens and a halt are
//! believed only as far as the entries say the same.
//!
//! The entries that change this state are few. Each has a number, which is also its mark in the store, and
//! the last entry of every step says how many there are: a mark that somebody removed is missed, and a record
//! that somebody set back is noticed.

use super::error::GateError;
use super::fold::{EntryDocuments, Fold, FoldedServer, ServerKey};
use super::ids::{GrantId, KeyId, TokenId};
use super::limits::TRIES_MAX;
use super::open::Gate;
use super::records::{CONTROL_ID, Control, Key, KeysInForce, StandingGrant, Stored, Token, Versioned};
use super::signatures::SignatureAudit;
use super::transaction::{busy, changes_of};
use ordain_api::Entry;
use ordain_canon::ContentHash;
use ordain_decision::{PublicKey, PublicKeys};
use ordain_ledger::Hash;
use ordain_spec::statement::ApproverKeys;
use ordain_store::limits::MARKED_MAX;
use ordain_store::{EntryRow, MarkedView, Record};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

/// The state that the entries with a mark come to, as far as they were read.
#[derive(Default)]
pub(super) struct LedgerState {
    /// How many of them there are: the mark of the last one.
    number: u64,
    fold: Fold,
    signatures: SignatureAudit,
    /// The keys of approvers after each entry that changed them.
    approver_keys: BTreeMap<u64, Arc<ApproverKeys>>,
    halt_index: Option<u64>,
    /// An entry that cannot be. Nothing after it is believed.
    damage: Option<String>,
}

impl LedgerState {
    /// How often the state changed.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the gate has a key on record.
    pub(super) fn has_gate_key(&self) -> bool {
        !self.fold.keys.is_empty()
    }

    /// A token as it is on the ledger.
    pub(super) fn token(&self, id: &TokenId) -> Option<&Token> {
        self.fold.tokens.get(id)
    }

    /// All tokens that are on the ledger.
    pub(super) fn tokens(&self) -> &BTreeMap<TokenId, Token> {
        &self.fold.tokens
    }

    /// A standing grant as it is on the ledger, but for its uses.
    pub(super) fn grant(&self, id: &GrantId) -> Option<&StandingGrant> {
        self.fold.grants.get(id)
    }

    /// Whether what an entry put in force still is: what is from before the first owner has lost its force.
    pub(super) fn has_force(&self, index: u64) -> bool {
        let keys = self.signatures.keys();
        !keys.has_owner() || keys.had_owner_at(index)
    }

    /// The pins that were put in force last.
    pub(super) fn last_pins(&self) -> Option<String> {
        self.fold.last_pins.clone()
    }

    /// The MCP servers that gateways have met.
    pub(super) fn servers(&self) -> &BTreeMap<ServerKey, FoldedServer> {
        &self.fold.servers
    }

    /// Whether the statement stands on an entry of an owner act.
    pub(super) fn has_counted(&self, statement: &ContentHash) -> Option<u64> {
        self.fold.statements.get(&statement.to_string()).map(|counted| counted.index)
    }

    /// Reads on, and gives the gate's own record, if it follows from the ledger. None: there is more to read,
    /// or somebody else has read more meanwhile.
    fn follow(&mut self, known: u64, view: MarkedView) -> Result<Option<Versioned<Control>>, GateError> {
        if let Some(damage) = &self.damage {
            return Err(GateError::Damaged(damage.clone()));
        }
        let full = view.marked.len() == MARKED_MAX;
        let mut seen = known;
        for row in view.marked {
            seen = row.mark.unwrap_or(seen);
            if seen > self.number
                && let Err(problem) = self.add(row)
            {
                self.damage = Some(problem.clone());
                return Err(GateError::Damaged(problem));
            }
        }
        if full {
            return Ok(None);
        }
        let counted = match &view.last {
            None => 0,
            Some(last) => number_in(last).map_err(GateError::Damaged)?,
        };
        if counted != seen {
            return Err(GateError::Damaged(format!(
                "the last entry counts {counted} changes of the gate's state, and {seen} are marked"
            )));
        }
        if self.number > seen {
            return Ok(None);
        }
        self.compare(view.record).map(Some)
    }

    fn add(&mut self, row: EntryRow) -> Result<(), String> {
        let index = row.index;
        let wrong = |problem: String| format!("entry {index} {problem}");
        let number = number_in(&row)?;
        let entry: Entry =
            serde_json::from_slice(&row.bytes).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        if !entry.event.changes_gate() || Some(number) != row.mark || number != self.number + 1 {
            return Err(wrong(format!(
                "is not change {} of the gate's state, and is marked as it",
                self.number + 1
            )));
        }
        if let Some(problem) = self.signatures.add(index, &entry).into_iter().next() {
            return Err(wrong(format!("does not count: {problem}")));
        }
        let (keys_before, halted_before) = (self.fold.keys_in_force, self.fold.halt.is_some());
        self.fold.add(index, entry, EntryDocuments::default());
        if self.fold.keys_in_force != keys_before {
            self.approver_keys.insert(index, Arc::new(self.signatures.keys().clone()));
        }
        if self.fold.halt.is_some() != halted_before {
            self.halt_index = Some(index);
        }
        self.number = number;
        Ok(())
    }

    /// The gate's own record, if it says what the ledger says.
    fn compare(&self, record: Option<Record>) -> Result<Versioned<Control>, GateError> {
        let Some(record) = record else {
            if self.number == 0 {
                return Ok(Versioned::absent(CONTROL_ID));
            }
            return Err(GateError::Damaged(format!("the record `{CONTROL_ID}` of the gate is missing")));
        };
        let found = Versioned::<Control>::of(record)?;
        let Some(control) = &found.body else { return Ok(found) };
        let fold = &self.fold;
        let entry = |index: Option<u64>| {
            index.map_or_else(|| "no entry".to_owned(), |index| format!("entry {index}"))
        };
        let difference = if Some(&control.origin) != fold.origin.as_ref() {
            Some(format!("names another ledger than {}", entry(Some(0))))
        } else if control.policy != fold.policy {
            let index = fold.policy.as_ref().map(|policy| policy.index);
            Some(format!("has other policies than {} put in force", entry(index)))
        } else if control.keys != fold.keys_in_force {
            let index = fold.keys_in_force.map(|keys| keys.index);
            Some(format!("has other keys of approvers than {} put in force", entry(index)))
        } else if control.halt != fold.halt {
            let word = if fold.halt.is_some() { "halted" } else { "resumed" };
            Some(format!("has another halt than the ledger, which {} {word} last", entry(self.halt_index)))
        } else if control.observing != fold.observing {
            Some("has other observations than the ledger".to_owned())
        } else {
            None
        };
        match difference {
            None => Ok(found),
            Some(difference) => {
                Err(GateError::Damaged(format!("the record `{CONTROL_ID}` of the gate {difference}")))
            }
        }
    }
}

/// How often the gate's state had changed, as an entry says.
fn number_in(row: &EntryRow) -> Result<u64, String> {
    let index = row.index;
    if Hash::of_leaf(&row.bytes) != row.leaf_hash {
        return Err(format!("entry {index} was changed: it does not have the hash that is on record for it"));
    }
    let number = changes_of(&row.bytes);
    number.ok_or_else(|| format!("entry {index} does not say how often the gate's state has changed"))
}

impl Gate {
    pub(super) fn ledger_state<T>(&self, read: impl FnOnce(&mut LedgerState) -> T) -> T {
        read(&mut self.shared.in_force.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The gate's own record as it is in the store, if the ledger bears it out: in one look at the database.
    pub(super) async fn read_control(&self) -> Result<Versioned<Control>, GateError> {
        let (mut tries, mut before) = (0, None);
        while tries < TRIES_MAX {
            let known = self.ledger_state(|state| state.number());
            tries = if before == Some(known) { tries + 1 } else { 0 };
            before = Some(known);
            let view = self.store.marked_view(Control::KIND, CONTROL_ID, known).await?;
            if let Some(control) = self.ledger_state(|state| state.follow(known, view))? {
                let kept = control.body.is_some().then(|| control.clone());
                self.write_cached(|cached| cached.control = kept);
                return Ok(control);
            }
        }
        Err(busy())
    }

    /// The record of a key of the gate, if the ledger bears it out.
    pub(super) async fn key(&self, id: &KeyId) -> Result<Versioned<Key>, GateError> {
        for again in [true, false] {
            let key = Versioned::<Key>::read(&self.store, id).await?;
            if self.ledger_state(|state| state.fold.keys.get(id) == key.body.as_ref()) {
                return Ok(key);
            }
            if again {
                self.read_control().await?;
            }
        }
        Err(GateError::Damaged(format!("the record of the gate's key `{id}` is not what the ledger says")))
    }

    /// The public keys that the ledger names. None is ever removed.
    pub(super) fn keys_on_ledger(&self) -> PublicKeys {
        self.ledger_state(|state| {
            let parsed = |(id, key): (&KeyId, &Key)| {
                let public = PublicKey::parse(&key.public_key).ok()?;
                (public.id() == id.as_str()).then(|| (id.to_string(), public))
            };
            state.fold.keys.iter().filter_map(parsed).collect()
        })
    }

    /// The keys of approvers that a record names. It was compared with the ledger, which has them.
    pub(super) fn approver_keys(&self, control: &Control) -> Result<Arc<ApproverKeys>, GateError> {
        let Some(KeysInForce { index, .. }) = control.keys else { return Ok(Arc::default()) };
        let keys = self.ledger_state(|state| state.approver_keys.get(&index).cloned());
        keys.ok_or_else(|| GateError::Damaged(format!("entry {index} puts no keys of approvers in force")))
    }
}
