//! The certificate authorities that a client trusts, and the words for a TLS connection that fails.

use crate::address::AddressError;
use ordain_canon::time::moment;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{AlertDescription, CertificateError, Error as TlsError, RootCertStore};
use std::path::PathBuf;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// The certificate authorities that a client trusts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Authorities {
    /// Those of this machine.
    #[default]
    System,
    /// Those of a file in PEM, and no others.
    File(PathBuf),
}

impl Authorities {
    /// Reads them.
    pub(crate) fn settings(&self) -> Result<TlsConfig, AddressError> {
        let certificates = match self {
            Self::System => rustls_native_certs::load_native_certs().certs,
            Self::File(path) => {
                let path_text = || path.display().to_string();
                let bytes = std::fs::read(path).map_err(|error| AddressError::CertificateFile {
                    path: path_text(),
                    reason: error.to_string(),
                })?;
                let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
                let read = read.map_err(|_| AddressError::NoCertificate(path_text()))?;
                // A file that is half understood would trust fewer authorities than its owner thinks.
                let mut usable = RootCertStore::empty();
                let all = read.iter().all(|certificate| usable.add(certificate.clone()).is_ok());
                if !all || read.is_empty() {
                    return Err(AddressError::NoCertificate(path_text()));
                }
                read
            }
        };
        if certificates.is_empty() {
            return Err(AddressError::NoAuthorities);
        }
        let roots = certificates.iter().map(|certificate| Certificate::from_der(certificate).to_owned());
        Ok(TlsConfig::builder().root_certs(RootCerts::from(roots)).build())
    }
}

/// The fault of a TLS connection in words, and the advice.
pub(crate) fn fault(error: &ureq::Error, authorities: &Authorities) -> Option<(String, String)> {
    let found = match error {
        ureq::Error::Rustls(found) => found,
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref::<TlsError>()?,
        _ => return None,
    };
    let (reason, hint) = match found {
        TlsError::InvalidCertificate(fault) => return Some(certificate_fault(fault, authorities)),
        TlsError::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => {
            ("the answer is not TLS".to_owned(), "the server does not speak TLS; is it http://?")
        }
        TlsError::AlertReceived(AlertDescription::ProtocolVersion)
        | TlsError::PeerIncompatible(_)
        | TlsError::AlertReceived(AlertDescription::HandshakeFailure) => (
            "the server and this program have no kind of TLS in common".to_owned(),
            "both need TLS 1.2 or 1.3",
        ),
        _ => return None,
    };
    Some((reason, hint.to_owned()))
}

fn certificate_fault(fault: &CertificateError, authorities: &Authorities) -> (String, String) {
    let date = |time: &UnixTime| moment(time.as_secs().saturating_mul(1_000));
    let clock = "check the clock of this machine".to_owned();
    let renew = "the server needs a new certificate, if the clock of this machine is right".to_owned();
    match fault {
        CertificateError::UnknownIssuer => {
            let hint = match authorities {
                Authorities::System => "name the authority that signed it with `--cacert FILE`".to_owned(),
                Authorities::File(path) => {
                    format!("the authority that signed it is not in `{}`", path.display())
                }
            };
            ("its certificate has an unknown issuer".to_owned(), hint)
        }
        CertificateError::Expired => ("its certificate has expired".to_owned(), renew),
        CertificateError::ExpiredContext { not_after, .. } => {
            (format!("its certificate expired at {}", date(not_after)), renew)
        }
        CertificateError::NotValidYet => ("its certificate is not valid yet".to_owned(), clock),
        CertificateError::NotValidYetContext { not_before, .. } => {
            (format!("its certificate is not valid before {}", date(not_before)), clock)
        }
        CertificateError::NotValidForName => (
            "its certificate is for another name".to_owned(),
            "use the server's name as its certificate has it".to_owned(),
        ),
        CertificateError::NotValidForNameContext { expected, presented } => {
            wrong_name(&expected.to_str(), presented)
        }
        other => (
            format!("its certificate is refused: {}", words(&format!("{other:?}"))),
            "the certificate must be for this name, in date, and signed by a trusted authority".to_owned(),
        ),
    }
}

fn wrong_name(expected: &str, presented: &[String]) -> (String, String) {
    let names: Vec<&str> = presented.iter().filter_map(|name| presented_name(name)).collect();
    if names.is_empty() {
        let hint = "the server needs a certificate with its name (subjectAltName)";
        return ("its certificate names no server".to_owned(), hint.to_owned());
    }
    let known = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let hint = match names.iter().find(|name| !name.contains('*')) {
        Some(name) => format!("use a name of the certificate, as in https://{name}"),
        None => "use a name that the certificate covers".to_owned(),
    };
    (format!("its certificate is for {known}, not for `{expected}`"), hint)
}

/// A name in `DnsName("gate.example")`, as the library lists it.
fn presented_name(listed: &str) -> Option<&str> {
    let name = listed.strip_prefix("DnsName(\"").and_then(|rest| rest.strip_suffix("\")"));
    name.or_else(|| listed.strip_prefix("IpAddress(").and_then(|rest| rest.strip_suffix(')')))
}

/// The innermost name of a fault that the library has no text for, as words: `Other(OtherError(CaUsedAsEndEntity))`.
fn words(fault: &str) -> String {
    let mut rest = fault;
    while let Some(inner) = ["Other(", "OtherError("].iter().find_map(|name| rest.strip_prefix(name)) {
        rest = inner;
    }
    let name = rest.chars().take_while(char::is_ascii_alphanumeric);
    let mut words = String::new();
    for character in name {
        if character.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(character.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::ServerName;
    use std::time::Duration;

    #[test]
    fn faults_of_certificates_are_words_with_advice() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let name = |name: &str| ServerName::try_from(name.to_owned()).unwrap();
        let presented = ["DnsName(\"*.gate.example\")", "IpAddress(10.0.0.5)", "DirectoryName"];
        let file = Authorities::File("/etc/ca.pem".into());
        for (fault, authorities, reason, hint) in [
            (
                CertificateError::UnknownIssuer,
                &Authorities::System,
                "its certificate has an unknown issuer",
                "`--cacert FILE`",
            ),
            (
                CertificateError::UnknownIssuer,
                &file,
                "its certificate has an unknown issuer",
                "is not in `/etc/ca.pem`",
            ),
            (
                CertificateError::ExpiredContext { time: at(1_800_000_000), not_after: at(1_700_000_000) },
                &file,
                "its certificate expired at 2023-11-14T22:13:20Z",
                "needs a new certificate",
            ),
            (
                CertificateError::NotValidYetContext { time: at(0), not_before: at(1_700_000_000) },
                &file,
                "its certificate is not valid before 2023-11-14T22:13:20Z",
                "check the clock",
            ),
            (
                CertificateError::NotValidForNameContext {
                    expected: name("localhost"),
                    presented: presented.map(str::to_owned).into(),
                },
                &file,
                "its certificate is for `*.gate.example`, `10.0.0.5`, not for `localhost`",
                "https://10.0.0.5",
            ),
            (
                CertificateError::NotValidForNameContext {
                    expected: name("10.0.0.5"),
                    presented: Vec::new(),
                },
                &file,
                "its certificate names no server",
                "subjectAltName",
            ),
            (
                CertificateError::BadSignature,
                &file,
                "its certificate is refused: bad signature",
                "signed by a trusted authority",
            ),
        ] {
            let said = certificate_fault(&fault, authorities);
            assert_eq!(said.0, reason);
            assert!(said.1.contains(hint), "{said:?}");
        }
        assert_eq!(words("Other(OtherError(CaUsedAsEndEntity))"), "ca used as end entity");
    }

    #[test]
    fn a_file_without_certificates_trusts_nobody() {
        let folder = std::env::temp_dir().join(format!("ordain-authorities-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("ca.pem");
        let settings = || Authorities::File(path.clone()).settings().err();
        assert!(matches!(settings(), Some(AddressError::CertificateFile { .. })));
        for text in [
            "",
            "no PEM at all",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\nAAAA\n",
        ] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(settings(), Some(AddressError::NoCertificate(_))), "{text}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
