//! Documents that need no store: transforming an intent, verifying anything.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::request::{Asked, By, JsonBytes, ok};
use axum::extract::State;
use axum::response::Response;
use ordain_api::{Problem, ProblemCode, VerifyQuery, VerifyReport, VerifyResult};
use ordain_canon::Value;
use ordain_kernel::transform as transform_intent;
use ordain_spec::{Facts, Kind, verify_value};

pub(crate) async fn verify(
    State(app): State<App>,
    By(caller): By,
    Asked(query): Asked<VerifyQuery>,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ErrorResponse> {
    let turn = app.shared.documents.wait(caller.principal()).await?;
    apart(move || {
        let _turn = turn;
        let document = read(&body)?;
        let kind = match &query.kind {
            Some(name) => Kind::parse(name)
                .ok_or_else(|| Problem::invalid("", format!("`{name}` is not a kind of document")))?,
            None => {
                Kind::recognise(&document).map_err(|error| Problem::invalid("", error.with_way("?kind=")))?
            }
        };
        let facts = Facts { document_bytes: body.len(), ..Facts::default() };
        let report = VerifyReport::from(&verify_value(kind, &facts, &document));
        ok(&VerifyResult { kind: kind.name().to_owned(), report })
    })
    .await
}

pub(crate) async fn transform(
    State(app): State<App>,
    By(caller): By,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ErrorResponse> {
    let turn = app.shared.documents.wait(caller.principal()).await?;
    apart(move || {
        let _turn = turn;
        ok(&transform_intent(&read(&body)?, body.len()))
    })
    .await
}

pub(super) fn read(body: &[u8]) -> Result<Value<'_>, Problem> {
    Value::read(body).map_err(|error| Problem::invalid(&error.pointer, error.to_string()))
}

/// On a thread of its own: it may take a while, and others must not wait for it.
pub(super) async fn apart(
    work: impl FnOnce() -> Result<Response, ErrorResponse> + Send + 'static,
) -> Result<Response, ErrorResponse> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Problem::new(ProblemCode::Internal, "the work was broken off").into()),
    }
}
