//! TLS: the certificate and the key, which are read again when their files change, and the handshake.

use crate::certificate::{ends_at_s, read_chain};
use crate::limits::{HANDSHAKE_WAIT, HANDSHAKES_MAX, HEAD_BYTES_MAX, KEY_BYTES_MAX, STRANGERS_LOGGED_EVERY};
use crate::listen::Stream;
use crate::log::Throttle;
use crate::patience::Patient;
use ordain_api::{Problem, ProblemCode};
use ordain_presence::{KeyFileError, read_private};
use std::collections::VecDeque;
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{Error as RustlsError, ServerConfig};

/// The certificate of a server. A cheap handle.
#[derive(Clone)]
pub struct Tls(Arc<Files>);

struct Files {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Loaded>,
    watch: Mutex<Watch>,
    taken: AtomicU64,
    refused: AtomicU64,
    failed_handshakes: AtomicU64,
    logged: Throttle,
}

/// A certificate that can be used.
#[derive(Clone)]
struct Loaded {
    config: Arc<ServerConfig>,
    leaf: CertificateDer<'static>,
    /// When it ends, in seconds since 1970, if it says so in a way that we understand.
    ends_at_s: Option<u64>,
}

/// The state of the files, as far as it was seen.
#[derive(Default)]
struct Watch {
    /// As they were when they were last read.
    tried: Option<[Seen; 2]>,
    /// As they were at the last look, if they had changed: they are read once they stay the same.
    changing: Option<[Seen; 2]>,
}

/// A file, as far as a change of its content changes it.
type Seen = (u64, u64, i64, i64, u64);

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{path}: {error}")]
    File {
        /// Where.
        path: String,
        /// Why not.
        error: io::Error,
    },
    /// Others could read or replace the key.
    #[error("{0}: the key is not private")]
    NotPrivate(String),
    /// The key is behind a link.
    #[error("{0}: the key is behind a link")]
    Link(String),
    /// The file has no certificate.
    #[error("{0}: no certificate in PEM")]
    NoCertificate(String),
    /// The file has no key.
    #[error("{0}: no private key in PEM")]
    NoKey(String),
    /// The key belongs to another certificate.
    #[error("{0}: the key does not belong to the certificate")]
    OtherKey(String),
    /// The TLS library refuses them.
    #[error("{path}: {error}")]
    Refused {
        /// The certificate.
        path: String,
        /// Why.
        error: RustlsError,
    },
    /// A new certificate has expired.
    #[error("{0}: the certificate has expired")]
    Expired(String),
    /// A new certificate is not for the public name, as the one in use is.
    #[error("{path}: the certificate is not for `{name}`")]
    OtherName {
        /// The certificate.
        path: String,
        /// The public name.
        name: String,
    },
}

impl TlsError {
    /// A way out.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotPrivate(path) => Some(format!(
                "it must belong to the user of the server, and to nobody else: `chmod 600 {path}`"
            )),
            Self::Link(_) => Some("copy the key: `install -m 600 -o USER LINK FILE`".to_owned()),
            Self::NoCertificate(_) => {
                Some("the file holds the server's certificate, and then those of its authorities".to_owned())
            }
            Self::OtherKey(_) => Some("pass the key that the certificate was made for".to_owned()),
            _ => None,
        }
    }
}

/// The figures for `/metrics`.
pub(crate) struct TlsCounters {
    pub(crate) ends_at_s: Option<u64>,
    pub(crate) taken: u64,
    pub(crate) refused: u64,
    pub(crate) failed_handshakes: u64,
}

impl Tls {
    /// Reads a certificate chain and its key, both in PEM.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let tried = seen(certificate, key);
        let loaded = load(certificate, key)?;
        Ok(Self(Arc::new(Files {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            current: RwLock::new(loaded),
            watch: Mutex::new(Watch { tried, changing: None }),
            taken: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            failed_handshakes: AtomicU64::new(0),
            logged: Throttle::new(STRANGERS_LOGGED_EVERY),
        })))
    }

    /// Says in the log why clients may refuse the certificate.
    pub(crate) fn warn(&self, public_host: Option<&str>) {
        let current = self.current();
        let certificate = self.0.certificate.display().to_string();
        if current.is_over() {
            tracing::warn!(certificate, "the certificate has expired, and clients refuse it");
        }
        if let Some(name) = public_host.filter(|name| !current.is_for(name)) {
            tracing::warn!(certificate, name, "the certificate is not for the host of --public-url");
        }
    }

    /// Reads the files again if they changed and then stayed as they are from one look to the next, so that a
    /// certificate whose key is still to come is not tried.
    pub(crate) fn look(&self, public_host: Option<&str>) {
        let now = seen(&self.0.certificate, &self.0.key);
        let is_settled = {
            let mut watch = lock(&self.0.watch);
            let changed = now.is_some() && now != watch.tried;
            let is_settled = changed && now == watch.changing;
            watch.changing = now.filter(|_| changed);
            is_settled
        };
        if is_settled {
            self.read_again(public_host);
        }
    }

    /// Reads the files again. A certificate that cannot be used changes nothing.
    pub(crate) fn read_again(&self, public_host: Option<&str>) {
        let now = seen(&self.0.certificate, &self.0.key);
        *lock(&self.0.watch) = Watch { tried: now, changing: None };
        let certificate = self.0.certificate.display().to_string();
        match self.take(public_host) {
            Ok(false) => tracing::info!(certificate, "the certificate is as it was"),
            Ok(true) => {
                self.0.taken.fetch_add(1, Ordering::Relaxed);
                tracing::info!(certificate, "another certificate is in use");
            }
            Err(error) => {
                self.0.refused.fetch_add(1, Ordering::Relaxed);
                let hint = error.hint();
                tracing::error!(error = %error, hint, "the certificate stays as it was: the new one cannot be used");
            }
        }
    }

    /// Whether there is another one now.
    fn take(&self, public_host: Option<&str>) -> Result<bool, TlsError> {
        let Files { certificate, key, .. } = &*self.0;
        let path = || certificate.display().to_string();
        let (new, old) = (load(certificate, key)?, self.current());
        if new.leaf == old.leaf {
            // The chain or the key may be others.
            *self.0.current.write().unwrap_or_else(PoisonError::into_inner) = new;
            return Ok(false);
        }
        if new.is_over() {
            return Err(TlsError::Expired(path()));
        }
        if let Some(name) = public_host.filter(|name| old.is_for(name) && !new.is_for(name)) {
            return Err(TlsError::OtherName { path: path(), name: name.to_owned() });
        }
        *self.0.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(true)
    }

    fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.current.read().unwrap_or_else(PoisonError::into_inner).config)
    }

    fn current(&self) -> Loaded {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn counters(&self) -> TlsCounters {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        TlsCounters {
            ends_at_s: self.current().ends_at_s,
            taken: count(&self.0.taken),
            refused: count(&self.0.refused),
            failed_handshakes: count(&self.0.failed_handshakes),
        }
    }

    /// The encrypted stream of a connection.
    pub(crate) async fn shake_hands(&self, stream: TcpStream, place: Place) -> io::Result<Box<dyn Stream>> {
        let acceptor = TlsAcceptor::from(self.config());
        let handshake = async {
            if is_plain(&stream).await? {
                refuse_plain(stream).await;
                return Err(io::Error::new(ErrorKind::InvalidData, "the client does not speak TLS"));
            }
            // Within TLS, because what was encrypted waits for the client there.
            acceptor.accept(Patient::new(stream)).await
        };
        let outcome = tokio::select! {
            done = tokio::time::timeout(HANDSHAKE_WAIT, handshake) => {
                done.unwrap_or_else(|_| Err(io::Error::new(ErrorKind::TimedOut, "the client took too long")))
            }
            _ = place.0 => Err(io::Error::new(ErrorKind::TimedOut, "others came, and this client was slow")),
        };
        match outcome {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => {
                self.0.failed_handshakes.fetch_add(1, Ordering::Relaxed);
                if let Some(left_out) = self.0.logged.admit(Instant::now()) {
                    tracing::info!(error = %error, left_out, "a TLS handshake failed");
                }
                Err(error)
            }
        }
    }
}

impl Loaded {
    fn is_over(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.ends_at_s.is_some_and(|end| end <= now)
    }

    fn is_for(&self, host: &str) -> bool {
        let name = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let parsed = ParsedCertificate::try_from(&self.leaf);
        match (parsed, ServerName::try_from(name)) {
            (Ok(parsed), Ok(name)) => verify_server_name(&parsed, &name).is_ok(),
            _ => false,
        }
    }
}

/// The places of handshakes under way at one listener. Clients that say nothing cannot keep others out: when all places
/// are taken, the one that began first loses its own.
#[derive(Default)]
pub(crate) struct Handshakes(VecDeque<oneshot::Sender<()>>);

/// A place, until it is lost.
pub(crate) struct Place(oneshot::Receiver<()>);

impl Handshakes {
    pub(crate) fn place(&mut self) -> Place {
        if self.0.len() >= HANDSHAKES_MAX {
            self.0.retain(|place| !place.is_closed());
        }
        if self.0.len() >= HANDSHAKES_MAX {
            self.0.pop_front();
        }
        let (place, lost) = oneshot::channel();
        self.0.push_back(place);
        Place(lost)
    }
}

fn load(certificate: &Path, key: &Path) -> Result<Loaded, TlsError> {
    let path = || certificate.display().to_string();
    let key_path = || key.display().to_string();
    let chain = read_chain(certificate).map_err(|error| TlsError::File { path: path(), error })?;
    let leaf = chain.first().cloned().ok_or_else(|| TlsError::NoCertificate(path()))?;
    let bytes = read_private(key, KEY_BYTES_MAX).map_err(|error| match error {
        KeyFileError::NotPrivate(_) => TlsError::NotPrivate(key_path()),
        _ if key.is_symlink() => TlsError::Link(key_path()),
        KeyFileError::Io { error, .. } => TlsError::File { path: key_path(), error },
        _ => TlsError::File { path: key_path(), error: ErrorKind::NotFound.into() },
    })?;
    let secret = PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| TlsError::NoKey(key_path()))?;
    let refused = |error| match error {
        RustlsError::InconsistentKeys(_) => TlsError::OtherKey(key_path()),
        error => TlsError::Refused { path: path(), error },
    };
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().map_err(refused)?.with_no_client_auth();
    let mut config = config.with_single_cert(chain, secret).map_err(refused)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let ends_at_s = ends_at_s(&leaf);
    Ok(Loaded { config: Arc::new(config), leaf, ends_at_s })
}

fn seen(certificate: &Path, key: &Path) -> Option<[Seen; 2]> {
    let of = |found: Metadata| stamp(&found);
    Some([std::fs::metadata(certificate).ok().map(of)?, std::fs::metadata(key).ok().map(of)?])
}

fn stamp(found: &Metadata) -> Seen {
    (found.dev(), found.ino(), found.ctime(), found.ctime_nsec(), found.len())
}

/// How a record of TLS begins that is a handshake.
const HANDSHAKE: u8 = 22;

/// Whether the first byte is a letter, as a request without TLS begins.
async fn is_plain(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [HANDSHAKE];
    stream.peek(&mut first).await?;
    Ok(first[0].is_ascii_alphabetic())
}

/// Tells a client that speaks HTTP without TLS about its mistake. Its request is read and thrown away: a connection
/// that is closed before would take the answer with it.
async fn refuse_plain(mut stream: TcpStream) {
    let problem = Problem::new(ProblemCode::Invalid, "this address speaks TLS").with_hint("use https://");
    let body = serde_json::to_string(&problem).unwrap_or_default();
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\ncache-control: no-store\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut rest = vec![0; HEAD_BYTES_MAX];
    let _ = stream.read(&mut rest).await;
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    while let Ok(1..) = stream.read(&mut rest).await {}
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_testkit::{Authority, ServerCertificate};
    use std::os::unix::fs::PermissionsExt;

    const NAMES: [&str; 2] = ["gate.example", "localhost"];

    /// A folder that is gone after the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ordain-{name}-{}", std::process::id()));
            std::fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn put(&self, signed: &ServerCertificate) {
            std::fs::write(self.0.join("chain.pem"), &signed.certificate).unwrap();
            std::fs::write(self.0.join("key.pem"), &signed.key).unwrap();
            std::fs::set_permissions(self.0.join("key.pem"), PermissionsExt::from_mode(0o600)).unwrap();
        }

        fn tls(&self) -> Tls {
            Tls::read(&self.0.join("chain.pem"), &self.0.join("key.pem")).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_certificate_that_clients_would_refuse_does_not_replace_one_that_they_take() {
        let (folder, authority) = (Folder::new("refused"), Authority::new("tests"));
        folder.put(&authority.sign(&NAMES));
        let tls = folder.tls();
        let first = tls.current().leaf;
        let public = Some("gate.example");
        let other = authority.sign(&NAMES);
        let bad: [&dyn Fn(); 4] = [
            &|| std::fs::write(folder.0.join("chain.pem"), "no certificate").unwrap(),
            &|| folder.put(&authority.sign_in(&NAMES, 2000..2001)),
            &|| folder.put(&authority.sign(&["other.example"])),
            // The key of the last pair is still there.
            &|| std::fs::write(folder.0.join("chain.pem"), &other.certificate).unwrap(),
        ];
        for (number, spoil) in (1..).zip(bad) {
            spoil();
            tls.read_again(public);
            assert_eq!((tls.counters().refused, tls.counters().taken), (number, 0));
            assert_eq!(tls.current().leaf, first);
        }
        folder.put(&other);
        tls.read_again(public);
        assert_eq!(tls.counters().taken, 1);
        assert_ne!(tls.current().leaf, first);
        // Where a proxy has the public name, the certificate is for another one, before and after.
        folder.put(&authority.sign(&["inside.example"]));
        tls.read_again(Some("outside.example"));
        assert_eq!(tls.counters().taken, 2);
    }

    #[test]
    fn files_are_read_once_they_stay_as_they_are() {
        let (folder, authority) = (Folder::new("settled"), Authority::new("tests"));
        folder.put(&authority.sign(&NAMES));
        let tls = folder.tls();
        let read = || tls.counters().taken + tls.counters().refused;
        let look = || {
            tls.look(None);
            read()
        };
        assert_eq!((look(), look()), (0, 0));
        let next = authority.sign(&NAMES);
        // The certificate comes, and its key one look later.
        std::fs::write(folder.0.join("chain.pem"), &next.certificate).unwrap();
        assert_eq!(look(), 0);
        folder.put(&next);
        assert_eq!((look(), look(), look()), (0, 1, 1));
        assert_eq!(tls.counters().taken, 1);
        // A file that is away for a moment does not count as a change, and a bad one is tried once.
        std::fs::remove_file(folder.0.join("chain.pem")).unwrap();
        assert_eq!((look(), look()), (1, 1));
        std::fs::write(folder.0.join("chain.pem"), "no certificate").unwrap();
        assert_eq!((look(), look(), look(), look()), (1, 2, 2, 2));
    }
}
