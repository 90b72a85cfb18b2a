//! The log. It serves the gate: if it cannot be written, the gate goes on, and strangers cannot fill it.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines that could not be written, in this process.
static FAILED_WRITES: AtomicU64 = AtomicU64::new(0);

/// Standard error, for log lines. A closed pipe or a full disk is counted and is never an error: whoever logs
/// would stop the server over it.
#[derive(Debug, Default)]
pub struct LogWriter;

/// A [`LogWriter`], as loggers want to make one for each line.
pub fn log_writer() -> LogWriter {
    LogWriter
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if io::stderr().write_all(line).is_err() {
            FAILED_WRITES.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How many lines could not be written.
pub(crate) fn failed_writes() -> u64 {
    FAILED_WRITES.load(Ordering::Relaxed)
}

/// At most one line in a period; the others are counted.
#[derive(Debug)]
pub(crate) struct Throttle {
    every: Duration,
    /// When the last line was written, and how many were left out since.
    last: Mutex<(Option<Instant>, u64)>,
    left_out: AtomicU64,
}

impl Throttle {
    pub(crate) const fn new(every: Duration) -> Self {
        Self { every, last: Mutex::new((None, 0)), left_out: AtomicU64::new(0) }
    }

    /// Whether a line may be written now, and how many were left out before it.
    pub(crate) fn admit(&self, now: Instant) -> Option<u64> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0.is_some_and(|at| now.saturating_duration_since(at) < self.every) {
            last.1 += 1;
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        last.0 = Some(now);
        Some(std::mem::take(&mut last.1))
    }

    /// How many lines were left out altogether.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a6_a_throttle_admits_one_line_in_a_period_and_counts_the_others() {
        let throttle = Throttle::new(Duration::from_secs(1));
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let admitted: Vec<Option<u64>> =
            [0, 1, 999, 1_000, 1_001, 5_000].map(|ms| throttle.admit(at(ms))).into();
        assert_eq!(admitted, [Some(0), None, None, Some(2), None, Some(1)]);
        assert_eq!(throttle.left_out(), 3);
    }
}
