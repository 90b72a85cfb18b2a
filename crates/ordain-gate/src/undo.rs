//! An owner takes back what their agent changed: one decision, with their own authority, whatever the policies say.
//!
//! It restores earlier content of files, so nothing that an agent with its owner's shell can do is enough: on
//! a gate with an owner it takes a statement signed by an owner's key, about exactly this proposal. It
//! reaches no further than the change did.

use super::caller::Caller;
use super::claim::Claim;
use super::error::GateError;
use super::ids::ActionId;
use super::open::Gate;
use super::owner::Authorized;
use super::policy::Loaded;
use super::records::{Action, Versioned};
use super::submit::{Case, Incoming};
use ordain_api::OwnerAct;
use ordain_canon::{ContentHash, Value};
use ordain_spec::statement::{How, NONE};
use std::collections::BTreeSet;

/// The right to take a change back, for a proposal that has it.
#[derive(Default)]
pub(crate) struct OwnUndo {
    /// The action whose change is taken back; nothing where the policies decide.
    pub(crate) undoes: Option<ActionId>,
    pub(crate) authorized: Authorized,
}

impl Gate {
    /// Whether a proposal takes back a change with its proposer's own authority. Nothing if it does not, and
    /// the policies decide. A signed one that goes too far is refused.
    pub(crate) async fn own_undo(
        &self,
        caller: &Caller,
        incoming: &Incoming<'_>,
        case: &Case,
    ) -> Result<Option<OwnUndo>, GateError> {
        let Some(undone) = undone_action(incoming.document) else { return Ok(None) };
        let owned = case.control_body.keys.is_some();
        // A person answers for themselves. The agents whose proposals they hand in do not.
        let asks = if owned { !caller.signed.is_empty() } else { caller.how == How::Local };
        if !asks || !caller.names.contains(&incoming.actor) || case.request.is_some() {
            return Ok(None);
        }
        let known = Versioned::<Action>::read(&self.store, undone).await?;
        let problem = match &known.body {
            None => Some(format!("there is no action `{undone}`")),
            Some(action) => {
                let proposal = self.action_documents(action).await?.proposal;
                let proposal =
                    Value::read(&proposal).map_err(|error| GateError::Damaged(error.to_string()))?;
                goes_too_far(caller, &case.loaded, action, &proposal, incoming.document)
            }
        };
        match problem {
            Some(problem) if owned => return Err(GateError::invalid("/parameters/undoes", problem)),
            Some(_) => return Ok(None),
            None => {}
        }
        let subject = ContentHash::of(&case.proposal).to_string();
        let claim = Claim::of(OwnerAct::Undo, subject, NONE.to_owned());
        let authorized = self.authorize(caller, &case.control_body, &claim).await?;
        Ok(Some(OwnUndo { undoes: Some(ActionId::new(undone)), authorized }))
    }
}

/// The action that a proposal says it takes back.
fn undone_action<'v>(proposal: &'v Value<'_>) -> Option<&'v str> {
    let parameters = proposal.get("parameters")?;
    let undo = matches!(parameters.get("undo"), Some(Value::Bool(true)));
    parameters.get("undoes").and_then(Value::as_str).filter(|_| undo)
}

/// Why a proposal is not simply the way back from a change of the caller's own agent.
fn goes_too_far(
    caller: &Caller,
    loaded: &Loaded,
    action: &Action,
    change: &Value<'_>,
    undo: &Value<'_>,
) -> Option<String> {
    let actor = &action.actor;
    if !loaded.set.answers_for(loaded.set.person(&caller.principal), actor) {
        return Some(format!("it was changed by `{actor}`, for whom `{}` does not answer", caller.principal));
    }
    if action.permit.as_ref().is_none_or(|permit| permit.used == 0) {
        return Some("nothing was changed by it".to_owned());
    }
    let is_patch_set = |proposal: &Value<'_>| {
        let target = proposal.get("target");
        let text = |name: &str| target.and_then(|target| target.get(name)).and_then(Value::as_str);
        let action_type = proposal.get("action_type").and_then(Value::as_str);
        (action_type, text("resource_type"), text("domain"))
            == (Some("write"), Some("patch_set"), Some("workspace"))
    };
    if !is_patch_set(change) || !is_patch_set(undo) || undone_action(change).is_some() {
        return Some("only changes of files can be taken back".to_owned());
    }
    let hash = |proposal: &Value<'_>| -> Option<String> {
        proposal.get("parameters")?.get("patch_hash")?.as_str().map(str::to_owned)
    };
    if hash(change).is_none() || hash(change) != hash(undo) {
        return Some("it names another patch set".to_owned());
    }
    match (paths(change), paths(undo)) {
        (Some(changed), Some(restored)) if restored.is_subset(&changed) => None,
        _ => Some("it touches paths that the change did not".to_owned()),
    }
}

/// The paths of a patch set; none if one of them cannot be read.
fn paths(proposal: &Value<'_>) -> Option<BTreeSet<String>> {
    let operations = proposal.get("parameters")?.get("operations")?.as_array()?;
    operations.iter().map(|operation| operation.get("path")?.as_str().map(str::to_owned)).collect()
}
