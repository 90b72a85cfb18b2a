//! The roles of tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role of a token: the operations that it may call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Proposes.
    Actor,
    /// Approves and rejects.
    Approver,
    /// Halts, resumes, changes policies and tokens, settles.
    Operator,
    /// Brings evidence.
    Sensor,
    /// Spends permits and reports outcomes.
    Worker,
    /// Reads everything, changes nothing.
    Auditor,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Actor, Self::Approver, Self::Operator, Self::Sensor, Self::Worker, Self::Auditor];

    /// As documents write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Actor => "actor",
            Self::Approver => "approver",
            Self::Operator => "operator",
            Self::Sensor => "sensor",
            Self::Worker => "worker",
            Self::Auditor => "auditor",
        }
    }
}
