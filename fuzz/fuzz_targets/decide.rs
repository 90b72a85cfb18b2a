//! A case of `conformance/decide` with anything in it: deciding never panics, gives a valid decision, the
//! same one twice and in any spelling, a permit only with an ALLOW, nothing while halted, and no ALLOW by
//! leaving an approval out.

#![no_main]

use ed25519_dalek::SigningKey;
use libfuzzer_sys::fuzz_target;
use ordain_canon::{Canonicalizer, Value};
use ordain_decision::{
    Case, Minting, PolicyFiles, PolicySet, PublicKey, PublicKeys, decide_text, explain, mint, verify_permit,
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
        document: &Value::Null,
        policies: &POLICIES,
        evidence: list("evidence"),
        approvals: list("approvals"),
        approver_keys: &ordain_spec::statement::NO_KEYS,
        now_ms,
        halted: document.as_ref().is_some_and(|it| it.get("halted").is_some()),
    };
    let judgement = decide_text(&proposal, &case);
    assert_eq!(judgement, decide_text(&proposal, &case), "the same case, another decision");
    let bytes = canon.value(&judgement.decision).expect("a decision has a canonical form").to_vec();
    let decision = Value::read(&bytes).expect("a decision can be read");
    let report = verify_value(Kind::Decision, &Facts::default(), &decision);
    assert!(report.ok() || now_ms == 0, "{report:?}");
    let allowed = judgement.decision.outcome == Outcome::Allow;
    assert_eq!(judgement.grant.is_some(), allowed);
    assert!(!(allowed && case.halted), "allowed although halted");
    // A halt denies, and hides nothing that is wrong besides.
    let halted = decide_text(&proposal, &Case { halted: true, ..case }).decision;
    assert_eq!(halted.outcome, Outcome::Deny);
    assert!(halted.reasons.iter().any(|reason| reason.rule_id == "G1"));
    if judgement.decision.outcome == Outcome::Deny {
        assert!(judgement.decision.reasons.iter().all(|reason| halted.reasons.contains(reason)));
    }
    // No policy here minds an approval, so what is allowed without some is allowed with them.
    let verdict = |approval: &&Value<'_>| approval.get("verdict").and_then(Value::as_str) == Some("approve");
    let others: Vec<Value<'_>> = case.approvals.iter().filter(|it| !verdict(it)).cloned().collect();
    let without = decide_text(&proposal, &Case { approvals: &others, ..case }).decision;
    assert!(without.outcome != Outcome::Allow || allowed, "allowed only without approvals");
    // The order of approvals and the spelling of the proposal make no difference.
    let reversed: Vec<Value<'_>> = case.approvals.iter().rev().cloned().collect();
    assert_eq!(
        judgement,
        decide_text(&proposal, &Case { approvals: &reversed, ..case }),
        "approvals in another order"
    );
    if let Ok(Value::Object(members)) = Value::read(&proposal) {
        let turned = Value::Object(members.into_iter().rev().collect());
        let spelled = serde_json::to_vec_pretty(&turned).expect("a value can be written");
        assert_eq!(judgement, decide_text(&spelled, &case), "another spelling");
    }
    if let Some(grant) = &judgement.grant {
        let key = SigningKey::from_bytes(&[7; 32]);
        let public = PublicKey::of(&key);
        let minting = Minting { audience: "worker", nonce: "1" };
        if let Ok(token) = mint(grant, &key, minting) {
            let keys = PublicKeys::from([(public.id(), public)]);
            let at_ms = now_ms.max(grant.valid_from_ms());
            assert!(
                verify_permit(&token, &keys, "worker", at_ms).is_ok(),
                "the minted permit does not verify"
            );
        }
    }
    let document = Value::read(&proposal).unwrap_or(Value::Null);
    let _ = explain(&Case { document: &document, ..case });
});
