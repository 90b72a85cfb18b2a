//! After a crash: a change that was interrupted is finished, or taken back where it cannot be.

use super::journal::Back;
use super::state::{APPLIED, State, UNDONE, is_interrupted, unusable};
use super::transaction::{Transaction, Way};
use super::tree::Tree;
use super::{ApplyError, Copies, Problem, Recovered};
use std::path::Path;

const PLACE: &str = ".ordain/apply/txn";

/// Finishes or takes back what was interrupted. Nothing to do is `None`, and so is a change that is still at work.
pub fn recover(workspace: &Path, copies: Copies) -> Result<Option<Recovered>, ApplyError> {
    let tree = Tree::open(workspace)?;
    if !is_interrupted(&tree) {
        return Ok(None);
    }
    let state = match State::open(&tree) {
        Err(ApplyError::Busy) => return Ok(None),
        state => state?,
    };
    state.sweep().map_err(|error| unusable(".ordain/apply/discarded", &error))?;
    let Some(slots) = state.unfinished().map_err(|error| unusable(PLACE, &error))? else { return Ok(None) };
    let damaged = |file: &str, problem| ApplyError::State { path: format!("{PLACE}/{file}"), problem };
    let Some(mut journal) = slots.journal().map_err(|problem| damaged("journal.json", problem))? else {
        state.discard().map_err(|error| unusable(PLACE, &error))?;
        return Ok(Some(Recovered::Discarded));
    };
    let inode = slots.inode().map_err(|error| unusable(PLACE, &error))?;
    if !journal.was_written_in(inode) {
        if copies == Copies::Refuse {
            let problem = "came with a copy of the workspace, and may be anybody's; if the copy is your own, `ordain \
                           recover --even-if-copied` finishes what was interrupted";
            return Err(damaged("journal.json", problem.to_owned()));
        }
        journal.move_to(inode);
        slots.write_journal(&journal).map_err(|error| unusable(PLACE, &error))?;
    }
    let back = slots.back().map_err(|problem| damaged("back.json", problem))?;
    let (transaction, conflict) =
        Transaction::interrupted(&tree, slots, journal).map_err(|error| unusable(PLACE, &error))?;
    settle(&state, transaction, back, conflict).map(Some)
}

/// If somebody saved a file while the change was at work, the change does not go on, whichever way it went.
fn settle(
    state: &State,
    mut transaction: Transaction<'_>,
    back: Option<Back>,
    conflict: Option<Problem>,
) -> Result<Recovered, ApplyError> {
    match back {
        None => match conflict.map_or_else(|| transaction.go(Way::Forward), Err) {
            Ok(()) => finished(state, &transaction, None),
            Err(problem) => rolled_back(state, transaction, problem),
        },
        Some(Back::Failed { path, problem }) => rolled_back(state, transaction, Problem { path, problem }),
        Some(Back::Undo { record, .. }) => match conflict.map_or_else(|| transaction.go(Way::Back), Err) {
            Ok(()) => {
                transaction.touch_restored();
                state.finish(UNDONE, &record)?;
                Ok(Recovered::Undone { record })
            }
            Err(back) => match forward_again(&mut transaction) {
                Ok(()) => finished(state, &transaction, Some(record)),
                Err(forward) => Err(ApplyError::Stuck { forward, back }),
            },
        },
    }
}

fn finished(
    state: &State,
    transaction: &Transaction<'_>,
    record: Option<String>,
) -> Result<Recovered, ApplyError> {
    let record = match record {
        Some(record) => record,
        None => state
            .next_record(&transaction.journal.patch_hash)
            .map_err(|error| unusable(".ordain/applied", &error))?,
    };
    state.finish(APPLIED, &record)?;
    Ok(Recovered::Finished { record })
}

fn rolled_back(
    state: &State,
    mut transaction: Transaction<'_>,
    because: Problem,
) -> Result<Recovered, ApplyError> {
    match super::perform::take_back(state, &mut transaction, because) {
        ApplyError::RolledBack(because) => Ok(Recovered::RolledBack { because }),
        error => Err(error),
    }
}

/// An undo that cannot be carried out ends with the change in place.
pub(crate) fn forward_again(transaction: &mut Transaction<'_>) -> Result<(), Problem> {
    transaction.slots.remove_back().map_err(|error| super::stage::not_written(PLACE, &error))?;
    transaction.go(Way::Forward)
}
