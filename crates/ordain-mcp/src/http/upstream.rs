//! The server by URL. It gets the gateway's own credentials and never a client's.

use crate::limits::CONNECT_WAIT;
use crate::upstream::UpstreamUrl;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::io;
use std::time::Duration;

/// Shorter than servers keep connections, so that a call is not sent on one that is just being closed.
const IDLE: Duration = Duration::from_secs(3);

/// Headers that belong to one connection, or to the client alone.
const OWN: [&str; 21] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "origin",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
];

/// Headers of answers that go no further.
const OF_THE_SERVER: [&str; 8] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-authenticate",
    "set-cookie",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
];

/// A server by URL.
pub(super) struct Server {
    uri: Uri,
    authorization: Option<HeaderValue>,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// Why there is no answer.
pub(super) enum Broken {
    /// Nothing was sent.
    Unreachable(String),
    /// The server may have the message.
    Cut(String),
}

impl Server {
    pub(super) fn new(url: &UpstreamUrl) -> io::Result<Self> {
        let invalid = |problem: String| io::Error::new(io::ErrorKind::InvalidInput, problem);
        let uri: Uri = url.url.parse().map_err(|error| invalid(format!("{}: {error}", url.url)))?;
        let authorization = match &url.token {
            None => None,
            Some(token) => {
                let value = HeaderValue::from_str(&format!("Bearer {}", token.trim()));
                let mut value =
                    value.map_err(|_| invalid("the server's token is not one line of text".to_owned()))?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(CONNECT_WAIT));
        let provider = rustls::crypto::ring::default_provider();
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(provider)
            .map_err(|error| invalid(format!("TLS does not work: {error}")))?
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self { uri, authorization, client })
    }

    /// Sends a message of a client. It follows no redirect, which would carry the credentials elsewhere.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, Broken> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        let passed = request.headers_mut();
        for (name, value) in headers {
            if !OWN.contains(&name.as_str()) {
                passed.append(name, value.clone());
            }
        }
        passed.extend(self.authorization.clone().map(|value| (AUTHORIZATION, value)));
        self.client.request(request).await.map_err(|error| {
            let text = causes(&error);
            if error.is_connect() { Broken::Unreachable(text) } else { Broken::Cut(text) }
        })
    }
}

/// The headers of an answer that are the client's business.
pub(super) fn passed(headers: &HeaderMap) -> HeaderMap {
    let mut passed = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if !OF_THE_SERVER.contains(&name.as_str()) {
            passed.append::<HeaderName>(name.clone(), value.clone());
        }
    }
    passed
}

/// An error and its causes, which say more.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        source = cause.source();
    }
    text
}
