//! When to try again.

use hyper::HeaderMap;
use hyper::header::RETRY_AFTER;
use std::time::{Duration, SystemTime};

/// The wait before a retry, where `retries` went before it: it doubles each time, and varies by a fifth, so that many
/// callers who were refused together do not come back together.
pub(crate) fn backoff(first: Duration, retries: u32) -> Duration {
    vary(first.saturating_mul(2_u32.saturating_pow(retries)), getrandom::u32().unwrap_or(u32::MAX / 2))
}

/// Four fifths to six fifths of a time.
fn vary(time: Duration, random: u32) -> Duration {
    time.mul_f64(0.8 + 0.4 * f64::from(random) / f64::from(u32::MAX))
}

/// The value of `Retry-After`: seconds, or a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    // Some providers and proxies give fractions, which the standard does not know.
    if let Some(seconds) =
        text.parse::<f64>().ok().filter(|seconds| (0.0..=f64::from(u32::MAX)).contains(seconds))
    {
        return Some(Duration::from_secs_f64(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn waits_double_and_vary_by_a_fifth() {
        let first = Duration::from_millis(250);
        assert_eq!(vary(first, 0), Duration::from_millis(200));
        assert_eq!(vary(first, u32::MAX), Duration::from_millis(300));
        for (retries, range) in [(0, 200..=300), (1, 400..=600), (3, 1600..=2400)] {
            for _ in 0..100 {
                let wait = backoff(first, retries).as_millis();
                assert!(range.contains(&wait), "{wait} after {retries}");
            }
        }
        assert!(backoff(first, u32::MAX) >= Duration::from_secs(1));
    }

    #[test]
    fn a_wish_is_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Mon, 16 Nov 2026 15:00:00 GMT").unwrap();
        let parse = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_str(text).unwrap());
            retry_after(&headers, now)
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(parse("0"), seconds(0));
        assert_eq!(parse(" 120 "), seconds(120));
        assert_eq!(parse("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(parse("Mon, 16 Nov 2026 15:00:30 GMT"), seconds(30));
        assert_eq!(parse("Mon, 16 Nov 2026 14:00:00 GMT"), seconds(0));
        for text in ["", "soon", "-1", "NaN", "inf", "1e300", "99999999999999999999"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
