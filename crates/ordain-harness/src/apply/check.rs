//! Everything that can be known before the first change: each operation against what is there.

use super::tree::{At, Folders, Seen, Tree, because, split};
use super::{Base, Problem};
use ordain_spec::folded_path;
use ordain_spec::patch::{PatchOp, PatchOperation};
use rustix::fs::{
    Access, AtFlags, Dir, StatVfsMountFlags, StatxAttributes, StatxFlags, accessat, fstat, fstatvfs, statx,
};
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};
use std::io;
use std::os::fd::BorrowedFd;

/// The findings of the checks.
pub(crate) struct Checked {
    /// For each operation the file that it replaces or deletes.
    pub(crate) seen: Vec<Option<Seen>>,
    /// Folders that have to be made, those that hold others first.
    pub(crate) folders: Vec<String>,
}

/// Checks all operations. All that is wrong is found, not only the first.
pub(crate) fn check(
    tree: &Tree,
    operations: &[PatchOperation],
    base: Option<&Base>,
) -> Result<Checked, Vec<Problem>> {
    let mut checks = Checks {
        folders: tree.folders(),
        writable: None,
        listed: None,
        missing: BTreeSet::new(),
        problems: Vec::new(),
    };
    // Neighbours together, so that each folder is opened and listed once.
    let mut order: Vec<usize> = (0..operations.len()).collect();
    order.sort_by_key(|at| operations.get(*at).map(|operation| split(&operation.path)));
    let mut seen: Vec<Option<Seen>> = vec![None; operations.len()];
    for at in order {
        if let (Some(operation), Some(place)) = (operations.get(at), seen.get_mut(at)) {
            *place = checks.operation(operation, base);
        }
    }
    checks.new_folders();
    let Checks { missing, mut problems, .. } = checks;
    let folders: Vec<String> = missing.into_iter().collect();
    problems.extend(room(tree, operations, folders.len()));
    if !problems.is_empty() {
        problems.sort();
        return Err(problems);
    }
    Ok(Checked { seen, folders })
}

struct Checks<'t> {
    folders: Folders<'t>,
    /// The last folder that was found to be writable.
    writable: Option<String>,
    /// The names of the last folder that was listed, by what a system without case takes them for.
    listed: Option<(String, BTreeMap<String, String>)>,
    /// Folders that are not there.
    missing: BTreeSet<String>,
    problems: Vec<Problem>,
}

impl Checks<'_> {
    fn object(&mut self, path: &str, problem: impl Into<String>) {
        self.problems.push(Problem { path: path.to_owned(), problem: problem.into() });
    }

    fn operation(&mut self, operation: &PatchOperation, base: Option<&Base>) -> Option<Seen> {
        let path = operation.path.as_str();
        let at = match self.folders.at(path) {
            Ok(at) => at,
            Err(problem) => {
                self.object(path, problem);
                return None;
            }
        };
        if let Some(problem) = base.and_then(|base| moved(base, path, &at)) {
            self.object(path, problem);
        }
        match (operation.op, at) {
            (PatchOp::Create, At::Nothing) => {
                self.new_name(path);
                None
            }
            (PatchOp::Create, At::File(_)) => {
                self.object(path, "is to be created, but it is there already");
                None
            }
            (PatchOp::Modify, At::Nothing) => {
                self.object(path, "is to be changed, but it is not there");
                None
            }
            (PatchOp::Delete, At::Nothing) => {
                self.object(path, "is to be deleted, but it is not there");
                None
            }
            (PatchOp::Modify | PatchOp::Delete, At::File(seen)) => {
                self.replaceable(path, &seen, operation.op);
                Some(seen)
            }
        }
    }

    /// A file whose folder may be written to, and that would still belong to the same user afterwards.
    fn replaceable(&mut self, path: &str, seen: &Seen, op: PatchOp) {
        let (parent, name) = split(path);
        self.check_writable(parent, path);
        let locked = self.folders.open(parent).and_then(|folder| is_locked(folder, name));
        if locked.unwrap_or(false) {
            self.object(path, "is locked by an attribute (`chattr +i` or `+a`)");
        }
        let me = rustix::process::geteuid();
        if me.is_root() || seen.uid == me.as_raw() {
            return;
        }
        if op == PatchOp::Modify {
            self.object(path, "belongs to another user, and would belong to you afterwards");
        }
        const STICKY: u32 = 0o1000;
        let folder = self.folders.open(parent).and_then(|folder| Ok(fstat(folder)?));
        if folder.is_ok_and(|folder| folder.st_mode & STICKY != 0 && folder.st_uid != me.as_raw()) {
            self.object(path, "belongs to another user, in a folder where only owners may move their files");
        }
    }

    fn new_name(&mut self, path: &str) {
        let (mut parent, mut name) = split(path);
        loop {
            if self.missing.contains(parent) {
                return;
            }
            match self.folders.open(parent) {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::NotFound && !parent.is_empty() => {
                    self.missing.insert(parent.to_owned());
                    (parent, name) = split(parent);
                }
                Err(error) => {
                    return self.object(path, format!("cannot be reached: {}", because(&error)));
                }
            }
        }
        self.check_writable(parent, path);
        self.check_case(parent, name, path);
    }

    fn check_writable(&mut self, parent: &str, path: &str) {
        if self.writable.as_deref() == Some(parent) {
            return;
        }
        let may = Access::WRITE_OK | Access::EXEC_OK;
        let found =
            self.folders.open(parent).and_then(|folder| Ok(accessat(folder, ".", may, AtFlags::EACCESS)?));
        let locked = self.folders.open(parent).and_then(|folder| is_locked(folder, "."));
        match found {
            Ok(()) if locked.unwrap_or(false) => {
                self.object(path, "lies in a folder that is locked by an attribute (`chattr +i` or `+a`)");
            }
            Ok(()) => self.writable = Some(parent.to_owned()),
            Err(error) => {
                self.object(path, format!("lies in a folder that cannot be changed: {}", because(&error)))
            }
        }
    }

    /// Refuses a new name that is an old one on systems without case.
    fn check_case(&mut self, parent: &str, name: &str, path: &str) {
        if self.listed.as_ref().is_none_or(|(listed, _)| listed != parent) {
            match self.folders.open(parent).and_then(|folder| names(Dir::read_from(folder)?)) {
                Ok(names) => self.listed = Some((parent.to_owned(), names)),
                Err(error) => {
                    return self.object(
                        path,
                        format!("lies in a folder that cannot be listed: {}", because(&error)),
                    );
                }
            }
        }
        let other = self.listed.as_ref().and_then(|(_, names)| names.get(&folded_path(name)));
        if let Some(other) = other.filter(|other| *other != name) {
            let problem = format!(
                "differs only by case or Unicode form from `{other}`, which is there; on some systems they are one file"
            );
            self.object(path, problem);
        }
    }

    /// Two new folders can be one on systems without case, though the files in them differ.
    fn new_folders(&mut self) {
        let mut folded: BTreeMap<String, &str> = BTreeMap::new();
        for path in &self.missing {
            match folded.entry(folded_path(path)) {
                Entry::Vacant(entry) => drop(entry.insert(path)),
                Entry::Occupied(entry) => {
                    let other = entry.get();
                    let problem = format!("differs only by case or Unicode form from the folder `{other}`");
                    self.problems.push(Problem { path: path.clone(), problem });
                }
            }
        }
    }
}

/// Whether not even its owner may rename it.
fn is_locked(folder: BorrowedFd<'_>, name: &str) -> io::Result<bool> {
    let found = statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty())?;
    Ok(found.stx_attributes.intersects(StatxAttributes::IMMUTABLE | StatxAttributes::APPEND))
}

fn names(folder: Dir) -> io::Result<BTreeMap<String, String>> {
    let mut names = BTreeMap::new();
    for entry in folder {
        // A name that is not text cannot be in a patch, whatever its case.
        if let Ok(name) = entry?.file_name().to_str() {
            names.insert(folded_path(name), name.to_owned());
        }
    }
    Ok(names)
}

/// Whether a file is no longer what it was when the patch was planned or tried.
fn moved(base: &Base, path: &str, at: &At) -> Option<String> {
    let now = match at {
        At::Nothing => None,
        At::File(seen) => Some(&seen.sha256),
    };
    match (base.files.get(path), now) {
        (None, _) => Some("is not in the list of what the patch was made for".to_owned()),
        (Some(then), now) if then.as_ref() == now => None,
        (Some(None), Some(_)) => Some("was made since the patch was tried".to_owned()),
        (Some(Some(_)), None) => Some("was deleted since the patch was tried".to_owned()),
        (Some(_), _) => Some("was changed since the patch was tried".to_owned()),
    }
}

/// Room on the disk for what will be written, before the old contents are given up (they never are).
fn room(tree: &Tree, operations: &[PatchOperation], folders: usize) -> Vec<Problem> {
    /// The journal's account of one operation, and a file's share of a folder.
    const BYTES_FOR_EACH: u64 = 512;
    /// The folders and files that are written besides.
    const FILES_BESIDES: u64 = 8;
    let problem = |problem: String| vec![Problem { path: ".".to_owned(), problem }];
    let disk = match fstatvfs(tree.root()) {
        Ok(disk) => disk,
        Err(error) => return problem(format!("cannot be asked for its free space: {error}")),
    };
    if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return problem("is on a read-only file system".to_owned());
    }
    let block = disk.f_frsize.max(1);
    let contents = operations.iter().filter_map(|operation| operation.content.as_ref());
    let (files, bytes) = contents.fold((0, 0), |(files, bytes): (u64, u64), content| {
        (files + 1, bytes + (content.len() as u64).div_ceil(block) * block)
    });
    let bytes = bytes + BYTES_FOR_EACH * (operations.len() + folders) as u64;
    let blocks = if rustix::process::geteuid().is_root() { disk.f_bfree } else { disk.f_bavail };
    let free = blocks.saturating_mul(block);
    if bytes > free {
        return problem(format!("has room for {free} bytes, and {bytes} are needed"));
    }
    let inodes = files + folders as u64 + FILES_BESIDES;
    // File systems that make them as they go say 0.
    if disk.f_files > 0 && inodes > disk.f_favail {
        return problem(format!("has room for {} files and folders, and {inodes} are needed", disk.f_favail));
    }
    Vec::new()
}
