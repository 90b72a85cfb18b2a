//! From a patch set to a changed workspace.

use super::authority::AuthorityRecord;
use super::check::{Checked, check};
use super::journal::{self, Back, Entry, Journal};
use super::outcome::ChangedFile;
use super::recover::recover;
use super::stage::{not_written, stage};
use super::state::{APPLIED, State, is_prepared};
use super::transaction::{Transaction, Way};
use super::tree::{Seen, Tree, split};
use super::{Applied, ApplyError, Authority, Base, Change, Copies, Problem};
use crate::beneath::REGULAR;
use ordain_canon::{Canonicalizer, ContentHash, PatchHash};
use ordain_spec::Verified;
use ordain_spec::patch::{PatchOperation, PatchSet};
use rustix::fs::{Mode, openat};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Carries out all operations, or none. With a base, only if the targets are as the base says.
///
/// A change that was interrupted before is finished or taken back first.
pub fn apply(
    workspace: &Path,
    patch: &Verified<PatchSet>,
    base: Option<&Base>,
    authority: Authority,
) -> Result<Applied, ApplyError> {
    let authority = authority.into_record(workspace)?;
    recover(workspace, Copies::Refuse)?;
    let tree = Tree::open(workspace)?;
    // A change at work is told as such, and not by what it has changed so far. Where there never was one, nothing is
    // made before all checks have passed; what changes from then on is found by each rename.
    let state = if is_prepared(&tree) { Some(State::open(&tree)?) } else { None };
    let checked = check(&tree, &patch.operations, base).map_err(ApplyError::Refused)?;
    let (operations, checked) = effective(&patch.operations, checked);
    if operations.is_empty() {
        return Ok(Applied { record: None, files: Vec::new() });
    }
    let state = state.map_or_else(|| State::open(&tree), Ok)?;
    let refused = |problem| give_up(&state, problem);
    let record = PatchHash::of(&mut Canonicalizer::new(), &**patch)
        .map_err(io::Error::other)
        .and_then(|hash| state.next_record(&hash.to_string()))
        .map_err(|error| ApplyError::Refused(vec![not_written(".ordain", &error)]))?;
    let slots = state.begin().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => ApplyError::Busy,
        _ => refused(not_written(".", &error)),
    })?;
    stage(&tree, &slots, &operations, &checked).map_err(refused)?;
    let journal = slots.inode().and_then(|inode| {
        let journal = Journal::new(inode, change_of(patch, &operations, &checked, authority)?);
        slots.write_journal(&journal)?;
        state.sync()?;
        Ok(journal)
    });
    let journal = journal.map_err(|error| refused(not_written(".", &error)))?;
    let mut transaction = Transaction::new(&tree, slots, journal, false, checked.seen);
    let done = transaction
        .go(Way::Forward)
        .and_then(|()| state.finish(APPLIED, &record).map_err(|error| recorded(&error)));
    match done {
        Ok(()) => Ok(Applied { record: Some(record), files: files_of(&transaction.journal) }),
        Err(problem) => Err(take_back(&state, &mut transaction, problem)),
    }
}

/// A change that cannot be recorded is not made.
pub(crate) fn recorded(error: &ApplyError) -> Problem {
    Problem { path: ".ordain".to_owned(), problem: format!("cannot hold the record: {error}") }
}

/// Nothing was touched: what was staged goes.
fn give_up(state: &State, problem: Problem) -> ApplyError {
    match state.discard() {
        Ok(()) => ApplyError::Refused(vec![problem]),
        Err(error) => ApplyError::State {
            path: ".ordain/apply".to_owned(),
            problem: format!("{problem}; what was staged could not be removed either: {error}"),
        },
    }
}

/// Takes back a change that could not be carried out.
pub(crate) fn take_back(state: &State, transaction: &mut Transaction<'_>, problem: Problem) -> ApplyError {
    let failed = Back::Failed { path: problem.path.clone(), problem: problem.problem.clone() };
    // Should the note not be written, who comes after us finds out the same way.
    let _ = transaction.slots.write_back(&failed);
    match transaction.go(Way::Back) {
        Ok(()) if transaction.keep => {
            ApplyError::State { path: ".ordain/apply/txn".to_owned(), problem: problem.to_string() }
        }
        Ok(()) => match state.discard() {
            Ok(()) => ApplyError::RolledBack(problem),
            Err(error) => ApplyError::State {
                path: ".ordain/apply".to_owned(),
                problem: format!("{problem}; everything is as it was, but not removed: {error}"),
            },
        },
        Err(back) => ApplyError::Stuck { forward: problem, back },
    }
}

/// Without the files that have the new content already.
fn effective(operations: &[PatchOperation], checked: Checked) -> (Vec<&PatchOperation>, Checked) {
    let Checked { seen, folders } = checked;
    let changes = |(operation, seen): &(&PatchOperation, Option<Seen>)| {
        seen.as_ref().map(|seen| seen.sha256.clone()) != hash_after(operation)
    };
    let (operations, seen) = operations.iter().zip(seen).filter(changes).unzip();
    (operations, Checked { seen, folders })
}

fn hash_after(operation: &PatchOperation) -> Option<String> {
    operation.content.as_ref().map(|content| ContentHash::of(content.as_bytes()).to_string())
}

fn change_of(
    patch: &Verified<PatchSet>,
    operations: &[&PatchOperation],
    checked: &Checked,
    authority: AuthorityRecord,
) -> io::Result<journal::Change> {
    let entry = |(operation, seen): (&&PatchOperation, &Option<Seen>)| Entry {
        op: operation.op,
        path: operation.path.clone(),
        before: seen.as_ref().map(|seen| seen.sha256.clone()),
        after: hash_after(operation),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let hash = PatchHash::of(&mut Canonicalizer::new(), &**patch).map_err(io::Error::other)?;
    Ok(journal::Change {
        authority,
        applied_at_ms: u64::try_from(now).unwrap_or(u64::MAX),
        patch_hash: hash.to_string(),
        source_proposal_id: patch.source_proposal_id.as_str().to_owned(),
        folders: checked.folders.clone(),
        operations: operations.iter().zip(&checked.seen).map(entry).collect(),
    })
}

pub(crate) fn files_of(journal: &Journal) -> Vec<ChangedFile> {
    let file = |entry: &Entry| ChangedFile { op: entry.op, path: entry.path.clone() };
    journal.operations.iter().map(file).collect()
}

/// The changes that applying would make, after the same checks.
pub fn preview(
    workspace: &Path,
    patch: &Verified<PatchSet>,
    base: Option<&Base>,
) -> Result<Vec<Change>, ApplyError> {
    let tree = Tree::open(workspace)?;
    let checked = check(&tree, &patch.operations, base).map_err(ApplyError::Refused)?;
    let change = |(operation, seen): (&PatchOperation, &Option<Seen>)| {
        Ok(Change {
            path: operation.path.clone(),
            before: seen.as_ref().map(|_| read(&tree, &operation.path)).transpose()?,
            after: operation.content.as_ref().map(|content| content.clone().into_bytes()),
        })
    };
    patch.operations.iter().zip(&checked.seen).map(change).collect()
}

/// The content of a file of the workspace.
pub(crate) fn read(tree: &Tree, path: &str) -> Result<Vec<u8>, ApplyError> {
    let (parent, name) = split(path);
    let read = || {
        let mut content = Vec::new();
        File::from(openat(&tree.folder(parent)?, name, REGULAR, Mode::empty())?).read_to_end(&mut content)?;
        Ok(content)
    };
    read().map_err(|error: io::Error| super::state::unusable(path, &error))
}
