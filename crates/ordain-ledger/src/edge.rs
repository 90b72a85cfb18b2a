//! The right edge of a tree: all that appending needs.

use crate::hash::Hash;
use crate::limits::{SIZE_MAX, TILE_WIDTH};
use crate::tile::{TILE_HEIGHT, TileId, hashes_at, root_of};

/// The right edge of a tree: for each level the hashes of the tile that is not full yet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edge {
    size: u64,
    /// INVARIANT: `rows[level]` is as long as the size says, and the last row is not empty.
    rows: Vec<Vec<Hash>>,
    /// The roots of the full subtrees that the tree consists of, the largest first: one for each 1 in the size.
    peaks: Vec<Hash>,
}

/// Rows that no tree of the size has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EdgeError {
    /// More entries than a ledger may have.
    #[error("a ledger of {0} entries is larger than {SIZE_MAX}")]
    Size(u64),
    /// A row is too short or too long.
    #[error("the right edge of {size} entries has {found} hashes at level {level} instead of {expected}")]
    Row {
        /// Entries of the tree.
        size: u64,
        /// Where in the rows.
        level: usize,
        /// Hashes that should be there.
        expected: usize,
        /// Hashes that are there.
        found: usize,
    },
}

impl Edge {
    /// The edge of a tree without leaves.
    pub fn new() -> Edge {
        Edge::default()
    }

    /// From the hashes of the incomplete tile of each level; level 0 holds the hashes of leaves. A level whose tiles
    /// are all full has an empty row. Rows that fit the size are taken as true: compare the root.
    pub fn from_rows(size: u64, mut rows: Vec<Vec<Hash>>) -> Result<Edge, EdgeError> {
        if size > SIZE_MAX {
            return Err(EdgeError::Size(size));
        }
        while rows.last().is_some_and(Vec::is_empty) {
            rows.pop();
        }
        let levels = (0..=u8::MAX).take_while(|level| hashes_at(*level, size) > 0).count();
        for level in 0..levels.max(rows.len()) {
            let all = u8::try_from(level).map_or(0, |level| hashes_at(level, size));
            let expected = usize::try_from(all % TILE_WIDTH as u64).unwrap_or_default();
            let found = rows.get(level).map_or(0, Vec::len);
            if found != expected {
                return Err(EdgeError::Row { size, level, expected, found });
            }
        }
        let peaks = rows.iter().rev().flat_map(|row| peaks_of(row)).collect();
        Ok(Edge { size, rows, peaks })
    }

    /// How many leaves the tree has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The hash of the whole tree.
    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev().copied();
        let last = peaks.next().unwrap_or(Hash::EMPTY);
        peaks.fold(last, |right, left| Hash::of_node(left, right))
    }

    /// The hashes of the incomplete tile of each level; the last row is not empty.
    pub fn rows(&self) -> &[Vec<Hash>] {
        &self.rows
    }

    /// The tiles that are not full yet, from the lowest level up.
    pub fn partial_tiles(&self) -> impl Iterator<Item = (TileId, &[Hash])> {
        let rows = (0_u8..).zip(&self.rows).filter(|(_, row)| !row.is_empty());
        rows.map(|(level, row)| {
            let index = hashes_at(level, self.size) / TILE_WIDTH as u64;
            (TileId { level, index }, row.as_slice())
        })
    }

    /// Appends one leaf and hands over every tile that became full, from the lowest level up.
    pub fn append(&mut self, leaf: Hash, mut full: impl FnMut(TileId, &[Hash])) {
        let mut subtree = leaf;
        for height in 0..u64::BITS {
            if height % TILE_HEIGHT == 0 {
                self.push(height / TILE_HEIGHT, subtree, &mut full);
            }
            // A subtree of the same height stands left of it: together they are the next larger one.
            let neighbour = if self.size >> height & 1 == 1 { self.peaks.pop() } else { None };
            let Some(neighbour) = neighbour else { break };
            subtree = Hash::of_node(neighbour, subtree);
        }
        self.peaks.push(subtree);
        self.size += 1;
    }

    fn push(&mut self, level: u32, hash: Hash, full: &mut impl FnMut(TileId, &[Hash])) {
        let position = level as usize;
        if position == self.rows.len() {
            self.rows.push(Vec::with_capacity(TILE_WIDTH));
        }
        let Some(row) = self.rows.get_mut(position) else { return };
        row.push(hash);
        if row.len() == TILE_WIDTH {
            let level = u8::try_from(level).unwrap_or(u8::MAX);
            let index = self.size.checked_shr(TILE_HEIGHT * (u32::from(level) + 1)).unwrap_or(0);
            full(TileId { level, index }, row);
            row.clear();
        }
    }
}

/// The roots of the full subtrees that a row consists of, the largest first.
fn peaks_of(mut row: &[Hash]) -> Vec<Hash> {
    let mut peaks = Vec::new();
    while !row.is_empty() {
        let (peak, rest) = row.split_at(1 << row.len().ilog2());
        peaks.push(root_of(peak));
        row = rest;
    }
    peaks
}
