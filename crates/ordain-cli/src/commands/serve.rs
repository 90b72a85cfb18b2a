//! `ordain serve`.

use crate::arguments::Connect;
use crate::commands::note;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Place, Purpose, runtime};
use crate::policy_folder;
use crate::project::Project;
use crate::report::{GREEN, YELLOW, printable, write_hint};
use clap::Args;
use ordain_gate::{Caller, Clock, Gate, Settings};
use ordain_server::{App, Background, Reload, listen};
use serde_json::json;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain serve
  ordain serve --store postgres://ordain@db/ordain --listen 10.0.0.5:7171

Every request takes a token (`ordain token create`), but for /health, /ready, /metrics, /openapi.json and \
/.well-known/jwks.json. On another address than a loopback one it starts only if there are tokens; put a proxy with TLS \
before it. A hangup signal reads the policies and the key again. Logs are JSON lines on standard error.

PostgreSQL on another machine is reached with TLS, and its certificate is verified; `?sslrootcert=FILE` in the URL names an \
authority of your own, `?sslmode=disable` does without. Version 14 or newer.", exit::PLAIN))]
pub(crate) struct Serve {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7171")]
    pub(crate) listen: SocketAddr,
    /// The policy folder; without it what ordain.toml says
    #[arg(long, value_name = "DIR")]
    pub(crate) policy: Option<PathBuf>,
    /// The store: a file, postgres://user@host/database, or `memory`; without it what ordain.toml says
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,
}

pub(crate) fn run(args: &Serve, json: bool) -> Result<Outcome, Failure> {
    let connect = Connect { server: None, token_file: None, store: args.store.clone(), name: None };
    let mut place = Place::of(&connect)?;
    if let Some(policy) = &args.policy {
        place.policy = Some(policy.clone());
    }
    place.prepare()?;
    let keyring = place.keyring()?;
    let threads = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    let runtime = runtime(threads)?;
    tracing_subscriber::fmt().json().with_writer(std::io::stderr).with_target(false).init();
    let operator = Caller::local("ordain");
    let project = Project::find()?;
    let vault = project.as_ref().map_or_else(|| PathBuf::from("."), Project::vault);
    let drafter = note::drafter(project.as_ref(), &vault)?;
    let files = match &place.policy {
        Some(path) => Some(policy_folder::load_files(Some(path), json)?),
        None => None,
    };
    let reload: Option<Reload> = files.as_ref().map(|(path, _)| {
        let path = path.clone();
        let read: Reload = Box::new(move || policy_folder::read_files(&path));
        read
    });
    runtime.block_on(async {
        let store = place.open_store(&keyring, Purpose::Decide).await?;
        let gate = Gate::open(store, keyring, Clock::system(), Settings::default()).await?;
        if let Some((path, files)) = &files
            && gate.set_policy(&operator, files).await?
        {
            let status = gate.gate_status().await.ok();
            let policy_hash = status.and_then(|status| status.policy_hash).unwrap_or_default();
            let policy = path.display().to_string();
            tracing::info!(policy, policy_hash, "other policies are in force, on every node");
        }
        let tokens = gate.tokens().await?.iter().filter(|token| token.revoked_at_ms.is_none()).count();
        if !args.listen.ip().is_loopback() && tokens == 0 {
            let problem = format!("other machines can reach {}, and there are no tokens", args.listen);
            return Err(Failure::Usage(problem).with_hint("run `ordain token create NAME --role ROLE` first"));
        }
        let app = App::new(gate, reload).with_notes(drafter);
        let listening = listen(app, args.listen).await;
        let listening = listening.map_err(|error| Failure::Server(error.to_string()))?;
        let address = listening.address()?;
        told(&address.to_string(), tokens, json)?;
        tracing::info!(address = address.to_string(), store = place.location.to_string(), "listening");
        listening.run(Background { checkpoint_file: place.checkpoint() }, stopped()).await;
        tracing::info!("stopped");
        Ok(Outcome::Ok)
    })
}

fn told(address: &str, tokens: usize, json: bool) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    if json {
        writeln!(stdout, "{}", json!({"listening": format!("http://{address}")}))?;
    } else {
        writeln!(stdout, "{GREEN}listening{GREEN:#}  http://{}", printable(address))?;
        if tokens == 0 {
            writeln!(stdout, "{YELLOW}note:{YELLOW:#} there are no tokens yet")?;
            write_hint(&mut stdout, Some("run `ordain token create NAME --role actor`"))?;
        }
    }
    Ok(stdout.flush()?)
}

/// Until somebody wants it to end.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            return std::future::pending().await;
        };
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
    }
    #[cfg(not(unix))]
    {
        let _ = tokio::signal::ctrl_c().await;
    }
}
