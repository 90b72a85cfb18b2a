//! Where on the ledger a name occurs. For every 256 entries one record lists the names in them, each by 16
//! bits of its hash and its place: about 20 bytes for an allowed action. A reader that finds a place looks at
//! the entry itself, so that a wrong guess costs a read and nothing else. Records are made after the entries,
//! beside the work of the gate; entries without one are looked through.

use super::error::GateError;
use super::open::Gate;
use super::records::Stored;
use base64ct::{Base64, Encoding};
use ordain_api::{Entry, Event};
use ordain_canon::ContentHash;
use ordain_store::{Change, EntryRow, Guard, NewRecord, Query, Record, Store, StoreError, Writes};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Entries of one block.
pub(crate) const BLOCK: u64 = 256;
/// Blocks that one sweep adds.
const SWEEP_MAX: usize = 32;
/// Records that are read at once.
const PAGE: usize = 64;

/// A name on the ledger.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Term {
    /// The proposer.
    Actor(String),
    /// The action's type.
    ActionType(String),
    /// The resource id of the target.
    Target(String),
    /// The author of a verdict.
    Approver(String),
    /// The action, on entries that its record does not lead to.
    Action(String),
    /// A document that an entry names.
    Document(String),
    /// A key that an entry announces.
    Key(String),
}

impl Term {
    fn short(&self) -> u16 {
        let text = match self {
            Self::Actor(text) => format!("actor {text}"),
            Self::ActionType(text) => format!("type {text}"),
            Self::Target(text) => format!("target {text}"),
            Self::Approver(text) => format!("approver {text}"),
            Self::Action(text) => format!("action {text}"),
            Self::Document(text) => format!("document {text}"),
            Self::Key(text) => format!("key {text}"),
        };
        let hash = ContentHash::of(text.as_bytes());
        let [first, second, ..] = hash.as_bytes();
        u16::from_be_bytes([*first, *second])
    }
}

/// The part of a proposal that has names.
#[derive(Deserialize)]
struct Named {
    action_type: Option<String>,
    target: Option<NamedTarget>,
}

#[derive(Deserialize)]
struct NamedTarget {
    resource_id: Option<String>,
}

/// The names of an entry. `attached` are the documents that are kept with it.
pub(crate) fn terms(entry: &Entry, attached: &[Vec<u8>]) -> BTreeSet<Term> {
    let mut terms: BTreeSet<Term> =
        entry.event.documents().into_iter().map(|hash| Term::Document(hash.to_owned())).collect();
    match &entry.event {
        Event::Submitted { actor, proposal_document, .. } => {
            terms.insert(Term::Actor(actor.clone()));
            let proposal = attached.iter().find(|bytes| ContentHash::of(bytes).is(proposal_document));
            if let Some(named) = proposal.and_then(|bytes| serde_json::from_slice::<Named>(bytes).ok()) {
                terms.extend(named.action_type.map(Term::ActionType));
                terms.extend(named.target.and_then(|target| target.resource_id).map(Term::Target));
            }
        }
        Event::Approved { .. } | Event::Rejected { .. } => {
            terms.insert(Term::Approver(entry.by.clone()));
        }
        Event::Granted { action_id, .. }
        | Event::Superseded { action_id, .. }
        | Event::Expired { action_id }
        | Event::PermitSpent { action_id, .. }
        | Event::PermitSettled { action_id, .. }
        | Event::Applied { action_id, .. }
        | Event::Undone { action_id, .. } => {
            terms.insert(Term::Action(action_id.clone()));
        }
        Event::KeyRotated { key_id, .. } | Event::ApproverKeyEnrolled { key_id, .. } => {
            terms.insert(Term::Key(key_id.clone()));
        }
        _ => {}
    }
    terms
}

/// The names of entries that follow each other. `before` are the documents of the step that the first of them
/// belongs to.
fn names(rows: &[EntryRow], before: Vec<Vec<u8>>) -> Vec<(u64, BTreeSet<Term>)> {
    let mut attached: &[Vec<u8>] = &before;
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        if !row.attached.is_empty() {
            attached = &row.attached;
        }
        let entry = serde_json::from_slice::<Entry>(&row.bytes);
        all.push((row.index, entry.map(|entry| terms(&entry, attached)).unwrap_or_default()));
    }
    all
}

/// The record of a block: its names and places, sorted, as differences.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Block {
    pub(crate) terms: String,
}

impl Stored for Block {
    const KIND: &'static str = "index";
    type Id = str;
    fn state(&self) -> &'static str {
        "made"
    }
}

impl Block {
    /// Makes the record of one block from its entries, in their order. `before` are the documents of the step
    /// that the first of them belongs to.
    pub(crate) fn of(rows: &[EntryRow], before: Vec<Vec<u8>>) -> Self {
        let mut found: BTreeSet<(u16, u8)> = BTreeSet::new();
        for (place, (_, names)) in (0..=u8::MAX).zip(names(rows, before)) {
            found.extend(names.iter().map(|term| (term.short(), place)));
        }
        let (mut bytes, mut before) = (Vec::new(), 0);
        for (short, place) in found {
            let mut difference = short - before;
            before = short;
            while difference >= 0x80 {
                bytes.push(0x80 | (difference & 0x7f) as u8);
                difference >>= 7;
            }
            bytes.extend([difference as u8, place]);
        }
        Self { terms: Base64::encode_string(&bytes) }
    }

    /// The places where a name may be.
    fn places(&self, wanted: u16) -> Vec<u8> {
        let bytes = Base64::decode_vec(&self.terms).unwrap_or_default();
        let (mut found, mut short, mut bytes) = (Vec::new(), 0u32, bytes.into_iter());
        'terms: loop {
            let (mut difference, mut shift) = (0u32, 0);
            loop {
                let Some(byte) = bytes.next() else { break 'terms };
                difference |= u32::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 || shift > 14 {
                    break;
                }
            }
            short = short.saturating_add(difference);
            let Some(place) = bytes.next() else { break };
            if short == u32::from(wanted) {
                found.push(place);
            }
        }
        found
    }
}

pub(crate) fn id_of(block: u64) -> String {
    format!("{block:012}")
}

fn block_of(record: &Record) -> Result<(u64, Block), GateError> {
    let damaged = |problem: String| GateError::Damaged(format!("the index `{}`: {problem}", record.id));
    let number = record.id.parse().map_err(|_| damaged("its id is not a number".to_owned()))?;
    let block = serde_json::from_str(&record.body).map_err(|error| damaged(error.to_string()))?;
    Ok((number, block))
}

impl Gate {
    /// Adds the blocks that are full and not in the index yet; how many. Another node may do the same.
    pub(crate) async fn extend_index(&self) -> Result<usize, GateError> {
        let size = self.store.head().await?.size;
        let mut next = self.indexed(u64::MAX, 1).await?.first().map_or(0, |(number, _)| number + 1);
        let mut added = 0;
        while added < SWEEP_MAX && (next + 1) * BLOCK <= size {
            let rows = rows_of(&self.store, next * BLOCK..(next + 1) * BLOCK).await?;
            let before = self.store.attached(next * BLOCK).await?;
            let body = serde_json::to_string(&Block::of(&rows, before))
                .map_err(|error| GateError::Damaged(error.to_string()))?;
            let record = NewRecord::new(Block::KIND, id_of(next), "made", body);
            let guard = Guard::absent(Block::KIND, id_of(next));
            let change = Change::new(vec![guard], |_| Writes { records: vec![record], ..Writes::default() });
            match self.store.commit(change).await {
                Ok(_) => added += 1,
                Err(StoreError::Conflict { .. }) => return Ok(added),
                Err(error) => return Err(error.into()),
            }
            next += 1;
        }
        Ok(added)
    }

    /// Blocks below a number, the last first.
    async fn indexed(&self, below: u64, limit: usize) -> Result<Vec<(u64, Block)>, GateError> {
        // Blocks are added in their order, and so are their ids.
        let mut after = None;
        if below != u64::MAX {
            let Some(record) = self.store.record(Block::KIND, &id_of(below)).await? else {
                return Ok(Vec::new());
            };
            after = Some((record.changed_at, record.id));
        }
        let query = Query { kind: Block::KIND.to_owned(), state: None, after, limit, newest_first: true };
        self.store.records(&query).await?.iter().map(block_of).collect()
    }

    /// Entries in a range that may have all of these names, the last first, until there are so many. Entries
    /// that are in no block yet are looked through.
    pub(crate) async fn places(
        &self,
        terms: &[Term],
        range: Range<u64>,
        limit: usize,
    ) -> Result<Places, GateError> {
        let size = self.store.head().await?.size.min(range.end);
        let newest = self.indexed(u64::MAX, 1).await?.first().map_or(0, |(number, _)| number + 1);
        let mut places = Places { found: Vec::new(), looked_down_to: range.start };
        // The end of the ledger, which is in no block yet.
        let mut end = size;
        let tail = (newest * BLOCK).max(range.start);
        while end > tail && places.found.len() < limit {
            let start = end.saturating_sub(BLOCK).max(tail);
            let rows = rows_of(&self.store, start..end).await?;
            let before = self.store.attached(start).await?;
            for (index, names) in names(&rows, before).into_iter().rev() {
                if terms.iter().all(|term| names.contains(term)) {
                    places.found.push(index);
                }
            }
            end = start;
        }
        if end > tail {
            places.looked_down_to = end;
            return Ok(places);
        }
        let shorts: Vec<u16> = terms.iter().map(Term::short).collect();
        let mut below = end.div_ceil(BLOCK).min(newest);
        let mut from = if below == newest { u64::MAX } else { below };
        while below * BLOCK > range.start && places.found.len() < limit {
            let blocks = self.indexed(from, PAGE).await?;
            if blocks.is_empty() {
                break;
            }
            for (number, block) in blocks {
                if (number + 1) * BLOCK <= range.start || places.found.len() >= limit {
                    break;
                }
                let mut common: BTreeMap<u8, usize> = BTreeMap::new();
                for short in &shorts {
                    for place in block.places(*short) {
                        *common.entry(place).or_default() += 1;
                    }
                }
                let all = common.into_iter().rev().filter(|(_, count)| *count >= shorts.len());
                let indexes = all.map(|(place, _)| number * BLOCK + u64::from(place));
                places.found.extend(indexes.filter(|index| range.contains(index) && *index < size));
                below = number;
            }
            from = below;
        }
        if places.found.len() >= limit {
            places.looked_down_to = (below * BLOCK).max(range.start);
        }
        Ok(places)
    }
}

/// The result of a search.
pub(crate) struct Places {
    /// The last first.
    pub(crate) found: Vec<u64>,
    /// Nothing below this was looked at, unless it is the start of the range.
    pub(crate) looked_down_to: u64,
}

/// All entries of a range, however long they are.
pub(crate) async fn rows_of(store: &Store, range: Range<u64>) -> Result<Vec<EntryRow>, GateError> {
    let mut rows: Vec<EntryRow> = Vec::new();
    let mut next = range.start;
    while next < range.end {
        let limit = usize::try_from(range.end - next).unwrap_or(usize::MAX);
        let page = store.entries(next, limit).await?;
        let Some(last) = page.last() else { break };
        next = last.index + 1;
        rows.extend(page);
    }
    Ok(rows)
}
