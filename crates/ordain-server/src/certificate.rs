//! A certificate as a file, and when it ends.

use crate::limits::CERTIFICATE_BYTES_MAX;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::Path;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

/// The certificates of a PEM file, in its order. Other parts of the file are skipped.
pub(crate) fn read_chain(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let mut options = OpenOptions::new();
    options.read(true);
    // Nobody at the other end of a pipe keeps the server waiting.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NONBLOCK);
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    let mut bytes = Vec::new();
    file.take(CERTIFICATE_BYTES_MAX).read_to_end(&mut bytes)?;
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "not a file of certificates in PEM");
    CertificateDer::pem_slice_iter(&bytes).collect::<Result<_, _>>().map_err(wrong)
}

#[cfg(unix)]
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// When a certificate ends, in seconds since 1970 (RFC 5280 §4.1.2.5).
pub(crate) fn ends_at_s(certificate: &[u8]) -> Option<u64> {
    let (certificate, _) = part(certificate, SEQUENCE)?;
    let (mut fields, _) = part(certificate, SEQUENCE)?;
    if let Some((_, rest)) = part(fields, VERSION) {
        fields = rest;
    }
    // Serial number, algorithm and issuer come before.
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        (_, fields) = part(fields, tag)?;
    }
    let (validity, _) = part(fields, SEQUENCE)?;
    let start = [UTC_TIME, GENERALIZED_TIME].into_iter().find_map(|tag| part(validity, tag));
    let (_, rest) = start?;
    match part(rest, UTC_TIME) {
        Some((text, _)) => {
            let century = if number(text.get(..2)?)? < 50 { "20" } else { "19" };
            seconds(&[century.as_bytes(), text].concat())
        }
        None => seconds(part(rest, GENERALIZED_TIME)?.0),
    }
}

/// The content of a part with this tag, and what comes after it.
fn part(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match usize::from(first).checked_sub(0x80) {
        None => (usize::from(first), rest),
        Some(digits @ 1..=3) => {
            let (digits, rest) = rest.split_at_checked(digits)?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        Some(_) => return None,
    };
    (found == tag).then_some(())?;
    rest.split_at_checked(length)
}

/// `YYYYMMDDHHMMSSZ`, the one form that certificates may have.
fn seconds(text: &[u8]) -> Option<u64> {
    (text.len() == 15 && text.last() == Some(&b'Z')).then_some(())?;
    let at = |from: usize, to: usize| number(text.get(from..to)?);
    let (year, month, day) = (at(0, 4)?, at(4, 6)?, at(6, 8)?);
    let (hour, minute, second) = (at(8, 10)?, at(10, 12)?, at(12, 14)?);
    let is_date = year >= 1970 && (1..=12).contains(&month) && (1..=31).contains(&day);
    (is_date && hour < 24 && minute < 60 && second < 61).then_some(())?;
    // Days since 1970, with years that begin in March.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let days = days.checked_sub(DAYS_TO_1970)?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

/// Days from the first of March of the year 0.
const DAYS_TO_1970: u64 = 719_468;

fn number(digits: &[u8]) -> Option<u64> {
    digits
        .iter()
        .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_seconds() {
        for (text, expected) in [
            ("19700101000000Z", Some(0)),
            ("20000229235959Z", Some(951_868_799)),
            ("20261119120000Z", Some(1_795_089_600)),
            ("99991231235959Z", Some(253_402_300_799)),
            ("19691231235959Z", None),
            ("20261319120000Z", None),
            ("20261119120000+", None),
            ("2026111912000Z", None),
            ("202611191200 0Z", None),
        ] {
            assert_eq!(seconds(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn the_end_of_a_certificate_is_read_and_damage_is_none() {
        let authority = ordain_testkit::Authority::new("tests");
        for (year, expected) in [(2049, 2_493_072_000), (2050, 2_524_608_000)] {
            let signed = authority.sign_in(&["gate.example"], 2026..year);
            let der = CertificateDer::from_pem_slice(signed.certificate.as_bytes()).unwrap();
            assert_eq!(ends_at_s(&der), Some(expected), "{year}");
            // A changed byte gives another date or none, and never a panic.
            for length in 0..der.len().min(200) {
                let _ = ends_at_s(&der[..length]);
                let mut damaged = der.to_vec();
                damaged[length] ^= 0xff;
                let _ = ends_at_s(&damaged);
            }
            assert_eq!(ends_at_s(&der[..60]), None);
        }
    }
}
