//! Every hostile behaviour, as root and as an ordinary user: it has its way without the sandbox and not within.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "a process is stopped from outside")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod common;

use common::{Caller, Fixture, USER_ID, exists, only, stdout};
use ordain_harness::sandbox::{End, Level, Report};
use ordain_spec::profile::Profile;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Callers that succeed without the sandbox, so that being stopped in it proves something.
#[derive(Clone, Copy, PartialEq)]
enum Control {
    Everyone,
    /// An ordinary user is stopped anyway.
    RootOnly,
    /// Not even root may try.
    Nobody,
}

struct Case {
    name: &'static str,
    control: Control,
    /// The surroundings of the behaviour.
    around: &'static [&'static str],
    /// The target.
    decoy: fn(&mut Fixture) -> Vec<String>,
    /// Whether it was contained, beyond that it did not have its way.
    contained: fn(&Report) -> bool,
    /// The result without namespaces.
    alone: Alone,
}

/// The effect of the level `landlock-only` on a behaviour.
#[derive(Clone, Copy, PartialEq)]
enum Alone {
    /// The same.
    Contained,
    /// Nothing. Landlock has no rule for it.
    Open,
    /// Nothing, where commands are the caller. Root's commands are somebody else.
    OpenToUser,
    /// It is noticed after the fact, or when it goes on: `landlock_only.rs` has such.
    Counted,
    /// It would reach for a process that the test did not start.
    Untried,
}

impl Case {
    const fn new(name: &'static str, control: Control) -> Self {
        let decoy = |_: &mut Fixture| Vec::new();
        Self { name, control, around: &[], decoy, contained: was_stopped, alone: Alone::Contained }
    }

    const fn alone(self, alone: Alone) -> Self {
        Self { alone, ..self }
    }

    const fn at(name: &'static str, control: Control, decoy: fn(&mut Fixture) -> Vec<String>) -> Self {
        Self { decoy, ..Self::new(name, control) }
    }
}

fn was_stopped(report: &Report) -> bool {
    stdout(only(report)).contains("STOPPED")
}

fn check(case: &Case, caller: Caller, level: Level) {
    let mut fixture = Fixture::new(caller);
    let decoys = (case.decoy)(&mut fixture);
    let mut step = vec!["hostile", case.name];
    step.extend(decoys.iter().map(String::as_str));
    let alone = level == Level::LandlockOnly;
    if alone && case.alone == Alone::Untried {
        return;
    }
    let said = match alone {
        false => fixture.driven(case.around, "dev", 20_000, &step),
        true => {
            let around = [&["without", "namespaces"], case.around].concat();
            fixture.driven(&around, "dev+landlock-only", 20_000, &step)
        }
    };
    let report: Report = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(report.protections.level, Some(level));
    let did = stdout(only(&report)).contains("DID");
    let is_open =
        alone && (case.alone == Alone::Open || case.alone == Alone::OpenToUser && caller == Caller::User);
    if is_open {
        assert!(did, "it is contained after all: {report:#?}");
    } else if !(alone && case.alone == Alone::Counted) {
        assert!(!did, "it had its way: {}", stdout(only(&report)));
        assert!((case.contained)(&report), "not contained: {report:#?}");
    }
    assert!(!exists(&fixture.path("decoy/written")), "something was written outside");
    assert!(!exists(&fixture.path("written")), "something was written beside the workspace");
    assert_eq!(fs::read_to_string(fixture.path("decoy/secret")).unwrap(), "secret");
    assert_eq!(fs::read_dir(fixture.path("ws")).unwrap().count(), 1, "the workspace itself was changed");
    let has_control = match case.control {
        Control::Everyone => true,
        Control::RootOnly => caller == Caller::Root,
        Control::Nobody => false,
    };
    if has_control {
        let mut arguments = case.around.to_vec();
        arguments.extend(step.iter().skip(1));
        let said = fixture.free(&arguments);
        assert!(
            said.contains(&format!("DID {}", case.name)),
            "without the sandbox it must have its way: {said}"
        );
    }
}

macro_rules! cases {
    ($($name:ident: $case:expr;)*) => {
        mod as_root {
            use super::*;
            $(#[test] fn $name() { check(&$case, Caller::Root, Level::Full); })*
        }
        mod as_user {
            use super::*;
            $(#[test] fn $name() { check(&$case, Caller::User, Level::Full); })*
        }
        mod as_root_without_namespaces {
            use super::*;
            $(#[test] fn $name() { check(&$case, Caller::Root, Level::LandlockOnly); })*
        }
        mod as_user_without_namespaces {
            use super::*;
            $(#[test] fn $name() { check(&$case, Caller::User, Level::LandlockOnly); })*
        }
    };
}

fn folder(fixture: &mut Fixture) -> Vec<String> {
    vec![fixture.text("decoy")]
}

fn secret(fixture: &mut Fixture) -> Vec<String> {
    vec![fixture.text("decoy/secret")]
}

fn victim(fixture: &mut Fixture) -> Vec<String> {
    vec![fixture.victim()]
}

/// A listener that lives as long as the test.
fn port(_: &mut Fixture) -> Vec<String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::mem::forget(listener);
    vec![port.to_string()]
}

fn socket(fixture: &mut Fixture) -> Vec<String> {
    let path = fixture.path("decoy/socket");
    std::mem::forget(UnixListener::bind(&path).unwrap());
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    vec![fixture.text("decoy/socket")]
}

fn abstract_name(fixture: &mut Fixture) -> Vec<String> {
    use std::os::linux::net::SocketAddrExt;
    let name = fixture.text("abstract");
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    std::mem::forget(UnixListener::bind_addr(&address).unwrap());
    vec![name]
}

use Control::{Everyone, Nobody, RootOnly};

cases! {
    write_parent: Case::new("write_parent", Everyone);
    write_abs: Case::at("write_abs", Everyone, folder);
    symlink_out: Case::at("symlink_out", Everyone, secret);
    hardlink_out: Case::at("hardlink_out", RootOnly, secret);
    proc_self_root: Case::at("proc_self_root", Everyone, folder);
    proc_cwd_climb: Case::at("proc_cwd_climb", Everyone, folder);
    read_secret: Case::at("read_secret", Everyone, secret);
    read_rootonly: Case::at("read_rootonly", RootOnly, |fixture| vec![fixture.text("decoy/rootonly")]);
    open_shadow: Case::new("open_shadow", RootOnly);
    rename_over: Case::at("rename_over", Everyone, secret);
    truncate_out: Case::at("truncate_out", Everyone, secret);
    unlink_out: Case::at("unlink_out", Everyone, secret);
    chmod_out: Case::at("chmod_out", Everyone, secret).alone(Alone::OpenToUser);
    stat_out: Case::at("stat_out", Everyone, secret).alone(Alone::Open);
    list_out: Case::at("list_out", Everyone, folder);
    write_usr: Case::new("write_usr", RootOnly);
    write_etc: Case::new("write_etc", RootOnly);
    sparse_1tb: Case {
        contained: |report| matches!(only(report).end, End::Signaled { signal: libc::SIGXFSZ }) || was_stopped(report),
        ..Case::new("sparse_1tb", Everyone)
    };
    disk_fill: Case::new("disk_fill", Everyone).alone(Alone::Counted);
    tmp_fill: Case::new("tmp_fill", Everyone).alone(Alone::Counted);
    inode_fill: Case::new("inode_fill", Everyone).alone(Alone::Counted);
    suid_output: Case::new("suid_output", Everyone);
    mknod_dev: Case::new("mknod_dev", RootOnly);
    dev_fuse: Case::new("dev_fuse", RootOnly);
    proc_sys_open_w: Case::new("proc_sys_open_w", RootOnly);
    cgroup_w: Case::new("cgroup_w", RootOnly);
    proc_kcore: Case::new("proc_kcore", RootOnly);
    dev_tty: Case { around: &["terminal"], ..Case::new("dev_tty", Everyone) };
    tcp_loopback: Case::at("tcp_loopback", Everyone, port);
    path_unix: Case::at("path_unix", Everyone, socket);
    abstract_unix: Case::at("abstract_unix", Everyone, abstract_name);
    packet: Case::new("packet", RootOnly);
    raw_icmp: Case::new("raw_icmp", RootOnly);
    netlink: Case::new("netlink", Everyone);
    kill_victim: Case::at("kill_victim", Everyone, victim);
    ptrace_victim: Case::at("ptrace_victim", Everyone, victim);
    victim_environ: Case::at("victim_environ", Everyone, victim);
    pid1_environ: Case { around: &["plant"], ..Case::new("pid1_environ", Everyone) };
    inherited_fd: Case { around: &["plant"], ..Case::new("inherited_fd", Everyone) };
    env_secret: Case { around: &["plant"], ..Case::new("env_secret", Everyone) };
    fork_bomb: Case::new("fork_bomb", Everyone);
    mem_hog: Case::new("mem_hog", Everyone);
    mem_hog_multi: Case {
        contained: |report| matches!(only(report).end, End::MemoryExceeded { .. }),
        ..Case::new("mem_hog_multi", Everyone)
    };
    shared_hog: Case::new("shared_hog", Everyone);
    memfd_hog: Case::new("memfd_hog", Everyone);
    page_tables: Case {
        contained: |report| matches!(only(report).end, End::MemoryExceeded { .. }),
        ..Case::new("page_tables", Everyone)
    };
    socket_hog: Case {
        contained: |report| matches!(only(report).end, End::MemoryExceeded { .. }),
        ..Case::new("socket_hog", Everyone)
    };
    stdout_flood: Case {
        contained: |report| matches!(only(report).end, End::OutputExceeded { .. }) && only(report).stdout.truncated,
        ..Case::new("stdout_flood", Everyone)
    };
    core_dump: Case::new("core_dump", Everyone);
    unshare_user: Case::new("unshare_user", Everyone);
    clone_user: Case::new("clone_user", Everyone);
    setns: Case::new("setns", RootOnly);
    mount: Case::new("mount", RootOnly);
    chroot: Case::new("chroot", RootOnly);
    io_uring: Case::new("io_uring", Everyone);
    bpf: Case::new("bpf", RootOnly);
    perf: Case::new("perf", RootOnly);
    userfaultfd: Case::new("userfaultfd", RootOnly);
    keyctl: Case::new("keyctl", Everyone);
    clock_set: Case::new("clock_set", Nobody);
    sethostname: Case::new("sethostname", RootOnly);
    syslog: Case::new("syslog", RootOnly);
    caps: Case::new("caps", RootOnly);
    stop_init: Case::at("stop_init", Everyone, victim).alone(Alone::Untried);
    tiocsti: Case { around: &["terminal"], ..Case::new("tiocsti", RootOnly) };
    inotify: Case::new("inotify", Everyone);
    inotify_old: Case::new("inotify_old", Everyone);
    dnotify: Case::new("dnotify", Everyone);
    lease: Case::new("lease", Everyone);
    touch_null: Case::new("touch_null", Everyone).alone(Alone::Open);
    inherited_signals: Case { around: &["deaf"], ..Case::new("inherited_signals", Everyone) };
    foreign_arch: Case {
        contained: |report| matches!(only(report).end, End::Signaled { signal: libc::SIGSYS }),
        ..Case::new("foreign_arch", Everyone)
    };
}

const CALLERS: [Caller; 2] = [Caller::Root, Caller::User];

/// A behaviour that waits for ever; free, it still waits when we look.
fn waits(name: &str) {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let start = Instant::now();
        let report = fixture.confined("dev", 1_000, &["hostile", name]);
        let time = start.elapsed();
        assert_eq!(only(&report).end, End::TimedOut { after_ms: 1_000 }, "{report:#?}");
        assert!(stdout(only(&report)).contains("WAITING"));
        assert!(time > Duration::from_millis(1_000) && time < Duration::from_millis(2_500), "{time:?}");
        let mut free = fixture.command(&fixture.text("bin/hostile"), &[name]);
        let mut free = free.stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert!(free.try_wait().unwrap().is_none(), "without the sandbox it must wait");
        free.kill().unwrap();
        free.wait().unwrap();
    }
}

#[test]
fn fifo_block() {
    waits("fifo_block");
}

#[test]
fn ignore_term() {
    waits("ignore_term");
}

/// However long it takes to look at them.
#[test]
fn many_mappings_do_not_delay_the_end() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let start = Instant::now();
        let report = fixture.confined("dev", 3_000, &["hostile", "many_mappings"]);
        let end = &only(&report).end;
        let is_end = matches!(end, End::TimedOut { .. } | End::MemoryExceeded { .. } | End::TooMany { .. });
        assert!(is_end && start.elapsed() < Duration::from_secs(15), "{end:?} after {:?}", start.elapsed());
    }
}

#[test]
fn a_pipe_in_transit_does_not_keep_the_sandbox_waiting() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let start = Instant::now();
        let report = fixture.confined("dev", 20_000, &["hostile", "pipe_in_transit"]);
        assert_eq!(only(&report).end, End::Exited { code: 0 });
        assert!(stdout(only(&report)).contains("DID"));
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_daemon_does_not_outlive_its_command() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let start = Instant::now();
        let report = fixture.confined("dev", 20_000, &["hostile", "daemon"]);
        assert_eq!(only(&report).end, End::Exited { code: 0 });
        assert!(only(&report).stragglers >= 1, "{report:#?}");
        assert!(start.elapsed() < Duration::from_secs(5));
        fixture.free(&["daemon", &fixture.text("decoy/late")]);
        std::thread::sleep(Duration::from_millis(1_500));
        assert!(exists(&fixture.path("decoy/late")), "without the sandbox it must outlive it");
    }
}

#[test]
fn the_timeout_kills_grandchildren() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let start = Instant::now();
        let report = fixture.confined("dev", 1_000, &["hostile", "family"]);
        assert_eq!(only(&report).end, End::TimedOut { after_ms: 1_000 });
        assert_eq!(only(&report).stragglers, 15);
        assert!(start.elapsed() < Duration::from_millis(2_500));
        // Without the sandbox they outlive the one that started them.
        let mut free = fixture.command(&fixture.text("bin/hostile"), &["family", "2"]);
        let mut free = free.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let children = std::iter::repeat_with(|| {
            std::thread::sleep(Duration::from_millis(10));
            fs::read_to_string(format!("/proc/{0}/task/{0}/children", free.id())).unwrap()
        });
        let children = children.take(100).find(|it| it.split_whitespace().count() == 4).unwrap();
        free.kill().unwrap();
        free.wait().unwrap();
        assert!(children.split_whitespace().all(|it| is_alive(it.parse().unwrap())), "{children}");
    }
}

/// The collector ends commands; who ends the collector?
#[test]
fn a_collector_that_hangs_is_killed_with_everything_in_it() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let workspace = fixture.text("ws");
        let mut driver = fixture.command(
            &fixture.text("bin/hostile"),
            &["drive", &workspace, "dev", "1000", "hostile", "ignore_term"],
        );
        let driver = driver.env("ORDAIN_TEST_GRACE_MS", "1000").stdout(Stdio::piped()).spawn().unwrap();
        let helper = only_child(driver.id(), |name| name.starts_with("ordain-sandbox-init"));
        let first = only_child(helper, |_| true);
        let command = only_child(first, |name| name == "hostile");
        // SAFETY: a process that this test started, by way of others, and that has not been waited for.
        assert_eq!(unsafe { libc::kill(first.cast_signed(), libc::SIGSTOP) }, 0);
        let said = driver.wait_with_output().unwrap().stdout;
        let said = String::from_utf8_lossy(&said);
        // A second for the command, one for the rest, and time to read all that the profile lets it leave.
        let reading = Profile::built_in("dev").unwrap().max_total_output_bytes / 50_000;
        let message = format!("ERROR the sandbox did not end within {} ms and was killed", 2_000 + reading);
        assert!(said.contains(&message), "{said}");
        let deadline = Instant::now() + Duration::from_secs(2);
        while [helper, first, command].into_iter().any(is_alive) {
            assert!(Instant::now() < deadline, "something is left");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The process that takes over children may reap them late.
fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

/// Waits for a child whose first argument is named like that.
fn only_child(parent: u32, named: fn(&str) -> bool) -> u32 {
    let deadline = Instant::now() + Duration::from_secs(1);
    while Instant::now() < deadline {
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
        let found = children.split_whitespace().find(|child| {
            let line = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
            line.split('\0').next().is_some_and(|name| !name.is_empty() && named(name))
        });
        if let Some(child) = found {
            return child.parse().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{parent} has no such child");
}

#[test]
fn names_are_escaped_and_refused() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let report = fixture.confined("dev", 10_000, &["hostile", "names"]);
        assert!(stdout(only(&report)).contains("DID names"));
        assert!(fixture.free(&["names"]).contains("DID names"), "the names can be had");
        let refused: Vec<&str> = report.refused.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(refused, [" space ", r"bad\xff\xfe", r"esc\u{1b}[31m", r"new\u{a}line"]);
        let produced: Vec<&str> = report.produced.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(produced, ["n".repeat(255), "rtl\u{202e}txt".to_owned()]);
    }
}

#[test]
fn changes_below_git_are_dropped() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let report = fixture.confined("dev", 10_000, &["hostile", "git_hook"]);
        assert_eq!(report.dropped, ["sub/.git/hooks/pre-commit"]);
        assert!(report.produced.is_empty() && report.refused.is_empty());
        assert!(fixture.free(&["git_hook"]).contains("DID"));
    }
}

#[test]
fn the_records_of_ordain_are_not_seen() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        fixture.file("ws/.ordain/runs/1/journal", "secret");
        let script = "ls -A; cat .ordain/runs/1/journal; mkdir -p .ordain/runs sub/.ordain; echo x > .ordain/runs/2; \
                      echo x > sub/.ordain/y; ls .ordain/runs";
        let report = fixture.confined("dev", 10_000, &["sh", "-c", script, "--then", "true"]);
        assert_eq!(stdout(&report.steps[0]), "a.txt\n2\n");
        assert_eq!(report.dropped, [".ordain/runs/2", "sub/.ordain/y"]);
        assert!(report.produced.is_empty() && report.deleted.is_empty() && report.refused.is_empty());
        assert!(report.steps.iter().all(|step| step.violations.is_empty()));
        assert_eq!(fs::read_to_string(fixture.path("ws/.ordain/runs/1/journal")).unwrap(), "secret");
        let report = fixture.confined("dev", 10_000, &["true"]);
        assert!(report.dropped.is_empty(), "{:?}", report.dropped);
        let free = fixture.command("cat", &[".ordain/runs/1/journal"]).output().unwrap();
        assert_eq!(free.stdout, b"secret", "without the sandbox it is seen");
    }
}

#[test]
fn only_files_are_taken_over() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let report =
            fixture.confined("dev", 10_000, &["hostile", "odd_outputs", "--then", "hostile", "suid_open"]);
        let refused: Vec<(&str, &str)> =
            report.refused.iter().map(|it| (it.path.as_str(), it.reason.as_str())).collect();
        assert_eq!(
            refused,
            [
                ("in-link", "it is a symbolic link, and only files are taken over"),
                ("out-link", "it is a symbolic link that leaves the workspace"),
                ("pipe", "it is a pipe"),
                ("socket", "it is a socket"),
                ("suid-open", "it is a file with a set-user-id or set-group-id bit"),
            ]
        );
        let produced: Vec<&str> = report.produced.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(produced, ["locked/file"]);
        for name in ["odd_outputs", "suid_open"] {
            assert!(fixture.free(&[name]).contains("DID"), "without the sandbox they are just there");
        }
    }
}

#[test]
fn a_deep_tree_is_not_followed_for_ever() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let report = fixture.confined("dev", 10_000, &["hostile", "deep"]);
        assert!(stdout(only(&report)).contains("DID deep"));
        assert_eq!(report.refused.len(), 1);
        assert!(report.refused.iter().all(|it| it.reason == "it is below too many folders"));
        assert!(fixture.free(&["deep"]).contains("DID deep"));
    }
}

#[test]
fn a_command_that_closes_its_streams_ends_as_it_should() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let report = fixture.confined("dev", 10_000, &["hostile", "close_stdout"]);
        assert_eq!(only(&report).end, End::Exited { code: 3 });
    }
}

/// Whether the step could read the file that `private/key` of an installation is, by any of its names.
fn leaks(report: &Report) -> bool {
    stdout(only(report)).contains("secret")
}

#[test]
fn links_in_the_workspace_show_nothing_of_the_host() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let system = "/usr/bin:/bin";
        fixture.installation("host", "cat");
        let key = fixture.text("host/private/key");
        fixture.file("host/private/ls", "");
        fs::set_permissions(fixture.path("host/private/ls"), fs::Permissions::from_mode(0o755)).unwrap();
        fixture.file("ws/.venv/bin/keep", "");
        fixture.file("ws/.cargo/bin/cat", "");
        fs::set_permissions(fixture.path("ws/.cargo/bin/cat"), fs::Permissions::from_mode(0o755)).unwrap();
        let link = |target: &str, at: &str| symlink(target, fixture.path(at)).unwrap();
        link("../../../host/private/ls", "ws/.venv/bin/cat");
        link("../../host/private", "ws/.venv/away");
        link("/", "ws/.venv/root");
        link("../../host/private", "ws/.cargo/registry");
        link("../../host/private", "ws/.cargo/git");
        link("ws", "other");
        link("other/.venv/away", "around");
        assert_eq!(
            fs::read(fixture.path("ws/.venv/bin/../away/key")).unwrap(),
            b"secret",
            "outside it leads there"
        );
        let at = |path: &str| fixture.text(path);
        for path in [
            at("ws/.venv/bin"),
            at("other/.venv/bin"),
            ".venv/bin".to_owned(),
            at("ws/.venv/away"),
            at("other/.venv/away"),
            at("other/.venv/root"),
            at("other/.venv/../.venv/away"),
            at("around"),
            ".venv/away".to_owned(),
        ] {
            for profile in ["strict", "dev"] {
                let names = [key.clone(), format!("{path}/key"), format!("{path}{key}")];
                let step = ["cat", &names[0], &names[1], &names[2]];
                let report = fixture.confined_with(profile, &step, |command| {
                    command.env("PATH", format!("{path}:{system}:{}", at("bin")));
                });
                assert!(!leaks(&report), "{path}: {report:#?}");
            }
        }
        for home in ["ws/.cargo", "other/.cargo"] {
            let step = ["cat", "/scratch/cargo/registry/key", "/scratch/cargo/git/key", &key];
            let report = fixture.confined_with("dev", &step, |command| {
                command.env("CARGO_HOME", at(home)).env("RUSTUP_HOME", at(home));
                command.env("PATH", format!("{}:{system}", at(&format!("{home}/bin"))));
            });
            assert!(!leaks(&report), "{home}: {report:#?}");
        }
    }
}

#[test]
fn an_installation_is_shown_and_nothing_around_it() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        fixture.installation("home", "tool");
        symlink(fixture.path("home"), fixture.path("linked")).unwrap();
        let socket = fixture.path("home/socket");
        std::mem::forget(UnixListener::bind(&socket).unwrap());
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
        for (home, path) in
            [(None, "home"), (Some("home"), "home"), (Some("linked"), "home"), (Some("home"), "linked")]
        {
            let change = |command: &mut Command| {
                let folders =
                    format!("{}:{}:/usr/bin", fixture.text(&format!("{path}/bin")), fixture.text("bin"));
                command.env_remove("HOME").env("PATH", folders);
                if let Some(home) = home {
                    command.env("HOME", fixture.text(home));
                }
            };
            let keys = ["home", "linked"].map(|top| fixture.text(&format!("{top}/private/key")));
            let report = fixture.confined_with("dev", &["cat", &keys[0], &keys[1]], change);
            assert!(!leaks(&report), "{home:?}, {path}: {report:#?}");
            let report = fixture.confined_with("dev", &["tool"], change);
            assert_eq!(stdout(only(&report)), "it runs\n", "{report:#?}");
            let socket = fixture.text(&format!("{path}/socket"));
            let report = fixture.confined_with("dev", &["hostile", "path_unix", &socket], change);
            assert!(was_stopped(&report), "{report:#?}");
            let library = fixture.text(&format!("{path}/lib/library"));
            let report = fixture.confined_with("dev", &["cat", &library], change);
            let is_home = home.is_some();
            assert_eq!(stdout(only(&report)) == "library", !is_home, "{home:?}, {path}: {report:#?}");
        }
        assert!(fixture.free(&["path_unix", &fixture.text("home/socket")]).contains("DID"));
    }
}

#[test]
fn nothing_is_shown_of_folders_that_everybody_shares() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let shared =
            std::path::PathBuf::from(format!("/tmp/ordain-shared-{}-{caller:?}", std::process::id()));
        fs::create_dir(&shared).unwrap();
        fs::copy(fixture.path("bin/hostile"), shared.join("shared-tool")).unwrap();
        symlink(&shared, fixture.path("linked")).unwrap();
        let link = fixture.text("linked");
        for folder in [shared.to_str().unwrap(), &link] {
            let step = ["sh", "-c", "ls $0 || shared-tool inotify", folder];
            let report = fixture.confined_with("dev", &step, |command| {
                command.env("PATH", format!("{folder}:/usr/bin:/bin"));
            });
            assert_eq!(only(&report).end, End::Exited { code: 127 }, "{report:#?}");
        }
        fs::remove_dir_all(shared).unwrap();
    }
}

#[test]
fn the_kernels_own_root_is_never_the_user_of_a_command() {
    let root = Fixture::new(Caller::Root);
    let user = Fixture::new(Caller::User);
    let called_in = |fixture: &Fixture, around: &[&str]| {
        let hostile = fixture.text("bin/hostile");
        let drive = fixture.drive("dev", &["true"]);
        let mut arguments = around.to_vec();
        arguments.push(&hostile);
        arguments.extend(drive.iter().map(String::as_str));
        let output = fixture.command("unshare", &arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for namespace in [&["-U", "-r"] as &[&str], &["-U", "--map-user=7", "--map-group=7"]] {
        let said = called_in(&root, namespace);
        assert!(
            said.contains("the kernel's user 0") && said.contains("call it as an ordinary user"),
            "{said}"
        );
    }
    // The root of a namespace that is somebody else outside, once or twice removed, is that somebody.
    for namespace in [&["-U", "-r"] as &[&str], &["-U", "-r", "unshare", "-U", "-r"]] {
        let said = called_in(&user, namespace);
        let report: Report = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
        assert_eq!(only(&report).end, End::Exited { code: 0 });
    }
}

#[test]
fn a_workspace_with_something_mounted_in_it_is_refused() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        fixture.file("ws/inner/below", "what the mount hides");
        let user = match caller {
            Caller::Root => String::new(),
            Caller::User => format!("setpriv --reuid {USER_ID} --regid {USER_ID} --clear-groups"),
        };
        let script = format!("mount -t tmpfs none inner && exec {user} \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &script, "sh", &fixture.text("bin/hostile")]);
        command.args(fixture.drive("dev", &["cat", "inner/below"])).current_dir(fixture.path("ws"));
        let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(said.contains("/ws/inner` is mounted in it"), "{said}");
    }
}

#[test]
fn a_caller_that_may_write_only_short_files_is_told() {
    let fixture = Fixture::new(Caller::User);
    let mut command =
        fixture.command("sh", &["-c", "ulimit -f 1; exec \"$@\"", "sh", &fixture.text("bin/hostile")]);
    command.args(fixture.drive("dev", &["true"]));
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(said.contains("`ulimit -f`"), "{said}");
}

#[test]
fn the_machine_is_not_named() {
    let files = ["/proc/cmdline", "/proc/config.gz", "/proc/interrupts", "/proc/partitions", "/proc/iomem"];
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let mut step = vec!["cat"];
        step.extend(files.iter().filter(|file| fs::exists(file).unwrap()));
        let report = fixture.confined("dev", 10_000, &step);
        assert_eq!(only(&report).stdout.bytes, 0, "{report:#?}");
        assert!(!fixture.command("cat", &["/proc/cmdline"]).output().unwrap().stdout.is_empty());
        // The files that builds look at are there.
        let report =
            fixture.confined("dev", 10_000, &["cat", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat"]);
        assert_eq!(only(&report).end, End::Exited { code: 0 });
    }
}
