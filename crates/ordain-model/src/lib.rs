#![doc = include_str!("../README.md")]

pub mod limits;

mod ask;
mod error;

mod redact;
mod secret;

mod wire;

mod http;
mod retry;

mod remote;

mod fixture;
mod replay;

mod provider;
mod settings;

pub use ask::{Answer, Ask, Role, Schema, Turn, Usage};
pub use error::ModelError;
pub use limits::Limits;
pub use provider::Provider;
pub use redact::redact;
pub use replay::Embedded;
pub use settings::{ProviderName, Settings};
