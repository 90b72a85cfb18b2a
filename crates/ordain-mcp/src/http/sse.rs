//! Streams of events: told apart as they pass, in bounded memory.

use crate::scan::Scanner;
use hyper::body::Bytes;

/// One event of a stream.
pub(super) enum Event {
    Whole {
        /// As it came, with the empty line that ends it.
        raw: Bytes,
        /// Its data; nothing of a comment or of an event without any.
        data: Option<Vec<u8>>,
        has_id: bool,
    },
    /// Longer than allowed; its content is gone.
    Long(Scanner),
}

/// Finds the events in the pieces of a stream.
pub(super) struct Events {
    buffer: Vec<u8>,
    /// Bytes of the buffer in which no end of an event is.
    searched: usize,
    long: Option<Long>,
    bytes_max: usize,
}

/// An event that is too long to keep.
#[derive(Default)]
struct Long {
    scanner: Scanner,
    /// The end of what came, which may be the beginning of an empty line.
    tail: Vec<u8>,
}

impl Events {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { buffer: Vec::new(), searched: 0, long: None, bytes_max }
    }

    pub(super) fn feed(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// The next event of what was fed.
    pub(super) fn next(&mut self) -> Option<Event> {
        let from = self.searched.saturating_sub(3);
        let end = self.buffer.get(from..).and_then(end_of_event).map(|end| from + end);
        let Some(end) = end else {
            self.searched = self.buffer.len();
            if self.buffer.len() > self.bytes_max {
                let long = self.long.get_or_insert_default();
                // The last bytes may belong to the end of the event.
                let kept = self.buffer.split_off(self.buffer.len().saturating_sub(3));
                long.scan(&self.buffer);
                self.buffer = kept;
                self.searched = self.buffer.len();
            } else if self.long.is_some() && self.buffer.len() > 3 {
                let kept = self.buffer.split_off(self.buffer.len() - 3);
                if let Some(long) = &mut self.long {
                    long.scan(&self.buffer);
                }
                self.buffer = kept;
                self.searched = self.buffer.len();
            }
            return None;
        };
        let rest = self.buffer.split_off(end);
        let raw = std::mem::replace(&mut self.buffer, rest);
        self.searched = 0;
        if let Some(mut long) = self.long.take() {
            long.scan(&raw);
            return Some(Event::Long(long.scanner));
        }
        let (data, has_id) = parts(&raw);
        Some(Event::Whole { raw: raw.into(), data, has_id })
    }

    /// The bytes after the last whole event.
    pub(super) fn rest(self) -> Vec<u8> {
        self.buffer
    }
}

impl Long {
    /// Scans the data of lines; fields' names are left out.
    fn scan(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        let mut text = std::mem::take(&mut self.tail);
        // A piece of a line counts as data: messages are one line, as every server writes them.
        let start = if self.scanner.bytes == 0 {
            match text.windows(5).position(|window| window == b"data:") {
                Some(position) => position + 5,
                None => {
                    self.tail = text;
                    return;
                }
            }
        } else {
            0
        };
        text.drain(..start);
        self.scanner.feed(&text);
    }
}

/// Where the first event ends, after its empty line.
fn end_of_event(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = bytes.get(at..)?;
        let line_end = rest.iter().position(|byte| *byte == b'\n' || *byte == b'\r')?;
        let after = at + line_end + end_of_line(rest.get(line_end..)?)?;
        // The next line is empty.
        let following = bytes.get(after..)?;
        match following.first() {
            Some(b'\n') => return Some(after + 1),
            Some(b'\r') => return Some(after + end_of_line(following)?),
            Some(_) => at = after,
            None => return None,
        }
    }
}

/// The length of the end of a line that begins here. A single carriage return may be half of one.
fn end_of_line(bytes: &[u8]) -> Option<usize> {
    match (bytes.first()?, bytes.get(1)) {
        (b'\r', Some(b'\n')) => Some(2),
        (b'\r', None) => None,
        _ => Some(1),
    }
}

fn parts(raw: &[u8]) -> (Option<Vec<u8>>, bool) {
    let mut data: Option<Vec<u8>> = None;
    let mut has_id = false;
    for line in raw.split(|byte| *byte == b'\n' || *byte == b'\r') {
        has_id |= line.starts_with(b"id:");
        let Some(value) = line.strip_prefix(b"data:") else { continue };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &mut data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => data = Some(value.to_vec()),
        }
    }
    (data.filter(|data| !data.is_empty()), has_id)
}

/// A message as an event.
pub(super) fn event_of(line: &[u8]) -> Bytes {
    [b"event: message\ndata: ", line, b"\n\n"].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, bytes_max: usize, piece: usize) -> Vec<String> {
        let mut events = Events::new(bytes_max);
        let mut found = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            events.feed(piece);
            while let Some(event) = events.next() {
                found.push(match event {
                    Event::Whole { raw, data, has_id } => {
                        let data = data.map(|data| String::from_utf8(data).unwrap());
                        format!("{:?} {data:?} {has_id}", String::from_utf8(raw.to_vec()).unwrap())
                    }
                    Event::Long(scanner) => format!("long {:?}", scanner.end()),
                });
            }
        }
        found
    }

    #[test]
    fn events_are_found_in_any_pieces() {
        let text = "event: message\r\ndata: {\"id\":1}\r\n\r\n: note\n\nid: 4\ndata:a\ndata: b\n\nid: 5\rdata:\r\rdata: rest";
        let whole = found(text, 1_000, 1_000);
        assert_eq!(
            whole,
            [
                r#""event: message\r\ndata: {\"id\":1}\r\n\r\n" Some("{\"id\":1}") false"#,
                r#"": note\n\n" None false"#,
                r#""id: 4\ndata:a\ndata: b\n\n" Some("a\nb") true"#,
                r#""id: 5\rdata:\r\r" None true"#,
            ]
        );
        for piece in [1, 2, 3, 7] {
            assert_eq!(found(text, 1_000, piece), whole, "{piece}");
        }
    }

    #[test]
    fn long_events_are_scanned() {
        let long = format!("data: {{\"result\":\"{}\",\"id\":7}}\n\ndata: x\n\n", "y".repeat(5_000));
        for piece in [1, 10, 1_000, 10_000] {
            let events = found(&long, 100, piece);
            assert!(piece > 5_000 || events[0] == "long Some((Some(\"7\"), false))", "{piece}: {events:?}");
            assert_eq!(events.len(), 2);
        }
    }
}
