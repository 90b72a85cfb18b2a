//! Errors on the wire: `application/problem+json`.

use crate::error::FieldError;
use ordain_canon::TypeError;
use ordain_spec::decision::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a request failed (RFC 9457).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Always `about:blank`; `code` names the kind of problem.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The problem, in words.
    pub detail: String,
    /// The advice: a command to run or a thing to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The kind of problem, for programs.
    pub code: ProblemCode,
    /// Every error in the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// The corrections that the service asked a model for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair_guidance: Option<String>,
    /// The kernel's reasons for refusing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// The id of the request in the server's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
}

/// The kind of a problem, for programs. The note service has codes of its own, in capitals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// The request is not valid.
    Invalid,
    /// The request has no valid token.
    Unauthenticated,
    /// The token lacks a role, or the caller may not do this.
    Forbidden,
    /// The act needs a statement signed by an enrolled key.
    Presence,
    /// The kernel does not allow the action any more.
    Refused,
    /// Nothing has this id.
    Unknown,
    /// The request conflicts with the current state.
    Conflict,
    /// Nobody knows whether an equal action was done. A person has to settle it first.
    Unsettled,
    /// The gate cannot do this at the moment. Nothing was done.
    Unavailable,
    /// The body, or a document in it, is too long.
    TooLong,
    /// The records contradict themselves.
    Damaged,
    /// The request may have been carried out. Look before you send it again.
    Uncertain,
    /// The store failed. Nothing was done.
    Store,
    /// The server has too much to do. Nothing was done.
    Busy,
    /// The server has a bug.
    Internal,
    /// The server has no such path.
    NoRoute,
    /// The path does not take this method.
    NoMethod,
    /// The principal has too many requests under way.
    TooMany,
    /// The body did not arrive in time.
    Slow,
    /// The body is not JSON.
    ContentType,
    /// The policy folder cannot be used.
    Policy,
    /// The server cannot work at the moment.
    NotReady,
    /// The server has no vault.
    NoVault,
    /// The request for a note, or the model's answer to it, is not valid.
    #[serde(rename = "SCHEMA_INVALID")]
    SchemaInvalid,
    /// The model's repair changed a field that no error named.
    #[serde(rename = "REPAIR_DRIFT")]
    RepairDrift,
    /// The model's answer is not a JSON object.
    #[serde(rename = "LLM_MALFORMED")]
    ModelMalformed,
    /// The model's answer was cut off.
    #[serde(rename = "LLM_TRUNCATED")]
    ModelTruncated,
    /// The model's provider asks for fewer requests.
    #[serde(rename = "LLM_429")]
    ModelBusy,
    /// The model did not answer in time.
    #[serde(rename = "LLM_TIMEOUT")]
    ModelTimeout,
    /// The model's provider failed.
    #[serde(rename = "LLM_UNAVAILABLE")]
    ModelUnavailable,
    /// The model's provider refused the request.
    #[serde(rename = "LLM_REFUSED")]
    ModelRefused,
    /// Recorded answers are replayed, and none fits.
    #[serde(rename = "LLM_NOT_RECORDED")]
    ModelNotRecorded,
    /// The vault, or the settings of the model, cannot be used.
    #[serde(rename = "SETUP_INVALID")]
    SetupInvalid,
    /// A code that this version does not know.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Unrecognized,
}

impl ProblemCode {
    /// The HTTP status that it comes with, unless the problem names another.
    pub fn status(self) -> u16 {
        match self {
            Self::Invalid | Self::SchemaInvalid => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden | Self::Presence | Self::Refused => 403,
            Self::Unknown | Self::NoRoute | Self::NoVault => 404,
            Self::NoMethod => 405,
            Self::Slow => 408,
            Self::Conflict | Self::Unsettled | Self::Policy => 409,
            Self::TooLong => 413,
            Self::ContentType => 415,
            Self::RepairDrift | Self::ModelNotRecorded => 422,
            Self::TooMany => 429,
            Self::Damaged | Self::Internal | Self::SetupInvalid | Self::Unrecognized => 500,
            Self::ModelMalformed | Self::ModelTruncated | Self::ModelRefused => 502,
            Self::Unavailable
            | Self::Uncertain
            | Self::Store
            | Self::Busy
            | Self::NotReady
            | Self::ModelBusy
            | Self::ModelUnavailable => 503,
            Self::ModelTimeout => 504,
        }
    }

    /// As documents write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::Presence => "presence",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Conflict => "conflict",
            Self::Unsettled => "unsettled",
            Self::Unavailable => "unavailable",
            Self::TooLong => "too_long",
            Self::Damaged => "damaged",
            Self::Uncertain => "uncertain",
            Self::Store => "store",
            Self::Busy => "busy",
            Self::Internal => "internal",
            Self::NoRoute => "no_route",
            Self::NoMethod => "no_method",
            Self::TooMany => "too_many",
            Self::Slow => "slow",
            Self::ContentType => "content_type",
            Self::Policy => "policy",
            Self::NotReady => "not_ready",
            Self::NoVault => "no_vault",
            Self::SchemaInvalid => "SCHEMA_INVALID",
            Self::RepairDrift => "REPAIR_DRIFT",
            Self::ModelMalformed => "LLM_MALFORMED",
            Self::ModelTruncated => "LLM_TRUNCATED",
            Self::ModelBusy => "LLM_429",
            Self::ModelTimeout => "LLM_TIMEOUT",
            Self::ModelUnavailable => "LLM_UNAVAILABLE",
            Self::ModelRefused => "LLM_REFUSED",
            Self::ModelNotRecorded => "LLM_NOT_RECORDED",
            Self::SetupInvalid => "SETUP_INVALID",
            Self::Unrecognized => "unrecognized",
        }
    }
}

impl Problem {
    /// A problem with the status of its code.
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank".to_owned(),
            title: title(code.status()).to_owned(),
            status: code.status(),
            detail: detail.into(),
            hint: None,
            code,
            errors: Vec::new(),
            repair_guidance: None,
            reasons: Vec::new(),
            correlation_id: None,
        }
    }

    /// The request is not valid at this place.
    pub fn invalid(path: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let error = FieldError { path: path.to_owned(), message: message.clone(), rule_id: None };
        Self { errors: vec![error], ..Self::new(ProblemCode::Invalid, message) }
    }

    /// A value has the wrong type. The value may be a secret, so the message leaves it out.
    pub fn mistyped(error: &TypeError) -> Self {
        Self::invalid(error.pointer(), error.without_values())
    }

    /// The request may have been carried out, so it must not be sent again before somebody has looked.
    pub fn uncertain(detail: impl Into<String>) -> Self {
        Self::new(ProblemCode::Uncertain, detail).with_hint("look at the current state before you try again")
    }

    /// The server has too much to do.
    pub fn busy(detail: impl Into<String>) -> Self {
        Self::new(ProblemCode::Busy, detail)
    }

    /// The same, with what to do about it.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same, with another status than the one of its code.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status, title: title(status).to_owned(), ..self }
    }
}

/// The status in words (RFC 9110).
fn title(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Payload Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn codes_are_written_as_they_are_named() {
        let schema = schemars::schema_for!(ProblemCode);
        let listed = schema.get("oneOf").and_then(serde_json::Value::as_array).cloned().unwrap_or_default();
        assert_eq!(listed.len(), 33);
        for entry in listed {
            let code: ProblemCode = serde_json::from_value(entry["const"].clone()).unwrap();
            assert_ne!(code, ProblemCode::Unrecognized);
            assert_eq!(json!(code.name()), entry["const"]);
            assert_ne!(title(code.status()), "Error", "{}", code.name());
        }
    }

    #[test]
    fn a_newer_server_may_have_further_codes() {
        let read: ProblemCode = serde_json::from_value(json!("from_the_future")).unwrap();
        assert_eq!(read, ProblemCode::Unrecognized);
    }
}
