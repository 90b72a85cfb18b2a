//! A file for each subject.

pub(crate) mod actions;
pub(crate) mod approvers;
pub(crate) mod control;
pub(crate) mod documents;
pub(crate) mod events;
pub(crate) mod evidence;
pub(crate) mod grants;
pub(crate) mod ledger;
pub(crate) mod notes;
pub(crate) mod permits;
pub(crate) mod projects;
pub(crate) mod server;
pub(crate) mod servers;
pub(crate) mod sessions;
pub(crate) mod tokens;
pub(crate) mod wait;
