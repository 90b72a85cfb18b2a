//! Why a vault cannot be used.

use std::io;

/// A vault, or something in it, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// There is no such folder.
    #[error("the vault `{path}` cannot be opened: {error}")]
    Root {
        /// As it was given.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// The routing file is not what it should be. Nothing is validated by half of it.
    #[error("{}: {problem}", crate::ROUTING)]
    Routing {
        /// With rule, place and line.
        problem: String,
    },
    /// Something in the vault cannot be read.
    #[error("`{path}` cannot be read: {problem}")]
    Unreadable {
        /// Relative to the vault.
        path: String,
        /// Why.
        problem: String,
    },
}
