//! Starting `true` in the sandbox beside starting it plainly and beside bubblewrap, in one run.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark may fail loudly"
)]

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("there is no sandbox on this system");
}

#[cfg(target_os = "linux")]
fn main() {
    ordain_harness::sandbox::enter_if_asked();
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use ordain_harness::sandbox::{End, Level, Session, Step, run};
    use ordain_spec::profile::Profile;
    use std::fs;
    use std::os::unix::fs::chown;
    use std::os::unix::process::CommandExt;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// All contestants take turns, so that a busy neighbour disturbs all of them alike.
    const STARTS: usize = 600;
    /// Before each start: the kernel takes down the network of the one before meanwhile.
    const PAUSE: Duration = Duration::from_millis(2);
    /// No user of this machine, as far as anybody knows.
    const USER_ID: u32 = 64_321;

    pub(super) fn main() {
        let arguments: Vec<String> = std::env::args().collect();
        if let [_, flag, workspaces] = arguments.as_slice()
            && flag == "--measure"
        {
            return measure(Path::new(workspaces));
        }
        let top = std::env::temp_dir().join(format!("ordain-bench-{}", std::process::id()));
        for (name, files) in [("10", 10), ("1000", 1_000)] {
            fs::create_dir_all(top.join(name)).unwrap();
            (0..files).for_each(|it| {
                fs::write(top.join(name).join(format!("{it}.txt")), "x".repeat(1_000)).unwrap();
            });
        }
        // The ordinary user may not see where this program was built.
        let program = top.join("bench");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let is_root =
            fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
        let mut command = Command::new(&program);
        command.arg("--measure").arg(&top);
        println!("\nCalled by {}:", if is_root { "root" } else { "an ordinary user" });
        assert!(command.status().unwrap().success());
        if is_root {
            for path in ["", "10", "1000"] {
                chown(top.join(path), Some(USER_ID), Some(USER_ID)).unwrap();
            }
            println!("\nCalled by an ordinary user:");
            assert!(command.uid(USER_ID).gid(USER_ID).env("HOME", "/").status().unwrap().success());
        }
        fs::remove_dir_all(&top).unwrap();
    }

    fn measure(top: &Path) {
        let (small, large) = (session(top.join("10")), session(top.join("1000")));
        let workspace = top.join("10").to_str().unwrap().to_owned();
        let mut plain = plain();
        let (mut bubblewrap, mut same_view) =
            (bubblewrap(&workspace, &[]), bubblewrap(&workspace, &same_view()));
        let times = in_turn(&mut [
            ("plain spawn", &mut || wait(&mut plain)),
            ("sandbox, 10 files", &mut || sandboxed(&small)),
            ("sandbox, 1,000 files", &mut || sandboxed(&large)),
            ("bubblewrap", &mut || wait(&mut bubblewrap)),
            ("bubblewrap, with more of what the sandbox does", &mut || wait(&mut same_view)),
        ]);
        println!(
            "\n| start and end of `true` | median, ms | fastest, ms | times a plain spawn | times bubblewrap |"
        );
        println!("|---|---|---|---|---|");
        for (name, median, fastest) in &times {
            // On a busy machine the fastest tell more: they are those that nobody got in the way of.
            let ratios = |peer: usize| (median / times[peer].1, fastest / times[peer].2);
            let (plain, bubblewrap) = (ratios(0), ratios(3));
            println!(
                "| {name} | {:.2} | {:.2} | {:.1}, fastest {:.1} | {:.2}, fastest {:.2} |",
                median * 1e3,
                fastest * 1e3,
                plain.0,
                plain.1,
                bubblewrap.0,
                bubblewrap.1
            );
        }
    }

    /// Name, median and fastest time in seconds of each contestant.
    fn in_turn<'n>(contestants: &mut [(&'n str, &mut dyn FnMut())]) -> Vec<(&'n str, f64, f64)> {
        let mut times: Vec<Vec<Duration>> = vec![Vec::new(); contestants.len()];
        for _ in 0..STARTS {
            for (times, (_, run)) in times.iter_mut().zip(contestants.iter_mut()) {
                std::thread::sleep(PAUSE);
                let start = Instant::now();
                run();
                times.push(start.elapsed());
            }
        }
        let of = |((name, _), times): (&(&'n str, _), &mut Vec<Duration>)| {
            times.sort_unstable();
            (*name, times[STARTS / 2].as_secs_f64(), times[0].as_secs_f64())
        };
        contestants.iter().zip(&mut times).map(of).collect()
    }

    /// In this process, the report included.
    fn sandboxed(session: &Session) {
        let report = run(session).unwrap();
        assert_eq!(report.steps[0].end, End::Exited { code: 0 });
        assert_eq!(report.protections.level, Some(Level::Full));
    }

    fn session(workspace: PathBuf) -> Session {
        let mut session = Session::new(workspace, Profile::built_in("strict").unwrap());
        session.steps.push(Step::new(["true"]));
        session
    }

    fn wait(command: &mut Command) {
        assert!(command.status().unwrap().success());
    }

    fn quiet(program: &str) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).env_clear();
        command
    }

    fn plain() -> Command {
        quiet("/usr/bin/true")
    }

    /// All namespaces, a root in memory, the system read-only, the workspace, no capabilities.
    fn bubblewrap(workspace: &str, more: &[&str]) -> Command {
        let mut command = quiet("/usr/bin/bwrap");
        command.args(["--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000"]);
        command.args(["--hostname", "sandbox", "--new-session", "--die-with-parent", "--cap-drop", "ALL"]);
        command.args(["--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--ro-bind", "/usr", "/usr"]);
        for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
            if let Ok(target) = fs::read_link(Path::new("/").join(name)) {
                command.arg("--symlink").arg(target).arg(Path::new("/").join(name));
            }
        }
        command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
        command.args(["--ro-bind", workspace, "/workspace"]).args(more);
        command.args(["--chdir", "/workspace", "--", "/usr/bin/true"]);
        command
    }

    /// The same with bubblewrap, as far as it goes; it has neither Landlock, nor limits, nor a result to
    /// collect.
    fn same_view() -> Vec<&'static str> {
        let mut more = vec!["--size", "1073741824", "--tmpfs", "/scratch", "--tmpfs", "/dev/shm"];
        more.extend(["--dir", "/scratch/home", "--dir", "/scratch/cache", "--disable-userns"]);
        for path in ["/etc/ld.so.cache", "/etc/alternatives"] {
            more.extend(["--ro-bind-try", path, path]);
        }
        for path in ["/proc/keys", "/proc/kmsg", "/proc/sysrq-trigger", "/proc/timer_list"] {
            if Path::new(path).exists() {
                more.extend(["--ro-bind", "/dev/null", path]);
            }
        }
        more.extend(["--remount-ro", "/"]);
        more
    }
}
