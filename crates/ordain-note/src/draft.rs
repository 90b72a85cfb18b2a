//! From a request to a verified proposal: compose, ask, check, ask once for a repair, finish.

use crate::check::{CheckError, Fit, Ours, check};
use crate::compose::{ComposeError, Composed, compose, guidance, repair};
use crate::drift::drift;
use crate::failure::{Code, Failure};
use crate::limits::{FAULTS_MAX, PAYLOAD_CHARS_MAX};
use crate::request::{Request, cut};
use crate::snapshot;
use ordain_model::{Ask, Provider, Usage};
use ordain_spec::Verified;
use ordain_spec::note::Proposal;
use ordain_vault::{Finding, Vault};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TEXT_CUT: &str = " The request was longer than what is read of it and was cut.";
const CONTEXT_CUT: &str = " A note of the context was longer than what is read of it and was cut.";

/// Drafts notes for one vault with one model.
pub struct Drafter {
    provider: Provider,
    vault: PathBuf,
    snapshot: bool,
}

/// A proposal, and how it came to be.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The proposal, with id, origin and hash.
    pub note: Verified<Proposal>,
    /// How it came to be.
    pub steps: Steps,
}

/// The measurements of one draft, by the names of PROPOSAL_SERVICE.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the document")]
pub struct Steps {
    pub input_size_chars: usize,
    pub context_count: usize,
    pub provider_latency_ms: f64,
    pub retry_count: u32,
    pub provider_code: Option<u16>,
    pub validation_error_count: usize,
    pub repair_attempted: bool,
    pub canonicalization_ms: f64,
    pub proposal_hash: Option<String>,
    pub snapshot_written: bool,
    pub proposal_latency_ms: f64,
    /// Calls of the provider.
    pub attempts: u32,
    pub tokens_in: u64,
    pub tokens_out: u64,
}

impl Drafter {
    /// With a model, for the vault in a folder. With `snapshot`, the last proposal is kept there for people to look at.
    pub fn new(provider: Provider, vault: &Path, snapshot: bool) -> Self {
        Self { provider, vault: vault.to_owned(), snapshot }
    }

    /// The provider.
    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// The vault's folder.
    pub fn vault(&self) -> &Path {
        &self.vault
    }

    /// Drafts a note. The log has each step under the request's id. A caller that passes the draft on calls
    /// [`Drafter::keep`] first.
    pub async fn draft(&self, request: &Request, correlation_id: &str) -> Result<Draft, Box<Failure>> {
        let started = Instant::now();
        let mut steps = Steps {
            input_size_chars: request.text.chars().count(),
            context_count: request.context_refs.len(),
            ..Steps::default()
        };
        tracing::info!(
            correlation_id,
            input_size_chars = steps.input_size_chars,
            context_count = steps.context_count,
            "proposal requested"
        );
        let drafted = self.steps(request, correlation_id, started, &mut steps).await;
        steps.proposal_latency_ms = milliseconds(started.elapsed());
        match drafted {
            Ok(note) => Ok(Draft { note, steps }),
            Err(failure) => {
                tracing::warn!(
                    correlation_id,
                    code = failure.code.name(),
                    attempts = steps.attempts,
                    proposal_latency_ms = steps.proposal_latency_ms,
                    "no proposal"
                );
                Err(Box::new(Failure { steps, ..*failure }))
            }
        }
    }

    async fn steps(
        &self,
        request: &Request,
        correlation_id: &str,
        started: Instant,
        steps: &mut Steps,
    ) -> Result<Verified<Proposal>, Box<Failure>> {
        let (vault, Composed { ask, context_cut }) = self.compose(request).await?;
        let mut remarks = Vec::new();
        remarks.extend(request.cut.then_some(TEXT_CUT));
        remarks.extend(context_cut.then_some(CONTEXT_CUT));
        let id = request.id(self.provider.model()).map_err(|error| {
            Box::new(Failure::new(Code::Setup, format!("the request has no id: {error}")))
        })?;
        let ours = Arc::new(Ours { id, origin: request.origin(), enhance: request.enhance.clone(), remarks });
        let deadline = started + self.provider.limits().request;
        let mut usage = Usage::default();
        let answer = self.ask(&ask, deadline, &mut usage, correlation_id, steps).await?;
        let fit = match checked(answer.clone(), &ours, &vault).await {
            Ok(fit) => {
                told(correlation_id, steps);
                fit
            }
            Err(error) => {
                steps.validation_error_count = error.faults().len();
                let (CheckError::Malformed(faults) | CheckError::Invalid(faults)) = error else {
                    told(correlation_id, steps);
                    // A vault that cannot be read is nothing that a model could repair.
                    return Err(self.failure_of(error, ""));
                };
                let guidance = guidance(&faults);
                steps.repair_attempted = true;
                // The text goes back to its author, so only our own key must be removed.
                let again =
                    repair(&ask, self.provider.without_key(&answer), &self.provider.without_key(&guidance));
                let failed = |failure: Box<Failure>| {
                    let guidance = self.provider.redact(&guidance);
                    Box::new(Failure { repair_guidance: Some(guidance), ..*failure })
                };
                let repair_answer = match self.ask(&again, deadline, &mut usage, correlation_id, steps).await
                {
                    Ok(answer) => answer,
                    Err(failure) => {
                        told(correlation_id, steps);
                        let first = self.failure_of(CheckError::Invalid(faults.clone()), &answer);
                        let (errors, payload) = (first.errors, first.payload);
                        return Err(failed(Box::new(Failure { errors, payload, ..*failure })));
                    }
                };
                let repaired = checked(repair_answer.clone(), &ours, &vault).await;
                if let Err(error) = &repaired {
                    steps.validation_error_count += error.faults().len();
                }
                let fit = repaired.map_err(|error| failed(self.failure_of(error, &repair_answer)));
                let drifted = if fit.is_ok() { drift(&answer, &repair_answer, &faults) } else { Vec::new() };
                steps.validation_error_count += drifted.len();
                told(correlation_id, steps);
                let fit = fit?;
                if !drifted.is_empty() {
                    return Err(failed(self.drifted(drifted, &repair_answer)));
                }
                fit
            }
        };
        self.finish(fit, correlation_id, steps)
    }

    async fn compose(&self, request: &Request) -> Result<(Arc<Vault>, Composed), Box<Failure>> {
        let (root, request, max_tokens) = (self.vault.clone(), request.clone(), self.provider.max_tokens());
        let composed = apart(move || {
            let vault = Vault::open(&root)?;
            let composed = compose(&request, &vault, max_tokens)?;
            Ok((Arc::new(vault), composed))
        });
        composed.await.unwrap_or_else(|problem| Err(ComposeError::Broken(problem))).map_err(|error| {
            Box::new(match error {
                ComposeError::Input(faults) => Failure::of_input(faults),
                ComposeError::Vault(error) => Failure::of_vault(&error),
                ComposeError::Broken(problem) => Failure::new(Code::Setup, problem),
            })
        })
    }

    /// One completion, counted whatever becomes of it.
    async fn ask(
        &self,
        ask: &Ask,
        deadline: Instant,
        usage: &mut Usage,
        correlation_id: &str,
        steps: &mut Steps,
    ) -> Result<String, Box<Failure>> {
        let answer = self.provider.complete(ask, deadline, usage).await;
        steps.provider_latency_ms = milliseconds(usage.latency);
        (steps.retry_count, steps.provider_code) = (usage.retries, usage.provider_code);
        (steps.attempts, steps.tokens_in, steps.tokens_out) =
            (usage.attempts, usage.tokens_in, usage.tokens_out);
        tracing::info!(
            correlation_id,
            provider_latency_ms = steps.provider_latency_ms,
            retry_count = steps.retry_count,
            provider_code = steps.provider_code,
            attempts = steps.attempts,
            "model asked"
        );
        match answer {
            Ok(answer) => Ok(answer.text),
            Err(error) => Err(Box::new(Failure::of_model(&error))),
        }
    }

    fn failure_of(&self, error: CheckError, answer: &str) -> Box<Failure> {
        let failed = |code: Code, message: &str, errors| {
            let mut payload = self.provider.redact(answer);
            cut(&mut payload, PAYLOAD_CHARS_MAX);
            let failure = Failure::new(code, message);
            Failure { errors, payload: Some(payload), ..failure }
        };
        let mut failure = match error {
            CheckError::Malformed(errors) => {
                failed(Code::Malformed, "the model did not answer with one JSON object, twice", errors)
            }
            CheckError::Invalid(errors) => failed(
                Code::AnswerInvalid,
                "the model's answer did not fit, and neither did its repair",
                errors,
            ),
            CheckError::Vault(error) => Failure::of_vault(&error),
            CheckError::Broken(problem) => Failure::new(Code::Setup, problem),
        };
        // A fault may quote the answer, and its place may be a name that the model made up.
        failure.errors.truncate(FAULTS_MAX);
        for error in &mut failure.errors {
            error.message = self.provider.redact(&error.message);
            error.path = self.provider.redact(&error.path);
        }
        Box::new(failure)
    }

    fn drifted(&self, errors: Vec<Finding>, answer: &str) -> Box<Failure> {
        let mut failure = self.failure_of(CheckError::Invalid(errors), answer);
        failure.code = Code::RepairDrift;
        failure.message = "the repair changed fields that no error named".to_owned();
        failure
    }

    fn finish(
        &self,
        Fit { note, canonicalization }: Fit,
        correlation_id: &str,
        steps: &mut Steps,
    ) -> Result<Verified<Proposal>, Box<Failure>> {
        let text = serde_json::to_string(&*note).unwrap_or_default();
        if self.provider.without_key(&text) != text {
            let problem = "the model's answer has the key of its provider in it, and is not passed on";
            return Err(Box::new(Failure::new(Code::Malformed, problem)));
        }
        steps.canonicalization_ms = milliseconds(canonicalization);
        steps.proposal_hash = Some(note.hash.as_str().to_owned());
        tracing::info!(
            correlation_id,
            canonicalization_ms = steps.canonicalization_ms,
            proposal_hash = note.hash.as_str(),
            "proposal hashed"
        );
        Ok(note)
    }

    /// The steps that follow once nothing can take the proposal back: the snapshot, if one is wanted, and the
    /// last lines of the log.
    pub async fn keep(&self, draft: &mut Draft, correlation_id: &str) {
        let Draft { note, steps } = draft;
        if self.snapshot {
            let (root, note) = (self.vault.clone(), note.clone());
            let written = apart(move || snapshot::write(&root, &note)).await;
            match written.map_err(std::io::Error::other).flatten() {
                Ok(()) => steps.snapshot_written = true,
                // It is for people to look at; the proposal is as good without it.
                Err(error) => tracing::warn!(correlation_id, error = %error, "the snapshot was not written"),
            }
        }
        tracing::info!(correlation_id, snapshot_written = steps.snapshot_written, "snapshot");
        tracing::info!(
            correlation_id,
            proposal_id = note.id,
            proposal_hash = note.hash.as_str(),
            attempts = steps.attempts,
            proposal_latency_ms = steps.proposal_latency_ms,
            "proposal drafted"
        );
    }
}

fn told(correlation_id: &str, steps: &Steps) {
    tracing::info!(
        correlation_id,
        validation_error_count = steps.validation_error_count,
        repair_attempted = steps.repair_attempted,
        "answer checked"
    );
}

async fn checked(answer: String, ours: &Arc<Ours>, vault: &Arc<Vault>) -> Result<Fit, CheckError> {
    let (ours, vault) = (Arc::clone(ours), Arc::clone(vault));
    apart(move || check(&answer, &ours, &vault))
        .await
        .unwrap_or_else(|problem| Err(CheckError::Broken(problem)))
}

/// On a thread of its own: it reads files, or a long answer, and others must not wait for it.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|_| "the work was broken off".to_owned())
}

fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
