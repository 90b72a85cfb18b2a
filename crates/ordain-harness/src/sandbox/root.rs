//! The file system that a command sees: the host's programs, a view of the workspace, scratch, and nothing else.

use super::copy::Originals;
use super::identity::{self, INSIDE_ID};
use super::limits::{
    OUTPUT_BYTES_SLACK, OUTPUT_INODES_SLACK, SCRATCH_BYTES_MAX, SCRATCH_FILES_MAX, SHARED_BYTES_MAX,
    TEMPORARY_BYTES_MAX, TEMPORARY_FILES_MAX,
};
use super::outside::SCRATCH;
use super::processes::Processes;
use super::room::Room;
use super::sys::{self, MountAttributes, mount_setattr};
use super::wire::{Fault, RunOrder, Stage};
use super::{OWN, WORKSPACE};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, mknodat, open, openat2};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind,
    mount_change, move_mount, open_tree, unmount,
};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// `MOUNT_ATTR_…` of the kernel.
const READ_ONLY: u64 = 0x1;
const NO_SETUID: u64 = 0x2;
const NO_DEVICES: u64 = 0x4;
const NO_PROGRAMS: u64 = 0x8;
const ID_MAPPED: u64 = 0x0010_0000;

/// A folder of the old root that nobody looks into any more, once what is shown of it has been taken.
const LAYERS: &str = "/usr";
const DEVICES: &[&str] = &["null", "full", "random", "urandom"];
/// The longest file that there can be, about.
const ZERO_BYTES: u64 = 1 << 62;
/// The files of `/proc` that speak about the whole machine, or to it, and are not already root's alone on
/// every kernel.
const MASKED_FILES: &[&str] = &[
    "cmdline",
    "config.gz",
    "diskstats",
    "interrupts",
    "iomem",
    "ioports",
    "kcore",
    "keys",
    "kmsg",
    "latency_stats",
    "modules",
    "partitions",
    "sched_debug",
    "softirqs",
    "swaps",
    "sysrq-trigger",
    "timer_list",
    "timer_stats",
];
const MASKED_FOLDERS: &[&str] = &["acpi", "asound", "scsi"];

/// Mounts of the host that are in no namespace yet.
pub(crate) struct Sources {
    workspace: OwnedFd,
    binds: Vec<(OwnedFd, PathBuf)>,
    devices: Vec<(OwnedFd, &'static str)>,
}

impl Sources {
    /// Takes what will be shown, read-only.
    pub(crate) fn open(order: &RunOrder) -> Result<Self, Fault> {
        let path = Path::new(&order.workspace);
        let recursive = OpenTreeFlags::AT_RECURSIVE;
        let workspace = take(path, OpenTreeFlags::empty()).stage("taking the workspace (a folder in which something is mounted cannot be used by an ordinary user)")?;
        let attributes =
            MountAttributes { set: READ_ONLY | NO_SETUID | NO_DEVICES, ..MountAttributes::default() };
        mount_setattr(workspace.as_fd(), &attributes, false).stage("making the workspace read-only")?;
        if let Some(process) = order.owner_mapped_by {
            show_as_own(&workspace, process)?;
        }
        let mut binds = Vec::new();
        for bind in &order.binds {
            let tree = take(Path::new(&bind.from), recursive).stage_at("taking", Path::new(&bind.from))?;
            let attributes =
                MountAttributes { set: READ_ONLY | NO_SETUID | NO_DEVICES, ..MountAttributes::default() };
            mount_setattr(tree.as_fd(), &attributes, true)
                .stage_at("making read-only", Path::new(&bind.from))?;
            binds.push((tree, PathBuf::from(&bind.to)));
        }
        let mut devices = Vec::new();
        for name in DEVICES {
            let path = Path::new("/dev").join(name);
            let tree = take(&path, OpenTreeFlags::empty()).stage_at("taking", &path)?;
            let attributes =
                MountAttributes { set: READ_ONLY | NO_SETUID | NO_PROGRAMS, ..MountAttributes::default() };
            mount_setattr(tree.as_fd(), &attributes, false).stage_at("limiting", &path)?;
            devices.push((tree, *name));
        }
        Ok(Self { workspace, binds, devices })
    }
}

/// Takes what is at a path in which nobody has put a link since it was looked at.
fn take(path: &Path, flags: OpenTreeFlags) -> io::Result<OwnedFd> {
    let place = openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let flags = flags | OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    Ok(open_tree(&place, "", flags | OpenTreeFlags::AT_EMPTY_PATH)?)
}

/// Files of the owner on the disk belong to the user of the sandbox in this mount, by the user namespace of a
/// process.
fn show_as_own(tree: &OwnedFd, mapped_by: i32) -> Result<(), Fault> {
    let namespace =
        open(format!("/proc/{mapped_by}/ns/user"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .stage("opening the user namespace")?;
    let attributes = MountAttributes {
        set: ID_MAPPED,
        user_namespace: u64::try_from(namespace.as_raw_fd()).unwrap_or(u64::MAX),
        ..MountAttributes::default()
    };
    mount_setattr(tree.as_fd(), &attributes, false).stage("showing the workspace as the command's own")
}

/// The collector's view of the workspace, which commands do not have.
pub(crate) struct View {
    /// The workspace as it was.
    pub(crate) lower: Lower,
    /// The changes; everything where the workspace was copied.
    pub(crate) upper: OwnedFd,
    /// All processes.
    pub(crate) processes: Processes,
    /// Usage that is counted because no file system limits it.
    pub(crate) rooms: Vec<Room>,
}

/// The workspace as it was.
pub(crate) enum Lower {
    /// Below the layer of changes.
    Layer(OwnedFd),
    /// The copied files, by path.
    Copied(Originals),
}

/// Builds the root and moves into it. The old root is gone after that.
pub(crate) fn build(order: &RunOrder, sources: Sources) -> Result<View, Fault> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .stage("separating the mounts")?;
    let base = ["/tmp", "/mnt"].into_iter().map(Path::new).find(|path| path.is_dir());
    let base = base.ok_or_else(|| {
        Fault::new("finding a folder to build in", io::Error::from(io::ErrorKind::NotFound))
    })?;
    tmpfs(base, "size=4m,nr_inodes=4k,mode=755", MountFlags::NOSUID | MountFlags::NODEV)?;
    let root = Root(base);
    for (name, options) in [
        ("/tmp", format!("size={TEMPORARY_BYTES_MAX},nr_inodes={TEMPORARY_FILES_MAX},mode=1777")),
        ("/scratch", format!("size={SCRATCH_BYTES_MAX},nr_inodes={SCRATCH_FILES_MAX},mode=700")),
    ] {
        tmpfs(&root.folder(name)?, &options, MountFlags::NOSUID | MountFlags::NODEV)?;
    }
    for name in SCRATCH {
        root.folder(name)?;
    }
    root.settings()?;
    for (tree, to) in &sources.binds {
        root.attach(tree, to)?;
    }
    for (name, target) in &order.links {
        symlink(target, root.path(name)).stage_at("linking", Path::new(name))?;
    }
    root.devices(&sources.devices)?;
    root.processes()?;
    let view = root.workspace(order, &sources.workspace)?;
    std::env::set_current_dir(base).stage("entering the new root")?;
    sys::pivot_root_here().stage("changing the root")?;
    unmount(".", UnmountFlags::DETACH).stage("leaving the old root")?;
    std::env::set_current_dir("/").stage("entering the new root")?;
    set_attributes(Path::new("/"), READ_ONLY | NO_SETUID | NO_DEVICES)?;
    Ok(view)
}

fn tmpfs(at: &Path, options: &str, flags: MountFlags) -> Result<(), Fault> {
    let options = CString::new(options).stage("naming the options of a file system")?;
    mount("tmpfs", at, "tmpfs", flags, options.as_c_str()).stage_at("mounting memory at", at)
}

fn overlay(lower: &Path, upper: &Path, work: &Path, at: &Path) -> Result<(), Fault> {
    let (lower, upper, work) = (lower.display(), upper.display(), work.display());
    let options = format!("userxattr,lowerdir={lower},upperdir={upper},workdir={work}");
    let options = CString::new(options).stage("naming the options of a file system")?;
    mount("overlay", at, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
        .stage("laying the changes over the workspace")
}

fn set_attributes(at: &Path, set: u64) -> Result<(), Fault> {
    let mounted = open(at, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).stage_at("opening", at)?;
    let attributes = MountAttributes { set, ..MountAttributes::default() };
    mount_setattr(mounted.as_fd(), &attributes, false).stage_at("limiting", at)
}

/// The folder that becomes the root.
struct Root<'p>(&'p Path);

impl Root<'_> {
    fn path(&self, inside: impl AsRef<Path>) -> PathBuf {
        let inside = inside.as_ref();
        self.0.join(inside.strip_prefix("/").unwrap_or(inside))
    }

    fn folder(&self, inside: impl AsRef<Path>) -> Result<PathBuf, Fault> {
        let path = self.path(inside);
        fs::create_dir_all(&path).stage_at("making", &path)?;
        Ok(path)
    }

    fn file(&self, inside: &str, content: &str) -> Result<(), Fault> {
        let path = self.path(inside);
        fs::write(&path, content).stage_at("writing", &path)
    }

    /// Puts a mount where it is seen.
    fn attach(&self, tree: &OwnedFd, inside: &Path) -> Result<(), Fault> {
        let is_folder = rustix::fs::fstat(tree)
            .map(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
            .stage_at("looking at", inside)?;
        let path = self.path(inside);
        if is_folder {
            self.folder(inside)?;
        } else {
            let made = match fs::File::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if let Some(parent) = inside.parent() {
                        self.folder(parent)?;
                    }
                    fs::File::create_new(&path)
                }
                made => made,
            };
            match made {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => drop(made.stage_at("making", &path)?),
            }
        }
        move_mount(tree, "", CWD, &path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).stage_at("showing", inside)
    }

    /// An `/etc` that says nothing about the host.
    fn settings(&self) -> Result<(), Fault> {
        self.folder("/etc")?;
        let id = INSIDE_ID;
        self.file(
            "/etc/passwd",
            &format!("sandbox:x:{id}:{id}::/scratch/home:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"),
        )?;
        self.file("/etc/group", &format!("sandbox:x:{id}:\nnogroup:x:65534:\n"))?;
        self.file("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n127.0.0.1 sandbox\n")?;
        self.file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")?;
        self.file("/etc/resolv.conf", "")
    }

    fn devices(&self, devices: &[(OwnedFd, &'static str)]) -> Result<(), Fault> {
        let dev = self.folder("/dev")?;
        for (tree, name) in devices {
            self.attach(tree, &Path::new("/dev").join(name))?;
        }
        // The device would give memory that belongs to no file system with a size to whoever maps it. A file that is
        // nothing but a hole reads the same, and does not end.
        let most = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
        fs::File::create(dev.join("zero"))
            .and_then(|file| file.set_len(most.map_or(ZERO_BYTES, |most| most.min(ZERO_BYTES))))
            .stage_at("making", Path::new("/dev/zero"))?;
        for (name, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
        ] {
            symlink(target, dev.join(name)).stage_at("linking", Path::new(name))?;
        }
        let options = format!("size={SHARED_BYTES_MAX},nr_inodes=1k,mode=1777");
        tmpfs(
            &self.folder("/dev/shm")?,
            &options,
            MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC,
        )
    }

    /// The processes of the sandbox, of which a command sees its own; nothing there can be written.
    fn processes(&self) -> Result<(), Fault> {
        let proc = self.folder("/proc")?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", &proc, "proc", flags, c"hidepid=2").stage("mounting /proc")?;
        // A second lock besides the filter: no command of this namespace can make another one.
        let _ = fs::write(proc.join("sys/user/max_user_namespaces"), "0");
        let null = self.path("/dev/null");
        for name in MASKED_FILES.iter().map(|name| proc.join(name)) {
            match mount_bind(&null, &name) {
                // Not every kernel has all of them.
                Err(Errno::NOENT) => {}
                masked => masked.stage_at("masking", &name)?,
            }
        }
        for name in MASKED_FOLDERS.iter().map(|name| proc.join(name)) {
            match tmpfs(&name, "size=4k,nr_inodes=1,mode=555", flags | MountFlags::RDONLY) {
                Err(fault) if fault.errno == Some(libc::ENOENT) => {}
                masked => masked?,
            }
        }
        set_attributes(&proc, READ_ONLY | NO_SETUID | NO_DEVICES | NO_PROGRAMS)
    }

    /// The workspace, with a layer above it that takes all changes and has no more room than the profile gives.
    ///
    /// The layers are mounted where the old root is and go with it, so that only the collector has them, by its
    /// descriptors; each mount that is taken away by itself would make the kernel wait.
    fn workspace(&self, order: &RunOrder, tree: &OwnedFd) -> Result<View, Fault> {
        let written: u64 =
            order.writes.iter().filter_map(|write| write.bytes).map(|bytes| bytes as u64).sum();
        let bytes = order.output_bytes_max + written + OUTPUT_BYTES_SLACK;
        let inodes = 2 * (order.output_files_max + order.writes.len() as u64) + OUTPUT_INODES_SLACK;
        let options = format!("size={bytes},nr_inodes={inodes},mode=700");
        tmpfs(Path::new(LAYERS), &options, MountFlags::NOSUID | MountFlags::NODEV)?;
        let [lower, upper, work, processes] =
            ["lower", "upper", "work", "proc"].map(|name| Path::new(LAYERS).join(name));
        for folder in [&lower, &upper, &work, &processes] {
            fs::create_dir(folder).stage_at("making", folder)?;
        }
        move_mount(tree, "", CWD, &lower, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
            .stage("showing the workspace")?;
        // The top folder is not copied up by the kernel, so its mode is copied here.
        let permissions = fs::metadata(&lower).stage("reading the workspace")?.permissions();
        fs::set_permissions(&upper, permissions).stage("making the layer for changes")?;
        hide_own(&lower, &upper)?;
        overlay(&lower, &upper, &work, &self.folder(WORKSPACE)?)?;
        all_processes(&processes)?;
        let folder = |path: &Path| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            open(path, flags, Mode::empty()).stage_at("opening", path)
        };
        Ok(View {
            lower: Lower::Layer(folder(&lower)?),
            upper: folder(&upper)?,
            processes: Processes::of_namespace(folder(&processes)?),
            rooms: Vec::new(),
        })
    }
}

/// Commands do not see the files that ordain keeps in a workspace: earlier runs must not change what a later
/// one finds.
fn hide_own(lower: &Path, upper: &Path) -> Result<(), Fault> {
    if fs::symlink_metadata(lower.join(OWN)).is_err() {
        return Ok(());
    }
    // To an overlay this device says that the name is gone.
    mknodat(CWD, upper.join(OWN), FileType::CharacterDevice, Mode::empty(), 0)
        .stage("hiding what ordain keeps")
}

fn all_processes(at: &Path) -> Result<(), Fault> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount("proc", at, "proc", flags, c"").stage("mounting /proc")
}

/// Tries to mount memory.
pub(crate) fn try_memory() -> Result<(), Fault> {
    try_base().map(drop)
}

fn try_base() -> Result<&'static Path, Fault> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .stage("separating the mounts")?;
    let base = Path::new("/tmp");
    tmpfs(base, "size=4m,nr_inodes=100,mode=755", MountFlags::NOSUID | MountFlags::NODEV)?;
    Ok(base)
}

/// Tries to mount `/proc`.
pub(crate) fn try_processes() -> Result<(), Fault> {
    all_processes(&Root(try_base()?).folder("/proc")?)
}

/// Tries to lay a layer over a folder, and to replace a folder of it, which needs what old kernels lack.
pub(crate) fn try_overlay() -> Result<(), Fault> {
    let root = Root(try_base()?);
    root.folder("/lower/folder")?;
    let (lower, upper) = (root.path("/lower"), root.folder("/upper")?);
    let merged = root.folder("/merged")?;
    overlay(&lower, &upper, &root.folder("/work")?, &merged)?;
    let folder = merged.join("folder");
    fs::remove_dir(&folder)
        .and_then(|()| fs::create_dir(&folder))
        .stage("laying the changes over the workspace")
}

/// Tries to show a folder as somebody else's.
pub(crate) fn try_id_mapped(id: u32) -> Result<(), Fault> {
    let tree = take(Path::new("/"), OpenTreeFlags::empty()).stage("taking a folder")?;
    let mapped = identity::namespace_that_maps((0, 0), id)?;
    show_as_own(&tree, mapped.process.as_raw_nonzero().get())
}
