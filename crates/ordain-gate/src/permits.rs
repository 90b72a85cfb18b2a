//! Minting: from the grant of an ALLOW to a permit on record.

use super::error::GateError;
use super::keyring::random_hex;
use super::open::Gate;
use super::transaction::Reading;
use base64ct::{Base64UrlUnpadded, Encoding};
use ordain_api::{Event, PermitStatus};
use ordain_canon::ContentHash;
use ordain_decision::{Claims, Grant, Minting, PermitError, mint_with_claims};
use ordain_store::Guard;

/// A permit.
#[derive(Clone)]
pub(crate) struct Minted {
    pub(crate) token: String,
    pub(crate) claims: Claims,
    /// The hash of the token.
    document: ContentHash,
    valid_from_ms: u64,
    valid_until_ms: u64,
}

impl Gate {
    /// Makes the permit of an ALLOW, and a guard that nobody has retired its key meanwhile.
    pub(crate) async fn mint(&self, reading: Reading, grant: &Grant) -> Result<(Minted, Guard), GateError> {
        let nonce = random_hex::<16>().map_err(|error| GateError::Unavailable(error.to_string()))?;
        let (keyring, key) = self.signing(reading).await?;
        let minting = Minting { audience: &self.settings.audience, nonce: &nonce };
        let (claims, token) = mint_with_claims(grant, keyring.permit_key(), minting).map_err(refused)?;
        let (valid_from_ms, valid_until_ms) = claims.window_ms().map_err(refused)?;
        let document = ContentHash::of(token.as_bytes());
        Ok((Minted { token, claims, document, valid_from_ms, valid_until_ms }, key))
    }
}

pub(crate) fn refused(error: PermitError) -> GateError {
    GateError::invalid("", format!("no permit can be made of this proposal: it {error}"))
}

impl Minted {
    /// From a token on record; its signature is not checked.
    pub(crate) fn of(token: String) -> Option<Self> {
        let payload = token.split('.').nth(1)?;
        let claims: Claims = serde_json::from_slice(&Base64UrlUnpadded::decode_vec(payload).ok()?).ok()?;
        let (valid_from_ms, valid_until_ms) = claims.window_ms().ok()?;
        let document = ContentHash::of(token.as_bytes());
        Some(Self { token, claims, document, valid_from_ms, valid_until_ms })
    }

    pub(crate) fn event(&self, action_id: &str) -> Event {
        Event::PermitMinted {
            action_id: action_id.to_owned(),
            permit_id: self.claims.jti.clone(),
            permit_document: self.document.to_string(),
            key_id: self.claims.iss.clone(),
        }
    }

    /// Whether its time is over.
    pub(crate) fn is_over(&self, now_ms: u64) -> bool {
        now_ms >= self.valid_until_ms
    }

    pub(crate) fn holds_at(&self, now_ms: u64) -> bool {
        (self.valid_from_ms..self.valid_until_ms).contains(&now_ms)
    }

    /// The permit as it is shown, with the uses of its record.
    pub(crate) fn status(
        &self,
        action_id: &str,
        permit: &super::records::Permit,
        with_token: bool,
    ) -> PermitStatus {
        PermitStatus {
            permit_id: permit.id.to_string(),
            action_id: action_id.to_owned(),
            token: with_token.then(|| self.token.clone()),
            valid_from_ms: self.valid_from_ms,
            valid_until_ms: self.valid_until_ms,
            max_executions: self.claims.max_executions,
            max_duration_ms: self.claims.max_duration_ms,
            max_affected_records: self.claims.max_affected_records,
            used: permit.used,
            uses: permit.uses.clone(),
            locks: permit.locks(),
        }
    }
}
