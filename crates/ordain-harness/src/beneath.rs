//! Looking at files without being led out of a folder.

use ordain_canon::SHA256_PREFIX;
use rustix::fs::{Dir, Mode, OFlags, ResolveFlags, openat2};
use sha2::{Digest, Sha256};
use std::ffi::{CStr, CString};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

pub(crate) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// `NONBLOCK`, so that what stopped being a file since it was looked at does not make us wait.
pub(crate) const REGULAR: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Opens what is really there: no link on the way, none at the end.
pub(crate) fn beneath(folder: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    resolved(folder, path, flags, ResolveFlags::empty())
}

/// As [`beneath`], for paths of any length: the kernel takes no more than 4,096 bytes at once.
pub(crate) fn beneath_far(folder: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    const AT_ONCE: usize = 2_048;
    let Some(end) =
        path.iter().take(AT_ONCE).rposition(|byte| *byte == b'/').filter(|_| path.len() > AT_ONCE)
    else {
        return beneath(folder, path, flags);
    };
    let (first, rest) = path.split_at(end);
    let inner = beneath(folder, first, FOLDER)?;
    beneath_far(inner.as_fd(), rest.get(1..).unwrap_or_default(), flags)
}

/// As [`beneath`], and nothing that another file system is mounted on either.
pub(crate) fn beneath_here(folder: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    resolved(folder, path, flags, ResolveFlags::NO_XDEV)
}

fn resolved(folder: BorrowedFd<'_>, path: &[u8], flags: OFlags, more: ResolveFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | more;
    let path = if path.is_empty() { b"." } else { path };
    let path = CString::new(path)?;
    Ok(openat2(folder, path.as_c_str(), flags, Mode::empty(), resolve)?)
}

/// The names in a folder.
pub(crate) fn names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

/// The path of what has a name in a folder.
pub(crate) fn joined(folder: &[u8], name: &CStr) -> Vec<u8> {
    let mut path = folder.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name.to_bytes());
    path
}

/// Whether a segment of a path is `.git` to any of the file systems that a repository may be checked out on.
pub(crate) fn is_git(segment: &[u8]) -> bool {
    let name = plain_name(segment);
    let number = name.strip_prefix("git~");
    name == ".git"
        || number.is_some_and(|it| !it.is_empty() && it.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Whether a segment of a path is the folder that ordain itself keeps its state in.
pub(crate) fn is_own(segment: &[u8]) -> bool {
    plain_name(segment) == ".ordain"
}

/// A name as the most careless of file systems takes it: without case, without the dots and blanks at its end, without
/// the name of a stream, without the characters that HFS+ passes over.
pub(crate) fn plain_name(segment: &[u8]) -> String {
    let text = String::from_utf8_lossy(segment);
    let name = text.split(':').next().unwrap_or_default();
    let seen = |character: &char| !matches!(character, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name: String = name.chars().filter(seen).collect();
    name.trim_end_matches(['.', ' ']).to_ascii_lowercase()
}

/// The hash and the length of what is left to read.
pub(crate) fn hash_file(file: OwnedFd) -> io::Result<(String, u64)> {
    let mut file = File::from(file);
    let mut hash = Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((sha256_text(hash), size)),
            length => {
                hash.update(buffer.get(..length).unwrap_or_default());
                size += length as u64;
            }
        }
    }
}

/// `sha256:` and the digits.
pub(crate) fn sha256_text(hash: Sha256) -> String {
    let mut text = SHA256_PREFIX.to_owned();
    for byte in hash.finalize() {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_has_many_names() {
        for name in [
            ".git",
            ".GIT",
            ".git.",
            ".git ",
            "git~1",
            "GIT~1",
            "git~2",
            "GIT~10",
            ".git . .",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".git::$INDEX_ALLOCATION",
        ] {
            assert!(is_git(name.as_bytes()), "{name}");
        }
        for name in
            [".gitignore", "git", "a.git", "", "..", "git~", "git~x", "git~1a", ".gi\u{301}t", ":.git"]
        {
            assert!(!is_git(name.as_bytes()), "{name}");
        }
        assert!(is_own(b".Ordain") && !is_own(b"ordain"));
    }
}
