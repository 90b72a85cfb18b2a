//! The tools of each agent: what kind of action a call is, and where its input says so. The rows of `tools.toml` are
//! made from this table, so that whoever writes policies sees them and can change them.

use super::agent::Agent;
use std::fmt::Write;

/// The kind of a tool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Runs a command in a shell.
    Shell,
    /// Reads a file.
    Read,
    /// Looks through the files of a folder.
    Search,
    /// Writes a whole file.
    Write,
    /// Changes a part of a file.
    Edit,
    /// Applies a patch to several files.
    Patch,
    /// Asks a server by URL.
    Fetch,
    /// Touches nothing outside the agent.
    Meta,
}

/// One tool of one agent.
pub struct Tool {
    /// As the host names it.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// The member of its input with the command, the path, the patch or the URL; the first one that is there counts.
    pub(crate) main: &'static [&'static str],
    /// The member with the folder of a command.
    pub(crate) folder: &'static [&'static str],
    /// Members that are text for people, and say nothing about what happens.
    pub(crate) remarks: &'static [&'static str],
}

const fn tool(name: &'static str, kind: Kind, main: &'static [&'static str]) -> Tool {
    Tool { name, kind, main, folder: &[], remarks: &[] }
}

const fn shell(name: &'static str, folder: &'static [&'static str]) -> Tool {
    Tool { name, kind: Kind::Shell, main: &["command"], folder, remarks: &["description"] }
}

const fn meta(name: &'static str) -> Tool {
    tool(name, Kind::Meta, &[])
}

use Kind::{Edit, Fetch, Patch, Read, Search, Write as Whole};

static CLAUDE: &[Tool] = &[
    shell("Bash", &[]),
    tool("Read", Read, &["file_path"]),
    tool("Glob", Search, &["path"]),
    tool("Grep", Search, &["path"]),
    tool("LS", Search, &["path"]),
    tool("Write", Whole, &["file_path"]),
    tool("Edit", Edit, &["file_path"]),
    tool("MultiEdit", Edit, &["file_path"]),
    tool("NotebookEdit", Edit, &["notebook_path"]),
    tool("WebFetch", Fetch, &["url"]),
    meta("WebSearch"),
    meta("Agent"),
    meta("Task"),
    meta("TaskCreate"),
    meta("TaskGet"),
    meta("TaskList"),
    meta("TaskOutput"),
    meta("TaskStop"),
    meta("TaskUpdate"),
    meta("TodoWrite"),
    meta("ToolSearch"),
    meta("BashOutput"),
    meta("KillShell"),
    meta("AskUserQuestion"),
    meta("EnterPlanMode"),
    meta("ExitPlanMode"),
];

static CODEX: &[Tool] = &[
    shell("Bash", &["workdir"]),
    tool("apply_patch", Patch, &["command", "input", "patch"]),
    tool("view_image", Read, &["path"]),
    meta("update_plan"),
    meta("spawn_agent"),
    meta("send_input"),
    meta("wait"),
    meta("wait_agent"),
    meta("close_agent"),
    meta("request_user_input"),
];

static COPILOT: &[Tool] = &[
    shell("bash", &[]),
    shell("Bash", &[]),
    tool("view", Read, &["path"]),
    tool("Read", Read, &["path", "file_path"]),
    tool("grep", Search, &["path"]),
    tool("glob", Search, &["path"]),
    tool("create", Whole, &["path"]),
    tool("Write", Whole, &["path", "file_path"]),
    tool("edit", Edit, &["path"]),
    tool("Edit", Edit, &["path", "file_path"]),
    tool("web_fetch", Fetch, &["url"]),
    meta("report_intent"),
    meta("task"),
    meta("read_agent"),
    meta("list_agents"),
    meta("update_todo"),
    meta("ask_user"),
    meta("read_bash"),
    meta("stop_bash"),
    meta("list_bash"),
];

static GEMINI: &[Tool] = &[
    shell("run_shell_command", &["dir_path", "directory"]),
    tool("read_file", Read, &["file_path", "absolute_path"]),
    tool("list_directory", Search, &["dir_path", "path"]),
    tool("glob", Search, &["dir_path", "path"]),
    tool("grep_search", Search, &["dir_path", "path"]),
    tool("search_file_content", Search, &["dir_path", "path"]),
    tool("write_file", Whole, &["file_path"]),
    tool("replace", Edit, &["file_path"]),
    meta("google_web_search"),
    meta("invoke_agent"),
    meta("write_todos"),
    meta("update_topic"),
    meta("ask_user"),
];

static QWEN: &[Tool] = &[
    shell("run_shell_command", &["directory"]),
    tool("read_file", Read, &["file_path", "absolute_path"]),
    tool("list_directory", Search, &["path"]),
    tool("glob", Search, &["path"]),
    tool("grep_search", Search, &["path"]),
    tool("search_file_content", Search, &["path"]),
    tool("write_file", Whole, &["file_path"]),
    tool("edit", Edit, &["file_path"]),
    tool("replace", Edit, &["file_path"]),
    tool("web_fetch", Fetch, &["url"]),
    meta("web_search"),
    meta("agent"),
    meta("task"),
    meta("todo_write"),
    meta("exit_plan_mode"),
    meta("ask_user_question"),
];

static OPENCODE: &[Tool] = &[
    shell("bash", &["workdir"]),
    tool("read", Read, &["filePath"]),
    tool("list", Search, &["path"]),
    tool("glob", Search, &["path"]),
    tool("grep", Search, &["path"]),
    tool("write", Whole, &["filePath"]),
    tool("edit", Edit, &["filePath"]),
    tool("multiedit", Edit, &["filePath"]),
    tool("apply_patch", Patch, &["patchText"]),
    tool("patch", Patch, &["patchText"]),
    tool("webfetch", Fetch, &["url"]),
    meta("websearch"),
    meta("task"),
    meta("todowrite"),
    meta("todoread"),
    meta("question"),
];

/// The tools of an agent that have a row.
pub fn tools_of(agent: Agent) -> &'static [Tool] {
    match agent {
        Agent::Claude => CLAUDE,
        Agent::Codex => CODEX,
        Agent::Copilot => COPILOT,
        Agent::Gemini => GEMINI,
        Agent::Qwen => QWEN,
        Agent::Opencode => OPENCODE,
    }
}

pub(crate) fn tool_of(agent: Agent, name: &str) -> Option<&'static Tool> {
    tools_of(agent).iter().find(|tool| tool.name == name)
}

/// A file that was not there is created rather than changed.
pub(crate) const CREATE_SUFFIX: &str = ".create";

/// The rows of `tools.toml` for these agents.
pub fn tools_toml(agents: &[Agent]) -> String {
    let mut text = String::from(
        "\n# Tools of coding agents, as `ordain hook` names them. `{domain}` is `workspace`, or `host` for what lies outside it.\n",
    );
    for agent in agents {
        // A String takes everything that is written to it.
        let _ = write!(text, "\n# {}\n", agent.title());
        for tool in tools_of(*agent) {
            let name = format!("{agent}.{}", tool.name);
            for (name, row) in rows(&name, tool.kind) {
                let (action, resource_type, resource_id, domain) = row;
                let _ = write!(
                    text,
                    "[\"{name}\"]\naction_type = \"{action}\"\nresource_type = \"{resource_type}\"\n\
                     resource_id = \"{resource_id}\"\ndomain = \"{domain}\"\n\n"
                );
            }
        }
    }
    text
}

type Row = (&'static str, &'static str, &'static str, &'static str);

fn rows(name: &str, kind: Kind) -> Vec<(String, Row)> {
    let one = |row: Row| vec![(name.to_owned(), row)];
    match kind {
        Kind::Shell => one(("execute", "shell", "{cwd}", "{domain}")),
        Kind::Read => one(("read", "file", "{path}", "{domain}")),
        Kind::Search => one(("read", "folder", "{path}", "{domain}")),
        Kind::Edit => one(("write", "file", "{path}", "{domain}")),
        Kind::Write => vec![
            (name.to_owned(), ("write", "file", "{path}", "{domain}")),
            (format!("{name}{CREATE_SUFFIX}"), ("create", "file", "{path}", "{domain}")),
        ],
        Kind::Patch => one(("write", "patch_set", "{patch}", "{domain}")),
        Kind::Fetch => one(("communicate", "url", "{url}", "web")),
        Kind::Meta => one(("custom", "meta_tool", "{*}", "workspace")),
    }
}
