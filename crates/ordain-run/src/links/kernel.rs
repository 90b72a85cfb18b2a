//! The documents of the kernel, made again: RL3 to RL7.

use super::folder::Folder;
use crate::artefacts::{BASE, BRIEFS, BUNDLE, EVIDENCE, INTENT, INTENT_TEXT, PATCH, PLAN, RESULT, briefs};
use crate::chain::existing;
use crate::verdict::{questions_open, refused};
use crate::verified::file_hash;
use ordain_canon::{Canonicalizer, ContentHash, PatchHash, PlanHash, Value};
use ordain_harness::apply::Base;
use ordain_kernel::{
    KERNEL_VERSION, RefusalCode, Transformed, patch, plan, plan_of_patch, plan_of_work, transform,
};
use ordain_spec::bundle::Bundle;
use ordain_spec::evidence::{ActionStatus, ExecutionEvidence};
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;
use ordain_spec::profile::Profile;
use ordain_spec::run::{RunResult, SourceKind, SourceRef, Verdict, links};
use ordain_spec::{Facts, Report, SourceBundle, Verified, Violation, verify_as};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// The documents of a run that has a plan, each valid by itself.
pub(super) struct Planned {
    pub(super) plan: Verified<Proposal>,
    pub(super) patch: Verified<PatchSet>,
    pub(super) base: Base,
}

/// RL3: the intent has the hash that the result names.
fn intent(folder: &mut Folder<'_>, result: &RunResult) -> Option<Vec<u8>> {
    let named = result.intent.0.as_ref()?;
    let (file, hash, text) = match folder.has(INTENT) {
        true => {
            let text = folder.text(INTENT)?;
            let value = Value::read(&text).ok()?;
            (INTENT, file_hash(&value).ok()?.as_str().to_owned(), Some(text.clone()))
        }
        false => (INTENT_TEXT, ContentHash::of(&folder.bytes(INTENT_TEXT)?).to_string(), None),
    };
    if named.sha256.as_str() != hash {
        let message = format!("is not the hash of {file}, which is `{hash}`");
        folder.wrong(links::ORIGIN, RESULT, "/intent/sha256", message);
    }
    text
}

/// The bundle that the kernel makes of the intent today; nothing, with a warning, if the run had another
/// kernel.
fn made_again(folder: &mut Folder<'_>, result: &RunResult, intent: &[u8]) -> Option<Transformed> {
    if result.kernel_version.as_str() != KERNEL_VERSION {
        let (then, now) = (result.kernel_version.as_str(), KERNEL_VERSION);
        let message = format!("made by the kernel {then}; this is {now}, and does not make it again");
        folder.warn(links::BUNDLE, RESULT, "/kernel_version", message);
        return None;
    }
    Some(transform(&Value::read(intent).ok()?, intent.len()))
}

pub(super) fn check_refused(folder: &mut Folder<'_>, result: &RunResult) {
    let text = intent(folder, result);
    let reason = result.refuse_reason.clone().unwrap_or_default();
    let field = |name: &str| reason.get(name).and_then(Json::as_str).unwrap_or_default();
    let (code, message) = (field("code"), field("message"));
    check_verdict(folder, result, &refused(format!("{code}: {message}")).document());
    let Some(again) = text.and_then(|text| made_again(folder, result, &text)) else { return };
    match again {
        Transformed::Refuse(refusal) => {
            let (found, made) = (json!({"refuse_reason": reason}), json!({"refuse_reason": refusal}));
            folder.same(links::VERDICT, RESULT, "the kernel says", &found, &made);
        }
        // The text may have been longer than its canonical form.
        _ if code == RefusalCode::LimitExceeded.name() => {}
        _ => {
            let message = "the kernel does not refuse this intent".to_owned();
            folder.wrong(links::VERDICT, RESULT, "/kernel_result_kind", message);
        }
    }
}

pub(super) fn check_asked(folder: &mut Folder<'_>, result: &RunResult) {
    let text = intent(folder, result);
    let Some(bundle) = bundle(folder, result) else { return };
    made_from(folder, result, text.as_deref(), &bundle);
    let asked: Vec<Json> =
        bundle.unresolved_questions.iter().filter_map(|it| serde_json::to_value(it).ok()).collect();
    if result.clarify_questions.as_ref() != Some(&asked) {
        let message = "are not the questions of the bundle".to_owned();
        folder.wrong(links::VERDICT, RESULT, "/clarify_questions", message);
    }
    check_verdict(folder, result, &questions_open(asked.len()).document());
}

pub(super) fn check_verdict(folder: &mut Folder<'_>, result: &RunResult, expected: &Verdict) {
    if result.decision != *expected {
        let accepted = if expected.accepted { "accepted" } else { "not accepted" };
        let message = format!("is not what follows from the other files: {accepted}, {:?}", expected.reasons);
        folder.wrong(links::VERDICT, RESULT, "/decision", message);
    }
}

/// RL4: the bundle is the one that the result names.
fn bundle(folder: &mut Folder<'_>, result: &RunResult) -> Option<Verified<Bundle>> {
    let named = result.bundle.0.as_ref()?;
    let bundle = folder.document::<Bundle>(BUNDLE, &Facts::default())?;
    if named.bundle_id != bundle.id {
        let message = format!("names another bundle than {BUNDLE}, which is `{}`", bundle.id);
        folder.wrong(links::BUNDLE, RESULT, "/bundle/bundle_id", message);
    }
    let hash = file_hash(&*bundle).ok()?;
    if named.sha256 != hash {
        let message = format!("is not the hash of {BUNDLE}, which is `{}`", hash.as_str());
        folder.wrong(links::BUNDLE, RESULT, "/bundle/sha256", message);
    }
    Some(bundle)
}

/// RL4: the kernel makes this bundle of this intent, and it is of the kind that the result says.
fn made_from(folder: &mut Folder<'_>, result: &RunResult, intent: Option<&[u8]>, bundle: &Bundle) {
    let Some(again) = intent.and_then(|intent| made_again(folder, result, intent)) else { return };
    match again.bundle() {
        Some(made) => folder.same(links::BUNDLE, BUNDLE, "the kernel makes of the intent", bundle, made),
        None => {
            let message = "the kernel refuses the intent".to_owned();
            folder.wrong(links::BUNDLE, BUNDLE, "", message);
        }
    }
    if again.kind() != result.kernel_result_kind {
        let message = "is not what the kernel makes of the intent".to_owned();
        folder.wrong(links::BUNDLE, RESULT, "/kernel_result_kind", message);
    }
}

/// RL3 to RL7 for a run with a plan. Gives the documents if each of them is valid.
pub(super) fn check_planned(folder: &mut Folder<'_>, result: &RunResult) -> Option<Planned> {
    let text = intent(folder, result);
    let bundle = bundle(folder, result);
    let plan = plan_of(folder, bundle.as_ref());
    let patch = patch_of(folder, result);
    let base = base(folder);
    let (Some(plan), Some(patch), Some(base)) = (plan, patch, base) else {
        folder.unchecked(PLAN);
        return None;
    };
    // A work order keeps what it told the agent in its own folder.
    check_briefs(folder, bundle.as_deref().filter(|_| result.source.is_none() && result.work.is_none()));
    match (&result.source, &bundle) {
        (None, Some(bundle)) if result.work.is_some() => {
            made_from(folder, result, text.as_deref(), bundle);
            check_work(folder, result, bundle, text.as_deref(), &plan, &patch);
        }
        (None, Some(bundle)) => {
            made_from(folder, result, text.as_deref(), bundle);
            if let Some(text) = text.as_deref().filter(|_| result.kernel_version.as_str() == KERNEL_VERSION) {
                check_plan(folder, bundle, text, &base, &plan);
            }
            check_patch(folder, &plan, &patch);
        }
        (Some(source), _) => check_source(folder, result, source, bundle.as_ref(), &plan, &patch),
        (None, None) => {}
    }
    check_base(folder, result, &plan, &patch, &base);
    Some(Planned { plan, patch, base })
}

/// RL3, RL4 and RL11 for a work order whose last round came to no plan.
pub(super) fn check_order(folder: &mut Folder<'_>, result: &RunResult) {
    let text = intent(folder, result);
    let Some(bundle) = bundle(folder, result) else { return };
    made_from(folder, result, text.as_deref(), &bundle);
    if let (Some(work), Some(text)) = (&result.work, &text) {
        super::work::check(folder, result, work, &bundle, text);
    }
}

/// RL5 and RL11 for a work order: the plan is that of the bundle, the intent and the patch set.
fn check_work(
    folder: &mut Folder<'_>,
    result: &RunResult,
    bundle: &Verified<Bundle>,
    text: Option<&[u8]>,
    found: &Proposal,
    patch: &PatchSet,
) {
    let (Some(work), Some(text)) = (&result.work, text) else { return };
    if let Some(value) = Value::read(text).ok().filter(|_| result.kernel_version.as_str() == KERNEL_VERSION) {
        match plan_of_work(bundle, &value, patch) {
            Ok(made) => folder.same(links::PLAN, PLAN, "the kernel plans for the order", found, &made),
            Err(error) => {
                folder.wrong(links::PLAN, PLAN, "", format!("the kernel makes no such plan: {error}"));
            }
        }
    }
    super::work::check(folder, result, work, bundle, text);
}

/// RL4: the briefs are those of the bundle.
fn check_briefs(folder: &mut Folder<'_>, bundle: Option<&Bundle>) {
    let made: BTreeMap<String, &str> = bundle.into_iter().flat_map(briefs).collect();
    for (name, content) in &made {
        match folder.bytes(name) {
            Some(bytes) if bytes == content.as_bytes() => {}
            Some(_) => folder.wrong(links::BUNDLE, name, "", format!("is not the brief of {BUNDLE}")),
            None => {
                folder.wrong(links::BUNDLE, name, "", format!("{BUNDLE} has this brief, and it is not there"))
            }
        }
    }
    for name in folder.names().into_iter().filter(|it| it.starts_with(BRIEFS) && !made.contains_key(it)) {
        folder.wrong(links::BUNDLE, &name, "", format!("{BUNDLE} has no such brief"));
    }
}

fn plan_of(folder: &mut Folder<'_>, bundle: Option<&Verified<Bundle>>) -> Option<Verified<Proposal>> {
    let text = bundle.and_then(|bundle| crate::verified::canonical(&**bundle).ok());
    let source =
        text.as_deref().and_then(|text| Value::read(text).ok()).and_then(|it| SourceBundle::of(&it).ok());
    folder.document(PLAN, &Facts { bundle: source.as_ref(), ..Facts::default() })
}

/// A patch set beyond the profile's limits is kept, but not tried.
fn patch_of(folder: &mut Folder<'_>, result: &RunResult) -> Option<Verified<PatchSet>> {
    let mut profile: Profile = result.policy.clone();
    if result.execution.0.is_none() {
        profile.max_total_output_bytes = u64::MAX;
    }
    folder.document(PATCH, &Facts { profile: &profile, ..Facts::default() })
}

fn base(folder: &mut Folder<'_>) -> Option<Base> {
    let text = folder.text(BASE)?;
    match serde_json::from_slice(&text) {
        Ok(base) => Some(base),
        Err(error) => {
            folder.wrong(links::BASE, BASE, "", format!("is not a base: {error}"));
            None
        }
    }
}

/// RL5.
fn check_plan(
    folder: &mut Folder<'_>,
    bundle: &Verified<Bundle>,
    intent: &[u8],
    base: &Base,
    found: &Proposal,
) {
    let Ok(intent) = Value::read(intent) else { return };
    match plan(bundle, &intent, &existing(base)) {
        Ok(made) => folder.same(links::PLAN, PLAN, "the kernel plans for the bundle", found, &made),
        Err(error) => folder.wrong(links::PLAN, PLAN, "", format!("the kernel makes no such plan: {error}")),
    }
}

/// RL6.
fn check_patch(folder: &mut Folder<'_>, plan: &Verified<Proposal>, found: &PatchSet) {
    for violation in patch_link(plan, found).violations() {
        folder.wrong(violation.rule, PATCH, &violation.path, violation.message.clone());
    }
}

/// RL6 for a patch set and the plan that it is said to come from.
pub fn patch_link(plan: &Verified<Proposal>, found: &PatchSet) -> Report {
    let mut violations = Vec::new();
    let mut wrong = |path: &str, message: String| {
        violations.push(Violation { rule: links::PATCH, path: path.to_owned(), message });
    };
    match patch(plan) {
        Err(error) => wrong("", format!("the plan has no patch set: {error}")),
        Ok(made) => {
            if found.source_proposal_id != made.source_proposal_id {
                wrong("/source_proposal_id", format!("names another plan than the one given, `{}`", plan.id));
            }
            if found.source_proposal_hash != made.source_proposal_hash {
                let hash = made.source_proposal_hash.as_str();
                wrong(
                    "/source_proposal_hash",
                    format!("is not the hash of the plan given, which is `{hash}`"),
                );
            }
            let pairs = found.operations.iter().zip(&made.operations);
            let differs = pairs.into_iter().position(|(found, made)| found != made);
            match differs {
                Some(at) => wrong(&format!("/operations/{at}"), "is not what the plan says".to_owned()),
                None if found.operations.len() != made.operations.len() => {
                    let (has, plans) = (found.operations.len(), made.operations.len());
                    wrong(
                        "/operations",
                        format!("has {has} operations, and the plan has {plans} file actions"),
                    );
                }
                None => {}
            }
        }
    }
    Report::new(violations, Vec::new())
}

/// RL3, RL5 and RL6 for what was brought.
fn check_source(
    folder: &mut Folder<'_>,
    result: &RunResult,
    source: &SourceRef,
    bundle: Option<&Verified<Bundle>>,
    plan: &Verified<Proposal>,
    patch: &Verified<PatchSet>,
) {
    let canon = &mut Canonicalizer::new();
    let (file, hash) = match source.kind {
        SourceKind::Plan => (PLAN, PlanHash::of(canon, &**plan).map(|it| it.to_string())),
        SourceKind::Patch => (PATCH, PatchHash::of(canon, &**patch).map(|it| it.to_string())),
    };
    if let Ok(hash) = hash
        && source.sha256.as_str() != hash
    {
        let message = format!("is not the hash of {file}, which is `{hash}`");
        folder.wrong(links::ORIGIN, RESULT, "/source/sha256", message);
    }
    match source.kind {
        SourceKind::Plan => check_patch(folder, plan, patch),
        SourceKind::Patch if result.kernel_version.as_str() != KERNEL_VERSION => {
            let message = "made by another kernel, and not made again".to_owned();
            folder.warn(links::PLAN, PLAN, "", message);
        }
        SourceKind::Patch => match plan_of_patch(patch) {
            Ok((made_bundle, made)) => {
                let what = "the kernel makes of the patch set";
                folder.same(links::PLAN, PLAN, what, &**plan, &made);
                match bundle {
                    Some(bundle) => folder.same(links::BUNDLE, BUNDLE, what, &**bundle, &*made_bundle),
                    None => {
                        let message = "is null, and the plan of a patch set has a bundle".to_owned();
                        folder.wrong(links::BUNDLE, RESULT, "/bundle", message);
                    }
                }
            }
            Err(error) => {
                folder.wrong(links::PLAN, PLAN, "", format!("the patch set has no plan: {error}"));
            }
        },
    }
}

/// RL7. Targets that could not be looked at are not in the base; then their actions did not succeed.
fn check_base(folder: &mut Folder<'_>, result: &RunResult, plan: &Proposal, patch: &PatchSet, base: &Base) {
    let paths: BTreeSet<&str> = patch.operations.iter().map(|operation| operation.path.as_str()).collect();
    let kept: BTreeSet<&str> = base.files.keys().map(String::as_str).collect();
    // Where nothing was tried, nothing says why a target is missing.
    if !paths.is_subset(&kept) && result.execution.0.is_some() {
        let succeeded = succeeded(folder, plan);
        for path in paths.difference(&kept).filter(|path| succeeded.contains(**path)) {
            let message = format!("`{path}` is missing, and the patch set is about it");
            folder.wrong(links::BASE, BASE, "/files", message);
        }
    }
    for path in kept.difference(&paths) {
        let message = format!("`{path}` is there, and the patch set is not about it");
        folder.wrong(links::BASE, BASE, "/files", message);
    }
}

/// The targets of the actions that succeeded, as the evidence says; all of them if it says nothing.
fn succeeded<'p>(folder: &mut Folder<'_>, plan: &'p Proposal) -> BTreeSet<&'p str> {
    let bytes = folder.bytes(EVIDENCE);
    let value = bytes.as_deref().and_then(|bytes| Value::read(bytes).ok());
    let evidence = value.and_then(|value| verify_as::<ExecutionEvidence>(&Facts::default(), &value).ok());
    let failed: BTreeSet<&str> = evidence
        .iter()
        .flat_map(|evidence| &evidence.action_results)
        .filter(|result| result.status != ActionStatus::Success)
        .map(|result| result.action_id.as_str())
        .collect();
    let succeeded = plan.actions.iter().filter(|action| !failed.contains(action.id.as_str()));
    succeeded.map(|action| action.target.as_str()).collect()
}
