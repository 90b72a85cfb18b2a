//! `ordain serve`.

use crate::commands::note;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Place, Purpose, runtime};
use crate::policy_folder;
use crate::report::{GREEN, YELLOW, printable, write_hint};
use clap::Args;
use ordain_api::PolicyState;
use ordain_gate::{Clock, Gate, Settings};
use ordain_server::limits::BYTES_PER_DAY_DEFAULT;
use ordain_server::{App, Background, ListenAddress, PolicyFolder, listen, log_writer};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain serve
  ordain serve --listen 10.0.0.5:7171
  ordain serve --listen unix:/run/ordain/gate.sock

Every request takes a token (`ordain token create`), but for /health, /ready, /metrics, /openapi.json and \
/.well-known/jwks.json. On another address than a loopback one it starts only if there are tokens; put a proxy with TLS \
before it. Only `ordain policy push` puts policies in force: a policy folder that differs is noted in the log, in \
/ready and in /metrics. A hangup signal reads the key again. Logs are JSON lines on standard error.", exit::PLAIN))]
pub(crate) struct Serve {
    /// Where to listen: a TCP address, or unix:PATH for a socket; may be given several times
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7171")]
    pub(crate) listen: Vec<ListenAddress>,
    /// The policy folder to compare with the policies in force; without it what ordain.toml says
    #[arg(long, value_name = "DIR")]
    pub(crate) policy: Option<PathBuf>,
    /// The URL by which others reach the server, such as https://gate.example; it answers for no other name
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// How many bytes of proposals, calls and evidence one principal may send in a day; kept in memory, per node
    #[arg(long, value_name = "BYTES", default_value_t = BYTES_PER_DAY_DEFAULT)]
    pub(crate) bytes_per_day: u64,
}

pub(crate) fn run(args: &Serve, json: bool) -> Result<Outcome, Failure> {
    let place = Place::find()?;
    let keyring = place.keyring()?;
    let threads = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    let runtime = runtime(threads)?;
    let log = tracing_subscriber::fmt().json().with_writer(log_writer).with_target(false);
    log.log_internal_errors(false).init();
    let project = &place.project;
    let drafter = note::drafter(Some(project), &project.vault()?)?;
    let folder = match &args.policy {
        Some(path) => path.clone(),
        None => project.policy()?,
    };
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
        let app = App::beside(gate.clone(), policy_beside(&folder));
        warn_of_policies(&app, &folder).await?;
        let tokens = gate.tokens().await?.iter().filter(|token| token.revoked_at_ms.is_none()).count();
        let is_public = |address: &&ListenAddress| match address {
            ListenAddress::Tcp(address) => !address.ip().is_loopback(),
            ListenAddress::Socket(_) => false,
        };
        if tokens == 0
            && let Some(address) = args.listen.iter().find(is_public)
        {
            let problem = format!("other machines can reach {address}, and there are no tokens");
            return Err(Failure::Usage(problem).with_hint("run `ordain token create NAME --role ROLE` first"));
        }
        let app = match &args.public_url {
            Some(url) => app.with_public_url(url).ok_or_else(|| {
                Failure::Usage(format!("`{url}` is not a URL")).with_hint("name it as https://gate.example")
            })?,
            None => app,
        };
        let app = app.with_notes(drafter).with_bytes_per_day(args.bytes_per_day);
        let listening = listen(app, &args.listen).await;
        let listening = listening.map_err(|error| Failure::Server(error.to_string()))?;
        let addresses: Vec<String> = listening.addresses()?.iter().map(ToString::to_string).collect();
        // Whoever reads the addresses may stop us from then on.
        let stopped = stopped();
        // Nobody may read it any more; the gate serves all the same.
        if let Err(error) = told(&addresses, tokens, json) {
            tracing::warn!(error = %error, "cannot write the addresses to standard output");
        }
        for address in addresses {
            tracing::info!(address, store = place.location.to_string(), "listening");
        }
        listening.run(Background { checkpoint_file: Some(place.checkpoint()) }, stopped).await;
        tracing::info!("stopped");
        Ok(Outcome::Ok)
    })
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
async fn warn_of_policies(app: &App, folder: &Path) -> Result<(), Failure> {
    let policy = folder.display().to_string();
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

fn told(addresses: &[String], tokens: usize, json: bool) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    if json {
        writeln!(stdout, "{}", json!({"listening": addresses.first(), "addresses": addresses}))?;
    } else {
        for address in addresses {
            writeln!(stdout, "{GREEN}listening{GREEN:#}  {}", printable(address))?;
        }
        if tokens == 0 {
            writeln!(stdout, "{YELLOW}note:{YELLOW:#} there are no tokens yet")?;
            write_hint(&mut stdout, Some("run `ordain token create NAME --role actor`"))?;
        }
    }
    Ok(stdout.flush()?)
}

/// Until somebody wants it to end. It listens from now on.
fn stopped() -> impl Future<Output = ()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
        async move {
            let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
                return std::future::pending().await;
            };
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        }
    }
    #[cfg(not(unix))]
    {
        async {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}
