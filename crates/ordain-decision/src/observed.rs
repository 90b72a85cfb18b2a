//! The gate's word to a hook that it may allow a call which is only observed. It has another type than a permit, so
//! nothing can be spent with it.

use crate::permit::{PermitError, PermitKey, PublicKeys, signed_claims};
use ed25519_dalek::{Signature, Signer};
use serde::{Deserialize, Serialize};

const TOKEN_TYPE: &str = "ordain-observed+jwt";

/// The claims of such a word.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservedClaims {
    /// The hash of the call's canonical JSON, as the hook sent it. Every call has an id of its own.
    pub call_hash: String,
    /// When the observation ends, in milliseconds since 1970.
    pub until_ms: u64,
    /// The installed hook that asked.
    pub hook: String,
    /// The key that signs.
    pub iss: String,
    /// The recorded action.
    pub jti: String,
}

impl ObservedClaims {
    /// The signed word.
    pub fn sign<S: Signer<Signature>>(&self, key: &PermitKey<S>) -> Result<String, PermitError> {
        key.sign(TOKEN_TYPE, self)
    }
}

/// Checks a word by itself: who signed it, that nobody changed it, and that it still counts.
pub fn verify_observed(token: &str, keys: &PublicKeys, now_ms: u64) -> Result<ObservedClaims, PermitError> {
    let (claims, key_id) = signed_claims::<ObservedClaims>(token, TOKEN_TYPE, keys)?;
    if claims.iss != key_id {
        return Err(PermitError::Claims("`iss` is not the key that signed".to_owned()));
    }
    if now_ms >= claims.until_ms {
        return Err(PermitError::Expired(now_ms - claims.until_ms));
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PublicKey, verify_permit};
    use ed25519_dalek::SigningKey;

    #[test]
    fn a_word_is_checked_and_is_no_permit() {
        let secret = SigningKey::from_bytes(&[7; 32]);
        let public = PublicKey::of(&secret);
        let key = PermitKey::new(&public, secret).unwrap();
        let keys = PublicKeys::from([(public.id(), public.clone())]);
        let claims = ObservedClaims {
            call_hash: "sha256:00".to_owned(),
            until_ms: 10,
            hook: "claude".to_owned(),
            iss: public.id(),
            jti: "a".to_owned(),
        };
        let token = claims.sign(&key).unwrap();
        assert_eq!(verify_observed(&token, &keys, 9), Ok(claims.clone()));
        assert_eq!(verify_observed(&token, &keys, 10), Err(PermitError::Expired(0)));
        assert!(matches!(verify_permit(&token, &keys, "worker", 9), Err(PermitError::Header(_))));
        let other = PublicKey::of(&SigningKey::from_bytes(&[8; 32]));
        let others = PublicKeys::from([(public.id(), other)]);
        assert!(verify_observed(&token, &others, 9).is_err());
        let foreign = ObservedClaims { iss: "x".to_owned(), ..claims }.sign(&key).unwrap();
        assert!(matches!(verify_observed(&foreign, &keys, 9), Err(PermitError::Claims(_))));
    }
}
