//! Everyday work in the sandbox: builds and tests run, their scratch is not output, and what they leave is
//! reported.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod common;

use common::{Caller, Fixture, exists, only, stderr, stdout};
use ordain_harness::sandbox::{End, FileState, Level, Probe, Report};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

const CALLERS: [Caller; 2] = [Caller::Root, Caller::User];
const TIME_MS: u32 = 60_000;

fn succeeds(fixture: &Fixture, profile: &str, step: &[&str]) -> Report {
    let report = fixture.confined(profile, TIME_MS, step);
    for step in &report.steps {
        let said = format!("{}{}", stdout(step), stderr(step));
        assert_eq!(step.end, End::Exited { code: 0 }, "{:?}: {said}", step.argv);
        assert!(step.violations.is_empty(), "{:?}", step.violations);
    }
    report
}

#[test]
fn rust() {
    // The toolchain of the tests is root's.
    let fixture = Fixture::new(Caller::Root);
    fixture.file("ws/Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    fixture.file("ws/src/lib.rs", "#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n");
    let report = succeeds(
        &fixture,
        "default",
        &["cargo", "build", "--then", "cargo", "test", "--then", "rustc", "--version"],
    );
    assert!(stdout(&report.steps[1]).contains("1 passed"), "{}", stdout(&report.steps[1]));
    assert!(report.produced.is_empty(), "the build is scratch: {:?}", report.produced);
    assert_eq!(report.dropped, ["Cargo.lock"], "so is the lock file of a first build");
    assert!(!exists(&fixture.path("ws/target")) && !exists(&fixture.path("ws/Cargo.lock")));
    // Elsewhere it is a file like any other.
    let report = fixture.confined("dev", TIME_MS, &["cp", "Cargo.toml", "src/Cargo.lock"]);
    assert_eq!((report.produced.len(), report.dropped.len()), (1, 0), "{report:?}");
    // One that is there is not rewritten unseen.
    fixture.file("ws/Cargo.lock", "version = 3\n");
    let report = fixture.confined("default", TIME_MS, &["cargo", "build"]);
    assert!(
        report.steps[0].violations[0].starts_with("`Cargo.lock` was left behind"),
        "{:?}",
        report.steps[0]
    );
}

#[test]
fn python() {
    for caller in CALLERS {
        let mut fixture = Fixture::new(caller);
        fixture.file("ws/test_sum.py", "import sys\nsys.path.insert(0, '.')\nfrom sums import add\n\ndef test_add():\n    assert add(1, 2) == 3\n");
        fixture.file("ws/sums.py", "def add(a, b):\n    return a + b\n");
        succeeds(
            &fixture,
            "default",
            &[
                "python3",
                "-c",
                "import json, ssl, sqlite3, multiprocessing as m; p = m.Process(target=print); p.start(); p.join(); assert p.exitcode == 0",
            ],
        );
        // Whatever else is in `PATH`, the system's own Python has pytest.
        fixture.path = "/usr/bin:/bin".to_owned();
        let report = succeeds(&fixture, "default", &["python3", "-m", "pytest", "-q"]);
        assert!(stdout(only(&report)).contains("1 passed"));
        assert!(report.produced.is_empty(), "{:?}", report.produced);
    }
}

#[test]
fn node_git_and_make() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        fixture.file("ws/Makefile", "out/made:\n\tmkdir -p out\n\techo made > out/made\n");
        let git = |arguments: &[&str]| {
            assert!(fixture.command("git", arguments).output().unwrap().status.success())
        };
        git(&["init", "-q"]);
        git(&["add", "."]);
        let report = succeeds(
            &fixture,
            "default",
            &["node", "-e", "console.log(6 * 7)", "--then", "git", "status", "--short", "--then", "make"],
        );
        assert_eq!(stdout(&report.steps[0]), "42\n");
        assert!(stdout(&report.steps[1]).contains("A  Makefile"), "{}", stdout(&report.steps[1]));
        let produced: Vec<&str> = report.produced.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(produced, ["out/made"]);
        assert_eq!(report.steps[2].produced, report.produced);
        assert!(report.dropped.is_empty(), "{:?}", report.dropped);
        assert!(!exists(&fixture.path("ws/out")));
    }
}

#[test]
fn programs_of_the_workspace_run() {
    for caller in CALLERS {
        let mut fixture = Fixture::new(caller);
        fixture.installation("ws/.venv", "tool");
        std::os::unix::fs::symlink("ws", fixture.path("other")).unwrap();
        for top in ["ws", "other"] {
            fixture.path = format!("{}:/usr/bin:/bin", fixture.text(&format!("{top}/.venv/bin")));
            let report = succeeds(&fixture, "dev", &["tool"]);
            assert_eq!(stdout(only(&report)), "it runs\n");
        }
    }
}

#[test]
fn what_is_left_behind_is_reported() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        fixture.file("ws/folder/one", "1");
        fixture.file("ws/folder/two", "2");
        fixture.file("ws/same", "same");
        let script = "rm a.txt; rm -r folder; mkdir folder; echo 3 > folder/three; echo 1 > new; chmod +x new; \
                      printf same > same; touch same; mkdir empty";
        let report = fixture.confined("dev", TIME_MS, &["sh", "-c", script, "--then", "rm", "new"]);
        let paths = |files: &[ordain_harness::sandbox::ProducedFile]| -> Vec<(String, bool)> {
            files.iter().map(|it| (it.path.clone(), it.executable)).collect()
        };
        let step = &report.steps[0];
        assert_eq!(paths(&step.produced), [("folder/three".to_owned(), false), ("new".to_owned(), true)]);
        assert_eq!(step.deleted, ["a.txt", "folder/one", "folder/two"]);
        assert_eq!(report.steps[1].deleted, ["new"]);
        assert_eq!(paths(&report.produced), [("folder/three".to_owned(), false)]);
        assert_eq!(report.inspected[0].state, FileState::Missing);
        assert_eq!(report.inspected[2].state, FileState::Other);
        assert!(exists(&fixture.path("ws/a.txt")) && exists(&fixture.path("ws/folder/one")));
    }
}

#[test]
fn writes_between_two_commands_are_no_output_and_wait_for_them() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let script = "cat a.txt; echo ${0}; echo made > build/x";
        let arguments = [
            &["+a.txt@1=changed", "+new@2=last", "mkdir", "build", "--then"][..],
            &["sh", "-c", script, "--then", "true"],
        ];
        let report = fixture.confined("dev", 10_000, &arguments.concat());
        assert_eq!(stdout(&report.steps[1]), "changedsh\n");
        let produced: Vec<&str> = report.produced.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(produced, ["build/x"], "the writes are no output");
        assert!(report.steps[2].produced.is_empty() && report.failed_writes.is_empty());
        assert!(matches!(report.inspected[0].state, FileState::File { size: 7, .. }));
        // A file that a command left there is in the way: the rest is skipped.
        let arguments = ["+a.txt@1=changed", "sh", "-c", "rm a.txt; mkdir a.txt", "--then", "true"];
        let report = fixture.confined("dev", 10_000, &arguments);
        assert_eq!(report.steps[1].end, End::Skipped);
        assert_eq!(report.failed_writes[0].path, "a.txt");
        assert!(report.failed_writes[0].problem.contains("directory"), "{:?}", report.failed_writes);
    }
}

#[test]
fn what_ordain_keeps_in_the_workspace_is_not_seen() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        fixture.file("ws/.ordain/runs/one/result.json", "{}");
        fixture.file("ws/sub/.ordain/x", "not at the top");
        let script = "find . -type f | sort; mkdir .ordain; echo x > .ordain/y";
        let report = fixture.confined("dev", 10_000, &["true", "--then", "sh", "-c", script]);
        assert_eq!(stdout(&report.steps[1]), "./a.txt\n./sub/.ordain/x\n");
        assert!(report.steps[0].deleted.is_empty() && report.deleted.is_empty(), "{:?}", report.deleted);
        assert_eq!(report.dropped, [".ordain/y"]);
        assert!(report.produced.is_empty(), "{:?}", report.produced);
        assert!(exists(&fixture.path("ws/.ordain/runs/one/result.json")));
    }
}

#[test]
fn writes_are_there_before_the_first_command() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let report =
            fixture.confined("strict", 10_000, &["+a.txt=changed", "+x/y/z=new", "cat", "a.txt", "x/y/z"]);
        assert_eq!(stdout(only(&report)), "changednew");
        assert!(report.produced.is_empty(), "they are no output");
        assert!(matches!(report.inspected[0].state, FileState::File { size: 7, .. }));
        assert_eq!(std::fs::read_to_string(fixture.path("ws/a.txt")).unwrap(), "content");
    }
}

#[test]
fn the_profile_holds() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let report = fixture.confined("strict", 10_000, &["python3", "-c", "1", "--then", "true"]);
        let End::NotAllowed { reason } = &report.steps[0].end else { panic!("{report:#?}") };
        assert!(reason.contains("`python3` is not among the commands of the profile `strict`"), "{reason}");
        assert_eq!(report.steps[1].end, End::Skipped);
        let script = "import os; os.mkdir('out'); open('out/x', 'w'); open('y', 'w'); os.remove('a.txt')";
        let report = fixture.confined("default", 10_000, &["python3", "-c", script]);
        let violations = &only(&report).violations;
        assert_eq!(violations.len(), 2, "{violations:?}");
        assert!(
            violations[0].starts_with("`y` was left behind")
                && violations[1].starts_with("`a.txt` was deleted")
        );
        assert_eq!(only(&report).exit_code(), None);
    }
}

#[test]
fn what_cannot_start_says_why() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        fixture.file("ws/plain", "#!/nowhere\n");
        for (command, reason) in [
            ("no-such-command", "was not found"),
            ("./missing", "No such file"),
            ("./plain", "Permission denied"),
            (".", "was not found"),
            ("./", "is not a file"),
        ] {
            let report = fixture.confined("dev", 10_000, &[command]);
            let End::NotStarted { reason: found } = &only(&report).end else {
                panic!("{command}: {report:#?}")
            };
            assert!(found.contains(reason), "{command}: {found}");
        }
    }
}

#[test]
fn a_flood_and_invalid_text_are_kept_short() {
    let fixture = Fixture::new(Caller::User);
    let start = Instant::now();
    let report = fixture.confined("dev", TIME_MS, &["head", "-c", "1000000000", "/dev/zero"]);
    assert!(matches!(only(&report).end, End::OutputExceeded { .. }), "{:?}", only(&report).end);
    assert_eq!(only(&report).stdout.kept.len(), 1 << 20);
    assert!(start.elapsed() < Duration::from_secs(20));
    let report = fixture.confined("dev", TIME_MS, &["printf", r"a\377\0b"]);
    assert_eq!(only(&report).stdout.kept, b"a\xff\0b");
    assert!(!only(&report).stdout.truncated);
}

#[test]
fn the_evidence_does_not_say_where_tools_are_installed() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let report =
            fixture.confined("dev", 10_000, &["hostile", "list_out", "/", "--then", "no-such-command"]);
        assert_eq!(report.steps[0].end, End::Exited { code: 0 });
        let evidence = serde_json::to_value(report.observed()).unwrap();
        assert_eq!(evidence["sandbox"]["steps"][0]["program"], "hostile");
        let evidence = evidence.to_string();
        let folder = fixture.top.file_name().unwrap().to_str().unwrap();
        assert!(!evidence.contains(folder), "{evidence}");
        let End::NotStarted { reason } = &report.steps[1].end else { panic!("{report:#?}") };
        assert!(!reason.contains('/'), "{reason}");
    }
}

#[test]
fn the_evidence_says_what_was_active() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let protections = succeeds(&fixture, "strict", &["true"]).protections;
        assert_eq!(protections.level, Some(Level::Full));
        assert_eq!(protections.caller, if caller == Caller::Root { "root" } else { "user" });
        let mut map = protections.uid_map.split(' ');
        assert_eq!(map.next(), Some("1000"));
        assert_ne!(map.next(), Some("0"), "never the kernel's user 0");
        assert_eq!(protections.cap_eff, "0000000000000000");
        assert_eq!(protections.cap_bnd, "0000000000000000");
        assert_eq!((protections.no_new_privs.as_str(), protections.seccomp.as_str()), ("1", "2"));
        assert_eq!(protections.namespaces.len(), 7);
    }
}

#[test]
fn a_caller_that_hides_its_memory_can_run_commands() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let said = fixture.driven(&["hidden"], "strict", 10_000, &["true"]);
        let report: Report = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
        assert_eq!(only(&report).end, End::Exited { code: 0 });
        assert_eq!(report.protections.level, Some(Level::Full));
    }
}

#[test]
fn a_large_workspace_is_not_copied() {
    let fixture = Fixture::new(Caller::User);
    for number in 0..1_000 {
        fixture.file(&format!("ws/data/{number}"), &"x".repeat(10_000));
    }
    let small = Fixture::new(Caller::User);
    let time = |fixture: &Fixture| {
        let start = Instant::now();
        succeeds(fixture, "strict", &["true"]);
        start.elapsed()
    };
    let fastest = |fixture: &Fixture| (0..5).map(|_| time(fixture)).min().unwrap();
    let (large, small) = (fastest(&fixture), fastest(&small));
    assert!(large < small * 3, "{large:?} with 1,000 files, {small:?} with one");
}

#[test]
fn modes_of_the_workspace_are_kept() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        fixture.file("ws/private", "mine");
        std::fs::set_permissions(fixture.path("ws/private"), PermissionsExt::from_mode(0o600)).unwrap();
        let report = succeeds(&fixture, "dev", &["sh", "-c", "cat private; stat -c %a:%U private"]);
        assert_eq!(stdout(only(&report)), "mine600:sandbox\n");
    }
}

#[test]
fn less_than_the_full_protection_is_refused_by_strict_and_recorded_by_others() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let without = ["without", "landlock"];
        let said = fixture.driven(&without, "strict", 10_000, &["true"]);
        assert!(said.contains("would only reach the level `namespaces`, and `full` is asked for"), "{said}");
        assert!(
            said.contains("the kernel has no Landlock") && said.contains("use Linux 6.2 or newer"),
            "{said}"
        );
        let report: Report =
            serde_json::from_str(&fixture.driven(&without, "dev", 10_000, &["true"])).unwrap();
        assert_eq!(only(&report).end, End::Exited { code: 0 });
        assert_eq!(report.protections.level, Some(Level::Namespaces));
        assert_eq!(report.protections.landlock_abi, 0);
        let probe: Probe = serde_json::from_str(&fixture.free(&["without", "landlock", "probe"])).unwrap();
        assert_eq!(probe.level, Some(Level::Namespaces));
    }
}

#[test]
fn the_probe_finds_the_full_protection() {
    for caller in CALLERS {
        let fixture = Fixture::new(caller);
        let probe: Probe = serde_json::from_str(&fixture.free(&["probe"])).unwrap();
        assert_eq!(probe.level, Some(Level::Full), "{probe:#?}");
    }
}
