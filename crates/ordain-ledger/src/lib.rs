#![doc = include_str!("../README.md")]

pub mod limits;

mod hash;
mod tile;

mod edge;

mod proof;
mod range;
mod verify;

mod key;
mod note;

mod checkpoint;
mod decimal;
mod proof_file;

mod bytes;
mod path;

pub use bytes::{TileError, decode_entries, decode_tile, encode_entries, encode_tile};
pub use checkpoint::{Checkpoint, CheckpointError};
pub use edge::{Edge, EdgeError};
pub use hash::{Hash, HashError};
pub use key::{KeyError, KeyId, NoteSigner, NoteVerifier};
pub use limits::{ENTRY_BYTES_MAX, SIZE_MAX, TILE_WIDTH};
pub use note::{NoteError, SignedNote};
pub use path::{PathError, TilePath};
pub use proof::{ProofError, consistency_proof, inclusion_proof, tiles_for_consistency, tiles_for_inclusion};
pub use proof_file::{ProofFile, ProofFileError};
pub use tile::{TileId, Tiles, tiles_of};
pub use verify::{verify_consistency, verify_inclusion};
