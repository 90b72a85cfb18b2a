//! The server itself: its health and its keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server is running.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// `ok`.
    pub status: String,
    /// The program's version.
    pub version: String,
}

/// The server can work.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Ready {
    /// `ready`.
    pub status: String,
    /// The number of entries on the ledger.
    pub ledger_size: u64,
    /// Whether an operator has halted the gate.
    pub halted: bool,
    /// Whether the server's policy folder is what is in force.
    pub policy: PolicyState,
    /// How far the machine's clock is behind the ledger.
    pub clock_behind_ms: u64,
}

/// How the policy folder of a server compares with the policies in force, which decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyState {
    /// The folder is in force, or the server has none.
    Active,
    /// The folder differs, or cannot be read.
    Differs,
}

/// Public keys (RFC 7517).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Jwks {
    /// One for each key that permits may be signed with.
    pub keys: Vec<Jwk>,
}

/// An Ed25519 public key (RFC 8037).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Jwk {
    /// `OKP`.
    pub kty: String,
    /// `Ed25519`.
    pub crv: String,
    /// `EdDSA`.
    pub alg: String,
    /// `sig`.
    #[serde(rename = "use")]
    pub usage: String,
    /// The key's id.
    pub kid: String,
    /// The public key: 32 bytes in base64url without padding.
    pub x: String,
    /// Since when, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// When another key replaced it. It signs nothing since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at_ms: Option<u64>,
}
