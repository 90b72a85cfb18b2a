//! Where the server listens: TCP addresses and unix sockets.

use crate::host::Hosts;
use crate::patience::Patient;
use crate::peer::Peer;
use crate::tls::{Handshakes, Place, Tls};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// Where to listen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListenAddress {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A TCP address with TLS.
    Tls(SocketAddr),
    /// A unix socket.
    Socket(PathBuf, SocketAccess),
}

/// The users who may connect to a unix socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SocketAccess {
    /// The user of the server alone.
    #[default]
    Owner,
    /// The members of a group too, by its number.
    Group(u32),
}

/// The prefix of a unix socket.
const SOCKET_PREFIX: &str = "unix:";
/// The prefix of an address with TLS.
pub const TLS_PREFIX: &str = "https://";
/// The prefix of an address without.
pub const PLAIN_PREFIX: &str = "http://";

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix(SOCKET_PREFIX) {
            return if path.is_empty() {
                Err("`unix:` needs the path of a socket".to_owned())
            } else {
                Ok(Self::Socket(path.into(), SocketAccess::Owner))
            };
        }
        let (kind, rest): (fn(SocketAddr) -> Self, &str) = match text.strip_prefix(TLS_PREFIX) {
            Some(rest) => (Self::Tls, rest),
            None => (Self::Tcp, text.strip_prefix(PLAIN_PREFIX).unwrap_or(text)),
        };
        let address = rest
            .parse()
            .map_err(|_| "expected an address such as 127.0.0.1:7171, https://ADDRESS, or unix:PATH")?;
        Ok(kind(address))
    }
}

/// As a client names it.
impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{PLAIN_PREFIX}{address}"),
            Self::Tls(address) => write!(f, "{TLS_PREFIX}{address}"),
            Self::Socket(path, _) => write!(f, "{SOCKET_PREFIX}{}", path.display()),
        }
    }
}

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Where.
        address: ListenAddress,
        /// Why not.
        error: io::Error,
    },
    /// Another server listens on the socket.
    #[error("cannot listen on {address}: another server listens there")]
    InUse {
        /// Where.
        address: ListenAddress,
    },
    /// The path of the socket is another file's.
    #[error("cannot listen on {address}: the file there is not a socket")]
    NotASocket {
        /// Where.
        address: ListenAddress,
    },
    /// There is no certificate.
    #[error("cannot listen on {address}: there is no certificate for it")]
    NoCertificate {
        /// Where.
        address: ListenAddress,
    },
    /// The server was built for a system without unix sockets.
    #[error("cannot listen on {address}: this system has no unix sockets")]
    NoSockets {
        /// Where.
        address: ListenAddress,
    },
}

/// A connection, whichever way it came.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection that was accepted, before anything was read from it.
pub(crate) enum Connection {
    Tcp(TcpStream),
    Tls(TcpStream, Tls, Place),
    #[cfg(unix)]
    Socket(tokio::net::UnixStream),
}

impl Connection {
    /// The stream of its requests, and who is at the other end if the kernel says so.
    pub(crate) async fn begin(self) -> io::Result<(Box<dyn Stream>, Option<Peer>)> {
        Ok(match self {
            Self::Tcp(stream) => (Box::new(Patient::new(stream)), None),
            Self::Tls(stream, tls, place) => (tls.shake_hands(stream, place).await?, None),
            #[cfg(unix)]
            Self::Socket(stream) => {
                let peer = Peer::meet(&stream).await?;
                (Box::new(Patient::new(stream)), Some(peer))
            }
        })
    }
}

/// How often another port is tried, where the system chooses it.
const BIND_ATTEMPTS: usize = 16;

/// Whether the machine lacks an address, or the whole protocol.
fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(NO_FAMILY)
}

/// `EAFNOSUPPORT`, for which the standard library has no kind.
const NO_FAMILY: i32 = if cfg!(target_os = "linux") { 97 } else { 47 };

pub(crate) enum Listener {
    Tcp(TcpListener),
    Tls(TcpListener, Tls, Mutex<Handshakes>),
    #[cfg(unix)]
    Socket(unix::SocketListener),
}

impl Listener {
    pub(crate) async fn bind(address: &ListenAddress, tls: Option<&Tls>) -> Result<Self, ServeError> {
        let failed = |error| ServeError::Listen { address: address.clone(), error };
        match address {
            ListenAddress::Tcp(tcp) => TcpListener::bind(tcp).await.map(Self::Tcp).map_err(failed),
            ListenAddress::Tls(tcp) => {
                let tls = tls.ok_or_else(|| ServeError::NoCertificate { address: address.clone() })?;
                let listener = TcpListener::bind(tcp).await.map_err(failed)?;
                Ok(Self::Tls(listener, tls.clone(), Mutex::default()))
            }
            #[cfg(unix)]
            ListenAddress::Socket(path, access) => {
                unix::SocketListener::bind(path, *access).map(Self::Socket)
            }
            #[cfg(not(unix))]
            ListenAddress::Socket(..) => Err(ServeError::NoSockets { address: address.clone() }),
        }
    }

    /// Binds a loopback address and the other one with the same port. A browser takes the name of the console for
    /// either of them; a stranger who listened on one would be the console.
    pub(crate) async fn bind_on_both(
        address: &ListenAddress,
        asked: &[ListenAddress],
        tls: Option<&Tls>,
    ) -> Result<(Self, Option<Self>), ServeError> {
        let listener = Self::bind(address, tls).await?;
        let ListenAddress::Tcp(wanted) = address else { return Ok((listener, None)) };
        let other = match wanted.ip() {
            ip if ip == Ipv4Addr::LOCALHOST => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip if ip == Ipv6Addr::LOCALHOST => IpAddr::V4(Ipv4Addr::LOCALHOST),
            _ => return Ok((listener, None)),
        };
        let mut bound = listener;
        let mut attempts = if wanted.port() == 0 { BIND_ATTEMPTS } else { 1 };
        loop {
            let Ok(ListenAddress::Tcp(here)) = bound.address() else { return Ok((bound, None)) };
            let there = ListenAddress::Tcp(SocketAddr::new(other, here.port()));
            if asked.contains(&there) {
                return Ok((bound, None));
            }
            match Self::bind(&there, None).await {
                Ok(listener) => return Ok((bound, Some(listener))),
                // The machine has no such address, so that nobody answers there.
                Err(ServeError::Listen { error, .. }) if is_missing(&error) => return Ok((bound, None)),
                Err(error) => {
                    attempts -= 1;
                    if attempts == 0 {
                        return Err(error);
                    }
                    bound = Self::bind(address, None).await?;
                }
            }
        }
    }

    /// Where it listens; a port that the system chose is known now.
    pub(crate) fn address(&self) -> io::Result<ListenAddress> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(ListenAddress::Tcp),
            Self::Tls(listener, ..) => listener.local_addr().map(ListenAddress::Tls),
            #[cfg(unix)]
            Self::Socket(listener) => Ok(listener.address()),
        }
    }

    /// The names for which it answers.
    pub(crate) fn hosts(&self, public: Option<Arc<str>>, console: Option<Arc<str>>) -> Hosts {
        let (listener, console) = match self {
            Self::Tcp(listener) => (listener, console),
            // No certificate is for the console's name on this machine.
            Self::Tls(listener, ..) => (listener, None),
            #[cfg(unix)]
            Self::Socket(_) => return Hosts::Any,
        };
        if listener.local_addr().is_ok_and(|address| address.ip().is_loopback()) {
            Hosts::Loopback { public, console }
        } else {
            Hosts::Public(public)
        }
    }

    /// Whether nobody between the client and the server can read what is sent.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(..))
    }

    pub(crate) async fn accept(&self) -> io::Result<Connection> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                let _ = stream.set_nodelay(true);
                Ok(Connection::Tcp(stream))
            }
            Self::Tls(listener, tls, handshakes) => {
                let (stream, _) = listener.accept().await?;
                let _ = stream.set_nodelay(true);
                let place = handshakes.lock().unwrap_or_else(PoisonError::into_inner).place();
                Ok(Connection::Tls(stream, tls.clone(), place))
            }
            #[cfg(unix)]
            Self::Socket(listener) => listener.accept().await.map(Connection::Socket),
        }
    }
}

#[cfg(unix)]
mod unix {
    use super::{ListenAddress, ServeError, SocketAccess};
    use std::fs::{self, DirBuilder, Permissions};
    use std::io::{self, ErrorKind};
    use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
    use std::path::{Path, PathBuf};
    use tokio::net::{UnixListener, UnixStream};

    /// A socket whose file is removed at the end.
    pub(crate) struct SocketListener {
        listener: UnixListener,
        path: PathBuf,
        access: SocketAccess,
        /// By which the file is told from one that another server put in its place.
        inode: (u64, u64),
    }

    impl SocketListener {
        pub(crate) fn bind(path: &Path, access: SocketAccess) -> Result<Self, ServeError> {
            let address = || ListenAddress::Socket(path.to_owned(), access);
            let failed = |error| ServeError::Listen { address: address(), error };
            match fs::symlink_metadata(path) {
                Ok(found) if !found.file_type().is_socket() => {
                    return Err(ServeError::NotASocket { address: address() });
                }
                // A server that was killed leaves its socket behind, and nobody answers there.
                Ok(_) => match std::os::unix::net::UnixStream::connect(path) {
                    Ok(_) => return Err(ServeError::InUse { address: address() }),
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                    Err(error) => return Err(failed(error)),
                },
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
            let (listener, inode) = bind_privately(path, access).map_err(failed)?;
            Ok(Self { listener, path: path.to_owned(), access, inode })
        }

        pub(crate) fn address(&self) -> ListenAddress {
            ListenAddress::Socket(self.path.clone(), self.access)
        }

        pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
            self.listener.accept().await.map(|(stream, _)| stream)
        }
    }

    /// Binds in a folder that nobody else can enter and moves the socket to its place with its final mode, so
    /// that at no time others may connect.
    fn bind_privately(path: &Path, access: SocketAccess) -> io::Result<(UnixListener, (u64, u64))> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // A short name, because the path of a socket may have about a hundred bytes.
        let mut random = [0; 4];
        getrandom::fill(&mut random)?;
        let folder = parent.join(format!(".{:08x}", u32::from_ne_bytes(random)));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let private = folder.join("s");
        let bound = (|| {
            let listener = UnixListener::bind(&private)?;
            let mode = match access {
                SocketAccess::Owner => 0o600,
                SocketAccess::Group(group) => {
                    // A service may lack the call, and needs it for another group than its own only.
                    if fs::symlink_metadata(&private)?.gid() != group {
                        chown(&private, None, Some(group))?;
                    }
                    0o660
                }
            };
            fs::set_permissions(&private, Permissions::from_mode(mode))?;
            let found = fs::symlink_metadata(&private)?;
            fs::rename(&private, path)?;
            Ok((listener, (found.dev(), found.ino())))
        })();
        if bound.is_err() {
            let _ = fs::remove_file(&private);
        }
        let _ = fs::remove_dir(&folder);
        bound
    }

    impl Drop for SocketListener {
        fn drop(&mut self) {
            let is_own = |found: fs::Metadata| (found.dev(), found.ino()) == self.inode;
            if fs::symlink_metadata(&self.path).is_ok_and(is_own) {
                let _ = fs::remove_file(&self.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_shown() {
        let tcp: ListenAddress = "127.0.0.1:7171".parse().unwrap();
        assert_eq!(tcp.to_string(), "http://127.0.0.1:7171");
        assert_eq!("http://127.0.0.1:7171".parse(), Ok(tcp));
        let tls: ListenAddress = "https://[::]:443".parse().unwrap();
        assert_eq!(
            (tls.to_string().as_str(), &tls),
            ("https://[::]:443", &ListenAddress::Tls("[::]:443".parse().unwrap()))
        );
        let socket: ListenAddress = "unix:/run/gate.sock".parse().unwrap();
        assert_eq!(socket, ListenAddress::Socket("/run/gate.sock".into(), SocketAccess::Owner));
        assert_eq!(socket.to_string(), "unix:/run/gate.sock");
        for text in [
            "",
            "unix:",
            "127.0.0.1",
            "https://127.0.0.1",
            "https://unix:x",
            "ftp://127.0.0.1:1",
            "gate.example:80",
        ] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }
}
