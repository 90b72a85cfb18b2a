//! Reading the record: documents by their hashes, and entries with their documents. A document of an action
//! is for those who see the action. Values that the policies hide stay hidden, except from whoever holds the
//! store; a permit that can still be used is for those who may use it.

use super::caller::Caller;
use super::documents::Attached;
use super::error::GateError;
use super::index::{Term, rows_of};
use super::open::Gate;
use super::permits::Minted;
use super::policy::Loaded;
use super::records::{Action, Control, Versioned};
use super::status::{Shown, may_see, no_action, sees_evidence};
use super::transaction::Reading;
use ordain_api::{DocumentOnRecord, EntriesQuery, EntryPage, Event, LedgerEntry, Role};
use ordain_canon::{Canonicalizer, ContentHash};
use ordain_spec::statement::How;
use ordain_store::EntryRow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Entries that are looked at for one document: only those that name it, or have a name with the same short hash.
const PLACES_MAX: usize = 64;
/// Bytes of documents after which a page of entries ends.
const PAGE_BYTES_MAX: usize = 2 << 20;

/// The part of a document that a caller gets.
pub(crate) enum Given {
    Whole(String),
    Redacted(String),
    Nothing,
}

/// A caller that asks for documents, and the policies by which values are hidden.
pub(crate) struct Asking<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) control: Control,
    /// None: no policies can be read, so that nobody knows what to hide.
    pub(crate) loaded: Option<Arc<Loaded>>,
    pub(crate) now_ms: u64,
}

impl Asking<'_> {
    /// Whether it could read the store anyway.
    fn holds_store(&self) -> bool {
        self.caller.token.is_none() && self.caller.how() == How::Local
    }

    fn is_any(&self, roles: &[Role]) -> bool {
        roles.iter().any(|role| self.caller.is(*role))
    }

    /// How much of a document this caller gets. `action` is the action that the event is about, if it is about one.
    pub(crate) fn given(&self, event: &Event, kind: &str, action: Option<&Action>, bytes: &[u8]) -> Given {
        let Ok(text) = std::str::from_utf8(bytes) else { return Given::Nothing };
        let auditing = self.is_any(&[Role::Auditor, Role::Operator]);
        let seen = match (event, kind) {
            (Event::Drafted { .. }, _) => auditing,
            (Event::PolicyChanged { .. }, _) => auditing || self.caller.is(Role::Approver),
            (Event::ApproverKeyEnrolled { .. } | Event::ApproverKeyRevoked { .. }, _) => true,
            // An agent reads the lists of its servers anyway.
            (Event::ServerListed { .. } | Event::ServerPinned { .. } | Event::ToolBlocked { .. }, _) => true,
            (Event::EvidenceReceived { .. }, _) => sees_evidence(self.caller),
            (_, "earlier") => sees_evidence(self.caller) && action.is_some_and(|it| may_see(self.caller, it)),
            _ => action.is_some_and(|action| may_see(self.caller, action)),
        };
        if !seen {
            return Given::Nothing;
        }
        match kind {
            "permit" if !self.holds_store() => {
                let minted = Minted::of(text.to_owned());
                let over = minted.is_some_and(|minted| minted.is_over(self.now_ms));
                let own = action.is_some_and(|action| Shown::to(self.caller, &action.actor).shows_token());
                if over || own { Given::Whole(text.to_owned()) } else { Given::Nothing }
            }
            "proposal" | "request" | "call" | "grant" | "evidence" | "note" if !self.holds_store() => {
                self.redacted(text)
            }
            _ => Given::Whole(text.to_owned()),
        }
    }

    fn redacted(&self, text: &str) -> Given {
        let (Some(loaded), Ok(document)) = (&self.loaded, serde_json::from_str(text)) else {
            return Given::Nothing;
        };
        let shown = loaded.set.redacted(&document, &self.control.salt);
        if shown == document {
            return Given::Whole(text.to_owned());
        }
        let mut canon = Canonicalizer::new();
        let bytes = canon.value(&shown).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        bytes.map_or(Given::Nothing, Given::Redacted)
    }
}

/// The kind of a document that an event names.
pub(crate) fn kind_of(event: &Event, hash: &str) -> &'static str {
    let is = |name: &Option<String>| name.as_deref() == Some(hash);
    match event {
        Event::Submitted { request_document, .. } if is(request_document) => "request",
        Event::Submitted { .. } => "proposal",
        Event::PermitSpent { call_document, .. } if is(call_document) => "call",
        Event::Decided { inputs_document, .. } | Event::PermitSpent { inputs_document, .. }
            if inputs_document == hash =>
        {
            "inputs"
        }
        Event::Decided { .. } | Event::PermitSpent { .. } | Event::Observed { .. } => "decision",
        Event::Approved { earlier_document, .. } | Event::Rejected { earlier_document, .. }
            if is(earlier_document) =>
        {
            "earlier"
        }
        Event::Approved { .. } | Event::Rejected { .. } => "approval",
        Event::Granted { .. } => "grant",
        Event::PermitMinted { .. } => "permit",
        Event::PermitSettled { .. } => "report",
        Event::EvidenceReceived { .. } => "evidence",
        Event::Drafted { .. } => "note",
        Event::PolicyChanged { .. } => "policy",
        Event::ApproverKeyEnrolled { .. } | Event::ApproverKeyRevoked { .. } => "approver_keys",
        Event::ServerListed { listing_document, .. } if listing_document == hash => "listing",
        Event::ServerListed { .. } | Event::ServerPinned { .. } | Event::ToolBlocked { .. } => "pins",
        _ => "document",
    }
}

impl Gate {
    pub(crate) async fn asking<'a>(&self, caller: &'a Caller) -> Result<Asking<'a>, GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        let loaded = self.policies(&control).await.ok();
        Ok(Asking { caller, control, loaded, now_ms: self.clock.now_ms() })
    }

    /// A document that an entry names, for those who may see it. For others it does not exist.
    pub async fn document(&self, caller: &Caller, hash: &str) -> Result<DocumentOnRecord, GateError> {
        let unknown = || GateError::Unknown(format!("no document `{hash}` on the ledger"));
        let name = ContentHash::parse(hash).ok_or_else(unknown)?;
        let asking = self.asking(caller).await?;
        for index in self.naming(&name).await? {
            let Some(entry) = self.entry(index).await? else { continue };
            let kind = kind_of(&entry.event, hash);
            let action_id = entry.event.action_id().map(str::to_owned);
            let action = match &action_id {
                Some(id) => Versioned::<Action>::read(&self.store, id).await?.body,
                None => None,
            };
            let bytes = self.document_at(index, &name).await?;
            let (redacted, text) = match asking.given(&entry.event, kind, action.as_ref(), &bytes) {
                Given::Whole(text) => (false, text),
                Given::Redacted(text) => (true, text),
                Given::Nothing => continue,
            };
            let (hash, kind) = (hash.to_owned(), kind.to_owned());
            return Ok(DocumentOnRecord { hash, kind, index, action_id, redacted, text });
        }
        Err(unknown())
    }

    /// The entries that name a document, the last first.
    pub(crate) async fn naming(&self, hash: &ContentHash) -> Result<Vec<u64>, GateError> {
        let size = self.store.head().await?.size;
        let text = hash.to_string();
        let terms = [Term::Document(text.clone())];
        let mut found = Vec::new();
        for index in self.places(&terms, 0..size, PLACES_MAX).await?.found {
            let entry = self.entry(index).await?;
            if entry.is_some_and(|entry| entry.event.documents().contains(&text.as_str())) {
                found.push(index);
            }
        }
        Ok(found)
    }

    /// A document that an entry names.
    pub(crate) async fn document_at(&self, index: u64, hash: &ContentHash) -> Result<Vec<u8>, GateError> {
        match self.attached(index).await?.get(hash) {
            Ok(bytes) => Ok(bytes.to_vec()),
            Err(_) => self.shared_document(hash).await,
        }
    }

    /// A page of entries. Readers of the ledger see all of them.
    pub async fn find_entries(
        &self,
        caller: &Caller,
        query: &EntriesQuery,
        limit: usize,
    ) -> Result<EntryPage, GateError> {
        let size = self.store.head().await?.size;
        let selects = query.since_ms.is_some() || query.until_ms.is_some() || query.action_id.is_some();
        let newest_first = query.before.is_some() || selects;
        let (mut rows, next) = if newest_first {
            self.newest_rows(query, query.before.unwrap_or(size).min(size), size, limit).await?
        } else {
            (self.store.entries(query.from.unwrap_or(0), limit).await?, None)
        };
        let mut documents = None;
        if query.documents == Some(true) {
            let (given, kept) = self.documents_of(caller, &rows).await?;
            if !newest_first {
                rows.truncate(kept);
            }
            documents = Some(given);
        }
        if newest_first {
            rows.reverse();
        }
        let entries = rows.into_iter().map(|row| self.ledger_entry(row)).collect::<Result<_, _>>()?;
        Ok(EntryPage { entries, size, next, documents })
    }

    /// Rows in their order, and the place before which the next page ends.
    async fn newest_rows(
        &self,
        query: &EntriesQuery,
        before: u64,
        size: u64,
        limit: usize,
    ) -> Result<(Vec<EntryRow>, Option<u64>), GateError> {
        let start = match query.since_ms {
            Some(since_ms) => self.index_at(since_ms, size).await?,
            None => 0,
        };
        let end = match query.until_ms {
            Some(until_ms) => self.index_at(until_ms, size).await?.min(before),
            None => before,
        };
        if let Some(id) = &query.action_id {
            let action =
                Versioned::<Action>::read(&self.store, id).await?.body.ok_or_else(|| no_action(id))?;
            let mut indexes = self.entries_of(id, &action).await?;
            indexes.retain(|index| (start..end).contains(index));
            let left = indexes.len().saturating_sub(limit);
            let page = indexes.split_off(left);
            let mut rows = Vec::with_capacity(page.len());
            for index in &page {
                rows.extend(self.store.entries(*index, 1).await?);
            }
            return Ok((rows, page.first().copied().filter(|_| left > 0)));
        }
        let from = end.saturating_sub(limit as u64).max(start.min(end));
        let rows = rows_of(&self.store, from..end).await?;
        Ok((rows, Some(from).filter(|from| *from > start)))
    }

    /// The documents of entries that follow each other, as far as the caller may have them whole, and for how
    /// many of the entries there was room.
    async fn documents_of(
        &self,
        caller: &Caller,
        rows: &[EntryRow],
    ) -> Result<(BTreeMap<String, String>, usize), GateError> {
        let asking = self.asking(caller).await?;
        let mut given = BTreeMap::new();
        let mut bytes = 0;
        let mut attached = match rows.first() {
            Some(row) => self.attached(row.index).await?,
            None => Attached::of(Vec::new()),
        };
        for (number, row) in rows.iter().enumerate() {
            if bytes > PAGE_BYTES_MAX {
                return Ok((given, number));
            }
            if !row.attached.is_empty() {
                attached = Attached::of(row.attached.clone());
            }
            let Ok(entry) = serde_json::from_slice::<ordain_api::Entry>(&row.bytes) else { continue };
            for name in entry.event.documents() {
                let Some(hash) = ContentHash::parse(name).filter(|_| !given.contains_key(name)) else {
                    continue;
                };
                let found = match attached.get(&hash) {
                    Ok(bytes) => Some(bytes.to_vec()),
                    Err(_) => self.store.document(&hash).await?,
                };
                let Some(found) = found else { continue };
                // Readers of the ledger see every action.
                let kind = kind_of(&entry.event, name);
                let action = match entry.event.action_id() {
                    Some(id) => Versioned::<Action>::read(&self.store, id).await?.body,
                    None => None,
                };
                if let Given::Whole(text) = asking.given(&entry.event, kind, action.as_ref(), &found) {
                    bytes += text.len();
                    given.insert(name.to_owned(), text);
                }
            }
        }
        Ok((given, rows.len()))
    }

    pub(crate) fn ledger_entry(&self, row: EntryRow) -> Result<LedgerEntry, GateError> {
        let entry = serde_json::from_slice(&row.bytes)
            .map_err(|error| GateError::Damaged(format!("entry {}: {error}", row.index)))?;
        Ok(LedgerEntry { index: row.index, leaf_hash: row.leaf_hash.to_string(), entry })
    }
}
