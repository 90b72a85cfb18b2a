//! The tree and its proofs against the definitions of RFC 6962, its known roots, and far sizes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod common;

use common::{Ledger, Reference, only, split};
use ordain_ledger::{
    Edge, EdgeError, Hash, ProofError, SIZE_MAX, TILE_WIDTH, TileId, Tiles, consistency_proof,
    inclusion_proof, tiles_for_consistency, tiles_for_inclusion, tiles_of, verify_consistency,
    verify_inclusion,
};
use proptest::prelude::*;

/// Around these sizes a tile begins or ends.
const BORDERS: &[u64] = &[1, 2, 254, 255, 256, 257, 258, 511, 512, 513];

fn check_inclusion(reference: &Reference<'_>, tiles: &Tiles, index: u64, size: u64, leaf: Hash) {
    let ids = tiles_for_inclusion(index, size);
    let proof = inclusion_proof(index, size, &only(tiles, &ids, size)).unwrap();
    let (m, n) = (usize::try_from(index).unwrap(), usize::try_from(size).unwrap());
    assert_eq!(proof, reference.path(m, 0..n), "entry {index} of {size}");
    assert_eq!(verify_inclusion(leaf, index, size, &proof, reference.mth(0..n)), Ok(()));
}

fn check_consistency(reference: &Reference<'_>, tiles: &Tiles, old: u64, new: u64) {
    let ids = tiles_for_consistency(old, new);
    let proof = consistency_proof(old, new, &only(tiles, &ids, new)).unwrap();
    let (m, n) = (usize::try_from(old).unwrap(), usize::try_from(new).unwrap());
    let expected = if m == 0 { Vec::new() } else { reference.proof(m, n) };
    assert_eq!(proof, expected, "from {old} to {new}");
    let roots = (reference.mth(0..m), reference.mth(0..n));
    assert_eq!(verify_consistency(old, new, roots.0, roots.1, &proof), Ok(()), "from {old} to {new}");
}

fn check_edge(ledger: &Ledger, reference: &Reference<'_>) {
    let edge = &ledger.edge;
    let size = usize::try_from(edge.size()).unwrap();
    assert_eq!(edge.root(), reference.mth(0..size), "root of {size}");
    let again = Edge::from_rows(edge.size(), edge.rows().to_vec()).unwrap();
    assert_eq!(&again, edge, "the edge of {size}, read back");
    let tiles = ledger.tiles();
    let widths: Vec<(TileId, usize)> = tiles.iter().map(|(tile, hashes)| (*tile, hashes.len())).collect();
    assert_eq!(widths, tiles_of(edge.size()).collect::<Vec<_>>(), "tiles of {size}");
}

#[test]
fn every_size_up_to_600() {
    let all = Ledger::of(600);
    let reference = Reference::new(&all.leaves);
    let mut ledger = Ledger::default();
    for size in 0..=600 {
        check_edge(&ledger, &reference);
        let tiles = ledger.tiles();
        // All of a small tree; of a larger one the ends, something of the middle, and all borders where it has one.
        let at_border = size % 8 == 0 || BORDERS.contains(&size);
        let looked_at = |number: u64| {
            let in_middle = number % 101 == size % 101 || at_border && BORDERS.contains(&number);
            size <= 40 || in_middle || number + 2 > size
        };
        for index in (0..size).filter(|index| looked_at(*index)) {
            check_inclusion(&reference, &tiles, index, size, ledger.leaves[usize::try_from(index).unwrap()]);
        }
        for old in (0..=size).filter(|old| looked_at(*old)) {
            check_consistency(&reference, &tiles, old, size);
        }
        if let Some(leaf) = all.leaves.get(usize::try_from(size).unwrap()) {
            ledger.append(*leaf);
        }
    }
}

/// Where a third level of tiles begins, and some sizes that are larger.
#[test]
fn larger_trees() {
    const SIZES: &[u64] = &[65_279, 65_280, 65_281, 65_535, 65_536, 65_537, 65_792, 65_793, 100_003];
    let all = Ledger::of(100_003);
    let reference = Reference::new(&all.leaves);
    let mut ledger = Ledger::default();
    for size in SIZES {
        for leaf in &all.leaves[ledger.leaves.len()..usize::try_from(*size).unwrap()] {
            ledger.append(*leaf);
        }
        check_edge(&ledger, &reference);
        let tiles = ledger.tiles();
        let random = (1..40).map(|step| step * 0x9e37_79b9 % size);
        for index in random.chain(BORDERS.iter().copied()).chain([0, 65_278, size - 2, size - 1]) {
            check_inclusion(&reference, &tiles, index, *size, ledger.leaves[usize::try_from(index).unwrap()]);
            check_consistency(&reference, &tiles, index, *size);
        }
        for old in SIZES.iter().filter(|old| *old <= size) {
            check_consistency(&reference, &tiles, *old, *size);
        }
    }
}

/// The leaves and roots with which every implementation of certificate transparency is tested.
#[test]
fn known_roots() {
    const LEAVES: [&str; 8] =
        ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
    const ROOTS: [&str; 9] = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    const FIRST_OF_EIGHT: [&str; 3] = [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ];
    let bytes = |hex: &str| -> Vec<u8> {
        hex.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    };
    let hash = |hex: &str| Hash::from_bytes(bytes(hex).try_into().unwrap());
    let mut ledger = Ledger::default();
    assert_eq!(ledger.edge.root(), hash(ROOTS[0]));
    for (leaf, root) in LEAVES.iter().zip(&ROOTS[1..]) {
        ledger.append(Hash::of_leaf(&bytes(leaf)));
        assert_eq!(ledger.edge.root(), hash(root));
    }
    let tiles = ledger.tiles();
    assert_eq!(inclusion_proof(0, 8, &tiles).unwrap(), FIRST_OF_EIGHT.map(hash));
    for old in 1..=8 {
        let proof = consistency_proof(old, 8, &tiles).unwrap();
        let old_root = hash(ROOTS[usize::try_from(old).unwrap()]);
        assert_eq!(verify_consistency(old, 8, old_root, hash(ROOTS[8]), &proof), Ok(()));
    }
}

/// A tree whose leaves are all the same can be as large as any: a subtree's hash follows from its height.
struct Uniform {
    full: Vec<Hash>,
}

impl Uniform {
    fn new() -> Uniform {
        let mut full = vec![Hash::of_leaf(b"the same")];
        while full.len() < 64 {
            let below = full[full.len() - 1];
            full.push(Hash::of_node(below, below));
        }
        Uniform { full }
    }

    fn root(&self, size: u64) -> Hash {
        let heights = (0..64).filter(|height| size >> height & 1 == 1);
        heights
            .map(|height| self.full[height])
            .reduce(|right, left| Hash::of_node(left, right))
            .unwrap_or(Hash::EMPTY)
    }

    fn tiles(&self, ids: impl IntoIterator<Item = TileId>, size: u64) -> Tiles {
        let row = |id: TileId| vec![self.full[usize::from(id.level) * 8]; id.width_in(size)];
        ids.into_iter().map(|id| (id, row(id))).collect()
    }

    fn edge(&self, size: u64) -> Edge {
        let width = |level: u32| usize::try_from((size >> (8 * level)) % 256).unwrap();
        let rows = (0..8_u32).map(|level| vec![self.full[level as usize * 8]; width(level)]);
        Edge::from_rows(size, rows.collect()).unwrap()
    }
}

proptest! {
    #[test]
    fn trees_of_any_size(size in 1..=SIZE_MAX, shift in 0..63_u32, share in 0..u64::MAX) {
        let uniform = Uniform::new();
        let size = (size >> shift).max(1);
        let (index, root) = (share % size, uniform.root(size));
        let leaf = uniform.full[0];

        let tiles = uniform.tiles(tiles_for_inclusion(index, size), size);
        let proof = inclusion_proof(index, size, &tiles).unwrap();
        prop_assert!(tiles.len() <= 16 && proof.len() <= 63);
        prop_assert_eq!(verify_inclusion(leaf, index, size, &proof, root), Ok(()));
        prop_assert_eq!(common::includes(leaf, index, size, &proof), Some(root));

        let old_root = uniform.root(index);
        let tiles = uniform.tiles(tiles_for_consistency(index, size), size);
        let proof = consistency_proof(index, size, &tiles).unwrap();
        prop_assert_eq!(verify_consistency(index, size, old_root, root, &proof), Ok(()));
        if index > 0 {
            prop_assert_eq!(common::extends(index, size, true, old_root, &proof), Some((old_root, root)));
        }

        let mut edge = uniform.edge(size);
        prop_assert_eq!(edge.root(), root);
        edge.append(leaf, |tile, hashes| assert_eq!(hashes.len(), tile.width_in(size + 1)));
        prop_assert_eq!(edge.root(), uniform.root(size + 1));
    }

    /// Numbers that make no sense are refused, by those who make proofs and by those who check them.
    #[test]
    fn any_numbers(first: u64, second: u64, hashes in 0..70_usize) {
        let proof = vec![Hash::EMPTY; hashes];
        let refused = verify_inclusion(Hash::EMPTY, first, second, &proof, Hash::EMPTY).is_err();
        prop_assert!(refused);
        let same = first == second && proof.is_empty() && first <= SIZE_MAX;
        let accepted = verify_consistency(first, second, Hash::EMPTY, Hash::EMPTY, &proof).is_ok();
        prop_assert!(!accepted || same || first == 0);
        let _ = inclusion_proof(first, second, &Tiles::new());
        let _ = consistency_proof(first, second, &Tiles::new());
        let _ = tiles_for_inclusion(first, second).len() + tiles_for_consistency(first, second).len();
    }
}

#[test]
fn what_is_missing_is_named() {
    let ledger = Ledger::of(300);
    let tiles = ledger.tiles();
    let tile = |level, index| TileId { level, index };
    assert_eq!(inclusion_proof(300, 300, &tiles), Err(ProofError::Index { index: 300, size: 300 }));
    assert_eq!(inclusion_proof(0, SIZE_MAX + 1, &tiles), Err(ProofError::Size(SIZE_MAX + 1)));
    assert_eq!(consistency_proof(301, 300, &tiles), Err(ProofError::Shrunk { old: 301, new: 300 }));
    let short = ProofError::ShortTile { tile: tile(0, 1), needed: 45, found: 44 };
    assert_eq!(inclusion_proof(0, 301, &tiles), Err(short));
    assert_eq!(short.to_string(), "tile 1 of level 0 has 44 hashes and 45 are needed");
    let mut fewer = tiles.clone();
    fewer.remove(&tile(1, 0));
    assert_eq!(inclusion_proof(299, 300, &fewer), Err(ProofError::NoTile { tile: tile(1, 0) }));
    assert_eq!(tiles_for_inclusion(300, 300).len() + tiles_for_consistency(301, 300).len(), 0);
}

#[test]
fn rows_must_fit_the_size() {
    let rows = Ledger::of(70_000).edge.rows().to_vec();
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [112, 17, 1]);
    let wrong = |level, expected, found| Err(EdgeError::Row { size: 70_000, level, expected, found });
    let mut padded = rows.clone();
    padded.push(Vec::new());
    assert!(Edge::from_rows(70_000, padded).is_ok(), "an empty row says nothing");
    assert_eq!(Edge::from_rows(70_000, rows[..2].to_vec()), wrong(2, 1, 0));
    assert_eq!(Edge::from_rows(70_000, Vec::new()), wrong(0, 112, 0));
    let mut longer = rows.clone();
    longer.push(vec![Hash::EMPTY]);
    assert_eq!(Edge::from_rows(70_000, longer), wrong(3, 0, 1));
    let mut full = rows.clone();
    full[0] = vec![Hash::EMPTY; TILE_WIDTH];
    assert_eq!(Edge::from_rows(70_000, full), wrong(0, 112, 256));
    assert_eq!(Edge::from_rows(u64::MAX, Vec::new()), Err(EdgeError::Size(u64::MAX)));
    assert_eq!(Edge::from_rows(0, vec![vec![]; 300]), Ok(Edge::new()));
    assert!(Edge::from_rows(0, vec![vec![Hash::EMPTY]; 300]).is_err());
}

#[test]
fn the_split_is_the_largest_power_below() {
    assert_eq!([2, 3, 4, 5, 8, 9].map(split), [1, 2, 2, 4, 4, 8]);
}
