//! Notes: drafted by a model, held against a vault.

use crate::app::App;
use crate::error::ErrorResponse;
use crate::notes::Notes;
use crate::request::{By, JsonBytes, Named, RequestId, ok};
use axum::extract::State;
use axum::response::Response;
use ordain_api::{FailedDraft, NoteFinding, NoteValidation, Problem, ProblemCode};
use ordain_note::{Failure, Request};
use ordain_spec::note::Proposal;
use ordain_spec::{Facts, verify_as};
use ordain_vault::{Finding, Index, Vault};
use std::sync::Arc;

pub(crate) async fn draft(
    State(app): State<App>,
    By(caller): By,
    RequestId(id): RequestId,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ErrorResponse> {
    let notes = notes(&app)?;
    let metrics = &app.shared.metrics;
    let request = Request::read(&body).map_err(|faults| {
        let failure = Failure::of_input(faults);
        metrics.proposal(failure.code.name(), failure.code.blames(), &failure.steps);
        ErrorResponse::from(&failure)
    })?;
    let Ok(_place) = notes.drafting.try_acquire() else {
        return Err(Problem::busy("too many notes are drafted at once").into());
    };
    match notes.drafter.draft(&request, &id).await {
        Ok(mut draft) => {
            let model = notes.drafter.provider().model();
            if let Err(error) = app.gate.drafted(&caller, &draft.note, model, draft.steps.attempts).await {
                metrics.proposal("UNRECORDED", "setup", &draft.steps);
                return Err(error.into());
            }
            notes.drafter.keep(&mut draft, &id).await;
            metrics.proposal("ok", "none", &draft.steps);
            ok(&*draft.note)
        }
        Err(failure) => {
            metrics.proposal(failure.code.name(), failure.code.blames(), &failure.steps);
            if let Some(payload) = &failure.payload {
                notes.keep(caller.principal(), &id, payload.clone());
            }
            Err(ErrorResponse::from(&*failure))
        }
    }
}

pub(crate) async fn failure(
    State(app): State<App>,
    By(caller): By,
    Named(id): Named,
) -> Result<Response, ErrorResponse> {
    match notes(&app)?.take(caller.principal(), &id) {
        Some(payload) => ok(&FailedDraft { correlation_id: id, payload }),
        None => {
            let problem = format!("you have no failed draft `{id}`, or it was read before");
            Err(Problem::new(ProblemCode::Unknown, problem).into())
        }
    }
}

pub(crate) async fn validate(
    State(app): State<App>,
    By(_): By,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ErrorResponse> {
    let notes = Arc::clone(notes(&app)?);
    // It reads every note that changed, so that few do it at once.
    let Ok(turn) = notes.validating.clone().acquire_owned().await else {
        return Err(Problem::busy("the server is stopping").into());
    };
    super::documents::apart(move || {
        let _turn = turn;
        let document = super::documents::read(&body)?;
        let facts = Facts { document_bytes: body.len(), ..Facts::default() };
        let (errors, warnings) = match verify_as::<Proposal>(&facts, &document) {
            Err(report) => (Finding::of_report(&report), Vec::new()),
            Ok(proposal) => {
                let setup = |error: ordain_vault::VaultError| {
                    Problem::new(ProblemCode::SetupInvalid, error.to_string())
                };
                let vault = Vault::open(notes.drafter.vault()).map_err(setup)?;
                let validation = ordain_vault::validate(&vault, &proposal).map_err(setup)?;
                let index = Index::open(&vault).map_err(setup)?.0;
                (validation.findings, [validation.warnings, index.warnings(&proposal)].concat())
            }
        };
        let list = |findings: Vec<Finding>| findings.into_iter().map(note_finding).collect();
        ok(&NoteValidation { ok: errors.is_empty(), errors: list(errors), warnings: list(warnings) })
    })
    .await
}

fn notes(app: &App) -> Result<&Arc<Notes>, Problem> {
    app.notes
        .as_ref()
        .ok_or_else(|| Problem::new(ProblemCode::NoVault, "the server has no vault and drafts no notes"))
}

fn note_finding(Finding { code, path, message, alternatives }: Finding) -> NoteFinding {
    NoteFinding { code: code.name().to_owned(), path, message, alternatives }
}
