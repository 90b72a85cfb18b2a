//! Behaviours that are a system call, or a network.

use crate::{Tried, called, done};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

pub(crate) fn try_one(name: &str, arguments: &[&str]) -> Option<Tried> {
    let argument = arguments.first().copied().unwrap_or_default();
    // SAFETY: plain system calls whose arguments own their memory.
    Some(unsafe {
        match name {
            "tcp_loopback" => done(TcpStream::connect(("127.0.0.1", argument.parse::<u16>().unwrap()))),
            "path_unix" => done(UnixStream::connect(argument)),
            "abstract_unix" => abstract_unix(argument),
            "packet" => called(libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0).into()),
            "raw_icmp" => called(libc::socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP).into()),
            "netlink" => called(libc::socket(libc::AF_NETLINK, libc::SOCK_RAW, 0).into()),
            "vsock" => called(libc::socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0).into()),
            "unshare_user" => called(libc::unshare(libc::CLONE_NEWUSER).into()),
            "clone_user" => clone_user(),
            "setns" => setns(),
            "mount" => mount(),
            "chroot" => called(libc::chroot(c".".as_ptr()).into()),
            "io_uring" => {
                let mut parameters = [0u8; 120];
                called(libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()))
            }
            "bpf" => bpf(),
            "perf" => perf(),
            "userfaultfd" => called(libc::syscall(libc::SYS_userfaultfd, 0)),
            "keyctl" => called(libc::syscall(libc::SYS_keyctl, 0, -3, 1)),
            "clock_set" => {
                let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now);
                called(libc::clock_settime(libc::CLOCK_REALTIME, &raw const now).into())
            }
            "sethostname" => {
                let mut name = [0; 64];
                libc::gethostname(name.as_mut_ptr(), 63);
                let length = name.iter().position(|byte| *byte == 0).unwrap();
                called(libc::sethostname(name.as_ptr(), length).into())
            }
            "syslog" => {
                let mut buffer = [0; 100];
                called(libc::klogctl(3, buffer.as_mut_ptr(), 100).into())
            }
            "inotify" => called(libc::inotify_init1(0).into()),
            "inotify_old" => called(libc::inotify_init().into()),
            "dnotify" => on_file("/usr/bin", |file| libc::fcntl(file, libc::F_NOTIFY, 1)),
            "lease" => on_file("a.txt", |file| libc::fcntl(file, libc::F_SETLEASE, libc::F_RDLCK)),
            "touch_null" => {
                called(libc::utimensat(libc::AT_FDCWD, c"/dev/null".as_ptr(), std::ptr::null(), 0).into())
            }
            "caps" => caps(),
            "foreign_arch" => foreign_arch(),
            _ => return None,
        }
    })
}

fn on_file(path: &str, call: impl FnOnce(libc::c_int) -> libc::c_int) -> Tried {
    use std::os::fd::AsRawFd;
    let file = std::fs::File::open(path).unwrap();
    called(call(file.as_raw_fd()).into())
}

fn abstract_unix(name: &str) -> Tried {
    use std::os::linux::net::SocketAddrExt;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
    done(UnixStream::connect_addr(&address))
}

unsafe fn clone_user() -> Tried {
    // SAFETY: without CLONE_VM it is a fork.
    match unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_NEWUSER | libc::SIGCHLD, 0, 0, 0, 0) } {
        0 => std::process::exit(0),
        result => called(result),
    }
}

unsafe fn setns() -> Tried {
    use std::os::fd::AsRawFd;
    let namespace = std::fs::File::open("/proc/self/ns/ipc").map_err(|error| error.to_string())?;
    // SAFETY: touches no memory.
    called(unsafe { libc::setns(namespace.as_raw_fd(), 0) }.into())
}

unsafe fn mount() -> Tried {
    // SAFETY: all texts are C strings. In a namespace of its own, if that can be had, so that nobody else sees it.
    unsafe {
        libc::unshare(libc::CLONE_NEWNS);
        libc::mount(
            std::ptr::null(),
            c"/".as_ptr(),
            std::ptr::null(),
            libc::MS_REC | libc::MS_PRIVATE,
            std::ptr::null(),
        );
        called(libc::mount(c"tmpfs".as_ptr(), c".".as_ptr(), c"tmpfs".as_ptr(), 0, std::ptr::null()).into())
    }
}

unsafe fn bpf() -> Tried {
    // BPF_MAP_CREATE of an array with one element.
    let mut attributes = [0u32; 32];
    attributes[..4].copy_from_slice(&[2, 4, 4, 1]);
    // SAFETY: the kernel reads as many bytes as the call names.
    called(unsafe { libc::syscall(libc::SYS_bpf, 0, attributes.as_mut_ptr(), 72) })
}

unsafe fn perf() -> Tried {
    // A software clock of this process.
    let mut attributes = [0u32; 32];
    attributes[..2].copy_from_slice(&[1, 112]);
    // SAFETY: the structure is as long as it says.
    called(unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_mut_ptr(), 0, -1, -1, 0) })
}

unsafe fn caps() -> Tried {
    let mut header = [0x2008_0522u32, 0];
    let mut data = [0u32; 6];
    // SAFETY: this version takes a header of two words and data of six.
    called(unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), data.as_mut_ptr()) })?;
    if data.iter().any(|word| *word != 0) { Ok(()) } else { Err("there are none".to_owned()) }
}

/// `getpid` as a 32-bit program makes it.
#[cfg(target_arch = "x86_64")]
unsafe fn foreign_arch() -> Tried {
    let result: i32;
    // SAFETY: the call touches no memory.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("eax") 20 => result, out("r8") _, out("r9") _, out("r10") _, out("r11") _)
    };
    if result > 0 { Ok(()) } else { Err(format!("result {result}")) }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn foreign_arch() -> Tried {
    // SAFETY: ends this process, as the filter would.
    unsafe { libc::raise(libc::SIGSYS) };
    Ok(())
}
