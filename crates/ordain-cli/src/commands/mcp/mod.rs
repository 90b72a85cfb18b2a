//! `ordain mcp`.

mod attempt;
mod clients;
mod door;
mod entry;
mod gateway;
mod pins;
mod serve;
mod wrap;

use crate::exit::{Failure, Outcome};
use clap::{Args, Subcommand};
use ordain_mcp::{Upstream, UpstreamCommand, UpstreamUrl};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Subcommand)]
pub(crate) enum McpCommand {
    /// Relay between MCP clients and a server; each tool call is an action at the pinned gate
    ///
    /// The client is the one on standard input and output or, with `--listen`, everybody who shows a token of the gate
    /// at http://ADDR/mcp/NAME. Messages pass byte for byte. A `tools/call` reaches the server after the gate has allowed it. A call that is
    /// held or denied gets a
    /// result that says so, and the server sees nothing of it.
    Gateway(Box<gateway::McpGateway>),
    /// Print the entry for a client's configuration that starts a server behind the gate of this folder
    Entry(entry::McpEntry),
    /// Be an MCP server with tools that propose and look, on standard input and output
    Serve(serve::McpServe),
    /// Decide a call without making it, and say every reason
    Try(attempt::McpTry),
    /// Put a gateway in front of every server in a client's file
    Wrap(wrap::McpWrap),
    /// Take the gateways out of a client's file, and restore it
    Unwrap(wrap::McpUnwrap),
    /// List the MCP servers of this project, and which of their tools are approved
    Pins(pins::McpPins),
    /// Show what a server lists and nobody has approved
    Diff(pins::McpDiff),
    /// Approve the tools that a server lists, or one of them
    Approve(pins::McpApprove),
    /// Hide and refuse a tool, until it is approved by its name
    Block(pins::McpBlock),
}

impl Mcp {
    /// Whether standard input and output belong to an MCP client.
    pub(crate) fn is_gateway(&self) -> bool {
        matches!(self.command, McpCommand::Gateway(_) | McpCommand::Serve(_))
    }
}

/// The server behind a gateway.
#[derive(Args)]
pub(crate) struct Server {
    /// The address of a server over streamable HTTP
    #[arg(long, value_name = "URL", value_parser = gateway::web_address, conflicts_with_all = ["command", "variables"])]
    pub(crate) url: Option<String>,
    /// Where the token for that server is: env:NAME or file:PATH
    #[arg(long, value_name = "PLACE", requires = "url", value_parser = token_place)]
    pub(crate) url_token: Option<String>,
    /// A variable that the server gets, by name
    #[arg(long = "env", value_name = "NAME")]
    pub(crate) variables: Vec<String>,
    /// The command that starts the server
    #[arg(last = true, required_unless_present = "url", value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

fn token_place(text: &str) -> Result<String, String> {
    let is_place =
        text.strip_prefix("env:").or_else(|| text.strip_prefix("file:")).is_some_and(|rest| !rest.is_empty());
    if is_place { Ok(text.to_owned()) } else { Err("expected env:NAME or file:PATH".to_owned()) }
}

impl Server {
    fn upstream(&self) -> Result<Upstream, Failure> {
        let Some(url) = &self.url else {
            let (words, variables) = (self.command.clone(), self.variables.clone());
            return Ok(Upstream::Command(UpstreamCommand { words, variables }));
        };
        let token = match self.url_token.as_deref().map(|place| place.split_once(':')) {
            Some(Some(("env", name))) => {
                let value = std::env::var(name).ok().filter(|value| !value.trim().is_empty());
                Some(value.ok_or_else(|| Failure::Usage(format!("the variable `{name}` holds no token")))?)
            }
            Some(Some((_, path))) => {
                let text = std::fs::read_to_string(path);
                Some(text.map_err(|error| Failure::File { path: path.to_owned(), error })?)
            }
            _ => None,
        };
        if token.is_some() && !url.starts_with("https://") && !is_this_machine(url) {
            return Err(Failure::Usage(format!("{url} would get its token in the clear")));
        }
        Ok(Upstream::Url(UpstreamUrl { url: url.clone(), token }))
    }
}

fn is_this_machine(url: &str) -> bool {
    let host = url.strip_prefix("http://").unwrap_or_default();
    let host = host.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    host == "localhost"
        || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// A gate, the way to it, and the agent that asks; fixed by the command line.
#[derive(Args)]
pub(crate) struct Pinned {
    /// The gate: its id, or the name of its ledger with `--socket`
    #[arg(long, value_name = "ID")]
    pub(crate) gate: String,
    /// The state directory that the gate lies in
    #[arg(long, value_name = "DIR")]
    pub(crate) state: PathBuf,
    /// The socket of a gate that runs as another user
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// The public key that signs the gate's permits
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) key: String,
    /// The name under which the agent proposes; over HTTP, each client proposes as the owner of its token
    #[arg(long, value_name = "NAME", required_unless_present = "listen", conflicts_with = "listen")]
    pub(crate) actor: Option<String>,
    /// The project folder that calls are about
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
}

pub(crate) fn run(args: &Mcp, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        McpCommand::Gateway(args) => gateway::run(args),
        McpCommand::Entry(args) => entry::run(args, json),
        McpCommand::Serve(args) => serve::run(args),
        McpCommand::Try(args) => attempt::run(args, json),
        McpCommand::Wrap(args) => wrap::wrap(args, json),
        McpCommand::Unwrap(args) => wrap::unwrap(args, json),
        McpCommand::Pins(args) => pins::list(args, json),
        McpCommand::Diff(args) => pins::diff(args, json),
        McpCommand::Approve(args) => pins::approve(args, json),
        McpCommand::Block(args) => pins::block(args, json),
    }
}
