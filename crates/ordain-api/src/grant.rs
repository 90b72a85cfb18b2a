//! Standing grants: what approvers said about calls that are still to come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A standing grant. It stands in for the approvals of calls with the same deed as the action that was approved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GrantStatus {
    /// The action whose approval it is.
    pub action_id: String,
    /// The actor whose calls it covers.
    pub actor: String,
    /// The people who signed it, each of whom may revoke it.
    pub approvers: Vec<String>,
    /// The deed of the calls that it covers.
    pub deed: String,
    /// Its id.
    pub grant_id: String,
    /// The entry on the ledger.
    pub granted_index: u64,
    /// When, in milliseconds since 1970.
    pub granted_at_ms: u64,
    /// How many calls it covers.
    pub max_uses: u64,
    /// The principal that revoked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<String>,
    /// Whether it still counts.
    pub state: GrantState,
    /// When it ends.
    pub until_ms: u64,
    /// How many calls it has covered.
    pub used: u64,
}

/// Whether a grant counts. One that is active still counts only where nothing else has changed: its policies, its
/// approvers, their keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantState {
    /// It covers further calls.
    Active,
    /// All its uses are over.
    UsedUp,
    /// Its time is over.
    Ended,
    /// Somebody took it back.
    Revoked,
}

impl GrantState {
    /// As documents write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::UsedUp => "used_up",
            Self::Ended => "ended",
            Self::Revoked => "revoked",
        }
    }
}

/// The standing grants of a gate, the newest first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GrantList {
    /// Those that still count, and those that ended in the last days.
    pub grants: Vec<GrantStatus>,
}
