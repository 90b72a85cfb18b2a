//! Tiles: 256 hashes in a row, and which of them a tree has.

use crate::hash::Hash;
use crate::limits::TILE_WIDTH;
use std::collections::BTreeMap;

/// Levels of the tree from one level of tiles to the next: a full tile is a tree of 2⁸ hashes.
pub(crate) const TILE_HEIGHT: u32 = 8;

/// Names a tile. Level 0 holds the hashes of leaves; a hash of the level above is the root of a full tile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TileId {
    /// How high it lies.
    pub level: u8,
    /// How many tiles are left of it.
    pub index: u64,
}

/// Tiles by id; a partial tile, at the right edge, has fewer than 256 hashes.
pub type Tiles = BTreeMap<TileId, Vec<Hash>>;

impl TileId {
    /// How many hashes the tile has in a tree of that size: 0 if it is not there, 256 if it is full.
    pub fn width_in(self, size: u64) -> usize {
        let row = hashes_at(self.level, size);
        let left = self.index.saturating_mul(TILE_WIDTH as u64);
        usize::try_from(row.saturating_sub(left)).unwrap_or(usize::MAX).min(TILE_WIDTH)
    }
}

/// How many hashes a level of tiles has in a tree of that size.
pub(crate) fn hashes_at(level: u8, size: u64) -> u64 {
    size.checked_shr(TILE_HEIGHT * u32::from(level)).unwrap_or(0)
}

/// All tiles of a tree of that size with their widths, level by level, from left to right.
pub fn tiles_of(size: u64) -> impl Iterator<Item = (TileId, usize)> {
    let levels = (0..=u8::MAX).take_while(move |level| hashes_at(*level, size) > 0);
    levels.flat_map(move |level| {
        let tiles = hashes_at(level, size).div_ceil(TILE_WIDTH as u64);
        (0..tiles).map(move |index| {
            let tile = TileId { level, index };
            (tile, tile.width_in(size))
        })
    })
}

/// The Merkle tree hash of a row of subtrees of equal size.
pub(crate) fn root_of(row: &[Hash]) -> Hash {
    match row {
        [] => Hash::EMPTY,
        [only] => *only,
        _ => {
            let (left, right) = row.split_at(row.len().next_power_of_two() / 2);
            Hash::of_node(root_of(left), root_of(right))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification: a tree of 70,000 entries.
    #[test]
    fn tiles_of_a_tree() {
        let tiles: Vec<_> = tiles_of(70_000).collect();
        assert_eq!(tiles.len(), 274 + 2 + 1);
        assert_eq!(tiles.iter().filter(|(tile, width)| tile.level == 0 && *width == 256).count(), 273);
        let id = |level, index| TileId { level, index };
        assert_eq!(tiles[273..], [(id(0, 273), 112), (id(1, 0), 256), (id(1, 1), 17), (id(2, 0), 1)]);
        assert_eq!(tiles_of(256).collect::<Vec<_>>(), [(id(0, 0), 256), (id(1, 0), 1)]);
        assert_eq!(tiles_of(0).count(), 0);
    }

    #[test]
    fn widths_far_out() {
        assert_eq!(TileId { level: 255, index: 0 }.width_in(u64::MAX), 0);
        assert_eq!(TileId { level: 0, index: u64::MAX }.width_in(u64::MAX), 0);
        assert_eq!(TileId { level: 7, index: 0 }.width_in(u64::MAX), 255);
    }
}
