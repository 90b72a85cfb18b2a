#![doc = include_str!("../README.md")]

pub mod limits;

mod failure;
mod request;

mod compose;
mod schema;

mod check;
mod snapshot;

mod draft;
mod drift;
mod examples;

pub use draft::{Draft, Drafter, Steps};
pub use examples::EXAMPLES;
pub use failure::{Code, Failure};
pub use ordain_vault::Finding;
pub use request::{Request, Source};
