//! Errors in a request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that is wrong with what was sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FieldError {
    /// A JSON Pointer into what was sent.
    pub path: String,
    /// The error, in words.
    pub message: String,
    /// The rule that it breaks, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<String>,
}
