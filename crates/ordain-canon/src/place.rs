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

/// What encloses the current position.
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

/// Where the value of a JSON Pointer stands in a well-formed text, or else its nearest ancestor that is there.
/// The range of a member starts at its key.
pub fn span_of(text: &[u8], pointer: &str) -> Range<usize> {
    let mut walk = Walk { text, at: 0, frames: Vec::new() };
    let mut best: Option<(usize, usize, usize)> = None;
    // Pointers of ancestors are prefixes, so the longest prefix met is the value or its nearest ancestor.
    let mut member_start = 0;
    loop {
        walk.skip_blanks();
        let start = walk.at;
        let is_key = walk.key_comes_next();
        if is_key {
            member_start = start;
        }
        let starts_value = !is_key && walk.value_comes_next();
        if starts_value {
            let here = walk.pointer();
            let deeper = best.is_none_or(|(length, ..)| here.len() > length);
            if deeper && covers(&here, pointer) {
                let from = if matches!(walk.frames.last(), Some(Frame::Object { .. })) {
                    member_start
                } else {
                    start
                };
                best = Some((here.len(), from, start));
                if here.len() == pointer.len() {
                    break;
                }
            }
        }
        if walk.step().is_none() {
            break;
        }
    }
    let (_, from, value) = best.unwrap_or((0, 0, 0));
    from..value_end(text, value)
}

/// Whether `here` is `pointer` or one of its ancestors.
fn covers(here: &str, pointer: &str) -> bool {
    pointer.strip_prefix(here).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn value_end(text: &[u8], start: usize) -> usize {
    let mut walk = Walk { text, at: start, frames: Vec::new() };
    loop {
        if walk.step().is_none() || walk.frames.is_empty() {
            return walk.at;
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

    fn value_comes_next(&self) -> bool {
        !matches!(self.text.get(self.at), None | Some(b',' | b':' | b']' | b'}'))
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
