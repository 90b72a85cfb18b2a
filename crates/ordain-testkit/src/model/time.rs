//! RFC 3339 timestamps, by hand.

/// Days since 1970-01-01.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let of_years: i64 = match year >= 1970 {
        true => (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum(),
        false => -(year..1970).map(|year| if leap(year) { 366 } else { 365 }).sum::<i64>(),
    };
    let of_months: i64 = (1..month).map(|month| days_of_month(year, month)).sum();
    of_years + of_months + day - 1
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The instant: seconds since 1970, and the digits of the fraction without zeros at the end. Two such pairs compare as
/// their instants do.
pub(super) fn instant(text: &str) -> Option<(i64, String)> {
    let (date, rest) = text.split_at_checked(10)?;
    let (mark, rest) = rest.split_at_checked(1)?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let (year, month, day) = match date.split('-').collect::<Vec<_>>().as_slice() {
        [year, month, day] => (digits(year, 4)?, digits(month, 2)?, digits(day, 2)?),
        _ => return None,
    };
    let (hour, minute, second) = match clock.split(':').collect::<Vec<_>>().as_slice() {
        [hour, minute, second] => (digits(hour, 2)?, digits(minute, 2)?, digits(second, 2)?),
        _ => return None,
    };
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
        None => ("0", rest),
    };
    let zone_seconds = match zone {
        "Z" | "z" => 0,
        _ => {
            let (sign, zone) = zone.split_at_checked(1)?;
            let (hours, minutes) = zone.split_once(':')?;
            let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            match sign {
                "+" => hours * 3600 + minutes * 60,
                "-" => -(hours * 3600 + minutes * 60),
                _ => return None,
            }
        }
    };
    let real = matches!(mark, "T" | "t")
        && (1..=12).contains(&month)
        && (1..=days_of_month(year, month)).contains(&day)
        && hour <= 23
        && minute <= 59
        && second <= 60
        && !fraction.is_empty();
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - zone_seconds;
    real.then(|| (seconds, fraction.trim_end_matches('0').to_owned()))
}

fn digits(text: &str, count: usize) -> Option<i64> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// The instant as Cedar's `datetime` writes it.
pub(super) fn cedar_datetime(now_ms: i64) -> String {
    let (day, mut left_ms) = (now_ms.div_euclid(86_400_000), now_ms.rem_euclid(86_400_000));
    let mut year = 1970;
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    while days(year, 1, 1) > day {
        year -= 1;
    }
    let mut month = 1;
    while month < 12 && days(year, month + 1, 1) <= day {
        month += 1;
    }
    let day = day - days(year, month, 1) + 1;
    let mut take = |unit_ms: i64| {
        let count = left_ms / unit_ms;
        left_ms %= unit_ms;
        count
    };
    let (hour, minute, second) = (take(3_600_000), take(60_000), take(1_000));
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{left_ms:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_instants() {
        assert_eq!(instant("1970-01-01T00:00:00Z"), Some((0, String::new())));
        assert_eq!(instant("2024-01-13T18:40:00.500Z"), Some((1_705_171_200, "5".into())));
        assert_eq!(instant("2024-01-13T20:40:00.5+02:00"), Some((1_705_171_200, "5".into())));
        assert_eq!(instant("1969-12-31T23:59:59z"), Some((-1, String::new())));
        for wrong in ["2024-01-13", "2024-01-13T18:40:00", "2024-02-30T00:00:00Z", "2024-01-13T18:40:00.Z"] {
            assert_eq!(instant(wrong), None, "{wrong}");
        }
        assert_eq!(cedar_datetime(1_705_171_200_123), "2024-01-13T18:40:00.123Z");
        assert_eq!(cedar_datetime(951_782_400_000), "2000-02-29T00:00:00.000Z");
    }
}
