//! Parts of the ledger.

use crate::entry::LedgerEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A page of entries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EntryPage {
    /// In their order.
    pub entries: Vec<LedgerEntry>,
    /// The number of entries on the whole ledger.
    pub size: u64,
}

/// A proof that one tree begins with another (RFC 6962).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ConsistencyProof {
    /// The smaller size.
    pub old: u64,
    /// The larger size.
    pub new: u64,
    /// The hashes, base64.
    pub hashes: Vec<String>,
}
