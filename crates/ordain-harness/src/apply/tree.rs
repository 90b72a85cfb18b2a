//! A workspace as a tree of real folders: what is at a path, without following a link or leaving the file system.

use super::ApplyError;
use super::PROJECT_FILE;
use crate::beneath::{FOLDER, REGULAR, beneath_here, hash_file, is_git, is_own, plain_name};
use ordain_spec::path_problem;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// A workspace.
pub(crate) struct Tree {
    root: OwnedFd,
}

/// The state of a path.
pub(crate) enum At {
    Nothing,
    File(Seen),
}

/// A file as it was when it was looked at.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) sha256: String,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    identity: Identity,
    /// Whether a later change would have shown in the time of the last one.
    settled: bool,
}

/// The attributes that change when a file is replaced or written to.
type Identity = (u64, i64, i64, i64);

fn identity(stat: &Stat) -> Identity {
    (stat.st_ino, stat.st_size, stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or_default())
}

impl Seen {
    /// Whether this is the same file, not written to since. Doubt is `false`.
    pub(crate) fn is(&self, stat: &Stat) -> bool {
        self.settled && FileType::from_raw_mode(stat.st_mode).is_file() && self.identity == identity(stat)
    }
}

impl Tree {
    pub(crate) fn open(workspace: &Path) -> Result<Self, ApplyError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(workspace, flags, Mode::empty()).map_err(|error| {
            ApplyError::Workspace { path: workspace.display().to_string(), error: error.into() }
        })?;
        Ok(Self { root })
    }

    pub(crate) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// A folder of the tree; `""` is the workspace itself.
    pub(crate) fn folder(&self, path: &str) -> io::Result<OwnedFd> {
        beneath_here(self.root(), path.as_bytes(), FOLDER).map_err(|error| {
            // The system calls a link at the end no folder, as it is.
            let is_link = || {
                let link = beneath_here(self.root(), path.as_bytes(), OFlags::PATH | OFlags::NOFOLLOW)?;
                Ok::<_, io::Error>(FileType::from_raw_mode(fstat(&link)?.st_mode).is_symlink())
            };
            match Errno::from_io_error(&error) {
                Some(Errno::NOTDIR) if is_link().unwrap_or(false) => Errno::LOOP.into(),
                _ => error,
            }
        })
    }

    pub(crate) fn folders(&self) -> Folders<'_> {
        Folders { tree: self, last: None }
    }
}

/// The folder and the name of a path.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Opens folders, and keeps the last one: neighbours come one after the other.
pub(crate) struct Folders<'t> {
    tree: &'t Tree,
    last: Option<(String, OwnedFd)>,
}

impl Folders<'_> {
    pub(crate) fn open(&mut self, path: &str) -> io::Result<BorrowedFd<'_>> {
        if self.last.as_ref().is_none_or(|(last, _)| last != path) {
            self.last = None;
            self.last = Some((path.to_owned(), self.tree.folder(path)?));
        }
        match &self.last {
            Some((_, folder)) => Ok(folder.as_fd()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The state of a path that a patch may name, or why it may not.
    pub(crate) fn at(&mut self, path: &str) -> Result<At, String> {
        if let Some(problem) = forbidden(path) {
            return Err(problem);
        }
        let (parent, name) = split(path);
        let folder = match self.open(parent) {
            Ok(folder) => folder,
            Err(error) => return missing_or(error, true),
        };
        if is_policy_file(folder, name) {
            return Err("belongs to a policy folder, and is changed by people, never by a patch".to_owned());
        }
        let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(error) => return missing_or(error.into(), false),
        };
        what_it_is(&stat).map_or(Ok(()), |problem| Err(problem.to_owned()))?;
        seen(folder, name).map(At::File).map_err(|error| format!("cannot be read: {}", because(&error)))
    }
}

fn missing_or(error: io::Error, on_the_way: bool) -> Result<At, String> {
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT) => Ok(At::Nothing),
        _ if on_the_way => Err(format!("cannot be reached: {}", because(&error))),
        _ => Err(format!("cannot be looked at: {}", because(&error))),
    }
}

/// Reads a file of a folder.
pub(crate) fn seen(folder: BorrowedFd<'_>, name: &str) -> io::Result<Seen> {
    let file = openat(folder, name, REGULAR, Mode::empty())?;
    let stat = fstat(&file)?;
    if let Some(problem) = what_it_is(&stat) {
        return Err(io::Error::other(problem));
    }
    let (sha256, _) = hash_file(file)?;
    Ok(Seen {
        sha256,
        mode: stat.st_mode,
        uid: stat.st_uid,
        gid: stat.st_gid,
        identity: identity(&stat),
        settled: is_settled(&stat),
    })
}

/// A file that was written a moment ago can be written again in the same tick of the file system's clock.
fn is_settled(stat: &Stat) -> bool {
    const TICK_S_MAX: i64 = 2;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    i64::try_from(now).is_ok_and(|now| stat.st_mtime + TICK_S_MAX < now)
}

/// Why something is not a file that can be replaced.
fn what_it_is(stat: &Stat) -> Option<&'static str> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Symlink => Some("is a symbolic link, and links are not followed"),
        FileType::Directory => Some("is a folder, and only files can be changed"),
        _ => Some("is a device, a pipe or a socket, and only files can be changed"),
    }
}

/// Why no patch may touch a path, wherever it leads: it is not safe, or holds agents, or belongs to git or to ordain.
pub fn forbidden(path: &str) -> Option<String> {
    if let Some(problem) = path_problem(path) {
        return Some(problem);
    }
    if let Some(guard) = guard(path) {
        return Some(format!("{guard}, and is changed by people, never by a patch"));
    }
    path.split('/').find_map(|segment| {
        let whose = match segment.as_bytes() {
            name if is_git(name) => "Git's own",
            name if is_own(name) => "ordain's own",
            _ => return None,
        };
        Some(format!("lies in `{segment}`, which is {whose} folder and never changed by a patch"))
    })
}

/// Folders in which agents keep their hooks.
const HOOK_FOLDERS: [&str; 6] = [".claude", ".codex", ".gemini", ".qwen", ".opencode", ".cursor"];
/// Files in which they do.
const HOOK_FILES: [&str; 3] = ["opencode.json", "opencode.jsonc", ".mcp.json"];
/// Files of a policy folder that have usual names.
const POLICY_FILES: [&str; 5] =
    ["entities.json", "effects.toml", "sensors.toml", "tools.toml", "redact.toml"];

/// Whether a file belongs to the policies beside it, whatever their folder is called: the project's settings
/// name it, and whoever edits those must not choose what is protected.
fn is_policy_file(folder: BorrowedFd<'_>, name: &str) -> bool {
    if !POLICY_FILES.contains(&plain_name(name.as_bytes()).as_str()) {
        return false;
    }
    let is_policy = |name: &[u8]| plain_name(name).ends_with(".cedar");
    // A folder that cannot be listed could be one.
    let Ok(entries) = Dir::read_from(folder) else { return true };
    entries.into_iter().any(|entry| entry.is_ok_and(|entry| is_policy(entry.file_name().to_bytes())))
}

/// The reason to guard a path, if it is a file by which agents are held: at any depth, because tools look in
/// nested projects too.
fn guard(path: &str) -> Option<&'static str> {
    let names: Vec<String> = path.split('/').map(|segment| plain_name(segment.as_bytes())).collect();
    let (last, folders) = names.split_last()?;
    let has_extension =
        |wanted: &str| last.rsplit_once('.').is_some_and(|(_, extension)| extension == wanted);
    if last == PROJECT_FILE {
        return Some("holds the settings of a project");
    }
    let hooks = names.iter().any(|name| HOOK_FOLDERS.contains(&name.as_str()))
        || HOOK_FILES.contains(&last.as_str())
        || folders
            .windows(2)
            .any(|pair| matches!(pair, [outer, inner] if outer == ".github" && inner == "hooks"));
    if hooks {
        return Some("holds hooks or settings of an agent");
    }
    let in_policy = folders.last().is_some_and(|folder| folder == "policy");
    let policy = has_extension("cedar")
        || has_extension("cedarschema")
        || in_policy && POLICY_FILES.contains(&last.as_str());
    policy.then_some("belongs to a policy folder")
}

/// An error of the system as a person reads it.
pub(crate) fn because(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::LOOP) => "a symbolic link is on the way, and links are not followed".to_owned(),
        Some(Errno::NOTDIR) => "a part of its path is not a folder".to_owned(),
        Some(Errno::XDEV) => "another file system is mounted on the way".to_owned(),
        Some(Errno::NAMETOOLONG) => "a name in it is too long for the file system".to_owned(),
        Some(Errno::ROFS) => "the file system is read-only".to_owned(),
        Some(Errno::NOSPC) => "the disk is full".to_owned(),
        Some(Errno::DQUOT) => "the disk quota is used up".to_owned(),
        Some(Errno::ACCESS | Errno::PERM) => "permission denied".to_owned(),
        Some(Errno::NOENT) => "it is gone".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a31_guard_files_are_never_changed_by_a_patch() {
        for path in [
            "ordain.toml",
            "src/ordain.toml",
            "src/Ordain.TOML",
            ".ordain/uses/x",
            "policy/all.cedar",
            "deep/down/rules.cedar",
            "deep/policy/entities.json",
            ".claude/settings.json",
            "sub/.claude/settings.local.json",
            ".codex/hooks.json",
            ".gemini/settings.json",
            ".qwen/settings.json",
            ".github/hooks/pre.json",
            "opencode.json",
            ".opencode/plugin/x.ts",
            ".git/config",
        ] {
            assert!(forbidden(path).is_some(), "{path}");
        }
        // The settings may call the policy folder something else.
        let workspace = tempfile::tempdir().unwrap();
        for folder in ["rules", "src"] {
            std::fs::create_dir(workspace.path().join(folder)).unwrap();
        }
        std::fs::write(workspace.path().join("rules/All.Cedar"), "").unwrap();
        let tree = Tree::open(workspace.path()).unwrap();
        for path in ["rules/entities.json", "rules/Tools.toml", "rules/effects.toml", "rules/more.cedar"] {
            assert!(tree.folders().at(path).is_err(), "{path}");
        }
        for path in ["src/entities.json", "rules/notes.md", "tools.toml"] {
            assert!(tree.folders().at(path).is_ok(), "{path}");
        }
        for path in [
            "docs/ordain.md",
            "src/policy/mod.rs",
            "entities.json",
            ".github/workflows/ci.yml",
            "claude/x",
            "cedar",
        ] {
            assert_eq!(forbidden(path), None, "{path}");
        }
    }
}
