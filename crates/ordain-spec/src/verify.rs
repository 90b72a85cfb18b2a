//! Runs all rules over a document and collects everything they find.

use crate::facts::Facts;
use crate::kind::Kind;
use crate::node::Node;
use crate::report::Report;
use crate::rule::Findings;
use ordain_canon::{ReadError, Value};
use serde::de::DeserializeOwned;
use std::ops::Deref;

/// Verifies a document's text.
///
/// ```
/// use ordain_spec::{Facts, Kind, verify_text};
/// let report = verify_text(Kind::Intent, &Facts::default(), br#"{"goal": "", "extra": 1}"#).unwrap();
/// assert_eq!(report.violations().len(), 2);
/// ```
pub fn verify_text(kind: Kind, facts: &Facts<'_>, text: &[u8]) -> Result<Report, ReadError> {
    let text = document_text(kind, text);
    let document = Value::read(text)?;
    Ok(verify_value(kind, &Facts { document_bytes: text.len(), ..*facts }, &document))
}

/// The text without what its kind allows before it: an intent may start with a byte order mark.
pub fn document_text(kind: Kind, text: &[u8]) -> &[u8] {
    match kind {
        Kind::Intent => text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text),
        _ => text,
    }
}

/// Verifies a document that was read.
pub fn verify_value(kind: Kind, facts: &Facts<'_>, document: &Value<'_>) -> Report {
    let mut found = Findings::new();
    let root = Node::root(document);
    kind.shape(document).check(root, &mut found);
    for rule in kind.rules() {
        found.set_rule(rule.id);
        (rule.check)(facts, root, &mut found);
    }
    found.into_report()
}

/// A type of document.
pub trait Document: DeserializeOwned {
    /// Its kind.
    const KIND: Kind;
}

macro_rules! documents {
    ($($kind:ident: $type:ty),* $(,)?) => {$(
        impl Document for $type {
            const KIND: Kind = Kind::$kind;
        }
    )*};
}
documents! {
    Intent: crate::intent::Intent,
    Bundle: crate::bundle::Bundle,
    Plan: crate::plan::Proposal,
    Patch: crate::patch::PatchSet,
    Action: crate::action::Proposal,
    Packet: crate::packet::EvidencePacket,
    Approval: crate::approval::Approval,
    Decision: crate::decision::Decision,
    Profile: crate::profile::Profile,
    Evidence: crate::evidence::ExecutionEvidence,
    Run: crate::run::RunResult,
    Note: crate::note::Proposal,
    Routing: crate::routing::Routing,
}

/// A document that obeys all rules. Only [`verify_as`] makes one, so whoever holds it need not ask again.
#[derive(Clone, PartialEq, Debug)]
pub struct Verified<T>(T);

impl<T> Verified<T> {
    /// The document, to be changed; whoever changes it verifies it again.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Verifies a document and gives it as its type, or says everything that is wrong with it.
pub fn verify_as<T: Document>(facts: &Facts<'_>, document: &Value<'_>) -> Result<Verified<T>, Report> {
    let report = verify_value(T::KIND, facts, document);
    if !report.ok() {
        return Err(report);
    }
    match document.to_typed() {
        Ok(typed) => Ok(Verified(typed)),
        // A KernelRequest passes as an action but has to be mapped first.
        Err(error) => Err(Report::of(T::KIND.schema_rule(), String::new(), error.to_string())),
    }
}
