//! The configuration files of MCP clients: the servers in a text, and the text with other command lines. Every other
//! byte stays.

use ordain_canon::Value;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A program that starts MCP servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum ClientKind {
    /// Claude Code
    Claude,
    /// Claude Desktop
    Desktop,
    /// Cursor
    Cursor,
    /// VS Code
    Vscode,
    /// Codex
    Codex,
}

impl ClientKind {
    /// Its file: of the user, or of the project.
    pub(super) fn file(self, user: bool, home: &Path, project: &Path) -> Option<PathBuf> {
        let below = match (self, user) {
            (Self::Claude, false) => ".mcp.json",
            (Self::Claude, true) => ".claude.json",
            (Self::Desktop, false) => return None,
            (Self::Desktop, true) => ".config/Claude/claude_desktop_config.json",
            (Self::Cursor, _) => ".cursor/mcp.json",
            (Self::Vscode, false) => ".vscode/mcp.json",
            (Self::Vscode, true) => ".config/Code/User/mcp.json",
            (Self::Codex, _) => ".codex/config.toml",
        };
        Some(if user { home } else { project }.join(below))
    }

    pub(super) fn servers(self, text: &str, project: &Path) -> Result<Vec<Server>, String> {
        match self {
            Self::Codex => toml_servers(text),
            Self::Vscode => json_servers(text, &[&["servers"]]),
            Self::Claude => {
                let project = project.display().to_string();
                json_servers(text, &[&["mcpServers"], &["projects", &project, "mcpServers"]])
            }
            Self::Desktop | Self::Cursor => json_servers(text, &[&["mcpServers"]]),
        }
    }
}

/// A server in a file.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: String,
    /// Nothing for one that is reached by URL.
    command: Option<Place<String>>,
    args: Option<Place<Vec<String>>>,
    /// The variables that the file gives it.
    pub(super) variables: Vec<String>,
    separator: &'static str,
}

#[derive(Debug)]
struct Place<T> {
    value: T,
    span: Range<usize>,
}

impl Server {
    /// Its command line, if it has one.
    pub(super) fn words(&self) -> Option<Vec<String>> {
        let args = self.args.iter().flat_map(|args| args.value.iter().cloned());
        Some(std::iter::once(self.command.as_ref()?.value.clone()).chain(args).collect())
    }

    /// The words of a gateway that starts it, without the program.
    pub(super) fn gateway(&self) -> Option<&[String]> {
        let args = &self.args.as_ref()?.value;
        (args.first()? == "mcp" && args.get(1)? == "gateway").then_some(args)
    }

    /// The command line behind the gateway.
    pub(super) fn wrapped(&self) -> Option<&[String]> {
        let args = self.gateway()?;
        let end = args.iter().position(|word| word == "--")?;
        args.get(end + 1..).filter(|words| !words.is_empty())
    }

    /// The edits that give it another command line.
    pub(super) fn edits(&self, program: &str, args: &[String]) -> Vec<(Range<usize>, String)> {
        let Some(command) = &self.command else { return Vec::new() };
        // A JSON text of strings is the same in TOML.
        let list: Vec<String> = args.iter().map(|word| quoted(word)).collect();
        let list = format!("[{}]", list.join(", "));
        let command_edit = (command.span.clone(), quoted(program));
        match &self.args {
            Some(args) => vec![command_edit, (args.span.clone(), list)],
            None => {
                let key =
                    if self.separator == "\n" || self.separator == ", " { "args = " } else { "\"args\": " };
                let separator = self.separator.trim_end_matches(':');
                vec![command_edit, (command.span.end..command.span.end, format!("{separator}{key}{list}"))]
            }
        }
    }
}

fn quoted(word: &str) -> String {
    serde_json::Value::from(word).to_string().replace('\u{7f}', "\\u007f")
}

/// The text with these parts replaced.
pub(super) fn edited(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(span, _)| (span.start, span.end));
    let (mut new, mut end) = (String::with_capacity(text.len()), 0);
    for (span, part) in edits {
        new.push_str(text.get(end..span.start).unwrap_or_default());
        new.push_str(&part);
        end = span.end;
    }
    new + text.get(end..).unwrap_or_default()
}

fn json_servers(text: &str, paths: &[&[&str]]) -> Result<Vec<Server>, String> {
    Value::read(text.as_bytes()).map_err(|error| error.to_string())?;
    let wrong = |error: serde_json::Error| error.to_string();
    let root: &RawValue = serde_json::from_str(text).map_err(wrong)?;
    let mut servers = Vec::new();
    for path in paths {
        let mut at = Some(root);
        for key in *path {
            at = match at {
                Some(node) => members(node)?.remove(*key),
                None => None,
            };
        }
        let Some(node) = at else { continue };
        for (name, node) in members(node)? {
            let mut own = members(node)?;
            let command = own.remove("command").map(|node| placed::<String>(text, node)).transpose()?;
            let args = own.remove("args").map(|node| placed::<Vec<String>>(text, node)).transpose()?;
            let variables = match own.remove("env") {
                Some(env) => members(env)?.into_keys().collect(),
                None => Vec::new(),
            };
            servers.push(Server { name, command, args, variables, separator: ", :" });
        }
    }
    Ok(servers)
}

fn members(node: &RawValue) -> Result<BTreeMap<String, &RawValue>, String> {
    serde_json::from_str(node.get()).map_err(|error| error.to_string())
}

fn placed<'t, T: Deserialize<'t>>(text: &str, node: &'t RawValue) -> Result<Place<T>, String> {
    let value = serde_json::from_str(node.get()).map_err(|error| error.to_string())?;
    let start = (node.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    Ok(Place { value, span: start..start + node.get().len() })
}

fn toml_servers(text: &str) -> Result<Vec<Server>, String> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        mcp_servers: BTreeMap<String, toml::Spanned<Entry>>,
    }
    #[derive(Deserialize)]
    struct Entry {
        command: Option<toml::Spanned<String>>,
        args: Option<toml::Spanned<Vec<String>>>,
        #[serde(default)]
        env: BTreeMap<String, String>,
        #[serde(default)]
        env_vars: Vec<String>,
    }
    let file: File = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    let servers = file.mcp_servers.into_iter().map(|(name, entry)| {
        // In a table of one line everything stands on that line.
        let is_inline = text.get(entry.span()).is_some_and(|entry| entry.starts_with('{'));
        let Entry { command, args, env, env_vars } = entry.into_inner();
        fn place<T>(value: toml::Spanned<T>) -> Place<T> {
            Place { span: value.span(), value: value.into_inner() }
        }
        let separator = if is_inline { ", " } else { "\n" };
        let variables = env.into_keys().chain(env_vars).collect();
        Server { name, command: command.map(place), args: args.map(place), variables, separator }
    });
    Ok(servers.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(kind: ClientKind, text: &str) -> String {
        let servers = kind.servers(text, Path::new("/p")).unwrap();
        let edits = servers.iter().filter(|server| server.words().is_some()).flat_map(|server| {
            let mut words = ["mcp", "gateway", &server.name, "--"].map(str::to_owned).to_vec();
            words.extend(server.words().unwrap());
            server.edits("/o \"x", &words)
        });
        let new = edited(text, edits.collect());
        // Back again.
        let servers = kind.servers(&new, Path::new("/p")).unwrap();
        let edits = servers.iter().filter_map(|server| {
            let words = server.wrapped()?;
            Some(server.edits(&words[0], &words[1..]))
        });
        let back = edited(&new, edits.flatten().collect());
        let lines = |text: &str| {
            kind.servers(text, Path::new("/p")).unwrap().iter().map(Server::words).collect::<Vec<_>>()
        };
        assert_eq!(lines(&back), lines(text));
        new
    }

    #[test]
    fn every_other_byte_stays() {
        let text = "{\n\t\"x\" : [1.50],\r\n \"mcpServers\": { \"a\": {\"command\":\"npx\",\n   \"args\" : [ \"-y\" ,\"s\"], \"env\": {\"T\": \"1\"}}, \"b\": {\"command\": \"b\"},\
            \"u\": {\"url\": \"https://x\"} },\"projects\":{\"/p\":{\"mcpServers\":{\"c\":{\"command\":\"c\"}}},\"/q\":{\"mcpServers\":{\"d\":{\"command\":\"d\"}}}}}\n";
        let expected = text
            .replace("\"npx\"", "\"/o \\\"x\"")
            .replace("[ \"-y\" ,\"s\"]", "[\"mcp\", \"gateway\", \"a\", \"--\", \"npx\", \"-y\", \"s\"]")
            .replace(
                "\"command\": \"b\"",
                "\"command\": \"/o \\\"x\", \"args\": [\"mcp\", \"gateway\", \"b\", \"--\", \"b\"]",
            )
            .replace(
                "\"command\":\"c\"",
                "\"command\":\"/o \\\"x\", \"args\": [\"mcp\", \"gateway\", \"c\", \"--\", \"c\"]",
            );
        assert_eq!(wrapped(ClientKind::Claude, text), expected);
        let servers = ClientKind::Claude.servers(text, Path::new("/p")).unwrap();
        assert_eq!(servers[0].variables, ["T"]);
    }

    #[test]
    fn tables_of_one_line_and_of_many() {
        let text = "model = \"x\" # mine\n[mcp_servers.a]\ncommand = 'npx'  # fast\nargs = [\n  \"-y\",\n]\n[mcp_servers.a.env]\nT = \"1\"\n\n[mcp_servers.b]\ncommand = \"b\"\n[mcp_servers]\n";
        let text = text.replace("[mcp_servers]\n", "[other]\nx = 1\n");
        let expected = text
            .replace("'npx'", "\"/o \\\"x\"")
            .replace("[\n  \"-y\",\n]", "[\"mcp\", \"gateway\", \"a\", \"--\", \"npx\", \"-y\"]")
            .replace(
                "command = \"b\"\n",
                "command = \"/o \\\"x\"\nargs = [\"mcp\", \"gateway\", \"b\", \"--\", \"b\"]\n",
            );
        assert_eq!(wrapped(ClientKind::Codex, &text), expected);
        let inline = "mcp_servers = { a = { command = \"b\" } }\n";
        let expected = "mcp_servers = { a = { command = \"/o \\\"x\", args = [\"mcp\", \"gateway\", \"a\", \"--\", \"b\"] } }\n";
        assert_eq!(wrapped(ClientKind::Codex, inline), expected);
    }

    #[test]
    fn unreadable_files_are_refused() {
        for text in [
            "{",
            "[]",
            "{\"mcpServers\":{},\"mcpServers\":{}}",
            "// x\n{}",
            "{\"mcpServers\":{\"a\":{\"command\":1}}}",
            "{\"mcpServers\":[]}",
        ] {
            assert!(ClientKind::Cursor.servers(text, Path::new("/")).is_err(), "{text}");
        }
        assert!(ClientKind::Codex.servers("a = ", Path::new("/")).is_err());
    }
}
