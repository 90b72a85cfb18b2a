//! A counter on standard error for work that takes longer than a second.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Counts; shows itself only to a person, and only when it takes long.
pub(crate) struct Progress {
    what: &'static str,
    total: Option<usize>,
    done: usize,
    next: Option<Instant>,
    shown: bool,
}

const FIRST: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);

impl Progress {
    pub(crate) fn new(what: &'static str, total: Option<usize>) -> Self {
        let next = std::io::stderr().is_terminal().then(|| Instant::now() + FIRST);
        Self { what, total, done: 0, next, shown: false }
    }

    pub(crate) fn add(&mut self, count: usize) {
        self.done += count;
        let now = Instant::now();
        if self.next.is_some_and(|next| now >= next) {
            self.next = Some(now + EVERY);
            self.shown = true;
            let of = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let _ = write!(std::io::stderr(), "\r{}{of} {}", self.done, self.what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
