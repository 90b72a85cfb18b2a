//! By what right a workspace may be changed.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signer, SigningKey};
use ordain_decision::{PublicKey, PublicKeys, VerifiedPermit};
use ordain_harness::apply::{ApplyError, Authority, Copies, PROJECT_FILE, SpentUse, undo};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

const HASH: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

fn permit(id: &str, uses: u64) -> VerifiedPermit {
    let key = SigningKey::from_bytes(&[7; 32]);
    let public = PublicKey::of(&key);
    let header = json!({"alg": "EdDSA", "kid": public.id(), "typ": "ordain-permit+jwt"});
    let claims = json!({"iss": public.id(), "sub": "agent", "aud": "worker", "jti": id, "iat": 1, "nbf": 1,
        "exp": 100, "proposal_id": "p", "proposal_hash": HASH, "action_type": "write", "target_hash": HASH,
        "parameters_hash": HASH, "evidence_set_hash": HASH, "policy_hash": HASH, "max_executions": uses,
        "nonce": "n"});
    let part = |value: &Json| Base64UrlUnpadded::encode_string(value.to_string().as_bytes());
    let signed = format!("{}.{}", part(&header), part(&claims));
    let signature = Base64UrlUnpadded::encode_string(&key.sign(signed.as_bytes()).to_bytes());
    let keys = PublicKeys::from([(public.id(), public)]);
    VerifiedPermit::verify(&format!("{signed}.{signature}"), &keys, "worker", 50_000).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ordain-authority-{name}-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("inside")).unwrap();
    folder
}

#[test]
fn a_receipt_must_be_about_the_permit() {
    let permit = permit("permit_1", 2);
    for number in [1, 2] {
        assert!(Authority::spent(&permit, SpentUse { permit_id: "permit_1", number }).is_ok());
    }
    for used in [
        SpentUse { permit_id: "permit_2", number: 1 },
        SpentUse { permit_id: "permit_1", number: 0 },
        SpentUse { permit_id: "permit_1", number: 3 },
    ] {
        assert!(matches!(Authority::spent(&permit, used), Err(ApplyError::Permit { .. })), "{used:?}");
    }
}

#[test]
fn a_person_needs_the_gate_where_there_is_one() {
    let root = folder("gated");
    let inside = root.join("inside");
    assert!(Authority::local_operator(&inside).is_ok());
    std::fs::write(root.join(PROJECT_FILE), "").unwrap();
    for workspace in [&root, &inside, &inside.join("..")] {
        assert!(matches!(Authority::local_operator(workspace), Err(ApplyError::Gated { .. })));
    }
    assert!(matches!(Authority::local_operator(&root.join("none")), Err(ApplyError::Workspace { .. })));
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn the_right_of_a_person_is_for_one_workspace() {
    let root = folder("other");
    let authority = Authority::local_operator(&root).unwrap();
    let undone = undo(&root.join("inside"), None, Copies::Refuse, authority);
    assert!(matches!(undone, Err(ApplyError::OtherWorkspace { .. })), "{undone:?}");
    std::fs::remove_dir_all(root).unwrap();
}
