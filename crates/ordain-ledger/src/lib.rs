#![doc = include_str!("../README.md")]

pub mod limits;

mod hash;
mod tile;

mod edge;

mod proof;
mod range;
mod verify;

pub use edge::{Edge, EdgeError};
pub use hash::{Hash, HashError};
pub use limits::{ENTRY_BYTES_MAX, PROOF_HASHES_MAX, SIZE_MAX, TILE_WIDTH};
pub use proof::{ProofError, consistency_proof, inclusion_proof, tiles_for_consistency, tiles_for_inclusion};
pub use tile::{TileId, Tiles, tiles_of};
pub use verify::{verify_consistency, verify_inclusion};
