//! A dossier: everything about one action in one file, which anybody with the ledger's key checks offline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version that is written.
pub const DOSSIER_SCHEMA_VERSION: &str = "0.1.0";

/// Everything about one action. Its file is the canonical JSON and one line feed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dossier {
    /// The action.
    pub action_id: String,
    /// The signed head of the ledger that the proofs lead to, a signed note.
    pub checkpoint: String,
    /// The documents that the entries and the inputs of decisions name, by their hashes.
    pub documents: BTreeMap<String, String>,
    /// The version of this form.
    pub dossier_schema_version: String,
    /// The entries about the action, and those that announce its policies, evidence and keys; in their order.
    pub entries: Vec<DossierEntry>,
    /// The views of approvers, as canonical JSON, by the digests that their verdicts name.
    pub views: BTreeMap<String, String>,
    /// Hashes of documents and digests of views that whoever asked may not have: values that policies hide,
    /// and permits that can be used.
    pub withheld: Vec<String>,
}

/// One entry of the ledger, with its proof.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DossierEntry {
    /// The bytes of the leaf: canonical JSON.
    pub entry: String,
    /// Its place, counted from 0.
    pub index: u64,
    /// The hashes of its inclusion proof (RFC 6962), base64.
    pub proof: Vec<String>,
}
