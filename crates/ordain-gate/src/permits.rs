//! Minting: from the grant of an ALLOW to a permit on record.

use super::error::GateError;
use super::keyring::{Keyring, random_hex};
use super::open::Gate;
use super::records::{Held, Permit};
use ordain_api::Event;
use ordain_canon::ContentHash;
use ordain_decision::{Claims, Grant, Minting, mint};
use ordain_store::Guard;

/// Everything that minting needs but the place on the ledger.
pub(super) struct Mint {
    grant: Grant,
    keyring: Keyring,
    /// That nobody has retired the key.
    key: Guard,
    nonce: String,
    audience: String,
}

/// A permit, ready to be written.
pub(super) struct Minted {
    pub(super) id: String,
    pub(super) record: Permit,
    pub(super) event: Event,
    /// The token, for the store.
    pub(super) document: Vec<u8>,
}

impl Gate {
    pub(super) async fn minting(&self, grant: Grant) -> Result<Mint, GateError> {
        let nonce = random_hex::<16>().map_err(|error| GateError::Unavailable(error.to_string()))?;
        let (keyring, key) = self.signing().await?;
        Ok(Mint { grant, keyring, key: key.guard(), nonce, audience: self.settings.audience.clone() })
    }
}

impl Mint {
    /// That there is no permit of this id yet, and that the key is still the one.
    pub(super) fn guards(&self) -> [Guard; 2] {
        let minting = Minting { audience: &self.audience, nonce: &self.nonce, ledger_index: None };
        let id = self.grant.claims(&self.keyring.public(), minting).jti;
        [Held::<Permit> { id, version: 0, body: None }.guard(), self.key.clone()]
    }

    pub(super) fn mint(&self, action_id: &str, decided_index: u64) -> Result<Minted, GateError> {
        let minting =
            Minting { audience: &self.audience, nonce: &self.nonce, ledger_index: Some(decided_index) };
        let refused = |error: ordain_decision::PermitError| {
            GateError::invalid("", format!("no permit can be made of this proposal: it {error}"))
        };
        let claims = self.grant.claims(&self.keyring.public(), minting);
        let token = mint(&self.grant, self.keyring.key(), minting).map_err(refused)?;
        let (valid_from_ms, valid_until_ms) = claims.window_ms().map_err(refused)?;
        let record = Permit {
            action_id: action_id.to_owned(),
            token: token.clone(),
            effect: effect(&claims),
            valid_from_ms,
            valid_until_ms,
            max_executions: claims.max_executions,
            max_duration_ms: claims.max_duration_ms,
            max_affected_records: claims.max_affected_records,
            used: 0,
            uses: Vec::new(),
        };
        let event = Event::PermitMinted {
            action_id: action_id.to_owned(),
            permit_id: claims.jti.clone(),
            permit_document: ContentHash::of(token.as_bytes()).to_string(),
            key_id: claims.iss.clone(),
            max_executions: claims.max_executions,
            valid_from_ms,
            valid_until_ms,
        };
        Ok(Minted { id: claims.jti, record, event, document: token.into_bytes() })
    }
}

/// What is done to what and how: two permits with the same effect do the same thing.
pub(super) fn effect(claims: &Claims) -> String {
    let name = serde_json::to_string(&claims.action_type).unwrap_or_default();
    ContentHash::of(format!("{name}\n{}\n{}", claims.target_hash, claims.parameters_hash).as_bytes())
        .to_string()
}
