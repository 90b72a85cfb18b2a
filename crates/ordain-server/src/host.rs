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
    /// Only this machine can connect: its own names, the console's, and the public one.
    Loopback { public: Option<Arc<str>>, console: Option<Arc<str>> },
    /// Others can connect: addresses, which no DNS server can turn, and the public name.
    Public(Option<Arc<str>>),
}

impl Hosts {
    /// That a request is meant for this server.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ErrorResponse> {
        let (public, console, loopback) = match self {
            Self::Any => return Ok(()),
            Self::Loopback { public, console } => (public, console.as_deref(), true),
            Self::Public(public) => (public, None, false),
        };
        let Some(host) = host(uri, headers) else {
            return Err(Problem::new(ProblemCode::Forbidden, "the request does not name one host").into());
        };
        let is_own = match address(&host) {
            Some(ip) if loopback => ip.is_loopback(),
            Some(_) => true,
            None => loopback && host == "localhost",
        };
        if is_own || [public.as_deref(), console].contains(&Some(host.as_str())) {
            return Ok(());
        }
        let problem = format!("the server does not answer for the host `{host}`");
        let hint = "start it with `ordain serve --public-url URL` if that is its name";
        Err(Problem::new(ProblemCode::Forbidden, problem).with_hint(hint).into())
    }
}

/// A request that came over TLS.
#[derive(Clone, Copy)]
pub(crate) struct OverTls;

/// Whether a request names the public host. Browsers may be told about it for a long time; other names that lead here
/// have other servers too.
pub(crate) fn is_public(public: Option<&str>, uri: &Uri, headers: &HeaderMap) -> bool {
    public.is_some() && host(uri, headers).as_deref() == public
}

/// The one origin of the console on this machine. Other ports and names of this machine are other people's pages, for
/// all that a browser knows.
#[derive(Clone, Debug)]
pub(crate) struct ConsoleOrigin {
    /// As a browser writes it.
    pub(crate) text: String,
    /// Whether the request was sent there.
    pub(crate) is_here: bool,
}

impl ConsoleOrigin {
    /// The origin for a request that came to a loopback listener; nothing where the console has no name of its own, and
    /// for the public name, whose proxy knows better.
    pub(crate) fn of(hosts: &Hosts, uri: &Uri, headers: &HeaderMap) -> Option<Self> {
        let Hosts::Loopback { public, console: Some(console) } = hosts else { return None };
        let host = host(uri, headers)?;
        if public.as_deref() == Some(host.as_str()) {
            return None;
        }
        let authority: Authority = headers.get(header::HOST)?.to_str().ok()?.parse().ok()?;
        let port = authority.port_u16().filter(|port| *port != 80);
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        Some(Self { text: format!("http://{console}{port}"), is_here: host == **console })
    }

    /// That a request was sent by a page of the console: to its origin, and from there. A browser writes these headers
    /// itself; no page can.
    pub(crate) fn check(origin: Option<Self>, headers: &HeaderMap) -> Result<(), Problem> {
        let refused = |problem: &str| Err(Problem::new(ProblemCode::Forbidden, problem));
        let Some(origin) = origin.filter(|origin| origin.is_here) else {
            return refused("a session counts at the console's own address only");
        };
        let one = |name: &str| {
            let mut given = headers.get_all(name).iter();
            (given.next(), given.next())
        };
        match one("sec-fetch-site") {
            (Some(site), None) if site == "same-origin" => {}
            _ => return refused("the request is not of a page of the console (`Sec-Fetch-Site`)"),
        }
        match one("origin") {
            (None, _) => Ok(()),
            (Some(value), None) if value == origin.text.as_str() => Ok(()),
            _ => refused("the request is of a page with another `Origin`"),
        }
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
    fn a_session_counts_for_pages_of_the_console_only() {
        let console = Some("0123456789abcdef.localhost".into());
        let hosts = Hosts::Loopback { public: public_host("https://gate.example"), console };
        let own = "0123456789abcdef.localhost:7171";
        let check = |given: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.append(*name, value.parse().unwrap());
            }
            ConsoleOrigin::check(ConsoleOrigin::of(&hosts, &Uri::from_static("/v1/gate"), &headers), &headers)
        };
        let site = ("sec-fetch-site", "same-origin");
        assert!(check(&[("host", own), site]).is_ok());
        assert!(check(&[("host", own), site, ("origin", "http://0123456789abcdef.localhost:7171")]).is_ok());
        for refused in [
            vec![("host", own)],
            vec![("host", "localhost:7171"), site],
            vec![("host", "127.0.0.1:7171"), site],
            vec![("host", "gate.example"), site],
            vec![("host", own), ("sec-fetch-site", "same-site")],
            vec![("host", own), ("sec-fetch-site", "cross-site")],
            vec![("host", own), ("sec-fetch-site", "none")],
            vec![("host", own), site, site],
            vec![("host", own), site, ("origin", "http://0123456789abcdef.localhost:7172")],
            vec![("host", own), site, ("origin", "https://0123456789abcdef.localhost:7171")],
            vec![("host", own), site, ("origin", "http://localhost:7171")],
            vec![("host", own), site, ("origin", "null")],
        ] {
            assert!(check(&refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn a2_a_name_that_a_web_page_chose_is_refused() {
        let public = public_host("https://Gate.example:8443/");
        let console = Some("0123456789abcdef.localhost".into());
        let loopback = Hosts::Loopback { public: public.clone(), console };
        for host in [
            "localhost",
            "LOCALHOST:7171",
            "127.0.0.1",
            "127.8.9.1:80",
            "[::1]:7171",
            "gate.example",
            "0123456789ABCDEF.localhost:7171",
        ] {
            assert!(answers(&loopback, host), "{host}");
        }
        for host in [
            "evil.example",
            "other.localhost",
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
