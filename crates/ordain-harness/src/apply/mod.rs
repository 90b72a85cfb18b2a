//! Changes a workspace by a patch set: entirely or not at all.
//!
//! New contents are staged below `.ordain`, a journal is written, and then each operation is one rename between a
//! staged file and its target. Whatever happens after the journal is there, the change is finished or taken back. The
//! contents that were replaced stay in the record of the change, from where `undo` takes them.

mod authority;
mod base;
mod error;
mod outcome;

#[cfg(target_os = "linux")]
mod check;
#[cfg(target_os = "linux")]
mod exchange;
#[cfg(target_os = "linux")]
mod journal;
#[cfg(target_os = "linux")]
mod perform;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod recover;
#[cfg(target_os = "linux")]
mod stage;
#[cfg(target_os = "linux")]
mod state;
#[cfg(target_os = "linux")]
mod transaction;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod undo;
#[cfg(target_os = "linux")]
mod uses;

#[cfg(not(target_os = "linux"))]
mod elsewhere;

pub use authority::{Authority, PROJECT_FILE, SpentUse};
pub use base::Base;
pub use error::{ApplyError, Problem};
pub use outcome::{Applied, Change, ChangedFile, Copies, Done, OpenUse, Record, Recovered};

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{
    KeptUse, apply, done_under, keep_use, kept_uses, preview, preview_undo, records, recover, undo,
    unpatchable,
};
#[cfg(target_os = "linux")]
pub use perform::{apply, preview};
#[cfg(target_os = "linux")]
pub use record::records;
#[cfg(target_os = "linux")]
pub use recover::recover;
#[cfg(target_os = "linux")]
pub(crate) use tree::because;
#[cfg(target_os = "linux")]
pub use tree::forbidden as unpatchable;
#[cfg(target_os = "linux")]
pub use undo::{preview_undo, undo};
#[cfg(target_os = "linux")]
pub use uses::{KeptUse, done_under, keep_use, kept_uses};
