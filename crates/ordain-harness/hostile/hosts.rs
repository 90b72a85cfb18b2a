//! The surroundings of a behaviour: the sandbox itself, a caller with secrets, a caller at a terminal.

use ordain_harness::sandbox::{Session, Step, Write, run};
use ordain_spec::profile::Profile;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// `WORKSPACE PROFILE TIMEOUT_MS COMMAND…`: runs the command in the sandbox and prints the report. A first
/// argument `+PATH=CONTENT` writes a file before it, and `+PATH@2=CONTENT` one after two steps. A profile
/// that ends with `+landlock-only` does without namespaces where there are none. `--then` begins another
/// command, `--then-fresh` one that starts fresh.
pub(crate) fn drive(arguments: &[&str]) {
    let (writes, arguments): (Vec<&str>, Vec<&str>) =
        arguments.iter().partition(|argument| argument.starts_with('+'));
    let (profile, allow) = match arguments[1].strip_suffix("+landlock-only") {
        Some(profile) => (profile, true),
        None => (arguments[1], false),
    };
    let profile = match profile {
        name if Profile::built_in(name).is_some() => Profile::built_in(name).unwrap(),
        text => serde_json::from_str(text).unwrap(),
    };
    let mut session = Session::new(arguments[0], profile);
    if allow {
        session.allow_landlock_only();
    }
    for write in writes {
        let (path, content) = write[1..].split_once('=').unwrap();
        let (path, after_steps) = path.split_once('@').unwrap_or((path, "0"));
        let write = Write::new(path, Some(content.as_bytes().to_vec()));
        session.writes.push(Write { after_steps: after_steps.parse().unwrap(), ..write });
    }
    let mut fresh = false;
    for command in arguments[3..].split_inclusive(|argument| argument.starts_with("--then")) {
        let timeout_ms = arguments[2].parse().ok();
        let end = command.last().filter(|argument| argument.starts_with("--then"));
        let argv = &command[..command.len() - usize::from(end.is_some())];
        session.steps.push(Step { timeout_ms, fresh, ..Step::new(argv.iter().copied()) });
        fresh = end.is_some_and(|end| *end == "--then-fresh");
    }
    session.inspect = vec!["a.txt".to_owned(), "nothing".to_owned(), ".".to_owned()];
    match run(&session) {
        Ok(report) => println!("{}", serde_json::to_string(&report).unwrap()),
        Err(error) => println!("ERROR {error}; {}", error.hint().unwrap_or_default()),
    }
}

/// `drive …` by a caller whose memory nobody may look into.
pub(crate) fn hidden(arguments: &[&str]) {
    // SAFETY: touches no memory.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) }, 0);
    drive(&arguments[1..]);
}

/// Runs a command with a secret in the environment and an open descriptor.
pub(crate) fn plant(arguments: &[&str]) {
    let file = std::fs::File::open("/dev/null").unwrap();
    // SAFETY: nobody uses this number yet.
    unsafe { libc::dup2(file.as_raw_fd(), 77) };
    let error = Command::new(std::env::current_exe().unwrap())
        .args(arguments)
        .env("ORDAIN_TEST_SECRET", "planted-secret")
        .exec();
    panic!("{error}");
}

/// Runs a command that inherits ignored and blocked signals, and gives nobody any permission.
pub(crate) fn deaf(arguments: &[&str]) {
    // SAFETY: plain system calls; the set is made before it is used.
    unsafe {
        for signal in [libc::SIGCHLD, libc::SIGHUP, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        libc::umask(0o777);
    }
    // `Command` would let signals through again.
    let text = |it: &str| std::ffi::CString::new(it).unwrap();
    let words: Vec<_> = ["hostile"].iter().chain(arguments).map(|it| text(it)).collect();
    let pointers: Vec<_> = words.iter().map(|it| it.as_ptr()).chain([std::ptr::null()]).collect();
    // SAFETY: the list ends with a null pointer, and the strings outlive the call.
    unsafe { libc::execv(c"/proc/self/exe".as_ptr(), pointers.as_ptr()) };
    panic!("{}", std::io::Error::last_os_error());
}

/// Runs a command with a terminal of its own.
pub(crate) fn terminal(arguments: &[&str]) {
    // SAFETY: plain system calls on descriptors that are made here.
    let (controller, name) = unsafe {
        let controller = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY);
        assert!(controller >= 0 && libc::grantpt(controller) == 0 && libc::unlockpt(controller) == 0);
        (controller, std::ffi::CStr::from_ptr(libc::ptsname(controller)).to_owned())
    };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments);
    // SAFETY: system calls only.
    unsafe {
        command.pre_exec(move || {
            libc::setsid();
            let terminal = libc::open(name.as_ptr(), libc::O_RDWR);
            if terminal < 0 || libc::ioctl(terminal, libc::TIOCSCTTY, 0) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let status = command.status().unwrap();
    // SAFETY: opened above, and nobody else has it.
    unsafe { libc::close(controller) };
    std::process::exit(status.code().unwrap_or(1));
}

/// `landlock COMMAND…` or `namespaces COMMAND…`: runs a command on a kernel that seems to lack something.
pub(crate) fn without(arguments: &[&str]) {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let jump = |jump: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: (libc::BPF_JMP | jump | libc::BPF_K) as u16,
        jt,
        jf,
        k,
    };
    let load = |offset: u32| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let answer = |action: u32| statement(libc::BPF_RET | libc::BPF_K, action);
    let (allow, error) = (0x7fff_0000, 0x0005_0000);
    let program = match arguments[0] {
        "landlock" => vec![
            load(0),
            jump(libc::BPF_JEQ, libc::SYS_landlock_create_ruleset as u32, 0, 1),
            answer(error | libc::ENOSYS as u32),
            answer(allow),
        ],
        "namespaces" => vec![
            load(0),
            jump(libc::BPF_JEQ, libc::SYS_clone as u32, 0, 3),
            load(16),
            jump(libc::BPF_JSET, libc::CLONE_NEWUSER as u32, 0, 1),
            answer(error | libc::EPERM as u32),
            answer(allow),
        ],
        other => panic!("without `{other}`?"),
    };
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: the filter has as many instructions as it says, and lives until the call is over.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, 2, &raw const filter), 0);
    }
    panic!("{}", Command::new(std::env::current_exe().unwrap()).args(&arguments[1..]).exec());
}
