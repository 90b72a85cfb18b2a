//! The gateway over HTTP: one endpoint, clients that show tokens, a server by URL or by command.

mod body;
mod commands;
mod course;
mod front;
mod guests;
mod headers;
mod lines;
mod relayed;
mod sse;
mod upstream;

pub use guests::{Bearer, Doorkeeper};
pub(crate) use lines::connect;

use crate::http::front::Front;
use crate::limits::{CALLS_MAX, CONNECTIONS_MAX};
use crate::relay::Settings;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Where a gateway listens, and as what.
pub struct Endpoint {
    /// The listener.
    pub listener: TcpListener,
    /// The address under which clients know it, if it is another one than that of the listener.
    pub public_url: Option<String>,
}

/// How long a client may take to send the head of a request.
const HEAD_WAIT: Duration = Duration::from_secs(15);

/// Serves until somebody says stop.
pub fn serve(
    endpoint: Endpoint,
    settings: Settings,
    doorkeeper: impl Doorkeeper,
    stop: Receiver<()>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        // Each call under way may wait for the gate on a thread of its own.
        .max_blocking_threads(CALLS_MAX * 2)
        .enable_all()
        .build()?;
    let address = endpoint.listener.local_addr()?;
    endpoint.listener.set_nonblocking(true)?;
    let front = Arc::new(Front::new(address, endpoint.public_url, settings, Arc::new(doorkeeper))?);
    let (sender, stopped) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // If nobody is left who could say stop, it serves for good.
        if stop.recv().is_ok() {
            let _ = sender.send(());
        } else {
            std::mem::forget(sender);
        }
    });
    let serving = Arc::clone(&front);
    let ended = runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(endpoint.listener)?;
        tokio::select! {
            ended = accept(listener, serving) => ended,
            _ = stopped => Ok(()),
        }
    });
    front.end();
    runtime.shutdown_timeout(Duration::from_secs(2));
    ended
}

async fn accept(listener: tokio::net::TcpListener, front: Arc<Front>) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return Ok(()) };
        let (stream, _peer): (_, SocketAddr) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(_) => {
                // Too many open files, or a connection that has gone again.
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let front = Arc::clone(&front);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let front = Arc::clone(&front);
                async move { Ok::<_, std::convert::Infallible>(front.answer(request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_WAIT)
                .serve_connection(TokioIo::new(stream), service);
            // A client that breaks off has nobody to hear of it.
            let _ = connection.await;
            drop(place);
        });
    }
}
