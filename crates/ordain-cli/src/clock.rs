//! The time: the machine's, or the one that somebody gives.

use crate::display;
use ordain_canon::time::{Timestamp, moment};
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of the machine's clock.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

/// A time of the past: a date, a time with its zone, or how long ago, such as `2h`.
pub(crate) fn parse_past(text: &str) -> Result<u64, String> {
    past(text, now_ms()).ok_or_else(|| {
        "expected a date such as 2026-01-05, a time such as 2026-01-05T12:00:00Z, or how long ago, such as 90m, 2h or 7d"
            .to_owned()
    })
}

fn past(text: &str, now_ms: u64) -> Option<u64> {
    if let Some(ago) = span(text) {
        return Some(now_ms.saturating_sub(ago));
    }
    // A date begins at midnight in UTC.
    parse_time(text).or_else(|_| parse_time(&format!("{text}T00:00:00Z"))).ok()
}

/// How long something lasts, such as `30m`.
pub(crate) fn parse_span(text: &str) -> Result<u64, String> {
    let wrong = || "expected how long, such as 30m, 2h or 3d".to_owned();
    span(text).filter(|span_ms| *span_ms > 0).ok_or_else(wrong)
}

/// A number with a unit of time.
fn span(text: &str) -> Option<u64> {
    let units = [("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];
    let ms =
        |(unit, ms): &(&str, u64)| Some(text.strip_suffix(unit)?.parse::<u64>().ok()?.saturating_mul(*ms));
    units.iter().find_map(ms)
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

/// For a list: how long ago something was, or until it is; its date where that was asked for.
pub(crate) fn when(ms: u64) -> String {
    if display::absolute() { date(ms) } else { relative(ms, now_ms()) }
}

/// The same with its date, where there is room for both.
pub(crate) fn when_exactly(ms: u64) -> String {
    if display::absolute() { date(ms) } else { format!("{} ({})", relative(ms, now_ms()), date(ms)) }
}

/// The second of a time. Documents and `--json` have its milliseconds.
pub(crate) fn date(ms: u64) -> String {
    moment(ms - ms % 1_000)
}

/// `3 min ago`, `in 2 h`.
pub(crate) fn relative(ms: u64, now_ms: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)];
    let apart = ms.abs_diff(now_ms);
    let Some((unit, size)) = UNITS.into_iter().find(|(_, size)| apart >= *size) else {
        return if ms > now_ms { "in less than 1 s".to_owned() } else { "just now".to_owned() };
    };
    let number = apart / size;
    if ms > now_ms { format!("in {number} {unit}") } else { format!("{number} {unit} ago") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_relative_to_now() {
        const NOW: u64 = 1_705_171_290_250;
        for (ms, expected) in [
            (NOW, "just now"),
            (NOW - 999, "just now"),
            (NOW + 999, "in less than 1 s"),
            (NOW - 1_000, "1 s ago"),
            (NOW - 59_999, "59 s ago"),
            (NOW + 60_000, "in 1 min"),
            (NOW - 3_599_999, "59 min ago"),
            (NOW + 86_399_999, "in 23 h"),
            (NOW - 86_400_000 * 400, "400 d ago"),
            (0, "19735 d ago"),
            (u64::MAX, "in 213503962598 d"),
        ] {
            assert_eq!(relative(ms, NOW), expected, "{ms}");
        }
    }

    #[test]
    fn times_of_the_past() {
        let now_ms = 1_705_171_290_250;
        for (text, expected) in [
            ("90m", Some(now_ms - 5_400_000)),
            ("2h", Some(now_ms - 7_200_000)),
            ("7d", Some(now_ms - 604_800_000)),
            ("9999999999999w", Some(0)),
            ("2000-02-29", Some(951_782_400_000)),
            ("2000-02-29T00:00:00Z", Some(951_782_400_000)),
            ("951782400000", Some(951_782_400_000)),
            ("99999999999999999999w", None),
            ("2h30m", None),
            ("h", None),
            ("yesterday", None),
            ("2000-13-01", None),
        ] {
            assert_eq!(past(text, now_ms), expected, "{text}");
        }
    }

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
