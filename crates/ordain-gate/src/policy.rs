//! The policies in force: the store says which, and every node follows.

use super::caller::Caller;
use super::error::GateError;
use super::limits::TRIES_MAX;
use super::open::{Gate, Step, busy, document};
use super::records::{CONTROL_ID, Control, PolicyInForce, put};
use ordain_api::{Entry, Event, FieldError, Role};
use ordain_canon::ContentHash;
use ordain_decision::{PolicyFiles, PolicySet, Problem};
use ordain_store::StoreError;
use std::sync::{Arc, PoisonError};

/// A policy set, and the document of its files.
pub(super) struct Loaded {
    pub(super) set: PolicySet,
    pub(super) files_document: String,
}

impl Gate {
    /// Puts policies in force, on every node. What is invalid changes nothing. Returns whether anything changed.
    pub async fn set_policy(&self, caller: &Caller, files: &PolicyFiles) -> Result<bool, GateError> {
        caller.must_be(&[Role::Operator])?;
        let set = PolicySet::load(files).map_err(invalid)?;
        let (files_document, bytes) = document(files)?;
        let loaded = Arc::new(Loaded { set, files_document: files_document.clone() });
        let in_force =
            PolicyInForce { hash: loaded.set.hash().to_string(), files_document: files_document.clone() };
        for _ in 0..TRIES_MAX {
            let (held, control) = self.control().await?;
            if control.policy.as_ref() == Some(&in_force) {
                self.keep(loaded);
                return Ok(false);
            }
            let body = Control { policy: Some(in_force.clone()), ..control };
            let event = Event::PolicyChanged {
                policy_hash: in_force.hash.clone(),
                files_document: files_document.clone(),
            };
            let step = Step {
                documents: vec![bytes.clone()],
                records: vec![put(CONTROL_ID, &body)],
                entries: vec![Entry::of(self.clock.now_ms(), &caller.principal, event)],
            };
            match self.commit(vec![held.guard()], move |_| Ok(step)).await {
                Err(GateError::Store(StoreError::Conflict { .. })) => {}
                Err(error) => return Err(error),
                Ok(_) => {
                    self.keep(loaded);
                    return Ok(true);
                }
            }
        }
        Err(busy())
    }

    fn keep(&self, loaded: Arc<Loaded>) {
        *self.shared.policies.write().unwrap_or_else(PoisonError::into_inner) = Some(loaded);
    }

    /// That there are policies in force, and that this version of the program reads them as they were recorded.
    pub async fn check_policies(&self) -> Result<(), GateError> {
        let (_, control) = self.control().await?;
        self.policies(&control).await.map(drop)
    }

    /// The policies that the control record names.
    pub(super) async fn policies(&self, control: &Control) -> Result<Arc<Loaded>, GateError> {
        let Some(in_force) = &control.policy else {
            let problem = "no policies are in force yet; start the server with a policy folder, or put an ordain.toml beside one";
            return Err(GateError::Unavailable(problem.to_owned()));
        };
        let kept = self.shared.policies.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(loaded) = kept.filter(|it| it.files_document == in_force.files_document) {
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
    pub(super) async fn load_policies(&self, files_document: &str) -> Result<Loaded, GateError> {
        let bytes = self.read_document(files_document).await?;
        let files: PolicyFiles = serde_json::from_slice(&bytes)
            .map_err(|error| GateError::Damaged(format!("the policies {files_document}: {error}")))?;
        let set = PolicySet::load(&files).map_err(invalid)?;
        Ok(Loaded { set, files_document: files_document.to_owned() })
    }

    /// A document that must be there.
    pub(super) async fn read_document(&self, hash: &str) -> Result<Vec<u8>, GateError> {
        let damaged = |problem: &str| GateError::Damaged(format!("the document {hash} {problem}"));
        let name = ContentHash::parse(hash).ok_or_else(|| damaged("has no proper name"))?;
        let bytes = self.store.document(&name).await?.ok_or_else(|| damaged("is missing"))?;
        if ContentHash::of(&bytes) != name {
            return Err(damaged("was changed"));
        }
        Ok(bytes)
    }

    /// Documents that must be there, in this order.
    pub(super) async fn read_documents(&self, hashes: &[String]) -> Result<Vec<Vec<u8>>, GateError> {
        let mut documents = Vec::with_capacity(hashes.len());
        for hash in hashes {
            documents.push(self.read_document(hash).await?);
        }
        Ok(documents)
    }
}

fn invalid(problems: Vec<Problem>) -> GateError {
    let fault =
        |problem: &Problem| FieldError { path: String::new(), message: problem.to_string(), rule_id: None };
    let faults: Vec<FieldError> = problems.iter().map(fault).collect();
    GateError::Invalid { message: "the policies are not valid, and those in force stay".to_owned(), faults }
}
