//! Nonces of statements. Each is a MAC with a key that all nodes of a store share, so that none has to be kept.

use super::error::GateError;
use super::records::Control;
use base64ct::{Base64UrlUnpadded, Encoding};
use hmac::{Hmac, KeyInit, Mac};
use ordain_spec::limits::{CLOCK_SKEW_MS, STATEMENT_MS_MAX};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// Bytes of a nonce.
const BYTES: usize = 18;

/// The purpose of a nonce.
#[derive(Clone, Copy)]
pub(crate) enum NonceOf<'a> {
    /// A verdict about an action as it was shown.
    Approval { action_id: &'a str, view_digest: &'a str },
    /// An owner act that changes a state.
    Act { act: &'a str, from: &'a str },
}

impl Control {
    /// The nonce of something that ends.
    pub(crate) fn nonce(&self, of: NonceOf<'_>, not_after_ms: u64) -> Result<String, GateError> {
        let (kind, first, second) = match of {
            NonceOf::Approval { action_id, view_digest } => ("approval", action_id, view_digest),
            NonceOf::Act { act, from } => ("act", act, from),
        };
        let unusable = |_| GateError::Damaged("the key of nonces cannot be used".to_owned());
        let mut mac = Hmac::<Sha256>::new_from_slice(self.nonce_key.as_bytes()).map_err(unusable)?;
        // None of them has a line feed: names have no control characters.
        mac.update(format!("ordain/nonce/v1\n{kind}\n{first}\n{second}\n{not_after_ms}\n").as_bytes());
        let bytes = mac.finalize().into_bytes();
        Ok(Base64UrlUnpadded::encode_string(bytes.get(..BYTES).unwrap_or_default()))
    }

    /// That a statement is of now, and its nonce of this gate.
    pub(crate) fn check_fresh(
        &self,
        of: NonceOf<'_>,
        nonce: &str,
        (at_ms, not_after_ms): (u64, u64),
        now_ms: u64,
    ) -> Result<(), GateError> {
        let refused = |problem: String| Err(GateError::Presence(format!("the signed statement {problem}")));
        let expected = self.nonce(of, not_after_ms)?;
        let same: bool = expected.as_bytes().ct_eq(nonce.as_bytes()).into();
        if !same {
            return refused("has a nonce that this gate did not hand out for it".to_owned());
        }
        if now_ms > not_after_ms {
            return refused(format!("ended {} ms ago", now_ms - not_after_ms));
        }
        let skew_ms = u64::try_from(CLOCK_SKEW_MS).unwrap_or_default();
        if at_ms > now_ms.saturating_add(skew_ms) {
            return refused(format!("is {} ms in the future", at_ms - now_ms));
        }
        if not_after_ms.saturating_sub(at_ms) > STATEMENT_MS_MAX {
            return refused(format!("holds for more than {STATEMENT_MS_MAX} ms"));
        }
        Ok(())
    }
}
