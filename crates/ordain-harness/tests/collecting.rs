//! Attacks of commands on the collector that watches them and lists what they did, as root and as an ordinary
//! user.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod common;

use common::{Caller, Fixture, only, stdout};
use ordain_harness::sandbox::{End, FileState, Report};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

const CALLERS: [Caller; 2] = [Caller::Root, Caller::User];

fn paths<T>(list: &[T], path: fn(&T) -> &str) -> Vec<&str> {
    list.iter().map(path).collect()
}

fn produced(report: &Report) -> Vec<&str> {
    paths(&report.produced, |it| &it.path)
}

fn refused(report: &Report) -> Vec<&str> {
    paths(&report.refused, |it| &it.path)
}

/// Has its way without the sandbox, and is ended or refused within, as `contained` says.
fn check(name: &str, contained: fn(&Report) -> bool) {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let report = fixture.confined("dev", 20_000, &["hostile", name]);
        let said = stdout(only(&report));
        assert!(!said.contains("DID") && contained(&report), "{:?}: {said}", only(&report).end);
        let free = fixture.free(&[name]);
        assert!(free.contains(&format!("DID {name}")), "without the sandbox it must have its way: {free}");
    }
}

fn is_out_of_memory(report: &Report) -> bool {
    matches!(only(report).end, End::MemoryExceeded { .. })
}

fn is_refused(report: &Report) -> bool {
    stdout(only(report)).contains("STOPPED")
}

#[test]
fn stolen_output_does_not_stop_the_collector() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let start = Instant::now();
        let report = fixture.confined("dev", 2_000, &["hostile", "steal_stream"]);
        let is_end = matches!(only(&report).end, End::TimedOut { .. } | End::OutputExceeded { .. });
        assert!(is_end && start.elapsed() < Duration::from_secs(4), "{:?}", only(&report).end);
    }
}

#[test]
fn shared_memory_counts_though_it_is_no_longer_mapped() {
    check("shared_leftovers", is_refused);
}

#[test]
fn zeroes_are_no_way_to_shared_memory() {
    check("zero_leftovers", |report| only(report).end == End::Signaled { signal: libc::SIGBUS });
}

#[test]
fn shared_memory_that_is_gone_does_not_count() {
    for caller in CALLERS {
        let report = Fixture::new(caller).confined("dev", 20_000, &["hostile", "shared_again"]);
        assert!(stdout(only(&report)).contains("DID shared_again"), "{}", stdout(only(&report)));
    }
}

#[test]
fn memory_of_a_process_whose_first_thread_ended_counts() {
    check("headless_hog", is_out_of_memory);
}

#[test]
fn pipes_count() {
    check("pipe_hog", is_out_of_memory);
}

#[test]
fn no_socket_holds_more_than_others() {
    check("large_sockets", is_refused);
}

#[test]
fn mappings_are_limited() {
    check("all_mappings", |report| matches!(only(report).end, End::TooMany { .. }));
}

#[test]
fn an_address_space_counts_once() {
    for caller in CALLERS {
        let report = Fixture::new(caller).confined("dev", 20_000, &["hostile", "vfork_with_much"]);
        assert!(stdout(only(&report)).contains("DID"), "{:?}", only(&report).end);
        assert!(only(&report).peak_memory_bytes < 900 << 20);
    }
}

#[test]
fn zeroes_read_as_ever() {
    let script =
        "head -c 100 /dev/zero | wc -c; dd if=/dev/zero of=/tmp/x bs=1M count=3 2>&1 | tail -1 | cut -c 1-7";
    let report = Fixture::new(Caller::User).confined("dev", 10_000, &["sh", "-c", script]);
    assert_eq!(stdout(only(&report)), "100\n3145728\n");
}

/// The effect of a script on `README.md`, `src/a.rs`, `src/deep/b.rs`, `gen/g.txt` and the link `src/link`.
fn after(caller: Caller, profile: &str, step: &[&str]) -> Report {
    let fixture = Fixture::new(caller);
    for file in ["ws/README.md", "ws/src/a.rs", "ws/src/deep/b.rs", "ws/gen/g.txt"] {
        fixture.file(file, "text\n");
    }
    std::os::unix::fs::symlink("a.rs", fixture.path("ws/src/link")).unwrap();
    let owner = fs::metadata(fixture.path("ws/src")).unwrap().uid();
    std::os::unix::fs::lchown(fixture.path("ws/src/link"), Some(owner), Some(owner)).unwrap();
    fixture.confined(profile, 10_000, step)
}

const SOURCES: [&str; 3] = ["src/a.rs", "src/deep/b.rs", "src/link"];

const SET_USER_ID: &str = "rm README.md; python3 -c 'import os; os.open(\"README.md\", os.O_CREAT, 0o4755)'";

/// A script, and what is deleted, refused and produced by it.
type Script = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

#[test]
fn nothing_disappears_without_a_trace() {
    for caller in CALLERS {
        let cases: [Script; 8] = [
            ("rm README.md", &["README.md"], &[], &[]),
            ("rm README.md; mkdir README.md", &["README.md"], &[], &[]),
            ("rm README.md; mkfifo README.md", &["README.md"], &["README.md"], &[]),
            ("rm README.md; ln -s a.txt README.md", &["README.md"], &["README.md"], &[]),
            (SET_USER_ID, &["README.md"], &["README.md"], &[]),
            ("rm -r src; ln -s gen src", &SOURCES, &["src"], &[]),
            ("rm -r src; echo x > src", &SOURCES, &[], &["src"]),
            ("rm src/link", &["src/link"], &[], &[]),
        ];
        for (script, deleted, odd, made) in cases {
            // Once at a time, and once what was deleted before is replaced later.
            let at_once = after(caller, "default", &["python3", "-c", &shell(script)]);
            assert_eq!(at_once.deleted, deleted, "{script}");
            assert_eq!(refused(&at_once), odd, "{script}");
            assert_eq!(produced(&at_once), made, "{script}");
            let violations = &only(&at_once).violations;
            assert_eq!(violations.len(), deleted.len() + odd.len() + made.len(), "{violations:?}");
            let (first, then) = script.split_once("; ").unwrap_or((script, "true"));
            let report = after(caller, "dev", &["sh", "-c", first, "--then", "sh", "-c", then]);
            assert_eq!(report.deleted, deleted, "{script}");
            assert_eq!(refused(&report), odd, "{script}");
            assert_eq!(report.steps[0].deleted, deleted, "{script}");
            assert!(report.steps[1].deleted.is_empty(), "{script}: {:?}", report.steps[1].deleted);
        }
    }
}

/// The profile `default` has no shell.
fn shell(script: &str) -> String {
    format!("import subprocess; subprocess.run(['sh', '-c', {script:?}])")
}

#[test]
fn what_is_as_before_is_no_change() {
    for caller in CALLERS {
        for script in [
            "rm -r gen; mkdir gen; echo text > gen/g.txt",
            "rm -r src; mkdir -p src/deep; echo text > src/a.rs; echo text > src/deep/b.rs; ln -s a.rs src/link",
            "touch -h src/link README.md gen",
            "echo x > new; rm new; mkdir folder; rmdir folder",
        ] {
            let report = after(caller, "dev", &["sh", "-c", script]);
            assert_eq!(only(&report).end, End::Exited { code: 0 });
            assert!(
                report.deleted.is_empty() && report.produced.is_empty() && report.refused.is_empty(),
                "{script}: {:?} {:?} {:?}",
                report.deleted,
                report.produced,
                report.refused
            );
        }
    }
}

#[test]
fn a_folder_that_came_back_with_less_lists_the_rest() {
    for caller in CALLERS {
        let script = "rm -r src; mkdir src; echo text > src/a.rs; echo new > src/c.rs";
        let report = after(caller, "dev", &["sh", "-c", script]);
        assert_eq!(report.deleted, ["src/deep/b.rs", "src/link"]);
        assert_eq!(produced(&report), ["src/c.rs"]);
    }
}

#[test]
fn odd_things_are_listed_and_only_count_outside_the_folders_for_them() {
    for caller in CALLERS {
        let script = "mkdir build target; mkfifo build/pipe; ln -s ../src target/link";
        let report = after(caller, "default", &["python3", "-c", &shell(script)]);
        assert_eq!(refused(&report), ["build/pipe", "target/link"]);
        assert!(only(&report).violations.is_empty(), "{:?}", only(&report).violations);
        let report = after(caller, "default", &["python3", "-c", &shell("ln -s src elsewhere")]);
        assert_eq!(only(&report).violations.len(), 1, "{:?}", only(&report).violations);
    }
}

#[test]
fn names_of_git_and_ordain_are_dropped() {
    for caller in CALLERS {
        let names =
            [".git", "GIT~2", "git~10", ".g\u{200c}it", ".git::$INDEX_ALLOCATION", ".Git. .", ".ordain"];
        let script = "for name in \"$@\"; do mkdir -p \"$name\"; echo x > \"$name/f\"; done";
        let mut step = vec!["sh", "-c", script, "sh"];
        step.extend(names);
        let report = after(caller, "dev", &step);
        assert_eq!(report.dropped.len(), names.len(), "{:?}", report.dropped);
        assert!(report.produced.is_empty() && report.refused.is_empty());
    }
}

#[test]
fn what_is_too_much_is_not_read() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let start = Instant::now();
        let report = fixture.confined("dev", 10_000, &["hostile", "sparse_many", "--then", "true"]);
        assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
        assert_eq!(report.refused.len(), 60);
        assert_eq!(report.steps[0].violations.len(), 1, "{:?}", report.steps[0].violations);
        assert!(fixture.free(&["sparse_many"]).contains("DID"), "without the sandbox they can be had");
        let start = Instant::now();
        let report = fixture.confined("dev", 20_000, &["hostile", "links_many"]);
        assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
        assert_eq!(report.steps[0].violations.len(), 2, "{:?}", report.steps[0].violations);
        let first = &report.produced[0].sha256;
        assert!(report.produced.iter().all(|it| it.sha256 == *first));
    }
}

/// A file that is to be looked at after the last step may be another name of a large one.
#[test]
fn what_was_read_is_not_read_again() {
    let script = "rm a.txt; truncate -s 1G a.txt";
    let report = Fixture::new(Caller::User).confined("dev", 10_000, &["sh", "-c", script]);
    assert_eq!(report.inspected[0].state, FileState::Other);
}

#[test]
fn more_deletions_than_are_listed_are_a_violation() {
    let fixture = Fixture::new(Caller::Root);
    for folder in 0..101 {
        let folder = fixture.path(&format!("ws/d{folder}"));
        fs::create_dir(&folder).unwrap();
        (0..1_000).for_each(|file| drop(fs::File::create(folder.join(file.to_string())).unwrap()));
    }
    let report = fixture.confined("dev", 60_000, &["sh", "-c", "rm -r d*"]);
    assert_eq!(report.deleted.len(), 100_000);
    let violations = &only(&report).violations;
    assert!(violations.len() == 1 && violations[0].contains("more than 100000"), "{violations:?}");
}

#[test]
fn depth_takes_no_descriptors() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        // Names so long that the path is longer than the kernel takes at once.
        let long = "d".repeat(200);
        let script =
            format!("i=0; while [ $i -lt 90 ]; do mkdir {long}; cd {long}; i=$((i+1)); done; echo x > f");
        let report = fixture.confined("dev", 10_000, &["sh", "-c", &script]);
        assert_eq!(report.produced.len() + report.refused.len(), 1, "{:?}", report.refused);
        let deep = format!("ws/{}f", "d/".repeat(600));
        fixture.file(&deep, "x");
        let workspace = fixture.text("ws");
        let drive = format!("ulimit -n 40; exec hostile drive {workspace} dev 10000 rm -r d");
        let said = fixture.command("sh", &["-c", &drive]).output().unwrap();
        let report: Report = serde_json::from_slice(&said.stdout).unwrap();
        assert_eq!(report.deleted, [deep.trim_start_matches("ws/")]);
    }
}

/// Attributes by which layers of an overlay refer to each other, in a workspace: nothing leads anywhere by them.
#[test]
fn attributes_of_the_workspace_lead_nowhere() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        for file in ["opaque/f", "moved/f", "part", "other/f"] {
            fixture.file(&format!("ws/{file}"), file);
        }
        let set = "import os; x = lambda path, name, value: os.setxattr(path, 'user.overlay.' + name, value)\n\
                   x('opaque', 'opaque', b'y'); x('moved', 'redirect', b'/other'); x('part', 'redirect', b'/other/f')\n\
                   x('part', 'metacopy', b'')";
        let set = fixture.command("python3", &["-c", set]).output().unwrap();
        assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
        let script = "cat opaque/f moved/f; cat part; echo new > opaque/g; rm -r moved";
        let report = fixture.confined("dev", 10_000, &["sh", "-c", script]);
        // The kernel refuses a file of which it is said that its content is elsewhere.
        assert_eq!(stdout(only(&report)), "opaque/fmoved/f");
        assert_eq!(produced(&report), ["opaque/g"]);
        assert_eq!(report.deleted, ["moved/f"]);
    }
}

#[test]
fn a9_watches_of_epoll_are_counted() {
    check(
        "epoll_watches",
        |report| matches!(&only(report).end, End::TooMany { what, .. } if what.contains("epoll")),
    );
}

#[test]
fn a9_timers_are_limited() {
    check("timers", is_refused);
    let report = Fixture::new(Caller::User).confined("dev", 20_000, &["true"]);
    let limit = &report.protections.limits["pending_signals"];
    assert!(limit.max <= 1_024 && limit.by.contains("kernel"), "{limit:?}");
}

/// A command leaves a start-up file, a stale build and other things outside the workspace. The step after it
/// finds them, a test does not, and the report lists them.
#[test]
fn a5_a_test_starts_without_what_commands_left_outside_the_workspace() {
    let rig = "mkdir -p ~/.config && echo bad > ~/.config/rc && echo bad > /tmp/rc && mkdir -p /scratch/target/debug && \
        echo bad > /scratch/target/debug/t && echo bad > /scratch/cargo/config.toml && chmod 0 /scratch/target && \
        echo kept > out/kept";
    let look = "cat ~/.config/rc /tmp/rc /dev/shm/rc /scratch/target/debug/t /scratch/cargo/config.toml 2>/dev/null; ls -d ~ /tmp; \
        cat out/kept; touch ~/own /tmp/own && echo writable";
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        fixture.file("ws/out/.keep", "");
        let shared = format!("{rig}; echo bad > /dev/shm/rc; true");
        let step = ["sh", "-c", &shared, "--then", "sh", "-c", look, "--then-fresh", "sh", "-c", look];
        let report = fixture.confined("dev", 20_000, &step);
        let [rigged, second, test] = report.steps.as_slice() else { panic!("{report:?}") };
        assert_eq!(rigged.end, End::Exited { code: 0 }, "{:?}", String::from_utf8_lossy(&rigged.stderr.kept));
        assert!(stdout(second).contains("bad"), "without a fresh start it is found: {}", stdout(second));
        assert!(!stdout(test).contains("bad"), "{}", stdout(test));
        assert!(stdout(test).contains("kept") && stdout(test).contains("writable"), "{}", stdout(test));
        let left = &rigged.left_outside;
        for path in ["/scratch/home/.config/rc", "/tmp/rc", "/scratch/cargo/config.toml"] {
            assert!(left.paths.iter().any(|it| it == path), "{left:?}");
        }
        assert!(left.count >= 4 && left.paths[0].starts_with("/scratch/home/"), "{left:?}");
        assert_eq!(test.left_outside.paths, ["/scratch/home/own", "/tmp/own"]);
    }
}

#[test]
fn a5_a_test_starts_fresh_without_namespaces_too() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let rig = "echo bad > ~/rc && echo bad > $TMPDIR/rc";
        let look = "cat ~/rc $TMPDIR/rc 2>/dev/null; touch ~/own $TMPDIR/own && echo writable";
        let step = ["sh", "-c", rig, "--then", "sh", "-c", look, "--then-fresh", "sh", "-c", look];
        let said = fixture.driven(&["without", "namespaces"], "dev+landlock-only", 60_000, &step);
        let report: Report = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
        assert!(stdout(&report.steps[1]).contains("bad"), "{}", stdout(&report.steps[1]));
        assert_eq!(stdout(&report.steps[2]).trim(), "writable");
        assert_eq!(report.steps[0].left_outside.count, 2, "{:?}", report.steps[0].left_outside);
    }
}
