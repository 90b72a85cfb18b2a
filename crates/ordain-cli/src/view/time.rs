//! Milliseconds as people read them.

use ordain_canon::time::rfc3339;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        assert_eq!(instant(951_782_400_000), "2000-02-29T00:00:00Z (951782400000 ms)");
        assert_eq!(instant(u64::MAX), format!("{} ms", u64::MAX));
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
