//! Proofs made from tiles: that an entry is in a ledger, and that a ledger only grew.

use crate::hash::Hash;
use crate::limits::SIZE_MAX;
use crate::range::{self, Range};
use crate::tile::{TileId, Tiles};
use std::collections::BTreeSet;

/// Why there is no proof, or why it proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// More entries than a ledger may have.
    #[error("a ledger of {0} entries is larger than {SIZE_MAX}")]
    Size(u64),
    /// The entry is not there yet.
    #[error("there is no entry {index} in a ledger of {size} entries")]
    Index {
        /// Which entry.
        index: u64,
        /// Entries of the ledger.
        size: u64,
    },
    /// A ledger never shrinks.
    #[error("a ledger of {old} entries cannot have become one of {new}")]
    Shrunk {
        /// Entries at first.
        old: u64,
        /// Entries later.
        new: u64,
    },
    /// A tile was not given.
    #[error("tile {} of level {} is missing", .tile.index, .tile.level)]
    NoTile {
        /// Which tile.
        tile: TileId,
    },
    /// A tile ends too early for the size.
    #[error("tile {} of level {} has {found} hashes and {needed} are needed", .tile.index, .tile.level)]
    ShortTile {
        /// Which tile.
        tile: TileId,
        /// Hashes that must be there.
        needed: usize,
        /// Hashes that are there.
        found: usize,
    },
    /// A proof for these numbers has another length.
    #[error("the proof has {found} hashes instead of {expected}")]
    Length {
        /// Hashes that should be there.
        expected: usize,
        /// Hashes that are there.
        found: usize,
    },
    /// The proof leads elsewhere.
    #[error("the proof does not lead to the root of {size} entries")]
    Root {
        /// Entries of the ledger whose root was missed.
        size: u64,
    },
}

/// The tiles that [`inclusion_proof`] needs; none if there is no such entry.
pub fn tiles_for_inclusion(index: u64, size: u64) -> BTreeSet<TileId> {
    check_index(index, size).map_or_else(|_| BTreeSet::new(), |()| tiles_of(&range::inclusion(index, size)))
}

/// The tiles that [`consistency_proof`] needs; none if the ledger would have shrunk.
pub fn tiles_for_consistency(old: u64, new: u64) -> BTreeSet<TileId> {
    check_growth(old, new).map_or_else(|_| BTreeSet::new(), |()| tiles_of(&growth(old, new)))
}

/// That an entry is in a ledger: the siblings on the way from its leaf to the root.
///
/// The tiles are taken as true. A proof from tiles that somebody changed does not pass [`crate::verify_inclusion`].
pub fn inclusion_proof(index: u64, size: u64, tiles: &Tiles) -> Result<Vec<Hash>, ProofError> {
    check_index(index, size)?;
    range::inclusion(index, size).into_iter().map(|range| range.root(tiles)).collect()
}

/// That a ledger only grew: the subtrees that lead to the old root and to the new one. There is nothing to tell where
/// the old ledger was empty or is the new one.
pub fn consistency_proof(old: u64, new: u64, tiles: &Tiles) -> Result<Vec<Hash>, ProofError> {
    check_growth(old, new)?;
    growth(old, new).into_iter().map(|range| range.root(tiles)).collect()
}

fn growth(old: u64, new: u64) -> Vec<Range> {
    if old == 0 { Vec::new() } else { range::consistency(old, new) }
}

fn tiles_of(ranges: &[Range]) -> BTreeSet<TileId> {
    ranges.iter().flat_map(|range| range.tiles()).collect()
}

pub(crate) fn check_index(index: u64, size: u64) -> Result<(), ProofError> {
    if size > SIZE_MAX {
        Err(ProofError::Size(size))
    } else if index >= size {
        Err(ProofError::Index { index, size })
    } else {
        Ok(())
    }
}

pub(crate) fn check_growth(old: u64, new: u64) -> Result<(), ProofError> {
    if new > SIZE_MAX {
        Err(ProofError::Size(new))
    } else if old > new {
        Err(ProofError::Shrunk { old, new })
    } else {
        Ok(())
    }
}
