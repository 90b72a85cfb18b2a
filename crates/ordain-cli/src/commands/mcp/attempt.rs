//! `ordain mcp try`.

use crate::arguments::Connect;
use crate::clock::now_ms;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::Page;
use crate::project::Project;
use crate::view;
use clap::Args;
use ordain_canon::{Canonicalizer, Value};
use ordain_decision::{Case, decide_pinned, derive_shell};
use ordain_gate::load_policy_files;
use ordain_spec::decision::Outcome as Decided;
use ordain_spec::mcp::hash_of;
use ordain_spec::statement::NO_KEYS;
use serde_json::{Map, Value as Json, json};

#[derive(Args)]
#[command(after_help = exit::help_with("\
Example:
  ordain mcp try files write_file '{\"path\": \"src/main.rs\", \"content\": \"x\"}'

It asks the policies in force at the gate, sends nothing, and records nothing.", &[
    Outcome::Ok.means("ALLOW"),
    Outcome::Hold.means("HOLD"),
    Outcome::Deny.means("DENY"),
    Outcome::Failed.means("an error"),
]))]
pub(crate) struct McpTry {
    /// The server's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The tool
    #[arg(value_name = "TOOL")]
    pub(crate) tool: String,
    /// The arguments of the call, a JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(crate) arguments: String,
    /// The name under which the agent proposes [default: the only agent of the person who asks]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &McpTry, json: bool) -> Result<Outcome, Failure> {
    super::gateway::check_name(&args.name)?;
    let wrong = |problem: String| Failure::Usage(format!("the arguments are not a JSON object: {problem}"));
    Value::read(args.arguments.as_bytes()).map_err(|error| wrong(error.to_string()))?;
    let mut parameters: Map<String, Json> =
        serde_json::from_str(&args.arguments).map_err(|error| wrong(error.to_string()))?;
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let client = gateway.client();
    let actor = args.actor.clone().unwrap_or_else(|| gateway.default_actor());
    let in_force = client.policy(None)?;
    let in_force = in_force.ok_or_else(|| Failure::Server("no policies are in force".to_owned()))?;
    let set = load_policy_files(&in_force.files).map_err(|problems| {
        Failure::Server(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    })?;
    let server = client.server(&args.name)?;
    let listing = server.as_ref().and_then(|server| server.listing.as_ref());
    let definition = listing.and_then(|listing| listing.tools.get(&args.tool)).and_then(hash_of);
    parameters.insert(
        "mcp".to_owned(),
        json!({"server": args.name, "tool": args.tool, "pin": definition,
            "upstream": listing.map(|listing| &listing.upstream)}),
    );
    let at_ms = now_ms();
    let request = json!({"request_id": "try", "ts_ms": at_ms, "actor": actor,
        "intent": format!("Call `{}` of the MCP server `{}`", args.tool, args.name),
        "tool_call": {"name": format!("mcp.{}.{}", args.name, args.tool), "params": parameters}});
    let bytes = Canonicalizer::new().value(&request)?.to_vec();
    let request = Value::read(&bytes).map_err(|error| wrong(error.to_string()))?;
    let workspace = Project::find()?.and_then(|project| project.workspace());
    let mapped = set.proposal_in(&request, workspace.as_deref());
    let mapped =
        mapped.map(|proposal| Canonicalizer::new().value(&proposal).map(<[u8]>::to_vec)).transpose()?;
    let mapped = mapped.as_deref().map(Value::read).transpose().map_err(|error| wrong(error.to_string()))?;
    let document = mapped.as_ref().unwrap_or(&request);
    let case = Case {
        document,
        policies: &set,
        evidence: &[],
        approvals: &[],
        approver_keys: &NO_KEYS,
        now_ms: at_ms,
        halted: client.gate()?.halted.is_some(),
        workspace: workspace.as_deref(),
    };
    let derived = derive_shell(document, workspace.as_deref());
    let decision =
        decide_pinned(&case, derived.as_ref(), server.as_ref().map(|server| &server.pins)).decision;
    if json {
        print_json(&decision)?;
    } else {
        let mut page = Page::default();
        let wants = format!("{actor}: {} of {}", args.tool, args.name);
        view::decision::show(&mut page, &decision, Some(&crate::report::printable(&wants)));
        print_page(&page)?;
    }
    Ok(match decision.outcome {
        Decided::Allow => Outcome::Ok,
        Decided::Hold => Outcome::Hold,
        Decided::Deny => Outcome::Deny,
    })
}
