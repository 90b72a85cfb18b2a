//! A key that stays unlocked for a while: a few signatures, a few minutes.

use crate::key_file::UnlockedKey;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// How long a key stays unlocked at most.
pub const RECENT_MS_MAX: u64 = 15 * 60 * 1_000;
/// How many signatures it makes in that time at most.
pub const RECENT_SIGNATURES_MAX: u32 = 20;

/// An unlocked key that is wiped when its time or its signatures are used up.
pub struct RecentKey {
    key: Option<UnlockedKey>,
    session_id: String,
    started_at_ms: u64,
    left: u32,
}

impl RecentKey {
    /// From now on. Times are those of [`since_boot_ms`].
    pub fn new(key: UnlockedKey, now_ms: u64) -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
        let session_id = format!("{:032x}", u128::from_be_bytes(bytes));
        Ok(Self { key: Some(key), session_id, started_at_ms: now_ms, left: RECENT_SIGNATURES_MAX })
    }

    /// By which its signatures say that they belong together.
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// How long it has been unlocked.
    pub fn age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.started_at_ms)
    }

    /// Which signature the next one is, counted from 1.
    pub fn next_number(&self) -> u32 {
        RECENT_SIGNATURES_MAX - self.left + 1
    }

    /// How long it will still sign; nothing if it will not.
    pub fn remaining(&self, now_ms: u64) -> Option<Duration> {
        let left_ms = self.started_at_ms.saturating_add(RECENT_MS_MAX).saturating_sub(now_ms);
        (self.key.is_some() && left_ms > 0 && self.left > 0).then(|| Duration::from_millis(left_ms))
    }

    /// How many signatures it will still make.
    pub fn signatures_left(&self) -> u32 {
        self.left
    }

    /// Signs, or wipes the key because it is over.
    pub fn sign(&mut self, message: &[u8], now_ms: u64) -> Option<[u8; 64]> {
        if self.remaining(now_ms).is_none() {
            self.key = None;
        }
        let signature = self.key.as_ref()?.sign(message);
        self.left -= 1;
        if self.left == 0 {
            self.key = None;
        }
        Some(signature)
    }
}

#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// A clock that nobody sets, and that goes on while the machine sleeps.
pub fn since_boot_ms() -> u64 {
    let time = clock_gettime(CLOCK);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    seconds.saturating_mul(1_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or_default() / 1_000_000)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn it_signs_twenty_times_and_for_fifteen_minutes() {
        let mut key = RecentKey::new(UnlockedKey::of_seed([7; 32]), 1_000).unwrap();
        for left in (0..RECENT_SIGNATURES_MAX).rev() {
            assert_eq!(key.next_number(), RECENT_SIGNATURES_MAX - left);
            assert!(key.sign(b"yes", 1_000).is_some());
            assert_eq!(key.signatures_left(), left);
        }
        assert_eq!((key.sign(b"yes", 1_000), key.remaining(1_000)), (None, None));

        let other =
            std::mem::replace(&mut key, RecentKey::new(UnlockedKey::of_seed([7; 32]), 1_000).unwrap());
        assert_ne!(key.session_id(), other.session_id());
        assert!(key.sign(b"yes", 1_000 + RECENT_MS_MAX - 1).is_some());
        assert_eq!(key.sign(b"yes", 1_000 + RECENT_MS_MAX), None);
        // It is gone for good, whatever the clock says then.
        assert_eq!(key.sign(b"yes", 1_000), None);
    }
}
