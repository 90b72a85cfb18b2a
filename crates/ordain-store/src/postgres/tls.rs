//! TLS to the server. To another machine always, unless the URL says `sslmode=disable`; where there is TLS,
//! the server's certificate is verified, whatever the mode is called.

use crate::StoreError;
use percent_encoding::percent_decode_str;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{Config, Socket};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The authorities to trust. Naming one asks for TLS.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Roots {
    /// Those that everybody trusts.
    Known,
    /// Those of a file.
    File(PathBuf),
}

/// Takes out of a URL what says whom to trust, and what the library has no name for: `sslrootcert`, and the modes of
/// `sslmode` that verify.
pub(super) fn take_roots(url: &str) -> (String, Option<Roots>) {
    let Some((place, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let mut roots = None;
    let mut rest = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslrootcert", "system")) => roots = Some(Roots::Known),
            Some(("sslrootcert", path)) => {
                let path = percent_decode_str(path).decode_utf8_lossy().into_owned();
                roots = Some(Roots::File(PathBuf::from(path)));
            }
            Some(("sslmode", "verify-ca" | "verify-full")) => rest.push("sslmode=require"),
            _ => rest.push(pair),
        }
    }
    (format!("{place}?{}", rest.join("&")), roots)
}

/// How to connect to a server with TLS, or without.
#[derive(Clone)]
pub(super) struct Tls(TlsConnector);

impl Tls {
    /// Settles the mode, and reads whom to trust.
    pub(super) fn settle(config: &mut Config, roots: Option<Roots>, place: &str) -> Result<Self, StoreError> {
        if config.get_ssl_mode() == SslMode::Prefer {
            let local = is_this_machine(config) && roots.is_none();
            config.ssl_mode(if local { SslMode::Disable } else { SslMode::Require });
        }
        let mut trusted = RootCertStore::empty();
        match roots {
            Some(Roots::File(path)) => {
                let failed = |error: &dyn std::fmt::Display| {
                    StoreError::Unavailable(format!(
                        "{place}: `sslrootcert` names `{}`, which has no certificates in PEM: {error}",
                        path.display()
                    ))
                };
                for certificate in CertificateDer::pem_file_iter(&path).map_err(|error| failed(&error))? {
                    let certificate = certificate.map_err(|error| failed(&error))?;
                    trusted.add(certificate).map_err(|error| failed(&error))?;
                }
                if trusted.is_empty() {
                    return Err(failed(&"it has none"));
                }
            }
            Some(Roots::Known) | None => trusted.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        let settings = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| StoreError::Unavailable(format!("{place}: TLS cannot be used: {error}")))?;
        let mut settings = settings.with_root_certificates(trusted).with_no_client_auth();
        // A server that starts with TLS at once (`sslnegotiation=direct`) wants to hear for what.
        settings.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self(TlsConnector::from(Arc::new(settings))))
    }
}

fn is_this_machine(config: &Config) -> bool {
    let here = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    };
    config.get_hosts().iter().all(here) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Stream;
    type TlsConnect = Named;
    type Error = Infallible;

    /// Also called for a connection without TLS, with a name that is not one.
    fn make_tls_connect(&mut self, name: &str) -> Result<Named, Infallible> {
        Ok(Named { connector: self.0.clone(), name: name.to_owned() })
    }
}

/// A connection to the server of this name.
pub(super) struct Named {
    connector: TlsConnector,
    name: String,
}

impl TlsConnect<Socket> for Named {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.name).map_err(io::Error::other)?;
            self.connector.connect(name, socket).await.map(Stream)
        })
    }
}

pub(super) struct Stream(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use super::*;

    fn mode(url: &str) -> SslMode {
        let (url, roots) = take_roots(url);
        let mut config: Config = url.parse().unwrap();
        Tls::settle(&mut config, roots, "here").unwrap();
        config.get_ssl_mode()
    }

    #[test]
    fn another_machine_is_reached_with_tls() {
        for url in [
            "postgres://db.example/x",
            "postgres://db.example/x?sslmode=prefer",
            "postgres://10.0.0.1/x",
            "postgres://127.0.0.1,db.example/x",
            "postgres://localhost/x?hostaddr=10.0.0.1",
            "postgres://localhost/x?sslmode=require",
            "postgres://localhost/x?sslmode=verify-ca",
            "postgres://%2Frun/x?sslmode=verify-full&sslrootcert=system",
            "postgres://localhost/x?sslrootcert=system",
        ] {
            assert_eq!(mode(url), SslMode::Require, "{url}");
        }
        for url in [
            "postgres://db.example/x?sslmode=disable",
            "postgres://localhost/x",
            "postgres://127.0.0.1,[::1]/x",
            "postgres://%2Frun%2Fpostgresql/x?sslmode=prefer",
        ] {
            assert_eq!(mode(url), SslMode::Disable, "{url}");
        }
    }

    #[test]
    fn whom_to_trust_is_taken_out_of_the_url() {
        let (url, roots) =
            take_roots("postgres://h/x?a=b&sslrootcert=%2Fetc%2Fmy%20ca.pem&sslmode=verify-full&c=d");
        assert_eq!(url, "postgres://h/x?a=b&sslmode=require&c=d");
        assert_eq!(roots, Some(Roots::File(PathBuf::from("/etc/my ca.pem"))));
        assert_eq!(take_roots("postgres://h/x"), ("postgres://h/x".to_owned(), None));
    }
}
