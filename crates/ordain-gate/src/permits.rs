//! Minting: from the grant of an ALLOW to a permit on record.

use super::error::GateError;
use super::keyring::{Keyring, random_hex};
use super::open::Gate;
use super::transaction::Reading;
use base64ct::{Base64UrlUnpadded, Encoding};
use ordain_api::{Event, PermitStatus};
use ordain_canon::{ContentHash, SHA256_PREFIX};
use ordain_decision::{Claims, Grant, Minting, PermitError, mint_with_claims};
use ordain_store::Guard;

/// Everything that minting needs but the place on the ledger.
pub(crate) struct Mint {
    grant: Grant,
    keyring: Keyring,
    /// Nobody has retired the key.
    key: Guard,
    nonce: String,
    audience: String,
}

/// A permit.
#[derive(Clone)]
pub(crate) struct Minted {
    pub(crate) token: String,
    pub(crate) claims: Claims,
    valid_from_ms: u64,
    valid_until_ms: u64,
}

impl Gate {
    pub(crate) async fn minting(&self, reading: Reading, grant: Grant) -> Result<Mint, GateError> {
        let nonce = random_hex::<16>().map_err(|error| GateError::Unavailable(error.to_string()))?;
        let (keyring, key) = self.signing(reading).await?;
        Ok(Mint { grant, keyring, key, nonce, audience: self.settings.audience.clone() })
    }
}

impl Mint {
    /// The key is still the one that signs.
    pub(crate) fn guard(&self) -> Guard {
        self.key.clone()
    }

    fn minting(&self, ledger_index: Option<u64>) -> Minting<'_> {
        Minting { audience: &self.audience, nonce: &self.nonce, ledger_index }
    }

    /// The claims of the permit, but for its place on the ledger.
    pub(crate) fn claims(&self) -> Claims {
        self.grant.claims(&self.keyring.public(), self.minting(None))
    }

    pub(crate) fn mint(&self, decided_index: u64) -> Result<Minted, GateError> {
        let refused = |error: PermitError| {
            GateError::invalid("", format!("no permit can be made of this proposal: it {error}"))
        };
        let minting = self.minting(Some(decided_index));
        let (claims, token) = mint_with_claims(&self.grant, self.keyring.key(), minting).map_err(refused)?;
        let (valid_from_ms, valid_until_ms) = claims.window_ms().map_err(refused)?;
        Ok(Minted { token, claims, valid_from_ms, valid_until_ms })
    }
}

impl Minted {
    /// From a token on record; its signature is not checked.
    pub(crate) fn of(token: String) -> Option<Self> {
        let payload = token.split('.').nth(1)?;
        let claims: Claims = serde_json::from_slice(&Base64UrlUnpadded::decode_vec(payload).ok()?).ok()?;
        let (valid_from_ms, valid_until_ms) = claims.window_ms().ok()?;
        Some(Self { token, claims, valid_from_ms, valid_until_ms })
    }

    pub(crate) fn event(&self, action_id: &str) -> Event {
        Event::PermitMinted {
            action_id: action_id.to_owned(),
            permit_id: self.claims.jti.clone(),
            permit_document: self.document().to_string(),
            key_id: self.claims.iss.clone(),
        }
    }

    pub(crate) fn document(&self) -> ContentHash {
        ContentHash::of(self.token.as_bytes())
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
        }
    }
}

/// The key of an effect: two permits with the same one do the same thing to the same target. Half of a hash is enough, since a
/// collision can only block.
pub(crate) fn effect_key(claims: &Claims) -> String {
    const DIGITS: usize = 32;
    let name = serde_json::to_string(&claims.action_type).unwrap_or_default();
    let text = format!("{name}\n{}\n{}", claims.target_hash, claims.parameters_hash);
    let hash = ContentHash::of(text.as_bytes()).to_string();
    hash.trim_start_matches(SHA256_PREFIX).chars().take(DIGITS).collect()
}
