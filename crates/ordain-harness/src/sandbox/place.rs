//! Where a path of the host really leads, what is mounted below it, and what of the host is nobody's business.
//!
//! Anybody who works in the workspace can put links into it. A path that goes through it, by whatever name,
//! may therefore lead anywhere, and nothing outside that is reached in this way is shown.

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Never shown as a whole, nor is what they are in.
const PRIVATE: &[&str] =
    &["/home", "/root", "/etc", "/proc", "/sys", "/dev", "/run", "/var/home", "/tmp", "/srv", "/mnt"];
/// Every folder in them is somebody's home, whatever the list of users says.
const HOMES: &[&str] = &["/home", "/var/home"];
/// Nothing in them is shown: anybody may write there or listen at a socket, or the sandbox has its own.
const SHARED: &[&str] =
    &["/tmp", "/var/tmp", "/var/run", "/run", "/dev", "/proc", "/sys", "/scratch", "/workspace"];
/// The kernel's own bound.
const LINKS_MAX: usize = 40;

/// A path of the host, and where it leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// As it was given, without `..`.
    pub(crate) named: PathBuf,
    /// Without links.
    pub(crate) real: PathBuf,
    /// Whether the way there goes through the workspace.
    pub(crate) is_of_workspace: bool,
}

impl Place {
    /// Where an absolute path leads. Nothing for what is not there.
    pub(crate) fn of(path: &Path, workspace: &Path) -> Option<Self> {
        match without_links(path) {
            Some(true) => {
                let real: PathBuf = path.components().collect();
                let is_of_workspace = real.starts_with(workspace);
                Some(Self { named: real.clone(), real, is_of_workspace })
            }
            Some(false) => None,
            None => Self::step_by_step(path, workspace),
        }
    }

    fn step_by_step(path: &Path, workspace: &Path) -> Option<Self> {
        let mut real = PathBuf::from("/");
        let mut is_of_workspace = false;
        let mut links = 0;
        let mut rest: VecDeque<OsString> = path.components().map(|part| part.as_os_str().into()).collect();
        while let Some(part) = rest.pop_front() {
            match Path::new(&part).components().next()? {
                Component::RootDir => real = PathBuf::from("/"),
                Component::ParentDir => drop(real.pop()),
                Component::Normal(name) => real.push(name),
                Component::CurDir | Component::Prefix(_) => {}
            }
            is_of_workspace |= real.starts_with(workspace);
            if fs::symlink_metadata(&real).ok()?.is_symlink() {
                links += 1;
                if links > LINKS_MAX {
                    return None;
                }
                let target = fs::read_link(&real).ok()?;
                real.pop();
                for part in target.components().rev() {
                    rest.push_front(part.as_os_str().into());
                }
            }
        }
        let has_parents = path.components().any(|part| part == Component::ParentDir);
        let named = if has_parents { real.clone() } else { path.components().collect() };
        Some(Self { named, real, is_of_workspace })
    }

    /// A path that is known to be real and outside the workspace.
    pub(crate) fn at(real: &Path) -> Self {
        Self { named: real.into(), real: real.into(), is_of_workspace: false }
    }
}

/// Whether there is something at a path, asked in one go; nothing where there are links or `..` on the way, or the
/// kernel cannot be asked like that.
fn without_links(path: &Path) -> Option<bool> {
    if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(_) => Some(true),
        Err(Errno::NOENT) => Some(false),
        Err(_) => None,
    }
}

/// The paths that are not shown, all of them without links.
pub(crate) struct Private {
    pub(crate) workspace: PathBuf,
    /// The caller's home folders: the environment may name none, or another.
    homes: Vec<PathBuf>,
}

impl Private {
    pub(crate) fn of_caller(workspace: &Path) -> Self {
        let users = fs::read("/etc/passwd").unwrap_or_default();
        let ids = [rustix::process::getuid(), rustix::process::geteuid()].map(rustix::process::Uid::as_raw);
        let homes = homes_of(&users, &ids).into_iter().chain(env::var_os("HOME").map(PathBuf::from));
        let mut homes: Vec<PathBuf> = homes.filter_map(|home| home.canonicalize().ok()).collect();
        homes.dedup();
        Self { workspace: workspace.into(), homes }
    }

    /// Whether this can be shown, and everything in it.
    pub(crate) fn may_show(&self, place: &Place) -> bool {
        let is_private = self.is_private(&place.real) || self.is_private(&place.named);
        !place.is_of_workspace && !is_private && !is_shared(&place.real)
    }

    /// Whether parts of this can be shown because of a folder in it.
    pub(crate) fn may_show_around(&self, folder: &Path) -> bool {
        !self.is_private(folder)
    }

    /// Whether it is, or holds, something private.
    fn is_private(&self, path: &Path) -> bool {
        let holds = |private: &Path| private.starts_with(path);
        holds(&self.workspace)
            || self.homes.iter().any(|home| holds(home))
            || PRIVATE.iter().any(|it| holds(Path::new(it)))
            || path.parent().is_some_and(|parent| HOMES.iter().any(|it| parent == Path::new(it)))
    }
}

/// Whether nothing there is shown.
pub(crate) fn is_shared(path: &Path) -> bool {
    SHARED.iter().any(|it| path.starts_with(it))
}

/// The homes of users in the system's list.
fn homes_of(users: &[u8], ids: &[u32]) -> Vec<PathBuf> {
    let home = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b':').skip(2);
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let home = fields.nth(2)?;
        ids.contains(&id).then(|| PathBuf::from(OsString::from_vec(home.to_vec())))
    };
    // A user without a home often has the root there, which holds everything.
    let is_one = |home: &PathBuf| home.is_absolute() && home.parent().is_some();
    users.split(|byte| *byte == b'\n').filter_map(home).filter(is_one).collect()
}

/// Something that is mounted in a folder, not at it.
pub(crate) fn mounted_in(folder: &Path) -> io::Result<Option<PathBuf>> {
    // The kernel does not say how long it is, and would be asked for a few bytes at a time.
    let mut mounts = Vec::with_capacity(1 << 14);
    fs::File::open("/proc/self/mountinfo")?.read_to_end(&mut mounts)?;
    Ok(first_mounted_in(&mounts, folder))
}

fn first_mounted_in(mounts: &[u8], folder: &Path) -> Option<PathBuf> {
    let at = |line: &[u8]| {
        Some(PathBuf::from(OsString::from_vec(unescaped(line.split(|it| *it == b' ').nth(4)?))))
    };
    let mut all = mounts.split(|byte| *byte == b'\n').filter_map(at);
    all.find(|at| at != folder && at.starts_with(folder))
}

/// The kernel writes blanks and backslashes as three octal digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let code = digits.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    bytes
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn homes_are_found_by_number() {
        let users =
            b"root:x:0:0:root:/root:/bin/sh\nme:x:7:7:,,:/data/me:/bin/sh\nbroken\nnone:x:8:8::/:/x\n";
        assert_eq!(homes_of(users, &[7]), [Path::new("/data/me")]);
        assert_eq!(homes_of(users, &[8, 9]), [] as [&Path; 0]);
    }

    #[test]
    fn mounts_in_a_folder_are_found() {
        let mounts = b"22 1 8:1 / / rw - ext4 a rw\n23 22 0:5 / /a\\040b/c\\134d rw - tmpfs b rw\n24 22 0:6 / /ab rw\n";
        let find = |folder: &str| first_mounted_in(mounts, Path::new(folder));
        assert_eq!(find("/a b"), Some("/a b/c\\d".into()));
        assert_eq!(find("/a"), None);
        assert_eq!(find("/ab"), None);
    }

    #[test]
    fn a_way_through_the_workspace_is_noticed() {
        let top =
            env::temp_dir().canonicalize().unwrap().join(format!("ordain-place-{}", std::process::id()));
        let workspace = top.join("ws");
        fs::create_dir_all(workspace.join("sub")).unwrap();
        fs::create_dir_all(top.join("out")).unwrap();
        symlink("ws", top.join("other")).unwrap();
        symlink("../../out", workspace.join("sub/away")).unwrap();
        symlink("ws/sub/away", top.join("around")).unwrap();
        symlink("loop", top.join("loop")).unwrap();
        for (path, leads_to, is_of_workspace) in [
            ("out", Some("out"), false),
            ("ws/sub", Some("ws/sub"), true),
            ("other/sub", Some("ws/sub"), true),
            ("other/sub/away", Some("out"), true),
            ("around", Some("out"), true),
            ("ws/../out", Some("out"), true),
            ("out/../out", Some("out"), false),
            ("loop", None, false),
            ("nothing", None, false),
        ] {
            let place = Place::of(&top.join(path), &workspace);
            let found = place.as_ref().map(|it| (it.real.clone(), it.is_of_workspace));
            assert_eq!(found, leads_to.map(|it| (top.join(it), is_of_workspace)), "{path}");
        }
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn what_is_private_is_not_shown() {
        let private = Private { workspace: "/data/me/ws".into(), homes: vec!["/data/me".into()] };
        for (path, may) in [
            ("/data/me/bin", true),
            ("/data/me", false),
            ("/data", false),
            ("/", false),
            ("/home/you", false),
            ("/home/you/bin", true),
            ("/var", false),
            ("/opt/tool/bin", true),
            ("/tmp/bin", false),
            ("/run/tool/bin", false),
        ] {
            assert_eq!(private.may_show(&Place::at(Path::new(path))), may, "{path}");
        }
    }
}
