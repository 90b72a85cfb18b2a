//! Whether the statements on the ledger are signed by keys that the ledger enrolled: of owner acts and of verdicts.
//!
//! Everything comes from the entries, so that an exported ledger can be checked without its store.

use super::claim::Claim;
use super::error::GateError;
use super::ledger::PAGE;
use super::limits::CLOCKS_APART_MS_MAX;
use super::owner::{check_key_entry, session_id};
use ordain_api::limits::GRACE_MS;
use ordain_api::{Damage, Entry, Event, Halt, ReplacedGate, Settlement, UseOutcome};
use ordain_canon::{Canonicalizer, ContentHash};
use ordain_ledger::{Checkpoint, SignedNote};
use ordain_spec::approval::Verdict;
use ordain_spec::limits::STATEMENT_MS_MAX;
use ordain_spec::statement::{ApproverKeys, How, NONE, SignatureError, Statement, key_id};
use ordain_store::Store;
use std::collections::{BTreeMap, BTreeSet};

/// The state of the entries so far: who may sign, and the states that acts change.
#[derive(Default)]
pub(crate) struct SignatureAudit {
    origin: String,
    keys: ApproverKeys,
    proposals: BTreeMap<String, String>,
    policy_hash: Option<String>,
    /// The pins that were put in force last.
    pins: Option<String>,
    halt: Option<Halt>,
    counted: BTreeSet<ContentHash>,
    /// The signatures of keys that stayed unlocked.
    sessions: BTreeSet<String>,
    /// The uses of permits whose outcome is not known.
    open_uses: BTreeMap<(String, u64), OpenUse>,
    /// How often the gate's own state changed, and whether the last entry says so.
    changes: u64,
    changes_told: bool,
    /// Whether the gate has put its own key on record.
    has_gate_key: bool,
}

/// A use whose outcome is not known: its worker, and until when the worker says how it went.
struct OpenUse {
    worker: String,
    deadline_ms: u64,
}

impl SignatureAudit {
    /// The first key that was enrolled.
    pub(crate) fn first_key(&self) -> Option<&str> {
        self.keys.keys.first().map(|key| key.public_key.as_str())
    }

    /// The keys of approvers.
    pub(crate) fn keys(&self) -> &ApproverKeys {
        &self.keys
    }

    /// After the last entry: that it says how often the gate's own state has changed.
    pub(crate) fn end(&self) -> Option<String> {
        let told = self.changes_told || self.changes == 0;
        (!told).then(|| "the last entry does not say how often the gate's state has changed".to_owned())
    }

    /// Looks at the next entry, and says what is wrong with its signatures.
    pub(crate) fn add(&mut self, index: u64, entry: &Entry) -> Vec<String> {
        let mut problems = Vec::new();
        let changes = self.changes + u64::from(entry.event.changes_gate());
        self.changes = changes;
        self.changes_told = entry.changes.is_some();
        let must_tell = entry.event.changes_gate();
        if entry.changes.is_some_and(|told| told != changes) || must_tell && entry.changes.is_none() {
            let told = entry.changes.map_or_else(|| "no".to_owned(), |told| told.to_string());
            problems.push(format!(
                "{}: it counts {told} changes of the gate's state, and there are {changes}",
                entry.event.name()
            ));
        }
        if let Err(problem) = self.check(index, entry) {
            problems.push(format!("{}: {problem}", entry.event.name()));
        }
        for signed in &entry.signed {
            if !self.counted.insert(signed.statement_hash()) {
                problems.push(format!("{}: its statement counted before", entry.event.name()));
            }
            if session_id(signed).is_some_and(|id| !self.sessions.insert(id)) {
                problems.push(format!(
                    "{}: another statement with the same session and number counted before",
                    entry.event.name()
                ));
            }
        }
        self.go_on(entry);
        problems
    }

    fn check(&mut self, index: u64, entry: &Entry) -> Result<(), String> {
        let is_signed = entry.how == How::Signed || entry.how == How::Passkey;
        if let Some(problem) = (!entry.signed.is_empty() && !is_signed)
            .then_some("it has a statement and says that nobody signed")
        {
            return Err(problem.to_owned());
        }
        if entry.signed.first().is_some_and(|signed| signed.method.how() != entry.how) {
            return Err("it says that it was signed in another way than its statement".to_owned());
        }
        for signed in &entry.signed {
            let statement = Statement::parse(&signed.statement).map_err(|error| error.to_string())?;
            let (at_ms, not_after_ms) = statement.window_ms();
            let in_time = at_ms <= entry.at_ms.saturating_add(CLOCKS_APART_MS_MAX)
                && entry.at_ms <= not_after_ms.saturating_add(CLOCKS_APART_MS_MAX)
                && not_after_ms.saturating_sub(at_ms) <= STATEMENT_MS_MAX;
            if !in_time {
                return Err("its statement is of another time".to_owned());
            }
        }
        if entry.signed.first().is_some_and(|signed| {
            Statement::parse(&signed.statement).is_ok_and(|statement| statement.principal() != entry.by)
        }) {
            return Err(format!("its statement is not by `{}`", entry.by));
        }
        match &entry.event {
            Event::Opened { .. } if index > 0 => Err("a ledger begins once".to_owned()),
            Event::Opened { replaces: Some(replaced), .. } => check_replaced(replaced),
            // A gate puts its first key on record by itself.
            Event::KeyRotated { retires: None, .. } if !self.has_gate_key && entry.signed.is_empty() => {
                Ok(())
            }
            Event::ApproverKeyEnrolled { .. } | Event::ApproverKeyRevoked { .. } => {
                check_key_entry(&self.origin, &mut self.keys, index, entry)
            }
            Event::Approved { action_id, .. } => {
                self.check_verdict(index, entry, action_id, Verdict::Approve)
            }
            Event::Rejected { action_id, .. } => self.check_verdict(index, entry, action_id, Verdict::Reject),
            Event::PermitSettled { permit_id, number, outcome, .. } => {
                self.check_settlement(index, entry, permit_id, *number, *outcome)
            }
            event => match Claim::of_event(event) {
                Some(claim) => {
                    let claim = match self.state_before(event) {
                        Some(from) => claim.changing(from),
                        None => claim,
                    };
                    claim.check(&self.origin, &self.keys, Some(index), &entry.signed).map(drop)
                }
                // The other entries of a signed step say so, and have no statement of their own.
                None if entry.signed.is_empty() => Ok(()),
                None => Err("nobody signs it, and it has a statement".to_owned()),
            },
        }
    }

    fn check_verdict(
        &self,
        index: u64,
        entry: &Entry,
        action_id: &str,
        verdict: Verdict,
    ) -> Result<(), String> {
        let [signed] = entry.signed.as_slice() else {
            let unsigned = entry.signed.is_empty() && !matches!(entry.how, How::Signed | How::Passkey);
            return if unsigned { Ok(()) } else { Err("it has no statement, or several".to_owned()) };
        };
        let (statement, _) = self.keys.verify_at(index, signed).map_err(|error| error.to_string())?;
        let Statement::Approval(statement) = statement else {
            return Err("its statement is about an owner act".to_owned());
        };
        let proposal = self.proposals.get(action_id);
        let same = statement.origin == self.origin
            && statement.action_id == action_id
            && statement.verdict == verdict
            && Some(&statement.proposal_hash) == proposal;
        if same { Ok(()) } else { Err("its statement is about something else".to_owned()) }
    }

    /// An outcome is the worker's word until the deadline. Somebody else's, a later one, and one after "nobody knows"
    /// take an owner's key, unless they say that nobody knows.
    fn check_settlement(
        &self,
        index: u64,
        entry: &Entry,
        permit_id: &str,
        number: u64,
        outcome: UseOutcome,
    ) -> Result<(), String> {
        let checked = |outcome: UseOutcome| {
            let claim = Claim::settles(&Settlement { outcome, permit_id, number });
            claim.check(&self.origin, &self.keys, Some(index), &entry.signed).map(drop)
        };
        if entry.signed.is_empty() {
            let is_open = self.open_uses.get(&(permit_id.to_owned(), number));
            let is_workers = is_open.is_some_and(|open| {
                let until_ms = open.deadline_ms.saturating_add(GRACE_MS).saturating_add(CLOCKS_APART_MS_MAX);
                open.worker == entry.by && entry.at_ms <= until_ms
            });
            return if is_workers || outcome == UseOutcome::Unknown { Ok(()) } else { checked(outcome) };
        }
        // A use that succeeded by its worker's word and went beyond the permit has failed.
        checked(outcome).or_else(|problem| match outcome {
            UseOutcome::Failed => checked(UseOutcome::Succeeded).map_err(|_| problem),
            UseOutcome::Succeeded | UseOutcome::Unknown => Err(problem),
        })
    }

    /// The state that an act changes, as far as the entries say it.
    fn state_before(&self, event: &Event) -> Option<String> {
        let none = || NONE.to_owned();
        Some(match event {
            Event::PolicyChanged { .. } => self.policy_hash.clone().unwrap_or_else(none),
            Event::ServerPinned { .. } => self.pins.clone().unwrap_or_else(none),
            Event::Resumed { .. } => {
                let hash = |halt: &Halt| {
                    let bytes = Canonicalizer::new().value(halt).map(<[u8]>::to_vec).ok()?;
                    Some(ContentHash::of(&bytes).to_string())
                };
                self.halt.as_ref().and_then(hash).unwrap_or_else(none)
            }
            // A node whose key another one has retired makes a new one; nothing says which it had.
            Event::KeyRotated { retires, .. } => return retires.clone(),
            _ => none(),
        })
    }

    fn go_on(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Opened { origin, .. } => self.origin = origin.clone(),
            Event::Submitted { action_id, proposal_document, .. } => {
                self.proposals.insert(action_id.clone(), proposal_document.clone());
            }
            Event::PolicyChanged { policy_hash, .. } => self.policy_hash = Some(policy_hash.clone()),
            Event::ServerPinned { pins_document, .. }
            | Event::ToolBlocked { pins_document, .. }
            | Event::ServerListed { pins_document: Some(pins_document), .. } => {
                self.pins = Some(pins_document.clone());
            }
            Event::KeyRotated { .. } => self.has_gate_key = true,
            Event::Halted { reason } => {
                let (by, reason) = (entry.by.clone(), reason.clone());
                self.halt = Some(Halt { by, reason, at_ms: entry.at_ms });
            }
            Event::Resumed { .. } => self.halt = None,
            Event::PermitSpent { permit_id, number, deadline_ms, .. } => {
                let open = OpenUse { worker: entry.by.clone(), deadline_ms: *deadline_ms };
                self.open_uses.insert((permit_id.clone(), *number), open);
            }
            // Once nobody knows, the worker's word does not count any more.
            Event::PermitSettled { permit_id, number, .. } => {
                self.open_uses.remove(&(permit_id.clone(), *number));
            }
            _ => {}
        }
    }
}

/// The checkpoint of a replaced gate must be of the ledger that is named.
fn check_replaced(replaced: &ReplacedGate) -> Result<(), String> {
    let note = SignedNote::parse(&replaced.checkpoint).map_err(|error| error.to_string())?;
    let head = Checkpoint::parse(&note.text).map_err(|error| error.to_string())?;
    if head.origin == replaced.origin {
        Ok(())
    } else {
        Err(format!("the checkpoint of the replaced gate is of `{}`", head.origin))
    }
}

/// Checks every signature of a ledger from its entries alone, by the public key of its owner.
pub struct OwnerAudit {
    owner: String,
    signatures: SignatureAudit,
    size: u64,
    damage: Vec<Damage>,
}

impl OwnerAudit {
    /// At the beginning of a ledger. `owner` is the first key that was enrolled: 32 bytes in base64url without padding.
    pub fn new(owner: &str) -> Result<Self, SignatureError> {
        key_id(owner)?;
        Ok(Self {
            owner: owner.to_owned(),
            signatures: SignatureAudit::default(),
            size: 0,
            damage: Vec::new(),
        })
    }

    /// Looks at the next entry.
    pub fn add(&mut self, index: u64, bytes: &[u8]) {
        self.size = index + 1;
        match serde_json::from_slice::<Entry>(bytes) {
            Ok(entry) => {
                let problems = self.signatures.add(index, &entry);
                self.damage
                    .extend(problems.into_iter().map(|problem| Damage { index: Some(index), problem }));
            }
            Err(error) => {
                let problem = format!("is not an entry that this version knows: {error}");
                self.damage.push(Damage { index: Some(index), problem });
            }
        }
    }

    /// Everything that is wrong: forged and missing signatures, and another owner than the one expected.
    pub fn end(mut self) -> Vec<Damage> {
        let last = self.size.checked_sub(1);
        self.damage.extend(self.signatures.end().map(|problem| Damage { index: last, problem }));
        let problem = match self.signatures.first_key() {
            Some(first) if first == self.owner => return self.damage,
            Some(first) => format!("the first key that was enrolled is {first}, not {}", self.owner),
            None => "no key was ever enrolled: nobody owns this gate".to_owned(),
        };
        self.damage.insert(0, Damage { index: None, problem });
        self.damage
    }
}

/// The same over a store.
pub async fn audit_owner(store: &Store, owner: &str) -> Result<Vec<Damage>, GateError> {
    let audit = OwnerAudit::new(owner);
    let mut audit = audit.map_err(|error| GateError::invalid("/owner", error.to_string()))?;
    let size = store.head().await?.size;
    let mut index = 0;
    while index < size {
        let rows = store.entries(index, PAGE).await?;
        let Some(last) = rows.last() else { break };
        index = last.index + 1;
        rows.iter().for_each(|row| audit.add(row.index, &row.bytes));
    }
    Ok(audit.end())
}
