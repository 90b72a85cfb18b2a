#![doc = include_str!("../README.md")]

mod analyse;
mod effect;
mod expand;
mod identity;
mod inspect;
pub mod limits;
mod options;
mod paths;
mod programs;
mod reader;
mod special;
mod syntax;

pub use analyse::{Analysis, Place, analyse};
pub use effect::{Effect, EffectKind};
pub use identity::Identity;
pub use paths::{is_credential, is_guard};

/// The version of the analysis. It changes with every change of what is derived from a command, and of what two
/// commands have in common.
pub const VERSION: &str = "1";
