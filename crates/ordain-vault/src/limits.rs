//! Everything from outside has a limit, and the limit has a name.

/// Bytes of a note, front matter included.
pub const NOTE_BYTES_MAX: usize = 1 << 20;
/// Bytes of a note's front matter.
pub const FRONTMATTER_BYTES_MAX: usize = 64 * 1024;
/// Bytes of `km/routing.yaml`.
pub const ROUTING_BYTES_MAX: usize = 1 << 20;
/// Characters of a title, a tag or an alias.
pub const LABEL_CHARS_MAX: usize = 300;
/// Characters of a rationale or a related link.
pub const REMARK_CHARS_MAX: usize = 4_000;
/// Related links of a proposal.
pub const LINKS_MAX: usize = 100;
/// Bytes of a note's path.
pub const PATH_BYTES_MAX: usize = 1_024;
/// Bytes of a name in a path, as most file systems have it.
pub const NAME_BYTES_MAX: usize = 255;
/// Folders in folders.
pub const DEPTH_MAX: usize = 64;
/// Notes of a vault.
pub const NOTES_MAX: usize = 500_000;
/// Bytes of the index.
pub const INDEX_BYTES_MAX: usize = 1 << 30;
