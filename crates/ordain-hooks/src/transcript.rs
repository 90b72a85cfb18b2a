//! Transcripts: what Claude Code and Codex write about their sessions, read line by line as the calls that their hooks
//! would have been asked about.

use crate::core::agent::Agent;
use crate::core::answer::Shape;
use crate::core::event::Call;
use crate::core::mapping::{Action, Place, Resolved, World, action_of};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// One step of a session.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// A call that a hook is asked about.
    Call(Box<Call>),
    /// A call that the host does not ask about.
    Unseen(String),
    /// A line or a call that cannot be read.
    Unreadable,
}

/// Reads a transcript from its first line on.
pub struct TranscriptReader {
    agent: Agent,
    cwd: Option<PathBuf>,
    root: Option<PathBuf>,
    /// The ids of calls so far: a host may write a call more than once.
    seen: BTreeSet<String>,
}

/// Tools of Codex that no hook sees.
const UNSEEN: [&str; 2] = ["write_stdin", "web_search"];

impl TranscriptReader {
    /// For Claude Code or Codex; the other agents' transcripts are not known.
    pub fn new(agent: Agent) -> Option<Self> {
        let known = matches!(agent, Agent::Claude | Agent::Codex);
        known.then(|| Self { agent, cwd: None, root: None, seen: BTreeSet::new() })
    }

    /// The folder that the session began in.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Reads the next line.
    pub fn line(&mut self, line: &str) -> Vec<Step> {
        if line.trim().is_empty() {
            return Vec::new();
        }
        let Ok(Json::Object(line)) = serde_json::from_str(line) else { return vec![Step::Unreadable] };
        match self.agent {
            Agent::Claude => self.claude(&line),
            _ => self.codex(&line),
        }
    }

    fn see_folder(&mut self, folder: Option<&Json>) {
        let folder = folder.and_then(Json::as_str).map(PathBuf::from).filter(|folder| folder.is_absolute());
        if let Some(folder) = folder {
            self.root.get_or_insert_with(|| folder.clone());
            self.cwd = Some(folder);
        }
    }

    fn claude(&mut self, line: &Map<String, Json>) -> Vec<Step> {
        self.see_folder(line.get("cwd"));
        if line.get("type").and_then(Json::as_str) != Some("assistant") {
            return Vec::new();
        }
        let content = line.get("message").and_then(|message| message.get("content"));
        let blocks = content.and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_call = |block: &&Json| block.get("type").and_then(Json::as_str) == Some("tool_use");
        let calls: Vec<Json> = blocks.iter().filter(is_call).cloned().collect();
        calls
            .into_iter()
            .filter_map(|call| self.call(call.get("id"), call.get("name"), call.get("input")))
            .collect()
    }

    fn codex(&mut self, line: &Map<String, Json>) -> Vec<Step> {
        let Some(payload) = line.get("payload") else { return Vec::new() };
        let text = |name: &str| payload.get(name).and_then(Json::as_str);
        match line.get("type").and_then(Json::as_str) {
            Some("session_meta" | "turn_context") => {
                self.see_folder(payload.get("cwd"));
                return Vec::new();
            }
            Some("response_item") => {}
            _ => return Vec::new(),
        }
        let id = payload.get("call_id");
        let step = match text("type") {
            Some("function_call") => {
                let input = text("arguments").and_then(|text| serde_json::from_str(text).ok());
                // A tool of an MCP server may come with the server's name beside it.
                let name = match (text("namespace"), text("name")) {
                    (Some(space), Some(name)) if !space.is_empty() => Some(json!(format!("{space}__{name}"))),
                    (_, name) => name.map(Json::from),
                };
                self.call(id, name.as_ref(), input.as_ref())
            }
            Some("custom_tool_call") => {
                let input = text("input").map(|input| json!({"input": input}));
                self.call(id, payload.get("name"), input.as_ref())
            }
            Some("local_shell_call") => {
                let action = payload.get("action").cloned().unwrap_or_default();
                let mut input = json!({"command": action.get("command")});
                if let (Some(input), Some(folder)) = (input.as_object_mut(), action.get("working_directory"))
                {
                    input.insert("workdir".to_owned(), folder.clone());
                }
                self.call(id, Some(&json!("shell")), Some(&input))
            }
            Some("web_search_call") => Some(Step::Unseen("web_search".to_owned())),
            _ => None,
        };
        step.into_iter().collect()
    }

    /// A call, unless it was there before.
    fn call(&mut self, id: Option<&Json>, name: Option<&Json>, input: Option<&Json>) -> Option<Step> {
        if let Some(id) = id.and_then(Json::as_str)
            && !self.seen.insert(id.to_owned())
        {
            return None;
        }
        let name = name.and_then(Json::as_str).unwrap_or_default();
        if self.agent == Agent::Codex && UNSEEN.contains(&name) {
            return Some(Step::Unseen(name.to_owned()));
        }
        let (Some(Json::Object(input)), Some(cwd)) = (input, &self.cwd) else {
            return Some(Step::Unreadable);
        };
        let (tool, input) = match (self.agent, name) {
            (_, "") => return Some(Step::Unreadable),
            (Agent::Codex, "exec_command" | "shell" | "shell_command" | "local_shell") => {
                let Some(input) = as_hooked(input) else { return Some(Step::Unreadable) };
                ("Bash".to_owned(), input)
            }
            _ => (name.to_owned(), input.clone()),
        };
        Some(Step::Call(Box::new(Call {
            agent: self.agent,
            shape: Shape::Own,
            key: String::new(),
            tool,
            server: None,
            input,
            cwd: cwd.clone(),
            sources: Map::new(),
        })))
    }
}

/// A shell call of Codex in the form in which a hook gets it. Members about time and output do not say what runs.
fn as_hooked(input: &Map<String, Json>) -> Option<Map<String, Json>> {
    let command = match input.get("cmd").or_else(|| input.get("command"))? {
        Json::String(command) => command.clone(),
        Json::Array(words) => {
            let words: Vec<&str> = words.iter().map(Json::as_str).collect::<Option<_>>()?;
            match words.as_slice() {
                ["bash" | "sh" | "zsh" | "/bin/bash" | "/bin/sh", "-lc" | "-c", script] => {
                    (*script).to_owned()
                }
                words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
            }
        }
        _ => return None,
    };
    let mut hooked = Map::from_iter([("command".to_owned(), json!(command))]);
    if let Some(folder) = input.get("workdir").filter(|folder| folder.is_string()) {
        hooked.insert("workdir".to_owned(), folder.clone());
    }
    Some(hooked)
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The action that a call of a transcript asked for. Paths are resolved by their text alone: the files may be others
/// by now. `root` is the workspace.
pub fn action_in_transcript(call: &Call, root: &Path) -> Result<Action, String> {
    action_of(call, &Lexical { root })
}

struct Lexical<'a> {
    root: &'a Path,
}

impl World for Lexical<'_> {
    fn place(&self, cwd: &Path, path: &str) -> Result<Place, String> {
        if path.starts_with('~') {
            return Err("the path begins with `~`, which programs read in different ways".to_owned());
        }
        let mut real = PathBuf::from("/");
        for component in cwd.join(path).components() {
            match component {
                Component::ParentDir => drop(real.pop()),
                Component::Normal(name) => real.push(name),
                Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
            }
        }
        let inside = real.strip_prefix(self.root).ok().map(|inside| inside.to_string_lossy().into_owned());
        Ok(Place { real, inside, exists: true })
    }

    fn content(&self, _: &Place) -> Result<String, String> {
        Err("a transcript does not say what was in it".to_owned())
    }

    fn command(&self, _: &Place, _: &str) -> Resolved {
        Resolved::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(agent: Agent, lines: &[Json]) -> Vec<Step> {
        let mut reader = TranscriptReader::new(agent).unwrap();
        lines.iter().flat_map(|line| reader.line(&line.to_string())).collect()
    }

    fn call(step: &Step) -> (&str, String) {
        let Step::Call(call) = step else { panic!("{step:?}") };
        (&call.tool, Json::Object(call.input.clone()).to_string())
    }

    #[test]
    fn calls_of_claude_are_found_once() {
        let line = json!({"type": "assistant", "cwd": "/w", "message": {"content": [
            {"type": "text", "text": "x"},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
        ]}});
        let found =
            steps(Agent::Claude, &[line.clone(), line, json!({"type": "user", "message": {"content": "x"}})]);
        assert_eq!(found.iter().map(call).collect::<Vec<_>>(), [("Bash", r#"{"command":"ls"}"#.to_owned())]);
        assert_eq!(TranscriptReader::new(Agent::Claude).unwrap().line("{"), [Step::Unreadable]);
    }

    #[test]
    fn calls_of_codex_come_as_hooks_get_them() {
        let item = |payload: Json| json!({"type": "response_item", "payload": payload});
        let function = |name: &str, arguments: Json| {
            item(json!({"type": "function_call", "name": name, "arguments": arguments.to_string()}))
        };
        let found = steps(
            Agent::Codex,
            &[
                json!({"type": "session_meta", "payload": {"cwd": "/w"}}),
                function("exec_command", json!({"cmd": "ls", "workdir": "src", "yield_time_ms": 5})),
                function("shell", json!({"command": ["bash", "-lc", "git push"]})),
                function("shell", json!({"command": ["echo", "it's"]})),
                function("write_stdin", json!({"session_id": 1, "chars": "rm -rf x\n"})),
                item(
                    json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch\n"}),
                ),
                item(
                    json!({"type": "function_call", "name": "wire", "namespace": "mcp__bank", "arguments": "{}"}),
                ),
                function("exec_command", json!({"cmd": 1})),
            ],
        );
        assert_eq!(found[3], Step::Unseen("write_stdin".to_owned()));
        assert_eq!(found[6], Step::Unreadable);
        let calls: Vec<(&str, String)> = [0, 1, 2, 4, 5].into_iter().map(|at| call(&found[at])).collect();
        let expected = [
            ("Bash", json!({"command": "ls", "workdir": "src"})),
            ("Bash", json!({"command": "git push"})),
            ("Bash", json!({"command": r"'echo' 'it'\''s'"})),
            ("apply_patch", json!({"input": "*** Begin Patch\n"})),
            ("mcp__bank__wire", json!({})),
        ];
        assert_eq!(calls, expected.map(|(tool, input)| (tool, input.to_string())));
    }

    #[test]
    fn paths_are_resolved_by_their_text() {
        let world = Lexical { root: Path::new("/w") };
        let inside = |path: &str| world.place(Path::new("/w/src"), path).unwrap().inside;
        assert_eq!(inside("../a/./b"), Some("a/b".to_owned()));
        assert_eq!(inside("../../etc"), None);
        assert_eq!(inside("/w/../w/x"), Some("x".to_owned()));
        assert!(world.place(Path::new("/w"), "~/x").is_err());
    }
}
