//! The result of verifying a document.

use ordain_spec::{Report, Violation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of verifying a document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VerifyResult {
    /// The kind that it was verified as.
    pub kind: String,
    /// The findings of the verifier.
    pub report: VerifyReport,
}

/// The report of a verifier.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VerifyReport {
    /// Whether the document is valid.
    pub ok: bool,
    /// The rules that it breaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<VerifyViolation>,
    /// Weaknesses that do not make it invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<VerifyViolation>,
}

/// One broken rule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VerifyViolation {
    /// The rule.
    pub rule_id: String,
    /// A JSON Pointer into the document.
    pub path: String,
    /// The violation, in words.
    pub message: String,
}

impl From<&Report> for VerifyReport {
    fn from(report: &Report) -> Self {
        let list = |violations: &[Violation]| violations.iter().map(VerifyViolation::from).collect();
        Self { ok: report.ok(), violations: list(report.violations()), warnings: list(report.warnings()) }
    }
}

impl From<&Violation> for VerifyViolation {
    fn from(violation: &Violation) -> Self {
        Self {
            rule_id: violation.rule.name().into_owned(),
            path: violation.path.clone(),
            message: violation.message.clone(),
        }
    }
}
