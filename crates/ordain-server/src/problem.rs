//! Errors over HTTP: `application/problem+json`.

use crate::scrub::scrubbed;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordain_api::FieldError;
use ordain_canon::TypeError;
use ordain_gate::{GateError, StoreError};
use ordain_spec::decision::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What went wrong, and what to do about it (RFC 9457).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// What kind of problem; always `about:blank`, because `code` says it.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The status.
    pub status: u16,
    /// What went wrong, for people.
    pub detail: String,
    /// What went wrong, for programs.
    pub code: String,
    /// Everything that is wrong with what was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// What a model was told to correct, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair_guidance: Option<String>,
    /// The kernel's reasons, where it was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// The request's id, by which the log names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Seconds to wait, where that is known.
    #[serde(skip)]
    pub retry_after: Option<u64>,
    /// Where the detail says which store it is and what it said, what others are told instead.
    #[serde(skip)]
    pub(crate) public_detail: Option<&'static str>,
}

/// The code of what may have been done.
const UNCERTAIN: &str = "uncertain";

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank".to_owned(),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            code: code.to_owned(),
            errors: Vec::new(),
            repair_guidance: None,
            reasons: Vec::new(),
            correlation_id: None,
            retry_after: None,
            public_detail: None,
        }
    }

    pub(crate) fn invalid(path: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let fault = FieldError { path: path.to_owned(), message: message.clone(), rule_id: None };
        Self { errors: vec![fault], ..Self::new(StatusCode::BAD_REQUEST, "invalid", message) }
    }

    /// Something of another type than is taken, which may be a secret.
    pub(crate) fn mistyped(error: &TypeError) -> Self {
        Self::invalid(error.pointer(), error.without_values())
    }

    /// Where it is the server's fault, whoever runs it gets to know.
    pub(crate) fn log(&self) {
        if self.status >= 500 {
            let id = self.correlation_id.as_deref().unwrap_or_default();
            tracing::error!(correlation_id = id, code = self.code, detail = self.detail, "failed");
        }
    }

    /// As others are told, who need not know about the store.
    pub(crate) fn for_others(mut self) -> Self {
        if let Some(detail) = self.public_detail {
            self.detail = detail.to_owned();
        }
        self
    }

    /// Without secrets that somebody sent where they do not belong.
    pub(crate) fn scrubbed(mut self) -> Self {
        self.detail = scrubbed(&self.detail);
        for fault in &mut self.errors {
            fault.message = scrubbed(&fault.message);
            fault.path = scrubbed(&fault.path);
        }
        self.repair_guidance = self.repair_guidance.map(|it| scrubbed(&it));
        for reason in &mut self.reasons {
            reason.message = scrubbed(&reason.message);
            reason.path = scrubbed(&reason.path);
        }
        self
    }

    /// Nobody knows whether it was done. It must not be tried again before somebody has looked.
    pub(crate) fn uncertain(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, UNCERTAIN, detail)
    }

    pub(crate) fn busy(detail: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
    }
}

impl From<GateError> for Problem {
    fn from(error: GateError) -> Self {
        let detail = error.to_string();
        let public_detail = match &error {
            GateError::Store(error) => public_detail(error),
            _ => None,
        };
        let of = |status: StatusCode, code: &str| Self {
            public_detail,
            ..Self::new(status, code, detail.clone())
        };
        match error {
            GateError::Invalid { faults, .. } => {
                Self { errors: faults, ..of(StatusCode::BAD_REQUEST, "invalid") }
            }
            GateError::Unauthenticated(_) => of(StatusCode::UNAUTHORIZED, "unauthenticated"),
            GateError::Forbidden(_) => of(StatusCode::FORBIDDEN, "forbidden"),
            GateError::Refused { reasons, .. } => Self { reasons, ..of(StatusCode::FORBIDDEN, "refused") },
            GateError::Unknown(_) => of(StatusCode::NOT_FOUND, "unknown"),
            GateError::Conflict(_) => of(StatusCode::CONFLICT, "conflict"),
            GateError::Unavailable(_) => of(StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            GateError::Store(StoreError::TooLong { .. }) => of(StatusCode::BAD_REQUEST, "too_long"),
            GateError::Store(StoreError::Corrupt(_)) => of(StatusCode::INTERNAL_SERVER_ERROR, "damaged"),
            GateError::Store(StoreError::Uncertain(_)) => of(StatusCode::SERVICE_UNAVAILABLE, UNCERTAIN),
            GateError::Store(_) => of(StatusCode::SERVICE_UNAVAILABLE, "store"),
            GateError::Damaged(_) => of(StatusCode::INTERNAL_SERVER_ERROR, "damaged"),
            _ => of(StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        }
    }
}

/// What is told of the store's own affairs; nothing of what is about what was asked of it.
fn public_detail(error: &StoreError) -> Option<&'static str> {
    Some(match error {
        StoreError::Full(_) => {
            "no room is left where the store is, and nothing was done; the server's log says more"
        }
        StoreError::ReadOnly(_) => {
            "the store cannot be written to, and nothing was done; the server's log says more"
        }
        StoreError::Unavailable(_) => {
            "the store cannot be used, and nothing was done; the server's log says more"
        }
        StoreError::Uncertain(_) => {
            "the store failed, and what was asked may have been done: look before you ask again; the server's log says more"
        }
        StoreError::Corrupt(_) | StoreError::Newer { .. } => {
            "the store cannot be read; the server's log says more"
        }
        _ => return None,
    })
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == 401 {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if (self.status == 429 || self.status == 503) && self.code != UNCERTAIN {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(self.retry_after.unwrap_or(1)));
        }
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever tries again what may have been done spends a permit twice.
    #[test]
    fn only_what_was_not_done_invites_to_try_again() {
        let lost = GateError::Store(StoreError::Uncertain("the connection broke".to_owned()));
        for (problem, code, again) in [
            (Problem::from(lost), "uncertain", false),
            (Problem::uncertain("it took too long"), "uncertain", false),
            (Problem::from(GateError::Store(StoreError::Busy)), "store", true),
            (Problem::from(GateError::Unavailable("later".to_owned())), "unavailable", true),
            (Problem::busy("too many"), "busy", true),
        ] {
            assert_eq!((problem.code.as_str(), problem.status), (code, 503));
            let response = problem.into_response();
            assert_eq!(response.headers().contains_key(header::RETRY_AFTER), again, "{code}");
        }
    }
}
