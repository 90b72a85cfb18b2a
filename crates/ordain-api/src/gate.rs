//! The gate itself and its keys.

use crate::approver::subject;
use crate::limits::REASON_CHARACTERS_MAX;
use crate::project::ProjectStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The gate itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GateStatus {
    /// The ledger's name.
    pub origin: String,
    /// Why nothing is allowed, if so.
    pub halted: Option<Halt>,
    /// The policies in force.
    pub policy_hash: Option<String>,
    /// The hooks whose calls are observed now, and the pause of all hooks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observing: Vec<Observation>,
    /// Whether somebody owns the gate: an owner's key is enrolled. A gate without one is open.
    pub owned: bool,
    /// The caller, as the gate knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The agents whose proposals the caller hands in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// The project whose folder the caller named, over a unix socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectStatus>,
}

/// Why nothing is allowed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Halt {
    /// The principal that halted the gate.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Since when, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A time in which the gate only records its decisions about the calls of hooks, and the hooks allow them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// Since when, in milliseconds since 1970.
    pub at_ms: u64,
    /// The owner who wanted it.
    pub by: String,
    /// The installed hook; without one it is a pause of all hooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// Why.
    pub reason: String,
    /// When it ends by itself.
    pub until_ms: u64,
}

/// An observation to start.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewObservation {
    /// The id of an installed hook; without one all hooks are paused.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// The reason, which goes on the ledger.
    #[schemars(length(max = REASON_CHARACTERS_MAX), regex(pattern = "\\S"))]
    pub reason: String,
    /// When it ends by itself: within 14 days for one hook, within a day for all.
    pub until_ms: u64,
}

impl NewObservation {
    /// The subject of the statement that starts it: the hash of its canonical JSON.
    pub fn subject(&self) -> String {
        subject(self)
    }
}

/// An observation to end before its time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndedObservation {
    /// The id of the installed hook; without one it is the pause of all hooks.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
}

/// A public key.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct KeyStatus {
    /// Its id.
    pub key_id: String,
    /// 32 bytes in base64url without padding.
    pub public_key: String,
    /// Since when, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// When another took its place.
    pub retired_at_ms: Option<u64>,
}

/// Why an operator halts or resumes the gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReasonRequest {
    /// The reason, which goes on the ledger.
    #[schemars(length(max = REASON_CHARACTERS_MAX), regex(pattern = "\\S"))]
    pub reason: String,
}

/// A policy folder to put in force.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyPush {
    /// Names and texts of its files, without its tests.
    pub files: BTreeMap<String, String>,
    /// The policies that must be in force at that moment; without it any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// The result of a push.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PolicyPushed {
    /// Whether the policies changed.
    pub changed: bool,
    /// The policies in force.
    pub policy_hash: String,
}

/// Policies that are or were in force.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PolicyOnRecord {
    /// Their hash.
    pub policy_hash: String,
    /// Whether they are in force now.
    pub active: bool,
    /// Names and texts of the files.
    pub files: BTreeMap<String, String>,
}
