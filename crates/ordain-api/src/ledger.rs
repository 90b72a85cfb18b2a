//! Parts of the ledger.

use crate::entry::LedgerEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A page of entries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EntryPage {
    /// In their order, or with `before` the newest first.
    pub entries: Vec<LedgerEntry>,
    /// The number of entries on the whole ledger.
    pub size: u64,
    /// The `before` of the next page, if there may be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// With `documents`: those that the entries name, by their hashes. Those that the caller may not have
    /// whole are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<BTreeMap<String, String>>,
}

/// A document that an entry of the ledger names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DocumentOnRecord {
    /// The hash by which entries name it.
    pub hash: String,
    /// Its kind, such as `proposal` or `decision`.
    pub kind: String,
    /// The last entry that names it.
    pub index: u64,
    /// The action that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// Whether values are hidden, so that the text does not have the hash.
    pub redacted: bool,
    /// The document.
    pub text: String,
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

/// The result of checking a ledger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// How many entries there are.
    pub size: u64,
    /// The root of their tree, base64.
    pub root: String,
    /// Documents that the entries name and that are there, unchanged; nothing where they were not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<u64>,
    /// Signed checkpoints that the tree agrees with.
    pub checkpoints: u64,
    /// Inputs that cannot be used, and why: checkpoints of another ledger, or by an unknown key, and entries
    /// that were signed and that only a newer program can read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unusable: Vec<String>,
    /// Everything that is wrong, the first entry first.
    pub damage: Vec<Damage>,
}

impl Audit {
    /// Whether everything is as it should be, and every checkpoint was compared.
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty() && self.unusable.is_empty()
    }
}

/// Something that is wrong with a ledger.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Damage {
    /// The entry, if it is about one.
    pub index: Option<u64>,
    /// The damage, in words.
    pub problem: String,
}
