//! `ordain mcp serve`.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use clap::Args;
use ordain_mcp::Desk;

#[derive(Args)]
#[command(after_help = exit::help_with("\
The tools are propose, status, list_held, show and why. None of them decides.

Example of an entry:
  {\"mcpServers\": {\"ordain\": {\"command\": \"ordain\", \"args\": [\"mcp\", \"serve\"]}}}", exit::PLAIN))]
pub(crate) struct McpServe {
    /// The name under which the agent proposes [default: the only agent of the person who asks]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
}

pub(super) fn run(args: &McpServe) -> Result<Outcome, Failure> {
    // A server is named by the environment here.
    let gateway =
        Gateway::open(&Connect::of_environment(), Purpose::Decide).map_err(Failure::without_server)?;
    let actor = args.actor.clone().unwrap_or_else(|| gateway.default_actor());
    let (client, local) = gateway.into_parts();
    Desk::new(client, actor).serve(std::io::stdin(), std::io::stdout())?;
    drop(local);
    Ok(Outcome::Ok)
}
