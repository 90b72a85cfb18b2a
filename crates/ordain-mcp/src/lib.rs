#![doc = include_str!("../README.md")]

mod limits;

mod lines;
mod message;
mod scan;

mod abilities;
mod call;
mod definitions;
mod texts;

mod gatekeeper;
mod hold;
mod http;
mod journal;
mod relay;
mod rounds;
mod serve;
mod tasks;
mod upstream;

pub use gatekeeper::Gatekeeper;
pub use http::{Bearer, Doorkeeper, Endpoint, serve};
pub use limits::MESSAGE_BYTES_MAX;
pub use relay::{RelayError, Settings, relay};
pub use serve::Desk;
pub use upstream::{Upstream, UpstreamCommand, UpstreamUrl};
