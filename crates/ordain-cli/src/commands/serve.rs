//! `ordain serve`.

use crate::commands::gate::gate_id;
use crate::commands::init::{self, Init};
use crate::commands::note;
use crate::console_page;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{NO_GATE, Place, Purpose, runtime};
use crate::policy_folder;
use crate::project::Project;
use crate::report::{GREEN, YELLOW, printable, write_hint};
use clap::Args;
use ordain_api::PolicyState;
use ordain_gate::{Clock, Gate, Settings};
use ordain_presence::OsUser;
use ordain_server::limits::BYTES_PER_DAY_DEFAULT;
use ordain_server::{
    App, Background, ListenAddress, PLAIN_PREFIX, PolicyFolder, Projects, SocketAccess, TLS_PREFIX, Tls,
    listen, log_writer,
};
use ordain_state::{GateId, Home};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain serve
  ordain serve --init --open
  ordain serve --listen 0.0.0.0:443 --tls-cert chain.pem --tls-key key.pem --public-url https://gate.example
  ordain serve --listen unix:/run/ordain/gate.sock --socket-group ordain

Every request takes a token (`ordain token create`), but for /health, /ready, /metrics, /openapi.json and \
/.well-known/jwks.json. An address that other machines can reach needs at least one token, and TLS: a certificate, or a proxy that \
`--public-url` names. Certificate and key are read again within seconds after both files changed, and on a hangup \
signal; files that cannot be used change nothing. Only `ordain policy push` puts policies in force: a policy folder that differs is noted in the log, in \
/ready and in /metrics. A hangup signal reads the key again. Logs are JSON lines on standard error.", exit::PLAIN))]
pub(crate) struct Serve {
    /// Where to listen: a TCP address, or unix:PATH for a socket; may be given several times. Beside --tls-cert,
    /// http://ADDRESS is one of this machine without TLS
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7171")]
    pub(crate) listen: Vec<Listen>,
    /// Speak TLS 1.2 and 1.3 at TCP addresses, with this certificate and those of its authorities, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM: a file with mode 0600 of this user, not behind a link
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// The gate to serve [default: the gate of this project]
    #[arg(long, value_name = "ID", value_parser = gate_id)]
    pub(crate) gate: Option<GateId>,
    /// Let the members of this group connect to the unix sockets; the policies still decide who they are
    #[arg(long, value_name = "GROUP", value_parser = group)]
    pub(crate) socket_group: Option<u32>,
    /// The user of this machine who may claim the gate over a unix socket while nobody owns it [default: nobody]
    #[arg(long, value_name = "USER")]
    pub(crate) claimant: Option<String>,
    /// The policy folder to compare with the policies in force; without it what ordain.toml says
    #[arg(long, value_name = "DIR")]
    pub(crate) policy: Option<PathBuf>,
    /// The URL by which others reach the server, such as https://gate.example; it answers for no other name
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// How many bytes of proposals, calls and evidence one principal may send in a day; kept in memory, per node
    #[arg(long, value_name = "BYTES", default_value_t = BYTES_PER_DAY_DEFAULT)]
    pub(crate) bytes_per_day: u64,
    /// Leave the terminal, and stop after this many seconds without a connection. Hooks start their gate like this
    #[arg(long, value_name = "SECONDS", conflicts_with = "open", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) until_idle: Option<u64>,
    /// Open the console in the browser of this desktop, signed in as you. It looks; deciding takes a signature
    #[arg(long)]
    pub(crate) open: bool,
    /// Make a gate for this folder first, if none is registered for it: as `ordain init --solo` does
    #[arg(long, conflicts_with_all = ["gate", "until_idle"])]
    pub(crate) init: bool,
}

pub(crate) fn run(args: &Serve, json: bool) -> Result<Outcome, Failure> {
    if args.until_idle.is_some() {
        ordain_hooks::leave_session();
    }
    if args.init {
        make_gate(json)?;
    }
    let place = match &args.gate {
        Some(gate) => Place::of_gate(gate)?,
        None => Place::find().map_err(|failure| match failure.hint() {
            Some(NO_GATE) => failure.with_hint(INIT),
            _ => failure,
        })?,
    };
    let keyring = place.keyring()?;
    let threads = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    let runtime = runtime(threads)?;
    let log = tracing_subscriber::fmt().json().with_writer(log_writer).with_target(false);
    log.log_internal_errors(false).init();
    let project = place.project.as_ref();
    let vault = project.map_or_else(|| Ok(PathBuf::from(".")), Project::vault)?;
    let drafter = note::drafter(project, &vault)?;
    let folder = match (&args.policy, project) {
        (Some(path), _) => Some(path.clone()),
        (None, Some(project)) => Some(project.policy()?),
        (None, None) => None,
    };
    let listen_on = args.addresses();
    let tls = args.certificate(&listen_on)?;
    runtime.block_on(async {
        if !place.checkpoint().exists() {
            let checkpoint = place.checkpoint().display().to_string();
            tracing::warn!(
                checkpoint,
                "the checkpoint is missing: an older copy of the store would go unnoticed"
            );
        }
        let store = place.open_store(&keyring, Purpose::Decide).await?;
        let gate = Gate::open(store, keyring, Clock::system(), Settings::default()).await?;
        let beside = folder.as_deref().map_or(PolicyFolder::None, policy_beside);
        let projects = Projects::of(Home::from_environment()?, place.gate.id().clone());
        let app = App::beside(gate.clone(), beside).with_projects(projects);
        let app = match &args.claimant {
            Some(user) => app.claimed_by(user),
            None => app,
        };
        warn_of_policies(&app, folder.as_deref()).await?;
        if !gate.is_owned().await? {
            tracing::warn!(
                "this gate is open: nobody owns it; `ordain init --claim` on a terminal closes it"
            );
        }
        let tokens = gate.tokens().await?.iter().filter(|token| token.revoked_at_ms.is_none()).count();
        if tokens == 0
            && let Some(address) = listen_on.iter().find(|address| is_reachable(address))
        {
            let problem = format!("other machines can reach {address}, and there are no tokens");
            return Err(Failure::Usage(problem)
                .with_hint("run `ordain token create alice --role approver` first, with a name of yours"));
        }
        let app = match &args.public_url {
            Some(url) => app.with_public_url(url).ok_or_else(|| {
                Failure::Usage(format!("`{url}` is not a URL")).with_hint("name it as https://gate.example")
            })?,
            None => app,
        };
        let app = match tls {
            Some(tls) => app.with_tls(tls),
            None => app,
        };
        let app = app.with_notes(drafter).with_bytes_per_day(args.bytes_per_day);
        let app = app.with_checkpoint_file(&place.checkpoint());
        let app = app.with_console(place.gate.id().as_str(), &OsUser::current().name);
        let listening = listen(app.clone(), &listen_on).await;
        let listening = listening.map_err(|error| Failure::Server(error.to_string()))?;
        let bound = listening.addresses()?;
        let addresses: Vec<String> = bound.iter().map(ToString::to_string).collect();
        let console = console_page::address(&place.gate, &bound);
        let page = match (&console, args.open) {
            (Some(console), true) => Some(console_page::write(&app, &place.gate, console)?),
            (None, true) => {
                let problem = "the console opens at a loopback address without TLS only";
                let hint = format!("add `--listen {PLAIN_PREFIX}127.0.0.1:7171`");
                return Err(Failure::Usage(problem.to_owned()).with_hint(hint));
            }
            (_, false) => None,
        };
        let opened = page.as_deref().is_some_and(console_page::open);
        // The reader of the address may stop the server at once.
        let stopped = stopped();
        // Nobody may read it any more; the gate serves all the same.
        if let Err(error) = told(&addresses, &Console { address: console, page, opened }, tokens, json) {
            tracing::warn!(error = %error, "cannot write the addresses to standard output");
        }
        for address in addresses {
            tracing::info!(address, store = place.location.to_string(), "listening");
        }
        let idle = args.until_idle.map(Duration::from_secs);
        listening.run(Background { idle }, stopped).await;
        if args.open {
            console_page::remove(&place.gate);
        }
        tracing::info!("stopped");
        Ok(Outcome::Ok)
    })
}

impl Serve {
    /// The addresses: those without a scheme have TLS if there is a certificate, and sockets have their group.
    fn addresses(&self) -> Vec<ListenAddress> {
        let settled = |listen: &Listen| match (&listen.address, self.socket_group) {
            (ListenAddress::Socket(path, _), Some(group)) => {
                ListenAddress::Socket(path.clone(), SocketAccess::Group(group))
            }
            (ListenAddress::Tcp(address), _) if !listen.has_scheme && self.tls_cert.is_some() => {
                ListenAddress::Tls(*address)
            }
            (address, _) => address.clone(),
        };
        self.listen.iter().map(settled).collect()
    }

    /// The certificate. Tokens never travel unencrypted between machines.
    fn certificate(&self, addresses: &[ListenAddress]) -> Result<Option<Tls>, Failure> {
        let has_proxy = self.public_url.as_deref().is_some_and(|url| url.starts_with(TLS_PREFIX));
        let is_open =
            |address: &&ListenAddress| is_reachable(address) && matches!(address, ListenAddress::Tcp(_));
        if let Some(address) = addresses.iter().find(is_open)
            && !has_proxy
        {
            let problem = format!("other machines can reach {address}, and tokens would travel unencrypted");
            return Err(Failure::Usage(problem).with_hint(
                "pass `--tls-cert FILE --tls-key FILE`, or name the proxy that adds TLS with `--public-url https://…`",
            ));
        }
        let tls_address = addresses.iter().find(|address| matches!(address, ListenAddress::Tls(_)));
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return match tls_address {
                Some(address) => Err(Failure::Usage(format!("{address} needs a certificate"))
                    .with_hint("pass `--tls-cert FILE --tls-key FILE`")),
                None => Ok(None),
            };
        };
        if tls_address.is_none() {
            let failure = Failure::Usage("no address speaks TLS, and there is a certificate".to_owned());
            return Err(
                failure.with_hint("add `--listen 127.0.0.1:7171`, or leave out `--tls-cert` and `--tls-key`")
            );
        }
        if let Some(url) = self.public_url.as_ref().filter(|_| !has_proxy) {
            let failure = Failure::Usage(format!("`{url}` is a URL without TLS, and the server speaks TLS"));
            return Err(failure.with_hint("name it as https://gate.example"));
        }
        Tls::read(certificate, key).map(Some).map_err(|error| {
            let failure = Failure::Server(error.to_string());
            match error.hint() {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        })
    }
}

/// An address of the command line.
#[derive(Clone)]
pub(crate) struct Listen {
    address: ListenAddress,
    /// Whether it says how it speaks.
    has_scheme: bool,
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self { address: text.parse()?, has_scheme: text.contains("://") })
    }
}

/// Whether other machines can connect.
fn is_reachable(address: &ListenAddress) -> bool {
    match address {
        ListenAddress::Tcp(address) | ListenAddress::Tls(address) => !address.ip().is_loopback(),
        ListenAddress::Socket(..) => false,
    }
}

/// A group by its name or number.
fn group(text: &str) -> Result<u32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    ordain_presence::group_id(text).ok_or_else(|| format!("there is no group `{text}`"))
}

/// The policy folder that lies beside the server and decides nothing.
fn policy_beside(folder: &Path) -> PolicyFolder {
    if !folder.exists() {
        return PolicyFolder::None;
    }
    match policy_folder::document_hash(folder.to_owned()) {
        Ok((_, hash)) => PolicyFolder::Files(hash),
        Err(_) => PolicyFolder::Unreadable,
    }
}

/// Says in the log that no policies are in force, or others than those of the folder.
async fn warn_of_policies(app: &App, folder: Option<&Path>) -> Result<(), Failure> {
    let policy = folder.map(|folder| folder.display().to_string());
    match app.gate().active_policy().await? {
        None => tracing::warn!(
            policy,
            "no policies are in force: everything is refused until `ordain policy push`"
        ),
        Some(active) if app.policy_state().await? == PolicyState::Differs => {
            let active = active.hash;
            tracing::warn!(
                policy,
                active,
                "the policy folder differs from the policies in force, which decide"
            );
        }
        Some(_) => {}
    }
    Ok(())
}

/// Where the console is, for `serve` to say.
struct Console {
    address: Option<String>,
    /// The page that signs in.
    page: Option<PathBuf>,
    opened: bool,
}

/// The advice where no gate is registered.
const INIT: &str = "run `ordain init`, or run `ordain serve --init`";

/// Makes a gate for this folder, unless it has one.
fn make_gate(json: bool) -> Result<(), Failure> {
    if Project::find()?.is_some_and(|project| project.gate().is_some()) {
        return Ok(());
    }
    let init = Init {
        dir: PathBuf::from("."),
        solo: true,
        team: false,
        me: None,
        agent: None,
        keep: false,
        claim: false,
        replace: false,
        store: None,
    };
    init::run(&init, json).map(drop)
}

fn told(addresses: &[String], console: &Console, tokens: usize, json: bool) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    let page = console.page.as_ref().map(|page| page.display().to_string());
    if json {
        let told = json!({
            "listening": addresses.first(), "addresses": addresses, "console": console.address, "page": page,
        });
        writeln!(stdout, "{told}")?;
    } else {
        if let Some(address) = &console.address {
            writeln!(stdout, "{GREEN}console{GREEN:#}    {}", printable(address))?;
        }
        if let Some(page) = page {
            let said =
                if console.opened { "opened in your browser" } else { "no browser can be started here" };
            writeln!(
                stdout,
                "{YELLOW}note:{YELLOW:#} {said}; this file signs in, once: {}",
                printable(&page)
            )?;
        }
        for address in addresses {
            writeln!(stdout, "{GREEN}listening{GREEN:#}  {}", printable(address))?;
        }
        if tokens == 0 {
            writeln!(stdout, "{YELLOW}note:{YELLOW:#} there are no tokens yet")?;
            write_hint(
                &mut stdout,
                Some("run `ordain token create agent-1 --role actor`, with the name of an agent of yours"),
            )?;
        }
    }
    Ok(stdout.flush()?)
}

/// Until somebody wants it to end. Signals count from now on, not only once somebody waits.
#[cfg(unix)]
fn stopped() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else { return std::future::pending().await };
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
    }
}

/// Until somebody wants it to end.
#[cfg(not(unix))]
async fn stopped() {
    let _ = tokio::signal::ctrl_c().await;
}
