//! Evidence packets: what a sensor observed.

mod rules;

use crate::schema::{NonEmpty, Sha256};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

pub use rules::RULES;
pub(crate) use rules::packet_problem;

/// One observation, with its hash and perhaps its signature.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidencePacket {
    /// The id that proposals refer to.
    #[schemars(extend("x-rule" = "V-EVID-001"))]
    pub evidence_id: NonEmpty,
    /// The kind of observation.
    #[schemars(extend("x-rule" = "V-EVID-002"))]
    pub packet_type: PacketType,
    /// The sensor.
    #[schemars(extend("x-rule" = "V-EVID-003"))]
    pub sensor_id: NonEmpty,
    /// The kind of sensor.
    pub sensor_type: NonEmpty,
    /// When it was observed, in milliseconds since 1970.
    #[schemars(range(min = 1), extend("x-rule" = "V-EVID-004"))]
    pub observed_at_ms: u64,
    /// When it arrived.
    #[schemars(range(min = 1), extend("x-rule" = "V-EVID-004"))]
    pub received_at_ms: u64,
    /// The observation.
    #[schemars(extend("x-rule" = "V-EVID-005"))]
    pub payload: Map<String, Json>,
    /// The hash of the canonical payload.
    #[schemars(extend("x-rule" = "V-EVID-006"))]
    pub payload_hash: Sha256,
    /// Circumstances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Map<String, Json>>,
    /// Ed25519 over the canonical packet without this field, base64url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "V-EVID-021"))]
    pub sensor_signature: Option<String>,
}

/// The kinds of observation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum PacketType {
    DomSnapshot,
    UrlObservation,
    FormState,
    Selection,
    ApiResponse,
    WebhookPayload,
    FileHash,
    DiffObservation,
    Timestamp,
    Environment,
    Approval,
    Attestation,
    Aggregate,
}
