//! The time. It never goes back: what the ledger has seen has happened.

use super::error::GateError;
use super::limits::CLOCKS_APART_MS_MAX;
use ordain_canon::time::moment;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the time comes from.
#[derive(Clone)]
pub struct Clock {
    source: Arc<dyn Fn() -> u64 + Send + Sync>,
    seen_ms: Arc<AtomicU64>,
}

impl Clock {
    /// The machine's.
    pub fn system() -> Self {
        Self::of(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// Any other.
    pub fn of(source: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self { source: Arc::new(source), seen_ms: Arc::new(AtomicU64::new(1)) }
    }

    /// Something happened then, so it is at least that late.
    pub(super) fn saw(&self, time_ms: u64) {
        self.seen_ms.fetch_max(time_ms, Ordering::AcqRel);
    }

    /// The time in milliseconds since 1970, never before a time that was given or seen. A clock that was set
    /// back does not bring a permit back to life.
    pub(super) fn now_ms(&self) -> u64 {
        let now_ms = (self.source)();
        self.seen_ms.fetch_max(now_ms, Ordering::AcqRel).max(now_ms)
    }

    /// That nothing happens long before what stands at the end of the ledger. Which of the two clocks is
    /// wrong nobody can tell from here, so that nothing is written.
    pub(super) fn check(&self, last_ms: u64) -> Result<(), GateError> {
        let here_ms = (self.source)();
        if here_ms.saturating_add(CLOCKS_APART_MS_MAX) >= last_ms {
            return Ok(());
        }
        Err(GateError::Unavailable(format!(
            "it is {} by this machine's clock, and the last entry of the ledger is of {}; more than {} s apart, nothing is written: one of the clocks of this store is wrong",
            moment(here_ms),
            moment(last_ms),
            CLOCKS_APART_MS_MAX / 1_000
        )))
    }

    /// How far the source is behind what was seen.
    pub(super) fn behind_ms(&self) -> u64 {
        self.seen_ms.load(Ordering::Acquire).saturating_sub((self.source)())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_stands_still() {
        let hands = Arc::new(AtomicU64::new(1_000));
        let shown = hands.clone();
        let clock = Clock::of(move || shown.load(Ordering::Relaxed));
        assert_eq!(clock.now_ms(), 1_000);
        hands.store(400, Ordering::Relaxed);
        assert_eq!((clock.now_ms(), clock.behind_ms()), (1_000, 600));
        clock.saw(5_000);
        assert_eq!(clock.now_ms(), 5_000);
        hands.store(6_000, Ordering::Relaxed);
        assert_eq!((clock.now_ms(), clock.behind_ms()), (6_000, 0));
    }
}
