//! Making a dossier: the entries about an action, what they name, and proofs.

use super::caller::Caller;
use super::documents::typed;
use super::error::GateError;
use super::index::Term;
use super::judge::Inputs;
use super::lookup::{Asking, Given, kind_of};
use super::open::Gate;
use super::records::{Action, Versioned};
use super::status::{may_see, no_action};
use ordain_api::{ActionStatus, DOSSIER_SCHEMA_VERSION, Dossier, DossierEntry, Entry, Event};
use ordain_canon::ContentHash;
use ordain_ledger::Checkpoint;
use ordain_spec::approval::Approval;
use std::collections::{BTreeMap, BTreeSet};

/// Entries that are looked at for the announcement of one key.
const PLACES_MAX: usize = 64;

/// A dossier under way.
#[derive(Default)]
struct Gathered {
    entries: BTreeSet<u64>,
    documents: BTreeMap<String, String>,
    withheld: BTreeSet<String>,
}

impl Gate {
    /// Everything about one action, with proofs, as far as the caller may have it.
    pub async fn dossier(&self, caller: &Caller, action_id: &str) -> Result<Dossier, GateError> {
        let action = Versioned::<Action>::read(&self.store, action_id).await?.body;
        let action = action.filter(|action| may_see(caller, action)).ok_or_else(|| no_action(action_id))?;
        let status = self.status(caller, action_id).await?;
        let asking = self.asking(caller).await?;
        let mut gathered = Gathered::default();
        for index in self.entries_of(action_id, &action).await? {
            let Some(entry) = self.entry(index).await? else { continue };
            self.gather(&mut gathered, &asking, index, &entry, Some(&action)).await?;
            for (announcing, event) in self.announcing(index, &entry).await? {
                // A grant is about the same actor's calls, and so for whoever may see this one.
                let action = matches!(event.event, Event::Granted { .. }).then_some(&action);
                self.gather(&mut gathered, &asking, announcing, &event, action).await?;
            }
        }
        let (views, hidden) = views(&status);
        gathered.withheld.extend(hidden);
        let checkpoint = self.checkpoint().await?;
        let head =
            Checkpoint::parse(&checkpoint.text).map_err(|error| GateError::Damaged(error.to_string()))?;
        let mut entries = Vec::with_capacity(gathered.entries.len());
        for index in gathered.entries {
            let row = self.store.entries(index, 1).await?.into_iter().find(|row| row.index == index);
            let row = row.ok_or_else(|| GateError::Damaged(format!("entry {index} is missing")))?;
            let entry = String::from_utf8(row.bytes);
            let entry = entry.map_err(|_| GateError::Damaged(format!("entry {index} is not a text")))?;
            let proof = self.store.inclusion(index, head.size).await?;
            entries.push(DossierEntry {
                entry,
                index,
                proof: proof.iter().map(ToString::to_string).collect(),
            });
        }
        Ok(Dossier {
            action_id: action_id.to_owned(),
            checkpoint: checkpoint.to_string(),
            documents: gathered.documents,
            dossier_schema_version: DOSSIER_SCHEMA_VERSION.to_owned(),
            entries,
            views,
            withheld: gathered.withheld.into_iter().collect(),
        })
    }

    /// Adds an entry and the documents that it names.
    async fn gather(
        &self,
        gathered: &mut Gathered,
        asking: &Asking<'_>,
        index: u64,
        entry: &Entry,
        action: Option<&Action>,
    ) -> Result<(), GateError> {
        gathered.entries.insert(index);
        for name in entry.event.documents() {
            let hash = ContentHash::parse(name)
                .ok_or_else(|| GateError::Damaged(format!("entry {index} names no document")))?;
            let bytes = self.document_at(index, &hash).await?;
            match asking.given(&entry.event, kind_of(&entry.event, name), action, &bytes) {
                Given::Whole(text) => drop(gathered.documents.insert(name.to_owned(), text)),
                Given::Redacted(_) | Given::Nothing => drop(gathered.withheld.insert(name.to_owned())),
            }
        }
        Ok(())
    }

    /// The entries before one that announce what it rests on: policies, evidence, keys, grants.
    async fn announcing(&self, index: u64, entry: &Entry) -> Result<Vec<(u64, Entry)>, GateError> {
        let mut found = Vec::new();
        match &entry.event {
            Event::Decided { inputs_document, .. } | Event::PermitSpent { inputs_document, .. } => {
                let hash = ContentHash::parse(inputs_document);
                let hash =
                    hash.ok_or_else(|| GateError::Damaged(format!("entry {index} names no inputs")))?;
                let inputs: Inputs = typed(&self.document_at(index, &hash).await?)?;
                let named = [inputs.files_document]
                    .into_iter()
                    .chain(inputs.keys_document)
                    .chain(inputs.pins_document)
                    .chain(inputs.grant.map(|grant| grant.grant_document));
                for hash in named.chain(inputs.evidence_documents) {
                    for place in self.naming(&hash).await?.into_iter().filter(|place| *place < index) {
                        let Some(entry) = self.entry(place).await? else { continue };
                        let is_grant = matches!(entry.event, Event::Granted { .. });
                        if entry.event.action_id().is_none() || is_grant {
                            found.push((place, entry));
                            break;
                        }
                    }
                }
            }
            Event::PermitMinted { key_id, .. } => found.extend(self.announcement(key_id, index).await?),
            Event::Approved { approval_document, .. } | Event::Rejected { approval_document, .. } => {
                if let Some(hash) = ContentHash::parse(approval_document) {
                    let approval: Approval = typed(&self.document_at(index, &hash).await?)?;
                    if let Some(signature) = approval.signature {
                        found.extend(self.announcement(signature.key_id.as_str(), index).await?);
                    }
                }
            }
            _ => {}
        }
        Ok(found)
    }

    /// The entry that announces a key.
    async fn announcement(&self, id: &str, before: u64) -> Result<Option<(u64, Entry)>, GateError> {
        for index in self.places(&[Term::Key(id.to_owned())], 0..before, PLACES_MAX).await?.found {
            let Some(entry) = self.entry(index).await? else { continue };
            if let Event::KeyRotated { key_id, .. } | Event::ApproverKeyEnrolled { key_id, .. } = &entry.event
                && key_id == id
            {
                return Ok(Some((index, entry)));
            }
        }
        Ok(None)
    }
}

/// The views of approvers by digest, and the digests of those that cannot be shown any more.
fn views(status: &ActionStatus) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut views, mut hidden) = (BTreeMap::new(), Vec::new());
    for shown in &status.shown {
        let view = match &shown.view {
            Some(view) => view,
            None => &status.view,
        };
        if ContentHash::of(view.text().as_bytes()).is(&shown.view_digest) {
            views.insert(shown.view_digest.clone(), view.text().to_owned());
        } else {
            hidden.push(shown.view_digest.clone());
        }
    }
    (views, hidden)
}
