#![doc = include_str!("../README.md")]

pub mod limits;

mod app;
mod problem;
mod request;

mod front;
mod metrics;
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
