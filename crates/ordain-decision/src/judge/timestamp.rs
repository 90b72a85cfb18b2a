//! RFC 3339 timestamps, and the form that Cedar reads.

/// A moment: seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
}

impl Timestamp {
    /// Reads a timestamp with a zone; anything in doubt is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (date, rest) = (text.get(..10)?, text.get(10..)?);
        let (year, month, day) = (number(date, 0, 4)?, number(date, 5, 2)?, number(date, 8, 2)?);
        if date.get(4..5) != Some("-") || date.get(7..8) != Some("-") {
            return None;
        }
        let rest = rest.strip_prefix(['T', 't'])?;
        let (hour, minute, second) = (number(rest, 0, 2)?, number(rest, 3, 2)?, number(rest, 6, 2)?);
        if rest.get(2..3) != Some(":") || rest.get(5..6) != Some(":") {
            return None;
        }
        let (mut rest, mut nanoseconds) = (rest.get(8..)?, 0);
        if let Some(fraction) = rest.strip_prefix('.') {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if !(1..=9).contains(&digits) {
                return None;
            }
            nanoseconds = format!("{:0<9}", fraction.get(..digits)?).parse().ok()?;
            rest = fraction.get(digits..)?;
        }
        let offset_minutes = match rest {
            "Z" | "z" => 0,
            _ => {
                let sign = match rest.get(..1)? {
                    "+" => 1,
                    "-" => -1,
                    _ => return None,
                };
                let (hours, minutes) = (number(rest, 1, 2)?, number(rest, 4, 2)?);
                if rest.len() != 6 || rest.get(3..4) != Some(":") || hours > 23 || minutes > 59 {
                    return None;
                }
                sign * (hours * 60 + minutes)
            }
        };
        if !(1..=12).contains(&month)
            || day < 1
            || day > days_in(year, month)
            || hour > 23
            || minute > 59
            || second > 59
        {
            return None;
        }
        let minutes = (days_before(year, month, day) * 24 + hour) * 60 + minute - offset_minutes;
        Some(Self { seconds: minutes * 60 + second, nanoseconds })
    }
}

fn number(text: &str, start: usize, length: usize) -> Option<i64> {
    let digits = text.get(start..start + length)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01, by the civil calendar: years start in March, so that leap days come last.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// A time in milliseconds as Cedar's `datetime` reads it.
pub(crate) fn datetime_text(time_ms: u64) -> String {
    let time_ms = i64::try_from(time_ms).unwrap_or(i64::MAX);
    let (days, rest_ms) = (time_ms.div_euclid(86_400_000), time_ms.rem_euclid(86_400_000));
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let (seconds, milliseconds) = (rest_ms / 1000, rest_ms % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_and_what_is_none() {
        let seconds = |text: &str| Timestamp::parse(text).map(|moment| moment.seconds);
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2024-02-29T12:00:00+02:00"), Some(1_709_200_800));
        assert_eq!(seconds("1969-12-31T23:59:59.5Z"), Some(-1));
        assert_eq!(seconds("0001-01-01T00:00:00Z"), Some(-62_135_596_800));
        for text in [
            "2023-02-29T00:00:00Z",
            "2024-01-01",
            "2024-01-01T00:00:00",
            "2024-01-01 00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:60Z",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00+2:00",
            "2024-01-01T00:00:00.1234567890Z",
            "２０24-01-01T00:00:00Z",
            "2024-01-01T00:00:00ZZ",
            "",
            "é",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn written_as_it_is_read() {
        for time_ms in [0, 1_705_171_200_123, 951_782_399_999, 951_782_400_000, 253_402_300_799_999] {
            let text = datetime_text(time_ms);
            let moment = Timestamp::parse(&text).unwrap();
            assert_eq!(
                u64::try_from(moment.seconds).unwrap() * 1000 + u64::from(moment.nanoseconds) / 1_000_000,
                time_ms,
                "{text}"
            );
        }
    }
}
