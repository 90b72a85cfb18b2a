//! Whether the records kept beside the ledger follow from it: a change of a record changes no entry. And
//! whether the entries follow from each other.

use super::audit::{NamedNote, audit};
use super::error::GateError;
use super::fold::{DocumentReader, Fold};
use super::ids::{EvidenceId, GrantId, KeyId, TokenId};
use super::index::{BLOCK, Block, id_of, rows_of};
use super::limits::RECORD_DAMAGE_MAX;
use super::open::Gate;
use super::records::{
    Action, Control, CountedSession, CountedStatement, DeedHold, Effect, Evidence, IdOf, Key, StandingGrant,
    Stored, Token,
};
use super::signatures::SignatureAudit;
use ordain_api::limits::PAGE_MAX;
use ordain_api::{Audit, Damage, Entry};
use ordain_ledger::{NoteVerifier, SignedNote};
use ordain_store::{Query, Store};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const PAGE: usize = 1_000;

/// Checks the whole ledger and, if it is sound, every record beside it.
pub async fn fsck(
    store: &Store,
    verifiers: &[NoteVerifier],
    checkpoints: &[NamedNote],
    progress: impl FnMut(u64, u64),
) -> Result<Audit, GateError> {
    let mut audit = audit(store, verifiers, checkpoints, progress).await?;
    if audit.damage.is_empty() {
        audit.damage = check_records(store).await?;
        audit.damage.truncate(RECORD_DAMAGE_MAX);
    }
    Ok(audit)
}

impl Gate {
    /// Checks the whole ledger and the records beside it. `kept` is the file of the last signed head, if
    /// there is one.
    pub async fn fsck(&self, kept: Option<&Path>) -> Result<Audit, GateError> {
        let failed =
            |problem: String| GateError::Unavailable(format!("cannot read the kept checkpoint: {problem}"));
        // Before the head is read, so that the ledger cannot be smaller than the checkpoint says.
        let kept = match kept.map(std::fs::read_to_string) {
            Some(Ok(text)) => {
                let note = SignedNote::parse(&text).map_err(|error| failed(error.to_string()))?;
                Some(NamedNote { name: "the checkpoint that the gate keeps".to_owned(), note, own: true })
            }
            Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error.to_string()));
            }
            _ => None,
        };
        let verifiers = super::ledger::verifiers(&self.store, Some(&self.keyring())).await?;
        fsck(&self.store, &verifiers, kept.as_slice(), |_, _| ()).await
    }
}

/// Compares all records of a store with its entries, and each entry with those before it. The ledger itself
/// must have been checked before. Records that others change meanwhile are left for the next time.
pub async fn check_records(store: &Store) -> Result<Vec<Damage>, GateError> {
    let mut check = Check { store, size: store.head().await?.size, damage: Vec::new() };
    let fold = check.fold().await?;
    check.control(&fold).await?;
    check.actions(&fold).await?;
    check.effects(&fold).await?;
    check.evidence(&fold).await?;
    check.deeds(&fold).await?;
    check.grants(&fold).await?;
    check.tokens(&fold).await?;
    check.keys(&fold).await?;
    check.statements(&fold).await?;
    check.sessions(&fold).await?;
    check.index().await?;
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
struct Found<T: Stored> {
    bodies: BTreeMap<IdOf<T>, T>,
    /// Those that changed since the check began, or that cannot be read.
    passed_over: BTreeSet<IdOf<T>>,
}

impl Check<'_> {
    fn wrong(&mut self, index: Option<u64>, problem: String) {
        self.damage.push(Damage { index, problem });
    }

    /// The records that the entries come to. Each entry is compared with those before it.
    async fn fold(&mut self) -> Result<Fold, GateError> {
        let mut fold = Fold::default();
        let mut reader = DocumentReader::new();
        let mut signatures = SignatureAudit::default();
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
                reader.at(row.attached);
                let Ok(entry) = serde_json::from_slice::<Entry>(&row.bytes) else { continue };
                let mark = entry.changes.filter(|_| entry.event.changes_gate());
                if row.mark != mark {
                    let word =
                        |mark: Option<u64>| mark.map_or_else(|| "none".to_owned(), |mark| mark.to_string());
                    let problem = format!("has the mark {} and should have {}", word(row.mark), word(mark));
                    self.wrong(Some(row.index), problem);
                }
                let documents = reader.documents(self.store, &entry.event).await?;
                for problem in signatures.add(row.index, &entry) {
                    self.wrong(Some(row.index), problem);
                }
                for problem in fold.doubts(row.index, &entry, &documents) {
                    self.wrong(Some(row.index), problem);
                }
                fold.add(row.index, entry, documents);
            }
        }
        if let Some(problem) = signatures.end() {
            self.wrong(index.checked_sub(1), problem);
        }
        Ok(fold)
    }

    async fn found<T: Stored>(&mut self) -> Result<Found<T>, GateError> {
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
                    found.passed_over.insert(record.id.into());
                    continue;
                }
                match serde_json::from_str::<T>(&record.body) {
                    Err(error) => {
                        self.wrong(None, format!("{name} cannot be read: {error}"));
                        found.passed_over.insert(record.id.into());
                    }
                    Ok(body) => {
                        if body.state() != record.state {
                            let listed =
                                format!("{name} is listed as {} and is {}", record.state, body.state());
                            self.wrong(None, listed);
                        }
                        found.bodies.insert(record.id.into(), body);
                    }
                }
            }
        }
    }

    /// Every record must be on the ledger and the same there, and the other way round.
    fn compare<T: Stored + PartialEq>(
        &mut self,
        what: &str,
        found: &Found<T>,
        expected: &BTreeMap<IdOf<T>, T>,
        place: impl Fn(&T) -> Option<u64>,
        difference: impl Fn(&IdOf<T>, &T, &T) -> String,
    ) {
        for (id, body) in &found.bodies {
            match expected.get::<T::Id>(id.borrow()) {
                None => self.wrong(None, format!("the {what} `{id}` is on record and not on the ledger")),
                Some(should) if should != body => self.wrong(place(should), difference(id, body, should)),
                Some(_) => {}
            }
        }
        let there = |id: &&IdOf<T>| {
            let id: &T::Id = (*id).borrow();
            found.bodies.contains_key(id) || found.passed_over.contains(id)
        };
        for (id, should) in expected.iter().filter(|(id, _)| !there(id)) {
            self.wrong(place(should), format!("the {what} `{id}` is on the ledger and has no record"));
        }
    }

    async fn control(&mut self, fold: &Fold) -> Result<(), GateError> {
        let found = self.found::<Control>().await?;
        if found.bodies.len() + found.passed_over.len() != 1 && self.size > 0 {
            self.wrong(None, "the gate's own record is missing, or there are several".to_owned());
        }
        for control in found.bodies.into_values() {
            if control.halt.is_some() != fold.halt.is_some() {
                let word = |halted: bool| if halted { "halted" } else { "open" };
                let (record, ledger) = (word(control.halt.is_some()), word(fold.halt.is_some()));
                self.wrong(None, format!("the gate is {record} on record and {ledger} by the ledger"));
            } else if control.halt != fold.halt {
                let problem = "the gate was halted by another or for another reason than on record";
                self.wrong(None, problem.to_owned());
            }
            if control.observing != fold.observing {
                let problem = "the hooks that are observed are not those that the ledger names";
                self.wrong(None, problem.to_owned());
            }
            if control.policy != fold.policy {
                let problem = "the policies in force are not those that the ledger names last";
                self.wrong(None, problem.to_owned());
            }
            if control.keys != fold.keys_in_force {
                let problem = "the keys of approvers in force are not those that the ledger names last";
                self.wrong(None, problem.to_owned());
            }
            if Some(control.origin) != fold.origin {
                self.wrong(Some(0), "names another ledger than the gate's own record".to_owned());
            }
        }
        Ok(())
    }

    async fn actions(&mut self, fold: &Fold) -> Result<(), GateError> {
        let found = self.found::<Action>().await?;
        let difference = |id: &String, action: &Action, should: &Action| {
            let uses = |action: &Action| action.permit.as_ref().map(|permit| permit.used);
            if let (Some(record), Some(ledger), Some(permit)) = (uses(action), uses(should), &should.permit)
                && record != ledger
            {
                return format!(
                    "submits the action `{id}`, of whose permit `{}` the ledger has {ledger} uses and the record {record}",
                    permit.id
                );
            }
            if action.evidence_documents != should.evidence_documents {
                return format!("submits the action `{id}`, whose record names other evidence");
            }
            format!("submits the action `{id}`, whose record says something else than the ledger")
        };
        self.compare("action", &found, &fold.actions, |action| Some(action.submitted_index), difference);
        Ok(())
    }

    async fn effects(&mut self, fold: &Fold) -> Result<(), GateError> {
        let found = self.found::<Effect>().await?;
        // The record of an effect whose uses are all over need not exist.
        let expected = fold.effects.iter().filter(|(id, effect)| {
            let says_something =
                !effect.open.is_empty() || !effect.rejections.is_empty() || effect.settled.is_some();
            says_something || found.bodies.contains_key(*id)
        });
        let expected = expected.map(|(id, effect)| (id.clone(), effect.clone())).collect();
        let difference = |_: &String, effect: &Effect, should: &Effect| {
            let record: BTreeSet<_> = effect.open.iter().collect();
            let ledger: BTreeSet<_> = should.open.iter().collect();
            if record == ledger {
                return "has a record of its effect that counts other uses or rejections than the ledger"
                    .to_owned();
            }
            let uses: Vec<String> = record
                .symmetric_difference(&ledger)
                .map(|open| format!("use {} of `{}`", open.number, open.permit_id))
                .collect();
            format!(
                "{} is open in one of record and ledger only, so that its effect is guarded wrongly",
                uses.join(", ")
            )
        };
        self.compare("effect", &found, &expected, |_| None, difference);
        Ok(())
    }

    async fn evidence(&mut self, fold: &Fold) -> Result<(), GateError> {
        let found = self.found::<Evidence>().await?;
        let difference = |id: &EvidenceId, _: &Evidence, _: &Evidence| {
            format!("receives the evidence `{id}`, whose record says something else")
        };
        let place = |evidence: &Evidence| Some(evidence.received_index);
        self.compare("evidence packet", &found, &fold.evidence, place, difference);
        Ok(())
    }

    async fn deeds(&mut self, fold: &Fold) -> Result<(), GateError> {
        let found = self.found::<DeedHold>().await?;
        let difference = |id: &String, _: &DeedHold, _: &DeedHold| {
            format!("the deed `{id}` leads to another action on record than on the ledger")
        };
        self.compare("deed", &found, &fold.deeds, |_| None, difference);
        Ok(())
    }

    async fn grants(&mut self, fold: &Fold) -> Result<(), GateError> {
        let found = self.found::<StandingGrant>().await?;
        let difference = |id: &GrantId, grant: &StandingGrant, should: &StandingGrant| {
            if grant.used == should.used {
                return format!("the grant `{id}` is recorded otherwise than on the ledger");
            }
            format!("the grant `{id}` has {} uses on record and {} on the ledger", grant.used, should.used)
        };
        self.compare("grant", &found, &fold.grants, |grant| Some(grant.granted_index), difference);
        Ok(())
    }

    async fn tokens(&mut self, fold: &Fold) -> Result<(), GateError> {
        let found = self.found::<Token>().await?;
        let difference = |id: &TokenId, token: &Token, should: &Token| {
            let what = if token.revoked_at_ms.is_some() != should.revoked_at_ms.is_some() {
                if should.revoked_at_ms.is_some() { "it was revoked" } else { "it was not revoked" }
            } else if (token.secret_hash, token.expires_at_ms) != (should.secret_hash, should.expires_at_ms) {
                "its secret, or until when it holds"
            } else {
                "its principal, names or roles, or its times"
            };
            format!("the token `{id}` is recorded otherwise than on the ledger: {what}")
        };
        self.compare("token", &found, &fold.tokens, |_| None, difference);
        Ok(())
    }

    async fn statements(&mut self, fold: &Fold) -> Result<(), GateError> {
        let found = self.found::<CountedStatement>().await?;
        let difference = |id: &String, _: &CountedStatement, _: &CountedStatement| {
            format!("the statement `{id}` counted with another entry on the ledger than on record")
        };
        self.compare("statement", &found, &fold.statements, |counted| Some(counted.index), difference);
        Ok(())
    }

    async fn sessions(&mut self, fold: &Fold) -> Result<(), GateError> {
        let found = self.found::<CountedSession>().await?;
        let difference = |id: &String, _: &CountedSession, _: &CountedSession| {
            format!("signature `{id}` counted with another entry on the ledger than on record")
        };
        self.compare("session", &found, &fold.sessions, |counted| Some(counted.index), difference);
        Ok(())
    }

    /// Where the index has a block, it must be the one of the entries. A block that is missing is made later.
    async fn index(&mut self) -> Result<(), GateError> {
        let found = self.found::<Block>().await?;
        for (id, block) in &found.bodies {
            let place = id.parse::<u64>().ok().and_then(|number| number.checked_mul(BLOCK));
            let same = match place.filter(|place| *id == id_of(place / BLOCK) && place + BLOCK <= self.size) {
                Some(place) => {
                    let rows = rows_of(self.store, place..place + BLOCK).await?;
                    *block == Block::of(&rows, self.store.attached(place).await?)
                }
                None => false,
            };
            if !same {
                self.wrong(
                    place,
                    format!("begins a part whose index `{id}` says something else than its entries"),
                );
            }
        }
        Ok(())
    }

    async fn keys(&mut self, fold: &Fold) -> Result<(), GateError> {
        let found = self.found::<Key>().await?;
        let difference =
            |id: &KeyId, _: &Key, _: &Key| format!("the key `{id}` is recorded otherwise than on the ledger");
        self.compare("key", &found, &fold.keys, |_| None, difference);
        Ok(())
    }
}
