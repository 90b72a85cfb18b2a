//! Providers as they are met: programs that others wrote, connections that break, and recordings.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a test may fail loudly"
)]

mod support;

mod counterparts;
mod faults;
mod program;
mod recordings;
mod requests;
mod secrets;
