//! A ledger in memory, and the definitions of RFC 6962 written out.

#![allow(dead_code, reason = "each test uses its part")]

use ordain_ledger::{Edge, Hash, TILE_WIDTH, TileId, Tiles};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub(crate) fn entry(index: u64) -> Vec<u8> {
    format!("entry {index}").into_bytes()
}

/// All leaves, and the tiles that were handed over as full.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) edge: Edge,
    pub(crate) leaves: Vec<Hash>,
    pub(crate) full: Tiles,
}

impl Ledger {
    pub(crate) fn of(size: u64) -> Ledger {
        let mut ledger = Ledger::default();
        (0..size).for_each(|index| ledger.append(Hash::of_leaf(&entry(index))));
        ledger
    }

    pub(crate) fn append(&mut self, leaf: Hash) {
        self.leaves.push(leaf);
        self.edge.append(leaf, |tile, hashes| {
            assert_eq!(hashes.len(), TILE_WIDTH);
            assert!(self.full.insert(tile, hashes.to_vec()).is_none(), "{tile:?} was full before");
        });
    }

    pub(crate) fn tiles(&self) -> Tiles {
        let mut tiles = self.full.clone();
        tiles.extend(self.edge.partial_tiles().map(|(tile, hashes)| (tile, hashes.to_vec())));
        tiles
    }
}

/// The tiles that a tree of that size has, and nothing else.
pub(crate) fn only(tiles: &Tiles, ids: &BTreeSet<TileId>, size: u64) -> Tiles {
    let tile = |id: &TileId| {
        let width = id.width_in(size);
        assert!(width > 0, "{id:?} is asked for and not in a tree of {size}");
        (*id, tiles[id][..width].to_vec())
    };
    ids.iter().map(tile).collect()
}

/// RFC 6962 §2.1, to the letter. Results are remembered.
pub(crate) struct Reference<'l> {
    leaves: &'l [Hash],
    known: RefCell<BTreeMap<(usize, usize), Hash>>,
}

/// The largest power of two smaller than n.
pub(crate) fn split(n: usize) -> usize {
    let mut k = 1;
    while k * 2 < n {
        k *= 2;
    }
    k
}

impl<'l> Reference<'l> {
    pub(crate) fn new(leaves: &'l [Hash]) -> Reference<'l> {
        Reference { leaves, known: RefCell::default() }
    }

    pub(crate) fn mth(&self, range: Range<usize>) -> Hash {
        let (start, end) = (range.start, range.end);
        match end - start {
            0 => return Hash::EMPTY,
            1 => return self.leaves[start],
            _ => {}
        }
        if let Some(hash) = self.known.borrow().get(&(start, end)) {
            return *hash;
        }
        let middle = start + split(end - start);
        let hash = Hash::of_node(self.mth(start..middle), self.mth(middle..end));
        self.known.borrow_mut().insert((start, end), hash);
        hash
    }

    pub(crate) fn path(&self, m: usize, range: Range<usize>) -> Vec<Hash> {
        let (start, end) = (range.start, range.end);
        if end - start == 1 {
            return Vec::new();
        }
        let k = split(end - start);
        if m < k {
            [self.path(m, start..start + k), vec![self.mth(start + k..end)]].concat()
        } else {
            [self.path(m - k, start + k..end), vec![self.mth(start..start + k)]].concat()
        }
    }

    pub(crate) fn proof(&self, m: usize, n: usize) -> Vec<Hash> {
        self.subproof(m, 0..n, true)
    }

    fn subproof(&self, m: usize, range: Range<usize>, whole: bool) -> Vec<Hash> {
        let (start, end) = (range.start, range.end);
        if m == end - start {
            return if whole { Vec::new() } else { vec![self.mth(range)] };
        }
        let k = split(end - start);
        if m <= k {
            [self.subproof(m, start..start + k, whole), vec![self.mth(start + k..end)]].concat()
        } else {
            [self.subproof(m - k, start + k..end, false), vec![self.mth(start..start + k)]].concat()
        }
    }
}

/// The root that an inclusion proof leads to, by the definition of PATH; nothing if it has another length.
pub(crate) fn includes(leaf: Hash, m: u64, n: u64, proof: &[Hash]) -> Option<Hash> {
    if n == 1 {
        return proof.is_empty().then_some(leaf);
    }
    let (sibling, rest) = proof.split_last()?;
    let k = 1 << (n - 1).ilog2();
    if m < k {
        Some(Hash::of_node(includes(leaf, m, k, rest)?, *sibling))
    } else {
        Some(Hash::of_node(*sibling, includes(leaf, m - k, n - k, rest)?))
    }
}

/// The old and the new root that a consistency proof leads to, by the definition of SUBPROOF.
pub(crate) fn extends(m: u64, n: u64, whole: bool, old_root: Hash, proof: &[Hash]) -> Option<(Hash, Hash)> {
    if m == n {
        return match (whole, proof) {
            (true, []) => Some((old_root, old_root)),
            (false, [only]) => Some((*only, *only)),
            _ => None,
        };
    }
    let (sibling, rest) = proof.split_last()?;
    let k = 1 << (n - 1).ilog2();
    if m <= k {
        let (old, new) = extends(m, k, whole, old_root, rest)?;
        Some((old, Hash::of_node(new, *sibling)))
    } else {
        let (old, new) = extends(m - k, n - k, false, old_root, rest)?;
        Some((Hash::of_node(*sibling, old), Hash::of_node(*sibling, new)))
    }
}
