//! Notes: a request for a draft, a failed draft, and the result of validating a proposal.

use crate::limits::{CONTEXT_REF_CHARACTERS_MAX, CONTEXT_REFS_MAX, NOTE_TEXT_CHARACTERS_MIN};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request for a draft: a prompt or a refined text, and not both.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftRequest {
    /// The content of the note in words: 8 to 20,000 characters without surplus space. A longer text is cut.
    #[schemars(with = "String", length(min = NOTE_TEXT_CHARACTERS_MIN))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The same, already refined.
    #[schemars(with = "String", length(min = NOTE_TEXT_CHARACTERS_MIN))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refined_text: Option<String>,
    /// Paths of notes in the vault, and URLs. URLs are named to the model and never fetched.
    #[schemars(length(max = CONTEXT_REFS_MAX), inner(length(min = 1, max = CONTEXT_REF_CHARACTERS_MAX)))]
    #[serde(default, rename = "contextRefs", skip_serializing_if = "Vec::is_empty")]
    pub context_refs: Vec<String>,
    /// The path of a note to improve.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enhance: Option<String>,
}

/// The answer of a model that did not become a proposal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FailedDraft {
    /// The request's id.
    pub correlation_id: String,
    /// The model's last answer, redacted.
    pub payload: String,
}

/// The result of validating a note proposal against a vault.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NoteValidation {
    /// Whether it can be applied.
    pub ok: bool,
    /// Why it cannot.
    pub errors: Vec<NoteFinding>,
    /// Weaknesses that do not prevent it.
    pub warnings: Vec<NoteFinding>,
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NoteFinding {
    /// The kind of finding.
    pub code: String,
    /// A JSON Pointer into the proposal.
    pub path: String,
    /// The violation and its remedy.
    pub message: String,
    /// Values that fit here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<String>,
}
