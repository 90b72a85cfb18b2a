//! Where a tile or a bundle of entries lies, by the rules of tlog-tiles.

use crate::limits::{SIZE_MAX, TILE_LEVEL_MAX, TILE_WIDTH};
use crate::tile::TileId;
use std::fmt;

/// The place of a tile or of a bundle: `tile/0/x001/234` when it is full, `tile/0/x001/234.p/17` when it is not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TilePath {
    /// Hashes.
    Hashes {
        /// Which tile.
        tile: TileId,
        /// How many hashes: 1 to 256.
        width: usize,
    },
    /// The entries below a tile of level 0.
    Entries {
        /// The index of that tile.
        index: u64,
        /// How many entries: 1 to 256.
        width: usize,
    },
}

/// A text that is the place of no tile.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{0}` is not the path of a tile: `tile/<level>/<index>` or `tile/entries/<index>` was expected, with `.p/<width>` after it when partial"
)]
pub struct PathError(String);

impl TilePath {
    /// From a relative path; there is one way to write each.
    pub fn parse(text: &str) -> Result<TilePath, PathError> {
        // The path is written again and compared: a second spelling of the same place is seen at once.
        let path = read(text).filter(|path| path.to_string() == text);
        path.ok_or_else(|| PathError(text.chars().take(PATH_CHARACTERS_SHOWN).collect()))
    }
}

/// How much of a wrong path an error repeats.
const PATH_CHARACTERS_SHOWN: usize = 80;
/// The last index of a tile of level 0.
const INDEX_MAX: u64 = SIZE_MAX / TILE_WIDTH as u64;

fn read(text: &str) -> Option<TilePath> {
    let (kind, rest) = text.strip_prefix("tile/")?.split_once('/')?;
    let (index, width) = match rest.split_once(".p/") {
        Some((index, width)) => (index, width.parse().ok().filter(|width| (1..TILE_WIDTH).contains(width))?),
        None => (rest, TILE_WIDTH),
    };
    let index = read_index(index)?;
    if kind == "entries" {
        return Some(TilePath::Entries { index, width });
    }
    let level = kind.parse().ok().filter(|level| *level <= TILE_LEVEL_MAX)?;
    Some(TilePath::Hashes { tile: TileId { level, index }, width })
}

fn read_index(text: &str) -> Option<u64> {
    let mut index = 0_u64;
    for part in text.split('/') {
        let digits = part.strip_prefix('x').unwrap_or(part);
        let number: u64 = digits.parse().ok().filter(|number| *number < 1000)?;
        index = index.checked_mul(1000)?.checked_add(number)?;
    }
    Some(index).filter(|index| *index <= INDEX_MAX)
}

impl fmt::Display for TilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (index, width) = match self {
            TilePath::Hashes { tile, width } => {
                write!(f, "tile/{}/", tile.level)?;
                (tile.index, width)
            }
            TilePath::Entries { index, width } => {
                f.write_str("tile/entries/")?;
                (*index, width)
            }
        };
        write_index(f, index / 1000)?;
        write!(f, "{:03}", index % 1000)?;
        if *width < TILE_WIDTH { write!(f, ".p/{width}") } else { Ok(()) }
    }
}

/// The groups of three digits before the last one.
fn write_index(f: &mut fmt::Formatter<'_>, groups: u64) -> fmt::Result {
    if groups == 0 {
        return Ok(());
    }
    write_index(f, groups / 1000)?;
    write!(f, "x{:03}/", groups % 1000)
}

impl TileId {
    /// Where the tile lies when it has so many hashes; 256 when it is full.
    pub fn path(self, width: usize) -> String {
        TilePath::Hashes { tile: self, width }.to_string()
    }

    /// The tile that lies at a path, and how many hashes it has there.
    pub fn parse(path: &str) -> Result<(TileId, usize), PathError> {
        match TilePath::parse(path)? {
            TilePath::Hashes { tile, width } => Ok((tile, width)),
            TilePath::Entries { .. } => Err(PathError(path.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_spelling() {
        let hashes = |level, index, width| TilePath::Hashes { tile: TileId { level, index }, width };
        for (path, text) in [
            (hashes(0, 0, 256), "tile/0/000"),
            (hashes(0, 1_234_067, 256), "tile/0/x001/x234/067"),
            (hashes(63, 999, 1), "tile/63/999.p/1"),
            (hashes(1, 1000, 255), "tile/1/x001/000.p/255"),
            (TilePath::Entries { index: 273, width: 112 }, "tile/entries/273.p/112"),
            (TilePath::Entries { index: INDEX_MAX, width: 256 }, "tile/entries/x036/x028/x797/x018/x963/967"),
        ] {
            assert_eq!(path.to_string(), text);
            assert_eq!(TilePath::parse(text), Ok(path));
        }
        for bad in [
            "",
            "tile",
            "tile/0",
            "tile/0/",
            "/tile/0/000",
            "tile/0/0",
            "tile/0/0000",
            "tile/00/000",
            "tile/+0/000",
            "tile/64/000",
            "tile/-1/000",
            "tile/0/x000/001",
            "tile/0/001/001",
            "tile/0/x001",
            "tile/0/xx01/001",
            "tile/0/+01",
            "tile/0/000.p/0",
            "tile/0/000.p/256",
            "tile/0/000.p/01",
            "tile/0/000.p/+1",
            "tile/0/000.p/1.p/1",
            "tile/0/000.p",
            "tile/0/000/",
            "tile/0/../000",
            "tile/entries/x036/x028/x797/x018/x963/968",
            "tile/0/x999/x999/x999/x999/x999/x999/x999/999",
            "tile/Entries/000",
        ] {
            assert!(TilePath::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_bundle_is_no_tile() {
        assert_eq!(TileId::parse("tile/2/000.p/1"), Ok((TileId { level: 2, index: 0 }, 1)));
        assert!(TileId::parse("tile/entries/000.p/1").is_err());
        assert_eq!(TileId { level: 2, index: 0 }.path(1), "tile/2/000.p/1");
    }
}
