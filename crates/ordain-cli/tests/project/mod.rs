//! A folder of its own for a test, and the binary run in it.

#![allow(dead_code, reason = "every test uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use serde_json::Value as Json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) struct Project {
    root: PathBuf,
}

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        self
    }

    /// Says all of this, somewhere.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        let all = format!("{}{}", self.stdout, self.stderr);
        for part in parts {
            assert!(all.contains(part), "`{part}` is not in:\n{all}");
        }
        self
    }
}

impl Project {
    /// An empty folder.
    pub(crate) fn empty(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("ordain-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).unwrap();
        Self { root }
    }

    /// A folder in which `ordain init` was run.
    pub(crate) fn started(name: &str) -> Self {
        let project = Self::empty(name);
        project.run(&["init"]).ended(0);
        project
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_in(Path::new(""), args, "")
    }

    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> Ran {
        self.run_in(Path::new(""), args, input)
    }

    pub(crate) fn run_in(&self, folder: &Path, args: &[&str], input: &str) -> Ran {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ordain"))
            .args(args)
            .current_dir(self.root.join(folder))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The command may end without reading everything.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}
