//! A project of its own for a test, its store on SQLite or PostgreSQL, servers on it and clients of them.

#![allow(dead_code, unused_imports, reason = "every test uses its part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

pub(crate) mod http;
pub(crate) mod postgres;

use http::Client;
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// Agents may change contacts at once, in `archive` eight times, and in `sales` when one person has approved.
const POLICY: &str = r#"
@id("change-contact")
permit (principal in Group::"agents", action == Action::"write", resource in Domain::"crm");

@id("change-archive")
@max_executions("8")
permit (principal in Group::"agents", action == Action::"write", resource in Domain::"archive");

@id("change-sales")
@approval("single")
@approvers("people")
permit (principal in Group::"agents", action == Action::"write", resource in Domain::"sales");
"#;

/// Where the store is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    File,
    Postgres,
}

/// Far more work, for those who have the time.
pub(crate) fn soaking() -> bool {
    std::env::var_os("ORDAIN_SOAK").is_some()
}

/// A folder with an `ordain.toml` and policies. Removed at the end, with its database.
pub(crate) struct Room {
    pub(crate) root: PathBuf,
    database: Option<postgres::Database>,
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        self.calm()
    }

    /// Whatever happened, nobody panicked.
    #[track_caller]
    pub(crate) fn calm(self) -> Self {
        let said = self.all();
        assert!(!said.contains("panicked"), "{said}");
        self
    }

    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(self.all().contains(words), "`{words}` is not in:\n{}", self.all());
        self
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

/// A name that nobody else has.
pub(crate) fn unique(prefix: &str) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}_{}_{}_{number}", std::process::id(), now.subsec_nanos())
}

impl Room {
    pub(crate) fn new(kind: Kind) -> Self {
        let room = Self::bare(kind);
        let entity = |kind: &str, id: &str, parent: Option<&str>| {
            let parents: Vec<Json> =
                parent.into_iter().map(|group| json!({"type": "Group", "id": group})).collect();
            json!({"uid": {"type": kind, "id": id}, "attrs": {}, "parents": parents})
        };
        let entities = json!([
            entity("Group", "agents", None),
            entity("Group", "people", None),
            entity("Domain", "crm", None),
            entity("Domain", "archive", None),
            entity("Domain", "sales", None),
            entity("Actor", "agent-1", Some("agents")),
            entity("Actor", "alice", Some("people")),
        ]);
        room.write("policy/crm.cedar", POLICY);
        room.write("policy/entities.json", &entities.to_string());
        room
    }

    /// Without policies.
    pub(crate) fn bare(kind: Kind) -> Self {
        let root = std::env::temp_dir().join(unique("ordain-room"));
        std::fs::create_dir_all(&root).unwrap();
        let database = (kind == Kind::Postgres).then(postgres::Database::new);
        let store = database.as_ref().map(|it| format!("store = \"{}\"\n", it.url)).unwrap_or_default();
        let room = Self { root, database };
        room.write("ordain.toml", &format!("policy = \"policy\"\n{store}"));
        room
    }

    /// A copy of everything that is in the folder; only for stores in files.
    pub(crate) fn copy(&self) -> Self {
        assert!(self.database.is_none(), "a database is not copied with its folder");
        let root = std::env::temp_dir().join(unique("ordain-room"));
        copy_folder(&self.root, &root);
        Self { root, database: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The folder of the store, the key and the last checkpoint.
    pub(crate) fn state(&self) -> PathBuf {
        self.path(".ordain/gate")
    }

    /// The SQLite file.
    pub(crate) fn file(&self) -> PathBuf {
        self.state().join("ordain.db")
    }

    pub(crate) fn database(&self) -> &postgres::Database {
        self.database.as_ref().unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The binary in this folder, not yet started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
        command.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        command.env_remove("ORDAIN_TOKEN").env_remove("ORDAIN_SERVER").env("ORDAIN_AS", "alice");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        ran(&mut self.command(arguments))
    }

    /// A token for a principal.
    pub(crate) fn token(&self, principal: &str, roles: &[&str]) -> String {
        let mut arguments = vec!["token", "create", principal];
        arguments.extend(roles.iter().flat_map(|role| ["--role", role]));
        self.run(&arguments).ended(0).stdout.trim().to_owned()
    }

    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[]).unwrap_or_else(|ran| panic!("the server does not start: {}", ran.all()))
    }

    /// A server on a free port, or what it said before it ended.
    pub(crate) fn serve_with(&self, arguments: &[&str]) -> Result<Server, Ran> {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
        command.args(arguments);
        Server::start(command, &self.path(&unique("server-log")))
    }

    /// All entries of the ledger.
    pub(crate) fn entries(&self) -> Vec<Json> {
        self.run(&["ledger", "show", "0", "--limit", "1000000", "--json"]).ended(0).lines()
    }

    /// The ledger and the records are as they should be.
    #[track_caller]
    pub(crate) fn sound(&self) -> Json {
        self.run(&["ledger", "verify", "--json"]).ended(0);
        self.run(&["ledger", "fsck", "--json"]).ended(0).json()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.root);
        }
    }
}

pub(crate) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Runs a program to its end.
pub(crate) fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs a program that reads something.
pub(crate) fn fed(command: &mut Command, input: &[u8]) -> Ran {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // It may end without reading everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    })
}

/// A running `ordain serve`. Killed at the end, unless it was stopped.
pub(crate) struct Server {
    child: Child,
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
            return Err(Ran { code: status.code(), stdout: line, stderr });
        };
        Ok(Self { child, address: url.trim_start_matches("http://").to_owned(), log: log.to_owned() })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
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

    /// The key and the policies are read again; the log says so.
    pub(crate) fn hang_up(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
        let start = std::time::Instant::now();
        while !self.log().contains("policies are as they were") {
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

/// A proposal of `agent-1`. Its number makes it another change than all others.
pub(crate) fn proposal(id: &str, domain: &str, number: u64) -> Json {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    json!({
        "proposal_id": id,
        "ts_ms": u64::try_from(now.as_millis()).unwrap(),
        "actor": "agent-1",
        "action_type": "write",
        "target": {"resource_type": "crm_record", "resource_id": format!("contact-{number}"), "domain": domain,
            "constraints": {}},
        "parameters": {"updates": {"email": format!("{id}@example.org")}},
    })
}

/// What a worker says when it is about to do what was proposed.
pub(crate) fn use_of(proposal: &Json, permit: &str) -> Json {
    json!({
        "permit": permit,
        "action_type": proposal["action_type"],
        "target": proposal["target"],
        "parameters": proposal["parameters"],
    })
}

/// How many entries there are of a kind.
pub(crate) fn count(entries: &[Json], kind: &str) -> usize {
    entries.iter().filter(|entry| entry["entry"]["event"]["kind"] == kind).count()
}

/// A small generator of numbers; the same seed gives the same ones.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}
