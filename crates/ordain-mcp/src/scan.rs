//! The id and the method of a message that is too long to keep.

use crate::limits::FIELD_BYTES_MAX;

/// Looks at a message piece by piece and remembers its id and method, wherever in it they are. The message was not
/// checked otherwise.
#[derive(Default)]
pub(crate) struct Scanner {
    depth: usize,
    began: bool,
    in_string: bool,
    escaped: bool,
    place: Place,
    key: Vec<u8>,
    id: Field,
    method: Field,
    /// It is not an object, or has a key or a field that cannot be trusted.
    doubtful: bool,
    /// How many bytes there were.
    pub(crate) bytes: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Before a key of the outermost object.
    #[default]
    BeforeKey,
    Key,
    AfterKey,
    Id,
    Method,
    Other,
}

#[derive(Default)]
struct Field {
    bytes: Vec<u8>,
    count: usize,
}

impl Scanner {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        for &byte in bytes {
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            match self.place {
                Place::Key if self.in_string => push(&mut self.key, byte),
                Place::Key => self.place = Place::AfterKey,
                _ => self.keep(byte),
            }
            return;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'"' => {
                self.in_string = true;
                if self.depth == 1 && self.place == Place::BeforeKey {
                    self.place = Place::Key;
                    self.key.clear();
                } else {
                    self.keep(byte);
                }
            }
            b'{' | b'[' => {
                self.doubtful |= self.depth == 0 && (byte == b'[' || self.began);
                self.began = true;
                if self.depth > 0 {
                    self.keep(byte);
                }
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth > 0 {
                    self.keep(byte);
                }
            }
            b':' if self.depth == 1 && self.place == Place::AfterKey => self.begin_value(),
            b',' if self.depth == 1 => self.place = Place::BeforeKey,
            _ => self.keep(byte),
        }
    }

    fn begin_value(&mut self) {
        self.doubtful |= self.key.contains(&b'\\');
        self.place = match self.key.as_slice() {
            b"id" => Place::Id,
            b"method" => Place::Method,
            _ => Place::Other,
        };
        match self.place {
            Place::Id => self.id.count += 1,
            Place::Method => self.method.count += 1,
            _ => {}
        }
    }

    fn keep(&mut self, byte: u8) {
        match self.place {
            Place::Id => push(&mut self.id.bytes, byte),
            Place::Method => push(&mut self.method.bytes, byte),
            _ => {}
        }
    }

    /// The text of the id and whether there is a method; nothing if the message cannot be told from another.
    pub(crate) fn end(&self) -> Option<(Option<&str>, bool)> {
        let is_long = |field: &Field| field.bytes.len() > FIELD_BYTES_MAX || field.count > 1;
        if self.doubtful || self.depth != 0 || self.in_string || is_long(&self.id) || is_long(&self.method) {
            return None;
        }
        let id = std::str::from_utf8(&self.id.bytes).ok()?;
        Some((Some(id).filter(|id| !id.is_empty()), self.method.count > 0))
    }
}

/// One byte more than allowed is kept, so that it can be seen.
fn push(bytes: &mut Vec<u8>, byte: u8) {
    if bytes.len() <= FIELD_BYTES_MAX {
        bytes.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Option<(Option<String>, bool)> {
        let whole = {
            let mut scanner = Scanner::default();
            scanner.feed(text.as_bytes());
            scanner.end().map(|(id, method)| (id.map(str::to_owned), method))
        };
        let mut scanner = Scanner::default();
        text.as_bytes().chunks(1).for_each(|chunk| scanner.feed(chunk));
        assert_eq!(scanner.end().map(|(id, method)| (id.map(str::to_owned), method)), whole);
        whole
    }

    #[test]
    fn the_id_is_found_wherever_it_is() {
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"id":9}}"#,
            r#" { "result" : {"a":[{"id":1}], "b":"\"id\":3}"} , "id" : 7 } "#,
            r#"{"result":"}","id":7}"#,
        ] {
            assert_eq!(scan(text), Some((Some("7".to_owned()), false)), "{text}");
        }
        assert_eq!(scan(r#"{"id":"a b","method":"x"}"#), Some((Some("\"a b\"".to_owned()), true)));
        assert_eq!(scan(r#"{"method":"x","params":{"id":1}}"#), Some((None, true)));
    }

    #[test]
    fn doubt_gives_nothing() {
        for text in [
            r#"{"id":1,"id":2}"#,
            r#"[{"id":1}]"#,
            r#"{"id":1} {"id":2}"#,
            r#"{"i\u0064":1,"id":2}"#,
            r#"{"id":1"#,
            r#"{"id":"1"#,
        ] {
            assert_eq!(scan(text), None, "{text}");
        }
    }
}
