//! Sessions of the console on the machine of its server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The header of an answer with a view: the digest of its bytes.
pub const VIEW_DIGEST_HEADER: &str = "ordain-view-digest";
/// How the text of a session begins.
pub const SESSION_PREFIX: &str = "ords_";

/// Somebody signs in to the console.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSession {
    /// The code that `ordain serve --open` wrote into a file of its user. It counts once.
    #[schemars(length(max = 128))]
    pub code: String,
}

/// A session of the console. It may look; it decides with signatures only.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// The text that goes with every request, as `Authorization: Bearer …`. It is shown here and never again.
    pub session: String,
    /// The principal that the session belongs to.
    pub principal: String,
    /// Seconds until it ends, used or not.
    pub seconds: u64,
    /// Seconds without a request after which it ends.
    pub idle_seconds: u64,
}

/// The session is over.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EndedSessions {
    /// How many sessions were ended.
    pub ended: u64,
}

/// The query of `end_session`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndSessionQuery {
    /// Whether all sessions of the server end, and the codes that nobody used yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub everywhere: bool,
}
