//! Memory that processes have in common without a file. The kernel does not tell how much of it there is once it is no
//! longer mapped as a whole, so the filter leaves each request for it to the collector, which adds them up.

use super::limits::SHARED_ASKED_BYTES_MAX;
use super::memory;
use super::processes::Processes;
use super::sys;
use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};

/// A request of a command.
pub(crate) struct Shared {
    pub(crate) listener: OwnedFd,
    bytes: u64,
    /// The threads that asked.
    tasks: BTreeSet<u32>,
}

impl Shared {
    pub(crate) fn new(listener: OwnedFd) -> Self {
        Self { listener, bytes: 0, tasks: BTreeSet::new() }
    }

    /// Answers one request. Its arguments are numbers, which nobody can change once they are asked about.
    pub(crate) fn answer(&mut self) {
        let Ok(question) = sys::next_question(self.listener.as_fd()) else { return };
        if !question.is_about(libc::SYS_mmap) {
            // A new process or thread: it is only that somebody must be there to say so.
            let _ = sys::answer_question(self.listener.as_fd(), question.id, None);
            return;
        }
        let [_, length, ..] = question.arguments;
        let page = rustix::param::page_size() as u64;
        let bytes = length.checked_next_multiple_of(page).and_then(|it| it.checked_add(self.bytes));
        let error = match bytes.filter(|bytes| *bytes <= SHARED_ASKED_BYTES_MAX) {
            Some(bytes) => {
                self.bytes = bytes;
                self.tasks.insert(question.task);
                None
            }
            None => Some(libc::ENOMEM),
        };
        // The process that asked may be gone.
        let _ = sys::answer_question(self.listener.as_fd(), question.id, error);
    }

    /// Whether everybody who asked has ended, so that nothing that was granted is still to come.
    pub(crate) fn nobody_is_left(&self, all: &Processes) -> bool {
        !self.tasks.iter().any(|task| memory::is_there(all, *task))
    }

    /// Nothing of it is left.
    pub(crate) fn forget(&mut self) {
        self.bytes = 0;
        self.tasks.clear();
    }
}
