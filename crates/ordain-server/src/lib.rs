#![doc = include_str!("../README.md")]
#![expect(clippy::result_large_err, reason = "a problem is made once, for a request that ends with it")]

pub mod limits;

mod app;
mod problem;
mod request;
mod scrub;

mod front;
mod metrics;
mod notes;
mod place;

mod api;
mod openapi;
mod routes;

mod patience;
mod serve;

pub use app::{App, Reload, Reply};
pub use openapi::openapi;
pub use problem::Problem;
pub use serve::{Background, Listening, ServeError, listen};
