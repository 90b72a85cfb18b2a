//! The MCP servers of a gate: what they list, and what of it is approved.

use crate::approver::subject;
use ordain_spec::mcp::{Listing, PinMode, Pins, ToolState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The tools that a server has listed, as its gateway met them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListingReport {
    /// The agent that asked for the list.
    pub actor: String,
    /// The server, by what it says.
    pub listing: Listing,
    /// Whether these are all of its tools. Only a whole list is put on record.
    pub whole: bool,
}

/// Which tools of a list the agent may be shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListingAnswer {
    /// The tools that are not shown, and why.
    pub hidden: BTreeMap<String, String>,
}

/// A server of a gate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ServerStatus {
    /// Its name.
    pub server: String,
    /// How the policies in force treat its tools.
    pub mode: PinMode,
    /// The hash of the approved part, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pins_document: Option<String>,
    /// The approved part.
    pub pins: Pins,
    /// The hash of the last whole list, if one was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listing_document: Option<String>,
    /// When it was reported, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_at_ms: Option<u64>,
    /// The fault of the server itself, as the end of a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Every tool that is listed or approved.
    pub tools: BTreeMap<String, ToolState>,
    /// The last whole list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listing: Option<Listing>,
    /// The approved definitions of tools that changed or are gone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub approved: BTreeMap<String, Json>,
}

/// The servers of a project.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ServerList {
    /// By name, without their definitions.
    pub servers: Vec<ServerStatus>,
}

/// The approved part of a server, to be put in force.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPins {
    /// The listing that was shown to whoever approves.
    pub listing_document: String,
    /// The approved part.
    pub pins: Pins,
}

impl NewPins {
    /// The subject of the statement that approves it: the hash of the pins' canonical JSON.
    pub fn subject(&self) -> String {
        subject(&self.pins)
    }
}

/// A tool that is to be hidden and refused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockedTool {
    /// Its name.
    pub tool: String,
}
