//! The files that commands left behind: the layer of changes, or a whole copy, walked without following links
//! or opening anything but files.

use super::copy::{Content, Original};
use super::limits::{DELETED_LISTED_MAX, DEPTH_MAX};
use super::room::unlock;
use super::root::{Lower, View};
use super::{FileState, Inspected, KeptFile, OWN, ProducedFile, Refused};
use crate::beneath::{FOLDER, REGULAR, beneath, beneath_far, hash_file, is_git, is_own, joined, names};
use ordain_canon::compare_utf16;
use ordain_spec::path_problem;
use rustix::fs::{AtFlags, FileType, Mode, Stat, readlinkat, statat};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The state of a path, as far as it differs from the workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    File {
        sha256: String,
        size: u64,
        executable: bool,
    },
    Gone,
    Refused {
        reason: &'static str,
        /// It took the place of a file or link of the workspace, which is gone.
        replaces: bool,
    },
}

impl State {
    fn is_file(&self) -> bool {
        matches!(self, Self::File { .. })
    }
}

const UNREAD: &str = "it was not read, since all files together are larger than the profile allows";

/// All differences from the workspace at one moment, by path.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    states: BTreeMap<Vec<u8>, State>,
    excess: Excess,
}

/// Everything that was too much to be looked at or listed. Whatever it is, the command failed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Excess {
    /// The files that were not read have so many bytes.
    pub(crate) unread_bytes: Option<u64>,
    /// More was deleted than is listed.
    pub(crate) unlisted: bool,
}

/// The changes between two moments.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) produced: Vec<ProducedFile>,
    pub(crate) deleted: Vec<String>,
    pub(crate) refused: Vec<Refused>,
    pub(crate) dropped: Vec<String>,
    pub(crate) excess: Excess,
}

impl Snapshot {
    /// Looks at everything, and reads no more than `room` bytes of what was left behind. Nothing may run meanwhile.
    pub(crate) fn take(view: &View, room: u64) -> io::Result<Self> {
        let (states, met) = (BTreeMap::new(), BTreeSet::new());
        let mut walk = Walk { view, states, met, deleted: 0, unlisted: false, files: Vec::new() };
        if let Lower::Copied(_) = view.lower {
            unlock(view.upper.as_fd());
        }
        walk.upper()?;
        walk.missing();
        let unread_bytes = walk.read(room)?;
        Ok(Self { states: walk.states, excess: Excess { unread_bytes, unlisted: walk.unlisted } })
    }

    /// Takes one path as it was at another moment.
    pub(crate) fn adopt(&mut self, other: &Self, path: &str) {
        match other.states.get(path.as_bytes()) {
            Some(state) => drop(self.states.insert(path.into(), state.clone())),
            None => drop(self.states.remove(path.as_bytes())),
        }
    }

    /// The changes of a command that started with `before` and left `self`.
    pub(crate) fn since(&self, before: &Self, view: &View) -> Changes {
        let mut changes = Changes { excess: self.excess, ..Changes::default() };
        for (path, state) in &self.states {
            let earlier = before.states.get(path);
            if earlier == Some(state) {
                continue;
            }
            let was_file = match earlier {
                Some(earlier) => earlier.is_file(),
                None => matches!(state, State::Gone | State::Refused { replaces: true, .. }),
            };
            if was_file && !state.is_file() {
                changes.add(path, &State::Gone);
            }
            if earlier.is_none() && state.is_file() && is_new_lock(path, view) {
                changes.dropped.push(escaped(path));
            } else if *state != State::Gone {
                changes.add(path, state);
            }
        }
        // A file that was only in the layer of changes leaves no trace there.
        for (path, _) in
            before.states.iter().filter(|(path, state)| state.is_file() && !self.states.contains_key(*path))
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

/// The first build of a crate writes its lock file beside its manifest, and Cargo has no other place for it. It is a
/// part of the build, and no output.
fn is_new_lock(path: &[u8], view: &View) -> bool {
    let Some(folder) = path.strip_suffix(b"Cargo.lock").filter(|it| it.is_empty() || it.ends_with(b"/"))
    else {
        return false;
    };
    let manifest = [folder, b"Cargo.toml"].concat();
    let has = |layer: BorrowedFd<'_>, path: &[u8]| beneath(layer, path, REGULAR).is_ok();
    let (had_manifest, is_new) = match &view.lower {
        Lower::Layer(lower) => {
            let old = beneath(lower.as_fd(), path, REGULAR);
            let is_new = old.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            (has(lower.as_fd(), &manifest), is_new)
        }
        Lower::Copied(originals) => (originals.contains_key(&manifest), !originals.contains_key(path)),
    };
    (had_manifest || has(view.upper.as_fd(), &manifest)) && is_new
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
            (State::Refused { reason, .. }, _) => {
                self.refused.push(Refused { path: shown, reason: (*reason).to_owned() });
            }
            (State::Gone, None) => {
                let reason = "it was deleted, and a patch cannot have its name".to_owned();
                self.refused.push(Refused { path: shown, reason });
            }
            (State::File { .. }, None) => {
                let reason = "a patch cannot have its name".to_owned();
                self.refused.push(Refused { path: shown, reason });
            }
        }
    }
}

/// A name as evidence shows it: what could be taken for something else is written as `\xNN` or `\u{…}`.
pub(crate) fn escaped(path: &[u8]) -> String {
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

/// No descriptor is kept from one folder to the next, so that no depth uses them up.
struct Walk<'v> {
    view: &'v View,
    states: BTreeMap<Vec<u8>, State>,
    /// The content of a copy, besides folders.
    met: BTreeSet<Vec<u8>>,
    deleted: usize,
    unlisted: bool,
    files: Vec<Left>,
}

/// A folder of the layer of changes.
struct Folder {
    path: Vec<u8>,
    depth: usize,
    /// Nothing of the workspace is seen in a folder above it, which is taken account of there.
    hidden: bool,
}

/// A file of the layer of changes that is still to be read.
struct Left {
    path: Vec<u8>,
    stat: Stat,
    /// The workspace's own file at that path.
    lower: Option<Stat>,
}

const SPECIAL_BITS: u32 = 0o6000;

impl Left {
    fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or_default()
    }
}

/// Whether a file may still turn out to be what the workspace has.
fn looks_like(file: &Stat, lower: &Stat) -> bool {
    let kind = |stat: &Stat| (is_regular(stat), stat.st_mode & (SPECIAL_BITS | 0o100));
    kind(lower) == kind(file) && lower.st_size == file.st_size
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_dir()
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_file()
}

impl<'v> Walk<'v> {
    fn upper(&mut self) -> io::Result<()> {
        let mut folders = vec![Folder { path: Vec::new(), depth: 0, hidden: false }];
        while let Some(mut folder) = folders.pop() {
            let upper = beneath_far(self.view.upper.as_fd(), &folder.path, FOLDER)?;
            if !folder.hidden && self.is_layer() && is_opaque(upper.as_fd())? {
                folder.hidden = true;
                self.hidden(folder.path.clone())?;
            }
            let lower = self.lower_folder(&folder.path)?;
            for name in names(&upper)? {
                let path = joined(&folder.path, &name);
                let stat = statat(&upper, &name, AtFlags::SYMLINK_NOFOLLOW)?;
                let below = match self.original(&path) {
                    Some(original) => Some(original.stat),
                    None => found(lower.as_ref().map(|it| statat(it, &name, AtFlags::SYMLINK_NOFOLLOW)))?,
                };
                if is_folder(&stat) && folder.depth < DEPTH_MAX {
                    if below.is_some_and(|it| !is_folder(&it)) {
                        self.gone(path.clone());
                    }
                    folders.push(Folder { path, depth: folder.depth + 1, hidden: folder.hidden });
                    continue;
                }
                if let Some(original) = self.original(&path) {
                    self.met.insert(path.clone());
                    if self.is_as_copied(&path, &stat, original)? {
                        continue;
                    }
                }
                let links = match (&lower, FileType::from_raw_mode(stat.st_mode)) {
                    (lower, FileType::Symlink) => {
                        let target = readlinkat(&upper, &name, Vec::new())?;
                        let of_lower = match self.original(&path).map(|it| &it.content) {
                            Some(Content::Link { target }) => Some(target.clone()),
                            _ => lower.as_ref().and_then(|it| readlinkat(it, &name, Vec::new()).ok()),
                        };
                        Some((target, of_lower))
                    }
                    _ => None,
                };
                match links {
                    Some((target, of_lower)) if of_lower.as_ref() == Some(&target) => self.same(&path),
                    Some((target, _)) => {
                        let reason = match leaves(&path, target.to_bytes()) {
                            true => "it is a symbolic link that leaves the workspace",
                            false => "it is a symbolic link, and only files are taken over",
                        };
                        self.refused(path, reason, below.as_ref())?;
                    }
                    None => self.entry(path, stat, below)?,
                }
            }
        }
        Ok(())
    }

    /// Anything but a link or a folder to go into.
    fn entry(&mut self, path: Vec<u8>, stat: Stat, below: Option<Stat>) -> io::Result<()> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_whiteout = self.is_layer() && kind == FileType::CharacterDevice && stat.st_rdev == 0;
        let is_same = |it: &Stat| FileType::from_raw_mode(it.st_mode) == kind && it.st_rdev == stat.st_rdev;
        let reason = match kind {
            FileType::RegularFile => {
                if below.as_ref().is_some_and(is_folder) {
                    self.hidden(path.clone())?;
                }
                self.files.push(Left { path, stat, lower: below });
                return Ok(());
            }
            _ if is_whiteout => {
                match below {
                    // Commands did not see it, so they did not delete it.
                    _ if path == OWN.as_bytes() => {}
                    Some(stat) if is_folder(&stat) => self.hidden(path)?,
                    Some(_) => self.gone(path),
                    None => {}
                }
                return Ok(());
            }
            FileType::Directory => TOO_DEEP,
            _ if below.as_ref().is_some_and(is_same) => {
                self.same(&path);
                return Ok(());
            }
            FileType::Fifo => "it is a pipe",
            FileType::Socket => "it is a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "it is a device",
            FileType::Symlink | FileType::Unknown => "it is nothing known",
        };
        self.refused(path, reason, below.as_ref())
    }

    fn refused(&mut self, path: Vec<u8>, reason: &'static str, below: Option<&Stat>) -> io::Result<()> {
        let replaces = below.is_some_and(|it| !is_folder(it));
        if below.is_some_and(is_folder) && reason != TOO_DEEP {
            self.hidden(path.clone())?;
        }
        self.states.insert(path, State::Refused { reason, replaces });
        Ok(())
    }

    /// It is as in the workspace, also where a folder that it is in was replaced.
    fn same(&mut self, path: &[u8]) {
        if self.states.remove(path).is_some() {
            self.deleted = self.deleted.saturating_sub(1);
        }
    }

    fn gone(&mut self, path: Vec<u8>) {
        if self.deleted >= DELETED_LISTED_MAX {
            self.unlisted = true;
        } else if self.states.insert(path, State::Gone).is_none() {
            self.deleted += 1;
        }
    }

    /// All files below a folder of the workspace are gone. The files of the layer of changes there come
    /// later.
    fn hidden(&mut self, path: Vec<u8>) -> io::Result<()> {
        let mut folders = vec![path];
        while let Some(path) = folders.pop() {
            if path == OWN.as_bytes() {
                continue;
            }
            let Some(folder) = self.lower_folder(&path)? else { continue };
            for name in names(&folder)? {
                let inner = joined(&path, &name);
                match found(Some(statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW)))? {
                    Some(stat) if is_folder(&stat) => folders.push(inner),
                    Some(_) => self.gone(inner),
                    None => {}
                }
            }
            if self.unlisted {
                break;
            }
        }
        Ok(())
    }

    /// The copied files that are no longer there. A layer of changes lists deletions itself.
    fn missing(&mut self) {
        let Lower::Copied(originals) = &self.view.lower else { return };
        for (path, original) in originals {
            if !matches!(original.content, Content::Folder) && !self.met.contains(path) {
                self.gone(path.clone());
            }
        }
    }

    fn is_layer(&self) -> bool {
        matches!(self.view.lower, Lower::Layer(_))
    }

    fn original(&self, path: &[u8]) -> Option<&'v Original> {
        match &self.view.lower {
            Lower::Layer(_) => None,
            Lower::Copied(originals) => originals.get(path),
        }
    }

    /// Whether a file is still what was copied. It is read for that: times tell nothing where a file can be changed by
    /// its mapping, or change places with another.
    fn is_as_copied(&self, path: &[u8], stat: &Stat, original: &Original) -> io::Result<bool> {
        let Content::File { sha256 } = &original.content else { return Ok(false) };
        if !looks_like(stat, &original.stat) {
            return Ok(false);
        }
        Ok(hash_file(beneath_far(self.view.upper.as_fd(), path, REGULAR)?)?.0 == *sha256)
    }

    /// The status of a file below the layer of changes. Copied files have been compared already.
    fn hash_below(&self, path: &[u8]) -> io::Result<Option<String>> {
        match &self.view.lower {
            Lower::Layer(lower) => Ok(Some(hash_file(beneath_far(lower.as_fd(), path, REGULAR)?)?.0)),
            Lower::Copied(_) => Ok(None),
        }
    }

    fn lower_folder(&self, path: &[u8]) -> io::Result<Option<OwnedFd>> {
        let Lower::Layer(lower) = &self.view.lower else { return Ok(None) };
        match beneath_far(lower.as_fd(), path, FOLDER) {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if is_absence(error.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the files that were found, or none if that would be too much; then it gives how much.
    fn read(&mut self, room: u64) -> io::Result<Option<u64>> {
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        sizes.extend(self.files.iter().map(|file| (file.stat.st_ino, file.size())));
        let total = sizes.values().fold(0_u64, |sum, size| sum.saturating_add(*size));
        let too_much = total > room;
        // The part of the workspace to read for comparison. Many links to one file could each ask for another
        // one.
        let mut room = room;
        let mut hashes: BTreeMap<u64, String> = BTreeMap::new();
        for file in std::mem::take(&mut self.files) {
            let replaces = file.lower.is_some_and(|it| !is_folder(&it));
            if too_much {
                self.states.insert(file.path, State::Refused { reason: UNREAD, replaces });
                continue;
            }
            let sha256 = match hashes.get(&file.stat.st_ino) {
                Some(sha256) => sha256.clone(),
                None => hash_file(beneath_far(self.view.upper.as_fd(), &file.path, REGULAR)?)?.0,
            };
            // One file with several names is read once.
            if file.stat.st_nlink > 1 {
                hashes.insert(file.stat.st_ino, sha256.clone());
            }
            if file.lower.is_some_and(|lower| looks_like(&file.stat, &lower)) && room >= file.size() {
                room -= file.size();
                if self.hash_below(&file.path)?.as_ref() == Some(&sha256) {
                    self.same(&file.path);
                    continue;
                }
            }
            let state = match file.stat.st_mode & SPECIAL_BITS {
                0 => State::File { sha256, size: file.size(), executable: file.stat.st_mode & 0o100 != 0 },
                _ => State::Refused { reason: SPECIAL, replaces },
            };
            self.states.insert(file.path, state);
        }
        Ok(too_much.then_some(total))
    }
}

const SPECIAL: &str = "it is a file with a set-user-id or set-group-id bit";
const TOO_DEEP: &str = "it is below too many folders";

/// That something is not there is an answer; that it cannot be looked at is none.
fn found(stat: Option<rustix::io::Result<Stat>>) -> io::Result<Option<Stat>> {
    match stat {
        None => Ok(None),
        Some(Ok(stat)) => Ok(Some(stat)),
        Some(Err(error)) if is_absence(Some(error.raw_os_error())) => Ok(None),
        Some(Err(error)) => Err(error.into()),
    }
}

fn is_absence(errno: Option<i32>) -> bool {
    errno.is_some_and(|it| [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].map(Errno::raw_os_error).contains(&it))
}

fn is_opaque(folder: BorrowedFd<'_>) -> io::Result<bool> {
    let mut value = [0; 1];
    match rustix::fs::fgetxattr(folder, "user.overlay.opaque", &mut value) {
        Ok(length) => Ok(length == 1 && value == *b"y"),
        Err(Errno::NODATA | Errno::RANGE | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether a link at this path leads out of the workspace, by its text. A text that goes up through another link is
/// taken at its word, since nothing is ever followed.
pub(crate) fn leaves(path: &[u8], target: &[u8]) -> bool {
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

/// The contents of what was left behind. More than there is room for is none: the command has failed then.
pub(crate) fn keep(produced: &[ProducedFile], workspace: &str, room: u64) -> io::Result<Vec<KeptFile>> {
    if produced.iter().map(|file| file.size).sum::<u64>() > room {
        return Ok(Vec::new());
    }
    let top = rustix::fs::open(workspace, FOLDER, Mode::empty())?;
    let mut kept = Vec::new();
    for file in produced {
        let opened = beneath(top.as_fd(), file.path.as_bytes(), REGULAR)?;
        let mut content = Vec::new();
        std::fs::File::from(opened).take(file.size + 1).read_to_end(&mut content)?;
        kept.push(KeptFile { path: file.path.clone(), content });
    }
    Ok(kept)
}

/// The state of these paths of the workspace as commands see it. Files that were left behind have been read
/// already.
pub(crate) fn inspect(paths: &[String], last: &Snapshot, workspace: &str) -> Vec<Inspected> {
    let state = |path: &str| -> io::Result<FileState> {
        match last.states.get(path.as_bytes()) {
            Some(State::File { sha256, size, .. }) => {
                return Ok(FileState::File { sha256: sha256.clone(), size: *size });
            }
            Some(State::Refused { .. }) => return Ok(FileState::Other),
            Some(State::Gone) | None => {}
        }
        let top = rustix::fs::open(workspace, FOLDER, Mode::empty())?;
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
    fn names_are_escaped() {
        assert_eq!(escaped(b"a b/c\xc3\xa9"), "a b/cé");
        assert_eq!(escaped(b"a\nb\x1b[0m\xff\\"), r"a\u{a}b\u{1b}[0m\xff\u{5c}");
        assert_eq!(escaped("a\u{202e}b".as_bytes()), r"a\u{202e}b");
    }
}
