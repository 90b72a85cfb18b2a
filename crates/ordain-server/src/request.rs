//! Reading what a request brings: its body, its query, who asks. Bad input is a problem, never a panic.

use crate::error::ErrorResponse;
use crate::front::no_token;
use crate::limits::BODY_WAIT;
use axum::extract::{FromRequest, FromRequestParts, Path, Query};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use ordain_api::limits::{BODY_BYTES_MAX, WHOLE_MAX};
use ordain_api::{Body, Operation, Problem, ProblemCode};
use ordain_canon::{Canonicalizer, Value};
use ordain_gate::Caller;
use ordain_spec::name::violation;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The bytes of a JSON body.
pub(crate) struct JsonBytes(pub(crate) Vec<u8>);

impl<S: Sync> FromRequest<S> for JsonBytes {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request<axum::body::Body>, _: &S) -> Result<Self, ErrorResponse> {
        let (parts, body) = request.into_parts();
        check_type(&parts.headers)?;
        let operation = parts.extensions.get::<&'static Operation>();
        let limit = operation.and_then(|operation| operation.body.as_ref());
        let bytes_max = limit.map_or(BODY_BYTES_MAX, |body: &Body| body.bytes_max);
        let too_long =
            || Problem::new(ProblemCode::TooLong, format!("the body is longer than {bytes_max} bytes"));
        let length = parts.headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > bytes_max) {
            return Err(too_long().into());
        }
        let body = tokio::time::timeout(BODY_WAIT, Limited::new(body, bytes_max).collect()).await;
        match body {
            Err(_) => Err(Problem::new(ProblemCode::Slow, "the body did not arrive in time").into()),
            Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => Err(too_long().into()),
            Ok(Err(_)) => Err(Problem::invalid("", "the body could not be read").into()),
            Ok(Ok(body)) => Ok(Self(body.to_bytes().to_vec())),
        }
    }
}

/// A page of a browser cannot send this type without asking first.
fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let mut given = headers.get_all(header::CONTENT_TYPE).iter();
    let is_json = match (given.next().and_then(|value| value.to_str().ok()), given.next()) {
        (Some(one), None) => {
            let essence = one.split(';').next().unwrap_or_default().trim();
            essence.eq_ignore_ascii_case("application/json")
        }
        _ => false,
    };
    let problem = match (is_json, headers.contains_key(header::CONTENT_ENCODING)) {
        (true, false) => return Ok(()),
        (true, true) => "the body must come as it is, without `Content-Encoding`",
        (false, _) => "the body must be JSON, with `Content-Type: application/json`",
    };
    Err(Problem::new(ProblemCode::ContentType, problem))
}

/// A JSON body of a known form, read strictly.
pub(crate) struct Typed<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Typed<T> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request<axum::body::Body>, state: &S) -> Result<Self, ErrorResponse> {
        let JsonBytes(bytes) = JsonBytes::from_request(request, state).await?;
        let value =
            Value::read(&bytes).map_err(|error| Problem::invalid(&error.pointer, error.to_string()))?;
        value.to_typed().map(Self).map_err(|error| Problem::mistyped(&error).into())
    }
}

/// The query of a known form.
pub(crate) struct Asked<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorResponse> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(error) => {
                let problem = error.body_text();
                let problem =
                    problem.strip_prefix("Failed to deserialize query string: ").unwrap_or(&problem);
                Err(Problem::invalid("", format!("the query is not valid: {problem}")).into())
            }
        }
    }
}

/// A name in the path.
pub(crate) struct Named(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorResponse> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(nameable(name)?)),
            Err(error) => {
                Err(Problem::invalid("", format!("the path is not valid: {}", error.body_text())).into())
            }
        }
    }
}

/// A name with control characters is not looked up, since not every store could.
pub(crate) fn nameable(name: String) -> Result<String, Problem> {
    match violation(&name) {
        Some(problem) => {
            Err(Problem::new(ProblemCode::Unknown, format!("nothing has this id: it {problem}")))
        }
        None => Ok(name),
    }
}

/// A number that every JSON can hold.
pub(crate) fn whole(name: &str, number: u64) -> Result<u64, Problem> {
    if number > WHOLE_MAX {
        return Err(Problem::invalid("", format!("`{name}` must be from 0 to {WHOLE_MAX}")));
    }
    Ok(number)
}

/// By which the log names a request; the front gave it.
#[derive(Clone)]
pub(crate) struct RequestId(pub(crate) String);

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_else(|| Self(String::new())))
    }
}

/// The caller, as the front identified it.
pub(crate) struct By(pub(crate) Arc<Caller>);

impl<S: Sync> FromRequestParts<S> for By {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        parts.extensions.get::<Arc<Caller>>().cloned().map(Self).ok_or_else(|| no_token().into())
    }
}

/// A JSON answer, canonical.
pub(crate) fn answer(status: StatusCode, value: &impl Serialize) -> Result<Response, ErrorResponse> {
    let mut canon = Canonicalizer::new();
    let body = canon.value(value).map_err(|error| {
        Problem::new(ProblemCode::Internal, format!("the answer cannot be written: {error}"))
    })?;
    Ok((status, [(header::CONTENT_TYPE, "application/json")], body.to_vec()).into_response())
}

/// A JSON answer to a request that went well.
pub(crate) fn ok(value: &impl Serialize) -> Result<Response, ErrorResponse> {
    answer(StatusCode::OK, value)
}

/// A plain text.
pub(crate) fn text(content_type: &'static str, text: String) -> Response {
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}
