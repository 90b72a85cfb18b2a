//! Notes: drafted by a model, held against a vault.

use crate::app::App;
use crate::notes::Notes;
use crate::problem::Problem;
use crate::request::{By, JsonBytes, Named, RequestId, ok};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use ordain_api::FieldError;
use ordain_note::limits::{REF_CHARS_MAX, REFS_MAX, TEXT_CHARS_MIN};
use ordain_note::{Failure, Request};
use ordain_spec::note::Proposal;
use ordain_spec::{Facts, verify_as};
use ordain_vault::{Finding, Index, Vault};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;

/// The form of what somebody wants to have drafted: a prompt or a refined text, and not both.
pub(crate) fn draft_form(_: &mut SchemaGenerator) -> Schema {
    let text = |about: &str| json!({"type": "string", "minLength": TEXT_CHARS_MIN, "description": about});
    json_schema!({
        "type": "object",
        "properties": {
            "prompt": text("What the note shall be: 8 to 20,000 characters without surplus space; what is longer is cut."),
            "refined_text": text("The same, refined already."),
            "contextRefs": {
                "type": "array",
                "description": "Paths of notes in the vault, and URLs, which are named and never fetched.",
                "items": {"type": "string", "minLength": 1, "maxLength": REF_CHARS_MAX},
                "maxItems": REFS_MAX,
            },
            "enhance": {"type": "string", "description": "The path of a note to make better."},
        },
        "additionalProperties": false,
        "oneOf": [{"required": ["prompt"]}, {"required": ["refined_text"]}],
    })
}

/// What a model answered to a request that failed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FailedDraft {
    /// The request's id.
    correlation_id: String,
    /// The model's last answer, redacted.
    payload: String,
}

/// What holding a proposal against a vault found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Validated {
    /// Whether it can be applied.
    ok: bool,
    /// What speaks against it.
    errors: Vec<FindingForm>,
    /// What somebody should know.
    warnings: Vec<FindingForm>,
}

/// One thing that was found.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub(crate) struct FindingForm {
    /// What kind of thing.
    code: &'static str,
    /// A JSON Pointer into the proposal.
    path: String,
    /// What is wrong, and what to do.
    message: String,
    /// Values that would do in this place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    alternatives: Vec<String>,
}

impl From<Finding> for FindingForm {
    fn from(Finding { code, path, message, alternatives }: Finding) -> Self {
        Self { code: code.name(), path, message, alternatives }
    }
}

pub(crate) async fn draft(
    State(app): State<App>,
    By(caller): By,
    RequestId(id): RequestId,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let notes = notes(&app)?;
    let request = Request::read(&body).map_err(|faults| Problem::from(&Failure::of_input(faults)))?;
    let Ok(_place) = notes.drafting.try_acquire() else {
        return Err(Problem::busy("too many notes are drafted at once"));
    };
    let metrics = &app.shared.metrics;
    match notes.drafter.draft(&request, &id).await {
        Ok(mut draft) => {
            let model = notes.drafter.provider().model();
            if let Err(error) = app.gate.drafted(&caller, &draft.note, model, draft.steps.attempts).await {
                metrics.proposal("UNRECORDED", &draft.steps);
                return Err(error.into());
            }
            notes.drafter.keep(&mut draft, &id).await;
            metrics.proposal("ok", &draft.steps);
            ok(&*draft.note)
        }
        Err(failure) => {
            metrics.proposal(failure.code.name(), &failure.steps);
            if let Some(payload) = &failure.payload {
                notes.keep(caller.principal(), &id, payload.clone());
            }
            Err(Problem::from(&*failure))
        }
    }
}

pub(crate) async fn failure(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
) -> Result<Response, Problem> {
    match notes(&app)?.take(caller.principal(), &id) {
        Some(payload) => ok(&FailedDraft { correlation_id: id, payload }),
        None => {
            let problem = format!("there is no failed draft `{id}` of yours, or it was read already");
            Err(Problem::new(StatusCode::NOT_FOUND, "unknown", problem))
        }
    }
}

pub(crate) async fn validate(
    State(app): State<App>,
    By(_): By,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let notes = Arc::clone(notes(&app)?);
    // It reads every note that changed, so that few do it at once.
    let Ok(turn) = notes.validating.clone().acquire_owned().await else {
        return Err(Problem::busy("the server stops"));
    };
    super::documents::apart(move || {
        let _turn = turn;
        let document = super::documents::read(&body)?;
        let facts = Facts { document_bytes: body.len(), ..Facts::default() };
        let (errors, warnings) = match verify_as::<Proposal>(&facts, &document) {
            Err(report) => (Finding::of_report(&report), Vec::new()),
            Ok(proposal) => {
                let setup = |error: ordain_vault::VaultError| {
                    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "SETUP_INVALID", error.to_string())
                };
                let vault = Vault::open(notes.drafter.vault()).map_err(setup)?;
                let validation = ordain_vault::validate(&vault, &proposal).map_err(setup)?;
                let index = Index::open(&vault).map_err(setup)?.0;
                (validation.findings, [validation.warnings, index.warnings(&proposal)].concat())
            }
        };
        let forms = |findings: Vec<Finding>| findings.into_iter().map(FindingForm::from).collect();
        ok(&Validated { ok: errors.is_empty(), errors: forms(errors), warnings: forms(warnings) })
    })
    .await
}

fn notes(app: &App) -> Result<&Arc<Notes>, Problem> {
    app.notes.as_ref().ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, "no_vault", "this server has no vault and drafts no notes")
    })
}

impl From<&Failure> for Problem {
    fn from(failure: &Failure) -> Self {
        let status = StatusCode::from_u16(failure.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let fault =
            |it: &Finding| FieldError { path: it.path.clone(), message: it.message.clone(), rule_id: None };
        Self {
            errors: failure.errors.iter().map(fault).collect(),
            repair_guidance: failure.repair_guidance.clone(),
            retry_after: failure.retry_after.map(|wait| wait.as_secs().saturating_add(1)),
            ..Self::new(status, failure.code.name(), failure.message.clone())
        }
    }
}
