//! Milliseconds as people read them.

/// A moment: RFC 3339 in UTC, and the number that the document has.
pub(super) fn instant(ms: u64) -> String {
    match rfc3339(ms) {
        Some(text) => format!("{text} ({ms} ms)"),
        None => format!("{ms} ms"),
    }
}

/// How long something takes, in the largest unit that divides it.
pub(super) fn duration(ms: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)];
    match UNITS.into_iter().find(|(_, unit)| ms > 0 && ms.is_multiple_of(*unit)) {
        Some((name, unit)) => format!("{} {name} ({ms} ms)", ms / unit),
        None => format!("{ms} ms"),
    }
}

/// Nothing after the year 9999, which RFC 3339 cannot write.
pub(crate) fn rfc3339(ms: u64) -> Option<String> {
    let (days, in_day) = (ms / 86_400_000, ms % 86_400_000);
    let (year, month, day) = date(days);
    if year > 9999 {
        return None;
    }
    let (hour, minute, second) = (in_day / 3_600_000, in_day / 60_000 % 60, in_day / 1_000 % 60);
    let fraction = match ms % 1_000 {
        0 => String::new(),
        fraction => format!(".{fraction:03}"),
    };
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

/// Year, month and day of a day since 1970. Years are counted from March, so that the leap day is the last of its
/// year, and in eras of 400 years, after which the calendar repeats.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_ERA: u64 = 146_097;
    /// From 1 March 0000 to 1 January 1970.
    const DAYS_TO_1970: u64 = 719_468;
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
        assert_eq!(instant(u64::MAX), format!("{} ms", u64::MAX));
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

    #[test]
    fn durations() {
        let shown = [0, 250, 30_000, 90_000, 300_000, 7_200_000, 172_800_000].map(duration);
        assert_eq!(
            shown,
            [
                "0 ms",
                "250 ms",
                "30 s (30000 ms)",
                "90 s (90000 ms)",
                "5 min (300000 ms)",
                "2 h (7200000 ms)",
                "2 d (172800000 ms)"
            ]
        );
    }
}
