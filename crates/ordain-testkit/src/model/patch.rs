//! The questions to Cedar: the proposal itself, or each operation of a patch set (G9).

use super::names::is_plain_path;
use super::{ModelReason, reason};
use ordain_canon::Value;
use ordain_spec::action::Proposal;
use serde_json::Value as Json;

/// One question.
#[derive(Clone)]
pub(super) struct Question {
    pub(super) action: String,
    pub(super) resource_type: String,
    pub(super) resource_id: String,
    pub(super) domain: String,
    /// The path of reasons that come from it.
    pub(super) path: String,
}

pub(super) fn action_name(proposal: &Proposal) -> String {
    match serde_json::to_value(proposal.action_type) {
        Ok(Json::String(name)) => name,
        _ => String::new(),
    }
}

pub(super) fn is_patch_set(proposal: &Proposal) -> bool {
    let target = &proposal.target;
    action_name(proposal) == "write"
        && target.resource_type.as_str() == "patch_set"
        && target.domain.as_str() == "workspace"
}

/// The questions, or why there are none.
pub(super) fn questions(
    proposal: &Proposal,
    document: &Value<'_>,
) -> Result<Vec<Question>, Vec<ModelReason>> {
    let target = &proposal.target;
    if !is_patch_set(proposal) {
        return Ok(vec![Question {
            action: action_name(proposal),
            resource_type: target.resource_type.as_str().to_owned(),
            resource_id: target.resource_id.as_str().to_owned(),
            domain: target.domain.as_str().to_owned(),
            path: String::new(),
        }]);
    }
    let operations = document.get("parameters").and_then(|it| it.get("operations")).and_then(Value::as_array);
    let Some(operations) = operations.filter(|list| !list.is_empty()) else {
        return Err(vec![reason("G9", "/parameters/operations", &[])]);
    };
    let mut questions = Vec::new();
    let mut faults = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        let at = format!("/parameters/operations/{index}");
        let action = match operation.get("op").and_then(Value::as_str) {
            Some("create") => Some("create"),
            Some("modify") => Some("write"),
            Some("delete") => Some("delete"),
            _ => None,
        };
        let path = operation.get("path").and_then(Value::as_str).filter(|path| is_plain_path(path));
        match (action, path) {
            // A repeated operation is not another question.
            (Some(action), Some(path))
                if questions.iter().any(|it: &Question| it.action == action && it.resource_id == path) => {}
            (Some(action), Some(path)) => questions.push(Question {
                action: action.to_owned(),
                resource_type: "file".to_owned(),
                resource_id: path.to_owned(),
                domain: "workspace".to_owned(),
                path: at,
            }),
            _ => faults.push(reason("G9", at, &[])),
        }
    }
    if faults.is_empty() { Ok(questions) } else { Err(faults) }
}
