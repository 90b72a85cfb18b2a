//! Messages as lines, in bounded memory.

use crate::scan::Scanner;
use std::io::{BufRead, BufReader, Read, Result};

/// One line of a stream.
pub(crate) enum Line<'b> {
    /// As it came, without its end.
    Whole(&'b [u8]),
    /// Longer than allowed; its content is gone.
    Long(Scanner),
}

/// Reads lines of at most so many bytes.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    bytes_max: usize,
}

const BUFFER_BYTES: usize = 64 << 10;
/// A buffer that one long line made large is let go.
const KEPT_BYTES_MAX: usize = 1 << 20;

impl<R: Read> Lines<R> {
    pub(crate) fn new(reader: R, bytes_max: usize) -> Self {
        Self { reader: BufReader::with_capacity(BUFFER_BYTES, reader), line: Vec::new(), bytes_max }
    }

    /// The next line; nothing at the end. A last line without an end counts as one.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>> {
        self.line.clear();
        self.line.shrink_to(KEPT_BYTES_MAX);
        let mut long: Option<Scanner> = None;
        let mut began = false;
        loop {
            let available = match self.reader.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            if available.is_empty() {
                break;
            }
            began = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
            if let Some(scanner) = &mut long {
                scanner.feed(part);
            } else if self.line.len() + part.len() > self.bytes_max {
                let scanner = long.insert(Scanner::default());
                scanner.feed(&self.line);
                scanner.feed(part);
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                break;
            }
        }
        Ok(match long {
            Some(scanner) => Some(Line::Long(scanner)),
            None => began.then_some(Line::Whole(&self.line)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], bytes_max: usize) -> Vec<String> {
        let mut lines = Lines::new(text, bytes_max);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(match line {
                Line::Whole(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
                Line::Long(scanner) => format!("{} bytes, {:?}", scanner.bytes, scanner.end()),
            });
        }
        found
    }

    #[test]
    fn lines_are_bounded() {
        assert_eq!(lines(b"a\n\nbc\r\nd", 9), ["a", "", "bc\r", "d"]);
        assert_eq!(lines(b"", 9), Vec::<String>::new());
        let long = br#"{"result":"0123456789","id":4}"#;
        let text = [&long[..], b"\nnext\n"].concat();
        assert_eq!(lines(&text, long.len()), [std::str::from_utf8(long).unwrap(), "next"]);
        assert_eq!(lines(&text, long.len() - 1), ["30 bytes, Some((Some(\"4\"), false))", "next"]);
    }
}
