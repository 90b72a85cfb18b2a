//! A project whose gate judges the calls of coding agents, and a home folder for their settings.

use super::{Project, Ran, fed, folder, os_user, ran};
use ordain_hooks::{Agent, Pins, tools_toml};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Files and commands with `held` in their names wait for alice, those with `denied` are denied, the others pass.
const POLICY: &str = r#"
@id("read") permit (principal in Group::"agents", action in Action::"observe", resource in Domain::"workspace");

@id("meta") permit (principal in Group::"agents", action == Action::"custom", resource in ResourceType::"meta_tool");

@id("edit")
permit (principal in Group::"agents", action in [Action::"create", Action::"write"], resource in Domain::"workspace")
when { resource has path && !(resource.path like "*held*") && !(resource.path like "*denied*") };

@id("edit-held") @approval("single") @approvers("people")
permit (principal in Group::"agents", action in [Action::"create", Action::"write"], resource in Domain::"workspace")
when { resource has path && resource.path like "*held*" };

@id("run")
permit (principal in Group::"agents", action == Action::"execute", resource in Domain::"workspace")
when { context.parameters has command && !(context.parameters.command like "*held*") &&
       !(context.parameters.command like "*denied*") };

@id("run-held") @approval("single") @approvers("people")
permit (principal in Group::"agents", action == Action::"execute", resource in Domain::"workspace")
when { context.parameters has command && context.parameters.command like "*held*" };
"#;

const SCHEMA: &str = "type ExecuteParameters = { command?: String };\n";

/// A row for every other tool; no policy permits it.
const OTHER_TOOLS: &str = "[\"*\"]\naction_type = \"custom\"\nresource_type = \"tool\"\nresource_id = \"{*}\"\ndomain = \"workspace\"\n";

/// The project, and the home folder of the person who works there.
pub(crate) struct Guarded {
    pub(crate) project: Project,
    pub(crate) home: TempDir,
}

impl Guarded {
    pub(crate) fn new() -> Self {
        let project = Project::empty();
        let entity = |kind: &str, id: &str, attributes: Json, parent: Option<&str>| {
            let parents: Vec<Json> =
                parent.into_iter().map(|group| json!({"type": "Group", "id": group})).collect();
            json!({"uid": {"type": kind, "id": id}, "attrs": attributes, "parents": parents})
        };
        let entities = json!([
            entity("Group", "agents", json!({}), None),
            entity("Group", "people", json!({}), None),
            entity("Actor", "olga", json!({"os_user": os_user()}), None),
            entity("Actor", "alice", json!({}), Some("people")),
            entity("Actor", "agent-1", json!({"agent_of": "olga"}), Some("agents")),
        ]);
        project.write("ordain.toml", "policy = \"policy\"\n");
        project.write("policy/entities.json", &entities.to_string());
        project.write("policy/agents.cedar", POLICY);
        project.write("policy/schema.cedarschema", SCHEMA);
        project.write("policy/tools.toml", &format!("{OTHER_TOOLS}{}", tools_toml(&Agent::ALL)));
        project.run(&["init", "--keep"]).ended(0);
        Self { project, home: folder() }
    }

    /// Another project, with a home folder.
    pub(crate) fn of(project: Project) -> Self {
        Self { project, home: folder() }
    }

    /// Runs a command line of a settings file as the host does, with an event of Claude Code.
    pub(crate) fn ask_installed(&self, command: &str, tool: &str, input: Json) -> Ran {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
        fed(&mut shell, self.event(tool, input).as_bytes())
    }

    /// A command of the person.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.project.command(arguments);
        command.env("HOME", self.home.path()).env_remove("CODEX_HOME");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        ran(&mut self.command(arguments))
    }

    /// The pins of a hook of this gate.
    pub(crate) fn pins(&self, agent: Agent, wait_s: u64) -> Pins {
        let keys = self.project.run(&["keys", "list", "--json"]).ended(0).lines();
        let state = self.project.state();
        let words = [
            agent.name(),
            "--gate",
            state.file_name().unwrap().to_str().unwrap(),
            "--state",
            state.parent().unwrap().to_str().unwrap(),
            "--key",
            keys[0]["public_key"].as_str().unwrap(),
            "--actor",
            "agent-1",
            "--wait",
            &wait_s.to_string(),
        ];
        Pins::parse(&words.map(str::to_owned)).unwrap()
    }

    /// Runs the hook as a host does, in a shell with nothing of this process.
    pub(crate) fn ask(&self, pins: &Pins, event: &str) -> Ran {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &pins.command(Path::new(env!("CARGO_BIN_EXE_ordain")))]);
        shell.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
        fed(&mut shell, event.as_bytes())
    }

    /// An event of Claude Code in the project's folder.
    pub(crate) fn event(&self, tool: &str, input: Json) -> String {
        let id = super::unique("toolu");
        json!({"session_id": "s", "transcript_path": "/t", "cwd": self.project.root, "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": id})
        .to_string()
    }

    /// Approves everything that is held, as alice.
    pub(crate) fn approve_all(&self) {
        let held = self.project.run(&["status", "--json"]).lines();
        let ids: Vec<String> = held
            .iter()
            .filter(|status| status["state"] == "held")
            .map(|status| status["action_id"].as_str().unwrap().to_owned())
            .collect();
        assert!(!ids.is_empty(), "nothing is held: {held:?}");
        for id in ids {
            let status = self.project.run(&["status", &id, "--json"]).json();
            self.project.approve_as("alice", &id, status["view_digest"].as_str().unwrap()).ended(0);
        }
    }

    /// The gates that hooks of this project have started.
    fn gates(&self) -> Vec<PathBuf> {
        let socket = format!("unix:{}", self.project.state().join("gate.sock").display());
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
        let serves = |process: &PathBuf| {
            let words = std::fs::read(process.join("cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| word == socket.as_bytes())
        };
        processes.filter(serves).collect()
    }

    /// Ends the gate that a hook has started; how many there were.
    pub(crate) fn stop_gate(&self) -> usize {
        let gates = self.gates();
        for gate in &gates {
            let id = gate.file_name().unwrap().to_str().unwrap();
            let _ = Command::new("kill").arg(id).status();
        }
        for _ in 0..500 {
            if self.gates().is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        gates.len()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.stop_gate();
        self.home.disable_cleanup(std::thread::panicking());
    }
}
