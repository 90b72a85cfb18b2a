//! A folder that is read without being led out of it: no link is followed, on the way or at the end.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::Folder;
#[cfg(target_os = "linux")]
pub use linux::Folder;

/// A thing with a name in a folder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// Its kind.
    pub kind: EntryKind,
}

/// The kind of a thing in a folder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, a pipe or a socket.
    Other,
}

/// The attributes that change when a file is replaced or written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Its number in the file system.
    pub inode: u64,
    /// Its length.
    pub size: u64,
    /// When it was written to last, in nanoseconds since 1970.
    pub modified_ns: i64,
}
