//! Quotas: how many bytes one principal may put on record in a day. The ledger keeps everything for ever.

use crate::error::ErrorResponse;
use ordain_api::{Problem, ProblemCode};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const DAY: Duration = Duration::from_secs(86_400);

/// The bytes that each principal has sent. They are kept in memory, on each node for itself: a restart begins
/// anew.
pub(crate) struct Quota {
    bytes_per_day: u64,
    used: Mutex<BTreeMap<String, Used>>,
}

/// Bytes that count at a moment. They drain evenly, all of them in a day.
struct Used {
    bytes: f64,
    at: Instant,
}

impl Quota {
    pub(crate) fn new(bytes_per_day: u64) -> Self {
        Self { bytes_per_day, used: Mutex::new(BTreeMap::new()) }
    }

    /// Counts a body that is about to be put on record, or refuses it.
    pub(crate) fn take(&self, principal: &str, bytes: usize) -> Result<(), ErrorResponse> {
        self.take_at(principal, bytes, Instant::now())
    }

    #[expect(clippy::cast_precision_loss, reason = "a quota need not be exact to the byte")]
    fn take_at(&self, principal: &str, bytes: usize, now: Instant) -> Result<(), ErrorResponse> {
        let limit = self.bytes_per_day as f64;
        let per_second = limit / DAY.as_secs_f64();
        let drained = |used: &Used| {
            (used.bytes - now.saturating_duration_since(used.at).as_secs_f64() * per_second).max(0.0)
        };
        let mut all = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.get(principal).map_or(0.0, drained);
        let bytes = before + bytes as f64;
        if bytes > limit {
            let problem = format!("`{principal}` has sent {} bytes, its limit for a day", self.bytes_per_day);
            let hint = "send less, or have the operator raise `ordain serve --bytes-per-day`";
            let wait = Duration::from_secs_f64(((bytes - limit) / per_second).clamp(1.0, DAY.as_secs_f64()));
            let problem = Problem::new(ProblemCode::TooMany, problem).with_hint(hint);
            return Err(ErrorResponse { retry_after: Some(wait.as_secs()), ..problem.into() });
        }
        // Principals are as many as there are tokens.
        all.insert(principal.to_owned(), Used { bytes, at: now });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a14_a_principal_has_so_many_bytes_a_day_and_others_have_their_own() {
        let quota = Quota::new(1_000);
        let start = Instant::now();
        let at = |hours: u64| start + Duration::from_secs(hours * 3_600);
        quota.take_at("greedy", 600, at(0)).unwrap();
        quota.take_at("greedy", 400, at(0)).unwrap();
        let refused = quota.take_at("greedy", 500, at(0)).unwrap_err();
        assert_eq!((refused.problem.status, refused.retry_after), (429, Some(12 * 3_600)));
        // A refused body does not count, and others have their own quota.
        quota.take_at("other", 1_000, at(0)).unwrap();
        assert!(quota.take_at("greedy", 500, at(11)).is_err());
        quota.take_at("greedy", 500, at(12)).unwrap();
        assert!(quota.take_at("greedy", 500, at(12)).is_err());
        quota.take_at("greedy", 1_000, at(48)).unwrap();
    }
}
