#![doc = include_str!("../README.md")]

pub mod limits;
pub mod yaml;

mod error;
mod finding;

mod markdown;
mod matter;
mod note;
mod scalar;

mod guard;
mod html;
mod render;

mod route;
mod vault;

mod validate;

mod index;

pub use error::VaultError;
pub use finding::{Code, Finding};
pub use guard::guard;
pub use index::{Index, Indexed, Updated};
pub use markdown::Heading;
pub use note::Note;
pub use render::{Rendered, render};
pub use validate::{Validation, validate};
pub use vault::{ROUTING, Vault, is_note_path};
