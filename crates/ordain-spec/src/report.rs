//! The report of a verifier.

use crate::rule::RuleId;
use ordain_canon::compare_utf16;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::cmp::Ordering;

/// One thing that is wrong, or worth a warning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The rule it breaks.
    pub rule: RuleId,
    /// Where: a JSON Pointer into the document.
    pub path: String,
    /// The violation in words, for people.
    pub message: String,
}

impl Violation {
    /// By rule, path and message, each as text, so PR10 comes before PR2.
    fn order(&self, other: &Self) -> Ordering {
        let by_rule = self.rule.name().cmp(&other.rule.name());
        by_rule
            .then_with(|| compare_utf16(&self.path, &other.path))
            .then_with(|| compare_utf16(&self.message, &other.message))
    }
}

impl Serialize for Violation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("rule_id", &self.rule.name())?;
        map.serialize_entry("path", &self.path)?;
        map.serialize_entry("message", &self.message)?;
        map.end()
    }
}

/// Everything a verifier found, in the order that the documents demand.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    violations: Vec<Violation>,
    warnings: Vec<Violation>,
}

impl Report {
    /// Makes a report of findings in any order.
    pub fn new(mut violations: Vec<Violation>, mut warnings: Vec<Violation>) -> Self {
        violations.sort_by(Violation::order);
        warnings.sort_by(Violation::order);
        Self { violations, warnings }
    }

    /// A report of one violation, at `path`.
    pub fn of(rule: RuleId, path: String, message: String) -> Self {
        Self { violations: vec![Violation { rule, path, message }], warnings: Vec::new() }
    }

    /// Whether the document is valid.
    pub fn ok(&self) -> bool {
        self.violations.is_empty()
    }

    /// The findings that make it invalid.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// The findings that do not, but that someone should know.
    pub fn warnings(&self) -> &[Violation] {
        &self.warnings
    }
}

impl Report {
    /// Writes the members of the result, for a result that has others beside them.
    pub fn serialize_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("ok", &self.ok())?;
        if !self.violations.is_empty() {
            map.serialize_entry("violations", &self.violations)?;
        }
        if !self.warnings.is_empty() {
            map.serialize_entry("warnings", &self.warnings)?;
        }
        Ok(())
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.serialize_members(&mut map)?;
        map.end()
    }
}
