//! Signatures of the approvals of a case: recent, with presence, by a login, or not as they should be.

use super::folder::ACTORS;
use super::rng::Rng;
use super::with;
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::SigningKey;
use ordain_spec::approval::Approval;
use ordain_spec::statement::{ApproverKey, ApproverKeys, Signed, Statement};
use serde_json::{Value as Json, json};

/// Signs some of the approvals. Its own stream of random numbers leaves the rest of the case as it is.
pub(super) fn add(seed: u64, approvals: &mut [Json]) -> ApproverKeys {
    let mut rng = Rng::new(seed, 2);
    for approval in approvals.iter_mut() {
        let Some(approver) = approval.get("approver").and_then(Json::as_str).map(str::to_owned) else {
            continue;
        };
        *approval = match rng.below(12) {
            0..=4 => continue,
            5 => with(approval.clone(), "how", json!(rng.pick(&["login", "token", "peer"]))),
            6..=8 => signed(approval, &approver, "recent"),
            9 | 10 => signed(approval, &approver, "presence"),
            // With the key of somebody else.
            _ => signed(approval, "mallory", rng.pick::<&str>(&["recent", "presence"])),
        };
    }
    let names = ACTORS.iter().map(|(id, ..)| *id).chain(["mallory"]);
    ApproverKeys { keys: names.map(|name| key_on_record(name, rng.chance(5))).collect() }
}

fn key_of(name: &str) -> SigningKey {
    let mut seed = [0x5a; 32];
    for (byte, letter) in seed.iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    SigningKey::from_bytes(&seed)
}

fn key_on_record(name: &str, revoked: bool) -> ApproverKey {
    let public_key = Base64UrlUnpadded::encode_string(key_of(name).verifying_key().as_bytes());
    let key_id = ordain_spec::statement::key_id(&public_key).unwrap_or_default();
    let principal = name.to_owned();
    ApproverKey {
        key_id,
        principal,
        public_key,
        owner: false,
        passkey: None,
        enrolled_index: 1,
        revoked_index: revoked.then_some(2),
    }
}

/// The approval with a signature by the key of a name; as it was where no statement can be made of it.
fn signed(approval: &Json, name: &str, assurance: &str) -> Json {
    let key = key_of(name);
    let at_ms = approval.get("at_ms").cloned().unwrap_or_default();
    let signature = json!({"method": "ed25519", "key_id": key_on_record(name, false).key_id, "origin": "gate",
        "action_id": "p1", "scope": "once", "assurance": assurance, "not_after_ms": at_ms, "nonce": "n",
        "signature": "none"});
    let with_signature = with(approval.clone(), "signature", signature);
    let made =
        serde_json::from_value::<Approval>(with_signature.clone()).ok().and_then(|it| it.signed()?.ok());
    let made = made.and_then(|it| Signed::sign(&Statement::parse(&it.statement).ok()?, &key).ok());
    let Some(made) = made else { return approval.clone() };
    let mut whole = with_signature;
    if let Some(place) = whole.pointer_mut("/signature/signature") {
        *place = json!(made.signature);
    }
    whole
}
