//! Which subtrees the hashes of a proof stand for (RFC 6962 §2.1.1 and §2.1.2), and in which tiles they lie.

use crate::hash::Hash;
use crate::limits::TILE_WIDTH;
use crate::proof::ProofError;
use crate::tile::{TILE_HEIGHT, TileId, Tiles, root_of};

/// Leaves from the first up to but not including the last. It starts where a subtree of its size can start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    start: u64,
    end: u64,
}

/// The siblings on the way from a leaf to the root, from below.
pub(crate) fn inclusion(index: u64, size: u64) -> Vec<Range> {
    let mut ranges = Vec::new();
    let mut tree = Range { start: 0, end: size };
    while let Some((left, right)) = tree.split() {
        let (way, sibling) = if index < right.start { (left, right) } else { (right, left) };
        ranges.push(sibling);
        tree = way;
    }
    ranges.reverse();
    ranges
}

/// The subtrees that lead to the old root and to the new one, from below.
pub(crate) fn consistency(old: u64, new: u64) -> Vec<Range> {
    let mut ranges = Vec::new();
    let mut tree = Range { start: 0, end: new };
    while tree.end != old {
        let Some((left, right)) = tree.split() else { break };
        let (way, sibling) = if old <= left.end { (left, right) } else { (right, left) };
        ranges.push(sibling);
        tree = way;
    }
    // A reader that has the old root does not need it.
    if tree.start > 0 {
        ranges.push(tree);
    }
    ranges.reverse();
    ranges
}

impl Range {
    /// The largest full subtree that leaves something, and what it leaves.
    fn split(self) -> Option<(Range, Range)> {
        let length = self.end.saturating_sub(self.start);
        let middle = self.start + (1 << length.checked_sub(1)?.checked_ilog2()?);
        Some((Range { start: self.start, end: middle }, Range { start: middle, end: self.end }))
    }

    /// The full subtrees that it consists of, from left to right.
    fn nodes(self) -> impl Iterator<Item = Node> {
        let mut start = self.start;
        std::iter::from_fn(move || {
            let height = self.end.saturating_sub(start).checked_ilog2()?;
            let node = Node { height, index: start >> height };
            start += 1 << height;
            Some(node)
        })
    }

    pub(crate) fn tiles(self) -> impl Iterator<Item = TileId> {
        self.nodes().map(|node| node.place().0)
    }

    pub(crate) fn root(self, tiles: &Tiles) -> Result<Hash, ProofError> {
        let nodes: Vec<Hash> = self.nodes().map(|node| node.hash(tiles)).collect::<Result<_, _>>()?;
        let folded = nodes.into_iter().rev().reduce(|right, left| Hash::of_node(left, right));
        Ok(folded.unwrap_or(Hash::EMPTY))
    }
}

/// A full subtree of 2^height leaves.
#[derive(Clone, Copy)]
struct Node {
    height: u32,
    index: u64,
}

impl Node {
    /// The tile whose hashes it is made of, where they start, and how many they are.
    fn place(self) -> (TileId, usize, usize) {
        let within = self.height % TILE_HEIGHT;
        let first = self.index << within;
        let level = u8::try_from(self.height / TILE_HEIGHT).unwrap_or(u8::MAX);
        let tile = TileId { level, index: first / TILE_WIDTH as u64 };
        (tile, usize::try_from(first % TILE_WIDTH as u64).unwrap_or_default(), 1 << within)
    }

    fn hash(self, tiles: &Tiles) -> Result<Hash, ProofError> {
        let (tile, first, count) = self.place();
        let hashes = tiles.get(&tile).ok_or(ProofError::NoTile { tile })?;
        let short = ProofError::ShortTile { tile, needed: first + count, found: hashes.len() };
        hashes.get(first..first + count).map(root_of).ok_or(short)
    }
}
