//! Tokens.

use crate::limits::{NAME_CHARACTERS_MAX, NAME_PATTERN, NAMES_MAX, WHOLE_MAX};
use crate::role::Role;
use ordain_spec::Sha256;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;

/// A token, without its secret.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TokenStatus {
    /// Its id.
    pub token_id: String,
    /// The principal that it belongs to.
    pub principal: String,
    /// The names that it may propose under.
    pub names: Vec<String>,
    /// The roles that it has.
    pub roles: Vec<Role>,
    /// Since when, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// Until when, if it ends by itself.
    pub expires_at_ms: Option<u64>,
    /// When it was revoked.
    pub revoked_at_ms: Option<u64>,
}

/// A token to be made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// The principal that it belongs to.
    #[schemars(length(max = NAME_CHARACTERS_MAX), regex(pattern = NAME_PATTERN))]
    pub principal: String,
    /// The roles that it has.
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "distinct")]
    pub roles: BTreeSet<Role>,
    /// Further names that it may propose or observe under, such as those of the principal's agents.
    #[serde(default, deserialize_with = "distinct")]
    #[schemars(length(max = NAMES_MAX), inner(length(max = NAME_CHARACTERS_MAX), regex(pattern = NAME_PATTERN)))]
    pub names: BTreeSet<String>,
    /// Until when, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = WHOLE_MAX))]
    pub expires_at_ms: Option<u64>,
    /// The id and the hash of a secret that whoever asks has made. On a gate with an owner the statement
    /// covers them; without an owner the gate makes them where they are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<NewSecret>,
}

/// The secret of a token to be made, without the secret itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSecret {
    /// The id of the token: 16 hexadecimal digits, random.
    #[schemars(regex(pattern = "^[0-9a-f]{16}$"))]
    pub token_id: String,
    /// The hash of the secret's text: 32 random bytes in base64url without padding.
    pub secret_hash: Sha256,
}

impl NewToken {
    /// The subject of the statement that creates it: the hash of its canonical JSON.
    pub fn subject(&self) -> String {
        crate::approver::subject(self)
    }
}

/// A new token.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedToken {
    /// The token without its secret.
    pub status: TokenStatus,
    /// The token itself, if the gate made its secret. It is shown here and never again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// All tokens.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TokenList {
    /// Without their secrets.
    pub tokens: Vec<TokenStatus>,
}

/// A list in which nothing stands twice.
fn distinct<'d, D: Deserializer<'d>, T: Deserialize<'d> + Ord>(from: D) -> Result<BTreeSet<T>, D::Error> {
    let list = Vec::<T>::deserialize(from)?;
    let count = list.len();
    let set: BTreeSet<T> = list.into_iter().collect();
    if set.len() == count { Ok(set) } else { Err(D::Error::custom("a list names something twice")) }
}
