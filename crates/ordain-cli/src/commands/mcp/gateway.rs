//! `ordain mcp gateway`.

use super::door::{Door, Way, listen};
use super::{Pinned, Server};
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, runtime};
use clap::Args;
use ordain_decision::PublicKey;
use ordain_mcp::{Endpoint, Gatekeeper, MESSAGE_BYTES_MAX, Settings, relay, serve};
use ordain_spec::mcp::is_server_name;
use ordain_state::{GateId, Home};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

#[derive(Args)]
#[command(after_help = exit::help_with("\
`ordain mcp entry NAME -- CMD…` prints this command line with everything that it pins.

The server gets HOME, LOGNAME, PATH, SHELL, TERM and USER, the variables that `--env` names, and no others. Its standard error \
passes through.", &[
    Outcome::Ok.means("the client or the server ended"),
    Outcome::Failed.means("the pinned gate or the server cannot be used, or the server failed"),
]))]
pub(crate) struct McpGateway {
    /// The server's name; `tools.toml` knows its tools as mcp.NAME.TOOL
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) pinned: Pinned,
    /// Serve clients over HTTP at this address, at the path /mcp/NAME
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// The address under which these clients know the gateway, if a proxy is in front of it
    #[arg(long, value_name = "URL", requires = "listen", value_parser = web_address)]
    pub(crate) public_url: Option<String>,
    /// How many seconds a held call waits for approval before its client hears of it
    #[arg(long, value_name = "SECONDS", default_value_t = 45, value_parser = clap::value_parser!(u64).range(0..=86_400))]
    pub(crate) wait: u64,
    /// How many seconds the server may take to answer a call
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// The longest message in bytes
    #[arg(long, value_name = "BYTES", default_value_t = MESSAGE_BYTES_MAX, value_parser = bytes)]
    pub(crate) max_bytes: usize,
    /// Have requests of this method judged, too
    #[arg(long, value_name = "METHOD", value_parser = ["resources/read", "prompts/get"])]
    pub(crate) also: Vec<String>,
    /// The address of the console, where people approve; clients that can are asked to open it
    #[arg(long, value_name = "URL", value_parser = web_address)]
    pub(crate) console: Option<String>,
    #[command(flatten)]
    pub(crate) server: Server,
}

fn bytes(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|bytes| (1 << 10..=64 << 20).contains(bytes));
    bytes.ok_or_else(|| "expected a number of bytes from 1024 to 67108864".to_owned())
}

pub(super) fn web_address(text: &str) -> Result<String, String> {
    let is_web = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
    let is_plain =
        text.chars().all(|character| character.is_ascii_graphic() && !"\"<>\\^`{|}".contains(character));
    if is_web && is_plain {
        Ok(text.to_owned())
    } else {
        Err("expected a URL that begins with http:// or https://".to_owned())
    }
}

pub(super) fn run(args: &McpGateway) -> Result<Outcome, Failure> {
    check_name(&args.name)?;
    let Pinned { gate, state, socket, key, actor, project } = &args.pinned;
    let key = PublicKey::parse(key).map_err(|error| Failure::Usage(format!("`--key` {error}")))?;
    let home = home_of(state)?;
    let project = project.as_deref();
    let (gateway, notes) = match socket {
        Some(socket) => {
            (Gateway::open_pinned_socket(socket, gate, project)?, state.join("mcp").join(&args.name))
        }
        None => {
            let unknown = || Failure::Usage(format!("`{gate}` is not the id of a gate"));
            let id = GateId::parse(gate).ok_or_else(unknown)?;
            (Gateway::open_pinned(&home, &id, project)?, home.gate(&id).path().join("mcp").join(&args.name))
        }
    };
    let settings = Settings {
        server: args.name.clone(),
        upstream: args.server.upstream()?,
        wait: Duration::from_secs(args.wait),
        timeout: Duration::from_secs(args.timeout),
        bytes_max: args.max_bytes,
        gated: args.also.iter().cloned().collect(),
        console: args.console.clone(),
    };
    let Some(actor) = actor else { return run_http(args, gateway, key, notes, settings) };
    let (client, local) = gateway.into_parts();
    let gatekeeper = Gatekeeper::new(client, key, actor.clone(), &notes).map_err(Failure::Server)?;
    let ended = relay(settings, gatekeeper, std::io::stdin(), std::io::stdout(), stopped()?);
    drop(local);
    let status = ended.map_err(|error| Failure::Server(error.to_string()))?;
    Ok(if status.code().is_some_and(|code| code != 0) { Outcome::Failed } else { Outcome::Ok })
}

fn run_http(
    args: &McpGateway,
    gateway: Gateway,
    key: PublicKey,
    notes: PathBuf,
    settings: Settings,
) -> Result<Outcome, Failure> {
    let address = args.listen.as_deref().unwrap_or_default();
    let listener = listen(address, args.public_url.is_some())?;
    let bound = listener.local_addr()?;
    let server = gateway.server().map(str::to_owned);
    let (_client, local) = gateway.into_parts();
    let way = match (&local, server) {
        (Some(local), _) => Way::of(local, local.project()),
        (None, Some(address)) => Way::Socket { address, project: args.pinned.project.clone() },
        (None, None) => return Err(Failure::Server("there is no way to the gate".to_owned())),
    };
    writeln!(anstream::stdout(), "MCP server `{}` at http://{bound}/mcp/{}", args.name, args.name)?;
    let endpoint = Endpoint { listener, public_url: args.public_url.clone() };
    let served = serve(endpoint, settings, Door { way, key, notes }, stopped()?);
    drop(local);
    served.map_err(|error| Failure::Server(error.to_string()))?;
    Ok(Outcome::Ok)
}

/// The state directory that a command line names.
fn home_of(state: &Path) -> Result<Home, Failure> {
    let home = Home::in_folder(state.parent().unwrap_or(state));
    if !state.is_absolute() || home.path() != state {
        return Err(Failure::Usage(format!("`--state` {} is not a state directory", state.display())));
    }
    Ok(home)
}

pub(super) fn check_name(name: &str) -> Result<(), Failure> {
    if is_server_name(name) {
        return Ok(());
    }
    let failure = Failure::Usage(format!("`{}` cannot name a server", crate::report::printable(name)));
    Err(failure.with_hint("use letters, digits, `_` and `-`"))
}

/// Says when a signal asks this process to end.
fn stopped() -> Result<Receiver<()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let (sender, receiver) = channel();
    let runtime = runtime(1)?;
    let signals = runtime.block_on(async {
        Ok::<_, std::io::Error>((
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::hangup())?,
        ))
    });
    let (mut terminate, mut interrupt, mut hangup) = signals?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                _ = hangup.recv() => {}
            }
        });
        // Nobody is left to hear it if the relay is over.
        let _ = sender.send(());
    });
    Ok(receiver)
}

/// A path that does not depend on the folder of whoever runs it.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| Failure::File { path: path.display().to_string(), error })
}
