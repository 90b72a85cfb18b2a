//! The front that every request passes: whom it is meant for, which page sent it, whose token it shows.

use super::body::{Answer, empty, json};
use super::commands::Commands;
use super::guests::{Admission, Doorkeeper, Guest, Guests, Peers};
use super::headers::{self, HEADER_MISMATCH};
use super::upstream::Server;
use crate::limits::{BODY_WAIT, CALLS_MAX};
use crate::message::{Message, MessageError};
use crate::relay::Settings;
use crate::texts::{self, INVALID_REQUEST, PARSE_ERROR};
use crate::upstream::Upstream;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN,
    WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Method, Request, StatusCode, Uri};
use serde_json::json;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// One endpoint.
pub(super) struct Front {
    is_loopback: bool,
    /// The scheme and host under which clients know the gateway, if it has such a name.
    public: Option<(String, String)>,
    path: String,
    pub(super) gateway: Arc<Gateway>,
    guests: Guests,
}

/// The state that all requests share.
pub(super) struct Gateway {
    pub(super) settings: Settings,
    pub(super) upstream_hash: String,
    pub(super) peers: Peers,
    pub(super) back: Back,
    /// Calls under way, those that wait for approval included.
    pub(super) calls: Arc<Semaphore>,
}

/// The server behind the gateway.
pub(super) enum Back {
    Url(Box<Server>),
    Commands(Commands),
}

const METADATA: &str = "/.well-known/oauth-protected-resource";

impl Front {
    pub(super) fn new(
        address: SocketAddr,
        public_url: Option<String>,
        settings: Settings,
        doorkeeper: Arc<dyn Doorkeeper>,
    ) -> io::Result<Self> {
        let invalid = |problem: String| io::Error::new(io::ErrorKind::InvalidInput, problem);
        let public = match &public_url {
            None => None,
            Some(url) => {
                let uri: Uri = url.parse().map_err(|error| invalid(format!("{url}: {error}")))?;
                let parts = uri.scheme_str().zip(uri.authority().map(Authority::as_str));
                let (scheme, authority) = parts.ok_or_else(|| invalid(format!("{url} is not a URL")))?;
                Some((scheme.to_owned(), authority.to_ascii_lowercase()))
            }
        };
        let path = format!("/mcp/{}", settings.server);
        let upstream_hash = settings.upstream.hash()?;
        let back = match &settings.upstream {
            Upstream::Url(url) => Back::Url(Box::new(Server::new(url)?)),
            Upstream::Command(_) => Back::Commands(Commands::default()),
        };
        let calls = Arc::new(Semaphore::new(CALLS_MAX));
        let gateway = Arc::new(Gateway { settings, upstream_hash, peers: Peers::default(), back, calls });
        Ok(Self {
            is_loopback: address.ip().is_loopback(),
            public,
            path,
            gateway,
            guests: Guests::new(doorkeeper),
        })
    }

    /// Nothing more is served.
    pub(super) fn end(&self) {
        for round in self.gateway.peers.rounds() {
            if let Err(problem) = round.leave() {
                self.gateway.note(&format!("the outcome of a call was not recorded: {problem}"));
            }
        }
        if let Back::Commands(commands) = &self.gateway.back {
            commands.end();
        }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        let base = match self.base(&parts) {
            Ok(base) => base,
            Err(problem) => return refusal(StatusCode::FORBIDDEN, None, INVALID_REQUEST, &problem),
        };
        let path = parts.uri.path();
        if path == METADATA || path.strip_prefix(METADATA) == Some(self.path.as_str()) {
            return self.metadata(&parts.method, &base);
        }
        if path != self.path {
            return refusal(
                StatusCode::NOT_FOUND,
                None,
                INVALID_REQUEST,
                "there is no MCP server at this path",
            );
        }
        let guest = match self.guest(&parts.headers).await {
            Ok(Admission::Guest(guest)) => guest,
            Ok(Admission::Forbidden) => {
                return self.challenge(&base, StatusCode::FORBIDDEN, "insufficient_scope");
            }
            Ok(Admission::Unknown) => {
                let error = if parts.headers.contains_key(AUTHORIZATION) { "invalid_token" } else { "" };
                return self.challenge(&base, StatusCode::UNAUTHORIZED, error);
            }
            Err(problem) => {
                self.gateway.note(&problem);
                let problem = "the gate cannot be asked";
                return refusal(StatusCode::SERVICE_UNAVAILABLE, None, texts::NOT_RELAYED, problem);
            }
        };
        match parts.method {
            Method::POST => self.post(guest, parts, body).await,
            Method::GET | Method::DELETE => self.gateway.stream_or_end(guest, parts).await,
            _ => {
                let mut answer = empty(StatusCode::METHOD_NOT_ALLOWED);
                answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
                answer
            }
        }
    }

    /// That a request is meant for this gateway, and that no foreign page sent it. Gives the address of the gateway, as
    /// the client named it.
    fn base(&self, parts: &Parts) -> Result<String, String> {
        let authority = match parts.uri.authority() {
            Some(authority) => authority.clone(),
            None => {
                let host = headers::one(&parts.headers, &HOST)?;
                let host = host.and_then(|host| host.parse::<Authority>().ok());
                host.ok_or("the request does not name one host")?
            }
        };
        let is_public =
            self.public.as_ref().is_some_and(|(_, known)| authority.as_str().eq_ignore_ascii_case(known));
        if authority.as_str().contains('@') || !(is_public || self.is_own(authority.host())) {
            return Err(format!(
                "the gateway does not answer for the host `{}`",
                texts::shown(authority.as_str())
            ));
        }
        if let Some(origin) = headers::one(&parts.headers, &ORIGIN)? {
            let uri: Option<Uri> = origin.parse().ok();
            let parts = uri.as_ref().and_then(|uri| uri.scheme_str().zip(uri.authority()));
            let is_known = parts.is_some_and(|(scheme, authority)| match &self.public {
                Some((known, host)) if known == scheme && authority.as_str().eq_ignore_ascii_case(host) => {
                    true
                }
                _ => self.is_loopback && ["http", "https"].contains(&scheme) && is_loopback(authority.host()),
            });
            if !is_known {
                return Err(format!("pages of `{}` may not use this gateway", texts::shown(origin)));
            }
        }
        Ok(match &self.public {
            Some((scheme, host)) => format!("{scheme}://{host}"),
            None => format!("http://{authority}"),
        })
    }

    fn is_own(&self, host: &str) -> bool {
        if self.is_loopback { is_loopback(host) } else { address(host).is_some() }
    }

    /// The owner of the token.
    async fn guest(&self, headers: &HeaderMap) -> Result<Admission, String> {
        let Ok(Some(value)) = headers::one(headers, &AUTHORIZATION) else { return Ok(Admission::Unknown) };
        let Some((scheme, token)) = value.split_once(' ') else { return Ok(Admission::Unknown) };
        if !scheme.eq_ignore_ascii_case("bearer") || token.trim().is_empty() {
            return Ok(Admission::Unknown);
        }
        let token = token.trim();
        match self.guests.trusted(token) {
            Some(guest) => Ok(Admission::Guest(guest)),
            None => tokio::task::block_in_place(|| self.guests.admit(token)),
        }
    }

    /// Says who may come in, and where to read about it (RFC 9728).
    fn challenge(&self, base: &str, status: StatusCode, error: &str) -> Answer {
        let mut said =
            format!("Bearer resource_metadata=\"{base}{METADATA}{}\", scope=\"actor worker\"", self.path);
        if !error.is_empty() {
            said.push_str(&format!(", error=\"{error}\""));
        }
        let problem = "the request needs a token of the gate with the roles `actor` and `worker`";
        let mut answer = refusal(status, None, INVALID_REQUEST, problem);
        answer.headers_mut().extend(HeaderValue::from_str(&said).ok().map(|said| (WWW_AUTHENTICATE, said)));
        answer
    }

    fn metadata(&self, method: &Method, base: &str) -> Answer {
        if method != Method::GET {
            let mut answer = empty(StatusCode::METHOD_NOT_ALLOWED);
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
            return answer;
        }
        let document = json!({
            "resource": format!("{base}{}", self.path),
            "resource_name": format!("{} behind ordain", self.gateway.settings.server),
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["actor", "worker"],
        });
        json(StatusCode::OK, document.to_string())
    }

    async fn post(&self, guest: Arc<Guest>, parts: Parts, body: Incoming) -> Answer {
        let bytes_max = self.gateway.settings.bytes_max;
        if let Err(problem) = check_type(&parts.headers) {
            return refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, INVALID_REQUEST, problem);
        }
        let body = match tokio::time::timeout(BODY_WAIT, Limited::new(body, bytes_max).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let problem = format!("a message of more than {bytes_max} bytes is not relayed");
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, None, INVALID_REQUEST, &problem);
            }
            Ok(Err(_)) => return empty(StatusCode::BAD_REQUEST),
            Err(_) => return empty(StatusCode::REQUEST_TIMEOUT),
        };
        self.message(guest, parts, body).await
    }

    async fn message(&self, guest: Arc<Guest>, parts: Parts, body: Bytes) -> Answer {
        let message = match Message::of_client(&body) {
            Ok(message) => message,
            Err(MessageError::Batch) => return self.gateway.batch(guest, parts, body).await,
            Err(error) => {
                let id = match Message::of_server(&body) {
                    Ok(Message::Request { id, .. }) => Some(id.text),
                    _ => None,
                };
                let is_json = !matches!(error, MessageError::Json(_)) || id.is_some();
                let code = if is_json { INVALID_REQUEST } else { PARSE_ERROR };
                return refusal(StatusCode::BAD_REQUEST, id.as_deref(), code, &error.to_string());
            }
        };
        if let Err(problem) = headers::check(&parts.headers, &message) {
            let id = match &message {
                Message::Request { id, .. } => Some(id.text.as_str()),
                _ => None,
            };
            return refusal(StatusCode::BAD_REQUEST, id, HEADER_MISMATCH, &problem);
        }
        self.gateway.message(guest, parts, body.clone(), message).await
    }
}

impl Gateway {
    /// Tells the person who reads the log.
    pub(super) fn note(&self, text: &str) {
        use std::io::Write;
        // Nobody may read it.
        let _ = writeln!(io::stderr(), "ordain: {}: {}", self.settings.server, texts::shown(text));
    }

    /// Whether the gate judges requests of a method.
    pub(super) fn is_judged(&self, method: &str) -> bool {
        method == "tools/call" || self.settings.gated.contains(method)
    }
}

/// An answer that says no, in the form that clients of every revision read.
pub(super) fn refusal(status: StatusCode, id: Option<&str>, code: i64, problem: &str) -> Answer {
    json(status, texts::error(id, code, problem))
}

/// A page of a browser cannot send this type without asking first.
fn check_type(headers: &HeaderMap) -> Result<(), &'static str> {
    let kind = headers::one(headers, &CONTENT_TYPE).ok().flatten().unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err("a message comes as `Content-Type: application/json`");
    }
    if headers.contains_key(CONTENT_ENCODING) {
        return Err("a message comes without `Content-Encoding`");
    }
    Ok(())
}

fn address(host: &str) -> Option<IpAddr> {
    let plain = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    plain.parse().ok()
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|ip| ip.is_loopback())
}
