//! The time: the machine's, or the one that somebody gives.

use ordain_workflow::rfc3339;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the machine's clock says.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

/// A time as milliseconds since 1970, or as RFC 3339 with a zone.
pub(crate) fn parse_time(text: &str) -> Result<u64, String> {
    // Documents hold no larger integers.
    const MS_MAX: u64 = (1 << 53) - 1;
    let time_ms = match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().ok(),
        false => milliseconds(text),
    };
    time_ms.filter(|time_ms| (1..=MS_MAX).contains(time_ms)).ok_or_else(|| {
        "expected milliseconds since 1970, or a time with its zone such as 2026-01-05T12:00:00Z".to_owned()
    })
}

fn milliseconds(text: &str) -> Option<u64> {
    const SECONDS_END: usize = 19;
    const DAY_SECONDS: i64 = 86_400;
    let (local, rest) = (text.get(..SECONDS_END)?, text.get(SECONDS_END..)?);
    let number = |from: usize, to: usize| local.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let in_day = (number(11, 13)? * 60 + number(14, 16)?) * 60 + number(17, 19)?;
    // Years are counted from March, so that the leap day is the last of its year.
    let year = year - i64::from(month <= 2);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
    let local_s = u64::try_from(days * DAY_SECONDS + in_day).ok()?;
    // What is written another way, or is no time, does not come out again.
    let written = rfc3339(local_s.checked_mul(1_000)?)?;
    if !written.trim_end_matches('Z').eq_ignore_ascii_case(local) {
        return None;
    }
    let (fraction_ms, zone) = fraction(rest)?;
    let utc_s = i64::try_from(local_s).ok()? - zone_seconds(zone)?;
    u64::try_from(utc_s).ok()?.checked_mul(1_000)?.checked_add(fraction_ms)
}

/// What follows the seconds: a fraction, of which milliseconds count, and the zone.
fn fraction(rest: &str) -> Option<(u64, &str)> {
    let Some(digits) = rest.strip_prefix('.') else { return Some((0, rest)) };
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, zone) = digits.split_at_checked(end)?;
    let padded = format!("{digits:0<3}");
    Some((padded.get(..3)?.parse().ok().filter(|_| end > 0)?, zone))
}

fn zone_seconds(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("Z") {
        return Some(0);
    }
    let digits = |from: usize, to: usize| {
        let part = zone.get(from..to)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i64>().ok())?
    };
    let sign = match zone.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = (digits(1, 3)?, digits(4, 6)?);
    let whole = zone.len() == 6 && zone.get(3..4) == Some(":") && hours < 24 && minutes < 60;
    whole.then_some(sign * (hours * 60 + minutes) * 60)
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
