//! Which folder it is, whatever its name.

use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::time::UNIX_EPOCH;

/// Which folder it is, whatever its name: a copy or a new folder of the same name is another one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    inode: u64,
    /// When it was made, in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born_ns: Option<u64>,
    /// Only where there is no birth time: numbers of devices change when a machine starts again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<u64>,
}

impl Identity {
    /// The identity of a folder.
    pub fn of(metadata: &Metadata) -> Self {
        let born = metadata.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        let born_ns = born.and_then(|born| u64::try_from(born.as_nanos()).ok());
        let (inode, device) = numbers(metadata);
        Self { inode, born_ns, device: if born_ns.is_some() { None } else { device } }
    }
}

#[cfg(unix)]
fn numbers(metadata: &Metadata) -> (u64, Option<u64>) {
    use std::os::unix::fs::MetadataExt;
    (metadata.ino(), Some(metadata.dev()))
}

#[cfg(not(unix))]
fn numbers(_: &Metadata) -> (u64, Option<u64>) {
    (0, None)
}
