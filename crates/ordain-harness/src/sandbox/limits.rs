//! Limits of a command beyond those of its profile.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is no sandbox to limit"))]

/// Memory of all processes of a command together, and data of each of them.
pub const MEMORY_BYTES_MAX: u64 = 1 << 30;
/// Processes and threads at a time, the collector included.
pub const PROCESSES_MAX: u64 = 256;
/// Open descriptors of one process.
pub const DESCRIPTORS_MAX: u64 = 1_024;
/// The build scratch: home, caches, build folders. It is not output.
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
/// The bytes that are kept of each stream that a command writes.
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
/// Files outside the workspace that are listed for each command.
pub(crate) const LEFT_LISTED_MAX: usize = 50;
/// Signals that wait, and timers, of all processes: the kernel counts them for the user, also outside the sandbox.
pub const PENDING_SIGNALS_MAX: u64 = 1_024;
/// Watches of epoll and inotify of all processes together, which the kernel counts for the user as well. On a
/// machine that gives a user few of them it is a tenth of those.
pub const WATCHES_MAX: u64 = 1 << 16;
/// The memory that the kernel needs for one watch, about.
pub(crate) const WATCH_BYTES: u64 = 256;
/// A process with fewer descriptors cannot have many watches.
pub(crate) const WATCHING_DESCRIPTORS_MIN: u64 = 16;
/// The memory that the kernel needs for one mapping, about.
pub(crate) const MAPPING_BYTES: u64 = 256;
/// Mappings of all processes together. The kernel's memory for them, and the time that a look at them takes.
pub const MAPPINGS_MAX: u64 = 1 << 18;
/// The bytes that one socket can hold in transit at least: the kernel's default for its buffer, and its
/// overhead.
pub(crate) const SOCKET_BYTES_MIN: u64 = 256 << 10;
/// The bytes that one descriptor can hold: a pipe of a user who has many has two pages.
pub(crate) const DESCRIPTOR_BYTES: u64 = 8 << 10;
/// Memory that processes have in common without a file, as much as a command asks for until all of it is gone again.
pub const SHARED_ASKED_BYTES_MAX: u64 = 1 << 30;
/// The size of a file that the caller must be able to write: the input of the sandbox, and the report.
pub(crate) const MESSAGE_BYTES_MIN: u64 = 256 << 20;
/// How often memory and time are looked at.
pub(crate) const TICK_MS: u64 = 25;
/// The time that setting up and collecting may take beyond the time of the commands.
pub(crate) const GRACE_MS: u64 = 30_000;
/// How fast what a command left is read at least, beside what it is compared with.
pub(crate) const READ_BYTES_PER_MS: u64 = 50_000;
/// The largest workspace that is copied where there are no namespaces, in bytes.
pub const COPY_BYTES_MAX: u64 = 1 << 30;
/// Files, folders and links in it.
pub const COPY_FILES_MAX: u64 = 100_000;
/// How often files are counted that no file system limits, at most.
pub(crate) const COUNT_MS: u64 = 100;
/// How long one piece of a count of watches takes, about.
pub(crate) const COUNT_PIECE_MS: u64 = 25;
/// Mappings that one process can have, as far as anybody knows: those of one that does not show them.
pub(crate) const HIDDEN_MAPPINGS: u64 = 65_530;
/// The time that the helper gets to end everything by itself, where its own end would not.
pub(crate) const ENDING_MS: u64 = 10_000;
/// The Landlock version that `landlock-only` needs: before it, a command could end the collector.
pub const LANDLOCK_ALONE: u32 = 6;
/// The Landlock version that `full` needs: it covers every way to change a file, truncation too.
pub const LANDLOCK_FULL: u32 = 3;
