//! A relay whose server is not a process.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Lines that wait to be read.
const WAITING_MAX: usize = 64;

/// Lines that a thread reads as bytes.
pub(crate) struct LineReader {
    lines: Receiver<Vec<u8>>,
    line: Vec<u8>,
    read: usize,
}

/// A way for lines, each with its end, to a reader of bytes.
pub(crate) fn line_channel() -> (SyncSender<Vec<u8>>, LineReader) {
    let (sender, lines) = sync_channel(WAITING_MAX);
    (sender, LineReader { lines, line: Vec::new(), read: 0 })
}

impl Read for LineReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read >= self.line.len() {
            let Ok(line) = self.lines.recv() else { return Ok(0) };
            (self.line, self.read) = (line, 0);
        }
        let rest = self.line.get(self.read..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.read += count;
        Ok(count)
    }
}
