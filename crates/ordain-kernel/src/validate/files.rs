//! The evidence about files.

use super::about;
use super::criterion::{Criterion, Found};
use ordain_canon::ContentHash;
use ordain_spec::evidence::{ActionResult, ActionStatus, ExecutionEvidence};
use ordain_spec::plan::{AcceptanceTest, ActionType, Proposal, ProposedAction, TestType};
use std::collections::BTreeMap;

/// VA6. The profile, not the plan, limits what a command leaves behind; a file action leaves its target.
pub(super) fn check_produced(
    action: &ProposedAction,
    result: &ActionResult,
    pointer: &str,
    found: &mut Found,
) {
    if result.status == ActionStatus::Skipped && !result.produced.is_empty() {
        let message = "an action that was skipped leaves no file behind".to_owned();
        found.reject(Criterion::Produced, &format!("{pointer}/produced"), message);
        return;
    }
    let expected = match action.action_type {
        ActionType::CreateFile | ActionType::ModifyFile => written_hash(action),
        ActionType::DeleteFile => None,
        ActionType::ExecuteCommand | ActionType::Validate | ActionType::Test => return,
    };
    let target = about(&action.target);
    for (position, file) in result.produced.iter().enumerate() {
        let pointer = format!("{pointer}/produced/{position}");
        match expected {
            None => {
                let message = format!("`{target}` was to be deleted; nothing is left behind by that");
                found.reject(Criterion::Produced, &pointer, message);
            }
            Some(_) if file.path != action.target => {
                let message = format!("the action writes `{target}` and not `{}`", about(&file.path));
                found.reject(Criterion::Produced, &format!("{pointer}/path"), message);
            }
            Some(hash) if !hash.is(file.sha256.as_str()) => {
                let message = format!("`{target}` does not have the planned content, whose hash is `{hash}`");
                found.reject(Criterion::Produced, &format!("{pointer}/sha256"), message);
            }
            Some(_) => {}
        }
    }
    let written = result.produced.iter().any(|file| file.path == action.target);
    if expected.is_some() && !written && result.status == ActionStatus::Success {
        let message = format!("`{target}` is said to be written, but is not among the files left behind");
        found.reject(Criterion::Produced, &format!("{pointer}/produced"), message);
    }
}

/// From the content itself: an `expected_hash` may be absent, and where it is there, PR14 has it match.
fn written_hash(action: &ProposedAction) -> Option<ContentHash> {
    action.content.as_deref().map(|content| ContentHash::of(content.as_bytes()))
}

/// The files as the actions left them, by path: the hash, or nothing for a file that was deleted. Files that no action
/// names are not in it.
pub(super) struct Files<'e>(BTreeMap<&'e str, Option<&'e str>>);

impl<'e> Files<'e> {
    /// The plan's actions are sorted as they run, so of several that touch a file the last one counts.
    pub(super) fn after(evidence: &'e ExecutionEvidence, plan: &'e Proposal) -> Self {
        let mut results: BTreeMap<&str, &ActionResult> = BTreeMap::new();
        for result in &evidence.action_results {
            results.insert(&result.action_id, result);
        }
        let mut files = BTreeMap::new();
        for action in &plan.actions {
            let Some(result) = results.get(action.id.as_str()) else { continue };
            if action.action_type == ActionType::DeleteFile && result.status == ActionStatus::Success {
                files.insert(action.target.as_str(), None);
            }
            for file in &result.produced {
                files.insert(file.path.as_str(), Some(file.sha256.as_str()));
            }
        }
        Self(files)
    }

    /// Why a test cannot have passed.
    pub(super) fn contradiction(&self, test: &AcceptanceTest) -> Option<String> {
        let wanted = match test.test_type {
            TestType::CommandSuccess => return None,
            TestType::FileExists => None,
            TestType::HashMatch => Some(test.expected.clone()),
            TestType::ContentMatch => Some(ContentHash::of(test.expected.as_bytes()).to_string()),
        };
        let target = about(&test.target);
        match (self.0.get(test.target.as_str())?, wanted) {
            (None, _) => Some(format!("passed, although an action deleted `{target}`")),
            (Some(left), Some(wanted)) if *left != wanted => {
                Some(format!("passed, although `{target}` was left with the hash `{left}`, not `{wanted}`"))
            }
            (Some(_), _) => None,
        }
    }
}
