//! Behaviours that reach for files.

use crate::{Tried, called, done};
use std::ffi::CString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};

pub(crate) fn try_one(name: &str, arguments: &[&str]) -> Option<Tried> {
    let path = arguments.first().copied().unwrap_or_default();
    Some(match name {
        "write_parent" => done(fs::write("../written", "x")),
        "write_abs" => done(fs::write(format!("{path}/written"), "x")),
        "symlink_out" => {
            let _ = fs::remove_file("link");
            done(symlink(path, "link")).and_then(|()| {
                done(OpenOptions::new().write(true).open("link").and_then(|mut file| file.write_all(b"x")))
            })
        }
        "hardlink_out" => done(fs::hard_link(path, "hardlink")),
        "proc_self_root" => done(fs::write(format!("/proc/self/root{path}/written"), "x")),
        "proc_cwd_climb" => done(fs::write(format!("/proc/self/cwd/../../../../../..{path}/written"), "x")),
        "read_secret" | "read_rootonly" => read(path),
        "open_shadow" => done(File::open("/etc/shadow")),
        "rename_over" => {
            fs::write("evil", "x").and_then(|()| fs::rename("evil", path)).map_err(|it| it.to_string())
        }
        "truncate_out" => done(OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(0))),
        "unlink_out" => done(fs::remove_file(path)),
        "chmod_out" => done(fs::set_permissions(path, Permissions::from_mode(0o600))),
        "stat_out" => done(fs::metadata(path)),
        "list_out" => done(fs::read_dir(path)),
        "write_usr" => {
            let file = "/usr/local/ordain-hostile-test";
            done(fs::write(file, "x")).and_then(|()| done(fs::remove_file(file)))
        }
        "write_etc" => {
            let file = "/etc/ordain-hostile-test";
            done(fs::write(file, "x")).and_then(|()| done(fs::remove_file(file)))
        }
        "fifo_block" => fifo_block(),
        "sparse_1tb" => done(File::create("sparse").and_then(|file| file.set_len(1 << 40))),
        "disk_fill" => fill("fill"),
        "tmp_fill" => fill(&format!("{}/ordain-fill-{}", std::env::temp_dir().display(), std::process::id())),
        "inode_fill" => done((0..60_000).try_for_each(|number| fs::write(format!("inode-{number}"), ""))),
        "names" => names(),
        "git_hook" => done(
            fs::create_dir_all("sub/.git/hooks").and_then(|()| fs::write("sub/.git/hooks/pre-commit", "x")),
        ),
        "suid_output" => done(
            fs::write("suid", "x").and_then(|()| fs::set_permissions("suid", Permissions::from_mode(0o4755))),
        ),
        "suid_open" => suid_open(),
        "mknod_dev" => {
            let name = CString::new("device").unwrap();
            // SAFETY: the path is a C string.
            called(unsafe { libc::mknod(name.as_ptr(), libc::S_IFCHR | 0o666, libc::makedev(1, 3)) }.into())
        }
        "odd_outputs" => odd_outputs(),
        "dev_fuse" => done(OpenOptions::new().read(true).write(true).open("/dev/fuse")),
        "proc_sys_open_w" => done(OpenOptions::new().write(true).open("/proc/sys/kernel/core_pattern")),
        "cgroup_w" => cgroup_w(),
        "proc_kcore" => {
            // Not every kernel has every one of them; each speaks about the whole machine.
            let files = ["/proc/kcore", "/proc/kmsg", "/proc/kpagecount"];
            // A bound /dev/null opens, and has nothing to say.
            let opens =
                |file: &&str| File::open(file).is_ok_and(|it| it.metadata().is_ok_and(|it| it.is_file()));
            files.iter().find(|file| opens(file)).map(drop).ok_or_else(|| "none can be opened".to_owned())
        }
        "dev_tty" => done(OpenOptions::new().read(true).write(true).open("/dev/tty")),
        "tiocsti" => tiocsti(),
        "deep" => deep(),
        _ => return None,
    })
}

/// Types a letter into whatever terminal there is.
fn tiocsti() -> Tried {
    use std::os::fd::AsRawFd;
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let descriptors = terminal.iter().map(AsRawFd::as_raw_fd).chain([0, 1, 2]);
    // SAFETY: the call reads one letter.
    let typed =
        |descriptor: i32| called(unsafe { libc::ioctl(descriptor, libc::TIOCSTI, c"x".as_ptr()) }.into());
    let refused = || format!("{:?}", terminal.as_ref().map(drop));
    descriptors.map(typed).find(Result::is_ok).unwrap_or_else(|| Err(refused()))
}

fn read(path: &str) -> Tried {
    let mut text = String::new();
    done(File::open(path).and_then(|mut file| file.read_to_string(&mut text)))?;
    if text.contains("secret") { Ok(()) } else { Err("it is something else".to_owned()) }
}

/// Has its way if nothing ever ends it.
fn fifo_block() -> Tried {
    let name = CString::new("fifo").unwrap();
    // SAFETY: the path is a C string.
    called(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }.into())?;
    println!("WAITING");
    done(File::open("fifo"))
}

fn fill(path: &str) -> Tried {
    let block = vec![7; 1 << 20];
    let written = File::create(path).and_then(|mut file| (0..160).try_for_each(|_| file.write_all(&block)));
    let _ = fs::remove_file(path);
    done(written)
}

fn names() -> Tried {
    use std::os::unix::ffi::OsStrExt;
    let long = "n".repeat(255);
    for name in [
        &b"new\nline"[..],
        b"esc\x1b[31m",
        b"bad\xff\xfe",
        "rtl\u{202e}txt".as_bytes(),
        long.as_bytes(),
        b" space ",
    ] {
        done(fs::write(std::ffi::OsStr::from_bytes(name), "x"))?;
    }
    Ok(())
}

fn suid_open() -> Tried {
    use std::os::unix::fs::OpenOptionsExt;
    done(OpenOptions::new().write(true).create_new(true).mode(0o4755).open("suid-open"))
}

fn odd_outputs() -> Tried {
    let name = CString::new("pipe").unwrap();
    // SAFETY: the path is a C string.
    called(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }.into())?;
    done(std::os::unix::net::UnixListener::bind("socket"))?;
    done(symlink("/etc/passwd", "out-link"))?;
    done(symlink("a.txt", "in-link"))?;
    done(fs::create_dir("locked").and_then(|()| fs::write("locked/file", "x")))?;
    done(fs::set_permissions("locked/file", Permissions::from_mode(0o000)))?;
    done(fs::set_permissions("locked", Permissions::from_mode(0o000)))
}

/// Deeper than any walk should go.
fn deep() -> Tried {
    for _ in 0..400 {
        done(fs::create_dir("d").and_then(|()| std::env::set_current_dir("d")))?;
    }
    done(fs::write("file", "x"))
}

fn cgroup_w() -> Tried {
    let files = [
        "/sys/fs/cgroup/cgroup.procs",
        "/sys/fs/cgroup/unified/cgroup.procs",
        "/sys/fs/cgroup/memory/cgroup.procs",
    ];
    let writable = |file: &&str| {
        let file = CString::new(*file).unwrap();
        // SAFETY: the path is a C string.
        unsafe { libc::access(file.as_ptr(), libc::W_OK) == 0 }
    };
    files.iter().find(|file| writable(file)).map(drop).ok_or_else(|| "none can be written".to_owned())
}
