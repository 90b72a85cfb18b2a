//! The application: the gate, and what all requests share.

use crate::front;
use crate::limits::{OPEN_REQUESTS_MAX, REQUESTS_MAX, WAITING_MAX};
use crate::metrics::Metrics;
use crate::notes::Notes;
use crate::routes;
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use ordain_api::{Problem, ProblemCode};
use ordain_client::Reply;
use ordain_gate::{Caller, Gate};
use ordain_note::Drafter;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt;

/// The application. A cheap handle.
#[derive(Clone)]
pub struct App {
    pub(crate) gate: Gate,
    pub(crate) shared: Arc<Shared>,
    pub(crate) notes: Option<Arc<Notes>>,
}

pub(crate) struct Shared {
    pub(crate) metrics: Metrics,
    pub(crate) working: Semaphore,
    /// For those who ask without a token.
    pub(crate) open: Semaphore,
    pub(crate) waiting: Arc<Semaphore>,
    /// Requests that are worked on, by principal.
    pub(crate) of_one: Mutex<BTreeMap<String, usize>>,
    pub(crate) reload: Option<Reload>,
    /// Whether the server stops, so that nobody waits any longer.
    pub(crate) stopping: watch::Sender<bool>,
}

/// Reads the policy folder.
pub type Reload = Box<dyn Fn() -> Result<BTreeMap<String, String>, String> + Send + Sync>;

impl App {
    /// An application. `reload` reads the policy folder, where there is one.
    pub fn new(gate: Gate, reload: Option<Reload>) -> Self {
        let shared = Shared {
            metrics: Metrics::default(),
            working: Semaphore::new(REQUESTS_MAX),
            open: Semaphore::new(OPEN_REQUESTS_MAX),
            waiting: Arc::new(Semaphore::new(WAITING_MAX)),
            of_one: Mutex::new(BTreeMap::new()),
            reload,
            stopping: watch::Sender::new(false),
        };
        Self { gate, shared: Arc::new(shared), notes: None }
    }

    /// The same, which drafts notes too.
    #[must_use]
    pub fn with_notes(self, drafter: Drafter) -> Self {
        Self { notes: Some(Arc::new(Notes::new(drafter))), ..self }
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
        let request = request.extension(caller).body(Body::from(body.unwrap_or_default()));
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
