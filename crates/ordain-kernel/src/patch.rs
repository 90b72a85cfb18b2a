//! From a plan proposal to its patch set.

use crate::plan::clash_messages;
use ordain_canon::{Canonicalizer, ContentHash, PlanHash, WriteError, compare_utf16};
use ordain_spec::patch::{PATCH_SCHEMA_VERSION, PatchOp, PatchOperation, PatchSet};
use ordain_spec::plan::{ActionType, Proposal, ProposedAction};
use ordain_spec::{NonEmpty, Verified};

/// No patch set can be extracted.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// Targets that one patch set cannot have together (PS5); the rules of plans allow them.
    #[error("file actions of the plan meet in one file: {}", .0.join("; "))]
    Clash(Vec<String>),
    /// The plan has no canonical form: it is too long.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The file operations of a plan, optional ones too; commands and tests are left out.
pub fn patch(plan: &Verified<Proposal>) -> Result<PatchSet, PatchError> {
    let mut files: Vec<(&ProposedAction, PatchOp)> =
        plan.actions.iter().filter_map(|action| Some((action, operation_of(action.action_type)?))).collect();
    files.sort_by(|(left, _), (right, _)| {
        left.order.cmp(&right.order).then_with(|| compare_utf16(&left.target, &right.target))
    });
    let targets: Vec<&str> = files.iter().map(|(action, _)| action.target.as_str()).collect();
    let clashes = clash_messages(&targets);
    if !clashes.is_empty() {
        return Err(PatchError::Clash(clashes));
    }
    // Sorted by order, so the ends differ when any two do.
    let order = |end: Option<&(&ProposedAction, PatchOp)>| end.map(|(action, _)| action.order);
    let ordered = order(files.first()) != order(files.last());
    let operations: Vec<PatchOperation> =
        files.into_iter().map(|(action, op)| operation(action, op, ordered)).collect();
    Ok(PatchSet {
        patch_schema_version: PATCH_SCHEMA_VERSION.to_owned(),
        source_proposal_id: NonEmpty::of(plan.id.clone()),
        source_proposal_hash: PlanHash::of(&mut Canonicalizer::new(), &**plan)?.into(),
        source_bundle_hash: None,
        total_bytes: operations.iter().filter_map(|operation| operation.size_bytes).sum(),
        operations,
    })
}

fn operation_of(action_type: ActionType) -> Option<PatchOp> {
    match action_type {
        ActionType::CreateFile => Some(PatchOp::Create),
        ActionType::ModifyFile => Some(PatchOp::Modify),
        ActionType::DeleteFile => Some(PatchOp::Delete),
        ActionType::ExecuteCommand | ActionType::Validate | ActionType::Test => None,
    }
}

fn operation(action: &ProposedAction, op: PatchOp, ordered: bool) -> PatchOperation {
    // Hash and size come from the content, also where the action names no hash.
    let content = action.content.as_ref();
    PatchOperation {
        op,
        path: action.target.clone(),
        content: content.cloned(),
        expected_hash: content.map(|text| ContentHash::of(text.as_bytes()).into()),
        size_bytes: content.map(|text| text.len() as u64),
        order: ordered.then_some(action.order),
    }
}
