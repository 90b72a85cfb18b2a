//! Evidence packets on record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A packet that is on record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceReceipt {
    /// The id that proposals refer to.
    pub evidence_id: String,
    /// The packet's hash.
    pub packet_hash: String,
    /// The entry on the ledger.
    pub ledger_index: u64,
    /// Whether it was new.
    #[serde(skip)]
    pub new: bool,
}
