//! `ordain serve`.

use crate::args::{Connect, Serve};
use crate::exit::{Failure, Outcome};
use crate::gateway::{Place, Purpose, runtime};
use crate::note;
use crate::policy;
use crate::project::Project;
use crate::report::{GREEN, YELLOW, printable};
use ordain_gate::{Caller, Clock, Gate, Settings};
use ordain_server::{App, Background, ListenAddress, Reload, listen};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

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
        Some(path) => Some(policy::load_files(Some(path), json)?),
        None => None,
    };
    let reload: Option<Reload> = files.as_ref().map(|(path, _)| {
        let path = path.clone();
        let read: Reload = Box::new(move || policy::read_files(&path));
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
        let tokens = gate.tokens(&operator).await?.iter().filter(|token| token.revoked_at_ms.is_none()).count();
        let is_public = |address: &&ListenAddress| match address {
            ListenAddress::Tcp(address) => !address.ip().is_loopback(),
            ListenAddress::Socket(_) => false,
        };
        if tokens == 0 && let Some(address) = args.listen.iter().find(is_public) {
            return Err(Failure::Usage(format!(
                "{address} can be reached by others, and there are no tokens; make some first: ordain token create NAME --role …"
            )));
        }
        let app = App::new(gate, reload).with_notes(drafter);
        let listening = listen(app, &args.listen).await;
        let listening = listening.map_err(|error| Failure::Server(error.to_string()))?;
        let addresses: Vec<String> = listening.addresses()?.iter().map(ToString::to_string).collect();
        told(&addresses, tokens, json)?;
        for address in addresses {
            tracing::info!(address, store = place.location.to_string(), "listening");
        }
        listening.run(Background { checkpoint_file: place.checkpoint() }, stopped()).await;
        tracing::info!("stopped");
        Ok(Outcome::Ok)
    })
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
            writeln!(
                stdout,
                "{YELLOW}note:{YELLOW:#} there are no tokens yet; make one: ordain token create NAME --role actor"
            )?;
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
