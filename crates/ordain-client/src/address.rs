//! Where a gate is: a URL, or a unix socket.

use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Where a gate is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// A URL without a slash at its end.
    Url(String),
    /// A unix socket.
    Socket(PathBuf),
}

/// Why an address cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is not a URL.
    #[error("`{0}` is not the URL of a server")]
    NotAUrl(String),
    /// Neither https nor http.
    #[error("`{0}` has a scheme that is not supported")]
    Scheme(String),
    /// Others could read the token.
    #[error("`{0}` would carry the token over the network unencrypted")]
    Unencrypted(String),
    /// The URL names a user. It may hold a password, so it is not shown.
    #[error("the server's URL has a user name in it")]
    UserName,
    /// The socket has no path.
    #[error("`unix:` needs the path of a socket")]
    NoSocket,
    /// The token has characters that no header can carry.
    #[error("the token is not valid")]
    Token,
    /// The file of authorities cannot be read.
    #[error("{path}: {reason}")]
    CertificateFile {
        /// As it was given.
        path: String,
        /// The reason of the system.
        reason: String,
    },
    /// A file of authorities has none, or one that cannot be used.
    #[error("{0}: not a file of certificates in PEM")]
    NoCertificate(String),
    /// There is nobody to trust.
    #[error("this machine has no certificate authorities")]
    NoAuthorities,
}

/// The prefix of a unix socket.
const SOCKET_PREFIX: &str = "unix:";

impl Address {
    /// Reads an address. A token goes to a server only where nobody else can read it: encrypted, or on this machine.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix(SOCKET_PREFIX) {
            return if path.is_empty() { Err(AddressError::NoSocket) } else { Ok(Self::Socket(path.into())) };
        }
        let Ok(parsed) = text.parse::<ureq::http::Uri>() else {
            return Err(AddressError::NotAUrl(text.to_owned()));
        };
        let (Some(scheme), Some(authority)) = (parsed.scheme_str(), parsed.authority()) else {
            return Err(AddressError::NotAUrl(text.to_owned()));
        };
        if authority.as_str().contains('@') {
            return Err(AddressError::UserName);
        }
        let host = authority.host();
        let is_local = host.eq_ignore_ascii_case("localhost")
            || host == "[::1]"
            || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
        match scheme {
            "https" => {}
            "http" if is_local => {}
            "http" => return Err(AddressError::Unencrypted(text.to_owned())),
            _ => return Err(AddressError::Scheme(text.to_owned())),
        }
        Ok(Self::Url(text.trim_end_matches('/').to_owned()))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url),
            Self::Socket(path) => write!(f, "{SOCKET_PREFIX}{}", path.display()),
        }
    }
}

impl AddressError {
    /// The advice for this error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotAUrl(_) => Some("write it as `http://127.0.0.1:7171` or `unix:PATH`"),
            Self::Scheme(_) | Self::Unencrypted(_) => {
                Some("use https, or http to a server on this machine, or `unix:PATH`")
            }
            Self::UserName => Some("leave it out; the token says who asks"),
            Self::NoSocket => Some("write it as `unix:PATH`"),
            Self::NoCertificate(_) => {
                Some("`--cacert` takes the certificate of the authority that signed the server's")
            }
            Self::NoAuthorities => {
                Some("install its package of them (`ca-certificates`), or name a file with `--cacert`")
            }
            Self::Token | Self::CertificateFile { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stays_on_this_machine_or_is_encrypted() {
        for url in [
            "http://127.0.0.1",
            "http://127.0.0.1:7171/",
            "http://127.1.2.3:7171",
            "http://localhost:7171",
            "http://LOCALHOST",
            "http://[::1]:7171",
            "https://gate.example",
            "https://10.0.0.5:7171/ordain",
            "HTTPS://gate.example",
            "unix:gate.sock",
            "unix:/run/ordain/gate.sock",
        ] {
            assert!(Address::parse(url).is_ok(), "{url}");
        }
        for url in [
            "http://gate.example",
            "http://localhost.evil.example",
            "http://localhost@evil.example",
            "http://localhost:7171@evil.example",
            "http://127.0.0.1.evil.example",
            "http://127.0.0.1@evil.example",
            "http://user@127.0.0.1",
            "http://10.0.0.5",
            "http://0.0.0.0:7171",
            "http://[::2]",
            "http://[::ffff:10.0.0.5]",
            "http://127.1",
            "http://0x7f000001",
            "https://user:secret@gate.example",
            "ftp://127.0.0.1",
            "localhost:7171",
            "//localhost",
            "http://",
            "https://",
            "",
            "nonsense",
            "unix:",
        ] {
            assert!(Address::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let error = Address::parse("https://user:secret@gate.example").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
