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
        "family" => family(),
        "stop_init" => stop_init(),
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
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("environ"));
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
fn family() -> Tried {
    for _ in 0..4 {
        if unsafe { libc::fork() } == 0 {
            unsafe { libc::setsid() };
        }
    }
    std::thread::sleep(Duration::from_secs(60));
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
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    // Rust itself ignores one.
    let ignored = set("SigIgn:") & !(1 << (libc::SIGPIPE - 1));
    if set("SigBlk:") | ignored != 0 { Ok(()) } else { Err("no signal is ignored or blocked".to_owned()) }
}

/// What a process of the same user could do to pid 1, which watches it.
fn stop_init() -> Tried {
    for signal in [libc::SIGSTOP, libc::SIGKILL, libc::SIGTERM] {
        unsafe { libc::kill(1, signal) };
    }
    let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let limited = unsafe { libc::prlimit(1, libc::RLIMIT_NOFILE, &raw const limit, std::ptr::null_mut()) };
    called(limited.into()).or_else(|_| called(unsafe { libc::setpriority(libc::PRIO_PROCESS, 1, 19) }.into()))
}
