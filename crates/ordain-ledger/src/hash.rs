//! The hash of RFC 6962: of a leaf, of a node, of nothing.

use base64ct::{Base64, Encoding};
use sha2::{Digest, Sha256};
use std::fmt;

/// In front of a leaf, so that no leaf can pass for a node.
const LEAF: [u8; 1] = [0];
/// In front of a node's two hashes.
const NODE: [u8; 1] = [1];

/// A SHA-256 hash of the tree. Written as base64 with padding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The root of a tree without leaves.
    pub const EMPTY: Hash = Hash([
        0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27,
        0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
    ]);

    /// Hashes an entry.
    pub fn of_leaf(entry: &[u8]) -> Hash {
        Hash(Sha256::new().chain_update(LEAF).chain_update(entry).finalize().into())
    }

    /// Hashes two subtrees.
    pub fn of_node(left: Hash, right: Hash) -> Hash {
        Hash(Sha256::new().chain_update(NODE).chain_update(left.0).chain_update(right.0).finalize().into())
    }

    /// From the 32 bytes of a hash.
    pub const fn from_bytes(bytes: [u8; 32]) -> Hash {
        Hash(bytes)
    }

    /// Its 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// From 32 bytes in base64 with padding; there is one way to write each hash.
    pub fn parse(text: &str) -> Result<Hash, HashError> {
        let mut bytes = [0; 32];
        match Base64::decode(text, &mut bytes) {
            Ok(decoded) if decoded.len() == 32 => Ok(Hash(bytes)),
            _ => Err(HashError),
        }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Base64::encode_string(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

/// A text is not a hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("is not a hash: 32 bytes in base64 with padding were expected")]
pub struct HashError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_tree_has_the_hash_of_nothing() {
        assert_eq!(Hash::EMPTY, Hash(Sha256::digest([]).into()));
    }

    #[test]
    fn a_hash_has_one_spelling() {
        let text = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        assert_eq!(Hash::parse(text), Ok(Hash::EMPTY));
        assert_eq!(Hash::EMPTY.to_string(), text);
        for other in [
            "",
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=",
            "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=",
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= ",
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuA==",
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFVV",
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFVVAA==",
        ] {
            assert_eq!(Hash::parse(other), Err(HashError), "{other}");
        }
    }
}
