//! Bytes and numbers of both databases, read back and compared with what must be there.

use crate::limits::CHANGE_BYTES_MAX;
use crate::pack::unpack;
use crate::{Head, StoreError};
use ordain_canon::ContentHash;
use ordain_ledger::{Edge, Hash, TILE_WIDTH, TileId, Tiles};
use std::collections::BTreeSet;
use std::ops::Range;

/// The tiles of the right edge that are not full.
pub(crate) fn edge_tiles(size: u64) -> BTreeSet<TileId> {
    let ends = (0..=7_u8).map(|level| TileId { level, index: size >> (8 * u32::from(level)) >> 8 });
    ends.filter(|tile| tile.width_in(size) > 0).collect()
}

/// The edge of a tree from the tiles that [`edge_tiles`] names.
pub(crate) fn edge_of(size: u64, root: Hash, mut tiles: Tiles) -> Result<Edge, StoreError> {
    let mut rows = vec![Vec::new(); 8];
    for tile in edge_tiles(size) {
        if let Some(row) = rows.get_mut(usize::from(tile.level)) {
            *row = tiles.remove(&tile).unwrap_or_default();
        }
    }
    let edge = Edge::from_rows(size, rows)
        .map_err(|error| StoreError::Corrupt(format!("the ledger's right edge: {error}")))?;
    same_root(&edge, root)?;
    Ok(edge)
}

/// The head must be the root of what is stored.
pub(crate) fn same_root(edge: &Edge, root: Hash) -> Result<(), StoreError> {
    if edge.root() == root {
        return Ok(());
    }
    Err(StoreError::Corrupt(format!(
        "the ledger's head names the root {root} for {} entries and these give {}",
        edge.size(),
        edge.root()
    )))
}

/// A ledger only grows. One that took the place of what this process has written to, a database set back to
/// yesterday or a standby that lacks the last moments, would give out again what was spent already. Gives the
/// tiles that [`check_grown`] takes.
pub(crate) fn tiles_before(known: Head, now: Head) -> Result<BTreeSet<TileId>, StoreError> {
    if now.size >= known.size { Ok(edge_tiles(known.size)) } else { Err(another(known, now)) }
}

/// That the tree of now begins with the one that this process knows.
pub(crate) fn check_grown(known: Head, now: Head, tiles: Tiles) -> Result<(), StoreError> {
    edge_of(known.size, known.root, tiles).map(drop).map_err(|_| another(known, now))
}

fn another(known: Head, now: Head) -> StoreError {
    StoreError::Corrupt(format!(
        "the ledger has {} entries and is not the one with {} entries that this process wrote to: an older state, or another \
         server's, took its place",
        now.size, known.size
    ))
}

/// Cuts each stored row to the width that the tile has in a tree of that size.
pub(crate) fn cut(ids: &BTreeSet<TileId>, size: u64, mut found: Tiles) -> Result<Tiles, StoreError> {
    let mut tiles = Tiles::new();
    for id in ids {
        let width = id.width_in(size);
        let mut row = found.remove(id).unwrap_or_default();
        if width == 0 || row.len() < width {
            return Err(StoreError::Corrupt(format!(
                "tile {} of level {} has {} hashes and a ledger of {size} entries needs {width}",
                id.index,
                id.level,
                row.len()
            )));
        }
        row.truncate(width);
        tiles.insert(*id, row);
    }
    Ok(tiles)
}

/// The entries whose hashes a tile of level 0 consists of in a tree of that size.
pub(crate) fn leaves_of(tile: TileId, size: u64) -> Range<u64> {
    let start = tile.index.saturating_mul(TILE_WIDTH as u64);
    start..start.saturating_add(tile.width_in(size) as u64)
}

/// A tile's bytes as stored: its hashes one after the other.
pub(crate) fn to_bytes(row: &[Hash]) -> Vec<u8> {
    row.iter().flat_map(|hash| *hash.as_bytes()).collect()
}

pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Vec<Hash>, StoreError> {
    let (rows, rest) = bytes.as_chunks::<32>();
    if rest.is_empty() && rows.len() <= TILE_WIDTH {
        return Ok(rows.iter().map(|row| Hash::from_bytes(*row)).collect());
    }
    Err(StoreError::Corrupt(format!(
        "a stored tile has {} bytes, which are not a row of hashes",
        bytes.len()
    )))
}

pub(crate) fn hash_of(bytes: &[u8]) -> Result<Hash, StoreError> {
    let hash = <[u8; 32]>::try_from(bytes).map(Hash::from_bytes);
    hash.map_err(|_| StoreError::Corrupt(format!("a stored hash has {} bytes instead of 32", bytes.len())))
}

/// As a database counts.
pub(crate) fn to_signed(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::Refused(format!("{number} is too large a number")))
}

pub(crate) fn to_unsigned(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|_| StoreError::Corrupt(format!("the store has the number {number}")))
}

/// The hashes of all entries of a range from rows in order; a gap is damage.
pub(crate) fn leaf_hashes_of(range: Range<u64>, rows: Vec<(i64, Vec<u8>)>) -> Result<Vec<Hash>, StoreError> {
    let mut hashes = Vec::with_capacity(rows.len());
    let mut rows = rows.into_iter();
    for index in range {
        match rows.next() {
            Some((found, hash)) if to_unsigned(found)? == index => hashes.push(hash_of(&hash)?),
            _ => return Err(missing_entry(index)),
        }
    }
    Ok(hashes)
}

pub(crate) fn missing_entry(index: u64) -> StoreError {
    StoreError::Corrupt(format!("entry {index} is missing"))
}

/// The documents that are kept with an entry.
pub(crate) fn attached_of(index: u64, packed: Option<&[u8]>) -> Result<Vec<Vec<u8>>, StoreError> {
    let Some(packed) = packed else { return Ok(Vec::new()) };
    unpack(packed, CHANGE_BYTES_MAX).ok_or_else(|| {
        StoreError::Corrupt(format!(
            "the documents of entry {index} were altered; restore the store from a backup"
        ))
    })
}

/// A document must be what its hash says.
pub(crate) fn document_of(hash: &ContentHash, bytes: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    if ContentHash::of(&bytes) == *hash {
        return Ok(bytes);
    }
    Err(StoreError::Corrupt(format!("the document `{hash}` was altered; restore the store from a backup")))
}
