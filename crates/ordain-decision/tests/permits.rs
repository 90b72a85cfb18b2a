//! Permits: who can make one, who can read one, and what is refused.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail loudly"
)]

use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signer, SigningKey};
use ordain_canon::Value;
use ordain_decision::{
    Case, Grant, Minting, PermitError, PolicyFiles, PolicySet, PublicKey, PublicKeys, decide, mint,
    verify_permit,
};
use serde_json::{Value as Json, json};
use std::io::Write as _;
use std::process::{Command, Stdio};

const NOW_MS: u64 = 1_705_171_260_123;
const MINTING: Minting<'_> = Minting { audience: "crm-worker", nonce: "n-1" };

fn grant(with: Json) -> Grant {
    let policy = "@id(\"p\") @max_executions(\"3\") permit(principal, action, resource);\n\
                  @id(\"q\") @max_executions(\"2\") permit(principal, action == Action::\"write\", resource);";
    let files = PolicyFiles::from([("p.cedar".to_owned(), policy.to_owned())]);
    let policies = PolicySet::load(&files).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let mut proposal = json!({"proposal_id": "p-1", "ts_ms": 1, "actor": "agent", "action_type": "write",
        "parameters": {"updates": {"email": "a@example.com"}},
        "target": {"resource_type": "t", "resource_id": "1", "domain": "d", "constraints": {}}});
    proposal.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
    let proposal = serde_json::to_vec(&proposal).unwrap();
    let case = Case {
        document: &Value::read(&proposal).unwrap(),
        policies: &policies,
        evidence: &[],
        approvals: &[],
        approver_keys: &ordain_spec::statement::NO_KEYS,
        now_ms: NOW_MS,
        halted: false,
        workspace: None,
    };
    decide(&case).grant.unwrap()
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn keys(of: &[&SigningKey]) -> PublicKeys {
    of.iter().map(|key| PublicKey::of(key)).map(|key| (key.id(), key)).collect()
}

fn token() -> String {
    mint(&grant(json!({})), &key(1), MINTING).unwrap()
}

fn check(token: &str) -> Result<ordain_decision::Claims, PermitError> {
    verify_permit(token, &keys(&[&key(1)]), MINTING.audience, NOW_MS)
}

/// A token of any header and claims, rightly signed.
fn forged(header: &Json, claims: &Json, key: &SigningKey) -> String {
    let part = |value: &Json| Base64UrlUnpadded::encode_string(value.to_string().as_bytes());
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = Base64UrlUnpadded::encode_string(&key.sign(signed.as_bytes()).to_bytes());
    format!("{signed}.{signature}")
}

fn parts(token: &str) -> (Json, Json) {
    let mut parts = token.split('.').map(|part| Base64UrlUnpadded::decode_vec(part).unwrap());
    let mut next = || serde_json::from_slice(&parts.next().unwrap()).unwrap();
    (next(), next())
}

#[test]
fn a_permit_says_what_was_granted_and_no_more() {
    let claims = check(&token()).unwrap();
    assert_eq!(
        (claims.sub.as_str(), claims.aud.as_str(), claims.nonce.as_str()),
        ("agent", "crm-worker", "n-1")
    );
    assert_eq!(claims.max_executions, 2, "the strictest of the matching permits");
    assert!(claims.jti.ends_with(&format!("_{}", claims.proposal_id)), "{}", claims.jti);
    assert_eq!((claims.nbf, claims.exp), (1_705_171_260.0, 1_705_171_560.123), "five minutes");
    assert_eq!((claims.max_duration_ms, claims.max_affected_records), (None, None));
    assert_eq!(claims.iss, PublicKey::of(&key(1)).id());
    assert_eq!(token(), token(), "the same arguments, the same bytes");
    let other = mint(&grant(json!({})), &key(1), Minting { nonce: "n-2", ..MINTING }).unwrap();
    assert_ne!(check(&other).unwrap().jti, claims.jti);

    let bounded = grant(json!({
        "time_window": {"valid_from_ms": NOW_MS + 1_000, "valid_until_ms": NOW_MS + 2_000, "max_duration_ms": 500},
        "risk_envelope": {"allowed_side_effects": [], "forbidden_effects": [], "max_affected_records": 4,
            "reversible_required": false}}));
    let bounded = mint(&bounded, &key(1), MINTING).unwrap();
    let at = |now_ms: u64| verify_permit(&bounded, &keys(&[&key(1)]), MINTING.audience, now_ms);
    assert_eq!(at(NOW_MS), Err(PermitError::NotYet(1_000)));
    assert_eq!(at(NOW_MS + 999), Err(PermitError::NotYet(1)));
    let claims = at(NOW_MS + 1_000).unwrap();
    assert_eq!((claims.max_duration_ms, claims.max_affected_records), (Some(500), Some(4)));
    assert!(at(NOW_MS + 1_999).is_ok());
    assert_eq!(at(NOW_MS + 2_000), Err(PermitError::Expired(0)));
    assert_eq!(at(u64::MAX), Err(PermitError::Expired(u64::MAX - NOW_MS - 2_000)));
}

#[test]
fn whatever_is_changed_is_refused() {
    let token = token();
    let (header, claims) = parts(&token);
    assert_eq!(
        check(&forged(&header, &claims, &key(1))),
        check(&token),
        "the forger makes what the product makes"
    );

    // Every single character of a token matters.
    for at in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert!(changed == token || check(&changed).is_err(), "at {at}: {changed}");
    }

    let with = |value: &Json, name: &str, new: Json| {
        let mut value = value.clone();
        match new {
            Json::Null => drop(value.as_object_mut().unwrap().remove(name)),
            new => drop(value.as_object_mut().unwrap().insert(name.to_owned(), new)),
        }
        value
    };
    for (name, new) in [
        ("alg", json!("none")),
        ("alg", json!("HS256")),
        ("alg", json!("EdDSA ")),
        ("alg", json!("ES256")),
        ("alg", Json::Null),
        ("typ", json!("JWT")),
        ("typ", Json::Null),
        ("jwk", json!({"kty": "OKP"})),
        ("crit", json!(["exp"])),
        ("kid", json!(7)),
    ] {
        let refused = check(&forged(&with(&header, name, new.clone()), &claims, &key(1)));
        assert!(matches!(refused, Err(PermitError::Header(_))), "{name} {new}: {refused:?}");
    }
    for (name, new) in [
        ("max_executions", json!(0)),
        ("max_executions", json!(-1)),
        ("max_executions", json!("2")),
        ("exp", Json::Null),
        ("exp", json!("later")),
        ("exp", json!(-1)),
        ("exp", json!(1e300)),
        ("proposal_hash", json!("")),
        ("proposal_hash", Json::Null),
        ("iss", json!("another")),
        ("aud", json!(["crm-worker"])),
        ("admin", json!(true)),
    ] {
        let refused = check(&forged(&header, &with(&claims, name, new.clone()), &key(1)));
        assert!(matches!(refused, Err(PermitError::Claims(_))), "{name} {new}: {refused:?}");
    }
    let (signed, _) = token.rsplit_once('.').unwrap();
    assert_eq!(check(&format!("{signed}.")), Err(PermitError::Signature));
    for text in [
        "",
        ".",
        "..",
        "...",
        "a.b",
        &format!("{token}."),
        &format!("{token}="),
        &format!(" {token}"),
        "é.é.é",
    ] {
        assert!(check(text).is_err(), "{text}");
    }
    assert_eq!(check(&"a".repeat(20_000)), Err(PermitError::TooLong));
    // A second `alg` behind the first, which some readers would take.
    let twice = header.to_string().replacen('{', "{\"alg\":\"none\",", 1);
    let parts = |text: &str| Base64UrlUnpadded::encode_string(text.as_bytes());
    let signed = format!("{}.{}", parts(&twice), parts(&claims.to_string()));
    let signature = Base64UrlUnpadded::encode_string(&key(1).sign(signed.as_bytes()).to_bytes());
    assert!(matches!(check(&format!("{signed}.{signature}")), Err(PermitError::Header(_))));
}

#[test]
fn keys_of_others_do_not_open() {
    let token = token();
    let verify = |keys: &PublicKeys, audience: &str| verify_permit(&token, keys, audience, NOW_MS);
    let own = PublicKey::of(&key(1)).id();
    assert_eq!(verify(&keys(&[]), "crm-worker"), Err(PermitError::UnknownKey(own.clone())));
    assert_eq!(verify(&keys(&[&key(2)]), "crm-worker"), Err(PermitError::UnknownKey(own.clone())));
    assert_eq!(
        verify(&keys(&[&key(1), &key(2)]), "mail-worker"),
        Err(PermitError::Audience("crm-worker".to_owned()))
    );
    // A foreign key that is put in under the right id.
    let swapped = PublicKeys::from([(own.clone(), PublicKey::of(&key(2)))]);
    assert_eq!(verify(&swapped, "crm-worker"), Err(PermitError::UnknownKey(own.clone())));
    let (header, claims) = parts(&token);
    assert_eq!(check(&forged(&header, &claims, &key(2))), Err(PermitError::Signature));

    let text = PublicKey::of(&key(1)).to_string();
    assert_eq!(PublicKey::parse(&text).unwrap(), PublicKey::of(&key(1)));
    for bad in ["", "AA", &format!("{text}="), &text[1..], "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        assert_eq!(PublicKey::parse(bad), Err(PermitError::Key), "{bad}");
    }
}

/// A worker needs no library of ours: PyJWT verifies a permit with the public key alone.
#[test]
fn a_stock_jwt_library_reads_it() {
    let public = PublicKey::of(&key(1)).to_string();
    let (header, claims) = parts(&token());
    let forged = forged(&header, &claims, &key(2));
    let script = r#"
import base64, json, sys, jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
asked = json.load(sys.stdin)
key = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(asked["key"] + "="))
read = lambda token: jwt.decode(token, key, algorithms=["EdDSA"], audience="crm-worker",
                                options={"verify_exp": False, "verify_nbf": False, "verify_iat": False})
try:
    read(asked["forged"])
    sys.exit("a forged token was accepted")
except jwt.InvalidSignatureError:
    print(json.dumps(read(asked["token"])))
"#;
    let mut python = Command::new("/usr/bin/python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let asked = json!({"key": public, "token": token(), "forged": forged}).to_string();
    python.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(serde_json::from_slice::<Json>(&output.stdout).unwrap(), claims);
}
