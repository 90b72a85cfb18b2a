//! Shared parts of tests: the conformance vectors, and documents that are large or damaged on purpose.

pub mod cases;
mod certificates;
mod damage;
mod facts;
mod large;
pub mod model;
mod vectors;

pub use certificates::{Authority, ServerCertificate};
pub use damage::damaged;
pub use facts::OwnedFacts;
pub use large::{large_bundle, large_patch_set};
pub use vectors::{Vector, conformance_folder, vectors};
