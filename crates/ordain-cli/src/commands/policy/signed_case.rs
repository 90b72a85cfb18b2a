//! Signed approvals in the cases of `ordain policy test`: `assurance` says how, and a key is made up for each approver.

use ed25519_dalek::SigningKey;
use ordain_canon::ContentHash;
use ordain_spec::NonEmpty;
use ordain_spec::approval::{Approval, ApprovalSignature};
use ordain_spec::statement::{
    ApproverKey, ApproverKeys, Assurance, ONCE, SESSION_ID_DIGITS, Session, SignatureMethod, Statement,
};
use serde_json::{Map, Value as Json};

/// Signs an approval that has `assurance`, and adds the approver's key to those in force.
pub(super) fn sign(approval: &mut Map<String, Json>, keys: &mut ApproverKeys) -> Result<(), String> {
    let Some(assurance) = approval.remove("assurance") else { return Ok(()) };
    let assurance = assurance.as_str().and_then(Assurance::parse).filter(|it| it.needs_signature());
    let assurance = assurance.ok_or("is not a case: `assurance` of an approval is `recent` or `presence`")?;
    let wrong = |error: serde_json::Error| format!("is not a case: an approval with `assurance`: {error}");
    let mut signed: Approval = serde_json::from_value(Json::Object(approval.clone())).map_err(wrong)?;
    let approver = signed.approver.as_str().to_owned();
    let key = key_of(&approver);
    let name = |text: &str| NonEmpty::of(text.to_owned());
    signed.signature = Some(ApprovalSignature {
        method: SignatureMethod::Ed25519,
        key_id: name("test"),
        origin: name("test"),
        action_id: name("test"),
        scope: name(ONCE),
        assurance,
        session: (assurance == Assurance::Recent).then(|| session_of(&approver, signed.at_ms)),
        not_after_ms: signed.at_ms,
        nonce: name("test"),
        signature: name("test"),
    });
    let problem = |error: ordain_spec::statement::StatementError| format!("cannot be signed: {error}");
    let statement = signed.signed().ok_or("cannot be signed")?.map_err(problem)?.statement;
    let made = Statement::parse(&statement).and_then(|it| ordain_spec::statement::Signed::sign(&it, &key));
    let made = made.map_err(problem)?;
    if keys.get(&made.key_id).is_none() {
        keys.keys.push(ApproverKey {
            key_id: made.key_id.clone(),
            principal: approver,
            public_key: public_text(&key),
            owner: false,
            passkey: None,
            enrolled_index: 0,
            revoked_index: None,
        });
    }
    if let Some(signature) = &mut signed.signature {
        signature.key_id = NonEmpty::of(made.key_id);
        signature.signature = NonEmpty::of(made.signature);
    }
    let value = serde_json::to_value(&signed).map_err(wrong)?;
    *approval = value.as_object().cloned().unwrap_or_default();
    Ok(())
}

fn public_text(key: &SigningKey) -> String {
    use base64ct::{Base64UrlUnpadded, Encoding};
    Base64UrlUnpadded::encode_string(key.verifying_key().as_bytes())
}

/// A key that was unlocked at that moment.
fn session_of(approver: &str, started_at_ms: u64) -> Session {
    let hash = ContentHash::of(format!("ordain/policy-test/session\n{approver}").as_bytes()).to_string();
    let id = hash.chars().rev().take(SESSION_ID_DIGITS).collect();
    Session { id, started_at_ms, number: 1 }
}

/// The same for the same approver. It opens nothing: no gate knows it.
fn key_of(approver: &str) -> SigningKey {
    let hash = ContentHash::of(format!("ordain/policy-test\n{approver}").as_bytes()).to_string();
    let mut seed = [0; 32];
    for (byte, digit) in seed.iter_mut().zip(hash.bytes().rev()) {
        *byte = digit;
    }
    SigningKey::from_bytes(&seed)
}
