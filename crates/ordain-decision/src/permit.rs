//! Permits: what a worker shows before it acts. Minted only from a grant, and a grant comes only with an ALLOW.

use crate::limits::PERMIT_BYTES_MAX;
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use ordain_canon::{
    ActionHash, Canonicalizer, ContentHash, EvidenceSetHash, ParametersHash, PolicyHash, SHA256_PREFIX,
    TargetHash, Value, is_sha256,
};
use ordain_spec::action::ActionType;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const ALGORITHM: &str = "EdDSA";
const TOKEN_TYPE: &str = "ordain-permit+jwt";

/// The grant of an ALLOW. Only a decision makes one.
#[derive(Clone, PartialEq, Debug)]
pub struct Grant {
    pub(crate) actor: String,
    pub(crate) proposal_id: String,
    pub(crate) proposal_hash: ActionHash,
    pub(crate) action_type: ActionType,
    pub(crate) target_hash: TargetHash,
    pub(crate) parameters_hash: ParametersHash,
    pub(crate) evidence_set_hash: EvidenceSetHash,
    pub(crate) policy_hash: PolicyHash,
    pub(crate) decided_at_ms: u64,
    pub(crate) valid_from_ms: u64,
    pub(crate) valid_until_ms: u64,
    pub(crate) max_executions: u64,
    pub(crate) max_duration_ms: Option<u64>,
    pub(crate) max_affected_records: Option<u64>,
}

impl Grant {
    /// The hash of the proposal that it was granted for.
    pub fn proposal_hash(&self) -> ActionHash {
        self.proposal_hash
    }

    /// How often a permit of it can be used.
    pub fn max_executions(&self) -> u64 {
        self.max_executions
    }

    /// The claims of a permit made of it.
    pub fn claims(&self, key_id: &str, minting: Minting<'_>) -> Claims {
        let proposal_hash = self.proposal_hash.to_string();
        let id = ContentHash::of(&[proposal_hash.as_bytes(), b"\n", minting.nonce.as_bytes()].concat());
        // A window that has begun began before the permit was there, to the second or not.
        let has_begun = self.valid_from_ms <= self.decided_at_ms;
        let not_before_ms = if has_begun { whole(self.valid_from_ms) } else { self.valid_from_ms };
        Claims {
            action_type: self.action_type,
            aud: minting.audience.to_owned(),
            evidence_set_hash: self.evidence_set_hash.to_string(),
            exp: seconds(self.valid_until_ms),
            iat: seconds(whole(self.decided_at_ms)),
            iss: key_id.to_owned(),
            // With the action, so that it is found by the id alone.
            jti: format!("permit_{}_{}", short_id(id), self.proposal_id),
            max_affected_records: self.max_affected_records,
            max_duration_ms: self.max_duration_ms,
            max_executions: self.max_executions,
            nbf: seconds(not_before_ms),
            nonce: minting.nonce.to_owned(),
            parameters_hash: self.parameters_hash.to_string(),
            policy_hash: self.policy_hash.to_string(),
            proposal_hash,
            proposal_id: self.proposal_id.clone(),
            sub: self.actor.clone(),
            target_hash: self.target_hash.to_string(),
        }
    }
}

/// Minting needs these besides a grant and a key.
#[derive(Clone, Copy, Debug)]
pub struct Minting<'a> {
    /// The class of worker that may use the permit.
    pub audience: &'a str,
    /// Never used before with this key.
    pub nonce: &'a str,
}

impl Claims {
    /// When the permit starts and when it ends, in milliseconds since 1970.
    pub fn window_ms(&self) -> Result<(u64, u64), PermitError> {
        Ok((milliseconds(self.nbf)?, milliseconds(self.exp)?))
    }
}

/// The first 16 hexadecimal digits of a hash.
fn short_id(hash: ContentHash) -> String {
    let text = hash.to_string();
    let digits = text.strip_prefix(SHA256_PREFIX).unwrap_or(&text);
    digits.get(..16).unwrap_or(digits).to_owned()
}

/// The claims of a permit, in the order of canonical JSON, so that writing them sorts nothing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "docs/contracts/decision.md has a table of them")]
pub struct Claims {
    pub action_type: ActionType,
    pub aud: String,
    pub evidence_set_hash: String,
    pub exp: f64,
    pub iat: f64,
    pub iss: String,
    pub jti: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_affected_records: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration_ms: Option<u64>,
    pub max_executions: u64,
    pub nbf: f64,
    pub nonce: String,
    pub parameters_hash: String,
    pub policy_hash: String,
    pub proposal_hash: String,
    pub proposal_id: String,
    pub sub: String,
    pub target_hash: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    kid: String,
    typ: String,
}

/// An Ed25519 public key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// From 32 bytes in base64url without padding.
    pub fn parse(text: &str) -> Result<Self, PermitError> {
        let mut bytes = [0; 32];
        let decoded = Base64UrlUnpadded::decode(text, &mut bytes).map_err(|_| PermitError::Key)?;
        let bytes: [u8; 32] = decoded.try_into().map_err(|_| PermitError::Key)?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| PermitError::Key)?;
        // With a weak key a signature fits more than one message.
        if key.is_weak() { Err(PermitError::Key) } else { Ok(Self(key)) }
    }

    /// The public part of a signing key.
    pub fn of(key: &SigningKey) -> Self {
        Self(key.verifying_key())
    }

    /// The first 16 hexadecimal digits of its hash.
    pub fn id(&self) -> String {
        short_id(ContentHash::of(self.0.as_bytes()))
    }
}

impl std::fmt::Display for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&Base64UrlUnpadded::encode_string(self.0.as_bytes()))
    }
}

/// Why a permit is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PermitError {
    /// The key cannot be used.
    #[error("is not an Ed25519 key of 32 bytes in base64url without padding")]
    Key,
    /// Longer than any permit.
    #[error("is longer than {PERMIT_BYTES_MAX} bytes, so it is not a permit")]
    TooLong,
    /// Not three parts of base64url.
    #[error("is not a JWT: three parts of base64url without padding, with dots between, were expected")]
    Form,
    /// The header says something else.
    #[error("has a header that no permit has: {0}")]
    Header(String),
    /// Nobody known signed it.
    #[error("was issued by the key `{0}`, which is not known here")]
    UnknownKey(String),
    /// Somebody changed it, or signed it with another key.
    #[error("has a signature that does not fit")]
    Signature,
    /// The claims are not those of a permit.
    #[error("has claims that no permit has: {0}")]
    Claims(String),
    /// Too early.
    #[error("is not valid yet: it starts in {}", span(*.0))]
    NotYet(u64),
    /// Too late.
    #[error("expired {} ago", span(*.0))]
    Expired(u64),
    /// For another worker.
    #[error("is for the audience `{0}`")]
    Audience(String),
}

/// How long it is, in a unit of which there are not many.
fn span(ms: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let unit = UNITS.into_iter().find(|(unit, _)| ms / unit >= 2);
    unit.map_or_else(|| format!("{ms} ms"), |(unit, name)| format!("{} {name}", ms / unit))
}

/// A key that mints permits, with everything that is the same in all of them.
#[derive(Clone)]
pub struct PermitKey<S> {
    signer: S,
    id: String,
    /// The first part of the token, and the dot after it.
    header: Vec<u8>,
}

impl<S: Signer<Signature>> PermitKey<S> {
    /// A key made of its public part and a signer with its secret part.
    pub fn new(public: &PublicKey, signer: S) -> Result<Self, PermitError> {
        let id = public.id();
        let header = Header { alg: ALGORITHM.to_owned(), kid: id.clone(), typ: TOKEN_TYPE.to_owned() };
        let mut encoded = Vec::new();
        push_base64url(&mut encoded, Canonicalizer::new().value(&header).map_err(unwritable)?);
        encoded.push(b'.');
        Ok(Self { signer, id, header: encoded })
    }

    /// The id of the public key.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A token with another type than that of permits.
    pub(crate) fn sign(&self, typ: &str, claims: &impl Serialize) -> Result<String, PermitError> {
        let header = Header { alg: ALGORITHM.to_owned(), kid: self.id.clone(), typ: typ.to_owned() };
        let mut canon = Canonicalizer::new();
        let mut token = Vec::new();
        push_base64url(&mut token, canon.value(&header).map_err(unwritable)?);
        token.push(b'.');
        push_base64url(&mut token, canon.value(claims).map_err(unwritable)?);
        let signature = self.signer.try_sign(&token).map_err(|_| PermitError::Key)?.to_bytes();
        token.push(b'.');
        push_base64url(&mut token, &signature);
        String::from_utf8(token).map_err(|_| PermitError::Form)
    }
}

/// Makes a permit. The same arguments give the same bytes.
pub fn mint(grant: &Grant, key: &SigningKey, minting: Minting<'_>) -> Result<String, PermitError> {
    let key = PermitKey::new(&PublicKey::of(key), key.clone())?;
    mint_with_claims(grant, &key, minting).map(|(_, token)| token)
}

/// Makes a permit, and gives its claims too.
pub fn mint_with_claims<S: Signer<Signature>>(
    grant: &Grant,
    key: &PermitKey<S>,
    minting: Minting<'_>,
) -> Result<(Claims, String), PermitError> {
    let claims = grant.claims(&key.id, minting);
    let mut canon = Canonicalizer::new();
    let mut token = Vec::with_capacity(2048);
    token.extend_from_slice(&key.header);
    push_base64url(&mut token, canon.value(&claims).map_err(unwritable)?);
    let signature = key.signer.try_sign(&token).map_err(|_| PermitError::Key)?.to_bytes();
    token.push(b'.');
    push_base64url(&mut token, &signature);
    if token.len() > PERMIT_BYTES_MAX {
        return Err(PermitError::TooLong);
    }
    let token = String::from_utf8(token).map_err(|_| PermitError::Form)?;
    Ok((claims, token))
}

fn unwritable(error: ordain_canon::WriteError) -> PermitError {
    PermitError::Claims(error.to_string())
}

/// Base64url without padding. A permit holds no secret, so it need not take the same time for all bytes.
fn push_base64url(text: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digit = |value: u32| DIGITS.get(value as usize & 63).copied().unwrap_or(b'A');
    text.reserve(bytes.len().div_ceil(3) * 4);
    let mut chunks = bytes.chunks_exact(3);
    for chunk in &mut chunks {
        if let [first, second, third] = chunk {
            let bits = u32::from(*first) << 16 | u32::from(*second) << 8 | u32::from(*third);
            text.extend_from_slice(&[digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)]);
        }
    }
    match chunks.remainder() {
        [first] => {
            let bits = u32::from(*first) << 16;
            text.extend_from_slice(&[digit(bits >> 18), digit(bits >> 12)]);
        }
        [first, second] => {
            let bits = u32::from(*first) << 16 | u32::from(*second) << 8;
            text.extend_from_slice(&[digit(bits >> 18), digit(bits >> 12), digit(bits >> 6)]);
        }
        _ => {}
    }
}

/// Public keys by their id.
pub type PublicKeys = BTreeMap<String, PublicKey>;

/// Checks a permit by itself: who issued it, that nobody changed it, whom it is for and when.
pub fn verify_permit(
    token: &str,
    keys: &PublicKeys,
    audience: &str,
    now_ms: u64,
) -> Result<Claims, PermitError> {
    let (claims, key_id) = signed_claims::<Claims>(token, TOKEN_TYPE, keys)?;
    check_claims(&claims, &key_id)?;
    if claims.aud != audience {
        return Err(PermitError::Audience(claims.aud));
    }
    let (from_ms, until_ms) = claims.window_ms()?;
    if now_ms < from_ms {
        return Err(PermitError::NotYet(from_ms - now_ms));
    }
    if now_ms >= until_ms {
        return Err(PermitError::Expired(now_ms - until_ms));
    }
    Ok(claims)
}

/// The claims of a token of some type, and the id of the key that signed it.
pub(crate) fn signed_claims<T: for<'de> Deserialize<'de>>(
    token: &str,
    typ: &str,
    keys: &PublicKeys,
) -> Result<(T, String), PermitError> {
    if token.len() > PERMIT_BYTES_MAX {
        return Err(PermitError::TooLong);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(PermitError::Form)?;
    let (header, claims) = signed.split_once('.').ok_or(PermitError::Form)?;
    let decode = |part: &str| Base64UrlUnpadded::decode_vec(part).map_err(|_| PermitError::Form);
    let (header, claims, signature) = (decode(header)?, decode(claims)?, decode(signature)?);
    let header: Header = typed(&header).map_err(PermitError::Header)?;
    if header.alg != ALGORITHM {
        return Err(PermitError::Header(format!("`alg` is `{}` instead of `{ALGORITHM}`", header.alg)));
    }
    if header.typ != typ {
        return Err(PermitError::Header(format!("`typ` is `{}` instead of `{typ}`", header.typ)));
    }
    let key = keys.get(&header.kid).ok_or_else(|| PermitError::UnknownKey(header.kid.clone()))?;
    if key.id() != header.kid {
        return Err(PermitError::UnknownKey(header.kid));
    }
    let signature = Signature::from_slice(&signature).map_err(|_| PermitError::Signature)?;
    key.0.verify_strict(signed.as_bytes(), &signature).map_err(|_| PermitError::Signature)?;
    let claims: T = typed(&claims).map_err(PermitError::Claims)?;
    Ok((claims, header.kid))
}

/// A permit that was verified. Only [`VerifiedPermit::verify`] makes one.
#[derive(Clone, PartialEq, Debug)]
pub struct VerifiedPermit {
    claims: Claims,
}

impl VerifiedPermit {
    /// Checks a permit by itself; see [`verify_permit`].
    pub fn verify(token: &str, keys: &PublicKeys, audience: &str, now_ms: u64) -> Result<Self, PermitError> {
        verify_permit(token, keys, audience, now_ms).map(|claims| Self { claims })
    }

    /// The claims that were signed.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// The key that signed it.
    pub fn key_id(&self) -> &str {
        &self.claims.iss
    }
}

/// Checks that signed claims say what permits say. A signature alone does not make a permit.
fn check_claims(claims: &Claims, key_id: &str) -> Result<(), PermitError> {
    let wrong = |message: String| Err(PermitError::Claims(message));
    let hashes = [
        ("proposal_hash", &claims.proposal_hash),
        ("target_hash", &claims.target_hash),
        ("parameters_hash", &claims.parameters_hash),
        ("evidence_set_hash", &claims.evidence_set_hash),
        ("policy_hash", &claims.policy_hash),
    ];
    for (name, hash) in hashes {
        if !is_sha256(hash) {
            return wrong(format!("`{name}` is not a hash"));
        }
    }
    if claims.iss != key_id {
        return wrong("`iss` is not the key that signed it".to_owned());
    }
    if claims.max_executions == 0 {
        return wrong("`max_executions` is 0".to_owned());
    }
    milliseconds(claims.iat).map(drop)
}

fn typed<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, String> {
    let value = Value::read(bytes).map_err(|error| error.to_string())?;
    value.to_typed().map_err(|error| error.to_string())
}

/// The second of a time: some libraries take a fraction of this very second for one of the future.
fn whole(time_ms: u64) -> u64 {
    time_ms / 1_000 * 1_000
}

/// As JWT counts time.
fn seconds(time_ms: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "times are below 2^53")]
    let time_ms = time_ms as f64;
    time_ms / 1000.0
}

fn milliseconds(time_s: f64) -> Result<u64, PermitError> {
    let time_ms = (time_s * 1000.0).round();
    if !(0.0..9_007_199_254_740_992.0).contains(&time_ms) {
        return Err(PermitError::Claims(format!("{time_s} is not a time")));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    Ok(time_ms as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let shown = [0, 1_999, 2_000, 119_999, 120_000, 7_199_999, 7_200_000, 172_800_000].map(span);
        assert_eq!(shown, ["0 ms", "1999 ms", "2 s", "119 s", "2 min", "119 min", "2 h", "2 d"]);
    }

    #[test]
    fn base64url_is_that_of_the_library() {
        let bytes: Vec<u8> = (0..=255).cycle().take(700).collect();
        for length in (0..20).chain([255, 256, 257, 700]) {
            let mut text = Vec::new();
            push_base64url(&mut text, &bytes[..length]);
            assert_eq!(text, Base64UrlUnpadded::encode_string(&bytes[..length]).as_bytes());
        }
    }
}
