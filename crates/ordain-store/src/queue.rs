//! The bounded queue before the writer, and what it counts.

use crate::limits::{BATCH_CHANGES_MAX, GATHER_SHARE, GATHER_STEP, GATHER_WAIT_MAX, QUEUE_MAX};
use crate::{Change, Committed, Counters, StoreError, checks};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

pub(crate) type Answer = Result<Committed, StoreError>;

/// A change and who waits for it.
pub(crate) struct Job {
    pub(crate) change: Change,
    pub(crate) answer: oneshot::Sender<Answer>,
}

pub(crate) enum Message {
    Job(Job),
    /// Write what was accepted, then end, then say so.
    Close(oneshot::Sender<()>),
}

/// The callers' end.
pub(crate) struct Queue {
    sender: mpsc::Sender<Message>,
    counts: Arc<Counts>,
}

/// The writer's end.
pub(crate) struct Inbox {
    receiver: mpsc::Receiver<Message>,
    closing: Vec<oneshot::Sender<()>>,
    pub(crate) counts: Arc<Counts>,
}

#[derive(Default)]
pub(crate) struct Counts {
    batches: AtomicU64,
    changes: AtomicU64,
    entries: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    reads: AtomicU64,
    rows: AtomicU64,
    /// Whether the writer has taken changes out of the queue that are not written yet.
    taken: AtomicBool,
    /// Whether several changes shared the last transaction.
    shared: AtomicBool,
}

pub(crate) fn queue() -> (Queue, Inbox) {
    let (sender, receiver) = mpsc::channel(QUEUE_MAX);
    let counts = Arc::new(Counts::default());
    (Queue { sender, counts: Arc::clone(&counts) }, Inbox { receiver, closing: Vec::new(), counts })
}

impl Queue {
    pub(crate) async fn commit(&self, change: Change) -> Answer {
        checks::guards(&change.guards)?;
        let (answer, answered) = oneshot::channel();
        self.sender.try_send(Message::Job(Job { change, answer })).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Busy,
            mpsc::error::TrySendError::Closed(_) => StoreError::Closed,
        })?;
        answered.await.unwrap_or(Err(StoreError::Closed))
    }

    /// When it returns, the writer has written what was accepted, and has ended.
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        let (done, ended) = oneshot::channel();
        self.sender.send(Message::Close(done)).await.map_err(|_| StoreError::Closed)?;
        ended.await.map_err(|_| StoreError::Closed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Whether it takes changes, and a caller is alone: none waits, and none shared the last transaction. When
    /// a crowd comes back, its first would otherwise have a sync of its own while the others wait.
    pub(crate) fn has_one_caller(&self) -> bool {
        let none_waits = self.sender.capacity() == QUEUE_MAX && !self.counts.taken.load(Ordering::Acquire);
        none_waits && !self.counts.shared.load(Ordering::Relaxed) && !self.sender.is_closed()
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn count_read(&self) {
        self.counts.reads.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_rows(&self, rows: usize) {
        self.counts.rows.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub(crate) fn counters(&self) -> Counters {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counters {
            batches: read(&self.counts.batches),
            changes: read(&self.counts.changes),
            entries: read(&self.counts.entries),
            refused: read(&self.counts.refused),
            failed: read(&self.counts.failed),
            reads: read(&self.counts.reads),
            rows: read(&self.counts.rows),
        }
    }
}

impl Inbox {
    /// Waits for the next change. `None`: there will be none.
    pub(crate) async fn next(&mut self) -> Option<Job> {
        loop {
            match self.receiver.recv().await? {
                Message::Job(job) => return Some(job),
                Message::Close(done) => self.begin_to_close(done),
            }
        }
    }

    /// The same for a thread.
    pub(crate) fn blocking_next(&mut self) -> Option<Job> {
        loop {
            match self.receiver.blocking_recv()? {
                Message::Job(job) => return Some(job),
                Message::Close(done) => self.begin_to_close(done),
            }
        }
    }

    /// Adds what waits already, up to a full batch.
    pub(crate) fn drain_into(&mut self, jobs: &mut VecDeque<Job>) {
        while jobs.len() < BATCH_CHANGES_MAX {
            match self.receiver.try_recv() {
                Ok(Message::Job(job)) => jobs.push_back(job),
                Ok(Message::Close(done)) => self.begin_to_close(done),
                Err(_) => return,
            }
        }
    }

    /// After a batch, adds what waits and those who come back at once with their next change, so that all
    /// share the next sync. Without this two crowds form, each of which waits while the other is written.
    pub(crate) fn gather_into(&mut self, jobs: &mut VecDeque<Job>, answered: usize, took: Duration) {
        let start = Instant::now();
        let wait = GATHER_WAIT_MAX.min(took / GATHER_SHARE);
        let expected = jobs.len() + self.waiting() + answered;
        self.drain_into(jobs);
        while jobs.len() < expected.min(BATCH_CHANGES_MAX) && start.elapsed() < wait {
            // Asleep: those who are waited for need the processors.
            std::thread::sleep(GATHER_STEP);
            self.drain_into(jobs);
        }
    }

    /// How many changes wait.
    pub(crate) fn waiting(&self) -> usize {
        self.receiver.len()
    }

    /// Takes no new change. Changes accepted before are still received.
    fn begin_to_close(&mut self, done: oneshot::Sender<()>) {
        self.receiver.close();
        self.closing.push(done);
    }

    /// Tells whoever closed the store that nothing more will happen.
    pub(crate) fn end(self) {
        for done in self.closing {
            // A caller that no longer waits need not know.
            let _gone = done.send(());
        }
    }
}

impl Counts {
    pub(crate) fn committed(&self, changes: u64, entries: u64) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.shared.store(changes > 1, Ordering::Relaxed);
        self.changes.fetch_add(changes, Ordering::Relaxed);
        self.entries.fetch_add(entries, Ordering::Relaxed);
    }

    pub(crate) fn refused(&self, changes: u64) {
        self.refused.fetch_add(changes, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self, changes: u64) {
        self.failed.fetch_add(changes, Ordering::Relaxed);
    }

    /// The writer has taken changes, or has written them all: while it has some, nobody writes before them.
    pub(crate) fn taken(&self, taken: bool) {
        self.taken.store(taken, Ordering::Release);
    }
}
