//! The time: the machine's, or the one that somebody gives.

use ordain_canon::time::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of the machine's clock.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

/// A time as milliseconds since 1970, or as RFC 3339 with a zone.
pub(crate) fn parse_time(text: &str) -> Result<u64, String> {
    // Documents hold no larger integers.
    const MS_MAX: u64 = (1 << 53) - 1;
    let time_ms = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else {
        Timestamp::parse(text).and_then(Timestamp::milliseconds)
    };
    time_ms.filter(|time_ms| (1..=MS_MAX).contains(time_ms)).ok_or_else(|| {
        "expected milliseconds since 1970, or a time with its zone such as 2026-01-05T12:00:00Z".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_both_forms() {
        for (text, expected) in [
            ("1705171290250", 1_705_171_290_250),
            ("1", 1),
            ("2024-01-13T18:41:30.250Z", 1_705_171_290_250),
            ("2024-01-13t18:41:30.2504z", 1_705_171_290_250),
            ("2024-01-13T20:11:30.25+01:30", 1_705_171_290_250),
            ("2024-01-13T13:41:30-05:00", 1_705_171_290_000),
            ("2000-02-29T00:00:00Z", 951_782_400_000),
            ("2100-02-28T23:59:59Z", 4_107_542_399_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ] {
            assert_eq!(parse_time(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "0",
            "-1",
            "+5",
            "1e3",
            "9007199254740992",
            "99999999999999999999",
            "2026-02-30T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-05T12:00:00",
            "2026-01-05T12:00:00.Z",
            "2026-01-05T12:00:00+1:00",
            "2026-01-05T12:00:00+01:60",
            "2026-01-05T12:00:00+0100",
            "2026-01-05 12:00:00Z",
            "2026-01-0+T12:00:00Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00Z",
            "now",
            "ääääääääääääääääääää",
        ] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
