//! By what right a workspace may be changed.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signer, SigningKey};
use ordain_decision::{PublicKey, PublicKeys, VerifiedPermit};
use ordain_harness::apply::{ApplyError, Authority, Copies, SpentUse, undo};
use ordain_state::{GateId, GateSettings, Home, Project};
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
fn a_person_needs_the_gate_where_one_is_registered() {
    let root = folder("gated");
    let inside = root.join("inside");
    let state = tempfile::tempdir().unwrap();
    let home = Home::in_folder(state.path());
    // A file in the workspace makes no gate, and takes none away.
    std::fs::write(root.join("ordain.toml"), "").unwrap();
    assert!(Authority::local_operator(&home, &inside).is_ok());
    let id = GateId::random().unwrap();
    home.create_gate(&GateSettings { id: id.clone(), store: None }).unwrap();
    let project = Project::of(&root, id).unwrap();
    home.change_registry(|registry| registry.add(&home, project)).unwrap();
    std::fs::remove_file(root.join("ordain.toml")).unwrap();
    for workspace in [&root, &inside, &inside.join("..")] {
        assert!(matches!(Authority::local_operator(&home, workspace), Err(ApplyError::Gated { .. })));
    }
    assert!(matches!(
        Authority::local_operator(&home, &root.join("none")),
        Err(ApplyError::Workspace { .. })
    ));
    // Moved away, it is still the same folder, and no way round the gate.
    let moved = root.with_extension("moved");
    std::fs::rename(&root, &moved).unwrap();
    assert!(matches!(Authority::local_operator(&home, &moved.join("inside")), Err(ApplyError::Registry(_))));
    std::fs::remove_dir_all(moved).unwrap();
}

#[test]
fn the_right_of_a_person_is_for_one_workspace() {
    let root = folder("other");
    let authority = Authority::local_operator(&Home::in_folder(&root.join("state")), &root).unwrap();
    let undone = undo(&root.join("inside"), None, Copies::Refuse, authority);
    assert!(matches!(undone, Err(ApplyError::OtherWorkspace { .. })), "{undone:?}");
    std::fs::remove_dir_all(root).unwrap();
}
