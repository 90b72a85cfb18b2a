//! The keys of approvers that are in force.

use super::signed::{SignatureError, verifying_key};
use super::{Passkey, Signed, Statement};
use ordain_canon::{ContentHash, SHA256_PREFIX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The key of one approver. A person may have several.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproverKey {
    /// The first 16 hexadecimal digits of the hash of its bytes.
    pub key_id: String,
    /// The principal that it belongs to.
    pub principal: String,
    /// 32 bytes in base64url without padding; of a passkey as its algorithm says.
    pub public_key: String,
    /// The binding of a passkey; nothing for a key of a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passkey: Option<Passkey>,
    /// Whether it signs owner acts.
    pub owner: bool,
    /// The entry that enrolled it.
    pub enrolled_index: u64,
    /// The entry that revoked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_index: Option<u64>,
}

/// All keys that were ever enrolled, in the order in which they were.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproverKeys {
    /// The keys, revoked ones too.
    pub keys: Vec<ApproverKey>,
}

/// The keys of a gate at which nobody has one.
pub static NO_KEYS: ApproverKeys = ApproverKeys { keys: Vec::new() };

impl ApproverKey {
    /// Whether it may sign now.
    pub fn is_in_force(&self) -> bool {
        self.revoked_index.is_none()
    }

    /// Whether it could sign what stands at a place of the ledger.
    pub fn was_in_force_at(&self, index: u64) -> bool {
        self.enrolled_index < index && self.revoked_index.is_none_or(|revoked| index <= revoked)
    }
}

impl ApproverKeys {
    /// A key by its id, revoked or not.
    pub fn get(&self, key_id: &str) -> Option<&ApproverKey> {
        self.keys.iter().find(|key| key.key_id == key_id)
    }

    /// The keys that may sign now.
    pub fn in_force(&self) -> impl Iterator<Item = &ApproverKey> {
        self.keys.iter().filter(|key| key.is_in_force())
    }

    /// Whether somebody owns the gate.
    pub fn has_owner(&self) -> bool {
        self.in_force().any(|key| key.owner)
    }

    /// Whether somebody owned the gate when an entry was written.
    pub fn had_owner_at(&self, index: u64) -> bool {
        self.keys.iter().any(|key| key.owner && key.was_in_force_at(index))
    }

    /// The statement and the key behind a signature, if that key is in force, belongs to who makes the
    /// statement, and fits.
    pub fn verify(&self, signed: &Signed) -> Result<(Statement, &ApproverKey), KeyError> {
        self.verify_with(signed, ApproverKey::is_in_force)
    }

    /// The same, for a signature of an entry at a place of the ledger.
    pub fn verify_at(&self, index: u64, signed: &Signed) -> Result<(Statement, &ApproverKey), KeyError> {
        self.verify_with(signed, |key| key.was_in_force_at(index))
    }

    fn verify_with(
        &self,
        signed: &Signed,
        in_force: impl Fn(&ApproverKey) -> bool,
    ) -> Result<(Statement, &ApproverKey), KeyError> {
        let unknown = || KeyError::Unknown(signed.key_id.clone());
        let key = self.get(&signed.key_id).ok_or_else(unknown)?;
        if !in_force(key) {
            return Err(KeyError::Revoked(signed.key_id.clone()));
        }
        let statement = signed.verify(&key.public_key, key.passkey.as_ref())?;
        if statement.principal() != key.principal {
            return Err(KeyError::OtherPrincipal {
                key_id: signed.key_id.clone(),
                principal: key.principal.clone(),
            });
        }
        Ok((statement, key))
    }
}

/// Why a signature of somebody's key does not count.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Nobody enrolled the key.
    #[error("the key `{0}` is not enrolled")]
    Unknown(String),
    /// The key was revoked.
    #[error("the key `{0}` is revoked")]
    Revoked(String),
    /// The key is somebody else's.
    #[error("the key `{key_id}` belongs to `{principal}`")]
    OtherPrincipal {
        /// The key.
        key_id: String,
        /// The principal that it belongs to.
        principal: String,
    },
    /// The signature itself.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// The id of a public key: 32 bytes in base64url without padding.
pub fn key_id(public_key: &str) -> Result<String, SignatureError> {
    Ok(id_of(verifying_key(public_key)?.as_bytes()))
}

/// The first 16 hexadecimal digits of the hash of a key.
pub(super) fn id_of(key: &[u8; 32]) -> String {
    id_of_bytes(key)
}

/// The same for a key of any length.
pub(super) fn id_of_bytes(key: &[u8]) -> String {
    let hash = ContentHash::of(key).to_string();
    hash.strip_prefix(SHA256_PREFIX).unwrap_or(&hash).chars().take(16).collect()
}
