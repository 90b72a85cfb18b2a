//! From a byte offset to a line, a column and a JSON Pointer, and back.
//!
//! Everything here reads the text again from its start. It runs once a document is known to be wrong, so that
//! reading a right one keeps no positions.

use crate::scan::plain_run_end;
use std::ops::Range;

/// A place in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Bytes before it.
    pub offset: usize,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// The line and column of a byte offset.
pub fn place_of(text: &[u8], offset: usize) -> Place {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    let in_line = before.get(line_start..).unwrap_or_default();
    // Continuation bytes do not start a character.
    let column = 1 + in_line.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    Place { offset, line, column }
}

/// Appends one reference token, escaped as RFC 6901 says.
pub fn push_pointer_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(character),
        }
    }
}

/// The objects and arrays around the current position.
enum Frame {
    Array { index: usize },
    Object { key: Option<String> },
}

/// The JSON Pointer of the value at `offset` in a text that is well-formed up to there. `in_member` says that the
/// offset is at a key and the member of that key is meant, not the object around it.
pub(crate) fn pointer_to(text: &[u8], offset: usize, in_member: bool) -> String {
    let mut walk = Walk { text, at: 0, frames: Vec::new() };
    while walk.at < offset && walk.step().is_some() {}
    if in_member {
        walk.step();
    }
    walk.pointer()
}

/// The place of a JSON Pointer's value in a well-formed text, or else of its nearest ancestor that is there.
/// The range of a member starts at its key.
pub fn span_of(text: &[u8], pointer: &str) -> Range<usize> {
    let tokens = pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"));
    let mut value = blanks_end(text, 0);
    let mut from = value;
    for token in tokens {
        let inner = match text.get(value) {
            Some(b'{') => find_member(text, value + 1, &token),
            Some(b'[') => token.parse().ok().and_then(|index| find_element(text, value + 1, index)),
            _ => None,
        };
        match inner {
            Some((inner_from, inner_value)) => (from, value) = (inner_from, inner_value),
            None => break,
        }
    }
    from..value_end(text, value)
}

/// Where the key and the value of a member start.
fn find_member(text: &[u8], start: usize, name: &str) -> Option<(usize, usize)> {
    let mut at = blanks_end(text, start);
    while text.get(at) == Some(&b'"') {
        let key = at;
        let key_end = string_end(text, key + 1);
        let value = blanks_end(text, blanks_end(text, key_end + 1) + 1);
        let raw = text.get(key + 1..key_end)?;
        // Most keys have no escapes and need no decoding.
        if raw == name.as_bytes() || (raw.contains(&b'\\') && crate::reader::decode(raw) == name) {
            return Some((key, value));
        }
        at = blanks_end(text, blanks_end(text, value_end(text, value)) + 1);
    }
    None
}

/// Where an element starts, twice.
fn find_element(text: &[u8], start: usize, index: usize) -> Option<(usize, usize)> {
    let mut at = blanks_end(text, start);
    for _ in 0..index {
        if matches!(text.get(at), None | Some(b']')) {
            return None;
        }
        at = blanks_end(text, blanks_end(text, value_end(text, at)) + 1);
    }
    (!matches!(text.get(at), None | Some(b']'))).then_some((at, at))
}

fn blanks_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Where the value that starts at `start` ends.
fn value_end(text: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match text.get(at) {
            None => return text.len(),
            Some(b'"') => at = (string_end(text, at + 1) + 1).min(text.len()),
            Some(b'{' | b'[') => {
                depth += 1;
                at += 1;
            }
            Some(b'}' | b']') => {
                // The end of what is around the value: a number or a word ended just before.
                if depth == 0 {
                    return at;
                }
                depth -= 1;
                at += 1;
            }
            Some(b',' | b':' | b' ' | b'\t' | b'\n' | b'\r') if depth == 0 => return at,
            Some(_) => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return at;
        }
    }
}

/// Goes through a text token by token and knows what encloses it.
struct Walk<'a> {
    text: &'a [u8],
    at: usize,
    frames: Vec<Frame>,
}

impl Walk<'_> {
    fn skip_blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn key_comes_next(&self) -> bool {
        self.text.get(self.at) == Some(&b'"')
            && matches!(self.frames.last(), Some(Frame::Object { key: None }))
    }

    /// Passes one token; `None` at the end of the text.
    fn step(&mut self) -> Option<()> {
        self.skip_blanks();
        match self.text.get(self.at)? {
            b'{' => {
                self.frames.push(Frame::Object { key: None });
                self.at += 1;
            }
            b'[' => {
                self.frames.push(Frame::Array { index: 0 });
                self.at += 1;
            }
            b'}' | b']' => {
                self.frames.pop();
                self.at += 1;
            }
            b',' => {
                match self.frames.last_mut() {
                    Some(Frame::Array { index }) => *index += 1,
                    Some(Frame::Object { key }) => *key = None,
                    None => {}
                }
                self.at += 1;
            }
            b'"' => {
                let is_key = self.key_comes_next();
                let start = self.at + 1;
                let end = string_end(self.text, start);
                if is_key {
                    let raw = self.text.get(start..end).unwrap_or_default();
                    let decoded = crate::reader::decode(raw);
                    if let Some(Frame::Object { key }) = self.frames.last_mut() {
                        *key = Some(decoded);
                    }
                }
                self.at = (end + 1).min(self.text.len());
            }
            b':' => self.at += 1,
            _ => {
                self.at += 1;
                while self.text.get(self.at).is_some_and(|byte| !b",:]}{[\" \t\r\n".contains(byte)) {
                    self.at += 1;
                }
            }
        }
        Some(())
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for frame in &self.frames {
            match frame {
                Frame::Array { index } => push_pointer_token(&mut pointer, &index.to_string()),
                Frame::Object { key: Some(key) } => push_pointer_token(&mut pointer, key),
                Frame::Object { key: None } => {}
            }
        }
        pointer
    }
}

/// The closing quote of the string whose content starts at `start`, or the end of the text.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    loop {
        at = plain_run_end(text, at);
        match text.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') | None => return at.min(text.len()),
            Some(_) => at += 1,
        }
    }
}
