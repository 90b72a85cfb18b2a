//! The calendar: RFC 3339 times and milliseconds since 1970.

const MS_PER_DAY: i64 = 86_400_000;
const DAYS_PER_ERA: i64 = 146_097;
/// From 1 March 0000 to 1 January 1970.
const DAYS_TO_1970: i64 = 719_468;

/// A point in time: seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Timestamp {
    /// Seconds since 1970; negative before it.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// Reads an RFC 3339 time with a zone. Anything in doubt is rejected.
    pub fn parse(text: &str) -> Option<Self> {
        let date = text.get(..10)?;
        let rest = text.get(10..)?;
        let (year, month, day) = (number(date, 0, 4)?, number(date, 5, 2)?, number(date, 8, 2)?);
        if date.get(4..5) != Some("-") || date.get(7..8) != Some("-") {
            return None;
        }
        let rest = rest.strip_prefix(['T', 't'])?;
        let (hour, minute, second) = (number(rest, 0, 2)?, number(rest, 3, 2)?, number(rest, 6, 2)?);
        if rest.get(2..3) != Some(":") || rest.get(5..6) != Some(":") {
            return None;
        }
        let (nanoseconds, zone) = fraction(rest.get(8..)?)?;
        let offset_minutes = zone_minutes(zone)?;
        let in_range = (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day)
            && hour <= 23
            && minute <= 59
            && second <= 59;
        if !in_range {
            return None;
        }
        let minutes = (days_before(year, month, day) * 24 + hour) * 60 + minute - offset_minutes;
        Some(Self { seconds: minutes * 60 + second, nanoseconds })
    }

    /// Whole milliseconds since 1970; `None` before 1970.
    pub fn milliseconds(self) -> Option<u64> {
        let seconds = u64::try_from(self.seconds).ok()?;
        seconds.checked_mul(1_000)?.checked_add(u64::from(self.nanoseconds / 1_000_000))
    }
}

/// RFC 3339 in UTC; `None` after the year 9999, which RFC 3339 cannot write. Whole seconds have no fraction.
pub fn rfc3339(ms: u64) -> Option<String> {
    let date_time = seconds_text(ms)?;
    Some(match ms % 1_000 {
        0 => format!("{date_time}Z"),
        fraction => format!("{date_time}.{fraction:03}Z"),
    })
}

/// RFC 3339 in UTC, always with milliseconds.
pub fn rfc3339_millis(ms: u64) -> Option<String> {
    Some(format!("{}.{:03}Z", seconds_text(ms)?, ms % 1_000))
}

/// The same for messages: a number that is not a time is printed as milliseconds.
pub fn moment(ms: u64) -> String {
    rfc3339(ms).unwrap_or_else(|| format!("{ms} ms"))
}

/// The milliseconds of a time exactly as [`rfc3339`] writes it; `None` for any other text.
pub fn milliseconds(time: &str) -> Option<u64> {
    let ms = Timestamp::parse(time)?.milliseconds()?;
    (rfc3339(ms).as_deref() == Some(time)).then_some(ms)
}

/// Date and time without zone and fraction.
fn seconds_text(ms: u64) -> Option<String> {
    let ms = i64::try_from(ms).ok()?;
    let (year, month, day) = date(ms / MS_PER_DAY);
    let in_day = ms % MS_PER_DAY;
    let (hour, minute, second) = (in_day / 3_600_000, in_day / 60_000 % 60, in_day / 1_000 % 60);
    (year <= 9999).then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"))
}

fn number(text: &str, start: usize, length: usize) -> Option<i64> {
    let digits = text.get(start..start + length)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Nanoseconds after the seconds, and the zone that follows.
fn fraction(text: &str) -> Option<(u32, &str)> {
    let Some(fraction) = text.strip_prefix('.') else { return Some((0, text)) };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=9).contains(&digits) {
        return None;
    }
    let nanoseconds = format!("{:0<9}", fraction.get(..digits)?).parse().ok()?;
    Some((nanoseconds, fraction.get(digits..)?))
}

fn zone_minutes(zone: &str) -> Option<i64> {
    let sign = match zone.get(..1)? {
        "Z" | "z" if zone.len() == 1 => return Some(0),
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = (number(zone, 1, 2)?, number(zone, 4, 2)?);
    let valid = zone.len() == 6 && zone.get(3..4) == Some(":") && hours <= 23 && minutes <= 59;
    valid.then_some(sign * (hours * 60 + minutes))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01. Years are counted from March, so that the leap day is the last of its year, and in eras of 400
/// years, after which the calendar repeats.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970
}

/// Year, month and day of a day since 1970; the inverse of [`days_before`].
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values from `date -u -d @N`.
    #[test]
    fn moments() {
        for (ms, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_705_171_290_250, "2024-01-13T18:41:30.250Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(rfc3339(ms).as_deref(), Some(expected));
        }
        assert_eq!(rfc3339(253_402_300_800_000), None);
    }

    #[test]
    fn times_can_be_read_again() {
        for ms in (0..).map(|step: u64| step * 7_654_321_987).take_while(|ms| *ms < 253_402_300_799_999) {
            assert_eq!(milliseconds(&rfc3339(ms).unwrap()), Some(ms));
        }
        for bad in [
            "",
            "2026-02-30T00:00:00Z",
            "2026-01-05T12:00:00.5Z",
            "2026-01-05T12:00:00",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(milliseconds(bad), None, "{bad}");
        }
    }

    /// Every day of two eras follows the one before.
    #[test]
    fn days_follow_each_other() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..2 * 146_097 {
            assert_eq!(date(days), (year, month, day));
            assert_eq!(days_before(year, month, day), days);
            let length = days_in(year, month);
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (month, day) if day == length => (year, month + 1, 1),
                (month, day) => (year, month, day + 1),
            };
        }
    }

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
            let text = rfc3339_millis(time_ms).unwrap();
            let moment = Timestamp::parse(&text).unwrap();
            assert_eq!(
                u64::try_from(moment.seconds).unwrap() * 1000 + u64::from(moment.nanoseconds) / 1_000_000,
                time_ms,
                "{text}"
            );
        }
    }
}
