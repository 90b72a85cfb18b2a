//! The policies in force: the store says which, and every node follows.

use super::caller::Caller;
use super::error::GateError;
use super::open::Gate;
use super::records::{CONTROL_ID, Control, PolicyInForce};
use super::transaction::{Reading, Step, document};
use ordain_api::{Event, FieldError};
use ordain_canon::ContentHash;
use ordain_decision::{PolicyFiles, PolicySet, Problem};
use std::sync::{Arc, PoisonError};

/// A policy set, and the document of its files.
pub(super) struct Loaded {
    pub(super) set: PolicySet,
    pub(super) files_document: ContentHash,
}

impl Gate {
    /// Puts policies in force, on every node. What is invalid changes nothing. Returns whether anything changed.
    pub async fn set_policy(&self, caller: &Caller, files: &PolicyFiles) -> Result<bool, GateError> {
        let set = PolicySet::load(files).map_err(invalid)?;
        let (files_document, bytes) = document(files)?;
        let hash = set.hash().to_string();
        let loaded = Arc::new(Loaded { set, files_document });
        let attempt = |_| {
            let in_force = PolicyInForce { hash: hash.clone(), files_document };
            let bytes = bytes.clone();
            async move {
                let (known, control) = self.control(Reading::Fresh).await?;
                if control.policy.as_ref() == Some(&in_force) {
                    return Ok(Step::Done(false));
                }
                Ok(Step::write(vec![known.guard()], move |writing| {
                    writing.event(Event::PolicyChanged {
                        policy_hash: in_force.hash.clone(),
                        files_document: files_document.to_string(),
                    });
                    writing.share(bytes);
                    writing.put(CONTROL_ID, &Control { policy: Some(in_force), ..control })?;
                    Ok(true)
                }))
            }
        };
        let changed = self.transact(&caller.principal, attempt).await?;
        self.keep(loaded);
        Ok(changed)
    }

    fn keep(&self, loaded: Arc<Loaded>) {
        *self.shared.policies.write().unwrap_or_else(PoisonError::into_inner) = Some(loaded);
    }

    /// That there are policies in force, and that this version of the program reads them as they were recorded.
    pub async fn check_policies(&self) -> Result<(), GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        self.policies(&control).await.map(drop)
    }

    /// The policies that the control record names.
    pub(super) async fn policies(&self, control: &Control) -> Result<Arc<Loaded>, GateError> {
        let Some(in_force) = &control.policy else {
            let problem = "no policies are in force yet; start the server with a policy folder, or put an ordain.toml beside one";
            return Err(GateError::Unavailable(problem.to_owned()));
        };
        let kept = self.shared.policies.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(loaded) = kept.filter(|loaded| loaded.files_document == in_force.files_document) {
            return Ok(loaded);
        }
        let loaded = Arc::new(self.load_policies(&in_force.files_document).await?);
        if loaded.set.hash().to_string() != in_force.hash {
            // Another version of the program recorded it: its schema counts, and it is not ours.
            return Err(GateError::Unavailable(format!(
                "the policies in force were recorded as {}, and this version of ordain reads them as {}; put them in force again",
                in_force.hash,
                loaded.set.hash()
            )));
        }
        self.keep(loaded.clone());
        Ok(loaded)
    }

    /// Reads policies from the store.
    pub(super) async fn load_policies(&self, files_document: &ContentHash) -> Result<Loaded, GateError> {
        let bytes = self.shared_document(files_document).await?;
        let files: PolicyFiles = serde_json::from_slice(&bytes)
            .map_err(|error| GateError::Damaged(format!("the policies {files_document}: {error}")))?;
        let set = PolicySet::load(&files).map_err(invalid)?;
        Ok(Loaded { set, files_document: *files_document })
    }
}

fn invalid(problems: Vec<Problem>) -> GateError {
    let error =
        |problem: &Problem| FieldError { path: String::new(), message: problem.to_string(), rule_id: None };
    let errors: Vec<FieldError> = problems.iter().map(error).collect();
    GateError::Invalid { message: "the policies are not valid, and those in force stay".to_owned(), errors }
}
