//! The bytes of tiles and of bundles of entries, written and read back strictly.

use crate::hash::Hash;
use crate::limits::{ENTRY_BYTES_MAX, TILE_WIDTH};

/// Bytes that are not a tile or bundle of the width.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TileError {
    /// A tile has 1 to 256 hashes, a bundle as many entries.
    #[error("a tile has 1 to {TILE_WIDTH} hashes or entries, not {0}")]
    Width(usize),
    /// A tile is 32 bytes for each hash and nothing else.
    #[error("the tile has {found} bytes instead of {expected}")]
    Length {
        /// Bytes that should be there.
        expected: usize,
        /// Bytes that are there.
        found: usize,
    },
    /// Two bytes cannot say its length.
    #[error("entry {position} of the bundle has {bytes} bytes, which is more than {ENTRY_BYTES_MAX}")]
    TooLong {
        /// Which entry.
        position: usize,
        /// Its length.
        bytes: usize,
    },
    /// The bundle ends within an entry or before it.
    #[error("the bundle ends before entry {position} does")]
    Cut {
        /// Which entry.
        position: usize,
    },
    /// Something follows the last entry.
    #[error("{bytes} bytes follow the last entry of the bundle")]
    Trailing {
        /// How many.
        bytes: usize,
    },
}

/// The hashes of a tile, one after the other.
pub fn encode_tile(hashes: &[Hash]) -> Result<Vec<u8>, TileError> {
    check_width(hashes.len())?;
    Ok(hashes.iter().flat_map(|hash| *hash.as_bytes()).collect())
}

/// The hashes of a tile that must have that many.
pub fn decode_tile(bytes: &[u8], width: usize) -> Result<Vec<Hash>, TileError> {
    check_width(width)?;
    let (hashes, rest) = bytes.as_chunks::<32>();
    if hashes.len() != width || !rest.is_empty() {
        return Err(TileError::Length { expected: width * 32, found: bytes.len() });
    }
    Ok(hashes.iter().copied().map(Hash::from_bytes).collect())
}

/// Entries one after the other, each behind its length in two bytes, the higher first.
pub fn encode_entries<E: AsRef<[u8]>>(entries: &[E]) -> Result<Vec<u8>, TileError> {
    check_width(entries.len())?;
    let mut bundle = Vec::new();
    for (position, entry) in entries.iter().map(AsRef::as_ref).enumerate() {
        let too_long = |_| TileError::TooLong { position, bytes: entry.len() };
        bundle.extend(u16::try_from(entry.len()).map_err(too_long)?.to_be_bytes());
        bundle.extend(entry);
    }
    Ok(bundle)
}

/// The entries of a bundle that must have that many.
pub fn decode_entries(bundle: &[u8], width: usize) -> Result<Vec<&[u8]>, TileError> {
    check_width(width)?;
    let mut entries = Vec::with_capacity(width);
    let mut rest = bundle;
    for position in 0..width {
        let cut = TileError::Cut { position };
        let (length, after) = rest.split_first_chunk::<2>().ok_or(cut)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (entry, after) = after.split_at_checked(length).ok_or(cut)?;
        entries.push(entry);
        rest = after;
    }
    if rest.is_empty() { Ok(entries) } else { Err(TileError::Trailing { bytes: rest.len() }) }
}

fn check_width(width: usize) -> Result<(), TileError> {
    if (1..=TILE_WIDTH).contains(&width) { Ok(()) } else { Err(TileError::Width(width)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_says_the_length_of_each_entry() {
        let longest = vec![7; ENTRY_BYTES_MAX];
        let bundle = encode_entries(&[b"ab".as_slice(), b"", &longest]).unwrap();
        assert_eq!(bundle[..8], *b"\0\x02ab\0\0\xff\xff");
        assert_eq!(decode_entries(&bundle, 3).unwrap(), [b"ab".as_slice(), b"", &longest]);
        assert_eq!(decode_entries(&bundle, 2), Err(TileError::Trailing { bytes: 65_537 }));
        assert_eq!(decode_entries(&bundle, 4), Err(TileError::Cut { position: 3 }));
        assert_eq!(decode_entries(&bundle[..bundle.len() - 1], 3), Err(TileError::Cut { position: 2 }));
        let too_long = Err(TileError::TooLong { position: 0, bytes: 65_536 });
        assert_eq!(encode_entries(&[vec![0; 65_536]]), too_long);
    }

    #[test]
    fn a_tile_is_its_hashes() {
        let hashes: Vec<Hash> = (0..=255).map(|byte| Hash::of_leaf(&[byte])).collect();
        for width in [1, 2, 255, 256] {
            let tile = encode_tile(&hashes[..width]).unwrap();
            assert_eq!(tile.len(), width * 32);
            assert_eq!(decode_tile(&tile, width).unwrap(), hashes[..width]);
            assert!(decode_tile(&tile, width % 256 + 1).is_err());
            assert!(decode_tile(&tile[1..], width).is_err());
            assert!(decode_tile(&[&tile[..], &[0]].concat(), width).is_err());
        }
        assert_eq!(encode_tile(&[]), Err(TileError::Width(0)));
        assert_eq!(decode_tile(&[], 0), Err(TileError::Width(0)));
        assert_eq!(decode_entries(&[0; 514], 257), Err(TileError::Width(257)));
    }
}
