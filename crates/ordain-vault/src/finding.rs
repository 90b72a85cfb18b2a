//! Findings against a proposal.

use ordain_canon::compare_utf16;
use ordain_spec::Report;
use serde::Serialize;
use std::fmt;

/// One thing that is wrong with a proposal, or worth a warning.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// The kind of finding.
    pub code: Code,
    /// Where: a JSON Pointer into the proposal.
    pub path: String,
    /// The problem, in words.
    pub message: String,
    /// Values that would do in this place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<String>,
}

/// The kind of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// A field breaks the contract of note proposals, or a rule of the vault's front matter.
    SchemaInvalid,
    /// The path belongs to another route, or to none.
    RoutingMismatch,
    /// Two routes claim the path with equal right.
    RoutingPatternConflict,
    /// The route's template does not exist.
    RoutingTemplateUnknown,
    /// Headings are missing.
    RoutingRequiredSectionsMissing,
    /// Something is at the path already.
    PathCollision,
    /// An enhancement changes what it must keep.
    FmUnchanged,
    /// A warning: another note has this title or alias.
    NameTaken,
    /// A warning: a link leads to no note.
    LinkUnknown,
    /// A warning: HTML is written as text.
    HtmlEscaped,
}

impl Code {
    /// As documents and people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SchemaInvalid => "SCHEMA_INVALID",
            Self::RoutingMismatch => "ROUTING_MISMATCH",
            Self::RoutingPatternConflict => "ROUTING_PATTERN_CONFLICT",
            Self::RoutingTemplateUnknown => "ROUTING_TEMPLATE_UNKNOWN",
            Self::RoutingRequiredSectionsMissing => "ROUTING_REQUIRED_SECTIONS_MISSING",
            Self::PathCollision => "PATH_COLLISION",
            Self::FmUnchanged => "FM_UNCHANGED",
            Self::NameTaken => "NAME_TAKEN",
            Self::LinkUnknown => "LINK_UNKNOWN",
            Self::HtmlEscaped => "HTML_ESCAPED",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Finding {
    /// Without alternatives.
    pub(crate) fn new(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, path: path.into(), message: message.into(), alternatives: Vec::new() }
    }

    pub(crate) fn with(mut self, alternatives: Vec<String>) -> Self {
        self.alternatives = alternatives;
        self
    }

    /// The findings of a verifier, as `SCHEMA_INVALID`, with the rule at the end of each message.
    pub fn of_report(report: &Report) -> Vec<Self> {
        let finding = |it: &ordain_spec::Violation| {
            Self::new(Code::SchemaInvalid, it.path.clone(), format!("{} ({})", it.message, it.rule))
        };
        let mut findings: Vec<Self> = report.violations().iter().map(finding).collect();
        sort(&mut findings);
        findings
    }
}

/// By place, code and message.
pub(crate) fn sort(findings: &mut [Finding]) {
    findings.sort_by(|left, right| {
        compare_utf16(&left.path, &right.path)
            .then_with(|| left.code.name().cmp(right.code.name()))
            .then_with(|| compare_utf16(&left.message, &right.message))
    });
}
