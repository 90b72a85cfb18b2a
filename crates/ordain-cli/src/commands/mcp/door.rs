//! The clients of a gateway over HTTP: each shows a token of the pinned gate.

use crate::exit::Failure;
use crate::gateway::Local;
use ordain_api::{ProblemCode, ProjectName, Role};
use ordain_canon::ContentHash;
use ordain_client::{Client, ClientError, HttpTransport, Reply, Request, Transport, TransportError};
use ordain_decision::PublicKey;
use ordain_gate::{Caller, GateError};
use ordain_mcp::{Bearer, Doorkeeper, Gatekeeper};
use ordain_server::App;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// The pinned gate, which knows the tokens.
pub(super) struct Door {
    pub(super) way: Way,
    pub(super) key: PublicKey,
    /// The folder for notes about calls under way; each token has one of its own below it.
    pub(super) notes: PathBuf,
}

/// The way to the gate.
pub(super) enum Way {
    InProcess { runtime: Arc<Runtime>, app: App, project: Option<ProjectName> },
    Socket { address: String, project: Option<PathBuf> },
}

impl Way {
    pub(super) fn of(local: &Local, project: Option<ProjectName>) -> Self {
        Self::InProcess { runtime: Arc::clone(&local.runtime), app: local.app.clone(), project }
    }

    fn client(&self, token: &str) -> Result<Client, String> {
        match self {
            Self::InProcess { runtime, app, project } => Ok(Client::new(WithToken {
                runtime: Arc::clone(runtime),
                app: app.clone(),
                project: project.clone(),
                token: token.to_owned(),
            })),
            Self::Socket { address, project } => {
                let transport = HttpTransport::about(address, token, project.as_deref());
                transport.map(Client::new).map_err(|error| error.to_string())
            }
        }
    }
}

impl Doorkeeper for Door {
    fn bearer(&self, token: &str) -> Result<Bearer, String> {
        match &self.way {
            Way::InProcess { runtime, app, .. } => match runtime.block_on(app.gate().authenticate(token)) {
                Ok(caller) if caller.is(Role::Actor) && caller.is(Role::Worker) => {
                    Ok(Bearer::Agent(caller.principal().to_owned()))
                }
                Ok(_) => Ok(Bearer::Other),
                Err(GateError::Unauthenticated(_)) => Ok(Bearer::Nobody),
                Err(error) => Err(error.to_string()),
            },
            // The server checks the roles when it is asked.
            Way::Socket { .. } => match self.way.client(token)?.gate() {
                Ok(status) => Ok(status.principal.map_or(Bearer::Nobody, Bearer::Agent)),
                Err(ClientError::Problem(problem)) if problem.code == ProblemCode::Unauthenticated => {
                    Ok(Bearer::Nobody)
                }
                Err(error) => Err(error.to_string()),
            },
        }
    }

    fn gatekeeper(&self, token: &str, principal: &str) -> Result<Gatekeeper, String> {
        let name = ContentHash::of(principal.as_bytes()).to_string();
        let name = name.rsplit(':').next().unwrap_or_default().to_owned();
        Gatekeeper::new(
            self.way.client(token)?,
            self.key.clone(),
            principal.to_owned(),
            &self.notes.join(name),
        )
    }
}

/// The gate in this process, asked with a token that is read again for each request.
struct WithToken {
    runtime: Arc<Runtime>,
    app: App,
    project: Option<ProjectName>,
    token: String,
}

impl Transport for WithToken {
    fn send(&self, request: &Request) -> Result<Reply, TransportError> {
        let Request { method, path, body, signed, wait: _ } = request;
        self.runtime.block_on(async {
            let caller: Caller = match self.app.gate().authenticate(&self.token).await {
                Ok(caller) => caller,
                Err(error) => {
                    return Err(TransportError::Unsendable { path: path.clone(), reason: error.to_string() });
                }
            };
            let caller = match &self.project {
                Some(project) => caller.about_project(project.clone()),
                None => caller,
            };
            let caller = caller.with_statements(signed.clone());
            Ok(self.app.call(caller, method.name(), path, body.clone()).await)
        })
    }
}

/// Where the listener of a command line is.
pub(super) fn listen(address: &str, has_public_url: bool) -> Result<std::net::TcpListener, Failure> {
    let address: std::net::SocketAddr = address.parse().map_err(|_| {
        Failure::Usage(format!("`--listen` {address} is not an address such as 127.0.0.1:7172"))
    })?;
    if !address.ip().is_loopback() && !has_public_url {
        let failure =
            Failure::Usage(format!("others can connect to {address}, and tokens would travel in the clear"));
        return Err(failure.with_hint("name the proxy that adds TLS with `--public-url https://…`"));
    }
    std::net::TcpListener::bind(address)
        .map_err(|error| Failure::Server(format!("cannot listen on {address}: {error}")))
}
