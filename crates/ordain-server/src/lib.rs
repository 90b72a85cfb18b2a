#![doc = include_str!("../README.md")]
#![expect(clippy::result_large_err, reason = "a problem is made once, for a request that ends with it")]

// A panic is answered with status 500; the server goes on. A build in which it would end the process is refused.
#[cfg(not(panic = "unwind"))]
compile_error!("the server catches panics: build it with `panic = \"unwind\"`");

pub mod limits;

mod app;
mod error;
mod request;
mod scrub;

mod front;
mod log;
mod metrics;
mod notes;
#[cfg(unix)]
mod peer;
mod place;
#[cfg(unix)]
mod projects;
mod quota;
mod sessions;
mod turns;

mod api;
mod console;
mod routes;

mod certificate;
mod host;
mod in_process;
mod listen;
mod patience;
mod serve;
mod tls;

pub use app::{App, PolicyFolder};
pub use error::ErrorResponse;
pub use in_process::InProcess;
pub use listen::{ListenAddress, PLAIN_PREFIX, ServeError, SocketAccess, TLS_PREFIX};
pub use log::{LogWriter, log_writer};
#[cfg(unix)]
pub use projects::Projects;
pub use serve::{Background, Listening, listen};
pub use tls::{Tls, TlsError};
