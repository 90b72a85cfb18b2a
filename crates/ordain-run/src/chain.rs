//! The steps of a run, one after the other.

use crate::artefacts::{Artefacts, BASE, BUNDLE, EVIDENCE, INTENT, INTENT_TEXT, PATCH, PLAN, RESULT};
use crate::attempt::Attempt;
use crate::error::RunError;
use crate::event::Event;
use crate::outcome::{Planned, Run, Tried};
use crate::request::{IntentText, Mode, Origin, Request, World};
use crate::run_id::run_id;
use crate::trial::{is_file_action, look};
use crate::verdict::{Judged, beyond_profile, only_planned, questions_open, refused, verdict};
use crate::verified::{evidence_hash, file_hash, first_of, judged, verified};
use ordain_canon::time::rfc3339;
use ordain_canon::{Canonicalizer, ContentHash, PatchHash, PlanHash, Value};
use ordain_harness::apply::{Base, Problem};
use ordain_harness::{prepare_run_folder, write_run_folder};
use ordain_kernel::{
    KERNEL_VERSION, Refusal, RefusalCode, Transformed, patch, plan, plan_of_patch, transform,
};
use ordain_spec::bundle::Bundle;
use ordain_spec::evidence::ExecutionEvidence;
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;
use ordain_spec::run::{BundleRef, ExecutionRef, IntentRef, ResultKind, RunResult, SourceKind, SourceRef};
use ordain_spec::{Facts, Kind, NonEmpty, Nullable, Verified};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

pub(crate) const RUN_SCHEMA_VERSION: &str = "1.0.0";

/// Takes what was brought through all steps, and keeps everything in a folder of the workspace.
pub fn run(
    request: &Request<'_>,
    world: &World<'_>,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Run, RunError> {
    // A missing workspace is reported in its own words later.
    if request.workspace.is_dir() {
        prepare_run_folder(&request.workspace)?;
    }
    let started_ms = (world.now_ms)();
    let run_id = run_id(started_ms, request.random);
    let mut chain = Chain { request, world, watch, run_id, started_ms, files: Artefacts::default() };
    match &request.origin {
        Origin::Intent { path, text } => chain.of_intent(path, text),
        Origin::Plan { path, plan } => {
            let source = SourceRef {
                kind: SourceKind::Plan,
                path: path.clone(),
                sha256: PlanHash::of(&mut Canonicalizer::new(), &***plan)?.into(),
            };
            let set = patch(plan)?;
            chain.of_plan(Start::Source(source), None, (**plan).clone(), set)
        }
        Origin::Patch { path, set } => {
            let source = SourceRef {
                kind: SourceKind::Patch,
                path: path.clone(),
                sha256: PatchHash::of(&mut Canonicalizer::new(), &***set)?.into(),
            };
            let (bundle, plan) = plan_of_patch(set)?;
            chain.files.document(BUNDLE, &*bundle)?;
            chain.of_plan(Start::Source(source), Some(bundle), verified(&plan)?, (***set).clone())
        }
    }
}

/// The document that the result names first.
enum Start {
    Intent(IntentRef),
    Source(SourceRef),
}

/// The result of the kernel.
enum Became {
    Bundle,
    Clarify(Vec<Json>),
    Refuse(Refusal),
}

struct Chain<'c, 'r> {
    request: &'c Request<'r>,
    world: &'c World<'c>,
    watch: &'c mut dyn FnMut(Event<'_>),
    run_id: String,
    started_ms: u64,
    files: Artefacts,
}

impl Chain<'_, '_> {
    fn of_intent(&mut self, path: &str, text: &IntentText<'_>) -> Result<Run, RunError> {
        let (sha256, transformed, value) = match text {
            IntentText::Read { value, bytes } => {
                self.files.document(INTENT, value)?;
                let sha256 = file_hash(value)?;
                (sha256, transform(value, *bytes), Some(*value))
            }
            IntentText::Unreadable { text, message } => {
                self.files.text(INTENT_TEXT, text);
                let refusal = Refusal { code: RefusalCode::InvalidIntent, message: message.clone() };
                (ContentHash::of(text).into(), Transformed::Refuse(refusal), None)
            }
        };
        let start = Start::Intent(IntentRef { path: path.to_owned(), sha256 });
        let (bundle, value) = match (transformed, value) {
            (Transformed::Refuse(refusal), _) => {
                let verdict = refused(refusal.to_string());
                return self.end(start, None, Became::Refuse(refusal), verdict, None, None);
            }
            (Transformed::Clarify(bundle), _) => {
                self.files.document(BUNDLE, &bundle)?;
                let questions: Vec<Json> = bundle.unresolved_questions.iter().map(|it| json!(it)).collect();
                let (verdict, bundle) = (questions_open(questions.len()), verified(&bundle)?);
                return self.end(start, Some(bundle), Became::Clarify(questions), verdict, None, None);
            }
            (Transformed::Bundle(bundle), value) => (bundle, value.unwrap_or(&Value::Null)),
        };
        self.files.document(BUNDLE, &bundle)?;
        self.files.briefs(&bundle);
        (self.watch)(Event::Bundled(&bundle));
        let bundle: Verified<Bundle> = verified(&bundle)?;
        let outputs = bundle.outputs.iter().map(|output| output.path.as_str());
        let (base, _) = look(&self.request.workspace, outputs)?;
        let plan = verified(&plan(&bundle, value, &existing(&base))?)?;
        let set = patch(&plan)?;
        self.of_plan(start, Some(bundle), plan, set)
    }

    fn of_plan(
        &mut self,
        start: Start,
        bundle: Option<Verified<Bundle>>,
        plan: Verified<Proposal>,
        set: PatchSet,
    ) -> Result<Run, RunError> {
        let facts = Facts { profile: &self.request.profile, ..Facts::default() };
        let (patch, beyond) = match judged::<PatchSet>(&facts, &set)? {
            Ok(patch) => (patch, None),
            Err(report) => (self.larger(&set)?, Some(beyond_profile(&report))),
        };
        (self.watch)(Event::Planned(&plan, &patch));
        let targets = plan.actions.iter().filter(|it| is_file_action(it)).map(|it| it.target.as_str());
        let (base, problems) = look(&self.request.workspace, targets)?;
        self.files.document(PLAN, &*plan)?;
        self.files.document(PATCH, &*patch)?;
        self.files.document(BASE, &base)?;
        let (verdict, tried) = match (beyond, self.request.mode) {
            (Some(verdict), _) => (verdict, None),
            (None, Mode::PlanOnly) => (only_planned(&problems), None),
            (None, Mode::Try) => {
                let tried = self.try_it(&plan, &base, &problems)?;
                (verdict(&plan, &tried.evidence), Some(tried))
            }
        };
        let planned = Planned { plan, patch, base };
        self.end(start, bundle, Became::Bundle, verdict, Some(planned), tried)
    }

    /// A patch set that only the profile objects to is kept and shown, but not tried.
    fn larger(&self, set: &PatchSet) -> Result<Verified<PatchSet>, RunError> {
        let mut profile = self.request.profile.clone();
        profile.max_total_output_bytes = u64::MAX;
        judged(&Facts { profile: &profile, ..Facts::default() }, set)?
            .map_err(|report| RunError::Made { kind: Kind::Patch, problem: first_of(&report) })
    }

    fn try_it(
        &mut self,
        plan: &Verified<Proposal>,
        base: &Base,
        problems: &[Problem],
    ) -> Result<Tried, RunError> {
        let attempt = Attempt {
            workspace: &self.request.workspace,
            profile: &self.request.profile,
            allow_landlock_only: self.request.allow_landlock_only,
            world: self.world,
        };
        let tried = attempt.try_it(plan, base, problems, self.watch)?;
        self.files.document(EVIDENCE, &*tried.evidence)?;
        if let Some(report) = &tried.report {
            self.files.outputs("", report);
        }
        Ok(tried)
    }

    fn end(
        &mut self,
        start: Start,
        bundle: Option<Verified<Bundle>>,
        became: Became,
        verdict: Judged,
        planned: Option<Planned>,
        tried: Option<Tried>,
    ) -> Result<Run, RunError> {
        let (intent, source) = match start {
            Start::Intent(intent) => (Some(intent), None),
            Start::Source(source) => (None, Some(source)),
        };
        let (kind, clarify_questions, refuse_reason) = match became {
            Became::Bundle => (ResultKind::Bundle, None, None),
            Became::Clarify(questions) => (ResultKind::Clarify, Some(questions), None),
            Became::Refuse(refusal) => (ResultKind::Refuse, None, Some(json!(refusal))),
        };
        let time = |ms: u64| rfc3339(ms).unwrap_or_default();
        let result = RunResult {
            run_schema_version: RUN_SCHEMA_VERSION.to_owned(),
            run_id: NonEmpty::of(self.run_id.clone()),
            started_at: time(self.started_ms),
            completed_at: time((self.world.now_ms)().max(self.started_ms)),
            kernel_version: NonEmpty::of(KERNEL_VERSION.to_owned()),
            policy: self.request.profile.clone(),
            intent: Nullable(intent),
            source,
            work: None,
            bundle: Nullable(bundle.as_deref().map(bundle_ref).transpose()?),
            kernel_result_kind: kind,
            execution: Nullable(tried.as_ref().map(|it| execution_ref(&it.evidence)).transpose()?),
            decision: verdict.document(),
            clarify_questions,
            refuse_reason,
        };
        let result = verified(&result)?;
        self.files.document(RESULT, &*result)?;
        let folder = write_run_folder(&self.request.workspace, &self.run_id, &self.files.0)?;
        Ok(Run { result, reasons: verdict.reasons, folder, bundle, planned, tried })
    }
}

/// The paths at which there was a file.
pub(crate) fn existing(base: &Base) -> BTreeSet<String> {
    base.files.iter().filter(|(_, hash)| hash.is_some()).map(|(path, _)| path.clone()).collect()
}

pub(crate) fn bundle_ref(bundle: &Bundle) -> Result<BundleRef, RunError> {
    Ok(BundleRef { bundle_id: bundle.id.clone(), sha256: file_hash(bundle)? })
}

pub(crate) fn execution_ref(evidence: &ExecutionEvidence) -> Result<ExecutionRef, RunError> {
    Ok(ExecutionRef { evidence_hash: evidence_hash(evidence)?, status: evidence.status })
}
