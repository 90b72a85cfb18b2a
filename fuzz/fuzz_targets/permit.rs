//! Any text as a permit: only one that the key signed passes.

#![no_main]

use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signer, SigningKey};
use libfuzzer_sys::fuzz_target;
use ordain_decision::{PublicKey, PublicKeys, verify_permit};

const NOW_MS: u64 = 1_705_171_260_000;

fuzz_target!(|input: &[u8]| {
    let key = SigningKey::from_bytes(&[7; 32]);
    let public = PublicKey::of(&key);
    let keys = PublicKeys::from([(public.id(), public.clone())]);
    let Ok(text) = std::str::from_utf8(input) else { return };
    assert!(verify_permit(text, &keys, "worker", NOW_MS).is_err(), "a permit that nobody signed");

    // The same as claims that the key did sign: it never panics, and what passes is canonical to the letter.
    let header = format!(r#"{{"alg":"EdDSA","kid":"{}","typ":"ordain-permit+jwt"}}"#, public.id());
    let part = |bytes: &[u8]| Base64UrlUnpadded::encode_string(bytes);
    let signed = format!("{}.{}", part(header.as_bytes()), part(input));
    let token = format!("{signed}.{}", part(&key.sign(signed.as_bytes()).to_bytes()));
    if let Ok(claims) = verify_permit(&token, &keys, "worker", NOW_MS) {
        assert!(claims.max_executions > 0 && claims.aud == "worker" && claims.iss == public.id());
        assert!(claims.nbf * 1000.0 <= NOW_MS as f64 + 0.5 && claims.exp * 1000.0 > NOW_MS as f64 - 0.5);
    }
});
