//! `ordain mcp wrap` and `unwrap`.

use super::clients::{ClientKind, Server, edited};
use super::entry::Start;
use super::gateway::absolute;
use crate::agents;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, approver_keys_of};
use crate::kept_file::KeptFile;
use crate::output::{print_json, print_page};
use crate::page::Page;
use crate::signing;
use clap::Args;
use ordain_spec::mcp::is_server_name;
use ordain_state::{GateId, Home};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain mcp wrap claude --dry-run
  ordain mcp wrap cursor --user

Every server that the client starts gets `ordain mcp gateway` in front; `ordain mcp unwrap` restores the file. Unwrapping takes the key \
of the gate's owner.", &[
    Outcome::Ok.means("done, or nothing was to be done"),
    Outcome::Failed.means("nothing was changed"),
]))]
pub(crate) struct McpWrap {
    /// The client
    #[arg(value_name = "CLIENT", value_enum)]
    client: ClientKind,
    /// The user's file instead of the project's
    #[arg(long)]
    pub(crate) user: bool,
    /// Only this server
    #[arg(long = "only", value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// The name under which the agent proposes [default: the only agent of the person who asks]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
#[command(after_help = exit::help(&[
    Outcome::Ok.means("done, or nothing was to be done"),
    Outcome::Failed.means("nothing was changed"),
]))]
pub(crate) struct McpUnwrap {
    /// The client
    #[arg(value_name = "CLIENT", value_enum)]
    client: ClientKind,
    /// The user's file instead of the project's
    #[arg(long)]
    pub(crate) user: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The result for a file.
#[derive(Serialize)]
struct Done {
    file: String,
    /// The fate of each server: `wrapped`, `unwrapped`, or why it was left alone.
    servers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// A client's file, and the servers in it.
struct Config {
    file: KeptFile,
    text: String,
    servers: Vec<Server>,
}

impl Config {
    fn open(client: ClientKind, user: bool) -> Result<Self, Failure> {
        let project = absolute(Path::new("."))?;
        let path = client.file(user, &agents::home()?, &project);
        let path = path.ok_or_else(|| {
            let problem = "this client has no file for one project".to_owned();
            Failure::Usage(problem).with_hint("use `--user`")
        })?;
        let file = KeptFile::open(&path)?;
        let document = |problem: String| Failure::Document { path: path.display().to_string(), problem };
        let Some(text) = file.text.clone() else { return Err(document("does not exist".to_owned())) };
        let servers = client.servers(&text, &project);
        let servers = servers.map_err(|error| document(format!("{error}; it was not changed")))?;
        Ok(Self { file, text, servers })
    }

    /// The text without gateways.
    fn unwrapped(&self) -> String {
        let edits = self.servers.iter().filter_map(|server| {
            let (program, args) = server.wrapped()?.split_first()?;
            Some(server.edits(program, args))
        });
        edited(&self.text, edits.flatten().collect())
    }

    fn done(&self, servers: BTreeMap<String, String>, diff: Option<String>) -> Done {
        Done { file: self.file.path.display().to_string(), servers, diff }
    }
}

pub(super) fn wrap(args: &McpWrap, json: bool) -> Result<Outcome, Failure> {
    let config = Config::open(args.client, args.user)?;
    for name in &args.only {
        if !config.servers.iter().any(|server| server.name == *name) {
            return Err(Failure::unknown("server", name));
        }
    }
    let mut edits = Vec::new();
    let mut told = BTreeMap::new();
    for server in &config.servers {
        let name = &server.name;
        if !args.only.is_empty() && !args.only.contains(name) {
            continue;
        }
        let said = if server.gateway().is_some() {
            "is wrapped already"
        } else if !is_server_name(name) {
            "its name can have letters, digits, `_` and `-` only"
        } else if let Some(words) = server.words() {
            let Start { program, words: mut start } = Start::of(name, args.actor.as_deref())?;
            let variables: BTreeSet<&String> = server.variables.iter().collect();
            variables.into_iter().for_each(|name| start.extend(["--env".to_owned(), name.clone()]));
            start.push("--".to_owned());
            start.extend(words);
            edits.extend(server.edits(&program, &start));
            "wrapped"
        } else {
            "is reached by URL"
        };
        told.insert(name.clone(), said.to_owned());
    }
    let new = edited(&config.text, edits);
    finish(&config, Some(&new), told, args.dry_run, json, || {
        config.file.write(&new, || Ok(Some(config.unwrapped())))
    })
}

pub(super) fn unwrap(args: &McpUnwrap, json: bool) -> Result<Outcome, Failure> {
    let config = Config::open(args.client, args.user)?;
    let wrapped = config.servers.iter().filter(|server| server.wrapped().is_some());
    let told: BTreeMap<String, String> =
        wrapped.map(|server| (server.name.clone(), "unwrapped".to_owned())).collect();
    if told.is_empty() {
        return finish(&config, Some(&config.text), told, args.dry_run, json, || Ok(()));
    }
    let restored = config.file.restored(|| Ok(Some(config.unwrapped())))?;
    finish(&config, restored.as_deref(), told, args.dry_run, json, || {
        confirm(&config.servers)?;
        config.file.restore(restored.as_deref())
    })
}

/// Taking a gateway away is an owner act of its gate.
fn confirm(servers: &[Server]) -> Result<(), Failure> {
    let mut gates: BTreeSet<(&str, &str, Option<&str>)> = BTreeSet::new();
    for server in servers {
        let Some(words) = server.gateway().filter(|_| server.wrapped().is_some()) else { continue };
        let value = |name: &str| {
            let at = words.iter().take_while(|word| *word != "--").position(|word| word == name)?;
            words.get(at + 1).map(String::as_str)
        };
        let (Some(gate), Some(state)) = (value("--gate"), value("--state")) else {
            let problem =
                format!("the gateway of `{}` names no gate, so nobody can tell who owns it", server.name);
            return Err(Failure::Usage(problem));
        };
        gates.insert((gate, state, value("--socket")));
    }
    for (gate, state, socket) in gates {
        let keys = match socket {
            Some(socket) => {
                Gateway::open_pinned_socket(Path::new(socket), gate, None)?.client().approver_keys()?.keys
            }
            None => {
                let id = GateId::parse(gate);
                let id = id.ok_or_else(|| Failure::Usage(format!("`{gate}` is not the id of a gate")))?;
                let folder = Home::in_folder(Path::new(state).parent().unwrap_or(Path::new("/"))).gate(&id);
                if !folder.path().is_dir() {
                    let problem = format!("the gate {id} is gone, so nobody can tell who owns it");
                    return Err(Failure::Usage(problem));
                }
                approver_keys_of(&folder)?
            }
        };
        signing::confirm_owner_among(keys, "mcp unwrap")?;
    }
    Ok(())
}

fn finish(
    config: &Config,
    new: Option<&str>,
    told: BTreeMap<String, String>,
    dry_run: bool,
    json: bool,
    write: impl FnOnce() -> Result<(), Failure>,
) -> Result<Outcome, Failure> {
    let changes = new != Some(config.text.as_str());
    let diff = (dry_run && changes).then(|| config.file.diff(new));
    if changes && !dry_run {
        write()?;
    }
    let done = config.done(told, diff);
    if json {
        print_json(&done)?;
        return Ok(Outcome::Ok);
    }
    let mut page = Page::default();
    page.title("file", &done.file);
    for (name, said) in &done.servers {
        page.label(name, said);
    }
    if let Some(diff) = &done.diff {
        page.diff(diff);
    }
    if changes && !dry_run {
        page.item("restart the client");
    }
    print_page(&page)?;
    Ok(Outcome::Ok)
}
