//! Running programs, and folders, documents, stores and servers to run them on.

pub(crate) mod counting;
mod documents;
mod guarded;
pub(crate) mod http;
mod machine;
pub(crate) mod notes;
mod postgres;
mod project;
mod server;
mod workspace;

pub(crate) use documents::{TempFile, document, settled};
pub(crate) use guarded::Guarded;
pub(crate) use machine::Machine;
pub(crate) use project::{Kind, Project, copy_folder, count, os_user, proposal, use_of};
pub(crate) use server::{Server, memory_kib};
pub(crate) use workspace::{Tree, Workspace};

use serde_json::Value as Json;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// A state directory that is not there, for commands that need none.
pub(crate) const NO_STATE: &str = "/nonexistent";

/// The code of a program that a signal ended.
pub(crate) const SIGNALLED: i32 = -1;

/// The output of a program, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(SIGNALLED),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        self.calm()
    }

    /// Whatever happened, nobody panicked.
    #[track_caller]
    pub(crate) fn calm(self) -> Self {
        let said = self.all();
        assert!(!said.contains("panicked"), "{said}");
        self
    }

    /// Says this. A message that a terminal breaks between two words is still the same message.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        let said = self.all();
        let unbroken = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(words) || unbroken.contains(words), "`{words}` is not in:\n{said}");
        self
    }

    /// Says all of this, somewhere.
    #[track_caller]
    pub(crate) fn says_all(self, parts: &[&str]) -> Self {
        parts.iter().fold(self, |ran, part| ran.says(part))
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    pub(crate) fn lines(&self) -> Vec<Json> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// Runs a program to its end.
pub(crate) fn ran(command: &mut Command) -> Ran {
    Ran::of(command.output().unwrap_or_else(|error| panic!("{command:?}: {error}")))
}

/// Runs a program that reads something.
pub(crate) fn fed(command: &mut Command, input: &[u8]) -> Ran {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // It may end without reading everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        Ran::of(child.wait_with_output().unwrap())
    })
}

/// The binary, run at the root of the repository.
pub(crate) fn ordain(args: &[&str], input: impl AsRef<[u8]>) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
    command.args(args).current_dir(repository()).env("XDG_STATE_HOME", NO_STATE);
    fed(&mut command, input.as_ref())
}

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// An empty folder for the time of a test. Its name is not hidden, because commands pass over hidden folders,
/// and other users may look into it.
pub(crate) fn folder() -> TempDir {
    let permissions = Permissions::from_mode(0o755);
    tempfile::Builder::new().prefix("ordain-").permissions(permissions).tempdir().unwrap()
}

/// A name that nobody else has.
pub(crate) fn unique(prefix: &str) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}_{}_{}_{number}", std::process::id(), now.subsec_nanos())
}

/// Far more work, for those who have the time.
pub(crate) fn soaking() -> bool {
    std::env::var_os("ORDAIN_SOAK").is_some()
}

/// A small generator of numbers; the same seed gives the same ones.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}
