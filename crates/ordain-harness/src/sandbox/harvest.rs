//! What commands left behind: the layer of changes, walked without following links or opening anything but files.

use super::limits::{DELETED_LISTED_MAX, DEPTH_MAX};
use super::root::View;
use super::{FileState, Inspected, OWN_FOLDER, ProducedFile, Refused};
use ordain_canon::{SHA256_PREFIX, compare_utf16};
use ordain_spec::path_problem;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, openat, openat2, statat};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What a path is, as far as it differs from the workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    File { sha256: String, size: u64, executable: bool },
    Gone,
    Refused(String),
}

/// All differences from the workspace at one moment, by path.
#[derive(Clone, Default)]
pub(crate) struct Snapshot(BTreeMap<Vec<u8>, State>);

/// What happened between two moments.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) produced: Vec<ProducedFile>,
    pub(crate) deleted: Vec<String>,
    pub(crate) refused: Vec<Refused>,
    pub(crate) dropped: Vec<String>,
}

impl Snapshot {
    /// Looks at everything. Nothing may run meanwhile.
    pub(crate) fn take(view: &View) -> io::Result<Self> {
        let mut walk = Walk { view, states: BTreeMap::new(), deleted: 0, room_bytes: view.room_bytes };
        let top = openat(&view.upper, c".", FOLDER, Mode::empty())?;
        walk.folder(&top, &mut Vec::new(), 0, false)?;
        Ok(Self(walk.states))
    }

    /// What a command did that started with `before` and left `self`.
    pub(crate) fn since(&self, before: &Self) -> Changes {
        let mut changes = Changes::default();
        for (path, state) in &self.0 {
            if before.0.get(path) != Some(state) {
                changes.add(path, state);
            }
        }
        // What was only in the layer of changes leaves no trace there.
        for (path, _) in before
            .0
            .iter()
            .filter(|(path, state)| matches!(state, State::File { .. }) && !self.0.contains_key(*path))
        {
            changes.add(path, &State::Gone);
        }
        changes.produced.sort_by(|left, right| compare_utf16(&left.path, &right.path));
        changes.deleted.sort_by(|left, right| compare_utf16(left, right));
        changes.refused.sort();
        changes.dropped.sort();
        changes
    }
}

impl Changes {
    fn add(&mut self, path: &[u8], state: &State) {
        let shown = escaped(path);
        if path.split(|byte| *byte == b'/').any(|segment| is_git(segment) || is_own(segment)) {
            return self.dropped.push(shown);
        }
        let name = std::str::from_utf8(path).ok().filter(|name| path_problem(name).is_none());
        match (state, name) {
            (State::Gone, Some(name)) => self.deleted.push(name.to_owned()),
            (State::File { sha256, size, executable }, Some(name)) => self.produced.push(ProducedFile {
                path: name.to_owned(),
                sha256: sha256.clone(),
                size: *size,
                executable: *executable,
            }),
            (State::Refused(reason), _) => {
                self.refused.push(Refused { path: shown, reason: reason.clone() });
            }
            (_, None) => {
                let reason = "its name is no path that a patch may have".to_owned();
                self.refused.push(Refused { path: shown, reason });
            }
        }
    }
}

/// Whether a segment of a path is `.git` to any of the file systems that a repository may be checked out on.
fn is_git(segment: &[u8]) -> bool {
    let segment = without_end(segment);
    segment.eq_ignore_ascii_case(b".git") || segment.eq_ignore_ascii_case(b"git~1")
}

/// The same for the folder of `ordain` itself.
fn is_own(segment: &[u8]) -> bool {
    let segment = without_end(segment);
    segment.eq_ignore_ascii_case(OWN_FOLDER.as_bytes()) || segment.eq_ignore_ascii_case(b"ordain~1")
}

/// Some file systems take a name with dots or blanks at its end for the name without.
fn without_end(segment: &[u8]) -> &[u8] {
    let end = segment.iter().rposition(|byte| !matches!(byte, b'.' | b' ')).map_or(0, |last| last + 1);
    segment.get(..end).unwrap_or_default()
}

/// A name as evidence shows it: what could be taken for something else is written as `\xNN` or `\u{…}`.
fn escaped(path: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in path.utf8_chunks() {
        for character in chunk.valid().chars() {
            let plain = character == ' '
                || !(character.is_control() || character.is_whitespace() || is_hidden(character));
            match plain && character != '\\' {
                true => shown.push(character),
                false => shown.extend(character.escape_unicode()),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a text cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

fn is_hidden(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// `NONBLOCK`, so that what stopped being a file since it was looked at does not make us wait.
const REGULAR: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Why a file is refused that has more bytes than there is room for.
pub(crate) const TOO_LARGE: &str = "it is larger than what the profile allows to leave behind";

struct Walk<'v> {
    view: &'v View,
    states: BTreeMap<Vec<u8>, State>,
    deleted: usize,
    /// What is left of the room for changes. Files that need more than there ever was are full of holes, and reading
    /// holes takes as long as reading anything.
    room_bytes: u64,
}

impl Walk<'_> {
    /// One folder of the layer of changes. `opaque`: nothing of the workspace is seen there any more.
    fn folder(&mut self, folder: &OwnedFd, path: &mut Vec<u8>, depth: usize, opaque: bool) -> io::Result<()> {
        let opaque = opaque || is_opaque(folder.as_fd());
        if opaque {
            self.hidden(path)?;
        }
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let length = path.len();
            if length > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(name.to_bytes());
            self.entry(folder, name, path, depth, opaque)?;
            path.truncate(length);
        }
        Ok(())
    }

    fn entry(
        &mut self,
        folder: &OwnedFd,
        name: &CStr,
        path: &mut Vec<u8>,
        depth: usize,
        opaque: bool,
    ) -> io::Result<()> {
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let refused = |reason: &str| Some(State::Refused(reason.to_owned()));
        let state = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if depth >= DEPTH_MAX => refused("it is below too many folders"),
            FileType::Directory => {
                let inner = openat(folder, name, FOLDER, Mode::empty())?;
                return self.folder(&inner, path, depth + 1, opaque);
            }
            FileType::RegularFile if stat.st_mode & 0o6000 != 0 => {
                refused("it is a file with a set-user-id or set-group-id bit")
            }
            FileType::RegularFile => {
                let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
                match self.room_bytes.checked_sub(size) {
                    None => refused(TOO_LARGE),
                    Some(left) => {
                        self.room_bytes = left;
                        self.file(folder, name, path, &stat)?
                    }
                }
            }
            FileType::CharacterDevice if stat.st_rdev == 0 => return self.whiteout(path),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
                match leaves(path, target.to_bytes()) {
                    true => refused("it is a symbolic link that leaves the workspace"),
                    false => refused("it is a symbolic link, and only files are taken over"),
                }
            }
            FileType::Fifo => refused("it is a pipe"),
            FileType::Socket => refused("it is a socket"),
            FileType::CharacterDevice | FileType::BlockDevice => refused("it is a device"),
            FileType::Unknown => refused("it is nothing known"),
        };
        if let Some(state) = state {
            self.states.insert(path.clone(), state);
        }
        Ok(())
    }

    /// A file that is as it was in the workspace is no difference: opening it for writing was enough to copy it.
    fn file(&self, folder: &OwnedFd, name: &CStr, path: &[u8], stat: &Stat) -> io::Result<Option<State>> {
        let (sha256, size) = hash_file(openat(folder, name, REGULAR, Mode::empty())?)?;
        let executable = stat.st_mode & 0o100 != 0;
        let state = State::File { sha256, size, executable };
        let Ok(below) = beneath(self.view.lower.as_fd(), path, REGULAR) else { return Ok(Some(state)) };
        let stat = rustix::fs::fstat(&below)?;
        let is_file = FileType::from_raw_mode(stat.st_mode).is_file();
        if !is_file || u64::try_from(stat.st_size) != Ok(size) {
            return Ok(Some(state));
        }
        let (sha256, size) = hash_file(below)?;
        let original = State::File { sha256, size, executable: stat.st_mode & 0o100 != 0 };
        Ok((original != state).then_some(state))
    }

    /// What was deleted from the workspace: a file, or a folder with all its files.
    fn whiteout(&mut self, path: &mut Vec<u8>) -> io::Result<()> {
        match beneath(self.view.lower.as_fd(), path, FOLDER) {
            Ok(_) => self.hidden(path),
            Err(_) => {
                self.states.insert(path.clone(), State::Gone);
                Ok(())
            }
        }
    }

    /// All files below a folder of the workspace are gone; those that the layer of changes has again replace this.
    fn hidden(&mut self, path: &mut Vec<u8>) -> io::Result<()> {
        // Commands did not see it, so they did not delete it.
        if path.split(|byte| *byte == b'/').next() == Some(OWN_FOLDER.as_bytes()) {
            return Ok(());
        }
        let Ok(folder) = beneath(self.view.lower.as_fd(), path, FOLDER) else { return Ok(()) };
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") || self.deleted >= DELETED_LISTED_MAX {
                continue;
            }
            let length = path.len();
            if length > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(name.to_bytes());
            let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode).is_dir() {
                self.hidden(path)?;
            } else {
                self.deleted += 1;
                self.states.entry(path.clone()).or_insert(State::Gone);
            }
            path.truncate(length);
        }
        Ok(())
    }
}

fn is_opaque(folder: BorrowedFd<'_>) -> bool {
    let mut value = [0; 1];
    rustix::fs::fgetxattr(folder, "user.overlay.opaque", &mut value).is_ok_and(|length| length == 1)
        && value == *b"y"
}

/// Whether a link at this path leads out of the workspace, by its text. A text that goes up through another link is
/// taken at its word, since nothing is ever followed.
fn leaves(path: &[u8], target: &[u8]) -> bool {
    if target.first() == Some(&b'/') {
        return true;
    }
    let mut depth = path.split(|byte| *byte == b'/').count().saturating_sub(1);
    for segment in target.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return true,
            },
            _ => depth += 1,
        }
    }
    false
}

/// Opens what is really there: no link on the way, none at the end.
fn beneath(folder: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if path.is_empty() { b"." } else { path };
    let path = CString::new(path)?;
    Ok(openat2(folder, path.as_c_str(), flags, Mode::empty(), resolve)?)
}

/// What is at these paths of the workspace as commands see it.
pub(crate) fn inspect(paths: &[String]) -> Vec<Inspected> {
    let state = |path: &str| -> io::Result<FileState> {
        let top = rustix::fs::open(super::WORKSPACE, FOLDER, Mode::empty())?;
        let file = match beneath(top.as_fd(), path.as_bytes(), REGULAR) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileState::Missing),
            Err(_) => return Ok(FileState::Other),
        };
        if !FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode).is_file() {
            return Ok(FileState::Other);
        }
        let (sha256, size) = hash_file(file)?;
        Ok(FileState::File { sha256, size })
    };
    let inspected =
        |path: &String| Inspected { path: path.clone(), state: state(path).unwrap_or(FileState::Other) };
    paths.iter().map(inspected).collect()
}

fn hash_file(file: OwnedFd) -> io::Result<(String, u64)> {
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
    fn links_that_leave_are_told_by_their_text() {
        let leaves = |path: &str, target: &str| leaves(path.as_bytes(), target.as_bytes());
        assert!(leaves("a", "/etc/passwd"));
        assert!(leaves("a", ".."));
        assert!(leaves("a/b", "../../x"));
        assert!(leaves("a/b", "c/../../../x"));
        assert!(!leaves("a/b", "../x"));
        assert!(!leaves("a", "b/../c"));
        assert!(!leaves("a", "."));
    }

    #[test]
    fn git_has_many_names() {
        for name in [".git", ".GIT", ".git.", ".git ", "git~1", "GIT~1", ".git . ."] {
            assert!(is_git(name.as_bytes()), "{name}");
        }
        for name in [".gitignore", "git", "a.git", "", "..", "git~2"] {
            assert!(!is_git(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn the_own_folder_has_many_names() {
        for name in [".ordain", ".Ordain", ".ordain. ", "ORDAIN~1"] {
            assert!(is_own(name.as_bytes()), "{name}");
        }
        for name in ["ordain", ".ordained", "a.ordain", ""] {
            assert!(!is_own(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(escaped(b"a b/c\xc3\xa9"), "a b/cé");
        assert_eq!(escaped(b"a\nb\x1b[0m\xff\\"), r"a\u{a}b\u{1b}[0m\xff\u{5c}");
        assert_eq!(escaped("a\u{202e}b".as_bytes()), r"a\u{202e}b");
    }
}
