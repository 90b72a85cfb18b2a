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
