//! A case of `conformance/decide` with anything in it: deciding never panics, gives a valid decision, the same one twice,
//! and a permit only with an ALLOW.

#![no_main]

use ed25519_dalek::SigningKey;
use libfuzzer_sys::fuzz_target;
use ordain_canon::{Canonicalizer, Value};
use ordain_decision::{
    Case, Minting, PolicyFiles, PolicySet, PublicKey, PublicKeys, decide, explain, mint, verify_permit,
};
use ordain_spec::decision::Outcome;
use ordain_spec::{Facts, Kind, verify_value};
use std::sync::LazyLock;

macro_rules! policy_files {
    ($($name:literal),*) => {
        PolicyFiles::from([$(($name.to_owned(), include_str!(concat!("../../conformance/decide/", $name)).to_owned())),*])
    };
}

static POLICIES: LazyLock<PolicySet> = LazyLock::new(|| {
    let files = policy_files!(
        "policies.cedar",
        "schema.cedarschema",
        "entities.json",
        "effects.toml",
        "sensors.toml",
        "tools.toml",
        "redact.toml"
    );
    PolicySet::load(&files).unwrap_or_else(|problems| panic!("{problems:#?}"))
});

fuzz_target!(|input: &[u8]| {
    let mut canon = Canonicalizer::new();
    let document = Value::read(input).ok();
    let list = |key: &str| document.as_ref().and_then(|it| it.get(key)?.as_array()).unwrap_or_default();
    let proposal = document.as_ref().and_then(|it| it.get("proposal"));
    let proposal = match proposal {
        Some(proposal) => canon.value(proposal).map(<[u8]>::to_vec).unwrap_or_default(),
        None => input.to_vec(),
    };
    let now_ms = document.as_ref().and_then(|it| it.get("now_ms")?.as_integer()).unwrap_or(1_705_171_260_000);
    let now_ms = u64::try_from(now_ms).unwrap_or_default();
    let case = Case {
        proposal: &proposal,
        policies: &POLICIES,
        evidence: list("evidence"),
        approvals: list("approvals"),
        now_ms,
        halted: document.as_ref().is_some_and(|it| it.get("halted").is_some()),
    };
    let judgement = decide(&case);
    assert_eq!(judgement, decide(&case), "the same case, another decision");
    let bytes = canon.value(&judgement.decision).expect("a decision has a canonical form").to_vec();
    let decision = Value::read(&bytes).expect("a decision can be read");
    let report = verify_value(Kind::Decision, &Facts::default(), &decision);
    assert!(report.ok() || now_ms == 0, "{report:?}");
    let allowed = judgement.decision.outcome == Outcome::Allow;
    assert_eq!(judgement.grant.is_some(), allowed);
    assert!(!(allowed && case.halted), "allowed although halted");
    let without = decide(&Case { approvals: &[], evidence: &[], ..case });
    if without.decision.outcome == Outcome::Allow && !allowed {
        // More evidence can only deny by being wrong, and approvals by being rejections.
        assert!(!case.approvals.is_empty() || !case.evidence.is_empty());
    }
    if let Some(grant) = &judgement.grant {
        let key = SigningKey::from_bytes(&[7; 32]);
        let public = PublicKey::of(&key);
        let minting = Minting { audience: "worker", nonce: "1", ledger_index: None };
        if let Ok(token) = mint(grant, &key, minting) {
            let keys = PublicKeys::from([(public.id(), public)]);
            let at_ms = now_ms.max(grant.valid_from_ms());
            assert!(verify_permit(&token, &keys, "worker", at_ms).is_ok(), "what was minted does not verify");
        }
    }
    let _ = explain(&case);
});
