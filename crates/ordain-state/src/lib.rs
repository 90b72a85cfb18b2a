#![doc = include_str!("../README.md")]

mod error;
mod gate_folder;
mod home;
mod identity;
mod private;
mod registry;

pub use error::StateError;
pub use gate_folder::{GateFolder, GateId, GateSettings};
pub use home::Home;
pub use identity::Identity;
pub use private::{check_private_file, make_private_folder, open_private, write_private};
pub use registry::{Belongs, Project, Registry};
