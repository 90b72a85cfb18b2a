//! From a patch set that somebody brought to a plan that tries it.

use crate::derive::derive_whole;
use crate::outcome::Transformed;
use crate::plan::{
    PlanError, SCHEMA_VERSION, acceptance_tests, average_half_up, plan_summary, verified, with_id,
};
use crate::transform::transform;
use ordain_canon::{BundleHash, Canonicalizer, ContentHash, DerivedId, PatchHash, Value, compare_utf16};
use ordain_spec::bundle::{Bundle, BundleStatus};
use ordain_spec::intent::IntentTest;
use ordain_spec::patch::{PatchOp, PatchOperation, PatchSet};
use ordain_spec::plan::{ActionType, Proposal, ProposedAction, TestType};
use ordain_spec::{Facts, Verified, verify_as};

/// A plan that tries a patch set, and the bundle that it names: one file action for each operation, in its order, and
/// a test for each file that is written.
///
/// The bundle comes from an intent that names the patch set by its hash, so both follow from the patch set alone. That
/// a file is gone no acceptance test can say without a command; whoever tries the plan looks for it.
pub fn plan_of_patch(set: &Verified<PatchSet>) -> Result<(Verified<Bundle>, Proposal), PlanError> {
    let canon = &mut Canonicalizer::new();
    let hash = PatchHash::of(canon, &**set)?;
    let bundle = bundle_of(canon, &hash)?;
    let mut actions = Vec::new();
    for operation in &set.operations {
        actions.push(with_id(canon, action(operation))?);
    }
    actions
        .sort_by(|left, right| left.order.cmp(&right.order).then_with(|| compare_utf16(&left.id, &right.id)));
    let tests = set.operations.iter().filter_map(test).collect();
    let acceptance_tests = acceptance_tests(canon, &[], tests, Vec::new())?;
    let deletes = set.operations.iter().any(|operation| operation.op == PatchOp::Delete);
    let mut plan = Proposal {
        id: String::new(),
        schema_version: SCHEMA_VERSION.to_owned(),
        source_bundle_id: bundle.id.clone(),
        source_bundle_hash: BundleHash::of(canon, &*bundle)?.into(),
        summary: plan_summary("Apply a patch set", &actions, acceptance_tests.len()),
        requires_approval: deletes || bundle.status != BundleStatus::Complete,
        confidence: average_half_up(bundle.outputs.iter().map(|output| output.confidence)),
        actions,
        acceptance_tests,
    };
    plan.id = derive_whole(canon, DerivedId::Plan, &plan)?;
    let plan = verified(canon, &bundle, &plan)?;
    Ok((bundle, plan))
}

/// No word of the patch set reaches the goal: a name in it could raise a question.
fn bundle_of(canon: &mut Canonicalizer, hash: &PatchHash) -> Result<Verified<Bundle>, PlanError> {
    let goal = format!("Apply the patch set `{hash}` to the workspace");
    let checks = "Done when every file that the patch set writes has the hash that it names";
    let intent = Value::Object(vec![
        ("goal".into(), Value::String(goal.as_str().into())),
        ("constraints".into(), Value::Array(vec![Value::String(checks.into())])),
    ]);
    let bundle = match transform(&intent, goal.len() + checks.len()) {
        Transformed::Bundle(bundle) | Transformed::Clarify(bundle) => bundle,
        Transformed::Refuse(refusal) => return Err(PlanError::Refused(refusal)),
    };
    let text = canon.value(&bundle)?.to_vec();
    verify_as(&Facts::default(), &Value::read(&text)?).map_err(PlanError::Invalid)
}

pub(crate) fn action(operation: &PatchOperation) -> ProposedAction {
    let (action_type, verb) = match operation.op {
        PatchOp::Create => (ActionType::CreateFile, "Create"),
        PatchOp::Modify => (ActionType::ModifyFile, "Replace"),
        PatchOp::Delete => (ActionType::DeleteFile, "Delete"),
    };
    let hash = operation.content.as_ref().map(|text| ContentHash::of(text.as_bytes()).into());
    ProposedAction {
        id: String::new(),
        action_type,
        target: operation.path.clone(),
        content: operation.content.clone(),
        expected_hash: hash,
        required: true,
        description: format!("{verb} {}", operation.path),
        order: operation.order.unwrap_or_default(),
    }
}

pub(crate) fn test(operation: &PatchOperation) -> Option<IntentTest> {
    let content = operation.content.as_ref()?;
    Some(IntentTest {
        name: format!("{} has the content of the patch set", operation.path),
        test_type: TestType::HashMatch,
        target: operation.path.clone(),
        expected: ContentHash::of(content.as_bytes()).to_string(),
        required: Some(true),
    })
}
