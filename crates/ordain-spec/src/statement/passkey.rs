//! Passkeys: WebAuthn signatures over the hash of a statement.
//!
//! The challenge of an assertion is the SHA-256 of the statement's bytes, so that anybody with the public key checks it
//! offline. The signature of a statement has three parts with dots between them: authenticator data, client data and
//! the signature itself, each in base64url without padding.

use super::signed::{SignatureError, verifying_key};
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::Signature;
use ordain_canon::{ContentHash, is_lower_hex};
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a point of P-256, uncompressed.
const POINT_BYTES: usize = 65;
/// Hexadecimal digits of the model of an authenticator.
const AAGUID_DIGITS: usize = 32;
/// Characters of the id of a credential.
const CREDENTIAL_CHARACTERS_MAX: usize = 1_364;
/// Bytes of a part of a signature.
const PART_BYTES_MAX: usize = 4 << 10;
/// Bytes of authenticator data without extensions: the hash of the relying party, flags and a counter.
const DATA_BYTES: usize = 37;

/// Flags of authenticator data.
const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const BACKUP_ELIGIBLE: u8 = 1 << 3;
const BACKED_UP: u8 = 1 << 4;
const HAS_CREDENTIAL: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

/// The algorithm of a passkey.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PasskeyAlgorithm {
    /// ECDSA on P-256 with SHA-256. The public key is the uncompressed point.
    Es256,
    /// Ed25519. The public key has 32 bytes.
    Eddsa,
}

/// The binding of a key to an authenticator and to one address. It is part of the enrolment, and so of its statement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Passkey {
    /// The model of the authenticator: 32 hexadecimal digits, all 0 if it does not say.
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"))]
    pub aaguid: String,
    /// The algorithm.
    pub algorithm: PasskeyAlgorithm,
    /// Whether it was copied to other devices when it was made.
    pub backed_up: bool,
    /// Whether it can be copied to other devices.
    pub backup_eligible: bool,
    /// By which the authenticator finds it: base64url without padding.
    #[schemars(length(min = 1, max = CREDENTIAL_CHARACTERS_MAX))]
    pub credential_id: String,
    /// The address of the page that it signs on, such as `https://gate.example`.
    pub origin: String,
    /// The host of that address.
    pub rp_id: String,
}

#[derive(Deserialize)]
struct ClientData<'t> {
    #[serde(rename = "type", borrow)]
    kind: std::borrow::Cow<'t, str>,
    #[serde(borrow)]
    challenge: std::borrow::Cow<'t, str>,
    #[serde(borrow)]
    origin: std::borrow::Cow<'t, str>,
    #[serde(rename = "crossOrigin", default)]
    cross_origin: Option<bool>,
    #[serde(rename = "topOrigin", default)]
    top_origin: Option<serde_json::Value>,
}

impl Passkey {
    /// The id of the key: the first 16 hexadecimal digits of the hash of its bytes.
    pub fn key_id(&self, public_key: &str) -> Result<String, SignatureError> {
        Ok(super::key::id_of_bytes(&self.public_bytes(public_key)?))
    }

    /// Why it cannot be enrolled; nothing if it can.
    pub fn violation(&self) -> Option<&'static str> {
        let host = match self.origin.split_once("://") {
            Some(("https", host)) => host,
            // Browsers give passkeys to this machine's own names without a certificate.
            Some(("http", host)) if self.rp_id.ends_with(".localhost") => host,
            _ => return Some("has an origin that is neither `https://…` nor a name below `localhost`"),
        };
        let host = match host.split_once(':') {
            Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            Some(_) => return Some("has an origin with a port that is not a number"),
            None => host,
        };
        let is_name =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
        if host.is_empty() || host != self.rp_id || !host.bytes().all(is_name) {
            return Some("has an `rp_id` that is not the host of its origin");
        }
        if !is_lower_hex(&self.aaguid, AAGUID_DIGITS) {
            return Some("has an `aaguid` that is not 32 hexadecimal digits");
        }
        if self.credential_id.is_empty()
            || self.credential_id.len() > CREDENTIAL_CHARACTERS_MAX
            || Base64UrlUnpadded::decode_vec(&self.credential_id).is_err()
        {
            return Some("has a `credential_id` that is not base64url without padding");
        }
        (self.backed_up && !self.backup_eligible).then_some("says that it was copied and cannot be")
    }

    /// The bytes of a public key of the algorithm.
    fn public_bytes(&self, public_key: &str) -> Result<Vec<u8>, SignatureError> {
        match self.algorithm {
            PasskeyAlgorithm::Eddsa => Ok(verifying_key(public_key)?.as_bytes().to_vec()),
            PasskeyAlgorithm::Es256 => {
                let bytes = Base64UrlUnpadded::decode_vec(public_key).map_err(|_| SignatureError::Key)?;
                let is_point = bytes.len() == POINT_BYTES && bytes.first() == Some(&4);
                if is_point { Ok(bytes) } else { Err(SignatureError::Key) }
            }
        }
    }

    /// Whether an assertion is of this passkey, of a verified person, on its page, and over exactly this statement.
    pub(super) fn check(
        &self,
        public_key: &str,
        statement: &[u8],
        signature: &str,
    ) -> Result<(), SignatureError> {
        let refused = |problem: &'static str| Err(SignatureError::Passkey(problem));
        let mut parts = signature.split('.').map(part);
        let (Some(Some(data)), Some(Some(client)), Some(Some(signature)), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return refused("has not three parts in base64url without padding");
        };
        let said: ClientData<'_> = serde_json::from_slice(&client)
            .map_err(|_| SignatureError::Passkey("has client data that cannot be read"))?;
        let challenge = Base64UrlUnpadded::encode_string(ContentHash::of(statement).as_bytes());
        if said.kind != "webauthn.get" {
            return refused("is not an assertion");
        }
        if said.challenge != challenge {
            return refused("has a challenge that is not the hash of the statement");
        }
        if said.origin != self.origin {
            return refused("was made on a page with another origin");
        }
        if said.cross_origin == Some(true) || said.top_origin.is_some() {
            return refused("was made inside a page of somebody else");
        }
        let (Some(relying_party), Some(flags)) = (data.get(..32), data.get(32)) else {
            return refused("has authenticator data that are too short");
        };
        if relying_party != ContentHash::of(self.rp_id.as_bytes()).as_bytes() {
            return refused("is for another host");
        }
        let has = |flag: u8| flags & flag != 0;
        if !has(USER_PRESENT) || !has(USER_VERIFIED) {
            return refused("does not say that the person was verified");
        }
        if has(BACKUP_ELIGIBLE) != self.backup_eligible || has(BACKED_UP) && !self.backup_eligible {
            return refused("is of an authenticator that can be copied, or not, unlike the enrolled one");
        }
        if has(HAS_CREDENTIAL) || !has(HAS_EXTENSIONS) && data.len() != DATA_BYTES {
            return refused("has authenticator data of another form");
        }
        let message = [data.as_slice(), ContentHash::of(&client).as_bytes()].concat();
        let key = self.public_bytes(public_key)?;
        let fits = match self.algorithm {
            PasskeyAlgorithm::Es256 => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &key).verify(&message, &signature).is_ok()
            }
            PasskeyAlgorithm::Eddsa => {
                let signature = Signature::from_slice(&signature).map_err(|_| SignatureError::Signature)?;
                verifying_key(public_key)?.verify_strict(&message, &signature).is_ok()
            }
        };
        if fits { Ok(()) } else { Err(SignatureError::Signature) }
    }
}

fn part(text: &str) -> Option<Vec<u8>> {
    let bytes = Base64UrlUnpadded::decode_vec(text).ok()?;
    (!bytes.is_empty() && bytes.len() <= PART_BYTES_MAX).then_some(bytes)
}
