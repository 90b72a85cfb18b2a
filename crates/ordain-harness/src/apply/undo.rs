//! Takes a change back, if nothing changed since.

use super::exchange::slot;
use super::journal::{Back, Entry, Journal};
use super::perform::{files_of, read, recorded};
use super::record::records;
use super::recover::{forward_again, recover};
use super::state::{APPLIED, Slots, State, UNDONE, existing, unusable};
use super::transaction::{Transaction, Way};
use super::tree::{At, Folders, Seen, Tree, seen};
use super::{Applied, ApplyError, Authority, Change, ChangedFile, Copies, Problem};
use crate::beneath::REGULAR;
use ordain_spec::patch::PatchOp;
use rustix::fs::{Mode, openat};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

/// Takes the last change back, or the one of this record.
pub fn undo(
    workspace: &Path,
    record: Option<&str>,
    copies: Copies,
    authority: Authority,
) -> Result<Applied, ApplyError> {
    let authority = authority.into_record(workspace)?;
    recover(workspace, copies)?;
    let record = chosen(workspace, record)?;
    let tree = Tree::open(workspace)?;
    let state = State::open(&tree)?;
    let place = format!(".ordain/{APPLIED}/{record}");
    let unusable = |error: io::Error| unusable(&place, &error);
    let slots = state.record(&record).map_err(unusable)?;
    let mut journal = journal_of(&slots, &place, copies)?;
    let expected = check(&tree, &slots, &journal).map_err(ApplyError::Refused)?;
    // The process that has to finish this finds a journal of this folder.
    let inode = slots.inode().map_err(unusable)?;
    if !journal.was_written_in(inode) {
        journal.move_to(inode);
        slots.write_journal(&journal).map_err(unusable)?;
    }
    slots.write_back(&Back::Undo { record: record.clone(), authority }).map_err(unusable)?;
    state.resume(&record).map_err(unusable)?;
    let mut transaction = Transaction::new(&tree, slots, journal, true, expected);
    let done = transaction.go(Way::Back).and_then(|()| {
        transaction.touch_restored();
        state.finish(UNDONE, &record).map_err(|error| recorded(&error))
    });
    let Err(back) = done else {
        return Ok(Applied { record: Some(record), files: undone_files(&transaction.journal) });
    };
    match forward_again(&mut transaction) {
        Ok(()) => {
            state.finish(APPLIED, &record)?;
            Err(ApplyError::RolledBack(back))
        }
        Err(forward) => Err(ApplyError::Stuck { forward, back }),
    }
}

fn undone_files(journal: &Journal) -> Vec<ChangedFile> {
    let inverse = |op| match op {
        PatchOp::Create => PatchOp::Delete,
        PatchOp::Modify => PatchOp::Modify,
        PatchOp::Delete => PatchOp::Create,
    };
    files_of(journal).into_iter().map(|file| ChangedFile { op: inverse(file.op), ..file }).collect()
}

/// The changes that undoing would make, after the same checks.
pub fn preview_undo(
    workspace: &Path,
    record: Option<&str>,
    copies: Copies,
) -> Result<(String, Vec<Change>), ApplyError> {
    let record = chosen(workspace, record)?;
    let tree = Tree::open(workspace)?;
    let place = format!(".ordain/{APPLIED}/{record}");
    let missing = || ApplyError::NoRecord(format!("there is no change `{record}`"));
    let applied = existing(&tree, APPLIED).ok_or_else(missing)?;
    let slots = Slots::open(applied.as_fd(), &record).map_err(|error| unusable(&place, &error))?;
    let journal = journal_of(&slots, &place, copies)?;
    check(&tree, &slots, &journal).map_err(ApplyError::Refused)?;
    let change = |(at, entry): (usize, &Entry)| {
        Ok(Change {
            path: entry.path.clone(),
            before: entry.after.as_ref().map(|_| read(&tree, &entry.path)).transpose()?,
            after: entry.before.as_ref().map(|_| stored(&slots, at, &place)).transpose()?,
        })
    };
    let changes = journal.operations.iter().enumerate().map(change).collect::<Result<_, ApplyError>>()?;
    Ok((record, changes))
}

fn chosen(workspace: &Path, record: Option<&str>) -> Result<String, ApplyError> {
    let records = records(workspace)?;
    let found = match record {
        // The number is enough.
        Some(wanted) => records.into_iter().find(|it| {
            it.record.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        }),
        None => records.into_iter().next_back(),
    };
    found.map(|record| record.record).ok_or_else(|| {
        ApplyError::NoRecord(match record {
            Some(wanted) => {
                format!("there is no change `{wanted}` in this workspace; `ordain undo --list` shows all")
            }
            None => "there is no change to undo in this workspace".to_owned(),
        })
    })
}

fn journal_of(slots: &Slots, place: &str, copies: Copies) -> Result<Journal, ApplyError> {
    let damaged = |problem: String| ApplyError::State { path: place.to_owned(), problem };
    let journal = slots.journal().map_err(damaged)?.ok_or_else(|| damaged("has no journal".to_owned()))?;
    let inode = slots.inode().map_err(|error| unusable(place, &error))?;
    if copies == Copies::Refuse && !journal.was_written_in(inode) {
        let problem = "came with a copy of the workspace, and may be anybody's; if the copy is your own, add \
                       `--even-if-copied`";
        return Err(damaged(problem.to_owned()));
    }
    Ok(journal)
}

/// All targets must be as the change left them, and what it replaced must still be there.
fn check(tree: &Tree, slots: &Slots, journal: &Journal) -> Result<Vec<Option<Seen>>, Vec<Problem>> {
    let mut folders = tree.folders();
    let mut expected = Vec::new();
    let mut problems = Vec::new();
    for (at, entry) in journal.operations.iter().enumerate() {
        match target(&mut folders, entry)
            .and_then(|target| stored_is_intact(slots, at, entry).map(|()| target))
        {
            Ok(target) => expected.push(target),
            Err(problem) => problems.push(Problem { path: entry.path.clone(), problem }),
        }
    }
    if problems.is_empty() { Ok(expected) } else { Err(problems) }
}

fn target(folders: &mut Folders<'_>, entry: &Entry) -> Result<Option<Seen>, String> {
    match (entry.after.as_ref(), folders.at(&entry.path)?) {
        (Some(after), At::File(seen)) if seen.sha256 == *after => Ok(Some(seen)),
        (Some(_), At::File(_)) => Err("was changed since; undoing would lose that".to_owned()),
        (Some(_), At::Nothing) => Err("was deleted since".to_owned()),
        (None, At::Nothing) => Ok(None),
        (None, At::File(_)) => Err("was made again since; undoing would lose that".to_owned()),
    }
}

fn stored_is_intact(slots: &Slots, at: usize, entry: &Entry) -> Result<(), String> {
    let Some(before) = &entry.before else { return Ok(()) };
    debug_assert!(entry.op != PatchOp::Create);
    match seen(slots.folder.as_fd(), &slot(at)) {
        Ok(found) if found.sha256 == *before => Ok(()),
        Ok(_) => Err("cannot be restored: the stored content was changed since".to_owned()),
        Err(error) => Err(format!("cannot be restored: the stored content cannot be read: {error}")),
    }
}

fn stored(slots: &Slots, at: usize, place: &str) -> Result<Vec<u8>, ApplyError> {
    let mut content = Vec::new();
    openat(&slots.folder, &*slot(at), REGULAR, Mode::empty())
        .map_err(io::Error::from)
        .and_then(|file| File::from(file).read_to_end(&mut content))
        .map_err(|error| unusable(place, &error))?;
    Ok(content)
}
