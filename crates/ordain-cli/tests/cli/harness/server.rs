//! Running servers.

use super::http::Client;
use super::{Ran, SIGNALLED};
use serde_json::Value as Json;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running `ordain serve`. Killed at the end, unless it was stopped.
pub(crate) struct Server {
    child: Child,
    url: String,
    pub(crate) address: String,
    log: PathBuf,
}

impl Server {
    pub(crate) fn start(mut command: Command, log: &Path) -> Result<Self, Ran> {
        let file = std::fs::File::create(log).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said = serde_json::from_str::<Json>(&line).ok();
        let url = said.and_then(|it| it["listening"].as_str().map(str::to_owned));
        let Some(url) = url else {
            let status = child.wait().unwrap();
            let stderr = std::fs::read_to_string(log).unwrap();
            let code = status.code().unwrap_or(SIGNALLED);
            return Err(Ran { code, stdout: line, stderr });
        };
        let address = url.split_once("://").map_or(url.as_str(), |(_, address)| address).to_owned();
        Ok(Self { child, url, address, log: log.to_owned() })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    pub(crate) fn client(&self, token: &str) -> Client {
        Client::new(&self.address, token)
    }

    /// As `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.check_log();
    }

    /// The key is read again; the log says so.
    pub(crate) fn hang_up(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
        let start = std::time::Instant::now();
        while !self.log().contains("key") {
            assert!(start.elapsed().as_secs() < 30, "{}", self.log());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// As an operator does: everything that was accepted is ended first.
    pub(crate) fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.log());
        self.check_log();
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    fn check_log(&self) {
        let log = self.log();
        assert!(!log.contains("panicked"), "{log}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The memory that a process has in KiB, as the kernel counts it, without pages that are of files.
pub(crate) fn memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
