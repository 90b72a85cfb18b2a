//! For which names the server answers. A page of a browser can have any name lead to this machine; it cannot choose the
//! `Host` that the browser sends.

use crate::error::ErrorResponse;
use axum::http::{HeaderMap, Uri, header, uri::Authority};
use ordain_api::{Problem, ProblemCode};
use std::net::IpAddr;
use std::sync::Arc;

/// The names for which a listener answers.
#[derive(Clone, Debug)]
pub(crate) enum Hosts {
    /// A unix socket, to which no browser connects.
    Any,
    /// Only this machine can connect: its own names, and the public one.
    Loopback(Option<Arc<str>>),
    /// Others can connect: addresses, which no DNS server can turn, and the public name.
    Public(Option<Arc<str>>),
}

impl Hosts {
    /// That a request is meant for this server.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ErrorResponse> {
        let (public, loopback) = match self {
            Self::Any => return Ok(()),
            Self::Loopback(public) => (public, true),
            Self::Public(public) => (public, false),
        };
        let Some(host) = host(uri, headers) else {
            return Err(Problem::new(ProblemCode::Forbidden, "the request does not name one host").into());
        };
        let is_own = match address(&host) {
            Some(ip) if loopback => ip.is_loopback(),
            Some(_) => true,
            None => loopback && host == "localhost",
        };
        if is_own || public.as_deref() == Some(host.as_str()) {
            return Ok(());
        }
        let problem = format!("the server does not answer for the host `{host}`");
        let hint = "start it with `ordain serve --public-url URL` if that is its name";
        Err(Problem::new(ProblemCode::Forbidden, problem).with_hint(hint).into())
    }
}

/// The host that a request names, in lower case and without its port. A whole URI goes before the header (RFC 9112).
fn host(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    if let Some(host) = uri.host() {
        return Some(host.to_ascii_lowercase());
    }
    let mut given = headers.get_all(header::HOST).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return None };
    let authority: Authority = value.to_str().ok()?.parse().ok()?;
    if authority.as_str().contains('@') {
        return None;
    }
    Some(authority.host().to_ascii_lowercase())
}

fn address(host: &str) -> Option<IpAddr> {
    let plain = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    plain.parse().ok()
}

/// The host of a public URL.
pub(crate) fn public_host(url: &str) -> Option<Arc<str>> {
    let uri: Uri = url.parse().ok()?;
    matches!(uri.scheme_str(), Some("http" | "https")).then_some(())?;
    Some(uri.host()?.to_ascii_lowercase().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(hosts: &Hosts, host: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        hosts.check(&Uri::from_static("/health"), &headers).is_ok()
    }

    #[test]
    fn a2_a_name_that_a_web_page_chose_is_refused() {
        let public = public_host("https://Gate.example:8443/");
        let loopback = Hosts::Loopback(public.clone());
        for host in ["localhost", "LOCALHOST:7171", "127.0.0.1", "127.8.9.1:80", "[::1]:7171", "gate.example"]
        {
            assert!(answers(&loopback, host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "10.0.0.1",
            "a@localhost",
            "127.0.0.1.evil.example",
            "",
        ] {
            assert!(!answers(&loopback, host), "{host}");
        }
        let open = Hosts::Public(public);
        assert!(answers(&open, "10.0.0.5:7171") && answers(&open, "gate.example:443"));
        assert!(!answers(&open, "localhost") && !answers(&open, "evil.example"));
        assert!(!answers(&Hosts::Public(None), "gate.example"));
        // No host, or two, or another one in the target.
        assert!(loopback.check(&Uri::from_static("/health"), &HeaderMap::new()).is_err());
        assert!(loopback.check(&Uri::from_static("http://evil.example/health"), &HeaderMap::new()).is_err());
        assert!(Hosts::Any.check(&Uri::from_static("/health"), &HeaderMap::new()).is_ok());
        assert_eq!((public_host("gate.example"), public_host("ftp://gate.example")), (None, None));
    }
}
