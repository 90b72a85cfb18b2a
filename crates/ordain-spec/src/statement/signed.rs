//! A statement with its signature.

use super::{Assurance, How, Passkey, Statement, StatementError};
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use ordain_canon::ContentHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a statement is signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignatureMethod {
    /// Ed25519 over the statement's bytes.
    Ed25519,
    /// A passkey, whose challenge is the hash of the statement's bytes.
    Webauthn,
}

impl SignatureMethod {
    /// How its entries say that their author was authenticated.
    pub const fn how(self) -> How {
        match self {
            Self::Ed25519 => How::Signed,
            Self::Webauthn => How::Passkey,
        }
    }

    /// As documents write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::Webauthn => "webauthn",
        }
    }
}

/// A statement with its signature: all that anybody needs besides the public key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The exact text that was signed.
    pub statement: String,
    /// How.
    pub method: SignatureMethod,
    /// The key.
    pub key_id: String,
    /// The signature, base64url without padding; of a passkey authenticator data, client data and signature, with
    /// dots between them.
    pub signature: String,
}

/// Why a signature does not count.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The text is not a statement.
    #[error("the statement {0}")]
    Statement(#[from] StatementError),
    /// The key signs by another method.
    #[error("the key does not sign by the method `{}`", .0.name())]
    Method(SignatureMethod),
    /// The key cannot be used.
    #[error("the key is not an Ed25519 key of 32 bytes in base64url without padding")]
    Key,
    /// The signature has another form.
    #[error("the signature is not 64 bytes in base64url without padding")]
    Form,
    /// It is not an assertion of the passkey over the statement.
    #[error("the signature of the passkey {0}")]
    Passkey(&'static str),
    /// Somebody changed the statement, or signed it with another key.
    #[error("the signature does not fit the statement and the key")]
    Signature,
    /// It names another key than the one that was used.
    #[error("the signature is of the key `{0}`")]
    OtherKey(String),
}

impl Signed {
    /// Signs a statement.
    pub fn sign(statement: &Statement, key: &SigningKey) -> Result<Self, StatementError> {
        let statement = statement.text()?;
        let signature = Base64UrlUnpadded::encode_string(&key.sign(statement.as_bytes()).to_bytes());
        let key_id = super::key::id_of(key.verifying_key().as_bytes());
        Ok(Self { statement, method: SignatureMethod::Ed25519, key_id, signature })
    }

    /// The statement, if the signature over it fits a public key: 32 bytes in base64url without padding, or the key of
    /// a passkey.
    pub fn verify(&self, public_key: &str, passkey: Option<&Passkey>) -> Result<Statement, SignatureError> {
        let statement = Statement::parse(&self.statement)?;
        let key_id = match passkey {
            Some(passkey) => passkey.key_id(public_key)?,
            None => super::key::id_of(verifying_key(public_key)?.as_bytes()),
        };
        if key_id != self.key_id {
            return Err(SignatureError::OtherKey(self.key_id.clone()));
        }
        let bytes = self.statement.as_bytes();
        match (self.method, passkey) {
            (SignatureMethod::Ed25519, None) => check(&verifying_key(public_key)?, bytes, &self.signature)?,
            (SignatureMethod::Webauthn, Some(passkey)) => {
                if matches!(&statement, Statement::Approval(approval) if approval.assurance != Assurance::Presence)
                {
                    return Err(SignatureError::Passkey("is over a statement without `presence`"));
                }
                passkey.check(public_key, bytes, &self.signature)?;
            }
            (method, _) => return Err(SignatureError::Method(method)),
        }
        Ok(statement)
    }

    /// By which a statement counts once.
    pub fn statement_hash(&self) -> ContentHash {
        ContentHash::of(self.statement.as_bytes())
    }
}

/// Whether a signature fits some bytes and a key.
fn check(key: &VerifyingKey, message: &[u8], signature: &str) -> Result<(), SignatureError> {
    let mut bytes = [0; 64];
    let decoded = Base64UrlUnpadded::decode(signature, &mut bytes).map_err(|_| SignatureError::Form)?;
    let signature = Signature::from_slice(decoded).map_err(|_| SignatureError::Form)?;
    key.verify_strict(message, &signature).map_err(|_| SignatureError::Signature)
}

/// A public key that signatures can be checked with. With a weak key a signature fits more than one message.
pub(super) fn verifying_key(public_key: &str) -> Result<VerifyingKey, SignatureError> {
    let mut bytes = [0; 32];
    let decoded = Base64UrlUnpadded::decode(public_key, &mut bytes).map_err(|_| SignatureError::Key)?;
    let bytes: [u8; 32] = decoded.try_into().map_err(|_| SignatureError::Key)?;
    let key = VerifyingKey::from_bytes(&bytes).map_err(|_| SignatureError::Key)?;
    if key.is_weak() { Err(SignatureError::Key) } else { Ok(key) }
}
