//! Entries of a server whose word is not taken for anything: their bytes are made again from what it sends.

use crate::exit::Failure;
use ordain_api::EntriesQuery;
use ordain_canon::Canonicalizer;
use ordain_client::Client;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Whether documents come with the entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Documents {
    Left,
    Sent,
}

/// A page of entries.
pub(crate) struct ForeignPage {
    pub(crate) entries: Vec<ForeignEntry>,
    /// By the hashes that they should have.
    pub(crate) documents: BTreeMap<String, String>,
}

/// An entry of which nothing is believed.
pub(crate) struct ForeignEntry {
    pub(crate) index: u64,
    pub(crate) leaf_hash: String,
    pub(crate) entry: Vec<u8>,
}

#[derive(Deserialize)]
struct Sent {
    entries: Vec<SentEntry>,
    #[serde(default)]
    documents: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct SentEntry {
    index: u64,
    leaf_hash: String,
    entry: Box<RawValue>,
}

impl ForeignPage {
    /// Entries from a place on; fewer than asked for if the server likes, and none at the end.
    pub(crate) fn read(
        client: &Client,
        from: u64,
        limit: u64,
        documents: Documents,
    ) -> Result<Self, Failure> {
        let documents = (documents == Documents::Sent).then_some(true);
        let query =
            EntriesQuery { from: Some(from), limit: Some(limit), documents, ..EntriesQuery::default() };
        let sent: Sent = client.entries_as(&query)?;
        let mut canonicalizer = Canonicalizer::new();
        let mut read = |sent: SentEntry| {
            let bytes = sent.entry.get().as_bytes();
            let entry = canonicalizer.text(bytes).unwrap_or(bytes).to_vec();
            ForeignEntry { index: sent.index, leaf_hash: sent.leaf_hash, entry }
        };
        let limit = usize::try_from(limit).unwrap_or_default();
        let entries = sent.entries.into_iter().take(limit).map(&mut read).collect();
        Ok(Self { entries, documents: sent.documents.unwrap_or_default() })
    }
}
