#![doc = include_str!("../README.md")]

mod limits;

mod lines;
mod message;
mod scan;

mod call;
mod definitions;
mod texts;

mod gatekeeper;
mod journal;
mod relay;
mod upstream;

pub use call::is_server_name;
pub use gatekeeper::Gatekeeper;
pub use limits::MESSAGE_BYTES_MAX;
pub use relay::{RelayError, Settings, relay};
pub use upstream::UpstreamCommand;
