//! Checks that every store makes before it looks at its tables.

use crate::limits::{
    BODY_BYTES_MAX, CHANGE_BYTES_MAX, DOCUMENT_BYTES_MAX, GUARDS_MAX, ID_BYTES_MAX, KIND_BYTES_MAX,
};
use crate::{Guard, Packed, StoreError, Writes};
use ordain_ledger::ENTRY_BYTES_MAX;
use std::collections::BTreeSet;

pub(crate) fn length(what: &'static str, length: usize, max: usize) -> Result<(), StoreError> {
    if length <= max { Ok(()) } else { Err(StoreError::TooLong { what, length, max }) }
}

/// Not too long, and without the one character that PostgreSQL does not take.
pub(crate) fn text(what: &'static str, text: &str, max: usize) -> Result<(), StoreError> {
    length(what, text.len(), max)?;
    if text.contains('\0') {
        return Err(StoreError::Refused(format!("{what} has a NUL character")));
    }
    Ok(())
}

pub(crate) fn name(kind: &str, id: &str) -> Result<(), StoreError> {
    text("the kind of a record", kind, KIND_BYTES_MAX)?;
    text("the id of a record", id, ID_BYTES_MAX)
}

pub(crate) fn guards(guards: &[Guard]) -> Result<(), StoreError> {
    length("the list of guards", guards.len(), GUARDS_MAX)?;
    guards.iter().try_for_each(|guard| name(&guard.kind, &guard.id))
}

/// Whether tables have the newest version. Those of a newer program, and of one that is too old, are refused.
pub(crate) fn check_version(found: u64, first: u64, newest: u64, place: &str) -> Result<bool, StoreError> {
    if found > newest {
        return Err(StoreError::Newer { place: place.to_owned(), found, known: newest });
    }
    if (1..first).contains(&found) {
        return Err(StoreError::Older(place.to_owned()));
    }
    Ok(found == newest)
}

/// Gives the bytes of everything that is written.
pub(crate) fn writes(
    guards: &[Guard],
    attached: Option<&Packed>,
    writes: &Writes,
) -> Result<usize, StoreError> {
    let mut bytes = attached.map_or(0, |packed| packed.plain_bytes);
    if writes.entries.is_empty() && attached.is_some() {
        return Err(StoreError::Refused("it attaches documents to no entry".to_owned()));
    }
    if writes.marks.iter().any(|(at, _)| *at >= writes.entries.len()) {
        return Err(StoreError::Refused("it marks an entry that it does not write".to_owned()));
    }
    for document in &writes.documents {
        length("a document", document.len(), DOCUMENT_BYTES_MAX)?;
        bytes += document.len();
    }
    for entry in &writes.entries {
        length("an entry", entry.len(), ENTRY_BYTES_MAX)?;
        bytes += entry.len();
    }
    let mut free: BTreeSet<(&str, &str)> =
        guards.iter().map(|guard| (guard.kind.as_str(), guard.id.as_str())).collect();
    for record in &writes.records {
        text("the state of a record", &record.state, KIND_BYTES_MAX)?;
        text("the body of a record", &record.body, BODY_BYTES_MAX)?;
        bytes += record.id.len() + record.body.len();
        if !free.remove(&(record.kind.as_str(), record.id.as_str())) {
            return Err(StoreError::Refused(format!(
                "it writes {} `{}` twice or without a guard",
                record.kind, record.id
            )));
        }
    }
    length("all that a change writes", bytes, CHANGE_BYTES_MAX)?;
    Ok(bytes)
}
