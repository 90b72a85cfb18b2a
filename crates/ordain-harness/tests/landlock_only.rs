//! The level without namespaces: when it is used, what becomes of everyday work on a copy, and what only a namespace
//! would contain by itself. The table of hostile behaviours in `hostile.rs` is tried at this level too.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]
#![allow(unsafe_code, reason = "a process is stopped from outside")]

mod common;

use common::{Caller, Fixture, exists, only, stderr, stdout};
use ordain_harness::sandbox::{End, FileState, Level, Probe, Report};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CALLERS: [Caller; 2] = [Caller::Root, Caller::User];
const WITHOUT: [&str; 2] = ["without", "namespaces"];
const TIME_MS: u32 = 60_000;

/// A fixture whose private folders are in a folder of its own.
struct Ground {
    fixture: Fixture,
    temporary: PathBuf,
}

impl Ground {
    fn new(caller: Caller) -> Self {
        let fixture = Fixture::new(caller);
        let temporary = fixture.path("temporary");
        fs::create_dir(&temporary).unwrap();
        fs::set_permissions(&temporary, PermissionsExt::from_mode(0o1777)).unwrap();
        Self { fixture, temporary }
    }

    /// By way of `around`, with what the profile says and the flag.
    fn command(&self, around: &[&str], profile: &str, time_ms: u32, step: &[&str]) -> Command {
        let time = time_ms.to_string();
        let workspace = self.fixture.text("ws");
        let arguments = [around, &["drive", &workspace, profile, &time], step].concat();
        let mut command = self.fixture.command(&self.fixture.text("bin/hostile"), &arguments);
        command.env("TMPDIR", &self.temporary);
        command
    }

    fn said(&self, profile: &str, time_ms: u32, step: &[&str]) -> String {
        let output = self.command(&WITHOUT, profile, time_ms, step).output().unwrap();
        self.is_clean();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    fn confined(&self, profile: &str, time_ms: u32, step: &[&str]) -> Report {
        let said = self.said(&format!("{profile}+landlock-only"), time_ms, step);
        let report: Report = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
        assert_eq!(report.protections.level, Some(Level::LandlockOnly));
        report
    }

    fn succeeds(&self, profile: &str, step: &[&str]) -> Report {
        let report = self.confined(profile, TIME_MS, step);
        for step in &report.steps {
            let said = format!("{}{}", stdout(step), stderr(step));
            assert_eq!(step.end, End::Exited { code: 0 }, "{:?}: {said}", step.argv);
            assert!(step.violations.is_empty(), "{:?}", step.violations);
        }
        report
    }

    /// The private folder is gone, whatever happened.
    fn is_clean(&self) {
        let left: Vec<_> = fs::read_dir(&self.temporary).unwrap().map(|it| it.unwrap().path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn paths(files: &[ordain_harness::sandbox::ProducedFile]) -> Vec<&str> {
    files.iter().map(|it| it.path.as_str()).collect()
}

// When it is used.

#[test]
fn it_is_used_only_where_it_is_asked_for_and_there_is_nothing_better() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let refused = ground.said("dev", 10_000, &["true"]);
        assert!(
            refused.contains("the sandbox cannot be set up") && refused.contains("namespace"),
            "{refused}"
        );
        assert!(refused.contains("`--allow-landlock-only`: commands then run on a copy"), "{refused}");
        assert!(refused.contains("can change modes and times"), "{refused}");
        for profile in ["strict", "strict+landlock-only"] {
            let said = ground.said(profile, 10_000, &["true"]);
            let message = "would only reach the level `landlock-only`, and `full` is asked for";
            assert!(said.contains(message) && !said.contains("--allow"), "{said}");
        }
        assert_eq!(ground.confined("default", 10_000, &["true"]).protections.left_open.len(), 6);
        // With namespaces, nothing changes.
        let said = ground.command(&[], "dev+landlock-only", 10_000, &["true"]).output().unwrap().stdout;
        let report: Report = serde_json::from_slice(&said).unwrap();
        assert_eq!(report.protections.level, Some(Level::Full));
        assert!(report.protections.left_open.is_empty());
    }
}

#[test]
fn without_landlock_too_nothing_runs() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let without = ["without", "landlock", "without", "namespaces"];
        let output = ground.command(&without, "dev+landlock-only", 10_000, &["true"]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("the sandbox cannot be set up") && !said.contains("--allow"), "{said}");
        let probe = ground.fixture.free(&[&without[..], &["probe"]].concat());
        let probe: Probe = serde_json::from_str(&probe).unwrap();
        assert_eq!(probe.level, None);
        let missing = probe.features.iter().find(|it| it.name == "level landlock-only").unwrap();
        assert!(!missing.works && missing.remedy.as_ref().unwrap().contains("Linux 6.12"), "{missing:?}");
    }
}

#[test]
fn a_workspace_that_cannot_be_shown_is_no_reason_for_less() {
    let ground = Ground::new(Caller::User);
    let said = ground.command(&[], "dev+landlock-only", 10_000, &["+a.txt/x=y", "true"]).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.starts_with("ERROR `a.txt/x` cannot be written into the sandbox"), "{said}");
}

#[test]
fn the_probe_says_what_the_flag_is() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let probe: Probe = serde_json::from_str(&fixture.free(&["without", "namespaces", "probe"])).unwrap();
        assert_eq!(probe.level, Some(Level::LandlockOnly));
        let missing = probe.features.iter().find(|feature| !feature.works).unwrap();
        assert!(missing.name == "user namespace" && missing.remedy.is_some(), "{missing:?}");
        let level = probe.features.iter().find(|feature| feature.name == "level landlock-only").unwrap();
        assert!(level.works && level.found.starts_with("only with `--allow-landlock-only`"), "{level:?}");
        assert_eq!(serde_json::to_value(probe.level).unwrap(), "landlock-only");
    }
}

#[test]
fn the_evidence_says_what_was_active_and_what_not() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let report =
            ground.succeeds("default", &["python3", "-c", "import os; print(os.getuid(), os.getgid())"]);
        let protections = &report.protections;
        let ids = stdout(only(&report));
        assert!(!ids.split_whitespace().any(|id| id == "0"), "{ids}");
        assert_eq!(protections.caller, if caller == Caller::Root { "root" } else { "user" });
        assert!(protections.namespaces.is_empty());
        assert_eq!(protections.cap_eff, "0000000000000000");
        assert_eq!((protections.no_new_privs.as_str(), protections.seccomp.as_str()), ("1", "2"));
        assert!(protections.landlock_abi >= 6);
        assert_eq!(protections.limits["scratch_bytes"].by, "collector (watch)");
        assert_eq!(protections.limits["output_bytes"].by, "collector (watch)");
        assert!(!protections.limits.contains_key("shared_memory_bytes"));
        let evidence = serde_json::to_value(report.observed()).unwrap();
        assert_eq!(evidence["sandbox"]["protections"]["level"], "landlock-only");
        let open = evidence["sandbox"]["protections"]["left_open"].to_string();
        assert!(open.contains("no namespaces") && open.contains("modes and times"), "{open}");
        let evidence = evidence.to_string();
        assert!(!evidence.contains("ordain-sandbox-"), "where the copy was is nobody's business: {evidence}");
    }
}

/// Runs a program as the root of a user namespace that has ids of its own, as a container has.
const CONTAINER: &str = "
import ctypes, os, sys
(made, say_made), (mapped, say_mapped) = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    assert ctypes.CDLL(None).unshare(0x10000000) == 0
    os.write(say_made, b'!')
    os.read(mapped, 1)
    os.setgroups([]), os.setgid(0), os.setuid(0)
    os.execv(sys.argv[1], sys.argv[1:])
os.read(made, 1)
for name in ['uid_map', 'gid_map']:
    open(f'/proc/{child}/{name}', 'w').write('0 100000 65536')
os.write(say_mapped, b'!')
os.waitpid(child, 0)
";

#[test]
fn the_root_of_a_container_is_somebody_else() {
    let ground = Ground::new(Caller::Root);
    for path in ["ws", "ws/a.txt"] {
        std::os::unix::fs::chown(ground.fixture.path(path), Some(100_000), Some(100_000)).unwrap();
    }
    let script = "id -u; chmod 700 \"$0\"; cat a.txt";
    let workspace = ground.fixture.text("ws");
    let inner = ground.command(&WITHOUT, "dev+landlock-only", 10_000, &["sh", "-c", script, &workspace]);
    let mut outer = Command::new("python3");
    outer.args(["-c", CONTAINER]).arg(inner.get_program()).args(inner.get_args());
    let said = outer.env("TMPDIR", &ground.temporary).output().unwrap().stdout;
    let report: Report = serde_json::from_slice(&said).unwrap();
    assert_eq!(stdout(only(&report)), "65533\ncontent", "{report:#?}");
    assert!(stderr(only(&report)).contains("not permitted"), "{}", stderr(only(&report)));
    ground.is_clean();
}

#[test]
fn another_filter_is_another_hash() {
    let ground = Ground::new(Caller::User);
    let alone = ground.confined("dev", 10_000, &["true"]).protections.seccomp_sha256;
    assert_ne!(alone, ground.fixture.confined("dev", 10_000, &["true"]).protections.seccomp_sha256);
}

// Everyday work.

#[test]
fn rust() {
    // The toolchain of the tests is root's, in a folder that is closed to others: by hard links it has another place.
    let ground = Ground::new(Caller::User);
    let home = |name: &str, fallback: &str| {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        std::env::var_os(name).map_or_else(|| home.join(fallback), PathBuf::from)
    };
    let top = &ground.fixture.top;
    for (from, to) in
        [(home("CARGO_HOME", ".cargo").join("bin"), "cargo"), (home("RUSTUP_HOME", ".rustup"), "rustup")]
    {
        let (from, to) = (from.to_str().unwrap().to_owned(), top.join(to));
        fs::create_dir(&to).unwrap();
        let script = "cp -al \"$0\" \"$1\" || cp -a \"$0\" \"$1\"";
        assert!(Command::new("sh").args(["-c", script, &from]).arg(&to).status().unwrap().success());
    }
    let rustup = fs::read_dir(top.join("rustup")).unwrap().next().unwrap().unwrap().path();
    for folder in [&rustup, &top.join("cargo"), &top.join("cargo/bin")] {
        fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    }
    ground
        .fixture
        .file("ws/Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    ground.fixture.file("ws/src/lib.rs", "#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n");
    let step = ["cargo", "build", "--then", "cargo", "test", "--then", "cargo", "build"];
    let mut command = ground.command(&WITHOUT, "default+landlock-only", TIME_MS, &step);
    command.env("CARGO_HOME", top.join("cargo")).env("RUSTUP_HOME", rustup);
    command.env("PATH", format!("{}:/usr/bin:/bin", top.join("cargo/bin").display()));
    let said = command.output().unwrap().stdout;
    let report: Report = serde_json::from_slice(&said).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    for step in &report.steps {
        assert_eq!(step.end, End::Exited { code: 0 }, "{}{}", stdout(step), stderr(step));
    }
    assert!(stdout(&report.steps[1]).contains("1 passed"), "{}", stdout(&report.steps[1]));
    assert!(!stderr(&report.steps[2]).contains("Compiling"), "times are kept: {}", stderr(&report.steps[2]));
    assert!(report.produced.is_empty(), "the build is scratch: {:?}", report.produced);
    assert_eq!(report.dropped, ["Cargo.lock"]);
    assert!(!exists(&ground.fixture.path("ws/Cargo.lock")));
    ground.is_clean();
}

#[test]
fn python_node_git_and_make() {
    for caller in CALLERS {
        let mut ground = Ground::new(caller);
        ground.fixture.path = "/usr/bin:/bin".to_owned();
        ground.fixture.file("ws/Makefile", "out/made: a.txt\n\tmkdir -p out\n\techo made > out/made\n");
        ground.fixture.file("ws/test_sum.py", "def test_add():\n    assert 1 + 2 == 3\n");
        for arguments in [&["init", "-q"] as &[&str], &["add", "."]] {
            assert!(ground.fixture.command("git", arguments).output().unwrap().status.success());
        }
        let python = "import json, ssl, asyncio, multiprocessing as m; asyncio.run(asyncio.sleep(0)); \
                      p = m.Process(target=print); p.start(); p.join(); assert p.exitcode == 0";
        let steps = [
            &["python3", "-c", python, "--then", "python3", "-m", "pytest", "-q", "--then"] as &[&str],
            &["node", "-e", "console.log(6 * 7)", "--then", "git", "status", "--short", "--then", "make"],
        ];
        let report = ground.succeeds("default", &steps.concat());
        assert!(stdout(&report.steps[1]).contains("1 passed"), "{}", stdout(&report.steps[1]));
        assert_eq!(stdout(&report.steps[2]), "42\n");
        assert!(stdout(&report.steps[3]).contains("A  Makefile"), "{}", stdout(&report.steps[3]));
        assert_eq!(paths(&report.produced), ["out/made"]);
        assert!(report.dropped.is_empty() && report.deleted.is_empty(), "{report:?}");
        assert!(!exists(&ground.fixture.path("ws/out")));
    }
}

// The copy.

#[test]
fn the_difference_is_right() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let fixture = &ground.fixture;
        for file in
            ["ws/gone", "ws/changed", "ws/same", "ws/touched", "ws/folder/one", "ws/folder/two", "ws/to-link"]
        {
            fixture.file(file, "text");
        }
        fixture.file("ws/.ordain/runs/1/journal", "not seen");
        for link in ["link", "link-changed", "link-gone"] {
            symlink("same", fixture.path(&format!("ws/{link}"))).unwrap();
        }
        let pipe = fixture.command("mkfifo", &["pipe"]).status().unwrap();
        assert!(pipe.success());
        let first = "rm gone link-gone; echo new > new; chmod +x new; echo more >> changed; printf text > same; \
                     touch touched; ln -sfn changed link-changed; rm to-link; ln -s same to-link; ls -A";
        let second = "rm -r folder; echo x > folder; mkdir -p deep/er; echo y > deep/er/file; ln -s /etc deep/out; \
                      mkfifo deep/pipe; mkdir sub .git; echo z > .git/config; rm new";
        let report = ground.confined(
            "dev",
            TIME_MS,
            &["true", "--then", "sh", "-c", first, "--then", "sh", "-c", second],
        );
        let [nothing, first, second] = report.steps.as_slice() else { panic!("{report:?}") };
        assert!(nothing.produced.is_empty() && nothing.deleted.is_empty());
        assert!(!stdout(first).contains("pipe") && !stdout(first).contains(".ordain"), "{}", stdout(first));
        assert_eq!(paths(&first.produced), ["changed", "new"]);
        assert!(first.produced[1].executable && !first.produced[0].executable);
        assert_eq!(first.deleted, ["gone", "link-changed", "link-gone", "to-link"]);
        assert_eq!(second.deleted, ["folder/one", "folder/two", "new"]);
        assert_eq!(paths(&report.produced), ["changed", "deep/er/file", "folder"]);
        assert_eq!(
            report.deleted,
            ["folder/one", "folder/two", "gone", "link-changed", "link-gone", "to-link"]
        );
        let refused: Vec<&str> = report.refused.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(refused, ["deep/out", "deep/pipe", "link-changed", "to-link"]);
        assert_eq!(report.dropped, [".git/config"]);
        assert_eq!(fs::read_to_string(fixture.path("ws/gone")).unwrap(), "text");
    }
}

#[test]
fn modes_and_times_are_kept_and_rights_are_not() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        ground.fixture.file("ws/private", "mine");
        ground.fixture.file("ws/suid", "");
        for (file, mode) in [("ws/private", 0o640), ("ws/suid", 0o4755)] {
            fs::set_permissions(ground.fixture.path(file), PermissionsExt::from_mode(mode)).unwrap();
        }
        let time = fs::metadata(ground.fixture.path("ws/private")).unwrap().mtime();
        let report = ground.succeeds("dev", &["stat", "-c", "%a %Y", "private", "suid"]);
        assert!(stdout(only(&report)).starts_with(&format!("640 {time}\n755 ")), "{}", stdout(only(&report)));
        assert!(report.produced.is_empty() && report.refused.is_empty());
    }
}

#[test]
fn what_is_locked_is_looked_at() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let script = "mkdir locked; echo x > locked/file; chmod 0 locked/file locked; chmod 0 a.txt";
        let report = ground.confined("dev", TIME_MS, &["sh", "-c", script, "--then", "true"]);
        assert_eq!(paths(&report.produced), ["locked/file"]);
        assert!(matches!(report.inspected[0].state, FileState::File { size: 7, .. }));
        let script = "chmod 0 $HOME $HOME/.. $TMPDIR .; chmod 0 $TMPDIR/.. || true";
        let report = ground.confined("dev", TIME_MS, &["sh", "-c", script, "--then", "cat", "a.txt"]);
        assert_eq!(stdout(&report.steps[1]), "content", "{report:#?}");
    }
}

/// Nothing but the content tells whether a file was changed.
#[test]
fn a_change_that_leaves_times_is_seen() {
    let ground = Ground::new(Caller::User);
    let script = "import os, mmap\ntimes = os.stat('a.txt')\nfile = open('a.txt', 'r+b')\n\
                  mmap.mmap(file.fileno(), 0)[0:1] = b'C'\nos.utime('a.txt', ns=(times.st_atime_ns, times.st_mtime_ns))";
    let report = ground.succeeds("dev", &["python3", "-c", script]);
    assert_eq!(paths(&report.produced), ["a.txt"]);
}

#[test]
fn writes_are_no_output() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let steps =
            ["+a.txt=before", "+x/y=new", "+a.txt@1=after", "cat", "a.txt", "x/y", "--then", "sh", "-c"];
        let report = ground.succeeds("dev", &[&steps[..], &["cat a.txt; echo more >> a.txt"]].concat());
        assert_eq!(
            (stdout(&report.steps[0]), stdout(&report.steps[1])),
            ("beforenew".into(), "after".into())
        );
        assert_eq!(paths(&report.produced), ["a.txt"]);
        assert_eq!(fs::read_to_string(ground.fixture.path("ws/a.txt")).unwrap(), "content");
    }
}

#[test]
fn the_copy_has_a_limit() {
    let ground = Ground::new(Caller::User);
    ground.fixture.file("ws/large", "");
    let file = fs::OpenOptions::new().write(true).open(ground.fixture.path("ws/large")).unwrap();
    file.set_len((1 << 30) + 1).unwrap();
    let said = ground.said("dev+landlock-only", 10_000, &["true"]);
    let message = "copying the workspace: the workspace has more than 1073741824 bytes";
    assert!(said.contains(message), "{said}");
    file.set_len(0).unwrap();
    let folder = ground.fixture.path("ws/many");
    fs::create_dir(&folder).unwrap();
    (0..=100_000).for_each(|number| drop(fs::File::create(folder.join(number.to_string())).unwrap()));
    let said = ground.said("dev+landlock-only", 10_000, &["true"]);
    assert!(said.contains("it has more than 100000 files and folders"), "{said}");
}

#[test]
fn what_cannot_be_read_is_named() {
    let ground = Ground::new(Caller::User);
    ground.fixture.file("ws/private", "");
    std::os::unix::fs::chown(ground.fixture.path("ws/private"), Some(0), Some(0)).unwrap();
    fs::set_permissions(ground.fixture.path("ws/private"), PermissionsExt::from_mode(0o600)).unwrap();
    let said = ground.said("dev+landlock-only", 10_000, &["true"]);
    assert!(said.contains("copying the workspace: `private`: Permission denied"), "{said}");
    // Root could, but it is neither the workspace's own nor everybody's.
    let mut command = Command::new(ground.fixture.text("bin/hostile"));
    command.args(WITHOUT).args(ground.fixture.drive("dev+landlock-only", &["true"]));
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(said.contains("copying the workspace: `private`: Permission denied"), "{said}");
}

#[test]
fn a_private_folder_in_the_workspace_is_refused() {
    let ground = Ground::new(Caller::User);
    let mut command = ground.command(&WITHOUT, "dev+landlock-only", 10_000, &["true"]);
    let said = command.env("TMPDIR", ground.fixture.path("ws")).output().unwrap().stdout;
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("is in the workspace, and TMPDIR"), "{said}");
    assert_eq!(fs::read_dir(ground.fixture.path("ws")).unwrap().count(), 1);
}

// Attacks that a namespace would contain by itself.

#[test]
fn the_timeout_ends_everything() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        for (name, stragglers) in [("family", 15), ("hoppers", 1)] {
            let late = ground.fixture.text("ws/late");
            let start = Instant::now();
            let report = ground.confined("dev", 1_000, &["hostile", name, &late]);
            assert_eq!(only(&report).end, End::TimedOut { after_ms: 1_000 }, "{name}");
            assert!(only(&report).stragglers >= stragglers, "{name}: {}", only(&report).stragglers);
            assert!(start.elapsed() < Duration::from_secs(4), "{name}: {:?}", start.elapsed());
            assert_eq!(of_command(&ground), [] as [String; 0], "{name}");
        }
    }
}

/// Without the sandbox they are there after their time.
#[test]
fn hoppers_outlive_a_kill() {
    let ground = Ground::new(Caller::User);
    let late = ground.fixture.path("decoy/late");
    let mut free = ground
        .fixture
        .command(&ground.fixture.text("bin/hostile"), &["hoppers", late.to_str().unwrap(), "50"]);
    let mut free = free.stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    free.kill().unwrap();
    free.wait().unwrap();
    std::thread::sleep(Duration::from_secs(4));
    assert!(exists(&late));
}

/// Processes that run the hostile program of a fixture, the one that drives the sandbox not among them.
fn of_command(ground: &Ground) -> Vec<String> {
    let program = ground.fixture.path("bin/hostile");
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|it| it.path());
    let is_of = |process: &PathBuf| fs::read_link(process.join("exe")).is_ok_and(|it| it == program);
    processes.filter(is_of).map(|it| it.display().to_string()).collect()
}

#[test]
fn a_daemon_does_not_outlive_its_command() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let report = ground.confined("dev", 20_000, &["hostile", "daemon"]);
        assert_eq!(only(&report).end, End::Exited { code: 0 });
        assert!(only(&report).stragglers >= 1, "{report:#?}");
        assert_eq!(of_command(&ground), [] as [String; 0]);
    }
}

#[test]
fn folders_are_counted() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let cases: [(&[&str], &str); 6] = [
            (&["sh", "-c", "hostile fill_slowly ."], "bytes in the workspace"),
            (&["sh", "-c", "hostile fill_slowly $TMPDIR"], "bytes in the folder for temporary files"),
            (&["sh", "-c", "hostile fill_slowly $HOME"], "bytes in the scratch"),
            (&["hostile", "many_files"], "files in the folder for temporary files"),
            (&["hostile", "inode_fill"], "files in the workspace"),
            (
                &["sh", "-c", "cd $TMPDIR; hostile deep; sleep 5"],
                "folders below each other in the folder for temporary files",
            ),
        ];
        for (step, counted) in cases {
            let report = ground.confined("dev", 60_000, step);
            let End::TooMany { what, .. } = &only(&report).end else {
                panic!("{step:?}: {:?}", only(&report).end)
            };
            assert_eq!(what, counted);
        }
        let report = ground.confined("dev", 60_000, &["hostile", "fill_locked"]);
        assert!(matches!(&only(&report).end, End::TooMany { .. }), "{:?}", only(&report).end);
        let report = ground.confined("dev", 60_000, &["hostile", "fill_deleted"]);
        assert!(matches!(&only(&report).end, End::MemoryExceeded { .. }), "{:?}", only(&report).end);
    }
    let free = Fixture::new(Caller::User);
    for name in [&["fill_slowly", ".", "200"] as &[&str], &["fill_locked", "200"], &["fill_deleted", "200"]] {
        assert!(free.free(name).contains("DID"), "without the sandbox it can be had: {name:?}");
    }
}

#[test]
fn programs_that_hide_are_counted_as_if_they_had_much() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let report = ground.confined("dev", 20_000, &["hostile", "unreadable"]);
        let end = &only(&report).end;
        assert!(matches!(end, End::TooMany { .. } | End::MemoryExceeded { .. }), "{end:?}");
        assert!(ground.fixture.free(&["unreadable"]).contains("DID"));
    }
}

#[test]
fn memory_is_watched() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        for name in ["headless_hog", "mem_hog_multi"] {
            let report = ground.confined("dev", 20_000, &["hostile", name]);
            assert!(
                matches!(only(&report).end, End::MemoryExceeded { .. }),
                "{name}: {:?}",
                only(&report).end
            );
        }
        let report = ground.confined("dev", 20_000, &["hostile", "all_mappings"]);
        assert!(matches!(only(&report).end, End::TooMany { .. }), "{:?}", only(&report).end);
        for (name, word) in
            [("shared_leftovers", "STOPPED"), ("large_sockets", "STOPPED"), ("shared_again", "DID")]
        {
            let report = ground.confined("dev", 20_000, &["hostile", name]);
            assert!(stdout(only(&report)).contains(word), "{name}: {report:#?}");
        }
        let report = ground.confined("dev", 20_000, &["cat", "/dev/zero"]);
        assert!(stderr(only(&report)).contains("Permission denied"), "{report:#?}");
    }
}

#[test]
fn the_collector_is_out_of_reach() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let report = ground.confined("dev", 20_000, &["hostile", "stop_parent"]);
        assert!(stdout(only(&report)).contains("STOPPED stop_parent"), "{report:#?}");
        let report = ground.confined("dev", 20_000, &["hostile", "second_listener"]);
        assert!(stdout(only(&report)).contains("STOPPED second_listener"), "{report:#?}");
        assert!(ground.fixture.free(&["second_listener"]).contains("DID"));
    }
}

#[test]
fn a_signal_for_all_reaches_nobody_else() {
    for caller in CALLERS {
        let mut ground = Ground::new(caller);
        let victim = ground.fixture.victim();
        let report = ground.confined("dev", 20_000, &["hostile", "kill_all"]);
        assert!(stdout(only(&report)).contains("DID kill_all"), "{report:#?}");
        assert!(ground.fixture.free(&["kill_victim", &victim]).contains("DID"), "the victim is there");
    }
}

#[test]
fn what_the_host_has_is_out_of_reach() {
    for caller in CALLERS {
        let mut ground = Ground::new(caller);
        let socket = ground.fixture.path("decoy/datagrams");
        let _listener = UnixDatagram::bind(&socket).unwrap();
        fs::set_permissions(&socket, PermissionsExt::from_mode(0o777)).unwrap();
        let victim = ground.fixture.victim();
        let secret = ground.fixture.text("decoy/secret");
        let socket = socket.to_str().unwrap();
        for step in [
            ["datagram", socket],
            ["read_command_line", &victim],
            ["victim_environ", &victim],
            ["give_away", &secret],
            ["attribute_out", &secret],
        ] {
            let report = ground.confined("dev", 20_000, &["hostile", step[0], step[1]]);
            assert!(stdout(only(&report)).contains("STOPPED"), "{step:?}: {report:#?}");
            assert!(ground.fixture.free(&step).contains("DID"), "{step:?}");
        }
        for file in
            ["/proc/self/status", "/proc/cmdline", "/proc/net/unix", "/etc/passwd", "/sys/kernel/notes"]
        {
            let report = ground.confined("dev", 20_000, &["cat", file]);
            assert!(stderr(only(&report)).contains("Permission denied"), "{file}: {report:#?}");
        }
    }
}

#[test]
fn a_device_that_hides_a_file_is_refused() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let report = ground.confined("dev", 20_000, &["hostile", "whiteout"]);
        let refused: Vec<_> =
            report.refused.iter().map(|it| (it.path.as_str(), it.reason.as_str())).collect();
        if stdout(only(&report)).contains("DID") {
            assert_eq!(refused, [("moving", "it is a device")]);
        }
    }
}

/// The two together do not see each other's files, though root's commands are the same user.
#[test]
fn two_at_a_time_do_not_meet() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let sleeping = ["sh", "-c", "echo mine > mine; pwd; sleep 2; cat mine"];
        let mut first = ground.command(&WITHOUT, "dev+landlock-only", 10_000, &sleeping);
        let first = first.stdout(Stdio::piped()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        let folder = loop {
            assert!(Instant::now() < deadline);
            let folder = fs::read_dir(&ground.temporary).unwrap().next();
            if let Some(folder) =
                folder.map(|it| it.unwrap().path()).filter(|it| exists(&it.join("workspace/mine")))
            {
                break folder;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let script = format!("cat {0}/workspace/mine; echo x > {0}/workspace/mine", folder.display());
        let second =
            ground.command(&WITHOUT, "dev+landlock-only", 10_000, &["sh", "-c", &script]).output().unwrap();
        let second: Report = serde_json::from_slice(&second.stdout).unwrap();
        assert_eq!(
            stderr(only(&second)).matches("Permission denied").count(),
            2,
            "{}",
            stderr(only(&second))
        );
        let first: Report = serde_json::from_slice(&first.wait_with_output().unwrap().stdout).unwrap();
        assert!(stdout(only(&first)).ends_with("mine\n"), "{first:#?}");
        ground.is_clean();
    }
}

// Attacks on the processes that end commands.

fn started(ground: &Ground, time_ms: u32) -> (std::process::Child, u32, u32) {
    let step = ["sh", "-c", "setsid hostile ignore_term & hostile family"];
    let mut command = ground.command(&[], "dev+landlock-only", time_ms, &step);
    // The driver itself must be the child that is looked at.
    let mut arguments: Vec<String> = WITHOUT.map(str::to_owned).to_vec();
    arguments.extend(command.get_args().map(|it| it.to_str().unwrap().to_owned()));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    command = ground.fixture.command(&ground.fixture.text("bin/hostile"), &arguments);
    command.env("TMPDIR", &ground.temporary).env("ORDAIN_TEST_GRACE_MS", "1000");
    let driver = command.stdout(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        assert!(Instant::now() < deadline, "it does not start");
        std::thread::sleep(Duration::from_millis(20));
        let running = of_command(ground);
        let (Some(helper), true) = (child_of(driver.id()), running.len() > 15) else { continue };
        let Some(collector) = child_of(helper) else { continue };
        return (driver, helper, collector);
    }
}

fn child_of(parent: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    children.split_whitespace().next().map(|it| it.parse().unwrap())
}

fn send(process: u32, signal: i32) {
    // SAFETY: a process that this test started, by way of others, and that has not been waited for.
    assert_eq!(unsafe { libc::kill(process.cast_signed(), signal) }, 0);
}

fn everything_ends(ground: &Ground) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !of_command(ground).is_empty() || fs::read_dir(&ground.temporary).unwrap().next().is_some() {
        assert!(Instant::now() < deadline, "something is left: {:?}", of_command(ground));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_collector_that_hangs_is_ended_with_everything() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let (driver, _, collector) = started(&ground, 2_000);
        send(collector, libc::SIGSTOP);
        let said = String::from_utf8(driver.wait_with_output().unwrap().stdout).unwrap();
        assert!(said.contains("ERROR the sandbox did not end within"), "{said}");
        everything_ends(&ground);
    }
}

#[test]
fn a_collector_that_is_killed_leaves_nothing() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let (driver, _, collector) = started(&ground, 20_000);
        send(collector, libc::SIGKILL);
        let said = String::from_utf8(driver.wait_with_output().unwrap().stdout).unwrap();
        assert!(said.contains("ERROR the sandbox ended without a report"), "{said}");
        everything_ends(&ground);
    }
}

#[test]
fn a_caller_that_is_killed_leaves_nothing() {
    for caller in CALLERS {
        let ground = Ground::new(caller);
        let (mut driver, _, _) = started(&ground, 20_000);
        driver.kill().unwrap();
        driver.wait().unwrap();
        everything_ends(&ground);
    }
}
