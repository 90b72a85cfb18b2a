//! Changes a workspace by a patch set: entirely or not at all.

mod base;
mod error;

#[cfg(target_os = "linux")]
mod tree;

pub use base::Base;
pub use error::{ApplyError, Problem};
