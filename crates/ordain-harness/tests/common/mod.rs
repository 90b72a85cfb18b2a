//! A workspace, decoys around it, and a way to run the hostile program with and without the sandbox.

#![allow(dead_code, reason = "every test uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use ordain_harness::sandbox::{Report, StepReport};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The caller of the sandbox.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Caller {
    Root,
    User,
}

/// No user of this machine, as far as anybody knows.
pub(crate) const USER_ID: u32 = 64_321;

pub(crate) struct Fixture {
    pub(crate) caller: Caller,
    pub(crate) top: PathBuf,
    /// The caller's `PATH`, after the folder of the hostile program.
    pub(crate) path: String,
    victim: Option<Child>,
}

impl Fixture {
    /// `ws` with a file, `decoy` with a secret and a file that only root reads, and the hostile program in `bin`.
    pub(crate) fn new(caller: Caller) -> Self {
        assert!(
            is_root(),
            "the sandbox must be tried as root and as an ordinary user: run the tests as root"
        );
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Not in a folder of which nothing is ever shown.
        let top = Path::new("/opt").join(format!("ordain-sandbox-{}-{number}", std::process::id()));
        fs::create_dir_all("/opt").unwrap();
        for folder in ["", "ws", "decoy", "bin"] {
            fs::create_dir(top.join(folder)).unwrap();
            fs::set_permissions(top.join(folder), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::copy(env!("CARGO_BIN_EXE_ordain-hostile"), top.join("bin/hostile")).unwrap();
        fs::set_permissions(top.join("bin/hostile"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let fixture = Self { caller, top, path, victim: None };
        fixture.file("ws/a.txt", "content");
        fixture.file("decoy/secret", "secret");
        fixture.file("decoy/rootonly", "secret");
        fs::set_permissions(fixture.path("decoy/secret"), fs::Permissions::from_mode(0o666)).unwrap();
        fs::set_permissions(fixture.path("decoy/rootonly"), fs::Permissions::from_mode(0o600)).unwrap();
        if caller == Caller::User {
            for path in ["", "ws", "decoy"] {
                chown(fixture.top.join(path), Some(USER_ID), Some(USER_ID)).unwrap();
            }
            chown(fixture.path("decoy/rootonly"), Some(0), Some(0)).unwrap();
        }
        fs::set_permissions(fixture.path("decoy"), fs::Permissions::from_mode(0o777)).unwrap();
        fixture
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes a file that belongs to the caller, and the folders on the way to it.
    pub(crate) fn file(&self, name: &str, content: &str) {
        let path = self.path(name);
        let mut folder = path.parent().unwrap();
        fs::create_dir_all(folder).unwrap();
        fs::write(&path, content).unwrap();
        if self.caller == Caller::User {
            chown(&path, Some(USER_ID), Some(USER_ID)).unwrap();
            while folder != self.top {
                chown(folder, Some(USER_ID), Some(USER_ID)).unwrap();
                folder = folder.parent().unwrap();
            }
        }
    }

    /// A program as the caller, in the workspace, with the hostile program in its `PATH`.
    pub(crate) fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.path("ws"));
        command.env("PATH", format!("{}:{}", self.text("bin"), self.path));
        if self.caller == Caller::User {
            command.uid(USER_ID).gid(USER_ID).env("HOME", self.text("decoy"));
        }
        command
    }

    /// Without the sandbox.
    pub(crate) fn free(&self, arguments: &[&str]) -> String {
        let output = self.command(&self.text("bin/hostile"), arguments).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    /// In the sandbox, started by way of `around` (such as `plant`).
    pub(crate) fn driven(&self, around: &[&str], profile: &str, timeout_ms: u32, step: &[&str]) -> String {
        let (workspace, timeout) = (self.text("ws"), timeout_ms.to_string());
        let mut arguments = around.to_vec();
        arguments.extend(["drive", &workspace, profile, &timeout]);
        arguments.extend(step);
        self.free(&arguments)
    }

    pub(crate) fn confined(&self, profile: &str, timeout_ms: u32, step: &[&str]) -> Report {
        let said = self.driven(&[], profile, timeout_ms, step);
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("no report ({error}): {said}"))
    }

    /// A folder that belongs to the caller, with a program in `bin`, a library, and a file beside them.
    pub(crate) fn installation(&self, name: &str, program: &str) {
        self.file(&format!("{name}/bin/{program}"), "#!/bin/sh\necho it runs\n");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path(&format!("{name}/bin/{program}")), mode).unwrap();
        self.file(&format!("{name}/lib/library"), "library");
        self.file(&format!("{name}/private/key"), "secret");
    }

    /// The arguments with which the hostile program runs a step in the sandbox.
    pub(crate) fn drive(&self, profile: &str, step: &[&str]) -> Vec<String> {
        let start = ["drive", &self.text("ws"), profile, "20000"];
        start.iter().chain(step).map(|it| (*it).to_owned()).collect()
    }

    /// In the sandbox, called from a changed environment.
    pub(crate) fn confined_with(
        &self,
        profile: &str,
        step: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Report {
        let arguments = self.drive(profile, step);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = self.command(&self.text("bin/hostile"), &arguments);
        change(&mut command);
        let said = command.output().unwrap().stdout;
        let said = String::from_utf8_lossy(&said);
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("no report ({error}): {said}"))
    }

    /// A process of the caller's with a secret.
    pub(crate) fn victim(&mut self) -> String {
        let mut command = self.command("sleep", &["60"]);
        command.env("ORDAIN_TEST_SECRET", "planted-secret").stdin(Stdio::null()).stdout(Stdio::null());
        let child = self.victim.insert(command.spawn().unwrap());
        child.id().to_string()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Some(victim) = &mut self.victim {
            victim.kill().unwrap();
            victim.wait().unwrap();
        }
        let _ = fs::remove_dir_all(&self.top);
    }
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0)
}

pub(crate) fn only(report: &Report) -> &StepReport {
    assert_eq!(report.steps.len(), 1);
    report.steps.first().unwrap()
}

pub(crate) fn stdout(step: &StepReport) -> String {
    String::from_utf8_lossy(&step.stdout.kept).into_owned()
}

pub(crate) fn stderr(step: &StepReport) -> String {
    String::from_utf8_lossy(&step.stderr.kept).into_owned()
}

pub(crate) fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
