//! System calls that have no safe wrapper.

#![allow(unsafe_code, reason = "raw system calls")]

use super::wire::FIRST_AFTER_STANDARD;
use rustix::process::Pid;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Forks, with the child in new namespaces. The child gets nothing.
///
/// The process must have one thread: the child has a copy of all memory but only this thread, and a lock that another
/// thread held would stay locked. The helper never starts a thread.
pub(crate) fn clone_process(namespaces: libc::c_int) -> io::Result<Option<Pid>> {
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with no stack given, clone is fork; the process has one thread.
    let pid = check(unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) })?;
    Ok(i32::try_from(pid).ok().and_then(Pid::from_raw))
}

/// A process that does nothing but be there, in namespaces that others can then join. It ends when this is dropped.
pub(crate) struct Waiting {
    pub(crate) process: Pid,
    /// The stack of the process.
    _stack: Vec<u128>,
}

/// Enough for a few frames.
const STACK_BYTES: usize = 32 << 10;

impl Waiting {
    /// Starts one. It has this process's memory, of which nothing is copied; so this process may have any number of
    /// threads.
    pub(crate) fn new(namespaces: libc::c_int) -> io::Result<Self> {
        let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
        let top = stack.as_mut_ptr_range().end.cast();
        let parent = rustix::process::getpid().as_raw_nonzero().get() as usize;
        // Without a signal at its end: whoever waits for any child of this program does not see it.
        let flags = namespaces | libc::CLONE_VM | libc::CLONE_FILES;
        // SAFETY: the stack is freed only after the process has ended, and nobody else uses it. The process makes
        // system calls only.
        let pid = without_signals(|| unsafe { libc::clone(wait_for_ever, top, flags, parent as *mut _) })?;
        Ok(Self { process: pid, _stack: stack })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(self.process, rustix::process::Signal::KILL);
        let pid = self.process.as_raw_nonzero().get();
        // SAFETY: asks for no status. Nobody else waits for this process, so the number is still its own.
        while unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) } < 0
            && io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
        {}
    }
}

/// Makes its calls through rustix, which leaves no error in memory that the other process uses too.
extern "C" fn wait_for_ever(parent: *mut libc::c_void) -> libc::c_int {
    let tied = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let is_parent = |pid: Pid| pid.as_raw_nonzero().get() as usize == parent as usize;
    while tied.is_ok() && rustix::process::getppid().is_some_and(is_parent) {
        rustix::event::pause();
    }
    exit_now(1)
}

/// Makes a process while no handler of this one can run in it.
fn without_signals(clone: impl FnOnce() -> libc::c_int) -> io::Result<Pid> {
    // SAFETY: all zeroes is a valid value of this plain structure.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: the sets are this function's own.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
    }
    let pid = check(clone().into());
    // SAFETY: the same set as before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    let pid = i32::try_from(pid?).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::other("no process id"))
}

/// Joins namespaces of a process.
pub(crate) fn join(process: Pid, namespaces: libc::c_int) -> io::Result<()> {
    let process = rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty())?;
    // SAFETY: touches no memory.
    check(unsafe { libc::setns(process.as_raw_fd(), namespaces) }.into()).map(drop)
}

/// The initial state of a program that starts with nothing of the caller's.
pub(crate) struct Start<'s> {
    pub(crate) program: &'s CStr,
    pub(crate) arguments: &'s [CString],
    /// Become the standard streams.
    pub(crate) streams: [RawFd; 3],
    /// Stay open under their own numbers, all of them above the standard ones; everything else is closed.
    pub(crate) kept: &'s [RawFd],
}

struct Child<'s> {
    start: &'s Start<'s>,
    arguments: Vec<*const libc::c_char>,
    parent: libc::pid_t,
    /// The failure, reported by the child: it has the same memory.
    error: i32,
}

/// Starts a program in a session of its own, with no environment, in the root folder, tied to this thread's life.
///
/// Gives its id and a descriptor of it. It starts with all signals blocked. This process may have any number of
/// threads and any amount of memory: nothing of it is copied.
pub(crate) fn start_bare(start: &Start<'_>) -> io::Result<(Pid, OwnedFd)> {
    let arguments = start.arguments.iter().map(|it| it.as_ptr()).chain([std::ptr::null()]).collect();
    let parent = rustix::process::getpid().as_raw_nonzero().get();
    let mut child = Child { start, arguments, parent, error: 0 };
    let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
    let top = stack.as_mut_ptr_range().end.cast();
    let mut descriptor: RawFd = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    let argument = (&raw mut child).cast();
    // SAFETY: CLONE_VFORK stops this thread until the child is another program or has ended, so that the stack and
    // the structure outlive its use of them and nobody else uses them. The child makes system calls only.
    let clone = || unsafe { libc::clone(become_program, top, flags, argument, &raw mut descriptor) };
    let pid = without_signals(clone)?;
    let process = inherited(descriptor);
    // SAFETY: the child wrote through the pointer that it was given, before this thread went on.
    match unsafe { std::ptr::read_volatile(&raw const child.error) } {
        0 => Ok((pid, process)),
        error => {
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

extern "C" fn become_program(child: *mut libc::c_void) -> libc::c_int {
    let child = child.cast::<Child<'_>>();
    // SAFETY: the parent waits, so the structure is this process's alone.
    let child = unsafe { &mut *child };
    let failed = become_program_or_fail(child).err();
    child.error = failed.and_then(|it| it.raw_os_error()).unwrap_or(libc::EIO);
    exit_now(127)
}

/// Allocates nothing: the memory is the parent's.
fn become_program_or_fail(child: &Child<'_>) -> io::Result<()> {
    let start = child.start;
    for (position, descriptor) in (0..).zip(start.streams) {
        duplicate_to(descriptor, position)?;
    }
    close_on_exec_from(FIRST_AFTER_STANDARD)?;
    for descriptor in start.kept {
        keep_on_exec(*descriptor)?;
    }
    rustix::process::setsid()?;
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // SAFETY: touch no memory but the C string, and the lists, which end with a null pointer.
    unsafe {
        if libc::getppid() != child.parent {
            exit_now(127);
        }
        check(libc::chdir(c"/".as_ptr()).into())?;
        let nothing = [std::ptr::null()];
        libc::execve(start.program.as_ptr(), child.arguments.as_ptr(), nothing.as_ptr());
    }
    Err(io::Error::last_os_error())
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct MountAttributes {
    pub(crate) set: u64,
    pub(crate) clear: u64,
    pub(crate) propagation: u64,
    pub(crate) user_namespace: u64,
}

/// Changes a mount; with `recursive` those below it too.
pub(crate) fn mount_setattr(
    mount: BorrowedFd<'_>,
    attributes: &MountAttributes,
    recursive: bool,
) -> io::Result<()> {
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a C string, and the size is that of the structure that the pointer leads to.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            std::ptr::from_ref(attributes),
            size_of::<MountAttributes>(),
        )
    };
    check(result).map(drop)
}

/// Makes the current folder the root and puts the old root on top of it.
pub(crate) fn pivot_root_here() -> io::Result<()> {
    // SAFETY: both paths are C strings.
    let result = unsafe { libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) };
    check(result).map(drop)
}

/// Marks every descriptor from `first` on, so that the next program does not get it.
pub(crate) fn close_on_exec_from(first: libc::c_uint) -> io::Result<()> {
    // SAFETY: nothing is closed now, so nobody loses a descriptor that is in use.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    check(result).map(drop)
}

/// Lets the next program have a descriptor.
pub(crate) fn keep_on_exec(descriptor: i32) -> io::Result<()> {
    // SAFETY: touches no memory and closes nothing.
    check(libc::c_long::from(unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) })).map(drop)
}

/// Makes `to` a second name of `from`, without close-on-exec.
pub(crate) fn duplicate_to(from: libc::c_int, to: libc::c_int) -> io::Result<()> {
    // SAFETY: dup2 touches no memory; what `to` was before is closed, and nobody uses it any more.
    check(libc::c_long::from(unsafe { libc::dup2(from, to) })).map(drop)
}

/// Kills every process that this one may signal, but not itself: as pid 1, everything in the namespace.
pub(crate) fn kill_all() {
    // SAFETY: kill touches no memory. An empty group is fine.
    let _ = unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// A program inherits what is ignored: `SIGPIPE` by Rust, `SIGHUP` by `nohup`, anything by the caller.
fn default_signals() {
    // The kernel's own structure, of which all zeroes are the default action. The C library keeps two signals to
    // itself, and ignores them in what it starts.
    let default = [0_u64; 4];
    for signal in 1..=SIGNALS {
        let (new, old) = (default.as_ptr(), std::ptr::null_mut::<u64>());
        // SAFETY: the kernel reads no more than there is, and knows 64 signals, which are 8 bytes. The default action
        // replaces no handler that anything here relies on. Two signals have no other.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, old, 8) };
    }
}

/// How many signals the kernel has.
const SIGNALS: libc::c_int = 64;

/// The signals that the helper, and its children, ignore.
const IGNORED: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Undoes what is left of [`own_signals`] for a program that starts now.
pub(crate) fn heed_signals() {
    for signal in IGNORED {
        // SAFETY: the default action replaces no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// The helper's treatment of signals, whatever the caller ignores or blocks: a caller that does not care
/// about the end of its children must not keep the helper from waiting for its own. A list that is too long
/// to be written is an error.
pub(crate) fn own_signals() {
    default_signals();
    // SAFETY: the set is made before it is used, and nothing else is touched. There is no handler.
    unsafe {
        for signal in IGNORED {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Takes a capability out of the bounding set.
pub(crate) fn drop_bound(capability: u32) -> io::Result<()> {
    // SAFETY: prctl with this option touches no memory.
    check(libc::c_long::from(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) })).map(drop)
}

/// Installs a seccomp filter for this thread and all that it starts.
pub(crate) fn install_filter(program: &[libc::sock_filter]) -> io::Result<()> {
    set_filter(program, 0).map(drop)
}

/// The same. Gives the descriptor at which somebody may answer what the filter leaves open; it is not inherited.
pub(crate) fn install_filter_that_asks(program: &[libc::sock_filter]) -> io::Result<i32> {
    const NEW_LISTENER: libc::c_ulong = 8;
    let descriptor = set_filter(program, NEW_LISTENER)?;
    i32::try_from(descriptor).map_err(io::Error::other)
}

fn set_filter(program: &[libc::sock_filter], flags: libc::c_ulong) -> io::Result<libc::c_long> {
    let length = u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let filter = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    const SET_MODE_FILTER: libc::c_ulong = 1;
    // SAFETY: the kernel reads `len` instructions from the pointer, which is what `program` has.
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, std::ptr::from_ref(&filter)) };
    check(result)
}

/// Takes a descriptor of another process.
pub(crate) fn take_descriptor(process: BorrowedFd<'_>, descriptor: i32) -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: touches no memory.
    let taken = check(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), descriptor, 0) })?;
    let taken = i32::try_from(taken).map_err(io::Error::other)?;
    // SAFETY: the kernel just made this descriptor, and nobody else knows it.
    Ok(unsafe { std::os::fd::OwnedFd::from_raw_fd(taken) })
}

/// A call that a filter leaves to somebody else, as the kernel tells it.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Question {
    pub(crate) id: u64,
    pub(crate) task: u32,
    flags: u32,
    number: i32,
    architecture: u32,
    address: u64,
    pub(crate) arguments: [u64; 6],
}

impl Question {
    pub(crate) fn is_about(&self, call: libc::c_long) -> bool {
        libc::c_long::from(self.number) == call
    }
}

/// Takes the next question. Poll first; an error means that whoever asked no longer waits.
pub(crate) fn next_question(listener: BorrowedFd<'_>) -> io::Result<Question> {
    const RECEIVE: libc::c_ulong = 0xc050_2100;
    let mut question = Question::default();
    // SAFETY: the structure is the kernel's, 80 bytes long, and all zeroes as it wants it.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE as _, &raw mut question) };
    check(result.into()).map(|_| question)
}

/// Lets the call go on, or fail.
pub(crate) fn answer_question(listener: BorrowedFd<'_>, id: u64, error: Option<i32>) -> io::Result<()> {
    #[repr(C)]
    struct Reply {
        id: u64,
        value: i64,
        error: i32,
        flags: u32,
    }
    const SEND: libc::c_ulong = 0xc018_2101;
    const GO_ON: u32 = 1;
    let flags = if error.is_none() { GO_ON } else { 0 };
    let mut reply = Reply { id, value: 0, error: -error.unwrap_or_default(), flags };
    // SAFETY: the structure is the kernel's, 24 bytes long.
    check(unsafe { libc::ioctl(listener.as_raw_fd(), SEND as _, &raw mut reply) }.into()).map(drop)
}

/// Whether two processes have the same address space. Some kernels do not tell.
pub(crate) fn have_same_space(left: Pid, right: Pid) -> bool {
    const SPACE: libc::c_int = 1;
    let (left, right) = (left.as_raw_nonzero().get(), right.as_raw_nonzero().get());
    // SAFETY: touches no memory.
    unsafe { libc::syscall(libc::SYS_kcmp, left, right, SPACE, 0, 0) == 0 }
}

/// The bytes in transit that one end of a new socket may have, with the kernel's overhead.
pub(crate) fn socket_buffer_bytes() -> u64 {
    let Ok((socket, _)) = std::os::unix::net::UnixStream::pair() else { return 0 };
    let mut bytes: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both pointers lead to what this option has, a number and its length.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_SNDBUF,
            (&raw mut bytes).cast(),
            &raw mut length,
        )
    };
    let bytes = if asked == 0 { u64::try_from(bytes).unwrap_or_default() } else { 0 };
    bytes + bytes / 8
}

/// The version of Landlock that the kernel has.
pub(crate) fn landlock_version() -> io::Result<u32> {
    const VERSION: libc::c_ulong = 1;
    // SAFETY: with this flag the kernel takes no structure.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, VERSION) };
    check(result).map(|version| u32::try_from(version).unwrap_or_default())
}

#[repr(C)]
pub(crate) struct LandlockRuleset {
    pub(crate) files: u64,
    pub(crate) network: u64,
    pub(crate) scope: u64,
}

/// A set of rules that handles these accesses. `size` is how much of the structure this version of Landlock knows.
pub(crate) fn landlock_ruleset(ruleset: &LandlockRuleset, size: usize) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    debug_assert!(size <= size_of::<LandlockRuleset>(), "no more than there is");
    // SAFETY: the kernel reads `size` bytes, no more than the structure has.
    let descriptor = check(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::from_ref(ruleset), size, 0)
    })?;
    let descriptor = i32::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: the kernel just made this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Allows accesses below a path.
pub(crate) fn landlock_allow(ruleset: BorrowedFd<'_>, path: BorrowedFd<'_>, accesses: u64) -> io::Result<()> {
    #[repr(C, packed)]
    struct Beneath {
        accesses: u64,
        path: i32,
    }
    const PATH_BENEATH: libc::c_ulong = 1;
    let rule = Beneath { accesses, path: path.as_raw_fd() };
    // SAFETY: the structure has the layout that this kind of rule asks for.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            PATH_BENEATH,
            std::ptr::from_ref(&rule),
            0,
        )
    };
    check(result).map(drop)
}

/// Puts this thread and all that it starts under the rules.
pub(crate) fn landlock_restrict(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: touches no memory.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) }).map(drop)
}

/// Becomes another program. Only comes back if that fails.
pub(crate) fn execute(program: &CString, arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
        list.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null pointer, and the strings live as long as the lists.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// Ends the process at once: no destructors, no buffers, nothing that belongs to the parent.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: does not return and touches no memory.
    unsafe { libc::_exit(code) }
}

/// A descriptor that was agreed upon with whoever started this process, or that the kernel just made.
pub(crate) fn inherited(descriptor: i32) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: it was opened for this purpose, and this is asked once for each.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// The largest resident size among the children that were waited for, in bytes.
pub(crate) fn peak_of_children() -> u64 {
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer leads to a structure of that type.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    u64::try_from(usage.ru_maxrss).unwrap_or_default() * 1_024
}
