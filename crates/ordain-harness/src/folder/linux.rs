//! By descriptors: nobody can put a link in the way meanwhile.

use super::{Entry, EntryKind, Stamp};
use crate::apply::because;
use crate::beneath::{FOLDER, REGULAR, beneath};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, statat};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// An open folder. Paths are relative to it, with `/` between names.
pub struct Folder {
    at: OwnedFd,
}

impl Folder {
    /// Opens a folder; the path itself may lead through links.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let at = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| told(error.into()))?;
        Ok(Self { at })
    }

    /// A folder in this one.
    pub fn folder(&self, path: &str) -> io::Result<Self> {
        Ok(Self { at: beneath(self.at.as_fd(), path.as_bytes(), FOLDER).map_err(told)? })
    }

    /// The content of this folder, by name. Names that are not text are left out.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.at).map_err(|error| told(error.into()))? {
            let entry = entry.map_err(|error| told(error.into()))?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if matches!(name, "." | "..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => kind_of(&self.stat(name)?),
                known => kind(known),
            };
            entries.push(Entry { name: name.to_owned(), kind });
        }
        entries.sort_unstable();
        Ok(entries)
    }

    /// The kind of thing that has a name in this folder, or nothing.
    pub fn look(&self, name: &str) -> io::Result<Option<(EntryKind, Stamp)>> {
        match self.stat(name) {
            Ok(stat) => Ok(Some((kind_of(&stat), stamp(&stat)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn stat(&self, name: &str) -> io::Result<Stat> {
        statat(&self.at, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| told(error.into()))
    }

    /// Reads a file of at most so many bytes, with what it was when it was opened.
    pub fn read(&self, path: &str, bytes_max: u64) -> io::Result<(Vec<u8>, Stamp)> {
        let file = beneath(self.at.as_fd(), path.as_bytes(), REGULAR).map_err(told)?;
        let stat = fstat(&file).map_err(|error| told(error.into()))?;
        if kind_of(&stat) != EntryKind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
        }
        let stamp = stamp(&stat);
        let too_large = || {
            let problem = format!("it is larger than {bytes_max} bytes");
            io::Error::new(io::ErrorKind::FileTooLarge, problem)
        };
        if stamp.size > bytes_max {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or_default() + 1);
        File::from(file).take(bytes_max + 1).read_to_end(&mut bytes).map_err(told)?;
        if bytes.len() as u64 > bytes_max { Err(too_large()) } else { Ok((bytes, stamp)) }
    }
}

fn told(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), because(&error))
}

fn kind(file_type: FileType) -> EntryKind {
    match file_type {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

fn kind_of(stat: &Stat) -> EntryKind {
    kind(FileType::from_raw_mode(stat.st_mode))
}

fn stamp(stat: &Stat) -> Stamp {
    let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
    let modified_ns = stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
    Stamp { inode: stat.st_ino, size: u64::try_from(stat.st_size).unwrap_or_default(), modified_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_leads_out_of_a_folder() {
        let root = std::env::temp_dir().join(format!("ordain-look-{}", std::process::id()));
        fs::create_dir_all(root.join("in/sub")).unwrap();
        fs::write(root.join("in/sub/file"), "12345").unwrap();
        fs::write(root.join("secret"), "x").unwrap();
        symlink("../secret", root.join("in/link")).unwrap();
        symlink("..", root.join("in/up")).unwrap();
        symlink("sub", root.join("in/inner")).unwrap();
        let folder = Folder::open(&root.join("in")).unwrap();
        let kinds: Vec<_> = folder.entries().unwrap().into_iter().map(|it| (it.name, it.kind)).collect();
        let (link, sub) = (EntryKind::Link, EntryKind::Folder);
        let expected = [("inner", link), ("link", link), ("sub", sub), ("up", link)];
        assert_eq!(kinds, expected.map(|(name, kind)| (name.to_owned(), kind)));
        assert_eq!(folder.read("sub/file", 5).unwrap().0, b"12345");
        assert_eq!(folder.read("sub/file", 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for path in [
            "link",
            "up/secret",
            "../secret",
            "inner/file",
            "/etc/passwd",
            "sub",
            "sub/../../secret",
            "none",
            "a\0b",
        ] {
            assert!(folder.read(path, 100).is_err(), "{path:?}");
        }
        for path in ["up", "inner", "..", "/", "sub/file"] {
            assert!(folder.folder(path).is_err(), "{path:?}");
        }
        assert_eq!(folder.look("link").unwrap().map(|(kind, _)| kind), Some(EntryKind::Link));
        assert!(folder.look("none").unwrap().is_none());
        fs::remove_dir_all(root).unwrap();
    }
}
