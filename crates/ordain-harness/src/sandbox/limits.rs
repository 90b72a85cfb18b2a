//! What a command may use, beyond what its profile says.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is no sandbox to limit"))]

/// Memory of all processes of a command together, and data of each of them.
pub const MEMORY_BYTES_MAX: u64 = 1 << 30;
/// Processes and threads at a time, the collector included.
pub const PROCESSES_MAX: u64 = 256;
/// Open descriptors of one process.
pub const DESCRIPTORS_MAX: u64 = 1_024;
/// The build scratch: home, caches, build folders. It is no output.
pub const SCRATCH_BYTES_MAX: u64 = 1 << 30;
/// Files and folders in the build scratch.
pub const SCRATCH_FILES_MAX: u64 = 100_000;
/// `/tmp`.
pub const TEMPORARY_BYTES_MAX: u64 = 128 << 20;
/// Files and folders in `/tmp`.
pub const TEMPORARY_FILES_MAX: u64 = 20_000;
/// `/dev/shm`.
pub const SHARED_BYTES_MAX: u64 = 64 << 20;
/// One file, wherever it is.
pub const FILE_BYTES_MAX: u64 = SCRATCH_BYTES_MAX;
/// What is kept of each stream that a command writes.
pub const STREAM_BYTES_KEPT_MAX: usize = 1 << 20;
/// A command that writes more than that to one stream is ended.
pub const STREAM_BYTES_MAX: u64 = 64 << 20;
/// Folders in the workspace, and what the overlay needs, beyond the files that the profile allows.
pub(crate) const OUTPUT_INODES_SLACK: u64 = 2_048;
/// Ends of blocks and folders, beyond the bytes that the profile allows.
pub(crate) const OUTPUT_BYTES_SLACK: u64 = 8 << 20;
/// Folders below each other that are looked into.
pub(crate) const DEPTH_MAX: usize = 100;
/// Files that a deleted folder is listed with.
pub(crate) const DELETED_LISTED_MAX: usize = 100_000;
/// Sockets that nobody counts: few programs have more.
pub(crate) const SOCKETS_FREE: usize = 256;
/// What the kernel needs to remember one mapping, about.
pub(crate) const MAPPING_BYTES: u64 = 256;
/// What one socket may hold in transit: the kernel's default for its buffer, with what it needs around it.
pub(crate) const SOCKET_BYTES: u64 = 256 << 10;
/// How often memory and time are looked at.
pub(crate) const TICK_MS: u64 = 25;
/// What setting up and collecting may take beyond the time of the commands.
pub(crate) const GRACE_MS: u64 = 30_000;
/// The Landlock version that `full` needs: it covers every way to change a file, truncation too.
pub const LANDLOCK_FULL: u32 = 3;
