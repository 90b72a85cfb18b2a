//! The stream of all that happens, as far as a caller may see it.

use crate::limits::{STREAM_SECONDS_MAX, WHOLE_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that happened: an entry of the ledger that the caller may know of. Its id in the stream is its index.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GateEvent {
    /// The action that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The principal that caused it, for whoever sees all actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The ledger's entry.
    pub index: u64,
    /// The kind of entry, such as `approved`.
    pub kind: String,
}

/// The query of `stream_events`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// The entry after which the stream begins, as the header `Last-Event-ID` names it too. Without either it
    /// begins with what happens next.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// How many seconds the stream lives at most; with 0 it ends when all that happened so far is sent.
    #[schemars(range(max = STREAM_SECONDS_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<u64>,
}

/// The query of `get_view`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewQuery {
    /// The digest that a verdict names, for the view of its author; without it the view of now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}
