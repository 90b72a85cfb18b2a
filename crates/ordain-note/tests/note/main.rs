//! From a request to a proposal, without a network: answers are replayed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod answers;
mod asked;
mod support;
