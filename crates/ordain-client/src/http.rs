//! HTTP to a server, over TCP, TLS or a unix socket.

use crate::address::{Address, AddressError};
use crate::tls::{self, Authorities};
use crate::transport::{Reply, Request, Transport, TransportError};
use ordain_api::{STATEMENT_HEADER, statement_header};
use std::path::Path;
use std::time::Duration;
use ureq::http::HeaderValue;

/// Bytes of an answer: a page of long ledger entries is the longest that a server gives.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// How long a request may take beyond what it waits for; longer than a server works on one.
const TIMEOUT: Duration = Duration::from_secs(60);

/// HTTP to a server with a token.
pub struct HttpTransport {
    agent: ureq::Agent,
    address: Address,
    authorities: Authorities,
    /// Nothing for a unix socket, whose server asks the kernel who the caller is.
    authorization: Option<HeaderValue>,
}

impl HttpTransport {
    /// A transport to `address`: a URL, or `unix:PATH`. Nothing is sent yet. A server with TLS shows a certificate of
    /// the authorities of this machine.
    pub fn new(address: &str, token: &str) -> Result<Self, AddressError> {
        Self::trusting(address, token, Authorities::System)
    }

    /// The same; a server with TLS shows a certificate of these authorities.
    pub fn trusting(address: &str, token: &str, authorities: Authorities) -> Result<Self, AddressError> {
        Self::made(address, Some(token), None, authorities)
    }

    /// The same; over a unix socket the client names the project folder that the requests are about.
    pub fn about(address: &str, token: &str, project: Option<&Path>) -> Result<Self, AddressError> {
        Self::made(address, Some(token), project, Authorities::System)
    }

    /// A transport to a unix socket without a token: the server asks the kernel which user this is. The
    /// client names the project folder that the requests are about.
    pub fn as_user(address: &str, project: Option<&Path>) -> Result<Self, AddressError> {
        match Address::parse(address)? {
            Address::Socket(_) => Self::made(address, None, project, Authorities::System),
            Address::Url(_) => Err(AddressError::Token),
        }
    }

    fn made(
        address: &str,
        token: Option<&str>,
        project: Option<&Path>,
        authorities: Authorities,
    ) -> Result<Self, AddressError> {
        let address = Address::parse(address)?;
        let authorization = match token {
            Some(token) => {
                let value = HeaderValue::from_str(&format!("Bearer {}", token.trim()));
                let mut value = value.map_err(|_| AddressError::Token)?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        Ok(Self { agent: agent(&address, project, &authorities)?, address, authorities, authorization })
    }

    /// The server's address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    fn url(&self, path: &str) -> String {
        match &self.address {
            Address::Url(url) => format!("{url}{path}"),
            Address::Socket(_) => format!("http://localhost{path}"),
        }
    }

    fn unreachable(&self, error: &ureq::Error) -> TransportError {
        let (reason, hint) = match tls::fault(error, &self.authorities) {
            Some((reason, hint)) => (reason, Some(hint)),
            None => (error.to_string(), None),
        };
        TransportError::Unreachable { address: self.address.to_string(), reason, hint }
    }
}

fn agent(
    address: &Address,
    project: Option<&Path>,
    authorities: &Authorities,
) -> Result<ureq::Agent, AddressError> {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        // The token goes to this server and nowhere else.
        .max_redirects(0);
    match address {
        // The tunnel of a proxy carries TLS from end to end.
        Address::Url(url) if url.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("https")) => {
            Ok(config.tls_config(authorities.settings()?).build().new_agent())
        }
        // A proxy that the environment names would read the token.
        Address::Url(_) => Ok(config.proxy(None).build().new_agent()),
        #[cfg(unix)]
        Address::Socket(path) => Ok(crate::socket::agent(config.proxy(None).build(), path, project)),
        #[cfg(not(unix))]
        Address::Socket(_) => Err(AddressError::NoSocket),
    }
}

impl Transport for HttpTransport {
    fn send(&self, request: &Request) -> Result<Reply, TransportError> {
        let unsendable = |error: ureq::http::Error| TransportError::Unsendable {
            path: request.path.clone(),
            reason: error.to_string(),
        };
        let mut head =
            ureq::http::Request::builder().method(request.method.name()).uri(self.url(&request.path));
        if let Some(authorization) = &self.authorization {
            head = head.header("authorization", authorization);
        }
        if !request.signed.is_empty() {
            let signed = statement_header(&request.signed).map_err(|error| TransportError::Unsendable {
                path: request.path.clone(),
                reason: error.to_string(),
            })?;
            head = head.header(STATEMENT_HEADER, signed);
        }
        let timeout = Some(TIMEOUT.saturating_add(request.wait));
        let sent = match &request.body {
            Some(body) => {
                let head = head.header("content-type", "application/json");
                let message = head.body(body.as_slice()).map_err(unsendable)?;
                self.agent.run(self.agent.configure_request(message).timeout_global(timeout).build())
            }
            None => {
                let message = head.body(()).map_err(unsendable)?;
                self.agent.run(self.agent.configure_request(message).timeout_global(timeout).build())
            }
        };
        let mut response = sent.map_err(|error| self.unreachable(&error))?;
        let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        let body = body.map_err(|error| self.unreachable(&error))?;
        Ok(Reply { status: response.status().as_u16(), content_type, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_api::Method;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    /// Answers one request with this text, and gives the request.
    fn serve(answer: &'static str) -> (String, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            answer_one(&mut stream, answer)
        });
        (url, served)
    }

    fn answer_one(stream: &mut (impl Read + Write), answer: &str) -> String {
        let (mut seen, mut buffer) = (Vec::new(), [0; 4_096]);
        while !String::from_utf8_lossy(&seen).contains("\r\n\r\n") {
            let count = stream.read(&mut buffer).unwrap();
            assert_ne!(count, 0);
            seen.extend(&buffer[..count]);
        }
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(seen).unwrap()
    }

    fn request(path: &str) -> Request {
        Request {
            method: Method::Get,
            path: path.to_owned(),
            body: None,
            signed: Vec::new(),
            wait: Duration::ZERO,
        }
    }

    const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";

    #[test]
    fn the_token_and_the_path_arrive() {
        let (url, served) = serve(OK);
        let reply =
            HttpTransport::new(&format!("{url}/"), " secret\n").unwrap().send(&request("/v1/gate")).unwrap();
        assert_eq!(
            (reply.status, reply.content_type.as_str(), reply.body.as_slice()),
            (200, "application/json", &b"{}"[..])
        );
        let seen = served.join().unwrap();
        assert!(seen.starts_with("GET /v1/gate HTTP/1.1\r\n"), "{seen}");
        assert!(seen.to_lowercase().contains("authorization: bearer secret\r\n"), "{seen}");
    }

    #[test]
    fn a_redirect_is_not_followed() {
        let (url, served) = serve(
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
        let reply = HttpTransport::new(&url, "secret").unwrap().send(&request("/v1/gate"));
        assert_ne!(reply.map(|reply| reply.status).unwrap_or(302), 200);
        served.join().unwrap();
    }

    #[test]
    fn a_server_that_is_not_there_is_unreachable() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let sent = HttpTransport::new(&url, "secret").unwrap().send(&request("/v1/gate"));
        assert!(matches!(sent, Err(TransportError::Unreachable { address, .. }) if address == url));
    }

    #[test]
    fn a_token_is_one_header() {
        assert_eq!(HttpTransport::new("http://127.0.0.1", "a\r\nx: y").err(), Some(AddressError::Token));
    }

    #[cfg(unix)]
    #[test]
    fn a_unix_socket_carries_several_requests() {
        let folder = std::env::temp_dir().join(format!("ordain-client-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("gate.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let served = std::thread::spawn(move || {
            let open = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
            let (mut stream, _) = listener.accept().unwrap();
            (answer_one(&mut stream, open), answer_one(&mut stream, OK))
        });
        let transport = HttpTransport::new(&format!("unix:{}", path.display()), "secret").unwrap();
        for path in ["/v1/gate", "/health"] {
            assert_eq!(transport.send(&request(path)).unwrap().body, b"{}");
        }
        let (first, second) = served.join().unwrap();
        assert!(first.starts_with("GET /v1/gate ") && second.starts_with("GET /health "), "{first}{second}");
        assert!(matches!(transport.send(&request("/health")), Err(TransportError::Unreachable { .. })));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
