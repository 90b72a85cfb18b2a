//! `ordain mcp entry`.

use super::Server;
use super::gateway::{absolute, check_name};
use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::project::Project;
use crate::service;
use clap::Args;
use ordain_state::Home;
use serde_json::{Map, json};
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain mcp entry github --env GITHUB_TOKEN -- github-mcp-server stdio
  ordain mcp entry files -- npx -y @modelcontextprotocol/server-filesystem .
  ordain mcp entry tickets --url https://tickets.example/mcp --url-token env:TICKETS_TOKEN", exit::PLAIN))]
pub(crate) struct McpEntry {
    /// The server's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The name under which the agent proposes [default: the only agent of the person who asks]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) server: Server,
}

pub(super) fn run(args: &McpEntry, json: bool) -> Result<Outcome, Failure> {
    check_name(&args.name)?;
    let Start { program, mut words } = Start::of(&args.name, args.actor.as_deref())?;
    let Server { url, url_token, variables, command } = &args.server;
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    variables.iter().for_each(|name| option("--env", name.clone()));
    url.iter().for_each(|url| option("--url", url.clone()));
    url_token.iter().for_each(|place| option("--url-token", place.clone()));
    if !command.is_empty() {
        words.push("--".to_owned());
        words.extend(command.iter().map(|word| word.display().to_string()));
    }
    let servers = Map::from_iter([(args.name.clone(), json!({"command": program, "args": words}))]);
    let entry = json!({"mcpServers": servers});
    if json {
        print_json(&entry)?;
    } else {
        let text =
            serde_json::to_string_pretty(&entry).map_err(|error| Failure::Server(error.to_string()))?;
        writeln!(anstream::stdout(), "{text}")?;
    }
    Ok(Outcome::Ok)
}

/// The start of a gateway's command line, with everything that it pins.
pub(super) struct Start {
    pub(super) program: String,
    pub(super) words: Vec<String>,
}

impl Start {
    /// For a server of this folder's project.
    pub(super) fn of(name: &str, actor: Option<&str>) -> Result<Self, Failure> {
        let project = Project::find()?;
        let no_gate = || {
            let problem = "no gate is registered for this folder or its parents".to_owned();
            Failure::Document { path: ".".to_owned(), problem }.with_hint("run `ordain init`")
        };
        let project = project.ok_or_else(no_gate)?;
        let top = absolute(project.top())?;
        let home = Home::from_environment()?;
        let gate = project.gate().map(|gate| gate.id().to_string());
        let is_service = project.service().is_some();
        let gateway = Gateway::open_in(Some(project), &Connect::default(), Purpose::Look)
            .map_err(Failure::without_server)?;
        let client = gateway.client();
        let gate = match gate {
            Some(gate) => gate,
            None if is_service => client.gate()?.origin,
            None => return Err(no_gate()),
        };
        let key = client.keys()?.keys.into_iter().find(|key| key.retired_at_ms.is_none());
        let key = key.ok_or_else(|| Failure::Server("the gate has no key".to_owned()))?;
        let actor = actor.map_or_else(|| gateway.default_actor(), str::to_owned);
        let program = std::env::current_exe()?.display().to_string();
        let mut words = vec!["mcp".to_owned(), "gateway".to_owned(), name.to_owned()];
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        option("--gate", gate);
        option("--state", home.path().display().to_string());
        if is_service {
            option("--socket", service::SOCKET.to_owned());
        }
        option("--key", key.x);
        option("--actor", actor);
        option("--project", top.display().to_string());
        Ok(Self { program, words })
    }
}
