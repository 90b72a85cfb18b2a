#![doc = include_str!("../README.md")]

mod error;
mod gate_folder;
mod home;
mod identity;
mod ids;
#[cfg(unix)]
mod locate;
mod private;
mod registry;

pub use error::StateError;
pub use gate_folder::{GateFolder, GateSettings};
pub use home::Home;
pub use identity::Identity;
pub use ids::{GateId, ProjectId};
#[cfg(unix)]
pub use locate::{Located, Unlocated};
pub use private::{check_private_file, make_private_folder, open_private, write_private};
pub use registry::{Belongs, Project, Registry, WorktreeFolder};
