//! Which system calls a command may make: a list of those it may; everything unknown does not exist for it.
//!
//! A call that is refused for a reason gets `EPERM`; the rest, newer calls of the kernel included, answers
//! `ENOSYS`, on which programs fall back. A call of another architecture ends the process.
//!
//! Nobody may watch files or folders, with inotify or otherwise: the host's programs are files of the host, and who
//! watches them sees when the host uses them.

use libc::{EAFNOSUPPORT, ENOSYS, EOPNOTSUPP, EPERM, sock_filter};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Offsets into the kernel's `seccomp_data`.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const ERROR: u32 = 0x0005_0000;
const ASK: u32 = 0x7fc0_0000;

/// Looks at the lower half of an argument: all that these calls take is no longer than that.
struct Test {
    argument: u32,
    mask: u32,
    value: u32,
    refuse: Refuse,
}

#[derive(PartialEq)]
enum Refuse {
    IfEqual,
    IfOther,
}

const fn refuse_if(argument: u32, mask: u32, value: u32) -> Test {
    Test { argument, mask, value, refuse: Refuse::IfEqual }
}

const fn refuse_unless(argument: u32, mask: u32, value: u32) -> Test {
    Test { argument, mask, value, refuse: Refuse::IfOther }
}

/// Instead of an error: the collector answers.
const COLLECTOR: i32 = -1;
/// Instead of an error: nothing is done, and it is said that it was.
const IGNORED: i32 = 0;

/// A call that may be made unless a test objects.
struct Guarded {
    number: libc::c_long,
    error: i32,
    tests: &'static [Test],
}

const WHOLE: u32 = u32::MAX;
const NAMESPACE_FLAGS: u32 = 0x7e02_0080;
const SPECIAL_BITS: [Test; 2] = [refuse_if(1, 0o4000, 0o4000), refuse_if(1, 0o2000, 0o2000)];
const SPECIAL_BITS_AT: [Test; 2] = [refuse_if(2, 0o4000, 0o4000), refuse_if(2, 0o2000, 0o2000)];
const KIND_BITS: u32 = 0o170_000;
const TERMINAL_INPUT: u32 = 0x5412;
const TERMINAL_LINUX: u32 = 0x541c;
/// The commands of `fcntl` that hold up a process that opens a file, or watch a folder.
const SET_LEASE: u32 = 1_024;
const NOTIFY: u32 = 1_026;
/// Calls that can change another process of the same user act on the caller only: pid 1 is of that user too.
const OWN: [Test; 1] = [refuse_unless(0, WHOLE, 0)];

/// `MAP_SHARED` or `MAP_SHARED_VALIDATE`, and `MAP_ANONYMOUS`.
const SHARED_WITHOUT_FILE: u32 = 0x21;

static GUARDED: &[Guarded] = &[
    // The memory that it takes stays taken while a single page of it is mapped, which nobody could see
    // afterwards.
    Guarded {
        number: libc::SYS_mmap,
        error: COLLECTOR,
        tests: &[refuse_if(3, SHARED_WITHOUT_FILE, SHARED_WITHOUT_FILE)],
    },
    // The bytes in transit between processes are only known as long as each socket has what the machine gives
    // it.
    Guarded {
        number: libc::SYS_setsockopt,
        error: IGNORED,
        tests: &[
            refuse_if(2, WHOLE, libc::SO_SNDBUF as u32),
            refuse_if(2, WHOLE, libc::SO_SNDBUFFORCE as u32),
        ],
    },
    Guarded { number: libc::SYS_clone, error: EPERM, tests: &[refuse_unless(0, NAMESPACE_FLAGS, 0)] },
    Guarded {
        number: libc::SYS_socket,
        error: EAFNOSUPPORT,
        tests: &[refuse_unless(0, WHOLE, libc::AF_UNIX as u32)],
    },
    Guarded {
        number: libc::SYS_socketpair,
        error: EAFNOSUPPORT,
        tests: &[refuse_unless(0, WHOLE, libc::AF_UNIX as u32)],
    },
    Guarded {
        number: libc::SYS_ioctl,
        error: EPERM,
        tests: &[refuse_if(1, WHOLE, TERMINAL_INPUT), refuse_if(1, WHOLE, TERMINAL_LINUX)],
    },
    Guarded {
        number: libc::SYS_fcntl,
        error: EPERM,
        tests: &[refuse_if(1, WHOLE, SET_LEASE), refuse_if(1, WHOLE, NOTIFY)],
    },
    Guarded { number: libc::SYS_prlimit64, error: EPERM, tests: &OWN },
    Guarded { number: libc::SYS_sched_setaffinity, error: EPERM, tests: &OWN },
    Guarded { number: libc::SYS_sched_setattr, error: EPERM, tests: &OWN },
    Guarded { number: libc::SYS_sched_setparam, error: EPERM, tests: &OWN },
    Guarded { number: libc::SYS_sched_setscheduler, error: EPERM, tests: &OWN },
    Guarded {
        number: libc::SYS_setpriority,
        error: EPERM,
        tests: &[refuse_unless(0, WHOLE, 0), refuse_unless(1, WHOLE, 0)],
    },
    Guarded {
        number: libc::SYS_ioprio_set,
        error: EPERM,
        tests: &[refuse_unless(0, WHOLE, 1), refuse_unless(1, WHOLE, 0)],
    },
    Guarded { number: libc::SYS_fchmod, error: EPERM, tests: &SPECIAL_BITS },
    Guarded { number: libc::SYS_fchmodat, error: EPERM, tests: &SPECIAL_BITS_AT },
    Guarded { number: SYS_FCHMODAT2, error: EPERM, tests: &SPECIAL_BITS_AT },
    Guarded {
        number: libc::SYS_mknodat,
        error: EPERM,
        tests: &[
            refuse_if(2, 0o4000, 0o4000),
            refuse_if(2, 0o2000, 0o2000),
            refuse_if(2, KIND_BITS, libc::S_IFCHR),
            refuse_if(2, KIND_BITS, libc::S_IFBLK),
        ],
    },
    #[cfg(target_arch = "x86_64")]
    Guarded { number: libc::SYS_chmod, error: EPERM, tests: &SPECIAL_BITS },
    #[cfg(target_arch = "x86_64")]
    Guarded {
        number: libc::SYS_mknod,
        error: EPERM,
        tests: &[
            refuse_if(1, 0o4000, 0o4000),
            refuse_if(1, 0o2000, 0o2000),
            refuse_if(1, KIND_BITS, libc::S_IFCHR),
            refuse_if(1, KIND_BITS, libc::S_IFBLK),
        ],
    },
];

const ALWAYS: [Test; 1] = [refuse_if(0, 0, 0)];

/// The calls that are guarded more closely without namespaces. There, sockets of the host have their paths,
/// and so have files of the caller, whose owners and attributes Landlock has no rule for.
static GUARDED_ALONE: &[Guarded] = &[
    Guarded { number: libc::SYS_socket, error: EAFNOSUPPORT, tests: &ALWAYS },
    Guarded { number: libc::SYS_connect, error: EPERM, tests: &ALWAYS },
    // One half of a pair that has datagrams can still send to a path.
    Guarded {
        number: libc::SYS_socketpair,
        error: EAFNOSUPPORT,
        tests: &[
            refuse_unless(0, WHOLE, libc::AF_UNIX as u32),
            refuse_if(1, SOCKET_KIND, libc::SOCK_DGRAM as u32),
            refuse_if(1, SOCKET_KIND, libc::SOCK_RAW as u32),
        ],
    },
    // If two filters ask, the kernel hears the newer one: once the collector no longer answers, a command
    // could.
    Guarded { number: libc::SYS_seccomp, error: EPERM, tests: &[refuse_if(1, NEW_LISTENER, NEW_LISTENER)] },
    Guarded { number: libc::SYS_fchown, error: EPERM, tests: &ALWAYS },
    Guarded { number: libc::SYS_fchownat, error: EPERM, tests: &ALWAYS },
    #[cfg(target_arch = "x86_64")]
    Guarded { number: libc::SYS_chown, error: EPERM, tests: &ALWAYS },
    #[cfg(target_arch = "x86_64")]
    Guarded { number: libc::SYS_lchown, error: EPERM, tests: &ALWAYS },
    Guarded { number: libc::SYS_setxattr, error: EOPNOTSUPP, tests: &ALWAYS },
    Guarded { number: libc::SYS_lsetxattr, error: EOPNOTSUPP, tests: &ALWAYS },
    Guarded { number: libc::SYS_fsetxattr, error: EOPNOTSUPP, tests: &ALWAYS },
    Guarded { number: libc::SYS_removexattr, error: EOPNOTSUPP, tests: &ALWAYS },
    Guarded { number: libc::SYS_lremovexattr, error: EOPNOTSUPP, tests: &ALWAYS },
    Guarded { number: libc::SYS_fremovexattr, error: EOPNOTSUPP, tests: &ALWAYS },
];

const SOCKET_KIND: u32 = 0xf;
const NEW_LISTENER: u32 = 8;

/// Without namespaces the collector is asked for each new process and thread: once it no longer answers, there are no
/// more of them, and those that are there can be ended one by one.
static ASKED_ALONE: &[libc::c_long] = &[
    libc::SYS_clone,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// The same number on both architectures.
const SYS_FCHMODAT2: libc::c_long = 452;

macro_rules! numbers {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}

/// Calls that are refused with `EPERM`, so that whoever tries them learns that it is not for lack of a kernel.
static REFUSED: &[libc::c_long] = numbers! {
    SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_move_mount SYS_open_tree SYS_fsopen SYS_fsconfig SYS_fsmount
    SYS_fspick SYS_mount_setattr SYS_unshare SYS_setns SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev
    SYS_pidfd_getfd SYS_kcmp SYS_bpf SYS_perf_event_open SYS_userfaultfd SYS_io_uring_setup SYS_io_uring_enter
    SYS_io_uring_register SYS_keyctl SYS_add_key SYS_request_key SYS_kexec_load SYS_init_module SYS_finit_module
    SYS_delete_module SYS_reboot SYS_swapon SYS_swapoff SYS_settimeofday SYS_clock_settime SYS_adjtimex
    SYS_clock_adjtime SYS_sethostname SYS_setdomainname SYS_syslog SYS_acct SYS_quotactl SYS_fanotify_init
    SYS_open_by_handle_at SYS_name_to_handle_at SYS_vhangup SYS_personality
};

static ALLOWED: &[libc::c_long] = numbers! {
    SYS_read SYS_write SYS_close SYS_fstat SYS_lseek SYS_mprotect SYS_munmap SYS_brk SYS_rt_sigaction
    SYS_rt_sigprocmask SYS_rt_sigreturn SYS_pread64 SYS_pwrite64 SYS_readv SYS_writev SYS_preadv SYS_pwritev
    SYS_preadv2 SYS_pwritev2 SYS_sched_yield SYS_mremap SYS_msync SYS_mincore SYS_madvise SYS_dup SYS_dup3
    SYS_nanosleep SYS_getitimer SYS_setitimer SYS_getpid SYS_sendfile SYS_connect SYS_accept SYS_accept4 SYS_sendto
    SYS_recvfrom SYS_sendmsg SYS_recvmsg SYS_sendmmsg SYS_recvmmsg SYS_shutdown SYS_bind SYS_listen SYS_getsockname
    SYS_getpeername SYS_getsockopt SYS_execve SYS_execveat SYS_exit SYS_exit_group SYS_wait4
    SYS_waitid SYS_kill SYS_tkill SYS_tgkill SYS_uname SYS_flock SYS_fsync SYS_fdatasync SYS_truncate
    SYS_ftruncate SYS_getdents64 SYS_getcwd SYS_chdir SYS_fchdir SYS_renameat SYS_renameat2 SYS_mkdirat SYS_linkat
    SYS_unlinkat SYS_symlinkat SYS_readlinkat SYS_fchown SYS_fchownat SYS_umask SYS_gettimeofday SYS_getrlimit
    SYS_setrlimit SYS_getrusage SYS_sysinfo SYS_times SYS_getuid SYS_getgid SYS_setuid SYS_setgid SYS_geteuid
    SYS_getegid SYS_setpgid SYS_getppid SYS_setsid SYS_setreuid SYS_setregid SYS_getgroups SYS_setgroups
    SYS_setresuid SYS_getresuid SYS_setresgid SYS_getresgid SYS_getpgid SYS_setfsuid SYS_setfsgid SYS_getsid
    SYS_capget SYS_capset SYS_rt_sigpending SYS_rt_sigtimedwait SYS_rt_sigqueueinfo SYS_rt_tgsigqueueinfo
    SYS_rt_sigsuspend SYS_sigaltstack SYS_statfs SYS_fstatfs SYS_getpriority SYS_sched_getparam
    SYS_sched_getscheduler SYS_sched_get_priority_max SYS_sched_get_priority_min SYS_sched_rr_get_interval
    SYS_sched_getaffinity SYS_sched_getattr SYS_mlock SYS_mlock2 SYS_munlock SYS_mlockall SYS_munlockall SYS_prctl
    SYS_sync SYS_syncfs SYS_gettid SYS_readahead SYS_setxattr SYS_lsetxattr SYS_fsetxattr SYS_getxattr SYS_lgetxattr
    SYS_fgetxattr SYS_listxattr SYS_llistxattr SYS_flistxattr SYS_removexattr SYS_lremovexattr SYS_fremovexattr
    SYS_futex SYS_futex_waitv SYS_set_tid_address SYS_restart_syscall SYS_fadvise64 SYS_timer_create
    SYS_timer_settime SYS_timer_gettime SYS_timer_getoverrun SYS_timer_delete SYS_clock_gettime SYS_clock_getres
    SYS_clock_nanosleep SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_epoll_create1 SYS_mbind SYS_set_mempolicy
    SYS_get_mempolicy SYS_ioprio_get SYS_openat
    SYS_openat2 SYS_newfstatat SYS_statx SYS_faccessat SYS_faccessat2 SYS_pselect6 SYS_ppoll SYS_set_robust_list
    SYS_get_robust_list SYS_splice SYS_tee SYS_vmsplice SYS_sync_file_range SYS_utimensat SYS_signalfd4
    SYS_timerfd_create SYS_timerfd_settime SYS_timerfd_gettime SYS_eventfd2 SYS_fallocate SYS_pipe2 SYS_getcpu
    SYS_getrandom SYS_membarrier SYS_rseq SYS_copy_file_range SYS_pkey_mprotect SYS_pkey_alloc SYS_pkey_free
    SYS_pidfd_open SYS_pidfd_send_signal SYS_close_range SYS_seccomp SYS_landlock_create_ruleset
    SYS_landlock_add_rule SYS_landlock_restrict_self
};

#[cfg(target_arch = "x86_64")]
static ALLOWED_HERE: &[libc::c_long] = numbers! {
    SYS_open SYS_stat SYS_lstat SYS_poll SYS_access SYS_pipe SYS_select SYS_dup2 SYS_pause SYS_alarm SYS_fork SYS_vfork
    SYS_getdents SYS_rename SYS_mkdir SYS_rmdir SYS_creat SYS_link SYS_unlink SYS_symlink SYS_readlink SYS_chown
    SYS_lchown SYS_utime SYS_utimes SYS_futimesat SYS_getpgrp SYS_arch_prctl SYS_time SYS_epoll_create SYS_epoll_wait
    SYS_signalfd SYS_eventfd
};
#[cfg(target_arch = "aarch64")]
static ALLOWED_HERE: &[libc::c_long] = &[];

const fn statement(code: u32, value: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k: value }
}

const fn jump(code: u32, value: u32, then: u8, otherwise: u8) -> sock_filter {
    sock_filter { code: code as u16, jt: then, jf: otherwise, k: value }
}

const fn load(offset: u32) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

const fn answer(action: u32) -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, action)
}

const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;

const fn error(number: i32) -> u32 {
    if number == COLLECTOR { ASK } else { ERROR | number.unsigned_abs() }
}

/// The same filter, where nobody can be asked: refuses.
pub(crate) fn that_asks_nobody(program: &[sock_filter]) -> Vec<sock_filter> {
    program.iter().map(|it| if is_answer(it, ASK) { answer(error(EPERM)) } else { *it }).collect()
}

fn is_answer(instruction: &sock_filter, action: u32) -> bool {
    u32::from(instruction.code) == libc::BPF_RET | libc::BPF_K && instruction.k == action
}

/// The filter as the kernel takes it: a search tree over ranges of numbers. The kernel tries every number when it
/// takes a filter, which a list of all of them makes slow.
pub(crate) fn program() -> Vec<sock_filter> {
    program_of(&calls())
}

/// The filter for commands without namespaces.
pub(crate) fn program_alone() -> Vec<sock_filter> {
    let mut calls = calls();
    calls.extend(GUARDED_ALONE.iter().map(guarded));
    for number in ASKED_ALONE {
        let answers = calls.get_mut(&low(*number)).into_iter().flatten();
        answers.filter(|it| is_answer(it, ALLOW)).for_each(|it| *it = answer(ASK));
    }
    program_of(&calls)
}

fn program_of(calls: &Calls) -> Vec<sock_filter> {
    let mut program =
        vec![load(ARCHITECTURE_AT), jump(EQUAL, ARCHITECTURE, 1, 0), answer(KILL), load(NUMBER_AT)];
    program.extend(tree(&ranges(calls)));
    program
}

/// The treatment of each known call, by its number.
type Calls = BTreeMap<u32, Vec<sock_filter>>;

fn calls() -> Calls {
    let mut calls = Calls::new();
    calls.extend(ALLOWED.iter().chain(ALLOWED_HERE).map(|number| (low(*number), vec![answer(ALLOW)])));
    calls.extend(REFUSED.iter().map(|number| (low(*number), vec![answer(error(EPERM))])));
    calls.extend(GUARDED.iter().map(guarded));
    calls
}

fn guarded(guarded: &Guarded) -> (u32, Vec<sock_filter>) {
    let tests = guarded.tests.iter().flat_map(|test| tested(test, error(guarded.error)));
    (low(guarded.number), tests.chain([answer(ALLOW)]).collect())
}

/// From this number on, up to the next range.
type Range = (u32, Vec<sock_filter>);

fn ranges(calls: &Calls) -> Vec<Range> {
    let unknown = || vec![answer(error(ENOSYS))];
    let mut ranges: Vec<Range> = vec![(0, unknown())];
    let mut next = 0;
    for (&number, body) in calls {
        if number > next {
            push(&mut ranges, next, unknown());
        }
        push(&mut ranges, number, body.clone());
        next = number + 1;
    }
    push(&mut ranges, next, unknown());
    ranges
}

fn push(ranges: &mut Vec<Range>, from: u32, body: Vec<sock_filter>) {
    let same = |left: &[sock_filter], right: &[sock_filter]| {
        let key = |it: &sock_filter| (it.code, it.jt, it.jf, it.k);
        left.iter().map(key).eq(right.iter().map(key))
    };
    match ranges.last_mut() {
        Some((_, last)) if same(last, &body) => {}
        Some((start, last)) if *start == from => *last = body,
        _ => ranges.push((from, body)),
    }
}

fn tree(ranges: &[Range]) -> Vec<sock_filter> {
    const AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    const ALWAYS: u32 = libc::BPF_JMP | libc::BPF_JA;
    let (lower, upper) = ranges.split_at(ranges.len() / 2);
    match (lower, upper) {
        ([], [(_, body)]) => body.clone(),
        (_, [(start, _), ..]) => {
            let left = tree(lower);
            let mut program = match u8::try_from(left.len()) {
                Ok(length) => vec![jump(AT_LEAST, *start, length, 0)],
                // Conditional jumps are short.
                Err(_) => {
                    let length = u32::try_from(left.len()).unwrap_or(u32::MAX);
                    vec![jump(AT_LEAST, *start, 0, 1), statement(ALWAYS, length)]
                }
            };
            program.extend(left);
            program.extend(tree(upper));
            program
        }
        (_, []) => Vec::new(),
    }
}

fn low(number: libc::c_long) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn tested(test: &Test, refusal: u32) -> [sock_filter; 4] {
    let (equal, other) = match test.refuse {
        Refuse::IfEqual => (0, 1),
        Refuse::IfOther => (1, 0),
    };
    [
        load(ARGUMENTS_AT + 8 * test.argument),
        statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, test.mask),
        jump(EQUAL, test.value, equal, other),
        answer(refusal),
    ]
}

/// A filter and its hash, as evidence names it.
pub(crate) fn written() -> &'static (Vec<u8>, String) {
    static WRITTEN: OnceLock<(Vec<u8>, String)> = OnceLock::new();
    WRITTEN.get_or_init(|| bytes_of(&program()))
}

/// The same for commands without namespaces.
pub(crate) fn written_alone() -> (Vec<u8>, String) {
    bytes_of(&program_alone())
}

fn bytes_of(program: &[sock_filter]) -> (Vec<u8>, String) {
    let mut bytes = Vec::new();
    for &sock_filter { code, jt, jf, k } in program {
        bytes.extend(code.to_le_bytes());
        bytes.extend([jt, jf]);
        bytes.extend(k.to_le_bytes());
    }
    let hash = crate::beneath::sha256_text(Sha256::new_with_prefix(&bytes));
    (bytes, hash)
}

/// Reads what [`written`] wrote.
pub(crate) fn read(bytes: &[u8]) -> Vec<sock_filter> {
    let (instructions, _) = bytes.as_chunks::<8>();
    let instruction = |&[code, more, jt, jf, k @ ..]: &[u8; 8]| sock_filter {
        code: u16::from_le_bytes([code, more]),
        jt,
        jf,
        k: u32::from_le_bytes(k),
    };
    instructions.iter().map(instruction).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer that the kernel's interpreter would give.
    fn verdict(architecture: u32, number: u32, arguments: [u32; 6]) -> u32 {
        verdict_of(&read(&written().0), architecture, number, arguments)
    }

    fn verdict_of(program: &[sock_filter], architecture: u32, number: u32, arguments: [u32; 6]) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            let code = u32::from(code);
            at += 1;
            let take = |condition: bool| usize::from(if condition { jt } else { jf });
            if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS {
                value = match k {
                    NUMBER_AT => number,
                    ARCHITECTURE_AT => architecture,
                    offset => arguments[((offset - ARGUMENTS_AT) / 8) as usize],
                };
            } else if code == libc::BPF_ALU | libc::BPF_AND | libc::BPF_K {
                value &= k;
            } else if code == EQUAL {
                at += take(value == k);
            } else if code == libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K {
                at += take(value >= k);
            } else if code == libc::BPF_JMP | libc::BPF_JA {
                at += k as usize;
            } else if code == libc::BPF_RET | libc::BPF_K {
                return k;
            } else {
                panic!("unknown instruction {code}");
            }
        }
    }

    #[test]
    fn every_number_gets_its_answer() {
        let guarded: Vec<u32> = GUARDED.iter().map(|it| low(it.number)).collect();
        for number in 0..1_000 {
            let listed = |list: &[libc::c_long]| list.iter().any(|it| low(*it) == number);
            let expected = if listed(ALLOWED) || listed(ALLOWED_HERE) {
                ALLOW
            } else if listed(REFUSED) {
                error(EPERM)
            } else if guarded.contains(&number) {
                continue;
            } else {
                error(ENOSYS)
            };
            assert_eq!(verdict(ARCHITECTURE, number, [0; 6]), expected, "{number}");
        }
        // The x32 calls of x86-64, and another architecture.
        assert_eq!(verdict(ARCHITECTURE, 0x4000_0000, [0; 6]), error(ENOSYS));
        assert_eq!(verdict(ARCHITECTURE ^ 1, 0, [0; 6]), KILL);
    }

    #[test]
    fn without_namespaces_some_calls_are_guarded_more_closely() {
        let program = read(&written_alone().0);
        let asked = |number: libc::c_long, arguments: &[u32]| {
            let mut all = [0; 6];
            all[..arguments.len()].copy_from_slice(arguments);
            verdict_of(&program, ARCHITECTURE, low(number), all)
        };
        assert_eq!(asked(libc::SYS_clone, &[17]), ASK);
        assert_eq!(asked(libc::SYS_clone, &[17 | libc::CLONE_NEWUSER.unsigned_abs()]), error(EPERM));
        #[cfg(target_arch = "x86_64")]
        assert_eq!((asked(libc::SYS_fork, &[]), asked(libc::SYS_vfork, &[])), (ASK, ASK));
        assert_eq!(asked(libc::SYS_socket, &[1, 1]), error(EAFNOSUPPORT));
        assert_eq!(asked(libc::SYS_connect, &[3]), error(EPERM));
        for (kind, answer) in [(1, ALLOW), (5, ALLOW), (2, error(EAFNOSUPPORT)), (3, error(EAFNOSUPPORT))] {
            assert_eq!(asked(libc::SYS_socketpair, &[1, kind | libc::SOCK_CLOEXEC as u32]), answer);
        }
        assert_eq!(
            (asked(libc::SYS_seccomp, &[1, 0]), asked(libc::SYS_seccomp, &[1, 9])),
            (ALLOW, error(EPERM))
        );
        assert_eq!(asked(libc::SYS_fchown, &[3]), error(EPERM));
        assert_eq!(asked(libc::SYS_setxattr, &[3]), error(EOPNOTSUPP));
        assert_eq!(asked(libc::SYS_getxattr, &[3]), ALLOW);
        assert_eq!(asked(libc::SYS_execve, &[]), ALLOW);
    }

    #[test]
    fn lists_do_not_overlap() {
        let guarded = GUARDED.iter().map(|it| it.number);
        let mut all: Vec<_> =
            ALLOWED.iter().chain(ALLOWED_HERE).chain(REFUSED).copied().chain(guarded).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn arguments_are_looked_at() {
        let asked = |number: libc::c_long, arguments: &[u32]| {
            let mut all = [0; 6];
            all[..arguments.len()].copy_from_slice(arguments);
            verdict(ARCHITECTURE, low(number), all)
        };
        assert_eq!(asked(libc::SYS_clone, &[17]), ALLOW);
        for flag in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWNET, libc::CLONE_NEWPID, 0x80] {
            assert_eq!(asked(libc::SYS_clone, &[17 | flag.unsigned_abs()]), error(EPERM));
        }
        assert_eq!(asked(libc::SYS_socket, &[1, 1]), ALLOW);
        for family in [2, 10, 16, 17, 40] {
            assert_eq!(asked(libc::SYS_socket, &[family]), error(EAFNOSUPPORT));
        }
        assert_eq!(asked(libc::SYS_ioctl, &[0, 0x5401]), ALLOW);
        assert_eq!(asked(libc::SYS_ioctl, &[0, TERMINAL_INPUT]), error(EPERM));
        assert_eq!(asked(libc::SYS_fchmod, &[3, 0o755]), ALLOW);
        assert_eq!(asked(libc::SYS_fchmod, &[3, 0o4755]), error(EPERM));
        assert_eq!(asked(libc::SYS_fchmodat, &[3, 0, 0o2755]), error(EPERM));
        assert_eq!(asked(libc::SYS_mknodat, &[3, 0, libc::S_IFIFO | 0o600]), ALLOW);
        assert_eq!(asked(libc::SYS_mknodat, &[3, 0, libc::S_IFCHR | 0o600]), error(EPERM));
        let (shared, private, anonymous) = (1, 2, 0x20);
        assert_eq!(asked(libc::SYS_mmap, &[0, 1, 3, private | anonymous]), ALLOW);
        assert_eq!(asked(libc::SYS_mmap, &[0, 1, 3, shared]), ALLOW);
        assert_eq!(asked(libc::SYS_mmap, &[0, 1, 3, shared | anonymous]), ASK);
        assert_eq!(asked(libc::SYS_mmap, &[0, 1, 3, shared | private | anonymous | 0x4000]), ASK);
        assert_eq!(asked(libc::SYS_setsockopt, &[3, 1, libc::SO_SNDBUF as u32]), ERROR);
        assert_eq!(asked(libc::SYS_setsockopt, &[3, 1, libc::SO_PASSCRED as u32]), ALLOW);
        assert_eq!(asked(libc::SYS_prlimit64, &[0, 7]), ALLOW);
        assert_eq!(asked(libc::SYS_prlimit64, &[1, 7]), error(EPERM));
    }
}
