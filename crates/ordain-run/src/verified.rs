//! Documents that were made here, through the same gate as those from outside.

use crate::error::RunError;
use ordain_canon::{Canonicalizer, EvidenceHash, RunFileHash, Value};
use ordain_spec::evidence::ExecutionEvidence;
use ordain_spec::{Document, Facts, Kind, Report, Sha256, Verified, verify_as};
use serde::Serialize;

/// The canonical bytes of a document, without a line feed.
pub(crate) fn canonical(document: &impl Serialize) -> Result<Vec<u8>, RunError> {
    Ok(Canonicalizer::new().value(document)?.to_vec())
}

/// Verifies what was made. That it breaks rules is the answer of the rules; all else is a failure.
pub(crate) fn judged<T: Document>(
    facts: &Facts<'_>,
    document: &impl Serialize,
) -> Result<Result<Verified<T>, Report>, RunError> {
    let bytes = canonical(document)?;
    let value =
        Value::read(&bytes).map_err(|error| RunError::Made { kind: T::KIND, problem: error.to_string() })?;
    Ok(verify_as(&Facts { document_bytes: bytes.len(), ..*facts }, &value))
}

/// Verifies what was made and must be valid.
pub(crate) fn verified<T: Document>(document: &impl Serialize) -> Result<Verified<T>, RunError> {
    judged(&Facts::default(), document)?
        .map_err(|report| RunError::Made { kind: T::KIND, problem: first_of(&report) })
}

pub(crate) fn first_of(report: &Report) -> String {
    let first = report.violations().first();
    first.map(|it| format!("{} at `{}`: {}", it.rule, it.path, it.message)).unwrap_or_default()
}

/// The `sha256` of a file of a run.
pub(crate) fn file_hash(document: &impl Serialize) -> Result<Sha256, RunError> {
    Ok(RunFileHash::of(&mut Canonicalizer::new(), document)?.into())
}

/// The hash of evidence, which leaves out what was observed.
pub(crate) fn evidence_hash(evidence: &ExecutionEvidence) -> Result<Sha256, RunError> {
    let bytes = canonical(evidence)?;
    let hash = EvidenceHash::of_text(&mut Canonicalizer::new(), &bytes);
    let made = |problem| RunError::Made { kind: Kind::Evidence, problem };
    Ok(hash.map_err(|error| made(error.to_string()))?.into())
}
