//! `ordain mcp`.

mod entry;
mod gateway;

use crate::exit::{Failure, Outcome};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Subcommand)]
pub(crate) enum McpCommand {
    /// Relay between an MCP client and a server on standard input and output; each tool call is an action at the
    /// pinned gate
    ///
    /// Messages pass byte for byte. A `tools/call` reaches the server after the gate has allowed it. A call that is
    /// held or denied gets a
    /// result that says so, and the server sees nothing of it.
    Gateway(gateway::McpGateway),
    /// Print the entry for a client's configuration that starts a server behind the gate of this folder
    Entry(entry::McpEntry),
}

impl Mcp {
    /// Whether standard input and output belong to an MCP client.
    pub(crate) fn is_gateway(&self) -> bool {
        matches!(self.command, McpCommand::Gateway(_))
    }
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
    /// The name under which the agent proposes
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: String,
    /// The project folder that calls are about
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
}

pub(crate) fn run(args: &Mcp, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        McpCommand::Gateway(args) => gateway::run(args),
        McpCommand::Entry(args) => entry::run(args, json),
    }
}
