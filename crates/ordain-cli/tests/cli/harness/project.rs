//! A folder of its own for a test, with or without a gate, its store on SQLite or PostgreSQL, and servers on it.

use super::postgres::Database;
use super::{Ran, Server, fed, ran, unique};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

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

/// A folder in which the binary is run. Removed at the end, with its database; kept when the test fails.
pub(crate) struct Project {
    folder: TempDir,
    pub(crate) root: PathBuf,
    /// The state directory of this test alone lies in it.
    state_home: TempDir,
    database: Option<Database>,
}

impl Project {
    /// An empty folder.
    pub(crate) fn empty() -> Self {
        let (folder, state_home) = (super::folder(), super::folder());
        Self { root: folder.path().to_owned(), folder, state_home, database: None }
    }

    /// A folder in which `ordain init` was run.
    pub(crate) fn started() -> Self {
        let project = Self::empty();
        project.run(&["init"]).ended(0);
        project
    }

    /// A project whose policies are about contacts of customers. The user who runs the test is `olga`, whose agent is
    /// `agent-1`; `alice` may approve.
    pub(crate) fn with_gate(kind: Kind) -> Self {
        let project = Self::without_gate(kind);
        let entity = |kind: &str, id: &str, parent: Option<&str>| {
            let parents: Vec<Json> =
                parent.into_iter().map(|group| json!({"type": "Group", "id": group})).collect();
            let attributes = match id {
                "olga" => json!({"os_user": os_user()}),
                "agent-1" => json!({"agent_of": "olga"}),
                _ => json!({}),
            };
            json!({"uid": {"type": kind, "id": id}, "attrs": attributes, "parents": parents})
        };
        let entities = json!([
            entity("Group", "agents", None),
            entity("Group", "people", None),
            entity("Domain", "crm", None),
            entity("Domain", "archive", None),
            entity("Domain", "sales", None),
            entity("Actor", "agent-1", Some("agents")),
            entity("Actor", "alice", Some("people")),
            entity("Actor", "olga", None),
        ]);
        project.write("policy/crm.cedar", POLICY);
        project.write("policy/entities.json", &entities.to_string());
        // Tests of approved tools say otherwise.
        project.write("policy/mcp.toml", "pin = \"off\"\n");
        project.init();
        project
    }

    /// The same without policies.
    pub(crate) fn without_policies(kind: Kind) -> Self {
        let project = Self::without_gate(kind);
        project.init();
        project
    }

    /// The same before it has a gate.
    fn without_gate(kind: Kind) -> Self {
        let mut project = Self::empty();
        project.database = (kind == Kind::Postgres).then(Database::new);
        project.write("ordain.toml", "policy = \"policy\"\n");
        project
    }

    /// Makes a gate for what is in the folder.
    fn init(&self) {
        let mut arguments = vec!["init", "--keep"];
        if let Some(database) = &self.database {
            arguments.extend(["--store", &database.url]);
        }
        self.run(&arguments).ended(0);
    }

    /// Puts the policy folder in force.
    pub(crate) fn push(&self) {
        self.run(&["policy", "push"]).ended(0);
    }

    /// A copy of the folder and of its gate; only for stores in files.
    pub(crate) fn copy(&self) -> Self {
        assert!(self.database.is_none(), "a database is not copied with its folder");
        let copy = Self::empty();
        let copied = |from: &Path, to: &Path| {
            let done = Command::new("cp").arg("-a").arg(from.join(".")).arg(to.join(".")).status();
            assert!(done.unwrap().success(), "{} is not copied", from.display());
        };
        copied(&self.root, &copy.root);
        copied(self.state_home.path(), copy.state_home.path());
        let (old, new) = (self.root.to_str().unwrap(), copy.root.to_str().unwrap());
        copy.run(&["gate", "move", old, new]).ended(0);
        copy
    }

    /// Where the state directory is.
    pub(crate) fn state_home(&self) -> &Path {
        self.state_home.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The folder of the store, the key and the last checkpoint.
    pub(crate) fn state(&self) -> PathBuf {
        let registry = std::fs::read_to_string(self.state_home.path().join("ordain/registry.json")).unwrap();
        let registry: Json = serde_json::from_str(&registry).unwrap();
        self.state_home.path().join("ordain").join(registry["projects"][0]["gate"].as_str().unwrap())
    }

    /// The SQLite file.
    pub(crate) fn file(&self) -> PathBuf {
        self.state().join("ordain.db")
    }

    pub(crate) fn database(&self) -> &Database {
        self.database.as_ref().unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The binary in this folder, not yet started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_ordain"));
        command.args(arguments);
        command
    }

    /// A program that runs the binary in this folder.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.state_home.path());
        command.env_remove("ORDAIN_TOKEN").env_remove("ORDAIN_SERVER").env_remove("ORDAIN_CACERT");
        // Nobody is there to leave a pager.
        command.env("ORDAIN_PAGER", "").env_remove("COLUMNS");
        command.env("XDG_CONFIG_HOME", self.state_home.path().join("config"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        ran(&mut self.command(arguments))
    }

    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        fed(&mut self.command(arguments), input.as_bytes())
    }

    pub(crate) fn run_in(&self, folder: &Path, arguments: &[&str], input: &str) -> Ran {
        fed(self.command(arguments).current_dir(self.root.join(folder)), input.as_bytes())
    }

    /// A token for a principal.
    pub(crate) fn token(&self, principal: &str, roles: &[&str]) -> String {
        let mut arguments = vec!["token", "create", principal];
        arguments.extend(roles.iter().flat_map(|role| ["--role", role]));
        self.run(&arguments).ended(0).stdout.trim().to_owned()
    }

    /// Runs a command as somebody else: with a token of theirs, at a server on this store.
    pub(crate) fn run_as(&self, who: &str, roles: &[&str], arguments: &[&str]) -> Ran {
        let token = self.token(who, roles);
        let server = self.serve();
        let mut command = self.command(arguments);
        let ran = ran(command.env("ORDAIN_SERVER", server.url()).env("ORDAIN_TOKEN", token));
        server.stop();
        ran
    }

    /// Approves what was shown, as somebody who may.
    pub(crate) fn approve_as(&self, who: &str, id: &str, view: &str) -> Ran {
        self.run_as(who, &["approver"], &["approve", id, "--view", view, "--json"])
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

/// The name of the user who runs the test.
pub(crate) fn os_user() -> String {
    ran(Command::new("id").arg("-run")).stdout.trim().to_owned()
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

/// The body of a worker that is about to do what was proposed.
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

impl Drop for Project {
    fn drop(&mut self) {
        self.folder.disable_cleanup(std::thread::panicking());
        self.state_home.disable_cleanup(std::thread::panicking());
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
