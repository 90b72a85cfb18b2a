//! The server as its clients meet it: a real listener, and requests that are written byte by byte.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test may fail loudly"
)]

mod support;

mod act;
mod callers;
mod client;
mod console;
mod description;
mod fooling;
mod generated;
mod life;
mod limits;
mod lists;
mod presence;
mod requests;
mod secrets;
mod stores;
mod tls;
mod waiting;
