//! Times and names of runs.

const DAYS_OF_ERA: u64 = 146_097;
/// From 1 March 0000 to 1 January 1970.
const DAYS_TO_1970: u64 = 719_468;

/// RFC 3339 in UTC, of milliseconds since 1970; nothing after the year 9999, which it cannot write.
pub fn rfc3339(ms: u64) -> Option<String> {
    let [year, month, day, hour, minute, second] = parts(ms)?;
    let fraction = match ms % 1_000 {
        0 => String::new(),
        fraction => format!(".{fraction:03}"),
    };
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

/// The same for people, also of a number that is no time.
pub fn moment(ms: u64) -> String {
    rfc3339(ms).unwrap_or_else(|| format!("{ms} ms"))
}

/// The milliseconds of a time as [`rfc3339`] writes it; nothing for any other text.
pub fn milliseconds(time: &str) -> Option<u64> {
    let number = |from: usize, to: usize| time.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let in_day = (number(11, 13)? * 60 + number(14, 16)?) * 60 + number(17, 19)?;
    let fraction = time.get(19..)?.strip_prefix('.').and_then(|it| it.strip_suffix('Z'));
    let fraction = fraction.map_or(Some(0), |digits| digits.parse::<u64>().ok())?;
    // Counted as in `date`: from March, in eras of 400 years.
    let year = year.checked_sub(u64::from(month <= 2))?;
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day.checked_sub(1)?;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * DAYS_OF_ERA + day_of_era).checked_sub(DAYS_TO_1970)?;
    let ms = (days * 86_400 + in_day) * 1_000 + fraction;
    // What is written another way, or is no time, does not come out again.
    (rfc3339(ms).as_deref() == Some(time)).then_some(ms)
}

/// The name of a run: when it began, so that runs sort by time, and digits that tell two of one second apart.
///
/// ```
/// assert_eq!(ordain_workflow::run_id(1_794_795_300_000, [0x4f, 0x2a, 0x9c]), "run_20261116T021500Z_4f2a9c");
/// ```
pub fn run_id(started_ms: u64, random: [u8; 3]) -> String {
    let [year, month, day, hour, minute, second] = parts(started_ms).unwrap_or_default();
    let [a, b, c] = random;
    format!("run_{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z_{a:02x}{b:02x}{c:02x}")
}

fn parts(ms: u64) -> Option<[u64; 6]> {
    let (days, in_day) = (ms / 86_400_000, ms % 86_400_000);
    let (year, month, day) = date(days);
    let time = [in_day / 3_600_000, in_day / 60_000 % 60, in_day / 1_000 % 60];
    let [hour, minute, second] = time;
    (year <= 9999).then_some([year, month, day, hour, minute, second])
}

/// Year, month and day of a day since 1970. Years are counted from March, so that the leap day is the last of its
/// year, and in eras of 400 years, after which the calendar repeats.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
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
        let divides = |part: u64, year: u64| year.is_multiple_of(part);
        let leap = |year| (divides(4, year) && !divides(100, year)) || divides(400, year);
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..2 * 146_097 {
            assert_eq!(date(days), (year, month, day));
            let length = match month {
                2 => 28 + u64::from(leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (month, day) if day == length => (year, month + 1, 1),
                (month, day) => (year, month, day + 1),
            };
        }
    }
}
