//! The policies in force: the store says which, and every node follows.

use super::caller::Caller;
use super::claim::Claim;
use super::conflict::Conflict;
use super::documents::typed;
use super::error::GateError;
use super::open::Gate;
use super::records::{CONTROL_ID, Control, PolicyInForce};
use super::servers::PinsInForce;
use super::transaction::{Reading, Step, document};
use ordain_api::{Event, FieldError, OwnerAct, PolicyOnRecord, PolicyPush, PolicyPushed};
use ordain_canon::ContentHash;
use ordain_decision::{PolicyFiles, PolicySet, Problem, Severity};
use std::sync::{Arc, PoisonError};

/// A policy set, and the document of its files.
pub(super) struct Loaded {
    pub(super) set: Arc<PolicySet>,
    pub(super) files_document: ContentHash,
    /// The approved tools of MCP servers.
    pub(super) pins: PinsInForce,
}

impl Loaded {
    /// Without approved tools.
    pub(super) fn of(set: PolicySet, files_document: ContentHash) -> Self {
        Self { set: Arc::new(set), files_document, pins: PinsInForce::default() }
    }
}

/// The basis of the policies kept in memory: the entry that put them in force, and whether an owner had to
/// sign it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Basis {
    files_document: ContentHash,
    index: u64,
    owned: bool,
    /// The entry that changed the approved tools of a server last.
    pins_index: u64,
}

impl Basis {
    fn of(control: &Control, pins_index: u64) -> Option<Self> {
        let PolicyInForce { files_document, index, .. } = control.policy.as_ref()?;
        Some(Self {
            files_document: *files_document,
            index: *index,
            owned: control.keys.is_some(),
            pins_index,
        })
    }
}

/// The policies in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActivePolicy {
    /// Their hash.
    pub hash: String,
    /// The document of their files.
    pub files_document: ContentHash,
}

/// By which policy files are on record: two folders with this hash are the same, byte for byte.
pub fn policy_document_hash(files: &PolicyFiles) -> Result<ContentHash, GateError> {
    document(files).map(|(hash, _)| hash)
}

/// Entries that are looked through at once for earlier policies.
const LOOKED_THROUGH: usize = 500;

impl Gate {
    /// Puts policies in force, on every node. Invalid policies change nothing. Returns whether anything
    /// changed.
    pub async fn set_policy(&self, caller: &Caller, files: &PolicyFiles) -> Result<bool, GateError> {
        Ok(self.push_policy(caller, &PolicyPush { files: files.clone(), from: None }).await?.changed)
    }

    /// The same, if the policies in force are those that the caller names.
    pub async fn push_policy(&self, caller: &Caller, push: &PolicyPush) -> Result<PolicyPushed, GateError> {
        let PolicyPush { files, from } = push;
        let set = load(files.clone()).await?;
        let (files_document, bytes) = document(files)?;
        let hash = set.hash().to_string();
        let attempt = |_| {
            let (hash, bytes) = (hash.clone(), bytes.clone());
            async move {
                let (known, control) = self.control(Reading::Fresh).await?;
                let active = control.policy.as_ref().map(|policy| policy.hash.to_string());
                if from.is_some() && active != *from {
                    return Err(Conflict::OtherPolicy {
                        active: active.unwrap_or_else(|| "none".to_owned()),
                    }
                    .into());
                }
                let same =
                    |policy: &PolicyInForce| policy.hash.is(&hash) && policy.files_document == files_document;
                // Policies that lost their force, because nobody signed them, are pushed again.
                if control.policy.as_ref().is_some_and(same) && self.policies(&control).await.is_ok() {
                    return Ok(Step::Done(false));
                }
                let from = self.state_before(OwnerAct::PushPolicy, &control)?;
                let policy_hash = ContentHash::parse(&hash);
                let policy_hash =
                    policy_hash.ok_or_else(|| GateError::Damaged(format!("`{hash}` is not a hash")))?;
                let claim = Claim::of(OwnerAct::PushPolicy, hash.clone(), from);
                let authorized = self.authorize(caller, &control, &claim).await?;
                let mut guards = vec![known.guard()];
                guards.extend(authorized.guards());
                Ok(Step::write(guards, Vec::new(), move |writing| {
                    authorized.write(writing)?;
                    let index = writing.event(Event::PolicyChanged {
                        policy_hash: hash,
                        files_document: files_document.to_string(),
                    });
                    writing.share(bytes);
                    let in_force = PolicyInForce { hash: policy_hash, files_document, index };
                    writing.put(CONTROL_ID, &Control { policy: Some(in_force), ..control })?;
                    Ok(true)
                }))
            }
        };
        let changed = self.transact(caller, attempt).await?;
        let (_, control) = self.control(Reading::Fresh).await?;
        let pins_index = self.pins_index();
        let basis = Basis::of(&control, pins_index);
        if let Some(basis) = basis.filter(|basis| basis.files_document == files_document) {
            let pins = self.pins_in_force().await?;
            self.keep(basis, Arc::new(Loaded { set: Arc::new(set), files_document, pins }));
        }
        Ok(PolicyPushed { changed, policy_hash: hash })
    }

    /// The policies in force, if there are any.
    pub async fn active_policy(&self) -> Result<Option<ActivePolicy>, GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        let active = |policy: PolicyInForce| ActivePolicy {
            hash: policy.hash.to_string(),
            files_document: policy.files_document,
        };
        Ok(control.policy.map(active))
    }

    /// The files of the policies in force, or of earlier ones.
    pub async fn policy_on_record(&self, hash: Option<&str>) -> Result<PolicyOnRecord, GateError> {
        let active = self.active_policy().await?;
        let is_active = |hash: &str| active.as_ref().is_some_and(|active| active.hash == hash);
        let (policy_hash, files_document) = match (hash, &active) {
            (None, None) => return Err(GateError::Unknown("no policies are in force".to_owned())),
            (None, Some(active)) => (active.hash.clone(), active.files_document),
            (Some(hash), Some(active)) if is_active(hash) => (hash.to_owned(), active.files_document),
            (Some(hash), _) => (hash.to_owned(), self.earlier_policy(hash).await?),
        };
        let bytes = self.shared_document(&files_document).await?;
        let files = typed(&bytes)?;
        Ok(PolicyOnRecord { active: is_active(&policy_hash), policy_hash, files })
    }

    /// The document of policies that were in force: the ledger names it.
    async fn earlier_policy(&self, hash: &str) -> Result<ContentHash, GateError> {
        let mut from = 0;
        loop {
            let page = self.ledger_entries(from, LOOKED_THROUGH).await?;
            let Some(last) = page.last() else { break };
            from = last.index + 1;
            for entry in &page {
                if let Event::PolicyChanged { policy_hash, files_document, .. } = &entry.entry.event
                    && policy_hash == hash
                {
                    let damaged = || GateError::Damaged(format!("entry {} names no document", entry.index));
                    return ContentHash::parse(files_document).ok_or_else(damaged);
                }
            }
        }
        Err(GateError::Unknown(format!("no policies {hash} were ever in force")))
    }

    /// The entry that changed the approved tools of a server last.
    fn pins_index(&self) -> u64 {
        self.ledger_state(|state| {
            state.servers().values().map(|server| server.pinned_index).max().unwrap_or(0)
        })
    }

    fn keep(&self, basis: Basis, loaded: Arc<Loaded>) {
        *self.shared.policies.write().unwrap_or_else(PoisonError::into_inner) = Some((basis, loaded));
    }

    /// That there are policies in force, and that this version of the program reads them as they were recorded.
    pub async fn check_policies(&self) -> Result<(), GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        self.policies(&control).await.map(drop)
    }

    /// The policies that the control record names.
    pub(super) async fn policies(&self, control: &Control) -> Result<Arc<Loaded>, GateError> {
        let Some(in_force) = &control.policy else {
            let problem = "no policies are in force yet; `ordain policy push` puts a folder in force";
            return Err(GateError::Unavailable(problem.to_owned()));
        };
        let basis = Basis {
            files_document: in_force.files_document,
            index: in_force.index,
            owned: control.keys.is_some(),
            pins_index: self.pins_index(),
        };
        let kept = self.shared.policies.read().unwrap_or_else(PoisonError::into_inner).clone();
        match kept {
            Some((kept, loaded)) if kept == basis => return Ok(loaded),
            // Only the approved tools are others.
            Some((kept, loaded)) if (Basis { pins_index: basis.pins_index, ..kept }) == basis => {
                let Loaded { set, files_document, .. } = &*loaded;
                let pins = self.pins_in_force().await?;
                let loaded = Arc::new(Loaded { set: set.clone(), files_document: *files_document, pins });
                self.keep(basis, loaded.clone());
                return Ok(loaded);
            }
            _ => {}
        }
        if !self.ledger_state(|state| state.has_force(in_force.index)) {
            return Err(GateError::Unavailable(format!(
                "no policies are in force: an owner's key has not signed those on record (entry {} is from before the gate had an owner); push them again",
                in_force.index
            )));
        }
        let pins = self.pins_in_force().await?;
        let loaded = self.load_policies(&in_force.files_document).await?;
        let loaded = Arc::new(Loaded { pins, ..loaded });
        if !in_force.hash.is(&loaded.set.hash().to_string()) {
            // Another version of the program recorded it: its schema counts, and it is not ours.
            return Err(GateError::Unavailable(format!(
                "the policies in force were recorded as {}, and this version of ordain reads them as {}; push them again: `ordain policy push`",
                in_force.hash,
                loaded.set.hash()
            )));
        }
        self.keep(basis, loaded.clone());
        Ok(loaded)
    }

    /// Reads policies from the store.
    pub(super) async fn load_policies(&self, files_document: &ContentHash) -> Result<Loaded, GateError> {
        let bytes = self.shared_document(files_document).await?;
        let files: PolicyFiles = serde_json::from_slice(&bytes)
            .map_err(|error| GateError::Damaged(format!("the policies {files_document}: {error}")))?;
        let set = load(files).await?;
        Ok(Loaded::of(set, *files_document))
    }
}

/// Bytes of stack for reading policies: a statement may nest deeper than a usual stack can follow.
const STACK_BYTES: usize = 256 << 20;

/// Reads policies on a thread with a large stack. Their nesting is limited, and the stack is larger than the
/// limit needs.
pub fn load_policy_files(files: &PolicyFiles) -> Result<PolicySet, Vec<Problem>> {
    std::thread::scope(|scope| {
        let reading = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || PolicySet::load(files))
            .map_err(|error| error.to_string());
        let read =
            reading.and_then(|reading| reading.join().map_err(|_| "the reader was broken off".to_owned()));
        read.unwrap_or_else(|problem| {
            let message = format!("the policies cannot be read: {problem}");
            Err(vec![Problem {
                file: String::new(),
                line: None,
                policy: None,
                message,
                severity: Severity::Error,
            }])
        })
    })
}

async fn load(files: PolicyFiles) -> Result<PolicySet, GateError> {
    let loaded = tokio::task::spawn_blocking(move || load_policy_files(&files)).await;
    let loaded =
        loaded.map_err(|error| GateError::Unavailable(format!("the policies cannot be read: {error}")))?;
    loaded.map_err(invalid)
}

fn invalid(problems: Vec<Problem>) -> GateError {
    let error =
        |problem: &Problem| FieldError { path: String::new(), message: problem.to_string(), rule_id: None };
    let errors: Vec<FieldError> = problems.iter().map(error).collect();
    GateError::Invalid { message: "the policies are not valid, and those in force stay".to_owned(), errors }
}
