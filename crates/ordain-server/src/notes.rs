//! The parts that drafting notes needs beside the gate: the drafter, places, and failed drafts that can be
//! read once.

use crate::limits::{DRAFTS_MAX, FAILURE_KEPT, FAILURES_MAX, VALIDATIONS_MAX};
use ordain_note::Drafter;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::Semaphore;

pub(crate) struct Notes {
    pub(crate) drafter: Drafter,
    pub(crate) drafting: Semaphore,
    pub(crate) validating: Arc<Semaphore>,
    failures: Mutex<VecDeque<Kept>>,
}

/// The answer of a model, for its requester alone.
struct Kept {
    principal: String,
    correlation_id: String,
    payload: String,
    since: Instant,
}

impl Notes {
    pub(crate) fn new(drafter: Drafter) -> Self {
        let validating = Arc::new(Semaphore::new(VALIDATIONS_MAX));
        Self { drafter, drafting: Semaphore::new(DRAFTS_MAX), validating, failures: Mutex::default() }
    }

    pub(crate) fn keep(&self, principal: &str, correlation_id: &str, payload: String) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|kept| !kept.is_of(principal, correlation_id) && kept.since.elapsed() < FAILURE_KEPT);
        if failures.len() >= FAILURES_MAX {
            failures.pop_front();
        }
        let (principal, correlation_id) = (principal.to_owned(), correlation_id.to_owned());
        failures.push_back(Kept { principal, correlation_id, payload, since: Instant::now() });
    }

    /// Once, and only to whoever asked for the draft.
    pub(crate) fn take(&self, principal: &str, correlation_id: &str) -> Option<String> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|kept| kept.since.elapsed() < FAILURE_KEPT);
        let position = failures.iter().position(|kept| kept.is_of(principal, correlation_id))?;
        failures.remove(position).map(|kept| kept.payload)
    }
}

impl Kept {
    fn is_of(&self, principal: &str, correlation_id: &str) -> bool {
        self.principal == principal && self.correlation_id == correlation_id
    }
}
