//! The listener, and what happens beside requests: time passes, the head is signed, key and certificate are read again.

use crate::app::App;
use crate::host::OverTls;
use crate::limits::{
    CERTIFICATE_LOOK_EVERY, CHECKPOINT_EVERY, CONNECTIONS_MAX, HEAD_BYTES_MAX, HEAD_WAIT, STOP_WAIT,
    SWEEP_EVERY, SWEEP_SHARE,
};
use crate::listen::{ListenAddress, Listener, ServeError};
use crate::tls::Tls;
use axum::Router;
use futures_util::future::join_all;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Semaphore, watch};

/// A server that listens.
pub struct Listening {
    listeners: Vec<Listener>,
    /// How many of them were asked for. The others keep strangers from answering for the console.
    asked: usize,
    app: App,
    /// From now on a hangup does not end the process.
    hangup: Hangup,
}

/// The work beside requests.
#[derive(Clone, Default)]
pub struct Background {
    /// How long nobody may be connected before the server ends by itself; without it, it never does.
    pub idle: Option<Duration>,
}

/// Starts listening; connections wait until [`Listening::run`].
pub async fn listen(app: App, addresses: &[ListenAddress]) -> Result<Listening, ServeError> {
    let mut listeners = Vec::new();
    let mut others = Vec::new();
    for address in addresses {
        if app.console_host.is_some() {
            let (listener, other) = Listener::bind_on_both(address, addresses, app.tls.as_ref()).await?;
            listeners.push(listener);
            others.extend(other);
        } else {
            listeners.push(Listener::bind(address, app.tls.as_ref()).await?);
        }
    }
    let asked = listeners.len();
    listeners.extend(others);
    Ok(Listening { listeners, asked, app, hangup: Hangup::new() })
}

impl Listening {
    /// Where, in the order that was asked for.
    pub fn addresses(&self) -> std::io::Result<Vec<ListenAddress>> {
        self.listeners.iter().take(self.asked).map(Listener::address).collect()
    }

    /// Serves until `stop` is done, ends what is under way, and closes the store.
    pub async fn run(self, background: Background, stop: impl Future<Output = ()>) {
        let Self { listeners, app, asked: _, hangup } = self;
        let (stopping, stopped) = watch::channel(false);
        let hangup = Arc::new(Mutex::new(hangup));
        let beside = tokio::spawn(always_beside(app.clone(), stopped, hangup));
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let idle = idle(Arc::clone(&places), listeners.len(), background.idle);
        let service = |listener: &Listener| {
            let hosts = listener.hosts(app.public_host.clone(), app.console_host.clone());
            let router = app.router().layer(axum::Extension(hosts));
            let router = if listener.is_tls() { router.layer(axum::Extension(OverTls)) } else { router };
            TowerToHyperService::new(router)
        };
        let services: Vec<_> = listeners.iter().map(|listener| (listener, service(listener))).collect();
        if let Some(tls) = &app.tls {
            tls.warn(app.public_host.as_deref());
        }
        let accepting =
            services.iter().map(|(listener, service)| accept(&app, listener, service, &places, &graceful));
        tokio::select! {
            _ = join_all(accepting) => {}
            () = stop => {}
            () = idle => tracing::info!("nobody asks any more"),
        }
        drop(services);
        drop(listeners);
        // Those who wait get what there is now; everybody else gets their answer.
        app.shared.stopping.send_replace(true);
        if tokio::time::timeout(STOP_WAIT, graceful.shutdown()).await.is_err() {
            tracing::warn!("some requests did not end in time");
        }
        let _ = stopping.send(true);
        let _ = beside.await;
        if let Err(error) = app.gate.store().clone().close().await {
            tracing::error!(error = %error, "the store did not close cleanly");
        }
    }
}

/// Until nobody was connected for this long. Each listener holds a place for the next connection.
async fn idle(places: Arc<Semaphore>, listeners: usize, limit: Option<Duration>) {
    let Some(limit) = limit else { return std::future::pending().await };
    let step = (limit / 20).max(Duration::from_millis(50));
    let mut quiet = Duration::ZERO;
    while quiet < limit {
        tokio::time::sleep(step).await;
        let is_quiet = places.available_permits() + listeners >= CONNECTIONS_MAX;
        quiet = if is_quiet { quiet + step } else { Duration::ZERO };
    }
}

/// Serves the connections of one listener.
async fn accept(
    app: &App,
    listener: &Listener,
    service: &TowerToHyperService<Router>,
    places: &Arc<Semaphore>,
    graceful: &GracefulShutdown,
) {
    loop {
        // A connection is taken when there is a place for it; the others wait in the kernel's queue.
        let place = places.clone().acquire_owned().await;
        let accepted = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, most likely: give others time to close theirs.
                tracing::warn!(error = %error, "cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            }
        };
        let (service, watcher) = (service.clone(), graceful.watcher());
        let mut stopping = app.shared.stopping.subscribe();
        tokio::spawn(async move {
            let begun = tokio::select! {
                begun = accepted.begin() => begun,
                _ = stopping.wait_for(|stopping| *stopping) => return,
            };
            // A client that goes away, or sends no proper preface, is not a failure of ours.
            let Ok((stream, peer)) = begun else { return };
            let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
                if let Some(peer) = &peer {
                    request.extensions_mut().insert(peer.clone());
                }
                service.call(request)
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_WAIT)
                .max_buf_size(HEAD_BYTES_MAX)
                .serve_connection(TokioIo::new(stream), service);
            let _ = watcher.watch(connection).await;
            drop(place);
        });
    }
}

/// A bug in the program must not keep time from passing.
async fn always_beside(app: App, stopped: watch::Receiver<bool>, hangup: Arc<Mutex<Hangup>>) {
    while tokio::spawn(beside(app.clone(), stopped.clone(), Arc::clone(&hangup))).await.is_err() {
        tracing::error!("the work beside requests was broken off, and begins again");
        tokio::time::sleep(CHECKPOINT_EVERY).await;
    }
}

async fn beside(app: App, mut stopped: watch::Receiver<bool>, hangup: Arc<Mutex<Hangup>>) {
    let mut sweep = tokio::time::interval(SWEEP_EVERY);
    let mut sign = tokio::time::interval(CHECKPOINT_EVERY);
    let mut signed = 0;
    let mut look = tokio::time::interval(CERTIFICATE_LOOK_EVERY);
    let mut hangup = hangup.lock().await;
    loop {
        tokio::select! {
            _ = sweep.tick() => {
                let started = Instant::now();
                match app.gate.sweep().await {
                    Ok(swept) => swept.problems.iter().for_each(|problem| {
                        tracing::error!(problem, "time passes by a record that cannot be used");
                    }),
                    Err(error) => tracing::warn!(error = %error, "cannot record what time has done"),
                }
                // With very many held actions it takes longer, and is done less often.
                sweep.reset_after(SWEEP_EVERY.max(started.elapsed() * SWEEP_SHARE));
            }
            _ = sign.tick() => keep_checkpoint(&app, &mut signed).await,
            _ = look.tick(), if app.tls.is_some() => with_tls(&app, Tls::look).await,
            () = hangup.came() => {
                read_again(&app).await;
                with_tls(&app, Tls::read_again).await;
            }
            _ = stopped.changed() => {
                keep_checkpoint(&app, &mut signed).await;
                return;
            }
        }
    }
}

/// Signs the head and keeps it, so that an older copy of the store is noticed.
async fn keep_checkpoint(app: &App, signed: &mut u64) {
    let Some(path) = &app.checkpoint_file else { return };
    match app.gate.size().await {
        Ok(size) if size > *signed => match app.gate.keep_checkpoint(path).await {
            Ok(()) => *signed = size,
            Err(error) => tracing::warn!(error = %error, "cannot keep a checkpoint"),
        },
        _ => {}
    }
}

/// The key may have been rotated by others. Policies are not read here: only a push puts them in force.
async fn read_again(app: &App) {
    match app.gate.reload_key().await {
        Ok(true) => tracing::info!("another key signs from now on"),
        Ok(false) => tracing::info!("the key is as it was"),
        Err(error) => tracing::error!(error = %error, "the signing key could not be read again"),
    }
}

/// The files of the certificate are read beside everything else.
async fn with_tls(app: &App, work: fn(&Tls, Option<&str>)) {
    let Some(tls) = app.tls.clone() else { return };
    let public_host = app.public_host.clone();
    let done = tokio::task::spawn_blocking(move || work(&tls, public_host.as_deref())).await;
    if done.is_err() {
        tracing::error!("looking at the certificate was broken off");
    }
}

/// A hangup signal asks for reading again. It is listened to all the time, so that none is missed.
#[cfg(unix)]
struct Hangup(Option<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Hangup {
    fn new() -> Self {
        Self(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok())
    }

    async fn came(&mut self) {
        match &mut self.0 {
            Some(signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
struct Hangup;

#[cfg(not(unix))]
impl Hangup {
    fn new() -> Self {
        Self
    }

    async fn came(&mut self) {
        std::future::pending().await
    }
}
