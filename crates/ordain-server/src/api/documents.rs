//! Documents that need no store: transforming an intent, verifying anything.

use crate::problem::Problem;
use crate::request::{Asked, By, JsonBytes, ok};
use axum::http::StatusCode;
use axum::response::Response;
use ordain_canon::Value;
use ordain_kernel::transform as transform_intent;
use ordain_spec::{Facts, Kind, Report, verify_value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyQuery {
    kind: Option<String>,
}

/// What verifying a document found.
#[derive(Serialize)]
struct Verified {
    kind: &'static str,
    report: Report,
}

/// The form of [`Verified`].
#[derive(JsonSchema)]
#[schemars(rename = "Verified")]
#[expect(dead_code, reason = "only its form is asked for")]
pub(crate) struct VerifiedForm {
    /// What it was taken for.
    kind: String,
    /// What was found; `ok` says whether it is valid.
    report: ReportForm,
}

/// The form of a report.
#[derive(JsonSchema)]
#[schemars(rename = "Report")]
#[expect(dead_code, reason = "only its form is asked for")]
pub(crate) struct ReportForm {
    /// Whether the document is valid.
    ok: bool,
    /// What makes it invalid.
    #[serde(default)]
    violations: Vec<ViolationForm>,
    /// What somebody should know.
    #[serde(default)]
    warnings: Vec<ViolationForm>,
}

/// The form of a violation.
#[derive(JsonSchema)]
#[schemars(rename = "Violation")]
#[expect(dead_code, reason = "only its form is asked for")]
pub(crate) struct ViolationForm {
    /// The rule.
    rule_id: String,
    /// A JSON Pointer into the document.
    path: String,
    /// What is wrong.
    message: String,
}

pub(crate) async fn verify(
    By(_): By,
    Asked(query): Asked<VerifyQuery>,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    apart(move || {
        let document = read(&body)?;
        let kind = match &query.kind {
            Some(name) => Kind::parse(name)
                .ok_or_else(|| Problem::invalid("", format!("`{name}` is no kind of document")))?,
            None => Kind::recognise(&document).map_err(|error| Problem::invalid("", error.to_string()))?,
        };
        let facts = Facts { document_bytes: body.len(), ..Facts::default() };
        ok(&Verified { kind: kind.name(), report: verify_value(kind, &facts, &document) })
    })
    .await
}

pub(crate) async fn transform(By(_): By, JsonBytes(body): JsonBytes) -> Result<Response, Problem> {
    apart(move || ok(&transform_intent(&read(&body)?, body.len()))).await
}

pub(super) fn read(body: &[u8]) -> Result<Value<'_>, Problem> {
    Value::read(body).map_err(|error| Problem::invalid(&error.pointer, error.to_string()))
}

/// On a thread of its own: it may take a while, and others must not wait for it.
pub(super) async fn apart(
    work: impl FnOnce() -> Result<Response, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the work was broken off")),
    }
}
