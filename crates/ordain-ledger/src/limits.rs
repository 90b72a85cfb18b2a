//! Everything from outside has a limit, and the limit has a name.

/// Bytes of an entry: an entry bundle counts them in two bytes.
pub const ENTRY_BYTES_MAX: usize = 65_535;
/// Hashes of a full tile, and entries of a full bundle.
pub const TILE_WIDTH: usize = 256;
/// Entries of a ledger. Others count them in signed numbers.
pub const SIZE_MAX: u64 = i64::MAX as u64;
/// Hashes of the longest proof of a ledger of that size: one for each doubling, and one more where an older ledger
/// ended within a tree.
pub const PROOF_HASHES_MAX: usize = 64;
/// Bytes of a signed note, with its signatures.
pub const NOTE_BYTES_MAX: usize = 1_000_000;
/// Signatures of a note, known or not. Go's reader has the same limit.
pub const NOTE_SIGNATURES_MAX: usize = 100;
/// Bytes of the name of a key.
pub const KEY_NAME_BYTES_MAX: usize = 1_024;
/// The highest level that the path of a tile may name.
pub const TILE_LEVEL_MAX: u8 = 63;
