//! A problem on its way to the client, and the mapping from the errors of the gate and of the note service.

use crate::scrub::scrubbed;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordain_api::{FieldError, Problem, ProblemCode};
use ordain_gate::{Conflict, GateError, StoreError};
use ordain_note::Code;
use ordain_vault::Finding;

/// A problem as the answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorResponse {
    /// The body that the client reads.
    pub problem: Problem,
    /// Seconds after which the client may try again, where that is known.
    pub retry_after: Option<u64>,
    /// Remote callers read this instead of a detail that names the store or quotes it.
    pub(crate) public_detail: Option<&'static str>,
}

impl ErrorResponse {
    /// Tells the operator of the server about its own failures.
    pub(crate) fn log(&self) {
        let Problem { status, code, detail, correlation_id, .. } = &self.problem;
        if *status >= 500 {
            let id = correlation_id.as_deref().unwrap_or_default();
            tracing::error!(correlation_id = id, code = code.name(), detail, "failed");
        }
    }

    /// Without the store's own words, for remote callers.
    pub(crate) fn for_others(mut self) -> Self {
        if let Some(detail) = self.public_detail {
            self.problem.detail = detail.to_owned();
        }
        self
    }

    /// Without secrets that somebody sent where they do not belong, and with the request's id.
    pub(crate) fn for_request(mut self, correlation_id: String) -> Self {
        let problem = &mut self.problem;
        problem.correlation_id = Some(correlation_id);
        problem.detail = scrubbed(&problem.detail);
        problem.hint = problem.hint.as_deref().map(scrubbed);
        problem.repair_guidance = problem.repair_guidance.as_deref().map(scrubbed);
        for error in &mut problem.errors {
            error.message = scrubbed(&error.message);
            error.path = scrubbed(&error.path);
        }
        for reason in &mut problem.reasons {
            reason.message = scrubbed(&reason.message);
            reason.path = scrubbed(&reason.path);
        }
        self
    }
}

impl From<Problem> for ErrorResponse {
    fn from(problem: Problem) -> Self {
        Self { problem, retry_after: None, public_detail: None }
    }
}

/// The advice for an act without a signature that counts.
const SIGN: &str = "sign it with an enrolled key, or run `ordain approver list` to see whose are";

impl From<GateError> for ErrorResponse {
    fn from(error: GateError) -> Self {
        let public_detail = match &error {
            GateError::Store(error) => public_detail(error),
            _ => None,
        };
        let detail = error.to_string();
        let of = |code: ProblemCode| Problem::new(code, detail.clone());
        let problem = match error {
            GateError::Invalid { errors, .. } => Problem { errors, ..of(ProblemCode::Invalid) },
            GateError::Unauthenticated(_) => of(ProblemCode::Unauthenticated),
            GateError::Forbidden(_) => of(ProblemCode::Forbidden),
            GateError::Presence(_) => of(ProblemCode::Presence).with_hint(SIGN),
            GateError::Refused { reasons, .. } => Problem { reasons, ..of(ProblemCode::Refused) },
            GateError::Unknown(_) => of(ProblemCode::Unknown),
            GateError::Conflict(conflict) => {
                let hint = conflict.hint();
                let is_unsettled = matches!(conflict, Conflict::Unsettled { .. });
                let code = if is_unsettled { ProblemCode::Unsettled } else { ProblemCode::Conflict };
                Problem { hint, ..of(code) }
            }
            GateError::ForeignKey { .. } => of(ProblemCode::Conflict)
                .with_hint("put the gate's own store and key back together, or run `ordain gate import DIR`"),
            GateError::Unavailable(_) => of(ProblemCode::Unavailable),
            GateError::Store(StoreError::TooLong { .. }) => of(ProblemCode::TooLong).with_status(400),
            GateError::Damaged(_) => of(ProblemCode::Damaged),
            GateError::Store(StoreError::Uncertain(_)) => Problem::uncertain(detail),
            GateError::Store(error) => {
                let damaged = matches!(error, StoreError::Corrupt(_));
                let code = if damaged { ProblemCode::Damaged } else { ProblemCode::Store };
                Problem { hint: error.hint().map(str::to_owned), ..of(code) }
            }
            _ => of(ProblemCode::Internal),
        };
        Self { public_detail, ..problem.into() }
    }
}

/// The text that remote callers read about the store's own failures; nothing where the error is about the
/// request.
fn public_detail(error: &StoreError) -> Option<&'static str> {
    Some(match error {
        StoreError::Full(_) => {
            "no room is left for the store, and nothing was done; the server's log says more"
        }
        StoreError::ReadOnly(_) => {
            "the store cannot be written, and nothing was done; the server's log says more"
        }
        StoreError::Unavailable(_) => {
            "the store cannot be used, and nothing was done; the server's log says more"
        }
        StoreError::Uncertain(_) => {
            "the store failed, and the request may have been carried out; the server's log says more"
        }
        StoreError::Corrupt(_) | StoreError::Newer { .. } => {
            "the store cannot be read; the server's log says more"
        }
        _ => return None,
    })
}

impl From<&ordain_note::Failure> for ErrorResponse {
    fn from(failure: &ordain_note::Failure) -> Self {
        let code = match failure.code {
            Code::InputInvalid | Code::AnswerInvalid => ProblemCode::SchemaInvalid,
            Code::RepairDrift => ProblemCode::RepairDrift,
            Code::Malformed => ProblemCode::ModelMalformed,
            Code::Truncated => ProblemCode::ModelTruncated,
            Code::Busy => ProblemCode::ModelBusy,
            Code::Timeout => ProblemCode::ModelTimeout,
            Code::Unavailable => ProblemCode::ModelUnavailable,
            Code::Refused => ProblemCode::ModelRefused,
            Code::NotRecorded => ProblemCode::ModelNotRecorded,
            Code::Setup => ProblemCode::SetupInvalid,
        };
        let error = |finding: &Finding| FieldError {
            path: finding.path.clone(),
            message: finding.message.clone(),
            rule_id: None,
        };
        let problem = Problem {
            errors: failure.errors.iter().map(error).collect(),
            repair_guidance: failure.repair_guidance.clone(),
            ..Problem::new(code, failure.message.clone()).with_status(failure.code.status())
        };
        let retry_after = failure.retry_after.map(|wait| wait.as_secs().saturating_add(1));
        Self { retry_after, ..problem.into() }
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let Problem { status, code, .. } = self.problem;
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == 401 {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if (status == 429 || status == 503) && code != ProblemCode::Uncertain {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(self.retry_after.unwrap_or(1)));
        }
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that repeats a request that was carried out spends a permit twice.
    #[test]
    fn only_a_request_that_was_not_carried_out_may_be_repeated() {
        let lost = GateError::Store(StoreError::Uncertain("the connection broke".to_owned()));
        for (error, code, again) in [
            (ErrorResponse::from(lost), ProblemCode::Uncertain, false),
            (Problem::uncertain("it took too long").into(), ProblemCode::Uncertain, false),
            (GateError::Store(StoreError::Busy).into(), ProblemCode::Store, true),
            (GateError::Unavailable("later".to_owned()).into(), ProblemCode::Unavailable, true),
            (Problem::busy("too many").into(), ProblemCode::Busy, true),
        ] {
            assert_eq!((error.problem.code, error.problem.status), (code, 503));
            let response = error.into_response();
            assert_eq!(response.headers().contains_key(header::RETRY_AFTER), again, "{code:?}");
        }
    }

    #[test]
    fn the_note_service_keeps_its_codes() {
        for code in [
            Code::InputInvalid,
            Code::AnswerInvalid,
            Code::Malformed,
            Code::Truncated,
            Code::Busy,
            Code::Timeout,
            Code::Unavailable,
            Code::Refused,
            Code::NotRecorded,
            Code::Setup,
        ] {
            let failure = ordain_note::Failure { code, ..ordain_note::Failure::of_input(Vec::new()) };
            let problem = ErrorResponse::from(&failure).problem;
            assert_eq!((problem.code.name(), problem.status), (code.name(), code.status()));
        }
    }
}
