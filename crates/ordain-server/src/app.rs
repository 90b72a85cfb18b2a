//! The application: the gate, and what all requests share.

use crate::front;
use crate::host::public_host;
use crate::limits::{
    BYTES_PER_DAY_DEFAULT, DOCUMENTS_MAX, OPEN_REQUESTS_MAX, REQUESTS_MAX, STRANGERS_LOGGED_EVERY,
    WAITING_MAX,
};
use crate::log::Throttle;
use crate::metrics::Metrics;
use crate::notes::Notes;
#[cfg(unix)]
use crate::projects::Projects;
use crate::quota::Quota;
use crate::routes;
use crate::sessions::Sessions;
use crate::tls::Tls;
use crate::turns::Turns;
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use ordain_api::{PolicyState, Problem, ProblemCode};
use ordain_canon::ContentHash;
use ordain_client::Reply;
use ordain_gate::{Caller, Gate, GateError};
use ordain_note::Drafter;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt;

/// The application. A cheap handle: every request clones it.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// The parts of the application.
#[derive(Clone)]
pub struct Parts {
    /// The host of the URL by which others reach the server.
    pub(crate) public_host: Option<Arc<str>>,
    pub(crate) gate: Gate,
    pub(crate) shared: Arc<Shared>,
    pub(crate) notes: Option<Arc<Notes>>,
    /// Limits the bytes that each principal puts on record.
    pub(crate) quota: Arc<Quota>,
    /// The projects of the gate, for callers over a unix socket.
    #[cfg(unix)]
    pub(crate) projects: Option<Arc<Projects>>,
    /// Where the last signed head is kept.
    pub(crate) checkpoint_file: Option<Arc<Path>>,
    /// The name by which browsers on this machine reach the console.
    pub(crate) console_host: Option<Arc<str>>,
    /// The sessions of the console.
    pub(crate) sessions: Option<Arc<Sessions>>,
    /// The certificate of the addresses with TLS.
    pub(crate) tls: Option<Tls>,
    /// The user of this machine who may claim the gate over its socket.
    pub(crate) claimant: Option<Arc<str>>,
}

pub(crate) struct Shared {
    pub(crate) metrics: Metrics,
    pub(crate) working: Semaphore,
    /// For those who ask without a token.
    pub(crate) open: Semaphore,
    pub(crate) waiting: Arc<Semaphore>,
    /// For transforming and verifying.
    pub(crate) documents: Turns,
    /// For checking the whole ledger: one at a time, and nobody waits for a place.
    pub(crate) checking: Arc<Semaphore>,
    /// Requests that are worked on, by principal.
    pub(crate) of_one: Mutex<BTreeMap<String, usize>>,
    /// Log lines about strangers: those who were refused, and those who were answered.
    pub(crate) strangers_refused: Throttle,
    pub(crate) strangers_answered: Throttle,
    /// The policy folder beside the server, which decides nothing.
    pub(crate) folder: PolicyFolder,
    /// Whether the server stops, so that nobody waits any longer.
    pub(crate) stopping: watch::Sender<bool>,
}

/// The policy folder beside a server. It decides nothing: only a push puts policies in force.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PolicyFolder {
    /// There is none.
    #[default]
    None,
    /// Its files have this hash.
    Files(ContentHash),
    /// It cannot be read.
    Unreadable,
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl App {
    /// An application.
    pub fn new(gate: Gate) -> Self {
        Self::beside(gate, PolicyFolder::None)
    }

    /// An application with a policy folder beside it, which is compared with the policies in force.
    pub fn beside(gate: Gate, folder: PolicyFolder) -> Self {
        let shared = Shared {
            metrics: Metrics::default(),
            working: Semaphore::new(REQUESTS_MAX),
            open: Semaphore::new(OPEN_REQUESTS_MAX),
            waiting: Arc::new(Semaphore::new(WAITING_MAX)),
            documents: Turns::new(DOCUMENTS_MAX),
            checking: Arc::new(Semaphore::new(1)),
            of_one: Mutex::new(BTreeMap::new()),
            strangers_refused: Throttle::new(STRANGERS_LOGGED_EVERY),
            strangers_answered: Throttle::new(STRANGERS_LOGGED_EVERY),
            folder,
            stopping: watch::Sender::new(false),
        };
        let quota = Arc::new(Quota::new(BYTES_PER_DAY_DEFAULT));
        Self(Arc::new(Parts {
            public_host: None,
            gate,
            shared: Arc::new(shared),
            notes: None,
            quota,
            #[cfg(unix)]
            projects: None,
            checkpoint_file: None,
            console_host: None,
            sessions: None,
            tls: None,
            claimant: None,
        }))
    }

    /// The same, with some parts changed.
    fn with(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// The same, with another limit for the bytes that one principal may send in a day.
    #[must_use]
    pub fn with_bytes_per_day(self, bytes: u64) -> Self {
        self.with(|parts| parts.quota = Arc::new(Quota::new(bytes)))
    }

    /// The same, which drafts notes too.
    #[must_use]
    pub fn with_notes(self, drafter: Drafter) -> Self {
        self.with(|parts| parts.notes = Some(Arc::new(Notes::new(drafter))))
    }

    /// The same, whose callers over a unix socket name one of these projects.
    #[cfg(unix)]
    #[must_use]
    pub fn with_projects(self, projects: Projects) -> Self {
        self.with(|parts| parts.projects = Some(Arc::new(projects)))
    }

    /// The same, which this user of the machine may claim over its socket while nobody owns it.
    #[must_use]
    pub fn claimed_by(self, user: &str) -> Self {
        self.with(|parts| parts.claimant = Some(user.into()))
    }

    /// The same, with the console at one name of this machine, where this user can sign in.
    #[must_use]
    pub fn with_console(self, gate_id: &str, user: &str) -> Self {
        self.with(|parts| {
            parts.console_host = Some(format!("{gate_id}.localhost").into());
            parts.sessions = Some(Arc::new(Sessions::of(user)));
        })
    }

    /// A code that signs the user of the console in, once and within a few minutes; nothing without a console.
    pub fn console_code(&self) -> std::io::Result<Option<String>> {
        self.sessions.as_ref().map(|sessions| sessions.new_code(std::time::Instant::now())).transpose()
    }

    /// The same, which keeps the last signed head in this file while it listens.
    #[must_use]
    pub fn with_checkpoint_file(self, path: &Path) -> Self {
        self.with(|parts| parts.checkpoint_file = Some(path.into()))
    }

    /// The same, which shows this certificate at its addresses with TLS.
    #[must_use]
    pub fn with_tls(self, tls: Tls) -> Self {
        self.with(|parts| parts.tls = Some(tls))
    }

    /// The same, which answers for the host of this URL too; nothing if it has none.
    #[must_use]
    pub fn with_public_url(self, url: &str) -> Option<Self> {
        let host = public_host(url)?;
        Some(self.with(|parts| parts.public_host = Some(host)))
    }

    /// How the policy folder compares with the policies in force.
    pub async fn policy_state(&self) -> Result<PolicyState, GateError> {
        let active = self.gate.active_policy().await?.map(|active| active.files_document);
        Ok(match self.shared.folder {
            PolicyFolder::None => PolicyState::Active,
            PolicyFolder::Files(hash) if active == Some(hash) => PolicyState::Active,
            PolicyFolder::Files(_) | PolicyFolder::Unreadable => PolicyState::Differs,
        })
    }

    /// The gate.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// All routes, with what every request passes.
    pub(crate) fn router(&self) -> Router {
        let front = axum::middleware::from_fn_with_state(self.clone(), front::pass);
        routes::router()
            .fallback(front::no_route)
            .method_not_allowed_fallback(front::no_method)
            .layer(front)
            .with_state(self.clone())
    }

    /// A request by somebody who is known already, without a network.
    pub async fn call(&self, caller: Caller, method: &str, path: &str, body: Option<Vec<u8>>) -> Reply {
        let mut request =
            Request::builder().method(Method::from_bytes(method.as_bytes()).unwrap_or_default()).uri(path);
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request.extension(Arc::new(caller)).body(Body::from(body.unwrap_or_default()));
        let Ok(request) = request else {
            let problem = Problem::new(ProblemCode::Invalid, format!("`{path}` is not a path"));
            let body = serde_json::to_vec(&problem).unwrap_or_default();
            return Reply {
                status: problem.status,
                content_type: "application/problem+json".to_owned(),
                body,
            };
        };
        let response = match self.router().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let status = response.status();
        match response.into_body().collect().await {
            Ok(body) => Reply { status: status.as_u16(), content_type, body: body.to_bytes().to_vec() },
            Err(_) => Reply { status: StatusCode::BAD_GATEWAY.as_u16(), content_type, body: Vec::new() },
        }
    }
}
