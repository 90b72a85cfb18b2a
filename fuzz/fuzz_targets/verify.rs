//! A kind and any bytes: verifying never panics, and what it says depends on the document alone.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ordain_canon::{Canonicalizer, Value};
use ordain_spec::limits::INTENT_BYTES_MAX;
use ordain_spec::{
    Document, Facts, Kind, Violation, action, approval, bundle, decision, document_text, evidence, intent,
    note, packet, patch, plan, profile, routing, run, verify_text,
};

fuzz_target!(|input: &[u8]| {
    let Some((selector, text)) = input.split_first() else { return };
    let kind = Kind::ALL[usize::from(*selector) % Kind::ALL.len()];
    let facts = Facts::default();
    let report = verify_text(kind, &facts, text);
    let text = document_text(kind, text);
    let (report, document) = match (report, Value::read(text)) {
        (Ok(report), Ok(document)) => (report, document),
        (Err(by_verifier), Err(by_reader)) => return assert_eq!(by_verifier, by_reader),
        (report, document) => {
            panic!("verifier and reader disagree: {:?}, {:?}", report.err(), document.err())
        }
    };
    assert!(is_sorted(report.violations()), "violations: {report:?}");
    assert!(is_sorted(report.warnings()), "warnings: {report:?}");
    if report.ok() {
        has_its_type(kind, &document);
    }

    let mut canon = Canonicalizer::new();
    let canonical = canon.text(text).expect("a value that was read has a canonical form");
    // An intent's text is bounded, and its canonical form may be shorter.
    let length_counts = kind == Kind::Intent && text.len().max(canonical.len()) > INTENT_BYTES_MAX;
    if !length_counts {
        let of_canonical = verify_text(kind, &facts, canonical).expect("the canonical form can be read");
        assert_eq!(report, of_canonical, "the canonical form has another report");
    }
});

fn is_sorted(violations: &[Violation]) -> bool {
    violations.is_sorted_by_key(|found| (found.rule.name(), found.path.clone(), found.message.clone()))
}

/// A valid document can be had as its type.
fn has_its_type(kind: Kind, document: &Value<'_>) {
    match kind {
        Kind::Intent => can_be::<intent::Intent>(document),
        Kind::Bundle => can_be::<bundle::Bundle>(document),
        Kind::Plan => can_be::<plan::Proposal>(document),
        Kind::Patch => can_be::<patch::PatchSet>(document),
        // A request of a kernel is valid as an action, but it has to be mapped first.
        Kind::Action if document.get("request_id").is_some() => {}
        Kind::Action => can_be::<action::Proposal>(document),
        Kind::Packet => can_be::<packet::EvidencePacket>(document),
        Kind::Approval => can_be::<approval::Approval>(document),
        Kind::Decision => can_be::<decision::Decision>(document),
        Kind::Profile => can_be::<profile::Profile>(document),
        Kind::Evidence => can_be::<evidence::ExecutionEvidence>(document),
        Kind::Run => can_be::<run::RunResult>(document),
        Kind::Note => can_be::<note::Proposal>(document),
        Kind::Routing => can_be::<routing::Routing>(document),
    }
}

fn can_be<T: Document>(document: &Value<'_>) {
    if let Err(error) = document.to_typed::<T>() {
        panic!("a valid {} does not have its type: {error}", T::KIND);
    }
}
