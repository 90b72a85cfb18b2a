//! By paths: where nothing can be changed there is no race to lose either.

use super::{Entry, EntryKind, Stamp};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// An open folder. Paths are relative to it, with `/` between names.
pub struct Folder {
    at: PathBuf,
}

impl Folder {
    /// Opens a folder; the path itself may lead through links.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path.metadata()?.is_dir() { Ok(Self { at: path.to_owned() }) } else { Err(no_folder()) }
    }

    /// A folder in this one.
    pub fn folder(&self, path: &str) -> io::Result<Self> {
        let mut at = self.at.clone();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            at.push(name);
            if !at.symlink_metadata()?.is_dir() {
                return Err(no_folder());
            }
        }
        Ok(Self { at })
    }

    /// The content of this folder, by name. Names that are not text are left out.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.at)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                entries.push(Entry { name, kind: kind_of(&entry.path().symlink_metadata()?) });
            }
        }
        entries.sort_unstable();
        Ok(entries)
    }

    /// The kind of thing that has a name in this folder, or nothing.
    pub fn look(&self, name: &str) -> io::Result<Option<(EntryKind, Stamp)>> {
        match self.at.join(name).symlink_metadata() {
            Ok(metadata) => Ok(Some((kind_of(&metadata), stamp(&metadata)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a file of at most so many bytes, with what it was when it was opened.
    pub fn read(&self, path: &str, bytes_max: u64) -> io::Result<(Vec<u8>, Stamp)> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let place = self.folder(parent)?.at.join(name);
        let metadata = place.symlink_metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
        }
        let mut bytes = Vec::new();
        File::open(place)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > bytes_max {
            let problem = format!("it is larger than {bytes_max} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
        }
        Ok((bytes, stamp(&metadata)))
    }
}

fn no_folder() -> io::Error {
    io::Error::new(io::ErrorKind::NotADirectory, "a part of its path is not a folder")
}

fn kind_of(metadata: &Metadata) -> EntryKind {
    match metadata.file_type() {
        it if it.is_file() => EntryKind::File,
        it if it.is_dir() => EntryKind::Folder,
        it if it.is_symlink() => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

fn stamp(metadata: &Metadata) -> Stamp {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified_ns = i64::try_from(modified.unwrap_or_default().as_nanos()).unwrap_or_default();
    Stamp { inode: 0, size: metadata.len(), modified_ns }
}
