//! Certificate authorities of tests, and the certificates that they sign.

#![allow(clippy::expect_used, reason = "a test may fail loudly")]

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    date_time_ymd,
};
use std::ops::Range;

/// A certificate authority with a key of its own.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate of a server, and its key, both in PEM.
pub struct ServerCertificate {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl Authority {
    /// A new authority of this name.
    pub fn new(name: &str) -> Self {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = named(name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(parameters, key).expect("an authority"))
    }

    /// Its own certificate in PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a server with these names, valid for a long time.
    pub fn sign(&self, names: &[&str]) -> ServerCertificate {
        self.sign_in(names, 2000..2100)
    }

    /// A certificate that is valid from the start of one year to the start of another.
    pub fn sign_in(&self, names: &[&str], years: Range<i32>) -> ServerCertificate {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = CertificateParams::new(names).expect("names");
        parameters.distinguished_name = DistinguishedName::new();
        parameters.not_before = date_time_ymd(years.start, 1, 1);
        parameters.not_after = date_time_ymd(years.end, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let signed = parameters.signed_by(&key, &self.0).expect("a certificate");
        ServerCertificate { certificate: signed.pem(), key: key.serialize_pem() }
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}
