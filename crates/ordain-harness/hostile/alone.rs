//! Behaviours that reach for what only a namespace would keep by itself: the end of all processes, the size of folders,
//! the processes and sockets of the host.

use crate::{Tried, called, done};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

pub(crate) fn try_one(name: &str, arguments: &[&str]) -> Option<Tried> {
    let path = arguments.first().copied().unwrap_or_default();
    // How much, the last argument: less is enough where nobody counts.
    let count = arguments.last().and_then(|it| it.parse().ok()).unwrap_or(1_500);
    Some(match name {
        "hoppers" => hoppers(path, if arguments.len() > 1 { count } else { 0 }),
        "fill_slowly" => fill_slowly(&format!("{path}/"), count),
        "fill_locked" => fill_locked(count),
        "fill_deleted" => fill_deleted(count),
        "many_files" => many_files(),
        "stop_parent" => stop_parent(),
        "datagram" => datagram(path),
        "whiteout" => whiteout(),
        "read_command_line" => done(fs::read(format!("/proc/{path}/cmdline"))),
        "touch_out" => done(touch(path)),
        "give_away" => done(std::os::unix::fs::chown(path, None, Some(unsafe { libc::getgid() }))),
        "attribute_out" => attribute(path),
        "unreadable" => unreadable(),
        "second_listener" => second_listener(),
        "kill_all" => kill_all(),
        _ => return None,
    })
}

/// Processes that fork and end at once, again and again, each in a session of its own, so a search for them
/// comes too late. They leave a file if they are there after a while. The process that takes over orphans
/// outside of the sandbox is slow to let them go, so they pause there for some milliseconds.
fn hoppers(late: &str, pause_ms: u32) -> Tried {
    for _ in 0..20 {
        // SAFETY (this and all below): plain system calls whose arguments own their memory.
        if unsafe { libc::fork() } == 0 {
            hop(late, Duration::from_millis(pause_ms.into()));
        }
    }
    println!("WAITING");
    std::thread::sleep(Duration::from_secs(30));
    Ok(())
}

fn hop(late: &str, pause: Duration) -> ! {
    let start = Instant::now();
    loop {
        std::thread::sleep(pause);
        match unsafe { libc::fork() } {
            0 => {
                unsafe { libc::setsid() };
                if start.elapsed() > Duration::from_secs(3) {
                    let _ = fs::write(late, "x");
                    unsafe { libc::_exit(0) };
                }
            }
            child if child > 0 => unsafe { libc::_exit(0) },
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Much more than there is room for, in many files.
fn fill_slowly(folder: &str, count: u32) -> Tried {
    let block = vec![7; 1 << 20];
    for number in 0..count {
        if let Err(error) = fs::write(format!("{folder}fill-{number}"), &block) {
            return Err(error.to_string());
        }
    }
    Ok(())
}

/// The same where nobody may look.
fn fill_locked(count: u32) -> Tried {
    done(fs::create_dir_all("locked/inner"))?;
    done(std::env::set_current_dir("locked/inner"))?;
    let lock = || fs::set_permissions("..", fs::Permissions::from_mode(0o000));
    done(lock())?;
    std::thread::spawn(move || {
        loop {
            let _ = lock();
        }
    });
    fill_slowly("", count)
}

/// The same in files that have no name any more.
fn fill_deleted(count: u32) -> Tried {
    let block = vec![7; 1 << 20];
    let mut files = Vec::new();
    for _ in 0..count / 10 {
        done(fs::write("deleted", []))?;
        let mut file = fs::OpenOptions::new().append(true).open("deleted").map_err(|it| it.to_string())?;
        done(fs::remove_file("deleted"))?;
        done((0..10).try_for_each(|_| file.write_all(&block)))?;
        files.push(file);
    }
    Ok(())
}

fn many_files() -> Tried {
    let folder = std::env::temp_dir();
    done((0..300_000).try_for_each(|number| fs::write(folder.join(number.to_string()), "")))
}

/// Reaches for whoever started it. Only in the sandbox: otherwise that is a test.
fn stop_parent() -> Tried {
    let parent = unsafe { libc::getppid() };
    let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let sent = |signal: i32| called(unsafe { libc::kill(parent, signal) }.into());
    sent(libc::SIGSTOP)
        .or_else(|_| sent(libc::SIGKILL))
        .or_else(|_| sent(0))
        .or_else(|_| {
            called(
                unsafe { libc::prlimit(parent, libc::RLIMIT_NOFILE, &raw const limit, std::ptr::null_mut()) }
                    .into(),
            )
        })
        .or_else(|_| {
            called(unsafe { libc::setpriority(libc::PRIO_PROCESS, parent.cast_unsigned(), 19) }.into())
        })
        .or_else(|_| done(File::open(format!("/proc/{parent}/mem"))))
        .or_else(|_| done(fs::read(format!("/proc/{parent}/environ"))))
}

/// Sends to a socket of the host by way of one half of a pair.
fn datagram(path: &str) -> Tried {
    let mut pair = [0; 2];
    called(unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_DGRAM, 0, pair.as_mut_ptr()) }.into())?;
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as u16;
    for (to, from) in address.sun_path.iter_mut().zip(path.bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    let length = size_of::<libc::sockaddr_un>() as u32;
    let sent =
        unsafe { libc::sendto(pair[0], c"x".as_ptr().cast(), 1, 0, (&raw const address).cast(), length) };
    called(sent as libc::c_long)
}

/// Leaves a device that says to an overlay that a file is gone.
fn whiteout() -> Tried {
    let name = |text: &str| CString::new(text).unwrap();
    done(fs::write("moving", "x"))?;
    let (from, to) = (name("moving"), name("moved"));
    let at = libc::AT_FDCWD;
    called(unsafe {
        libc::syscall(libc::SYS_renameat2, at, from.as_ptr(), at, to.as_ptr(), libc::RENAME_WHITEOUT)
    })
}

fn touch(path: &str) -> std::io::Result<()> {
    let path = CString::new(path)?;
    match unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), std::ptr::null(), 0) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn attribute(path: &str) -> Tried {
    let path = CString::new(path).unwrap();
    called(
        unsafe { libc::setxattr(path.as_ptr(), c"user.ordain".as_ptr(), c"x".as_ptr().cast(), 1, 0) }.into(),
    )
}

/// Programs that nobody may read hide what they have.
fn unreadable() -> Tried {
    let mode = |mode: u32| fs::set_permissions("program", fs::Permissions::from_mode(mode));
    done(fs::copy("/bin/sleep", "program").and_then(|_| mode(0o111)))?;
    let mut children = Vec::new();
    for _ in 0..10 {
        match std::process::Command::new("./program").arg("3").spawn() {
            Ok(child) => children.push(child),
            Err(error) => return Err(error.to_string()),
        }
    }
    done(children.iter_mut().try_for_each(|child| child.wait().map(drop)))?;
    done(mode(0o755))
}

/// A filter that asks the command itself about new processes, once nobody else is asked.
fn second_listener() -> Tried {
    const NEW_LISTENER: libc::c_ulong = 8;
    let instruction = |code: u16, k: u32| libc::sock_filter { code, jt: 0, jf: 0, k };
    let allow = [instruction(0x06, 0x7fff_0000)];
    let program = libc::sock_fprog { len: 1, filter: allow.as_ptr().cast_mut() };
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    let refused = |flags: libc::c_ulong| unsafe {
        libc::syscall(libc::SYS_seccomp, 1 as libc::c_ulong, flags, &raw const program)
    };
    // There can be only one at a time, which is another reason.
    match (called(refused(NEW_LISTENER)), std::io::Error::last_os_error().raw_os_error()) {
        (Err(_), Some(libc::EBUSY)) => Ok(()),
        (tried, _) => tried,
    }
}

/// Signals whoever can be signalled. Only in the sandbox.
fn kill_all() -> Tried {
    unsafe { libc::kill(-1, libc::SIGKILL) };
    Ok(())
}
