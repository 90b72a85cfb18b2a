//! Behaviours that reach for the collector: for its reads, its looks at memory, and its list of changes.

use crate::{Tried, called, done};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

pub(crate) fn try_one(name: &str) -> Option<Tried> {
    Some(match name {
        "steal_stream" => steal_stream(),
        "shared_leftovers" => shared_leftovers(libc::MAP_ANONYMOUS, -1),
        "zero_leftovers" => {
            let zero = File::open("/dev/zero").unwrap();
            shared_leftovers(0, zero.as_raw_fd())
        }
        "shared_again" => (0..4).try_for_each(|_| forked(|| shared(400, libc::MAP_ANONYMOUS, -1).map(drop))),
        "headless_hog" => headless_hog(),
        "pipe_hog" => pipe_hog(),
        "large_sockets" => large_sockets(),
        "vfork_with_much" => vfork_with_much(),
        "all_mappings" => all_mappings(),
        "sparse_many" => done((0..60).try_for_each(|it| File::create(format!("f{it}"))?.set_len(1 << 30))),
        "links_many" => links_many(),
        "epoll_watches" => epoll_watches(),
        "timers" => timers(),
        _ => return None,
    })
}

/// Takes back what was just announced to whoever reads the streams, again and again: one of their reads waits for it.
fn steal_stream() -> Tried {
    let open = |path| fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let (out, mut err) = (open("/proc/self/fd/1").unwrap(), open("/proc/self/fd/2").unwrap());
    // SAFETY (this and all below): plain system calls whose arguments own their memory.
    unsafe { libc::fcntl(1, libc::F_SETFL, libc::O_NONBLOCK) };
    let waiting = || {
        let mut bytes: libc::c_int = 0;
        unsafe { libc::ioctl(out.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
        bytes
    };
    let block = [b'x'; 65_536];
    let write =
        |descriptor, bytes: &[u8]| unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
    for _ in 0..1_000 {
        write(2, b"e");
        write(1, &block);
        let start = Instant::now();
        while waiting() == 65_536 && start.elapsed() < Duration::from_millis(500) {}
        let stolen = err.read(&mut [0; 1]).is_ok_and(|length| length == 1);
        std::thread::sleep(Duration::from_millis(2));
        if stolen {
            write(1, b"x");
            std::thread::sleep(Duration::from_millis(100));
            if waiting() >= 1 {
                // Nobody reads any more. Standard output is of no use now.
                std::thread::sleep(Duration::from_secs(20));
                return Ok(());
            }
        }
    }
    std::thread::sleep(Duration::from_secs(20));
    Err("they still read".to_owned())
}

fn shared(mebibytes: usize, flags: i32, descriptor: i32) -> Result<*mut u8, String> {
    let length = mebibytes << 20;
    let (protection, flags) = (libc::PROT_READ, flags | libc::MAP_SHARED | libc::MAP_NORESERVE);
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, descriptor, 0) };
    if start == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error().to_string());
    }
    for page in (0..length).step_by(4_096) {
        unsafe { start.cast::<u8>().add(page).read_volatile() };
    }
    Ok(start.cast())
}

/// Memory that stays in use, though all but one page of it is no longer mapped.
fn shared_leftovers(flags: i32, descriptor: i32) -> Tried {
    for _ in 0..12 {
        let start = shared(128, flags, descriptor)?;
        unsafe { libc::munmap(start.add(4_096).cast(), (128 << 20) - 4_096) };
    }
    Ok(())
}

/// Does something in another process, and waits for it.
fn forked(work: impl Fn() -> Tried) -> Tried {
    let child = unsafe { libc::fork() };
    if child == 0 {
        std::process::exit(i32::from(work().is_err()));
    }
    std::thread::sleep(Duration::from_millis(100));
    let mut status = 0;
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    std::thread::sleep(Duration::from_millis(100));
    if status == 0 { Ok(()) } else { Err("it was refused".to_owned()) }
}

/// Processes whose first thread has ended, and whose other thread takes memory.
fn headless_hog() -> Tried {
    let mut children = Vec::new();
    for _ in 0..3 {
        match unsafe { libc::fork() } {
            0 => {
                std::thread::spawn(|| {
                    std::thread::sleep(Duration::from_millis(100));
                    let memory = vec![7_u8; 600 << 20];
                    std::thread::sleep(Duration::from_secs(2));
                    std::process::exit(i32::from(memory.last() != Some(&7)));
                });
                unsafe { libc::syscall(libc::SYS_exit, 0) };
            }
            child => children.push(child),
        }
    }
    let mut status = 0;
    let is_well = |child: &i32| unsafe { libc::waitpid(*child, &raw mut status, 0) } == *child && status == 0;
    if children.iter().all(is_well) { Ok(()) } else { Err("some failed".to_owned()) }
}

/// Full pipes in many processes.
fn pipe_hog() -> Tried {
    let fill = || {
        let mut pipes = Vec::new();
        for _ in 0..500 {
            let (reader, mut writer) = std::io::pipe()?;
            unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
            while writer.write(&[7; 4_096]).is_ok() {}
            pipes.push((reader, writer));
        }
        Ok::<_, std::io::Error>(pipes)
    };
    // All of them hold theirs at the same time, however slow the machine is.
    let pipe = || std::io::pipe().map_err(|error| error.to_string());
    let ((mut all_filled, filled), (held, hold)) = (pipe()?, pipe()?);
    let mut children = Vec::new();
    for _ in 0..180 {
        match unsafe { libc::fork() } {
            0 => {
                drop(hold);
                let done = fill();
                let _ = (&filled).write(&[0]);
                let _ = (&held).read(&mut [0]);
                std::process::exit(i32::from(done.is_err()));
            }
            -1 => {}
            child => children.push(child),
        }
    }
    drop(filled);
    let _ = all_filled.read_exact(&mut vec![0; children.len()]);
    std::thread::sleep(Duration::from_secs(3));
    drop(hold);
    for child in children {
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
    Ok(())
}

/// A socket that has more on its way than others.
fn large_sockets() -> Tried {
    let (mut left, _right) = std::os::unix::net::UnixStream::pair().unwrap();
    let bytes: libc::c_int = 4 << 20;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    let option = (libc::SOL_SOCKET, libc::SO_SNDBUF);
    let set =
        unsafe { libc::setsockopt(left.as_raw_fd(), option.0, option.1, (&raw const bytes).cast(), length) };
    called(set.into())?;
    left.set_nonblocking(true).unwrap();
    let mut sent = 0;
    while let Ok(length) = left.write(&[7; 4_096]) {
        sent += length;
    }
    if sent > 300 << 10 { Ok(()) } else { Err(format!("it holds {sent} bytes")) }
}

/// Nothing hostile: 600 MiB, and a child that has the same ones for a moment.
fn vfork_with_much() -> Tried {
    let memory = vec![7_u8; 600 << 20];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let mut stack = vec![0_u8; 1 << 16];
    extern "C" fn child(_: *mut libc::c_void) -> libc::c_int {
        unsafe { libc::usleep(300_000) };
        0
    }
    let top = unsafe { stack.as_mut_ptr().add(1 << 16) };
    called(unsafe { libc::clone(child, top.cast(), flags, std::ptr::null_mut()) }.into())?;
    if memory.last() == Some(&7) { Ok(()) } else { Err("it is gone".to_owned()) }
}

/// So many mappings that looking at them takes long, and memory meanwhile.
fn all_mappings() -> Tried {
    const MAPPINGS: usize = 60_000;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let start = unsafe { libc::mmap(std::ptr::null_mut(), MAPPINGS << 12, libc::PROT_READ, flags, -1, 0) };
    for number in (0..MAPPINGS).step_by(2) {
        let at = unsafe { start.cast::<u8>().add(number << 12) };
        called(unsafe { libc::mprotect(at.cast(), 4_096, libc::PROT_NONE) }.into())?;
    }
    for _ in 0..40 {
        if unsafe { libc::fork() } == 0 {
            std::thread::sleep(Duration::from_secs(3));
            std::process::exit(0);
        }
    }
    std::thread::sleep(Duration::from_secs(3));
    Ok(())
}

fn links_many() -> Tried {
    done(fs::write("f", vec![b'x'; 40 << 20]))?;
    done((0..1_500).try_for_each(|it| fs::hard_link("f", format!("l{it}"))))
}

/// Many watches: each costs the kernel memory that no process has, and the user has only so many of them.
fn epoll_watches() -> Tried {
    const EACH: usize = 300;
    let events: Vec<i32> = (0..EACH).map(|_| unsafe { libc::eventfd(0, 0) }).collect();
    for _ in 0..EACH {
        let epoll = unsafe { libc::epoll_create1(0) };
        called(epoll.into())?;
        for event in &events {
            let mut watched = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            called(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, *event, &raw mut watched) }.into())?;
        }
    }
    std::thread::sleep(Duration::from_secs(3));
    Ok(())
}

/// More timers than anybody needs, which count for the user outside the sandbox too.
fn timers() -> Tried {
    (0..2_000).try_for_each(|_| {
        let mut timer: libc::timer_t = std::ptr::null_mut();
        called(
            unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, std::ptr::null_mut(), &raw mut timer) }.into(),
        )
    })
}
