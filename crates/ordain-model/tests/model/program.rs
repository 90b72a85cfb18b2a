//! Programs of others that play a provider, on ports of their own.

#![allow(dead_code, reason = "not every test that includes this needs all of it")]

use serde_json::{Value as Json, json};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A program of others that serves until it is dropped.
pub(crate) struct Program {
    child: Child,
    /// Without a slash at the end.
    pub(crate) url: String,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    /// npm's `aimock`, which answers by the user's message.
    pub(crate) fn aimock(folder: &Path, fixtures: &Json) -> Self {
        let packages = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("node/node_modules");
        let program = packages.join("@copilotkit/aimock/dist/cli.js");
        assert!(program.exists(), "npm's `@copilotkit/aimock` is missing; `cargo xtask test` installs it");
        let file = folder.join("fixtures.json");
        std::fs::write(&file, json!({"fixtures": fixtures}).to_string()).unwrap();
        let mut command = Command::new("node");
        command.arg(program).args(["--port", "0", "--fixtures"]).arg(file);
        Self::start(command.stdout(Stdio::piped()), |child| Box::new(child.stdout.take().unwrap()))
    }

    /// PyPI's `llmock`, which fails as told and judges its clients.
    pub(crate) fn llmock() -> Self {
        let mut command = Command::new(llmock());
        command.args(["serve", "--host", "127.0.0.1", "--port", "0"]);
        Self::start(command.stderr(Stdio::piped()).stdout(Stdio::null()), |child| {
            Box::new(child.stderr.take().unwrap())
        })
    }

    /// Starts it and reads the address from what it says.
    fn start(command: &mut Command, output: impl Fn(&mut Child) -> Box<dyn std::io::Read + Send>) -> Self {
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(output(&mut child));
        let mut line = String::new();
        while !line.contains("http://127.0.0.1:") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "{command:?} ended");
        }
        // Its later output goes nowhere, but somebody has to read it.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let start = line.find("http://").unwrap();
        let url: String = line[start..].split_whitespace().next().unwrap().to_owned();
        Self { child, url }
    }

    pub(crate) fn get(&self, path: &str) -> Json {
        let text =
            ureq::get(format!("{}{path}", self.url)).call().unwrap().body_mut().read_to_string().unwrap();
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) fn post(&self, path: &str, body: &Json) {
        let url = format!("{}{path}", self.url);
        ureq::post(url).content_type("application/json").send(body.to_string()).unwrap();
    }
}

pub(crate) fn llmock() -> PathBuf {
    let Some(folder) = std::env::var_os("ORDAIN_VENV") else {
        panic!("`cargo xtask test` makes a Python environment with `llmock` and names it in ORDAIN_VENV");
    };
    PathBuf::from(folder).join("bin/llmock")
}
