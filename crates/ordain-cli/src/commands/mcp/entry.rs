//! `ordain mcp entry`.

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
  ordain mcp entry files -- npx -y @modelcontextprotocol/server-filesystem .", exit::PLAIN))]
pub(crate) struct McpEntry {
    /// The server's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The name under which the agent proposes [default: the only agent of the person who asks]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// A variable that the server gets, by name
    #[arg(long = "env", value_name = "NAME")]
    pub(crate) variables: Vec<String>,
    /// The command that starts the server
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

pub(super) fn run(args: &McpEntry, json: bool) -> Result<Outcome, Failure> {
    check_name(&args.name)?;
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
    let gateway =
        Gateway::open_in(Some(project), &Connect { server: None, token_file: None }, Purpose::Look)?;
    let client = gateway.client();
    let gate = match gate {
        Some(gate) => gate,
        None if is_service => client.gate()?.origin,
        None => return Err(no_gate()),
    };
    let key = client.keys()?.keys.into_iter().find(|key| key.retired_at_ms.is_none());
    let key = key.ok_or_else(|| Failure::Server("the gate has no key".to_owned()))?;
    let actor = args.actor.clone().unwrap_or_else(|| gateway.default_actor());
    let program = std::env::current_exe()?.display().to_string();
    let mut words = vec!["mcp".to_owned(), "gateway".to_owned(), args.name.clone()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("--gate", gate);
    option("--state", home.path().display().to_string());
    if is_service {
        option("--socket", service::SOCKET.to_owned());
    }
    option("--key", key.x);
    option("--actor", actor);
    option("--project", top.display().to_string());
    args.variables.iter().for_each(|name| option("--env", name.clone()));
    words.push("--".to_owned());
    words.extend(args.command.iter().cloned());
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
