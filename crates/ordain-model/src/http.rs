//! One HTTP request, and a body that is read up to a limit.

use crate::limits::{ANSWER_BYTES_MAX, ERROR_BODY_WAIT, ERROR_BYTES_MAX};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use hyper::{HeaderMap, Request, Response, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use std::net::IpAddr;

/// Sends requests. It follows no redirect, knows no proxy and never tries again.
#[derive(Debug, Clone)]
pub(crate) struct Client(Pool<HttpsConnector<HttpConnector>, Full<Bytes>>);

/// The answer.
pub(crate) struct Received {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
}

/// Why nothing came back, or not all.
#[derive(Debug)]
pub(crate) enum Broken {
    /// There is no connection, so nothing was sent.
    Unreachable(String),
    /// The connection broke while an answer was expected.
    Cut(String),
    /// The body is longer than is read of it.
    TooLong,
}

impl Client {
    pub(crate) fn new() -> Result<Self, String> {
        let provider = rustls::crypto::ring::default_provider();
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(provider)
            .map_err(|error| format!("TLS does not work: {error}"))?
            .https_or_http()
            .enable_http1()
            .build();
        // A connection that was kept may be gone by the next request, and sending that again would be an attempt that
        // nobody counts. A completion takes seconds; a new connection takes little of that.
        let pool = Pool::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .retry_canceled_requests(false)
            .build(connector);
        Ok(Self(pool))
    }

    pub(crate) async fn post(
        &self,
        uri: &Uri,
        headers: Vec<(HeaderName, HeaderValue)>,
        body: Bytes,
    ) -> Result<Received, Broken> {
        let mut request = Request::post(uri.clone())
            .body(Full::new(body))
            .map_err(|error| Broken::Unreachable(format!("the request cannot be written: {error}")))?;
        let json = HeaderValue::from_static("application/json");
        let agent = HeaderValue::from_static(concat!("ordain/", env!("CARGO_PKG_VERSION")));
        let all =
            [(CONTENT_TYPE, json.clone()), (ACCEPT, json), (USER_AGENT, agent)].into_iter().chain(headers);
        request.headers_mut().extend(all);
        let answer = self.0.request(request).await.map_err(|error| {
            let cause = causes(&error);
            if error.is_connect() { Broken::Unreachable(cause) } else { Broken::Cut(cause) }
        })?;
        let (parts, body) = Response::into_parts(answer);
        Ok(Received { status: parts.status, headers: parts.headers, body })
    }
}

impl Received {
    /// The whole body, unless it is too long: then nothing of the rest is read.
    pub(crate) async fn body(self) -> Result<Bytes, Broken> {
        let announced = usize::try_from(self.body.size_hint().lower());
        if announced.is_ok_and(|length| length > ANSWER_BYTES_MAX) {
            return Err(Broken::TooLong);
        }
        match Limited::new(self.body, ANSWER_BYTES_MAX).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(Broken::TooLong),
            Err(error) => Err(Broken::Cut(causes(error.as_ref()))),
        }
    }

    /// The beginning of the body, as far as it comes soon. It is for a message, and the status says the most already.
    pub(crate) async fn beginning(mut self) -> Vec<u8> {
        let mut beginning = Vec::new();
        let read = async {
            while let Some(Ok(frame)) = self.body.frame().await
                && beginning.len() < ERROR_BYTES_MAX
            {
                beginning.extend_from_slice(frame.data_ref().map(AsRef::as_ref).unwrap_or_default());
            }
        };
        // The bytes read until then are kept.
        let _ = tokio::time::timeout(ERROR_BODY_WAIT, read).await;
        beginning.truncate(ERROR_BYTES_MAX);
        beginning
    }
}

/// An error and what caused it, which says more.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text = format!("{text}: {error}");
        next = error.source();
    }
    text
}

/// The address of an API, checked: https, or http on this machine. A key is never sent in clear to another.
pub(crate) fn base(text: &str) -> Result<Uri, String> {
    let refused = |problem: &str| format!("`base_url` {problem}, such as `https://api.example.com/v1`");
    let uri: Uri = text.trim_end_matches('/').parse().map_err(|_| refused("must be a URL"))?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(refused("has to be a whole URL"));
    };
    if authority.as_str().contains('@') {
        return Err(refused("must be a URL without user and password (the key belongs in ORDAIN_MODEL_KEY)"));
    }
    if uri.query().is_some() || text.contains('#') {
        return Err(refused("must be a URL without `?` and `#`"));
    }
    match scheme {
        "https" => Ok(uri),
        "http" if is_loopback(authority.host()) => Ok(uri),
        "http" => Err(refused(
            "may be http:// only on this machine, because the key would be sent in clear; elsewhere it is an https:// address",
        )),
        _ => Err(refused("has to begin with https://")),
    }
}

pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_anywhere_and_http_only_here() {
        for (url, expected) in [
            ("https://api.example.com/v1/", "https://api.example.com/v1"),
            ("https://10.0.0.1:8443", "https://10.0.0.1:8443/"),
            ("http://127.0.0.1:11434", "http://127.0.0.1:11434/"),
            ("http://127.8.8.8/v1", "http://127.8.8.8/v1"),
            ("http://[::1]:80/v1", "http://[::1]:80/v1"),
            ("http://LocalHost:1", "http://LocalHost:1/"),
        ] {
            assert_eq!(base(url).map(|uri| uri.to_string()), Ok(expected.to_owned()), "{url}");
        }
        for url in [
            "http://example.com/v1",
            "http://10.0.0.1",
            "http://0.0.0.0:1",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://[::ffff:10.0.0.1]",
            "ftp://localhost",
            "localhost:1234",
            "/v1",
            "",
            "https://user:secret@example.com",
            "http://127.0.0.1@example.com",
            "https://example.com/v1?key=1",
            "https://example.com/v1#x",
            "https://exa mple.com",
        ] {
            let problem = base(url).unwrap_err();
            assert!(problem.starts_with("`base_url` "), "{url}: {problem}");
            assert!(!problem.contains("secret"), "{problem}");
        }
    }
}
