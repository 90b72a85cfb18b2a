//! Systems without the calls that a change needs.

use super::{Applied, ApplyError, Authority, Base, Change, Copies, Done, OpenUse, Record, Recovered};
use ordain_spec::Verified;
use ordain_spec::patch::PatchSet;
use std::path::Path;

/// Refuses.
pub fn apply(
    _: &Path,
    _: &Verified<PatchSet>,
    _: Option<&Base>,
    _: Authority,
) -> Result<Applied, ApplyError> {
    Err(ApplyError::Unsupported)
}

/// Refuses.
pub fn preview(_: &Path, _: &Verified<PatchSet>, _: Option<&Base>) -> Result<Vec<Change>, ApplyError> {
    Err(ApplyError::Unsupported)
}

/// Refuses.
pub fn undo(_: &Path, _: Option<&str>, _: Copies, _: Authority) -> Result<Applied, ApplyError> {
    Err(ApplyError::Unsupported)
}

/// Refuses.
pub fn preview_undo(_: &Path, _: Option<&str>, _: Copies) -> Result<(String, Vec<Change>), ApplyError> {
    Err(ApplyError::Unsupported)
}

/// Nothing was ever changed here.
pub fn records(_: &Path) -> Result<Vec<Record>, ApplyError> {
    Ok(Vec::new())
}

/// Nothing was ever interrupted here.
pub fn recover(_: &Path, _: Copies) -> Result<Option<Recovered>, ApplyError> {
    Ok(None)
}

/// There is none.
pub struct KeptUse {
    /// The permit that it is a use of.
    pub open: OpenUse,
}

impl KeptUse {
    /// Nothing was kept.
    pub fn forget(self) -> Result<(), ApplyError> {
        Ok(())
    }
}

/// Refuses.
pub fn keep_use(_: &Path, _: OpenUse) -> Result<KeptUse, ApplyError> {
    Err(ApplyError::Unsupported)
}

/// Nothing was ever kept here.
pub fn kept_uses(_: &Path) -> Result<Vec<KeptUse>, ApplyError> {
    Ok(Vec::new())
}

/// Nothing was ever changed here.
pub fn done_under(_: &Path, _: &OpenUse) -> Result<Done, ApplyError> {
    Ok(Done::NotMade)
}

/// Only that a path is safe can be said here.
pub fn unpatchable(path: &str) -> Option<String> {
    ordain_spec::path_problem(path)
}
