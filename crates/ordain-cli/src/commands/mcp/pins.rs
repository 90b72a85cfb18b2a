//! `ordain mcp pins`, `diff`, `approve`, `block`.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::{PLAIN, Page};
use crate::report::printable;
use crate::signing;
use crate::wording::count;
use clap::Args;
use ordain_api::{NewPins, OwnerAct, ServerStatus};
use ordain_client::Client;
use ordain_decision::look_alikes;
use ordain_spec::mcp::{Listing, PinMode, PinnedTool, Pins, ToolState, hash_of, tool_name_fault};
use serde_json::Value as Json;
use similar::TextDiff;
use std::collections::BTreeMap;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct McpPins {
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = exit::help(&[
    Outcome::Ok.means("everything that the server lists is approved"),
    Outcome::Failed.means("something is new, changed or blocked, or there is no such server"),
]))]
pub(crate) struct McpDiff {
    /// The server's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = exit::help_with("\
An owner act: a gate with an owner takes a signature. It shows everything that you approve before you sign.

Without TOOL everything that the server lists is approved, with its command and its instructions. Blocked tools, and tools whose name \
could be taken for another one, are left out; approve them by their name.", exit::PLAIN))]
pub(crate) struct McpApprove {
    /// The server, or one of its tools as NAME:TOOL
    #[arg(value_name = "NAME[:TOOL]")]
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct McpBlock {
    /// The tool, as NAME:TOOL
    #[arg(value_name = "NAME:TOOL")]
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn list(args: &McpPins, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let servers = gateway.client().servers()?.servers;
    let mut page = Page::default();
    for server in &servers {
        if json {
            print_json(server)?;
            continue;
        }
        page.title("server", &server.server);
        page.label("pin", server.mode.name());
        if let Some(problem) = server.problem.as_ref().filter(|_| server.mode != PinMode::Off) {
            page.label("problem", problem);
        }
        for (state, tools) in by_state(server) {
            page.label(state, &tools.join(", "));
        }
    }
    if !json && servers.is_empty() {
        page.prose("", "", PLAIN, "no MCP server has listed its tools to this gate yet");
        page.section("Next");
        page.step("put the servers of a client behind the gate", "ordain mcp wrap --help");
        page.step(
            "or print the entry for one server",
            "ordain mcp entry files -- npx -y @modelcontextprotocol/server-filesystem .",
        );
        page.item("start the client: it asks each server for its tools, and they are listed here");
    }
    print_page(&page)?;
    Ok(Outcome::Ok)
}

pub(super) fn diff(args: &McpDiff, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let server = server(gateway.client(), &args.name)?;
    let same = server.problem.is_none() && server.tools.values().all(|state| *state == ToolState::Approved);
    if json {
        print_json(&server)?;
    } else {
        let mut page = Page::default();
        difference(&mut page, &server, None);
        print_page(&page)?;
    }
    Ok(if same { Outcome::Ok } else { Outcome::Failed })
}

pub(super) fn approve(args: &McpApprove, json: bool) -> Result<Outcome, Failure> {
    let (name, tool) = parts(&args.what);
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let status = server(gateway.client(), name)?;
    let (Some(listing), Some(listing_document)) = (&status.listing, &status.listing_document) else {
        return Err(Failure::Server(format!("no list of the server `{}` is on record", printable(name)))
            .with_hint("start it with a client, which asks for its tools"));
    };
    let left_out = match tool {
        Some(_) => BTreeMap::new(),
        None => left_out(&status, listing),
    };
    let pins = match tool {
        None => status.pins.approving(listing, listing_document, &left_out.keys().cloned().collect()),
        Some(tool) => with_tool(&status, listing, listing_document, tool)?,
    };
    if pins == status.pins {
        if json {
            print_json(&status)?;
        } else {
            writeln!(anstream::stdout(), "approved already")?;
        }
        return Ok(Outcome::Ok);
    }
    let mut page = Page::default();
    difference(&mut page, &status, tool);
    if !json {
        print_page(&page)?;
    }
    let new = NewPins { listing_document: listing_document.clone(), pins };
    let about = match tool {
        Some(tool) => format!("approve the tool {tool} of the MCP server {name}, as shown above"),
        None => format!(
            "approve {} of the MCP server {name}, as shown above",
            count(new.pins.tools.len() as u64, "tool")
        ),
    };
    let client = signing::for_act(gateway.client(), OwnerAct::PinServer, &new.subject(), &[about])?;
    let approved = client.pin_server(name, &new)?;
    if json {
        print_json(&approved)?;
        return Ok(Outcome::Ok);
    }
    let tools = approved.tools.values().filter(|state| **state == ToolState::Approved).count();
    let mut page = Page::default();
    page.styled_label(
        "approved",
        crate::report::GREEN,
        &format!("{} of {name}", count(tools as u64, "tool")),
    );
    for (tool, why) in &left_out {
        page.label("left out", &format!("{tool}: {why}"));
    }
    print_page(&page)?;
    Ok(Outcome::Ok)
}

pub(super) fn block(args: &McpBlock, json: bool) -> Result<Outcome, Failure> {
    let (name, tool) = parts(&args.what);
    let Some(tool) = tool else {
        return Err(Failure::Usage("name the tool as NAME:TOOL".to_owned()));
    };
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let status = gateway.client().block_tool(name, tool)?;
    if json {
        print_json(&status)?;
    } else {
        writeln!(anstream::stdout(), "blocked  {}", printable(&args.what))?;
    }
    Ok(Outcome::Ok)
}

/// Names of servers have no colon.
fn parts(what: &str) -> (&str, Option<&str>) {
    match what.split_once(':') {
        Some((name, tool)) => (name, Some(tool)),
        None => (what, None),
    }
}

fn server(client: &Client, name: &str) -> Result<ServerStatus, Failure> {
    let unknown = || {
        let failure = Failure::unknown("MCP server", name);
        failure.with_hint("start it with a client through `ordain mcp gateway`, and list its tools")
    };
    client.server(name)?.ok_or_else(unknown)
}

fn by_state(server: &ServerStatus) -> BTreeMap<&'static str, Vec<&str>> {
    let mut tools: BTreeMap<&'static str, Vec<&str>> = BTreeMap::new();
    for (name, state) in &server.tools {
        tools.entry(state.name()).or_default().push(name);
    }
    tools
}

/// The tools that are not approved with the rest, and why.
fn left_out(status: &ServerStatus, listing: &Listing) -> BTreeMap<String, String> {
    let mut left_out: BTreeMap<String, String> = BTreeMap::new();
    for (name, other) in look_alikes(listing.tools.keys().map(String::as_str)) {
        let is_approved = status.tools.get(&name) == Some(&ToolState::Approved);
        if !is_approved {
            left_out.insert(name, format!("looks like `{other}`; approve it by its name"));
        }
    }
    for name in listing.tools.keys() {
        if let Some(fault) = tool_name_fault(name) {
            left_out.insert(name.clone(), format!("its name {fault}"));
        } else if status.pins.blocked.contains(name) {
            left_out.insert(name.clone(), "blocked; approve it by its name".to_owned());
        }
    }
    left_out
}

/// The pins with one tool more.
fn with_tool(
    status: &ServerStatus,
    listing: &Listing,
    listing_document: &str,
    tool: &str,
) -> Result<Pins, Failure> {
    let definition = listing.tools.get(tool).and_then(hash_of);
    let Some(definition) = definition.filter(|_| tool_name_fault(tool).is_none()) else {
        return Err(Failure::unknown("tool", tool));
    };
    let mut pins = status.pins.clone();
    match &pins.upstream {
        Some(_) => {
            if let Some(problem) = &status.problem {
                let problem = format!("the server {problem}");
                let failure = Failure::Server(problem);
                return Err(failure.with_hint(format!(
                    "run `ordain mcp approve {}` to approve the whole server",
                    status.server
                )));
            }
        }
        None => {
            pins.upstream = Some(listing.upstream.clone());
            pins.instructions = listing.instructions_hash();
        }
    }
    pins.blocked.remove(tool);
    pins.tools.insert(tool.to_owned(), PinnedTool { definition, listing: listing_document.to_owned() });
    Ok(pins)
}

/// Shows everything that is not approved. The texts are the server's, and every line of them is marked as such.
fn difference(page: &mut Page, server: &ServerStatus, only: Option<&str>) {
    page.title("server", &server.server);
    page.label("pin", server.mode.name());
    let Some(listing) = &server.listing else {
        page.label("listed", "never");
        return;
    };
    if let Some(problem) = &server.problem {
        page.label("problem", problem);
    }
    if server.pins.instructions != listing.instructions_hash()
        && let Some(instructions) = listing.instructions.as_ref().filter(|_| only.is_none())
    {
        page.section("instructions, in the server's words");
        page.content(instructions);
    }
    let shown = |name: &String| only.is_none_or(|only| only == name);
    let alike = look_alikes(listing.tools.keys().map(String::as_str));
    for (name, state) in server.tools.iter().filter(|(name, _)| shown(name)) {
        let now = listing.tools.get(name).map(pretty);
        let before = server.approved.get(name).map(pretty);
        let head = match state {
            ToolState::Approved => continue,
            _ => format!("{} {}, in the server's words", state.name(), printable(name)),
        };
        page.section(&head);
        if let Some(other) = alike.get(name) {
            page.item(&format!("the name looks like `{other}`"));
        }
        match (before, now) {
            (Some(before), Some(now)) => {
                let diff = TextDiff::from_lines(&before, &now);
                page.diff(&diff.unified_diff().context_radius(2).to_string());
            }
            (None, Some(now)) => page.content(&now),
            (Some(before), None) => page.content(&before),
            (None, None) => {}
        }
    }
}

/// Without escapes of characters that a JSON text writes as they are: those that nobody sees are escaped by the page.
fn pretty(definition: &Json) -> String {
    let mut text = serde_json::to_string_pretty(definition).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_of_a_server_moves_the_cursor() {
        let listing = Listing {
            upstream: "sha256:u".to_owned(),
            instructions: Some("be\u{1b}[2Jnice\u{202e}".to_owned()),
            tools: BTreeMap::from([(
                "a".to_owned(),
                json!({"name": "a", "description": "x\u{1b}]0;t\u{7}\u{e0041}\n│ approved"}),
            )]),
        };
        let status = ServerStatus {
            server: "s".to_owned(),
            mode: PinMode::Review,
            pins_document: None,
            pins: Pins::none("s", None),
            listing_document: None,
            listed_at_ms: None,
            problem: None,
            tools: BTreeMap::from([("a".to_owned(), ToolState::New)]),
            listing: Some(listing),
            approved: BTreeMap::new(),
        };
        let mut page = Page::of_width(80);
        difference(&mut page, &status, None);
        let text = anstream::adapter::strip_str(page.text()).to_string();
        for hidden in ['\u{1b}', '\u{202e}', '\u{7}', '\u{e0041}'] {
            assert!(!text.contains(hidden), "{text:?}");
        }
        assert!(text.contains("in the server's words") && text.contains("\\u{202e}"), "{text}");
        assert!(!text.lines().any(|line| line.trim_start() == "│ approved\""), "{text}");
    }
}
