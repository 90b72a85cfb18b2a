//! Behaviours that reach for other processes, or for too much of the machine.

use crate::{Tried, called, done};
use std::fs;
use std::io::Write;
use std::time::Duration;

const SECRET: &[u8] = b"planted-secret";

pub(crate) fn try_one(name: &str, arguments: &[&str]) -> Option<Tried> {
    let argument = arguments.first().copied().unwrap_or_default();
    let process = || argument.parse::<i32>().unwrap();
    Some(match name {
        // SAFETY (this and all below): plain system calls whose arguments own their memory.
        "kill_victim" => called(unsafe { libc::kill(process(), 0) }.into()),
        "ptrace_victim" => ptrace_victim(process()),
        "victim_environ" => holds_secret(&format!("/proc/{}/environ", process())),
        "pid1_environ" => pid1_environ(),
        "inherited_fd" => {
            let is_open = |descriptor: &i32| unsafe { libc::fcntl(*descriptor, libc::F_GETFD) } >= 0;
            (3..=200).find(is_open).map(drop).ok_or_else(|| "none is open".to_owned())
        }
        "env_secret" => std::env::var("ORDAIN_TEST_SECRET").map(drop).map_err(|error| error.to_string()),
        "fork_bomb" => fork_bomb(),
        "mem_hog" => hog(1_536, libc::MAP_PRIVATE),
        "shared_hog" => hog(1_536, libc::MAP_SHARED),
        "mem_hog_multi" => mem_hog_multi(),
        "memfd_hog" => memfd_hog(),
        "page_tables" => page_tables(),
        "many_mappings" => many_mappings(),
        "socket_hog" => socket_hog(),
        "pipe_in_transit" => pipe_in_transit(),
        "ignore_term" => ignore_term(),
        "daemon" => daemon(argument),
        "stdout_flood" => flood(200),
        "core_dump" => core_dump(),
        "inherited_signals" => inherited_signals(),
        "close_stdout" => {
            unsafe { libc::close(1) };
            unsafe { libc::close(2) };
            std::thread::sleep(Duration::from_millis(200));
            std::process::exit(3);
        }
        "family" => family(argument.parse().unwrap_or(60)),
        "stop_init" => stop_init(process()),
        _ => return None,
    })
}

fn ptrace_victim(process: i32) -> Tried {
    const SEIZE: libc::c_uint = 0x4206;
    called(unsafe { libc::ptrace(SEIZE, process, 0, 0) })?;
    unsafe { libc::ptrace(libc::PTRACE_DETACH, process, 0, 0) };
    Ok(())
}

fn holds_secret(file: &str) -> Tried {
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    match bytes.windows(SECRET.len()).any(|window| window == SECRET) {
        true => Ok(()),
        false => Err("there is no secret".to_owned()),
    }
}

fn pid1_environ() -> Tried {
    for name in ["mem", "maps", "environ"] {
        if std::process::id() != 1 && fs::File::open(format!("/proc/1/{name}")).is_ok() {
            return Ok(());
        }
    }
    let processes = fs::read_dir("/proc").map_err(|error| error.to_string())?;
    let processes = processes.flatten().map(|entry| entry.path().join("environ"));
    let found = processes.filter_map(|file| holds_secret(file.to_str()?).ok()).next();
    found.ok_or_else(|| "no process has it".to_owned())
}

fn fork_bomb() -> Tried {
    let mut children = Vec::new();
    let mut tried = Ok(());
    for _ in 0..300 {
        match unsafe { libc::fork() } {
            0 => {
                std::thread::sleep(Duration::from_secs(30));
                std::process::exit(0);
            }
            child if child > 0 => children.push(child),
            _ => {
                tried = Err(format!("{} after {} forks", std::io::Error::last_os_error(), children.len()));
                break;
            }
        }
    }
    for child in children {
        unsafe { libc::kill(child, libc::SIGKILL) };
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
    tried
}

/// Touches memory. Shared memory is taken out of the page tables again, where it stays in use but is not resident.
fn hog(mebibytes: usize, kind: i32) -> Tried {
    let length = mebibytes << 20;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, kind | libc::MAP_ANONYMOUS);
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error().to_string());
    }
    for block in 0..mebibytes {
        let at = unsafe { start.cast::<u8>().add(block << 20) };
        for page in (0..1 << 20).step_by(4096) {
            unsafe { at.add(page).write_volatile(1) };
        }
        if kind == libc::MAP_SHARED {
            unsafe { libc::madvise(at.cast(), 1 << 20, libc::MADV_DONTNEED) };
        }
    }
    std::thread::sleep(Duration::from_millis(500));
    unsafe { libc::munmap(start, length) };
    Ok(())
}

fn mem_hog_multi() -> Tried {
    let mut children = Vec::new();
    for _ in 0..5 {
        match unsafe { libc::fork() } {
            0 => {
                let hogged = hog(256, libc::MAP_PRIVATE);
                std::thread::sleep(Duration::from_secs(2));
                std::process::exit(i32::from(hogged.is_err()));
            }
            child => children.push(child),
        }
    }
    let mut failed = 0;
    for child in children {
        let mut status = 0;
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        failed += i32::from(status != 0);
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of them failed")) }
}

/// Memory that belongs to descriptors, not to any address space.
fn memfd_hog() -> Tried {
    let block = vec![7; 1 << 20];
    let mut files = Vec::new();
    for _ in 0..3 {
        let descriptor = unsafe { libc::memfd_create(c"hog".as_ptr(), 0) };
        called(descriptor.into())?;
        let mut file = unsafe { <fs::File as std::os::fd::FromRawFd>::from_raw_fd(descriptor) };
        done((0..512).try_for_each(|_| file.write_all(&block)))?;
        files.push(file);
    }
    Ok(())
}

/// Reads one page in each 2 MiB of a large range: no page is its own, but each needs a table of 4 KiB.
fn page_tables() -> Tried {
    const TABLES: usize = 320_000;
    let length = TABLES << 21;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error().to_string());
    }
    unsafe { libc::madvise(start, length, libc::MADV_NOHUGEPAGE) };
    for table in 0..TABLES {
        unsafe { start.cast::<u8>().add(table << 21).read_volatile() };
    }
    std::thread::sleep(Duration::from_millis(500));
    Ok(())
}

/// Mappings that cannot be joined, in many processes: the kernel remembers each of them, and telling them takes time.
fn many_mappings() -> Tried {
    const MAPPINGS: usize = 60_000;
    let (flags, page) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, 4_096);
    let start = unsafe { libc::mmap(std::ptr::null_mut(), MAPPINGS * page, libc::PROT_READ, flags, -1, 0) };
    for number in (0..MAPPINGS).step_by(2) {
        let at = unsafe { start.cast::<u8>().add(number * page) };
        called(unsafe { libc::mprotect(at.cast(), page, libc::PROT_NONE) }.into())?;
    }
    for _ in 0..40 {
        if unsafe { libc::fork() } == 0 {
            std::thread::sleep(Duration::from_secs(30));
            std::process::exit(0);
        }
    }
    println!("WAITING");
    std::thread::sleep(Duration::from_secs(30));
    Ok(())
}

/// Full sockets in several processes. Their content belongs to nobody's address space.
fn socket_hog() -> Tried {
    let mut children = Vec::new();
    for _ in 0..12 {
        match unsafe { libc::fork() } {
            0 => {
                let filled = fill_sockets(490);
                std::thread::sleep(Duration::from_secs(1));
                std::process::exit(i32::from(filled.is_err()));
            }
            child => children.push(child),
        }
    }
    let mut failed = 0;
    for child in children {
        let mut status = 0;
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        failed += i32::from(status != 0);
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of them failed")) }
}

fn fill_sockets(pairs: usize) -> std::io::Result<Vec<std::os::unix::net::UnixStream>> {
    let block = vec![7; 1 << 16];
    let mut sockets = Vec::new();
    for _ in 0..pairs {
        let (mut left, right) = std::os::unix::net::UnixStream::pair()?;
        left.set_nonblocking(true)?;
        while left.write(&block).is_ok() {}
        sockets.extend([left, right]);
    }
    Ok(sockets)
}

/// Ends with its standard output on its way through a socket that holds itself, which only the kernel's own sweep
/// finds.
fn pipe_in_transit() -> Tried {
    use std::os::fd::AsRawFd;
    let (left, right) = std::os::unix::net::UnixStream::pair().map_err(|error| error.to_string())?;
    let mut control = [0_u64; 4];
    let descriptors = [1, left.as_raw_fd(), right.as_raw_fd()];
    // SAFETY: the message and all that it points to live until the call is over, and the lengths are theirs.
    unsafe {
        let mut byte = 0_u8;
        let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(12) as usize;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(12) as usize;
        std::ptr::copy_nonoverlapping(descriptors.as_ptr(), libc::CMSG_DATA(header).cast(), 3);
        called(libc::sendmsg(left.as_raw_fd(), &raw const message, 0) as libc::c_long)
    }
}

fn ignore_term() -> Tried {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    println!("WAITING");
    std::thread::sleep(Duration::from_secs(60));
    Ok(())
}

/// Leaves a process behind that writes a file later.
fn daemon(file: &str) -> Tried {
    if unsafe { libc::fork() } == 0 {
        unsafe { libc::setsid() };
        if unsafe { libc::fork() } == 0 {
            std::thread::sleep(Duration::from_secs(1));
            let _ = fs::write(file, "x");
            std::thread::sleep(Duration::from_secs(if file.is_empty() { 60 } else { 0 }));
        }
        std::process::exit(0);
    }
    Ok(())
}

/// A tree of sleeping processes, each in a session of its own.
fn family(seconds: u64) -> Tried {
    for _ in 0..4 {
        if unsafe { libc::fork() } == 0 {
            unsafe { libc::setsid() };
        }
    }
    std::thread::sleep(Duration::from_secs(seconds));
    Ok(())
}

fn flood(mebibytes: usize) -> Tried {
    let block = vec![b'x'; 1 << 20];
    let mut out = std::io::stdout().lock();
    done((0..mebibytes).try_for_each(|_| out.write_all(&block)))?;
    done(out.write_all(b"\n"))
}

fn core_dump() -> Tried {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    unsafe { libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit) };
    // To the kernel 1 means none at all, not even for a program that the host has for them; 0 only means no file.
    if limit.rlim_max != 1 {
        return Ok(());
    }
    println!("STOPPED core_dump: the limit is 1");
    std::process::abort()
}

fn inherited_signals() -> Tried {
    // Rust itself ignores one, and the C library keeps two to itself.
    let mut signals = (1..=64).filter(|signal| ![libc::SIGPIPE, 32, 33].contains(signal));
    let is_kept_from_us = |signal: i32| unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut blocked);
        action.sa_sigaction == libc::SIG_IGN || libc::sigismember(&raw const blocked, signal) == 1
    };
    match signals.find(|signal| is_kept_from_us(*signal)) {
        Some(_) => Ok(()),
        None => Err("no signal is ignored or blocked".to_owned()),
    }
}

/// Attacks of a process of the same user on pid 1, which watches it. Where the victim is seen, it is the
/// target.
fn stop_init(victim: i32) -> Tried {
    let is_seen = unsafe { libc::kill(victim, 0) } == 0;
    let target = if is_seen { victim } else { 1 };
    if !is_seen {
        for signal in [libc::SIGSTOP, libc::SIGKILL, libc::SIGTERM] {
            unsafe { libc::kill(target, signal) };
        }
    }
    let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let limited =
        unsafe { libc::prlimit(target, libc::RLIMIT_NOFILE, &raw const limit, std::ptr::null_mut()) };
    let slowed = unsafe { libc::setpriority(libc::PRIO_PROCESS, target.cast_unsigned(), 19) };
    called(limited.into()).or_else(|_| called(slowed.into()))
}
