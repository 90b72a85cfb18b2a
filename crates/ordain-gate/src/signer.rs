//! Signs permits: half of what a decision computes is its signature.

use ed25519_dalek::{Signature, SignatureError, Signer, SigningKey};
use ring::signature::Ed25519KeyPair;

/// Signs with the quickest library that this processor can run. All of them give the same bytes as `ed25519-dalek`.
pub(crate) enum QuickSigner {
    /// Assembly that was proven to compute what it should (s2n-bignum), for processors that have its instructions.
    #[cfg(target_arch = "x86_64")]
    Proven(Box<graviola::signing::eddsa::Ed25519SigningKey>),
    /// For all others.
    Ring(Box<Ed25519KeyPair>),
}

impl QuickSigner {
    pub(crate) fn new(key: &SigningKey) -> Result<Self, String> {
        #[cfg(target_arch = "x86_64")]
        if let Some(signer) = Self::proven(key) {
            return Ok(signer);
        }
        Self::ring(key)
    }

    fn ring(key: &SigningKey) -> Result<Self, String> {
        let pair = Ed25519KeyPair::from_seed_and_public_key(key.as_bytes(), key.verifying_key().as_bytes());
        pair.map(|pair| Self::Ring(Box::new(pair))).map_err(|error| error.to_string())
    }

    /// None on a processor that lacks an instruction, and where a signature is not the one of `ed25519-dalek`.
    #[cfg(target_arch = "x86_64")]
    fn proven(key: &SigningKey) -> Option<Self> {
        const PROBE: &[u8] = b"ordain/signer/v1";
        // The library stops the program where one is missing.
        let runs = is_x86_feature_detected!("adx")
            && is_x86_feature_detected!("aes")
            && is_x86_feature_detected!("avx")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("ssse3");
        if !runs {
            return None;
        }
        let quick = graviola::signing::eddsa::Ed25519SigningKey::from_bytes(key.as_bytes()).ok()?;
        (quick.sign(PROBE) == key.sign(PROBE).to_bytes()).then(|| Self::Proven(Box::new(quick)))
    }
}

impl Signer<Signature> for QuickSigner {
    fn try_sign(&self, message: &[u8]) -> Result<Signature, SignatureError> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Proven(key) => Ok(Signature::from_bytes(&key.sign(message))),
            Self::Ring(key) => Signature::from_slice(key.sign(message).as_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_libraries_sign_alike() {
        for seed in [[0; 32], [7; 32], [255; 32]] {
            let key = SigningKey::from_bytes(&seed);
            for signer in [QuickSigner::new(&key).unwrap(), QuickSigner::ring(&key).unwrap()] {
                for length in [0, 1, 63, 64, 65, 111, 112, 127, 128, 129, 1_000, 5_000] {
                    let message = vec![b'm'; length];
                    assert_eq!(signer.sign(&message), key.sign(&message));
                }
            }
        }
    }
}
